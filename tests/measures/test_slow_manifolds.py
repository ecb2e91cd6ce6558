"""Quasi-steady-state manifolds against closed forms: roots, spectra, folds, and the error of the reduction."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.fast_slow.critical_manifold import connected_branches, manifold_branch, sheet
from analysis.fast_slow.folds import fold_near
from analysis.fast_slow.quasi_steady_states import fast_limit, quasi_steady_state
from analysis.fast_slow.reductions import ReductionErrors, _attraction, first_order_correction, reduction_error
from dynsim.errors import Outcome
from dynsim.integrators import Stats
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Simplex
from dynsim.systems.fast_slow.examples import EXAMPLES, generator, linear_flow, switching_flow, van_der_pol_flow
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from tests.systems.test_fast_slow import linear_solution, state

CUBIC = van_der_pol_flow(1.0)


def still(x, y):
    return jnp.zeros_like(y)


class Rational(eqx.Module):
    """The sum of `table[i, j]` x^i y^j over `below` + (1 - `below`) y: one program for many manifolds."""

    table: jax.Array
    below: jax.Array

    def __call__(self, x, y):
        above = jnp.stack([jnp.ones_like(x), x, x**2, x**3]) @ self.table @ jnp.stack([jnp.ones_like(y), y, y**2])
        return above / (self.below + (1 - self.below) * y)


def rational(terms, below=1.0):
    """Return the flow of a sum of terms, coefficients by (power of x, power of y), over 1, or over y for `below` 0."""
    table = np.zeros((4, 3))
    for powers, coefficient in terms.items():
        table[powers] = coefficient
    return FastSlowFlow(Rational(jnp.asarray(table), jnp.asarray(below)), still, 1.0)


class Linear(eqx.Module):
    """The field (M + y N) x + y b."""

    M: jax.Array = eqx.field(converter=jnp.asarray)
    N: jax.Array = eqx.field(converter=jnp.asarray)
    b: jax.Array = eqx.field(converter=jnp.asarray)

    def __call__(self, x, y):
        return (self.M + y * self.N) @ x + y * self.b


class InUnits(eqx.Module):
    """The field y - x^3 / 3 + x with units of x, y and fast time, and with x and y measured from other origins."""

    units: jax.Array = eqx.field(converter=jnp.asarray)

    def __call__(self, x, y):
        sx, x0, sy, y0, time = self.units
        u, v = (x - x0) / sx, (y - y0) / sy
        return sx / time * (v - u**3 / 3 + u)


@pytest.mark.parametrize(
    "units", [(1e-6, 0.0, 1.0, 0.0, 1.0), (1e-3, 10.0, 1e6, 0.0, 1.0), (1.0, 1e5, 1.0, 1e5, 1.0), (1.0, 0, 1, 0, 1e12)]
)
def test_folds_are_found_in_any_unit_and_far_from_zero(units):
    sx, x0, sy, y0, _ = units
    path = y0 + sy * np.linspace(1.5, -1.5, 7)
    flow = FastSlowFlow(InUnits(np.array(units, float)), still, 1.0)
    found = connected_branches(flow, FastSlow(np.array(x0 + 2.1 * sx), path[0]), path)
    assert [(one.end, {*one.kinds} - {"undecided"}) for one in found] == [
        ("fold", {"attracting"}), ("fold", {"repelling"}), ("path", {"attracting"}),
    ]  # fmt: skip
    folds = [((one.bifurcations[-1].fast - x0) / sx, (one.bifurcations[-1].slow - y0) / sy) for one in found[:2]]
    np.testing.assert_allclose(folds, [[1, -2 / 3], [-1, 2 / 3]], atol=1e-8)
    assert np.isin(found[0].slow[:-1], path).all()


def test_van_der_pol_has_three_branches_between_two_folds():
    left, middle, right = connected_branches(CUBIC, state(-2.0, -1.0), np.linspace(-1.0, 1.0, 41))
    assert [part.kind for part in (left, middle, right)] == ["attracting", "repelling", "attracting"]
    for part, end in ((left, "fold"), (middle, "fold"), (right, "path")):
        assert part.end == end
        np.testing.assert_allclose(part.fast**3 / 3 - part.fast, part.slow, atol=1e-13)
        np.testing.assert_allclose(part.spectra[:, 0], 1 - part.fast**2, atol=1e-12)
    for part, fold in ((left, (-1.0, 2 / 3)), (middle, (1.0, -2 / 3))):
        np.testing.assert_allclose((part.fast[-1], part.slow[-1]), fold, atol=1e-12)
        assert part.kinds[-1] == "undecided"
    assert "It ends at a fold, x = -1, y = 0.666667: beyond, this branch has no quasi-steady state." in str(left)
    assert str(middle).startswith("A branch from y = 0.666667 to y = -0.666667: ")
    np.testing.assert_array_equal(right.fast[0], middle.fast[-1])
    assert "fold" not in str(right)


@settings(max_examples=5, deadline=None)
@given(st.floats(0.1, 4.0), st.integers(2, 30))
@pytest.mark.slow
def test_folds_are_where_the_closed_form_has_them_whatever_the_path(a, points):
    flow = rational({(0, 1): 1.0, (3, 0): -1 / 3, (1, 0): a})  # y = x^3 / 3 - a x, with folds at x^2 = a
    height = 2 / 3 * a**1.5
    found = manifold_branch(flow, state(-3 * np.sqrt(a), -2 * height), np.linspace(-2 * height, 2 * height, points))
    assert found.end == "fold"
    np.testing.assert_allclose(found.fast[-1], -np.sqrt(a), atol=1e-8)
    np.testing.assert_allclose(found.slow[-1], height, atol=1e-8)


def test_the_enzyme_has_the_smaller_root_of_its_quadratic():
    case = EXAMPLES["michaelis-menten"]
    found = manifold_branch(case.flow(1.0), FastSlow(case.guess, case.path[0]), case.path)
    y = case.path
    np.testing.assert_allclose(found.fast, (2 + y - np.sqrt((2 + y) ** 2 - 4 * y)) / 2, atol=1e-13)
    assert set(found.kinds) == {"attracting"}
    assert found.bifurcations == ()
    assert found.end == "path"


@pytest.mark.slow
def test_on_the_simplex_the_conserved_direction_is_no_mode():
    case = EXAMPLES["switching"]
    found = manifold_branch(case.flow(1.0), FastSlow(case.guess, case.path[0]), case.path[::40])
    assert found.spectra.shape == (5, 2)
    for p, y, values in zip(found.fast, found.slow, found.spectra, strict=True):
        Q = np.asarray(jax.jit(generator)(y))
        np.testing.assert_allclose(Q @ p, 0, atol=1e-13)
        every = np.sort(np.linalg.eigvals(Q).real)
        np.testing.assert_allclose(np.sort(values.real), every[:2], atol=1e-10)
        assert abs(every[2]) < 1e-12


def test_without_the_simplex_what_is_conserved_is_named():
    chain = switching_flow(1.0)
    flow = FastSlowFlow(chain.fast, chain.slow, 1.0)
    with pytest.raises(ValueError, match=r"such as `Simplex\(\)`, but f conserves the combination \(1, 1, 1\) of x"):
        quasi_steady_state(flow, 0.3, np.array([0.5, 0.2, 0.3]))
    assert isinstance(chain.space.parts.fast, Simplex)
    degenerate = rational({(3, 0): -1.0})  # a zero eigenvalue, and nothing conserved
    assert float(quasi_steady_state(degenerate, 0.0, 0.0).fast) == 0.0


def test_a_slow_fast_direction_is_no_conserved_quantity():
    flow = FastSlowFlow(lambda x, y: jnp.stack([y - x[0], 1e-3 * (2 * y - x[1])]), still, 1.0)
    np.testing.assert_allclose(quasi_steady_state(flow, 0.3, np.zeros(2)).fast, [0.3, 0.6], atol=1e-9)


def test_the_fast_dynamics_decides_the_root_and_newton_only_the_nearest():
    assert float(fast_limit(CUBIC, state(0.1, 0.0)).fast) == pytest.approx(np.sqrt(3), abs=1e-12)
    assert float(fast_limit(CUBIC, state(-0.1, 0.0)).fast) == pytest.approx(-np.sqrt(3), abs=1e-12)
    assert float(quasi_steady_state(CUBIC, 0.0, 0.1).fast) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(
        ValueError, match="lead to a stable equilibrium of the fast subsystem, but its limit at this y is metastable"
    ):
        fast_limit(CUBIC, state(0.0, 0.0))


def test_branches_that_cross_are_followed_through_the_crossing():
    case = EXAMPLES["transcritical"]
    for path in (case.path, np.array([-1.0, 0.3, 1.0])):
        found = manifold_branch(case.flow(1.0), FastSlow(case.guess, path[0]), path)
        np.testing.assert_allclose(found.fast, 0.0, atol=1e-15)
        assert found.kinds[0] == "attracting"
        assert found.kinds[-1] == "repelling"
        (loss,) = found.bifurcations
        assert loss.kind == "crossing"
        assert abs(float(loss.slow)) < 1e-9
        assert "it has a zero eigenvalue and goes on" in str(found)


def test_an_imaginary_pair_and_a_saddle_are_told_from_folds():
    turning = Linear([[0.0, -2.0], [2.0, 0.0]], np.eye(2), np.zeros(2))
    found = manifold_branch(FastSlowFlow(turning, still, 1.0), state([0.0, 0.0], -1.0), np.linspace(-1.0, 0.9, 4))
    (loss,) = found.bifurcations
    assert loss.kind == "pair"
    assert abs(float(loss.slow)) < 1e-9
    assert found.kinds == ("attracting", "attracting", "repelling", "repelling")
    np.testing.assert_allclose(found.spectra[:, 0], found.slow + 2j, atol=1e-12)
    stretching = Linear(np.diag([-1.0, 1.0]), np.zeros((2, 2)), [1.0, -1.0])
    found = manifold_branch(FastSlowFlow(stretching, still, 1.0), state([-1.0, -1.0], -1.0), np.linspace(-1.0, 1.0, 3))
    assert set(found.kinds) == {"saddle"}
    np.testing.assert_allclose(found.fast, np.stack([found.slow, found.slow], axis=1), atol=1e-13)


def test_a_fold_is_found_whatever_the_unit_of_the_field():
    """Of y = x^3 / 3 - a x, times rates up to 1e12, near x = -sqrt(a) and y = 2/3 a sqrt(a)."""
    path = np.linspace(-1.0, 1.0, 9)
    for rate, a in ((1e5, 0.3), (1e9, 0.7), (1e12, 1.1)):
        x, place = -np.sqrt(a), 4 * (1 + 2 / 3 * a**1.5)
        flow = rational({(0, 1): rate, (3, 0): -rate / 3, (1, 0): rate * a})
        found = fold_near(flow, np.asarray(x - 0.2), path, place - 0.2, place + 0.8)
        assert found is not None
        assert (float(found.fast), found.place) == (pytest.approx(x, abs=1e-10), pytest.approx(place, abs=1e-10))


def test_a_fold_is_taken_only_where_it_was_looked_for_and_not_for_a_crossing():
    path, x = np.array([-1.0, 1.0]), -1.05
    place = (x**3 / 3 - x + 1) / 2
    found = fold_near(CUBIC, np.asarray(x), path, place, 1.0)
    assert found is not None
    assert float(found.slow) == pytest.approx(2 / 3, abs=1e-14)
    assert fold_near(CUBIC, np.asarray(x), path, place, place - 0.1) is None  # it lies ahead
    assert fold_near(CUBIC, np.asarray(x), path, place, place + 1e-4) is None  # and further
    crossing = EXAMPLES["transcritical"].flow(1.0)
    assert fold_near(crossing, np.asarray(0.0), path, 0.4999, 0.6) is None


@pytest.mark.parametrize("path", [np.linspace(1.0, -1.0, 11), np.array([1.0, -1.0]), np.array([1.0, -0.7])])
def test_a_pitchfork_is_no_fold_and_no_step_is_so_long_that_it_is_missed(path):
    flow = rational({(1, 1): 1.0, (3, 0): -1.0})
    found = manifold_branch(flow, state(1.0, 1.0), path)
    assert found.end == "lost"
    assert "It ends at a fold" not in str(found)
    assert 0 <= found.slow[-1] < 1e-6


def test_a_branch_is_followed_through_a_place_where_it_is_flat():
    flow = rational({(0, 2): 1.0, (1, 0): -1.0})
    for path in (np.linspace(-1.0, 1.0, 5), np.array([0.0, 1.0]), np.array([-1.0, 0.9])):
        found = manifold_branch(flow, state(0.5, path[0]), path)
        np.testing.assert_allclose(found.fast, path**2, atol=1e-13)


@pytest.mark.parametrize("a", [2.5e-3, 1e-4, 1e-6])
def test_two_folds_in_one_step_join_three_branches(a):
    """Folds of y = x^3 / 3 - a x are sqrt(a) from x = 0, and apart in y by (4 / 3) a^(3/2), down to 1e-9."""
    flow = rational({(0, 1): 1.0, (3, 0): -1 / 3, (1, 0): a})
    found = connected_branches(flow, state(-1.2, -0.55), np.linspace(-0.55, 0.55, 12))
    assert [part.end for part in found] == ["fold", "fold", "path"]
    assert [float(part.fast[-1]) for part in found[:2]] == pytest.approx([-np.sqrt(a), np.sqrt(a)], rel=1e-3)
    (past,) = connected_branches(
        rational({(0, 1): 1.0, (3, 0): -1 / 3, (1, 0): -a}), state(-1.2, -0.55), np.linspace(-0.55, 0.55, 12)
    )
    assert past.end == "path"


def test_a_pole_is_no_fold():
    flow = rational({(0, 0): 1.0, (1, 1): -1.0}, below=0.0)  # f = 1 / y - x
    found = manifold_branch(flow, state(-1.0, -1.0), np.linspace(-1.0, 0.9, 5))
    assert found.end == "lost"
    assert -1e-3 < found.slow[-1] < 0
    assert "which is no fold" in str(found)


def test_a_sheet_is_continued_to_all_sides_of_its_start():
    flow = FastSlowFlow(lambda x, y: y[0] - 2 * y[1] - x, still, 1.0)
    axes = np.array([-1.0, 0.0, 1.0]), np.array([-0.5, 0.0, 0.5, 1.0])
    x, kinds = sheet(flow, state(0.0, [0.2, 0.4]), *axes)
    np.testing.assert_allclose(x, axes[0][:, None] - 2 * axes[1], atol=1e-12)
    assert np.all(kinds == "attracting")


@pytest.mark.slow
def test_a_sheet_over_a_grid_has_holes_where_there_is_no_branch():
    flow = FastSlowFlow(lambda x, y: 1 - jnp.sum(y**2) - x**2, still, 1.0)
    axis = np.linspace(-1.2, 1.2, 7)
    x, kinds = sheet(flow, state(0.9, [0.0, 0.0]), axis, axis[1:])
    square = axis[:, None] ** 2 + axis[None, 1:] ** 2
    inside = square < 1
    np.testing.assert_allclose(x[inside], np.sqrt(1 - square[inside]), atol=1e-12)
    assert np.all(np.isnan(x[~inside]))
    assert np.all(kinds[inside] == "attracting")
    assert np.all(kinds[~inside] == "")


def test_what_has_no_root_and_what_is_no_path_is_refused():
    none = rational({(2, 0): 1.0, (0, 1): 1.0})
    with pytest.raises(ValueError, match="f.x, y. = 0, at this y, but the smallest .f. found from it is 1"):
        quasi_steady_state(none, 1.0, 0.5)
    with pytest.raises(ValueError, match="`slow` must be finite"):
        quasi_steady_state(CUBIC, np.nan, 0.5)
    with pytest.raises(ValueError, match="`fast` must return the shape of its variable"):
        quasi_steady_state(FastSlowFlow(lambda x, y: jnp.stack([x, x]), still, 1.0), 0.0, 0.5)
    with pytest.raises(ValueError, match="`path` must hold at least two slow variables"):
        manifold_branch(CUBIC, state(2.0, 0.0), np.zeros(1))
    with pytest.raises(ValueError, match="`path` must be finite"):
        manifold_branch(CUBIC, state(2.0, 0.0), np.array([0.0, np.inf]))
    with pytest.raises(ValueError, match="`axes` must be one for each entry of y"):
        sheet(CUBIC, state(2.0, [0.0, 0.0]), np.zeros(3))


@pytest.fixture(scope="module")
def linear():
    return reduction_error(linear_flow(1.0), EXAMPLES["linear"].start, 1.0, (3e-3, 1e-3, 3e-4))


@pytest.mark.slow
def test_the_error_of_the_linear_reduction_is_that_of_the_closed_forms(linear):
    for k, (epsilon, first) in enumerate(zip(linear.epsilons, linear.layer_ends, strict=True)):
        ts = np.linspace(first, 1.0, 101)
        x, y = linear_solution(epsilon, EXAMPLES["linear"].start, ts)
        assert linear.slow_errors[k] == pytest.approx(np.max(np.abs(y - np.exp(-ts))), rel=1e-4)
        assert linear.fast_errors[k] == pytest.approx(np.max(np.abs(x - np.exp(-ts))), rel=1e-4)
        assert linear.distances[k] == pytest.approx(np.max(np.abs(x - y)), rel=1e-4)
        assert first == pytest.approx(3 * epsilon * np.log(1 / epsilon))


def test_the_reduced_flow_has_order_one_and_its_correction_order_two(linear):
    for errors in (linear.fast_errors, linear.slow_errors, linear.distances):
        fit = linear.order(errors)
        assert abs(fit.rate - 1) < 0.02
        assert fit.error < 0.01
    assert abs(linear.order(linear.corrected_distances).rate - 2) < 0.02
    assert "The error of y has order 1.00" in str(linear)
    assert linear.sizes == pytest.approx([1.0, 1.0], abs=0.05)


@pytest.mark.parametrize("name", ["michaelis-menten", "switching"])
@pytest.mark.slow
def test_the_enzyme_and_the_chain_have_order_one(name):
    case = EXAMPLES[name]
    found = reduction_error(case.flow(1.0), case.start, case.compare, (1e-3, 3e-4, 1e-4))
    for errors in (found.fast_errors, found.slow_errors, found.distances):
        assert abs(found.order(errors).rate - 1) < 0.03


@pytest.mark.parametrize("ys", [[2.0, 0.5, 1.0], [0.5, 2.0, 1.0], [1.0, -2.0, -0.5]])
def test_the_gap_is_the_least_rate_of_attraction_on_the_way(ys):
    """Of f = (1 + y^2) (y - x), whose rate is 1 + y^2."""
    flow = FastSlowFlow(lambda x, y: (1 + y**2) * (y - x), lambda x, y: -y, 0.1)
    stats = Stats(True, Outcome.FINISHED.value, 1, 0, 0.0, 1.0)
    path = Trajectory(np.arange(3.0), FastSlow(np.array(ys), np.array(ys)), flow, stats)
    assert _attraction(flow, path) == pytest.approx(1.25)


def test_the_first_order_correction_is_that_of_the_closed_form():
    assert float(first_order_correction(linear_flow(1.0), state(0.7, 0.7))) == pytest.approx(0.7, abs=1e-15)
    x = 2.0  # (1 - x^2) h = phi' g, phi' = 1 / (x^2 - 1), g = -x
    expected = x / (x**2 - 1) ** 2
    assert float(first_order_correction(CUBIC, state(x, x**3 / 3 - x))) == pytest.approx(expected, abs=1e-14)


def test_errors_of_the_solver_and_too_few_epsilons_are_not_fitted():
    many, few = np.array([1e-2, 1e-3, 1e-4]), np.array([1e-2])
    small = ReductionErrors(many, many, 1e-14 * many, many, many, many, 1.0)
    assert "No order of y is fitted: its error falls to 1e-18" in str(small)
    tiny = ReductionErrors(many, *[1e-7 * many] * 4, many, 1.0, (1e-6, 1e-6))
    assert "The error of y has order 1.000" in str(tiny)
    assert str(tiny._replace(sizes=(1e6, 1e6))).count("the error of the solver") == 3
    assert "fewer than three" in str(ReductionErrors(few, few, few, few, few, few, 1.0))


def test_reductions_that_do_not_exist_are_refused():
    start = state(2.0, 0.0)
    with pytest.raises(ValueError, match="`end` must come before the end of the branch.*stops at t = 0.450694"):
        reduction_error(CUBIC, start, 2.0)
    with pytest.raises(ValueError, match="`epsilons` must be numbers between 0 and 1"):
        reduction_error(CUBIC, start, 0.1, (1e-2, 0.0))
    with pytest.raises(ValueError, match="`epsilons` must be so small that the boundary layer ends before 0.05"):
        reduction_error(CUBIC, start, 0.1, (0.3,))
    with pytest.raises(ValueError, match="`end` must be positive"):
        reduction_error(CUBIC, start, -1.0)
    with pytest.raises(ValueError, match="`start` must lead to a stable equilibrium of the fast subsystem"):
        reduction_error(EXAMPLES["saddle"].flow(1.0), EXAMPLES["saddle"].start, 1.0)
    crossing = EXAMPLES["transcritical"]
    with pytest.raises(ValueError, match="`start` must lead along an attracting branch, but at t = 1.2.*grows"):
        reduction_error(crossing.flow(1.0), crossing.start, 1.2)
