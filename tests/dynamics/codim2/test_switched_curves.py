"""Curves of bifurcations that leave codimension-two points, on which no bifurcation was found before."""

import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import (
    Steps,
    bifurcation_diagram,
    continue_equilibria,
    critical_curve,
    critical_curves,
    extend,
    with_curves,
)
from analysis.dynamics.boundary_values import connection_curve
from analysis.dynamics.boundary_values.connection_equations import NON_CENTRAL
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.diagrams import _with_central
from dynsim.errors import ArgumentError

OSCILLATORS = ds.system(
    "x' = a*x - y - x*(x^2 + y^2); y' = x + a*y - y*(x^2 + y^2); u' = b*u - 1.7*v - u*(u^2 + v^2)"
    "; v' = 1.7*u + b*v - v*(u^2 + v^2); a = -0.5; b = -0.25"
)
FOLD_HOPF = ds.system("x' = a + x^2 + u^2 + v^2; u' = (b - x)*u - v; v' = (b - x)*v + u; a = -0.04; b = 0.3")
TAKENS = ds.system("x' = y; y' = a + b*x + x^2 + x*y; a = -0.02; b = -0.5")


def plane(flow, first=(-1.0, 0.5), second=(-0.9, 0.9)):
    """Build both parameters of a flow."""
    return ds.Parameter(flow, "a", *first), ds.Parameter(flow, "b", *second)


@pytest.mark.slow
def test_the_second_curve_leaves_a_double_hopf_point():
    both = plane(OSCILLATORS)
    (first,) = continue_equilibria(both[0], np.zeros(4)).bifurcations
    curves = critical_curves(both, [first], switched=True)
    assert [curve.kind for curve in curves] == ["Hopf point", "Hopf point"]
    assert [float(curve.frequencies[0]) for curve in curves] == pytest.approx([1.0, 1.7])
    assert np.allclose(curves[0].first, 0, atol=1e-9)
    assert np.allclose(curves[1].second, 0, atol=1e-9)
    (point,) = curves[0].degeneracies
    again = critical_curve(both, point, frequency=1.0)
    assert np.allclose(again.first, 0, atol=1e-9)
    with pytest.raises(
        ValueError, match="`kind` must be Hopf point or Neimark-Sacker point at a double Hopf point, but is fold"
    ):
        critical_curve(both, point, kind="fold")
    with pytest.raises(ValueError, match="`kind` must be left out with a bifurcation, but is fold"):
        critical_curve(both, first, kind="fold")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flow", "start", "hopf"),
    [(FOLD_HOPF, [-0.2, 0.0, 0.0], lambda b: -(b**2)), (TAKENS, [-0.0438, 0.0], lambda b: 0 * b)],
    ids=["fold-Hopf", "Bogdanov-Takens"],
)
def test_curves_of_folds_and_of_hopf_points_lead_to_each_other(flow, start, hopf):
    both = plane(flow)
    found = {b.kind: b for b in continue_equilibria(both[0], np.array(start)).bifurcations}
    for kind in ("fold", "Hopf point"):
        curves = critical_curves(both, [found[kind]], switched=True)
        assert sorted(curve.kind for curve in curves) == ["Hopf point", "fold"]
        by_kind = {curve.kind: curve for curve in curves}
        turning = by_kind["Hopf point"]
        assert np.allclose(turning.first, hopf(turning.second), atol=1e-8)
        assert np.ptp(by_kind["fold"].second) == pytest.approx(1.8, abs=0.1)


@pytest.mark.parametrize("flow", [FOLD_HOPF, pytest.param(TAKENS, marks=pytest.mark.slow)], ids=["fold-Hopf", "Takens"])
def test_a_codimension_two_point_at_a_bound_of_the_range_is_found(flow):
    inside, bounds = flow is TAKENS, (-0.9, 0.0) if flow is TAKENS else (0.0, 0.9)
    first, second = plane(flow, second=bounds)
    start = [-0.0438, 0.0] if inside else [-0.2, 0.0, 0.0]
    (fold,) = [b for b in continue_equilibria(first, np.array(start)).bifurcations if b.kind == "fold"]
    curve = critical_curve((first, second), fold)
    assert [d.kind for d in curve.degeneracies] == ["Bogdanov-Takens point" if inside else "fold-Hopf point"]
    longer = extend(curve, plane(flow))
    assert len(longer.degeneracies) == 1
    assert np.ptp(longer.second) == pytest.approx(1.8)


def test_a_curve_of_hopf_points_passes_its_fold_hopf_point():
    both = plane(FOLD_HOPF, second=(-0.4, 0.9))
    (turning,) = [
        b for b in continue_equilibria(both[0], np.array([-0.2, 0, 0])).bifurcations if b.kind == "Hopf point"
    ]
    curve = critical_curve(both, turning)
    assert np.allclose(curve.first, -(curve.second**2), atol=1e-8)
    (point,) = curve.degeneracies
    assert point.kind == "fold-Hopf point"
    assert [point.first, point.second] == pytest.approx([0, 0], abs=1e-6)


def test_homoclinic_orbits_are_continued_once_from_each_bogdanov_takens_point(monkeypatch):
    asked, both = [], plane(TAKENS)
    diagram = bifurcation_diagram(both[0], [[0.0, 0.0]])

    def loops(parameters, point, *, steps):
        asked.append((parameters, point.kind, steps.points))
        if len(asked) == 1:
            raise ArgumentError("orbit", "have homoclinic orbits beside it", "has none")
        return CriticalCurve("homoclinic orbit", *np.zeros((3, 2)), np.zeros(2), (point,), (point.kind, "bounds"))

    monkeypatch.setattr(connection_curve, "continue_connection", loops)
    options = {"steps": Steps(points=60)}
    plain = with_curves(diagram, both, **options)
    assert not asked
    missed = with_curves(plain, both, switched=True, **options)
    found = with_curves(missed, both, switched=True, **options)
    again = with_curves(found, both, switched=True, **options)
    assert asked[0] == asked[1] == (both, "Bogdanov-Takens point", 60)
    kinds = [[curve.kind for curve in one.curves] for one in (plain, missed, found, again)]
    assert kinds[1] == ["Hopf point", "fold"]
    assert kinds[2] == kinds[3] == ["Hopf point", "fold", "homoclinic orbit"]
    assert len(asked) == 2
    (note,) = missed.notes
    assert note == (
        "no homoclinic orbit is continued from the Bogdanov-Takens point at (a, b) = (0, 0): it must have homoclinic "
        "orbits beside it, but has none"
    )
    assert plain.notes == found.notes == again.notes == ()


BAUTIN = ds.system(
    "x' = a*x - y + b*x*r - x*r^2; y' = x + a*y + b*y*r - y*r^2; r = x^2 + y^2; a = -0.5; b = -0.5"
)  # fmt: skip


def folds_beside(steps):
    """Continue the folds of periodic orbits that begin at the Bautin point of the normal form, on a = -b^2/4."""
    both = plane(BAUTIN, (-1.0, 1.0), (-1.0, 1.0))
    curve = critical_curve(both, continue_equilibria(both[0], [0.0, 0.0]).bifurcations[0])
    (point,) = curve.degeneracies
    return critical_curve(both, point, kind="fold of periodic orbits", steps=steps)


def test_folds_of_periodic_orbits_leave_a_bautin_point():
    found = folds_beside(Steps(points=2))
    assert (found.name, found.of_orbits) == ("fold of periodic orbits", True)
    np.testing.assert_allclose(found.first, -(found.second**2) / 4, atol=1e-6)
    assert np.all(found.second > 0)


@pytest.mark.slow
def test_the_whole_curve_of_folds_of_periodic_orbits_ends_at_the_bautin_point_and_at_a_bound():
    found = folds_beside(Steps())
    np.testing.assert_allclose(found.first, -(found.second**2) / 4, atol=1e-6)
    assert set(found.ends) == {"equilibrium", "bounds"}


@pytest.mark.slow
@pytest.mark.parametrize(("frequency", "along", "end"), [(1.0, (1.0, 3.0), "bounds"), (1.7, (2.0, 1.0), "outside")])
def test_neimark_sacker_points_of_both_orbits_leave_a_double_hopf_point(frequency, along, end):
    """The orbit of one pair has r^2 = a, and the other pair grows at b - 3 r^2, and the other way round with 2."""
    flow = ds.system(
        "x' = a*x - y - x*(r + 2*s); y' = x + a*y - y*(r + 2*s); u' = b*u - 1.7*v - u*(s + 3*r)"
        "; v' = 1.7*u + b*v - v*(s + 3*r); r = x^2 + y^2; s = u^2 + v^2; a = -0.5; b = -0.25"
    )
    both = plane(flow, (-1.0, 1.0), (-1.0, 1.0))
    curve = critical_curve(both, continue_equilibria(both[0], np.zeros(4)).bifurcations[0])
    (point,) = curve.degeneracies
    found = critical_curve(both, point, kind="Neimark-Sacker point", frequency=frequency)
    np.testing.assert_allclose(found.first * along[1], found.second * along[0], atol=1e-5)
    assert set(found.ends) == {"equilibrium", end}


def test_a_curve_of_cycles_of_a_map_names_their_length():
    curve = lambda n: CriticalCurve("fold", *np.zeros((3, 2)), np.zeros(2), (), ("bounds", "bounds"), iterate=n)
    assert [curve(n).of for n in (1, 2, 3)] == ["", " of iterate 2", " of iterate 3"]


def test_curves_of_homoclinic_orbits_go_on_at_their_ends_on_folds_each_once(monkeypatch):
    """Between A and B orbits are central; a curve of orbits to saddles ends at A, and another one at B."""
    both = plane(TAKENS, (0.0, 1.0), (0.0, 10.0))
    A, B = (Degeneracy(NON_CENTRAL, np.zeros(1), *place) for place in ((0.1, 2.0), (0.3, 4.0)))
    curve = lambda kind, *points: CriticalCurve(kind, *np.zeros((4, 1)), points, ("", ""))
    given, central = curve("homoclinic orbit", A), curve("saddle-node homoclinic orbit", A, B)
    calls = []

    def found(parameters, at, *, kind, steps):
        calls.append((at.first, kind))
        moved = B._replace(first=0.3 + 1e-9)
        return central if kind == central.kind else curve(kind, moved)

    monkeypatch.setattr(connection_curve, "continue_connection", found)
    curves = _with_central((given,), both, Steps())
    assert calls == [(0.1, "saddle-node homoclinic orbit"), (0.3, "homoclinic orbit")]
    assert curves[:2] == (given, central)
    assert [one.kind for one in curves] == ["homoclinic orbit", "saddle-node homoclinic orbit", "homoclinic orbit"]
    calls.clear()
    assert _with_central(curves, both, Steps()) == curves
    assert not calls
    monkeypatch.setattr(connection_curve, "continue_connection", lambda *_, kind, steps: curve(kind))  # lost
    assert len(_with_central((given,), both, Steps())) == 2
