"""Claims of Proposition 4 on derivatives: of the commitment loss across ties, and of the assignments everywhere."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import RationalBank, computed, distances, hard, random_bank, soft, squared_norms
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes import assignments as measures
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, Weights

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
    PROTOTYPES.at("Proposition 4"),
    num_trials=4,
    note="L_OLS is min_k, a hard minimum, whose gradient 2 (z - p_k) jumps by 2 |p_1 - p_2| where two prototypes are "
    "nearest; no control: the corrected claim is the positive case",
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
    PROTOTYPES.at("Proposition 4"),
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
    PROTOTYPES.at("Proposition 4 (proof)"),
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
