"""Claims of Section 8: attention as a Markov transition and as an exponential, and what the causal mask does to it."""

from fractions import Fraction

import numpy as np

from analysis.chains.classes import transition_classes
from analysis.claims.multirate.instances.chains import (
    Chain,
    attention,
    distribution,
    draws,
    is_attention,
    kernel,
    softmax,
)
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE


def _transition_trial(key: Key, residual: bool) -> Trial:
    """Measure what makes A x a step of a chain, and A^T - I a generator; with `residual`, the same of x + A x."""
    rng = draws(key, "values")
    first = attention(key, causal=bool(rng.integers(2)))
    n = len(first)
    second = softmax(matrix(rng.integers(1, 9, (n, n))))
    A, B = (W + residual * identity(n) for W in (first, second))
    p, x = distribution(key, n), matrix(rng.integers(-9, 10, n))
    paths = [[sum(A[i, k] * B[k, j] for k in range(n)) for j in range(n)] for i in range(n)]
    return Trial(
        hypotheses=(is_attention(first, causal=bool(first[0, -1] == 0)), is_attention(second)),
        conclusions=(
            holds("no entry is negative", bool(np.all(A >= 0))),
            holds("a distribution is taken to a distribution", (p @ A).sum() == 1 and bool(np.all(p @ A >= 0))),
            holds("the paths of two layers have probabilities that add to one", _stochastic(matrix(paths))),
            holds("values become averages, in the range of those before", min(x) <= min(A @ x) <= max(A @ x) <= max(x)),
            *Chain(A.T - identity(n)).measured(irreducible=False),
        ),
        witness={"A": first, "p": p, "x": x},
    )


def _stochastic(A: Exact) -> bool:
    return bool(np.all(A >= 0)) and all(row.sum() == 1 for row in A)


@claim("multirate/claim-attention-transition", MULTIRATE.at("Section 8"), evidence="certified", num_trials=16)
def attention_is_a_transition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Self-attention applies a row-stochastic A: one step of a discrete-time Markov chain, distributions over tokens
    moving by p -> p A and values by x -> A x, their mean after the step. Layers compose as Chapman and Kolmogorov say.
    """
    return _transition_trial(key, False)


@attention_is_a_transition.with_control
def attention_is_a_transition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The residual stream, x + A x, in place of A x."""
    return _transition_trial(key, True)


def is_exponential(A: Exact) -> bool:
    r"""Return whether A is seen to be $e^{cN}$, c >= 0, of the generator N = A - I (rows sum to zero).

    If $N^2 = (\lambda - 1) N$ with $0 < \lambda < 1$, then $e^{cN} = I + \frac{e^{c (\lambda - 1)} - 1}{\lambda - 1} N$
    is A for $c = \log \lambda / (\lambda - 1)$. The identity is the case c = 0. Sufficient, not necessary.
    """
    N = A - identity(len(A))
    if np.all(N == 0):
        return True
    i, j = np.argwhere(N != 0)[0]
    eigenvalue = 1 + (N @ N)[i, j] / N[i, j]
    return _stochastic(A) and bool(0 < eigenvalue < 1) and not np.any(N @ N - (eigenvalue - 1) * N)


def positive_determinant(A: Exact) -> Measurement:
    """Measure what every product of exponentials of generators has, each having the determinant e^{tau tr Q}."""
    return holds("the determinant is positive", determinant(A) > 0)


@claim(
    "multirate/claim-attention-exponential",
    MULTIRATE.at("Section 8"),
    evidence="certified",
    num_trials=4,
    note="two tokens that attend to each other more than to themselves: the determinant of A is negative, that of an "
    "exponential e^{tau tr Q}; for the same reason no generator that depends on time has this A as its propagator; no "
    "control: the repairs are measured by the same function, and more",
)
def attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every attention matrix A is e^{Q tau} for a generator Q and a time tau. Measured: a necessary condition."""
    other = int(draws(key, "other").integers(2, 20))
    A = softmax(matrix([[1, other], [other, 1]]))
    return Trial((is_attention(A),), (positive_determinant(A),), {"A": A, "determinant": determinant(A)})


@claim(
    "multirate/claim-attention-exponential/causal",
    MULTIRATE.at("Section 8"),
    variant="reading",
    evidence="certified",
    num_trials=4,
    note="three tokens, the third attending to the second, which attends to the first: half of the step would go from "
    "the third to the first with a negative probability; no control: generators that depend on time are the repair, a "
    "matrix that passes stands in the tests",
)
def causal_attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every causal attention matrix A is e^{Q tau}. Measured: a necessary condition, the half step e^{Q tau / 2}."""
    rng = draws(key, "roots")
    m, q = (int(rng.integers(2, 8)) for _ in range(2))
    A = softmax(matrix([[1, 1, 1], [m * m - 1, 1, 1], [1, q * q - 2, 1]]), causal=True)
    half = half_step(A)
    return Trial(
        hypotheses=(is_attention(A, causal=True),),
        conclusions=(positive_determinant(A), holds("the half step is stochastic", _stochastic(half))),
        witness={"A": A, "half step": half},
    )


def half_step(A: Exact) -> Exact:
    """Return the one triangular B with B B = A and a positive diagonal, for three tokens with squares on the diagonal.

    e^{Q tau / 2} is such a matrix: where e^{Q tau} cannot go, Q and the half step cannot.
    """
    roots = [Fraction(_root(v.numerator), _root(v.denominator)) for v in A.diagonal()]
    B = np.diag(matrix(roots))
    for i, j in ((1, 0), (2, 1), (2, 0)):
        B[i, j] = (A[i, j] - (B @ B)[i, j]) / (B[i, i] + B[j, j])
    return B


def _root(square: int) -> int:
    return round(float(square) ** 0.5)


@claim(
    "multirate/claim-attention-exponential/shared",
    MULTIRATE.at("Section 8"),
    variant="special case",
    evidence="certified",
    num_trials=16,
)
def shared_attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A = e^{Q tau}, Q = A - I. Added: all tokens give a third token the same, and themselves more: A = lambda I +
    (1 - lambda) 1 pi^T with 0 < lambda < 1. Two tokens are of this form whenever det A > 0.
    """
    n, share = _sharing(key)
    return _shared_trial(distribution(key, n), share, Fraction(1, 9))


@shared_attention_is_an_exponential.with_control
def shared_attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Tokens that give themselves less: lambda is negative."""
    n, share = _sharing(key)
    return _shared_trial(matrix([1] * n) / n, -share / n, Fraction(0))


def _sharing(key: Key) -> tuple[int, Fraction]:
    rng = draws(key, "sharing")
    return int(rng.integers(2, 6)), Fraction(int(rng.integers(1, 8)), 8)


def _shared_trial(law: Exact, share: Fraction, uniform: Fraction) -> Trial:
    """Measure A = share I + (1 - share) 1 pi^T, pi being mixed with the uniform law so that it is positive."""
    n = len(law)
    law = (1 - uniform) * law + uniform / n
    A = share * identity(n) + (1 - share) * law[None] * matrix([[1]] * n)
    return Trial(
        hypotheses=(is_attention(A),),
        conclusions=(positive_determinant(A), holds("A is the exponential of c (A - I), c > 0", is_exponential(A))),
        witness={"A": A},
    )


def layers_of(A: Exact) -> list[Exact]:
    """Return, for each token but the first, the matrix that moves it alone, by its row of A."""
    found = []
    for i in range(1, len(A)):
        R = identity(len(A))
        R[i] = A[i]
        found.append(R)
    return found


def _ordered_trial(A: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    pieces = layers_of(A)
    product = identity(len(A))
    for R in pieces:
        product = product @ R
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            positive_determinant(A),
            holds("A is the product of the moves of one token after the other", bool(np.all(product == A))),
            holds("each of them is an exponential of a generator", all(is_exponential(R) for R in pieces)),
        ),
        witness={"A": A},
    )


@claim(
    "multirate/claim-attention-exponential/causal-in-time",
    MULTIRATE.at("Section 8"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
)
def causal_attention_is_an_ordered_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every causal attention matrix A is the propagator of a generator over a time. Added: causal. Changed: the
    generator depends on time, piecewise constant, A = e^{Q_2} e^{Q_3} ... e^{Q_n}, in which Q_i moves token i alone.
    """
    A = attention(key, causal=True)
    return _ordered_trial(A, (is_attention(A, causal=True),))


@causal_attention_is_an_ordered_exponential.with_control
def causal_attention_is_an_ordered_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The last token hidden from itself."""
    A = attention(key, causal=True)
    hidden = A.copy()
    hidden[-1] = hidden[-1] / (1 - A[-1, -1])
    hidden[-1, -1] = Fraction(0)
    return _ordered_trial(hidden, (is_attention(A, causal=True),))


def _chain_trial(A: Exact, hypotheses: tuple[Measurement, ...], *, positive: bool = True) -> Trial:
    """Measure the conclusions of Theorem 28 (ii) on A; without `positive`, that the law is unique."""
    laws = kernel(A.T - identity(len(A)))
    law = laws[0] / laws[0].sum() if laws[0].sum() != 0 else laws[0]
    whole = (
        holds("the chain is irreducible", transition_classes(A).irreducible),
        holds("its law charges every token", bool(np.all(law > 0))),
    )
    alone = (holds("the law is the unit mass on the first token", law[0] == 1 and bool(np.all(law[1:] == 0))),)
    return Trial(
        hypotheses=hypotheses,
        conclusions=(holds("there is one stationary law", len(laws) == 1), *(whole if positive else alone)),
        witness={"A": A, "law": law},
    )


@claim(
    "multirate/claim-causal-irreducible",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    evidence="certified",
    num_trials=8,
    note="from the first token no later one is reached: its row of a causal A is (1, 0, ..., 0); no control: full "
    "attention is measured by the same function",
)
def causal_chain_is_irreducible(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Causal attention of two tokens or more is an irreducible chain with one stationary law, positive everywhere."""
    A = attention(key, causal=True)
    return _chain_trial(A, (is_attention(A, causal=True),))


@claim(
    "multirate/claim-causal-irreducible/full",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
)
def full_chain_is_irreducible(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Attention is an irreducible chain with one stationary law, positive everywhere. Changed: full, not causal."""
    A = attention(key)
    return _chain_trial(A, (is_attention(A),))


@full_chain_is_irreducible.with_control
def full_chain_is_irreducible(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The causal mask."""
    return _chain_trial(attention(key, causal=True), (is_attention(attention(key)),))


@claim(
    "multirate/claim-causal-irreducible/law",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    variant="reading",
    evidence="certified",
    num_trials=16,
    note="said of the chain that moves distributions, p -> p A: all mass ends on the first token, and all values "
    "become that of the first token",
)
def causal_chain_has_one_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Causal attention has one stationary law. Read: that alone; the law is the unit mass on the first token."""
    A = attention(key, causal=True)
    return _chain_trial(A, (is_attention(A, causal=True),), positive=False)


@causal_chain_has_one_law.with_control
def causal_chain_has_one_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A second token that sees itself alone."""
    A = attention(key, causal=True)
    apart = A.copy()
    apart[1] = identity(len(A))[1]
    return _chain_trial(apart, (is_attention(A, causal=True),), positive=False)
