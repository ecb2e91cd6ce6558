"""Functions that are positive off an equilibrium in a part of a region, such as on a surface."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.algebra import is_zero
from analysis.theorems.conditions import HOLDS
from analysis.theorems.definite import BESIDE, without_box
from analysis.theorems.exactly import vanishes
from analysis.theorems.linear import leading_minors
from analysis.theorems.regions import Condition, Region, box
from analysis.theorems.subdivision import Decision, positive

WEIGHTS = (0.0, *(4.0**k for k in range(-6, 11)))
"""Weights with which functions that vanish on the part, or are not negative there, are added."""


@dataclasses.dataclass(frozen=True)
class RegionPart:
    """A part of a region about an equilibrium.

    Attributes:
        region: the region.
        at: the equilibrium, (n,).
        near: a box about it, in which Hessians are used.
        inside: functions that are at least zero on the part.
        on: a function that is zero on the part, or None.
    """

    region: Region
    at: np.ndarray
    near: Region
    inside: tuple[Condition, ...] = ()
    on: Condition | None = None

    def cut(self, whole: Region) -> Region:
        """The points of a region that are in the part, without the equation of the surface."""
        more = self.inside if self.on is None else (*self.inside, self.on)
        return dataclasses.replace(whole, inside=(*whole.inside, *more), is_convex=False, is_simply_connected=False)

    def decide(self, value: Condition, whole: Region, strictly: bool, budget: int) -> Decision:
        """Decide whether a function is positive at the points of a region that are in the part."""
        where = self.cut(whole)
        on = None if self.on is None else len(where.inside) - 1
        return positive(value, where, strictly=strictly, on=on, budget=budget)

    def positive_off(self, value: Condition, budget: int, *, strictly: bool = True) -> list[Decision]:
        """Decide whether a function that is zero at the equilibrium is positive on the rest of the part.

        Near the equilibrium a multiple of functions that vanish on the part, or are not negative there, may be added to
        make its Hessian definite (Finsler's lemma and the S-procedure).
        """
        outside = [self.decide(value, piece, strictly, budget) for piece in without_box(self.region, self.near)]
        if any(one.status == "fails" for one in outside):
            return outside
        direct = self.decide(value, self.near, strictly, BESIDE)
        if direct.status == "holds":
            return [*outside, direct]
        helped = self._with_multiples(value)
        minors = [] if helped is None else leading_minors(jax.hessian(helped), self.region.dimension)
        inner = [positive(minor, self.near, budget=budget) for minor in minors]
        if inner and all(one.status == "holds" for one in inner):
            return [*outside, *inner]
        if helped is None and direct.witness is not None and not np.array_equal(direct.witness, self.at):
            return [*outside, direct]
        half = (self.near.sides[:, 1] - self.near.sides[:, 0]) / 32
        small = box(np.stack([self.at - half, self.at + half], axis=1))
        seen = [self.decide(value, piece, strictly, BESIDE) for piece in without_box(self.near, small)]
        failed = [one for one in seen if one.status == "fails"]
        return [*outside, *(failed or [direct._replace(status="undecided", witness=None)])]

    def _with_multiples(self, value: Condition) -> Condition | None:
        """A function that is at most the given one on the part, and has a definite Hessian at the equilibrium.

        None if none is found, or one of them does not vanish to first order at the equilibrium.
        """
        flat_there = lambda fn: vanishes("", "", lambda x: jnp.append(jax.grad(fn)(x), fn(x)), self.at).status == HOLDS
        if not flat_there(value):
            return None
        added: list[Condition] = [lambda x, g=g: _number(g, x) for g in self.inside]
        if self.on is not None:
            added = [lambda x: -(_number(self.on, x) ** 2)]
        flat = [g for g in added if flat_there(g)]
        start = jnp.asarray(self.at)
        H = np.asarray(jax.hessian(value)(start))
        more = [np.asarray(jax.hessian(g)(start)) for g in flat]
        total = sum(more[1:], more[0]) if more else np.zeros_like(H)
        least = lambda w: float(np.linalg.eigvalsh(H - w * total)[0]) / (1 + w)
        weight = max(WEIGHTS if more else WEIGHTS[:1], key=least)
        if not least(weight) > 0:
            return None
        return lambda x: value(x) - weight * sum((g(x) for g in flat), start=jnp.zeros(()))


def _number(fn: Any, x: Any) -> Any:
    return jnp.reshape(fn(x), ())


def vanishes_on(value: Condition, on: Condition, dimension: int, at: np.ndarray) -> bool:
    """Whether a function is zero by exact cancellation, everywhere or on an affine surface."""
    flat = lambda fn: lambda x: jnp.reshape(fn(x), (1,))
    if is_zero(flat(value), dimension):
        return True
    if not is_zero(lambda x: jax.hessian(lambda y: _number(on, y))(x), dimension):
        return False
    slope = np.asarray(jax.grad(lambda y: _number(on, y))(jnp.asarray(at)))
    k = int(np.argmax(np.abs(slope)))
    if slope[k] == 0:
        return False
    ratios = [Fraction(float(s)) / Fraction(float(slope[k])) for s in slope]
    if any(Fraction(float(r)) != r for r in ratios):
        return False
    weights = np.array([float(r) for r in ratios])
    weights[k] = 0.0
    unit = np.eye(dimension)[k]
    place: Callable[[Any], Any] = lambda x: at + (x - x[k] * unit) - jnp.dot(weights, x) * unit
    return is_zero(lambda x: jnp.stack([_number(value, place(x)), _number(on, place(x))]), dimension) is True


def is_same(one: Condition, other: Condition, sign: int, dimension: int) -> bool:
    """Whether a function is another one times a sign, by exact cancellation."""
    return is_zero(lambda x: jnp.reshape(_number(one, x) - sign * _number(other, x), (1,)), dimension) is True
