"""Verify an instance that refutes a claim of Section 2.2 of "Attention is just another name for coupling?".

Printed: the full fast update is one forward-Euler step, (2), of two additive terms: the attention and MLP layers are
the state-dependent dynamics, the gated injection is the slow forcing, the only place where the slow context enters.
Read: a round maps x to x + F(x) + alpha proj(c), with x + F(x) = Post(x) for alpha = 0.

Instance: P = 2, three tokens, and Post a layer of causal attention with zero queries: token i is moved by the mean of W
RMSNorm(x_j), j <= i, with W = W_o W_v and RMSNorm(x) = x sqrt(d) / |x| without epsilon. Only the last token, of the
second block, gets an injected term p = alpha proj(c). By (15) and (16) Post acts on the state after the injection, so
that the round differs from the sum by W (RMSNorm(x_3 + p) - RMSNorm(x_3)) / 3 at the last token. This is not zero, and
it depends on the slow context. (The round is a splitting: a step of length alpha of the forcing, then those of the
layers.) The norms of the instance are rational.
"""

from fractions import Fraction

STATEMENT = "multirate/claim-euler-step"
WITNESS = {
    "W": [["1", "0", "0", "0"], ["0", "1", "0", "0"], ["1/2", "0", "1", "0"], ["0", "0", "0", "1"]],
    "tokens": [["0", "0", "3", "4"], ["1", "1", "1", "1"], ["3", "4", "0", "0"]],
    "norms": ["5", "2", "5"],
    "p": ["2", "8", "0", "0"],
    "norm of the last token and p": "13",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    W, tokens = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("W", "tokens"))
    p, norms = ([Fraction(v) for v in witness[name]] for name in ("p", "norms"))
    injected = [*tokens[:2], [a + b for a, b in zip(tokens[2], p, strict=True)]]
    later = [*norms[:2], Fraction(witness["norm of the last token and p"])]
    yield "three tokens of width d = 4, so that sqrt(d) = 2", (len(tokens), len(p)), len(tokens) == 3 and len(p) == 4
    for name, rows, sizes in (("x", tokens, norms), ("x + p", injected, later)):
        squares = [sum(v * v for v in row) for row in rows]
        fact = squares == [s * s for s in sizes] and min(sizes) > 0
        yield f"squared norms of the tokens {name}", [*map(str, squares)], fact

    def post(rows, sizes):
        mean = [sum(2 * row[k] / s for row, s in zip(rows, sizes, strict=True)) / 3 for k in range(4)]
        return [v + sum(a * m for a, m in zip(row, mean, strict=True)) for v, row in zip(rows[2], W, strict=True)]

    after, added = post(injected, later), [v + q for v, q in zip(post(tokens, norms), p, strict=True)]
    gap = [a - b for a, b in zip(after, added, strict=True)]
    yield "the last token after the round less the sum x + F(x) + alpha proj(c)", [*map(str, gap)], any(gap)
