"""Errors in measurements and trials, with the tests that notice them."""

from tests.mutants import Mutant

MUTANTS = (
    Mutant(
        "ledger: compiled programs stay until the compiler fails",
        "analysis.ledger.check",
        "    forget_programs()\n",
        "",
        tests=("tests/test_ledger.py::test_a_check_forgets_compiled_programs_before_a_process_holds_too_many",),
    ),
    Mutant(
        "ledger: the error of a solver is a thousandth",
        "analysis.ledger.evidence",
        "SOLVER = 1e-6",
        "SOLVER = 1e-3",
        tests=("tests/test_ledger.py::test_a_tolerance_is_spent_once",),
    ),
    Mutant(
        "ledger: rounding errors are those of single precision",
        "analysis.ledger.evidence",
        "ROUNDING = 1e-11",
        "ROUNDING = 1e-8",
        tests=("tests/test_ledger.py::test_a_tolerance_is_spent_once",),
    ),
    Mutant(
        "ledger: an equality spends ten times its tolerance",
        "analysis.ledger.evidence",
        "return Measurement(what, _error(tolerance) - abs(_slack(value, expected)), 0.0)",
        "return Measurement(what, 10 * _error(tolerance) - abs(_slack(value, expected)), 0.0)",
        tests=("tests/test_ledger.py::test_a_tolerance_is_spent_once",),
    ),
    Mutant(
        "ledger: a conclusion fails beyond twice its tolerance",
        "analysis.ledger.evidence",
        "self.slack < -self.tolerance",
        "self.slack < -2 * self.tolerance",
        tests=("tests/test_ledger.py::test_a_tolerance_is_spent_once",),
    ),
    Mutant(
        "ledger: a hypothesis holds at half of its tolerance",
        "analysis.ledger.evidence",
        "self.slack >= self.tolerance",
        "self.slack >= self.tolerance / 2",
        tests=("tests/test_ledger.py::test_a_tolerance_is_spent_once",),
    ),
    Mutant(
        "ledger: a contradiction needs all conclusions to fail",
        "analysis.ledger.evidence",
        "any(m.fails_clearly for m in self.conclusions)",
        "all(m.fails_clearly for m in self.conclusions)",
        tests=("tests/test_ledger.py::test_every_hypothesis_has_to_hold_and_one_conclusion_to_fail",),
    ),
    Mutant(
        "ledger: one hypothesis that holds is enough",
        "analysis.ledger.evidence",
        "return all(m.holds_clearly for m in self.hypotheses)",
        "return not self.hypotheses or any(m.holds_clearly for m in self.hypotheses)",
        tests=("tests/test_ledger.py::test_every_hypothesis_has_to_hold_and_one_conclusion_to_fail",),
    ),
    Mutant(
        "ledger: the worst conclusion is the best",
        "analysis.ledger.evidence",
        "return min(self.conclusions, key=",
        "return max(self.conclusions, key=",
        tests=("tests/test_ledger.py::test_every_hypothesis_has_to_hold_and_one_conclusion_to_fail",),
    ),
)
