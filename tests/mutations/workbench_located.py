"""Errors in where bifurcations are located and how curves are stepped along, and the tests that notice them."""

from tests.mutants import Mutant

BETWEEN, CURVES, FOLLOWING = (f"analysis.dynamics.{name}" for name in ("between", "curves", "following"))
BRANCHES, ORBITS, DECIMALS = "analysis.dynamics.branches", "analysis.dynamics.orbit_curve", "dynsim.decimals"
ENDS = "tests/test_ends_of_orbits.py::test_"
LOCATED = "tests/test_located_bifurcations.py::test_"
EXACT = (LOCATED + "a_branch_point_is_exact_whatever_the_step",)
CROSSING = (LOCATED + "a_step_does_not_lead_to_a_branch_that_crosses",)

TOUCHED = ("tests/test_continuation.py::test_branches_that_cross_where_an_eigenvalue_touches_zero_are_found",)

MUTANTS = (
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
           "low, high = max(s for s in points if s < share), min(s for s in points if s > share)",
           "low, high = 0.0, 1.0", tests=EXACT + CROSSING),
    Mutant("located: points have the error of corrections", BETWEEN,
           "curve.polished(found, across))[0]", "found)[0]", tests=EXACT + CROSSING),
    Mutant("located: where curves cross, the tangent is any", CURVES,
           "if len(rows) > 1 and direction is not None:", "if False:", tests=EXACT),
    Mutant("located: steps with a kink are taken", FOLLOWING,
           "or (known and has_kink(curve, before, here, found))", "", tests=CROSSING),
    Mutant("located: Newton steps that do not contract are trusted", FOLLOWING,
           "return found.contraction > CONTRACTION", "return found.contraction > 1e9", tests=CROSSING),
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
