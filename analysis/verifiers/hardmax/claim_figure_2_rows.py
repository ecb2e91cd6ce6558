"""Verify an instance that refutes a sentence on Figure 2 in Section 1.1 of Alcalde, Fantuzzi and Zuazua.

Printed: rows (C) and (D) have the same leaders, as well as the limiting convex polytope K; however, in row (C) the
cluster set consists of the four leaders, while in row (D) it also contains two extra points. Read with the cluster set
S = {x in K : max_l <v_l - x, x> = 0} of (4.1), v_l the vertices of K. S is a function of K alone: rows with the same K
have the same S. (What may differ is the set of limits that the tokens attain.)

Instance: tokens in the shape of both rows, A = I, four leaders at (p, q), (-p, q), (-p, -q), (p, -q) and the others in
their rectangle, which is K: the leaders are never left, and hulls shrink. The projections (p, 0) and (0, -q) of the
origin onto two edges are in S in row (C) as in row (D). The paper prints no coordinates.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "hardmax/claim-figure-2-rows"
WITNESS = {
    "leaders": [["2", "1"], ["-2", "1"], ["-2", "-1"], ["2", "-1"]],
    "others in row C": [["1", "1/4"], ["-1", "-1/2"], ["1/2", "1/10"], ["1/10", "-1/3"]],
    "others in row D": [["1", "1/4"], ["-1", "-1/2"], ["1/2", "0"], ["0", "-1/3"]],
    "extra points": [["2", "0"], ["0", "-1"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    read = lambda name: [[Fraction(v) for v in row] for row in witness[name]]
    v, extra = read("leaders"), read("extra points")
    p, q = v[0]
    yield (
        "the leaders are the corners of a rectangle about the origin: p and q",
        (str(p), str(q)),
        (p > 0 < q and v == [[p, q], [-p, q], [-p, -q], [p, -q]]),
    )
    for row in ("C", "D"):
        z = read(f"others in row {row}")
        reach = max(abs(a) / p for a, _ in z), max(abs(b) / q for _, b in z)
        yield (
            f"row {row}: the others are in the rectangle, and nonzero",
            [*map(str, reach)],
            max(reach) <= 1 and all(map(any, z)),
        )
        margin = min(dot(a, a) - max(dot(a, b) for b in v + z if b is not a) for a in v)
        yield f"row {row}: each corner follows itself alone: least margin of its score", margin, margin > 0
    for x in extra:
        support = max(dot([s - t for s, t in zip(w, x, strict=True)], x) for w in v)
        inside = abs(x[0]) <= p and abs(x[1]) <= q
        yield (
            f"{[*map(str, x)]} is in S and no leader: max <v_l - x, x>",
            support,
            support == 0 and inside and x not in v,
        )
