"""Multiple Lyapunov functions: one for each mode of a switched or hybrid system, that does not grow at switches."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import kept_in_box
from analysis.theorems.conditions import FAILS, HOLDS, Conditions, Hypothesis, known, theorem, together
from analysis.theorems.definite import above, core_of, largest_level, stationary
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import Field, field_of, smooth_both
from analysis.theorems.regions import Condition, Region, as_region, point
from analysis.theorems.subdivision import BUDGET, Decision
from analysis.theorems.switching.parts import RegionPart, is_same, vanishes_on
from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function, integer
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


class Switch(NamedTuple):
    """A change of mode on a surface.

    Attributes:
        source: index of the mode before, from 0.
        target: index of the mode after.
        guard: a scalar function of a state in JAX that is zero where the mode changes.
        reset: the state after the switch as a function of the state before; by default it stays.
        direction: 1 or -1 if only crossings with a growing or a falling guard count; 0 for both.
    """

    source: int
    target: int
    guard: Condition
    reset: Callable[[Any], Any] | None = None
    direction: int = 0

    __repr__ = one_line

    def leaves(self, g: Condition, dimension: int) -> bool:
        """Whether the mode changes wherever g becomes negative, because the guard is g up to its sign."""
        signs = (1, -1) if self.direction == 0 else (-self.direction,)
        return any(is_same(g, self.guard, sign, dimension) for sign in signs)


@dataclasses.dataclass(frozen=True)
class _Mode:
    field: Field
    height: Condition
    inside: tuple[Condition, ...]
    rate: float
    dwell: float


@theorem
def multiple_lyapunov(
    modes: Sequence[AbstractFlow],
    V: Sequence[Callable[[Any], Any]],
    region: Region | BoxLike,
    equilibrium: ArrayLike,
    switches: Sequence[Switch],
    *,
    domains: Sequence[Sequence[Callable[[Any], Any]]] | None = None,
    rate: float = 0.0,
    dwell: float = 0.0,
    cut: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether each mode has a Lyapunov function, so that switching on given surfaces is stable (Branicky).

    V_i falls in mode i, where this may be active, and a switch from i to j does not lead to a larger value: V_j after
    it is at most V_i before. If each mode is kept for a least time, and V_i falls at a rate, V_j may be larger by the
    factor exp(rate * dwell), so that the values at successive entries fall.

    Args:
        modes: the autonomous flows of the modes, on Euclidean space.
        V: the function of each mode, a scalar function of a state in JAX, with its minimum at the equilibrium.
        region: the region; the equilibrium lies inside it.
        equilibrium: the common equilibrium, (n,), at which all fields and gradients are exactly zero.
        switches: all changes of modes that are possible.
        domains: for each mode, functions that are at least zero where it may be active; by default it may be active in
            all of the region.
        rate: the rate at which V_i falls, V_i' <= -rate V_i, per unit of time; 0 asks only that it falls.
        dwell: the least time in each mode, also in the first.
        cut: half the side of the box about the equilibrium in which Hessians are used; by default a twentieth of the
            region's least side.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions; `numbers` holds a level c: starts in the domain of mode i with V_i - V_i(x*) < c
        are in the basin.

    Raises:
        ValueError: for bad input, an equilibrium outside the region, or functions that intervals cannot enclose.

    Source: M. Branicky, IEEE Transactions on Automatic Control 43 (1998) 475, theorem 2.3; D. Liberzon, Switching in
    Systems and Control, Birkhaeuser 2003, theorem 3.1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import Switch, multiple_lyapunov
        >>> modes = [ds.system("x' = -x - 2*y; y' = x - y^3 - y"), ds.system("x' = -x - y; y' = 2*x - y")]
        >>> V = [lambda s: s[0] ** 2 + 2 * s[1] ** 2, lambda s: 2 * s[0] ** 2 + s[1] ** 2]
        >>> switches = [Switch(0, 1, lambda s: s[0]), Switch(1, 0, lambda s: s[1])]
        >>> multiple_lyapunov(modes, V, [(-1.0, 1.0), (-1.0, 1.0)], [0.0, 0.0], switches).applies
        True
    """
    where = as_region(region)
    n, at = where.dimension, point("equilibrium", equilibrium, where.dimension)
    near = core_of(where, at, cut)
    found = _modes(modes, V, domains, rate, dwell, at)
    named = [_checked(one, len(found)) for one in switches]
    if not named:
        raise ArgumentError("switches", "be one or more `Switch` objects", "are none")
    rows = [vanishes(f"mode {k} rests", "f(x*) = 0", one.field, at) for k, one in enumerate(found, 1)]
    if any(row.status != HOLDS for row in rows):
        return _conditions(where, modes, rows, named, {})
    rows += [smooth_both(one.field, one.height, n) for one in found]
    rows += [*kept_in_box(where, budget), *(stationary(one.height, at, f"V{k}") for k, one in enumerate(found, 1))]
    if any(row.status == FAILS for row in rows):
        return _conditions(where, modes, rows, named, {})
    for k, one in enumerate(found, 1):
        part = RegionPart(where, at, near, one.inside)
        fall = lambda x, m=one: -jnp.dot(jax.grad(m.height)(x), m.field(x)) - m.rate * m.height(x)
        sense = f"V{k}' <= {-rate:g} V{k}" if rate else f"grad V{k} . f{k} < 0 off x*"
        rows += [
            together(f"V{k} is larger elsewhere in mode {k}", f"V{k}(x) > 0", part.positive_off(one.height, budget)),
            together(f"V{k} falls in mode {k}", sense, part.positive_off(fall, budget)),
        ]
        rows += _left_in_time(k - 1, one, named, RegionPart(where, at, near), budget)
    for one in named:
        rows += _across(one, found, RegionPart(where, at, near, found[one.source].inside, one.guard), budget)
    if dwell > 0:
        rows.append(known("each mode is kept for a least time", f"dwell >= {dwell:g}", True, "told"))
    numbers = {}
    if all(row.status == HOLDS for row in rows):
        numbers = min((largest_level(one.height, where, budget, one.inside) for one in found), key=lambda c: c["c"])
    return _conditions(where, modes, rows, named, numbers)


def _conditions(
    where: Region, modes: Any, rows: list[Hypothesis], switches: Sequence[Switch], numbers: dict[str, float]
) -> Conditions:
    guards = {f"from mode {one.source + 1} to {one.target + 1}": one.guard for one in switches}
    return Conditions(
        "Multiple Lyapunov functions", tuple(rows),
        "the equilibrium is asymptotically stable, and starts in the domain of mode i with V_i - V_i(x*) < c tend to "
        "it, for all solutions that switch a finite number of times in any finite time",
        "these functions do not show that switching is stable", where, modes[0], numbers, guards,
    )  # fmt: skip


def _modes(
    modes: Sequence[AbstractFlow], V: Sequence[Any], domains: Any, rate: float, dwell: float, at: np.ndarray
) -> list[_Mode]:
    """Read the modes with their functions.

    Raises:
        ValueError: if there are not as many functions and domains as modes, or rates are negative.
    """
    for name, given in (("V", V), ("domains", domains)):
        if given is not None and len(given) != len(modes):
            raise ArgumentError(name, f"have one entry for each of {len(modes)} modes", f"has {len(given)}")
    for name, value in (("rate", rate), ("dwell", dwell)):
        if not (math.isfinite(value) and value >= 0):
            raise ArgumentError(name, "be at least 0", f"is {value:g}")
    if not modes:
        raise ArgumentError("modes", "be one or more flows", "are none")
    theorem = "the theorem on multiple Lyapunov functions"
    inside = [()] * len(modes) if domains is None else [tuple(one) for one in domains]
    return [
        _Mode(field_of(one, len(at), theorem), above(function("V", v, "a state"), at), domain, rate, dwell)
        for one, v, domain in zip(modes, V, inside, strict=True)
    ]


def _checked(one: Switch, count: int) -> Switch:
    if not isinstance(one, Switch):
        raise ArgumentError("switches", "be `Switch` objects", f"hold a {type(one).__name__}")
    for name in ("source", "target"):
        place = integer(name, getattr(one, name), least=0)
        if place >= count:
            raise ArgumentError(name, f"be the index of one of {count} modes", f"is {place}")
    return one._replace(guard=function("guard", one.guard, "a state"))


def _left_in_time(k: int, mode: _Mode, switches: Sequence[Switch], whole: RegionPart, budget: int) -> list[Hypothesis]:
    """Decide whether a mode stays in its domain until it is switched: its boundary is a guard, or is not crossed.

    A boundary may also be that of a product of two guards, as that of two opposite quadrants.
    """
    n, parts = whole.region.dimension, []
    leaving = [one for one in switches if one.source == k]
    for g in mode.inside:
        if any(one.leaves(g, n) for one in leaving):
            continue
        others = [
            other
            for one, other in itertools.product(leaving, switches)
            if one.direction == other.direction == 0 and _is_product(g, one.guard, other.guard, n)
        ]
        unguarded = [other.guard for other in others[:1]] or [g]
        if any(other.source == k for other in others):
            unguarded = []
        across = lambda x, g=g: jnp.dot(jax.grad(lambda y: jnp.reshape(g(y), ()))(x), mode.field(x))
        for surface in unguarded:
            rest = tuple(h for h in mode.inside if h is not g)
            parts += dataclasses.replace(whole, inside=rest, on=surface).positive_off(across, budget, strictly=False)
    words, sense = (
        f"mode {k + 1} stays in its domain until it is switched",
        "its boundary is a guard, or f points inwards",
    )
    if not mode.inside:
        return []
    return [together(words, sense, parts) if parts else known(words, sense, True)]


def _is_product(g: Condition, one: Condition, other: Condition, dimension: int) -> bool:
    product = lambda x: jnp.reshape(one(x), ()) * jnp.reshape(other(x), ())
    return any(is_same(g, product, sign, dimension) for sign in (1, -1))


def _across(one: Switch, modes: Sequence[_Mode], part: RegionPart, budget: int) -> list[Hypothesis]:
    """Decide whether a switch leads to no larger value, into the domain of the next mode, and not out of the region."""
    before, after = modes[one.source], modes[one.target]
    reset = one.reset or (lambda x: x)
    n, name = part.region.dimension, f"from mode {one.source + 1} to mode {one.target + 1}"
    growth = math.exp(before.rate * before.dwell) * (1 - 1e-12) if before.rate * before.dwell else 1.0
    gap = lambda x: growth * before.height(x) - after.height(reset(x))
    words = f"no larger value after a switch {name}"
    said = "" if growth == 1 else f"{growth:.4g} "
    sense = f"V{one.target + 1}(R(x)) <= {said}V{one.source + 1}(x) on the guard"
    if growth == 1 and vanishes_on(gap, one.guard, n, part.at):
        rows = [known(words, sense.replace("<=", "="), True)]
    else:
        rows = [_on_guard(words, sense, part.positive_off(gap, budget, strictly=growth != 1))]
    if one.reset is not None:
        rows.append(
            vanishes(f"the switch {name} keeps the equilibrium", "R(x*) = x*", lambda x: reset(x) - part.at, part.at)
        )
        rows.append(_lands(f"a switch {name} stays in the region", reset, part, part.region.inequalities, budget))
    landed = [g for g in after.inside if not vanishes_on(lambda x, g=g: g(reset(x)), one.guard, n, part.at)]
    if landed:
        rows.append(_lands(f"a switch {name} leads into the domain", reset, part, landed, budget))
    return rows


def _lands(
    words: str, reset: Callable[[Any], Any], part: RegionPart, inside: Sequence[Condition], budget: int
) -> Hypothesis:
    """Decide whether states after a switch satisfy inequalities."""
    parts = [part.decide(lambda x, g=g: jnp.reshape(g(reset(x)), ()), part.region, False, budget) for g in inside]
    return _on_guard(words, "g(R(x)) >= 0 on the guard", parts)


def _on_guard(words: str, sense: str, parts: list[Decision]) -> Hypothesis:
    """Join decisions on a guard; where it does not meet the region there is nothing to show."""
    if all(one.is_empty for one in parts):
        return known(words, "the guard does not meet the region where the mode is active", True, "intervals")
    return together(words, sense, parts)
