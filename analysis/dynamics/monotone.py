"""Whether a quantity only falls along a trajectory, and the numerical error of the answer."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynsim._types import Scalar, State
from dynsim.errors import argument_error
from dynsim.integrators import AbstractIntegrator, Scipy
from dynsim.simulation import simulate
from dynsim.systems.base import AbstractFlow
from dynsim.trajectory import Trajectory


class Increase(NamedTuple):
    """The largest `amount` by which a quantity rises between two saved times, and its numerical `error`.

    `start` and `end` are these times; equal, and the amount zero, if it never rises.
    """

    amount: float
    start: float
    end: float
    error: float

    @property
    def falls(self) -> bool:
        """Whether the quantity never rises by more than its error."""
        return bool(self.amount <= self.error)


def second_opinion(path: Trajectory, integrator: AbstractIntegrator = Scipy()) -> Trajectory:
    """Return the same flow from the same start at the same times, solved by other code with other tolerances."""
    if not isinstance(path.system, AbstractFlow):
        raise argument_error("path", "come from a flow", "comes from a map, which has no solver to doubt")
    return simulate(path.system, path.initial, path.ts, integrator=integrator)


def worst_increase(
    path: Trajectory, energy: Callable[[State], Scalar], *, opinion: Trajectory | None = None
) -> Increase:
    """Return the largest rise of `energy` between any two times of a path, earlier to later, slow rises included.

    The error is twice the largest difference between the values along the path and along the second opinion, plus
    rounding. NumPy: not for `jit`.

    Args:
        path: from a flow or a map; the rise of a map has only rounding error.
        energy: a function of one state.
        opinion: the same run by other means; by default `second_opinion(path)`.
    """
    values = np.asarray(path.along(energy), float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise argument_error("energy", "return one finite number at every time", f"returns shape {values.shape[1:]}")
    error = 8 * np.finfo(float).eps * float(np.max(np.abs(values)))
    if isinstance(path.system, AbstractFlow):
        other = np.asarray((second_opinion(path) if opinion is None else opinion).along(energy), float)
        error += 2 * float(np.max(np.abs(values - other)))
    lowest = np.minimum.accumulate(values)
    end = int(np.argmax(values - lowest))
    start = int(np.argmin(values[: end + 1]))
    return Increase(float(values[end] - values[start]), float(path.ts[start]), float(path.ts[end]), error)
