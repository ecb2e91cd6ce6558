"""Bifurcations that share a step of a continuation are all found, each once, and so are those beside fast rates."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation import stepping
from analysis.dynamics.continuation.batched import MemberPoints, _cubic, _row_sizes, _slopes
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve, FixedPointCurve
from analysis.dynamics.continuation.hidden import Eigenpaths, SpectrumAt, _vanishes, certain, doubtful
from analysis.dynamics.continuation.locating import tangent_between
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.stepping import _is_aside
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.flow_maps.component_sizes import Local, LocalRates, unit_entries
from dynsim import FunctionFlow, FunctionMap
from dynsim.systems.parameter import Parameter


def found(flow, name, start, bounds, step=None):
    """Return a branch with the default steps, or with steps of one size."""
    steps = Steps() if step is None else Steps(first=step, largest=step)
    return continue_equilibria(Parameter(flow, name, *bounds), np.asarray(start, float), steps=steps)


def listed(branch):
    """Return the kinds and parameters of the bifurcations of a branch."""
    return [(b.kind, b.parameter) for b in branch.bifurcations]


def agree(branch, *expected):
    """Test the kinds, in order, and the parameters."""
    assert [b.kind for b in branch.bifurcations] == [kind for kind, _ in expected]
    assert [b.parameter for b in branch.bifurcations] == pytest.approx([at for _, at in expected], abs=1e-9)


def test_a_hopf_point_is_found_beside_a_fold():
    """By hand: folds at v^2 = 1 - 1 / g, Hopf points at v^2 = 1 - e g, on the curve w = v / g."""
    g = 5.0
    field = lambda t, x, p, e: jnp.stack([x[0] - x[0] ** 3 / 3 - x[1] + p, e * (x[0] - g * x[1])])
    at = lambda square: square**0.5 * (1 / g - 1) + square**1.5 / 3
    for e in (0.035, 0.001):
        flow = FunctionFlow(field, parameters={"p": 0.0, "e": e})
        fold, hopf = at(1 - 1 / g), at(1 - e * g)
        branch = found(flow, "p", np.zeros(2), (-2.0, 2.0))
        agree(branch, ("Hopf point", hopf), ("fold", fold), ("fold", -fold), ("Hopf point", -hopf))


def beside_bogdanov_takens(t, x, p, b):
    """A fold at p = 0 and a Hopf point at p = -b^2."""
    return jnp.stack([x[1], p + b * x[1] + x[0] ** 2 + x[0] * x[1]])


@pytest.mark.parametrize("step", [0.05, 0.3])
def test_a_hopf_point_is_found_beside_a_bogdanov_takens_point(step):
    for b in (0.1, 1e-3):
        flow = FunctionFlow(beside_bogdanov_takens, parameters={"p": -0.51, "b": b})
        branch = found(flow, "p", [-0.714, 0.0], (-0.6, 0.5), step)
        agree(branch, ("Hopf point", -(b**2)), ("fold", 0.0))
        assert not branch.undetermined


def test_a_neutral_saddle_beside_a_bogdanov_takens_point_leaves_no_doubt():
    """The trace vanishes where the eigenvalues are real, and they become a complex pair next to the fold."""
    flow = FunctionFlow(beside_bogdanov_takens, parameters={"p": -0.51, "b": -0.01})
    branch = found(flow, "p", [-0.714, 0.0], (-0.6, 0.5))
    agree(branch, ("fold", 0.0))
    assert not branch.undetermined


@pytest.mark.parametrize("b", [-0.1, 0.1])
def test_multipliers_that_meet_beside_a_fold_leave_no_doubt(b):
    """Euler steps of 1/4 of the same field preserve area at x = -2 b, where the multipliers are real for b < 0."""
    step = lambda k, x, p, b: x + beside_bogdanov_takens(0.0, x, p, b) / 4
    flow = FunctionMap(step, parameters={"p": -0.51, "b": b})
    branch = found(flow, "p", [-0.714, 0.0], (-0.6, 0.05))
    agree(branch, *[("Neimark-Sacker point", -4 * b**2)] * (b > 0), ("fold", 0.0))
    assert not branch.undetermined


def beside_crossing(t, x, p, a):
    """Branches cross at p = 0, and a pair of eigenvalues crosses at p = a."""
    r = x[1] ** 2 + x[2] ** 2
    return jnp.stack([p * x[0] - x[0] ** 2, (p - a) * x[1] - x[2] - x[1] * r, x[1] + (p - a) * x[2] - x[2] * r])


def test_a_hopf_point_is_found_beside_a_branch_point():
    for a in (0.01, -0.01, 1e-4):
        flow = FunctionFlow(beside_crossing, parameters={"p": -0.537, "a": a})
        expected = sorted([("branch point", 0.0), ("Hopf point", a)], key=lambda pair: pair[1])
        agree(found(flow, "p", np.zeros(3), (-0.6, 1.0), 0.3), *expected)


def two_pairs(t, x, p, a, b, c):
    """One pair of eigenvalues with the real part p + a, another one with b p + c."""
    one, other = p + a, b * p + c
    return jnp.stack([one * x[0] - x[1], x[0] + one * x[1], other * x[2] - 2.5 * x[3], 2.5 * x[2] + other * x[3]])


def test_two_hopf_points_in_a_step_are_found_whatever_the_change_of_the_count():
    """Both pairs become unstable, or one does and the other one becomes stable: as many are unstable as before."""
    for a, b, c in ((0.05, 1.0, -0.03), (0.02, -1.0, 0.03), (1e-4, 1.0, -1e-4)):
        flow = FunctionFlow(two_pairs, parameters={"p": -0.537, "a": a, "b": b, "c": c})
        agree(found(flow, "p", np.zeros(4), (-0.6, 1.0), 0.3), ("Hopf point", -a), ("Hopf point", -c / b))


def spiral(growth):
    """Return the flow with one pair of eigenvalues growth(p) +- i, at p = -0.537."""

    def field(t, x, p, a):
        rate = growth(p, a)
        return jnp.stack([rate * x[0] - x[1], x[0] + rate * x[1]])

    return lambda zeros: FunctionFlow(field, parameters={"p": -0.537, "a": np.array(zeros, float)})


def test_a_pair_that_crosses_several_times_in_a_step_is_found_each_time():
    five = spiral(lambda p, a: jnp.prod(p - a))
    for zeros in (
        [0.1, 0.12, 0.14, 5, -5],
        [0.05, 0.12, 0.25, 5, -5],
        [-0.21, 0.22, 0.24, 2, 3],
        [0.1, 0.12, 0.14, 0.2, 0.22],
    ):
        inside = sorted(zero for zero in zeros if abs(zero) < 1)
        branch = found(five(zeros), "p", np.zeros(2), (-0.6, 1.0), 0.3)
        agree(branch, *(("Hopf point", zero) for zero in inside))
        assert branch.undetermined == ()
        growths = np.prod(np.subtract.outer(branch.parameters, zeros), axis=1)
        assert branch.kinds == tuple("unstable" if growth > 0 else "stable" for growth in growths)


def test_a_step_in_which_a_pair_may_cross_unnoticed_is_reported():
    """Between 0.1 and 0.1 + 1e-6 the growth is -5e-13, which is below its error."""
    flow = spiral(lambda p, a: (p - a[0]) * (p - a[1]) * (p + 2))([0.1, 0.1 + 1e-6])
    branch = found(flow, "p", np.zeros(2), (-0.6, 1.0), 0.3)
    ((low, high),) = branch.undetermined
    assert 0.0 < low < 0.1 < high < 0.2
    assert branch.bifurcations == ()
    assert f"; undetermined between {low:.6g} and {high:.6g}" in str(branch)


def test_a_fold_a_period_doubling_and_a_pair_of_multipliers_are_found_in_one_step():
    """The fixed points are at x^2 = p: a period doubling at x = c, and a pair that leaves the unit circle at p = a."""
    turn = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])

    def step(k, x, p, a, c):
        flipped = -(1 + x[0] - c) * x[1] + x[1] ** 3
        return jnp.concatenate([jnp.stack([x[0] + p - x[0] ** 2, flipped]), (1 + p - a) * (jnp.asarray(turn) @ x[2:])])

    system = FunctionMap(step, parameters={"p": 0.5, "a": -0.01, "c": 0.02})
    agree(found(system, "p", [0.7, 0, 0, 0], (-0.6, 0.6), 0.3), ("fold", 0.0), ("period doubling", 0.02**2))
    pair = found(FunctionMap(step, parameters={"p": 0.5, "a": 0.01, "c": 0.02}), "p", [0.7, 0, 0, 0], (-0.6, 0.6), 0.3)
    kinds = [b.kind for b in pair.bifurcations]
    assert sorted(kinds) == ["Neimark-Sacker point", "Neimark-Sacker point", "fold", "period doubling"]


def test_the_branch_that_leaves_a_pitchfork_turns_back_without_a_fold():
    flow = FunctionFlow(lambda t, x, p: p * x - x**3, parameters={"p": 0.5})
    agree(found(flow, "p", [0.5**0.5], (-1.0, 1.0)), ("branch point", 0.0))


def slaved(t, x, mu, K):
    """A fold at mu = 0, followed by a component of the rate K."""
    return jnp.stack([mu - x[0] ** 2, -K * (x[1] - x[0])])


@pytest.mark.parametrize("K", [1e3, 4e4, 1e7])
def test_a_fold_beside_a_fast_rate_is_found_and_no_false_equilibrium(K):
    flow = FunctionFlow(slaved, parameters={"mu": 0.04, "K": K})
    branch = found(flow, "mu", [0.2, 0.2], (-0.05, 0.05))
    agree(branch, ("fold", 0.0))
    assert branch.ends == ("bounds", "bounds")
    assert np.max(np.abs(branch.parameters - branch.states[:, 0] ** 2)) < 1e-9
    assert branch.kinds == tuple("stable" if x > 0 else "saddle" for x in branch.states[:, 0])


def turning(t, x, mu, K):
    """A Hopf point at mu = 0, beside a component of the rate K."""
    r = x[0] ** 2 + x[1] ** 2
    return jnp.stack([mu * x[0] - x[1] - x[0] * r, x[0] + mu * x[1] - x[1] * r, -K * (x[2] - x[0] ** 2)])


def test_a_hopf_point_beside_a_fast_rate_is_found():
    for K in (5e4, 1e9):
        flow = FunctionFlow(turning, parameters={"mu": -0.04, "K": K})
        branch = found(flow, "mu", np.zeros(3), (-0.05, 0.05))
        agree(branch, ("Hopf point", 0.0))
        assert branch.bifurcations[0].frequency == pytest.approx(1.0)
        assert branch.bifurcations[0].coefficient == pytest.approx(-2.0, rel=1e-6)
        assert branch.kinds == tuple("stable" if mu < 0 else "saddle" for mu in branch.parameters)


def test_a_large_state_has_a_unit_and_its_branch_reaches_the_bounds():
    """Along p = x / 1000 - (x / 500)^3 the state moves by hundreds while the parameter moves by one."""
    flow = FunctionFlow(lambda t, x, p: p - x / 1000 - (x / 500) ** 3, parameters={"p": 0.0})
    assert curve_units((Parameter(flow, "p", -1.0, 1.0),), np.zeros(1)).scale.tolist() == [32.0]
    assert found(flow, "p", np.zeros(1), (-1.0, 1.0)).ends == ("bounds", "bounds")


def test_units_of_many_components_need_few_jacobians():
    n, calls = 60, []
    off = np.eye(n, k=1) + np.eye(n, k=-1)

    def at(x):
        J = off - np.diag(2 + 3 * x**2 / 1e12)
        calls.append(x)
        return Local(np.zeros(n), J, np.linalg.eigvals(J))

    here = at(np.zeros(n))
    rates = LocalRates(here, [[here, here]])
    units = unit_entries(at, np.zeros(n), [np.array([k]) for k in range(n)], here, rates)
    assert len(calls) < 42  # as many for fewer components
    assert np.all(units == 2.0**15)  # it changes a slow rate, 0.12, by half


def test_units_do_not_follow_an_eigenvalue_that_is_zero_by_chance():
    """At the fold (0, 0, 0) of x' = p + x^2, parameters move neither the other components nor the eigenvalue zero."""
    field = lambda t, x, p: jnp.stack([p + x[0] ** 2 + x[0] * x[1], x[2] ** 2 - x[1], x[1] * x[2] - x[2] + x[0] ** 2])
    flow = FunctionFlow(field, parameters={"p": 0.0})
    assert curve_units((Parameter(flow, "p", -1.0, 1.0),), np.array([1e-8, 0.0, 0.0])).scale.tolist() == [1.0] * 3


def test_growth_that_oscillates_faster_than_the_steps_is_not_aliased():
    w = 10 * np.pi  # in the longest steps, of 0.2, the growth takes each value again
    flow = FunctionFlow(lambda t, x, p: jnp.sin(w * p) * x, parameters={"p": 0.05})
    agree(found(flow, "p", [0.0], (0.01, 1.04)), *(("branch point", k / 10) for k in range(1, 11)))


def test_pairs_whose_growth_oscillates_faster_than_the_steps_are_found():
    def turning(t, x, p):
        growth = jnp.sin(40 * p) - 0.5
        return jnp.stack([growth * x[0] - 3 * x[1], 3 * x[0] + growth * x[1]])

    branch = found(FunctionFlow(turning, parameters={"p": 0.05}), "p", [0.0, 0.0], (0.0, 1.0))
    angles = [np.pi / 6 + 2 * np.pi * k for k in range(7)] + [5 * np.pi / 6 + 2 * np.pi * k for k in range(6)]
    agree(branch, *(("Hopf point", angle / 40) for angle in sorted(angles)))
    assert not branch.undetermined


def test_a_curve_is_closed_by_its_first_point_and_not_by_a_branch_beside_it():
    flow = FunctionFlow(lambda t, x, p: jnp.cos(40 * x) - p, parameters={"p": 0.0})
    branch = continue_equilibria(Parameter(flow, "p", -1.5, 1.5), np.array([np.pi / 80]), steps=Steps(points=150))
    assert branch.ends == ("steps", "steps")
    assert np.ptp(branch.states) > 2 * np.pi / 40


def on_parabola(x):
    """A point of the curve p = x^2 with its unit tangent."""
    tangent = np.array([1.0, 2 * x]) / np.hypot(1.0, 2 * x)
    one = np.eye(1)
    return CurvePoint(np.array([x]), x**2, one, one, one[0], tangent, lambda: np.zeros(1), np.empty((1, 0)))


def test_tangents_within_a_step_are_those_of_the_cubic_through_its_ends():
    begin, end = on_parabola(-0.1), on_parabola(0.3)
    middle = on_parabola(0.05)  # at a share of the chord, whose slope is 0.2
    share = float((middle.flat - begin.flat) @ (end.flat - begin.flat)) / float(np.sum((end.flat - begin.flat) ** 2))
    assert tangent_between(begin, end, share) == pytest.approx(middle.flat_tangent, abs=0.02)
    assert tangent_between(begin, end, 1.0) == pytest.approx(end.flat_tangent, abs=1e-12)


def test_rows_are_divided_by_their_largest_derivative_unless_all_vanish():
    assert _row_sizes(np.array([[[0.0, -3.0, 2.0], [0.0, 0.0, 0.0]]])).tolist() == [[3.0, 1.0]]


def test_cubics_through_points_with_their_tangents_and_the_slopes_of_the_parameter_are_exact():
    """Of x = u and p = 1 + 2 u - 3 u^2 + 4 u^3 for u from 0 to 2, measured in u."""
    p, slope = (lambda u: 1 + 2 * u - 3 * u**2 + 4 * u**3), (lambda u: 2 - 6 * u + 12 * u**2)
    point = lambda u: MemberPoints(
        np.zeros(1, int), np.array([[u, p(u)]]), np.array([[1.0, slope(u)]]), np.zeros((1, 1), complex), np.zeros(1)
    )
    ends = [point(0.0), point(2.0)]
    for share in (0.1, 0.25, 0.8):
        found = _cubic(*ends, np.full(1, 2.0), np.full((1, 1), share))
        np.testing.assert_allclose(found, [[2 * share, p(2 * share)]])
    long = np.hypot(2.0, p(2.0) - 1)  # of the chord, in which places and tangents of unit speed are measured
    ends = [one._replace(tangent=one.tangent * 2 / long) for one in ends]
    place = np.array([[0.6, 1 + 0.3 * (p(2.0) - 1)]])
    assert _slopes(*ends, place) == pytest.approx([slope(0.6) * 2 / long])


def test_a_curve_has_returned_where_its_first_point_lies_between_two_successive_ones(monkeypatch):
    monkeypatch.setattr(stepping, "between", lambda *given: None)  # as at a branch point
    curve: Any = SimpleNamespace(place=lambda point, near: point.flat, out_of_phase=lambda point: point.flat)
    here, found = on_parabola(0.5), on_parabola(0.7)
    returned = lambda first: getattr(stepping._returned, "__wrapped__", stepping._returned)(curve, first, here, found)
    assert [returned(on_parabola(x)) for x in (0.5, 0.62, 0.7, 0.45, 0.75)] == [True, True, True, False, False]
    middle = on_parabola(0.62)
    assert not returned(middle._replace(tangent=-middle.tangent))
    assert not returned(middle._replace(state=middle.state + 0.01))


def test_a_step_to_a_parallel_branch_lies_aside_of_the_curve():
    here = on_parabola(0.0)
    assert not _is_aside(here, on_parabola(0.3))
    assert not _is_aside(here, here._replace(state=np.array([0.2]), parameter=0.02))
    assert _is_aside(here, here._replace(state=np.array([0.2]), parameter=0.04))


def test_a_double_zero_that_an_error_splits_is_no_further_one():
    touched, error = np.array([0.0, 1e-5, -3.0]), 1e-9
    assert not _vanishes(touched, error, np.array([0.0, -1.0]), (True, False))
    mirrored = np.array([-3 + 1e-5, 6 - 1e-5, -3.0])
    assert not _vanishes(mirrored, error, np.array([-1.0, 0.0]), (False, True))
    crossed = np.array([0.0, 1e-2, -1.0])  # back to zero at a share of 0.01, after more than its error
    assert _vanishes(crossed, error, np.array([0.0, -1.0]), (True, False))
    assert _vanishes(touched, error, np.array([0.0, -1.0]), (False, False))


def spectra(values, rates):
    """Return samples at successive integers on a straight line, and their points as rows."""
    line = np.array([1.0, 0.0])
    made = [
        SpectrumAt(float(k), v, float(k), 0.0, line, r, 1e-5)
        for k, (v, r) in enumerate(zip(values, rates, strict=True))
    ]
    return made, np.outer(np.arange(len(made)), line)


def test_clear_steps_are_told_at_once_and_others_are_left():
    """A pair of eigenvalues grows for a moment between two samples, and a real one stays negative."""
    flow = FunctionFlow(lambda t, x, p: p - x, parameters={"p": 0.0})
    curve = EquilibriumCurve(Parameter(flow, "p", -1.0, 1.0))
    s = np.arange(12.0)
    bump, slope = 0.06 * np.exp(-(((s - 5.5) / 0.5) ** 2)), -2 * (s - 5.5) / 0.25
    for size in (0.0, 1.0):
        growth, change = -0.05 + size * bump, size * bump * slope
        values = np.stack([growth + 2j, growth - 2j, -1 - 0.1 * s], axis=1)
        samples, flats = spectra(values, np.stack([change, change, 0 * s - 0.1], axis=1).astype(complex))
        clear = certain(curve, samples, flats)
        assert clear.tolist() == [2 <= k <= 8 for k in range(11)] if not size else clear[2] and not clear[5]
        paths = Eigenpaths(curve)
        doubts = [doubtful(paths, samples[k - 2 : k + 4], 2, flats[1] - flats[0]) for k in np.flatnonzero(clear)]
        assert doubts == [None] * len(doubts)
    assert not np.any(certain(curve, [one._replace(rates=None) for one in samples], flats))
    twice = [one._replace(length=min(one.length, 2.0)) for one in samples[:4]]  # two bifurcations at one point
    assert doubtful(paths, twice, 2, flats[1] - flats[0]) is None


@pytest.mark.parametrize(("shift", "place"), [(0.0, 0.5), (100.0, None)])
def test_a_change_of_sign_in_a_tiny_part_of_a_step_is_looked_for_in_its_middle(shift, place):
    """A pair of eigenvalues crosses zero between two samples, or all of them stay negative."""
    curve = EquilibriumCurve(Parameter(FunctionFlow(lambda t, x, p: p - x, parameters={"p": 0.0}), "p", -1.0, 1.0))
    growth, rate = np.arange(12.0) - 5.5 - shift, np.ones(12)
    values = np.stack([growth + 2j, growth - 2j, -1 + 0 * growth], axis=1)
    samples, _ = spectra(values, np.stack([rate, rate, 0 * rate], axis=1).astype(complex))
    near = [one._replace(length=1e-6 * one.length) for one in samples[3:9]]
    assert doubtful(Eigenpaths(curve), near, 2, np.array([1.0, 0.0])) == place


def test_pairs_of_multipliers_near_the_smallest_number_have_finite_functions():
    flow = FunctionMap(lambda n, x, p: p * x, parameters={"p": 0.5})
    paths = Eigenpaths(FixedPointCurve(Parameter(flow, "p", 0.1, 1.0), 1))
    for size in (1e-160, 0.0, 1e-200, 0.5, 1e200):
        values = size * np.array([1 + 0.1j, 1 - 0.1j]) * np.ones((4, 1, 2))
        moved = np.stack([values[0], values[0], np.ones((1, 2))])
        found = paths._of_pairs(values, 1, np.zeros((2, 1, 2), bool), [moved, moved])
        assert np.all(np.isfinite(found.values))
        if size:
            np.testing.assert_array_equal(found.signs[0, 1:], 1.0 if size > 1 else [1.0, 1.0, -1.0])
