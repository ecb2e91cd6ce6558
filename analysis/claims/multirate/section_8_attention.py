"""Claims of Section 8: attention as a Markov transition matrix and as an exponential; effects of the causal mask."""

from fractions import Fraction

import numpy as np

from analysis.chains.classes import transition_classes
from analysis.claims.multirate.instances.chains import (
    Chain,
    attention,
    distribution,
    is_attention,
    null_space,
    softmax_of_logarithms,
)
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE


def _transition_trial(key: Key, residual: bool) -> Trial:
    """Measure that A is a transition matrix and A^T - I a generator; with `residual`, the same for I + A."""
    rng = numpy_rng(key, "values")
    first = attention(key, causal=bool(rng.integers(2)))
    n = len(first)
    second = softmax_of_logarithms(matrix(rng.integers(1, 9, (n, n))))
    A, B = (W + residual * identity(n) for W in (first, second))
    p, x = distribution(key, n), matrix(rng.integers(-9, 10, n))
    paths = [[sum(A[i, k] * B[k, j] for k in range(n)) for j in range(n)] for i in range(n)]
    return Trial(
        hypotheses=(is_attention(first, causal=bool(first[0, -1] == 0)), is_attention(second)),
        conclusions=(
            holds("no entry is negative", bool(np.all(A >= 0))),
            holds("a distribution is taken to a distribution", (p @ A).sum() == 1 and bool(np.all(p @ A >= 0))),
            holds("the product of two layers, a sum over paths, is stochastic", _is_stochastic(matrix(paths))),
            holds(
                "values become averages, within the range of the previous values",
                min(x) <= min(A @ x) <= max(A @ x) <= max(x),
            ),
            *Chain(A.T - identity(n)).measured(irreducible=False),
        ),
        witness={"A": first, "p": p, "x": x},
    )


def _is_stochastic(A: Exact) -> bool:
    return bool(np.all(A >= 0)) and all(row.sum() == 1 for row in A)


@claim("multirate/claim-attention-transition", MULTIRATE.at("Section 8"), evidence="certified", num_trials=16)
def attention_is_a_transition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Self-attention applies a row-stochastic A, one step of a discrete-time Markov chain: distributions over tokens
    evolve by p -> p A, and values by x -> A x, their conditional expectation after the step. Layers compose by the
    Chapman-Kolmogorov equation.
    """
    return _transition_trial(key, False)


@attention_is_a_transition.with_control
def attention_is_a_transition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The residual stream x + A x in place of A x."""
    return _transition_trial(key, True)


def is_exponential(A: Exact) -> bool:
    r"""Return whether A satisfies a sufficient condition for $A = e^{cN}$, c >= 0, with the generator N = A - I.

    If $N^2 = (\lambda - 1) N$ with $0 < \lambda < 1$, then $e^{cN} = I + \frac{e^{c (\lambda - 1)} - 1}{\lambda - 1} N$
    is A for $c = \log \lambda / (\lambda - 1)$. The identity is the case c = 0. Rows of N sum to zero.
    """
    N = A - identity(len(A))
    if np.all(N == 0):
        return True
    i, j = np.argwhere(N != 0)[0]
    eigenvalue = 1 + (N @ N)[i, j] / N[i, j]
    return _is_stochastic(A) and bool(0 < eigenvalue < 1) and not np.any(N @ N - (eigenvalue - 1) * N)


def positive_determinant(A: Exact) -> Measurement:
    """Measure that det A > 0, as for every product of exponentials of generators: det e^{Q tau} = e^{tau tr Q}."""
    return holds("the determinant is positive", determinant(A) > 0)


@claim(
    "multirate/claim-attention-exponential",
    MULTIRATE.at("Section 8"),
    evidence="certified",
    num_trials=4,
    note="two tokens that attend to each other more than to themselves: the determinant of A is negative, whereas that "
    "of an exponential is e^{tau tr Q} > 0; hence A is not the propagator of a time-dependent generator either; no "
    "control: the corrected claims measure the same determinant, and more",
)
def attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every attention matrix A is e^{Q tau} for a generator Q and a time tau. Measured: a necessary condition."""
    other = int(numpy_rng(key, "other").integers(2, 20))
    A = softmax_of_logarithms(matrix([[1, other], [other, 1]]))
    return Trial((is_attention(A),), (positive_determinant(A),), {"A": A, "determinant": determinant(A)})


@claim(
    "multirate/claim-attention-exponential/causal",
    MULTIRATE.at("Section 8"),
    variant="reading",
    evidence="certified",
    num_trials=4,
    note="three tokens, the third attending to the second and the second to the first: the half step would have a "
    "negative transition probability from the third to the first; no control: time-dependent generators are the "
    "correction, and a matrix that passes is in the tests",
)
def causal_attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every causal attention matrix A is e^{Q tau}. Measured: a necessary condition, the half step e^{Q tau / 2}."""
    rng = numpy_rng(key, "roots")
    m, q = (int(rng.integers(2, 8)) for _ in range(2))
    A = softmax_of_logarithms(matrix([[1, 1, 1], [m * m - 1, 1, 1], [1, q * q - 2, 1]]), causal=True)
    half = half_step(A)
    return Trial(
        hypotheses=(is_attention(A, causal=True),),
        conclusions=(positive_determinant(A), holds("the half step is stochastic", _is_stochastic(half))),
        witness={"A": A, "half step": half},
    )


def half_step(A: Exact) -> Exact:
    """Return the one triangular B with B B = A and a positive diagonal, for three tokens with squares on the diagonal.

    If A = e^{Q tau}, then e^{Q tau / 2} is such a matrix: Q and the half step are triangular if A is.
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
    """A = e^{Q tau} with Q = A - I. Added: all tokens place the same weight on any third token, and each places more on
    itself: A = lambda I + (1 - lambda) 1 pi^T with 0 < lambda < 1. For two tokens this holds whenever det A > 0.
    """
    n, share = _random_share(key)
    return _shared_trial(distribution(key, n), share, Fraction(1, 9))


@shared_attention_is_an_exponential.with_control
def shared_attention_is_an_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Tokens that place less weight on themselves: lambda is negative."""
    n, share = _random_share(key)
    return _shared_trial(matrix([1] * n) / n, -share / n, Fraction(0))


def _random_share(key: Key) -> tuple[int, Fraction]:
    rng = numpy_rng(key, "sharing")
    return int(rng.integers(2, 6)), Fraction(int(rng.integers(1, 8)), 8)


def _shared_trial(stationary: Exact, share: Fraction, uniform: Fraction) -> Trial:
    """Measure A = share I + (1 - share) 1 pi^T, pi being `stationary` mixed with the uniform distribution."""
    n = len(stationary)
    stationary = (1 - uniform) * stationary + uniform / n
    A = share * identity(n) + (1 - share) * stationary[None] * matrix([[1]] * n)
    return Trial(
        hypotheses=(is_attention(A),),
        conclusions=(positive_determinant(A), holds("A is the exponential of c (A - I), c > 0", is_exponential(A))),
        witness={"A": A},
    )


def one_token_moves(A: Exact) -> list[Exact]:
    """Return, for each token but the first, the identity with its row replaced by that of A: only this token moves."""
    found = []
    for i in range(1, len(A)):
        R = identity(len(A))
        R[i] = A[i]
        found.append(R)
    return found


def _ordered_trial(A: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    moves = one_token_moves(A)
    product = identity(len(A))
    for R in moves:
        product = product @ R
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            positive_determinant(A),
            holds("A is the product of the moves of single tokens in order", bool(np.all(product == A))),
            holds("each of these is the exponential of a generator", all(is_exponential(R) for R in moves)),
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
    """Every causal attention matrix A is the propagator of a generator over a time interval: A = e^{Q_2} ... e^{Q_n},
    where Q_i moves only token i. Added: causal. Changed: the generator is time-dependent, piecewise constant.
    """
    A = attention(key, causal=True)
    return _ordered_trial(A, (is_attention(A, causal=True),))


@causal_attention_is_an_ordered_exponential.with_control
def causal_attention_is_an_ordered_exponential(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A mask that also hides the last token from itself."""
    A = attention(key, causal=True)
    masked = A.copy()
    masked[-1] = masked[-1] / (1 - A[-1, -1])
    masked[-1, -1] = Fraction(0)
    return _ordered_trial(masked, (is_attention(A, causal=True),))


def _chain_trial(A: Exact, hypotheses: tuple[Measurement, ...], *, positive: bool = True) -> Trial:
    """Measure the conclusions of Theorem 28 (ii) for A; without `positive`, only that p_st is unique and is e_1."""
    distributions = null_space(A.T - identity(len(A)))
    stationary = distributions[0] / distributions[0].sum() if distributions[0].sum() != 0 else distributions[0]
    whole = (
        holds("the chain is irreducible", transition_classes(A).irreducible),
        holds("its stationary distribution is positive", bool(np.all(stationary > 0))),
    )
    alone = (
        holds(
            "the stationary distribution is the unit mass on the first token",
            stationary[0] == 1 and bool(np.all(stationary[1:] == 0)),
        ),
    )
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("there is one stationary distribution", len(distributions) == 1),
            *(whole if positive else alone),
        ),
        witness={"A": A, "law": stationary},
    )


@claim(
    "multirate/claim-causal-irreducible",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    evidence="certified",
    num_trials=8,
    note="from the first token no later one is accessible: the first row of a causal A is (1, 0, ..., 0); no control: "
    "full attention is measured by the same function",
)
def causal_chain_is_irreducible(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Causal attention of two or more tokens is an irreducible chain with a unique positive stationary distribution."""
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
    """Attention is an irreducible chain with a unique positive stationary distribution. Changed: full, not causal."""
    A = attention(key)
    return _chain_trial(A, (is_attention(A),))


@full_chain_is_irreducible.with_control
def full_chain_is_irreducible(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Causal attention."""
    return _chain_trial(attention(key, causal=True), (is_attention(attention(key)),))


@claim(
    "multirate/claim-causal-irreducible/law",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    variant="reading",
    evidence="certified",
    num_trials=16,
    note="for the chain p -> p A of distributions over tokens: all mass converges to the first token, and all values "
    "converge to that of the first token",
)
def causal_chain_has_one_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Causal attention has a unique stationary distribution. Read: only that; it is the unit mass on token 1."""
    A = attention(key, causal=True)
    return _chain_trial(A, (is_attention(A, causal=True),), positive=False)


@causal_chain_has_one_stationary_distribution.with_control
def causal_chain_has_one_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A second token that attends only to itself."""
    A = attention(key, causal=True)
    isolated = A.copy()
    isolated[1] = identity(len(A))[1]
    return _chain_trial(isolated, (is_attention(A, causal=True),), positive=False)
