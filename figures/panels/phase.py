"""Draw phase portraits on the circle, on the sphere and in the plane from computed arrays.

Equilibria are filled if stable, open if unstable, half-filled if saddles, and diamonds if undecided. A basin of
attraction has the colour of its limit set; grey means that the limit is unknown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.contour import ContourSet
from matplotlib.patches import Circle, Polygon
from matplotlib.quiver import Quiver
from matplotlib.streamplot import StreamplotSet

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.labels import at_rest
from figures.panels.tokens import AXES, HIDDEN, View, surface
from figures.style import basin_colour, colour, large, paler, thick

# Colours of sizes of a field: the part of the colour map that has a contrast of at least 3 to white paper.
DARK = LinearSegmentedColormap.from_list("dark", colormaps["cividis_r"](np.linspace(0.38, 1.0, 256)))
WIDE = 30.0  # sizes of a field that span more than this factor have logarithmic colours
OUTER = 0.02  # share of the sizes of a field at both ends that share the first and the last colour
CONSTANT = 1e-3  # sizes within this share of the largest count as one
KINDS = ("stable", "unstable", "saddle", "undecided")
# Grid on which the basins of the sphere are interpolated, and number of neighbours used at each grid point.
_GRID, _NEIGHBOURS = 240, 60
_TINT = 0.45  # share of white in the colours of basins under arrows
_FILLS = {"stable": "full", "unstable": "full", "saddle": "left", "undecided": "full"}


def equilibria(
    ax: Axes,
    places: ArrayLike,
    kinds: Sequence[str],
    *,
    pale: ArrayLike | None = None,
    types: Sequence[str] | None = None,
) -> None:
    """Mark equilibria by their stability, each kind, or each type, labelled once for a legend.

    Args:
        ax: the axes.
        places: the positions of the equilibria, (equilibria, 2).
        kinds: their stability, words of `KINDS`.
        pale: which of them are drawn paler, as on the hidden side of a sphere, (equilibria,); none by default.
        types: their types in words, such as `stable focus`, for the legend in place of the stability; a focus is then
            marked by a square.

    Raises:
        ValueError: for the wrong number of kinds or types, or an unknown kind.
    """
    places = np.asarray(places, float).reshape(-1, 2)
    hidden = np.zeros(len(places), bool) if pale is None else np.asarray(pale)
    named: set[str] = set()
    words = [str(kind) for kind in kinds]
    if len(words) != len(places):
        raise ArgumentError("kinds", f"have one word for each of {len(places)} equilibria", f"has {len(words)}")
    labels = words if types is None else [str(one) for one in types]
    if len(labels) != len(places):
        raise ArgumentError("types", f"have one word for each of {len(places)} equilibria", f"has {len(labels)}")
    for number in np.argsort(hidden, kind="stable"):  # visible ones come first, so that the legend shows them
        place, kind, behind = places[number], words[number], bool(hidden[number])
        if kind not in KINDS:
            raise ArgumentError("kinds", f"hold only {', '.join(KINDS)}", f"holds `{kind}`")
        label = labels[number]
        is_focus = types is not None and "focus" in label and "saddle" not in label
        tint = paler(colour(kind), HIDDEN) if behind else colour(kind)
        ax.plot(
            *place,
            marker="D" if kind == "undecided" else "s" if is_focus else "o",
            fillstyle=_FILLS[kind],
            color=tint,
            markerfacecolor="white" if kind == "unstable" else tint,
            markerfacecoloralt="white",
            markeredgewidth=thick(0.9),
            markersize=large(5.0),
            linestyle="none",
            zorder=5.0 if behind else 6.0,
            clip_on=False,
            label=None if label in named else label,
        )
        named.add(label)


def circle_portrait(
    ax: Axes,
    angles: ArrayLike,
    speeds: ArrayLike,
    *,
    limits: ArrayLike,
    equilibrium_angles: ArrayLike,
    kinds: Sequence[str],
    names: Mapping[int, str] | None = None,
    labels: tuple[str, str] = ("$y_1$", "$y_2$"),
    largest: float | None = None,
) -> LineCollection:
    r"""Draw a flow on the circle, $\dot\theta = f(\theta)$, with arcs in the colours of the basins.

    The curve around the circle has radius 1 + const f: it is outside the circle where the flow is counter-clockwise.

    Args:
        ax: the axes.
        angles: angles in radians, increasing over one turn, (points,).
        speeds: f in radians per time unit, (points,).
        limits: index of the limit of the solution from each angle, (points,); -1 if unknown.
        equilibrium_angles: angles of the equilibria in radians, (equilibria,).
        kinds: stability of the equilibria, words of `KINDS`.
        names: names of the limits, by index, for the basins in a legend.
        labels: labels of the axes.
        largest: the speed at the curve's largest distance from the circle; by default the largest speed.
    """
    angles, speeds, limits = np.asarray(angles), np.asarray(speeds), np.asarray(limits)
    closed = np.append(angles, angles[0] + 2 * np.pi)
    pieces, owners = _arcs(closed, limits)
    arcs = LineCollection(pieces, colors=[basin_colour(k) for k in owners], linewidths=thick(3.0), zorder=2.0)
    ax.add_collection(arcs)
    _name_basins(ax, names or {}, white=0.0)
    largest = float(np.max(np.abs(speeds))) if largest is None else largest
    radius = 1 + 0.45 * np.append(speeds, speeds[0]) / max(largest, 1e-300)
    ax.plot(*(radius * _ring(closed).T), color=colour("field"), linewidth=thick(0.8), zorder=1.0, label="speed")
    _turns(ax, angles, speeds)
    equilibria(ax, _ring(np.asarray(equilibrium_angles, float)), kinds)
    ax.set_aspect("equal")
    ax.set_xlim(-1.55, 1.55)
    ax.set_ylim(-1.55, 1.55)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])
    return arcs


def _ring(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _arcs(closed: np.ndarray, limits: np.ndarray) -> tuple[list[np.ndarray], list[int]]:
    """One arc for each run of angles with the same limit, and these limits; arcs meet midway between angles."""
    middles = np.concatenate([[closed[0] + closed[-2] - 2 * np.pi], closed[1:] + closed[:-1]]) / 2
    cuts = [0, *(np.flatnonzero(np.diff(limits)) + 1), len(limits)]
    arcs = [
        _ring(np.linspace(middles[a], middles[b], 2 + int(90 * (middles[b] - middles[a]))))
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    ]
    return arcs, [int(limits[a]) for a in cuts[:-1]]


def _turns(ax: Axes, angles: np.ndarray, speeds: np.ndarray) -> None:
    """Draw arrow heads on the circle in the direction of the flow, except where it is slow."""
    for angle in np.arange(12) * np.pi / 6 + np.pi / 12:
        speed = np.interp(angle, angles, speeds, period=2 * np.pi)
        if abs(speed) > 0.05 * np.max(np.abs(speeds)):
            turn = np.sign(speed) * 0.09
            tip, tail = _ring(np.array([angle + turn / 2, angle - turn / 2]))
            ax.annotate(
                "", tip, tail, arrowprops={"arrowstyle": "-|>", "color": "black", "lw": thick(0.6), "mutation_scale": 7,
                                           "shrinkA": 0, "shrinkB": 0}, zorder=4.0,
            )  # fmt: skip


def sphere_portrait(
    ax: Axes,
    points: ArrayLike,
    limits: ArrayLike,
    *,
    field_points: ArrayLike,
    field: ArrayLike,
    equilibrium_points: ArrayLike,
    kinds: Sequence[str],
    names: Mapping[int, str] | None = None,
    labels: Sequence[str] = AXES,
    view: View = View(),
    largest: float | None = None,
) -> dict[int, ContourSet]:
    """Draw a flow on the unit sphere with filled basins of attraction, arrows and equilibria.

    Returns the visible part of each basin, by the index of its limit. A point belongs to the basin whose limit has the
    largest share in a Gaussian-weighted mean over nearby points.

    Args:
        ax: the axes.
        points: points spread evenly over the sphere, (points, 3).
        limits: index of the limit of the solution from each point, (points,); -1 if unknown.
        field_points: positions of the arrows, (arrows, 3).
        field: tangent vectors, (arrows, 3); the length of an arrow is proportional to the 0.3rd power of the speed.
        equilibrium_points: positions of the equilibria, (equilibria, 3); those on the hidden side are pale.
        kinds: stability of the equilibria, words of `KINDS`.
        names: names of the limits, by index, for the basins in a legend.
        labels: labels of the axes.
        view: the direction of projection.
        largest: the speed of the longest arrow; by default the largest speed.
    """
    points, limits, sphere = np.asarray(points, float), np.asarray(limits), np.eye(3)
    surface(ax, view=view, labels=labels)
    basins = _basins(ax, points, limits, view)
    _name_basins(ax, names or {}, white=_TINT)
    _arrows(ax, np.asarray(field_points, float), np.asarray(field, float), view, largest)
    places = np.asarray(equilibrium_points, float).reshape(-1, 3)
    equilibria(ax, view.project(places), kinds, pale=~view.sees(places, sphere))
    return basins


def _basins(ax: Axes, points: np.ndarray, limits: np.ndarray, view: View) -> dict[int, ContourSet]:
    """Fill the basins on the visible side, from shares of limits interpolated on a grid in the image plane."""
    side = np.linspace(-1.0, 1.0, _GRID)
    flat = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1.0)  # outside the disc, use the value at its edge
    depth = np.sqrt(np.maximum(1 - np.sum(flat**2, axis=1), 0.0))
    seen = np.column_stack([flat, depth]) @ view.frame()
    numbers = np.unique(limits)
    spacing = np.sqrt(4 * np.pi / len(points))
    from scipy.spatial import KDTree

    distances, near = KDTree(points).query(seen, k=min(_NEIGHBOURS, len(points)))
    weights = np.exp(-((distances / (1.7 * spacing)) ** 2))
    shares = np.stack([np.sum(weights * (limits[near] == k), axis=1) for k in numbers]) / weights.sum(axis=1)
    basins = {}
    for row, number in enumerate(numbers):
        rest = np.delete(shares, row, axis=0).max(axis=0, initial=0.0)
        lead = (shares[row] - rest).reshape(_GRID, _GRID)
        tint = paler(basin_colour(int(number)), _TINT)
        basins[int(number)] = ax.contourf(side, side, lead, levels=[0.0, 1.1], colors=[tint], zorder=0.4)
        if len(numbers) > 1:
            edge = ax.contour(
                side, side, lead, levels=[0.0], colors=[colour("surface")], linewidths=thick(0.6), zorder=0.6
            )
            edge.set_clip_path(Circle((0, 0), 1.0, transform=ax.transData))
        basins[int(number)].set_clip_path(Circle((0, 0), 1.0, transform=ax.transData))
    return basins


def _name_basins(ax: Axes, names: Mapping[int, str], *, white: float) -> None:
    """Name the colours of basins for a legend."""
    for number, name in names.items():
        ax.add_patch(Polygon(np.zeros((1, 2)), facecolor=paler(basin_colour(number), white), label=f"basin of {name}"))


def _arrows(ax: Axes, points: np.ndarray, field: np.ndarray, view: View, largest: float | None) -> Quiver:
    seen = points @ view.frame()[2] > 0.12  # near the outline arrows degenerate to dots
    points, field = points[seen], field[seen]
    size = np.linalg.norm(field, axis=1, keepdims=True)
    largest = float(np.max(size, initial=0.0)) if largest is None else largest
    even = field / np.maximum(size, 1e-300) * (size / max(largest, 1e-300)) ** 0.3
    return ax.quiver(
        *view.project(points).T,
        *view.project(even).T,
        angles="xy",
        scale_units="xy",
        scale=7.5,
        width=0.006,
        headwidth=4.0,
        color="#404040",
        pivot="mid",
        zorder=4.0,
    )


def streamlines(
    ax: Axes,
    xs: ArrayLike,
    ys: ArrayLike,
    velocity: ArrayLike,
    *,
    colour: Any = None,
    speeds: tuple[float, float] | None = None,
    **style: Any,
) -> StreamplotSet:
    """Draw streamlines of a vector field in the plane, in the colours of its size.

    The colours are logarithmic if the sizes span more than a factor of 30, and are dark enough for lines on white.

    Args:
        ax: the axes.
        xs: evenly spaced grid of the first coordinate, (columns,).
        ys: evenly spaced grid of the second coordinate, (rows,).
        velocity: the vector field on the grid, (rows, columns, 2).
        colour: one colour of matplotlib instead, or a colour map.
        speeds: the range of the colours; by default that of nearly all sizes, see `speed_range`.
        style: keywords of matplotlib's `streamplot`.

    Raises:
        ValueError: if `velocity` does not have the shape of the grid.
    """
    x, y, field = _grid(xs, ys, velocity)
    speed = np.linalg.norm(field, axis=-1)
    low, high = speed_range(field) if speeds is None else speeds
    style = {"linewidth": thick(0.6), "density": 1.1, "arrowsize": 0.6} | style
    if colour is None or isinstance(colour, Colormap):
        wide = low > 0 and high > WIDE * low
        norm = (LogNorm if wide else Normalize)(low, high)
        shades = DARK if colour is None else colour
        lines = ax.streamplot(x, y, field[..., 0], field[..., 1], color=speed, cmap=shades, norm=norm, **style)
    else:
        lines = ax.streamplot(x, y, field[..., 0], field[..., 1], color=colour, **style)
    return lines


def speed_range(velocity: ArrayLike) -> tuple[float, float]:
    """The range of nearly all sizes of a vector field, (..., components); it is empty if they are nearly equal."""
    speed = np.linalg.norm(np.asarray(velocity, float), axis=-1)
    speed = speed[np.isfinite(speed)]
    if not speed.size:
        return 0.0, 0.0
    low, high = (float(one) for one in np.quantile(speed, [OUTER, 1 - OUTER]))
    return (low, high) if high - low > CONSTANT * high else (high, high)


def nullclines(
    ax: Axes,
    xs: ArrayLike,
    ys: ArrayLike,
    velocity: ArrayLike,
    *,
    labels: tuple[str, str] = ("$x$", "$y$"),
    hidden: ArrayLike = False,
    touching: Sequence[ArrayLike] = ((), ()),
) -> None:
    """Draw where each component of a vector field in the plane vanishes; the two differ in colour and line style.

    Args:
        ax: the axes.
        xs: evenly spaced grid of the first coordinate, (columns,).
        ys: evenly spaced grid of the second coordinate, (rows,).
        velocity: the vector field on the grid, (rows, columns, 2).
        labels: labels of the coordinates, by which a legend names the nullclines.
        hidden: grid points around which nullclines are not drawn, as beside poles, (rows, columns, 2).
        touching: segments, (segments, 2, 2), where each component vanishes without a change of sign.

    Raises:
        ValueError: if `velocity` does not have the shape of the grid.
    """
    x, y, field = _grid(xs, ys, velocity)
    shown = np.ma.masked_array(field, np.broadcast_to(np.asarray(hidden, bool), field.shape) | ~np.isfinite(field))
    for number, style in enumerate(("--", "-.")):
        part, pieces = shown[..., number], np.reshape(touching[number], (-1, 2, 2))
        changes, tint, width = (
            part.count() and part.min() < 0 < part.max(),
            colour(f"nullcline-{number + 1}"),
            thick(1.1),
        )
        if changes:
            ax.contour(x, y, part, levels=[0.0], colors=[tint], linestyles=[style], linewidths=width, zorder=3.0)
        if len(pieces):
            ax.add_collection(LineCollection(list(pieces), colors=[tint], linewidths=width, zorder=3.0))
        if changes or len(pieces):
            ax.plot([], [], color=tint, linestyle=style, linewidth=width, label=at_rest(labels[number]))


def _grid(xs: ArrayLike, ys: ArrayLike, velocity: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Convert a vector field on a grid to arrays; raise `ValueError` unless their shapes match."""
    x, y, field = np.asarray(xs, float), np.asarray(ys, float), np.asarray(velocity, float)
    if field.shape != (len(y), len(x), 2):
        must = f"have shape (rows, columns, 2) = {(len(y), len(x), 2)}"
        raise ArgumentError("velocity", must, f"has shape {field.shape}")
    return x, y, field
