"""Claims of Sections 6.1 and 8: relative entropy as a Lyapunov function, and attention entropy, which is not one."""

import math
from fractions import Fraction
from functools import partial

import jax.numpy as jnp
import numpy as np

from analysis.chains.entropies import attention_entropy, dissipation, entropy_rate, relative_entropy
from analysis.claims.multirate.chain_comparisons import floats, relative_error
from analysis.claims.multirate.instances.attention import weights
from analysis.claims.multirate.instances.chains import (
    Chain,
    attention,
    distribution,
    irreducible_chain,
    is_attention,
    null_space,
    softmax_of_logarithms,
    two_closed_classes,
    uniform_cycle,
)
from analysis.claims.multirate.instances.hard_chains import some_irreducible_chain
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.claims.rational_logarithms import Enclosure, divergence, entropy, logarithm, total
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap

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
    given: Chain,
    stationary: Exact,
    p: Exact,
    hypotheses: tuple[Measurement, ...],
    *,
    strict: bool,
    reference: Exact | None = None,
) -> Trial:
    """Measure the growth of the relative entropy to `stationary`, or to a `reference` in place of it."""
    q = stationary if reference is None else reference
    rate = growth(given.generator, p, q)
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
            *_computed_measurements(given, q, p),
        ),
        witness={**given.witness(), "p": p, "p_st": stationary, "rate at most": rate},
        parameters=given.parameters(),
    )


def _computed_measurements(given: Chain, law: Exact, p: Exact) -> tuple[Measurement, ...]:
    """Measure the relative entropy and its dissipation as the toolkit computes them, at p and after two Euler steps."""
    step, start = MasterEquationMap(given.generator, given.half_step), divergence_to(p, law)
    later = step.step(1, step.step(0, p))
    finite = not np.any((p > 0) & (law == 0))
    ends = [(p, start), *([(later, divergence_to(later, law))] if finite else [])]
    found = [
        equal(
            "relative error of the relative entropy",
            relative_error(
                relative_entropy(floats(q), floats(law)), D.low, D.low + _rounded(sum(abs(q - law), Fraction(0)))
            ),
            0.0,
            tolerance=ROUNDING,
        )
        for q, D in ends
        if D is not None
    ]
    if not finite:
        found.append(
            holds("it is infinite off the support of p_st", relative_entropy(floats(p), floats(law)) == np.inf)
        )
    if start is not None and len(ends) == 2 and not np.any(given.generator @ law):
        found.append(holds("two Euler steps do not increase it", ends[1][1] is None or ends[1][1].low <= start.high))
    if finite and np.all(law > 0) and not np.any(given.generator @ law):
        found.append(_dissipation_measurement(given, law, later))
    return tuple(found)


def _rounded(gap: Fraction) -> Fraction:
    """Return a bound of the effect of rounding p and p_st on their relative entropy, over `ROUNDING`.

    `gap` is the sum of |p - p_st|. Where p / p_st is near one, the rounding of that ratio counts.
    """
    return gap / 10 + Fraction(1, 10**20)


def divergence_to(p: Exact, law: Exact) -> Enclosure | None:
    """Return an enclosure of D(p || law); None if it is zero or infinite."""
    return None if np.all(p == law) or np.any((p > 0) & (law == 0)) else divergence(p, law)


def _dissipation_measurement(given: Chain, law: Exact, p: Exact) -> Measurement:
    r"""Measure that the dissipation, and the derivative along the field, are $-\sum_i (Q p)_i \log(p_i / \pi_i)$."""
    Q, inside = given.generator, p > 0
    flux = np.asarray(MasterEquationFlow(floats(Q)).velocity(0.0, jnp.asarray(floats(p))))
    expected, logs = -float(growth(Q, p, law)), np.log(floats(p[inside] / law[inside]))
    if np.isinf(expected):
        return holds(
            "the dissipation is infinite where an empty state fills",
            dissipation(floats(Q), floats(p), floats(law)) == np.inf,
        )
    scale = float(np.sum((floats(abs(Q)) @ floats(p))[inside] * (1 + abs(logs))))
    found = [dissipation(floats(Q), floats(p), floats(law)), -float(flux[inside] @ logs)]
    error = relative_error(found, expected, scale)
    return equal("error of the dissipation and of the derivative along the field", error, 0.0, tolerance=ROUNDING)


def _mixture(distributions: list[Exact], first: Fraction) -> Exact:
    """Return a convex combination of the stationary distributions of two closed classes."""
    return first * distributions[0] + (1 - first) * distributions[-1]


@certified(
    "multirate/claim-h-theorem",
    num_trials=48,
    note=f"{ENCLOSED}; compared with the relative entropy, the dissipation and the field of the toolkit. "
    "Reversible or not, with one closed class or two; if p has mass where p_st has none, the "
    "relative entropy is infinite at all times, and does not increase for that reason alone",
)
def relative_entropy_does_not_grow(key: Key) -> Trial:
    """Along p' = Q p with generator structure d/dt D(p || p_st) <= 0, for every stationary p_st and distribution p."""
    rng = numpy_rng(key, "kind")
    transient = bool(rng.integers(2))
    given = some_irreducible_chain(key) if rng.integers(3) else two_closed_classes(key, transient=transient)
    stationary = _mixture(given.stationary_distributions, Fraction(1, 3))
    p = _start(key, given, stationary)
    return _descent_trial(given, stationary, p, given.measured(irreducible=False), strict=False)


def _start(key: Key, given: Chain, law: Exact) -> Exact:
    """Return a random distribution, one state, the stationary distribution, or one at a distance of 1/10000 from it."""
    kind = int(numpy_rng(key, "start").integers(5))
    far = distribution(key, given.size) if given.size > 1 else matrix([1])
    near = law + (far * (law > 0) - law * sum(far * (law > 0))) / 10**4
    return (far, far, identity(given.size)[0], law, near)[kind]


@relative_entropy_does_not_grow.with_control
def relative_entropy_does_not_grow(key: Key) -> Trial:
    """The relative entropy to the uniform distribution in place of p_st, which is another."""
    rng = numpy_rng(key, "weights")
    skewed = uniform_cycle(4, Fraction(1)).generator * matrix(1 + rng.permutation(4))[None]
    given, uniform = Chain(skewed), matrix([1, 1, 1, 1]) / 4
    p = given.step(given.half_step / 50) @ uniform
    law = given.stationary_distributions[0]
    return _descent_trial(given, law, p, given.measured(irreducible=False), strict=False, reference=uniform)


@certified(
    "multirate/claim-h-theorem/strict",
    variant="reading",
    num_trials=4,
    note="every convex combination of the stationary distributions of two closed classes is an equilibrium, where the "
    "entropy is constant; no control: irreducible generators are measured by the same function",
)
def relative_entropy_falls(key: Key) -> Trial:
    """D(p || p_st) is a Lyapunov function. Read: it decreases strictly wherever p is not p_st, for any generator."""
    given = two_closed_classes(key, transient=False)
    stationary, p = (_mixture(given.stationary_distributions, Fraction(1, n)) for n in (2, 3))
    return _descent_trial(given, stationary, p, given.measured(irreducible=False), strict=True)


@certified(
    "multirate/claim-h-theorem/irreducible",
    variant="special case",
    num_trials=48,
    note=f"{ENCLOSED}; compared with the relative entropy, the dissipation and the field of the toolkit",
)
def relative_entropy_falls_for_irreducible_generators(key: Key) -> Trial:
    """D(p || p_st) decreases strictly wherever p is not p_st. Added: Q is irreducible."""
    given = some_irreducible_chain(key)
    law = given.stationary_distributions[0]
    return _descent_trial(given, law, _start(key, given, law), given.measured(), strict=True)


@relative_entropy_falls_for_irreducible_generators.with_control
def relative_entropy_falls_for_irreducible_generators(key: Key) -> Trial:
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
    seen = [weights(math.log(2) * c * circulant) for c in sharpness]
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
            equal(
                "largest error of the weights of the token flow",
                max(float(np.max(abs(A - floats(B)))) for A, B in zip(seen, layers, strict=True)),
                0.0,
                tolerance=ROUNDING,
            ),
            equal(
                "largest error of the entropies of their rows",
                max(float(np.max(abs(attention_entropy(A) - float(h.low)))) for A, h in zip(seen, H, strict=True)),
                0.0,
                tolerance=ROUNDING,
            ),
            equal(
                "largest error of the relative entropies along the layers",
                max(
                    abs(float(relative_entropy(floats(p), floats(stationary)) - d.low))
                    for p, d in zip(path, D, strict=True)
                ),
                0.0,
                tolerance=ROUNDING,
            ),
            *_row_entropies(key),
        ),
        parameters={"n": 3, "sharpness": " ".join(map(str, sharpness))},
        witness={"layers": layers, "p": path[0], "D": [float(d.low) for d in D], "H": [float(h.low) for h in H]},
    )


def _row_entropies(key: Key) -> tuple[Measurement, ...]:
    """Measure the entropies of the rows of a full attention matrix, which differ, and their mean, the entropy rate."""
    A = attention(key, least=3)
    law = null_space(A.T - identity(len(A)))[0]
    law, H = law / law.sum(), [entropy(row).low for row in A]
    found = attention_entropy(A)
    return (
        equal("error of the entropies of rows", np.max(abs(found - floats(np.array(H)))), 0.0, tolerance=ROUNDING),
        equal("entropy rate", entropy_rate(A, floats(law)), float(law @ H), tolerance=ROUNDING),
    )


attention_entropy_is_no_lyapunov_function = certified(
    "multirate/claim-attention-entropy",
    statement="The entropy of attention rows is not the Lyapunov functional: along some relaxations on which the "
    "relative entropy of the state to the stationary distribution decreases in each layer, it both increases and "
    "decreases.",
    trial=partial(_spread_trial, sharpness=(1, 3, 2)),
    control=partial(_spread_trial, sharpness=(1, 2, 3)),  # Attention whose sharpness increases with each layer.
    num_trials=8,
    note=f"{ENCLOSED}; compared with the weights of the token flow and their entropies in the "
    "toolkit. For a fixed attention matrix its entropy does not depend on the state at all",
)
