"""Claims of Section 5 on the gradient that every prototype receives, and on derivatives of losses and assignments."""

from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import (
    HARD,
    RationalBank,
    computed,
    distances,
    hard,
    random_bank,
    soft,
    squared_norms,
)
from analysis.claims.rational_instances import Exact, matrix
from analysis.claims.rational_logarithms import logarithm
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes import assignments as measures
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, Weights
from dynsim.systems.prototypes.losses import PrototypeLoss

DISTINCT = tuple(kind for kind in HARD if kind not in ("coincident", "K = 1"))
LOSSES = {mode: PrototypeLoss(mode) for mode in ("frozen", "full")}
gradients = eqx.filter_jit(lambda loss, z, p, T: loss.gradients(z, p, T)[1])


def _some_bank(key: Key) -> RationalBank:
    """Return a hard bank with distinct prototypes, at least two of them."""
    return hard(key, str(numpy_rng(key, "kind").choice(DISTINCT)))


def frozen_gradient(bank: RationalBank) -> Exact:
    """Return the gradient of Lq by the prototypes at fixed assignments, 2 sum_n q_nk (p_k - z_n)."""
    return 2 * (np.sum(bank.q, axis=0)[:, None] * bank.p - bank.q.T @ bank.z)


def tilt(bank: RationalBank) -> Exact:
    """Return 2 sum_n q_nk (d_nk - <d>_n)(p_k - z_n), which over T is the frozen gradient minus the full one."""
    d = distances(bank.z, bank.p)
    w = bank.q * (d - np.sum(bank.q * d, axis=1)[:, None])
    return 2 * (np.sum(w, axis=0)[:, None] * bank.p - w.T @ bank.z)


def _full_gradient(bank: RationalBank) -> np.ndarray:
    """Return the gradient of Lq through the assignments, in floating point."""
    return (frozen_gradient(bank) - tilt(bank) * Fraction(1 / bank.temperature)).astype(float)


def _ships(bank: RationalBank) -> tuple[Measurement, ...]:
    """Measure that the gradients of both modes that ship are those of the formulas."""
    exact = {"frozen": frozen_gradient(bank).astype(float), "full": _full_gradient(bank)}
    return tuple(
        agrees(f"the gradient in the mode {mode} that ships", gradients(loss, *bank.floats), exact[mode])
        for mode, loss in LOSSES.items()
    )


def _trial(
    bank: RationalBank, hypotheses: tuple[Measurement, ...], conclusions: tuple[Measurement, ...], **witness: object
) -> Trial:
    distinct = holds("prototypes are distinct, and at least two", bank.distinct and len(bank.p) > 1)
    return Trial(
        (*soft(bank), distinct, *hypotheses), conclusions, {**bank.witness(), **witness}, parameters=bank.parameters
    )


variance_gradient_is_not_zero = certified(
    "prototypes/claim-gradient-nonzero",
    statement="For distinct prototypes, at least two, 2 P Sigma_q is not zero.",
    trial=lambda key: _nonzero_trial(_some_bank(key), one_hot=False),
    control=lambda key: _nonzero_trial(random_bank(key), one_hot=True),  # The assignments of temperature zero.
    num_trials=18,
    note="in exact arithmetic: the kernel of Sigma_q is that of constants as q > 0. In floating point assignments "
    "underflow at gaps of 745 T, and then it is zero",
)


def _nonzero_trial(bank: RationalBank, *, one_hot: bool) -> Trial:
    q = bank.q
    if one_hot:
        q = matrix(np.eye(len(bank.p), dtype=int))[np.argmin(distances(bank.z, bank.p).astype(float), axis=1)]
    gradient = 2 * sum(np.diag(row) - np.outer(row, row) for row in q) @ bank.p
    V = np.sum(q * distances(q @ bank.p, bank.p))
    return _trial(
        bank,
        (),
        (
            holds("2 P Sigma_q is not zero", bool(np.any(gradient != 0))),
            holds("its product with P is 2 V > 0", np.sum(gradient * bank.p) == 2 * V > 0),
            *computed(bank),
        ),
        gradient=gradient,
    )


@certified(
    "prototypes/remark-3-gradient",
    num_trials=4,
    note="with any eta_P > 0: a gradient contains no learning rate, and with 1 for eta_P it counts the pull to the "
    "embeddings twice. In the mode full the difference is rational, and its terms times log b irrational",
)
def printed_gradient_of_the_loss(key: Key) -> Trial:
    """The derivative of Lq by p_k is 2 sum_n q_nk (p_k - z_n) + 2 eta_P [Sigma_q P]_k, in one of the two modes."""
    bank = random_bank(key)
    rate = Fraction(int(numpy_rng(key, "rate").integers(1, 5)), 4)
    extra = 2 * rate * bank.parts.covariance @ bank.p  # printed minus frozen; full minus frozen is -tilt / T
    log = logarithm(bank.base)
    ends = [extra + tilt(bank) * end / bank.spacing**2 for end in (log.low, log.high)]
    apart = bool(np.any((ends[0] > 0) & (ends[1] > 0) | (ends[0] < 0) & (ends[1] < 0)))
    return _trial(
        bank,
        _ships(bank),
        (holds("it is the gradient of a mode, frozen or full", not np.any(extra) or not apart),),
        eta_P=rate,
        extra=extra,
    )


def _split_trial(bank: RationalBank, pulled: Exact) -> Trial:
    """Measure the frozen gradient against 2 sum_n q_nk (mu_n - z_n) + 2 [Sigma_q P]_k; `pulled` is mu, (n, k, m)."""
    first = 2 * np.sum(bank.q[:, :, None] * (pulled - bank.z[:, None]), axis=0)
    second = 2 * bank.parts.covariance @ bank.p
    equal = bool(np.all(frozen_gradient(bank) == first + second))
    return _trial(bank, (), (holds("the sum is the gradient in the mode frozen", equal), *_ships(bank)))


@certified(
    "prototypes/remark-3-gradient/corrected",
    num_trials=12,
    note="mode frozen; in the mode full q_nk becomes q_nk (1 - (d_nk - <d>_n)/T), as measured on what ships",
)
def gradient_of_the_loss(key: Key) -> Trial:
    """The derivative of Lq by p_k at fixed assignments is 2 sum_n q_nk (mu_n - z_n) + 2 [Sigma_q P]_k.

    Changed: mu_n in place of p_k, and no eta_P. It equals 2 sum_n q_nk (p_k - z_n).
    """
    bank = _some_bank(key)
    return _split_trial(bank, np.repeat(bank.parts.centroids[:, None], len(bank.p), axis=1))


@gradient_of_the_loss.with_control
def gradient_of_the_loss(key: Key) -> Trial:
    """p_k in place of mu_n, as printed, and no eta_P."""
    bank = random_bank(key)
    return _split_trial(bank, np.repeat(bank.p[None], len(bank.z), axis=0))


def _centred_bank(key: Key) -> RationalBank:
    """Return prototypes -v, 0, v and embeddings at equal distances from the outer two: at 0 and orthogonal to v."""
    rng, drawn = numpy_rng(key, "centred"), random_bank(key)
    h, v = drawn.spacing, matrix([[int(rng.integers(1, 3)), int(rng.integers(-2, 3))]])
    v = h * v
    across = v[:, ::-1] * matrix([[-1, 1]])
    z = matrix(rng.integers(-1, 2, (5, 1))) * across
    return RationalBank(z, np.concatenate([-v, 0 * v, v]), drawn.base, h, "centred")


def _count_trial(bank: RationalBank, least: int) -> Trial:
    rows = squared_norms(bank.parts.covariance @ bank.p)
    found = int(np.sum(rows != 0))
    conclusion = holds(f"[Sigma_q P]_k is not zero for at least {least} prototypes", found >= least)
    return _trial(bank, (), (conclusion, *computed(bank)), **{"|Sigma_q P|^2": rows})


@certified(
    "prototypes/remark-3-nonzero",
    num_trials=4,
    note="by symmetry; so does the whole gradient of that prototype vanish, in both modes, where its embeddings are "
    "symmetric",
)
def every_prototype_has_a_force(key: Key) -> Trial:
    """If prototypes are distinct, [Sigma_q P]_k is not zero for every prototype k."""
    bank = _centred_bank(key)
    return _count_trial(bank, len(bank.p))


@certified(
    "prototypes/remark-3-nonzero/corrected",
    control=lambda key: _count_trial(_centred_bank(key), 3),  # Three instead of two.
    num_trials=18,
    note="in exact arithmetic; the rows of Sigma_q P sum to zero, and two is sharp",
)
def two_prototypes_have_a_force(key: Key) -> Trial:
    """If prototypes are distinct, [Sigma_q P]_k is not zero for at least two k. Changed: two instead of every."""
    return _count_trial(_centred_bank(key) if numpy_rng(key, "case").integers(3) == 0 else _some_bank(key), 2)


STEPS = (Fraction(1, 2**10), Fraction(1, 2**20))

_error_slope = jax.jit(jax.grad(measures.reconstruction_error))
_hard_slope = jax.jit(jax.grad(lambda z, p, T: measures.hard_loss(z, p)))


def _tied_bank(key: Key) -> tuple[RationalBank, Exact]:
    """Return a bank with two nearest prototypes at equal distances of the first embedding, and their half difference.

    The third prototype is farther away; the other embeddings are at random lattice points.
    """
    rng, bank = numpy_rng(key, "tie"), random_bank(key)
    v = bank.spacing * matrix([[1, int(rng.integers(-1, 2))]])
    p = bank.z[:1] + np.concatenate([v, -v, 3 * v[:, ::-1] * matrix([[-1, 1]])])
    return bank._replace(p=p, name="tied"), v


def _jumps(bank: RationalBank, v: Exact, slope) -> list[float]:
    """Return the size of the change of a gradient by the first embedding across the tie, for two steps."""
    z, p, T = bank.floats
    found = []
    for h in STEPS:
        sides = [slope(z.at[0].add(s * float(h) * v[0].astype(float)), p, T)[0] for s in (1, -1)]
        found.append(float(jnp.linalg.norm(sides[0] - sides[1])))
    return found


def _continuity_trial(key: Key, slope, what: str) -> Trial:
    """Measure that the jump of a gradient across a tie shrinks with the step."""
    bank, v = _tied_bank(key)
    wide, narrow = _jumps(bank, v, slope)
    d = distances(bank.z, bank.p)[0]
    jump = narrow / (4 * float(squared_norms(v[0])) ** 0.5)  # that of M is 2 |p_1 - p_2| = 4 |v|
    return Trial(
        (
            *soft(bank),
            holds("the first embedding is tied between two prototypes", d[0] == d[1] < d[2]),
            at_least("jump at the wider step", wide, 0.0, tolerance=1e-9),
        ),
        (at_most(f"jump of the gradient of {what} at 2^-20, over that of M", jump, 1e-3, tolerance=ROUNDING),),
        {**bank.witness(), "jumps": [wide, narrow]},
        parameters=bank.parameters,
    )


@certified(
    "prototypes/proposition-4-soft",
    num_trials=4,
    note="L_OLS is min_k, a hard minimum, whose gradient 2 (z - p_k) jumps by 2 |p_1 - p_2| where two prototypes are "
    "nearest",
)
def hard_loss_has_a_continuous_gradient(key: Key) -> Trial:
    """L_OLS = sum_n min_k |z_n - p_k|^2 is a soft commitment loss: its gradient by the embeddings is continuous."""
    bank, v = _tied_bank(key)
    sides = [bank.z[0] + s * STEPS[1] * v[0] for s in (1, -1)]
    slopes = [2 * (z - bank.p[int(np.argmin(distances(z[None], bank.p)[0].astype(float)))]) for z in sides]
    jump, gap = squared_norms(slopes[0] - slopes[1]), squared_norms(2 * (bank.p[0] - bank.p[1]))
    trial = _continuity_trial(key, _hard_slope, "L_OLS")
    shipped = _jumps(bank, v, _hard_slope)[1]
    return Trial(
        (*trial.hypotheses, agrees("the jump of the gradient that ships", shipped, float(jump) ** 0.5)),
        (holds("the jump at 2^-20 is less than |p_1 - p_2|", bool(4 * jump < gap)), *trial.conclusions),
        {**trial.witness, "h": STEPS, "squared jump": jump},
        parameters=trial.parameters,
    )


@claim(
    "prototypes/proposition-4-soft/corrected",
    control=partial(_continuity_trial, slope=_hard_slope, what="R"),  # The hard minimum.
    num_trials=8,
    note="mode full; in the mode frozen its gradient is 2 (z_n - mu_n), continuous as well",
)
def reconstruction_error_has_a_continuous_gradient(key: Key) -> Trial:
    """R = sum_n |z_n - mu_n|^2 is a soft commitment loss: its gradient is continuous. Changed: R in place of L_OLS."""
    return _continuity_trial(key, _error_slope, "R")


@jax.jit
def _jacobians(z: Embeddings, p: Prototypes, T: Scalar) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the derivatives of the assignments by the first embedding, by the prototypes and by the temperature."""
    first = jax.jacfwd(lambda y: measures.assignments(y[None], p, T)[0])(z[0])
    by_prototypes, by_temperature = jax.jacfwd(lambda p, T: measures.assignments(z[:1], p, T)[0], (0, 1))(p, T)
    return first, by_prototypes, by_temperature


@jax.jit
def _soft(z: Embeddings, p: Prototypes, T: Scalar) -> Weights:
    return measures.assignments(z, p, T)


def _hard(z: Embeddings, p: Prototypes, T: Scalar) -> Weights:
    return jax.nn.one_hot(jnp.argmin(measures.squared_distances(z, p), axis=1), p.shape[0], dtype=float)


def _smoothness_trial(key: Key, bank: RationalBank, v: Exact, assigned) -> Trial:
    """Measure the derivatives of the assignments of the first embedding, and their slope across a point."""
    q, mu, T = bank.q[0], bank.parts.centroids[0], bank.temperature
    by_z = (2 / T) * (q[:, None] * (bank.p - mu[None])).astype(float)  # (2/T) q_k (p_k - mu)
    d = distances(bank.z, bank.p)[0]
    away = (bank.z[:1] - bank.p).astype(float)
    by_p = (2 / T) * np.einsum("k,kj,jm->kjm", q.astype(float), np.eye(len(q)) - q.astype(float), away)
    by_T = (q * (d - q @ d)).astype(float) / T**2
    found = _jacobians(*bank.floats)
    z, p, temperature = bank.floats
    h, direction = 1e-4, v[0].astype(float)
    ends = [assigned(z.at[0].add(s * h * direction), p, temperature)[0] for s in (1, -1)]
    error = np.max(np.abs(np.asarray(ends[0] - ends[1]) / (2 * h) - by_z @ direction))
    return Trial(
        soft(bank),
        (
            agrees("the derivative by the embedding, (2/T) q_k (p_k - mu)", found[0], by_z),
            agrees("that by the prototypes, (2/T) q_k (delta_kj - q_j)(z - p_j)", found[1], by_p),
            agrees("that by the temperature, q_k (d_k - <d>) / T^2", found[2], by_T),
            at_most("error of a central difference", error, 1e-4, tolerance=ROUNDING),
            *computed(bank),
        ),
        bank.witness(),
        parameters=bank.parameters,
    )


@claim(
    "prototypes/proposition-4-smooth",
    num_trials=12,
    note="the derivatives are those of the closed forms, at ties and for prototypes that coincide too; at T > 0",
)
def assignments_are_differentiable(key: Key) -> Trial:
    """The assignments q are differentiable in (z, P, T) everywhere, with continuous derivatives."""
    kind = str(numpy_rng(key, "kind").choice(["tied", "random", "coincident", "collinear", "one cluster"]))
    if kind == "tied":
        bank, v = _tied_bank(key)
        return _smoothness_trial(key, bank, v, _soft)
    return _smoothness_trial(key, hard(key, kind), matrix([[1, 1]]), _soft)


@assignments_are_differentiable.with_control
def assignments_are_differentiable(key: Key) -> Trial:
    """Assignments to the nearest prototype."""
    bank, v = _tied_bank(key)
    return _smoothness_trial(key, bank, v, _hard)
