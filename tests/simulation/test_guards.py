"""Signs of guards at one time, up to rounding of the state and of the time."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Event
from dynsim.simulation.guards import Sides, _side, _size, leaves_zero, moved_back, noise, stays_on_zero
from dynsim.simulation.hybrid import Transition, unchanged
from dynsim.systems.base import FunctionFlow

FIRST = lambda t, x: x[0]
BALL = FunctionFlow(lambda t, x: jnp.array([0.0, -1.0]) + jnp.stack([x[1], 0.0 * x[0]]))
COASTING = FunctionFlow(lambda t, x: jnp.stack([x[1], 0.0 * x[0]]))


def rule(direction):
    return Transition("hit", Event(FIRST, direction), unchanged)


def test_noise_is_that_of_the_worst_rounding_error_and_sizes_are_those_of_the_largest_part():
    one_sided = Event(lambda t, x: jnp.maximum(x[1] - 1.0, 0.0))  # one of two rounding errors does not change it
    assert noise(one_sided, jnp.array([0.0, 1.0]), 0.0) > 1e-16
    assert _size((jnp.array([1e-3]), jnp.array([2.0, -100.0]))) == 100.0


@pytest.mark.parametrize(
    ("speed", "value", "side", "on_zero"),
    [
        (10.0, -1e-8, 1.0, True), (-10.0, 1e-8, -1.0, True), (10.0, -1e-7, -1.0, False), (0.1, -1e-9, -1.0, False),
        (0.0, 0.0, 0.0, True), (10.0, 2.0, 1.0, False),
    ],
)  # fmt: skip
def test_rounding_of_the_time_moves_a_guard_by_its_rate(speed, value, side, on_zero):
    """Twelve rounding errors of the time 10^6 are 1.4e-9."""
    assert _side(Event(FIRST), FunctionFlow(lambda t, x: speed + 0 * x), 1e6, jnp.array([value])) == (side, on_zero)


@pytest.mark.parametrize(
    ("direction", "past"), [(0, [True, False, True]), (1, [False, False, True]), (-1, [True, False, False])]
)
def test_a_guard_without_direction_is_past_its_zero_on_both_sides(direction, past):
    sides = Sides([rule(direction)], COASTING, 0.0, jnp.zeros(2), [])
    found = []
    for sides.known["hit"] in (-1.0, 0.0, 1.0):
        found.append(sides.is_past(rule(direction)))
    assert found == past


@pytest.mark.parametrize(
    ("direction", "moved"),
    [(0, [(-1, 1), (1, -1)]), (1, [(-1, 1), (0, 1)]), (-1, [(0, -1), (1, -1)])],
)
def test_a_reset_moves_a_guard_across_zero_from_one_side_to_the_other(direction, moved):
    """The guard is the first component, at rest where it is 0; a transition that has occurred is not due again."""
    place = {-1: -0.5, 0: 0.0, 1: 0.5}
    found = []
    for before, after in itertools.product(place, repeat=2):
        one = rule(direction)
        sides = Sides([one], COASTING, 0.0, jnp.array([place[before], 0.0]), [])
        last = dataclasses.replace(one, name="last")
        due = sides.with_moved([], last, [one], COASTING, 0.0, jnp.array([place[after], 0.0]))
        found += [(before, after)] if due else []
        again = Sides([one], COASTING, 0.0, jnp.array([place[before], 0.0]), [])
        assert again.with_moved([], one, [one], COASTING, 0.0, jnp.array([place[after], 0.0])) == []
    assert found == moved


def test_a_ball_at_rest_leaves_its_zero_by_the_second_derivative():
    leaves = lambda flow, *y, **options: leaves_zero(Event(FIRST, -1), flow, jnp.array(y), 0.0, **options)
    assert [leaves(BALL, 0.0, v) for v in (-1.0, 0.0, 1.0)] == [True, True, False]
    assert [leaves(BALL, 0.0, v, at_rest=True) for v in (-1.0, 0.0, 1.0)] == [False, True, False]
    assert not leaves(BALL, 1.0, 0.0)
    assert not leaves(COASTING, 0.0, 0.0)
    assert [stays_on_zero(Event(FIRST), flow, 0.0, jnp.zeros(2)) for flow in (BALL, COASTING)] == [False, True]


@pytest.mark.parametrize("direction", [-1, 0])
def test_a_reset_takes_a_guard_back_if_it_is_before_its_zero_by_more_than_rounding(direction):
    """The guard falls to zero at the rate 10 in a time of 1, of which the root of the rounding error is 1.5e-8."""
    falling, before = FunctionFlow(lambda t, x: -10 * jnp.ones(1)), jnp.zeros(1)
    back = lambda value: moved_back(
        rule(direction), rule(direction), falling, before, (0.0, 1.0), jnp.array([value])
    )  # fmt: skip
    assert [back(value) for value in (1e-6, 1e-7, 0.0, -1e-6)] == [True, False, False, False]
    assert np.sqrt(np.finfo(float).eps) == pytest.approx(1.5e-8, rel=0.01)
