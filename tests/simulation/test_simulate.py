"""The refusals of `simulate` and its relatives, and the verbs of a trajectory."""

import re
from fractions import Fraction
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import iterate, simulate, simulate_until, with_error
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.hardmax.maps import HardmaxMap
from dynsim.systems.schedules import PiecewiseConstant
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.published import published_gradient_flow

FLOW = TokenFlow(np.eye(3))
X = Sphere().sample(jax.random.key(0), (4, 3))


@pytest.mark.parametrize(("start", "ts", "sentence"), [
    (2 * X, [0, 1], "`y0` must lie on the space, Sphere .* but is off it by 1"),
    (X.at[0].set(0.0), [0, 1], "`y0` must lie on the space"),
    (X.at[0, 0].set(np.nan), [0, 1], "`y0` must be finite"),
    (X, [], "`ts` must hold at least two times, but has shape \\(0,\\)"),
    (X, [0], "`ts` must hold at least two times"),
    (X, [0, 2, 1], "`ts` must increase, but goes from 2 to 1"),
    (X, [0, 0], "`ts` must increase"),
    (X, [0, np.inf], "`ts` must be finite"),
])  # fmt: skip
def test_a_bad_start_or_bad_times_are_refused(start, ts, sentence):
    with pytest.raises(ValueError, match=sentence):
        simulate(FLOW, start, ts)


def test_a_start_of_the_wrong_dimension_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="`y0` must fit the space of the flow") as error:
        simulate(published_gradient_flow(), jnp.ones((2, 4)) / 2, [0, 1])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("flow", "start", "why"), [
    (TokenFlow(np.eye(3)), np.eye(4)[:2], "dot_general requires"),
    (Lorenz(), np.ones(2), "its velocity has shape (3,)"),
])  # fmt: skip
def test_a_start_that_a_flow_does_not_take_is_refused_with_its_shape(flow, start, why):
    must = f"must have a shape that this {type(flow).__name__} takes, but has shape {start.shape} ({why}"
    for integrator in (Diffrax(), Scipy()):
        with pytest.raises(ValueError, match=re.escape(f"Argument `y0` {must}")):
            simulate(flow, start, [0, 1], integrator=integrator)
        with pytest.raises(ValueError, match=re.escape(f"Argument `y0s` {must}")):
            ensemble(flow, start[None], [0, -1], lambda t, x: t, integrator=integrator)


def test_a_schedule_shorter_than_the_horizon_is_refused():
    flow = TokenFlow(PiecewiseConstant(np.ones((3, 1, 3, 3)), 0.5, periodic=False))
    simulate(flow, X, [0, 1.5], integrator=Scipy())
    with pytest.raises(ValueError, match=r"`ts` must stay inside the schedule of `query_key`, \[0, 1.5\]"):
        simulate(flow, X, [0, 2.0])


def test_no_events_are_refused():
    with pytest.raises(ValueError, match="`events` must hold at least one event"):
        simulate_until(FLOW, X, [0, 1], [])


def test_a_trajectory_measures_along_itself():
    path = simulate(FLOW, X, [0.0, 1.0, 2.0], integrator=Scipy())
    np.testing.assert_allclose(path.along(lambda x: jnp.sum(x, -1)), jnp.sum(path.ys, -1))
    np.testing.assert_allclose(path.along_time(lambda t, x: t * x[0, 0]), path.ts * path.ys[:, 0, 0])
    np.testing.assert_array_equal(path.final, path.ys[-1])


def test_a_jump_is_not_lost_under_jit():
    flow = TokenFlow(PiecewiseConstant(np.stack([np.eye(3)[None] * 9, -np.eye(3)[None] * 9]), 0.37))
    whole = simulate(flow, X, [0.0, 2.0], integrator=Scipy()).final
    jitted = jax.jit(lambda x: simulate(flow, x, [0.0, 2.0], throw=False).final)(X)
    np.testing.assert_allclose(jitted, whole, atol=1e-9)
    with pytest.raises(ValueError, match="`ts` must not be traced for a flow whose field jumps"):
        jax.jit(lambda ts: simulate(flow, X, ts, throw=False).final)(jnp.array([0.0, 2.0]))


def test_integers_become_floats_and_single_stays_single():
    decay = FunctionFlow(lambda t, x: -x)
    assert simulate(decay, np.array([1, 2]), [0, 1], integrator=Scipy()).ys.dtype == jnp.float64
    assert simulate(decay, np.ones(2, np.float32), [0, 1]).ys.dtype == jnp.float32


class Halving(AbstractMap):
    space: Euclidean = Euclidean()
    on_host: ClassVar[bool] = True

    def step(self, k, x):
        return np.array([Fraction(v) / 2 for v in x], dtype=object)


def test_a_map_on_the_host_is_exact():
    path = iterate(Halving(), np.array([Fraction(1, 3), Fraction(1)], dtype=object), 70, every=7)
    assert path.final[0] == Fraction(1, 3 * 2**70)
    total = path.along(lambda x: x[0] + x[1])
    assert total[0] == Fraction(4, 3)


def test_maps_on_the_host_take_lists():
    assert iterate(Halving(), [1, 3], 1).ys.tolist() == [[1, 3], [Fraction(1, 2), Fraction(3, 2)]]
    assert iterate(HardmaxMap(0.5), [[0, 1], [2, 3]], 1).ys.dtype == float


class Adding(Halving):
    def step(self, k, x):
        return np.array([v + k for v in x], dtype=object)


def test_layers_are_numbered_from_zero_through_all_blocks():
    scanned = iterate(FunctionMap(lambda k, x: x + jnp.asarray(k, float)), jnp.zeros(1), 6, every=2)
    looped = iterate(Adding(), np.array([Fraction(0)], dtype=object), 6, every=2)
    for path in (scanned, looped):
        assert [float(y[0]) for y in path.ys] == [0, 1, 6, 15]  # 0 + 1, + 2 + 3, + 4 + 5
        assert np.asarray(path.ts).tolist() == [0, 2, 4, 6]
        assert (int(path.stats.num_steps), float(path.stats.last_time)) == (6, 6.0)
    broken = iterate(FunctionMap(lambda k, x: jnp.where(k == 1, jnp.nan, jnp.ones(1))), jnp.zeros(1), 3)
    assert (bool(broken.stats.succeeded), int(broken.stats.outcome)) == (False, int(Outcome.NON_FINITE))
    assert str(scanned).startswith("Trajectory of FunctionMap, 4 times from 0 to 6, states (1,).")


def test_an_error_is_a_distance():
    path = simulate(FunctionFlow(lambda t, x: -x), jnp.ones(2), [0, 1], integrator=Scipy())
    found = with_error(path.stats, jnp.asarray([1.0, 2.0]), jnp.asarray([1.5, 1.75]))
    np.testing.assert_array_equal(found.error, [0.5, 0.25])


@pytest.mark.parametrize(("steps", "every"), [(0, 1), (5, 2), (4, 0), (-1, 1)])
def test_a_bad_number_of_steps_is_refused(steps, every):
    with pytest.raises(ValueError, match="must be (at least 1|a positive multiple of `every`)"):
        iterate(FunctionMap(lambda k, x: x), jnp.ones(1), steps, every=every)


def test_a_function_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"`rhs` must return the shape of its state, \(2,\), but returns \(3,\)"):
        simulate(FunctionFlow(lambda t, x: jnp.ones(3)), jnp.ones(2), [0, 1])
    whirling, sentence = FunctionFlow(lambda t, x: jax.lax.complex(x, x)), "Argument `flow` must have a real velocity"
    for integrator in (Diffrax(), Scipy()):
        with pytest.raises(ValueError, match=sentence):
            simulate(whirling, jnp.ones(2), [0, 1], integrator=integrator)
    with pytest.raises(ValueError, match=sentence):
        ensemble(whirling, jnp.ones((2, 2)), [0, 1], lambda t, x: x)
    with pytest.raises(ValueError, match="`rhs` must be a function"):
        FunctionFlow(3)
    with pytest.raises(ValueError, match="`fastest_period` must be positive"):
        FunctionFlow(lambda t, x: x, fastest_period=0.0)


def test_boxes_and_clusters_have_the_moments_of_their_laws():
    draw = lambda name: np.asarray(initial_tokens(name, random_key(1, name), (4000, 3), Euclidean()))
    x = draw("box")
    assert 0.49 < np.max(np.abs(x)) < 0.5
    np.testing.assert_allclose(np.mean(x, axis=0), 0, atol=6 * np.sqrt(1 / 12 / 4000))
    y = draw("cluster")
    assert np.mean(np.sum((y - y.mean(axis=0)) ** 2, axis=1)) == pytest.approx(0.01, rel=6 * np.sqrt(2 / 12_000))


def test_the_named_laws_give_points_of_the_space():
    key = random_key(0, "laws")
    for law in ("uniform", "box", "hemisphere", "cluster"):
        x = initial_tokens(law, key, (20, 3))
        assert Sphere().defect(x) < 1e-14
    assert jnp.all(initial_tokens("hemisphere", key, (20, 3))[:, 0] > 0)
    with pytest.raises(ValueError, match="did you mean `hemisphere`"):
        initial_tokens("hemispher", key, (2, 3))


def test_streams_are_named_and_stable():
    assert not np.array_equal(jax.random.key_data(random_key(0, "a")), jax.random.key_data(random_key(0, "b")))
    assert not np.array_equal(jax.random.key_data(random_key(0, "a", 0)), jax.random.key_data(random_key(0, "a", 1)))
    np.testing.assert_array_equal(
        jax.random.key_data(random_key(3, "a", 2)), jax.random.key_data(random_key(3, "a", 2))
    )
    with pytest.raises(ValueError, match="must be at least 0"):
        random_key(-1, "a")


def test_a_long_run_up_to_an_event_across_a_jump_is_not_taken_for_a_slide(monkeypatch):
    """It uses up the few steps after which one is looked for."""
    monkeypatch.setattr("dynsim.simulation.simulate.CHATTERS", 5)
    rise, level = FunctionFlow(lambda t, x: jnp.where(x > 0, 1.0, 2.0)), Event(lambda t, x: x[0] - 3.0)
    stop = simulate_until(rise, [-1.0], [0.0, 10.0], [level], integrator=Scipy(longest_step=0.5))
    assert float(stop.path.ts[-1]) == pytest.approx(3.5, rel=1e-9)
    assert int(stop.path.stats.num_steps) > 5
