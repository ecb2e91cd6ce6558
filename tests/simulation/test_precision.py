"""Runs of every kind in float32: types of all results, values near those in float64, times and errors."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.keys import random_key
from dynsim.simulation.dense import dense_output
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.growing import descend, simulate_growing
from dynsim.simulation.hybrid import Transition, simulate_hybrid
from dynsim.simulation.simulate import iterate, simulate
from dynsim.simulation.sweep import sweep
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.hardmax.attention import Hardmax
from dynsim.systems.hardmax.maps import MultiHeadMap
from dynsim.systems.noisy import NoisyFlow
from tests.support.precision import single, types_of
from tests.support.zoo import MAPS, flow_and_start, map_and_start

FLOW, START = VanDerPol(mu=1.1), jnp.asarray([2.0, 0.1])
LOOSE = Scipy(rtol=1e-4, atol=1e-6)
TS = [0.0, 0.3, 1.0]  # 0.3 is another number in float32
FALL = FunctionFlow(lambda t, x, g: jnp.stack([x[1], -g + 0 * x[1]]), parameters={"g": 9.81})
BOUNCE = Transition(
    "bounce", Event(lambda t, x: x[0], -1), lambda flow, t, x: (flow, x * np.array([0.0, -0.8], x.dtype))
)


@pytest.mark.parametrize("dwell", [0.0, 0.1])
def test_a_hybrid_run_keeps_its_times_and_its_precision(dwell):
    options = {"dwell": dwell, "integrator": LOOSE, "error_estimate": True}
    runs = [simulate_hybrid(FALL, x, TS, [BOUNCE], **options) for x in (single([1.0, 0.0]), [1.0, 0.0])]
    for rough, exact in zip(*(run.phases for run in runs), strict=True):
        assert types_of((rough.ys, rough.ts, rough.stats)) == {"float32"}
        assert 0 < rough.stats.max_error < 1e-3
        np.testing.assert_allclose(rough.ts, exact.ts, rtol=1e-5)
        np.testing.assert_allclose(rough.ys, exact.ys, atol=1e-4)
    assert types_of([(jump.before, jump.after) for jump in runs[0].jumps]) == {"float32"}


def test_a_reset_in_float64_does_not_change_the_precision():
    reset = lambda flow, t, x: (flow, x.astype(float) * jnp.asarray([0.0, -0.8]))
    run = simulate_hybrid(FALL, single([1.0, 0.0]), TS, [Transition("bounce", BOUNCE.guard, reset)], integrator=LOOSE)
    assert types_of([path.ys for path in run.phases]) == {"float32"}


@pytest.mark.parametrize(
    "integrator",
    [LOOSE, pytest.param(Diffrax(rtol=1e-5, atol=1e-7), marks=pytest.mark.slow)],
    ids=["Scipy", "Diffrax"],
)
def test_a_float32_trajectory_slides(integrator):
    """Dry friction holds the mass where the spring is weaker."""
    rhs = lambda t, x, c: jnp.stack([x[1], -x[0] - c * jnp.sign(x[1])])
    slider = FunctionFlow(rhs, parameters={"c": 0.3})
    runs = [simulate(slider, x, [0.0, 3.0, 10.0], integrator=integrator) for x in (single([1.5, 0.0]), [1.5, 0.0])]
    assert types_of((runs[0].ys, runs[0].ts, runs[0].stats)) == {"float32"}
    np.testing.assert_allclose(runs[0].ys, runs[1].ys, atol=1e-3)


def test_errors_of_a_float32_run_are_measured_in_float64():
    """A second solution in float32, whose tolerance has reached its floor, would repeat the first one."""
    run = simulate(FLOW, single(START), [0.0, 5.0], integrator=Scipy(rtol=1e-6, atol=1e-8), error_estimate=True)
    exact = simulate(FLOW, single(START).astype(float), [0.0, 5.0], integrator=Scipy())
    error = np.abs(np.asarray(run.ys) - np.asarray(exact.ys))
    assert types_of(run.stats) == {"float32"}
    np.testing.assert_allclose(run.stats.error, error, rtol=0.2, atol=1e-7)
    assert run.stats.max_error > 1e-7


def test_times_that_float32_cannot_tell_apart_are_refused():
    sentence = "`ts` must increase by more than the rounding of times in float32, the precision of the state, but goes"
    with pytest.raises(ValueError, match=sentence):
        simulate(FLOW, single(START), [0.0, 100.0, 100.000001])


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
def test_ensembles_and_their_noise_are_in_float32(kind):
    starts = kind([[2.0, 0.1], [1.0, 0.3]], np.float32)
    run = ensemble(FLOW, starts, TS, lambda t, x: x[0] * t, integrator=LOOSE)
    noisy = ensemble(NoisyFlow(FLOW, 0.3, calculus="ito"), starts, TS, lambda t, x: x[0], key=random_key(0, "noise"))
    for found in (run, noisy):
        assert types_of((found.values, found.final, found.initial, found.ts, found.stats)) == {"float32"}


def test_a_tolerance_below_the_rounding_of_float32_costs_an_ensemble_no_steps():
    starts = single([[2.0, 0.1], [1.0, 0.3]])
    fine, floor = (ensemble(FLOW, starts, TS, lambda t, x: x, integrator=Diffrax(rtol=r)) for r in (1e-9, 2e-7))
    assert np.all(np.asarray(fine.stats.num_steps) <= 20)
    np.testing.assert_array_equal(fine.final, floor.final)


def test_a_sweep_in_float32_stays_there():
    final = lambda mu: simulate(VanDerPol(mu=mu), single(START), TS, integrator=LOOSE).final
    table = sweep(final, {"mu": [0.7, 1.1]})
    assert table["value"].dtype == np.float32
    np.testing.assert_allclose(table["value"][1], simulate(FLOW, START, TS, integrator=LOOSE).final, atol=1e-4)


def test_states_in_between_are_in_float32():
    path = dense_output(simulate(FLOW, single(START), TS, integrator=LOOSE))
    assert types_of((path(0.2), path([0.1, 0.9]), path.at([0.1, 0.9]).ts)) == {"float32"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "growing, in steps")) for n in MAPS])
def test_a_map_iterates_in_float32(name):
    map, x = map_and_start(name)
    if map.on_host:
        assert iterate(map, x.astype(jnp.float32), 2).ys.dtype in (float, object)
        return
    found = eqx.filter_eval_shape(lambda x: iterate(map, x, 4, every=2), single(x))
    assert types_of((found.ys, found.stats.max_defect)) == {"float32"}


def test_hard_heads_take_tokens_of_jax_in_float32():
    heads = MultiHeadMap([Hardmax()], np.array([[[0.3, 0.1], [0.0, 0.7]]]))
    tokens = jnp.asarray([[1.0, 0.0], [0.5, 0.5]], jnp.float32)
    np.testing.assert_array_equal(iterate(heads, tokens, 1).ys, iterate(heads, np.asarray(tokens, float), 1).ys)


@pytest.mark.slow
def test_a_growing_system_stays_in_float32():
    flow, start = flow_and_start("growing")
    for run in (simulate_growing(flow, single(start), [0.0, 0.2, 1.0]), descend(flow, single(start), 10)):
        assert types_of([(path.ys, path.stats.max_defect) for path in run.phases]) == {"float32"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if hasattr(entry.kind, "velocity")])
def test_flows_of_the_catalogue_are_solved_in_float32(name):
    flow, start = CATALOGUE[name].system(), CATALOGUE[name].start
    runs = [simulate(flow, x, TS, integrator=Diffrax(rtol=1e-5, atol=1e-7)) for x in (single(start), start)]
    assert types_of((runs[0].ys, runs[0].ts, runs[0].stats)) == {"float32"}
    np.testing.assert_allclose(runs[0].ys, runs[1].ys, rtol=1e-3, atol=1e-3)
