"""Decreasing temperatures that never reach their limit."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Scalar, Time
from dynsim.systems.prototypes.temperatures import AbstractTemperature


class Relaxing(AbstractTemperature):
    r"""The temperature $T_{min} + (T_0 - T_{min}) e^{-t / \tau}$."""

    start: Float[Array, ""]
    floor: Float[Array, ""]
    time_constant: Float[Array, ""]

    def __init__(self, start: Any, floor: Any, time_constant: Any):
        """Store T_0, T_min and tau."""
        self.start, self.floor = jnp.asarray(start, float), jnp.asarray(floor, float)
        self.time_constant = jnp.asarray(time_constant, float)

    def __call__(self, t: Time) -> Scalar:
        """Return the temperature at time `t`."""
        return self.floor + (self.start - self.floor) * jnp.exp(-t / self.time_constant)

    def limit(self) -> Scalar:
        """Return T_min."""
        return self.floor
