"""Claims of Remark 4.2 of CONSENSUS: the probability that random tokens share a hemisphere (Wendel)."""

from collections.abc import Callable
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.rational_instances import integers
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, holds
from analysis.tokens.hemispheres import hemisphere_margin, printed_wendel_probability, wendel_probability
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.spaces import Sphere


def _wendel_trial(key: Key, probability: Callable[[int, int], Fraction]) -> Trial:
    """Compare, exactly, with the fraction of sign choices for which the tokens lie in a common half-space."""
    l, n = (int(k) for k in integers(key, (2,), 2, 7))
    # Cover: C(N, D) of the 2^N choices of signs of N points in general position in R^D put them in one half-space, with
    # C(N, D) = C(N - 1, D) + C(N - 1, D - 1); uniform tokens have independent signs
    counts = lambda N, D: 0 if D == 0 else 2 if N == 1 else counts(N - 1, D) + counts(N - 1, D - 1)
    return Trial(
        hypotheses=(holds("l tokens on S^n, n >= 1", l >= 2 and n >= 1),),
        conclusions=(
            holds("the formula is the fraction of sign choices", probability(l, n) == Fraction(counts(l, n + 1), 2**l)),
        ),
        witness={"l": l, "n": n, "formula": probability(l, n), "counted": Fraction(counts(l, n + 1), 2**l)},
    )


@claim(
    "consensus/remark-4.2-formula",
    CONSENSUS.at("Remark 4.2"),
    evidence="certified",
    num_trials=16,
    note="tokens on S^n lie in R^{n+1}, so that the sum ends at n, not n - 1: two tokens on the circle almost surely "
    "share a half-circle, where the printed formula gives 1/2; no control: the corrected formula is measured by the "
    "same function",
)
def printed_wendel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The probability that l uniform tokens on S^n share a hemisphere is 2^{1-l} sum_{mu=0}^{n-1} binom(l-1, mu)."""
    return _wendel_trial(key, printed_wendel_probability)


@claim(
    "consensus/remark-4.2-formula/corrected",
    CONSENSUS.at("Remark 4.2"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
)
def wendel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The probability is 2^{1-l} sum_{mu=0}^{n} binom(l-1, mu). Changed: the upper limit of the sum."""
    return _wendel_trial(key, lambda l, n: wendel_probability(l, n + 1))


@wendel.with_control
def wendel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The probability for one more token."""
    return _wendel_trial(key, lambda l, n: wendel_probability(l + 1, n + 1))


def _certain_trial(key: Key, dimension_of: Callable[[int], int]) -> Trial:
    a, b = jax.random.split(key)
    l = int(jax.random.randint(a, (), 2, 7))
    d = dimension_of(l)
    x = np.asarray(Sphere().sample(b, (l, d)))
    return Trial(
        hypotheses=(holds("at least one token", l >= 1),),
        conclusions=(
            holds("the exact probability is 1", wendel_probability(l, d) == 1),
            at_least("hemisphere margin of a sample", hemisphere_margin(x), 0.0, tolerance=ROUNDING),
        ),
        witness={"l": l, "d": d, "x": x},
    )


@claim("consensus/remark-4.2-certain", CONSENSUS.at("Remark 4.2"), num_trials=32)
def many_dimensions_make_it_certain(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For n >= l the l uniform tokens on S^n share a hemisphere almost surely (n + 1 >= l suffices)."""
    return _certain_trial(key, lambda l: l + 1)


@many_dimensions_make_it_certain.with_control
def many_dimensions_make_it_certain(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The dimension d = l - 1 for l tokens."""
    return _certain_trial(key, lambda l: l - 1)
