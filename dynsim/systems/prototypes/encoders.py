"""Encoders that map data to embeddings; their parameters are part of the state of a coupled flow."""

import abc
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynsim._core.checked import checked
from dynsim._core.orientation import oriented
from dynsim._core.types import ArrayLike, Key, State
from dynsim._core.validation import integer, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace, Euclidean, Product
from dynsim.systems.prototypes.assignments import Embeddings

Data = Float[Array, "n d"]


class AbstractEncoder(eqx.Module):
    """A family of maps from data to embeddings, with parameters in an array or a named tuple of arrays."""

    @abc.abstractmethod
    def embed(self, parameters: State, x: Data) -> Embeddings:
        """Embeddings of the data under the given parameters, shape (n, m)."""

    @abc.abstractmethod
    def draw(self, key: Key) -> State:
        """Draw random parameters."""

    @property
    @abc.abstractmethod
    def space(self) -> AbstractSpace:
        """The space of the parameters."""

    def embed_rows(self, parameters: State, x: Data, rows: Int[Array, " batch"]) -> Float[Array, "batch m"]:
        """Embeddings of some rows of the data."""
        return self.embed(parameters, x[rows])


class FreeEmbeddings(AbstractEncoder):
    """One free embedding for each data point; the parameters are the embeddings themselves, (n, m)."""

    count: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, count: int, outputs: int):
        """Store the number of data points and the dimension m of the embeddings."""
        self.count, self.outputs = integer("count", count, least=1), integer("outputs", outputs, least=1)

    def embed(self, parameters: State, x: Data) -> Embeddings:
        """The parameters, which are the embeddings."""
        return parameters

    def embed_rows(self, parameters: State, x: Data, rows: Int[Array, " batch"]) -> Float[Array, "batch m"]:
        """Some rows of the parameters."""
        return parameters[rows]

    @checked
    def draw(self, key: Key) -> State:
        """Draw standard normal embeddings."""
        return jax.random.normal(key, (self.count, self.outputs))

    @property
    def space(self) -> AbstractSpace:
        """Euclidean space."""
        return Euclidean()


class Affine(NamedTuple):
    """Parameters of an affine map z = W x + b: `weight` (m, d) and `bias` (m,)."""

    weight: State
    bias: State


class LinearEncoder(AbstractEncoder):
    """A linear map without bias, z = W x, with the matrix W of shape (m, d) as parameters."""

    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int):
        """Store the dimension d of the data and the dimension m of the embeddings."""
        self.inputs, self.outputs = integer("inputs", inputs, least=1), integer("outputs", outputs, least=1)

    def embed(self, parameters: State, x: Data) -> Embeddings:
        """Embeddings x W^T of the data."""
        return x @ parameters.T

    @checked
    def draw(self, key: Key) -> State:
        """Draw a matrix with normal entries of variance 1 / d."""
        return jax.random.normal(key, (self.outputs, self.inputs)) / math.sqrt(self.inputs)

    @property
    def space(self) -> AbstractSpace:
        """Euclidean space."""
        return Euclidean()


class AffineEncoder(AbstractEncoder):
    """An affine map, z = W x + b, with the parameters `Affine(weight, bias)`."""

    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int):
        """Store the dimension d of the data and the dimension m of the embeddings."""
        self.inputs, self.outputs = integer("inputs", inputs, least=1), integer("outputs", outputs, least=1)

    def embed(self, parameters: State, x: Data) -> Embeddings:
        """Embeddings x W^T + b of the data."""
        return x @ parameters.weight.T + parameters.bias[None]

    @checked
    def draw(self, key: Key) -> State:
        """Draw normal weights of variance 1 / d, with zero bias."""
        return Affine(LinearEncoder(self.inputs, self.outputs).draw(key), jnp.zeros(self.outputs))

    @property
    def space(self) -> AbstractSpace:
        """The product of the Euclidean spaces of weight and bias."""
        return Product(Affine(Euclidean(), Euclidean()))


class TwoLayers(NamedTuple):
    """Parameters of z = W_2 tanh(W_1 x + b_1) + b_2: an `Affine` for the hidden layer and one for the output."""

    hidden: State
    output: State


class MLPEncoder(AbstractEncoder):
    """A multilayer perceptron with one tanh layer, with the parameters `TwoLayers(hidden, output)`."""

    inputs: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __init__(self, inputs: int, hidden: int, outputs: int):
        """Store the dimension d of the data, the number of hidden units, and the dimension m of the embeddings."""
        self.inputs, self.outputs = integer("inputs", inputs, least=1), integer("outputs", outputs, least=1)
        self.hidden = integer("hidden", hidden, least=1)

    def embed(self, parameters: State, x: Data) -> Embeddings:
        """Embeddings computed by the network."""
        first, second = self._layers()
        return second.embed(parameters.output, jnp.tanh(first.embed(parameters.hidden, x)))

    @checked
    def draw(self, key: Key) -> State:
        """Draw normal weights of variance 1 / (inputs of the layer), with zero biases."""
        keys = jax.random.split(key)
        return TwoLayers(*(layer.draw(k) for layer, k in zip(self._layers(), keys, strict=True)))

    @property
    def space(self) -> AbstractSpace:
        """The product of the Euclidean spaces of all weights and biases."""
        return Product(TwoLayers(*(layer.space for layer in self._layers())))

    def _layers(self) -> tuple[AffineEncoder, AffineEncoder]:
        return AffineEncoder(self.inputs, self.hidden), AffineEncoder(self.hidden, self.outputs)


def principal_components(x: ArrayLike, outputs: int) -> Affine:
    """The affine map to the first `outputs` principal components of the data, (n, d), centred at their mean.

    Raises:
        ValueError: if more components are requested than the data have dimensions or points.
    """
    data = np.asarray(reals("x", x), float)
    if data.ndim != 2:
        raise ArgumentError("x", "have shape (n, d)", f"has shape {data.shape}")
    if not np.all(np.isfinite(data)):
        raise ArgumentError("x", "be finite", "has an entry that is not")
    outputs = integer("outputs", outputs, least=1)
    if outputs > min(data.shape):
        raise ArgumentError("outputs", f"be at most {min(data.shape)}, the smaller side of `x`", f"is {outputs}")
    mean = np.mean(data, axis=0)
    axes = oriented(np.linalg.svd(data - mean, full_matrices=False)[2][:outputs].T).T
    return Affine(jnp.asarray(axes), jnp.asarray(-axes @ mean))
