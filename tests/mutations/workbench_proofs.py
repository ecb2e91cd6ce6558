"""Errors in ball arithmetic and in what it certifies, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
OPERATIONS, BALLS = DYNAMICS + "ball_operations", DYNAMICS + "ball_arithmetic"
CERTIFIED, STEPS = DYNAMICS + "certified_equilibria", DYNAMICS + "taylor_steps"
EQUATIONS, ORBITS = DYNAMICS + "orbit_equations", DYNAMICS + "certified_orbits"
PROOFS = "tests/test_certified_equilibria.py::test_"
ENCLOSED = (PROOFS + "every_operation_is_enclosed_on_a_box_and_exact_at_a_point",)
ALONE = (PROOFS + "an_equilibrium_is_alone_only_where_the_derivative_has_one_sign",)
MULTIPLIERS = (PROOFS + "periodic_points_have_the_type_of_their_multiplier",)
EDGE = (PROOFS + "what_lies_on_the_boundary_of_a_box_is_undecided_and_what_lies_outside_is_left_out",)
SPHERE = (PROOFS + "on_the_sphere_an_equilibrium_is_certified_in_ambient_coordinates",)
ORBIT = "tests/test_certified_orbits.py::test_"
STEP = (ORBIT + "a_step_encloses_the_solution_and_its_derivative",)
CIRCLE = (ORBIT + "a_circle_has_its_period_and_multiplier_and_twice_around_is_not_the_least_period",)
FORCED = (ORBIT + "a_forced_orbit_keeps_the_period_of_the_forcing",)
TURN = (ORBIT + "a_rotation_is_certified_on_the_circle",)
UNIT = (ORBIT + "a_multiplier_on_the_unit_circle_is_undecided",)
REFUSED = (ORBIT + "what_cannot_be_certified_is_said_in_a_sentence",)
SERIES = (ORBIT + "series_of_every_operation_are_those_of_the_function",)

MUTANTS = (
    Mutant("workbench balls: an even power is that of the ends", OPERATIONS,
           "if exponent % 2 == 0 else", "if exponent == 0 else", tests=ENCLOSED),
    Mutant("workbench balls: an absolute value is that of the upper end", OPERATIONS,
           "return a.abs_lower().union(a.abs_upper())", "return a.abs_upper()", tests=ENCLOSED),
    Mutant("workbench balls: a maximum is the middle one's", OPERATIONS,
           "return a.max(b)", "return a if a.mid() > b.mid() else b", tests=ENCLOSED),
    Mutant("workbench balls: a condition that is open takes the first case", OPERATIONS,
           "return _as_ball(cases[0]).union(_as_ball(cases[1]))", "return _as_ball(cases[0])", tests=ENCLOSED),
    Mutant("workbench balls: a comparison that is open is true", OPERATIONS,
           "return yes if yes != no else ball(0.5, 0.5)", "return yes if yes != no else True", tests=ENCLOSED),
    Mutant("workbench balls: a sign that is open is positive", OPERATIONS,
           "ball(1.0 if yes else -1.0) if yes != no else ball(0.0, 1.0)",
           "ball(1.0 if yes else -1.0) if yes != no else ball(1.0)", tests=ENCLOSED),
    Mutant("workbench balls: the logarithm of one plus a number is that of the number", OPERATIONS,
           "else a.log1p()", "else a.log()", tests=ENCLOSED),
    Mutant("workbench balls: or is and", OPERATIONS,
           "return _not(_both(_not(a), _not(b)))", "return _both(a, b)",
           tests=ENCLOSED),
    Mutant("workbench balls: a least entry is a largest one", OPERATIONS,
           '"reduce_min": "min"', '"reduce_min": "max"', tests=ENCLOSED),
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
    Mutant("workbench balls: products with zero are kept out of values, too", BALLS,
           "((fn, False), (jax.jacfwd(fn), True))", "((fn, True), (jax.jacfwd(fn), True))",
           tests=(PROOFS + "a_product_with_zero_keeps_the_domain_of_the_other_factor",)),
    Mutant("workbench balls: a scan goes on from its first carry", BALLS,
           "        carry = found[:carried]\n", "        carry = carry if passes else found[:carried]\n",
           tests=(PROOFS + "a_scan_is_enclosed",)),
    Mutant("workbench balls: a reversed scan stacks its outputs in the order of its passes", BALLS,
           'passes = passes[::-1] if params["reverse"] else passes', "passes = list(passes)",
           tests=(PROOFS + "a_scan_is_enclosed",)),
    Mutant("workbench series: tanh has the sign of its denominator exchanged", OPERATIONS,
           "lambda p, m: (p - m) / (p + m)", "lambda p, m: (p - m) / (p - m + 1)", tests=SERIES),
    Mutant("workbench series: an angle leaves out its value at the beginning", OPERATIONS,
           "return rate.integral() + flint().arb.atan2(_first(y), _first(x))", "return rate.integral()", tests=SERIES),
    Mutant("workbench series: the smaller of two series is the larger", OPERATIONS,
           "if _first(a) > _first(b):", "if _first(a) < _first(b):", tests=SERIES),
    Mutant("workbench series: a series that may vanish has the absolute value of its middle", OPERATIONS,
           "    if a[0] > 0:\n        return a\n    if a[0] < 0:\n        return -a\n    raise _not_smooth()",
           "    return a if a[0].mid() > 0 else -a", tests=REFUSED),
    Mutant("workbench taylor: coefficients are not divided by their order", STEPS,
           "fresh.append(total / (k + 1))", "fresh.append(total / max(k, 1))", tests=STEP),
    Mutant("workbench taylor: the slopes meet the coefficients in their own order", STEPS,
           "zip(J, fresh[::-1], strict=False)", "zip(J, fresh, strict=False)", tests=STEP),
    Mutant("workbench taylor: the remainder is left out of the end", STEPS,
           "return Step(self.at(series, h) + last,", "return Step(self.at(series, h),", tests=STEP),
    Mutant("workbench taylor: the remainder is that at the start", STEPS,
           "inner = self.coefficients(during, order + 1)", "inner = self.coefficients(x, order + 1)", tests=STEP),
    Mutant("workbench taylor: an enclosure need not hold its image", STEPS,
           "if all(d.contains_interior(r) for", "if any(True or d.contains_interior(r) for", tests=STEP),
    Mutant("workbench taylor: the derivative leaves out its remainder", STEPS,
           "return _horner(self._variations(series, order), h) + rest * h ** (order + 1)",
           "return _horner(self._variations(series, order), h)", tests=STEP),
    Mutant("workbench taylor: the derivative of a step is not carried on", STEPS,
           "for slope, V in zip(J[1:], found[:k][::-1], strict=False):", "for slope, V in ():", tests=STEP),
    Mutant("workbench certified orbits: the equations leave out the motion of the next node", EQUATIONS,
           "rest = self._columns[(k - 1) % self.count] - self._columns[k] * swept.slopes[k]",
           "rest = -(self._columns[k] * swept.slopes[k])", tests=CIRCLE),
    Mutant("workbench certified orbits: there is no condition of phase in the derivative", EQUATIONS,
           "rest = rest - self._columns[-1] * _matrix([self.normal])", "pass", tests=CIRCLE),
    Mutant("workbench certified orbits: any image proves an orbit", EQUATIONS,
           "if proof is not None and all(r < radius for r, radius in zip(proof.reached, box, strict=True)):",
           "if proof is not None:", tests=REFUSED + (ORBIT + "a_box_proves_nothing_unless_its_image_is_inside",)),
    Mutant("workbench certified orbits: the box is not of the size that is said", EQUATIONS,
           "box = [ball(share * scale) for", "box = [ball(share / scale) for",
           tests=(ORBIT + "an_orbit_is_said_to_be_alone_only_as_far_as_the_next_one",)),
    Mutant("workbench certified orbits: a rotation of two turns has its least period", ORBITS,
           "if equations.windings % k == 0]", "if equations.windings % k != 0]", tests=TURN),
    Mutant("workbench certified orbits: the last Newton step may be of any size", EQUATIONS,
           "if max(sizes) > CLOSED:", "if max(sizes) < 0:", tests=REFUSED),
    Mutant("workbench certified orbits: a condition number counts for nothing", EQUATIONS,
           "if np.linalg.norm(inverse, 1) * np.linalg.norm(matrix, 1) < SINGULAR:", "if True:", tests=REFUSED),
    Mutant("workbench certified orbits: the forcing begins anew with every step", EQUATIONS,
           "return entries([*x, share * self.period], (self.size + 1,)) if self.forced else x",
           "return entries([*x, 0 * share * self.period], (self.size + 1,)) if self.forced else x", tests=FORCED),
    Mutant("workbench certified orbits: any period of a forcing is believed", EQUATIONS,
           "if not all(a.overlaps(b) for a, b in zip(here, there, strict=True)):", "if False:", tests=FORCED),
    Mutant("workbench certified orbits: a turn is its floating-point value", EQUATIONS,
           "> 1e-9:\n        return balls(given), 0", "> -1:\n        return balls(given), 0", tests=TURN),
    Mutant("workbench certified orbits: the monodromy is the product in the wrong order", ORBITS,
           "monodromy = slope * monodromy", "monodromy = monodromy * slope",
           tests=(ORBIT + "lorenz_has_its_published_orbit",)),
    Mutant("workbench certified orbits: the trivial multiplier counts", ORBITS,
           "([] if equations.forced else [ball(1.0)])", "[]", tests=CIRCLE),
    Mutant("workbench certified orbits: every period is the least one", ORBITS,
           "        if not _differs(equations, proof, k):\n            return False\n", "", tests=CIRCLE),
    Mutant("workbench certified orbits: saddles and unstable orbits are exchanged", ORBITS,
           'return "saddle" if decay else "unstable"', 'return "unstable" if decay else "saddle"', tests=UNIT),
    Mutant("workbench certified orbits: an undecided multiplier counts as less than one", ORBITS,
           "if grow + decay < len(multipliers):", "if False:", tests=UNIT),
)  # fmt: skip
