"""Claims of Section 8: attention as a Markov transition matrix, and effects of the causal mask."""

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from analysis.chains.classes import transition_classes
from analysis.chains.stationary import stationary_distributions
from analysis.claims.multirate.chain_comparisons import accepts, floats
from analysis.claims.multirate.instances.attention import output, weights
from analysis.claims.multirate.instances.chains import (
    Chain,
    attention,
    distribution,
    is_attention,
    is_stochastic,
    null_space,
    seen_by,
    softmax_of_logarithms,
)
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.papers import MULTIRATE
from dynsim.systems.master_equation.checks import check_generator, check_transition
from dynsim.systems.master_equation.flow import MasterEquationMap
from dynsim.systems.master_equation.generators import attention_generator
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full, Window

MASKS = (Full(), Causal(), Window(2))
SIZES = (1, 2, 5)  # few, since each is compiled


class MaskedHeads(NamedTuple):
    """Two heads of attention with rational weights: P = log 2 times integers, U, tokens x, (n, 2), and the mask."""

    scores: Exact
    value: Exact
    x: Exact
    mask: AbstractMask

    @property
    def weights(self) -> Exact:
        """The weights of both heads, (2, n, n): powers of two where the mask allows, over the sum of their row."""
        seen = seen_by(self.mask, len(self.x))
        powers = [[Fraction(2) ** int(s) for s in row] for P in self.scores for row in self.x @ P @ self.x.T]
        unmasked = matrix(powers).reshape(len(self.scores), *seen.shape) * matrix(seen)
        return unmasked / np.sum(unmasked, axis=2)[:, :, None]


def _heads(key: Key) -> MaskedHeads:
    rng = numpy_rng(key, "heads")
    n, mask = SIZES[rng.integers(len(SIZES))], MASKS[rng.integers(len(MASKS))]
    P, U = matrix(rng.integers(-2, 3, (2, 2, 2))), matrix(rng.integers(-4, 5, (2, 2, 2))) / 4
    return MaskedHeads(P, U, matrix(rng.integers(-2, 3, (n, 2))), mask)


def _output_measurements(heads: MaskedHeads) -> tuple[Measurement, ...]:
    """Measure that the token flow has these weights, and that its output is their mean of the values U x."""
    found, out = output(math.log(2) * floats(heads.scores), floats(heads.value), floats(heads.x), heads.mask)
    values = np.sum([A @ heads.x @ U.T for A, U in zip(heads.weights, heads.value, strict=True)], axis=0)
    return (
        equal("largest error of the weights", np.max(abs(found - floats(heads.weights))), 0.0, tolerance=ROUNDING),
        equal("largest error of the output", np.max(abs(out - floats(values))), 0.0, tolerance=ROUNDING),
    )


def _transition_trial(key: Key, residual: bool) -> Trial:
    """Measure that A is a transition matrix and A^T - I a generator; with `residual`, the same for I + A."""
    rng, heads = numpy_rng(key, "values"), _heads(key)
    n = len(heads.x)
    first = heads.weights[0]
    second = softmax_of_logarithms(matrix(rng.integers(1, 9, (n, n))))
    A, B = (W + residual * identity(n) for W in (first, second))
    p, x = distribution(key, n) if n > 1 else matrix([1]), matrix(rng.integers(-9, 10, n))
    paths = [[sum(A[i, k] * B[k, j] for k in range(n)) for j in range(n)] for i in range(n)]
    return Trial(
        hypotheses=(is_attention(first, heads.mask), is_attention(second)),
        conclusions=(
            holds("no entry is negative", bool(np.all(A >= 0))),
            holds("a distribution is taken to a distribution", (p @ A).sum() == 1 and bool(np.all(p @ A >= 0))),
            holds("the product of two layers, a sum over paths, is stochastic", is_stochastic(matrix(paths))),
            holds(
                "values become averages, within the range of the previous values",
                min(x) <= min(A @ x) <= max(A @ x) <= max(x),
            ),
            holds("the toolkit accepts it as a transition matrix", accepts(check_transition, A)),
            *Chain(A.T - identity(n)).measured(irreducible=False),
            *_output_measurements(heads),
            *(_step_measurements(A, B, p) if accepts(check_transition, A) else ()),
        ),
        witness={"A": first, "p": p, "x": x},
        parameters={"n": n, "mask": type(heads.mask).__name__},
    )


def _step_measurements(A: Exact, B: Exact, p: Exact) -> tuple[Measurement, ...]:
    """Measure that the generator of attention is A^T - I, and that its steps compose: p A, and p A B after two."""
    generators, I = [attention_generator(W) for W in (A, B)], identity(len(A))
    steps = [W.T - identity(len(W)) for W in (A, B)]
    if any(bool(np.any(step != Q)) for Q, step in zip(generators, steps, strict=True)):
        return (holds("the generator of attention is A^T - I", False),)
    once, twice = p, p
    for Q in generators:
        once, twice = twice, MasterEquationMap(Q, 1).step(0, twice)
    stochastic = all(column.sum() == 1 for column in A.T)
    return (
        holds("that with rate r is r (A^T - I)", bool(np.all(attention_generator(A, rate=3) == 3 * steps[0]))),
        holds(
            "a step of size one is p A, and two are p A B", not np.any(once - p @ A) and not np.any(twice - p @ A @ B)
        ),
        holds("a negative weight is refused", not accepts(check_transition, 2 * I - A if len(A) > 1 else -A)),
        holds(
            "neither A nor its transpose is a generator, which has columns that sum to zero",
            not any(accepts(check_generator, W) for W in (A, A.T)),
        ),
        holds("the transpose is refused unless it is stochastic too", accepts(check_transition, A.T) == stochastic),
    )


attention_is_a_transition = certified(
    "multirate/claim-attention-transition",
    MULTIRATE.at("Section 8"),
    statement="Self-attention applies a row-stochastic A, one step of a discrete-time Markov chain: distributions "
    "over tokens evolve by p -> p A, and values by x -> A x, their conditional expectation after the step. Layers "
    "compose by the Chapman-Kolmogorov equation. A is not the generator of a master equation, A^T - I is one.",
    trial=partial(_transition_trial, residual=False),
    control=partial(_transition_trial, residual=True),  # The residual stream x + A x in place of A x.
    num_trials=32,
    note="two heads over one, two or five tokens, full, causal or with a window, whose weights are rational; compared "
    "with the weights and the output of the token flow",
)


def _chain_trial(A: Exact, hypotheses: tuple[Measurement, ...], mask: AbstractMask, *, positive: bool = True) -> Trial:
    """Measure the conclusions of Theorem 28 (ii) for A; without `positive`, only that p_st is unique and is e_1.

    The same is measured for the weights of the token flow with the mask, in floats.
    """
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
            *_computed_measurements(A, stationary, mask),
        ),
        witness={"A": A, "law": stationary},
        parameters={"n": len(A)},
    )


def _computed_measurements(A: Exact, law: Exact, mask: AbstractMask) -> tuple[Measurement, ...]:
    """Measure the classes and the stationary distribution of the weights of the token flow, and of A exactly."""
    found = weights(np.log(np.where(A > 0, A, 1).astype(float)), mask)
    same = equal("largest error of the weights", np.max(abs(found - floats(A))), 0.0, tolerance=ROUNDING)
    if same.fails_clearly:
        return (same,)
    classes = transition_classes(found)
    recurrent = bool(np.all((classes.labels < classes.num_closed) == (law > 0)))
    (exact, *others), computed = (
        [one.probabilities for one in stationary_distributions(attention_generator(W)).distributions]
        for W in (A, found)
    )
    error = max(float(np.max(abs(p - floats(law)))) for p in computed)
    return (
        same,
        holds("the recurrent tokens are those of positive probability", recurrent),
        holds("the generator has that stationary distribution only", not others and not np.any(exact - law)),
        equal("largest error of that of the weights", error, 0.0, tolerance=ROUNDING),
    )


@certified(
    "multirate/claim-causal-irreducible",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    num_trials=8,
    note="from the first token no later one is accessible: the first row of a causal A is (1, 0, ..., 0); no control: "
    "full attention is measured by the same function",
)
def causal_chain_is_irreducible(key: Key) -> Trial:
    """Causal attention of two or more tokens is an irreducible chain with a unique positive stationary distribution."""
    A = attention(key, causal=True)
    return _chain_trial(A, (is_attention(A, Causal()),), Causal())


@certified(
    "multirate/claim-causal-irreducible/full",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    # Causal attention.
    control=lambda key: _chain_trial(attention(key, causal=True), (is_attention(attention(key)),), Causal()),
    variant="corrected",
    num_trials=16,
)
def full_chain_is_irreducible(key: Key) -> Trial:
    """Attention is an irreducible chain with a unique positive stationary distribution. Changed: full, not causal."""
    A = attention(key)
    if numpy_rng(key, "sharp").integers(4) == 0:  # nearly a cyclic permutation, which is periodic
        A = softmax_of_logarithms(1 + (2**40 - 1) * matrix(np.roll(np.eye(len(A), dtype=int), 1, axis=1)))
    return _chain_trial(A, (is_attention(A),), Full())


@certified(
    "multirate/claim-causal-irreducible/law",
    MULTIRATE.at("Section 1, Section 8 with Theorem 28 (ii)"),
    variant="reading",
    num_trials=16,
    note="for the chain p -> p A of distributions over tokens: all mass converges to the first token, and all values "
    "converge to that of the first token",
)
def causal_chain_has_one_stationary_distribution(key: Key) -> Trial:
    """Causal attention has a unique stationary distribution. Read: only that; it is the unit mass on token 1."""
    A = attention(key, causal=True)
    return _chain_trial(A, (is_attention(A, Causal()),), Causal(), positive=False)


@causal_chain_has_one_stationary_distribution.with_control
def causal_chain_has_one_stationary_distribution(key: Key) -> Trial:
    """A second token that attends only to itself."""
    A = attention(key, causal=True)
    isolated = A.copy()
    isolated[1] = identity(len(A))[1]
    return _chain_trial(isolated, (is_attention(A, Causal()),), Causal(), positive=False)
