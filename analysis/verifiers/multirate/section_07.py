"""Verifiers of refuted statements of Section 7 of "Attention is just another name for coupling?"."""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import column_sums
from analysis.verifiers.frames.script import verifies


@verifies(
    "multirate/theorem-28-iii-euler/at-the-bound",
    {"Q": [["-2", "0", "2"], ["2", "-2", "0"], ["0", "2", "-2"]], "tau": "1/2"},
)
def theorem_28_iii_euler_at_the_bound(witness):
    """Verify an instance that refutes a reading of Theorem 28 (iii) of "Attention is just another name for coupling?".

    Printed: for irreducible Q the forward-Euler iterates (I + tau Q)^n p tend to the stationary distribution for every
    distribution p, for tau below the bound 1 / max |Q_jj|. Read: also at the bound. (The printed bound is lost in the
    extracted text; below it the statement holds.)

    Instance: a directed cycle with equal rates. At the bound I + tau Q is a cyclic permutation: its iterates of a unit
    mass are periodic and stay at a fixed distance from the stationary distribution.
    """
    Q, tau = [[Fraction(v) for v in row] for row in witness["Q"]], Fraction(witness["tau"])
    n = range(len(Q))
    sums = [str(sum(Q[i][j] for i in n)) for j in n]
    least = min(Q[i][j] for i in n for j in n if i != j)
    yield "Q is a generator: column sums", sums, sums == ["0"] * len(Q) and least >= 0
    found = {0}
    for _ in n:
        found |= {i for j in found for i in n if Q[i][j] > 0}
    back = all(Q[(j + 1) % len(Q)][j] > 0 for j in n)
    yield "Q is irreducible: states accessible around the cycle", sorted(found), back and found == {*n}
    bound = 1 / max(abs(Q[j][j]) for j in n)
    yield "tau is at the bound", bound, tau == bound
    stationary, start = [Fraction(1, len(Q))] * len(Q), [Fraction(int(i == 0)) for i in n]
    field = [sum(a * b for a, b in zip(row, stationary, strict=True)) for row in Q]
    yield "the uniform distribution is stationary", [*map(str, field)], not any(field)
    p = start
    for _ in n:
        p = [v + tau * sum(a * b for a, b in zip(row, p, strict=True)) for v, row in zip(p, Q, strict=True)]
    gap = max(abs(v - w) for v, w in zip(p, stationary, strict=True))
    yield f"after {len(Q)} steps the unit mass is back, at the same distance", gap, p == start and gap > 0


@verifies(
    "multirate/claim-qss-equals-stationary",
    {"Q": [["-1", "2"], ["1", "-2"]], "p_st": ["2/3", "1/3"], "another equilibrium": ["4/3", "2/3"]},
)
def claim_qss_equals_stationary(witness):
    """Verify an instance that refutes a sentence of "Attention is just another name for coupling?" (Sections 1, 7, 12).

    Printed: under the linear generator assumption x' = Q x the equilibrium manifold of the fast dynamics is exactly the
    stationary distribution p_st. (Theorem 28 itself adds irreducibility and, in its last clause, mass one.)

    Instance: any generator Q. With p_st all its multiples are equilibria, 0 and 2 p_st among them: the set is a
    subspace.
    """
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    yield from column_sums(Q)
    p, x = ([Fraction(v) for v in witness[name]] for name in ("p_st", "another equilibrium"))
    yield "p_st is a distribution", witness["p_st"], sum(p) == 1 and min(p) >= 0
    for name, y in (("p_st", p), ("the other point", x)):
        field = [sum(a * b for a, b in zip(row, y, strict=True)) for row in Q]
        yield f"the field at {name}", [*map(str, field)], not any(field)
    yield "they differ", witness["another equilibrium"], x != p


@verifies(
    "multirate/claim-qss-equals-stationary/distributions",
    {
        "Q": [["-1", "2", "0", "0"], ["1", "-2", "0", "0"], ["0", "0", "-3", "1"], ["0", "0", "3", "-1"]],
        "distributions": [["2/3", "1/3", "0", "0"], ["0", "0", "1/4", "3/4"]],
    },
)
def claim_qss_equals_stationary_distributions(witness):
    """Verify an instance that refutes a reading of "Attention is just another name for coupling?" (Sections 1, 7, 12).

    Printed: under the linear generator assumption x' = Q x the equilibrium of the fast dynamics is exactly the
    stationary distribution p_st. Read: among distributions, a set that is invariant, p_st is the only equilibrium.

    Instance: a generator with two closed classes, which has two stationary distributions, and a segment between them.
    """
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    yield from column_sums(Q)
    found = [[Fraction(v) for v in p] for p in witness["distributions"]]
    for p in found:
        field = [sum(a * b for a, b in zip(row, p, strict=True)) for row in Q]
        yield (
            f"{[*map(str, p)]} is a distribution, and the field there is",
            [*map(str, field)],
            (sum(p) == 1 and min(p) >= 0 and not any(field)),
        )
    yield "the number of different stationary distributions", len({*map(tuple, found)}), len({*map(tuple, found)}) > 1


@verifies(
    "multirate/remark-30-column-sums/every-map",
    {"J": [["-1", "-1/4", "1"], ["1/2", "3/4", "1"], ["1/2", "-1/2", "-2"]], "tau": "1/4"},
)
def remark_30_column_sums_every_map(witness):
    """Verify an instance that refutes a reading of Remark 30 of "Attention is just another name for coupling?".

    Printed: the linearised one-step map I + tau J of a trained block has column sums that would be expected to differ
    from 1, since the block is not a generator. Read: whenever J is not a generator (off-diagonal entries >= 0, columns
    of sum zero). (For almost every J it is so.)

    Instance: J with columns of sum zero and a negative rate. Column sums of 1 mean conservation, not nonnegative rates.
    """
    J, tau = [[Fraction(v) for v in row] for row in witness["J"]], Fraction(witness["tau"])
    n = range(len(J))
    yield "tau > 0", tau, tau > 0
    least = min(J[i][j] for i in n for j in n if i != j)
    yield "J is not a generator: its least rate", least, least < 0
    sums = [str(sum((i == j) + tau * J[i][j] for i in n)) for j in n]
    yield "column sums of I + tau J", sums, sums == ["1"] * len(J)


@verifies(
    "multirate/remark-30-fixed-point",
    {
        "M": [["3/4", "0"], ["0", "1/4"]],
        "b": ["1", "1"],
        "eigenvectors": [["1", "0"], ["0", "1"]],
        "eigenvalues": ["3/4", "1/4"],
        "fixed point": ["4", "4/3"],
    },
)
def remark_30_fixed_point(witness):
    """Verify an instance that refutes a sentence of Remark 30 of "Attention is just another name for coupling?".

    Printed: the fixed point of the trained network, which is not a generator, is a least-contracting eigendirection
    rather than a stationary distribution. Read for a one-step map that is a contraction with a fixed point.

    Instance: an affine map x -> M x + b. Its fixed point (I - M)^{-1} b is not an eigenvector of the eigenvalue of
    largest modulus, the least-contracting eigendirection. (That is the direction from which generic iterates approach
    the fixed point. For b = 0 a contraction has only the fixed point 0, which is no direction.)
    """
    M, vectors = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("M", "eigenvectors"))
    b, values, x = ([Fraction(v) for v in witness[name]] for name in ("b", "eigenvalues", "fixed point"))
    apply = lambda y: [sum(m * v for m, v in zip(row, y, strict=True)) for row in M]
    pairs = [*zip(values, vectors, strict=True)]
    fact = all(any(v) and apply(v) == [value * e for e in v] for value, v in pairs)
    yield (
        "eigenvalues of M, all different, with eigenvectors",
        witness["eigenvalues"],
        fact and len({*values}) == len(M),
    )
    sizes = [abs(value) for value in values]
    yield "iterates converge: the largest modulus, that of the first alone", sizes[0], max(sizes[1:]) < sizes[0] < 1
    sums = [str(sum(column)) for column in zip(*M, strict=True)]
    yield "the one-step map is not stochastic: column sums of M, and b", sums, {*sums} != {"1"} or any(b)
    gap = [m + c - v for m, v, c in zip(apply(x), x, b, strict=True)]
    yield "x is the fixed point: M x + b - x", [*map(str, gap)], any(x) and not any(gap)
    away = [m - values[0] * v for m, v in zip(apply(x), x, strict=True)]
    yield "x is no eigenvector of the first: M x less its multiple", [*map(str, away)], any(away)
