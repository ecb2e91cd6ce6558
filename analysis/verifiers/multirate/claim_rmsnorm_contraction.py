"""Verify an argument that refutes a sentence of Section 11.2 of "Attention is just another name for coupling?".

Printed: the passes converge if Post is a contraction (plausible under RMSNorm). Read: a pre-norm layer, x -> x +
Attention(RMSNorm(x)) + MLP(RMSNorm(x)) or the two in sequence, is a contraction, with a constant L < 1.

Argument, for n tokens and any weights. |RMSNorm(x_i)| <= sqrt(d) max |g| with the gain g. Attention adds to a token,
for each head h, W_oh times a mean of W_vh RMSNorm(x_j) + b_vh over tokens, and a bias; the MLP adds W_2 gelu(W_1
RMSNorm(x) + b_1) + b_2, with |gelu(u)| <= |u|. Norms of matrices being at most Frobenius norms, the displacement of a
token by all layers is at most a number C, wherever the tokens are. Hence |Post(x) - Post(-x)| >= 2 |x| - 2 sqrt(n) C,
which is more than L 2 |x| as soon as |x| > sqrt(n) C / (1 - L): no constant L < 1 will do. The inequality is checked
for a list of L.
"""

import math
from fractions import Fraction

STATEMENT = "multirate/claim-rmsnorm-contraction"
WITNESS = {
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
}


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


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    n, C = int(witness["tokens"]), sum(map(displacement, witness["layers"]))
    yield "bound C of the displacement of a token", float(C), n >= 1 and C > 0
    for L, size in (map(Fraction, pair) for pair in witness["L and |x|"]):
        yield "a constant L of a contraction", float(L), 0 <= L < 1
        excess = 2 * size - 2 * above(n) * C - L * 2 * size
        yield f"at |x| = {float(size)}, |Post(x) - Post(-x)| - L |x - (-x)| is at least", float(excess), excess > 0
