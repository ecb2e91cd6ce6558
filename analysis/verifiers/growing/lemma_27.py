"""Verify an instance that refutes Lemma 27 of "DDCL-INCRT".

Printed: F^(1) > F^(2) at convergence, with a ratio of at least lambda^(1) / lambda^(2) (T^(2) / T^(1))^2.

Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values 2 and 1, tokens at -z and z on e_1, banks at -p_1 and
p_1 on e_1 (first head) and at -p_2 and p_2 on e_3 (second), which stay symmetric and in an interval: for the first p'
= eta (-p + v z + lambda / (4 p^3)), losses as means over tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p /
T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4. For the second v z is absent. F^(2) = 8 p_2^2, F^(1) = 8 p_1^2 /
cosh^4(x/2) <= 8 p_1^2 / (x^2/4)^2 = T^4 / (2 z^4 p_1^2), with T = T_min, which the first head reaches since sigma >=
(4 z p)^2 / (4 e^x) > 0.
"""

from fractions import Fraction

from analysis.verifiers.frames.barriers import invariant_interval

STATEMENT = "growing/lemma-27"
WITNESS = {
    "z": "1/2",
    "lambda": "19/8",
    "least p": "1/2",
    "largest p": "2",
    "T_min": "1/4",
    "T_init": "1",
    "values": ["2", "1"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from invariant_interval(witness)
    z, low, T = (Fraction(witness[k]) for k in ("z", "least p", "T_min"))
    first, second = (Fraction(v) for v in witness["values"])
    yield "values of the pairs, in descending order", f"{first}, {second}", first > second > 0
    yield "T_min, positive", str(T), T > 0
    ratio = T**4 / (16 * z**4 * low**4)
    yield "F^(1) / F^(2), at most, below 1", str(ratio), ratio < 1
