"""Verify an instance that refutes Proposition 19 of "Attention is just another name for coupling?".

Printed: the cost in fast layers, attention layers on all N tokens, is C = L_pre + R (L_post + L_slow / P^2), (20), each
slow layer on N / P pooled tokens costing 1 / P^2 of a fast layer.

Instance: layers of the kind of Section 3 (grouped queries, output projection, MLP). A layer on n tokens needs w(n) =
A n + B n^2 multiplications, A > 0 for the matrices applied to each token and B > 0 for the scores and the sums of
values. Then w(N / P) = A N / P + B N^2 / P^2 > w(N) / P^2 for P >= 2. (Only the scores have the factor 1 / P^2. The
projector of the injection, which (20) leaves out, is not counted here either.)
"""

from fractions import Fraction

STATEMENT = "multirate/proposition-19"
WITNESS = {
    "width": 128,
    "width of keys and values": 64,
    "width of the MLP": 512,
    "N": 256,
    "P": 8,
    "layers": {"L_pre": 1, "R": 1, "L_post": 2, "L_slow": 1},
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    d, kv, m = (witness[name] for name in ("width", "width of keys and values", "width of the MLP"))
    N, P, layers = witness["N"], witness["P"], witness["layers"]
    yield "widths are positive", (d, kv, m), min(d, kv, m) > 0
    yield (
        "P divides N, P >= 2, and there is a slow layer",
        (N, P),
        N % P == 0 and P >= 2 and layers["R"] * layers["L_slow"] > 0,
    )
    A = 2 * d * d + 2 * d * kv + 2 * d * m  # queries and outputs, keys and values, MLP
    B = 2 * d  # scores, sums of values
    w = lambda n: A * n + B * n * n
    share = Fraction(w(N // P), w(N))
    yield (
        "a slow layer in fast layers, and 1 / P^2",
        (float(share), float(Fraction(1, P * P))),
        share > Fraction(1, P * P),
    )
    cost = lambda slow: layers["L_pre"] + layers["R"] * (layers["L_post"] + layers["L_slow"] * slow)
    counted, printed = cost(share), cost(Fraction(1, P * P))
    yield "the cost counted and the cost by (20)", (float(counted), float(printed)), counted != printed
