"""Programs for accelerators, lowered where there is none: nothing in them calls Python or a library of the host."""

import re
from typing import Any

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import saltation
from analysis.dynamics.equilibria.field_rows import _linear_at
from analysis.dynamics.flow_maps import time_map as time_maps
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.lyapunov import _advance_flow
from analysis.dynamics.normal_forms.return_maps import ReturnChart
from dynsim.errors import Outcome
from dynsim.integrators import RKC2, Diffrax, EulerHeun, Event, InSpan, Scipy
from dynsim.integrators.diffrax_backend import _dense, _locate
from dynsim.integrators.save_times import in_order
from dynsim.simulation.simulate import iterate, simulate
from dynsim.spaces import Ellipsoid
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.hardmax.maps import HardmaxMap
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.masks import Causal, Window
from tests.support.zoo import FLOWS, MAPS, D, flow_and_start, map_and_start

LORENZ, AT, ONE = Lorenz(), np.array([1.0, 1.0, 20.0]), jnp.ones(())
TIMES = TimeMap(LORENZ, AT, state_itself, 1.0, 1e-6, 1e3)
WORKBENCH = {"tangent vectors": lambda x: Linearised(LORENZ, x).over(0 * ONE, ONE, ONE, x, jnp.eye(3), 1e-8 * ONE),
    "time map": lambda x: time_maps._run(TIMES, x[None], 0 * ONE, jnp.empty(0), None, np.asarray(1)),
    "exponents": lambda x: _advance_flow(Linearised(LORENZ, x), ONE, 1e-8 * ONE, 4, x, jnp.eye(3), 0 * ONE,
    jnp.asarray(3)), "return map": lambda x: ReturnChart(LORENZ, AT, np.eye(3)[:, :2], 1.0, 1e-8, forced=False)(x[:2]),
    "derivative of a phase": jax.jacrev(lambda x: saltation._solved(LORENZ, x, 0 * ONE, ONE, jnp.asarray([0.3]), ONE,
    1e-8 * ONE)), "dense output": lambda x: _dense(Diffrax(), LORENZ, x, jnp.asarray([0.0, 1.0]), jnp.empty(0),
    None)[0].evaluate(ONE), "field and Jacobian": lambda x: _linear_at(LORENZ, 0 * ONE, x)}  # fmt: skip
"""Programs of the workbench, as functions of a state of the Lorenz system."""
PLATFORMS = ("cuda", "tpu")
TS = (0.0, 1.0, 2.0)
FACTORISATIONS = {"LuDecomposition", "Qr", "ProductOfElementaryHouseholderReflectors", "cusolver_geqrf_ffi",
    "cusolver_orgqr_ffi", "cusolver_ormqr_ffi", "cusolver_getrf_ffi", "cu_lu_pivots_to_permutation",
    "cusolver_potrf_ffi"}  # fmt: skip
"""Kernels that run on the accelerators: LU, for implicit solvers and linear equations, Cholesky, for ellipsoids, QR."""
CHEAP = ("general heads on an ellipsoid", "a user's own, plane")
SOME = [name if name in CHEAP else pytest.param(name, marks=pytest.mark.slow) for name in FLOWS]
INTERACTIONS = {"blocked": (Blocked(2, 2), 3, 5, {"mask": Window(2)}), "harmonic": (Harmonic(1e-6), 3, 5, {}),
    "auto": (Auto(1e-6), 3, 3000, {}), "blocked, full": (Blocked(2, 2), 3, 5, {}),
    "harmonic on the circle": (Harmonic(1e-6), 2, 5, {}),
    "harmonic, causal": (Harmonic(1e-6), 3, 5, {"mask": Causal()}), "harmonic on an ellipsoid": (Harmonic(1e-6), 3, 5,
    {"space": Ellipsoid(np.diag([1.0, 2.0, 3.0]))}), "auto, exact": (Auto(), 3, 300, {}),
    "auto, few": (Auto(1e-6), 3, 5, {})}  # fmt: skip
"""Interaction, dimension, number of tokens, and options of the flow; the first of each kind is always lowered."""
CHOSEN = {"auto": Harmonic, "auto, exact": Blocked, "auto, few": Dense}
FIRST = ("blocked", "harmonic", "auto")
ON_HOST = {"hardmax", "exact hardmax", "two hard heads", "forward Euler of a chain"}


def lowered(fn, *args) -> str:
    """Return the program of a function for all accelerators."""
    kernels = [jax.export.DisabledSafetyCheck.custom_call(name) for name in FACTORISATIONS]  # of whatever version
    return jax.export.export(jax.jit(fn), platforms=PLATFORMS, disabled_checks=kernels)(*args).mlir_module()


def runs_there(fn, *args) -> bool:
    """Return whether the program of a function calls nothing but kernels of the accelerators."""
    return set(re.findall(r"custom_call @(\w+)", lowered(fn, *args))) <= FACTORISATIONS


def solved(flow, integrator):
    """Return the states at `TS` as a function of the start."""
    return lambda y0: simulate(flow, y0, TS, integrator=integrator, throw=False).ys


def test_a_call_of_python_is_found():
    with pytest.raises(NotImplementedError, match="python_callback"):
        lowered(lambda x: jax.pure_callback(np.sin, x, x), jnp.ones(2))


@pytest.mark.parametrize("name", SOME)
def test_fields_are_lowered(name):
    flow, x = flow_and_start(name)
    assert runs_there(lambda t, y: flow.vector_field(t, y), 0.3, x)


@pytest.mark.parametrize("name", SOME)
def test_a_simulation_is_lowered(name):
    flow, x = flow_and_start(name)
    assert runs_there(solved(flow, Diffrax()), x)


def tokens_and_start(name):
    """Return the flow of tokens with an interaction, and a start."""
    way, d, n, options = INTERACTIONS[name]
    flow = TokenFlow(2 * np.eye(d), interaction=way, **options)
    return flow, flow.space.sample(jax.random.key(0), (n, d))


@pytest.mark.parametrize(
    "name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in INTERACTIONS]
)
def test_interactions_are_lowered(name):
    flow, x = tokens_and_start(name)
    assert runs_there(lambda t, y: flow.vector_field(t, y), 0.3, x)
    if name in CHOSEN:
        way: Any = flow.interaction
        assert isinstance(way.chosen(flow, len(x)).interaction, CHOSEN[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERACTIONS)
def test_a_simulation_with_an_interaction_is_lowered(name):
    flow, x = tokens_and_start(name)
    assert runs_there(solved(flow, Diffrax()), x)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.startswith("grow") else [])
        for name in MAPS
        if name not in ON_HOST
    ],
)
def test_maps_are_lowered(name):
    map, x = map_and_start(name)
    assert runs_there(lambda x: iterate(map, x, 4, every=2).ys, x)


def test_a_map_is_iterated_under_transformations():
    steps = lambda x: iterate(FunctionMap(lambda k, x: 2 * x * (1 - x)), x, 3)
    x = jnp.asarray([0.1, 0.2])
    alone = steps(x)
    np.testing.assert_array_equal(jax.jit(lambda x: steps(x).ys)(x), alone.ys)
    np.testing.assert_array_equal(jax.vmap(lambda x: steps(x).final)(x[:, None])[:, 0], alone.final)
    doubled = jax.jit(lambda x: iterate(FunctionMap(lambda k, x: x * 1e200), x, 2).stats)
    assert [int(doubled(x).outcome), bool(doubled(x).succeeded)] == [int(Outcome.NON_FINITE), False]
    assert [int(doubled(0 * x).outcome), bool(doubled(0 * x).succeeded)] == [int(Outcome.FINISHED), True]


@pytest.mark.slow
def test_the_other_maps_say_that_they_run_on_the_host():
    assert {name for name in MAPS if map_and_start(name)[0].on_host} == ON_HOST


@pytest.mark.slow  # implicit solvers take a second each
@pytest.mark.parametrize("solver", [dfx.Dopri8(), dfx.Kvaerno5(), RKC2()], ids=lambda solver: type(solver).__name__)
def test_solvers_are_lowered(solver):
    flow, x = flow_and_start("general heads on an ellipsoid")
    assert runs_there(solved(flow, Diffrax(solver)), x)


@pytest.mark.parametrize(
    "name", [name if name == "time map" else pytest.param(name, marks=pytest.mark.slow) for name in WORKBENCH]
)
def test_the_workbench_is_lowered(name):
    assert runs_there(WORKBENCH[name], jnp.asarray(AT))


@pytest.mark.slow
def test_an_ensemble_is_lowered():
    flow = TokenFlow(np.eye(D))
    starts = flow.space.sample(jax.random.key(0), (4, 2, D))
    for integrator in (Diffrax(), InSpan()):
        observed = lambda y0s, integrator=integrator: integrator.observe([flow], y0s, np.asarray(TS), lambda t, x: x)
        assert runs_there(observed, starts)


@pytest.mark.slow
def test_events_and_noise_are_lowered():
    flow, x = flow_and_start("a user's own, plane")
    events = (Event(lambda t, y: y[0, 0] - 5.0),)
    ts, jumps = in_order(jnp.asarray(TS)), np.empty(0)
    assert runs_there(lambda y: _locate(Diffrax(), flow, y, ts, jumps, None, events)[0], x)
    noisy = NoisyFlow(FunctionFlow(lambda t, y: -y), 0.5, calculus="stratonovich")
    scheme = EulerHeun(0.25)
    path = lambda y0: simulate(noisy, y0, TS, integrator=scheme, key=jax.random.key(0), throw=False).ys
    assert runs_there(path, jnp.ones(3))


def test_times_that_a_caller_traces_are_still_compared():
    flow = FunctionFlow(lambda t, y: -y)
    late = lambda ts: simulate(flow, jnp.ones(2), ts, throw=False).ys
    with pytest.raises(NotImplementedError, match="python_callback"):
        lowered(late, jnp.asarray(TS))
    with pytest.raises(Exception, match="must be increasing"):
        jax.block_until_ready(jax.jit(late)(jnp.asarray([0.0, 2.0, 1.0, 3.0])))


def test_times_beside_a_traced_start_are_checked():
    flow = FunctionFlow(lambda t, y: -y)
    with pytest.raises(ValueError, match="Argument `ts` must increase, but goes from 2 to 1"):
        jax.jit(lambda y: simulate(flow, y, [0.0, 2.0, 1.0, 3.0], throw=False).ys)(jnp.ones(2))


def test_what_stays_on_the_host_cannot_be_lowered():
    flow, x = flow_and_start("a user's own, plane")
    with pytest.raises(ValueError, match="is Scipy, which runs outside of JAX"):
        lowered(solved(flow, Scipy()), x)
    assert HardmaxMap(0.5).on_host
