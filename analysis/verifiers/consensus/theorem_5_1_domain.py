"""Verify an instance that refutes the domain of attraction in Theorem 5.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for bounded P_h(t) the domain of attraction of the consensus set of (15) contains every initial condition with
y_j != -y_1 for all j >= 2.

Instance: three tokens on the circle (or on a great circle of S^n, which is invariant), one head, P = 0, and a second
token y_2 other than y_1 and -y_1. Some y_3 on the open arc from -y_1 to -(y_1 + y_2) / |y_1 + y_2|, hence y_3 != -y_1,
does not reach consensus.

Argument. With P = 0 the weights of a token are equal, so that (15) is, up to positive factors, y_2' = y_1 - (y_1.y_2)
y_2 and y_3' = (y_1 + y_2) - (y_3.(y_1 + y_2)) y_3. Measure angles from y_1, with y_2 at an angle in (0, pi):
(a) the angle of y_2 decreases to 0 and stays positive, so the direction m of y_1 + y_2, at half that angle, turns back;
(b) at y_3 = -y_1 the angle of y_3 decreases: a solution that has fallen below the angle pi stays below it;
(c) at y_3 = -m the angle of y_3 has derivative 0 while that of -m decreases: a solution above -m stays above it.
The sets of initial y_3 on the closed arc from -y_1 to -m that come to lie below pi, or above -m, are open by (b), (c)
and continuity, disjoint, and contain one end of the arc each. The arc is connected, so some y_3 is in neither: its
solution stays between -y_1 and -m for all t, and m -> y_1 takes it to -y_1. It never approaches y_1 = lim y_2.

The signs in (a)-(c) are checked for every position of y_2 on the open half-circle: with s > 0, m = (1 + 2 s, 2 s +
2 s^2) / (1 + 2 s + 2 s^2) runs through all angles in (0, pi/2); a polynomial in s whose coefficients are nonnegative
and not all zero is positive.
"""

from fractions import Fraction

from analysis.verifiers.frames.polynomials import product

STATEMENT = "consensus/theorem-5.1-domain"
WITNESS = {"y1": ["1", "0"], "y2": ["-3/5", "4/5"], "P": [["0", "0"], ["0", "0"]]}


def total(*terms):
    """The sum of polynomials."""
    return [sum(p[k] for p in terms if k < len(p)) for k in range(max(map(len, terms)))]


def positive(p):
    """Whether a polynomial has nonnegative coefficients that are not all zero."""
    return min(p) >= 0 < max(p)


def cross(u, v):
    """The cross product of two plane vectors of polynomials: the derivative of the angle of u if u' = v."""
    return total(product(u[0], v[1]), product([-1], product(u[1], v[0])))


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y1, y2 = ([Fraction(v) for v in witness[name]] for name in ("y1", "y2"))
    yield (
        "|y_1|^2 and |y_2|^2 are 1",
        (str(y1[0] ** 2 + y1[1] ** 2), str(y2[0] ** 2 + y2[1] ** 2)),
        all(y[0] ** 2 + y[1] ** 2 == 1 for y in (y1, y2)),
    )
    yield (
        "P = 0, which makes the weights equal",
        witness["P"],
        all(Fraction(v) == 0 for row in witness["P"] for v in row),
    )
    turn = y1[0] * y2[1] - y1[1] * y2[0]
    yield "y_2 is at an angle in (0, pi) from y_1: y_1 x y_2 > 0", turn, turn > 0
    # m = (c, t) / N and y_2 = (c^2 - t^2, 2 c t) / N^2 in the frame of y_1; all vectors below are multiplied by N^2
    c, t, N = [1, 2], [0, 2, 2], [1, 2, 2]
    one = product(N, N)
    same = total(product(c, c), product(t, t), product([-1], one))
    yield "m is a unit vector: c^2 + t^2 - N^2 = 0", same, not any(same)
    first, second = (one, [0]), (total(product(c, c), product([-1], product(t, t))), product([2], product(c, t)))
    drive = tuple(total(u, v) for u, v in zip(first, second, strict=True))
    rate = product([-1], cross(second, first))
    yield "(a) the angle of y_2 decreases: coefficients of minus its rate", rate, positive(rate)
    rate = product([-1], cross(([-1], [0]), drive))
    yield "(b) at -y_1 the angle of y_3 decreases: coefficients of minus its rate", rate, positive(rate)
    rate = cross((product([-1], c), product([-1], t)), drive)
    yield "(c) at -m the rate of the angle of y_3 is zero", rate, not any(rate)
    yield "the arc from -y_1 to -m has positive length: coefficients of the sine", t, positive(t)
