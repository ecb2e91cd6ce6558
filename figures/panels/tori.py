"""Draw invariant circles, and tori as surfaces."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from figures.style import COLOURS, paler, thick


def circle(ax: Axes, states: np.ndarray, *, colour: Any = None) -> None:
    """Draw a closed curve in the plane of two components, or in space."""
    ax.plot(*states.T, color=COLOURS["first"] if colour is None else colour, linewidth=thick(1.2), label="section")


def surface(ax: Any, states: np.ndarray, *, colour: Any = None) -> None:
    """Draw a torus, (turns, angles, 3), as a surface through which one can see."""
    tint = paler(COLOURS["first"], 0.4) if colour is None else colour
    ax.plot_surface(*np.moveaxis(states, -1, 0), color=tint, alpha=0.45, linewidth=0, rcount=200, ccount=200)
