"""Gradient flows of an energy function."""

from collections.abc import Callable

import jax

from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import function
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow, as_space


class GradientFlow(AbstractFlow):
    r"""The gradient flow $\dot x = -\Pi_x \nabla E(x)$, with $\Pi_x$ the projection to the tangent space at x.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> flow = ds.GradientFlow(lambda x: jnp.sum(x**2) / 2)
        >>> flow.vector_field(0.0, jnp.array([1.0, -2.0])).tolist()
        [-1.0, 2.0]
    """

    energy: Callable[[State], Scalar]
    space: AbstractSpace

    def __init__(self, energy: Callable[[State], Scalar], space: AbstractSpace | None = None):
        """Store the energy E, a scalar function of the state written in JAX, and the space; Euclidean by default."""
        self.energy = function("energy", energy, "the state")
        self.space = as_space(space)

    def velocity(self, t: Time, x: State) -> State:
        """Minus the Euclidean gradient of the energy, which `vector_field` projects to the tangent space."""
        return jax.tree.map(lambda g: -g, jax.grad(self.energy)(x))
