"""Dense output: closed forms at any time, both integrators, hybrid runs, float32, bad input; every flow of the zoo."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import IntegrationError
from dynsim.integrators import Diffrax, Event, InSpan, Scipy, diffrax_backend
from dynsim.keys import random_key
from dynsim.simulation.dense import dense_output
from dynsim.simulation.hybrid import Transition, crossings, simulate_hybrid
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from dynsim.simulation.simulate import iterate, simulate, simulate_until
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.tokens.flow import TokenFlow
from tests.support.zoo import FLOWS, flow_and_start

BALL = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.ones_like(x[1])]))
WAVE = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]))
ZEROS = [Event(lambda t, x: x[0], 1), Event(lambda t, x: x[0], -1)]  # of the wave, up and down
TURN = FunctionFlow(lambda t, x: 3.0 * jnp.stack([-x[1], x[0]]), Sphere())  # a circle, of which the states are points
FALL = FunctionFlow(lambda t, x: -x)
TIMES = np.sort(np.random.default_rng(0).uniform(0, 10, 50))
DIFFRAX = Diffrax(rtol=1e-11, atol=1e-13)
FEW = 128  # steps, which the wave does not reach t = 10 in
both = pytest.mark.parametrize("integrator", [DIFFRAX, Scipy()], ids=["diffrax", "scipy"])
rather = pytest.mark.parametrize(
    "integrator", [pytest.param(DIFFRAX, marks=pytest.mark.slow), Scipy()], ids=["diffrax", "scipy"]
)
unchecked = inspect.unwrap(dense_output)  # the annotations, which tests check, would refuse some arguments before
COSTLY = {"published 7.4, small", "prototypes and free embeddings", "prototypes and an MLP", "two levels", "piecewise",
          "resampled", "master equation, driven", "growing", "in fast time", "fast and slow"}  # fmt: skip


@pytest.mark.slow
@rather
def test_the_harmonic_oscillator_has_its_closed_form_at_any_time(integrator):
    path = dense_output(simulate(WAVE, [0.0, 1.0], [0.0, 10.0], integrator=integrator))
    np.testing.assert_allclose(path.at(TIMES).ys, np.stack([np.sin(TIMES), np.cos(TIMES)], 1), atol=1e-8)
    for t in (0.0, 3.3, 10.0):
        np.testing.assert_allclose(path(t), [np.sin(t), np.cos(t)], atol=1e-8)
    np.testing.assert_array_equal(path(TIMES[::-1]), path.at(TIMES).ys[::-1])
    np.testing.assert_array_equal(path([3.3, 3.3])[0], path(3.3))
    assert path([]).shape == (0, 2)
    backwards = path.states(jnp.asarray(TIMES[::-1].copy()))
    np.testing.assert_array_equal(np.asarray(backwards)[::-1], path.at(TIMES).ys)
    assert path.at(TIMES).along(lambda x: x @ x).shape == (50,)


@pytest.mark.slow
@both
def test_states_lie_on_the_space_between_steps_too(integrator):
    path = dense_output(simulate(TURN, [1.0, 0.0], [0.0, 10.0], integrator=integrator)).at(TIMES)
    np.testing.assert_allclose(jnp.linalg.norm(path.ys, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(path.ys, np.stack([np.cos(3 * TIMES), np.sin(3 * TIMES)], 1), atol=1e-8)


@rather
def test_a_bouncing_ball_has_its_closed_form_and_two_states_at_each_bounce(integrator):
    """From height 1/2 under gravity 1: down at t = 1 with speed 1, then up with 1/2 and down again at t = 2."""
    bounce = Transition("bounce", Event(lambda t, x: x[0], -1), lambda flow, t, x: (flow, -0.5 * x))
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, 2.4], [bounce], integrator=integrator)
    path = dense_output(run, integrator=integrator)
    ts = np.array([0.0, 0.1, 0.7, 0.99, 1.2, 1.9])
    fall, rise = 0.5 - ts**2 / 2, (ts - 1) / 2 - (ts - 1) ** 2 / 2
    np.testing.assert_allclose(path.along(ts, lambda x: x[0]), np.where(ts < 1, fall, rise), atol=1e-8)
    hit = run.jumps[0].time
    np.testing.assert_allclose(path(hit), [0.0, 0.5], atol=1e-8)
    np.testing.assert_allclose(path(hit, before=True), [0.0, -1.0], atol=1e-8)
    np.testing.assert_array_equal(path([hit, 0.7]), [path(hit), path(0.7)])
    np.testing.assert_array_equal(path([hit], before=True), [path(hit, before=True)])
    sides = [path.along([0.7, hit], lambda x: x[1], before=before) for before in (False, True)]
    np.testing.assert_allclose(sides, [[-0.7, 0.5], [-0.7, -1.0]], atol=1e-8)
    np.testing.assert_array_equal(path.ends, [0.0, 2.4])
    np.testing.assert_allclose(path(2.4), run.final, atol=1e-8)
    with pytest.raises(ValueError, match="Argument `t` must lie between the ends of the run, 0 and 2.4, but is 2.5."):
        path(2.5)


def test_a_run_without_phases_has_the_states_of_its_transitions():
    flip = Transition("flip", Event(lambda t, x: x[0] - 1.0, 1), lambda flow, t, x: (flow, x + 1), immediate=True)
    run = simulate_hybrid(WAVE, [2.0, 0.0], [0.0, 1.0], [flip], max_transitions=3)
    path = dense_output(run)
    assert path.phases == ()
    assert float(path(0.0)[0]) == 5.0
    assert float(path(0.0, before=True)[0]) == 2.0


@pytest.mark.slow
@both
def test_a_path_up_to_an_event_ends_there(integrator):
    stop = simulate_until(WAVE, [0.0, 1.0], [0.0, 10.0], ZEROS, integrator=Scipy())
    assert stop.event == 1
    path = dense_output(stop.path, integrator=integrator)
    np.testing.assert_allclose(path.ends, [0.0, np.pi], atol=1e-8)
    np.testing.assert_allclose(path(2.0), [np.sin(2.0), np.cos(2.0)], atol=1e-8)


@pytest.mark.slow
def test_there_is_room_for_many_steps(monkeypatch):
    monkeypatch.setattr(diffrax_backend, "DENSE_STEPS", FEW)
    path = dense_output(simulate(WAVE, [0.0, 1.0], [0.0, 10.0], integrator=Scipy()), integrator=Diffrax())
    assert int(path.stats.num_steps) > FEW
    np.testing.assert_allclose(path(9.7), [np.sin(9.7), np.cos(9.7)], atol=2e-7)


@pytest.mark.slow
def test_it_is_differentiable_and_batched_with_diffrax():
    path = dense_output(simulate(WAVE, [0.0, 1.0], [0.0, 10.0]))
    np.testing.assert_allclose(jax.grad(lambda t: path(t)[0])(2.0), np.cos(2.0), atol=1e-7)
    np.testing.assert_allclose(jax.jit(jax.vmap(path))(jnp.asarray(TIMES)), path.at(TIMES).ys, atol=1e-15)
    assert np.all(np.isnan(jax.jit(lambda t: path(t))(11.0)))
    np.testing.assert_allclose(jax.jit(lambda: path(2.0))(), path(2.0), atol=1e-15)  # a time that is known
    assert path.states_at(np.empty(0)).shape == (0, 2)
    np.testing.assert_allclose(jax.jit(lambda ts: path(ts))(jnp.asarray(TIMES)), path.at(TIMES).ys, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [Diffrax(rtol=1e-5, atol=1e-6), Scipy("RK45", rtol=1e-5, atol=1e-6)])
def test_float32_stays_and_its_last_time_belongs_to_it(integrator):
    path = dense_output(simulate(WAVE, jnp.asarray([0.0, 1.0], jnp.float32), [0.0, 0.7], integrator=integrator))
    end = path(0.7)  # which float32 rounds down
    assert end.dtype == jnp.float32
    np.testing.assert_allclose(end, [np.sin(0.7), np.cos(0.7)], atol=1e-4)
    assert path.at([0.1, 0.7]).ts.dtype == jnp.float32


@pytest.mark.slow
def test_tokens_in_their_span_are_tokens_again():
    flow = TokenFlow(np.eye(5)[None])
    x = flow.space.sample(random_key(0, "tokens"), (3, 5))
    direct, spanned = (dense_output(simulate(flow, x, [0.0, 2.0], integrator=i)) for i in (Scipy(), InSpan(Scipy())))
    np.testing.assert_allclose(spanned(1.234), direct(1.234), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in COSTLY else []) for n in FLOWS])
def test_every_flow_has_a_dense_output_that_agrees_with_its_saved_states(name):
    flow, x = flow_and_start(name)
    ts = np.concatenate([[0.0], np.sort(np.random.default_rng(1).uniform(0, 4, 9)), [4.0]])
    saved = simulate(flow, x, ts, integrator=Scipy())
    path = dense_output(saved).at(ts)
    for a, b in zip(jax.tree.leaves(path.ys), jax.tree.leaves(saved.ys), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oja", pytest.param("published 7.3", marks=pytest.mark.slow)])
def test_both_integrators_have_the_same_dense_output(name):
    flow, x = flow_and_start(name)
    ts = np.sort(np.random.default_rng(2).uniform(0, 4, 20))
    run = simulate(flow, x, [0.0, 4.0], integrator=Scipy())
    first, second = (dense_output(run, integrator=i).at(ts).ys for i in (Diffrax(), Scipy()))
    np.testing.assert_allclose(first, second, atol=2e-8)


@pytest.mark.slow
@both
def test_an_action_is_called_at_each_crossing_and_may_replace_the_state(integrator):
    """Through zero downwards the wave goes on from twice the velocity: the crossings stay where they are."""
    seen = []

    def double(event, t, x):
        seen.append((event, t))
        return 2 * x if event == 1 else None

    run = crossings(WAVE, [0.0, 1.0], [0.0, 10.0], ZEROS, action=double, integrator=integrator)
    np.testing.assert_allclose([t for _, t in seen], np.pi * np.arange(1, 4), atol=1e-8)
    assert [event for event, _ in seen] == [1, 0, 1]
    path = dense_output(run, integrator=integrator)
    ts = np.array([1.0, 4.0, 7.0, 9.9])
    np.testing.assert_allclose(path.along(ts, lambda x: x[0]), [1, 2, 2, 4] * np.sin(ts), atol=4e-8)


STILL = FunctionFlow(lambda t, x: -x)
DROP = Transition("drop", Event(lambda t, x: t - 0.5), lambda flow, t, x: (flow, x[:1]))


@functools.cache
def still():
    return simulate(STILL, [1.0], [0.0, 1.0], integrator=Scipy())


@functools.cache
def fewer():
    """Return a run of which the state becomes shorter."""
    return simulate_hybrid(STILL, [1.0, 2.0], [0.0, 1.0], [DROP], integrator=Scipy())


BAD = [(lambda: dense_output(fewer(), integrator=Scipy())([0.2, 0.7]),
    "Argument `t` must hold times at which the state has one shape, but it has (1,) and (2,)."), (lambda: unchecked(3),
    "Argument `run` must be a trajectory of a flow or of a hybrid system, but is 3."),
    (lambda: dense_output(iterate(FunctionMap(lambda k, x: x), [1.0], 2)),
    "Argument `run` must be a trajectory of a flow"), (lambda: unchecked(still(), integrator="Scipy"),
    "Argument `integrator` must be an integrator such as"), (lambda: dense_output(still())(1.5),
    "Argument `t` must lie between the ends of the run, 0 and 1, but is 1.5."), (lambda: dense_output(still())(np.nan),
    "Argument `t` must lie between the ends of the run, 0 and 1, but is nan."),
    (lambda: inspect.unwrap(type(dense_output(still())).__call__)(dense_output(still()), "x"),
    "Argument `t` must be a time, but is 'x'."), (lambda: dense_output(still())([0.5, 1.5]),
    "Argument `t` must lie between the ends of the run, 0 and 1, but is 1.5."),
    (lambda: dense_output(still())([0.5, np.nan]),
    "Argument `t` must lie between the ends of the run, 0 and 1, but is nan."), (lambda: dense_output(still())([[0.5]]),
    "Argument `t` must be a time or have shape (times,), but has shape (1, 1)."),
    (lambda: dense_output(still()).at([0.5, 2.0]),
    "Argument `ts` must lie between the ends of the run, 0 and 1, but is 2."),
    (lambda: dense_output(still()).at([0.5, 0.2, 0.4]), "Argument `ts` must increase"),
    (lambda: inspect.unwrap(crossings)(WAVE, [0.0, 1.0], [0.0, 1.0], [Event(lambda t, x: x[0])], action=3),
    "Argument `action` must be a function of (event, t, x), but is 3.")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("call", "says"), BAD)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(ValueError, match="Argument") as error:
        call()
    assert str(error.value).startswith(says)


@pytest.mark.slow
def test_a_solve_that_fails_says_so():
    with pytest.raises(IntegrationError, match="only reached"):
        dense_output(simulate(WAVE, [0.0, 1.0], [0.0, 50.0], integrator=Scipy()), integrator=Diffrax(max_steps=FEW))


def test_a_run_is_integrated_once_more_by_its_own_integrator():
    rough = Scipy("RK23", 1e-3, 1e-5)
    path = simulate(WAVE, [1.0, 0.0], [0.0, 5.0], integrator=rough)
    found = dense_output(path)(2.3)
    np.testing.assert_array_equal(found, dense_output(path, integrator=rough)(2.3))
    assert 1e-5 < np.max(np.abs(np.asarray(found) - [np.cos(2.3), -np.sin(2.3)])) < 1e-1


def test_states_of_two_dimensions_are_told_apart():
    """A state that falls as exp(-t) is doubled to two components at t = 1."""
    phases = [simulate(FALL, np.full(k, np.exp(1 - k)), [k - 1.0, k], integrator=Scipy()) for k in (1, 2)]
    jumps = (Jump(0, "split", 1.0, phases[0].final, phases[1].initial),)
    path = dense_output(HybridTrajectory(tuple(phases), jumps, Ending.FINISHED), integrator=Scipy())
    np.testing.assert_allclose(path([0.1, 0.6])[:, 0], np.exp([-0.1, -0.6]), rtol=1e-9)
    np.testing.assert_allclose(path(2.0), np.exp([-2.0, -2.0]), rtol=1e-9)
    assert (path(1.0, before=True).shape, path(1.0).shape) == ((1,), (2,))
    with pytest.raises(ValueError, match=r"times at which the state has one shape, but it has \(1,\) and \(2,\)"):
        path([0.1, 1.5])
