"""Coupled flows of encoder and prototypes whose embeddings are those of a bank with rational assignments."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import K, M, N, RationalBank, random_bank
from analysis.claims.rational_instances import Exact, matrix
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.encoders import (
    Affine,
    AffineEncoder,
    FreeEmbeddings,
    LinearEncoder,
    MLPEncoder,
    TwoLayers,
)
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

D = 3
ENCODERS = {"free": FreeEmbeddings(N, M), "linear": LinearEncoder(D, M), "affine": AffineEncoder(D, M)}


class EncodedBank(NamedTuple):
    """A bank, and data (n, d) that an encoder of some kind maps to its embeddings by z = W x + b; b = 0 if linear."""

    bank: RationalBank
    kind: str
    data: Exact
    weight: Exact
    bias: Exact
    flow: CoupledFlow

    @property
    def state(self) -> Coupled:
        """The state of the flow."""
        _, p, _ = self.bank.floats
        weight, bias = (x.astype(float) for x in (self.weight, self.bias))
        theta = {"free": self.bank.floats[0], "linear": weight, "affine": Affine(weight, bias)}[self.kind]
        return Coupled(theta, p)

    def embedded(self) -> Exact:
        """Return the embeddings, W x + b."""
        return self.data @ self.weight.T + self.bias

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        encoder = {"encoder": self.kind, "x": self.data, "weight": self.weight, "bias": self.bias}
        return {**self.bank.witness(), **encoder}


def encoded_bank(key: Key, gradient: str = "frozen") -> EncodedBank:
    """Return a bank encoded by a linear map, an affine one, or free embeddings, with random weights that are integers.

    `gradient` is the mode of the flow.
    """
    rng, drawn = numpy_rng(key, "encoder"), random_bank(key)
    kind = str(rng.choice([*ENCODERS]))
    h = drawn.spacing
    x, W, b = (matrix(rng.integers(-2, 3, shape)) for shape in ((N, D), (M, D), (M,)))
    x, b = (h * x, h * b) if kind == "affine" else (h * x, 0 * b)
    if kind == "free":
        x, W = drawn.z, matrix(np.eye(M, dtype=int))
    bank = drawn._replace(z=x @ W.T + b)
    loss = PrototypeLoss(gradient)
    flow = CoupledFlow(x.astype(float), ENCODERS[kind], bank.temperature, loss=loss, encoder_rate=0.5)
    return EncodedBank(bank, kind, x, W, b, flow)


def perceptron(key: Key) -> tuple[CoupledFlow, Coupled, np.ndarray]:
    """Return a flow with a perceptron for encoder, a random state, and its embeddings W_2 tanh(W_1 x + b_1) + b_2."""
    rng, encoder = numpy_rng(key, "perceptron"), MLPEncoder(D, 4, M)
    temperature = float(rng.uniform(0.2, 4.0))
    x = rng.normal(size=(N, D))
    flow, p = CoupledFlow(x, encoder, temperature), rng.normal(size=(K, M))
    (W1, b1), (W2, b2) = theta = TwoLayers(
        Affine(rng.normal(size=(4, D)), rng.normal(size=4)), Affine(rng.normal(size=(M, 4)), rng.normal(size=M))
    )
    z = np.tanh(x @ W1.T + b1) @ W2.T + b2
    return flow, jax.tree.map(jnp.asarray, Coupled(theta, p)), z
