"""Verifiers of refuted statements of Section 9 of "DDCL-INCRT"."""

from fractions import Fraction

from analysis.verifiers.frames.assignments import activity, exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix, squared_distance
from analysis.verifiers.frames.residuals import last_gap, values_and_thresholds
from analysis.verifiers.frames.script import verifies
from analysis.verifiers.frames.separation import separation_force


def last_head(witness):
    """Yield the check that the last head has Gamma < phi_g < theta_w; return its z, P and b, and phi_g."""
    values, phi, theta = values_and_thresholds(witness)
    square, small = last_gap(values, phi, theta)
    yield "Gamma < phi_g < theta_w < every value of M_a: Gamma^2", float(square), small
    return matrix(witness["z"]), matrix(witness["P"][-1]), Fraction(witness["b"][-1]), phi


WITNESS_1 = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["1", "0"], ["-1", "1"], ["0", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["2000000", "1000000", "1"],
    "phi_g": "1/1000000",
    "theta_w": "1/2",
}


@verifies("growing/lemma-15/bound", WITNESS_1)
def lemma_15_bound(witness):
    """Verify an instance that refutes (36) of Lemma 15 of "DDCL-INCRT".

    Printed: if Gamma < phi_g then sigma <= C phi_g S(P). Read: with C at most 1000. Gamma = |B u|, B = M_a / |M_a|_F,
    is s / sqrt(2 sum s^2) for the head of the pair of value s, here the last. It depends on M_a alone, and what the
    layer is made of does not depend on M_a.
    """
    z, p, b, phi = yield from last_head(witness)
    S = min(squared_distance(x, y) for i, x in enumerate(p) for y in p[:i])
    yield "T = 1 / log b is positive, and S(P) too", str(S), b > 1 and S > 0
    sigma = activity(z, p, exact_assignments(z, p, b))
    yield "sigma exceeds 1000 phi_g S(P)", float(sigma), sigma > 1000 * phi * S


@verifies(
    "growing/lemma-15/algorithm",
    {
        "z": [["0", "0"], ["1", "0"]],
        "p": [["0", "0"], ["0", "1/8"], ["1", "1"]],
        "b": "65/64",
        "spacing": "1/8",
        "phi_g": "1/32",
        "theta_w": "1/2",
    },
)
def lemma_15_algorithm(witness):
    """Verify an instance that refutes (36) of Lemma 15 of "DDCL-INCRT" for the rule of the Algorithm.

    Read: if S(P), the least squared distance of two prototypes, is below phi_g < theta_w, then sigma is at most phi_g
    times the mean over n of max_k |z_n - p_k|^2. Instance: two prototypes near each other and a third one far away.
    """
    z, p = matrix(witness["z"]), matrix(witness["p"])
    b, h, phi, theta = (Fraction(witness[name]) for name in ("b", "spacing", "phi_g", "theta_w"))
    S = min(squared_distance(x, y) for i, x in enumerate(p) for y in p[:i])
    yield "0 < S(P) < phi_g < theta_w", str(S), 0 < S < phi < theta and b > 1
    farthest = sum(max(squared_distance(x, y) for y in p) for x in z) / len(z)
    sigma = activity(z, p, exact_assignments(z, p, b, h))
    yield "sigma over its bound exceeds one", float(sigma / (phi * farthest)), sigma > phi * farthest


@verifies("growing/lemma-16", WITNESS_1)
def lemma_16(witness):
    """Printed: if Gamma < phi_g for a head, its F_sep is O(phi_g^2). Read: with a constant of at most 10^9. Gamma = |B
    u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s, here the last. It depends on M_a
    alone, and what the layer is made of does not depend on M_a.
    """
    z, p, b, phi = yield from last_head(witness)
    yield "T = 1 / log b is positive, and prototypes differ", str(b), b > 1 and len({tuple(x) for x in p}) == len(p)
    F = separation_force(exact_assignments(z, p, b), p)
    yield "F_sep exceeds 10^9 phi_g^2", str(F), 10**9 * phi**2 < F


WITNESS_2 = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["2", "0"], ["-1", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["2000000", "1000000", "1"],
    "phi_g": "1/1000000",
    "theta_w": "1/2",
}


def forces_of_a_layer(witness):
    """Yield the checks that the last head has Gamma < phi_g and that bases are positive; return F_sep, and phi_g."""
    z, banks, bases = matrix(witness["z"]), [matrix(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    values, phi, theta = values_and_thresholds(witness)
    square, small = last_gap(values, phi, theta)
    yield "Gamma of the last head < phi_g < theta_w < every value of M_a: Gamma^2", float(square), small
    heads = len(banks) == len(bases) == len(values)
    fit = heads and min(bases) > 1
    yield "each T = 1 / log b is positive, and there is a head for each value", [str(b) for b in bases], fit
    return [separation_force(exact_assignments(z, p, b), p) for p, b in zip(banks, bases, strict=True)], phi


@verifies("growing/theorem-6-ii", WITNESS_2)
def theorem_6_ii(witness):
    """Printed: pruning a head of Gamma < phi_g lowers the sum of F_sep by at most O(phi_g^2). Read: with a constant of
    at most 10^9. Gamma = |B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s, here the
    last. It depends on M_a alone, and what the layer is made of does not depend on M_a.
    """
    forces, phi = yield from forces_of_a_layer(witness)
    fall = sum(forces) - sum(forces[:-1])
    yield "the sum of forces falls by more than 10^9 phi_g^2", str(fall), fall > 10**9 * phi**2


@verifies("growing/corollary-8", WITNESS_2)
def corollary_8(witness):
    """Printed: pruning a head of Gamma < phi_g, F_red / (H - 1) >= F_full / H - O(phi_g^2 / (H - 1)). Read: with a
    constant of at most 10^9. Gamma = |B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value
    s, here the last. It depends on M_a alone, and what the layer is made of does not depend on M_a.
    """
    forces, phi = yield from forces_of_a_layer(witness)
    H = len(forces)
    fall = sum(forces) / H - sum(forces[:-1]) / (H - 1)
    yield "the mean force falls by more than 10^9 phi_g^2 / (H - 1)", str(fall), fall > 10**9 * phi**2 / (H - 1)


@verifies(
    "growing/theorem-6-iii",
    {"z": [["0"]], "P": [[["1"], ["0"]], [["0"], ["1"]], [["2"], ["-1"]]], "b": ["2", "2", "2"]},
)
def theorem_6_iii(witness):
    """Printed: at a pruning the relative weight of each surviving head on the backbone grows by H / (H - 1). Read: its
    share in the sum over heads of the norms of the gradients of their losses by the embeddings, 2 |z - mu_h| at fixed
    assignments.

    Instance: one token on a line with all prototypes, the last of the heads being pruned. The shares of the others grow
    by 1 / (1 - its share).
    """
    z, banks, bases = matrix(witness["z"]), [matrix(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    H, moving = len(banks), {i for p in banks for x in p for i, v in enumerate(x) if v != z[0][i]}
    yield (
        "there is one token, and one coordinate in which prototypes differ from it",
        str(moving),
        len(z) == len(moving) == 1,
    )
    yield (
        "each T = 1 / log b is positive, and prototypes of a head differ",
        [str(b) for b in bases],
        min(bases) > 1 and all(len({tuple(x) for x in p}) == len(p) for p in banks),
    )
    pulls = []
    for p, b in zip(banks, bases, strict=True):
        (q,) = exact_assignments(z, p, b)
        mu = [sum(w * v for w, v in zip(q, column, strict=True)) for column in zip(*p, strict=True)]
        pulls.append(2 * sum(abs(v - m) for v, m in zip(z[0], mu, strict=True)))
    yield "every head has a gradient: the least", str(min(pulls)), min(pulls) > 0
    factor = sum(pulls) / sum(pulls[:-1])
    yield "the factor is not H / (H - 1)", str(factor), factor != Fraction(H, H - 1)


def weak(values, phi, theta):
    """Gamma^2 = s^2 / (2 sum s^2) of every value of M_a but the first, and whether each Gamma < phi < theta."""
    squares = [s * s / (2 * sum(v * v for v in values)) for s in values[1:]]
    return squares, max(squares) < phi**2 and 0 < phi < theta < min(values)


@verifies(
    "growing/corollary-7",
    {
        "z": [["0", "0"], ["1", "2"]],
        "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["2", "0"], ["-1", "2"]]],
        "b": ["2", "2", "2"],
        "values of M_a": ["4000000", "2", "1"],
        "phi_g": "1/1000000",
        "theta_w": "1/2",
    },
)
def corollary_7(witness):
    """Printed: after j prunings of heads of Gamma < phi_g, F_sep^(j) >= F_sep^(0) - j O(phi_g^2), and all of at most d
    prunings lower F_sep by at most O(d phi_g^2). Read: F_sep is the sum over heads, the constant at most 10^9. Gamma =
    |B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s. It depends on M_a alone, and
    what the layer is made of does not depend on M_a. All heads but the first are pruned, the last one first.
    """
    z, banks, bases = matrix(witness["z"]), [matrix(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    values, phi, theta = values_and_thresholds(witness)
    squares, small = weak(values, phi, theta)
    yield "Gamma < phi_g < theta_w < every value of M_a but for the first head: Gamma^2", [*map(float, squares)], small
    heads, order = len(banks) == len(bases) == len(values), sorted(values, reverse=True) == values
    yield (
        "each T = 1 / log b is positive, and there is a head for each value, in their order",
        [str(b) for b in bases],
        heads and order and min(bases) > 1,
    )
    forces, d = [separation_force(exact_assignments(z, p, b), p) for p, b in zip(banks, bases, strict=True)], len(z[0])
    for j in range(1, len(banks)):
        fall = sum(forces[len(banks) - j :])
        yield f"F_sep falls by more than 10^9 {j} phi_g^2 in {j} prunings", str(fall), fall > j * 10**9 * phi**2
    yield "and by more than 10^9 d phi_g^2 in all", str(fall), fall > d * 10**9 * phi**2
