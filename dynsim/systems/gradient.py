"""Gradient flows of an energy."""

from collections.abc import Callable

import jax

from dynsim._types import Scalar, State, Time
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.base import AbstractFlow


class GradientFlow(AbstractFlow):
    r"""The flow $\dot x = -\nabla E(x)$, its tangent part on the space (the Euclidean gradient, projected)."""

    energy: Callable[[State], Scalar]
    space: AbstractSpace

    def __init__(self, energy: Callable[[State], Scalar], space: AbstractSpace | None = None):
        """Store the energy, a scalar function of the state, and the space."""
        self.energy = energy
        self.space = Euclidean() if space is None else space

    def velocity(self, t: Time, x: State) -> State:
        """Return minus the gradient."""
        del t
        return jax.tree.map(lambda g: -g, jax.grad(self.energy)(x))
