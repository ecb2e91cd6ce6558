"""Verify an instance that refutes Experiment 1 (iii) of "DDCL-INCRT".

Printed: the sum of the lambda^(h) over |M_a|_F^2 is at least .899.

Instance: an antisymmetric M_a with the printed eigenvalues in conjugate pairs, +-i lambda_1 rho^(k-1), all numbers
rational; a head takes the largest pair that is left, so that lambda^(h) = lambda_1 rho^(h-1). Then |M_a|_F^2 is twice
the sum of the squares. No number of heads reaches .899, and none would if every eigenvalue counted once in |M_a|_F^2.
"""

from fractions import Fraction

STATEMENT = "growing/experiment-1-coverage"
WITNESS = {"lambda_1": "2", "rho": "7/10", "pairs": "32", "heads": "11"}
BOUND = Fraction(899, 1000)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    largest, rho = Fraction(witness["lambda_1"]), Fraction(witness["rho"])
    pairs, heads = int(witness["pairs"]), int(witness["heads"])
    values = [largest * rho**k for k in range(pairs)]
    printed = (largest, rho) == (2, Fraction(7, 10))
    yield "lambda_1 is 2 and rho .7, as printed", f"{largest}, {rho}", printed
    above = sum(value > Fraction(1, 20) for value in values)
    yield "heads are at most the pairs above theta_w = .05: pairs", above, 0 < heads <= above

    square = 2 * sum(value**2 for value in values)
    covered = sum(values[:heads]) / square
    yield "the coverage is below .899", float(covered), covered < BOUND
    every = sum(values) / square
    yield "so is that of all pairs", float(every), every < BOUND
    yield "so is twice that, with every eigenvalue counted once", float(2 * every), 2 * every < BOUND
