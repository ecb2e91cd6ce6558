"""Errors in where bifurcations are located and how curves are stepped along, and the tests that notice them."""

from tests.mutants import Mutant

BETWEEN, CURVES, FOLLOWING = (f"analysis.dynamics.{name}" for name in ("between", "curves", "following"))
BRANCHES, ORBITS, DECIMALS = "analysis.dynamics.branches", "analysis.dynamics.orbit_curve", "dynsim.decimals"
ENDS = "tests/test_ends_of_orbits.py::test_"
LOCATED = "tests/test_located_bifurcations.py::test_"
EXACT = (LOCATED + "a_branch_point_is_exact_whatever_the_step",)
CROSSING = (LOCATED + "a_step_does_not_lead_to_a_branch_that_crosses",)

TOUCHED = ("tests/test_continuation.py::test_branches_that_cross_where_an_eigenvalue_touches_zero_are_found",)

SQUARE = ("tests/test_continuation.py::test_all_branches_leave_a_point_with_the_symmetry_of_a_square",)
TOKENS = ("tests/test_continuation.py::test_a_cluster_of_four_tokens_splits_in_all_ways",)
IMPERFECT = (LOCATED + "an_imperfect_pitchfork_is_no_branch_point_whatever_the_step",)
TETRAHEDRON = ("tests/test_continuation.py::test_all_branches_leave_points_with_other_symmetries",)

MUTANTS = (
    Mutant("located: a branch point is that of the least singular correction", BETWEEN,
           "return found if found is not None and abs(test(found[0])) <= NEARLY else (point, share)",
           "return point, share",
           tests=(LOCATED + "a_branch_whose_parameter_vanishes_has_no_bifurcations_of_rounding",)),
    Mutant("located: where an eigenvalue touches zero it is only least", BETWEEN,
           "    if found is not None and abs(test(found[0])) <= NEARLY:", "    if False:",
           tests=(LOCATED + "a_branch_point_where_an_eigenvalue_touches_zero_is_exact",)),
    Mutant("located: a slope of rounding has a sign", BRANCHES,
           "if abs(s) > curve.vertical else 0.0", "if abs(s) >= 0 else 0.0",
           tests=(LOCATED + "a_branch_whose_parameter_vanishes_has_no_bifurcations_of_rounding",)),
    Mutant("located: a parameter has the rounding of one", CURVES,
           "by_parameter * abs(parameter)", "by_parameter * (1 + abs(parameter))",
           tests=(LOCATED + "a_branch_whose_parameter_vanishes_has_no_bifurcations_of_rounding",)),
    Mutant("located: the parameter that is fixed is rounded", CURVES,
           "change[-1] *= np.any(direction[:-1])", "change[-1] *= 1",
           tests=(LOCATED + "a_start_on_a_bound_is_in_bounds",)),
    Mutant("located: steps may be as small as the error of points", FOLLOWING,
           "        if size <= error:", "        if size <= 0:",
           tests=(LOCATED + "steps_below_the_error_of_points_are_refused",)),
    Mutant("leaving: only a basis of the null space is tried", "analysis.dynamics.leaving",
           "    while True:\n", "    while False:\n", tests=SQUARE),
    Mutant("leaving: every start leads to a new direction", "analysis.dynamics.leaving",
           "< np.cos(SAME) for other in known)", "<= 1 for other in known)", tests=SQUARE),
    Mutant("leaving: steps towards solutions have any length", "analysis.dynamics.leaving",
           "BOUND = 0.3", "BOUND = 1e9", tests=TOKENS),
    Mutant("located: one eigenvalue crosses at every branch point", BRANCHES,
           "count = len(curve.crossing(point, away)[1]) if", "count = 1 if", tests=TETRAHEDRON),
    Mutant("located: eigenvalues that touch zero are not looked at", "analysis.dynamics.branches",
           "found += _touching(curve,", "_touching(curve,", tests=TOUCHED),
    Mutant("located: near zero is zero", "analysis.dynamics.branches",
           "if abs(curve.least_singular(point)) > ZERO:", "if False:", tests=TOUCHED),
    Mutant("located: where an eigenvalue touches zero, others leave across", "analysis.dynamics.continuation",
           "touches=at.multiplicity == 0", "touches=False", tests=TOUCHED),
    Mutant("located: where an eigenvalue touches zero, others leave on one side", "analysis.dynamics.between",
           "for sign in (1, -1)] if touches", "for sign in (1, 1)] if touches", tests=TOUCHED),
    Mutant("located: an eigenvalue that touches zero is a branch point", "analysis.dynamics.branches",
           "if all(next(departures(curve, point, along, way, size), None) is None for way in ways):", "if False:",
           tests=("tests/test_continuation.py::test_eigenvalues_that_touch_zero_are_no_bifurcations",)),
    Mutant("located: points are predicted from both ends of the step", BETWEEN,
           "max(s for s in self.points if s < share), min(s for s in self.points if s > share)",
           "0.0, 1.0", tests=EXACT + CROSSING),
    Mutant("located: points have the error of corrections", BETWEEN,
           "curve.polished(found, across))[0]", "found)[0]", tests=EXACT + CROSSING),
    Mutant("located: where curves cross, the tangent is any", CURVES,
           "if len(rows) > 1 and direction is not None:", "if False:", tests=EXACT),
    Mutant("located: steps with a kink are taken", FOLLOWING,
           "return (known and has_kink(curve, *three)) or passes_by(curve, *three[1:])", "return False",
           tests=CROSSING),
    Mutant("located: branches that pass each other cross", FOLLOWING,
           " or passes_by(curve, *three[1:])", "", tests=IMPERFECT),
    Mutant("located: small steps have no kink", FOLLOWING,
           "CERTAIN = 1e-5", "CERTAIN = 1e-3", tests=IMPERFECT),
    Mutant("located: Newton steps that do not contract are trusted", FOLLOWING,
           "three[2].contraction > CONTRACTION", "three[2].contraction > 1e9", tests=CROSSING),
    Mutant("ends: vertical branches have folds", BRANCHES,
           "return made._replace(bifurcations=real) if made.vertical else made", "return made",
           tests=(ENDS + "a_family_of_equilibria_is_vertical_and_crossed_by_a_branch",)),
    Mutant("ends: no orbit is confirmed by a stricter solver", FOLLOWING,
           "curve.ends_at(here, found) or curve.unresolved(found)", "curve.ends_at(here, found)",
           tests=(ENDS + "orbits_end_beside_a_homoclinic_orbit_at_its_parameter",)),
    Mutant("ends: a homoclinic orbit is one of little accuracy", ORBITS,
           "np.min(sizes) < SLOW * np.max(sizes)", "np.min(sizes) > SLOW * np.max(sizes)",
           tests=(ENDS + "orbits_end_beside_a_homoclinic_orbit_at_its_parameter",)),
    Mutant("decimals: rounding is absolute", DECIMALS,
           "<= ROUNDING * abs(size)", "<= ROUNDING",
           tests=(ENDS + "a_number_that_is_zero_within_its_error_is_printed_as_zero",)),
    Mutant("exponents: rounding is a stretch", "analysis.dynamics.lyapunov",
           "resolved &= _resolved(*pair)", "pass",
           tests=("tests/test_lyapunov.py::test_exponents_of_superstable_orbits_are_bounds",)),
    Mutant("exponents: every tiny stretch is rounding", "analysis.dynamics.lyapunov",
           "& ~(apart < SAME) & ~(logs == moved)", "",
           tests=("tests/test_lyapunov.py::test_exponents_of_superstable_orbits_are_bounds",
                  "tests/test_lyapunov.py::test_a_stretch_that_is_small_but_certain_is_no_rounding",)),
    Mutant("forms: every coefficient that is unknown is beyond reach", BRANCHES,
           "or largest <= REACH:", "or largest <= 0:",
           tests=(ENDS + "a_coefficient_that_is_not_computed_has_its_reason",)),
    Mutant("located: a small closed branch is followed for three first steps", FOLLOWING,
           "if length > 3 * size and", "if length > 3 * step and",
           tests=(LOCATED + "a_small_closed_branch_is_followed_once",)),
    Mutant("located: eigenvalues are of the size one", BRANCHES,
           "real = curve.double * max(", "real = 1e-4 + 0 * max(",
           tests=(LOCATED + "a_slow_pair_of_eigenvalues_is_a_hopf_point",)),
)  # fmt: skip
