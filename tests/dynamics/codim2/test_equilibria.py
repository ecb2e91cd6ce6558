"""Folds and Hopf points in two parameters: closed forms, cusp and Bogdanov-Takens points, stability maps, errors."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.coefficients import cusp_coefficient
from analysis.dynamics.codim2.curves import CriticalCurve, critical_curve, plane_of
from analysis.dynamics.codim2.planes import _covers, _passes, critical_curves, stability_map
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import Diagram, with_curves
from analysis.dynamics.normal_forms.flows import crossing_pair, flow_chart, fold_hopf_coefficients, turns
from analysis.dynamics.stored_diagrams import load_diagram, save_diagram
from analysis.tables import table
from dynsim.equations.system import system
from dynsim.programs import without_compiling
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.oscillators import DoubleWell
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.parameter import Parameter
from figures.panels.bifurcations import critical_lines, number_image
from figures.style import canvas, settings
from tests.support.commands import answer, refused

WELL = (lambda flow: flow.h, lambda flow: flow.a)


class BogdanovTakens(AbstractFlow):
    """The normal form x' = y, y' = p + q y + x^2 + x y: folds at p = 0, Hopf points at p = -q^2 with q > 0."""

    p: object = parameter("p", -1.0)
    q: object = parameter("q", 0.5)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return jnp.stack([x[1], self.p + self.q * x[1] + x[0] ** 2 + x[0] * x[1]])


class Disc(AbstractFlow):
    """x' = x^2 + p^2 + q^2 - 1: two equilibria within the unit circle of p and q, on which they meet in folds."""

    p: object = parameter("p", 0.0)
    q: object = parameter("q", 0.6)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return x**2 + self.p**2 + self.q**2 - 1


@pytest.fixture(scope="module")
def fold():
    return continue_equilibria(Parameter(DoubleWell(h=-1.0), WELL[0], -1.0, 1.0), jnp.asarray([-1.4])).bifurcations[0]


def test_the_folds_of_the_double_well_meet_in_a_cusp(fold):
    found = critical_curve(
        (Parameter(DoubleWell(), WELL[0], -2.0, 2.0), Parameter(DoubleWell(), WELL[1], -1.0, 1.5)),
        fold,
        steps=Steps(first=0.1),
    )
    assert np.allclose(found.first**2, 4 * (found.second / 3) ** 3, atol=1e-9)
    ((kind, h, a),) = [(d.kind, d.first, d.second) for d in found.degeneracies]
    assert found.degeneracies[0].coefficients == pytest.approx((-1.0,))
    assert "cusp at (0, 0) with c = -1; ends" in str(found)
    assert (kind, h, a) == ("cusp", pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9))
    assert found.ends == ("bounds", "bounds")
    assert (found.second[0], found.second[-1]) == (pytest.approx(1.5), pytest.approx(1.5))
    assert found.first[0] * found.first[-1] < 0
    assert "curve of folds, " in str(found)


def test_a_curve_ends_exactly_at_a_bound_of_the_first_parameter(fold):
    """At h = 0.5 on both sides, where a = 3 (h / 2)^(2/3), before the second parameter reaches its own bound."""
    h, a = Parameter(DoubleWell(), WELL[0], -0.5, 0.5), Parameter(DoubleWell(), WELL[1], -1.0, 1.5)
    found = critical_curve((h, a), fold, steps=Steps(first=0.1))
    assert (found.ends, [d.kind for d in found.degeneracies]) == (("outside", "outside"), ["cusp"])
    assert sorted(found.first[[0, -1]].tolist()) == [-0.5, 0.5]
    assert found.second[[0, -1]] == pytest.approx([3 * 0.25 ** (2 / 3)] * 2)


@pytest.mark.slow
def test_a_curve_that_comes_back_is_closed_and_gone_around_once():
    fold = _at("fold", 0.8, 0.0)
    found = critical_curve(
        (Parameter(Disc(), lambda f: f.p, -2, 2), Parameter(Disc(), lambda f: f.q, -2, 2)), fold, steps=Steps(first=0.2)
    )
    assert found.ends == ("closed", "closed")
    assert np.allclose(found.first**2 + found.second**2, 1.0, atol=1e-9)
    turns = np.sum(np.abs(np.diff(np.unwrap(np.arctan2(found.second, found.first))))) / (2 * np.pi)
    assert 0.8 < turns < 1.2
    assert not found.degeneracies


@pytest.mark.slow
def test_two_cusps_in_one_step_are_both_found():
    """Folds of p + r x - 6 g^2 x^2 + x^4 have cusps at x = g and x = -g, with c = 4 x: beside a swallowtail."""
    g, x = 1e-3, 0.5
    r = 12 * g**2 * x - 4 * x**3
    p = 6 * g**2 * x**2 - r * x - x**4
    flow = FunctionFlow(lambda t, x, p, r: p + r * x - 6 * g**2 * x**2 + x**4, parameters={"p": p, "r": r})
    takes = (lambda f: f.parameters["p"], lambda f: f.parameters["r"])
    found = critical_curve(
        (Parameter(flow, takes[0], -3.0, 1.0), Parameter(flow, takes[1], -1.0, 1.0)),
        _at("fold", p, x),
        steps=Steps(first=0.3),
    )
    assert np.min(np.abs(found.states)) > g
    assert [d.kind for d in found.degeneracies] == ["cusp"] * 2
    places = [float(d.state[0]) for d in found.degeneracies]
    assert np.abs(places) == pytest.approx([g, g], rel=1e-4)
    assert [d.coefficients[0] for d in found.degeneracies] == pytest.approx([4 * place for place in places])


def _at(kind, parameter, *state):
    return Bifurcation(kind, jnp.asarray(state), parameter, np.zeros(1, complex), 0.0, 0.0, np.zeros(len(state) + 1))


def test_a_curve_covers_another_one_if_it_passes_both_ends():
    def line(first, second, kind="fold"):
        size = len(first)
        ends = ("bounds", "bounds")
        return CriticalCurve(kind, np.array(first), np.array(second), np.zeros((size, 1)), np.zeros(size), (), ends)

    corner = line([0.0, 2.0, 2.0], [0.0, 0.0, 1.0])
    assert _covers(corner, line([0.25, 2.0], [0.0, 0.75]))
    assert not _covers(corner, line([0.25, 0.25], [0.0, 0.75]))
    assert not _covers(corner, line([0.25, 0.25], [0.75, 0.0]))
    assert not _covers(corner, line([0.25, 2.0], [0.0, 0.75], "Hopf point"))
    assert _passes(corner, _at("fold", 0.5, 0.0), 0.19)  # a tenth of a chord
    assert not _passes(corner, _at("fold", 0.5, 0.0), 0.21)
    assert not _passes(corner, _at("fold", 0.5, 0.3), 0.0)
    assert not _passes(corner, _at("Hopf point", 0.5, 0.0), 0.0)
    assert _passes(corner, _at("fold", 0.5, 3e-9), 0.0)
    assert not _passes(corner, _at("fold", 0.5, 3e-9), 0.0, np.array([1.0, 1.0, 1e-9]))


@pytest.mark.slow
def test_hopf_points_of_the_brusselator_are_at_one_plus_the_square():
    flow = Brusselator(a=1.0, b=1.0)
    at = continue_equilibria(Parameter(flow, lambda f: f.b, 0.5, 5.0), jnp.ones(2)).bifurcations[0]
    found = critical_curve(
        (Parameter(flow, lambda f: f.b, 1.0, 2.5), Parameter(flow, lambda f: f.a, 0.8, 1.5)), at, steps=Steps(first=0.1)
    )
    assert sorted(found.ends) == ["bounds", "outside"]
    assert np.max(found.first) == 2.5
    assert "a bound of the second parameter" in str(found)
    assert "a bound of the first one" in str(found)
    assert np.allclose(found.first, 1 + found.second**2, atol=1e-9)
    assert np.allclose(found.frequencies, found.second, atol=1e-9)


class Lorenz84(AbstractFlow):
    """x' = -y^2 - z^2 - x/4 + F/4, y' = x y - 4 x z - y + G, z' = 4 x y + x z - z."""

    F: object = parameter("F", 1.0)
    G: object = parameter("G", 0.25)
    space: Euclidean = Euclidean()

    def velocity(self, t, state):
        x, y, z = state
        return jnp.stack([-(y**2) - z**2 - x / 4 + self.F / 4, x * y - 4 * x * z - y + self.G, 4 * x * y + x * z - z])


@pytest.mark.slow
def test_a_pole_of_the_lyapunov_coefficient_is_no_bautin_point():
    """At F = 1.684, G = 1.683 a third eigenvalue is zero, where the coefficient changes its sign through infinity."""
    state = jnp.asarray([1.00390638, -6.0563e-05, 0.062256743])
    at = _at("Hopf point", 1.01941, *state)._replace(frequency=4.0)
    where = (lambda f: f.F, lambda f: f.G)
    found = critical_curve((Parameter(Lorenz84(), where[0], 0.0, 3.0), Parameter(Lorenz84(), where[1], 0.0, 2.0)), at)
    assert found.ends == ("bounds", "bounds")
    ((kind, *place, theta),) = [(d.kind, d.first, d.second, d.coefficients[1]) for d in found.degeneracies]
    assert kind == "fold-Hopf point"
    assert place == pytest.approx([1.684, 1.683], abs=1e-3)  # as printed by Shilnikov, Nicolis and Nicolis
    assert theta != 0


class ExtendedLorenz84(AbstractFlow):
    """Lorenz-84 with the square of a further variable, which has all degenerate points of equilibria."""

    F: object = parameter("F", 1.0)
    T: object = parameter("T", 0.04)
    space: Euclidean = Euclidean()

    def velocity(self, t, state):
        x, y, z, u = state
        rest = [x * y - x * z - y + 0.25, x * y + x * z - z, -1.04 * u + 0.987 * u * x + self.T]
        return jnp.stack([-(y**2) - z**2 - x / 4 + self.F / 4 - 0.987 * u**2, *rest])


@pytest.mark.slow
def test_the_extended_lorenz_84_model_has_the_degenerate_points_that_bifurcationkit_finds():
    """Source: the tests of BifurcationKit.jl: a, b of the Bogdanov-Takens point, T at all of them."""
    where, bounds = (lambda f: f.F, lambda f: f.T), ((-1.0, 4.0), (-0.1, 0.1))
    fold = _at("fold", 1.54665, 1.31178553, -0.042875, 0.18038939, -0.15702758)
    hopf = _at("Hopf point", 2.859875, 1.1185081, -0.02341864, 0.22103077, -0.62531759)._replace(frequency=1.17)
    folds, hopfs = (
        critical_curve(
            (Parameter(ExtendedLorenz84(), where[0], *bounds[0]), Parameter(ExtendedLorenz84(), where[1], *bounds[1])),
            at,
            steps=Steps(first=0.02),
        )
        for at in (fold, hopf)
    )
    kinds = ["Bogdanov-Takens point", "fold-Hopf point", "cusp", "fold-Hopf point", "Bogdanov-Takens point"]
    assert [d.kind for d in folds.degeneracies] == kinds
    assert folds.degeneracies[0].coefficients == pytest.approx((0.2144233509273467, 0.6065145518280868), rel=1e-9)
    kinds = ["double Hopf point", "fold-Hopf point", "fold-Hopf point", "double Hopf point"]
    assert [d.kind for d in hopfs.degeneracies] == kinds
    double, corner = (hopfs.degeneracies[k] for k in (0, 1))
    assert abs(double.second) == pytest.approx(0.0262739, abs=1e-7)
    assert abs(corner.second) == pytest.approx(0.0001265, abs=1e-7)
    same = folds.degeneracies[1]
    assert (same.first, abs(same.second)) == pytest.approx((corner.first, abs(corner.second)), abs=1e-9)
    assert same.coefficients == pytest.approx(corner.coefficients, rel=1e-6)


MIXING = np.array([[1.0, 0.3, -0.2], [0.1, 1.0, 0.4], [0.3, -0.1, 1.0]])


def test_a_fold_hopf_point_has_the_coefficients_of_its_normal_form():
    """Of u' = u^2 + s |z|^2, z' = i z + (theta + i / 2) u z in other coordinates, where u is three times as large."""

    def field(t, x, s, theta):
        del t
        u, a, b = jnp.asarray([1 / 3, 1.0, 1.0]) * (MIXING @ x)
        moved = [3 * (u**2 + s * (a**2 + b**2)), theta * u * a - (1 + u / 2) * b, (1 + u / 2) * a + theta * u * b]
        return jnp.linalg.solve(jnp.asarray(MIXING), jnp.stack(moved))

    for s, theta in ((1.0, 0.7), (-1.0, 0.4)):
        flow = FunctionFlow(field, parameters={"s": s, "theta": theta})
        assert fold_hopf_coefficients(flow, jnp.zeros(3), 1.0) == pytest.approx((s, theta), abs=1e-12)


def test_a_cusp_has_the_coefficient_of_its_centre_manifold():
    """On y = x^2 the flow is x' = (1 - 0.3) x^3."""
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] * x[1] - 0.3 * x[0] ** 3, x[0] ** 2 - x[1]]))
    assert cusp_coefficient(*flow_chart(flow, jnp.zeros(2))) == pytest.approx(0.7, abs=1e-12)


class Arch(AbstractFlow):
    """x' = y, y' = p + x^2 + (x + 1 - q^2) y: Hopf points at p = -(1 - q^2)^2 for q from -1 to 1."""

    p: object = parameter("p", -1.0)
    q: object = parameter("q", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return jnp.stack([x[1], self.p + x[0] ** 2 + (x[0] + 1 - self.q**2) * x[1]])


@pytest.mark.slow
def test_a_curve_of_hopf_points_may_have_bogdanov_takens_points_at_both_ends():
    at = _at("Hopf point", -1.0, -1.0, 0.0)._replace(frequency=np.sqrt(2))
    found = critical_curve(
        (Parameter(Arch(), lambda f: f.p, -2.0, 1.0), Parameter(Arch(), lambda f: f.q, -1.5, 1.5)),
        at,
        steps=Steps(first=0.1),
    )
    assert found.ends == ("Bogdanov-Takens point", "Bogdanov-Takens point")
    assert [d.kind for d in found.degeneracies] == list(found.ends)
    assert [d.second for d in found.degeneracies] == pytest.approx(np.sign(found.second[[0, -1]]), abs=1e-9)


def test_pairs_of_eigenvalues_cross_where_their_sum_is_zero():
    for left, right, turning in (
        ([0.1 + 2j, 0.1 - 2j, -3], [-0.1 + 2j, -0.1 - 2j, -3], True),
        ([2, -1.9], [2, -2.1], False),
    ):
        (before, at), (after, other) = (crossing_pair(np.asarray(values, complex)) for values in (left, right))
        assert before * after < 0
        assert abs(before) < 0.1
        assert (turns(at), turns(other)) == (turning, turning)
    for values, share, nearest in (
        ([1.0], 1.0, 0.0),
        ([0.0, 0.0, 1.0], 1.0, 0.0),
        ([2.0, 1.0, -1.0, 4.0], 0.0, 1.0),
        ([5.0, 1.0, -1.5, 7.0], -0.2, 1.0),  # the sum of one pair is negative
        ([-5.0, -1.0, 1.5, 7.0], 1 / 6, -5.0),  # those of two are, and -5 + 7 is 2 of 12
    ):
        assert crossing_pair(np.asarray(values, complex)) == (pytest.approx(share), nearest)


@pytest.mark.slow
def test_folds_and_hopf_points_meet_at_a_bogdanov_takens_point():
    where, bounds = (lambda f: f.p, lambda f: f.q), ((-2.0, 1.0), (-0.5, 1.0))
    line = continue_equilibria(Parameter(BogdanovTakens(), where[0], -2.0, 1.0), jnp.asarray([-1.0, 0.0]))
    at = {b.kind: b for b in line.bifurcations}
    assert at["Hopf point"].parameter == pytest.approx(-0.25, abs=1e-8)
    plane = tuple(Parameter(BogdanovTakens(), *pair) for pair in ((where[0], *bounds[0]), (where[1], *bounds[1])))
    folds, hopfs = (critical_curve(plane, at[k], steps=Steps(first=0.1)) for k in ("fold", "Hopf point"))
    assert np.allclose(folds.first, 0.0, atol=1e-9)
    assert np.allclose(hopfs.first, -(hopfs.second**2), atol=1e-9)
    assert np.all(hopfs.second > 0)
    assert "Bogdanov-Takens point" in hopfs.ends
    for curve in (folds, hopfs):
        assert curve.degeneracies[0].coefficients == pytest.approx((1.0, 1.0), abs=1e-6)
        ((kind, p, q),) = [(d.kind, d.first, d.second) for d in curve.degeneracies]
        assert (kind, p, q) == ("Bogdanov-Takens point", pytest.approx(0.0, abs=1e-7), pytest.approx(0.0, abs=1e-7))
    begun = critical_curve(plane, folds.degeneracies[0], steps=Steps(first=0.1))
    assert begun.kind == "Hopf point"
    assert np.allclose(begun.first, -(begun.second**2), atol=1e-9)
    assert set(begun.ends) == {"bounds", "Bogdanov-Takens point"}
    with pytest.raises(ValueError, match="must be a bifurcation, or a codimension-two point of equilibria, but is a 1"):
        critical_curve(plane, folds.degeneracies[0]._replace(kind="1:1 resonance"))


def test_both_folds_of_the_double_well_are_on_one_curve_unless_the_cusp_is_cut_off():
    """The curve is h^2 = 4 (a / 3)^3."""
    folds = continue_equilibria(Parameter(DoubleWell(h=-1.0), WELL[0], -1.0, 1.0), jnp.asarray([-1.4])).bifurcations
    assert [at.kind for at in folds] == ["fold", "fold"]
    counts = {
        low: [
            curve.kind
            for curve in critical_curves(
                (Parameter(DoubleWell(), WELL[0], -2.0, 2.0), Parameter(DoubleWell(), WELL[1], low, 1.5)),
                folds,
                steps=Steps(first=0.2),
            )
        ]
        for low in (-1.0, 0.5)
    }
    assert counts == {-1.0: ["fold"], 0.5: ["fold", "fold"]}
    others = [at._replace(kind="branch point") for at in folds]
    assert (
        critical_curves(
            (Parameter(DoubleWell(), WELL[0], -2.0, 2.0), Parameter(DoubleWell(), WELL[1], -1.0, 1.5)), others
        )
        == ()
    )
    with pytest.raises(ValueError, match="Argument `parameters` must have the second parameter's own value, 1, in"):
        critical_curves(
            (Parameter(DoubleWell(), WELL[0], -2.0, 2.0), Parameter(DoubleWell(), WELL[1], 2.0, 3.0)), folds
        )


@pytest.mark.slow
def test_curves_are_saved_with_their_diagram_and_go_on(tmp_path):
    branch = continue_equilibria(Parameter(DoubleWell(h=-1.0), WELL[0], -1.0, 1.0), jnp.asarray([-1.4]))
    within = lambda low: ((-2.0, 2.0), (low, 1.5))
    options = {"steps": Steps(first=0.2)}
    first = with_curves(
        Diagram("h", (branch,), (1,)),
        (Parameter(DoubleWell(), WELL[0], *within(0.5)[0]), Parameter(DoubleWell(), WELL[1], *within(0.5)[1])),
        **options,
    )
    assert [curve.ends for curve in first.curves] == [("bounds", "bounds")] * 2
    save_diagram(tmp_path / "wells.npz", first)
    again = load_diagram(tmp_path / "wells.npz")
    assert str(again) == str(first) == "1 branch in h: 2 folds; 2 curves in h and a"
    same = with_curves(
        again,
        (Parameter(DoubleWell(), WELL[0], *within(0.6)[0]), Parameter(DoubleWell(), WELL[1], *within(0.6)[1])),
        **options,
    )
    for one, other, third in zip(again.curves, first.curves, same.curves, strict=True):
        for field in ("first", "second", "states"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
            assert np.array_equal(getattr(one, field), getattr(third, field))
    (whole,) = with_curves(
        again,
        (Parameter(DoubleWell(), WELL[0], *within(-1.0)[0]), Parameter(DoubleWell(), WELL[1], *within(-1.0)[1])),
        **options,
    ).curves
    assert np.allclose(whole.first**2, 4 * (whole.second / 3) ** 3, atol=1e-9)
    assert [d.kind for d in whole.degeneracies] == ["cusp"]
    assert (np.min(whole.first) < -0.2, np.max(whole.first) > 0.2, whole.ends) == (True, True, ("bounds", "bounds"))
    assert np.all(np.abs(np.diff(np.sign(np.diff(whole.first)))) == 0)  # from one end to the other
    one = again.curves[0]
    reverse = one._replace(**{name: getattr(one, name)[::-1] for name in ("first", "second", "states", "frequencies")})
    other = extend(
        reverse,
        (Parameter(DoubleWell(), WELL[0], *within(-1.0)[0]), Parameter(DoubleWell(), WELL[1], *within(-1.0)[1])),
        steps=Steps(first=0.2),
    )
    assert np.allclose(other.first, whole.first[::-1], atol=1e-9)
    assert [d.kind for d in other.degeneracies] == ["cusp"]
    with pytest.raises(
        ValueError, match="Argument `parameters` must have the second one of the curves of the diagram, `a`, but"
    ):
        with_curves(
            again,
            (
                Parameter(DoubleWell(), WELL[0], *within(0.5)[0]),
                Parameter(DoubleWell(), WELL[1], *within(0.5)[1], name="b"),
            ),
        )
    with pytest.raises(ValueError, match="Argument `known` must be a curve of folds of this flow"):
        extend(
            again.curves[0]._replace(first=first.curves[0].first + 1),
            (Parameter(DoubleWell(), WELL[0], *within(-1)[0]), Parameter(DoubleWell(), WELL[1], *within(-1)[1])),
        )


def test_a_stability_map_counts_equilibria_on_both_sides_of_the_folds():
    starts = [[v] for v in (-1.0, 0.1, 1.0)]
    found = stability_map(
        (Parameter(DoubleWell(), "h", -0.5, 0.1), Parameter(DoubleWell(), "a", -1.0, 0.9)), starts, shape=(3, 2)
    )
    assert found.found.tolist() == [[1, 1, 1], [1, 3, 3]]
    assert found.stable.tolist() == [[1, 1, 1], [1, 2, 2]]


def test_units_of_parameters_are_on_the_axes_and_in_the_table_of_a_stability_map():
    flow = system("x' = I - g*x; I = 1 # [mA]\ng = 2 # [mS]")
    found = stability_map((Parameter(flow, "I", 0.0, 1.0), Parameter(flow, "g", 1.0, 2.0)), [], shape=(2, 2))
    axes = found.plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$I$ (mA)", "$g$ (mS)")
    assert table(found).units == {"first": "mA", "second": "mS"}


def budworm(t, x, r=0.5, k=20.0):
    return r * x * (1 - x / k) - x**2 / (1 + x**2)


@pytest.mark.parametrize("starts", [[[0.0], [17.0]], [[0.0], [0.7]]])
def test_the_numbers_of_stable_equilibria_do_not_depend_on_where_they_are_found(starts):
    """The spruce budworm: roots of a cubic, and the extinction."""
    flow = FunctionFlow(budworm, parameters={"r": 0.5, "k": 20.0})
    with without_compiling():
        plane = Parameter(flow, "r", 0.05, 0.8), Parameter(flow, "k", 2.0, 40.0)
        found = stability_map(plane, list(map(jnp.asarray, starts)), shape=(12, 11))

    def counted(r, k):
        roots = np.roots([-r / k, r, -r / k - 1, r])
        return np.sum((np.abs(roots.imag) < 1e-9) & (roots.real > 0)) // 2 + 1

    assert found.stable.tolist() == [[counted(r, k) for r in found.first] for k in found.second]
    assert not np.any(found.undecided)


def test_points_whose_equilibria_are_undecided_are_counted_and_drawn():
    flow = FunctionFlow(
        lambda t, x, a=1.0, b=1.0: a * x[::-1] * jnp.asarray([1.0, -1.0]) - b * x, parameters={"a": 1.0, "b": 1.0}
    )
    with without_compiling():
        found = stability_map(
            (Parameter(flow, "a", 1.0, 2.0), Parameter(flow, "b", -1.0, 1.0)), [jnp.zeros(2)], shape=(2, 3)
        )
    assert found.undecided.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert found.stable.tolist() == [[0, 0], [0, 0], [1, 1]]
    with settings():
        _, (ax,) = canvas()
        number_image(ax, found.stable, found.first, found.second, what="stable", undecided=found.undecided > 0)
    assert ax.get_legend_handles_labels()[1] == ["0 stable", "1 stable", "undecided"]


def test_bad_input_is_one_sentence(fold):
    bounds = ((-1.0, 1.0), (-1.0, 1.5))
    with pytest.raises(ValueError, match="Argument `at` must be a fold or a Hopf point, but is a branch point"):
        critical_curve(
            (Parameter(DoubleWell(), WELL[0], *bounds[0]), Parameter(DoubleWell(), WELL[1], *bounds[1])),
            fold._replace(kind="branch point"),
        )
    with pytest.raises(ValueError, match="DoubleWell has no `b`"):
        critical_curve(
            (Parameter(DoubleWell(), WELL[0], *bounds[0]), Parameter(DoubleWell(), lambda f: f.b, *bounds[1])), fold
        )
    h = Parameter(DoubleWell(), WELL[0], -1.0, 1.0)
    with pytest.raises(
        ValueError, match="Argument `parameters` must be two `Parameter` objects, but is Parameter h of Dou"
    ):
        plane_of(h)
    with pytest.raises(ValueError, match="Argument `parameters` must belong to one system, but belong to two"):
        critical_curve((h, Parameter(DoubleWell(a=2.0), WELL[1], -1.0, 1.5)), fold)


def test_the_plane_of_two_parameters_is_drawn():
    with settings():
        _, (ax,) = canvas()
        for kind in ("fold", "Hopf point", "fold"):
            critical_lines(ax, kind, [0.0, 1.0], [1.0, 2.0])
        assert [line.get_linestyle() for line in ax.lines] == ["-", "--", "-"]
        image = number_image(ax, [[0, 1, 1], [0, 1, 2]], [0.0, 1.0, 2.0], [1.0, 2.0], what="stable")
        assert ax.get_legend_handles_labels()[1] == ["folds", "Hopf points", "0 stable", "1 stable", "2 stable"]
        assert np.allclose(image.get_array()[..., 0], [[1, 0.875, 0.875], [1, 0.875, 0.75]], atol=5e-3)  # of 8 bits
        assert ax.axis() == (0.0, 2.0, 1.0, 2.0)
        with pytest.raises(ValueError, match="Argument `kind` must be one of fold, Hopf point, .*, but is `cusp`"):
            critical_lines(ax, "cusp", [0.0], [0.0])
        with pytest.raises(ValueError, match=r"Argument `counts` must have shape \(rows, columns\) = \(2, 3\)"):
            number_image(ax, [[0, 1]], [0.0, 1.0, 2.0], [1.0, 2.0], what="stable")


def test_the_command_follows_folds_in_a_second_parameter_and_draws_the_plane(capsys, tmp_path):
    file = tmp_path / "cusp.png"
    base = ["continue", "double-well", "--parameter", "h=-1:1", "--start", "0.1"]
    kept = ["--out", tmp_path / "cusp.npz"]
    said = answer(capsys, *base, "--second", "a=0.8:1.2", *kept)
    assert said.count("curve of folds") == 2
    plane = ["--second", "a=-1:1.5", "--counts", "2", "--figure", file]
    said = answer(capsys, *base, *plane, "--resume", tmp_path / "cusp.npz")
    assert said.count("curve of folds") == 1
    assert "cusp at (" in said
    assert file.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--second a=2:1", "Argument `second` must hold the lower end first, but is `a=2:1`."),
        ("--second a", "Argument `second` must be NAME=LOW:HIGH, such as `rho=0:30`, but is `a`."),
        ("--second h=0:1", "Argument `second` must name a parameter other than `--parameter`"),
        ("--counts 3", "Argument `second` must be given with `--counts`"),
        ("--second a=0:1 --counts 1", "Argument `counts` must be from 2 to 100, but is 1"),
        ("--second aa=0:1", "did you mean `a`?"),
        ("--second a=0:1 --movie a.gif", "Argument `movie` must be left out with `--second`"),
        ("--second a=2:3", "must be a range that contains the system's own value of `a`"),
    ],
)
def test_the_command_refuses_other_second_parameters(capsys, words, sentence):
    base = ["continue", "double-well", "--parameter", "h=-1:1"]
    assert sentence in refused(capsys, *base, *words.split())


@pytest.mark.slow
def test_chords_of_a_curve_are_not_seen_beside_it():
    """The folds of the double well are at h^2 = 4 (a / 3)^3; middles of chords are, up to 0.1% of the bounds."""
    folds = continue_equilibria(Parameter(DoubleWell(h=-1.0), WELL[0], -1.0, 1.0), jnp.asarray([-1.4])).bifurcations
    found = critical_curve(
        (Parameter(DoubleWell(), WELL[0], -1.0, 1.0), Parameter(DoubleWell(), WELL[1], -1.0, 1.5)),
        folds[0],
        steps=Steps(first=0.4, largest=1.0),
    )
    first, second = ((values[1:] + values[:-1]) / 2 for values in (found.first, found.second))
    away = np.abs(np.abs(first) - 2 * np.maximum(second / 3, 0.0) ** 1.5) / 2.0
    assert np.max(away) < 1.5e-3  # 0.1% across the curve
    assert np.allclose(found.first**2, 4 * (found.second / 3) ** 3, atol=1e-9)  # all of them are solutions


@pytest.mark.parametrize("is_map", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_fold_at_which_an_absent_species_can_invade_is_no_cusp(is_map):
    """Where y = 0 the fold of x lies at x = 0; y grows for x > b. By the left null vector no term of x^2 is left."""
    parts = ("x[n+1] = x + ", "y[n+1] = y + ") if is_map else ("x' = ", "y' = ")
    flow = system(f"{parts[0]}a - x^2 - (1 + x)*y; {parts[1]}y*(x - b); a = 0.5; b = 0.3")
    a, b = Parameter(flow, "a", -0.5, 0.9), Parameter(flow, "b", -0.9, 0.9)
    (fold,) = [one for one in continue_equilibria(a, [0.5**0.5, 0.0]).bifurcations if one.kind == "fold"]
    (found,) = critical_curve((a, b), fold).degeneracies
    assert found.kind == ("1:1 resonance" if is_map else "Bogdanov-Takens point")
    assert (found.first, found.second) == pytest.approx((0.0, 0.0), abs=1e-8)


@pytest.mark.parametrize("top", [1.0, 1.0 - 1e-13])
def test_a_curve_of_bifurcations_along_a_bound_is_followed(top):
    """The period doubling lies at a = 1 for all b, which is the upper bound of a up to rounding."""
    steps = system("x[n+1] = x + a - x^2; y[n+1] = b*y; a = 0.5; b = 0.3")
    a, b = Parameter(steps, "a", 0.2, top), Parameter(steps, "b", -0.9, 0.9)
    (doubling,) = continue_equilibria(a, [0.5**0.5, 0.0]).bifurcations
    curve = critical_curve((a, b), doubling)
    assert (curve.kind, curve.ends) == ("period doubling", ("bounds", "bounds"))
    assert np.ptp(curve.second) == pytest.approx(1.8)
