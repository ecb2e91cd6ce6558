"""Verify an instance that refutes a sentence in the proof of Theorem 4.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: V = max_i (1 - v.y_i), (13), is a strict Lyapunov function for the consensus set of the open hemisphere of v.
A strict Lyapunov function for a set is constant on the set, where it is least, and larger elsewhere. (What remains true
is that V decreases strictly off the set.)

Instance: two points of the consensus set, with W = I. V is zero at (v, ..., v) and positive at (u, ..., u) for every
other u in the hemisphere.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "consensus/theorem-4.1-lyapunov"
WITNESS = {"v": ["1", "0"], "u": ["3/5", "4/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    v, u = ([Fraction(x) for x in witness[name]] for name in ("v", "u"))
    norms = [str(dot(v, v)), str(dot(u, u))]
    yield "|v|^2 and |u|^2", norms, norms == ["1", "1"]
    yield "u is in the open hemisphere: v.u", dot(v, u), dot(v, u) > 0
    values = [1 - dot(v, v), 1 - dot(v, u)]
    yield "V at (v, ..., v) and at (u, ..., u), which differ", [*map(str, values)], values[0] != values[1]
