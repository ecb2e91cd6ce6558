"""Errors in equilibria, their certificates and their curves, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
BALLS, CERTIFIED = DYNAMICS + "ball_arithmetic", DYNAMICS + "certified_equilibria"
ALL, EQUILIBRIA = DYNAMICS + "all_equilibria", DYNAMICS + "equilibria"
CURVES, BRANCHES, POINTS = DYNAMICS + "curves", DYNAMICS + "branches", DYNAMICS + "equilibrium_curve"
PROOFS = "tests/test_certified_equilibria.py::test_"
ENCLOSED = (PROOFS + "every_operation_is_enclosed_on_a_box_and_exact_at_a_point",)
ALONE = (PROOFS + "an_equilibrium_is_alone_only_where_the_derivative_has_one_sign",)
MULTIPLIERS = (PROOFS + "periodic_points_have_the_type_of_their_multiplier",)
EDGE = (PROOFS + "what_lies_on_the_boundary_of_a_box_is_undecided_and_what_lies_outside_is_left_out",)
SPHERE = (PROOFS + "on_the_sphere_an_equilibrium_is_certified_in_ambient_coordinates",)
SEARCH = "tests/test_all_equilibria.py::test_"
DRIVEN = (SEARCH + "known_equilibria_drive_starts_to_others",)
FAMILY = (SEARCH + "a_direction_without_pull_that_no_symmetry_explains_is_a_family",)
BRANCH = "tests/test_continuation.py::test_"
CIRCLE = (BRANCH + "a_pair_of_multipliers_leaves_the_unit_circle_at_its_angle",)
FOLDS = (BRANCH + "a_branch_passes_the_folds_of_the_double_well",)

MUTANTS = (
    Mutant("workbench balls: an even power is that of the ends", BALLS,
           "if exponent % 2 == 0 else", "if exponent == 0 else", tests=ENCLOSED),
    Mutant("workbench balls: an absolute value is that of the upper end", BALLS,
           "return a.abs_lower().union(a.abs_upper())", "return a.abs_upper()", tests=ENCLOSED),
    Mutant("workbench balls: a maximum is the middle one's", BALLS,
           '"max": lambda a, b: a.max(b)', '"max": lambda a, b: a if a.mid() > b.mid() else b', tests=ENCLOSED),
    Mutant("workbench balls: a condition that is open takes the first case", BALLS,
           "else cases[0].union(cases[1])", "else cases[0]", tests=ENCLOSED),
    Mutant("workbench balls: a comparison that is open is true", BALLS,
           "return yes if yes != no else ball(0.5, 0.5)", "return yes if yes != no else True", tests=ENCLOSED),
    Mutant("workbench balls: a sign that is open is positive", BALLS,
           "ball(1.0 if yes else -1.0) if yes != no else ball(0.0, 1.0)",
           "ball(1.0 if yes else -1.0) if yes != no else ball(1.0)", tests=ENCLOSED),
    Mutant("workbench balls: the logarithm of one plus a number is that of the number", BALLS,
           '"log1p": lambda a: a.log1p()', '"log1p": lambda a: a.log()', tests=ENCLOSED),
    Mutant("workbench balls: or is and", BALLS,
           '"or": lambda a, b: _not(_both(_not(a), _not(b))), "not"', '"or": lambda a, b: _both(a, b), "not"',
           tests=ENCLOSED),
    Mutant("workbench balls: a least entry is a largest one", BALLS,
           '"reduce_min": lambda a, b: a.min(b)', '"reduce_min": lambda a, b: a.max(b)', tests=ENCLOSED),
    Mutant("workbench proofs: the derivative is that at the middle of the box", CERTIFIED,
           "J, values = self.exact.jacobian(X), self.exact(point)",
           "J, values = self.exact.jacobian(point), self.exact(point)", tests=ALONE),
    Mutant("workbench proofs: the operator leaves out the width of the box", CERTIFIED,
           "return X, point - C.dot(values) + rest.dot(X - point)", "return X, point - C.dot(values)", tests=ALONE),
    Mutant("workbench proofs: the multiplier of a map is its distance from one", CERTIFIED,
           "dtype=object) if self.is_map else 0))", "dtype=object) if not self.is_map else 0))", tests=MULTIPLIERS),
    Mutant("workbench proofs: of a multiplier the real part counts", CERTIFIED,
           "abs(v) - 1 if self.is_map", "v.real - 1 if self.is_map", tests=MULTIPLIERS),
    Mutant("workbench proofs: normal directions of a sphere have to grow too", CERTIFIED,
           "if grow == len(growth) - self.normals", "if grow == len(growth)", tests=SPHERE),
    Mutant("workbench proofs: what lies on the boundary is inside", CERTIFIED,
           "if np.all(low >= self.sides[0]) and np.all(high <= self.sides[1]):",
           "if np.all(high >= self.sides[0]) and np.all(low <= self.sides[1]):", tests=EDGE),
    Mutant("workbench proofs: what lies outside is on the boundary", CERTIFIED,
           'return "outside" if np.any(high', 'return "boundary" if np.any(high', tests=EDGE),
    Mutant("workbench equilibria: known ones do not drive starts away", EQUILIBRIA,
           "jnp.where(there, 1 + 1 / (away + 1e-300), 1.0)", "jnp.where(there, 1.0, 1.0)", tests=DRIVEN),
    Mutant("workbench equilibria: places that are empty drive starts away", EQUILIBRIA,
           "jnp.where(there, 1 + 1 / (away + 1e-300), 1.0)", "(1 + 1 / (away + 1e-300))", tests=DRIVEN),
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
    Mutant("workbench curves: the direction is kept at a fold", CURVES,
           "return (end if cosine >= 0 else end._replace(tangent=-end.tangent)), abs(cosine)",
           "return end, abs(cosine)", tests=FOLDS),
    Mutant("workbench curves: a fold is a branch point", BRANCHES,
           'enumerate(("fold", "branch point"))', 'enumerate(("branch point", "fold"))', tests=FOLDS),
)  # fmt: skip
