"""Verify an instance that refutes one half of Proposition 5.3 of Alcalde, Fantuzzi and Zuazua.

Printed: token z_i is a leader (C_i(Z^k) = {i} for some k) if its limiting value is a vertex of the polytope K.

Instance: two tokens 0 < z_1 < z_2 on the line, A = I, any alpha > 0.

Argument. As long as 0 < z_1 < z_2, <z_1, z_2> > <z_1, z_1> and <z_2, z_2> > <z_2, z_1>: both follow token 2 alone. Then
z_2 stays and z_2 - z_1 is multiplied by r = 1 / (1 + alpha) in (0, 1), so that 0 < z_1 < z_2 again. By induction
C_1 = {2} in every layer: z_1 is no leader. But z_1 tends to z_2, and K, the intersection of the intervals [z_1, z_2],
is the point z_2, which is its vertex. (A token that attains a vertex is a leader; the limit is not attained here.)

The induction step is checked on the first layers, in exact arithmetic, and by the sign of r for all others.
"""

from fractions import Fraction

STATEMENT = "hardmax/proposition-5.3-if"
WITNESS = {"tokens": [["1"], ["2"]], "alpha": "1/2", "layers": 8}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, alpha = [Fraction(v) for (v,) in witness["tokens"]], Fraction(witness["alpha"])
    r = 1 / (1 + alpha)
    yield "alpha > 0, hence r = 1 / (1 + alpha) is in (0, 1)", r, alpha > 0 and 0 < r < 1
    yield "tokens are nonzero and distinct, 0 < z_1 < z_2", witness["tokens"], len(z) == 2 and 0 < z[0] < z[1]
    yield "at least one layer is checked", witness["layers"], witness["layers"] >= 1
    for k in range(witness["layers"]):
        followed = [[j for j in (0, 1) if z[i] * z[j] == max(z[i] * w for w in z)] for i in (0, 1)]
        after = [r * z[i] + (1 - r) * sum(z[j] for j in followed[i]) / len(followed[i]) for i in (0, 1)]
        fact = followed == [[1], [1]] and after[1] == z[1] and z[1] - after[0] == r * (z[1] - z[0]) > 0
        yield f"layer {k}: both follow token 2, and the distance z_2 - z_1 shrinks by r", float(z[1] - z[0]), fact
        z = after
