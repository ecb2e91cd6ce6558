"""Orbit diagrams, return maps, power spectra, recurrence plots and the 0-1 test in axes."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.series.chaos_test import ZeroOneTest
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.recurrence import RecurrencePlot
from analysis.dynamics.series.return_maps import ReturnMap
from dynsim.errors import ArgumentError
from figures.artists import Artists, Frame, Part, StyledFrame, sheet
from figures.panels import maps
from figures.panels import series as panels
from figures.panels.labels import axis_label, time_label
from figures.style import COLOURS, SERIES

LARGER = 2.0
"""Size of the points of the upward direction relative to those of the downward one, which lie on top of them."""


def orbit_diagram(
    found: OrbitDiagram,
    ax: Any = None,
    *,
    points: Part = True,
    label: str = "",
    colour: Any = None,
    until: float = 1.0,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw an orbit diagram; see `OrbitDiagram.plot`."""
    if not np.any(np.isfinite(found.values)):
        raise ArgumentError("diagram", "have a finite value", "has none")
    with sheet(ax, styled="points", **frame) as drawn:
        drawn.draw("points", points, maps.orbit_diagram, found.parameters, found.values, labels=_words(found, label),
                   until=until, colour=colour)  # fmt: skip
    return drawn


def _words(found: OrbitDiagram, label: str) -> tuple[str, str]:
    """Labels of the axes of an orbit diagram."""
    own = axis_label(found.component, found.component_unit) if found.component else "state"
    return axis_label(found.name, found.unit), label or own


def hysteresis(
    found: HysteresisDiagram,
    ax: Any = None,
    *,
    up: Part = True,
    down: Part = True,
    label: str = "",
    colour: Any = None,
    until: float = 1.0,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw an attractor that is followed in both directions; see `HysteresisDiagram.plot`."""
    if not any(np.any(np.isfinite(one.values)) for one in found):
        raise ArgumentError("diagram", "have a finite value", "has none")
    both = colour if isinstance(colour, Sequence) and not isinstance(colour, str) else (colour, colour)
    if len(both) != 2:
        raise ArgumentError("colour", "be one, or one for each direction", f"are {len(both)}")
    tints = [COLOURS[role] if given is None else given for role, given in zip(SERIES, both, strict=False)]
    share = min(2 * until, 1.0), 2 * until - 1.0
    with sheet(ax, **frame) as drawn:
        words, one, back = _words(found.up, label), found.up, found.down
        drawn.draw("up", up, maps.orbit_diagram, one.parameters, one.values, labels=words, until=share[0],
                   colour=tints[0], label="upwards", larger=LARGER)  # fmt: skip
        drawn.draw("down", down, maps.orbit_diagram, back.parameters[::-1], back.values[::-1], labels=words,
                   until=max(share[1], 0.0), colour=tints[1], label="downwards")  # fmt: skip
    return drawn


def return_map(
    found: ReturnMap,
    ax: Any = None,
    *,
    points: Part = True,
    diagonal: Part = True,
    colour: Any = None,
    until: float = 1.0,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a return map; see `ReturnMap.plot`."""
    if not len(found.pairs):
        raise ArgumentError("map", "have a return", "has none")
    name = axis_label(found.name, found.unit)
    later = f"$k + {found.lag}$"
    words = (
        (f"{name} {found.what}", f"{name} at the next")
        if found.what
        else (f"{name} at step $k$", f"{name} at step {later}")
    )
    if found.what and found.lag > 1:
        words = words[0], f"{name} {found.lag} later"
    with sheet(ax, styled="points", **frame, aspect=0.9) as drawn:
        drawn.draw("points", points, maps.return_map, found.pairs, labels=words, until=until, size=found.size,
                   colour=colour)  # fmt: skip
        drawn.draw("diagonal", diagonal, maps.diagonal, found.pairs)
    return drawn


def power_spectrum(
    found: PowerSpectrum,
    ax: Any = None,
    *,
    lines: Part = True,
    peaks: Part = False,
    bounds: tuple[float, float] | None = None,
    logarithmic: bool = False,
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a power spectrum; see `PowerSpectrum.plot`."""
    if not np.any(found.densities > 0):
        raise ArgumentError("spectrum", "have a positive density", "has none")
    words = panels.spectrum_labels(found.name, found.unit, found.time_unit)
    with sheet(ax, styled="lines", **frame) as drawn:
        drawn.draw("lines", lines, panels.power_spectrum, found.frequencies, found.densities, labels=words,
                   bounds=bounds, logarithmic=logarithmic, colour=colour)  # fmt: skip
        at = found.peaks()
        heights = np.interp(at, found.frequencies, found.densities)
        drawn.draw("peaks", peaks, panels.peaks, at, heights)
    return drawn


def recurrence(
    found: RecurrencePlot,
    ax: Any = None,
    *,
    image: Part = True,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a recurrence plot; see `RecurrencePlot.plot`."""
    with sheet(ax, **frame, aspect=1.0) as drawn:
        drawn.draw("image", image, panels.recurrence, found.times, found.recurrences, label=time_label(found.time_unit),
                   colour=colour)  # fmt: skip
    return drawn


def zero_one_test(
    found: ZeroOneTest,
    ax: Any = None,
    *,
    points: Part = True,
    median: Part = True,
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw the outcome of the 0-1 test; see `ZeroOneTest.plot`."""
    with sheet(ax, styled="points", **frame) as drawn:
        drawn.draw("points", points, panels.correlations, found.frequencies, found.correlations, colour=colour)
        drawn.draw("median", median, panels.median, found.K)
    return drawn
