"""Claims of Section 5.2 and Section 8.4 on two levels of prototypes."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import RationalBank, parts, shipped, soft, squared_norms
from analysis.claims.prototypes.instances.two_levels import GROUPS, TwoBanks, far_apart, generic_flow, random_two_banks
from analysis.claims.rational_instances import Exact
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, holds
from dynsim._core.types import Key
from dynsim.systems.prototypes.hierarchy import TwoLevel, TwoLevelFlow

POSITIVE_CASE = "no control: the corrected claim is the positive case"

values = eqx.filter_jit(lambda flow, x: flow.values(0.0, x))
gradient = eqx.filter_jit(lambda flow, x: flow.gradient(0.0, x))
inputs = eqx.filter_jit(lambda flow, x: flow.inputs(0.0, x))
values_and_velocity = eqx.filter_jit(lambda flow, x: (flow.values(0.0, x), flow.velocity(0.0, x)))


def _levels(given: TwoBanks) -> tuple[Measurement, ...]:
    """Measure the hypotheses on both levels."""
    distinct = holds("prototypes of each level are distinct", given.first.distinct and given.second.distinct)
    return (*soft(given.first), *soft(given.second), distinct)


def _levels_that_ship(given: TwoBanks) -> tuple[Measurement, ...]:
    """Measure that the inputs and losses that ship are those of the banks; hypotheses of what is refuted."""
    flow, x = given.flow(detached=True), given.state
    found = values(flow, x)
    return (
        agrees("the inputs of level 2 that ship", inputs(flow, x), given.second.z),
        agrees("the losses that ship", jnp.stack(found), [float(bank.parts.loss) for bank in given]),
    )


@certified("prototypes/proposition-5-decomposition", num_trials=4)
def decomposition_holds_at_every_level(key: Key) -> Trial:
    """At each level Lq = M + V with V >= 0, M being the sum of the least squared distances of the level."""
    given = random_two_banks(key)
    found = [bank.parts for bank in given]
    return Trial(
        (*_levels(given), *_levels_that_ship(given)),
        (
            holds("Lq = M + V at both levels", all(part.loss == part.hard + part.variance for part in found)),
            holds("V >= 0 at both levels", all(part.variance >= 0 for part in found)),
        ),
        given.witness(),
        parameters=given.parameters,
    )


def _softmax(z: np.ndarray, p: np.ndarray, T: float) -> np.ndarray:
    """Return the soft assignments by the formula (2)."""
    weights = np.exp(-np.sum((z[:, None] - p[None]) ** 2, axis=-1) / T)
    return weights / np.sum(weights, axis=1, keepdims=True)


def _read(groups: bool, mu: np.ndarray) -> np.ndarray:
    """Return what level 2 reads of the soft centroids: themselves, or their means over groups."""
    return np.stack([mu[g == GROUPS].mean(axis=0) for g in range(3)]) if groups else mu


def _printed_velocity(flow: TwoLevelFlow, x: TwoLevel) -> list[np.ndarray]:
    """Return minus each rate times the derivative of the sum of both losses, by complex steps.

    Assignments are constants in the mode frozen, and the inputs of level 2 if they are detached.
    """
    T, data, frozen = float(flow.temperature(0.0)), np.asarray(flow.data), flow.loss.gradient == "frozen"
    given = [np.asarray(leaf) for leaf in x]
    q = _softmax(data @ given[0].T, given[1], T)
    mu = _read(flow.groups is not None, q @ given[1])
    r = _softmax(mu, given[2], T)

    def total(theta: np.ndarray, first: np.ndarray, second: np.ndarray) -> complex:
        z = data @ theta.T
        q_now = q if frozen else _softmax(z, first, T)
        read = mu if flow.detached else _read(flow.groups is not None, q_now @ first)
        r_now = r if frozen else _softmax(read, second, T)
        terms = [
            w * np.sum((a[:, None] - p[None]) ** 2, axis=-1) for w, a, p in ((q_now, z, first), (r_now, read, second))
        ]
        return sum(np.sum(term) for term in terms)

    found = []
    for k, rate in enumerate((flow.encoder_rate, flow.prototype_rate, flow.prototype_rate)):
        slope = np.empty(given[k].shape)
        for place in np.ndindex(*slope.shape):
            moved = [a.astype(complex) for a in given]
            moved[k][place] += 1e-30j
            slope[place] = total(*moved).imag / 1e-30
        found.append(-float(rate) * slope)
    return found


def _levels_trial(key: Key, *, forgotten: bool) -> Trial:
    """Measure R + V of both levels of a generic flow; `forgotten` gives level 2 the embeddings for inputs."""
    flow, x = generic_flow(key)
    T, z = float(flow.temperature(0.0)), np.asarray(flow.data) @ np.asarray(x.encoder).T
    first, second = (np.asarray(p) for p in (x.first, x.second))
    q = _softmax(z, first, T)
    mu = _read(flow.groups is not None, z if forgotten else q @ first)
    found = [parts(z, first, q), parts(mu, second, _softmax(mu, second, T))]
    losses, velocity = values_and_velocity(flow, x)
    moves = zip(("the encoder", "P1", "P2"), velocity, _printed_velocity(flow, x), strict=True)
    return Trial(
        (at_least("temperature", T, 0.0, tolerance=ROUNDING),),
        (
            *(
                agrees(f"Lq of level {level} that ships, from R + V", loss, float(part.error + part.variance))
                for level, loss, part in zip((1, 2), losses, found, strict=True)
            ),
            *(at_least(f"V of level {i}", part.variance, 0.0, tolerance=ROUNDING) for i, part in enumerate(found, 1)),
            *(agrees(f"the velocity of {name} that ships", v, expected) for name, v, expected in moves),
        ),
        {"data": np.asarray(flow.data), "state": [np.asarray(leaf) for leaf in x]},
        parameters={"T": T, "groups": "none" if flow.groups is None else "means"},
    )


corrected_decomposition_holds_at_every_level = claim(
    "prototypes/proposition-5-decomposition/corrected",
    statement="At each level Lq = R + V with V >= 0. Changed: R = sum_n |z_n - mu_n|^2 of the level in place of L_OLS.",
    trial=partial(_levels_trial, forgotten=False),
    # The embeddings in place of the soft centroids as inputs of level 2.
    control=partial(_levels_trial, forgotten=True),
    num_trials=8,
    note="the inputs of level 2 are soft centroids of level 1, or their means over groups; detached or not",
)


def _variance_gradient(bank: RationalBank) -> Exact:
    return 2 * bank.parts.covariance @ bank.p


def _independence_trial(given: TwoBanks, other: TwoBanks, conclusions: tuple[Measurement, ...] = ()) -> Trial:
    """Measure whether the gradient of V of level 2 is the same for two sets of prototypes of level 1."""
    gradients = [_variance_gradient(levels.second) for levels in (given, other)]
    ships = [*_levels_that_ship(given), *_levels_that_ship(other)]
    for levels, exact in zip((given, other), gradients, strict=True):
        flow, x = levels.flow(detached=True), levels.state
        sigma = shipped(inputs(flow, x), x.second, flow.temperature(0.0)).covariance
        ships.append(agrees("the gradient of V of level 2 that ships", 2 * sigma @ x.second, exact))
    return Trial(
        (
            *_levels(given),
            *_levels(other),
            holds("prototypes of level 1 differ", bool(np.any(given.first.p != other.first.p))),
            *(() if conclusions else ships),
        ),
        (
            holds("the gradient of V of level 2 is the same", bool(np.all(gradients[0] == gradients[1]))),
            *((*ships, *conclusions) if conclusions else ()),
        ),
        {**given.witness(), "other P1": other.first.p, "gradients": gradients},
        parameters=given.parameters,
    )


@certified(
    "prototypes/proposition-5-independence",
    num_trials=4,
    note="Sigma_q of level 2 is that of its inputs, which are made of the prototypes of level 1",
)
def variance_gradient_is_independent_of_other_levels(key: Key) -> Trial:
    """The gradient of V of level 2, 2 P Sigma_q at fixed assignments, is independent of the prototypes of level 1."""
    given = random_two_banks(key)
    return _independence_trial(given, given.moved(1, 1))


def _same_inputs_trial(key: Key, across: int) -> Trial:
    given = random_two_banks(key)
    other = given.moved(2, across)
    kept = [bool(np.all(levels.moved(2, 0).second.z == levels.second.z)) for levels in (given, other)]
    return _independence_trial(given, other, (holds("moving prototypes outwards keeps the inputs", all(kept)),))


@certified(
    "prototypes/proposition-5-independence/corrected",
    control=partial(_same_inputs_trial, across=1),  # Prototypes of level 1 whose soft centroids move.
    num_trials=6,
)
def variance_gradient_depends_on_inputs_alone(key: Key) -> Trial:
    """The gradient of V of level 2 is independent of the prototypes of level 1. Added: as long as its inputs are fixed.

    Here the prototypes of level 1 move such that all soft centroids stay where they are.
    """
    return _same_inputs_trial(key, 0)


def _own_gradient(bank: RationalBank) -> Exact:
    """Return the gradient of the loss of one level at fixed assignments, 2 sum_n q_nk (p_k - z_n)."""
    q = bank.q
    return 2 * (np.sum(q, axis=0)[:, None] * bank.p - q.T @ bank.z)


def _interference_trial(given: TwoBanks, *, detached: bool, conclusions: tuple[Measurement, ...] = ()) -> Trial:
    """Measure the gradient by P1 of a backward pass against that of the loss of level 1 alone.

    What ships is a conclusion, or a hypothesis if there are `conclusions`, which are refuted.
    """
    own = _own_gradient(given.first)
    by_inputs = 2 * (given.second.z - given.second.parts.centroids)
    exact = own if detached else _own_gradient(given.first) + given.first.q.T @ by_inputs
    found = gradient(given.flow(detached=detached), given.state)
    ships = (*_levels_that_ship(given), agrees("the gradient by P1 that ships", found.first, exact))
    return Trial(
        (*_levels(given), *(ships if conclusions else ())),
        (
            holds("the gradient by P1 is that of the loss of level 1", bool(np.all(exact == own))),
            *(conclusions or ships),
        ),
        {**given.witness(), "own": own, "total": exact},
        parameters=given.parameters,
    )


@certified(
    "prototypes/claim-no-interference",
    num_trials=4,
    note="mode frozen, inputs not detached: the loss of level 2 moves P1 through them. The second half fails with "
    "any constant in place of 1e-6, detached or not: the gradients of V are of the size of the distances of the "
    f"prototypes of their levels. {POSITIVE_CASE} of the first half, and the second has none",
)
def levels_do_not_interfere(key: Key) -> Trial:
    """In one backward pass of the total loss the gradient by P1 is that of the loss of level 1 alone.

    And the separation gradient of level 1 cannot vanish while that of level 2 is large. Read: for distinct prototypes
    |2 P Sigma_q| of level 1 is at least 1e-6 times that of level 2.
    """
    given = far_apart(random_two_banks(key), 10**7 + 1)
    first, second = (np.sum(squared_norms(_variance_gradient(bank))) for bank in given)
    fact = holds("the gradient of V of level 1 is not below 1e-6 that of level 2", first >= second / 10**12)
    with_force = random_two_banks(key)
    trial = _interference_trial(with_force, detached=False, conclusions=(fact,))
    witness = {**trial.witness, "far P2": given.second.p}
    hypotheses = (*trial.hypotheses, *_levels(given), *_levels_that_ship(given))
    return Trial(hypotheses, trial.conclusions, witness, parameters=trial.parameters)


@certified(
    "prototypes/claim-no-interference/corrected",
    # Inputs through which the loss of level 2 is differentiated.
    control=lambda key: _interference_trial(random_two_banks(key), detached=False),
    num_trials=6,
    note="mode frozen; the half on gradients that cannot vanish is dropped: it is false, detached or not",
)
def detached_levels_do_not_interfere(key: Key) -> Trial:
    """In one backward pass the gradient by P1 is that of the loss of level 1 alone. Added: inputs are detached."""
    return _interference_trial(random_two_banks(key), detached=True)
