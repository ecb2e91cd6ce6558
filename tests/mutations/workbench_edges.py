"""Errors in chaotic edge states and in forced and doubled orbits, and the tests that notice them."""

from tests.mutants import Mutant

EDGE, EXPONENTS = "analysis.dynamics.edge_tracking", "analysis.dynamics.edge_exponents"
ORBITS, CURVE = "analysis.dynamics.orbit_continuation", "analysis.dynamics.orbit_curve"
TESTS = "tests/test_chaotic_edges.py::test_"
LABELLED = (TESTS + "a_chaotic_edge_is_labelled_with_its_exponents_and_its_spread",)
BEYOND = (TESTS + "a_boundary_is_looked_for_beyond_a_pair_that_has_come_to_one_side",)
ACROSS = (TESTS + "the_direction_across_leads_from_one_basin_to_the_other",)
PASSED = (TESTS + "an_orbit_that_the_trajectory_passes_is_not_its_limit",)
BESIDE = (TESTS + "an_orbit_beside_which_the_boundary_goes_on_is_not_the_edge_state",)
DOUBT = (TESTS + "an_edge_that_is_not_chaotic_beyond_doubt_is_refused_with_its_exponents",)
DOUBLED = ("tests/test_forced_orbits.py::test_a_doubled_orbit_of_a_forced_flow_has_twice_its_period",)
FORCED = ("tests/test_forced_orbits.py::test_a_forced_orbit_keeps_its_period_and_has_its_multipliers",)
APART = (TESTS + "near_states_move_apart_at_the_rate_of_the_map",)
CANTOR = (TESTS + "a_cantor_set_between_two_basins_is_chaotic_with_one_growing_direction",)
ALONG = (TESTS + "exponents_along_states_are_those_of_the_derivatives",)

MUTANTS = (
    Mutant("workbench edges: one positive exponent is chaos", EXPONENTS,
           "return self.positive >= 2 or", "return self.positive >= 1 or", tests=DOUBT),
    Mutant("workbench edges: states that move apart are chaos without a positive exponent", EXPONENTS,
           "(self.positive == 1 and", "(self.positive < 2 and", tests=DOUBT),
    Mutant("workbench edges: any rate at which states move apart is chaos", EXPONENTS,
           "PART = 0.5", "PART = 0.0", tests=DOUBT),
    Mutant("workbench edges: a rate counts whatever its error", EXPONENTS,
           "rate - SURE * error >", "rate >", tests=DOUBT),
    Mutant("workbench edges: pairs are near whatever the gap", EXPONENTS,
           "away[away < NEAR_BY[0] * gap] = np.inf", "away[away == 0] = np.inf", tests=APART),
    Mutant("workbench edges: pairs are near whatever their distance", EXPONENTS,
           "if away[other] <= NEAR_BY[1]:", "if other >= 0:", tests=APART),
    Mutant("workbench edges: neighbours in time are pairs", EXPONENTS,
           "LATER = 8", "LATER = 1", tests=APART),
    Mutant("workbench edges: rates are those of an interval", EXPONENTS,
           "/ before) / interval", "/ before)", tests=APART),
    Mutant("workbench edges: distances have no units", EXPONENTS,
           "features / extent, [], []", "features, [], []", tests=APART),
    Mutant("workbench edges: two pairs are enough", EXPONENTS,
           "PAIRS = 64", "PAIRS = 8", tests=APART),
    Mutant("workbench edges: the rate is never found", EDGE,
           "rate = divergence(", "rate = (float('nan'),) * 2 or divergence(", tests=CANTOR),
    Mutant("workbench edges: the direction across is that from the other side", EDGE,
           "(right, left), (one, other)", "(left, right), (one, other)", tests=ACROSS),
    Mutant("workbench edges: a boundary is looked for between the pair only", EDGE,
           "WIDER = (0.0, 1.0, 10.0, 100.0)", "WIDER = (0.0,)", tests=BEYOND),
    Mutant("workbench edges: an orbit that is passed is the limit", EDGE,
           "return limit if np.max(near) <= NEAR else None", "return limit if np.min(near) <= NEAR else None",
           tests=PASSED),
    Mutant("workbench edges: an orbit of a chaotic set is the edge state", EDGE,
           "side != NOT_SETTLED]).size > 1", "side != NOT_SETTLED]).size > 2", tests=BESIDE),
    Mutant("workbench edges: what has not settled is another side", EDGE,
           "np.unique(side[side != NOT_SETTLED]).size", "np.unique(side).size", tests=BESIDE),
    Mutant("workbench edges: the first of several changes is bracketed", EDGE,
           "change = min(changes, key=lambda k: abs(2 * k - FEW))", "change = changes[0]",
           tests=(TESTS + "of_several_changes_on_a_segment_the_middle_one_is_bracketed",)),
    Mutant("workbench edges: sides that are known are asked for again", "analysis.dynamics.basin_boundary",
           "outcomes([low, high]) if at_ends is None else at_ends", "outcomes([low, high])",
           tests=(TESTS + "outcomes_that_are_known_at_the_ends_are_not_asked_for_again",)),
    Mutant("workbench edges: the spread is that of the whole track", EDGE,
           "late = track[len(track) // 2 :]", "late = track", tests=LABELLED),
    Mutant("workbench edges: exponents are those of one frame without rotation", EXPONENTS,
           "return Q, jnp.log", "return V, jnp.log", tests=LABELLED),
    Mutant("workbench edges: the first states count", EXPONENTS,
           "rates[len(rates) // 4 :]", "rates", tests=ALONG),
    Mutant("workbench edges: every interval begins at time 0", EXPONENTS,
           "begins = (begun + np.arange(len(states)))", "begins = (0 * begun + 0 * np.arange(len(states)))",
           tests=ALONG),
    Mutant("workbench edges: an exponent is positive if it is above zero", EXPONENTS,
           "SURE = 3.0", "SURE = 0.0", tests=DOUBT),
    Mutant("workbench doublings: a doubled orbit keeps the period of the forcing", ORBITS,
           "period = forcing if forcing is None or not doubled else (lambda flow: 2 * forcing(flow))",
           "period = forcing", tests=DOUBLED),
    Mutant("workbench doublings: a forced orbit has a trivial multiplier", CURVE,
           "if not self.forced:\n            along = J", "if len(monodromy) > 1:\n            along = J", tests=FORCED),
)  # fmt: skip
