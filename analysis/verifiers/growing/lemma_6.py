"""Verify an instance that refutes Lemma 6 of "DDCL-INCRT".

Printed: gradient descent on Lq = sum_n sum_k q_nk d_nk at the rate eta_T is dT/dt = -eta_T sigma / T^2 with sigma =
(1/N) sum_n Var_{q_n}(d_nk).

Instance: integer tokens and prototypes at T = 1 / log b, where q_nk = b^(-d_nk) / sum_j b^(-d_nj) is rational. As
dq_nk/dT = q_nk (d_nk - sum_j q_nj d_nj) / T^2, T^2 dLq/dT is the sum over k of d_nk q_nk (d_nk - sum_j q_nj d_nj),
summed over n.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-6"
WITNESS = {"z": [["1", "0"], ["2", "1"]], "p": [["1", "0"], ["0", "1"]], "b": "2"}


def weights(distances, b):
    """b^(-d) over the sum of these."""
    found = [1 / b ** int(d - min(distances)) for d in distances]
    return [w / sum(found) for w in found]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("z", "p"))
    b = Fraction(witness["b"])
    whole = all(v.denominator == 1 for rows in (z, p) for row in rows for v in row)
    yield "b > 1, and coordinates are integers: b", b, b > 1 and whole

    slope, variances = Fraction(0), []
    for point in z:
        d = [sum((x - y) ** 2 for x, y in zip(point, prototype, strict=True)) for prototype in p]
        q = weights(d, b)
        mean = sum(w * v for w, v in zip(q, d, strict=True))
        slope += sum(v * w * (v - mean) for v, w in zip(d, q, strict=True))
        variances.append(sum(w * (v - mean) ** 2 for w, v in zip(q, d, strict=True)))
    sigma = sum(variances) / len(z)
    yield "sigma", sigma, True
    yield "T^2 dLq/dT is not sigma", slope, slope != sigma
