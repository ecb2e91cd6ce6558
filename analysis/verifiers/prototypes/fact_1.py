"""Verify an instance that refutes Fact 1 of "DDCL-Attention".

Printed: for lambda > 2 eta_P C(K, 2) the flow of the prototypes with the barrier (lambda / 2) sum |p_j - p_k|^-2
(ordered pairs) converges to critical points with distinct prototypes.

Instance: one fixed embedding and two prototypes on a line (eta_theta = 0).

For prototypes at distances a and b from the embedding, on opposite sides of it, let g = a + b, x = (b^2 - a^2) / T and
q = 1 / (1 + e^x). The weight w of the far prototype in the gradient is q in the mode frozen, and q (1 - (1 - q) x) in
the mode full. The field is

    a' = -2 (eta_theta + eta) (1 - w) a + 2 eta_theta w b + 2 eta lambda / g^3,
    b' = -2 (eta_theta + eta) w b + 2 eta_theta (1 - w) a + 2 eta lambda / g^3.

Under the conditions below no trajectory leaves the region 0 <= a <= a_0, b >= b_0, where x >= 2. In it b' >= eta
lambda / g^3, so that (a_0 + b)^4 grows at least like 4 eta lambda t: it has no limit point.

Mode full: w < 0, as (1 - q) x >= 2 - 2 e^-2 > 1, so that b' is as said; at a = a_0, a' <= 2 eta (lambda / g^3 - a_0);
at a = 0, |w| < x e^-x < 24 / x^3, so that a' > 0 if 24 T^3 eta_theta <= eta lambda b_0^2.

Mode frozen: 0 < w < 1/2, and w < e^-x < 6 / x^3, so that w b g^3 < 6 T^3 (b + a_0) / (b - a_0)^3, which decreases in b.
If it is at most s lambda / 2 with s = eta / (eta_theta + eta), b' is as said, and at a = a_0, a' <= (3 - s) eta
lambda / g^3 - eta a_0 / s, which is not positive for a_0 b_0^3 >= 2 lambda, as s (3 - s) <= 2. At a = 0, a' > 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.barriers import escape

STATEMENT = "prototypes/fact-1"
WITNESS = {
    "mode": "full",
    "lambda": "3",
    "eta_P": "1",
    "eta_theta": "0",
    "T": "1",
    "a_0": "3/8",
    "b_0": "2",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from escape(witness)
    slow = Fraction(witness["eta_theta"])
    yield "the embedding is fixed: eta_theta", str(slow), slow == 0
