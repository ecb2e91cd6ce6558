"""Guards of hybrid systems at one time: their signs up to rounding, and their rates where they are zero."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import State
from dynsim.integrators import Event
from dynsim.integrators.events import NOISE, rounded
from dynsim.systems.base import AbstractFlow, in_precision_of

if TYPE_CHECKING:
    from dynsim.simulation.hybrid import Transition

SHORTEST = 12  # a phase of at most this many rounding errors of the time has no motion


NEAR = 1e-6  # values below this, relative to the state, may be rounding errors of zero; it is looked at closely


def rounding_of(time: Any) -> float:
    """Distance of neighbouring floats at a time, in its dtype."""
    return float(np.spacing(np.abs(np.asarray(time))))


class Sides:
    """The sides of their zeros on which guards are at one time, while resets move the state and change the flow.

    A guard that is zero, up to rounding, is on the side to which the flow takes it: one of two balls that touch is hit
    by a third one, and hits the other at the same time.
    """

    def __init__(
        self, rules: Sequence["Transition"], flow: AbstractFlow, t: float, y: State, fired: list["Transition"]
    ):
        """Look at all guards before the resets; those of the transitions that the flow makes due are past zero."""
        self.y, self.fired, self.looked = y, {rule.name for rule in fired}, (flow, t, y)
        self.known: dict[str, float] = {}
        self.rules = {rule.name: rule for rule in rules}

    def before(self, rule: "Transition") -> float:
        """The side of a guard before the last reset; 0 for one that is at rest on its zero."""
        if rule.name not in self.known:
            flow, t, y = self.looked
            if rule.name in self.fired and rule.guard.direction:
                side = float(rule.guard.direction)
            else:
                side, on_zero = _side(rule.guard, flow, t, y)
                # of a transition that another phase adds, only the rate shows that a reset turns it
                side = side if on_zero or rule.name in self.rules else math.nan
            self.known[rule.name] = side
        return self.known[rule.name]

    def is_past(self, rule: "Transition") -> bool:
        """Whether a guard that a reset has moved across its zero is still there."""
        side = self.known.get(rule.name, 0.0)
        return side * rule.guard.direction > 0 if rule.guard.direction else side != 0

    def with_moved(
        self, due: list[tuple["Transition", bool]], last: "Transition", now: Sequence["Transition"], flow: AbstractFlow,
        t: float, y: State,
    ) -> list[tuple["Transition", bool]]:  # fmt: skip
        """Add those to the transitions that are due whose guards the last reset has moved across zero, or turned there.

        Args:
            due: the transitions that are due, and whether because of a reset.
            last: the one that has just occurred.
            now: those of the phase that the resets lead to, in whose order the result is.
            flow: the flow of that phase.
            t: the time.
            y: the state after the resets.
        """
        shapes = lambda state: [leaf.shape for leaf in jax.tree.leaves(state)]
        if shapes(self.y) != shapes(y):  # guards of states of other shapes cannot be compared
            return due
        moved, present = [], {rule.name for rule in now}
        sides = {rule.name: self.before(rule) for rule in now}
        self.rules |= {rule.name: rule for rule in now}
        for rule in self.rules.values():
            before = sides.get(rule.name, self.before(rule))
            side, _ = _side(rule.guard, flow, t, y)
            self.known[rule.name] = side or before
            way = rule.guard.direction
            crosses = side * way > 0 and not before * way > 0 if way else side * before < 0
            is_new = rule.name != last.name and all(rule.name != other.name for other, _ in due)
            if rule.name in present and crosses and is_new and not rule.immediate and not math.isnan(before):
                moved.append((rule, True))
        return sorted([*due, *moved], key=lambda one: index_of(one[0], now)) if moved else due


def _side(guard: Event, flow: AbstractFlow, t: float, y: State) -> tuple[float, bool]:
    """The sign of a guard, or where it is zero, up to rounding, that of its rate; and whether it is zero.

    The sign is 0 for a rate that is zero, up to rounding, or that JAX cannot compute.
    """
    value, small = float(in_precision_of(y, guard.fn)(t, y)), NEAR * max(1.0, _size(y))
    if abs(value) > small:
        return float(np.sign(value)), False
    rate = _rate(guard, flow, t, y)
    if abs(value) > noise(guard, y, t) + SHORTEST * rounding_of(t) * abs(rate):
        return float(np.sign(value)), False
    sure = abs(rate) > small or abs(rate) > _change(lambda x: _rate(guard, flow, t, x), y)
    return float(np.sign(rate)) if sure else 0.0, True


def _size(y: State) -> float:
    return max(float(np.max(np.abs(leaf), initial=0)) for leaf in jax.tree.leaves(y))


def noise(guard: Event, y: State, t: float) -> float:
    """How much rounding errors of the state change the value of a guard."""
    fn = in_precision_of(y, guard.fn)
    return _change(lambda x: float(fn(t, x)), y)


def _change(value: Callable[[State], float], y: State) -> float:
    """How much rounding errors of the state change a number."""
    here = value(y)
    return max(abs(value(_rounded(y, jnp.asarray(k), NOISE)) - here) for k in (1.0, 2.0))


_rounded = eqx.filter_jit(rounded)


def index_of(rule: "Transition", rules: Sequence["Transition"]) -> int:
    """Index of a transition among those of a phase, by identity or else by its name; -1 if it is not among them."""
    same = [k for k, other in enumerate(rules) if other is rule]
    return next(iter(same + [k for k, other in enumerate(rules) if other.name == rule.name]), -1)


def leaves_zero(guard: Event, flow: AbstractFlow, y: State, t: float, at_rest: bool = False) -> bool:
    """Whether a guard is zero, up to rounding, and the first of its derivatives along the flow has its direction.

    The second derivative counts where the first one is zero, as for a ball at rest on the floor; `at_rest` asks for
    such a guard.
    """
    if abs(float(in_precision_of(y, guard.fn)(t, y))) > noise(guard, y, t):
        return False
    rate = _rate(guard, flow, t, y)
    return (not rate or not at_rest) and (rate or _rate(guard, flow, t, y, 2)) * guard.direction > 0


def returns_within_noise(guard: Event, flow: AbstractFlow, t: float, y: State) -> bool:
    """Whether a guard that leaves its zero comes back without exceeding rounding errors, as after a tiny bounce.

    Its next crossing could not be located.
    """
    rate, change = _rate(guard, flow, t, y), _rate(guard, flow, t, y, 2)
    return rate * change < 0 and rate**2 <= 4 * abs(change) * noise(guard, y, t)


def stays_on_zero(guard: Event, flow: AbstractFlow, t: float, y: State) -> bool:
    """Whether a guard and its first two derivatives are zero, up to rounding, as those of balls that rest in contact.

    Rounding alone would move it across its zero.
    """
    small = NEAR * max(1.0, _size(y))
    fn = in_precision_of(y, guard.fn)
    parts = [lambda x: float(fn(t, x)), *(lambda x, k=k: _rate(guard, flow, t, x, k) for k in (1, 2))]
    zero = lambda part: abs(value := part(y)) <= small and (value == 0 or abs(value) <= _change(part, y))
    return all(map(zero, parts))


def _rate(guard: Event, flow: AbstractFlow, t: float, y: State, order: int = 1) -> float:
    """A derivative of a guard along a flow; 0 where JAX cannot differentiate the guard or the field."""
    fn, velocity = in_precision_of(y, (guard.fn, flow.vector_field))
    along = lambda fn: lambda t, y: jax.jvp(fn, (t, y), (jnp.ones_like(t), velocity(t, y)))[1]
    derivative = lambda t, y: fn(t, flow.space.project(y))
    for _ in range(order):
        derivative = along(derivative)
    try:
        return float(derivative(jnp.asarray(t, jax.tree.leaves(y)[0].dtype), y))
    except (TypeError, ValueError, NotImplementedError):
        return 0.0


def holds(guard: Event, t: float, y: State) -> bool:
    """Whether a condition holds: its function has the sign that it takes after a crossing."""
    value = float(in_precision_of(y, guard.fn)(t, y))
    return value * guard.direction > 0 if guard.direction else value > 0


def moved_back(
    rule: "Transition", now: "Transition", flow: AbstractFlow, before: State, times: tuple[float, float], y: State
) -> bool:
    """Whether resets at one time have taken a guard back to the side from which it came, by more than rounding.

    Args:
        rule: the transition that is due, as it was in the phase that has ended.
        now: the same transition in the phase that the resets lead to.
        flow: the flow of the phase that has ended.
        before: the state at its end.
        times: the times at which the phase began and ended.
        y: the state after the resets.
    """
    begin, t = times
    value = lambda guard, t, y: float(in_precision_of(y, guard.fn)(t, y))
    share = math.sqrt(np.finfo(jax.tree.leaves(before)[0].dtype).eps) * (t - begin)
    velocity = in_precision_of(before, flow).vector_field(t, before)
    reached = value(rule.guard, t, before)
    rise = reached - value(rule.guard, t - share, jax.tree.map(lambda x, v: x - share * v, before, velocity))
    towards = rule.guard.direction or np.sign(rise)
    return bool(towards * value(now.guard, t, y) < -(abs(reached) + abs(rise)))
