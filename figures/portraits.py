"""Phase portraits in axes: planes and slices, lines, circles, spheres and simplices."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dynsim.errors import ArgumentError
from figures.artists import Artists, Frame, Part, sheet
from figures.panels import phase
from figures.panels import portrait_curves as curved
from figures.panels.labels import axis_label, axis_labels, size_label, symbol, velocity_label
from figures.panels.simplices import in_triangle, trajectories_in_triangle
from figures.panels.simplices import outline as triangle
from figures.panels.tokens import AXES, View
from figures.style import COLOURS, COLUMN, PAGE, canvas, thick

if TYPE_CHECKING:
    from analysis.dynamics.attractors.basins import Basins
    from analysis.dynamics.portraits.curved import Portrait
    from analysis.dynamics.portraits.line import LinePortrait
    from analysis.dynamics.portraits.plane import PhasePlane
    from analysis.dynamics.portraits.simplex import SimplexPortrait

ARROWS = 300  # number of arrows of the vector field on a sphere
CLEAR = 0.7  # least distance from an equilibrium to the middle of an arrow on a line, relative to the arrows' distance
CORNER = 12  # a label of at most this many characters, including those of mathematics, fits in the corner of a sphere
PAD = 0.05  # margin above and below, relative to the range of velocities on a line
Range = tuple[float, float] | None
"""The range of speeds (of velocities on a line) that the frames of a movie share; None for that of the result."""


def entries(drawn: Artists) -> dict[str, Any]:
    """Legend entries of a portrait, by label."""
    return {label: handle for ax in drawn.axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}


def plane(
    found: "PhasePlane",
    ax: Any = None,
    *,
    streamlines: Part = True,
    nullclines: Part = True,
    equilibria: Part = True,
    cycles: Part = True,
    separatrices: Part = True,
    trajectories: Part = True,
    families: Part = True,
    surfaces: Part = True,
    basins: "Basins | None" = None,
    colour: Any = None,
    colourbar: Part | None = None,
    types: bool = False,
    speeds: Range = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a phase plane; see `PhasePlane.plot`."""
    names, units = (found.names, found.units) if found.names else (("x_1", "x_2"), ("", ""))
    first, second = axis_labels(names, units)
    make = lambda: canvas(1.35 * COLUMN, 0.78)
    with sheet(ax, make=make, **frame) as drawn:
        field = (found.xs, found.ys, found.velocity)
        low, high = speeds or phase.speed_range(found.velocity)
        size = size_label((first, second), units, found.time_unit) if high > low else ""
        style = dict(streamlines) if isinstance(streamlines, Mapping) else {}
        shades = COLOURS["field"] if colour is None and not size else colour
        lines = drawn.draw(
            "streamlines", bool(streamlines), phase.streamlines, *field, colour=shades, speeds=(low, high), **style
        )
        wanted = drawn.own if colourbar is None else colourbar
        if lines is not None and lines.lines.get_array() is not None and wanted is not False:
            drawn.bar(lines.lines, size or "speed", wanted)
        drawn.draw("nullclines", nullclines, phase.nullclines, *field, labels=(first, second), hidden=found.poles,
                   touching=found.touching)  # fmt: skip
        drawn.draw("equilibria", equilibria, phase.equilibria, found.points, [e.kind for e in found.equilibria],
                   types=[e.description for e in found.equilibria] if types else None)  # fmt: skip
        resting = [(e.state, e.last) for e in found.pseudo_equilibria]
        drawn.draw("surfaces", surfaces, curved.jumps, found.surfaces, found.sliding, resting)
        drawn.draw("trajectories", trajectories, curved.paths, found.trajectories)
        drawn.draw("separatrices", separatrices, curved.separatrices, found.stable_curves, found.unstable_curves)
        drawn.draw("cycles", cycles, curved.cycles, found.cycles, found.cycle_kinds)
        drawn.draw("families", families, curved.families, found.families)
        target = drawn.axes[0]
        target.set(xlabel=first, ylabel=second, xlim=found.xs[[0, -1]], ylim=found.ys[[0, -1]])
        _background(drawn, basins)
    return drawn


def _background(drawn: Artists, basins: "Basins | None") -> None:
    """Draw basins behind a portrait."""
    if basins is not None:
        from figures.basins import basin_names
        from figures.panels.basins import basin_background

        drawn.draw("basins", True, basin_background, basins.labels, basins.axes, names=basin_names(basins))


def line(
    found: "LinePortrait",
    ax: Any = None,
    *,
    zero: Part = True,
    velocity: Part = True,
    arrows: Part = True,
    equilibria: Part = True,
    families: Part = True,
    basins: "Basins | None" = None,
    speeds: Range = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the portrait of a line; see `LinePortrait.plot`."""
    with sheet(ax, aspect=0.62, **frame) as drawn:
        points, rest = found.points, lambda xs: np.column_stack([xs, np.zeros(len(xs))])
        drawn.draw("zero", zero, _zero)
        drawn.draw("velocity", velocity, _velocity, found.xs, found.velocity)
        drawn.draw("arrows", arrows, _arrows, found.xs, found.velocity, points)
        drawn.draw("equilibria", equilibria, phase.equilibria, rest(points), [e.kind for e in found.equilibria])
        on_axis = [one._replace(points=rest(one.points[:, 0])) for one in found.families]
        drawn.draw("families", families, curved.families, on_axis)
        rate = velocity_label(found.name, found.unit, found.time_unit)
        drawn.axes[0].set(xlabel=axis_label(found.name, found.unit), ylabel=rate, xlim=found.xs[[0, -1]])
        if speeds is not None:
            pad = PAD * (speeds[1] - speeds[0]) or 1.0
            drawn.axes[0].set_ylim(speeds[0] - pad, speeds[1] + pad)
        _background(drawn, basins)
    return drawn


def _velocity(ax: Any, xs: np.ndarray, velocities: np.ndarray) -> None:
    ax.plot(xs, velocities, color=COLOURS["first"])


def _zero(ax: Any) -> None:
    ax.axhline(0.0, color=COLOURS["surface"], linewidth=thick(0.6))


def _arrows(ax: Any, xs: np.ndarray, velocities: np.ndarray, points: np.ndarray) -> None:
    """Draw arrows along an axis in the direction of the flow, except at equilibria and where it is slow."""
    step = (xs[-1] - xs[0]) / 14
    style = {"arrowstyle": "-|>", "color": "black", "lw": thick(0.6), "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0}
    for x in xs[0] + step * (np.arange(13) + 0.97):
        v = float(np.interp(x, xs, velocities))
        near = np.min(np.abs(points - x), initial=np.inf) < CLEAR * step
        if abs(v) > 0.02 * float(np.nanmax(np.abs(velocities))) and not near:
            ends = [(x + side * 0.25 * step * np.sign(v), 0.0) for side in (1, -1)]
            ax.annotate("", *ends, arrowprops=style)


def curved_portrait(
    found: "Portrait",
    ax: Any = None,
    *,
    names: Sequence[str] = (),
    field: Part = True,
    equilibria: Part = True,
    cycles: Part = True,
    families: Part = True,
    speeds: Range = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw a flow on the circle or on the sphere; see `Portrait.plot`."""
    count = found.points.shape[1]
    words = [str(word) for word in names or AXES[:count]]
    if len(words) != count:
        raise ArgumentError("names", f"have one label for each of {count} coordinates", f"has {len(words)}")
    largest, flat = None if speeds is None else speeds[1], count == 2
    parts = (field, equilibria, cycles, families)
    make = lambda: canvas(COLUMN, 0.9) if flat else canvas(PAGE, 0.5, columns=2)
    title = frame.get("title", "")
    frame["title"] = title if flat else ""
    with sheet(ax, make=make, **frame) as drawn:
        if flat:
            _circle(drawn, found, words, largest, parts)
        else:
            _sphere(drawn, found, words, largest, parts)
        if title and not flat:
            (drawn.figure.suptitle if drawn.own else drawn.axes[0].set_title)(title)
    return drawn


def _circle(drawn: Artists, found: "Portrait", words: list[str], largest: float | None, parts: Sequence[Part]) -> None:
    field, equilibria, _, families = parts
    angles = np.unwrap(np.arctan2(found.points[:, 1], found.points[:, 0]))
    turning = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    drawn.draw("field", field, phase.circle_portrait, angles, np.sum(found.field * turning, axis=1),
               limits=found.limits, equilibrium_angles=[], kinds=[], names=_others(found),
               labels=(words[0], words[1]), largest=largest)  # fmt: skip
    drawn.draw("equilibria", equilibria, phase.equilibria, found.equilibrium_points, found.kinds)
    drawn.draw("families", families, curved.families, found.families)


def _sphere(drawn: Artists, found: "Portrait", words: list[str], largest: float | None, parts: Sequence[Part]) -> None:
    """Draw a sphere in one axes from the front, or in two from the front and from the back."""
    field, equilibria, cycles, families = parts
    short = AXES if max(map(len, words)) > CORNER else words
    some = slice(None, None, max(1, len(found.points) // ARROWS))
    orbits = [cycle.points for cycle in found.cycles], [cycle.kind for cycle in found.cycles]
    views = View(), View().opposite()
    for target, side, name in zip(drawn.axes, views, ("front", "back"), strict=False):
        hidden = ~side.sees(found.equilibrium_points, np.eye(3))
        drawn.draw("field", field, phase.sphere_portrait, found.points, found.limits,
                   field_points=found.points[some], field=found.field[some], equilibrium_points=[], kinds=[],
                   view=side, names=_others(found), labels=short, largest=largest, ax=target)  # fmt: skip
        drawn.draw("equilibria", equilibria, phase.equilibria, side.project(found.equilibrium_points), found.kinds,
                   pale=hidden, ax=target)  # fmt: skip
        drawn.draw("cycles", cycles, curved.sphere_cycles, *orbits, side, ax=target)
        drawn.draw("families", families, curved.families, found.families, view=side, ax=target)
        if len(drawn.axes) > 1:
            target.set_title(name)
    for letter, label in zip(short, words, strict=True):
        if short is AXES is not words and label != letter:
            drawn.axes[-1].plot([], [], linestyle="none", label=f"{letter}: {label}")


def _others(found: "Portrait") -> dict[int, str]:
    """Names of the limits of a portrait that are not equilibria, by index."""
    from analysis.dynamics.attractors.limit_set import CURVE, SURFACE

    words = {"periodic orbit": "a limit cycle", CURVE: "a curve of equilibria", SURFACE: "a surface of equilibria"}
    word = lambda k: words.get(found.others.get(k, ""), "another attractor")
    known = {int(k): word(k) for k in np.unique(found.limits) if k >= len(found.kinds)}
    return known | ({-1: "an unknown limit"} if np.any(found.limits < 0) else {})


def simplex(
    found: "SimplexPortrait",
    ax: Any = None,
    *,
    outline: Part = True,
    trajectories: Part = True,
    equilibria: Part = True,
    families: Part = True,
    names: Sequence[str] = (),
    speeds: Range = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the portrait of a flow on the simplex of three states; see `SimplexPortrait.plot`."""
    del speeds  # arrows have one size
    words = [symbol(name) for name in names or found.names] or ["1", "2", "3"]
    if len(words) != 3:
        raise ArgumentError("names", "have one label for each of 3 corners", f"has {len(words)}")
    title, labels = frame.pop("title", ""), frame.pop("labels", True)
    with sheet(ax, aspect=0.9, **frame) as drawn:
        drawn.draw("outline", outline, triangle, words if labels else [""] * 3)
        drawn.draw("trajectories", trajectories, trajectories_in_triangle, found.trajectories)
        kinds = [e.kind for e in found.equilibria]
        drawn.draw("equilibria", equilibria, phase.equilibria, in_triangle(found.points), kinds)
        curves = [one._replace(points=in_triangle(one.points)) for one in found.families]
        drawn.draw("families", families, curved.families, curves)
        if title and drawn.own:
            drawn.figure.suptitle(title)
        elif title:
            drawn.axes[0].set_title(title)
    return drawn
