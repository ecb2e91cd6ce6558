"""Verify an instance that refutes a claim of Section 1.3 of Alcalde, Fantuzzi and Zuazua.

Printed: the hardmax formulation prevents the emergence of metastable states, where tokens initially form clusters that
merge slowly; clusters remain fixed once determined in finite time. Read: clusters are sets of tokens within 1/64 of
each other and at least 1/2 from all others; they have formed when no token moves by more than 1/64 for 16 layers.

Instance, with A = I: leaders a = (1, 1, 0), b = (1, -1, 0), c = (1 + e, 0, 1) with a small e, and two tokens (x, 0, z)
with 0 < x < 1 and z < 0. These follow a and b, tied by symmetry, as long as z < -e x, and approach (1, 0, 0)
meanwhile: a layer divides 1 - x and z by 1 + alpha. Once z > -e x, after about log(1 / e) / log(1 + alpha) layers, in
most of which nothing seems to move, c has the larger score, and the two merge with c. A smaller e makes the wait as
long as one likes.

The map (1.1) is iterated in exact rational arithmetic.
"""

from fractions import Fraction

STATEMENT = "hardmax/claim-no-metastability"
WITNESS = {
    "tokens": [
        ["1", "1", "0"],
        ["1", "-1", "0"],
        ["17592186044417/17592186044416", "0", "1"],
        ["1/2", "0", "-1/4"],
        ["1/2", "0", "-1/3"],
    ],
    "A": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
    "alpha": "1",
    "formed": [8, 40],
    "clusters": [[0], [1], [2], [3, 4]],
    "merged": 60,
    "clusters then": [[0], [1], [2, 3, 4]],
}


def layer(z, alpha):
    """The tokens after one layer (1.1) with A = I."""
    after = []
    for x in z:
        scores = [sum(s * t for s, t in zip(x, y, strict=True)) for y in z]
        followed = [y for y, s in zip(z, scores, strict=True) if s == max(scores)]
        mean = [sum(column) / len(followed) for column in zip(*followed, strict=True)]
        after.append([s + alpha / (1 + alpha) * (t - s) for s, t in zip(x, mean, strict=True)])
    return after


def extent(z, clusters):
    """The largest squared distance within a cluster and the least between two clusters."""
    square = lambda i, j: sum((s - t) ** 2 for s, t in zip(z[i], z[j], strict=True))
    within = max(square(i, j) for c in clusters for i in c for j in c)
    return within, min(square(i, j) for c in clusters for d in clusters if c is not d for i in c for j in d)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    alpha, z = Fraction(witness["alpha"]), [[Fraction(v) for v in row] for row in witness["tokens"]]
    A = [[Fraction(v) for v in row] for row in witness["A"]]
    unit = [[Fraction(i == j) for j in range(len(A))] for i in range(len(A))]
    yield "A = I and alpha > 0", alpha, alpha > 0 and unit == A
    yield "tokens are nonzero and distinct: their number", len(z), all(map(any, z)) and len({*map(tuple, z)}) == len(z)
    states = [z]
    for _ in range(witness["merged"]):
        states.append(layer(states[-1], alpha))
    (first, last), clusters, then = witness["formed"], witness["clusters"], witness["clusters then"]
    near, far = Fraction(1, 64) ** 2, Fraction(1, 2) ** 2
    yield "they are formed for 16 layers: from and to", (first, last), last - first >= 16
    extents = [extent(x, clusters) for x in states[first : last + 1]]
    worst = max(w for w, _ in extents), min(b for _, b in extents)
    yield (
        "squared extents of the clusters, at most 1/64^2, and distances, at least 1/4",
        [*map(float, worst)],
        (worst[0] <= near and worst[1] >= far),
    )
    pairs = zip(states[first:last], states[first + 1 : last + 1], strict=True)
    moved = max(
        sum((s - t) ** 2 for s, t in zip(x, y, strict=True)) for a, b in pairs for x, y in zip(a, b, strict=True)
    )
    yield "largest squared displacement in a layer, at most 1/64^2", float(moved), moved <= near
    end = extent(states[-1], then)
    yield (
        f"the same for the clusters {then} at layer {witness['merged']}",
        [*map(float, end)],
        end[0] <= near and end[1] >= far,
    )
    yield "some of the clusters have merged: their numbers", (len(clusters), len(then)), len(then) < len(clusters)
