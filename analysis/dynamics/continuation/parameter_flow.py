"""Flows whose parameter is a component of the state, so that one solve gives derivatives by both."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from dynsim._core.types import State, Time
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.spaces.product import Product
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import InUnit, with_parameter


class WithParameter(NamedTuple):
    """State with the parameter as an additional component."""

    state: State
    parameter: Any


class ParameterFlow(AbstractFlow):
    """Flow whose parameter is a constant component of the state."""

    flow: AbstractFlow
    where: Callable = eqx.field(static=True)
    space: AbstractSpace

    def __init__(self, flow: AbstractFlow, where: Callable):
        """Store the flow, and which leaf of it is the parameter."""
        self.flow, self.where, self.space = flow, where, Product(WithParameter(flow.space, Euclidean()))

    def velocity(self, t: Time, x: State) -> State:
        """Compute the velocity of the flow with this parameter, and zero for the parameter."""
        state: Any = x
        moved = with_parameter(self.where, self.flow, state.parameter)
        return WithParameter(moved.velocity(t, state.state), jnp.zeros_like(state.parameter))


class WithUnknowns(AbstractFlow):
    """Flow with some of its parameters as further, constant components of its flattened state."""

    flow: Any
    takes: tuple[Callable, ...] = eqx.field(static=True)
    space: AbstractSpace

    def __init__(self, flow: Any, takes: tuple[Callable, ...]):
        """Store the flow, and what takes each parameter from it."""
        self.flow, self.takes, self.space = flow, takes, Euclidean()

    def velocity(self, t: Time, x: State) -> State:
        """Compute the velocity at the parameters in the state, and zero for these."""
        z: Any = x
        return jnp.concatenate([self.at(z).vector_field(t, z[: z.shape[0] - len(self.takes)]), self._rest(z)])

    def at(self, z: Any) -> Any:
        """Set the parameters of the flow to those in a state."""
        moved, n = self.flow, z.shape[0] - len(self.takes)
        for k, take in enumerate(self.takes):
            moved = with_parameter(take, moved, z[n + k])
        return moved

    def _rest(self, z: Any) -> Any:
        return jnp.zeros(len(self.takes))


class FlatSystem(WithUnknowns):
    """Velocity of a flow, or displacement by an iterate of a map, in a flat state with other parameters behind it."""

    restored: Callable[[Array], State] = eqx.field(static=True)
    iterate: int = eqx.field(static=True)

    def __init__(self, system: Any, takes: tuple[Callable, ...], like: State, iterate: int):
        """Store the system, its other parameters, a state for its structure, and the iterate of a map."""
        super().__init__(system, takes)
        self.restored, self.iterate = ravel_pytree(like)[1], iterate

    def velocity(self, t: Time, x: State) -> State:
        """Compute the velocity or the displacement, and zero for the parameters."""
        z: Any = x
        moved: Any = self.at(z)
        flat = z[: z.shape[0] - len(self.takes)]
        state = self.restored(flat)
        if isinstance(moved, AbstractMap):
            for step in range(self.iterate):
                state = moved.step(jnp.asarray(step), state)
            rate = ravel_pytree(state)[0] - flat
        else:
            rate = ravel_pytree(moved.vector_field(t, state))[0]
        return jnp.concatenate([rate, self._rest(z)])


class _Inside(NamedTuple):
    """Takes a parameter from the flow inside an extended flow."""

    take: Callable[[Any], Any]

    def __call__(self, extended: Any) -> Any:
        return self.take(extended.flow)


def inside(take: Any) -> Any:
    """Select a parameter, which may have a unit, from the flow inside an extended flow."""
    return InUnit(_Inside(take.take), take.unit) if isinstance(take, InUnit) else _Inside(take)
