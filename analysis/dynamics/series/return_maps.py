"""Compute return maps: each value of a series against the one before."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.series.signals import Data, signal
from dynsim._core.printing import one_line
from dynsim._core.validation import choice, integer
from dynsim.errors import ArgumentError, counted
from dynsim.notebook import picture, plot

if TYPE_CHECKING:
    from figures.artists import Artists

OF = ("values", "maxima", "minima")


class ReturnMap(NamedTuple):
    """Pairs (returns, 2) of a value and the next one, of the quantity `name` with its `unit`.

    `lag` is how many values the two are apart. `what` says where the values are, such as `at a crossing`; without it
    they are those of successive steps. `size` is the size of the states, beside which differences may be rounding
    errors.
    """

    pairs: Float[np.ndarray, "returns 2"]
    name: str = "x"
    unit: str = ""
    what: str = ""
    size: float = 0.0
    lag: int = 1

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw each value against the one before, with the diagonal, into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `points` and `diagonal`; `colour`; properties of the points.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the number of returns and the range of their values in one line."""
        if not len(self.pairs):
            return f"return map of {self.name}: no returns"
        low, high = np.min(self.pairs), np.max(self.pairs)
        ends = f" from {low:.6g} to {high:.6g}{f' {self.unit}' if self.unit else ''}"
        at = f" {self.what}" if self.what else ""
        return f"return map of {self.name}{at}: {counted(len(self.pairs), 'return')}{ends}"


def return_map(
    data: Data, component: str | int = 0, *, of: str = "values", lag: int = 1, spacing: float | None = None
) -> ReturnMap:
    """Compute the return map of a series: each value, or each maximum, against the one before.

    Maxima and minima of sampled values are those of parabolas through three samples. More accurate ones of a flow are
    crossings of the surface `Maxima`, whose section has a return map, too.

    >>> import dynsim as ds
    >>> from analysis.dynamics import return_map
    >>> orbit = ds.iterate(ds.catalogue.Logistic(r=4.0), [0.25], 3)
    >>> return_map(orbit).pairs.tolist()
    [[0.25, 0.75], [0.75, 0.75], [0.75, 0.75]]

    Args:
        data: a trajectory at evenly spaced times or of a map, or numbers of shape (times,) or (times, components).
        component: name or index of the component.
        of: `values`, `maxima` or `minima`.
        lag: number of values between the two of a pair.
        spacing: the interval of numbers, 1 by default.

    Raises:
        ValueError: for bad input, or a series that has fewer than `lag` + 1 values or maxima.
    """
    choice("of", of, OF)
    after = integer("lag", lag, least=1)
    one = signal(data, component, spacing, 2, "component")
    values = one.values[:, 0]
    found = values if of == "values" else -_peaks(-values) if of == "minima" else _peaks(values)
    if len(found) <= after:
        single = {"values": "value", "maxima": "maximum", "minima": "minimum"}[of]
        raise ArgumentError("data", f"have more than {counted(after, single, of)}", f"has {len(found)}")
    pairs = np.stack([found[:-after], found[after:]], axis=1)
    what = {"values": "", "maxima": "at a maximum", "minima": "at a minimum"}[of]
    return ReturnMap(pairs, one.names[0], one.units[0], what, float(np.max(np.abs(values))), after)


def _peaks(values: np.ndarray) -> np.ndarray:
    """Heights of the parabolas through each sample that exceeds the one before and is not below the next."""
    before, at, after = values[:-2], values[1:-1], values[2:]
    here = (at > before) & (at >= after)
    left, right = (at - before)[here], (at - after)[here]
    return at[here] + (right - left) ** 2 / (8 * (left + right))
