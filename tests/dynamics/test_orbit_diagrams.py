"""Attractors that are followed in both directions along a parameter: hysteresis of maps and flows."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram, hysteresis_diagram, orbit_diagram
from analysis.dynamics.poincare import Maxima, Section, Stroboscope, poincare_section
from analysis.tables import table
from dynsim.integrators import Diffrax, Scipy
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Roessler
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.catalogue.oscillators import Duffing
from dynsim.systems.parameter import Parameter
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT


def cubic(k, x, a):
    return x + 0.2 * (a + x - x**3)  # at rest where a = x^3 - x, stable where |x| exceeds sqrt(1 / 3)


def test_a_cubic_map_jumps_at_its_folds():
    """The fold points are at a = -+2 / sqrt(27) = -+0.385; between them the two directions differ."""
    parameter = Parameter(FunctionMap(cubic, names=("u",), units=("V",), parameters={"a": 0.0}), "a", -1.0, 1.0)
    values = np.linspace(-0.6, 0.6, 13)
    found = hysteresis_diagram(parameter, values[::-1], [-1.0], kept=2)
    assert found.up.parameters.tolist() == found.down.parameters.tolist() == values.tolist()
    assert found.up.parameters[found.differs()] == pytest.approx(np.linspace(-0.3, 0.3, 7), abs=1e-12)
    for one, sign in ((found.up, -1), (found.down, 1)):
        inside = np.abs(values) < 0.385
        assert np.all(np.sign(one.values[inside]) == sign)
        np.testing.assert_allclose(one.values**3 - one.values, values[:, None] + 0 * one.values, atol=1e-8)
    listed = table(found)
    assert (listed.names, listed.units["u"], len(listed)) == (("direction", "a", "step", "u"), "V", 52)


def test_an_orbit_that_escapes_starts_again():
    found = hysteresis_diagram(Parameter(Logistic(), "r", 0.0, 5.0), [2.5, 3.2, 4.5], [0.3], transient=200, kept=4)
    assert np.isnan(found.up.values[2]).all()
    assert found.down.periods().tolist() == [1, 2, 0]
    assert not found.differs().any()
    assert str(found) == "orbits followed up and down through 3 values of r; both directions agree"


def turned(t, x, mu):
    """Circles of radius 1 and 2 attract at mu = 0, at other values one of them or none between."""
    r = jnp.sqrt(x @ x)
    rate = mu - (r - 1.0) * (r - 1.5) * (r - 2.0)
    return rate * x / r + jnp.stack([-x[1], x[0]])


@pytest.mark.parametrize(
    "integrator", [Scipy(rtol=1e-6), pytest.param(Diffrax(rtol=1e-6, atol=1e-8), marks=pytest.mark.slow)]
)
def test_a_flow_is_followed_by_its_maxima(integrator):
    """The radius of the limit cycle solves mu = (r - 1)(r - 3/2)(r - 2), whose folds are at mu = -+0.0481."""
    parameter = Parameter(FunctionFlow(turned, names=("x", "y"), parameters={"mu": 0.0}), "mu", -0.1, 0.1)
    options = {"transient": 60.0, "kept": 2, "longest": 90.0, "integrator": integrator}
    found = hysteresis_diagram(parameter, [-0.08, 0.0, 0.08], [1.0, 0.0], surface=Maxima("x"), **options)
    assert (found.up.component, found.differs().tolist()) == ("x", [False, True, False])
    roots = [np.roots([1.0, -4.5, 6.5, -3.0 - mu]).real for mu in (-0.08, 0.08)]
    ends = roots[0].min(), roots[1].max()
    np.testing.assert_allclose(found.up.values, np.array([[ends[0]] * 2, [1.0] * 2, [ends[1]] * 2]), atol=1e-3)
    np.testing.assert_allclose(found.down.values[1], 2.0, atol=1e-3)


@pytest.mark.slow  # two programs, and 300 periods
def test_the_forced_oscillator_of_duffing_has_hysteresis_at_its_resonance():
    """By harmonic balance the amplitude A solves ((1 - w^2 + 3/4 beta A^2)^2 + (delta w)^2) A^2 = gamma^2."""
    parameter = Parameter(Duffing(alpha=1.0, beta=0.04, delta=0.1, gamma=1.0), "omega", 0.5, 2.5)
    surface = Stroboscope(lambda flow: 2 * jnp.pi / flow.omega)
    values = np.array([1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
    found = hysteresis_diagram(parameter, values, [1.0, 0.0], surface=surface, transient=200.0, kept=3)
    response = lambda a2, w: ((1 - w**2 + 0.75 * 0.04 * a2) ** 2 + (0.1 * w) ** 2) * a2 - 1
    many = [np.sum(np.diff(np.sign(response(np.linspace(0.01, 400.0, 100_000), w))) != 0) == 3 for w in values]
    assert found.differs().tolist() == many == [False, False, True, True, True, False]
    assert np.ptp(found.up.values, axis=1) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow  # 150 maxima
def test_the_maxima_of_roessler_have_a_unimodal_return_map():
    found = poincare_section(Roessler(), [1.0, 2.0, 0.5], Maxima("x"), 150, transient=100.0)
    before, after = found.return_map("x").pairs.T
    order = np.argsort(before)
    top = np.argmax(after[order])
    rising, falling = after[order][: top + 1], after[order][top:]
    assert 0.2 * len(before) < top < 0.9 * len(before)
    assert np.all(np.diff(rising) > -0.02)
    assert np.all(np.diff(falling) < 0.02)


def test_surfaces_of_a_flow_are_found_without_compiling():
    """Maxima of cos 2 t are at multiples of pi, samples at multiples of a period."""
    flow = FunctionFlow(lambda t, x: jnp.stack([-2 * x[1], 2 * x[0]]), names=("x", "y"))
    found = poincare_section(flow, [1.0, 0.0], Maxima("x"), 2, integrator=Scipy())
    np.testing.assert_allclose(found.times, [np.pi, 2 * np.pi], atol=1e-6)
    least = poincare_section(flow, [1.0, 0.0], Maxima(0), 2, direction=-1, integrator=Scipy())
    np.testing.assert_allclose(least.times, [np.pi / 2, 3 * np.pi / 2], atol=1e-6)
    assert (found.what, least.what) == ("at a maximum", "at a minimum")
    beats = poincare_section(flow, [1.0, 0.0], Stroboscope(lambda one: 1.5), 3, integrator=Scipy())
    np.testing.assert_allclose(beats.times, [1.5, 3.0, 4.5], atol=1e-9)
    assert beats.directions.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="Argument `surface` must name a component of the state, x, y, but is `z`"):
        poincare_section(flow, [1.0, 0.0], Maxima("z"), 1)
    with pytest.raises(ValueError, match="Argument `period` must be positive, but is -1"):
        poincare_section(flow, [1.0, 0.0], Stroboscope(-1.0), 1)


def test_both_directions_are_drawn_in_two_colours():
    both = [OrbitDiagram(np.arange(3.0), np.array([[0.0], [k], [2.0]]), "a", "V", "x", "m") for k in (0.0, np.nan)]
    drawn = HysteresisDiagram(*both).plot(colour=["red", "blue"])
    (up,), (down,) = drawn.up, drawn.down
    assert (up.get_color(), down.get_color(), up.get_markersize()) == ("red", "blue", 2 * down.get_markersize())
    assert [text.get_text() for text in drawn.legend.get_texts()] == ["upwards", "downwards"]
    assert (drawn.axes[0].get_xlabel(), drawn.axes[0].get_ylabel()) == ("$a$ (V)", "$x$ (m)")
    assert HysteresisDiagram(*both).differs().tolist() == [False, True, False]
    with pytest.raises(ValueError, match="Argument `colour` must be one, or one for each direction, but are 3"):
        HysteresisDiagram(*both).plot(colour=["red", "blue", "green"])
    empty = both[0]._replace(values=np.full((3, 1), np.nan))
    with pytest.raises(ValueError, match="Argument `diagram` must have a finite value"):
        HysteresisDiagram(empty, empty).plot()


def test_a_diagram_of_a_component_by_name_carries_its_name():
    found = orbit_diagram(Parameter(Logistic(), "r", 0.0, 4.0), [3.2], [0.3], coordinate="x", transient=100, kept=2)
    assert (found.component, found.name) == ("x", "r")
    assert table(found).names == ("r", "step", "x")
    section = Section(np.arange(3.0), np.arange(6.0).reshape(3, 2), np.ones(3), 0.01, True, ("x", "y"), ("", "mV"))
    assert section.return_map("y").unit == "mV"
    assert section.return_map(1).pairs.tolist() == [[1, 3], [3, 5]]


@pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
def test_the_diagram_of_a_map_by_a_kernel_is_the_same(monkeypatch):
    run = lambda: orbit_diagram(Parameter(Logistic(), "r", 0.0, 5.0), [2.8, 3.2, 3.5, 4.9], [0.3], kept=8)
    exact = run()
    calls = as_if_kernels(monkeypatch)
    found = run()
    assert (calls, found.solved) == ([4], "in lanes, by a kernel")
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-10)
    assert np.isnan(found.values[3]).all()
