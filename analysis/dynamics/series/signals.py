"""Read evenly spaced signals: components of a trajectory, or numbers that were measured at equal intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.scaling.flat import flat_state, flat_states
from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike
from dynsim._core.validation import number, reals
from dynsim.errors import ArgumentError
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import Components, components

UNEVEN = 1e-6
"""Largest difference between two intervals, relative to an interval, of times that count as evenly spaced."""


class Signal(NamedTuple):
    """Values (times, components) at equal intervals `spacing`, with the names, units and periods of the components."""

    values: Float[np.ndarray, "times components"]
    spacing: float
    names: tuple[str, ...]
    units: tuple[str, ...]
    time_unit: str
    angles: Float[np.ndarray, " components"]
    is_map: bool

    __repr__ = one_line

    @property
    def times(self) -> Float[np.ndarray, " times"]:
        """The times, or steps of a map, from 0."""
        return self.spacing * np.arange(len(self.values))


Data = Trajectory | ArrayLike
"""A trajectory at evenly spaced times or of a map, or numbers of shape (times,) or (times, components)."""


def signal(
    data: Data, chosen: Sequence[str | int] | str | int | None, spacing: float | None, least: int, argument: str
) -> Signal:
    """Read the chosen components of a trajectory, or of numbers at equal intervals.

    Args:
        data: a trajectory at evenly spaced times or of a map, or an array (times,) or (times, components).
        chosen: a name or index, several of them, or None for all.
        spacing: the interval of an array, 1 by default; that of a trajectory is known.
        least: the least number of times.
        argument: what the caller calls `chosen`, for an error.

    Raises:
        ValueError: for times that are not evenly spaced, too few of them, values that are not finite, or an unknown
            component.
    """
    whole = _of_run(data, spacing) if isinstance(data, Trajectory) else _of_numbers(data, spacing)
    if len(whole.values) < least:
        raise ArgumentError("data", f"have at least {least} times", f"has {len(whole.values)}")
    if chosen is not None:
        several = [chosen] if isinstance(chosen, str | int) else list(chosen)
        places = [Components(whole.names, whole.units).place(one, argument) for one in several]
        pick = lambda parts: tuple(parts[k] for k in places)
        whole = whole._replace(values=whole.values[:, places], names=pick(whole.names), units=pick(whole.units),
                               angles=whole.angles[places])  # fmt: skip
    if not np.all(np.isfinite(whole.values)):
        raise ArgumentError("data", "be finite", "has values that are not")
    return whole


def _of_run(run: Trajectory, spacing: float | None) -> Signal:
    if spacing is not None:
        raise ArgumentError("spacing", "be left out for a trajectory, whose times are known", f"is {spacing}")
    times, rows = np.asarray(run.ts, float), flat_states(run.ys)
    steps = np.diff(times)
    known, is_map = components(run.system, run.initial), isinstance(run.system, AbstractMap)
    step = float(np.mean(steps)) if len(steps) else 1.0
    if len(steps) and (step <= 0 or np.ptp(steps) > UNEVEN * step + 4 * np.spacing(np.max(np.abs(times)))):
        must = "have evenly spaced, increasing times, such as those of `numpy.linspace`"
        raise ArgumentError("data", must, f"has intervals from {steps.min():.4g} to {steps.max():.4g}")
    angles = flat_state(run.system.space.periods(run.initial))
    return Signal(rows, step, known.names, known.units, known.time_unit, angles, is_map)


def _of_numbers(data: Any, spacing: float | None) -> Signal:
    values = np.asarray(reals("data", data), float)
    if values.ndim not in (1, 2) or not values.size:
        raise ArgumentError("data", "have shape (times,) or (times, components)", f"has shape {values.shape}")
    rows = values.reshape(len(values), -1)
    count = rows.shape[1]
    names = ("x",) if count == 1 else tuple(f"x_{k + 1}" for k in range(count))
    step = 1.0 if spacing is None else number("spacing", spacing)
    return Signal(rows, step, names, ("",) * count, "", np.full(count, np.inf), False)
