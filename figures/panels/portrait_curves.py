"""Draw curves of a phase portrait: limit cycles, curves of equilibria, separatrices, and trajectories."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from analysis.dynamics.equilibria.families import Family
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.tokens import HIDDEN, View, visible_pieces
from figures.style import colour, large, paler, thick

HALO = "_halo"  # label of the wide lines of the background's colour below curves
FAMILIES = {
    "stable": "-",
    "unstable": (0, (1.8, 0.8)),
    "saddle": (0, (0.8, 0.8)),
    "undecided": (0, (1.8, 0.6, 0.6, 0.6)),
}
STYLES = {"stable": "-", "unstable": (0, (4, 1.5)), "saddle": (0, (1, 1))}  # line styles of limit cycles


def cycles(ax: Axes, orbits: Sequence[ArrayLike], kinds: Sequence[str]) -> None:
    """Draw limit cycles, (points, 2) each: stable ones solid, unstable ones dashed, each kind named once.

    Raises:
        ValueError: for the wrong number of kinds, or an unknown kind.
    """
    if len(orbits) != len(kinds):
        raise ArgumentError("kinds", f"have one word for each of {len(orbits)} cycles", f"has {len(kinds)}")
    for number, (orbit, kind) in enumerate(zip(orbits, kinds, strict=True)):
        if kind not in STYLES:
            raise ArgumentError("kinds", f"hold only {', '.join(STYLES)}", f"holds `{kind}`")
        name = f"{kind} limit cycle" if kind not in kinds[:number] else None
        path = np.asarray(orbit, float)
        ax.plot(*path.T, color=ax.get_facecolor(), linewidth=thick(3.2), label=HALO, zorder=3.4)
        ax.plot(*path.T, color=colour("cycle"), linewidth=thick(1.8), linestyle=STYLES[kind], zorder=3.5, label=name)


def sphere_cycles(ax: Axes, orbits: Sequence[ArrayLike], kinds: Sequence[str], view: View) -> None:
    """Draw limit cycles on the unit sphere, (points, 3) each and not closed; their hidden parts are pale.

    Line styles, names and errors are those of `cycles`.
    """
    cycles(ax, [np.empty((0, 2))] * len(orbits), kinds)
    for orbit, kind in zip(orbits, kinds, strict=True):
        points = np.asarray(orbit, float)
        points = np.concatenate([points, points[:1]])
        pieces = visible_pieces(view.project(points), view.sees(points, np.eye(3)))
        for piece, seen in sorted(pieces, key=lambda pair: pair[1]):
            tint = colour("cycle") if seen else paler(colour("cycle"), HIDDEN)
            if seen:
                ax.plot(*piece.T, color=ax.get_facecolor(), linewidth=thick(3.2), label=HALO, zorder=4.4)
            ax.plot(*piece.T, color=tint, linewidth=thick(1.8) if seen else 1.0, linestyle=STYLES[kind],
                    zorder=4.5 if seen else 3.4)  # fmt: skip


def jumps(ax: Axes, surfaces: ArrayLike, sliding: ArrayLike, rests: Sequence[tuple[ArrayLike, ArrayLike]]) -> None:
    """Draw the curves on which a field jumps, thicker where trajectories slide, and the states at rest there.

    Args:
        ax: the axes.
        surfaces: segments, (segments, 2, 2).
        sliding: which of them trajectories slide along.
        rests: first and last point of each set of states at rest.
    """
    pieces, slides = np.reshape(np.asarray(surfaces, float), (-1, 2, 2)), np.asarray(sliding, bool)
    for which, width, label in ((~slides, 0.8, "the field jumps"), (slides, 2.2, "sliding")):
        if np.any(which):
            lines = LineCollection(list(pieces[which]), colors=[colour("surface")], linewidths=width, zorder=3.2)
            ax.add_collection(lines)
            ax.plot([], [], color=colour("surface"), linewidth=width, label=label)
    for k, (first, last) in enumerate(rests):
        line = np.array([first, last], float)
        label = "at rest by sliding" if k == 0 else None
        ax.plot(
            *line.T, color="black", marker="D", markersize=large(3.5), linewidth=thick(2.2), zorder=5.0, label=label
        )


def families(ax: Axes, found: Sequence[Family], *, view: View | None = None) -> None:
    """Draw curves of equilibria, each part in the colour and line style of its type, each type named once.

    Args:
        ax: the axes.
        found: families of equilibria with points in the plane, (points, 2), or on the unit sphere, (points, 3).
        view: the direction of projection, for the sphere; hidden parts are pale.
    """
    named: set[str] = set()
    for family in found:
        ends = np.concatenate([family.points, family.points[:1]]) if family.end == "closed" else family.points
        for word, a, b in family.runs:
            part, name = ends[a : b + 1], None if word in named else f"{word} equilibria"
            named.add(word)
            pieces = [(part, True)]
            if view is not None:
                pieces = visible_pieces(view.project(part), view.sees(part, np.eye(3)))
                ax.plot([], [], color=colour(word), linewidth=thick(2.6), linestyle=FAMILIES[word], label=name)
                name = None
            for piece, seen in pieces:
                tint = colour(word) if seen else paler(colour(word), HIDDEN)
                ax.plot(
                    *piece.T, color=ax.get_facecolor(), linewidth=thick(3.8), label=HALO, zorder=4.8 if seen else 3.5
                )
                ax.plot(*piece.T, color=tint, linewidth=thick(2.6), linestyle=FAMILIES[word],
                        zorder=4.9 if seen else 3.6, label=name)  # fmt: skip


def separatrices(ax: Axes, stable: ArrayLike, unstable: ArrayLike) -> None:
    """Draw stable manifolds of saddles, solid, and unstable manifolds, dotted; (curves, points, 2) each."""
    for paths, style, name in ((stable, "-", "stable manifold"), (unstable, (0, (1, 1)), "unstable manifold")):
        lines = _lines(paths)
        if lines:
            drawn = LineCollection(lines, colors=[colour("separatrix")], linewidths=thick(1.2), linestyles=[style],
                                   zorder=3.2, label=name)  # fmt: skip
            ax.add_collection(drawn, autolim=False)


def paths(ax: Axes, trajectories: ArrayLike) -> None:
    """Draw trajectories, (curves, points, 2), with a dot at each initial state, the first point that is not NaN."""
    lines = _lines(trajectories)
    rows = np.asarray(trajectories, float)
    starts = [row[np.flatnonzero(np.isfinite(row).all(axis=1))[0]] for row in rows if _lines([row])]
    if lines:
        drawn = LineCollection(lines, colors=[colour("first")], linewidths=thick(0.9), zorder=2.6, label="trajectory")
        ax.add_collection(drawn, autolim=False)
        ax.plot(*np.array(starts).T, marker="o", markersize=large(2.2), linestyle="none",
                color=colour("first"), zorder=2.7)  # fmt: skip


def _lines(paths: ArrayLike) -> list[np.ndarray]:
    """The pieces of curves between points that are NaN, as far as they have at least two points."""
    found = []
    for path in np.asarray(paths, float):
        whole = np.isfinite(path).all(axis=1)
        found += np.split(path[whole], np.flatnonzero(np.diff(np.flatnonzero(whole)) > 1) + 1)
    return [path for path in found if len(path) > 1]
