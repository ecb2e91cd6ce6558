"""Chains that converge to their limits in axes: paths on the triangle of distributions, and distances over time."""

from typing import Any, Unpack

from analysis.chains.convergence import Convergence
from dynsim.errors import ArgumentError
from figures.artists import Artists, Part, StyledFrame, sheet
from figures.panels.attractors import time_series
from figures.panels.simplices import orbits, outline, stationary_points, trajectories_in_triangle


def convergence(
    found: Convergence,
    ax: Any = None,
    *,
    triangle: bool | None = None,
    lines: Part = True,
    steps: Part = True,
    stationary: Part = True,
    outline: Part = True,
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw how a chain converges to its limit; see `Convergence.plot`."""
    three = found.probabilities.shape[1] == 3
    if triangle and not three:
        must = f"be left out for {found.probabilities.shape[1]} states, because a triangle shows three"
        raise ArgumentError("triangle", must, "is True")
    with sheet(ax, styled="lines", **frame) as drawn:
        if three and triangle is not False:
            _on_triangle(drawn, found, (lines, steps, stationary, outline), colour)
        else:
            drawn.draw("lines", lines, time_series, found.ts, found.distances, colour=colour)
            drawn.axes[0].set(xlabel="time $t$", ylabel="total variation distance to the limit")
    return drawn


def _on_triangle(drawn: Artists, found: Convergence, parts: tuple[Part, ...], tint: Any) -> None:
    lines, steps, stationary, triangle = parts
    limits = [one.probabilities for one in found.stationary.distributions]
    drawn.draw("lines", lines, trajectories_in_triangle, found.probabilities[None], tint=tint)
    drawn.draw("steps", steps if found.steps else False, orbits, [found.probabilities], labels=[found.steps])
    drawn.draw("stationary", stationary, stationary_points, limits)
    drawn.draw("outline", triangle, outline, ("0", "1", "2"))
