"""Draw phase response curves, isochrons, locking regions and connecting orbits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dynsim._core.types import ArrayLike
from figures.panels.labels import symbol
from figures.style import COLOURS, SERIES, thick


def response(
    ax: Axes, phases: ArrayLike, values: ArrayLike, number: int, label: str, name: str, *, colour: Any = None
) -> None:
    """Draw the response of a component, the `number`-th one, against the phase."""
    tint = COLOURS[SERIES[number % len(SERIES)]] if colour is None else colour
    if not ax.lines:
        ax.axhline(0.0, color=COLOURS["reference"], linewidth=thick(0.6))
    ax.plot(phases, values, color=tint, linewidth=thick(1.0), label=symbol(name))
    ax.set(xlabel="phase (share of the period)", ylabel=label, xlim=(0, 1))


def component(ax: Axes, x: ArrayLike, values: ArrayLike, number: int, name: str, *, colour: Any = None) -> None:
    """Draw a component of a solution, the `number`-th one, against the independent variable."""
    tint = COLOURS[SERIES[number % len(SERIES)]] if colour is None else colour
    ax.plot(x, values, color=tint, linewidth=thick(1.0), label=symbol(name))
    ax.set(xlabel="$x$")


def isochrons(ax: Axes, curves: Sequence[np.ndarray], phases: np.ndarray, *, colour: Any = None) -> None:
    """Draw isochrons, in colours that go round with the phase unless one is given."""
    from matplotlib import colormaps

    shades = colormaps["twilight"]
    for curve, phase in zip(curves, phases, strict=True):
        tint = shades(float(phase)) if colour is None else colour
        ax.plot(*curve.T, color=tint, linewidth=thick(0.7), label=f"phase {phase:.3g}" if phase == 0 else None)


def cycle(ax: Axes, states: np.ndarray) -> None:
    """Draw the periodic orbit of isochrons."""
    ax.plot(*states.T, color=COLOURS["first"], linewidth=thick(1.6), label="periodic orbit")


def connection(ax: Axes, states: np.ndarray, kind: str, *, colour: Any = None) -> None:
    """Draw a homoclinic or heteroclinic orbit in the plane of two components."""
    tint = COLOURS["first"] if colour is None else colour
    ax.plot(*states.T, color=tint, linewidth=thick(1.2), label=f"{kind} orbit")


def region(ax: Axes, ends: np.ndarray, strengths: np.ndarray, *, colour: Any = None) -> None:
    """Fill the region between the frequencies at which locking begins and ends."""
    tint = COLOURS["first"] if colour is None else colour
    ax.fill_betweenx(strengths, ends[:, 0], ends[:, 1], color=tint, alpha=0.2, linewidth=0, label="locked")


def borders(ax: Axes, ends: np.ndarray, strengths: np.ndarray, *, colour: Any = None) -> None:
    """Draw the borders of a locking region."""
    for side in ends.T:
        ax.plot(side, strengths, color=COLOURS["first"] if colour is None else colour, linewidth=thick(1.0))
