"""Curves of equilibria and of bifurcations are the same in all units of the state, of time and of parameters."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.coefficients import cusp_coefficient
from analysis.dynamics.codim2.curves import _degeneracy, critical_curve
from analysis.dynamics.codim2.equilibria import FoldCurve
from analysis.dynamics.codim2.planes import critical_curves, stability_map
from analysis.dynamics.continuation.bifurcations import Bifurcation, moved_bifurcation
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import bifurcation_diagram
from analysis.dynamics.normal_forms.flows import bogdanov_takens_coefficients, flow_chart
from analysis.dynamics.scaling.units import made_units, unit_of
from dynsim import FunctionFlow, FunctionMap, NoisyFlow, RescaledFlow, Sphere
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import DoubleWell, FitzHughNagumo
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.named import where
from dynsim.systems.parameter import Parameter

CONCENTRATION, RATE, FAST = 1e-9, 1e-9, 1e6  # units of a state in mol/l, of a parameter in mol/l/s, of rates in 1/s


def in_units(flow, sizes, *names, rate=1.0, parameter=1.0):
    """Return a flow whose state is larger by factors, its rates by another one, and some parameters by a third one."""
    state = [1 / size for size in sizes]
    return RescaledFlow(flow, state=state, time=rate, parameters=dict.fromkeys(names, 1 / parameter))


def test_units_are_one_in_a_range_and_else_powers_near_a_share_of_sizes():
    found = unit_of(np.array([0.02, 100.0, 0.01, 1e6, 0.0, np.nan]), (1 / 64, 128.0), 1 / 4)
    assert found.tolist() == [1.0, 1.0, 2.0**-10, 2.0**20, 1.0, 1.0]


@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [1e-13, -1e-13, 1e-16], [7.1, 7.1, 19.0]])
def test_sizes_are_found_at_zero_and_beside_it(start):
    """At the origin the second component moves no eigenvalue: it multiplies the first one, which is zero."""
    sizes = np.array([1e-9, 1e6, 1.0])
    flow = in_units(Lorenz(rho=1.0), sizes, "rho", rate=FAST, parameter=RATE)
    found = curve_units((Parameter(flow, "rho", 0.0, 3e-8),), jnp.asarray(start) * sizes)
    assert found.scale.tolist() == [2.0**-30, 2.0**20, 1.0]
    assert (found.time, found.parameters) == (2.0**-20, (2.0**-30,))
    own = Lorenz(rho=1.0)
    assert curve_units((Parameter(own, "rho", 0.0, 30.0),), jnp.asarray(start)).are_given


@pytest.mark.parametrize(("rate", "unit"), [(64.0, 1.0), (256.0, 2.0**-10)])
def test_a_component_has_a_smaller_unit_only_if_its_size_is_nearer_to_four_of_that(rate, unit):
    """The eigenvalue -1 - rate x of zero is larger by half where x is a half over the rate."""
    flow = FunctionFlow(lambda t, x, p: p - x - rate * x**2 / 2, parameters={"p": 0.0})
    found = curve_units((Parameter(flow, "p", -1e-3, 1e-3),), jnp.zeros(1))
    assert found.scale.tolist() == [unit]


def test_components_without_an_influence_on_eigenvalues_are_as_large_as_the_others_make_them():
    """The second component of FitzHugh and Nagumo is linear; one that nothing moves is as large as it is."""
    nerve = in_units(FitzHughNagumo(current=0.3), [1e-9, 1e6], "current", parameter=RATE)
    found = curve_units((Parameter(nerve, "current", 0.0, 2e-9),), jnp.asarray([-1.2e-9, -6e5]))
    assert found.scale.tolist() == [2.0**-30, 2.0**20]
    chain = FunctionFlow(lambda t, x, p: jnp.stack([p - x[0], 1e9 * x[0] - x[1], -x[2], -x[3] + 0 * x[2], x[1] - x[4]]),
                         parameters={"p": 0.0})  # fmt: skip
    found = curve_units((Parameter(chain, "p", 0.0, 1e-9),), jnp.asarray([0.0, 0.0, 1e9, 0.0, 1e-7]))
    assert found.scale.tolist() == [2.0**-30, 1.0, 2.0**30, 1.0, 1.0]
    acting = FunctionFlow(lambda t, x, p: jnp.stack([p * x[0] - x[0] ** 3 + 1e9 * x[1], -x[1]]), parameters={"p": 1.0})
    found = curve_units((Parameter(acting, "p", -1.0, 1.0),), jnp.zeros(2))
    assert found.scale.tolist() == [1.0, 2.0**-30]


@pytest.mark.parametrize("order", [2, 3])
def test_components_that_parameters_move_through_others_are_as_large_as_they_move(order):
    """Where x has the second or third derivative p + q y + x^2, and y is the last one before: all eigenvalues are 0."""
    chain = lambda t, x, p, q: jnp.append(x[1:], p + q * x[-1] + x[0] ** 2)
    flow = FunctionFlow(chain, parameters={"p": 0.0, "q": 0.0})
    find = lambda flow, state: curve_units([Parameter(flow, name, -1.0, 1.0) for name in "pq"], jnp.asarray(state))
    for start in (np.zeros(order), np.full(order, 1e-9)):
        assert find(flow, start).scale.tolist() == [1.0] * order
    first, *others = find(in_units(flow, [1e-9, *[1.0] * (order - 1)]), np.zeros(order)).scale.tolist()
    assert 2.0**-35 <= first <= 2.0**-30
    assert others == [1.0] * (order - 1)


@pytest.mark.parametrize("rate", [1e2, 1e4, 1e8])
def test_positions_keep_their_unit_where_stiff_friction_makes_velocities_small(rate):
    """The velocity has an effect on eigenvalues from 1 / rate on, and drives the position."""
    field = lambda t, x, p: jnp.stack([x[1], p - x[0] - jnp.tanh(rate * x[1]) / 2])
    parameter = Parameter(FunctionFlow(field, parameters={"p": -2.5}), "p", -3.0, 3.0)
    position, velocity = curve_units((parameter,), jnp.asarray([-2.5, 0.0])).scale.tolist()
    assert position == 1.0
    assert velocity <= 1.0
    branch = continue_equilibria(parameter, [-2.5, 0.0])
    assert branch.ends == ("bounds", "bounds")
    assert len(branch.parameters) < 100
    assert np.max(np.abs(branch.states[:, 0] - branch.parameters)) < 1e-9


def test_matrices_have_one_unit_curved_spaces_and_noise_none():
    flow = FunctionFlow(lambda t, x, p: x * (p - x**2 / 1e12), parameters={"p": 1.0})
    find = lambda flow, x: curve_units((Parameter(flow, lambda f: f.parameters["p"], -1.0, 1.0),), x)
    found = find(flow, jnp.zeros((2, 2)))
    assert found.scale.shape == ()
    assert found.scale == 2.0**15
    cubic = FunctionFlow(lambda t, x, p: p * x - x**3, parameters={"p": 1.0})
    p = Parameter(cubic, "p", 0.0, 1.0)
    assert curve_units((p,), jnp.zeros(1), at=(1e12,)).scale.tolist() == [2.0**15]
    assert curve_units((p,), jnp.zeros(1)).are_given
    assert found.restored(jnp.ones((2, 2))).tolist() == [[2.0**15] * 2] * 2
    ball = FunctionFlow(lambda t, x, p: 1e9 * p * jnp.roll(x, 1), Sphere(), parameters={"p": 1.0})
    found = find(ball, jnp.asarray([0.6, 0.8, 0.0]))
    assert (found.has_given_states, found.time) == (True, 2.0**-30)
    noisy = NoisyFlow(flow, 1.0, calculus="ito")
    assert curve_units((Parameter(noisy, lambda f: f.flow.parameters["p"], -1e9, 1e9),), jnp.zeros(2)).has_given_states
    singular = FunctionFlow(lambda t, x, p: p / x, parameters={"p": 1.0})
    assert find(singular, jnp.zeros(1)).has_given_states


def test_a_pitchfork_is_found_and_left_at_its_place():
    """X' = a x - x^3 in nanomol per litre, with a in 1e-9 per microsecond."""
    flow = in_units(DoubleWell(a=-1.0), [CONCENTRATION], "a", rate=FAST, parameter=RATE)
    take, bounds = where(flow, "a"), (-1e-9, 1e-9)
    first = continue_equilibria(Parameter(flow, take, *bounds), [1e-10])
    (point,) = first.bifurcations
    assert (point.kind, point.parameter) == ("branch point", pytest.approx(0, abs=1e-17))
    assert first.arclengths[-1] == pytest.approx(2e-9, rel=1e-6)
    assert first.eigenvalues[:, 0] == pytest.approx(FAST * first.parameters / RATE, rel=1e-9)
    assert (first.kinds[0], first.kinds[-1], first.vertical) == ("stable", "unstable", False)
    found = switch(Parameter(flow, take, *bounds), point)
    assert sorted(float(branch.states[-1, 0]) for branch in found) == pytest.approx([-1e-9, 1e-9], rel=1e-9, abs=0)
    for branch in found:
        assert branch.states[:, 0] ** 2 == pytest.approx(1e-9 * branch.parameters, rel=1e-6, abs=1e-25)
        assert set(branch.kinds[1:]) == {"stable"}
    longer = extend(found[0], Parameter(flow, take, -1e-9, 4e-9))
    assert float(abs(longer.states[-1, 0])) == pytest.approx(2e-9, rel=1e-9)
    assert np.all(np.diff(longer.arclengths) > 0)


def test_folds_have_their_coefficient():
    """Beside the fold at x = 0 the parameter is -x^2 s, the state being larger by s, or s^2 / p with that of p."""
    flow = FunctionFlow(lambda t, x, mu: mu + x**2 * 1e3, parameters={"mu": -1e-9})
    found = continue_equilibria(Parameter(flow, where(flow, "mu"), -1e-9, 5e-10), [-1e-6])
    (fold,) = found.bifurcations
    assert (fold.kind, fold.parameter, float(fold.state[0])) == (
        "fold", pytest.approx(0, abs=1e-18), pytest.approx(0, abs=1e-12),
    )  # fmt: skip
    assert fold.coefficient == pytest.approx(-1e3, rel=1e-6)
    assert found.parameters[[0, -1]] == pytest.approx([-1e-9, -1e-9], rel=1e-12, abs=0)
    assert abs(fold.direction[0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_a_hopf_point_has_its_frequency_and_its_coefficient():
    """Of the Brusselator with A at B = 1 + A^2, where l_1 is known for the vector with the entries A, 1 + A^2."""
    A, sizes = 1.5, np.array([1e-6, 1e3])
    flow = in_units(Brusselator(a=A, b=1.0), sizes, "b", rate=FAST, parameter=1e6)
    found = continue_equilibria(Parameter(flow, where(flow, "b"), 0.5e6, 5e6), np.array([A, 1 / A]) * sizes)
    (hopf,) = found.bifurcations
    assert hopf.parameter == pytest.approx(1e6 * (1 + A**2), rel=1e-11)
    assert hopf.frequency == pytest.approx(FAST * A, rel=1e-9)
    assert hopf.criticality == "supercritical"
    length = sizes**2 @ [A**2 / (1 + A**2), 1.0]
    assert hopf.coefficient == pytest.approx(-(2 + A**2) / (2 * A * (1 + A**2)) / length, rel=1e-6)
    assert hopf.natural_size > abs(hopf.coefficient)
    assert np.max(np.abs(hopf.eigenvalues.real)) < 1e-6 * FAST


@pytest.mark.slow
def test_maps_have_their_points_and_coefficients_in_other_units():
    """X -> r x (1 - x) in units of 1e-6: of the first period doubling at r = 3 the coefficient is 9."""
    beside = jnp.asarray([0.0, 0.5])  # of a second component, which is linear
    logistic = FunctionMap(
        lambda k, x, r: r * x * (1 - 1e6 * x) * jnp.asarray([1.0, 0.0]) + beside * x, parameters={"r": 2.5}
    )
    found = continue_equilibria(Parameter(logistic, where(logistic, "r"), 2.0, 3.2), [0.6e-6, 0.0])
    (flip,) = found.bifurcations
    assert (flip.kind, flip.parameter) == ("period doubling", pytest.approx(3.0, abs=1e-9))
    assert flip.coefficient == pytest.approx(9e12, rel=1e-6)
    assert flip.criticality == "supercritical"
    (doubled, *_) = switch(Parameter(logistic, where(logistic, "r"), 2.0, 3.3), flip)
    r = doubled.parameters[-1]
    expected = (r + 1 + np.array([-1, 1]) * np.sqrt((r - 3) * (r + 1))) / (2 * r)
    assert np.min(np.abs(doubled.states[-1, 0] / 1e-6 - expected)) < 1e-9


@pytest.mark.slow
def test_folds_meet_in_a_cusp_in_two_parameters():
    well = lambda t, x, h, a: 1e-3 * (1e9 * h + (1e9 * a - 1) * (1e9 * x) - (1e9 * x) ** 3)
    flow = FunctionFlow(well, parameters={"h": -1e-9, "a": 2e-9})
    take, ends = (where(flow, "h"), where(flow, "a")), ((-2e-9, 2e-9), (0.0, 2.5e-9))
    at = Bifurcation(
        "fold", jnp.asarray([3**-0.5 * 1e-9]), -2e-9 / 27**0.5, np.zeros(1, complex), 0.0, 0.0, np.zeros(2)
    )
    found = critical_curve(
        (Parameter(flow, take[0], *ends[0]), Parameter(flow, take[1], *ends[1])), at, steps=Steps(first=0.1)
    )
    assert found.ends == ("bounds", "bounds")
    assert (found.first * 1e9) ** 2 == pytest.approx(4 * ((found.second * 1e9 - 1) / 3) ** 3, abs=1e-9)
    ((kind, h, a),) = [(d.kind, d.first, d.second) for d in found.degeneracies]
    assert (kind, h, a) == ("cusp", pytest.approx(0.0, abs=1e-18), pytest.approx(1e-9, rel=1e-9, abs=0))
    other = at._replace(state=-at.state, parameter=-at.parameter)
    (both,) = critical_curves(
        (Parameter(flow, take[0], *ends[0]), Parameter(flow, take[1], *ends[1])), [at, other], steps=Steps(first=0.1)
    )
    assert len(both.first) == len(found.first)
    longer = extend(
        found, (Parameter(flow, take[0], -4e-9, 4e-9), Parameter(flow, take[1], 0.0, 3e-9)), steps=Steps(first=0.1)
    )
    assert (longer.second[0], longer.second[-1]) == (pytest.approx(3e-9, rel=1e-6, abs=0),) * 2


def test_equilibria_of_small_states_are_told_apart():
    """X' = a x - x^3: three branches that do not meet for a > 0, and three equilibria in the plane of a and h."""
    flow = in_units(DoubleWell(a=1.0), [CONCENTRATION], "a", "h")
    starts = [jnp.asarray([x]) for x in (0.0, 1e-9, -1e-9)]
    found = bifurcation_diagram(Parameter(flow, where(flow, "a"), 0.5, 1.5), starts)
    assert len(found.branches) == 3
    counts = stability_map((Parameter(flow, "a", -1.0, 1.0), Parameter(flow, "h", 0.0, 1.0)), starts, shape=(2, 1))
    assert (counts.found.tolist(), counts.stable.tolist()) == ([[1, 3]], [[1, 2]])


def test_branches_are_the_same_in_units_and_back():
    flow, state = DoubleWell(a=-1.0), FastSlow(np.array([[1.0, 3.0]]), np.array([[2.0]]))
    units = made_units(
        flow, (Parameter(flow, "a", -1.0, 1.0),), FastSlow(np.array([4.0, 0.5]), np.asarray(2.0)), 8.0, (16.0,)
    )
    assert units.flat(FastSlow(np.ones(2), np.ones(1))).tolist() == [4.0, 0.5, 2.0]
    point = Bifurcation("Hopf point", state, 3.0, np.array([1j]), 1.0, 5.0, np.array([0.0, 0.6, 0.0, 0.8]))
    own = moved_bifurcation(units, point)
    assert (own.parameter, own.frequency, own.eigenvalues.tolist(), own.arclength) == (3 / 16, 8.0, [8j], 5 / 16)
    assert own.direction == pytest.approx(np.array([0.0, 1.2, 0.0, 0.05]) / np.hypot(1.2, 0.05))
    assert [part.tolist() for part in own.state] == [[[0.25, 6.0]], [[1.0]]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cusp", pytest.param("Bogdanov-Takens point", marks=pytest.mark.slow)])
def test_coefficients_of_degenerate_points_are_those_of_the_given_flow(kind):
    """Units of the curve are other ones, of each component and of time."""
    fields = {
        "cusp": lambda t, x, p, q: jnp.stack([p + q * x[0] + x[0] * x[1] - 0.3 * x[0] ** 3, x[0] ** 2 - x[1]]),
        "Bogdanov-Takens point": lambda t, x, p, q: jnp.stack([x[1], p + q * x[1] + 2 * x[0] ** 2 + 3 * x[0] * x[1]]),
    }
    cusp = lambda *at: (cusp_coefficient(*flow_chart(*at)),)
    known = {"cusp": cusp, "Bogdanov-Takens point": bogdanov_takens_coefficients}
    flow = in_units(FunctionFlow(fields[kind], parameters={"p": 0.0, "q": 0.0}), [3.0, 1.0], rate=5.0)
    both = [Parameter(flow, name, -1.0, 1.0) for name in ("p", "q")]
    units = made_units(flow, both, np.array([4.0, 1 / 8]), 1 / 16, (1.0, 1.0))
    curve = FoldCurve((units.varied[0], units.varied[1]), jnp.zeros(2), units)
    place = curve.at(curve.begin(jnp.zeros(2), 0.0, 0.0), 0.0)
    assert _degeneracy(curve, kind, place).coefficients == pytest.approx(known[kind](flow, jnp.zeros(2)), rel=1e-9)


def test_a_species_absent_up_to_rounding_keeps_its_unit_where_it_can_live_in_a_window_only():
    """What the rounding error drives is no size; beyond the window the species has no effect (as daisies have)."""
    window = lambda x: jnp.maximum(0.0, 1 - 4 * (x - 1) ** 2)
    flow = FunctionFlow(
        lambda t, s, p: jnp.stack([p - s[0], s[1] * window(s[0]) * (1 - s[1])]), parameters={"p": jnp.asarray(0.9)}
    )
    found = curve_units((Parameter(flow, "p", 0.6, 1.2),), np.array([0.9, 3e-33]))
    assert found.scale.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("threshold", [1e-6, 1.0, 1e3])
def test_a_steep_switch_is_seen_from_far_below_its_threshold(threshold):
    """Carpenter, Ludwig and Brock, 1999: a lake that turns where 0.6 = 8 x^7 / (1 + x^8)^2, at x = 0.702126."""
    switched = lambda s: s**8 / (1 + s**8)
    lake = FunctionFlow(
        lambda t, x, a: a - 0.6 * x + threshold * switched(x / threshold), parameters={"a": jnp.asarray(0.0)}
    )
    (fold,) = continue_equilibria(Parameter(lake, "a", 0.0, threshold), jnp.zeros(1)).bifurcations
    assert (fold.kind, fold.parameter / threshold) == ("fold", pytest.approx(0.3655058917828, abs=1e-9))


def test_branches_that_leave_one_on_which_a_component_is_zero_reach_the_bounds_in_few_steps():
    """An infection and the susceptible share: at R = 1 a branch leaves the one without infected, for all R > 0."""
    m = 0.1
    infect = lambda x, R: R * (1 + m) * x[0] * x[1]
    flow = FunctionFlow(
        lambda t, x, R: jnp.stack([m * (1 - x[0]) - infect(x, R), infect(x, R) - (1 + m) * x[1]]), parameters={"R": 0.5}
    )
    found = bifurcation_diagram(Parameter(flow, "R", 0.2, 3.0), [jnp.array([1.0, 0.0])])
    assert [one.ends for one in found.branches] == [("bounds", "bounds"), *[("branch point", "bounds")] * 2]
    assert sum(len(one.parameters) for one in found.branches) < 250
    for one in found.branches[1:]:
        expected = np.column_stack([1 / one.parameters, m * (1 - 1 / one.parameters) / (1 + m)])
        assert one.states == pytest.approx(expected, abs=1e-9)


def test_the_largest_default_step_grows_with_the_distance_from_the_first_point_up_to_a_cap():
    """Otherwise a branch that tends to infinity at a value of the parameter gets so far that it stands still there."""
    curve, none = EquilibriumCurve(Parameter(DoubleWell(), "a", -1.0, 1.0)), np.empty(0)
    at = lambda x, *along: CurvePoint(np.array([x]), x, np.eye(1), none, none, np.array(along), none, none)
    free, given = Steps().limits(curve.parameter, 10), Steps(largest=0.2).limits(curve.parameter, 10)
    size = lambda x, along, within: curve.largest_step(at(x, *along), within, at(300.0, 1.0, 0.0))
    assert [size(x, (1.0, 0.0), free) for x in (301.0, 310.0, 1e9)] == pytest.approx([0.2, 1.0, 25.6])
    assert size(310.0, (0.0, 1.0), free) == size(310.0, (1.0, 0.0), given) == pytest.approx(0.2)
    assert size(310.0, (0.6, 0.8), free) == pytest.approx(1 / np.hypot(0.6, 4.0))
