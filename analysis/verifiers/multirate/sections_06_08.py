"""Verifiers of refuted statements of Sections 6 and 8 of "Attention is just another name for coupling?"."""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import column_sums
from analysis.verifiers.frames.script import verifies


@verifies("multirate/claim-causal-irreducible", {"A": [["1", "0", "0"], ["1/2", "1/2", "0"], ["1/6", "1/3", "1/2"]]})
def claim_causal_irreducible(witness):
    """Verify an instance that refutes a claim of "Attention is just another name for coupling?" (Sections 1, 7 and 8).

    Printed: attention is one transition of a Markov chain operating around the stationary distribution of Theorem 28,
    which is unique and positive for irreducible chains. Read: causal attention matrices have this irreducibility and
    this law.

    Instance: a causal attention matrix A of two or more tokens. Its first row is (1, 0, ..., 0): from the first token
    no other is accessible. A distribution p = p A has p_n = p_n A_nn with A_nn < 1 for the last token, hence p_n = 0:
    no stationary distribution is positive. (The only one is the unit mass on the first token.)
    """
    A = [[Fraction(v) for v in row] for row in witness["A"]]
    n = len(A)
    sums = [str(sum(row)) for row in A]
    yield "rows of A sum to one, for two or more tokens", sums, n > 1 and sums == ["1"] * n
    causal = all((A[i][j] > 0) == (j <= i) and A[i][j] >= 0 for i in range(n) for j in range(n))
    yield "A has positive weights exactly up to the diagonal", witness["A"], causal
    found = {0}
    for _ in A:
        found |= {j for i in found for j in range(n) if A[i][j] > 0}
    yield "tokens accessible from the first", sorted(found), found != {*range(n)}
    column = [str(A[i][-1]) for i in range(n)]
    yield (
        "last column, (0, ..., 0, A_nn) with A_nn < 1",
        column,
        A[-1][-1] < 1 and not any(A[i][-1] for i in range(n - 1)),
    )


@verifies("multirate/claim-attention-exponential", {"exponentials of the scores": [["1", "3"], ["3", "1"]]})
def claim_attention_exponential(witness):
    """Verify an instance that refutes a claim of Section 8 of "Attention is just another name for coupling?".

    Printed: self-attention with a row-stochastic matrix A is one application of a stochastic matrix, the integrated
    form e^{Q tau} of a generator Q. Read: every attention matrix A is e^{Q tau}.

    Instance: two tokens whose scores are 0 for themselves and log(k), k > 1, for each other, so that A is 1 / (1 + k)
    times ((1, k), (k, 1)). For every real Q and tau, det e^{Q tau} = e^{tau tr Q} > 0. But det A = (1 - k) / (1 + k) <
    0. (Nor is A the propagator of a time-dependent generator, whose determinant is positive too.)
    """
    raw = [[Fraction(v) for v in row] for row in witness["exponentials of the scores"]]
    least = min(v for row in raw for v in row)
    yield "exponentials of scores are positive: the least", least, least > 0
    A = [[v / sum(row) for v in row] for row in raw]
    yield (
        "A, the softmax of the rows, is row-stochastic",
        [[*map(str, row)] for row in A],
        all(sum(row) == 1 for row in A),
    )
    determinant = A[0][0] * A[1][1] - A[0][1] * A[1][0]
    yield "det A", determinant, determinant < 0


@verifies(
    "multirate/claim-attention-exponential/causal",
    {"A": [["1", "0", "0"], ["3/4", "1/4", "0"], ["1/9", "7/9", "1/9"]], "roots": ["1", "1/2", "1/3"]},
)
def claim_attention_exponential_causal(witness):
    """Verify an instance that refutes a reading of Section 8 of "Attention is just another name for coupling?".

    Printed: attention is the integrated form e^{Q tau} of a generator. Read: every causal attention matrix A is e^{Q
    tau} with Q a generator (off-diagonal entries >= 0, rows of sum zero).

    Instance: three causal tokens, with squares 1, 1/m^2, 1/q^2 on the diagonal of A, m != q, all greater than zero.

    Argument. If A = e^{Q tau}, then B = e^{Q tau / 2} is stochastic and B B = A. A has distinct real eigenvalues, and Q
    commutes with A: Q is a polynomial in A and lower triangular with a real diagonal, and B is lower triangular with a
    positive diagonal. The only such B with B B = A is found entry by entry; its entry (3, 1) is negative.
    """
    A, b = [[Fraction(v) for v in row] for row in witness["A"]], [Fraction(v) for v in witness["roots"]]
    sums = [str(sum(row)) for row in A]
    yield "rows of A sum to one", sums, sums == ["1"] * 3
    lower = [A[i][j] for i in range(3) for j in range(i + 1)]
    yield (
        "A is causal, with positive entries up to the diagonal: the least",
        min(lower),
        (min(lower) > 0 and A[0][1] == A[0][2] == A[1][2] == 0),
    )
    fact = all(s > 0 and s * s == A[i][i] for i, s in enumerate(b))
    yield "positive roots of the diagonal, all different", witness["roots"], fact and len({*b}) == 3
    B21, B32 = A[1][0] / (b[0] + b[1]), A[2][1] / (b[1] + b[2])
    B31 = (A[2][0] - B32 * B21) / (b[0] + b[2])
    B = [[b[0], 0, 0], [B21, b[1], 0], [B31, B32, b[2]]]
    square = [[sum(B[i][k] * B[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    yield "the half step B with B B = A", [[*map(str, row)] for row in B], square == A
    yield "its entry (3, 1) is negative", B31, B31 < 0


@verifies(
    "multirate/claim-lumpability/one-start",
    {"M": [["1/8", "1/2", "1/4"], ["3/8", "1/4", "1/4"], ["1/2", "1/4", "1/2"]], "p": ["1/4", "1/4", "1/2"]},
)
def claim_lumpability_one_start(witness):
    """Verify an instance that refutes a reading of Section 8 of "Attention is just another name for coupling?".

    Printed: exact lumpability of a Markov chain requires the Kemeny-Snell conditions. Read: if the blocks are a Markov
    chain for some initial distribution, the conditions hold. (For all initial distributions they are necessary.)

    Instance: three states, blocks {1, 2} and {3}, a column-stochastic M and an initial distribution p that is uniform
    within the blocks. M maps the uniform distribution on each block to one that is uniform within the blocks: given any
    path of blocks, the state remains uniform within the last block, and the next block has probabilities that depend on
    the last one only. But states 1 and 2 reach block {3} with different probabilities, which the conditions exclude.
    """
    M, p = [[Fraction(v) for v in row] for row in witness["M"]], [Fraction(v) for v in witness["p"]]
    sums = [str(sum(row[j] for row in M)) for j in range(3)]
    least = min(v for row in M for v in row)
    yield "columns of M sum to one, entries are positive", (sums, str(least)), sums == ["1"] * 3 and least > 0
    yield "p is a distribution, uniform within the blocks", witness["p"], sum(p) == 1 and min(p) >= 0 and p[0] == p[1]
    for block in ([0, 1], [2]):
        image = [sum(row[j] for j in block) / len(block) for row in M]
        yield (
            f"the image of the uniform distribution on states {[i + 1 for i in block]} is uniform within the blocks",
            ([*map(str, image)]),
            image[0] == image[1],
        )
    exits = M[2][0], M[2][1]
    yield "probabilities of block {3} from states 1 and 2, which differ", [*map(str, exits)], exits[0] != exits[1]


@verifies(
    "multirate/remark-32",
    {"A": [["1/3", "2/3"], ["1/2", "1/2"]], "p_st": ["3/7", "4/7"], "another equilibrium": ["6/7", "8/7"]},
)
def remark_32(witness):
    """Verify an instance that refutes Remark 32 (1) of "Attention is just another name for coupling?", read literally.

    Printed: under the generator-structure assumption the QSS manifold is the stationary distribution. (Theorem 28,
    which the remark summarises, adds irreducibility and, in its last clause, mass one.)

    Instance: weights A of attention without a mask, and their generator Q = A^T - I, which has the structure. With p_st
    all its multiples are equilibria of x' = Q x.
    """
    A = [[Fraction(v) for v in row] for row in witness["A"]]
    n, least = len(A), min(v for row in A for v in row)
    sums = [str(sum(row)) for row in A]
    yield "A is attention without a mask: least weight", least, least > 0
    yield "its rows sum to one", sums, sums == ["1"] * n
    Q = [[A[j][i] - (i == j) for j in range(n)] for i in range(n)]
    rates = [Q[i][j] for i in range(n) for j in range(n) if i != j]
    yield (
        "Q = A^T - I is a generator: least rate",
        min(rates),
        min(rates) >= 0 and not any(map(sum, zip(*Q, strict=True))),
    )
    p, x = ([Fraction(v) for v in witness[name]] for name in ("p_st", "another equilibrium"))
    yield "p_st is a distribution", witness["p_st"], sum(p) == 1 and min(p) >= 0
    for name, y in (("p_st", p), ("the other point", x)):
        field = [sum(a * b for a, b in zip(row, y, strict=True)) for row in Q]
        yield f"the field at {name}", [*map(str, field)], not any(field)
    yield "they differ", witness["another equilibrium"], x != p


@verifies(
    "multirate/claim-h-theorem/strict",
    {
        "Q": [["-1", "2", "0", "0"], ["1", "-2", "0", "0"], ["0", "0", "-3", "1"], ["0", "0", "3", "-1"]],
        "p_st": ["1/3", "1/6", "1/8", "3/8"],
        "p": ["2/9", "1/9", "1/6", "1/2"],
    },
)
def claim_h_theorem_strict(witness):
    """Verify an instance that refutes a reading of Section 6.1 of "Attention is just another name for coupling?".

    Printed: for a generator Q and a stationary distribution p_st the relative entropy D(p || p_st) is a Lyapunov
    function of p' = Q p, dD/dt <= 0. Read: it decreases strictly wherever p is not p_st, for every generator. (For
    irreducible Q it does; that it does not increase is always true.)

    Instance: two closed classes. Another stationary distribution p with the same support is an equilibrium: D is
    finite, constant along this solution, and positive.
    """
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    yield from column_sums(Q)
    for name in ("p_st", "p"):
        x = [Fraction(v) for v in witness[name]]
        field = [sum(a * b for a, b in zip(row, x, strict=True)) for row in Q]
        yield (
            f"{name} is a positive distribution and Q {name} = 0",
            [*map(str, field)],
            (sum(x) == 1 and min(x) > 0 and not any(field)),
        )
    gap = max(abs(Fraction(a) - Fraction(b)) for a, b in zip(witness["p_st"], witness["p"], strict=True))
    yield "p is not p_st, hence D > 0: largest difference", gap, gap > 0
