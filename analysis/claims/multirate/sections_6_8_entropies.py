"""Claims of Sections 6.1 and 8: relative entropy as a Lyapunov function, and attention entropy, which is not one."""

from fractions import Fraction

import numpy as np

from analysis.claims.multirate.instances.chains import (
    Chain,
    distribution,
    irreducible_chain,
    is_attention,
    softmax_of_logarithms,
    two_closed_classes,
)
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.multirate.rational_logarithms import divergence, entropy, logarithm, total
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE

ENCLOSED = "logarithms are evaluated in rational interval arithmetic, so that the sign is certain"


def growth(Q: Exact, p: Exact, stationary: Exact) -> Fraction | float:
    r"""Return an upper bound of the right derivative of D(p || pi) along p' = Q p, in nats per time unit.

    It is $\sum_i (Q p)_i \log(p_i / \pi_i)$, with $\pi$ the argument `stationary`: minus infinity if mass flows into a
    state of probability zero. If p has mass where $\pi$ has none, D is infinite at all times, and zero is returned.
    """
    flux = Q @ p
    if np.any((p > 0) & (stationary == 0)):
        return Fraction(0)
    if np.any((p == 0) & (flux > 0)):
        return float("-inf")
    return total(logarithm(a / b).times(v) for a, b, v in zip(p, stationary, flux, strict=True) if a > 0).high


def _descent_trial(
    given: Chain, stationary: Exact, p: Exact, hypotheses: tuple[Measurement, ...], *, strict: bool, sign: int = 1
) -> Trial:
    rate = growth(sign * given.generator, p, stationary)
    fact = (rate < 0 or bool(np.all(p == stationary))) if strict else rate <= 0
    return Trial(
        hypotheses=(
            *hypotheses,
            holds(
                "p_st is a stationary distribution",
                bool(np.all(given.generator @ stationary == 0)) and stationary.sum() == 1,
            ),
            holds("p is a distribution", bool(np.all(p >= 0)) and p.sum() == 1),
        ),
        conclusions=(
            holds(
                "the relative entropy decreases, or p = p_st" if strict else "the relative entropy does not increase",
                fact,
            ),
        ),
        witness={**given.witness(), "p": p, "p_st": stationary, "rate at most": rate},
    )


def _mixture(distributions: list[Exact], first: Fraction) -> Exact:
    """Return a convex combination of the stationary distributions of two closed classes."""
    return first * distributions[0] + (1 - first) * distributions[-1]


@claim(
    "multirate/claim-h-theorem",
    MULTIRATE.at("Section 6.1"),
    evidence="certified",
    num_trials=32,
    note=f"{ENCLOSED}. Reversible or not, with one closed class or two; if p has mass where p_st has none, the "
    "relative entropy is infinite at all times, and does not increase for that reason alone",
)
def relative_entropy_does_not_grow(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Along p' = Q p with generator structure d/dt D(p || p_st) <= 0, for every stationary p_st and distribution p."""
    rng = numpy_rng(key, "kind")
    given = two_closed_classes(key, transient=bool(rng.integers(2))) if rng.integers(4) == 0 else irreducible_chain(key)
    stationary = _mixture(given.stationary_distributions, Fraction(1, 3))
    p = distribution(key, given.size)
    return _descent_trial(given, stationary, p, given.measured(irreducible=False), strict=False)


@relative_entropy_does_not_grow.with_control
def relative_entropy_does_not_grow(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The rates with the opposite sign: columns still sum to zero, and p_st is still an equilibrium."""
    given = irreducible_chain(key)
    p = (distribution(key, given.size) + given.stationary_distributions[0]) / 2
    return _descent_trial(
        given, given.stationary_distributions[0], p, given.measured(irreducible=False), strict=False, sign=-1
    )


@claim(
    "multirate/claim-h-theorem/strict",
    MULTIRATE.at("Section 6.1"),
    variant="reading",
    evidence="certified",
    num_trials=4,
    note="every convex combination of the stationary distributions of two closed classes is an equilibrium, where the "
    "entropy is constant; no control: irreducible generators are measured by the same function",
)
def relative_entropy_falls(key: Key, integrator: AbstractIntegrator) -> Trial:
    """D(p || p_st) is a Lyapunov function. Read: it decreases strictly wherever p is not p_st, for any generator."""
    given = two_closed_classes(key, transient=False)
    stationary, p = (_mixture(given.stationary_distributions, Fraction(1, n)) for n in (2, 3))
    return _descent_trial(given, stationary, p, given.measured(irreducible=False), strict=True)


@claim(
    "multirate/claim-h-theorem/irreducible",
    MULTIRATE.at("Section 6.1"),
    variant="special case",
    evidence="certified",
    num_trials=32,
    note=ENCLOSED,
)
def relative_entropy_falls_for_irreducible_generators(key: Key, integrator: AbstractIntegrator) -> Trial:
    """D(p || p_st) decreases strictly wherever p is not p_st. Added: Q is irreducible."""
    given = irreducible_chain(key)
    return _descent_trial(
        given, given.stationary_distributions[0], distribution(key, given.size), given.measured(), strict=True
    )


@relative_entropy_falls_for_irreducible_generators.with_control
def relative_entropy_falls_for_irreducible_generators(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two closed classes, and convex combinations of their stationary distributions."""
    given = two_closed_classes(key, transient=False)
    stationary, p = (_mixture(given.stationary_distributions, Fraction(1, n)) for n in (2, 3))
    return _descent_trial(given, stationary, p, irreducible_chain(key).measured(), strict=True)


def _spread_trial(key: Key, sharpness: tuple[int, ...]) -> Trial:
    """Measure attention entropy and relative entropy along layers of circulant attention of the given sharpness.

    The scores depend on j - i alone and are multiplied by the sharpness, with which the entropy of a row decreases. The
    uniform distribution is stationary for all layers.
    """
    rng = numpy_rng(key, "scores")
    scores = np.array([0, 1, 3])[rng.permutation(3)]
    circulant = np.array([np.roll(scores, i) for i in range(3)])
    layers = [softmax_of_logarithms(matrix([[2 ** int(c * s) for s in row] for row in circulant])) for c in sharpness]
    stationary, path = matrix([1, 1, 1]) / 3, [distribution(key, 3)]
    path = path if np.any(path[0] != stationary) else [matrix([1, 0, 0])]
    for A in layers:
        path.append(path[-1] @ A)
    D, H = [divergence(p, stationary) for p in path], [entropy(A[0]) for A in layers]
    rises = [b.low > a.high for a, b in zip(H, H[1:], strict=False)]
    falls = [b.high < a.low for a, b in zip(H, H[1:], strict=False)]
    return Trial(
        hypotheses=(
            *(is_attention(A) for A in layers),
            holds(
                "the uniform distribution is stationary for all layers",
                all(bool(np.all(stationary @ A == stationary)) for A in layers),
            ),
            holds(
                "the relative entropy decreases in each layer",
                all(b.high < a.low for a, b in zip(D, D[1:], strict=False)),
            ),
        ),
        conclusions=(
            holds("attention entropy both increases and decreases along the layers", any(rises) and any(falls)),
        ),
        witness={"layers": layers, "p": path[0], "D": [float(d.low) for d in D], "H": [float(h.low) for h in H]},
    )


@claim(
    "multirate/claim-attention-entropy",
    MULTIRATE.at("Section 8"),
    evidence="certified",
    num_trials=8,
    note=f"{ENCLOSED}. For a fixed attention matrix its entropy does not depend on the state at all",
)
def attention_entropy_is_no_lyapunov_function(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The entropy of attention rows is not the Lyapunov functional: along some relaxations on which the relative
    entropy of the state to the stationary distribution decreases in each layer, it both increases and decreases.
    """
    return _spread_trial(key, (1, 3, 2))


@attention_entropy_is_no_lyapunov_function.with_control
def attention_entropy_is_no_lyapunov_function(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Attention whose sharpness increases with each layer."""
    return _spread_trial(key, (1, 2, 3))
