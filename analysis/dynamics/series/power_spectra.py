"""Estimate power spectra of trajectories and measured series by Welch's method."""

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

FAINT = 1e-12
"""Density relative to the largest that is no peak: errors of a solver are as large, in lines of their own."""
PROMINENT = 10.0
"""Least ratio, in decibels, of a peak to the floor between it and a higher one."""

ROUNDED = 100.0
"""Ratio of a density to that of rounding errors of the values, up to which it is no peak."""


class PowerSpectrum(NamedTuple):
    """Power densities of a quantity at frequencies, in cycles per unit of time, or per step of a map.

    The sum of the densities times the distance of two frequencies, `resolution`, is the variance of the quantity, up to
    the window. `name`, `unit` and `time_unit` are those of the quantity and of time. Peaks rise above `rounding`, the
    density that rounding errors of the values may have.
    """

    frequencies: Float[np.ndarray, " frequencies"]
    densities: Float[np.ndarray, " frequencies"]
    resolution: float
    name: str = "x"
    unit: str = ""
    time_unit: str = ""
    rounding: float = 0.0

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the power density on a logarithmic scale against the frequency into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `lines` and `peaks`; `colour`; `bounds` of the frequency;
                `logarithmic=True` for a logarithmic axis of frequencies; properties of the line.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the frequencies and the highest peak in one line."""
        peaks = self.peaks()
        per = f" per {self.time_unit}" if self.time_unit else ""
        highest = f", highest peak at {peaks[0]:.6g}" if len(peaks) else ", no peak"
        many = counted(len(self.frequencies), "frequency", "frequencies")
        return f"power spectrum of {self.name}: {many} up to {self.frequencies[-1]:.6g}{per}{highest}"

    def peaks(self, most: int | None = None, prominence: float = PROMINENT) -> Float[np.ndarray, " peaks"]:
        """Find the frequencies of peaks above zero, the highest first, placed between frequencies by a parabola.

        Args:
            most: the largest number of peaks; by default all.
            prominence: how far a peak must rise above the floor between it and a higher one, in decibels.
        """
        from scipy.signal import find_peaks

        if not np.any(self.densities > self.rounding):
            return np.empty(0)
        least = max(FAINT * np.max(self.densities[1:], initial=0.0), self.rounding)
        level = 10 * np.log10(np.maximum(self.densities, least))
        # The last frequency may have a peak; the first one, zero, has what is left of the mean.
        padded = np.concatenate([level[:1] + 1e3, level, level[-1:] - 1e3])
        where = find_peaks(padded, prominence=prominence)[0] - 1
        where = where[np.argsort(-level[where], kind="stable")][:most]
        inner = np.clip(where, 1, len(level) - 2)
        before, at, after = level[inner - 1], level[inner], level[inner + 1]
        bend = before - 2 * at + after
        shift = np.where((where == inner) & (bend < 0), (before - after) / (2 * np.where(bend < 0, bend, -1.0)), 0.0)
        return self.frequencies[where] + shift * self.resolution


def power_spectrum(
    data: Data,
    component: str | int = 0,
    *,
    window: str = "hann",
    segment: int | None = None,
    detrend: str = "constant",
    spacing: float | None = None,
) -> PowerSpectrum:
    """Estimate the power spectral density of a component of a trajectory, or of a measured series.

    Segments that overlap by half are detrended and windowed, and their periodograms averaged, by `scipy.signal.welch`.

    >>> import dynsim as ds
    >>> from analysis.dynamics import power_spectrum
    >>> orbit = ds.iterate(ds.catalogue.Logistic(r=3.2), [0.3], 400)
    >>> print(power_spectrum(orbit.ys[145:, 0]))
    power spectrum of x: 129 frequencies up to 0.5, highest peak at 0.5

    Args:
        data: a trajectory at evenly spaced times or of a map, or numbers of shape (times,) or (times, components).
        component: name or index of the component.
        window: a window of `scipy.signal.get_window`, such as `hann`, `boxcar` or `blackmanharris`.
        segment: number of samples in a segment; by default all, for the finest resolution. Shorter segments average
            the noise of a chaotic spectrum.
        detrend: `constant` removes the mean of each segment, `linear` a trend, such as that of a turning angle.
        spacing: the interval of numbers, 1 by default.

    Raises:
        ValueError: for bad input.

    Source: P. D. Welch, The use of fast Fourier transform for the estimation of power spectra, IEEE Trans. Audio
    Electroacoust. 15 (1967).
    """
    from scipy.signal import get_window, welch

    choice("detrend", detrend, ("constant", "linear"))
    one = signal(data, component, spacing, 8, "component")
    values = one.values[:, 0]
    length = len(values) if segment is None else integer("segment", segment, least=8)
    if length > len(values):
        raise ArgumentError("segment", f"be at most the number of times, {len(values)}", f"is {length}")
    try:
        shape: Any = get_window(window, length)
    except (ValueError, TypeError):
        raise ArgumentError("window", "be a window of `scipy.signal.get_window`", f"is {window!r}") from None
    frequencies, densities = welch(values, 1 / one.spacing, window=shape, detrend=detrend)
    precision = np.finfo(np.asarray(values).dtype).eps * float(np.max(np.abs(values)))  # twice the largest error
    rounding = ROUNDED * 2 * one.spacing * precision**2 / 12
    named = one.names[0], one.units[0], one.time_unit
    return PowerSpectrum(frequencies, densities, float(frequencies[1]), *named, rounding)
