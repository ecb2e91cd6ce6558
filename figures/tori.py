"""Tori in axes: the section as a closed curve, the torus as a surface, and branches of tori."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.figure import Figure

from analysis.dynamics.tori.branches import TorusBranch
from analysis.dynamics.tori.torus import InvariantTorus
from dynsim.errors import ArgumentError
from dynsim.systems.named import Components
from figures.artists import Artists, Frame, Part, sheet
from figures.panels import tori as panels
from figures.panels.attractors import space_axes
from figures.panels.bifurcations import branch_lines
from figures.panels.labels import axis_label, axis_labels, symbol, time_label
from figures.style import COLOURS, COLUMN, OwnFigure

# Area of a closed curve, relative to the product of its ranges, below which it is nearly a line.
FLAT = 0.1


def section(
    found: InvariantTorus,
    ax: Any = None,
    *,
    curve: Part = True,
    component: Sequence[str | int] = (),
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the section of a torus; see `InvariantTorus.plot`."""
    states = found.circle()
    which = _chosen(found, component, 2)
    words = axis_labels(found.names, found.units)
    with sheet(ax, **frame, aspect=0.9) as drawn:
        if len(which) == 1:  # one component against the angle
            rows = np.column_stack([np.linspace(0.0, 1.0, len(states)), states[:, which[0]]])
            drawn.draw("curve", curve, panels.circle, rows, colour=colour)
            drawn.axes[0].set(xlabel="angle (turns)", ylabel=words[which[0]])
        else:
            drawn.draw("curve", curve, panels.circle, states[:, which], colour=colour)
            drawn.axes[0].set(xlabel=words[which[0]], ylabel=words[which[1]])
    return drawn


def surface(
    found: InvariantTorus,
    ax: Any = None,
    *,
    surface: Part = True,
    curve: Part = True,
    component: Sequence[str | int] = (),
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a torus as a surface; see `InvariantTorus.plot_surface`."""
    if not isinstance(found, InvariantTorus):
        raise ArgumentError("result", "be a torus", f"is a {type(found).__name__}")
    states, which = found.surface(), _chosen(found, component, 3)
    words = [axis_labels(found.names, found.units)[k] for k in which]
    shown = states[..., which]
    if len(which) == 2:
        times = np.linspace(0.0, found.period, len(states))[:, None, None]
        shown = np.concatenate([shown, np.broadcast_to(times, (*states.shape[:2], 1))], axis=-1)
        words.append(time_label())
    if shown.shape[-1] != 3:
        raise ArgumentError("component", "name three components, or two beside the time", f"names {len(which)}")

    def made() -> tuple[Figure, list[Any]]:
        figure = OwnFigure(figsize=(COLUMN, 0.85 * COLUMN), layout="constrained")
        return figure, [space_axes(figure)]

    with sheet(ax, kind="3d", make=made, **frame) as drawn:
        drawn.draw("surface", surface, panels.surface, shown, colour=colour)
        drawn.draw("curve", curve, panels.circle, shown[0], colour=colour)
        drawn.axes[0].set(xlabel=words[0], ylabel=words[1], zlabel=words[2])
    return drawn


def branch(
    found: TorusBranch,
    ax: Any = None,
    *,
    lines: Part = True,
    component: str | int | None = None,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a branch of tori; see `TorusBranch.plot`."""
    first = found.tori[0]
    if component is None:
        values, label = found.rotations[:, None], "rotation number"
    else:
        known = Components(first.names, first.units)
        k = known.place(component, "component")
        circles = [one.circle()[:, k] for one in found.tori]
        values = np.array([[np.min(row), np.max(row)] for row in circles])
        label = axis_label(known.names[k], known.units[k] if known.units else "")
    stable = np.array([one.kind == "attracting" for one in found.tori])
    tint = COLOURS["first"] if colour is None else colour
    with sheet(ax, **frame) as drawn:
        drawn.draw("lines", lines, branch_lines, found.parameters, values, stable[:-1] & stable[1:],
                   np.arange(len(values)), colour=tint)  # fmt: skip
        drawn.axes[0].set(xlabel=symbol(found.name), ylabel=label)
    return drawn


def _chosen(found: InvariantTorus, component: Sequence[str | int], most: int) -> list[int]:
    """Indices of the components that are drawn: those that are named, or the first ones."""
    known = Components(found.names, found.units)
    given = [component] if isinstance(component, str | int) else list(component)
    if given or most != 2 or len(found.names) < 3:
        return [known.place(one, "component") for one in given] or list(range(min(most, len(found.names))))
    return _widest(found.circle())


def _widest(states: np.ndarray) -> list[int]:
    """Choose the first two components, unless a circle is nearly a line in their plane: those with the largest area."""
    ranges = np.ptp(states, axis=0)
    shares = (states - np.mean(states, axis=0)) / np.where(ranges > 0, ranges, 1.0)
    areas = np.abs((shares[:-1] + shares[1:]).T @ np.diff(shares, axis=0)) / 2
    best = np.unravel_index(np.argmax(areas), areas.shape)
    return [0, 1] if areas[0, 1] >= FLAT else sorted(int(k) for k in best)
