"""Temperatures of soft assignments, constant or annealed in time."""

import abc
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import Scalar, Time
from dynsim._core.validation import real
from dynsim.errors import ArgumentError


class AbstractTemperature(eqx.Module):
    """A positive temperature as a function of time, in the unit of a squared length."""

    @abc.abstractmethod
    def __call__(self, t: Time) -> Scalar:
        """Temperature at time `t`."""

    @abc.abstractmethod
    def limit(self) -> Scalar:
        """Limit of the temperature as time tends to infinity."""

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which the temperature has a kink."""
        return np.empty(0)


class ConstantTemperature(AbstractTemperature):
    """A temperature that does not depend on time."""

    value: Float[Array, ""]

    def __init__(self, value: Any):
        """Store the temperature; raise `ValueError` unless it is positive."""
        self.value = real("temperature", value, positive=True)

    def __call__(self, t: Time) -> Scalar:
        """The constant temperature."""
        return self.value

    def limit(self) -> Scalar:
        """The constant temperature."""
        return self.value


class Annealing(AbstractTemperature):
    r"""Exponential annealing down to a floor, $T(t) = \max(T_{min}, T_0 e^{-t/\tau})$.

    Time is the time of the flow; for a `DescentMap` it is counted in epochs.

    Source: PROTOTYPES, Section 7.1.
    """

    start: Float[Array, ""]
    floor: Float[Array, ""]
    time_constant: Float[Array, ""]

    def __init__(self, start: Any = 2.0, floor: Any = 0.3, time_constant: Any = 20.0):
        """Store T_0, T_min and tau; raise `ValueError` unless all are positive and T_min is at most T_0."""
        self.start = real("start", start, positive=True)
        self.floor = real("floor", floor, positive=True)
        self.time_constant = real("time_constant", time_constant, positive=True)
        traced = any(isinstance(part, Tracer) for part in (self.start, self.floor))
        if not traced and float(self.floor) > float(self.start):
            must = f"be at most `start`, {float(self.start):g}, because annealing lowers the temperature"
            raise ArgumentError("floor", must, f"is {float(self.floor):g}")

    def __call__(self, t: Time) -> Scalar:
        """Temperature at time `t`."""
        return jnp.maximum(self.floor, self.start * jnp.exp(-t / self.time_constant))

    def limit(self) -> Scalar:
        """The floor T_min."""
        return self.floor

    def arrival(self) -> float:
        r"""Time at which the floor is reached, $\tau \log(T_0 / T_{min})$."""
        return float(self.time_constant) * math.log(float(self.start) / float(self.floor))

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """The time at which the floor is reached, if it lies strictly between `t0` and `t1`."""
        arrival = self.arrival()
        return np.array([arrival]) if t0 < arrival < t1 else np.empty(0)


def as_temperature(value: Any) -> AbstractTemperature:
    """Convert a positive number to a constant temperature; a temperature is returned unchanged."""
    return value if isinstance(value, AbstractTemperature) else ConstantTemperature(value)
