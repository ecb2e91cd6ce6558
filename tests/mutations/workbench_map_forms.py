"""Errors in the normal forms of maps and in the natural sizes of coefficients, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
FORMS, BRANCHES, CHARTS = DYNAMICS + "map_normal_forms", DYNAMICS + "branches", DYNAMICS + "charts"
TESTS = "tests/test_map_normal_forms.py::test_"
HENON = (TESTS + "the_doubling_of_the_henon_map_has_its_closed_form",)
DELAYED = (TESTS + "the_invariant_curve_of_the_delayed_logistic_map_is_stable",)
SIDES = (TESTS + "a_doubling_is_on_the_side_of_its_cubic_term",)
RESONANCES = (TESTS + "strong_resonances_are_said_and_decide_nothing",)
CHART = (TESTS + "the_coefficient_of_a_map_does_not_depend_on_the_coordinates",)
UNKNOWN = (TESTS + "a_coefficient_with_another_critical_multiplier_is_not_known",)
UNITS = ("tests/test_normal_forms.py::test_the_criticality_does_not_depend_on_the_units_of_state_and_time",)

MUTANTS = (
    Mutant("workbench maps: the quadratic term of a doubling has the other sign", FORMS,
           "(-1 / 2, second_derivative", "(1 / 2, second_derivative", tests=HENON),
    Mutant("workbench maps: the cubic term of a doubling counts six times", FORMS,
           "(1 / 6, cubic)", "(1, cubic)", tests=SIDES),
    Mutant("workbench maps: the steady term of an invariant curve counts once", FORMS,
           "(2, B(q, steady))", "(1, B(q, steady))", tests=DELAYED),
    Mutant("workbench maps: the coefficient of an invariant curve is not turned back", FORMS,
           "(value / turn).real", "value.real", tests=DELAYED),
    Mutant("workbench maps: a second critical multiplier of a doubling is passed by", FORMS,
           "np.eye(len(A))) or abs(np.vdot(p, q)) <= SINGULAR", "np.eye(len(A)))", tests=UNKNOWN),
    Mutant("workbench maps: the coordinates of a point are those of its step", CHARTS,
           "w = w + u - self.basis.T @ (at(w) - flat)", "w = u", tests=CHART),
    Mutant("workbench maps: a doubling with a positive coefficient is subcritical", BRANCHES,
           '"period doubling": 1}', '"period doubling": -1}', tests=SIDES),
    Mutant("workbench maps: one resonance in four is not strong", BRANCHES,
           "for k in (3, 4) if", "for k in (3,) if", tests=RESONANCES),
    Mutant("workbench maps: the fifth resonance is strong", BRANCHES,
           "for k in (3, 4) if", "for k in (3, 4, 5) if", tests=RESONANCES),
    Mutant("workbench forms: a coefficient is small in the units of the state", BRANCHES,
           "<= DEGENERATE * self.natural_size", "<= DEGENERATE", tests=UNITS),
    Mutant("workbench forms: terms that vanish with the parameter have the size of the error", BRANCHES,
           "float(np.fmax(here.size, change))", "here.size", tests=UNITS),
)  # fmt: skip
