"""Claims of Section 8 and Remark 32: attention as a Markov transition matrix, and effects of the causal mask."""

import math
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from analysis.chains.classes import transition_classes
from analysis.chains.stationary import stationary_distribution, stationary_distributions
from analysis.claims.multirate.chain_comparisons import accepts, floats
from analysis.claims.multirate.instances.attention import output, weights, weights_of
from analysis.claims.multirate.instances.chains import (
    Chain,
    attention,
    distribution,
    dobrushin_coefficient,
    is_attention,
    is_stochastic,
    null_space,
    seen_by,
    softmax_of_logarithms,
    total_variation,
)
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.master_equation.checks import check_generator, check_transition
from dynsim.systems.master_equation.flow import MasterEquationMap, step_bound
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


RATE = Fraction(7, 3)
LAYERS = 5  # of attention with the same weights


def _summary_trial(key: Key, A: Exact, Q: Exact, *, mass: bool) -> Trial:
    """Measure both correspondences for attention A and the fast dynamics x' = Q x.

    With `mass`, the equilibria are those among vectors of mass one.
    """
    generator: Any = attention_generator(A)
    n, chain = len(A), Chain(generator, "attention")
    equations = np.concatenate([Q, matrix([[1] * n])]) if mass else Q
    directions, basis = null_space(equations), null_space(Q)
    law = basis[0] / basis[0].sum()
    return Trial(
        hypotheses=(is_attention(A), weights_of(A, Full()), *chain.measured()),
        conclusions=(
            holds("(1) p_st is an equilibrium", not np.any(Q @ law)),
            holds("(1) it is the only one: the solution space has dimension zero", len(directions) == 0),
            holds("(2) attention is a transition matrix", accepts(check_transition, A)),
            holds(
                "(2) it is not the generator, nor is its transpose",
                not any(accepts(check_generator, W) for W in (A, A.T)),
            ),
            holds("the generator is A^T - I", bool(np.all(chain.generator == Q)) and accepts(check_generator, Q)),
            *_joint_measurements(A, law, distribution(key, n)),
        ),
        witness={"A": A, "p_st": law, **({"another equilibrium": law + directions[0]} if len(directions) else {})},
        parameters={"n": n},
    )


def _joint_measurements(A: Exact, law: Exact, p: Exact) -> tuple[Measurement, ...]:
    """Measure that the equilibrium of the generator is the law to which steps of attention converge.

    A step of attention is a forward-Euler step of size one of its generator, within the bound of Theorem 28 (iii). It
    contracts the total variation distance by Dobrushin's coefficient.
    """
    Q: Any = attention_generator(A)
    shrink = dobrushin_coefficient(A.T)
    step, far = MasterEquationMap(Q, 1), [total_variation(p, law)]
    same = True
    for k in range(LAYERS):
        q = step.step(k, p)
        same, p = same and bool(np.all(q == p @ A)), q
        far.append(total_variation(p, law))
    found: Any = stationary_distribution(attention_generator(weights(np.log(floats(A)))))
    return (
        holds("the equilibrium is stationary for attention", bool(np.all(law @ A == law))),
        holds("a rate multiplies the generator", bool(np.all(attention_generator(A, rate=RATE) == RATE * Q))),
        holds("a step of attention is an Euler step of size one", same),
        holds("within the bound of Theorem 28 (iii), 1 / (1 - min A_jj)", step_bound(Q) == 1 / (1 - min(A.diagonal()))),
        holds("which contracts", shrink < 1 and all(b <= shrink * a for a, b in zip(far, far[1:], strict=False))),
        holds("to the equilibrium", far[-1] <= shrink**LAYERS * far[0]),
        equal(
            "error of the stationary distribution of the weights of the token flow",
            float(np.max(abs(found.probabilities - floats(law)))),
            0.0,
            tolerance=ROUNDING,
        ),
    )


@certified(
    "multirate/remark-32",
    num_trials=8,
    note="(1) rests on claim-qss-equals-stationary and fails as that does: the summary leaves out irreducibility and "
    "mass one, which Theorem 28 has, and with p_st all its multiples are equilibria; (2) rests on "
    "claim-attention-transition; new is that both are measured on one object, the generator of attention weights of "
    "the token flow; the weaker analogies are claim-attention-entropy and claim-lumpability; no control: the corrected "
    "claim is measured by the same function",
)
def both_correspondences_hold(key: Key) -> Trial:
    """(1) Under the generator structure the QSS manifold of x' = Q x is the stationary distribution, and (2) attention
    is one discrete-time Markov transition, not the generator itself.
    """
    A = attention(key)
    return _summary_trial(key, A, A.T - identity(len(A)), mass=False)


@certified(
    "multirate/remark-32/irreducible",
    variant="corrected",
    num_trials=16,
    note="rests on theorem-28-ii, theorem-28-iii-euler and claim-attention-transition; new is the link between (1) and "
    "(2): the equilibrium of the generator of attention is the law to which steps of attention converge. Full mask: "
    "with a causal one Q is not irreducible",
)
def both_correspondences_hold_for_irreducible_generators(key: Key) -> Trial:
    """(1) Under the generator structure the QSS manifold of x' = Q x is the stationary distribution, and (2) attention
    is one discrete-time Markov transition, not the generator itself. Added: mass one, and Q is irreducible.

    For the generator A^T - I of attention A both are one: steps of attention converge to this distribution.
    """
    A = attention(key)
    return _summary_trial(key, A, A.T - identity(len(A)), mass=True)


@both_correspondences_hold_for_irreducible_generators.with_control
def both_correspondences_hold_for_irreducible_generators(key: Key) -> Trial:
    """A - I in place of its transpose, for weights whose columns do not all have the same sum."""
    A = _uneven(key)
    return _summary_trial(key, A, A - identity(len(A)), mass=True)


def _uneven(key: Key) -> Exact:
    A = attention(key)
    return A if any(column.sum() != 1 for column in A.T) else _uneven(jax.random.fold_in(key, 1))
