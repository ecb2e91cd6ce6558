"""Claims of Section 5.2 and Section 8.4 on two levels of prototypes."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import N, RationalBank, parts, random_bank, shipped, soft, squared_norms
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.encoders import FreeEmbeddings, LinearEncoder
from dynsim.systems.prototypes.hierarchy import TwoLevel, TwoLevelFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

ENCODER = FreeEmbeddings(N, 2)
LINEAR = LinearEncoder(3, 2)
GROUPS = np.array([0, 0, 1, 2, 2])


class TwoBanks(NamedTuple):
    """The bank of level 1 and that of level 2, whose embeddings are the soft centroids of the first."""

    first: RationalBank
    second: RationalBank

    def flow(self, *, detached: bool) -> TwoLevelFlow:
        """Return the flow in the mode frozen, with free embeddings."""
        loss = PrototypeLoss("frozen")
        return TwoLevelFlow(np.zeros((N, 1)), ENCODER, self.first.temperature, detached=detached, loss=loss)

    @property
    def state(self) -> TwoLevel:
        """The state of the flow."""
        return TwoLevel(self.first.floats[0], self.first.floats[1], self.second.floats[1])

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        first, second = self
        return {"z": first.z, "P1": first.p, "P2": second.p, "b": first.base, "spacing": first.spacing}

    @property
    def parameters(self) -> dict[str, float | int | str]:
        """What varies between instances."""
        return {"n": N, "k1": len(self.first.p), "k2": len(self.second.p), "T": self.first.temperature}

    def moved(self, outwards: int, across: int) -> "TwoBanks":
        """Return the banks with the half difference v of level 1 times `outwards`, and its midpoint moved across.

        The midpoint, where all inputs of level 2 are, moves by `across` times a vector orthogonal to v.
        """
        p, w = self.first.p, _across(self.first.p)
        middle, v = (p[:1] + p[1:]) / 2, (p[:1] - p[1:]) / 2
        moved = middle + across * w + np.concatenate([outwards * v, -outwards * v])
        return two_banks(self.first._replace(p=moved), self.second.p)


def _across(p: Exact) -> Exact:
    """Return half the difference of two prototypes, turned by a right angle, (1, 2)."""
    return (p[:1] - p[1:])[:, ::-1] * matrix([[-1, 1]]) / 2


def two_banks(first: RationalBank, second: Exact) -> TwoBanks:
    """Return two levels whose second has the soft centroids of a bank for embeddings."""
    return TwoBanks(first, first._replace(z=first.parts.centroids, p=second))


def random_two_banks(key: Key) -> TwoBanks:
    """Return embeddings at equal distances of both prototypes of level 1, and three random prototypes of level 2."""
    rng, drawn = numpy_rng(key, "levels"), random_bank(key)
    h = drawn.spacing
    v = h * matrix([[int(rng.integers(1, 3)), int(rng.integers(-1, 2))]])
    centre = h * matrix(rng.integers(-1, 2, (1, 2)))
    p = centre + np.concatenate([v, -v])
    z = centre + matrix(rng.integers(-2, 3, (N, 1))) * _across(p)
    return two_banks(drawn._replace(z=z, p=p, name="two levels"), drawn.p)


def generic_flow(key: Key) -> tuple[TwoLevelFlow, TwoLevel]:
    """Return a flow with a linear encoder, with or without groups, and a random state."""
    rng = numpy_rng(key, "generic")
    groups = GROUPS if rng.integers(2) else None
    gradient, detached = str(rng.choice(["frozen", "full"])), bool(rng.integers(2))
    flow = TwoLevelFlow(
        rng.normal(size=(N, 3)),
        LINEAR,
        float(rng.uniform(0.2, 3)),
        detached=detached,
        loss=PrototypeLoss(gradient),
        groups=groups,
    )
    state = TwoLevel(*(jnp.asarray(rng.normal(size=shape)) for shape in ((2, 3), (3, 2), (2, 2))))
    rates = [jnp.asarray(rate) for rate in rng.uniform(0.2, 2.0, 2)]
    return eqx.tree_at(lambda f: (f.encoder_rate, f.prototype_rate), flow, rates), state


def far_apart(given: TwoBanks, factor: int) -> TwoBanks:
    """Return the same level 1, and two prototypes of level 2 on either side of its inputs, `factor` times as far."""
    p = given.first.p
    middle, v = (p[:1] + p[1:]) / 2, (p[:1] - p[1:]) / 2
    return two_banks(given.first, middle + factor * np.concatenate([v, -v]))


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
    "prototypes of their levels; no control: the corrected claim is the positive case of the first half, and the "
    "second has none",
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
