"""Claims of Section 8 on attention matrices as exponentials of generators."""

import math
from fractions import Fraction

import numpy as np

from analysis.chains.dense_exponential import transition_matrix
from analysis.claims.multirate.chain_comparisons import floats
from analysis.claims.multirate.instances.attention import weights_of
from analysis.claims.multirate.instances.chains import (
    attention,
    distribution,
    is_attention,
    is_stochastic,
    softmax_of_logarithms,
)
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.master_equation.generators import attention_generator
from dynsim.systems.tokens.interactions.masks import Causal, Full


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
    return is_stochastic(A) and bool(0 < eigenvalue < 1) and not np.any(N @ N - (eigenvalue - 1) * N)


def exponential_error(A: Exact) -> float:
    """Return the largest error of A as the exponential of c (A - I), of the generator and by the method of the toolkit.

    c is that of `is_exponential`; the error is infinite if A is none.
    """
    if not is_exponential(A):
        return math.inf
    N = A - identity(len(A))
    i, j = np.argwhere(N != 0)[0] if np.any(N != 0) else (0, 0)
    eigenvalue = float(1 + (N @ N)[i, j] / N[i, j]) if np.any(N != 0) else 1.0
    c = math.log(eigenvalue) / (eigenvalue - 1) if eigenvalue != 1 else 0.0
    found = transition_matrix(floats(np.asarray(attention_generator(A))), c)[0]
    return float(np.max(abs(found - floats(A).T)))


def positive_determinant(A: Exact) -> Measurement:
    """Measure that det A > 0, as for every product of exponentials of generators: det e^{Q tau} = e^{tau tr Q}."""
    return holds("the determinant is positive", determinant(A) > 0)


@certified(
    "multirate/claim-attention-exponential",
    num_trials=4,
    note="two tokens that attend to each other more than to themselves: the determinant of A is negative, whereas that "
    "of an exponential is e^{tau tr Q} > 0; hence A is not the propagator of a time-dependent generator either; no "
    "control: the corrected claims measure the same determinant, and more",
)
def attention_is_an_exponential(key: Key) -> Trial:
    """Every attention matrix A is e^{Q tau} for a generator Q and a time tau. Measured: a necessary condition."""
    other = int(numpy_rng(key, "other").integers(2, 20))
    raw = matrix([[1, other], [other, 1]])
    A = softmax_of_logarithms(raw)
    return Trial(
        hypotheses=(is_attention(A), weights_of(A, Full())),
        conclusions=(positive_determinant(A),),
        witness={"exponentials of the scores": raw, "A": A, "determinant": determinant(A)},
        parameters={"n": 2},
    )


@certified(
    "multirate/claim-attention-exponential/causal",
    variant="reading",
    num_trials=4,
    note="three tokens, the third attending to the second and the second to the first: the half step would have a "
    "negative transition probability from the third to the first; no control: time-dependent generators are the "
    "correction, and a matrix that passes is in the tests",
)
def causal_attention_is_an_exponential(key: Key) -> Trial:
    """Every causal attention matrix A is e^{Q tau}. Measured: a necessary condition, the half step e^{Q tau / 2}."""
    rng = numpy_rng(key, "roots")
    m, q = (int(k) for k in rng.choice(np.arange(2, 8), 2, replace=False))
    A = softmax_of_logarithms(matrix([[1, 1, 1], [m * m - 1, 1, 1], [1, q * q - 2, 1]]), causal=True)
    half = half_step(A)
    return Trial(
        hypotheses=(is_attention(A, Causal()), weights_of(A, Causal())),
        conclusions=(positive_determinant(A), holds("the half step is stochastic", is_stochastic(half))),
        witness={"A": A, "roots": half.diagonal(), "half step": half},
        parameters={"n": 3},
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


@certified("multirate/claim-attention-exponential/shared", variant="special case", num_trials=16)
def shared_attention_is_an_exponential(key: Key) -> Trial:
    """A = e^{Q tau} with Q = A - I. Added: all tokens place the same weight on any third token, and each places more on
    itself: A = lambda I + (1 - lambda) 1 pi^T with 0 < lambda < 1. For two tokens this holds whenever det A > 0.
    """
    n, share = _random_share(key)
    return _shared_trial(distribution(key, n), share, Fraction(1, 9))


@shared_attention_is_an_exponential.with_control
def shared_attention_is_an_exponential(key: Key) -> Trial:
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
        conclusions=(
            positive_determinant(A),
            holds("A is the exponential of c (A - I), c > 0", is_exponential(A)),
            equal("error of that exponential, computed", exponential_error(A), 0.0, tolerance=ROUNDING),
            weights_of(A, Full()),
        ),
        witness={"A": A},
        parameters={"n": n, "lambda": float(share)},
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
            equal(
                "largest error of these exponentials, computed",
                max(exponential_error(R) for R in moves),
                0.0,
                tolerance=ROUNDING,
            ),
            weights_of(A, Causal()),
        ),
        witness={"A": A},
        parameters={"n": len(A)},
    )


@certified("multirate/claim-attention-exponential/causal-in-time", variant="corrected", num_trials=16)
def causal_attention_is_an_ordered_exponential(key: Key) -> Trial:
    """Every causal attention matrix A is the propagator of a generator over a time interval: A = e^{Q_2} ... e^{Q_n},
    where Q_i moves only token i. Added: causal. Changed: the generator is time-dependent, piecewise constant.
    """
    A = attention(key, causal=True)
    return _ordered_trial(A, (is_attention(A, Causal()),))


@causal_attention_is_an_ordered_exponential.with_control
def causal_attention_is_an_ordered_exponential(key: Key) -> Trial:
    """A mask that also hides the last token from itself."""
    A = attention(key, causal=True)
    masked = A.copy()
    masked[-1] = masked[-1] / (1 - A[-1, -1])
    masked[-1, -1] = Fraction(0)
    return _ordered_trial(masked, (is_attention(A, Causal()),))
