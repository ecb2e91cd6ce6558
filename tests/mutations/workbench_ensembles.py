"""Errors in the error estimates of ensembles, and the tests that notice them."""

from tests.mutants import Mutant

ENSEMBLES = "dynsim.ensembles"
TESTS = "tests/test_ensemble_errors.py::test_"
MEMBER = (TESTS + "a_member_has_the_error_that_simulate_estimates",)
RESUMED = (TESTS + "both_solutions_are_resumed_from_their_folders",)

MUTANTS = (
    Mutant("runs: the members are solved again at the same tolerance", ENSEMBLES,
           "integrator=solver.tightened())", "integrator=solver.tightened(1.0))", tests=MEMBER),
    Mutant("runs: the errors are those of the first state", ENSEMBLES,
           "with_error(stats, Kept(values, final), Kept(*again[:2]))",
           "with_error(stats, Kept(values, final), Kept(again[0], work.y0s))", tests=MEMBER),
    Mutant("runs: the finer solution is not kept", ENSEMBLES,
           "below = None if folder is None else", "below = None if True else", tests=RESUMED),
)  # fmt: skip
