"""Verify an instance that refutes (12) of Rodriguez Abella, Silvestre and Tabuada for infinite families.

Printed: for a family of continuously differentiable functions f_i, i in I, and f = max_i f_i, the upper Dini derivative
of f at t is the largest derivative at t of the f_i with f_i(t) = f(t). Read for any index set I for which the maximum
exists. (For finitely many f_i, as in the paper's use, it holds; and for a compact I, if f_i and f_i' are continuous
in i and t together.)

Instance: f_0 = 0 and f_i(t) = 4 t - 1/i - i t^2, i = 1, 2, ..., at t = 0. The maximum exists for every t, since f_i(t)
tends to -oo for t > 0 and f_i(0) = -1/i < 0. Only f_0 is active at 0, with the derivative 0. But f(1/k) >= f_k(1/k) =
2/k for all k: the upper Dini derivative at 0 is at least 2.
"""

from fractions import Fraction

STATEMENT = "consensus/equation-12/infinite-family"
WITNESS = {"slope": "4", "k": [1, 10, 1000, 1000000]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    slope = Fraction(witness["slope"])
    member = lambda i, t: slope * t - Fraction(1, i) - i * t * t
    for k in witness["k"]:
        yield f"f_{k} is not active at 0: f_{k}(0)", member(k, 0), member(k, 0) < 0
        quotient = member(k, Fraction(1, k)) * k
        yield f"a lower bound of (f(1/{k}) - f(0)) / (1/{k}), above the derivative 0 of f_0", quotient, quotient > 0
        yield "it is slope - 2, for every k", slope - 2, quotient == slope - 2
