"""Claims of Sections 2.2 and 4.1 on derivatives at fixed assignments: of V by prototypes, and of Lq by the encoder."""

from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.claims.prototype_banks import RationalBank, computed, hard_bank, parts, random_bank, soft
from analysis.claims.prototypes.instances.encoded_banks import EncodedBank, encoded_bank
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.systems.prototypes import assignments as measures


def variance_gradient(bank: RationalBank, q: Exact) -> Exact:
    """Return the gradient of V by the prototypes at fixed assignments, by central differences, (k, m).

    V is then a quadratic form, of which central differences are exact.
    """
    slopes = []
    for index in np.ndindex(*bank.p.shape):
        step = matrix(np.zeros(bank.p.shape, int))
        step[index] = Fraction(1)
        slopes.append(sum(s * parts(bank.z, bank.p + s * step, q).variance for s in (1, -1)) / 2)
    return np.array(slopes, object).reshape(bank.p.shape)


@jax.jit
def _stopped_gradient(z: jax.Array, p: jax.Array, temperature: jax.Array) -> jax.Array:
    """Return the gradient of V by the prototypes at fixed assignments, of the formulas that ship."""
    q = measures.assignments(z, p, temperature)
    return jax.grad(lambda p: jnp.sum(q * measures.squared_distances(measures.soft_centroids(q, p), p)))(p)


_flowing_gradient = jax.jit(jax.grad(measures.prototype_variance, 1))


def _variance_gradient_trial(bank: RationalBank, *, stopped: bool) -> Trial:
    exact, found = 2 * bank.parts.covariance @ bank.p, variance_gradient(bank, bank.q)
    gradient = _stopped_gradient if stopped else _flowing_gradient
    return Trial(
        soft(bank),
        (
            holds("the gradient of V at fixed q is 2 Sigma_q P", bool(np.all(found == exact))),
            agrees("the derivative of V that ships", gradient(*bank.floats), exact),
            *computed(bank),
        ),
        {**bank.witness(), "2 Sigma_q P": exact},
        parameters=bank.parameters,
    )


gradient_of_the_variance = certified(
    "prototypes/equation-3-gradient",
    statement="At fixed assignments the gradient of V by P is 2 P Sigma_q, Sigma_q = sum_n (diag q_n - q_n q_n^T).",
    trial=lambda key: _variance_gradient_trial(hard_bank(key), stopped=True),
    # The gradient through the assignments.
    control=lambda key: _variance_gradient_trial(random_bank(key), stopped=False),
    num_trials=12,
    note="the prototypes are the columns of P as printed; the gradient through the assignments is another",
)


def _pair_sum(p: Exact) -> Fraction:
    """Return the sum of |p_j - p_k|^2 over ordered pairs."""
    return np.sum((p[:, None] - p[None]) ** 2)


@certified(
    "prototypes/claim-separation-force",
    num_trials=4,
    note="descent moves P along -2 P Sigma_q, which decreases the sum of |p_j - p_k|^2 over all pairs at the rate "
    "8 K V, whatever the configuration: the force contracts, and has no other case. Ascent on V would separate at "
    "that rate, as measured among the hypotheses; no control: the sign is that of descent",
)
def variance_gradient_separates_in_descent(key: Key) -> Trial:
    """In the descent on Lq the gradient 2 P Sigma_q of V acts as a separation force.

    Read: along its contribution to the descent the sum of |p_j - p_k|^2 over all pairs does not decrease.
    """
    bank = random_bank(key)
    V, gradient = bank.parts.variance, 2 * bank.parts.covariance @ bank.p
    rate = (_pair_sum(bank.p + gradient) - _pair_sum(bank.p - gradient)) / 2
    return Trial(
        (
            *soft(bank),
            holds("prototypes are distinct", bank.distinct),
            agrees("the derivative of V that ships", _stopped_gradient(*bank.floats), gradient),
            holds("in ascent on V the sum increases at the rate 8 K V", rate == 8 * len(bank.p) * V),
        ),
        (holds("in descent the sum does not decrease", -rate >= 0),),
        {**bank.witness(), "rate in descent": -rate},
        parameters=bank.parameters,
    )


def _encoder_gradient(given: EncodedBank, factor: int, centroids: Exact) -> Exact:
    """Return `factor` times the sum over n of (d z_n / d theta)^T (z_n - mu_n), flat, theta as the flow orders it."""
    away = factor * (given.bank.z - centroids)
    if given.kind == "free":
        return away.ravel()
    by_weight = (away.T @ given.data).ravel()
    return by_weight if given.kind == "linear" else np.concatenate([by_weight, np.sum(away, axis=0)])


def _differences(given: EncodedBank, q: Exact) -> Exact:
    """Return the gradient of Lq by the parameters at fixed assignments, by central differences of a quadratic form."""
    shape = {"free": given.bank.z, "linear": given.weight, "affine": given.weight}[given.kind]
    slopes = []
    for index in np.ndindex(*shape.shape):
        moved = matrix(np.zeros(shape.shape, int))
        moved[index] = Fraction(1)
        dz = moved if given.kind == "free" else given.data @ moved.T
        slopes.append(_slope(given.bank, q, dz))
    if given.kind == "affine":
        slopes += [_slope(given.bank, q, matrix(np.ones((len(given.data), 1), int)) * row) for row in _units(given)]
    return np.array(slopes, object)


def _units(given: EncodedBank) -> Exact:
    return matrix(np.eye(len(given.bias), dtype=int))


def _slope(bank: RationalBank, q: Exact, dz: Exact) -> Fraction:
    return Fraction(sum(s * parts(bank.z + s * dz, bank.p, q).loss for s in (1, -1))) / 2


def _encoder_trial(given: EncodedBank, claimed: Exact, conclusions: tuple[Measurement, ...] = ()) -> Trial:
    bank = given.bank
    exact = _differences(given, bank.q)
    return Trial(
        (
            *soft(bank),
            holds("the embeddings are those of the encoder", bool(np.all(given.embedded() == bank.z))),
            holds("some embedding is not its soft centroid", bool(np.any(exact != 0))),
        ),
        (holds("the gradient at fixed assignments is the formula", bool(np.all(exact == claimed))), *conclusions),
        {**given.witness(), "gradient": exact, "formula": claimed},
        parameters={**bank.parameters, "encoder": given.kind},
    )


@certified("prototypes/proposition-2", num_trials=4, note="mode frozen; the proof has the factor 2 that (10) lacks")
def encoder_gradient_as_printed(key: Key) -> Trial:
    """At fixed assignments the gradient of Lq by theta is sum_n (d z_n / d theta)^T (z_n - mu_n), that of R."""
    given = encoded_bank(key)
    return _encoder_trial(given, _encoder_gradient(given, 1, given.bank.parts.centroids))


_by_encoder = eqx.filter_jit(lambda flow, x: ravel_pytree(flow.gradient(0.0, x).encoder)[0])


def _corrected_trial(key: Key, gradient: str) -> Trial:
    given = encoded_bank(key, gradient)
    formula = _encoder_gradient(given, 2, given.bank.parts.centroids)
    shipped = _by_encoder(given.flow, given.state)
    R = np.array([_error_slope(given, dz) for dz in _free_directions(given)], object)
    by_embeddings = 2 * (given.bank.z - given.bank.parts.centroids).ravel()
    return _encoder_trial(
        given,
        formula,
        (
            agrees("the gradient of the coupled flow by theta", shipped, formula),
            holds("that of R by the embeddings at fixed q is the same, 2 (z - mu)", bool(np.all(by_embeddings == R))),
        ),
    )


def _free_directions(given: EncodedBank) -> list[Exact]:
    """Return the unit displacements of the embeddings, one coordinate at a time."""
    found = []
    for index in np.ndindex(*given.bank.z.shape):
        step = matrix(np.zeros(given.bank.z.shape, int))
        step[index] = Fraction(1)
        found.append(step)
    return found


def _error_slope(given: EncodedBank, dz: Exact) -> Fraction:
    bank = given.bank
    return Fraction(sum(s * parts(bank.z + s * dz, bank.p, bank.q).error for s in (1, -1))) / 2


encoder_gradient_with_its_factor = certified(
    "prototypes/proposition-2/corrected",
    statement="""At fixed assignments the gradient of Lq by theta is 2 sum_n (d z_n / d theta)^T (z_n - mu_n).

    Changed: the factor 2. It is that of R = sum_n |z_n - mu_n|^2 at fixed assignments.
    """,
    trial=partial(_corrected_trial, gradient="frozen"),
    control=partial(_corrected_trial, gradient="full"),  # The gradient of the coupled flow in the mode full.
    num_trials=9,
    note="mode frozen; in the mode full the gradient is another, that of the control",
)
