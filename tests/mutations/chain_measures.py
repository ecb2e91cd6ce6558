"""Errors in bounds, errors and defects of chains that closed forms of a few states notice."""

from tests.mutants import Mutant

MUTANTS = (
    Mutant(
        "mixing: the least probability without its root",
        "analysis.chains.mixing",
        "math.log(least) / 2)",
        "math.log(least))",
        tests=("tests/test_chains.py::test_the_bounds_of_the_mixing_time_of_two_states_are_their_closed_forms",),
    ),
    Mutant(
        "mixing: a lower bound without the factor of two",
        "analysis.chains.mixing",
        "math.log(1 / (2 * distance)) / gap",
        "math.log(1 / distance) / gap",
        tests=("tests/test_chains.py::test_the_bounds_of_the_mixing_time_of_two_states_are_their_closed_forms",),
    ),
    Mutant(
        "stationary: a violation is left out of the error",
        "analysis.chains.stationary",
        "found.accumulated + rounding",
        "rounding",
        tests=("tests/test_chains.py::test_a_violated_cycle_is_measured_bounds_the_error_and_is_refused",),
    ),
    Mutant(
        "stationary: the least error is told",
        "analysis.chains.stationary",
        "worst = max(one.error",
        "worst = min(one.error",
        tests=("tests/test_chains.py::test_the_error_that_is_told_is_the_largest",),
    ),
    Mutant(
        "reversibility: a coarse balance",
        "analysis.chains.reversibility",
        "BALANCED = 1e-11",
        "BALANCED = 1e-6",
        tests=("tests/test_chains.py::test_a_violated_cycle_is_measured_bounds_the_error_and_is_refused",),
    ),
    Mutant(
        "reversibility: the largest violation for their sum",
        "analysis.chains.reversibility",
        "float(np.sum(at_state))",
        "float(np.max(at_state))",
        tests=("tests/test_chains.py::test_a_violated_cycle_is_measured_bounds_the_error_and_is_refused",),
    ),
    Mutant(
        "relaxation: errors below what is visible",
        "analysis.chains.relaxation",
        "np.maximum(errors, visible)",
        "errors",
        tests=("tests/test_relaxation.py::test_what_an_answer_breaks_is_measured_and_no_error_is_below_it",),
    ),
    Mutant(
        "relaxation: the least entry for the most negative one",
        "analysis.chains.relaxation",
        "max(0.0, -np.min(self.probabilities))",
        "max(0.0, np.min(self.probabilities))",
        tests=("tests/test_relaxation.py::test_what_an_answer_breaks_is_measured_and_no_error_is_below_it",),
    ),
    Mutant(
        "relaxation: the mean mass of all times",
        "analysis.chains.relaxation",
        "np.max(abs(np.sum(self.probabilities, axis=1) - 1))",
        "np.max(abs(np.sum(self.probabilities) / len(self.ts) - 1))",
        tests=("tests/test_relaxation.py::test_what_an_answer_breaks_is_measured_and_no_error_is_below_it",),
    ),
    Mutant(
        "rational exponential: once the difference of half steps",
        "analysis.chains.rational_exponential",
        "once, 4 * float(",
        "once, float(",
        tests=(
            "tests/test_relaxation.py::test_far_from_uniform_the_error_is_four_times_the_difference_of_two_half_steps",
        ),
    ),
)
