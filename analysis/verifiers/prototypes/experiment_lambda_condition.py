"""Verify from printed numbers that reported runs of the DDCL-Attention paper violate the condition on lambda.

Printed: Fact 1 and Theorem 2 require lambda > 2 eta_P C(K, 2), C(K, 2) = K (K - 1) / 2. Table 5 reports K = 64 with
lambda = .5; Section 7.4 trains with eta_P = 1e-3. The condition is evaluated in rationals.
"""

from fractions import Fraction

STATEMENT = "prototypes/experiment-lambda-condition"
WITNESS = {"runs": {"Table 5, K = 64": {"K": 64, "lambda": "1/2", "eta_P": "1/1000"}}}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    excess = {}
    for place, run in witness["runs"].items():
        k, barrier, rate = int(run["K"]), Fraction(run["lambda"]), Fraction(run["eta_P"])
        yield f"{place}: at least two prototypes, positive lambda and rate", k, k >= 2 and min(barrier, rate) > 0
        excess[place] = barrier - rate * k * (k - 1)
    shown = {place: str(value) for place, value in excess.items()}
    yield "lambda - 2 eta_P C(K, 2), not positive in some run", shown, min(excess.values()) <= 0
