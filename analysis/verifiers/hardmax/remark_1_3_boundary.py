"""Verify an instance that refutes a reading of Remark 1.3 of Alcalde, Fantuzzi and Zuazua.

Printed: if a token value is initially zero, Theorem 1.1 still holds provided that one adds the origin to the set S, a
finite subset of the boundary of the polytope K. Read: Theorem 1.1 with S and the origin in place of S, its inclusion in
the boundary of K included. (That every token converges to S or to the origin is true; only the inclusion fails.)

Instance: the remark's own example, the tokens -1, -1/2, 0, 1/2, 1 on the line with A = I and alpha > 0.

Argument. The tokens 1 and -1 follow themselves, 1/2 follows 1, -1/2 follows -1, and 0 follows all tokens, whose mean is
0. One layer multiplies the distances of the second and the fourth token from -1 and 1 by r = 1 / (1 + alpha): this is
the state (-1, -1 + x, 0, 1 - x, 1) with 0 < x < 1 again, x multiplied by r. By induction on layers z_1, z_3 and z_5
never move, K = [-1, 1], and z_3 = 0 converges to 0: the added origin must be kept, and it is interior to K.
"""

from fractions import Fraction

STATEMENT = "hardmax/remark-1.3/boundary"
WITNESS = {"tokens": [["-1"], ["-1/2"], ["0"], ["1/2"], ["1"]], "alpha": "1/2", "layers": 8}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, alpha = [Fraction(v) for (v,) in witness["tokens"]], Fraction(witness["alpha"])
    r, n = 1 / (1 + alpha), range(len(z))
    yield "alpha > 0, hence r = 1 / (1 + alpha) is in (0, 1)", r, alpha > 0 and 0 < r < 1
    yield "tokens are distinct, one is zero", witness["tokens"], len({*z}) == len(z) == 5 and z[2] == 0
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        x = 1 - z[3]
        yield (
            f"layer {k} is (-1, -1 + x, 0, 1 - x, 1) with 0 < x < 1: x",
            float(x),
            z == [-1, x - 1, 0, 1 - x, 1] and 0 < x < 1,
        )
        followed = [[j for j in n if z[i] * z[j] == max(z[i] * w for w in z)] for i in n]
        yield "follower sets", followed, followed == [[0], [0], [0, 1, 2, 3, 4], [4], [4]]
        z = [r * z[i] + (1 - r) * sum(z[j] for j in followed[i]) / len(followed[i]) for i in n]
        yield "in the next layer x is multiplied by r", float(1 - z[3]), 1 - z[3] == r * x
    yield "the origin is interior to K = [-1, 1]", (str(z[0]), str(z[4])), z[0] < 0 < z[4]
