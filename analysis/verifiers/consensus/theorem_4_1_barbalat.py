"""Verify an instance that refutes a step in the proof of Theorem 4.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: the upper Dini derivative of V = max_i V_i, V_i = 1 - v.y_i, (13), is uniformly continuous along solutions of
(11) on [0, oo[, as a minimum of bounded and uniformly continuous functions.

Instance: three tokens in the open hemisphere of v, W = I, one head, P = 0, two of which attain the maximum with
different derivatives V_i'. The minimum in the proof is over the active indices, which change at this state.

Argument. All weights are 1 / (l sqrt(n+1)), and V_i' = -sum_j (v.y_j - (y_i.y_j) v.y_i) / (l sqrt(n+1)). Take the
solution through this state at a small time t_0 > 0, with tokens in the open hemisphere from time 0. Before t_0 the one
of the two indices with the smaller derivative is active alone, after t_0 the one with the larger: the Dini derivative
jumps at t_0 by the difference, and is not continuous.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "consensus/theorem-4.1-barbalat"
WITNESS = {"v": ["1", "0", "0"], "tokens": [["3/5", "4/5", "0"], ["3/5", "12/25", "-16/25"], ["12/13", "5/13", "0"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    v, tokens = [Fraction(x) for x in witness["v"]], [[Fraction(x) for x in row] for row in witness["tokens"]]
    norms = [str(dot(y, y)) for y in [v, *tokens]]
    yield "squared norms of v and the tokens", norms, norms == ["1"] * len(norms)
    heights = [dot(v, y) for y in tokens]
    yield "tokens are in the open hemisphere: v.y_i", [*map(str, heights)], min(heights) > 0
    yield "tokens 1 and 2 alone attain V: least v.y_i", str(heights[0]), heights[0] == heights[1] < min(heights[2:])
    rates = [-sum(dot(v, z) - dot(y, z) * dot(v, y) for z in tokens) for y in tokens[:2]]
    yield "l sqrt(n+1) V_i' for i = 1, 2, which differ", [*map(str, rates)], rates[0] != rates[1]
