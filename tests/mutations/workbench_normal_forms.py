"""Errors in normal forms, curves in two parameters, folds in one step, poles and rotations, and their tests."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
FORMS, PLANE = DYNAMICS + "normal_forms", DYNAMICS + "two_parameters"
HOPF = ("tests/test_normal_forms.py::test_the_criticality_of_a_hopf_point_is_said",)
CHART = ("tests/test_normal_forms.py::test_the_coefficient_does_not_depend_on_the_coordinates",)
FOLD = ("tests/test_normal_forms.py::test_a_fold_has_its_curvature",)
GOES_ON = ("tests/test_two_parameters.py::test_curves_are_saved_with_their_diagram_and_go_on",)
FOLDS = ("tests/test_continuation.py::test_two_folds_in_one_step_are_both_found",)
POLES = ("tests/test_phase_plane.py::test_a_change_of_sign_at_a_pole_is_no_zero",)
TURNS = ("tests/test_periodic_orbits.py::test_a_rotation_closes_on_the_circle",)

MUTANTS = (
    Mutant("workbench forms: the steady quadratic term counts once", FORMS,
           "(-2, B(q, steady))", "(-1, B(q, steady))", tests=HOPF),
    Mutant("workbench forms: the double frequency is the single one", FORMS,
           "np.linalg.solve(2j * w", "np.linalg.solve(1j * w", tests=HOPF),
    Mutant("workbench forms: the retraction is taken for flat", DYNAMICS + "charts",
           "jax.jvp(at, (u,), (found,))[1]", "found", tests=CHART),
    Mutant("workbench forms: a fold opens to the other side", FORMS,
           "weighed(w, (-1, second", "weighed(w, (1, second", tests=FOLD),
    Mutant("workbench forms: a curve that goes on turns back", PLANE,
           "(rows[last] - rows[before]) >= 0", "(rows[last] - rows[before]) < 0", tests=GOES_ON),
    Mutant("workbench curves: two folds in a step are passed by", DYNAMICS + "following",
           "points += [*hidden_turn(curve, here, found), found]", "points += [found]", tests=FOLDS),
    Mutant("workbench portraits: a pole is a zero", DYNAMICS + "poles",
           "GROWN * first)", "1e9 * first)", tests=POLES),
    Mutant("workbench orbits: a turn is left out of the gap", DYNAMICS + "periodic_orbits",
           "gaps[-1] -= turn", "gaps[-1] -= 0 * turn", tests=TURNS),
)  # fmt: skip
