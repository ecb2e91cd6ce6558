"""Bifurcations are where closed forms have them, whatever the step, and a step leads to no branch that crosses."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation import branches, finding, stepping
from analysis.dynamics.continuation import locating as between
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.curve import CurvePoint, Moving
from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve, FixedPointCurve
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import orbits_from_hopf, switch_orbits
from analysis.dynamics.continuation.steps import Steps
from dynsim.programs import without_compiling
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import Duffing, FitzHughNagumo
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.parameter import Parameter

CRITICAL = 0.37
STEPS = (pytest.param(0.01, marks=pytest.mark.slow), 0.05, 0.3, 1.0, 5.0)
ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]


class Field(AbstractFlow):
    """A flow whose velocity is a function of the state and one parameter."""

    p: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    function: Callable = eqx.field(static=True)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        """Return the function."""
        return self.function(x, self.p)


def transcritical(x, p):
    """Two straight branches cross."""
    u = x - 0.3
    return (p - CRITICAL) * u - 1.7 * u**2


def crossing(x, p):
    """Two curved branches cross at nine degrees, which turn by as much in 0.1."""
    u = x - jnp.sin(3 * p)
    return u * (p - CRITICAL - 1.7 * u + 0.4 * u**2)


def middle(p):
    """The branch of `coupled` that is known."""
    return jnp.stack([jnp.cos(p), p**2 / 4, 0.3 * p, 0.1 * jnp.sin(2 * p)])


def coupled(x, p):
    """A pitchfork in four coupled components, on a curved branch."""
    z = ROTATION.T @ x - middle(p)
    parts = [(p - CRITICAL) * z[0] - z[0] ** 3 + 0.5 * z[0] * z[1], z[0] ** 2 - z[1], z[0] * z[1] - 2 * z[2]]
    return ROTATION @ jnp.stack([*parts, z[2] * z[0] - 0.7 * z[3]])


def followed(function, start, step, at=-1.0):
    """Return the branch from -2 to 4 with steps up to a largest one."""
    return continue_equilibria(
        Parameter(Field(at, function), lambda f: f.p, -2.0, 4.0),
        jnp.asarray(start),
        steps=Steps(first=step, largest=step, points=2000),
    )


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_branch_point_is_exact_whatever_the_step(step):
    for function, start in ((transcritical, [0.31]), (coupled, ROTATION @ middle(-1.0))):
        (point,) = followed(function, start, step).bifurcations
        assert point.kind == "branch point"
        assert point.parameter == pytest.approx(CRITICAL, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_step_does_not_lead_to_a_branch_that_crosses(step):
    found = followed(crossing, [np.sin(-3.0)], step)
    assert np.allclose(found.states[:, 0], np.sin(3 * found.parameters), atol=1e-8)
    (point,) = found.bifurcations
    assert (point.kind, point.parameter) == ("branch point", pytest.approx(CRITICAL, abs=1e-9))


def test_a_point_is_predicted_from_its_nearest_neighbours(monkeypatch):
    """From the ends of a long chord the correction may lead to another branch."""
    one, tangent = np.ones((1, 1)), np.array([0.0, 1.0])
    point = CurvePoint(np.zeros(1), 0.0, one, one, np.zeros(1), tangent, lambda: np.ones(1), np.zeros((1, 0)))
    pairs = []

    def predicted(curve, pair, shares, share, chord):
        pairs.append(shares)
        return point

    monkeypatch.setattr(between, "_predicted", predicted)
    monkeypatch.setattr(between, "turned", lambda *_: (point, 1.0))
    curve = EquilibriumCurve(Parameter(Field(0.0, transcritical), lambda flow: flow.p, -1.0, 1.0))
    monkeypatch.setattr(EquilibriumCurve, "polished", lambda self, found, across: found)
    chord = between._Chord(curve, point, point._replace(parameter=1.0))
    for share in (0.5, 0.25, 0.75, 0.375):
        chord.at(share)
    assert pairs == [(0.0, 1.0), (0.0, 0.5), (0.5, 1.0), (0.25, 0.5)]


def test_a_zero_at_which_corrections_fail_is_found_from_points_on_both_sides(monkeypatch):
    """On the line x = 1 + p the test changes its sign at p = 0.37."""
    curve = EquilibriumCurve(Parameter(Field(0.0, lambda x, p: 1 + p - x), lambda flow: flow.p, -1.0, 1.0))
    test = lambda point: (point.parameter - CRITICAL) * (20 + point.parameter)
    with without_compiling():
        begin, end = (curve.at(np.array([1 + p]), p) for p in (0.2, 0.5))
        ends = [between.located(curve, begin, end, test)]
        monkeypatch.setattr(between, "_located", lambda chord, test: (None, 0.0))
        ends.append(between.crossed(curve, begin, end, test))
        ends.append((between.met(curve, begin, end, test), ends[0][1]))
        for point, share in ends:
            assert (point.parameter, share) == pytest.approx((CRITICAL, 0.17 / 0.3), abs=1e-8)
            assert float(point.state[0]) == pytest.approx(1 + CRITICAL)
        monkeypatch.setattr(between, "_predicted", lambda *given: None)
        assert between.met(curve, begin, end, test) is None
        assert between.crossed(curve, begin, end, test)[0] is None


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_corner_is_a_jump_of_the_derivative_relative_to_its_size(size):
    """At a small distance from x = 0 the slope of |x| changes by twice its size, that of x + x^2 / 2 hardly."""
    step = 1e-5
    turned = []
    for function in (lambda x, p: size * (p - jnp.abs(x)), lambda x, p: size * (p - x - x**2 / 2)):
        curve = EquilibriumCurve(Parameter(Field(0.0, function), lambda flow: flow.p, -1.0, 1.0))
        with without_compiling():
            here = curve.measured(np.array([step / 100]), step / 100)
            turned.append(stepping._turns(curve, here, np.array([-1.0, 0.0]), step))
    assert turned == [True, False]


def test_two_bifurcations_in_one_step_are_both_found():
    """Both branches of x (g^2 - p^2 - x) cross at p = g and p = -g, and the eigenvalue is -1 at both ends of a step."""
    found = followed(lambda x, p: x * (1e-4 - (p - CRITICAL) ** 2 - x), [0.0], 0.3)
    assert np.min(np.abs(found.parameters - CRITICAL)) > 0.01
    assert [b.kind for b in found.bifurcations] == ["branch point"] * 2
    assert [b.parameter for b in found.bifurcations] == pytest.approx([CRITICAL - 0.01, CRITICAL + 0.01], abs=1e-7)
    assert [b.arclength - b.parameter for b in found.bifurcations] == pytest.approx([2.0, 2.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", [*(pytest.param(step, marks=pytest.mark.slow) for step in (0.01, 0.05)), 0.3, 1.0, 5.0]
)
def test_folds_are_exact_whatever_the_step(step):
    fold = lambda x, p: p - CRITICAL - 1.3 * (x - 0.2) ** 2 + 0.5 * (x - 0.2) ** 3
    found = followed(fold, [0.9], step, at=1.0).bifurcations
    assert [b.kind for b in found] == ["fold", "fold"]
    second = CRITICAL + 1.3 * (2.6 / 1.5) ** 2 - 0.5 * (2.6 / 1.5) ** 3
    assert [b.parameter for b in found] == pytest.approx([CRITICAL, second], abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("step", [pytest.param(0.1, marks=pytest.mark.slow), 1.0, 5.0])
def test_hopf_points_are_exact_whatever_the_step(step):
    options = {"steps": Steps(first=step, largest=step, points=2000)}
    (found,) = continue_equilibria(
        Parameter(Lorenz(rho=20.0), lambda f: f.rho, 10.0, 30.0), jnp.full(3, 8.0), **options
    ).bifurcations
    assert (found.kind, found.parameter) == ("Hopf point", pytest.approx(470 / 19, abs=1e-9))
    start = jnp.asarray([1.5, 0.7])
    (found,) = continue_equilibria(
        Parameter(Brusselator(a=1.5, b=1.0), lambda f: f.b, 0.5, 15.0), start, **options
    ).bifurcations
    assert (found.kind, found.parameter) == ("Hopf point", pytest.approx(1 + 1.5**2, abs=1e-9))


def test_a_flow_that_depends_on_time_has_no_equilibria():
    with pytest.raises(ValueError, match="Argument `flow` must not depend on time to have equilibria, but does"):
        continue_equilibria(
            Parameter(Duffing(gamma=jnp.zeros(())), lambda f: f.gamma, 0.0, 0.5), jnp.asarray([1.0, 0.0])
        )


def test_branches_of_a_flow_that_depends_on_time_are_not_continued():
    flow, takes, x = Duffing(gamma=jnp.zeros(())), (lambda f: f.gamma, lambda f: f.omega), np.array([1.0, 0.0])
    bounds, values = (0.0, 0.5), np.empty(0, complex)
    at = lambda kind, state=x: Bifurcation(kind, state, 0.1, values, 1.0, 0.0, np.empty(0))
    known = Branch(x[None], np.full(1, 0.1), np.zeros(1), np.zeros((1, 2)), ("stable",), (), ("bounds", "bounds"))
    for follow in (
        lambda: switch(Parameter(flow, takes[0], *bounds), at("branch point")),
        lambda: extend(known, Parameter(flow, takes[0], *bounds)),
        lambda: orbits_from_hopf(Parameter(flow, takes[0], *bounds), at("Hopf point")),
        lambda: critical_curve((Parameter(flow, takes[0], *bounds), Parameter(flow, takes[1], *bounds)), at("fold")),
    ):
        with pytest.raises(ValueError, match="Argument `flow` must not depend on time to have equilibria, but does"):
            follow()
    doubling = at("period doubling", Cycle(x[None], np.asarray(6.28)))
    with pytest.raises(ValueError, match="Argument `forcing` must be the period, for a flow that depends on time"):
        switch_orbits(Parameter(flow, takes[0], *bounds), doubling)


def test_a_small_closed_branch_is_followed_once():
    isola = lambda x, p: 0.01 - x**2 - (p - 0.5) ** 2
    for step in (0.05, 0.5):
        found = followed(isola, [0.1], step, at=0.5)
        assert found.ends == ("closed", "closed")
        assert [b.parameter for b in found.bifurcations] == pytest.approx([0.6, 0.4], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "step"), [(1e-6, 0.05), (1e-3, 0.5), (1e-2, 2.0)])
def test_a_branch_that_nearly_crosses_another_is_kept(gap, step):
    found = followed(lambda x, p: gap + p * x - x**3, [gap], step)
    assert found.bifurcations == ()
    assert set(found.kinds) == {"stable"}
    assert found.states[-1, 0] == pytest.approx(2, abs=0.01)


@pytest.mark.slow
def test_a_slow_pair_of_eigenvalues_is_a_hopf_point():
    slow = lambda x, p: jnp.stack([p * x[0] - 1e-5 * x[1] - x[0] ** 3, 1e-5 * x[0] + p * x[1]])
    (found,) = followed(slow, [0.0, 0.0], 0.3).bifurcations
    assert (found.kind, found.frequency) == ("Hopf point", pytest.approx(1e-5))


def test_a_branch_whose_parameter_vanishes_has_no_bifurcations_of_rounding():
    """The branch p = 3 x (1 - x) / (1 - e^(-5 x)) goes to minus infinity, where its slope is below rounding."""
    flow = Field(0.0, lambda x, p: 3 * x * (1 - x) - p * (1 - jnp.exp(-5 * x)))
    found = continue_equilibria(Parameter(flow, lambda f: f.p, -0.5, 1.5), [1.0], steps=Steps(largest=0.8, points=45))
    assert [b.kind for b in found.bifurcations] == ["fold", "branch point"]
    assert found.bifurcations[1].parameter == pytest.approx(0.6, abs=1e-11)
    far = found.states[:, 0] < -15
    assert np.sum(far) > 5
    assert np.all(np.abs(found.parameters[far]) < 1e-28)  # 3 x (1 - x) e^(5 x)


def wave(height, rate):
    """Return the curve p = height sin(rate x), and its points at x = 0, 1, 2, 3."""
    curve = EquilibriumCurve(Parameter(Field(0.0, lambda x, p: p - height * jnp.sin(rate * x)), "p", -1.0, 1.0))
    one, xs = np.ones(1), np.arange(4.0)
    return curve, [
        CurvePoint(np.array([x]), height * np.sin(rate * x), np.eye(1), np.array([[-slope]]), one,
                   np.array([1.0, slope]), lambda: -one, np.zeros((1, 0)))
        for x, slope in zip(xs, height * rate * np.cos(rate * xs), strict=True)
    ]  # fmt: skip


def test_a_slope_below_rounding_has_no_sign():
    curve, points = wave(1e-14, 1.0)  # turns back by less than the error of a parameter
    assert finding.find_bifurcations(curve, points, np.arange(4.0), [1.0] * 4)[0] == []


def test_a_least_value_is_located_beside_missing_points_without_a_warning(recwarn):
    share, least = between._smallest(lambda s: np.inf if s < 0.5 else (s - 0.7) ** 2 - 1, 1e-6)
    assert (share, least) == (pytest.approx(0.7, abs=1e-4), pytest.approx(-1, abs=1e-6))
    assert between._smallest(lambda s: np.inf, 1e-6)[1] == np.inf
    assert not recwarn.list


def test_no_turn_is_searched_where_the_slope_is_rounding(monkeypatch):
    seen = []
    monkeypatch.setattr(between, "between", lambda _, begin, end, share: seen.append(share))
    for height, count in ((1e-12, 0), (1e-3, 1)):  # slope 3.3 at both ends, and -1 in between
        curve, (first, last, *_) = wave(height, 2 * np.pi)
        assert between.hidden_turn(curve, first, last) == []
        assert len(seen) == count


@pytest.mark.slow
def test_a_branch_that_is_vertical_on_the_whole_has_no_folds():
    found = branches.branch(*wave(2e-12, 3.0), ("bounds", "bounds"))
    assert found.vertical
    assert found.bifurcations == ()
    assert [b.kind for b in branches.branch(*wave(2e-2, 3.0), ("bounds", "bounds")).bifurcations] == ["fold"] * 3


def test_the_error_of_a_complex_pair_is_computed_once(monkeypatch):
    seen = []
    monkeypatch.setattr(EquilibriumCurve, "_error", lambda *given: seen.append(given[-1]) or abs(given[-1]))
    curve, (point, *_) = wave(1.0, 1.0)
    values = np.array([-1000.0, 1e-12j, -1e-12j, 2e-12j, -2e-12j, 3e-12])
    found = curve.rounding(values, curve.equations(point.state, 0.0, point.basis), point.orbit)
    np.testing.assert_array_equal(found, [0.0, 1e-12, 1e-12, 2e-12, 2e-12, 3e-12])
    assert seen == [1e-12j, 2e-12j, 3e-12]


def test_an_eigenvalue_is_real_up_to_its_error():
    curve, (point, *_) = wave(1.0, 1.0)
    point = point._replace(J=np.diag([-1.0, -3.0]), orbit=np.zeros((2, 0)))
    assert [curve.is_real([point], complex(-3.0, size)) for size in (0.0, 1e-15, 1e-9, -0.1)] == [
        True,
        True,
        False,
        False,
    ]


def test_points_beside_a_bifurcation_are_not_searched_for_one_that_touches(monkeypatch):
    """The fold at x = 2.62 is in the second one of the steps about x = 2."""
    seen = []
    monkeypatch.setattr(finding, "touching_points", lambda _, points, *__: seen.append(float(points[1].state[0])) or [])
    curve, points = wave(0.02, 0.6)
    (fold,) = finding.find_bifurcations(curve, points, 10 + np.arange(4.0), [1.0] * 4)[0]
    assert (fold.kind, round(float(fold.arclength), 1)) == ("fold", 12.6)
    assert seen == [1.0]


def test_the_error_of_the_parameter_grows_with_the_length_of_a_branch():
    curve, _ = wave(0.0, 1.0)
    of_length = lambda length: branches.is_vertical(curve, np.array([1.0, 1.0 + 1e-9, 1.0]), length * np.arange(3.0))
    assert (of_length(1.0), of_length(1000.0)) == (False, True)


def test_a_branch_point_where_an_eigenvalue_touches_zero_is_exact():
    """The branch x = sin 2 p, on which the eigenvalue is (p + 0.1)^2."""
    flow = Field(-0.97, lambda x, p: (p + 0.1) ** 2 * (x - jnp.sin(2 * p)) - (x - jnp.sin(2 * p)) ** 3)
    found = continue_equilibria(
        Parameter(flow, lambda f: f.p, -1.0, 0.5), [np.sin(-1.94)], steps=Steps(first=0.1, largest=0.1)
    )
    ((kind, parameter, state),) = [(b.kind, b.parameter, float(b.state[0])) for b in found.bifurcations]
    assert (kind, parameter, state) == ("branch point", pytest.approx(-0.1, abs=1e-11), pytest.approx(np.sin(-0.2)))


@pytest.mark.parametrize("touched", [True, False])
def test_equations_that_are_singular_without_a_critical_eigenvalue_have_no_branch_point(touched, monkeypatch):
    """Beside a homoclinic orbit the equations of long orbits are singular up to errors, but no multiplier is one."""
    rule = (lambda x, p: p**2 * x - x**3) if touched else (lambda x, p: p * x - x**3)
    line = Parameter(Field(-0.97, rule), lambda f: f.p, -1.0, 0.5)
    known = EquilibriumCurve.spectrum
    assert [b.kind for b in continue_equilibria(line, [0.0]).bifurcations] == ["branch point"]
    monkeypatch.setattr(EquilibriumCurve, "spectrum", lambda *given: known(*given) - 5.0)
    assert continue_equilibria(line, [0.0]).bifurcations == ()


@pytest.mark.parametrize("step", [0.5, 1.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_an_imperfect_pitchfork_is_no_branch_point_whatever_the_step(step):
    """Of p x - x^3 + e the branch from p = -1 leads to x near 1, and passes -e / p beside it."""
    flow = Field(-1.0, imperfect)
    found = continue_equilibria(
        Parameter(flow, lambda f: f.p, -1.0, 1.0), [1e-10], steps=Steps(first=step, largest=step)
    )
    assert found.states[-1, 0] == pytest.approx(1.0, abs=1e-9)
    assert set(found.kinds) == {"stable"}
    assert not found.bifurcations


def imperfect(x, p):
    """A pitchfork with an imperfection."""
    return p * x - x**3 + 1e-10


@pytest.mark.slow
def test_a_start_on_a_bound_is_in_bounds():
    for start in ([-1.0, -0.5], [-1.1, -0.6], [-1.2, -0.6], [-1.3, -0.7]):
        for bounds in ((0.0, 0.1), (-0.1, 0.0)):
            flow = FitzHughNagumo(current=0.0)
            found = continue_equilibria(Parameter(flow, lambda f: f.current, *bounds), start, steps=Steps(points=2))
            assert 0.0 in found.parameters


def test_steps_below_the_error_of_points_are_refused():
    for name, steps in (("first", (1e-300, None)), ("largest", (0.05, 1e-300))):
        with pytest.raises(
            ValueError, match=f"Argument `{name}` must exceed 1e-09, the error of the points of the cur"
        ):
            continue_equilibria(
                Parameter(Field(0.0, transcritical), lambda f: f.p, -1.0, 1.0),
                [0.3],
                steps=Steps(first=steps[0], largest=steps[1]),
            )


@pytest.mark.slow
@pytest.mark.parametrize(("step", "error"), [(0.05, 1e-7), (0.3, 1e-10)])
def test_a_branch_point_of_tangential_branches_is_exact(step, error):
    """The eigenvalue on the branch 0 is (p - 0.37)^3, a sign of which is rounding nearer than 1e-4 to its zero.

    In shorter steps it is smaller beside the errors of the states between which it is interpolated.
    """
    (point,) = followed(lambda x, p: x * ((p - CRITICAL) ** 3 * (1 + 0.3 * p) - x), [0.0], step).bifurcations
    assert point.kind == "branch point"
    assert point.parameter == pytest.approx(CRITICAL, abs=error)


class Companion(AbstractMap):
    """(x, y) to (y, 49 p + 7 y - y^2 - 6 x): fixed points at x^2 = 49 p, with the trace 7 - 2 x and the determinant 6.

    The multipliers are 1 and 6 at the fold x = 0, complex from there on, and -1 and -6 at x = 7.
    """

    p: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    space: Euclidean = Euclidean()

    def step(self, n, x):
        """Return the image."""
        return jnp.stack([x[1], 49 * self.p + 7 * x[1] - x[1] ** 2 - 6 * x[0]])


class Inexact(FixedPointCurve):
    """Fixed points whose multipliers have an error, so that the one at a fold seems to be less than 1."""

    def spectra(self, at):
        """Compute the multipliers."""
        return [found * (1 - 2e-8) for found in super().spectra(at)]


def test_eigenvalues_and_their_rates_of_many_points_are_each_their_own():
    def field(t, x, p=1.0):  # eigenvalues p - 3 x^2 and -p^2 +- i at (sqrt(p), 0, 0)
        return jnp.stack([p * x[0] - x[0] ** 3, -(p**2) * x[1] - x[2], x[1] - p**2 * x[2]])

    curve = EquilibriumCurve(Parameter(FunctionFlow(field, parameters={"p": 1.0}), "p", 0.5, 5.0))
    points = [curve.measured(np.array([p**0.5, 0.0, 0.0]), p) for p in (1.0, 3.0, 4.0)]
    assert points[1].values.size == 3  # known before
    curve.prepare(points)
    for point, p in zip(points, (1.0, 3.0, 4.0), strict=True):
        assert np.allclose(np.sort_complex(point.values), np.sort_complex([-2 * p, -(p**2) + 1j, -(p**2) - 1j]))
    at = [Moving(one.state, one.parameter, one.values, one.flat_tangent, 0.1 * k) for k, one in enumerate(points, 1)]
    for rates, one, p in zip(curve.rates(at), at, (1.0, 3.0, 4.0), strict=True):
        exact = np.where(np.imag(one.values) == 0, -2.0, -2 * p) * one.tangent[-1]
        assert np.allclose(rates, exact, rtol=1e-4)


def test_a_rate_is_unknown_where_the_equations_are_not_defined():
    root = FunctionFlow(lambda t, x, p=1.0: -jnp.sqrt(p) * x, parameters={"p": 1.0})
    curve = EquilibriumCurve(Parameter(root, "p", -1.0, 1.0))
    known = Moving(np.array([0.0]), 1.0, np.array([-1.0]), np.array([0.0, 1.0]), 1.0)
    unknown, found = curve.rates([known._replace(parameter=-0.5), known])
    assert unknown is None
    assert found is not None


@pytest.mark.parametrize("places", [(-3.0, -1.0, 8.0, 9.0), (-0.1, -1e-3, 7.01, 7.1), (-4.0, -0.5, 7.5, 9.0)])
def test_a_multiplier_that_leaves_one_and_passes_minus_one_in_the_same_step_is_found(places):
    where = Parameter(Companion(0.0), lambda system: system.p, -1.0, 2.0)
    curve = Inexact(where, 1)
    points = [curve.measured(jnp.full(2, x), x**2 / 49) for x in places]
    points = [p if p.tangent[0] > 0 else p._replace(tangent=-p.tangent) for p in points]
    for path in (points, [p._replace(tangent=-p.tangent) for p in points[::-1]]):
        lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff([p.flat for p in path], axis=0), axis=1)))
        found, _ = finding.find_bifurcations(curve, path, lengths, [curve.least_singular(p) for p in path])
        at = {b.kind: b.parameter for b in found}
        assert at == {"fold": pytest.approx(0.0, abs=1e-7), "period doubling": pytest.approx(1.0)}
        assert len(found) == 2


def test_bifurcations_know_their_places_along_the_branch_and_the_direction_there():
    """On the line (p, -2 p) a pair crosses three times in one step, as far along as p has moved times the slope."""
    zeros, line = np.array([-0.5, 0.25, 0.6]), jnp.array([1.0, -2.0])
    turn = lambda x: 3 * jnp.stack([-x[1], x[0]])
    flow = FunctionFlow(
        lambda t, x, p: jnp.prod(p - zeros) * (x - p * line) + turn(x - p * line), parameters={"p": -1.0}
    )
    with without_compiling():
        found = continue_equilibria(Parameter(flow, "p", -1.0, 1.0), [-1.0, 2.0], steps=Steps(first=4.0))
    assert len(found.parameters) <= 3
    assert [b.parameter for b in found.bifurcations] == pytest.approx(zeros)
    assert [b.arclength for b in found.bifurcations] == pytest.approx((zeros + 1) * 6**0.5)
    assert found.arclengths[-1] == pytest.approx(2 * 6**0.5)
    for hopf in found.bifurcations:
        assert (hopf.kind, hopf.frequency, hopf.multiplicity) == ("Hopf point", pytest.approx(3.0), 2)
        assert hopf.direction == pytest.approx(np.array([1.0, -2.0, 1.0]) / 6**0.5)
