"""Errors in curves of periodic orbits, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
ALONG, CURVE = DYNAMICS + "orbit_continuation", DYNAMICS + "orbit_curve"
TESTS = "tests/test_orbit_continuation.py::test_"
LEAVE = (TESTS + "cycles_leave_a_hopf_point_and_turn_at_their_fold",)
END = (TESTS + "a_branch_of_cycles_ends_at_the_equilibrium_where_it_began",)
RANGES = (TESTS + "orbits_of_a_branch_have_the_range_of_a_turning_point",)
TIMES = (TESTS + "segments_of_a_forced_orbit_have_their_own_times",)
GAPS = (TESTS + "derivatives_of_the_gaps_are_those_of_differences",)
TWICE = ("tests/test_forced_orbits.py::test_a_doubled_orbit_of_a_forced_flow_has_twice_its_period",)
PRODUCT = (TESTS + "multipliers_are_those_of_the_product_of_all_segments",)
SHRUNK = (TESTS + "orbits_end_where_they_are_too_long_or_have_shrunk_to_an_equilibrium",)
CANARD = (TESTS + "the_canard_explosion_of_a_nerve_passes_its_fold",)
BAD = (TESTS + "bad_input_is_one_sentence",)

MUTANTS = (
    Mutant("workbench orbit curves: equations of unstable segments are as large as these stretch vectors",
           "analysis.dynamics.orbit_curve", "np.maximum(1.0, np.linalg.norm(matrix, axis=1, keepdims=True))", "1.0",
           tests=("tests/test_orbit_continuation.py::"
                  "test_the_tangent_at_an_orbit_with_a_large_multiplier_is_that_of_its_branch",)),
    Mutant("workbench orbit curves: where several multipliers cross one direction is looked in", ALONG,
           "if len(across) > 1 and not doubled:", "if False:",
           tests=(TESTS + "all_branches_leave_a_cycle_at_which_two_multipliers_cross",)),
    Mutant("workbench orbit curves: gaps are those to the node itself", CURVE,
           "gaps = ends - np.roll(nodes, -1, axis=0)", "gaps = ends - nodes", tests=LEAVE),
    Mutant("workbench orbit curves: a gap grows with the next node", CURVE,
           "(after + 1) * d] -= np.eye(d)", "(after + 1) * d] += np.eye(d)", tests=GAPS),
    Mutant("workbench orbit curves: derivatives of segments are transposed", CURVE,
           "left @ maps[k] @ blocks[k]", "left @ maps[k].T @ blocks[k]", tests=GAPS),
    Mutant("workbench orbit curves: the period moves each segment as a whole", CURVE,
           "J[rows, -1] = left @ speeds[k] / m", "J[rows, -1] = left @ speeds[k]", tests=GAPS),
    Mutant("workbench orbit curves: the period of a forcing does not move with the parameter", CURVE,
           "maps[:, :, -1] + np.asarray(later) * slope / m", "maps[:, :, -1]", tests=GAPS),
    Mutant("workbench orbit curves: the parameter moves a segment by its period only", CURVE,
           "maps[:, :, -1] + np.asarray(later) * slope / m", "np.asarray(later) * slope / m", tests=GAPS),
    Mutant("workbench orbit curves: the condition of phase is that of the first node", CURVE,
           "J[-1, after * d : (after + 1) * d] = left @ speeds[k]", "J[-1, :d] = left @ speeds[k]", tests=GAPS),
    Mutant("workbench orbit curves: the condition of phase belongs to the node before", CURVE,
           "J[-1, after * d : (after + 1) * d] = left @ speeds[k]",
           "J[-1, k * d : (k + 1) * d] = left @ speeds[k]", tests=GAPS),
    Mutant("workbench orbit curves: the period of a forced orbit is free", CURVE,
           "np.ones((1, 0 if self.forced else 1))", "np.ones((1, 1))", tests=GAPS),
    Mutant("workbench orbit curves: forced orbits keep the period that they had", CURVE,
           "period, slope = (float(x) for x in self._forced_period(jnp.asarray(parameter, float)))",
           "slope = float(self._forced_period(jnp.asarray(parameter, float))[1])", tests=GAPS),
    Mutant("workbench orbit curves: the parameter moves with the flow", CURVE,
           "jnp.zeros_like(state.parameter))", "jnp.ones_like(state.parameter))", tests=LEAVE),
    Mutant("workbench orbit curves: the product of the segments has the other order", CURVE,
           "monodromy = block @ monodromy", "monodromy = monodromy @ block", tests=PRODUCT),
    Mutant("workbench orbit curves: one segment is taken as one of several", CURVE,
           "(np.eye(d) if m == 1 else 0.0)", "(0.0 * np.eye(d) if m == 1 else 0.0)", tests=PRODUCT),
    Mutant("workbench orbit curves: the direction along the flow is kept", CURVE,
           "np.linalg.svd(along[None])[2][1:].T", "np.linalg.svd(along[None])[2][:1].T", tests=PRODUCT),
    Mutant("workbench orbit curves: multipliers are sorted by increasing modulus", CURVE,
           'values[np.argsort(-np.abs(values), kind="stable")]', 'values[np.argsort(np.abs(values), kind="stable")]',
           tests=PRODUCT),
    Mutant("workbench orbit curves: multipliers grow where their real part is above one", CURVE,
           "return np.abs(values) - 1", "return np.real(values) - 1", tests=PRODUCT),
    Mutant("workbench orbit curves: no period is too long", CURVE,
           "if float(cycle.period) > self.longest:", "if False:", tests=SHRUNK),
    Mutant("workbench orbit curves: rounding of a Hopf point has a phase", CURVE,
           "through = begun and ", "through = ", tests=SHRUNK),
    Mutant("workbench orbit curves: an orbit that goes through size zero goes on", CURVE,
           "float(np.sum(away[0] * away[1])) < 0", "False", tests=SHRUNK),
    Mutant("workbench orbit curves: an equilibrium counts as a small orbit", CURVE,
           '"equilibrium" if through or small else ""', '"equilibrium" if through else ""', tests=SHRUNK),
    Mutant("workbench orbit curves: sizes are not relative to the states", CURVE,
           "< SMALL * (1 + float(np.max(np.abs(nodes[1]))))", "< SMALL", tests=SHRUNK),
    Mutant("workbench orbit curves: orbits of the size 1e-3 are equilibria", CURVE,
           "SMALL = 1e-4", "SMALL = 1e-3", tests=SHRUNK),
    Mutant("workbench orbit curves: orbits at a Hopf point turn the other way", ALONG,
           "np.abs(values - 1j * at.frequency)", "np.abs(values + 1j * at.frequency)", tests=LEAVE),
    Mutant("workbench orbit curves: nodes at a Hopf point are all at one phase", ALONG,
           "np.arange(curve.segments) / curve.segments)", "np.zeros(curve.segments))", tests=LEAVE),
    Mutant("workbench orbit curves: a Hopf point has the period of one radian", ALONG,
           "(curve.segments, 1)), 2 * np.pi / at.frequency)", "(curve.segments, 1)), 1 / at.frequency)", tests=LEAVE),
    Mutant("workbench orbit curves: multipliers at a Hopf point are exponents", ALONG,
           "multipliers = np.exp(2 * np.pi / at.frequency * np.delete(values, which))",
           "multipliers = np.delete(values, which)", tests=LEAVE),
    Mutant("workbench orbit curves: orbits leave folds, too", ALONG,
           'if at.kind != "Hopf point":', "if False:", tests=BAD),
    Mutant("workbench orbit curves: two segments are enough at a Hopf point", ALONG,
           'integer("segments", segments, least=3)', 'integer("segments", segments, least=2)', tests=BAD),
    Mutant("workbench orbit curves: doubled orbits have the period of the single ones", ALONG,
           "np.asarray(repeats * float(cycle.period))", "np.asarray(float(cycle.period))",
           equivalent="the period of a forced orbit is that of its forcing, and Newton's method finds that of others"),
    Mutant("workbench orbit curves: the forcing of a doubled orbit has one period", ALONG,
           "(lambda flow: 2 * forcing(flow))", "(lambda flow: forcing(flow))", tests=TWICE),
    Mutant("workbench orbit curves: doubled orbits have as many nodes as single ones", ALONG,
           "repeats = 2 if doubled else 1", "repeats = 1", tests=TWICE),
    Mutant("workbench orbit curves: doubled orbits leave along the known branch", ALONG,
           "ways = [sign * across[0] for", "ways = [sign * along for", tests=TWICE),
    Mutant("workbench orbit curves: doubled orbits leave in both directions", ALONG,
           "for sign in ((1,) if doubled else (1, -1))]", "for sign in (1, -1)]", tests=TWICE),
    Mutant("workbench orbit curves: ranges are those of the first component", ALONG,
           "(states)[:, component]", "(states)[:, 0]", tests=RANGES),
    Mutant("workbench orbit curves: all segments begin at time 0", ALONG,
           "duration * (shares + before)", "duration * shares", tests=TIMES),
    Mutant("workbench orbit curves: ranges have the largest value first", ALONG,
           "jnp.stack([jnp.min(values), jnp.max(values)])", "jnp.stack([jnp.max(values), jnp.min(values)])",
           tests=RANGES),
    Mutant("workbench orbit curves: an orbit of a branch is found at the flow's own parameter", ALONG,
           "moved = with_parameter(where, flow, jnp.asarray(cycles.parameters[point]))\n", "moved = flow\n", tests=END),
    Mutant("workbench orbit curves: a fold with hardly a slope is a branch point", DYNAMICS + "branches",
           'name = "branch point" if crossed else "fold"', 'name = "branch point"', tests=CANARD),
)  # fmt: skip
