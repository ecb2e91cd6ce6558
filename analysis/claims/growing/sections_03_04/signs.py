"""Claims of Lemma 4 and Theorem 1: the sign of C_k, and whether F_sep grows and is convex when embeddings move out."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.expansions import (
    Expansion,
    along_dominant,
    covariances_of,
    expanding,
    expansion_computed,
    force_of,
    random_expansion,
    separated,
    shipped,
    signed_permutation,
)
from analysis.claims.growing.instances.lines import (
    LINE,
    centred,
    centred_bank,
    falling,
    line_expansion,
    symmetric_expansion,
    tilted_expansion,
)
from analysis.claims.prototype_banks import RationalBank
from analysis.claims.rational_instances import matrix
from analysis.growing.separation import expansion, expansion_at_high_temperature
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng


def _trial(at: Expansion, hypotheses: tuple[Measurement, ...], conclusions: tuple[Measurement, ...]) -> Trial:
    measured = (*along_dominant(at), *separated(at), *hypotheses)
    return Trial(measured, conclusions, at.witness(), parameters=at.parameters)


@certified(
    "growing/lemma-4",
    num_trials=4,
    note="for centred tokens C_k is the same number -sum_n alpha_n pbar*_n for all k, and negative where tokens "
    "farther out prefer prototypes farther out. Here u is the direction of the largest variance of tokens, too, as in "
    "the proof",
)
def covariances_are_not_negative(key: Key) -> Trial:
    """For u = v_1(A_res), C_k = sum_n alpha_n (p*_k - pbar*_n) is at least 0 for all k, and positive for some k.

    Under (A2'); tokens are centred in the residual subspace, as the proof says.
    """
    at = line_expansion(key)
    found = covariances_of(at)
    shipping = agrees("C_k that ships", shipped(*at.floats).covariances, found)
    return _trial(
        at,
        (*centred(at), shipping),
        (holds("C_k >= 0 for all k", bool(np.all(found >= 0))), holds("C_k > 0 for some k", bool(np.any(found > 0)))),
    )


def _common_trial(at: Expansion, *hypotheses: Measurement) -> Trial:
    found = covariances_of(at)
    return _trial(
        at,
        (holds("the projections sum to zero", np.sum(at.projections) == 0), *hypotheses),
        (
            holds("C_k is the same for all k", len(set(found)) == 1),
            holds("C_k < 0", bool(np.all(found < 0))),
            agrees("C_k that ships", shipped(*at.floats).covariances, found),
        ),
    )


@certified(
    "growing/lemma-4/corrected",
    control=lambda key: _common_trial(tilted_expansion(key)),  # Prototypes that differ across u as well.
    num_trials=8,
    note="pbar*_n then increases with alpha_n: Chebyshev's sum inequality. u need not be dominant",
)
def covariances_are_one_negative_number(key: Key) -> Trial:
    """For sum_n alpha_n = 0 all C_k are -sum_n alpha_n pbar*_n. Changed: it is negative if prototypes differ along u
    alone, some of them do, and some alpha_n is not 0.
    """
    at = centred_bank(key)
    across = at.bank.p - np.outer(at.starred, at.u)
    return _common_trial(
        at,
        holds("prototypes differ along u alone", not np.any(across != across[:1])),
        holds("some projection is not 0", bool(np.any(at.projections != 0))),
    )


def _growing_trial(at: Expansion, *hypotheses: Measurement) -> Trial:
    """Measure phi(1) >= phi(0), exactly, and that it fails at every temperature."""
    start, end = force_of(at.bank), force_of(at.end)
    trial = _trial(
        at,
        (*falling(at), *centred(at), *expansion_computed(at), *hypotheses),
        (holds("phi(1) >= phi(0)", end >= start),),
    )
    return Trial(
        (*trial.hypotheses, agrees("phi(1) that ships", shipped(*at.floats).end, float(end))),
        trial.conclusions,
        {**trial.witness, "phi(0)": start, "phi(1)": end},
        parameters=trial.parameters,
    )


force_does_not_decrease = certified(
    "growing/theorem-1",
    statement="""
    Under (A1), (A2') and for T sufficiently large phi(1) >= phi(0), u = v_1(A_res) being orthogonal to V^(K).

    Read: alpha_n = <z_n, u>, as it is printed.
    """,
    trial=lambda key: _growing_trial(symmetric_expansion(key)),
    num_trials=4,
    note="two prototypes at +-a u: F_sep = 8 |p_1 - p_2|^2 (sum_n q_n1 q_n2)^2, and every product falls when its token "
    f"moves out, at every temperature, so that no T is large enough. {LINE}",
)


@certified(
    "growing/theorem-1/projected",
    variant="reading",
    num_trials=4,
    note="all q_n1 = q_n2 = 1/2 at the start, where F_sep is largest",
)
def force_of_projected_tokens_does_not_decrease(key: Key) -> Trial:
    """The same. Read: z_n^(K) is the projection of a token on V^(K), without a component along u, and alpha_n is the
    component that it gains.
    """
    at = symmetric_expansion(key, projected=True)
    return _growing_trial(at, holds("no embedding has a component along u", not np.any(at.bank.z @ at.u)))


@jax.jit
def _change(p: jax.Array, z: jax.Array, u: jax.Array, T: Scalar, alpha: jax.Array) -> Scalar:
    """Return phi(1) - phi(0)."""
    start, end = (expansion(p, z, u, T, jnp.asarray(step, float), alpha) for step in (0.0, 1.0))
    return end - start


_limit = jax.jit(expansion_at_high_temperature)
HOT = (1e4, 1e5, 1e6)


def _hot_trial(key: Key, sign: int) -> Trial:
    """Measure T (phi(1) - phi(0)) at high temperatures, for projections whose limit of it has a sign.

    At random the tokens have lost their components along u, which they gain.
    """
    at = random_expansion(key)
    p, z, u, _, alpha = at.floats
    z = z - alpha[:, None] * u[None] if numpy_rng(key, "projected").integers(2) else z
    limit = float(_limit(p, z, u, alpha))
    alpha, limit = (alpha, limit) if sign * limit > 0 else (-alpha, -limit)
    found = [T * float(_change(p, z, u, jnp.asarray(T), alpha)) for T in HOT]
    errors = [abs(change - limit) for change in found]
    noise = HOT[-1] * 1e-13 * (1 + float(at.force(0)[0]))  # rounding of the forces
    return Trial(
        (*along_dominant(at), *separated(at), at_least("the size of the limit", abs(limit), 0.1, tolerance=ROUNDING)),
        (
            at_least("T (phi(1) - phi(0)) at T = 10^6", found[-1], 0.0, tolerance=noise),
            at_most("its error there", errors[-1], 0.2 * max(errors[:2]), tolerance=noise),
        ),
        {**at.witness(), "limit": limit, "z": np.asarray(z), "alpha": np.asarray(alpha)},
        parameters={**at.parameters, "T": "10^4 to 10^6"},
    )


force_grows_at_high_temperature = claim(
    "growing/theorem-1/corrected",
    statement="For T sufficiently large phi(1) > phi(0). Added: (sum_n alpha_n) sum_k <p_k - p, u> |p_k - p|^2 > 0, p "
    "being the mean of the prototypes.",
    trial=partial(_hot_trial, sign=1),
    control=partial(_hot_trial, sign=-1),  # A product that is negative.
    num_trials=12,
    note="the limit of T (phi(1) - phi(0)) is (16 N / K^2) times that product, with an error of order 1/T. It vanishes "
    "for centred tokens and for two prototypes: then the next order decides, see `theorem-1`",
)


@certified(
    "growing/theorem-1-convexity",
    num_trials=4,
    note="for two prototypes and tokens with equal q_n1 q_n2 = x / (1 + x)^2, phi'' has the sign of 1 - 3 x + x^2, "
    "negative for 2/5 < x <= 1: at every higher temperature too. no control: `two-prototypes` is the positive case",
)
def expansion_is_convex(key: Key) -> Trial:
    """The function phi is convex on [0, 1]: phi''(eps) >= 0 whenever some dr_k / d eps is not 0. Under (A1), (A2')."""
    at = symmetric_expansion(key, hot=True)
    r, phi = at.forces(), at.force()
    ratio = {1 / a - 1 if a > Fraction(1, 2) else a / (1 - a) for a in at.bank.q[:, 0]}
    sign = lambda x: 1 - 3 * x + x**2
    return _trial(
        at,
        (
            holds("some derivative of r_k does not vanish", bool(np.any(r[1] != 0))),
            holds("x > 2/5 for all tokens", len(ratio) == 1 and min(ratio) > Fraction(2, 5)),
            holds("1 - 3 x + x^2 < 0 for 2/5 <= x <= 1", sign(Fraction(2, 5)) < 0 and sign(Fraction(1)) < 0),
            *expansion_computed(at),
        ),
        (holds("phi''(0) >= 0", phi[2] >= 0),),
    )


def _two_prototypes(key: Key, base: str | None = None) -> Expansion:
    """Return four equal tokens and two prototypes that differ along u; with a base, nearer to the first."""
    rng = numpy_rng(key, "two prototypes")
    axes = signed_permutation(rng, 4)
    if base is None:
        z, second = matrix(rng.integers(-2, 3, (1, 4))), matrix(rng.integers(-1, 2, 4))
        z, p = z + (z @ axes[0] == 0) * axes[:1], np.stack([second + axes[0] + axes[1], second])
        base = str(rng.choice(["17/16", "9/8", "5/4", "3/2", "2"]))
    else:
        z, p = axes[:1] + int(rng.integers(-2, 3)) * axes[2:3], np.stack([axes[0], -axes[1]])
    return expanding(key, RationalBank(np.concatenate([z] * 4), p, Fraction(base)), axes)


def _sign_trial(at: Expansion, bound: Fraction) -> Trial:
    """Measure that phi''(0) >= 0 where q_1 q_2 is at most a bound, and < 0 elsewhere."""
    product, phi = np.prod(at.bank.q[0]), at.force()
    return _trial(
        at,
        (
            holds(
                "tokens are equal, with a component along u", len(set(at.projections)) == 1 and at.projections[0] != 0
            ),
            holds("q_1 q_2 is not the bound", product != bound),
        ),
        (
            holds(f"phi''(0) > 0 if and only if q_1 q_2 < {bound}", (phi[2] > 0) == (product < bound)),
            *expansion_computed(at),
        ),
    )


expansion_is_convex_where_assignments_are_hard = certified(
    "growing/theorem-1-convexity/two-prototypes",
    statement="""Two prototypes and equal tokens, alpha not 0: phi''(0) > 0 if q_1 q_2 < 1/5, and < 0 if q_1 q_2 > 1/5.

    Added: K = 2, z_1 = .. = z_N, and the condition on the assignments.
    """,
    trial=lambda key: _sign_trial(_two_prototypes(key), Fraction(1, 5)),
    control=lambda key: _sign_trial(_two_prototypes(key, "3/2"), Fraction(2, 9)),  # The bound 2/9 in place of 1/5.
    variant="special case",
    num_trials=16,
    note="sharp: phi = 8 N^2 |p_1 - p_2|^2 x^2 / (1 + x)^4 with x = exp(-(d_2 - d_1) / T)",
)
