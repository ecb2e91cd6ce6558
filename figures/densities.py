"""Densities of many tokens in axes: over time on the circle, and at one time on the sphere."""

from typing import Any, Unpack

import numpy as np

from analysis.tokens.densities import TokenDensity
from dynsim.errors import ArgumentError
from figures.artists import Artists, Frame, Part, sheet
from figures.panels.densities import circle_density, sphere_density

LEAST_TOP = 4.0  # smallest relative density at the dark end of the colours; a uniform density stays pale
SHOWN = 0.995  # quantile of the last density at the dark end of the colours


def density(
    found: TokenDensity,
    ax: Any = None,
    *,
    time: float | None = None,
    image: Part = True,
    colourbar: Part | None = None,
    top: float | None = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the density of many tokens; see `TokenDensity.plot`."""
    last = len(found.ts) - 1 if time is None else int(np.searchsorted(found.ts, time, side="right")) - 1
    if last < 0:
        raise ArgumentError("time", f"be at least {found.ts[0]:g}, the first time", f"is {time}")
    grid, relative = found.grid, found.shares[: last + 1] * found.grid.cells
    end = top or max(LEAST_TOP, float(np.quantile(relative[-1], SHOWN)))
    with sheet(ax, aspect=0.6, **frame) as drawn:
        place = drawn.axes[0]
        if grid.dimension == 2:
            made = drawn.draw("image", image, circle_density, found.ts[: last + 1], relative, top=end)
            place.set_xlim(found.ts[0], found.ts[-1])
        else:
            made = drawn.draw("image", image, sphere_density, grid.edges, grid.counts, relative[-1], top=end)
            if drawn.own and frame.get("labels", True):
                place.set_title(f"$t$ = {found.ts[last]:.3g}", loc="right")
        if made is not None and (drawn.own if colourbar is None else colourbar):
            drawn.bar(made, "density / uniform", colourbar)
    return drawn
