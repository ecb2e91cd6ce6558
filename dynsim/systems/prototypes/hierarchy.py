"""Two levels of prototypes, where the second level reads the soft centroids of the first."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynsim._core.types import ArrayLike, Scalar, State, Time
from dynsim._core.validation import instance, real, reals
from dynsim.errors import ArgumentError, shown
from dynsim.spaces import Euclidean, Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, assignments, soft_centroids
from dynsim.systems.prototypes.encoders import AbstractEncoder, Data
from dynsim.systems.prototypes.flow import as_points
from dynsim.systems.prototypes.losses import PrototypeLoss, as_loss
from dynsim.systems.prototypes.temperatures import AbstractTemperature, as_temperature


class TwoLevel(NamedTuple):
    """A state of a two-level flow: encoder parameters, and prototypes of level 1, (k1, m), and of level 2, (k2, m)."""

    encoder: State
    first: State
    second: State


class TwoLevelFlow(AbstractFlow):
    r"""An encoder and two levels of prototypes that descend the sum of the losses of both levels.

    Level 1 assigns the embeddings $z_n$ to its prototypes. Level 2 does so with the soft centroids
    $\mu_n = \sum_k q_{nk} p_k$ of level 1, or with their means over groups, such as the tokens of a document. If
    `detached`, the inputs of level 2 are held constant when its loss is differentiated, and level 1 descends only its
    own loss. Otherwise the loss of level 2 also moves the prototypes of level 1 and the encoder. In the mode `frozen`
    the assignments of both levels are held constant.

    Source: PROTOTYPES, Section 5.2, Proposition 5.
    """

    data: Data
    encoder: AbstractEncoder
    temperature: AbstractTemperature
    loss: PrototypeLoss
    groups: Int[Array, " n"] | None
    encoder_rate: Float[Array, ""]
    prototype_rate: Float[Array, ""]
    detached: bool = eqx.field(static=True)
    count: int = eqx.field(static=True)
    space: Product

    def __init__(
        self,
        data: ArrayLike,
        encoder: AbstractEncoder,
        temperature: Any,
        *,
        detached: bool,
        loss: PrototypeLoss | None = None,
        groups: ArrayLike | None = None,
        encoder_rate: Any = 1.0,
        prototype_rate: Any = 1.0,
    ):
        """Store the data (n, d), the encoder, and the temperature, loss and rates that both levels share.

        Args:
            data: the data points, shape (n, d).
            encoder: the encoder of level 1.
            temperature: a positive number or an `Annealing`, in the unit of a squared length.
            detached: whether the inputs of level 2 are held constant when its loss is differentiated.
            loss: the loss of each level.
            groups: the index of the group of each data point, from 0 on; level 2 then reads the means over groups.
            encoder_rate: the learning rate of the encoder.
            prototype_rate: the learning rate of the prototypes of both levels.

        Raises:
            ValueError: if `encoder` does not accept the data, `groups` are not labels, or a rate is not positive.
        """
        self.data = as_points("data", data)
        self.encoder = instance("encoder", encoder, AbstractEncoder, "an encoder such as `LinearEncoder(d, m)`")
        self.temperature = as_temperature(temperature)
        self.loss = as_loss(loss)
        self.groups, self.count = (None, 0) if groups is None else _labels(groups, self.data.shape[0])
        self.encoder_rate = real("encoder_rate", encoder_rate, positive=True)
        self.prototype_rate = real("prototype_rate", prototype_rate, positive=True)
        if not isinstance(detached, bool):
            raise ArgumentError("detached", "be True or False", f"is {shown(detached)}")
        self.detached = detached
        self.space = Product(TwoLevel(encoder.space, Euclidean(), Euclidean()))

    def velocity(self, t: Time, x: State) -> State:
        """Minus each learning rate times the derivative of the loss with respect to its variable."""
        found = self.gradient(t, x)
        slow = jax.tree.map(lambda g: -self.encoder_rate.astype(g.dtype) * g, found.encoder)
        fast = [-self.prototype_rate.astype(g.dtype) * g for g in found[1:]]
        return TwoLevel(slow, *fast)

    def gradient(self, t: Time, x: State) -> TwoLevel:
        """Derivatives of the total loss with respect to the encoder parameters and the prototypes of both levels."""
        if not isinstance(x, TwoLevel):
            raise ArgumentError("y0", "be a `TwoLevel(encoder, first, second)`", f"is {type(x).__name__}")
        data, T = self.data.astype(x.first.dtype), self.temperature(t)
        z, to_encoder = jax.vjp(lambda theta: self.encoder.embed(theta, data), x.encoder)
        by_z, by_first = self.loss.gradients(z, x.first, T)
        inputs, to_first = jax.vjp(lambda z, p: self._inputs(z, p, T), z, x.first)
        by_inputs, by_second = self.loss.gradients(inputs, x.second, T)
        if not self.detached:
            more_z, more_first = to_first(by_inputs)
            by_z, by_first = by_z + more_z, by_first + more_first
        return TwoLevel(to_encoder(by_z)[0], by_first, by_second)

    def inputs(self, t: Time, x: State) -> Float[Array, "inputs m"]:
        """Inputs of level 2: the soft centroids of level 1, or their means over groups."""
        return self._inputs(self.embed(x), x.first, self.temperature(t))

    def prototypes(self, x: State) -> Prototypes:
        """The prototypes of level 1 in a state."""
        return jnp.asarray(x.first)

    def embed(self, x: State) -> Embeddings:
        """Inputs of level 1: the embeddings."""
        return self.encoder.embed(x.encoder, self.data.astype(x.first.dtype))

    def values(self, t: Time, x: State) -> tuple[Scalar, Scalar]:
        """Losses of level 1 and of level 2."""
        T = self.temperature(t)
        return self.loss.value(self.embed(x), x.first, T), self.loss.value(self.inputs(t, x), x.second, T)

    def breakpoints(self, t0: float, t1: float) -> Any:
        """Times strictly between `t0` and `t1` at which the temperature has a kink."""
        return self.temperature.breakpoints(t0, t1)

    def _inputs(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Float[Array, "inputs m"]:
        q = assignments(z, p, temperature.astype(z.dtype))
        if self.loss.gradient == "frozen":
            q = jax.lax.stop_gradient(q)
        mu = soft_centroids(q, p)
        if self.groups is None:
            return mu
        sums = jax.ops.segment_sum(mu, self.groups, self.count)
        sizes = jax.ops.segment_sum(jnp.ones(mu.shape[0], mu.dtype), self.groups, self.count)
        return sums / sizes[:, None]


def _labels(groups: Any, count: int) -> tuple[Int[Array, " n"], int]:
    found = np.asarray(reals("groups", groups))
    if found.shape != (count,) or found.dtype.kind not in "iu":
        raise ArgumentError("groups", f"hold one integer for each of {count} data points", f"has shape {found.shape}")
    if set(found.tolist()) != set(range(int(np.max(found)) + 1)):
        raise ArgumentError("groups", "be numbered from 0 without gaps", f"holds {shown(sorted(set(found.tolist())))}")
    return jnp.asarray(found), int(np.max(found)) + 1
