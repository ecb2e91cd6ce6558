"""The 0-1 test for chaos: whether the translations that a series drives stay bounded or diffuse."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.series.signals import Data, signal
from dynsim._core.printing import one_line
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from figures.artists import Artists

LEAST = 100
"""Least number of values; with fewer the correlation is of less than ten displacements."""
STILL = 1e-9
"""Extent of a series, relative to its size, up to which it is at rest and its changes are rounding errors; K is 0."""
PART = 10
"""Ratio of the number of values to the largest lag of a displacement, as Gottwald and Melbourne advise."""


class ZeroOneTest(NamedTuple):
    """Outcome of the 0-1 test: K near 1 for chaos, near 0 for regular motion.

    `correlations` are the values of K for `frequencies` c, whose median is K. `every` is the number of samples between
    the values that were tested, and `count` how many these were.
    """

    frequencies: Float[np.ndarray, " frequencies"]
    correlations: Float[np.ndarray, " frequencies"]
    every: int
    count: int
    name: str = "x"

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the correlation against the frequency c, with the median, into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `points` and `median`; `colour`; properties of the points.
        """
        return plot(self, ax, **options)

    @property
    def K(self) -> float:
        """Median of the correlations: near 1 for chaos, near 0 for regular motion."""
        return float(np.median(self.correlations))

    def __str__(self) -> str:
        """State K in one line."""
        each = f", every {self.every} samples" if self.every > 1 else ""
        return f"0-1 test of {self.name}: K = {self.K:.4f} from {self.count} values{each}"


def zero_one_test(
    data: Data,
    component: str | int = 0,
    *,
    every: int | None = None,
    frequencies: int = 100,
    seed: int = 0,
    spacing: float | None = None,
) -> ZeroOneTest:
    r"""Test a series for chaos by the 0-1 test of Gottwald and Melbourne, with the correlation method.

    The translations $p_c(n) = \sum_{j \le n} \phi_j \cos jc$ and $q_c(n)$, with sines, diffuse for chaotic series and
    stay bounded for regular ones. K is the correlation of n with the mean-square displacement, and its median over
    random c. The mean of the series is subtracted first, since it adds oscillations that hide the diffusion.

    >>> import dynsim as ds
    >>> from analysis.dynamics import zero_one_test
    >>> regular, chaotic = (ds.iterate(ds.catalogue.Logistic(r=r), [0.3], 1000) for r in (3.55, 3.97))
    >>> zero_one_test(regular).K < 0.1, zero_one_test(chaotic).K > 0.95
    (True, True)

    Args:
        data: a trajectory at evenly spaced times or of a map, or numbers of shape (times,) or (times, components).
        component: name or index of the component.
        every: number of samples between the values that are tested. A flow sampled too finely looks regular; by
            default it is the first lag at which the autocorrelation of a flow's trajectory is no longer positive, and 1
            for a map or numbers.
        frequencies: how many c are drawn uniformly from pi/5 to 4 pi/5, away from resonances.
        seed: seed of the random c.
        spacing: the interval of numbers, 1 by default.

    Raises:
        ValueError: for bad input, or fewer than 100 values.

    Source: G. A. Gottwald and I. Melbourne, On the implementation of the 0-1 test for chaos, SIAM J. Appl. Dyn. Syst.
    8 (2009).
    """
    one = signal(data, component, spacing, 2, "component")
    values = one.values[:, 0]
    is_sampled = isinstance(data, Trajectory) and not one.is_map
    step = (_decorrelated(values) if is_sampled else 1) if every is None else integer("every", every, least=1)
    kept = values[::step]
    if len(kept) < LEAST:
        each = f" every {step} samples" if step > 1 else ""
        raise ArgumentError("data", f"have at least {LEAST} values{each}", f"has {len(kept)}")
    draws = np.random.default_rng(seed).uniform(size=integer("frequencies", frequencies, least=1))
    still = np.ptp(kept) <= STILL * np.max(np.abs(kept))
    cs = np.pi / 5 + 3 * np.pi / 5 * draws
    found = np.zeros(len(cs)) if still else np.array([_correlation(kept, c) for c in cs])
    order = np.argsort(cs)
    return ZeroOneTest(cs[order], found[order], step, len(kept), one.names[0])


def _correlation(values: np.ndarray, c: float) -> float:
    """Correlation of n with the mean-square displacement of the translations with frequency c."""
    count, most = len(values), len(values) // PART
    path = np.cumsum((values - np.mean(values)) * np.exp(1j * c * np.arange(1, count + 1)))
    lags = np.arange(1, most + 1)
    moved = np.array([np.mean(np.abs(path[n : n + count - most] - path[: count - most]) ** 2) for n in lags])
    return float(np.corrcoef(lags, moved)[0, 1])


def _decorrelated(values: np.ndarray) -> int:
    """First lag at which the autocorrelation is no longer positive."""
    from scipy.signal import correlate

    about = values - np.mean(values)
    falling = np.flatnonzero(correlate(about, about)[len(about) - 1 :] <= 0)
    return int(falling[0]) if len(falling) else 1
