"""Verifiers of refuted statements of Section 11 of "Attention is just another name for coupling?"."""

import math
from fractions import Fraction

from analysis.verifiers.frames.script import verifies


def above(square):
    """A rational number at least as large as the square root of a rational number."""
    return Fraction(math.isqrt(math.ceil(square * 10**12)) + 1, 10**6)


def norm(entries):
    """A bound of the Euclidean norm of a vector, or of the Frobenius norm of a matrix."""
    flat = [v for row in entries for v in (row if isinstance(row, list) else [row])]
    return above(sum(Fraction(v) ** 2 for v in flat))


def displacement(layer):
    """A bound of what a layer adds to a token."""
    d, heads, keys = len(layer["output bias"]), layer["output"], layer["value"]
    first, second = (above(d) * max(abs(Fraction(v)) for v in gain) for gain in layer["gains"])
    found = norm(layer["output bias"]) + norm(layer["outer bias"])
    for h, output in enumerate(heads):
        group = h * len(keys) // len(heads)
        found += norm(output) * (norm(keys[group]) * first + norm(layer["value bias"][group]))
    return found + norm(layer["outer"]) * (norm(layer["inner"]) * second + norm(layer["inner bias"]))


@verifies(
    "multirate/claim-rmsnorm-contraction",
    {
        "tokens": 1,
        "layers": [
            {
                "gains": [["1", "1"], ["1", "1"]],
                "value": [[["1", "0"], ["1/3", "1"]]],
                "value bias": [["0", "0"]],
                "output": [[["-1/2", "1/4"], ["0", "-1/2"]]],
                "output bias": ["0", "0"],
                "inner": [["1/2", "1"], ["-1", "1/4"], ["1/8", "1/8"]],
                "inner bias": ["0", "0", "0"],
                "outer": [["1/4", "-1/2", "1"], ["0", "1/2", "1/4"]],
                "outer bias": ["0", "0"],
            }
        ],
        "L and |x|": [["0", "5"], ["9/10", "50"], ["999/1000", "5000"], ["999999999/1000000000", "5000000000"]],
    },
)
def claim_rmsnorm_contraction(witness):
    """Verify an argument that refutes a sentence of Section 11.2 of "Attention is just another name for coupling?".

    Printed: the passes converge if Post is a contraction (plausible under RMSNorm). Read: a pre-norm layer, x -> x +
    Attention(RMSNorm(x)) + MLP(RMSNorm(x)) or the two in sequence, is a contraction, with a constant L < 1.

    Argument, for n tokens and any weights. |RMSNorm(x_i)| <= sqrt(d) max |g| with the gain g. Attention adds to a
    token, for each head h, W_oh times a mean of W_vh RMSNorm(x_j) + b_vh over tokens, and a bias; the MLP adds W_2
    gelu(W_1 RMSNorm(x) + b_1) + b_2, with |gelu(u)| <= |u|. Norms of matrices being at most Frobenius norms, the
    displacement of a token by all layers is at most a number C, wherever the tokens are. Hence |Post(x) - Post(-x)| >=
    2 |x| - 2 sqrt(n) C, which is more than L 2 |x| as soon as |x| > sqrt(n) C / (1 - L): no constant L < 1 will do. The
    inequality is checked for a list of L.
    """
    n, C = int(witness["tokens"]), sum(map(displacement, witness["layers"]))
    yield "bound C of the displacement of a token", float(C), n >= 1 and C > 0
    for L, size in (map(Fraction, pair) for pair in witness["L and |x|"]):
        yield "a constant L of a contraction", float(L), 0 <= L < 1
        excess = 2 * size - 2 * above(n) * C - L * 2 * size
        yield f"at |x| = {float(size)}, |Post(x) - Post(-x)| - L |x - (-x)| is at least", float(excess), excess > 0


@verifies(
    "multirate/claim-residual-distance",
    {
        "t": "2",
        "e": "9",
        "forcing": ["8/5", "8/5"],
        "fixed point": ["12/5", "12/5"],
        "states": [["161/40", "161/40"], ["463/120", "113/120"]],
        "roots": ["5", "51/8", "125/24"],
    },
)
def claim_residual_distance(witness):
    """Verify an instance that refutes a sentence of Section 11.1 of "Attention is just another name for coupling?".

    Printed: the residual |Post(x) - x| measures the distance to equilibrium. Read: of two states the one with the
    smaller residual is closer to the fixed point. (For a contraction with constant L the distance is between residual /
    (1 + L) and residual / (1 - L), which decides nothing if L is near 1.)

    Instance: Post(x) = w - t phi(w) with w = x + f in the plane, f an injected term, and phi(w) = w / sqrt(|w|^2 / 2 +
    e) an RMSNorm; at the states of the witness the roots are rational. With r the root, the derivative of w - t phi(w)
    has the eigenvalues 1 - t e / r^3 along w and 1 - t / r across, in (-1, 1) if 0 < t < 2 sqrt(e), and bounded away
    from 1 in every ball: a contraction there, which is slow along the ray of w. One state is farther out on the ray of
    the fixed point, the other beside it.
    """
    t, e = Fraction(witness["t"]), Fraction(witness["e"])
    yield "Post is a contraction in every ball: t > 0 and t^2 < 4 e", (str(t), str(e)), t > 0 and t * t < 4 * e
    forcing = [Fraction(v) for v in witness["forcing"]]
    points = [[Fraction(v) for v in x] for x in (witness["fixed point"], *witness["states"])]
    residuals = []
    for x, root in zip(points, map(Fraction, witness["roots"]), strict=True):
        w = [a + f for a, f in zip(x, forcing, strict=True)]
        mean = sum(v * v for v in w) / len(w) + e
        yield "the root of |w|^2 / d + e", root, root > 0 and root * root == mean
        residuals.append([f - t * v / root for f, v in zip(forcing, w, strict=True)])
    yield "Post(x) - x at the fixed point", [*map(str, residuals[0])], not any(residuals[0])
    sizes = [sum(v * v for v in r) for r in residuals[1:]]
    yield "the first state has the smaller residual: squares", [*map(str, sizes)], sizes[0] < sizes[1]
    distances = [sum((a - b) ** 2 for a, b in zip(x, points[0], strict=True)) for x in points[1:]]
    yield "and the larger distance from the fixed point: squares", [*map(str, distances)], distances[0] > distances[1]
