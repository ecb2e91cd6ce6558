"""Errors in equilibria and their curves, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
ALL, EQUILIBRIA = DYNAMICS + "all_equilibria", DYNAMICS + "equilibria"
CURVES, BRANCHES, POINTS = DYNAMICS + "curves", DYNAMICS + "branches", DYNAMICS + "equilibrium_curve"
SEARCH = "tests/test_all_equilibria.py::test_"
DRIVEN = (SEARCH + "known_equilibria_drive_starts_to_others",)
FAMILY = (SEARCH + "a_direction_without_pull_that_no_symmetry_explains_is_a_family",)
ONCE = ("tests/test_equilibria.py::test_a_degenerate_equilibrium_is_found_once",)
CROSS = (SEARCH + "families_that_cross_or_have_other_spectra_are_each_one",)
BRANCH = "tests/test_continuation.py::test_"
CIRCLE = (BRANCH + "a_pair_of_multipliers_leaves_the_unit_circle_at_its_angle",)
FOLDS = (BRANCH + "a_branch_passes_the_folds_of_the_double_well",)
AGAIN = (BRANCH + "a_bifurcation_before_the_second_point_is_found_and_that_of_the_start_is_not_found_again",)
SEARCHED = "first = int(ends[0] in BEGINNINGS)"

MUTANTS = (
    Mutant("workbench equilibria: known ones do not drive starts away", EQUILIBRIA,
           "jnp.where(there, jnp.log1p(1 / (away + 1e-300)), 0.0)", "jnp.zeros(there.shape)", tests=DRIVEN),
    Mutant("workbench equilibria: places that are empty drive starts away", EQUILIBRIA,
           "jnp.where(there, jnp.log1p(1 / (away + 1e-300)), 0.0)", "jnp.log1p(1 / (away + 1e-300))", tests=DRIVEN),
    Mutant("workbench equilibria: what is flat between is not looked at", EQUILIBRIA,
           "if same or is_flat_between(scaled, x, known, float(scale), when):", "if same:", tests=ONCE),
    Mutant("workbench equilibria: near ones are one whatever the speed between", EQUILIBRIA,
           "return max(max_speed(flow, y, t) for y in between) <=", "return 0 <=", tests=ONCE),
    Mutant("workbench equilibria: a search does not look at what is flat between", ALL,
           "if same or any(is_flat_between(self.flow, y, state, self.scale) for y in moved):", "if same:", tests=ONCE),
    Mutant("workbench equilibria: members of all families are those of the first", ALL,
           "or jnp.linalg.norm(there - before) > 3 * apart:", "or False:", tests=CROSS),
    Mutant("workbench equilibria: each point of a family is one", ALL,
           "self.counts[known] += 1\n            return", "self.counts[known] += 1", tests=CROSS),
    Mutant("workbench equilibria: symmetries do not explain families", ALL,
           "symmetries=self.symmetries).num_symmetries:\n            return False",
           "symmetries=()).num_symmetries:\n            return False", tests=FAMILY),
    Mutant("workbench equilibria: no direction leads on", ALL,
           "return any(leads_on(", "return all(not leads_on(", tests=FAMILY),
    Mutant("workbench curves: a pair of multipliers is a period doubling", POINTS,
           'return "Neimark-Sacker point"', 'return "period doubling"', tests=CIRCLE),
    Mutant("workbench curves: the angle of a pair is its imaginary part", BRANCHES,
           "float(abs(np.angle(critical / modulus)))", "float(abs(critical.imag))", tests=CIRCLE),
    Mutant("workbench curves: multipliers are less by one", POINTS,
           "found = super().spectrum(state, parameter, J, orbit) + 1",
           "found = super().spectrum(state, parameter, J, orbit)",
           tests=CIRCLE),
    Mutant("workbench curves: steps are small in wide bounds", DYNAMICS + "following",
           "max(4 * size, WIDE * (high - low) / unit)", "4 * size",
           tests=(BRANCH + "steps_become_as_large_as_a_share_of_wide_bounds",)),
    Mutant("workbench curves: the direction is kept at a fold", CURVES,
           "return (end if cosine >= 0 else end._replace(tangent=-end.tangent)), abs(cosine)",
           "return end, abs(cosine)", tests=FOLDS),
    Mutant("workbench curves: a fold is a branch point", BRANCHES,
           'enumerate(("fold", "branch point"))', 'enumerate(("branch point", "fold"))', tests=FOLDS),
    Mutant("workbench curves: a branch is searched from its first point on even if that is a branch point", BRANCHES,
           SEARCHED, "first = 0", tests=AGAIN),
    Mutant("workbench curves: every branch is searched from its second point on", BRANCHES,
           SEARCHED, "first = 1", tests=AGAIN),
)  # fmt: skip
