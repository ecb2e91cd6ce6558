"""Verify an instance that refutes a sentence of Section 2.2 of "DDCL-Attention".

Printed: collapse of the prototypes is an unstable saddle of Lq, the embeddings being fixed.

Instance: embeddings with the mean c and any number K of prototypes c + p_k. With y_n = z_n - c the free energy of
frozen assignments is, up to terms of third order in p,

    sum_n |y_n|^2 - T sum_n log mean_k exp((2 y_n.p_k - |p_k|^2) / T)
        = sum_n |y_n|^2 + N mean_k |p_k|^2 - (2 / T) sum_n Var_k(y_n.p_k),

as sum_n y_n = 0; Lq itself, through the assignments, has 4 in the place of 2. Since Var_k(y_n.p_k) <= |y_n|^2 mean_k
|p_k|^2, the terms of second order are at least (N - (a / T) sum_n |y_n|^2) mean_k |p_k|^2, a = 2 or 4. If that is
positive collapse is a strict local minimum, and no saddle.
"""

from fractions import Fraction

STATEMENT = "prototypes/claim-collapse-saddle"
WITNESS = {
    "frozen": {"z": [["2"], ["-2"], ["1"], ["-1"]], "T": "6"},
    "full": {"z": [["2"], ["-2"], ["1"], ["-1"]], "T": "12"},
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    for mode, a in (("frozen", 2), ("full", 4)):
        z, T = [[Fraction(v) for v in row] for row in witness[mode]["z"]], Fraction(witness[mode]["T"])
        yield f"{mode}: the temperature is positive", T, T > 0
        mean = [sum(column) / len(z) for column in zip(*z, strict=True)]
        spread = sum((v - c) ** 2 for row in z for v, c in zip(row, mean, strict=True))
        yield f"{mode}: the embeddings do not coincide: sum of squares about their mean", spread, spread > 0
        yield f"{mode}: coefficient of the mean of |p_k|^2", len(z) - a * spread / T, len(z) - a * spread / T > 0
