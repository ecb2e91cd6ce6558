"""Compute recurrence plots of trajectories and series, and measures of their diagonal and vertical lines."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from analysis.dynamics.series.signals import Data, Signal, signal
from dynsim._core.printing import one_line
from dynsim._core.validation import choice, integer, number
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.spaces.base import nearest

if TYPE_CHECKING:
    from figures.artists import Artists

LARGEST = 10_000
"""Most states of a recurrence plot, whose distances then take 800 MB."""
SHARE = 0.1
"""Default threshold relative to the largest distance, the most that Marwan et al. (2007) advise."""


class RecurrencePlot(NamedTuple):
    """Recurrence plot: which pairs of states of a trajectory, (times, times), are closer than a threshold.

    Points whose times differ by fewer than `theiler` samples count in no measure, and lines of fewer than `shortest`
    points are no lines. `name` says which components form the states.
    """

    times: Float[np.ndarray, " times"]
    recurrences: Bool[np.ndarray, "times times"]
    threshold: float
    theiler: int = 1
    shortest: int = 2
    name: str = "x"
    time_unit: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the recurrences in the plane of both times into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the part `image`; `colour`.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the rate of recurrence and the measures of lines in one line."""
        return (
            f"recurrence plot of {len(self.times)} states ({self.name}), threshold {self.threshold:.4g}: "
            f"rate {self.rate:.4g}, determinism {self.determinism:.4g}, laminarity {self.laminarity:.4g}, "
            f"longest diagonal {self.longest_diagonal}"
        )

    @property
    def rate(self) -> float:
        """Share of pairs of states that recur."""
        points, pairs = _counted(self)
        return points / pairs

    @property
    def determinism(self) -> float:
        """Share of recurrent points on diagonal lines; NaN without recurrences."""
        return _share(self.diagonals, self.shortest)

    @property
    def laminarity(self) -> float:
        """Share of recurrent points on vertical lines; NaN without recurrences."""
        return _share(self.verticals, self.shortest)

    @property
    def longest_diagonal(self) -> int:
        """Number of points of the longest diagonal line, the line of identity left out; 0 without recurrences."""
        return int(np.max(self.diagonals, initial=0))

    @property
    def longest_vertical(self) -> int:
        """Number of points of the longest vertical line; 0 without recurrences."""
        return int(np.max(self.verticals, initial=0))

    @property
    def mean_diagonal(self) -> float:
        """Mean number of points of diagonal lines; NaN without lines."""
        return _mean(self.diagonals, self.shortest)

    @property
    def trapping_time(self) -> float:
        """Mean number of points of vertical lines; NaN without lines."""
        return _mean(self.verticals, self.shortest)

    @property
    def entropy(self) -> float:
        """Shannon entropy of the lengths of diagonal lines, in nats; NaN without lines."""
        lines = self.diagonals[self.diagonals >= self.shortest]
        shares = np.bincount(lines)[self.shortest :] / len(lines) if len(lines) else np.array([math.nan])
        return float(-np.sum(shares[shares != 0] * np.log(shares[shares != 0])))

    @property
    def diagonals(self) -> np.ndarray:
        """Numbers of points of all diagonal runs above the line of identity, from 1 upwards."""
        count = len(self.times)
        return _runs([np.diagonal(self.recurrences, k) for k in range(max(self.theiler, 1), count)])

    @property
    def verticals(self) -> np.ndarray:
        """Numbers of points of all vertical runs, from 1 upwards."""
        far = self.recurrences & (np.abs(np.subtract.outer(*(np.arange(len(self.times)),) * 2)) >= self.theiler)
        return _runs(list(far.T))

    @property
    def measures(self) -> dict[str, float]:
        """All measures by name."""
        names = ("rate", "determinism", "laminarity", "longest_diagonal", "mean_diagonal", "entropy",
                 "longest_vertical", "trapping_time")  # fmt: skip
        return {name: getattr(self, name) for name in names}


def recurrence_plot(
    data: Data,
    components: Sequence[str | int] | str | int | None = None,
    *,
    threshold: float | None = None,
    rate: float | None = None,
    norm: str = "euclidean",
    delay: int = 1,
    dimension: int = 1,
    theiler: int = 1,
    shortest: int = 2,
    spacing: float | None = None,
) -> RecurrencePlot:
    """Compute the recurrence plot of a trajectory, or of a measured series in delay coordinates.

    >>> import numpy as np
    >>> from analysis.dynamics import recurrence_plot
    >>> turn = np.linspace(0.0, 8 * np.pi, 201)
    >>> found = recurrence_plot(np.stack([np.cos(turn), np.sin(turn)], axis=1), theiler=5)
    >>> round(found.determinism, 3), found.longest_diagonal
    (0.999, 152)

    Args:
        data: a trajectory at evenly spaced times or of a map, or numbers of shape (times,) or (times, components).
        components: names or indices of the components that form a state; by default all.
        threshold: largest distance of two states that recur; by default a tenth of the largest distance.
        rate: share of pairs that recur, by which the threshold is chosen instead.
        norm: `euclidean` or `maximum`; angles are compared along the shorter way.
        delay: number of samples between two delay coordinates.
        dimension: number of delay coordinates of each component; 1 for the states themselves.
        theiler: pairs closer in time than this many samples count in no measure; 1 leaves out each state with itself.
        shortest: least number of points of a line.
        spacing: the interval of numbers, 1 by default.

    Raises:
        ValueError: for bad input, or more than 10,000 states.

    Source: N. Marwan, M. C. Romano, M. Thiel and J. Kurths, Recurrence plots for the analysis of complex systems,
    Phys. Rep. 438 (2007).
    """
    choice("norm", norm, ("euclidean", "maximum"))
    if threshold is not None and rate is not None:
        raise ArgumentError("rate", "be left out with `threshold`", f"is {rate:g}")
    one = signal(data, components, spacing, 2, "components")
    states = _delayed(one, integer("delay", delay, least=1), integer("dimension", dimension, least=1))
    count = len(states.values)
    if count > LARGEST:
        must = f"have at most {LARGEST} times (simulate with a longer interval)"
        raise ArgumentError("data", must, f"has {count}")
    far, least = integer("theiler", theiler, least=0), integer("shortest", shortest, least=2)
    if far >= count:
        raise ArgumentError("theiler", f"be below the number of states, {count}", f"is {far}")
    distances = _distances(states, norm)
    if threshold is not None:
        near = number("threshold", threshold)
    elif rate is not None:
        share = number("rate", rate)
        if share >= 1:
            raise ArgumentError("rate", "be below 1", f"is {share:g}")
        near = float(np.quantile(distances[np.triu_indices(count, max(far, 1))], share))
    else:
        near = SHARE * float(np.max(distances))
    names = ", ".join(one.names[:4]) + (", ..." if len(one.names) > 4 else "")
    return RecurrencePlot(states.times, distances <= near, near, far, least, names, one.time_unit)


def _delayed(one: Signal, delay: int, dimension: int) -> Signal:
    """Put delayed copies of a signal beside each other."""
    count = len(one.values) - delay * (dimension - 1)
    if count < 2:
        must = f"leave two states of {len(one.values)} samples with `delay` {delay}"
        raise ArgumentError("dimension", must, f"is {dimension}")
    rows = [one.values[k * delay : k * delay + count] for k in range(dimension)]
    return one._replace(values=np.concatenate(rows, axis=1), angles=np.tile(one.angles, dimension))


def _distances(states: Signal, norm: str) -> np.ndarray:
    """Distances of all pairs of states, component by component, so that one matrix more is held at a time."""
    found = np.zeros((len(states.values),) * 2)
    for column, period in zip(states.values.T, states.angles, strict=True):
        apart = nearest(np.subtract.outer(column, column), np.array(period))
        found = np.maximum(found, np.abs(apart)) if norm == "maximum" else found + apart**2
    return found if norm == "maximum" else np.sqrt(found)


def _counted(found: RecurrencePlot) -> tuple[int, int]:
    """Number of recurrent points at least `theiler` samples off the line of identity, and of all such points."""
    upper = int(np.count_nonzero(np.triu(found.recurrences, found.theiler)))
    count = len(found.times) - found.theiler
    pairs = count * (count + 1) // 2
    if found.theiler:
        return 2 * upper, 2 * pairs
    return int(np.count_nonzero(found.recurrences)), len(found.times) ** 2


def _runs(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Lengths of the runs of true values in each of several rows."""
    joined = np.concatenate([np.concatenate([row, [False]]) for row in rows]) if rows else np.zeros(1, bool)
    change = np.diff(np.concatenate([[False], joined, [False]]).astype(np.int8))
    return np.flatnonzero(change == -1) - np.flatnonzero(change == 1)


def _share(runs: np.ndarray, shortest: int) -> float:
    total = int(np.sum(runs))
    return float(np.sum(runs[runs >= shortest]) / total) if total else math.nan


def _mean(runs: np.ndarray, shortest: int) -> float:
    lines = runs[runs >= shortest]
    return float(np.mean(lines)) if len(lines) else math.nan
