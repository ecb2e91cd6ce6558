"""Poincare sections, return maps and orbit diagrams: closed forms, published numbers, curved spaces, bad input."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.orbit_diagrams import OrbitDiagram, orbit_diagram
from analysis.dynamics.poincare import Section, poincare_section
from analysis.dynamics.poincare import _crossings as _between
from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Scipy, Stats
from dynsim.simulation.dense import DensePath
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import HenonHeiles, Lorenz
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter


def turning(t, x):
    return jnp.stack([-2 * x[1], 2 * x[0]])


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [pytest.param(None, marks=pytest.mark.slow), Scipy()], ids=["diffrax", "scipy"])
def test_crossings_of_a_circle_are_at_multiples_of_the_period(integrator):
    options = {} if integrator is None else {"integrator": integrator}
    flow, start = FunctionFlow(turning, fastest_period=np.pi), jnp.asarray([1.0, 0.0])
    found = poincare_section(flow, start, lambda t, x: x[0], 8, direction=-1, **options)
    assert np.allclose(found.times, np.pi / 4 + np.pi * np.arange(8), atol=1e-7)
    assert np.allclose(found.states, [[0.0, 1.0]] * 8, atol=1e-6)
    assert found.complete
    both = poincare_section(flow, start, lambda t, x: x[0], 13, direction=0, **options)
    assert np.array_equal(both.directions, [-1, 1] * 6 + [-1])
    assert both.complete  # there are just as many in a piece


def test_a_transient_goes_on_with_state_and_time():
    flow, start = FunctionFlow(turning, fastest_period=np.pi), jnp.asarray([1.0, 0.0])
    late = poincare_section(flow, start, lambda t, x: x[0], 1, direction=-1, transient=1.0, integrator=Scipy())
    assert late.times == pytest.approx([np.pi * 5 / 4], abs=1e-7)
    clock = poincare_section(flow, start, lambda t, x: t - 5.0, 1, integrator=Scipy())  # a sample lies on the surface
    assert clock.times == pytest.approx([5.0], abs=1e-12)
    assert clock.states[0] == pytest.approx([np.cos(10.0), np.sin(10.0)], abs=1e-7)


@pytest.mark.parametrize(("direction", "quarters"), [(1, [3, 7]), (-1, [1, 5]), (0, [1, 3, 5, 7])])
def test_crossings_have_the_direction_that_is_asked_for(direction, quarters):
    """The first coordinate, cos 2 t, is zero at odd multiples of pi / 4, and falls at the first of them."""
    done = Stats(True, Outcome.FINISHED.value, 1, 0, 0.0, 6.0)
    closed = lambda ts: jnp.stack([jnp.cos(2 * ts), jnp.sin(2 * ts)], axis=1)
    path = DensePath(np.array([0.0, 6.0]), FunctionFlow(turning), closed, done)
    times, states, signs = _between(path, lambda t, x: x[0], np.linspace(0.0, 6.0, 41), direction)
    np.testing.assert_allclose(times, np.pi / 4 * np.array(quarters), rtol=1e-14)
    assert signs.tolist() == [1 if k % 4 == 3 else -1 for k in quarters]
    np.testing.assert_allclose(states, np.stack([0 * times, -signs], axis=1), atol=1e-14)


def test_a_section_goes_on_from_piece_to_piece_with_time_and_state(monkeypatch):
    monkeypatch.setattr("analysis.dynamics.poincare.SAMPLES", 10)
    flow, start = FunctionFlow(turning, fastest_period=np.pi), jnp.asarray([1.0, 0.0])
    found = poincare_section(flow, start, lambda t, x: x[0], 4, direction=0, spacing=0.1, integrator=Scipy())
    np.testing.assert_allclose(found.times, np.pi / 4 + np.pi / 2 * np.arange(4), atol=1e-7)
    np.testing.assert_allclose(found.states, [[0.0, 1.0], [0.0, -1.0]] * 2, atol=1e-6)


def test_a_return_map_pairs_successive_crossings_of_one_direction():
    found = Section(np.arange(5.0), np.arange(5.0)[:, None], np.array([1, -1, 1, -1, 1]), 0.1, True)
    assert found.return_map(lambda x: 10 * x[0]).pairs.tolist() == [[0, 20], [20, 40], [10, 30]]


@pytest.mark.slow  # 150 crossings
def test_the_return_map_of_lorenz_is_his_cusp():
    def top(t, x):  # maxima of z
        return x[0] * x[1] - 8 / 3 * x[2]

    found = poincare_section(Lorenz(), jnp.asarray([1.0, 1.0, 20.0]), top, 150, direction=-1, transient=20.0)
    pairs = found.return_map(lambda x: x[2]).pairs
    low, high = pairs[pairs[:, 0] < 38], pairs[pairs[:, 0] > 39]
    assert np.corrcoef(low.T)[0, 1] > 0.95
    assert np.corrcoef(high.T)[0, 1] < -0.95
    slopes = np.abs(np.diff(low[np.argsort(low[:, 0])], axis=0))
    steep = slopes[slopes[:, 0] > 0.05]
    assert np.median(steep[:, 1] / steep[:, 0]) > 1  # Lorenz: the slope exceeds one everywhere


@pytest.mark.slow  # a flow is compiled
def test_a_section_keeps_the_energy():
    flow = HenonHeiles()
    start = jnp.asarray([0.0, 0.1, 0.35, 0.1])
    found = poincare_section(flow, start, lambda t, x: x[0], 30)
    energies = [float(flow.energy(jnp.asarray(x))) for x in found.states]
    assert np.ptp([float(flow.energy(start)), *energies]) < 1e-7
    assert np.allclose(found.states[:, 0], 0, atol=1e-9)


@pytest.mark.slow
def test_sections_on_a_sphere():
    flow = FunctionFlow(lambda t, x: jnp.stack([-x[1], x[0], jnp.zeros_like(x[0])]), Sphere(), fastest_period=6.28)
    found = poincare_section(flow, jnp.asarray([0.6, 0.0, 0.8]), lambda t, x: x[1], 3)
    assert np.allclose(np.diff(found.times), 2 * np.pi, atol=1e-7)
    assert np.allclose(found.states, [[0.6, 0.0, 0.8]] * 3, atol=1e-7)


@pytest.mark.slow
def test_a_section_that_is_not_complete_says_so():
    flow = FunctionFlow(turning, fastest_period=np.pi)
    found = poincare_section(flow, jnp.asarray([1.0, 0.0]), lambda t, x: x[0], 1000, longest=30.0)
    assert not found.complete
    assert len(found.times) < 1000


def test_a_surface_that_is_not_crossed_is_named():
    flow, x = FunctionFlow(turning, fastest_period=np.pi), jnp.asarray([1.0, 0.0])
    with pytest.raises(ValueError, match="Argument `surface` must be crossed by the trajectory, but is not crossed up"):
        poincare_section(flow, x, lambda t, x: x[0] - 2, 5, longest=10.0)


@pytest.mark.slow
def test_bad_sections_are_one_sentence():
    flow, x = FunctionFlow(turning, fastest_period=np.pi), jnp.asarray([1.0, 0.0])
    with pytest.raises(ValueError, match="Argument `start` must be finite"):
        poincare_section(flow, [np.nan, 0.0], lambda t, x: x[0], 5)
    for surface, told in (
        (lambda t, x: x, r"shape \(2,\)"),
        (lambda t, x: x[0] > 0, "bool"),
        (lambda t, x: None, "None"),
    ):
        with pytest.raises(ValueError, match=f"Argument `surface` must return one real number, but returns {told}"):
            poincare_section(flow, x, surface, 5)
    with pytest.raises(
        ValueError, match=r"Argument `coordinate` must return one real number, but returns shape \(2,\)"
    ):
        orbit_diagram(Parameter(Henon(), "a", 0.0, 1.4), [1.0], x, coordinate=lambda x: x)
    with pytest.raises(
        ValueError, match=r"Argument `coordinate` must return one real number, but returns shape \(2,\)"
    ):
        _crossings(np.ones((2, 2))).return_map(lambda x: x)
    with pytest.raises(ValueError, match="Argument `direction` must be -1, 0 or 1, but is 2"):
        poincare_section(flow, x, lambda t, x: x[0], 5, direction=2)
    with pytest.raises(ValueError, match="Argument `spacing` must be positive"):
        poincare_section(flow, x, lambda t, x: x[0], 5, spacing=0.0)
    with pytest.raises(ValueError, match="`spacing` must be longer than the rounding of times up to 10000, but"):
        poincare_section(flow, x, lambda t, x: x[0], 5, spacing=1e-300)


RATE = Parameter(Logistic(), "r", 0.0, 5.0)


def test_the_orbit_diagram_of_the_logistic_map_has_its_periods():
    found = orbit_diagram(RATE, [2.8, 3.2, 3.5, 3.83, 4.0, 4.5], jnp.asarray([0.3]), transient=3000)
    assert (found.periods().tolist(), found.name) == ([1, 2, 4, 3, 0, 0], "r")
    assert np.all(np.isnan(found.values[-1]))
    assert found.values[0, 0] == pytest.approx(1 - 1 / 2.8)
    r = 3.2  # the two points of period two
    expected = (r + 1 + np.array([-1, 1]) * np.sqrt((r - 3) * (r + 1))) / (2 * r)
    assert np.allclose(np.sort(found.values[1, :2]), expected)


def test_a_parameter_that_is_an_array_of_one_number_keeps_its_shape():
    logistic = FunctionMap(lambda k, x, r: r[0] * x * (1 - x), parameters={"r": [2.5]})
    found = orbit_diagram(Parameter(logistic, "r", 0.0, 4.0), [2.5, 3.2], [0.3], transient=200, kept=4)
    assert found.periods().tolist() == [1, 2]


def _crossings(states):
    return Section(np.arange(float(len(states))), states, np.ones(len(states)), 0.01, True)


def test_a_section_has_the_least_period_after_which_all_its_states_come_back():
    pairs = 1e-13 * np.stack([np.arange(10), np.arange(10) ** 2 % 7], axis=1)
    assert _crossings(2.0 + pairs).period() == 1
    assert _crossings(np.tile([[1.0], [2.0], [3.0]], (4, 1))).period() == 3
    assert _crossings(np.array([[1.0], [2.0], [3.0]] * 3 + [[1.0]])).period() == 3
    assert _crossings(np.arange(8.0)[:, None]).period() == 0
    assert _crossings(np.empty((0, 2))).period() == 0


def test_what_drifts_by_less_than_the_tolerance_in_a_step_has_no_period():
    drift = 1e-7 * np.arange(200.0)
    found = OrbitDiagram(np.arange(3.0), np.stack([0.5 + drift, 0.5 + 0 * drift, np.tile([0.2, 0.8], 100)]))
    assert found.periods().tolist() == [0, 1, 2]
    shaken = np.arange(200) ** 2 % 199 / 198  # from 0 to 1, without a period
    found = OrbitDiagram(np.arange(3.0), 0.5 + np.array([0.9e-6, 1.5e-6, 1e-3])[:, None] * shaken)
    assert [found.periods(t).tolist() for t in (1e-7, 1e-6, 1e-4, 0.1)] == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert found.periods().tolist() == [1, 0, 0]
    assert _crossings(0.5 + 50 * drift[:, None]).period() == 0


@pytest.mark.slow
def test_an_orbit_diagram_takes_any_coordinate():
    found = orbit_diagram(Parameter(Henon(), "a", 0.0, 1.4), [0.2], jnp.asarray([0.1, 0.1]), coordinate=lambda x: x[1])
    x = (-0.7 + np.sqrt(0.49 + 0.8)) / 0.4
    assert np.allclose(found.values, 0.3 * x)


class Steps(AbstractMap):
    """A parameter times the number of the step."""

    r: object = parameter("r", 1.0)
    space: Euclidean = Euclidean()

    def step(self, k, x):
        return self.r * jnp.asarray(k, float) + 0 * x


def test_steps_are_counted_from_the_start():
    found = orbit_diagram(Parameter(Steps(), "r", 0.0, 2.0), [1.0, 2.0], jnp.zeros(1), transient=5, kept=3)
    assert found.values.tolist() == [[5, 6, 7], [10, 12, 14]]


def test_bad_diagrams_are_one_sentence():
    with pytest.raises(ValueError, match="Argument `values` must have shape"):
        orbit_diagram(RATE, [], jnp.asarray([0.3]))
    with pytest.raises(ValueError, match="Argument `kept` must be at least 1, but is 0"):
        orbit_diagram(RATE, [3.0], jnp.asarray([0.3]), kept=0)
    with pytest.raises(ValueError, match="Argument `values` must lie in the range of the parameter, 0 to 5, but go"):
        orbit_diagram(RATE, [3.0, 6.0], jnp.asarray([0.3]))
    with pytest.raises(ValueError, match="Argument `surface` must be given for a flow, but is None"):
        orbit_diagram(Parameter(Lorenz(), "rho", 0.0, 30.0), [3.0], jnp.ones(3))
    with pytest.raises(ValueError, match="Argument `surface` must be left out for a map, but is given"):
        orbit_diagram(RATE, [3.0], jnp.asarray([0.3]), surface=lambda t, x: x[0])
    late = {"surface": lambda t, x: x[0], "transient": 5.0, "longest": 4.0}
    with pytest.raises(ValueError, match="Argument `longest` must be longer than the transient, 5, but is 4"):
        orbit_diagram(Parameter(Lorenz(), "rho", 0.0, 30.0), [3.0], jnp.ones(3), **late)


def circling(t, x, mu):
    """A flow to a circle of radius sqrt(mu), on which it turns at the rate mu."""
    return (mu - x @ x) * x + mu * jnp.stack([-x[1], x[0]])


@pytest.mark.parametrize(
    ("integrator", "transient"),
    [
        (Diffrax(), 0.0),
        pytest.param(Diffrax(), 30.0, marks=pytest.mark.slow),
        pytest.param(Scipy(), 30.0, marks=pytest.mark.slow),
    ],
)
def test_an_orbit_diagram_of_a_flow_has_its_crossings(integrator, transient):
    """Upwards through the x-axis on the right; one flow never turns, and another only comes there twice."""
    flow = Parameter(FunctionFlow(circling, parameters={"mu": 1.0}), "mu", 0.0, 4.0)
    options = {"surface": lambda t, x: x[1], "transient": transient, "kept": 3, "integrator": integrator}
    found = orbit_diagram(flow, [0.0, 0.3, 1.0, 4.0], [0.5, 0.1], longest=transient + 14 * np.pi, **options)
    radii = np.sqrt([[np.nan] * 3, [0.3, 0.3, np.nan], [1.0] * 3, [4.0] * 3])
    np.testing.assert_allclose(found.values, radii, atol=2e-4)  # from the start, after less than a turn
    assert found.periods(1e-4).tolist() == [0, 0, 1, 1]
    exact = isinstance(integrator, Diffrax)
    assert found.solved == ("in lanes, in JAX" if exact else "not in lanes, because the integrator is Scipy")


def test_a_section_without_crossings_prints_itself():
    none = Section(np.empty(0), np.empty((0, 2)), np.empty(0), 0.1, False)
    assert str(none) == "0 crossings; the run ended before all were found"
    one = Section(np.array([2.5]), np.zeros((1, 2)), np.array([1.0]), 0.1, True)
    assert str(one) == "1 crossing from t = 2.5 to 2.5"
