"""Every integrator in float32: nothing is computed in float64, results are near, and tolerances have a floor."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from analysis.chains.integrator import Exponential
from dynsim.errors import IntegrationError
from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.integrators.fixed_step.stochastic import EulerHeun, EulerMaruyama, StochasticHeun
from dynsim.integrators.fixed_step.symplectic import Symplectic
from dynsim.integrators.in_span import InSpan
from dynsim.integrators.presets import implicit, stiff
from dynsim.integrators.stabilised import RKC2
from dynsim.keys import random_key
from dynsim.simulation.dense import dense_output
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import Duffing, Pendulum, VanDerPol
from dynsim.systems.noisy import NoisyFlow
from tests.support.precision import single, types_of
from tests.support.zoo import flow_and_start

FLOW, START = VanDerPol(mu=1.1), jnp.asarray([2.0, 0.1])  # not a number of float32
TS = np.array([0.0, 0.3, 0.7])
LOOSE = {"rtol": 1e-4, "atol": 1e-6}
KEY = random_key(0, "noise")

SOLVERS = {name: Diffrax(getattr(dfx, name)(), **LOOSE) for name in ("Tsit5", "Dopri8", "Bosh3", "Kvaerno4")}
MORE = {name: Diffrax(getattr(dfx, name)(), **LOOSE) for name in ("Dopri5", "Heun", "Kvaerno3", "Kvaerno5")}
MORE |= {"ImplicitEuler": Diffrax(dfx.ImplicitEuler(), rtol=1e-3, atol=1e-5), "implicit": implicit(1e-4)}
METHODS = {name: Scipy(name, **LOOSE) for name in ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")}


FEW = [pytest.param(one, marks=[pytest.mark.slow] if name != "Tsit5" else []) for name, one in SOLVERS.items()]


@pytest.mark.parametrize("integrator", [*FEW, Diffrax(RKC2(), **LOOSE)], ids=[*SOLVERS, "RKC2"])
def test_diffrax_traces_in_float32(integrator):
    """Types are decided in tracing, which raises an error where float32 and float64 meet."""
    found = eqx.filter_eval_shape(lambda x: simulate(FLOW, x, TS, integrator=integrator), single(START))
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("integrator", [*METHODS.values(), stiff()], ids=[*METHODS, "stiff"])
def test_scipy_and_its_presets_solve_in_float32(integrator, kind):
    found = simulate(FLOW, kind(START, np.float32), TS, integrator=integrator)
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}
    np.testing.assert_allclose(found.ys, simulate(FLOW, START, TS, integrator=integrator).ys, rtol=1e-4, atol=1e-4)


def test_fixed_steps_solve_in_float32():
    found, exact = (simulate(Pendulum(friction=0.0), x, TS, integrator=Symplectic(0.1)) for x in (single(START), START))
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}
    np.testing.assert_allclose(found.ys, exact.ys, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scheme", [EulerMaruyama, EulerHeun, StochasticHeun])
@pytest.mark.parametrize("resolution", [None, 0.01])
def test_noise_is_drawn_and_multiplied_in_float32(scheme, resolution):
    noisy = NoisyFlow(FLOW, lambda t, x: [0.1 * x[0], 0.3 * t], calculus=scheme.calculus)
    chosen = scheme(0.05, path_resolution=resolution)
    found = eqx.filter_eval_shape(lambda x: simulate(noisy, x, TS, key=KEY, integrator=chosen), single(START))
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}


def test_noise_of_amplitude_zero_leaves_the_flow():
    noisy, step = NoisyFlow(FLOW, 0.0, calculus="ito"), EulerMaruyama(0.001)
    ends = [simulate(noisy, x, TS, key=KEY, integrator=step).final for x in (single(START), START)]
    np.testing.assert_allclose(*ends, rtol=1e-4, atol=1e-4)


def test_the_exponential_of_a_generator_keeps_float32():
    flow, p = flow_and_start("master equation")
    found = simulate(flow, single(p), TS, integrator=Exponential())
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}
    np.testing.assert_allclose(found.final, expm(TS[-1] * flow.matrix()) @ p, atol=1e-6)


@pytest.mark.parametrize("inner", [Diffrax(**LOOSE), Scipy(**LOOSE)], ids=["Diffrax", "Scipy"])
def test_span_forms_keep_float32(inner):
    flow, x = flow_and_start("published 7.2")
    if isinstance(inner, Diffrax):
        found = eqx.filter_eval_shape(lambda x: simulate(flow, x, TS, integrator=InSpan(inner)), single(x))
    else:
        found = simulate(flow, single(x), TS, integrator=InSpan(inner))
        np.testing.assert_allclose(found.ys, simulate(flow, x, TS, integrator=InSpan(inner)).ys, atol=1e-4)
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()], ids=["Diffrax", "Scipy"])
def test_a_tolerance_below_the_rounding_of_float32_costs_no_steps(integrator):
    """Shorter steps do not make errors smaller than rounding: the default tolerances failed in float32."""
    found = simulate(Lorenz(), single([1.0, 2.0, 20.0]), [0.0, 3.0], integrator=integrator)
    assert int(found.stats.num_steps) < 200
    np.testing.assert_allclose(found.final, [1.079842, -0.678908, 22.614205], rtol=1e-3, atol=1e-3)
    assert types_of((found.ys, found.stats)) == {"float32"}


def test_a_failure_in_float32_says_so():
    with pytest.raises(IntegrationError, match="The state is in float32, whose rounding may be the cause: try float64"):
        simulate(FLOW, single(START), [0.0, 100.0], integrator=Scipy(max_steps=10))


EVENTS = [pytest.param(Diffrax(), id="Diffrax", marks=pytest.mark.slow), pytest.param(Scipy(), id="Scipy")]


@pytest.mark.parametrize("integrator", EVENTS)
def test_parameters_and_times_of_events_are_cast(integrator):
    level = jax.tree_util.Partial(lambda level, t, x: x[0] - level * (1 + t), jnp.asarray(1.7))
    found = [simulate_until(FLOW, x, [0.0, 5.0], [Event(level)], integrator=integrator) for x in (single(START), START)]
    assert types_of((found[0].path.ys, found[0].path.ts, found[0].path.stats)) == {"float32"}
    assert float(found[0].path.ts[-1]) == pytest.approx(float(found[1].path.ts[-1]), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("integrator", (SOLVERS | MORE).values(), ids=SOLVERS | MORE)
def test_diffrax_solves_in_float32(integrator, kind):
    """A forced flow, so that times matter too; states between the saved ones as well."""
    flow = Duffing(delta=0.3, gamma=0.7, omega=1.1)
    found, exact = (simulate(flow, x, TS, integrator=integrator) for x in (kind(START, np.float32), START))
    assert types_of((found.ys, found.ts, found.stats)) == {"float32"}
    np.testing.assert_allclose(found.ys, exact.ys, rtol=1e-4, atol=1e-4)
    between = [dense_output(run)([0.1, 0.5]) for run in (found, exact)]
    assert types_of(between[0]) == {"float32"}
    np.testing.assert_allclose(*between, rtol=1e-4, atol=1e-4)
