"""Flows whose parameter is a component of the state, so that one solve gives derivatives by both."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from dynsim._core.types import State, Time
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.spaces.product import Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter


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
