"""Claims of Remark 32: attention as a transition, and the equilibrium of its generator as the distribution it keeps."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np

from analysis.chains.stationary import stationary_distribution
from analysis.claims.multirate.chain_comparisons import accepts, floats
from analysis.claims.multirate.instances.attention import weights, weights_of
from analysis.claims.multirate.instances.chains import (
    Chain,
    attention,
    distribution,
    dobrushin_coefficient,
    is_attention,
    null_space,
    total_variation,
)
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.papers import MULTIRATE
from dynsim.systems.master_equation.checks import check_generator, check_transition
from dynsim.systems.master_equation.flow import MasterEquationMap, step_bound
from dynsim.systems.master_equation.generators import attention_generator
from dynsim.systems.tokens.interactions.masks import Full

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
    MULTIRATE.at("Remark 32"),
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
    MULTIRATE.at("Remark 32"),
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
