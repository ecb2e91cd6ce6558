"""Runs backwards in time: closed forms with each integrator, events, dense output, files, and refusals."""

import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import IntegrationError
from dynsim.integrators import Diffrax, Event, InSpan, Scipy, Symplectic, stiff
from dynsim.integrators.backwards import integrate, locate
from dynsim.integrators.base import Stats
from dynsim.keys import random_key
from dynsim.simulation.dense import dense_output
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.hybrid import crossings
from dynsim.simulation.run_files import load, rerun, save
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.oscillators import Pendulum
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.schedules import PiecewiseConstant
from dynsim.systems.tokens.flow import TokenFlow
from figures.refined import refined

WAVE = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] + jnp.floor(t)]))  # jumps at whole times
TIMES = np.array([2.5, 2.0, 0.7, -0.5])
PENDULUM = Pendulum()


def wave(ts):
    """The state of `WAVE` that is (1, 0) at t = 0, by matching the pieces at whole times."""
    found = []
    for t in ts:
        x, begin, ends = np.array([1.0, 0.0]), 0.0, [*range(1, int(t) + 1), t] if t > 0 else [t]
        for end in ends:
            level, s = np.floor((begin + end) / 2), end - begin
            turn = np.array([[np.cos(s), np.sin(s)], [-np.sin(s), np.cos(s)]])
            x, begin = np.array([level, 0]) + turn @ (x - [level, 0]), end
        found.append(x)
    return np.array(found)


@pytest.mark.parametrize("integrator", [Scipy(), stiff(1e-10)], ids=["dop853", "radau"])
def test_a_forced_wave_runs_backwards_over_the_jumps_of_its_field(integrator):
    run = simulate(WAVE, wave([2.5])[0], TIMES, integrator=integrator)
    np.testing.assert_array_equal(run.ts, TIMES)
    np.testing.assert_allclose(run.ys, wave(TIMES), atol=1e-8)
    assert float(run.stats.last_time) == -0.5
    between = [0.1, 1.9, -0.4]
    np.testing.assert_allclose(dense_output(run)(between), wave(between), atol=1e-8)
    np.testing.assert_allclose(dense_output(run).at([1.9, 0.1]).ys, wave([1.9, 0.1]), atol=1e-8)
    with pytest.raises(ValueError, match=r"`t` must lie between the ends of the run, -0.5 and 2.5, but is 3"):
        dense_output(run)(3.0)


def test_a_run_there_and_back_returns_and_its_file_is_repeated_bit_for_bit(tmp_path):
    there = simulate(PENDULUM, [1.0, 0.2], np.linspace(1.0, 3.0, 9), integrator=Scipy())
    back = simulate(PENDULUM, there.final, there.ts[::-1], integrator=Scipy())
    np.testing.assert_allclose(back.ys, there.ys[::-1], atol=1e-7)
    save(tmp_path / "back.npz", back)
    np.testing.assert_array_equal(load(tmp_path / "back.npz").ys, back.ys)
    np.testing.assert_array_equal(rerun(tmp_path / "back.npz").ys, back.ys)
    curve = refined(back)
    assert len(curve.ts) > len(back.ts)
    assert np.all(np.diff(curve.ts) < 0)
    np.testing.assert_allclose(curve.ys, dense_output(back)(curve.ts), atol=1e-9)
    other = simulate(PENDULUM, there.final, there.ts[::-1], integrator=Symplectic(0.01), error_estimate=True)
    assert other.stats.max_error < 1e-6
    np.testing.assert_allclose(other.ys, back.ys, atol=1e-6)


@pytest.mark.parametrize(
    "integrator", [pytest.param(Diffrax(), marks=pytest.mark.slow), Scipy()], ids=["diffrax", "scipy"]
)
def test_an_event_has_its_direction_along_the_path(integrator):
    clock = FunctionFlow(lambda t, x: jnp.ones_like(x))
    level = lambda direction: Event(lambda t, x: x[0] - 0.25 + 0 * t, direction)
    stop = simulate_until(clock, [1.0], [1.0, 0.5, 0.0], [level(1), level(-1)], integrator=integrator)
    assert stop.event == 1
    np.testing.assert_allclose(stop.path.ts, [1.0, 0.5, 0.25])
    np.testing.assert_allclose(stop.path.ys[:, 0], [1.0, 0.5, 0.25])


def test_statistics_are_in_the_time_of_the_flow():
    """Of an integrator that reaches the second of three times."""

    class Stops(Scipy):
        def integrate(self, flow, y0, ts):
            return jnp.stack([y0] * len(ts)), Stats(False, 0, 7, 2, 0.25, ts[1])

        def locate(self, flow, y0, ts, events):
            return *self.integrate(flow, y0, ts), float(ts[1]), y0, (0,)

    for ts in (np.array([3.0, 1.5, 1.0]), np.array([1.0, 1.5, 3.0])):
        given = Stops(), PENDULUM, jnp.zeros(2), ts
        for stats in (integrate(*given)[1], locate(*given, [Event(lambda t, x: x[0])])[1]):
            assert (float(stats.last_time), int(stats.num_steps), int(stats.num_rejected)) == (1.5, 7, 2)
        assert locate(*given, [Event(lambda t, x: x[0])])[2] == 1.5


def test_tokens_in_their_span_run_backwards_as_they_do_outside():
    flow = TokenFlow(2 * np.eye(3)[None], 1.0)
    x = jnp.asarray(Sphere().sample(random_key(0, "tokens"), (2, 3)))
    runs = [simulate(flow, x, [1.0, 0.0], integrator=one) for one in (Scipy(), InSpan(Scipy()))]
    np.testing.assert_allclose(runs[0].final, runs[1].final, atol=1e-9)


def test_a_blow_up_backwards_says_when():
    with pytest.raises(IntegrationError, match="only reached t = -1 ") as error:
        simulate(FunctionFlow(lambda t, x: x * x), [-1.0], [0.0, -2.0], integrator=Scipy())
    assert error.value.reached == pytest.approx(-1.0, abs=1e-6)
    with pytest.raises(IntegrationError, match="others [0-9.]+ long on average"):
        simulate(PENDULUM, [1.0, 0.0], [9.0, 0.0], integrator=Scipy(max_steps=5))


def test_runs_backwards_are_refused_where_there_are_none():
    noisy = NoisyFlow(PENDULUM, 0.1, calculus="ito")
    with pytest.raises(ValueError, match="`ts` must increase for a flow with noise, but goes from 1 to 0"):
        simulate(noisy, [1.0, 0.0], [1.0, 0.0], key=random_key(0, "noise"))
    with pytest.raises(ValueError, match="`ts` must increase for a flow with noise, but goes from 1 to 0"):
        ensemble(noisy, [[1.0, 0.0]], [1.0, 0.0], lambda t, x: x, key=random_key(0, "noise"))
    with pytest.raises(ValueError, match="`ts` must increase, but goes from 1 to 0"):
        crossings(PENDULUM, [1.0, 0.0], [1.0, 0.0], [Event(lambda t, x: x[0])])
    for ts in ([0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="`ts` must increase.*, but goes from [012] to 1"):
            simulate(PENDULUM, [1.0, 0.0], ts)
    scheduled = TokenFlow(PiecewiseConstant(np.ones((2, 1, 2, 2)), 0.5, periodic=False))
    with pytest.raises(ValueError, match=r"inside the schedule of `query_key`, \[0, 1.0\], but begins at -1"):
        simulate(scheduled, [[1.0, 0.0]], [1.0, -1.0])
    with pytest.raises(ValueError, match="`ts` must decrease by more than the rounding of times in float32"):
        simulate(PENDULUM, np.array([1.0, 0.0], np.float32), [1.0 + 1e-9, 1.0])


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()])
def test_members_of_an_ensemble_run_backwards(integrator):
    starts = np.array([wave(TIMES[:1])[0], [2.0, 1.0]])
    runs = ensemble(WAVE, starts, TIMES, lambda t, x: jnp.append(x, t), integrator=integrator, error_estimate=True)
    np.testing.assert_array_equal(runs.ts, TIMES)
    np.testing.assert_allclose(runs.values[0], np.column_stack([wave(TIMES), TIMES]), atol=1e-6)
    for k, start in enumerate(starts):
        alone = simulate(WAVE, start, TIMES, integrator=integrator)
        np.testing.assert_allclose(runs.values[k, :, :2], alone.ys, atol=1e-7)
        np.testing.assert_allclose(runs.final[k], alone.final, atol=1e-7)
    np.testing.assert_array_equal(runs.stats.last_time, [-0.5, -0.5])
    assert runs.stats.max_error < 1e-5


def test_events_end_members_that_run_backwards():
    flow = FunctionFlow(lambda t, x: x)  # x = exp(t + c)
    halved = Event(lambda t, x: x[0] - 0.5, -1)
    runs = ensemble(flow, [[1.0], [4.0], [0.4]], [2.0, 1.0, 0.5], lambda t, x: x[0] + t, events=[halved])
    assert runs.stats.event.tolist() == [0, -1, -1]
    np.testing.assert_allclose(runs.stats.last_time, [2 - np.log(2), 0.5, 0.5], atol=1e-7)
    np.testing.assert_allclose(runs.final[:, 0], [0.5, 4 * np.exp(-1.5), 0.4 * np.exp(-1.5)], rtol=1e-6)
    np.testing.assert_allclose(runs.values[1], 4 * np.exp([0, -1, -1.5]) + [2.0, 1.0, 0.5], rtol=1e-6)
    assert np.isnan(runs.values[0, 2])
    scheduled = TokenFlow(PiecewiseConstant(np.ones((2, 1, 2, 2)), 0.5, periodic=False))
    with pytest.raises(ValueError, match="begins at -1"):
        ensemble(scheduled, [[[1.0, 0.0]]], [1.0, -1.0], lambda t, x: x)
