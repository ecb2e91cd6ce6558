"""Errors in normal forms of periodic orbits, and in bifurcations at points of branches; tests that notice them."""

from tests.mutants import Mutant

CHARTS, CURVE, BRANCHES, ORBITS = (
    f"analysis.dynamics.{name}" for name in ("orbit_charts", "orbit_curve", "branches", "periodic_orbits")
)
FORMS, CONTINUED = "tests/test_orbit_normal_forms.py::test_", "tests/test_orbit_continuation.py::test_"
DOUBLING = (FORMS + "a_doubling_of_a_cycle_has_the_coefficient_of_its_return_map",)
TORUS = (FORMS + "the_torus_of_a_cycle_has_the_coefficient_of_its_return_map",)
RETURN = (FORMS + "the_derivatives_of_a_return_map_are_those_of_its_differences_by_another_integrator",)
FORCED = (FORMS + "forced_orbits_have_the_coefficients_of_the_map_over_a_period",)
FOLD = (FORMS + "a_fold_of_cycles_has_its_curvature_in_the_length_of_the_branch",)
LARGE = (FORMS + "multipliers_too_large_for_one_run_leave_the_coefficient_unknown",)
TIMES = (CONTINUED + "a_period_that_depends_on_the_parameter_moves_the_times_of_all_segments",)
POINT = ("tests/test_continuation.py::test_a_bifurcation_at_a_point_of_the_branch_is_found_once",)

MUTANTS = (
    Mutant("orbit forms: no term of the second order in time", CHARTS,
           "s**2 / 2 * (second + change)", "0.0", tests=RETURN),
    Mutant("orbit forms: the acceleration is that of the orbit", CHARTS,
           "(second + change)", "second", tests=RETURN),
    Mutant("orbit forms: no term of the third order in time", CHARTS,
           "+ s**3 / 6 * third", "", tests=RETURN),
    Mutant("orbit forms: the velocity is that of the orbit", CHARTS,
           "(flat), f(y), f(flat)", "(flat), f(flat), f(flat)",
           tests=RETURN),
    Mutant("orbit forms: one step of Newton's method", CHARTS,
           "fori_loop(0, 3, nearer", "fori_loop(0, 1, nearer", tests=RETURN),
    Mutant("orbit forms: two steps of Newton's method", CHARTS,
           "fori_loop(0, 3, nearer", "fori_loop(0, 2, nearer", tests=RETURN),
    Mutant("orbit forms: no time beyond the end of the period", CHARTS,
           "s - across @ miss", "s", tests=RETURN),
    Mutant("orbit forms: forced orbits have a section", CHARTS,
           "if self.forced:\n            later", "if not self.forced:\n            later", tests=FORCED),
    Mutant("orbit forms: the variational equation has no tangent", CHARTS,
           "(x,), (dx,))\n\n\n@eqx", "(x,), (0 * dx,))\n\n\n@eqx", tests=RETURN),
    Mutant("orbit forms: coefficients are computed for none", CURVE,
           'if name not in ("fold", "cusp", "period doubling", "Neimark-Sacker point"):', "if name:",
           tests=FOLD + DOUBLING),
    Mutant("orbit forms: any multiplier is small", CURVE,
           "> REACH:", "> 1e300:", tests=LARGE),
    Mutant("orbit forms: every multiplier is large", CURVE,
           "> REACH:", "> 0:", tests=FOLD),
    Mutant("orbit forms: sections contain the velocity", CURVE,
           "(basis.T @ shot.speeds[-1])[None])[2][1:].T", "(basis.T @ shot.speeds[-1])[None])[2][:-1].T", tests=FOLD),
    Mutant("orbit forms: segments are multiplied in the wrong order", CURVE,
           "by_node @ monodromy, by_node @ slope", "monodromy @ by_node, by_node @ slope", tests=DOUBLING + FORCED),
    Mutant("orbit forms: the slope is that of the last segment", CURVE,
           "by_node @ slope + by_parameter", "by_parameter", tests=FOLD),
    Mutant("orbit forms: folds are measured at the first node", CURVE,
           "Coefficient(found.value * share**2,", "Coefficient(found.value,", tests=FOLD),
    Mutant("orbit forms: the share counts once", CURVE,
           "found.value * share**2", "found.value * share", tests=FOLD),
    Mutant("orbits: segments begin when they did", CURVE,
           "(k + 1) * speeds[k] - k * maps", "(k + 1) * speeds[k] - 0 * maps", tests=TIMES),
    Mutant("orbits: segments begin at the velocity of their end", CURVE,
           "maps[k, :, :-1] @ first[k]", "maps[k, :, :-1] @ speeds[k]", tests=TIMES),
    Mutant("orbits: the velocity at a node is that at the end", ORBITS,
           "velocity(begin, x)", "velocity(begin + duration, x)", tests=TIMES),
    Mutant("branches: what lies at a point is between points", BRANCHES,
           "if k and not at[k]:", "if k:", tests=POINT),
    Mutant("branches: points are critical beside others as critical", BRANCHES,
           "zeros[k] > max(", "zeros[k] >= max(", tests=POINT),
    Mutant("branches: modes that are critical everywhere are what crosses", BRANCHES,
           "np.append([value for value in neutral if curve.name(_cleaned(value, real))], critical)", "critical",
           tests=POINT),
    Mutant("branches: beside a critical point begins at it", BRANCHES,
           "begin = k - 2 if at[k - 1] else k - 1", "begin = k - 1", tests=POINT),
)  # fmt: skip
