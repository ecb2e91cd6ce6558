"""Gradient flows of prototypes, with a frozen encoder or coupled to an encoder with its own rate."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from dynsim._core.host import as_array
from dynsim._core.types import ArrayLike, Scalar, State, Time
from dynsim._core.validation import instance, real, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import Euclidean, Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.fast_slow.flow import FastSlowFlow
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes
from dynsim.systems.prototypes.encoders import AbstractEncoder, Data
from dynsim.systems.prototypes.losses import PrototypeLoss, as_loss
from dynsim.systems.prototypes.temperatures import AbstractTemperature, ConstantTemperature, as_temperature


class Coupled(NamedTuple):
    """A state of a coupled flow: encoder parameters, an array or a named tuple, and prototypes, (k, m)."""

    encoder: State
    prototypes: State


class PrototypeFlow(AbstractFlow):
    r"""Prototypes that descend the loss for fixed embeddings, $\dot p_k = -\eta_P\, \partial L / \partial p_k$.

    The derivative is taken in the mode of `loss`, either through the assignments or with these held fixed. Without a
    barrier, prototypes that coincide stay together.

    Source: PROTOTYPES, eq. (12), with the encoder frozen.
    """

    embeddings: Embeddings
    temperature: AbstractTemperature
    loss: PrototypeLoss
    rate: Float[Array, ""]
    space: Euclidean

    def __init__(self, embeddings: ArrayLike, temperature: Any, *, loss: PrototypeLoss | None = None, rate: Any = 1.0):
        """Store the embeddings (n, m), the temperature (a number or an `Annealing`), the loss, and the rate eta_P.

        Raises:
            ValueError: unless the embeddings are a finite matrix and the temperature and the rate are positive.
        """
        self.embeddings = as_points("embeddings", embeddings)
        self.temperature, self.loss = as_temperature(temperature), as_loss(loss)
        self.rate = real("rate", rate, positive=True)
        self.space = Euclidean()

    def velocity(self, t: Time, x: State) -> State:
        """Minus the rate times the derivative of the loss with respect to the prototypes."""
        p = x
        return -self.rate.astype(p.dtype) * self.gradient(t, p)

    def gradient(self, t: Time, x: State, rows: Int[Array, " batch"] | None = None) -> Prototypes:
        """Derivative of the loss with respect to the prototypes, over all embeddings or over some rows."""
        z = self.embeddings if rows is None else self.embeddings[rows]
        _check_prototypes(x, self.embeddings.shape[1])
        return self.loss.gradients(z.astype(x.dtype), x, self.temperature(t))[1]

    def potential(self, t: Time, x: State) -> Scalar:
        """The function whose gradient is `gradient`: the loss, or the free energy in the mode `frozen`."""
        return self.loss.potential(self.embeddings.astype(x.dtype), x, self.temperature(t))

    def value(self, t: Time, x: State) -> Scalar:
        """The loss of the prototypes in the state `x`."""
        return self.loss.value(self.embeddings.astype(x.dtype), x, self.temperature(t))

    def prototypes(self, x: State) -> Prototypes:
        """The prototypes in a state, which is the state itself."""
        return jnp.asarray(x)

    def embed(self, x: State) -> Embeddings:
        """The embeddings, which are fixed."""
        return self.embeddings.astype(x.dtype)

    def breakpoints(self, t0: float, t1: float) -> Any:
        """Times strictly between `t0` and `t1` at which the temperature has a kink."""
        return self.temperature.breakpoints(t0, t1)


class CoupledFlow(AbstractFlow):
    r"""An encoder and prototypes that descend one loss, each at its own rate.

    $$
        \dot\theta = -\eta_\theta\, \partial_\theta L, \qquad \dot P = -\eta_P\, \partial_P L
    $$

    Time t is that of these equations; $\eta_P t$ is the time of the prototypes and $\eta_\theta t$ that of the encoder.
    For a small `ratio` $\varepsilon = \eta_\theta / \eta_P$ the prototypes are fast, and the vector field is stiff with
    nearly real eigenvalues. Use `Diffrax(solver=RKC2())` or `stiff()` to integrate it.

    Source: PROTOTYPES, eq. (11)-(12).
    """

    data: Data
    encoder: AbstractEncoder
    temperature: AbstractTemperature
    loss: PrototypeLoss
    encoder_rate: Float[Array, ""]
    prototype_rate: Float[Array, ""]
    space: Product

    def __init__(
        self,
        data: ArrayLike,
        encoder: AbstractEncoder,
        temperature: Any,
        *,
        loss: PrototypeLoss | None = None,
        encoder_rate: Any = 1.0,
        prototype_rate: Any = 1.0,
    ):
        """Store the data (n, d), the encoder, the temperature, the loss, and the rates eta_theta and eta_P.

        Raises:
            ValueError: unless the data are a finite matrix that the encoder accepts, and the rates are positive.
        """
        self.data = as_points("data", data)
        self.encoder = instance("encoder", encoder, AbstractEncoder, "an encoder such as `LinearEncoder(d, m)`")
        inputs = getattr(encoder, "inputs", self.data.shape[1])
        if inputs != self.data.shape[1]:
            raise ArgumentError("data", f"have {inputs} columns to match `encoder`", f"has {self.data.shape[1]}")
        count = getattr(encoder, "count", self.data.shape[0])
        if count != self.data.shape[0]:
            raise ArgumentError("data", f"have {count} rows to match `encoder`", f"has {self.data.shape[0]}")
        self.temperature, self.loss = as_temperature(temperature), as_loss(loss)
        self.encoder_rate = real("encoder_rate", encoder_rate, positive=True)
        self.prototype_rate = real("prototype_rate", prototype_rate, positive=True)
        self.space = Product(Coupled(encoder.space, Euclidean()))

    def velocity(self, t: Time, x: State) -> State:
        """Minus each learning rate times the derivative of the loss with respect to its variable."""
        by_encoder, by_prototypes = self.gradient(t, x)
        slow = lambda g: -self.encoder_rate.astype(g.dtype) * g
        return Coupled(jax.tree.map(slow, by_encoder), -self.prototype_rate.astype(by_prototypes.dtype) * by_prototypes)

    def gradient(self, t: Time, x: State, rows: Int[Array, " batch"] | None = None) -> Coupled:
        """Derivatives of the loss with respect to encoder parameters and prototypes, over all data or some rows."""
        theta, p = _parts(x)
        data = self.data.astype(p.dtype)
        embed = (
            (lambda parameters: self.encoder.embed(parameters, data))
            if rows is None
            else (lambda parameters: self.encoder.embed_rows(parameters, data, rows))
        )
        z, pull = jax.vjp(embed, theta)
        _check_prototypes(p, z.shape[1])
        by_embeddings, by_prototypes = self.loss.gradients(z, p, self.temperature(t))
        return Coupled(pull(by_embeddings)[0], by_prototypes)

    def potential(self, t: Time, x: State) -> Scalar:
        """The function whose gradient is `gradient`: the loss, or the free energy in the mode `frozen`."""
        return self.loss.potential(self.embed(x), x.prototypes, self.temperature(t))

    def value(self, t: Time, x: State) -> Scalar:
        """The loss at the state `x`."""
        return self.loss.value(self.embed(x), x.prototypes, self.temperature(t))

    def prototypes(self, x: State) -> Prototypes:
        """The prototypes in a state."""
        return jnp.asarray(x.prototypes)

    def embed(self, x: State) -> Embeddings:
        """Embeddings of the data by the encoder in a state."""
        return self.encoder.embed(x.encoder, self.data.astype(x.prototypes.dtype))

    @property
    def ratio(self) -> Scalar:
        r"""Ratio of the learning rates, $\varepsilon = \eta_\theta / \eta_P$."""
        return self.encoder_rate / self.prototype_rate

    def with_ratio(self, ratio: Any) -> "CoupledFlow":
        r"""The same flow with another ratio $\varepsilon$; the rate of the prototypes is unchanged."""
        rate = real("ratio", ratio, positive=True) * self.prototype_rate
        return eqx.tree_at(lambda flow: flow.encoder_rate, self, rate)

    def frozen_encoder(self, encoder: State) -> PrototypeFlow:
        """The flow of the prototypes alone, with the encoder parameters held fixed."""
        z = self.encoder.embed(encoder, self.data)
        return PrototypeFlow(z, self.temperature, loss=self.loss, rate=self.prototype_rate)

    def fast_slow(self, encoder: State) -> FastSlowFlow:
        r"""The system as a fast-slow flow in the encoder's time $\eta_\theta t$, with the prototypes as fast variable.

        $$
            \varepsilon \dot P = -\partial_P L, \qquad \dot\theta = -\partial_\theta L
        $$

        Args:
            encoder: parameters of the same structure as in a state; their flat vector is the slow variable.

        Raises:
            ValueError: if the temperature is annealed.
        """
        if not isinstance(self.temperature, ConstantTemperature):
            raise ArgumentError("flow", "have a constant temperature", f"has {type(self.temperature).__name__}")
        restored = ravel_pytree(encoder)[1]
        derivatives = _Derivatives(self, jax.tree_util.Partial(restored))
        return FastSlowFlow(_Fast(derivatives), _Slow(derivatives), self.ratio)

    def breakpoints(self, t0: float, t1: float) -> Any:
        """Times strictly between `t0` and `t1` at which the temperature has a kink."""
        return self.temperature.breakpoints(t0, t1)


class _Derivatives(eqx.Module):
    """Derivatives of a coupled flow's loss, with the encoder parameters as a flat vector."""

    flow: CoupledFlow
    restored: jax.tree_util.Partial

    def __call__(self, p: Prototypes, theta: Float[Array, " parameters"]) -> Coupled:
        return self.flow.gradient(0.0, Coupled(self.restored(theta), p))


class _Fast(eqx.Module):
    derivatives: _Derivatives

    def __call__(self, x: Prototypes, y: Float[Array, " parameters"]) -> Prototypes:
        return -self.derivatives(x, y).prototypes


class _Slow(eqx.Module):
    derivatives: _Derivatives

    def __call__(self, x: Prototypes, y: Float[Array, " parameters"]) -> Float[Array, " parameters"]:
        return -ravel_pytree(self.derivatives(x, y).encoder)[0]


def as_points(name: str, value: Any) -> Float[Array, "n d"]:
    """Convert points to an (n, d) array; raise `ValueError` unless they are a finite, nonempty matrix."""
    found = reals(name, value)
    if found.ndim != 2 or 0 in found.shape:
        raise ArgumentError(name, "have shape (n, d) with n and d at least 1", f"has shape {found.shape}")
    if not isinstance(found, Tracer) and not np.all(np.isfinite(np.asarray(found))):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    return as_array(found) if jnp.issubdtype(found.dtype, jnp.floating) else jnp.asarray(found, float)


def _parts(x: State) -> Coupled:
    if not isinstance(x, Coupled):
        raise ArgumentError("y0", "be a `Coupled(encoder, prototypes)` of arrays", f"is {type(x).__name__}")
    return x


def _check_prototypes(p: Any, dimension: int) -> None:
    """Raise `ValueError` unless the prototypes are a matrix with the dimension of the embeddings."""
    if jnp.ndim(p) != 2 or p.shape[1] != dimension:
        raise ArgumentError("prototypes", f"have shape (k, {dimension})", f"have shape {jnp.shape(p)}")
