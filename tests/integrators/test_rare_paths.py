"""Paths of solvers that few runs take: events of many members, of runs that slide, whole numbers of NumPy."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim._core.placement import PAIRS
from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Event, InSpan, Scipy
from dynsim.integrators.numpy_switches import numpy_switches
from dynsim.integrators.sliding import slid_until
from dynsim.integrators.stabilised import RKC2
from dynsim.simulation.ensemble import _numbers, ensemble
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.simulation.sliding_members import member_that_slides
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.tokens.flow import TokenFlow

FALL = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.ones(())]))
"""A stone under gravity: height and speed."""


def test_members_end_at_their_own_first_event_and_are_masked_after_it():
    """From height h at rest a stone is at the ground after sqrt(2 h)."""
    heights = np.array([0.5, 2.0, 8.0])
    starts = np.stack([heights, np.zeros(3)], axis=1)
    ts = np.linspace(0.0, 3.25, 6)
    runs = ensemble(
        FALL, starts, ts, lambda t, x: x[0], integrator=Diffrax(rtol=1e-9), events=[Event(lambda t, x: x[0], -1)]
    )
    falls = heights[:, None] - ts**2 / 2
    np.testing.assert_allclose(runs.values, np.where(falls >= 0, falls, np.nan), atol=1e-7)
    np.testing.assert_allclose(runs.stats.last_time, [1.0, 2.0, 3.25], atol=1e-7)
    assert np.asarray(runs.stats.event).tolist() == [0, 0, -1]
    np.testing.assert_allclose(runs.final[:2], [[0.0, -1.0], [0.0, -2.0]], atol=1e-7)
    assert np.asarray(runs.stats.succeeded).all()


SLIDES = FunctionFlow(lambda t, x: jnp.stack([jnp.ones(()), -2 * jnp.sign(x[1]) + 1.0]))
"""The second component reaches 0, at a rate of -1 from above and 3 from below, and slides there."""


@pytest.mark.parametrize("start", [[0.0, 0.5], [0.0, -1.5]])
def test_the_event_of_a_run_that_slides_is_where_its_closed_form_says(start):
    ts, event = np.linspace(0.0, 4.0, 5), Event(lambda t, x: x[0] - 2.25)
    stop = simulate_until(SLIDES, start, ts, [event], integrator=Scipy(max_steps=300))
    assert float(stop.path.ts[-1]) == pytest.approx(2.25, abs=1e-9)
    np.testing.assert_allclose(stop.path.ys[-1], [2.25, 0.0], atol=1e-9)
    found: Any = slid_until(SLIDES, jnp.asarray(start), ts, [Event(lambda t, x: x[1] + 7.0), event], 1e-9)
    ys, stats, end, final, fired = found
    assert (float(end), fired) == (pytest.approx(2.25, abs=1e-9), (1,))
    np.testing.assert_allclose(final, [2.25, 0.0], atol=1e-9)
    np.testing.assert_allclose(ys[:, 0], ts, atol=1e-9)
    stuck, done = (
        dataclasses.replace(stats, outcome=jnp.asarray(int(one))) for one in (Outcome.MAX_STEPS, Outcome.FINISHED)
    )
    again: Any = member_that_slides(SLIDES, jnp.asarray(start, jnp.float32), ts, 1e-9, stuck, [event])
    _, final, found = again
    assert (final.dtype, int(found.event)) == (jnp.float32, 0)
    assert float(found.last_time) == pytest.approx(2.25, abs=1e-6)
    assert member_that_slides(SLIDES, jnp.asarray(start), ts, 1e-9, done, [event]) is None


def test_tokens_between_steps_are_those_of_the_span():
    x = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    flow = TokenFlow(jnp.eye(3)[None])
    states, stats = InSpan().dense(flow, jnp.asarray(x), 0.0, 1.0)
    run = simulate(flow, x, [0.0, 0.25, 1.0], integrator=Diffrax())
    np.testing.assert_allclose(states(jnp.array([0.25, 1.0])), run.ys[1:], atol=1e-7)
    assert bool(stats.succeeded)
    assert RKC2().order(None) == 2


WHOLE = {
    "round": (lambda t: round(t), [0.5, 1.5, 2.5]),
    "round to tenths": (lambda t: round(t, 1), np.arange(0.05, 3.0, 0.1)),
    "floor": (math.floor, [1.0, 2.0]),
    "ceil": (math.ceil, [1.0, 2.0]),
    "int": (int, [1.0, 2.0]),
    "int of negative numbers": (lambda t: int(t - 1.5), [0.5, 1.5, 2.5]),
    "pulses": (lambda t: 1.0 if (t - 0.25) % 1.0 < 1e-7 else 0.0, [0.25, 0.2500001, 1.25, 1.2500001, 2.25, 2.2500001]),
    "turns": (lambda t: 1.0 if 0.5 < (t // 0.75) % 2 < 1.5 else 0.0, [0.75, 1.5, 2.25]),
    "remainder": (lambda t: t % 0.75, [0.75, 1.5, 2.25]),
    "whole part": (lambda t: t // 0.75, [0.75, 1.5, 2.25]),
    "chosen": (lambda t: np.where(t > 1.25, 1.0, 0.0), [1.25]),
    "clipped": (lambda t: np.clip(t, 0.5, 2.0), [0.5, 2.0]),
    "table": (lambda t: np.interp(t, [0.5, 1.0, 2.5], [0.0, 1.0, 0.0]), [0.5, 1.0, 2.5]),
    "periodic table": (lambda t: np.interp(t, [0.25, 0.5], [0.0, 1.0], period=1.0), [0.25, 0.5, 1.25, 1.5, 2.25, 2.5]),
    "array": (lambda t: np.maximum(t, np.array([0.5, 1.5])), [0.5, 1.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_jumps_of_numpy_functions_of_the_time_are_all_found(name):
    function, jumps = WHOLE[name]
    found = numpy_switches(lambda t: np.array([function(t)]).ravel(), 0.0, 3.0)
    inside = [t for t in found if not np.isclose(t % 1.0, 0.0) or name in ("floor", "ceil", "int", "table")]
    wanted = [t for t in jumps if not np.isclose(t % 1.0, 0.0) or name in ("floor", "ceil", "int", "table")]
    np.testing.assert_allclose(inside, wanted, atol=1e-9)


def test_derivatives_where_a_field_jumps_are_refused_and_others_are_exact():
    def final(p, start):
        field = lambda t, x: jnp.where(x > 1.0, 2.0, p)
        return simulate(FunctionFlow(field), start, [0.0, 1.0]).final[0]

    assert float(jax.grad(final)(0.5, np.array([0.0]))) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match="Argument `flow` must .*jumps where"):
        jax.grad(final)(3.0, np.array([0.5]))


def test_numbers_of_a_step_are_those_of_all_members():
    """Of the state of each, or of what a step makes of it."""
    assert _numbers(FALL, np.zeros((5, 2))) == 10
    pairs = FunctionFlow(lambda t, x: jnp.sum(x[:, None] * x[None], axis=1))
    assert _numbers(pairs, np.zeros((3, PAIRS + 1))) == 3 * (PAIRS + 1) ** 2
    assert (
        _numbers(FunctionMap(lambda k, x: jnp.sum(x[:, None] * x[None], axis=1)), np.zeros((2, PAIRS + 1)))
        == 2 * (PAIRS + 1) ** 2
    )
