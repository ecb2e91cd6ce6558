"""Convergence of a chain to its limit: distributions over time and their distance to the limit."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from analysis.chains.mixing import total_variation
from analysis.chains.stationary import StationaryDistributions
from dynsim._core.printing import one_line
from dynsim.notebook import picture, plot

if TYPE_CHECKING:
    from figures.artists import Artists


@dataclass(frozen=True)
class Convergence:
    """Distributions of a chain at the times `ts`, (times, k), and the stationary distributions that attract them.

    `steps` names the map whose iterates these are, such as `forward Euler`; it is empty for a chain in continuous time.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import Convergence, relaxation, stationary_distributions
        >>> Q, ts = np.array([[-1.0, 1.0], [1.0, -1.0]]), [0.0, 1.0]
        >>> found = Convergence(np.array(ts), relaxation(Q, [1.0, 0.0], ts).probabilities, stationary_distributions(Q))
        >>> found.distances.round(4).tolist()  # 1 / 2 and exp(-2) / 2
        [0.5, 0.0677]
        >>> found.plot().axes[0].get_xlabel()
        'time $t$'
    """

    ts: Float[np.ndarray, " times"]
    probabilities: Float[np.ndarray, "times k"]
    stationary: StationaryDistributions
    steps: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    @cached_property
    def distances(self) -> Float[np.ndarray, " times"]:
        """Total variation distance of each distribution to the limit of the first one."""
        return total_variation(self.probabilities, self.stationary.limit(self.probabilities[0]))

    def __str__(self) -> str:
        """State the first and the last distance in a line."""
        first, last = self.distances[0], self.distances[-1]
        ends = f"{first:.6g} at t = {self.ts[0]:g}, {last:.6g} at t = {self.ts[-1]:g}"
        return f"total variation distance to the limit: {ends}"

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the path of three states on the triangle of distributions, else the distance over time, into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: `triangle=False` for the distance over time of three states, too; the parts `lines`, and on the
                triangle also `steps`, `stationary` and `outline`. A part is left out by False, and styled by properties
                of matplotlib, `stationary={"markersize": 8}`. Also `colour`, `legend`, `labels`, `limits` and `title`,
                and properties of the lines, `linewidth=2`.
        """
        return plot(self, ax, **options)
