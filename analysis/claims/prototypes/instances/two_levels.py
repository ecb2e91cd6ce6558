"""Two levels of prototypes with rational assignments at both, and generic ones in floating point."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import N, RationalBank, random_bank
from analysis.claims.rational_instances import Exact, matrix
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
