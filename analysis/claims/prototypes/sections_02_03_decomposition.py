"""Claims of Sections 2.2, 3.4 and 4.1 on the loss Lq: its decomposition, and derivatives at fixed assignments."""

from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.claims.prototype_banks import (
    RationalBank,
    between_bank,
    computed,
    distances,
    hard_bank,
    parts,
    random_bank,
    shipped,
    soft,
    squared_norms,
)
from analysis.claims.prototypes.instances.encoded_banks import EncodedBank, encoded_bank, perceptron
from analysis.claims.rational_instances import Exact, matrix
from analysis.hardmax.exact_geometry import in_hull
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes import assignments as measures


def _trial(
    bank: RationalBank, conclusions: tuple[Measurement, ...], hypotheses: tuple[Measurement, ...] = (), **witness: Any
) -> Trial:
    return Trial((*soft(bank), *hypotheses), conclusions, {**bank.witness(), **witness}, parameters=bank.parameters)


@certified(
    "prototypes/equation-3",
    num_trials=4,
    note="V alone is no matter of the gradient's mode; M + V can be below and above Lq, and Lq - M - V = R - M",
)
def loss_is_hard_loss_plus_variance(key: Key) -> Trial:
    """Lq = M + V for all embeddings, prototypes and T > 0, with M = sum_n min_k |z_n - p_k|^2, the paper's L_OLS."""
    bank = random_bank(key)
    Lq, M, V = bank.parts.loss, bank.parts.hard, bank.parts.variance
    return _trial(bank, (holds("Lq = M + V", Lq == M + V),), computed(bank), Lq=Lq, M=M, V=V)


@certified("prototypes/equation-3/corrected", num_trials=22)
def loss_is_reconstruction_error_plus_variance(key: Key) -> Trial:
    """Lq = R + V for all embeddings, prototypes and T > 0. Changed: R = sum_n |z_n - mu_n|^2 in place of L_OLS."""
    bank = hard_bank(key)
    Lq, R, V = bank.parts.loss, bank.parts.error, bank.parts.variance
    return _trial(bank, (holds("Lq = R + V", Lq == R + V), *computed(bank)), Lq=Lq, R=R, V=V)


@loss_is_reconstruction_error_plus_variance.with_control
def loss_is_reconstruction_error_plus_variance(key: Key) -> Trial:
    """The variance about the nearest prototype in place of the soft centroid."""
    bank = random_bank(key)
    nearest = bank.p[np.argmin(distances(bank.z, bank.p).astype(float), axis=1)]
    Lq, R, V = bank.parts.loss, bank.parts.error, np.sum(bank.q * distances(nearest, bank.p))
    return _trial(bank, (holds("Lq = R + V", Lq == R + V), *computed(bank)), Lq=Lq, R=R, V=V)


def _variance_trial(bank: RationalBank, V: Fraction) -> Trial:
    return _trial(
        bank,
        (
            holds("V >= 0", V >= 0),
            holds("V = 0 if and only if all prototypes coincide", (V == 0) == (not np.any(bank.p != bank.p[:1]))),
            *computed(bank),
        ),
        V=V,
    )


@certified("prototypes/equation-3-v-nonnegative", num_trials=22)
def variance_is_not_negative(key: Key) -> Trial:
    """V >= 0. Read: with equality if and only if all prototypes coincide, since assignments are positive."""
    bank = hard_bank(key)
    return _variance_trial(bank, bank.parts.variance)


@variance_is_not_negative.with_control
def variance_is_not_negative(key: Key) -> Trial:
    """The assignments of temperature zero, which are not positive, at distinct prototypes."""
    bank = random_bank(key)
    nearest = np.argmin(distances(bank.z, bank.p).astype(float), axis=1)
    q = np.eye(len(bank.p), dtype=int)[nearest] * Fraction(1)
    return _variance_trial(bank, parts(bank.z, bank.p, q).variance)


_value = eqx.filter_jit(lambda flow, x: flow.value(0.0, x))


def _encoded_trial(given: EncodedBank, conclusions: tuple[Measurement, ...], *, refuted: bool = False) -> Trial:
    """Measure conclusions on a bank; that the flow embeds as it does is a hypothesis if they are `refuted`."""
    embedded = agrees("the embeddings of the flow", given.flow.embed(given.state), given.bank.z)
    return Trial(
        hypotheses=(
            *soft(given.bank),
            holds("the embeddings are those of the encoder", bool(np.all(given.embedded() == given.bank.z))),
            *((embedded,) if refuted else ()),
        ),
        conclusions=conclusions if refuted else (*conclusions, embedded),
        witness=given.witness(),
        parameters={**given.bank.parameters, "encoder": given.kind},
    )


@certified(
    "prototypes/proposition-1",
    num_trials=4,
    note="encoders are linear, affine or free, with integers for weights",
)
def decomposition_holds_for_any_encoder(key: Key) -> Trial:
    """For any differentiable encoder, its parameters, P and T > 0: Lq = M + V exactly, and V >= 0."""
    given = encoded_bank(key)
    found = given.bank.parts
    exact = holds("Lq = M + V", found.loss == found.hard + found.variance)
    return _encoded_trial(given, (exact, holds("V >= 0", found.variance >= 0)), refuted=True)


def _universal_trial(key: Key, factor: float) -> Trial:
    """Measure Lq of a coupled flow against R + V, both at `factor` times its temperature."""
    if numpy_rng(key, "kind").integers(3) == 0:
        flow, x, z = perceptron(key)
        p, T = x.prototypes, flow.temperature(0.0)
        found = shipped(flow.embed(x), p, factor * T)
        split = agrees("Lq of the coupled flow", _value(flow, x), float(found.error + found.variance))
        sizes = {"n": len(found.q), "k": len(p), "m": p.shape[1], "T": float(T), "encoder": "perceptron"}
        positive = at_least("temperature", T, 0.0, tolerance=ROUNDING)
        not_negative = at_least("V", found.variance, 0.0, tolerance=ROUNDING)
        embedded = agrees("the embeddings of the flow", flow.embed(x), z)
        return Trial((positive,), (split, not_negative, embedded), {"z": z, "p": np.asarray(p)}, parameters=sizes)
    given = encoded_bank(key)
    bank = given.bank
    found = bank.parts if factor == 1 else bank._replace(base=bank.base**2).parts
    exact = holds("Lq = R + V", bank.parts.loss == found.error + found.variance)
    flow = agrees("Lq of the coupled flow", _value(given.flow, given.state), float(found.error + found.variance))
    return _encoded_trial(given, (exact, flow, holds("V >= 0", found.variance >= 0)))


@claim(
    "prototypes/proposition-1/corrected",
    control=partial(_universal_trial, factor=0.5),  # R and V at half the temperature of Lq.
    num_trials=12,
)
def corrected_decomposition_holds_for_any_encoder(key: Key) -> Trial:
    """For any differentiable encoder, its parameters, P and T > 0: Lq = R + V exactly, and V >= 0.

    Changed: R = sum_n |z_n - mu_n|^2 in place of L_OLS. Encoders are linear, affine, free (exact), or perceptrons.
    """
    return _universal_trial(key, 1.0)


def _inequality_trial(bank: RationalBank, least: list[Fraction], what: str, *, refuted: bool = False) -> Trial:
    """Measure that |z_n - mu_n|^2 is at least a number for every n; what ships is a hypothesis if that is `refuted`."""
    errors = squared_norms(bank.z - bank.parts.centroids)
    fact = holds(f"|z_n - mu_n|^2 >= {what}", all(e >= low for e, low in zip(errors, least, strict=True)))
    return _trial(bank, (fact,), computed(bank)) if refuted else _trial(bank, (fact, *computed(bank)))


@certified(
    "prototypes/proposition-1-inequality",
    num_trials=2,
    note="it would be the other way round for sum_k q_nk |z_n - p_k|^2",
)
def centroid_is_no_closer_than_a_prototype(key: Key) -> Trial:
    """|z_n - mu_n|^2 >= min_k |z_n - p_k|^2 for every n."""
    bank = between_bank(key)
    least = list(np.min(distances(bank.z, bank.p), axis=1))
    return _inequality_trial(bank, least, "min_k |z_n - p_k|^2", refuted=True)


def _distance_from_hull(z: Exact, p: Exact) -> Fraction:
    """Return the squared distance of a point from the convex hull of points of a line or a plane."""
    if in_hull(z, p):
        return Fraction(0)
    nearest = []
    for a in p:
        for b in p:
            length = squared_norms(b - a)
            share = min(Fraction(1), max(Fraction(0), (z - a) @ (b - a) / length)) if length else Fraction(0)
            nearest.append(squared_norms(z - a - share * (b - a)))
    return min(nearest)


@certified("prototypes/proposition-1-inequality/corrected", num_trials=22, note="true because mu_n is in the hull")
def centroid_is_no_closer_than_the_hull(key: Key) -> Trial:
    """|z_n - mu_n|^2 >= min |z_n - c|^2 for every n. Changed: the minimum over c in the convex hull of prototypes."""
    bank = hard_bank(key)
    return _inequality_trial(bank, [_distance_from_hull(z, bank.p) for z in bank.z], "the squared distance of the hull")


@centroid_is_no_closer_than_the_hull.with_control
def centroid_is_no_closer_than_the_hull(key: Key) -> Trial:
    """The hull without the prototype in the second place, opposite to the first."""
    bank = between_bank(key)
    least = [_distance_from_hull(z, bank.p[[0, 2]]) for z in bank.z]
    return _inequality_trial(bank, least, "the squared distance of the hull")


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
