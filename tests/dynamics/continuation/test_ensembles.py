"""Many branches in one call are those of single calls, and their bifurcations are where closed forms say."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.continuation import ensembles
from analysis.dynamics.continuation.batched import CurveBatch, MemberPoints
from analysis.dynamics.continuation.ensembles import continue_ensemble
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Limits, Steps
from analysis.tables import table
from dynsim.errors import ArgumentError
from dynsim.spaces.ellipsoid import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.parameter import Parameter
from figures.plotting import plot

RHO = Parameter(Lorenz(rho=10.0), "rho", 0.5, 40.0)
SIGMA = np.linspace(8.0, 12.0, 6)
START = np.sqrt(8 / 3 * 9) * np.array([[1.0, 1.0, 0.0]]) + np.array([[0.0, 0.0, 9.0]])


@pytest.fixture
def alone(monkeypatch):
    """Count the members that are continued one by one."""
    calls = []
    single = lambda *given, **options: calls.append(given) or continue_equilibria(*given, **options)
    monkeypatch.setattr(ensembles, "continue_equilibria", single)
    return calls


def same(one, other):
    """Whether two branches have the same points, stability and bifurcations with their normal forms."""
    assert one.ends == other.ends
    assert one.kinds == other.kinds
    assert np.allclose(one.states, other.states, atol=1e-7)
    assert np.allclose(one.parameters, other.parameters, atol=1e-7)
    assert np.allclose(one.arclengths, other.arclengths, atol=1e-7)
    assert [b.title for b in one.bifurcations] == [b.title for b in other.bifurcations]
    for first, second in zip(one.bifurcations, other.bifurcations, strict=True):
        assert first.parameter == pytest.approx(second.parameter, abs=1e-8)
        assert first.frequency == pytest.approx(second.frequency, abs=1e-7)
        assert first.arclength == pytest.approx(second.arclength, abs=1e-2)  # of steps of the length one
        assert first.coefficient == pytest.approx(second.coefficient, rel=1e-5, nan_ok=True)
        assert np.allclose(first.direction, second.direction, atol=1e-5)


def test_the_branches_of_the_lorenz_system_are_those_of_single_calls(alone):
    found = continue_ensemble(RHO, START, {"sigma": SIGMA})
    assert not alone
    same(found.branches[2], continue_equilibria(RHO.of(Lorenz(rho=10.0, sigma=SIGMA[2])), START[0]))
    for sigma, one in zip(SIGMA, found.branches, strict=True):
        exact = sigma * (sigma + 8 / 3 + 3) / (sigma - 8 / 3 - 1)
        assert [b.parameter for b in one.bifurcations] == pytest.approx([exact, 1.0, exact], abs=1e-8)
    assert "12 subcritical Hopf points, 6 supercritical pitchforks; ends: bounds" in str(found)
    assert "\n" not in repr(found)
    rows = table(found)
    assert {"member", "sigma", "x", "y", "z"} <= {*rows.names}
    assert (rows["member"][-1], rows["sigma"][-1]) == (len(SIGMA) - 1, SIGMA[-1])
    assert len(plot(found, component="z").bifurcations) == 3 * len(SIGMA)


def test_members_with_a_closed_curve_or_doubt_are_continued_alone(alone):
    """Equilibria x^2 + a^2 = r are a closed curve for all r; those of x (a - x) cross, and their angle changes."""
    flow = FunctionFlow(lambda t, x, a=0.0, r=1.0: r - a**2 - x**2, parameters={"a": 0.0, "r": 1.0})
    found = continue_ensemble(Parameter(flow, "a", -2.0, 2.0), [[1.0], [0.5]], {"r": [1.0, 0.25]})
    assert len(alone) == 2
    assert [one.ends for one in found.branches] == [("closed", "closed")] * 2
    assert [abs(b.parameter) for one in found.branches for b in one.bifurcations] == pytest.approx([1, 1, 0.5, 0.5])


def test_maps_and_other_units_work_as_well(alone):
    """The logistic map r x (1 - x / size) doubles the period at r = 3, and the multiplier at the start is 2 - r."""
    flow = FunctionMap(lambda k, x, r=2.5, size=1e-9: r * x * (1 - x / size), parameters={"r": 2.5, "size": 1e-9})
    sizes = 1e-9 * np.array([1.0, 2.0, 3.0])
    found = continue_ensemble(Parameter(flow, "r", 1.5, 3.5), 0.6 * sizes[:, None], {"size": sizes})
    assert not alone
    for size, one in zip(sizes, found.branches, strict=True):
        assert [(b.kind, b.parameter) for b in one.bifurcations] == [("period doubling", pytest.approx(3.0, abs=1e-9))]
        assert one.bifurcations[0].state[0] / size == pytest.approx(2 / 3)
        assert one.bifurcations[0].coefficient * size**2 == pytest.approx(9.0, rel=1e-6)


def test_a_pair_of_close_bifurcations_is_not_missed():
    """Two folds of x' = a + e x - x^3 lie at a = +-2 (e / 3)^(3/2), nearer to each other than a step."""
    flow = FunctionFlow(lambda t, x, a=-1.0, e=0.1: a + e * x - x**3, parameters={"a": -1.0, "e": 0.1})
    e = np.array([0.1, 1e-2, 1e-3])
    found = continue_ensemble(Parameter(flow, "a", -1.0, 1.0), [[-1.0]], {"e": e}, steps=Steps(largest=0.2))
    for value, one in zip(e, found.branches, strict=True):
        exact = 2 * (value / 3) ** 1.5
        assert sorted(b.parameter for b in one.bifurcations) == pytest.approx([-exact, exact], rel=1e-6)


@pytest.mark.slow
def test_a_thousand_branches_are_continued_in_one_call(alone):
    sigma = np.linspace(8.0, 12.0, 1000)
    found = continue_ensemble(RHO, START, {"sigma": sigma})
    assert len(alone) < 10
    exact = sigma * (sigma + 8 / 3 + 3) / (sigma - 8 / 3 - 1)
    hopf = [[b.parameter for b in one.bifurcations if b.kind == "Hopf point"] for one in found.branches]
    assert np.allclose(hopf, exact[:, None], atol=1e-8)


CIRCLE = FunctionFlow(lambda t, x, a=0.5: a * jnp.stack([-x[1], x[0]]) * x[1], space=Sphere(), parameters={"a": 0.5})


def test_other_spaces_are_continued_one_by_one(alone):
    found = continue_ensemble(Parameter(CIRCLE, "a", 0.1, 1.0), [[1.0, 0.0], [-1.0, 0.0]])
    assert len(alone) == 2
    assert [one.ends for one in found.branches] == [("bounds", "bounds")] * 2


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: continue_ensemble(RHO, START, {"sigme": SIGMA}), "`over` must name a parameter of Lorenz.*sigme"),
        (lambda: continue_ensemble(RHO, START, {"rho": SIGMA}), "`over` must name other parameters"),
        (lambda: continue_ensemble(RHO, START, {"sigma": 3.0}), "`starts` must have the members on the first axis"),
        (lambda: continue_ensemble(RHO, np.tile(START, (2, 1)), {"sigma": SIGMA}), r"have lengths \[2, 6\]"),
        (lambda: continue_ensemble(RHO, START[0], {"sigma": SIGMA}), "`starts` must"),
        (lambda: continue_ensemble(RHO, START, 3), "`over` must be values of parameters by name"),
        (
            lambda: continue_ensemble(RHO, START, steps=Steps(marks={"x": lambda x, a: x[0]})),
            "`steps` must have no marks and stops",
        ),
        (lambda: continue_ensemble(RHO, [[np.nan] * 3] * 2), "`starts` must lead to|finite|`start` must"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()


def test_members_without_an_equilibrium_are_named():
    flow = FunctionFlow(lambda t, x, a=0.5, b=1.0: a * b - x**2, parameters={"a": 0.5, "b": 1.0})
    with pytest.raises(ArgumentError, match="`starts` must lead to branches, but lead to none at 1, 3: "):
        continue_ensemble(Parameter(flow, "a", 0.1, 1.0), [[0.7]], {"b": [1.0, -1.0, 2.0, -2.0]})


def test_eigenvalues_are_in_the_given_unit_of_time():
    flow = FunctionFlow(lambda t, x, a=0.5, k=1e6: k * (a - x), parameters={"a": 0.5, "k": 1e6})
    found = continue_ensemble(Parameter(flow, "a", 0.0, 1.0), [[0.5], [0.5]], {"k": [1e6, 3e6]})
    for rate, one in zip((1e6, 3e6), found.branches, strict=True):
        np.testing.assert_allclose(one.eigenvalues, -rate, rtol=1e-9)


class Squares(CycleField):
    """The equations x^2 = 2 of one unknown, on many curves."""

    def __init__(self):
        self.size = 1

    def at(self, t, x, parameter):
        """Evaluate the equation and its derivatives."""
        return x**2 - 2, np.stack([2 * x, 0 * x], axis=2)


def batch(is_map):
    return CurveBatch(Squares(), np.zeros((2, 0)), Limits((-1.0, 1.0), 0.1, 0.5, 9), is_map=is_map)


def test_the_contraction_of_a_correction_is_its_largest_ratio():
    starts = np.array([3.0, 1.5])
    z, done, counts, contraction = batch(False).corrected(
        np.arange(2), np.column_stack([starts, np.zeros(2)]), np.tile([0.0, 1.0], (2, 1))
    )
    np.testing.assert_allclose(z, [[2**0.5, 0.0]] * 2, rtol=1e-15)
    assert done.all()
    assert counts.tolist() == [6, 4]
    first = (starts**2 - 2) / (2 * starts)
    second = ((starts - first) ** 2 - 2) / (2 * (starts - first))
    np.testing.assert_allclose(contraction, second / first)


@pytest.mark.parametrize(
    ("is_map", "kind", "frequency"), [(True, "Neimark-Sacker point", 2.0), (False, "Hopf point", 0.9)]
)
def test_frequencies_are_angles_of_multipliers_and_imaginary_parts_of_eigenvalues(is_map, kind, frequency):
    """The first pair is damped, the second one is critical."""
    damped, critical = 0.3 + 0.1j, np.exp(2j) if is_map else 0.9j
    damped = damped if is_map else damped - 1
    values = np.array([[damped, critical, np.conj(critical), np.conj(damped)]])
    at = MemberPoints(np.array([1]), np.array([[5.0, 0.5]]), np.ones((1, 2)), values, np.ones(1))
    found = batch(is_map)._named(at, np.array(["crossing"]), np.array([0]))
    assert (found.member.tolist(), found.kinds) == ([1], (kind,))
    assert found.frequencies == pytest.approx([frequency])


def points(values, slopes, det, member=(0, 0, 0)):
    """Make points of one or two curves from an eigenvalue, the slope of the parameter and the determinant at each."""
    count = len(values)
    tangent = np.column_stack([np.ones(count), slopes])
    z = np.column_stack([np.arange(count), np.zeros(count)])
    values = np.array(values, complex)[:, None]
    return MemberPoints(np.array(member[:count]), z, tangent, values, np.array(det))


def test_a_pitchfork_at_which_an_eigenvalue_crosses_is_left_to_single_curves(monkeypatch):
    one, searched = batch(False), []
    monkeypatch.setattr(
        CurveBatch, "_located", lambda _, found, at, *__: searched.append(at.tolist()) or found.rows(at)
    )
    assert one.crossings(points([1.0, -1.0], [0.1, -0.1], [1.0, -1.0])).kinds == ()
    assert (one.doubtful.tolist(), searched) == ([True, False], [[]])


def test_a_curve_may_close_where_both_ends_of_a_step_are_near_its_first_point():
    first, before, near, beyond, far = (points([1.0], [0.0], [1.0])._replace(z=np.array([[x, 0.0]])) for x in range(5))
    leads_back = lambda here, found: bool(batch(False)._back(first, here, found)[0])
    assert leads_back(before._replace(z=-before.z), before)
    assert not leads_back(far, before)
    assert not leads_back(near, beyond)


@pytest.mark.parametrize(
    ("middle", "member", "hidden"), [(0.1, (0, 0, 0), True), (0.9, (0, 0, 0), False), (0.1, (0, 0, 1), False)]
)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_test_function_that_turns_near_zero_may_vanish_on_both_sides(which, middle, member, hidden):
    rows = [[1.0] * 3, [0.5] * 3, [2.0] * 3]
    rows[which] = [-1.0, -middle, -middle - 0.05]
    found = points(*rows, member)
    growth = np.real(found.values)
    same = found.member[1:] == found.member[:-1]
    assert batch(False)._may_hide(found, growth, same).tolist() == [hidden] * 2


def test_members_of_other_sizes_have_units_of_their_own(alone):
    """Equilibria x^2 = r size^2 of x' = r size - x^2 / size turn back at r = 0; members have sizes from 1e-6 to 1e6."""
    sizes = np.array([1.0, 1e6, 1.5, 1e-6, 2e6])
    flow = FunctionFlow(lambda t, x, r=1.0, size=1.0: r * size - x**2 / size, parameters={"r": 1.0, "size": 1.0})
    found = continue_ensemble(Parameter(flow, "r", -1.0, 2.0), sizes[:, None], {"size": sizes})
    assert not alone
    for size, one in zip(sizes, found.branches, strict=True):
        assert [b.parameter for b in one.bifurcations] == pytest.approx([0.0], abs=1e-9)
        assert np.allclose((one.states[:, 0] / size) ** 2, one.parameters, atol=1e-8)


def test_a_fold_and_a_hopf_point_in_one_step_are_both_found(alone):
    """The curve a = x^2 folds at 0; y and z rotate, and cease to grow at x = -c in the same step: one less grows there.

    Their growth is nearly constant before and after it, so that no growth turns back at the ends of the step.
    """

    def field(t, s, a=1.0, c=0.02):
        x, y, z = s
        grow = 0.01 * jnp.tanh(50 * (x + c)) * (1 - x**2 / 2)
        return jnp.stack([a - x**2, grow * y - z, y + grow * z])

    flow = FunctionFlow(field, parameters={"a": 1.0, "c": 0.02})
    c = np.array([0.02, -0.02, 0.3])
    found = continue_ensemble(Parameter(flow, "a", -1.0, 1.0), [[1.0, 0.0, 0.0]], {"c": c}, steps=Steps(0.2, 0.4))
    for value, one in zip(c, found.branches, strict=True):
        assert {b.kind: b.parameter for b in one.bifurcations} == {
            "fold": pytest.approx(0.0, abs=1e-9),
            "Hopf point": pytest.approx(value**2, rel=1e-5),
        }
