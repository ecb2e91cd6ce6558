"""Verify an instance that refutes a sentence of Section 3.3 of "DDCL-Attention".

Printed: the layer takes O(T K m) operations. Read: for fixed T and K at most C T K m multiplications, for some C.

One head computes T K distances of m terms, and W_O (P^T q_n) for T tokens, W_O being m x m. In either order, the latter
takes T K m multiplications and min(T, K) m^2 more, which exceeds C T K m once m > C max(T, K). Several heads have
projections W_h of T tokens besides, m x m together, which take T m^2 multiplications.
"""

STATEMENT = "prototypes/claim-complexity"
WITNESS = {"T": 4, "K": 2, "heads": 1, "C": 1000, "m": 4001}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    T, K, heads, C, m = (witness[name] for name in ("T", "K", "heads", "C", "m"))
    yield "T, K, heads, C and m are positive", (T, K, heads, C, m), min(T, K, heads, C, m) > 0
    orders = (T * K * m + T * m * m, K * m * m + T * K * m)
    yield "multiplications of one head in both orders", orders, min(orders) == T * K * m + min(T, K) * m * m
    least = min(orders) if heads == 1 else T * m * m
    yield "those of the layer are more than C T K m", (least, C * T * K * m), least > C * T * K * m
