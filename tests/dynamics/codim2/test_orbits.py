"""Folds, period doublings and Neimark-Sacker points of maps and of periodic orbits in two parameters: closed forms."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2 import curves, planes
from analysis.dynamics.codim2 import orbits as critical_returns
from analysis.dynamics.codim2.curves import Returning, critical_curve, equations_of
from analysis.dynamics.codim2.derivatives import Images
from analysis.dynamics.codim2.equilibria import Critical
from analysis.dynamics.codim2.orbits import CriticalReturns, doubled, passed
from analysis.dynamics.codim2.planes import critical_curves
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import Diagram, with_curves
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.scaling.units import made_units
from analysis.dynamics.stored_diagrams import load_diagram, save_diagram
from dynsim.spaces import Sphere
from dynsim.systems.base import AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.catalogue.maps import Henon
from dynsim.systems.catalogue.oscillators import Duffing
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.named import where
from dynsim.systems.parameter import Parameter

TURN = 2 * np.pi


def both(first, second):
    return lambda flow: flow.parameters[first], lambda flow: flow.parameters[second]


def at(kind, parameter, state, frequency=0.0):
    values = np.empty(0, complex)
    return Bifurcation(kind, jnp.asarray(state), parameter, values, frequency, 0.0, np.empty(0))


def delayed(k, x, a, s):
    """X' = a x (1 - (1 - s) y - s x), y' = x: the delayed logistic map at s = 0."""
    del k
    return jnp.stack([a * x[0] * (1 - (1 - s) * x[1] - s * x[0]), x[0]])


@pytest.mark.slow
def test_neimark_sacker_points_of_the_delayed_logistic_map_pass_its_strong_resonances():
    """They are at a = 1 + 1 / (1 - s), where the multipliers have the product 1 and the sum 1 - s / (1 - s)."""
    flow = FunctionMap(delayed, parameters={"a": 1.8, "s": 0.0})
    takes = both("a", "s")
    (point,) = continue_equilibria(Parameter(flow, takes[0], 1.5, 2.5), jnp.full(2, 1 - 1 / 1.8)).bifurcations
    assert (point.kind, point.parameter) == ("Neimark-Sacker point", pytest.approx(2.0, abs=1e-9))
    found = critical_curve(
        (Parameter(flow, takes[0], 1.0, 6.0), Parameter(flow, takes[1], -0.2, 0.9)), point, steps=Steps(first=0.1)
    )
    assert np.allclose(found.first, 1 + 1 / (1 - found.second), atol=1e-8)
    assert np.allclose(2 * np.cos(found.frequencies), 1 - found.second / (1 - found.second), atol=1e-8)
    assert found.ends == ("bounds", "1:2 resonance")
    places = [(d.kind, pytest.approx((d.first, d.second), abs=1e-6)) for d in found.degeneracies]
    assert places == [("1:4 resonance", (3, 0.5)), ("1:3 resonance", (4, 2 / 3)), ("1:2 resonance", (5, 0.75))]
    assert "curve of Neimark-Sacker points, " in str(found)


def test_folds_of_a_map_have_a_cusp_and_points_that_are_flips_too():
    """The folds of x + p + q x - x^3 are 27 p^2 = 4 q^3; the other multiplier is -0.9 - q."""
    step = lambda k, x, p, q: jnp.stack([x[0] + p + q * x[0] - x[0] ** 3, -(0.9 + q) * x[1]])
    flow = FunctionMap(step, parameters={"p": 2 * 0.1**1.5, "q": 0.3})
    plane = Parameter(flow, both("p", "q")[0], -1.0, 1.0), Parameter(flow, both("p", "q")[1], -0.5, 0.3)
    found = critical_curve(plane, at("fold", 2 * 0.1**1.5, [-np.sqrt(0.1), 0.0]), steps=Steps(first=0.1))
    assert np.allclose(27 * found.first**2, 4 * found.second**3, atol=1e-9)
    kinds = [d.kind for d in found.degeneracies]
    assert kinds == ["fold-flip point", "cusp", "fold-flip point"]
    places = sorted((d.first, d.second) for d in found.degeneracies)
    edge = 2 * (0.1 / 3) ** 1.5
    assert np.allclose(places, [(-edge, 0.1), (0, 0), (edge, 0.1)], atol=1e-7)
    assert found.ends == ("bounds", "bounds")
    for count in (1, 2):  # one point has no direction in which to go on
        rows = {name: getattr(found, name)[4 : 4 + count] for name in ("first", "second", "states", "frequencies")}
        part = found._replace(**rows, degeneracies=(), ends=("steps", "steps"))
        longer = extend(part, plane, steps=Steps(first=0.1, points=3))
        assert len(longer.first) > 2 if count == 2 else longer.first.tolist() == part.first.tolist()


@pytest.fixture(scope="module")
def henon():
    takes = where(Henon(), "a"), where(Henon(), "b")
    flow = Henon(a=0.1, b=0.3)
    return (
        flow,
        takes,
        continue_equilibria(Parameter(flow, takes[0], -0.5, 0.5), jnp.asarray([0.8, 0.24]), steps=Steps(points=30)),
    )


@pytest.mark.slow
def test_folds_and_flips_of_the_henon_map_are_at_their_closed_forms_and_go_on(henon, tmp_path):
    """Folds are at a = -(1 - b)^2 / 4, flips at a = 3 (1 - b)^2 / 4; the product of the multipliers is -b."""
    flow, takes, branch = henon
    assert [b.kind for b in branch.bifurcations] == ["fold", "period doubling"]
    within = lambda low: ((-1.5, 2.9), (low, 0.4))
    first = with_curves(
        Diagram("a", (branch,), (1,)),
        (Parameter(flow, takes[0], *within(-0.5)[0]), Parameter(flow, takes[1], *within(-0.5)[1], name="b")),
        steps=Steps(first=0.1),
    )
    folds, flips = first.curves
    assert np.allclose(folds.first, -((1 - folds.second) ** 2) / 4, atol=1e-9)
    assert np.allclose(flips.first, 3 * (1 - flips.second) ** 2 / 4, atol=1e-9)
    assert first.curves[0].degeneracies == first.curves[1].degeneracies == ()
    save_diagram(tmp_path / "henon.npz", first)
    again = load_diagram(tmp_path / "henon.npz")
    folds, flips = with_curves(
        again,
        (Parameter(flow, takes[0], *within(-1.1)[0]), Parameter(flow, takes[1], *within(-1.1)[1], name="b")),
        steps=Steps(first=0.1),
    ).curves
    assert np.allclose(folds.first, -((1 - folds.second) ** 2) / 4, atol=1e-9)
    assert [(d.kind, d.second) for d in folds.degeneracies] == [("1:1 resonance", pytest.approx(-1.0, abs=1e-6))]
    assert (np.min(folds.second), np.max(folds.second)) == (pytest.approx(-1.1), pytest.approx(0.4))
    assert np.max(flips.first) == pytest.approx(2.9)


@pytest.mark.slow
def test_an_orbit_of_a_map_gives_one_curve_whichever_of_its_points_is_followed(henon):
    """Flips of the points of period two are at a = (1 - b)^2 + (1 + b)^2 / 4."""
    flow, takes, _ = henon
    b, a = 0.3, 0.7**2 + 1.3**2 / 4
    low, high = (((1 - b) + sign * np.sqrt(4 * a - 3 * (1 - b) ** 2)) / (2 * a) for sign in (-1, 1))
    points = [at("period doubling", a, [x, b * y]) for x, y in ((low, high), (high, low))]
    (found,) = critical_curves(
        (Parameter(flow, takes[0], 0.0, 2.0), Parameter(flow, takes[1], 0.0, 0.5)),
        points,
        steps=Steps(first=0.1),
        iterates=[2, 2],
    )
    assert np.allclose(found.first, (1 - found.second) ** 2 + (1 + found.second) ** 2 / 4, atol=1e-9)
    assert found.iterate == 2
    assert "curve of period doublings of iterate 2, " in str(found)


def test_numbers_change_their_signs_where_a_multiplier_passes_a_value_or_is_double():
    turn = np.linalg.qr(np.array([[1.0, 2.0, 0.3], [0.4, -1.0, 0.7], [0.2, 0.5, 1.5]]))[0]
    values = lambda *diagonal: turn @ (np.diag(diagonal) + np.triu(np.ones((3, 3)), 1)) @ turn.T
    assert passed(values(0.5, 1.1, 3.0), 1.0) * passed(values(0.5, 0.9, 3.0), 1.0) < 0
    assert abs(passed(values(0.5, 1.0, 3.0), 1.0)) < 1e-12
    assert doubled(values(1.0, 1.1, 3.0), 1.0) * doubled(values(1.0, 0.9, 3.0), 1.0) < 0
    assert abs(doubled(values(1.0, 1.0, 3.0), 1.0)) < 1e-12


class Turned(AbstractMap):
    """On the sphere z is multiplied by 1 + p + q - z^2 and the point projected, with flips in the other angle."""

    p: object = parameter("p", -2.1)
    q: object = parameter("q", 0.0)
    space: Sphere = Sphere()

    def step(self, k, x):
        y = jnp.stack([(1 + self.p + self.q**2) * x[0] + x[2] * x[0], 0.3 * x[1], x[2] + 0.4 * x[0] ** 2])
        return self.space.project(y)


@pytest.mark.parametrize("kind", ["fold", "period doubling", "Neimark-Sacker point"])
@pytest.mark.parametrize("forced", [False, True])
def test_only_folds_of_autonomous_orbits_have_a_vector_with_a_change_of_the_period(kind, forced):
    """What is integrated: the nodes, the vectors at the nodes, the change of the period, and both parameters."""
    inner = object.__new__(type("Inner", (OrbitCurve,), {"forced": forced, "nodes": lambda _, cycle: cycle.nodes}))
    curve = object.__new__(CriticalReturns)
    curve.kind, curve.inner, curve._rtol, curve._period = kind, inner, jnp.asarray(1e-6), None
    curve.turning = kind.startswith("Neimark")
    curve._returns = SimpleNamespace(images=lambda rows, period, rtol: (rows, period, float(rtol)))
    nodes = np.arange(6.0).reshape(3, 2)
    real, imaginary = np.arange(10.0, 17.0), np.arange(20.0, 27.0)
    shot = curve._shot(Critical(Cycle(nodes, 4.0), real, imaginary, 0.3, 0.7), 0.9, 0.1)
    vectors = [real, imaginary] if curve.turning else [real]
    change = 16.0 / 4.0 if kind == "fold" and not forced else 0.0
    expected = [nodes, *(v[:6].reshape(3, 2) for v in vectors), np.tile([change, 0.7, 0.9], (3, 1))]
    np.testing.assert_array_equal(shot.rows, np.hstack(expected))
    assert shot.images[1:] == (4.0, pytest.approx(1e-7))
    np.testing.assert_array_equal(shot.parts, [[*nodes.ravel(), 4.0], *vectors])


def _on_circle(angle):
    place, way = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    none = lambda: np.zeros(1)
    return CurvePoint(place[:1], float(place[1]), np.eye(1), None, np.zeros(1), way, none, np.zeros((1, 0)))


def test_points_are_inserted_in_the_middle_until_chords_do_not_deviate(monkeypatch):
    """Chords over an angle a deviate from the unit circle by a^2 / 8."""
    angle = lambda point: float(np.arctan2(point.parameter, point.state[0]))
    middle = lambda curve, begin, end, share: _on_circle(angle(begin) + share * (angle(end) - angle(begin)))
    monkeypatch.setattr(curves, "between", middle)
    circle, coarse = object.__new__(CriticalReturns), [_on_circle(a) for a in (0.0, 0.4, 0.41)]
    found = lambda width: [round(angle(one), 9) for one in curves.refined(circle, coarse, np.full(2, width))]
    assert found(2.0) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.41]  # 0.0025 of the width at 0.2, and 0.0006 at 0.1
    assert found(40.0) == [0.0, 0.4, 0.41]
    assert len(found(1e-6)) == 1 + 2 * 2**curves.HALVINGS
    monkeypatch.setattr(curves, "between", lambda *_: None)
    assert found(2.0) == [0.0, 0.4, 0.41]


def test_the_length_of_a_critical_vector_is_that_in_the_given_units():
    """The eigenvector (3, 4) / 5 of the multiplier -1, in units of 2 and 8."""
    p = Parameter(FunctionMap(lambda k, x, p: p * x, parameters={"p": 1.0}), "p", 0.0, 2.0)
    units = made_units(p.system, (p,), np.array([2.0, 8.0]), 1.0, (4.0,))
    curve = FixedPointCurve(units.varied[0], 1, (), units)
    change, none = np.array([[3.0, 1.0], [4.0, 1.0]]), np.empty(0)
    J = change @ np.diag([-2.0, 0.5]) @ np.linalg.inv(change)
    point = CurvePoint(np.zeros(2), 0.0, np.eye(2), J, none, none, lambda: none, none)
    assert curve.critical_length(point, -1.0) == pytest.approx(np.hypot(0.6 * 2, 0.8 * 8))
    assert FixedPointCurve(p, 1).critical_length(point, -1.0) == 1.0


def test_a_point_of_an_iterate_of_a_map_has_images_along_its_orbit():
    """Of 3.2 x (1 - x), whose points of period two are the roots of 3.2^2 x^2 - 3.2 * 4.2 x + 4.2."""
    low, high = np.sort(np.roots([3.2**2, -3.2 * 4.2, 4.2]))
    r = Parameter(FunctionMap(lambda k, x, r: r * x * (1 - x), parameters={"r": 3.0}), "r", 2.0, 4.0)
    found = planes._images(r, at("period doubling", 3.2, [low]), 2)
    np.testing.assert_allclose(np.stack(found), [[low], [high]], rtol=1e-12)
    flow = Parameter(FunctionFlow(lambda t, x, p: p * x, parameters={"p": 1.0}), "p", 0.0, 2.0)
    (alone,) = planes._images(flow, at("fold", 1.0, [0.5]), 1)
    assert alone.tolist() == [0.5]


def test_other_multipliers_are_imaginary_on_the_unit_circle_and_angles_are_tested_at_resonances():
    p, q = (Parameter(FunctionMap(lambda k, x, p, q: x, parameters={"p": 0.5, "q": 0.5}), name, 0, 1) for name in "pq")
    none = np.empty(0)

    def point(angle, *values):
        at = Critical(np.zeros(2), np.zeros(2), np.zeros(2), np.asarray(angle), np.asarray(0.5))
        return CurvePoint(at, 0.5, *[none] * 4, lambda: np.array(values, complex), none)

    curve = lambda kind: CriticalReturns((p, q), kind, FixedPointCurve(p, 1), 1e-9)
    turned = np.exp([1j, -1j])
    assert curve("fold").others(point(0.0, 1.0, 0.5, *turned)) == pytest.approx([-1 / 3, *(1j * np.tan([0.5, -0.5]))])
    assert curve("period doubling").others(point(0.0, 3.0, -1.0)) == pytest.approx([0.5])
    torus = curve("Neimark-Sacker point")
    assert torus.others(point(1.0, *turned, 3.0)) == pytest.approx([0.5])
    tests = torus.tests()
    found = {name: tests[name](point(2.0)) for name in ("1:3 resonance", "1:4 resonance")}
    assert found == pytest.approx({"1:3 resonance": 2.0 - TURN / 3, "1:4 resonance": 2.0 - TURN / 4})
    assert torus.unit == 1.0


def test_a_curve_ends_at_the_resonances_of_no_and_of_half_a_turn(monkeypatch):
    p, q = (Parameter(FunctionMap(lambda k, x, p, q: x, parameters={"p": 0.5, "q": 0.5}), name, 0, 1) for name in "pq")
    curve, none = CriticalReturns((p, q), "Neimark-Sacker point", FixedPointCurve(p, 1), 1e-9), np.empty(0)
    monkeypatch.setattr(critical_returns, "crossed", lambda curve, before, point, test: (test(point), 0.5))

    def end(angle, value=0.5):
        at = Critical(np.zeros(2), np.zeros(2), np.zeros(2), np.asarray(angle), np.asarray(value))
        point = CurvePoint(at, 0.5, *[none] * 4, lambda: none, none)
        return curve.ends_at(point, point)

    assert [end(angle) for angle in (1.0, -0.01, np.pi + 0.02)] == ["", "1:1 resonance", "1:2 resonance"]
    assert curve.ended == [("1:1 resonance", pytest.approx(-0.01)), ("1:2 resonance", pytest.approx(0.02))]
    assert (end(1.0, 1.1), end(1.0, 1 + 1e-12)) == ("outside", "")


@pytest.mark.slow
def test_flips_on_a_sphere_are_at_their_closed_form():
    """At the pole x is multiplied by 2 + p + q^2."""
    both = Parameter(Turned(), "p", -4.0, -2.5), Parameter(Turned(), "q", -0.5, 0.5)
    found = critical_curve(both, at("period doubling", -3.0, [0.0, 0.0, 1.0]), steps=Steps(first=0.1))
    assert np.allclose(found.first, -3 - found.second**2, atol=1e-9)
    assert found.ends == ("bounds", "bounds")


def torus(t, x, p, q):
    """Beside the unit circle z' = (p - q^2 - |z|^2) z + i (0.3 + q) z, for z = x_3 + i x_4."""
    del t
    rest, pull, w = 1 - x[0] ** 2 - x[1] ** 2, p - q**2 - x[2] ** 2 - x[3] ** 2, 0.3 + q
    circle = [rest * x[0] - x[1], x[0] + rest * x[1]]
    return jnp.stack([*circle, pull * x[2] - w * x[3], w * x[2] + pull * x[3]])


@pytest.mark.slow
def test_derivatives_of_the_equations_of_a_neimark_sacker_point_are_those_of_differences():
    flow = FunctionFlow(torus, parameters={"p": 0.02, "q": 0.1})
    nodes = np.array([[1.02, 0.03, 0.1, -0.1], [-0.99, 0.01, 0.05, 0.12]])
    state, random = Cycle(nodes, np.asarray(6.2)), np.random.default_rng(0)
    units = made_units(flow, [Parameter(flow, name, -1.0, 1.0) for name in ("p", "q")], parameters=(1.0, 1.0))
    curve = equations_of(units, "Neimark-Sacker point", state, Returning())
    real, imaginary = (np.append(v, 0.0) for v in random.normal(size=(2, 8)))
    curve.reference = np.stack([imaginary, real])
    given = Critical(state, real, imaginary, np.asarray(2.0), np.asarray(0.02))
    basis, h = curve.basis(given), 1e-4
    values = lambda step, second: curve.equations(curve.displaced(given, step), second, basis).values
    found, zero = curve.equations(given, 0.1, basis), np.zeros(len(basis))
    change = [(values(h * row, 0.1) - values(-h * row, 0.1)) / (2 * h) for row in basis.T]
    kept = np.arange(len(found.values)) != 8  # but the condition of phase of the orbit, which has no value
    assert np.allclose(np.array(change).T[kept], found.J[kept], atol=1e-5)
    assert np.allclose((values(zero, 0.1 + h) - values(zero, 0.1 - h)) / (2 * h), found.slope, atol=1e-5)


def _spirals(row, begin, end):
    """The states and vectors in the columns of a row, along x' = p x - q y, y' = q x + p y from one time to another."""
    length, rate = jnp.exp(row[-2] * (end - begin)), row[-1] * (end - begin)
    turn = jnp.stack([jnp.stack([jnp.cos(rate), -jnp.sin(rate)]), jnp.stack([jnp.sin(rate), jnp.cos(rate)])])
    return jnp.append(jnp.ravel(row[:-3].reshape(-1, 2) @ (length * turn).T), row[-3:])


@jax.jit
def _images(rows, period):
    """What `VariedReturns.images` computes, in closed form."""
    times = period * jnp.arange(len(rows) + 1.0) / len(rows)
    each = lambda fn: jax.vmap(fn)(rows, times[:-1], times[1:])
    ends, maps, speeds = each(_spirals), each(jax.jacfwd(_spirals)), each(jax.jacfwd(_spirals, argnums=2))
    return Images(ends, maps, speeds, jax.vmap(jax.jacfwd(_spirals, argnums=2))(rows, times[:-1], times[:-1]))


@pytest.mark.parametrize("kind", ["period doubling", "Neimark-Sacker point"])
def test_equations_of_several_nodes_have_the_derivatives_of_differences(kind):
    """Three nodes whose images have closed forms; with p = 0 vectors turn by q T, and the curve begins there."""
    field = lambda t, x, p, q: jnp.stack([p * x[0] - q * x[1], q * x[0] + p * x[1]])
    flow, random = FunctionFlow(field, parameters={"p": 0.02, "q": 0.1}), np.random.default_rng(0)
    state = Cycle(random.normal(size=(3, 2)), np.asarray(6.2))
    units = made_units(flow, [Parameter(flow, name, -1.0, 1.0) for name in ("p", "q")], parameters=(1.0, 1.0))
    curve = equations_of(units, kind, state, Returning())
    curve._returns = SimpleNamespace(images=lambda rows, period, rtol: Images(*map(np.asarray, _images(rows, period))))
    real, imaginary = (np.append(v, 0.0) for v in random.normal(size=(2, 6)))
    curve.reference = np.stack([imaginary, real])
    given = Critical(state, real, imaginary, np.asarray(2.0), np.asarray(0.02))
    basis, h = curve.basis(given), 1e-5
    values = lambda step, second: curve.equations(curve.displaced(given, step), second, basis).values
    found, zero = curve.equations(given, 0.1, basis), np.zeros(len(basis))
    change = [(values(h * row, 0.1) - values(-h * row, 0.1)) / (2 * h) for row in basis.T]
    kept = np.arange(len(found.values)) != 6  # but the condition of phase of the orbit, which has no value
    np.testing.assert_allclose(np.array(change).T[kept], found.J[kept], atol=1e-8)
    np.testing.assert_allclose((values(zero, 0.1 + h) - values(zero, 0.1 - h)) / (2 * h), found.slope, atol=1e-8)
    angle = np.pi if kind == "period doubling" else 0.62
    first = curve.begin(state._replace(period=np.asarray(angle / 0.1)), 0.0, angle)
    np.testing.assert_allclose(curve.equations(first, 0.1, basis).values[7:], 0.0, atol=1e-12)


@pytest.mark.slow
def test_neimark_sacker_points_of_orbits_end_at_their_resonances():
    flow, takes = FunctionFlow(torus, parameters={"p": -0.1, "q": 0.1}), both("p", "q")
    circle = periodic_orbit(flow, jnp.asarray([1.0, 0.0, 0.0, 0.0]), TURN)
    (point,) = continue_orbits(Parameter(flow, takes[0], -0.2, 0.2), circle).bifurcations
    found = critical_curve((Parameter(flow, takes[0], -1.0, 1.0), Parameter(flow, takes[1], -0.5, 0.5)), point)
    assert np.allclose(found.first, found.second**2, atol=1e-7)
    assert np.allclose(found.frequencies, TURN * (0.3 + found.second), atol=1e-7)
    assert found.ends == ("1:1 resonance", "1:2 resonance")
    kinds = ["1:1 resonance", "1:4 resonance", "1:3 resonance", "1:2 resonance"]
    assert [d.kind for d in found.degeneracies] == kinds
    assert [d.second for d in found.degeneracies] == pytest.approx([-0.3, -0.05, 1 / 30, 0.2], abs=1e-6)
    assert "curve of Neimark-Sacker points of periodic orbits" in str(found)


def ribbon(t, x, p, q):
    """Beside the unit circle, in a frame that makes half a turn, x_3' = (p - q^2) x_3 and x_4' = -(0.1 + q) x_4."""
    del t
    rest, first, second = 1 - x[0] ** 2 - x[1] ** 2, p - q**2, -0.1 - q
    mean, half = (first + second) / 2, (first - second) / 2
    circle = [rest * x[0] - x[1], x[0] + rest * x[1]]
    across = [x[0] * x[2] + x[1] * x[3], x[1] * x[2] - x[0] * x[3]]
    return jnp.stack([*circle, mean * x[2] - x[3] / 2 + half * across[0], x[2] / 2 + mean * x[3] + half * across[1]])


@pytest.mark.slow
def test_period_doublings_of_orbits_are_at_their_closed_form():
    flow, takes = FunctionFlow(ribbon, parameters={"p": -0.1, "q": 0.2}), both("p", "q")
    circle = periodic_orbit(flow, jnp.asarray([1.0, 0.0, 0.0, 0.0]), TURN, segments=2)
    (point,) = continue_orbits(Parameter(flow, takes[0], -0.2, 0.2), circle).bifurcations
    found = critical_curve((Parameter(flow, takes[0], -1.0, 1.0), Parameter(flow, takes[1], 0.1, 0.5)), point)
    assert np.allclose(found.first, found.second**2, atol=1e-7)
    assert found.ends == ("bounds", "bounds")


@pytest.mark.slow
def test_folds_of_orbits_are_at_their_closed_form_and_end_at_the_equilibrium():
    """R' = r (mu + b r^2 - r^4), angle' = 1 + r^2: the cycles meet at mu = -b^2 / 4 and r^2 = b / 2."""

    def field(t, x, mu, b):
        del t
        r = jnp.sum(x**2)
        return (mu + b * r - r**2) * x + (1 + r) * jnp.stack([-x[1], x[0]])

    flow, takes = FunctionFlow(field, parameters={"mu": -1.0, "b": 2.0}), both("mu", "b")
    angles = TURN * np.arange(3) / 3
    cycle = Cycle(np.stack([np.cos(angles), np.sin(angles)], axis=1), np.asarray(TURN / 2))
    point = at("fold", -1.0, [0.0])._replace(state=cycle)
    bounds = ((-2.0, 0.5), (0.5, 2.5))
    found = critical_curve(
        (Parameter(flow, takes[0], *bounds[0]), Parameter(flow, takes[1], *bounds[1])), point, steps=Steps(first=0.1)
    )
    assert np.allclose(found.first, -(found.second**2) / 4, atol=1e-7)
    assert found.ends == ("bounds", "bounds")
    whole = extend(
        found, (Parameter(flow, takes[0], *bounds[0]), Parameter(flow, takes[1], -1.0, 2.5)), steps=Steps(first=0.1)
    )
    assert np.allclose(whole.first, -(whole.second**2) / 4, atol=1e-7)
    assert np.allclose(np.sum(whole.states.nodes[:, 0] ** 2, axis=1), whole.second / 2, atol=1e-6)
    assert np.allclose(whole.states.period, TURN / (1 + whole.second / 2), atol=1e-6)
    assert sorted(whole.ends) == ["bounds", "equilibrium"]
    assert np.min(whole.second) < 0.05
    assert "curve of folds of periodic orbits" in str(whole)


@pytest.mark.slow
def test_period_doublings_of_a_forced_oscillator_have_the_period_of_its_forcing():
    """Bifurcations along the curve are those of orbits that are found alone, and their periods those of the forcing."""
    flow, period = Duffing(gamma=0.1, omega=1.0), lambda flow: TURN / flow.omega
    takes = where(flow, "gamma"), where(flow, "omega")
    first = periodic_orbit(flow, jnp.asarray([1.1, 0.0]), TURN, forced=True)
    branch = continue_orbits(Parameter(flow, takes[0], 0.05, 0.5), first, forcing=period)
    (point,) = [b for b in branch.bifurcations if b.kind == "period doubling"]
    found = critical_curve(
        (Parameter(flow, takes[0], 0.0, 0.6), Parameter(flow, takes[1], 0.8, 1.2)), point, forcing=period
    )
    assert found.ends == ("bounds", "bounds")
    for k in (0, -1):
        omega = float(found.second[k])
        moved, node = Duffing(gamma=float(found.first[k]), omega=omega), jnp.asarray(found.states.nodes[k, 0])
        alone = periodic_orbit(moved, node, TURN / omega, forced=True)
        assert np.min(np.abs(alone.multipliers + 1)) < 1e-6
    with pytest.raises(ValueError, match="Argument `forcing` must be the period, for a flow that depends on time"):
        critical_curve((Parameter(flow, takes[0], 0.0, 0.6), Parameter(flow, takes[1], 0.8, 1.2)), point)


@pytest.mark.slow
def test_what_does_not_fit_the_system_is_one_sentence(henon):
    flow, takes, branch = henon
    bounds, fold = ((-1.0, 1.0), (0.0, 1.0)), branch.bifurcations[0]
    must = "be a fold, a period doubling or a Neimark-Sacker point, but is a branch point"
    with pytest.raises(ValueError, match=f"Argument `at` must {must}"):
        critical_curve(
            (Parameter(flow, takes[0], *bounds[0]), Parameter(flow, takes[1], *bounds[1])),
            fold._replace(kind="branch point"),
        )
    with pytest.raises(ValueError, match="Argument `forcing` must be left out except for periodic orbits"):
        critical_curve(
            (Parameter(flow, takes[0], *bounds[0]), Parameter(flow, takes[1], *bounds[1])),
            fold,
            forcing=lambda flow: 1.0,
        )
    with pytest.raises(ValueError, match="Argument `iterate` must be 1 for a flow, but is 2"):
        critical_curve(
            (
                Parameter(FunctionFlow(torus, parameters={"p": 0.0, "q": 0.0}), both("p", "q")[0], *bounds[0]),
                Parameter(FunctionFlow(torus, parameters={"p": 0.0, "q": 0.0}), both("p", "q")[1], *bounds[1]),
            ),
            fold,
            iterate=2,
        )
