"""Monotonicity of a quantity along a trajectory: its largest increase, with the numerical error."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynsim._core.types import Scalar, State
from dynsim.errors import argument_error
from dynsim.integrators import AbstractIntegrator, Scipy
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow


class Increase(NamedTuple):
    """The largest increase of a quantity between two saved times, and its numerical `error`.

    `amount` is the increase and `start` and `end` are the times; they are equal if the quantity never increases.
    """

    amount: float
    start: float
    end: float
    error: float

    @property
    def nonincreasing(self) -> bool:
        """Whether the quantity never increases by more than the error."""
        return bool(self.amount <= self.error)


def reference_solution(path: Trajectory, integrator: AbstractIntegrator = Scipy()) -> Trajectory:
    """Return the trajectory recomputed with another integrator: same flow, initial state and times.

    Raises:
        ValueError: for the trajectory of a map, which has no integration error.
    """
    if not isinstance(path.system, AbstractFlow):
        raise argument_error("path", "come from a flow", "comes from a map, which has no integration error")
    return simulate(path.system, path.initial, path.ts, integrator=integrator)


def worst_increase(
    path: Trajectory, energy: Callable[[State], Scalar], *, reference: Trajectory | None = None
) -> Increase:
    """Return the largest increase of `energy` from any saved time of a trajectory to any later one.

    The error is twice the largest difference between the values along the trajectory and along the reference solution,
    plus rounding. NumPy: not for `jit`.

    Args:
        path: the trajectory of a flow or a map; that of a map has rounding errors only.
        energy: a function of one state.
        reference: the same trajectory by another integrator; by default `reference_solution(path)`.

    Raises:
        ValueError: unless the energy is one finite number at every time.
    """
    values = np.asarray(path.along(energy), float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise argument_error("energy", "return one finite number at every time", f"returns shape {values.shape[1:]}")
    error = 8 * np.finfo(float).eps * float(np.max(np.abs(values)))
    if isinstance(path.system, AbstractFlow):
        other = np.asarray((reference_solution(path) if reference is None else reference).along(energy), float)
        error += 2 * float(np.max(np.abs(values - other)))
    lowest = np.minimum.accumulate(values)
    end = int(np.argmax(values - lowest))
    start = int(np.argmin(values[: end + 1]))
    return Increase(float(values[end] - values[start]), float(path.ts[start]), float(path.ts[end]), error)
