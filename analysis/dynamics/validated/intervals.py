"""Enclose the values of a function of JAX, and of its Jacobian, on many boxes at once, without compiling."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from dynsim.errors import ArgumentError
from dynsim.programs import ProgramError, Tabulated, scalar_program
from dynsim.programs.intervals import INTERVALS, IntervalArray, constant, outwards


class IntervalFunction:
    """A function of one vector in JAX, and its Jacobian, on many boxes at once."""

    def __init__(self, fn: Callable[[Any], Any], size: int, name: str = "flow"):
        """Trace the function of vectors of this size; its Jacobian is traced when it is first needed.

        Raises:
            ValueError: if the function uses what intervals cannot enclose, named.
        """
        self._fn, self._size, self._name = fn, size, name
        self.values_program = _tabulated(fn, size, name)

    @functools.cached_property
    def _slopes(self) -> Tabulated:
        return _tabulated(jax.jacfwd(self._fn), self._size, self._name)

    def values(self, boxes: Float[np.ndarray, "boxes n 2"]) -> Float[np.ndarray, "boxes entries 2"]:
        """Enclose all entries of the values on each box."""
        return _run(self.values_program, boxes)

    def slopes(self, boxes: Float[np.ndarray, "boxes n 2"]) -> Float[np.ndarray, "boxes entries n 2"]:
        """Enclose the derivatives of all entries by all components on each box."""
        found = _run(self._slopes, boxes)
        return found.reshape(len(boxes), -1, self._size, 2)

    @functools.cached_property
    def is_smooth(self) -> bool:
        """Whether the function has derivatives wherever it is defined, so that they bound its changes."""
        return self.values_program.program.is_smooth

    def enclosed(self, boxes: Float[np.ndarray, "boxes n 2"]) -> Float[np.ndarray, "boxes entries 2"]:
        """Enclose the values on each box by intervals and, if the function is smooth, also by the mean value theorem.

        The second is the sharper one for small boxes; the intersection is returned.
        """
        found = self.values(boxes)
        if not self.is_smooth or not len(boxes):
            return found
        centre = IntervalArray(*np.moveaxis(self.values(middles(boxes)), 2, 0))
        slopes = np.moveaxis(self.slopes(boxes), (2, 3), (0, 1))
        total = mean_value(centre, [IntervalArray(*slope) for slope in slopes], boxes)
        lost = np.isnan(total.low) | np.isnan(total.high)
        low = np.where(lost, found[..., 0], np.maximum(found[..., 0], total.low))
        high = np.where(lost, found[..., 1], np.minimum(found[..., 1], total.high))
        return np.stack([low, high], axis=2)


def middles(boxes: Float[np.ndarray, "boxes n 2"]) -> Float[np.ndarray, "boxes n 2"]:
    """The middles of boxes, as boxes of one point."""
    return np.repeat(boxes.mean(axis=2, keepdims=True), 2, axis=2)


def mean_value(
    centre: IntervalArray, slopes: Sequence[IntervalArray], boxes: Float[np.ndarray, "boxes n 2"]
) -> IntervalArray:
    """Enclose a function on boxes by its value at their middles and its derivatives by each component on the boxes."""
    total, sides = centre, np.moveaxis(boxes - boxes.mean(axis=2, keepdims=True), 2, 0)
    for k, slope in enumerate(slopes):
        shape = -1, *(1,) * (np.ndim(slope.low) - 1)
        shift = outwards(IntervalArray(*(side[:, k].reshape(shape) for side in sides)))
        total = INTERVALS["add"](total, INTERVALS["mul"](slope, shift))
    return total


def _tabulated(fn: Callable[[Any], Any], size: int, name: str) -> Tabulated:
    try:
        return Tabulated(scalar_program(fn, (size,), drop_zeros=True), INTERVALS, constant)
    except ProgramError as error:
        raise ArgumentError(name, "use only operations that intervals can enclose", f"uses {error.uses}") from None


def _run(table: Tabulated, boxes: np.ndarray) -> np.ndarray:
    inputs = [IntervalArray(boxes[:, k, 0], boxes[:, k, 1]) for k in range(boxes.shape[1])]
    with np.errstate(all="ignore"):
        found = table.run(inputs)
    rows = [np.stack([np.broadcast_to(end, len(boxes)) for end in one], axis=1) for one in found]
    return np.stack(rows, axis=1) if rows else np.empty((len(boxes), 0, 2))
