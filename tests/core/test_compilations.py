"""How many programs calls compile: none where only numbers have changed, and few for a new shape."""

import contextlib
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import orbit_ranges
from analysis.dynamics.flow_maps.autonomy import change_in_time, fields
from analysis.dynamics.flow_maps.compiled import compiled as programs
from analysis.dynamics.flow_maps.unit_speed import typical_speed
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.normal_forms.charts import MapChart, second_derivative
from analysis.dynamics.orbit_diagrams import orbit_diagram
from analysis.dynamics.periodic_orbits import shooting as periodic_orbits
from analysis.dynamics.validated.equilibria import certified_equilibrium
from dynsim.cli.building.own_code import check_function
from dynsim.integrators import Diffrax, Scipy
from dynsim.integrators.base import stacked
from dynsim.integrators.flat_fields import flattened
from dynsim.simulation.checks import as_state
from dynsim.simulation.dense import dense_output
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import RescaledFlow
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.choice import Auto
from tests.support import zoo

pytestmark = pytest.mark.retraced

TS = np.linspace(0.0, 1.0, 7)


@contextlib.contextmanager
def compiled():
    """Yield a list to which every program compiled in the block adds the seconds it took."""
    found: list[float] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        del kwargs
        if "backend_compile" in event:
            found.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def count(call) -> int:
    """Return the number of programs that a call compiles."""
    with compiled() as found:
        call()
    return len(found)


def tokens(scale: float) -> AbstractFlow:
    return TokenFlow(scale * np.eye(3))


def first(t, x):
    return x[0]


def _decaying(t, x, rate):
    return -rate * x


def starts(n: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(3, n, 3))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()], ids=["diffrax", "scipy"])
def test_numbers_compile_nothing(integrator):
    run = functools.partial(simulate, integrator=integrator)
    assert count(lambda: run(tokens(1.0), starts(2)[0], TS)) <= 12
    assert count(lambda: run(tokens(1.0), starts(2)[0], TS)) == 0
    assert count(lambda: run(tokens(0.5), starts(2)[1], 2 * TS)) == 0
    assert count(lambda: run(tokens(0.5), starts(3)[0], TS)) <= 3


def test_states_of_new_shapes_and_the_ends_of_a_path_compile_nothing():
    path = simulate(tokens(1.0), starts(2)[0], TS, integrator=Scipy())
    path = eqx.tree_at(lambda path: path.ys, path, jnp.asarray(np.ones((5, 71)), float))
    assert count(lambda: (path.initial, path.final)) == 0
    assert count(lambda: as_state("y0", np.ones(72))) == 0
    restored = flattened(np.ones((2, 37)))[1]
    assert count(lambda: restored(np.ones(74))) == 0


@pytest.mark.parametrize(
    "name", ["function", "master equation, driven", *(pytest.param(name, marks=pytest.mark.slow) for name in zoo.FLOWS)]
)
def test_a_second_call_with_scipy_compiles_nothing(name):
    """Also of flows that hold dictionaries, which have no hash: those of one's own."""

    def run(rate: float) -> None:
        own = FunctionFlow(_decaying, parameters={"rate": rate}), [1.0, 2.0]
        flow, x = own if name == "function" else zoo.flow_and_start(name)
        simulate(flow, x, [0.0, 0.01, 0.02], integrator=Scipy())

    run(1.0)
    assert count(lambda: (run(1.0), run(2.0))) == 0


def test_a_parameter_taken_by_another_lambda_compiles_nothing():
    run = lambda: orbit_diagram(
        Parameter(Logistic(), lambda system: system.r, 0.0, 4.0), [3.2, 3.5], [0.3], transient=9, kept=2
    )
    run()
    assert count(run) == 0


def test_a_second_certificate_compiles_nothing():
    pytest.importorskip("flint")
    run = lambda x: certified_equilibrium(FunctionFlow(_turning), [x, x])
    run(1e-3)
    assert count(lambda: run(2e-3)) == 0


def test_another_duration_of_a_lyapunov_spectrum_compiles_nothing():
    henon, start = Henon(), jnp.asarray([0.1, 0.1])
    lyapunov_spectrum(henon, start, 100)
    assert count(lambda: lyapunov_spectrum(henon, start, 120, transient=30)) == 0


def test_other_times_of_a_dense_output_compile_nothing():
    path = dense_output(simulate(FunctionFlow(_turning), [1.0, 0.0], TS, integrator=Scipy()))
    path.at(TS)
    assert count(lambda: (path.at(np.linspace(0.0, 0.9, 16)), path(0.3))) <= 3  # transfers of arrays of new shapes


def test_the_segments_of_an_orbit_share_a_program_with_its_nodes(monkeypatch):
    """All calls have arguments of one type, weak or not: another would compile the segment a second time."""
    types = set()

    def segment(pair, x, *numbers):
        types.add(tuple(str(jax.typeof(a)) for a in (x, *numbers)))
        return x, np.eye(2), np.ones(2), np.ones(2), np.ones(())

    monkeypatch.setattr(periodic_orbits, "_segment", segment)
    pair = Linearised(FunctionFlow(_turning), jnp.asarray([1.0, 0.0]))
    period, rtol = jnp.asarray(6.0, float), jnp.asarray(1e-9, float)
    eight, nine = (jnp.asarray(np.ones((number, 2))) for number in (8, 9))
    periodic_orbits.shoot(pair, eight, period, rtol)
    assert count(lambda: periodic_orbits.shoot(pair, nine, period, rtol)) == 0
    periodic_orbits.periodic_orbit(pair.system, jnp.asarray([1.0, 0.0]), 6.0, segments=2)
    assert len(types) == 1


def test_the_field_at_any_number_of_states_and_times_is_one_program():
    flow, points = FunctionFlow(_turning), np.random.default_rng(0).normal(size=(700, 2))
    assert count(lambda: typical_speed(flow, jnp.asarray(points))) <= 2
    assert count(lambda: (typical_speed(flow, jnp.asarray(points[:3])), change_in_time(flow, points[:2]))) <= 1
    found = fields(FunctionFlow(lambda t, x: _turning(t, x) + t), points, np.arange(700.0))
    expected = np.stack([-points[:, 1], points[:, 0]], axis=1) + np.arange(700.0)[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_states_in_other_units_compile_nothing():
    flow = RescaledFlow(FunctionFlow(_turning), state=[2.0, 3.0])
    states = jnp.asarray(np.ones((5, 2)))
    assert count(lambda: flow.rescaled(flow.restored(states))) == 0


def test_what_differs_among_flows_is_joined_by_no_program():
    flows = [FunctionFlow(_decaying, parameters={"rate": float(k)}) for k in range(3)]
    found: list = []
    assert count(lambda: found.extend(stacked(flows))) == 0
    flow, axes = found
    assert axes.parameters["rate"] == 0
    np.testing.assert_array_equal(flow.parameters["rate"], [0.0, 1.0, 2.0])


def test_the_entries_that_a_function_takes_are_looked_for_by_no_program():
    check = lambda change: check_function(FunctionFlow(lambda t, x: change(_turning(t, x))), jnp.ones(2))
    check(lambda x: x)
    assert count(lambda: check(lambda x: jnp.cos(x) ** 3 / 7)) == 0


def _turning(t, x):
    return jnp.stack([-x[1], x[0]])


CHOICES = {"blocked": (None, 300, 1.0, 0.5), "no harmonics": (1e-6, 300, 1e6, 2e6), "harmonic": (1e-6, 700, 1.0, 1.01)}
"""Tolerance, number of tokens, and two values of beta, once too large for harmonics."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["blocked", *(pytest.param(name, marks=pytest.mark.slow) for name in ("no harmonics", "harmonic"))]
)
def test_a_second_call_with_a_chosen_interaction_compiles_nothing(name):
    tolerance, n, *betas = CHOICES[name]
    flow = lambda beta: TokenFlow(beta * np.eye(3), interaction=Auto(tolerance))
    run = lambda beta, row: simulate(flow(beta), starts(n)[row], TS / max(betas))
    assert count(lambda: run(betas[0], 0)) <= 12
    assert count(lambda: run(betas[0], 0)) == 0
    assert count(lambda: run(betas[1], 1)) == 0


def test_another_number_of_saved_times_compiles_nothing_with_scipy():
    run = lambda count: simulate(tokens(1.0), starts(2)[0], np.linspace(0.0, 1.0, count), integrator=Scipy())
    run(16)
    runs: list = []
    assert count(lambda: runs.extend(map(run, (2, 7, 13)))) == 0
    assert [len(path.ys) for path in runs] == [2, 7, 13]
    assert max(float(path.stats.max_defect) for path in runs) < 1e-9
    np.testing.assert_allclose(runs[1].ys[-1], runs[0].ys[-1], atol=1e-12)


def test_a_tolerance_compiles_nothing():
    simulate(tokens(1.0), starts(2)[0], TS)
    assert count(lambda: simulate(tokens(1.0), starts(2)[0], TS, integrator=Diffrax(rtol=1e-6, atol=1e-8))) == 0


@pytest.mark.slow
def test_an_ensemble_compiles_few_programs():
    run = lambda scale, n, **options: ensemble(tokens(scale), starts(n), TS, first, shown=False, **options)
    assert count(lambda: run(1.0, 2)) <= 6
    assert count(lambda: run(1.0, 2)) == 0
    assert count(lambda: run(0.5, 2)) == 0
    assert count(lambda: run(0.5, 3)) <= 3


@pytest.mark.slow
def test_parts_of_an_ensemble_share_a_program():
    run = lambda **options: ensemble(tokens(0.5), starts(3), TS, first, shown=False, **options)
    run()
    assert count(lambda: run(chunk=2)) <= 3  # parts of two members, the second of which is filled up


def test_iterates_of_a_map_share_programs():
    system, x, one, where = Logistic(r=3.2), jnp.full(1, 0.7), jnp.ones(1), lambda system: system.r

    def derivatives(iterate):
        chart = MapChart(system, x, np.eye(1), iterate)
        first = FixedPointCurve(Parameter(system, where, 2.0, 4.0), iterate).equations(x, 3.2, np.eye(1))
        return first.J.item(), second_derivative(chart, one, one).value.item()

    assert count(lambda: derivatives(1)) >= 2
    assert count(lambda: (derivatives(2), derivatives(64))) == 0
    slope, curvature = 3.2 * (1 - 2 * 0.7), -2 * 3.2  # of one step; the next begins at .672
    assert derivatives(1) == pytest.approx((slope - 1, curvature))
    after = 3.2 * (1 - 2 * 0.672)
    assert derivatives(2) == pytest.approx((after * slope - 1, curvature * slope**2 + after * curvature))


def test_what_is_counted_is_seen():
    assert count(lambda: jax.jit(lambda x: x + 1)(jnp.ones(3))) >= 1


@pytest.mark.slow
def test_ranges_of_orbits_on_branches_of_any_length_are_one_program():
    def ranges(points: int):
        angles = 2 * np.pi * np.arange(3) / 3
        circles = np.tile(np.stack([np.cos(angles), np.sin(angles)], axis=1), (points, 1, 1))
        one, none = np.ones(points), np.zeros((points, 1), complex)
        states = Cycle(circles, 2 * np.pi * one)
        return Branch(states, one, one, none, ("stable",) * points, (), ("bounds", "bounds"))

    flow = FunctionFlow(lambda t, x, p: p * jnp.stack([-x[1], x[0]]), parameters={"p": 1.0})
    call = lambda points: orbit_ranges(Parameter(flow, "p", 0.0, 1.0), ranges(points), 0)
    assert np.allclose(call(2), [[-1.0, 1.0]] * 2, atol=1e-5)
    assert count(lambda: call(5)) == 0


def test_programs_for_the_host_are_those_of_equinox_and_compiled_once_for_all_numbers():
    @programs
    def scaled(flow: AbstractFlow, x, shift, power: int):
        return (flow.vector_field(jnp.zeros(()), x) + shift) ** power

    def field(scale, t, x):
        return scale * eqx.error_if(x, x[0] > 5.0, "the first entry is more than 5")

    flows = [FunctionFlow(jax.tree_util.Partial(field, jnp.asarray(value))) for value in (2.0, 3.0)]
    x = np.array([1.0, 2.0])
    assert count(lambda: scaled(flows[0], x, np.float64(3), 2)) > 0
    with compiled() as found:
        again = scaled(flows[1], x + 1, np.float64(1), 2)
    assert not found
    np.testing.assert_array_equal(again, [49.0, 100.0])  # (3 * 2 + 1)^2 and (3 * 3 + 1)^2
    np.testing.assert_array_equal(
        scaled(flows[1], x + 1, np.float64(1), 3), [343.0, 1000.0]
    )  # a number is a part of the program
    with pytest.raises(eqx.EquinoxRuntimeError, match="the first entry is more than 5"):
        scaled(flows[1], x + 6, np.float64(1), 2)
