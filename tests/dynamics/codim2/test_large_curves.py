"""Curves of folds and Hopf points with many unknowns agree with closed forms and with dense algebra."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csc_array

from analysis.dynamics.codim2 import curves
from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.codim2.equilibria import Critical, FoldCurve
from analysis.dynamics.codim2.large_equilibria import (
    CriticalMatrix,
    LargeCritical,
    LargeFoldCurve,
    LargeHopfCurve,
    _determinant,
)
from analysis.dynamics.continuation import large_equilibria
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.normal_forms.flows import lyapunov_coefficient
from analysis.dynamics.scaling.units import made_units
from analysis.dynamics.sparse.matrices import SparseMatrix
from dynsim.errors import ArgumentError
from dynsim.programs import sparsity, without_compiling
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

CELLS = 128


def spread(u):
    """The second derivative on a line of the length 64, without flux at the ends."""
    padded = jnp.concatenate([u[:1], u, u[-1:]])
    return (padded[2:] - 2 * u + padded[:-2]) * (len(u) / 64) ** 2


def cusps(t, u, a=-1.0, b=1.0):
    """Cells that are coupled; where all of them are equal, folds have 27 a^2 = 4 b^3."""
    return a + b * u - u**3 + 5.0 * spread(u)


def brusselator(t, z, a=1.0, b=1.5):
    """Hopf points of equal cells have b = 1 + a^2."""
    u, v = z
    return jnp.stack([a - (b + 1) * u + u**2 * v + 3.0 * spread(u), b * u - u**2 * v + 5.0 * spread(v)])


@pytest.fixture
def used(monkeypatch):
    """The equations of the curves that are continued."""
    made, given = [], curves.equations_of
    monkeypatch.setattr(curves, "equations_of", lambda *rest: made.append(given(*rest)) or made[-1])
    return made


def known(kind, state, parameter, frequency=0.0):
    """Describe a bifurcation that is known."""
    return Bifurcation(
        kind, state, parameter, np.zeros(1), frequency, 0.0, np.eye(1, np.size(state) + 1, np.size(state))[0]
    )


def test_the_zeros_of_tests_at_both_ends_of_two_points_are_searched_from_beyond(monkeypatch):
    point = lambda x: CurvePoint(
        np.array([x]), 0.0, None, None, np.zeros(1), np.ones(2), lambda: np.zeros(1), np.zeros((1, 0))
    )
    monkeypatch.setattr(curves, "point_beyond", lambda _, at, sign, size: point(float(at.state[0]) + sign * size))
    tests = {"first": lambda at: float(at.state[0]), "last": lambda at: 2.0 - float(at.state[0])}
    beyond = lambda *names, ends=("bounds", "outside"): [
        float(at.state[0])
        for at in curves._with_ends(
            FoldCurve.__new__(FoldCurve), [point(0.0), point(2.0)], ends, {name: tests[name] for name in names}
        )
    ]
    assert beyond("first", "last") == [-2.0, 0.0, 2.0, 4.0]
    assert beyond("first") == [-2.0, 0.0, 2.0]
    assert beyond("first", "last", ends=("accuracy", "outside")) == [0.0, 2.0, 4.0]


def test_borders_are_those_of_the_nearest_point_in_the_component_that_is_farthest():
    curve = LargeFoldCurve.__new__(LargeFoldCurve)
    curve._known = [
        (np.array(at), np.full(2, k), np.full(2, -k)) for k, at in enumerate(([0.0, 0.0], [3.0, 3.0], [0, 4.0]))
    ]
    found = [curve._nearest(np.array(at)) for at in ([1.0, 1.0], [2.5, 2.5], [0.1, 3.0])]
    assert [(int(right[0]), int(left[1])) for right, left in found] == [(0, 0), (1, -1), (2, -2)]


@pytest.mark.parametrize(("entries", "expected"), [((-1.0, 2.0), -1), ((1.0, 0.5), 1), ((-3.0, -2.0), 1)])
def test_the_least_singular_value_has_the_sign_of_the_determinant(entries, expected):
    J, one = SparseMatrix(csc_array(np.diag(entries))), np.ones(2)
    matrix = CriticalMatrix(J, None, one, one)
    point = CurvePoint(one, 0.0, None, matrix, one, np.ones(3), lambda: one, np.zeros((2, 0)))
    assert np.sign(_determinant(point)) == expected


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (LargeHopfCurve, [2j, -2j, -0.1 + 1.9j, -0.1 - 1.9j, -3.0]),
        (LargeFoldCurve, [1e-9, -0.1 + 1.9j, -0.1 - 1.9j, -3.0]),
    ],
)
def test_the_other_eigenvalues_are_those_without_both_of_a_critical_pair(monkeypatch, kind, values):
    state, number = Critical(np.zeros(1), np.empty(0), np.empty(0), np.array(2.0), np.array(0.0)), np.zeros(1)
    monkeypatch.setattr(kind, "_rightmost", lambda *_: np.array(values))
    point = CurvePoint(state, 0.0, None, None, number, np.ones(2), lambda: number, np.zeros((1, 0)))
    found = kind.__new__(kind).others(point)
    np.testing.assert_array_equal(found, [-0.1 + 1.9j, -0.1 - 1.9j, -3.0])


@pytest.fixture
def small(monkeypatch):
    """Sparse algebra for two cells of the Brusselator: the parameters, and the equations at its Hopf point."""
    monkeypatch.setattr(large_equilibria, "LARGE", 4)
    monkeypatch.setattr(sparsity, "SMALLEST", 4)
    monkeypatch.setattr(sparsity, "_stays_sparse", lambda pattern: True)
    flow = FunctionFlow(brusselator, parameters={"a": 1.2, "b": 2.44})
    both = Parameter(flow, "b", 0.0, 9.0), Parameter(flow, "a", 0.0, 9.0)
    state = np.array([[1.2, 1.2], [2.44 / 1.2, 2.44 / 1.2]])
    units = made_units(flow, both, parameters=(1.0, 1.0))
    return flow, state, lambda kind: curves.equations_of(units, kind, state, curves.Returning())


@pytest.mark.parametrize("kind", ["fold", "Hopf point"])
def test_derivatives_of_the_equations_beside_a_critical_point_are_those_of_differences(small, kind):
    """At the Hopf point of the Brusselator b = 1 + a^2, and the frequency is a."""
    _, state, made = small
    curve = made(kind)
    given = curve.begin(state, 2.44, 1.2)
    if kind == "Hopf point":
        assert curve.equations(given, 1.2, None).values == pytest.approx(np.zeros(6), abs=1e-9)
    given = curve.displaced(given, np.array([0.01, -0.02, 0.03, 0.01, 0.02, -0.03]))
    size, h, basis = 5 + (kind == "Hopf point"), 1e-5, curve.basis(given)
    found = curve.equations(given, 1.25, basis)
    steps = h * np.asarray(basis.todense()).T
    values = lambda step, second=1.25: curve.equations(curve.displaced(given, step), second, basis).values
    change = np.array([(values(step) - values(-step)) / (2 * h) for step in steps]).T
    solved = np.array([found.J.solved(row) for row in np.eye(size)]).T
    np.testing.assert_allclose(solved @ change, np.eye(size), atol=1e-6)
    zero = np.zeros(6)
    np.testing.assert_allclose((values(zero, 1.25 + h) - values(zero, 1.25 - h)) / (2 * h), found.slope, atol=1e-6)


def test_the_lyapunov_coefficient_along_a_curve_with_many_unknowns_is_that_of_the_flow(small):
    flow, state, made = small
    curve = made("Hopf point")
    at = curve.begin(state, 2.44, 1.2)
    J, none = curve.equations(at, 1.2, None).J, np.empty(0)
    point = CurvePoint(at, 1.2, none, J, none, none, lambda: none, none)
    with without_compiling():
        assert curve._lyapunov(point) == pytest.approx(lyapunov_coefficient(flow, state, 1.2).bounded, rel=0.05)
    assert curve.tests()["fold-Hopf point"](point) > 0


def test_the_folds_of_equal_cells_meet_in_a_cusp(used):
    flow = FunctionFlow(cusps, parameters={"a": -1.0, "b": 1.0})
    a, b = Parameter(flow, "a", -1.0, 1.0), Parameter(flow, "b", -0.5, 1.2)
    found = critical_curve(
        (a, b), known("fold", np.full(CELLS, -((1 / 3) ** 0.5)), (4 / 27) ** 0.5), steps=Steps(first=0.2)
    )
    assert isinstance(used[0], LargeCritical)
    assert np.allclose(27 * found.first**2, 4 * found.second**3, atol=1e-8)
    (cusp,) = found.degeneracies
    assert (cusp.kind, cusp.first, cusp.second) == ("cusp", pytest.approx(0, abs=1e-7), pytest.approx(0, abs=1e-6))
    assert found.states.shape[1] == CELLS


@pytest.mark.slow
def test_the_hopf_points_of_the_brusselator_on_a_line_are_those_of_one_cell(used):
    flow = FunctionFlow(brusselator, parameters={"a": 1.0, "b": 1.5})
    a, b = Parameter(flow, "a", 0.7, 1.4), Parameter(flow, "b", 1.0, 3.0)
    hopf = known("Hopf point", np.stack([np.full(64, 1.0), np.full(64, 2.0)]), 2.0, 1.0)
    found = critical_curve((b, a), hopf, steps=Steps(first=0.4))
    assert isinstance(used[0], LargeCritical)
    assert np.allclose(found.first, 1 + found.second**2, atol=1e-8)
    assert np.allclose(found.frequencies, found.second, atol=1e-8)
    assert found.ends == ("bounds", "bounds")


def test_hopf_points_of_many_unknowns_begin_at_one_of_them():
    flow = FunctionFlow(brusselator, parameters={"a": 1.0, "b": 1.5})
    both = Parameter(flow, "b", 1.0, 3.0), Parameter(flow, "a", 0.7, 1.4)
    place = Degeneracy("Bogdanov-Takens point", np.ones((2, 64)), 2.0, 1.0)
    with pytest.raises(ArgumentError, match="`at` must be a Hopf point itself, of a system with many unknowns"):
        critical_curve(both, place, kind="Hopf point")


@pytest.mark.slow
def test_curves_are_those_of_dense_algebra(used, monkeypatch):
    """Ignition of a slab, u'' + p exp(u / (1 + e u)) = 0: both folds meet in a cusp near e = 0.2458 (Boddington)."""
    cells, width = 80, 1 / 81
    ends = lambda u: jnp.concatenate([jnp.zeros(1), u, jnp.zeros(1)])
    field = lambda t, u, p=0.5, e=0.2: (
        (ends(u)[2:] - 2 * u + ends(u)[:-2]) / width**2 + 4 * p * jnp.exp(u / (1 + e * u))
    )
    flow = FunctionFlow(field, parameters={"p": 0.1, "e": 0.2})
    p, e = Parameter(flow, "p", 0.1, 2.0), Parameter(flow, "e", 0.1, 0.3)
    fold = continue_equilibria(p, np.zeros(cells), steps=Steps(first=0.2)).bifurcations[0]
    found = []
    for least in (cells + 1, cells - 1):
        monkeypatch.setattr(large_equilibria, "LARGE", least)
        found.append(critical_curve((p, e), fold, steps=Steps(first=0.3, points=60)))
    assert [isinstance(one, FoldCurve) for one in used] == [True, False]
    places = [[(one.kind, one.first, one.second) for one in curve.degeneracies] for curve in found]
    assert [kind for kind, _, _ in places[0]] == [kind for kind, _, _ in places[1]] == ["cusp"]
    assert np.array([one[0][1:] for one in places]) == pytest.approx(np.tile(places[0][0][1:], (2, 1)), rel=1e-6)
    assert places[0][0][2] == pytest.approx(0.2458, abs=1e-3)


@pytest.mark.slow
def test_two_thousand_unknowns_are_continued():
    flow = FunctionFlow(brusselator, parameters={"a": 1.0, "b": 1.5})
    a, b = Parameter(flow, "a", 0.7, 1.4), Parameter(flow, "b", 1.0, 3.0)
    hopf = known("Hopf point", np.stack([np.full(1000, 1.0), np.full(1000, 2.0)]), 2.0, 1.0)
    found = critical_curve((b, a), hopf, steps=Steps(first=0.2, points=5))
    assert np.allclose(found.first, 1 + found.second**2, atol=1e-8)
