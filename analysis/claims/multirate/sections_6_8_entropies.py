"""Claims of Sections 6.1 and 8: relative entropy, which falls, and attention entropy, which is another quantity."""

from fractions import Fraction

import numpy as np

from analysis.claims.multirate.instances.chains import (
    Chain,
    chain,
    distribution,
    draws,
    is_attention,
    softmax,
    two_traps,
)
from analysis.claims.multirate.rational_logarithms import divergence, entropy, logarithm, total
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE

ENCLOSED = "logarithms of fractions are enclosed between fractions, so that the sign is certain"


def growth(Q: Exact, p: Exact, law: Exact) -> Fraction | float:
    r"""Return an upper bound of the right derivative of D(p || law) along p' = Q p, per time unit.

    $\sum_i (Q p)_i \log(p_i / \pi_i)$. Mass that flows into an empty state makes it minus infinity. Where p charges a
    state that the law does not, D is infinite, and stays so in finite time: growth zero.
    """
    flux = Q @ p
    if np.any((p > 0) & (law == 0)):
        return Fraction(0)
    if np.any((p == 0) & (flux > 0)):
        return float("-inf")
    return total(logarithm(a / b).times(v) for a, b, v in zip(p, law, flux, strict=True) if a > 0).high


def _descent_trial(
    given: Chain, law: Exact, p: Exact, hypotheses: tuple[Measurement, ...], *, strict: bool, sign: int = 1
) -> Trial:
    rate = growth(sign * given.generator, p, law)
    fact = (rate < 0 or bool(np.all(p == law))) if strict else rate <= 0
    return Trial(
        hypotheses=(
            *hypotheses,
            holds("p_st is a stationary distribution", bool(np.all(given.generator @ law == 0)) and law.sum() == 1),
            holds("p is a distribution", bool(np.all(p >= 0)) and p.sum() == 1),
        ),
        conclusions=(
            holds("the relative entropy falls, or p = p_st" if strict else "the relative entropy does not grow", fact),
        ),
        witness={**given.witness(), "p": p, "p_st": law, "rate at most": rate},
    )


def _mixture(laws: list[Exact], first: Fraction) -> Exact:
    """Return a stationary law of two closed classes."""
    return first * laws[0] + (1 - first) * laws[-1]


@claim(
    "multirate/claim-h-theorem",
    MULTIRATE.at("Section 6.1"),
    evidence="certified",
    num_trials=32,
    note=f"{ENCLOSED}. Reversible or not, of one closed class or two; where p charges a state that p_st does not, the "
    "entropy is infinite at all times, and does not grow for that reason alone",
)
def relative_entropy_does_not_grow(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Along p' = Q p with generator structure d/dt D(p || p_st) <= 0, for every stationary p_st and distribution p."""
    rng = draws(key, "kind")
    given = two_traps(key, transient=bool(rng.integers(2))) if rng.integers(4) == 0 else chain(key)
    law = _mixture(given.laws, Fraction(1, 3))
    p = distribution(key, given.size)
    return _descent_trial(given, law, p, given.measured(irreducible=False), strict=False)


@relative_entropy_does_not_grow.with_control
def relative_entropy_does_not_grow(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The rates with the other sign: columns sum to zero still, and p_st is at rest."""
    given = chain(key)
    p = (distribution(key, given.size) + given.laws[0]) / 2
    return _descent_trial(given, given.laws[0], p, given.measured(irreducible=False), strict=False, sign=-1)


@claim(
    "multirate/claim-h-theorem/strict",
    MULTIRATE.at("Section 6.1"),
    variant="reading",
    evidence="certified",
    num_trials=4,
    note="between the stationary laws of two closed classes nothing moves and the entropy stays where it is; no "
    "control: irreducible generators are measured by the same function",
)
def relative_entropy_falls(key: Key, integrator: AbstractIntegrator) -> Trial:
    """D(p || p_st) is a Lyapunov function. Read: it falls strictly wherever p is not p_st, for any generator."""
    given = two_traps(key, transient=False)
    law, p = (_mixture(given.laws, Fraction(1, n)) for n in (2, 3))
    return _descent_trial(given, law, p, given.measured(irreducible=False), strict=True)


@claim(
    "multirate/claim-h-theorem/irreducible",
    MULTIRATE.at("Section 6.1"),
    variant="special case",
    evidence="certified",
    num_trials=32,
    note=ENCLOSED,
)
def relative_entropy_falls_for_irreducible_generators(key: Key, integrator: AbstractIntegrator) -> Trial:
    """D(p || p_st) falls strictly wherever p is not p_st. Added: Q is irreducible."""
    given = chain(key)
    return _descent_trial(given, given.laws[0], distribution(key, given.size), given.measured(), strict=True)


@relative_entropy_falls_for_irreducible_generators.with_control
def relative_entropy_falls_for_irreducible_generators(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two closed classes, between their laws."""
    given = two_traps(key, transient=False)
    law, p = (_mixture(given.laws, Fraction(1, n)) for n in (2, 3))
    return _descent_trial(given, law, p, chain(key).measured(), strict=True)


def _spread_trial(key: Key, sharpness: tuple[int, ...]) -> Trial:
    """Move a distribution through layers of attention whose scores depend on j - i alone, with all of its sharpness.

    The uniform law is stationary for each of them; a row's entropy falls as the scores are multiplied up.
    """
    rng = draws(key, "scores")
    scores = np.array([0, 1, 3])[rng.permutation(3)]
    circulant = np.array([np.roll(scores, i) for i in range(3)])
    layers = [softmax(matrix([[2 ** int(c * s) for s in row] for row in circulant])) for c in sharpness]
    law, path = matrix([1, 1, 1]) / 3, [distribution(key, 3)]
    path = path if np.any(path[0] != law) else [matrix([1, 0, 0])]
    for A in layers:
        path.append(path[-1] @ A)
    D, H = [divergence(p, law) for p in path], [entropy(A[0]) for A in layers]
    rises = [b.low > a.high for a, b in zip(H, H[1:], strict=False)]
    falls = [b.high < a.low for a, b in zip(H, H[1:], strict=False)]
    return Trial(
        hypotheses=(
            *(is_attention(A) for A in layers),
            holds("the uniform law is stationary for all layers", all(bool(np.all(law @ A == law)) for A in layers)),
            holds(
                "the relative entropy falls in each layer", all(b.high < a.low for a, b in zip(D, D[1:], strict=False))
            ),
        ),
        conclusions=(holds("attention entropy both rises and falls on the way", any(rises) and any(falls)),),
        witness={"layers": layers, "p": path[0], "D": [float(d.low) for d in D], "H": [float(h.low) for h in H]},
    )


@claim(
    "multirate/claim-attention-entropy",
    MULTIRATE.at("Section 8"),
    evidence="certified",
    num_trials=8,
    note=f"{ENCLOSED}. Under one fixed attention matrix its entropy does not depend on the state at all",
)
def attention_entropy_is_no_lyapunov_function(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The entropy of attention rows is not the functional that falls: along some relaxations, on which the relative
    entropy of the state to the stationary law falls in each layer, it rises and falls.
    """
    return _spread_trial(key, (1, 3, 2))


@attention_entropy_is_no_lyapunov_function.with_control
def attention_entropy_is_no_lyapunov_function(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Attention that is sharpened in each layer."""
    return _spread_trial(key, (1, 2, 3))
