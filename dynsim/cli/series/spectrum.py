"""`dynsim spectrum`: estimate the power spectrum of a component of a trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dynsim.cli.parsing.options import say
from dynsim.cli.parsing.system import parse_system
from dynsim.cli.series.options import SeriesOptions, finish, trajectory

SHOWN = 5  # number of peaks that are printed


@dataclass(frozen=True)
class Spectrum(SeriesOptions):
    """Estimate the power spectrum of a trajectory by Welch's method: dynsim spectrum roessler --component x.

    Frequencies are in cycles per unit of time, or per step of a map.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of yours; each of its parameters is an option
    of its own.
    """

    component: str = ""
    """the component; by default the first"""
    segment: int | None = None
    """number of times in each of the averaged segments; by default all, for the finest resolution"""
    window: str = "hann"
    """window of the segments, such as hann, boxcar or blackmanharris"""
    detrend: Literal["constant", "linear"] = "constant"
    """what is removed from each segment: its mean, or a linear trend, such as that of a turning angle"""
    logarithmic: bool = False
    """draw a logarithmic axis of frequencies"""


def main(words: Sequence[str]) -> int:
    """Compute, print and draw the power spectrum."""
    o = parse_system(Spectrum, words, "spectrum")
    run, name = trajectory(o, "spectrum")
    from analysis.dynamics.series.power_spectra import power_spectrum

    found = power_spectrum(run, o.component or 0, window=o.window, segment=o.segment, detrend=o.detrend)
    peaks = found.peaks(SHOWN)
    if len(peaks):
        say(f"highest peaks at {', '.join(f'{one:.6g}' for one in peaks)}")
    return finish(o, found, f"power spectrum of {name}", logarithmic=o.logarithmic)
