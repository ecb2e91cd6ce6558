"""Gradient flows of an energy function."""

from collections.abc import Callable

import jax

from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import function
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow, as_space


class GradientFlow(AbstractFlow):
    r"""The flow $\dot x = -\Pi_x \nabla E(x)$, the Euclidean gradient projected to the tangent space at x."""

    energy: Callable[[State], Scalar]
    space: AbstractSpace

    def __init__(self, energy: Callable[[State], Scalar], space: AbstractSpace | None = None):
        """Store the energy E, a scalar function of the state in JAX, and the space, by default Euclidean."""
        self.energy = function("energy", energy, "the state")
        self.space = as_space(space)

    def velocity(self, t: Time, x: State) -> State:
        """Return minus the Euclidean gradient, which `vector_field` projects."""
        del t
        return jax.tree.map(lambda g: -g, jax.grad(self.energy)(x))
