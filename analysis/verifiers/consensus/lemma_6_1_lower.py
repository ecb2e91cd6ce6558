"""Verify an instance that refutes part (2) of Lemma 6.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: a unit eigenvector y* of U for an eigenvalue below the top one is unstable for (22) with empty domain of
attraction. Read: no solution other than y* itself converges to y*.

Instance: U = diag(u_1, u_2, u_3) with u_1 > u_2 > u_3, y* = e_2 and a start on the circle y_1 = 0, other than y*.

Argument. In coordinates (22) is y_k' = a(t) (u_k - q) y_k with q = y.U y. So y_1 = 0 is invariant, y_2 keeps its sign,
and the ratio r = y_3 / y_2 obeys r' = -a(t) (u_2 - u_3) r with a(t) >= c > 0: it tends to 0 whatever a(t) is. On the
circle y_1 = 0 with y_2 > 0 this means that y converges to e_2 = y*.
"""

from fractions import Fraction

STATEMENT = "consensus/lemma-6.1-lower"
WITNESS = {"U": ["3", "2", "1"], "start": ["0", "4/5", "3/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    u, y = ([Fraction(x) for x in witness[name]] for name in ("U", "start"))
    norm, q = sum(v * v for v in y), sum(a * v * v for a, v in zip(u, y, strict=True))
    yield (
        "the top eigenvalue is simple, and y* = e_2 belongs to a lower one: eigenvalues",
        witness["U"],
        u[0] > max(u[1:]),
    )
    yield "the start is on the sphere: |y|^2", norm, norm == 1
    yield "it is not y*: y_3", y[2], y[2] != 0
    yield "it is in the half-space of y*: y_2", y[1], y[1] > 0
    field = [(a - q) * v for a, v in zip(u, y, strict=True)]
    tangent = sum(f * v for f, v in zip(field, y, strict=True))
    yield "the field is tangent: y.y'", tangent, tangent == 0
    yield "the circle y_1 = 0 is invariant: y_1 and y_1'", (str(y[0]), str(field[0])), y[0] == 0 == field[0]
    ratio, rate = y[2] / y[1], (field[2] * y[1] - y[2] * field[1]) / y[1] ** 2
    yield "r' / (a r) = u_3 - u_2 at the start", rate / ratio if ratio else 0, rate == (u[2] - u[1]) * ratio
    yield "r tends to 0: u_2 - u_3", u[1] - u[2], u[1] > u[2]
