"""Claims of Proposition 4 on degenerate assignments, utilisation and centroids, and of Remark 3 on dead codes."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import RationalBank, distances, random_bank, shipped, soft, squared_norms
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.claims.rational_logarithms import logarithm
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.ledger.claim import certified, claim, rule
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, equal, holds
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.exact import positive_definite
from dynsim.keys import numpy_rng
from dynsim.networks.prototypes.quantisers import AbstractQuantiser, HardQuantiser, SoftQuantiser, usage
from dynsim.systems.prototypes import assignments as measures
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

THRESHOLD = Fraction(1, 100)  # of Table 5

velocity = eqx.filter_jit(lambda flow, p: flow.velocity(0.0, p))
utilisation = eqx.filter_jit(measures.utilisation)
AT_THRESHOLD = jnp.asarray([[0.5, 0.5], [0.0, 1.0]])
"""Assignments of which the mean for the first prototype is exactly 1/4."""


def _stochastic(key: Key, kind: str) -> Exact:
    """Return assignments (5, 3): one prototype for all, different ones, the same but for one soft row, or random."""
    rng = numpy_rng(key, kind)
    chosen = rng.integers(3, size=5) if kind != "one" else np.full(5, rng.integers(3))
    chosen[:2] = chosen[:2] if kind == "one" else [0, 1]
    q = matrix(np.eye(3, dtype=int)[chosen])
    soft = matrix(rng.integers(1, 9, (5, 3)))
    soft = soft / np.sum(soft, axis=1)[:, None]
    rows = {"one": 0, "different": 0, "one soft row": 1, "soft": 5}[kind]
    return np.concatenate([soft[:rows], q[rows:]])


def _degenerate_trial(q: Exact, kind: str, degenerate: bool, what: str, *, refuted: bool = False) -> Trial:
    """Measure that Sigma_q = 0 only if assignments are degenerate in a sense, `what`, and then is zero.

    That Sigma_q is the one that ships is a conclusion, or a hypothesis for a sentence that is `refuted`.
    """
    sigma = np.sum([np.diag(row) - np.outer(row, row) for row in q], axis=0)
    ships = agrees("Sigma_q that ships", measures.assignment_covariance(jnp.asarray(q.astype(float))), sigma)
    return Trial(
        (
            holds("assignments are not negative", bool(np.all(q >= 0))),
            holds("their rows sum to one", bool(np.all(np.sum(q, axis=1) == 1))),
            *((ships,) if refuted else ()),
        ),
        (
            holds(f"Sigma_q = 0 only if {what}", degenerate or bool(np.any(sigma != 0))),
            holds("and then it is zero", not degenerate or bool(np.all(sigma == 0))),
            *(() if refuted else (ships,)),
        ),
        {"q": q},
        parameters={"n": 5, "k": 3, "assignments": kind},
    )


@certified(
    "prototypes/proposition-4-sigma",
    num_trials=6,
    note="for any assignments, such as the limits T -> 0, of which the proof speaks; at T > 0 and K >= 2 Sigma_q is "
    "never zero in exact arithmetic, and is in floating point once assignments underflow",
)
def covariance_vanishes_for_one_prototype_alone(key: Key) -> Trial:
    """Sigma_q = 0 only if all tokens are assigned to a single prototype."""
    q = _stochastic(key, "different")
    alike = bool(np.any(np.all(q == 1, axis=0)))
    return _degenerate_trial(q, "different", alike, "all tokens go to one prototype", refuted=True)


@certified("prototypes/proposition-4-sigma/corrected", num_trials=12)
def covariance_vanishes_for_hard_assignments(key: Key) -> Trial:
    """Sigma_q = 0 only if each token is assigned to a single prototype. Changed: each to its own. Then it is zero."""
    kind = str(numpy_rng(key, "kind").choice(["one", "different", "one soft row", "soft"]))
    q = _stochastic(key, kind)
    return _degenerate_trial(q, kind, bool(np.all((q == 0) | (q == 1))), "each token goes to one prototype")


@covariance_vanishes_for_hard_assignments.with_control
def covariance_vanishes_for_hard_assignments(key: Key) -> Trial:
    """Each token but one is assigned to a single prototype."""
    q = _stochastic(key, "one soft row")
    return _degenerate_trial(q, "one soft row", bool(np.all((q[1:] == 0) | (q[1:] == 1))), "each token but one does")


def _used_trial(bank: RationalBank, bound: Fraction, least: Fraction) -> Trial:
    """Measure that all prototypes are used, for banks in which `bound` is more than K per cent, and a bound of q."""
    mean = np.sum(bank.q, axis=0) / len(bank.z)
    used = Fraction(int(np.sum(mean > THRESHOLD)), len(bank.p))
    found = utilisation(shipped(*bank.floats).q)
    return Trial(
        (*soft(bank), holds("prototypes are distinct", bank.distinct), holds("e^(-D/T) > K/100", bound > least)),
        (
            holds("all prototypes have a mean assignment above 1/100", used == 1),
            agrees("the utilisation that ships", found, float(used)),
            agrees("that of a mean assignment at the threshold", utilisation(AT_THRESHOLD, 0.25), 0.5),
        ),
        {**bank.witness(), "mean assignments": mean},
        parameters={**bank.parameters, "utilisation": float(used)},
    )


def _gap_weight(bank: RationalBank) -> Fraction:
    """Return exp(-D/T), D being the largest excess of a squared distance over the least one of its embedding."""
    d = distances(bank.z, bank.p)
    return 1 / bank.base ** int(np.max(d - np.min(d, axis=1)[:, None]) / bank.spacing**2)


@certified(
    "prototypes/proposition-4-utilisation",
    num_trials=4,
    note="used means a mean assignment above .01, as in Table 5. A prototype far from all embeddings, or more than 100 "
    "prototypes, of which at most 99 can be used; the proof's q_nk > 0 holds for every prototype anywhere, and says "
    "nothing",
)
def all_prototypes_are_used(key: Key) -> Trial:
    """For distinct prototypes and any T > 0 the whole codebook is used, by construction."""
    rng, bank = numpy_rng(key, "use"), random_bank(key)
    if rng.integers(2):
        far = matrix([[0, 0], [0, 0], [1, 0]]) * (bank.spacing * int(rng.integers(60, 90)))
        return _used_trial(bank._replace(p=bank.p + far, name="far prototype"), Fraction(1), Fraction(0))
    grid = matrix([[i, j] for i in range(-5, 6) for j in range(-5, 6)])
    return _used_trial(bank._replace(p=bank.spacing * grid, name="121 prototypes"), Fraction(1), Fraction(0))


@certified("prototypes/proposition-4-utilisation/corrected", num_trials=8)
def prototypes_of_hot_banks_are_used(key: Key) -> Trial:
    """The whole codebook is used. Added: e^(-D/T) > K/100, D being the largest of |z_n - p_k|^2 - min_j |z_n - p_j|^2.

    For then every assignment is at least e^(-D/T) / K.
    """
    bank = _threshold_bank(key, above=True)
    return _used_trial(bank, _gap_weight(bank), len(bank.p) * THRESHOLD)


@prototypes_of_hot_banks_are_used.with_control
def prototypes_of_hot_banks_are_used(key: Key) -> Trial:
    """The same with 1/100 in place of K/100."""
    bank = _threshold_bank(key, above=False)
    return _used_trial(bank, _gap_weight(bank), THRESHOLD)


def _threshold_bank(key: Key, *, above: bool) -> RationalBank:
    """Return embeddings at one point, two prototypes at distance 1 and one at the squared distance 26.

    e^(-D/T) with D = 25 is from .03 to .05, above 3/100, or between .01 and .02, above 1/100.
    """
    rng, drawn = numpy_rng(key, "threshold"), random_bank(key)
    weight = rng.uniform(0.031, 0.05) if above else rng.uniform(0.0101, 0.0195)
    base = Fraction(float(weight ** (-1 / 25))).limit_denominator(1000)
    centre = drawn.z[:1]
    p = centre + drawn.spacing * matrix([[1, 0], [0, 1], [5, 1]])
    return RationalBank(centre[[0] * 5], p, base, drawn.spacing, "threshold")


def _centroid_bank(key: Key, *, attracting: bool) -> tuple[RationalBank, Fraction]:
    """Return embeddings symmetric about their mean c, prototypes c - s, c, c + s, and the barrier that holds them.

    The outer prototypes are farther out than the embeddings, so that the barrier's coefficient is positive. It is such
    that the force (lambda/2) sum |p_j - p_k|^-2 exerts on them balances the frozen gradient. With embeddings at c and
    at three quarters of the way from it to each outer prototype the equilibrium is `attracting`.
    """
    rng, drawn = numpy_rng(key, "centroid"), random_bank(key)
    h = drawn.spacing
    middle, near, far = (int(v) for v in (rng.integers(-2, 3), rng.integers(1, 3), rng.integers(3, 5)))
    c, a, s = (matrix([[v, 0]]) * h for v in (middle, *((3, 4) if attracting else (near, far))))
    z = c + np.concatenate([-a, -a, *[0 * a] * (2 if attracting else 1), a, a])
    p = c + np.concatenate([-s, 0 * s, s])
    if rng.integers(2):
        z, p = z[:, ::-1], p[:, ::-1]
    axis = int(p[0, 0] == p[2, 0])
    bank = RationalBank(z, p, drawn.base, h, "centroid")
    pull = 2 * np.sum(bank.q[:, 2] * (bank.p[2, axis] - bank.z[:, axis]))  # the loss's derivative by the last prototype
    push = 2 * (1 / s[0, 0] ** 3 + 1 / (2 * s[0, 0]) ** 3)  # minus the barrier's, over lambda
    return bank, pull / push


def _barrier_slope(p: Exact) -> Exact:
    """Return the derivative of (1/2) sum over ordered pairs of |p_j - p_k|^-2."""
    found = 0 * p
    for k in range(len(p)):
        for j in range(len(p)):
            if j != k:
                found[k] = found[k] - 2 * (p[k] - p[j]) / squared_norms(p[k] - p[j]) ** 2
    return found


def _frozen_hessian(bank: RationalBank, barrier: Fraction, cold: Fraction) -> Exact:
    """Return the derivative of the frozen gradient with the barrier by the prototypes, (k m, k m), at 1 / T = `cold`.

    Blocks are 2 delta_kl sum_n q_nk I - (4/T) sum_n q_nk (delta_kl - q_nl)(p_k - z_n)(p_l - z_n)^T, and for each pair
    that of |v|^-2, 8 v v^T / |v|^6 - 2 I / |v|^4.
    """
    q, k, m = bank.q, *bank.p.shape
    away = bank.p[None] - bank.z[:, None]
    spread = np.array([np.diag(row) - np.outer(row, row) for row in q])
    found = -4 * cold * np.einsum("nkl,nki,nlj->kilj", spread, away, away)
    for j in range(k):
        found[j, :, j] += 2 * np.sum(q[:, j]) * identity(m)
        for i in range(j):
            v = bank.p[j] - bank.p[i]
            block = barrier * (8 * np.outer(v, v) / squared_norms(v) ** 3 - 2 * identity(m) / squared_norms(v) ** 2)
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                found[a, :, b] += sign * block
    return found.reshape(k * m, k * m)


@certified(
    "prototypes/proposition-4-centroid",
    num_trials=4,
    note="mode frozen, with the barrier of Fact 1 and its condition on lambda; the equilibrium attracts all prototypes "
    "near it in the plane, by the signs of the pivots of its Hessian at both ends of an enclosure of log b, to which "
    "1 / T is proportional. By symmetry the middle one of three prototypes stays at the mean of the embeddings for all "
    "times, in the mode full too. The proof's V = 0 is all prototypes at one point, which theorem-2-no-collapse "
    "excludes, and not one at the mean",
)
def no_prototype_is_at_the_centroid(key: Key) -> Trial:
    """With lambda > 2 eta_P C(K, 2), no prototype can collapse to, or sit at, the centroid of the embeddings.

    Read: no asymptotically stable equilibrium of the flow with frozen encoder and distinct prototypes has one there.
    """
    bank, barrier = _centroid_bank(key, attracting=True)
    rate = barrier / 7  # less than lambda / 6
    loss = PrototypeLoss("frozen", barrier=float(barrier))
    flow = PrototypeFlow(bank.z.astype(float), bank.temperature, loss=loss, rate=float(rate))
    q, centroid = bank.q, np.sum(bank.z, axis=0) / len(bank.z)
    force = 2 * (np.sum(q, axis=0)[:, None] * bank.p - q.T @ bank.z) + barrier * _barrier_slope(bank.p)
    log = logarithm(bank.base)
    ends = [_frozen_hessian(bank, barrier, end / bank.spacing**2) for end in (log.low, log.high)]
    shipped = -tangent_jacobian(flow, bank.floats[1]) / float(rate)
    return Trial(
        (
            *soft(bank),
            holds("lambda > 2 eta_P C(3, 2)", barrier > 6 * rate > 0),
            holds("prototypes are distinct", bank.distinct),
            holds("they are at equilibrium", not np.any(force)),
            at_most("speed that ships", jnp.max(jnp.abs(velocity(flow, bank.floats[1]))), 1e-11, tolerance=0.0),
            holds("the Hessian is positive definite: it attracts", all(map(positive_definite, ends))),
            agrees("the linearisation that ships, over -eta_P", shipped, ends[0]),
        ),
        (holds("no prototype is at the centroid", not any(np.all(row == centroid) for row in bank.p)),),
        {**bank.witness(), "lambda": barrier, "eta_P": rate},
        parameters={**bank.parameters, "lambda": float(barrier)},
    )


def _two_at_the_centroid(key: Key, *, present: bool) -> Trial:
    """Measure that two prototypes near the centroid need more than the potential with which a flow starts."""
    bank, barrier = _centroid_bank(key, attracting=False)
    loss = PrototypeLoss("full", barrier=float(barrier) if present else 0.0)
    z, p0, T = bank.floats
    start = float(PrototypeLoss("full", barrier=float(barrier)).value(z, p0, T))
    closest = np.sqrt(float(barrier) / start)  # the least distance that the potential at the start allows
    centroid = jnp.mean(z, axis=0)
    pair = jnp.asarray([[-0.49, 0.0], [0.49, 0.0]]) * closest
    p = jnp.concatenate([centroid[None] + pair, p0[2:]])
    flow = PrototypeFlow(z, T, loss=loss)
    ratio = float(loss.value(z, p, T)) / start
    rest = PrototypeFlow(z, T, loss=PrototypeLoss("frozen", barrier=float(barrier)))
    slope = float(jnp.sum(flow.gradient(0.0, p0) * velocity(flow, p0)))
    pairs = distances(bank.p, bank.p)[np.triu_indices(len(bank.p), 1)]
    return Trial(
        (at_least("lambda", float(barrier), 0.0, tolerance=ROUNDING),),
        (
            at_least("W with two prototypes at the centroid over W at the start", ratio, 1.0, tolerance=ROUNDING),
            at_most("derivative of W along the flow", slope, 0.0, tolerance=ROUNDING),
            agrees("W that ships at the start", start, float(bank.parts.loss + barrier * np.sum(1 / pairs))),
            agrees("the velocity that ships at an equilibrium", velocity(rest, p0), np.zeros(p0.shape)),
        ),
        bank.witness(),
        parameters={**bank.parameters, "lambda": float(barrier)},
    )


at_most_one_prototype_is_at_the_centroid = claim(
    "prototypes/proposition-4-centroid/corrected",
    statement="""At most one prototype can get to the centroid: two within sqrt(lambda / W(0)) of each other never are.

    Changed: at most one instead of none; any lambda > 0. For W does not increase, and W > W(0) there.
    """,
    trial=partial(_two_at_the_centroid, present=True),
    control=partial(_two_at_the_centroid, present=False),  # The same distance, and the loss without barrier.
    num_trials=6,
    note="mode full; as for any other point, and whatever the embeddings",
)


M = 3  # dimension of the embeddings


formula_of_dead_codes = rule(
    "prototypes/remark-3-formula",
    Verdict.ILL_POSED,
    "the 'risk' of dead codes is not defined, and a formula with K alone can be no measured share: it depends on the "
    "embeddings and on the step. Readings: the largest possible share, and the share",
)


@eqx.filter_jit
def _codebook_gradient(quantiser: AbstractQuantiser, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the derivative by the codebook of the output's sum and the loss, and how much each code is used."""

    def total(quantiser: AbstractQuantiser) -> tuple[jax.Array, jax.Array]:
        found = quantiser(z, 1.0)
        return jnp.sum(found.output) + found.loss, usage(found.assignments)

    gradient, used = eqx.filter_grad(total, has_aux=True)(quantiser)
    return gradient.codebook, used


def _dead_trial(key: Key, kind: Any, *, near: int) -> Trial:
    """Measure the share of codes without gradient, embeddings being nearest to the first `near` codes, or to all."""
    rng = numpy_rng(key)
    K = int(rng.choice((2, 3, 16, 64)))
    grid = np.stack(np.meshgrid(*[np.arange(4)] * M), axis=-1).reshape(-1, M)
    p = matrix(rng.permutation(grid)[:K])
    own = (np.arange(2 * K) % min(near, K) + int(rng.integers(K))) % K
    z = p[own] + matrix(rng.integers(1, 4, (2 * K, M))) / 16  # by less than half of the grid's spacing
    nearest = np.argmin(distances(z, p).astype(float), axis=1)
    gradient, used = _codebook_gradient(kind(p.astype(float)), jnp.asarray(z.astype(float)))
    dead = np.all(np.asarray(gradient) == 0, axis=1)
    share, formula = 100 * Fraction(int(dead.sum()), K), math.floor(100 * (1 - Fraction(1, K)))
    hard = kind is HardQuantiser
    exact = np.array([np.sum((p[own] - z)[own == k], axis=0) for k in range(K)]) / K  # 2 / n, with n = 2 K
    shipped = (
        agrees("usage that ships", used, np.bincount(own, minlength=K)),
        agrees("the gradient of the codebook that ships", gradient, exact),
    )
    return Trial(
        (holds("embeddings are nearest to the codes meant", bool(np.all(nearest == own))),),
        (
            equal("percent of codes with zero gradient", math.floor(share), formula, tolerance=0.0, within=(0, 100)),
            *(shipped if hard else ()),
        ),
        {"codes": p, "embeddings": z, "dead": dead},
        parameters={"K": K, "n": 2 * K},
    )


@certified(
    "prototypes/remark-3-formula/largest",
    # Soft assignments in place of the straight-through estimator.
    control=partial(_dead_trial, kind=SoftQuantiser, near=1),
    variant="reading",
    num_trials=8,
    note="at the extremal instance; no share is larger, since some code is nearest to any embedding",
)
def largest_share_of_dead_codes(key: Key) -> Trial:
    """Read: of K codes at most K - 1 are dead, floor(100 (1 - 1/K)) percent, and all of them have zero gradient.

    The bound is attained where all embeddings are nearest to one code.
    """
    return _dead_trial(key, HardQuantiser, near=1)


share_of_dead_codes = certified(
    "prototypes/remark-3-formula/share",
    statement="Read: with a straight-through estimator floor(100 (1 - 1/K)) percent of K codes are dead.",
    trial=partial(_dead_trial, kind=HardQuantiser, near=64),
    variant="reading",
    num_trials=4,
    note="Table 5 contradicts it too: of 16 codes 81.2% are used after one epoch, where the formula has 93% dead, of "
    "64 codes 18.8%, where it has 98% dead, and later all; no control: `largest` is the positive case",
)
