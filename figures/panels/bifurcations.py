"""Draw bifurcation diagrams: branches against a parameter, bifurcation curves in two parameters, and marks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import COLOURS, large, paler, thick

MARKS = {
    "fold": "s",
    "branch point": "D",
    "pitchfork": "D",
    "transcritical bifurcation": "D",
    "Hopf point": "o",
    "period doubling": "^",
    "Neimark-Sacker point": "v",
    "corner": "x",
    "cusp": "*",
    "Bogdanov-Takens point": "P",
    "Bautin point": "h",
    "fold-Hopf point": "X",
    "double Hopf point": "p",
    "1:1 resonance": "1",
    "1:2 resonance": "2",
    "1:3 resonance": "3",
    "1:4 resonance": "4",
    "fold-flip point": "d",
    "fold-Neimark-Sacker point": "<",
    "flip-Neimark-Sacker point": ">",
    "double Neimark-Sacker point": "H",
    "generalised period doubling": "8",
    "Chenciner point": (4, 1, 0),
    "neutral saddle": "s",
    "neutral saddle-focus": "o",
    "neutral bifocus": "h",
    "Belyakov point": "D",
    "neutrally divergent saddle-focus": "p",
    "orbit flip": "^",
    "inclination flip": "v",
}
"""Markers of bifurcations, by kind."""
OWN = ("+", "|", "_", "3", "4")
"""Markers of points at which functions of the user vanish, in their order."""
FILLED = {"supercritical": "white", "subcritical": "black", "degenerate": "0.6"}
"""Fillings of markers by criticality, the word that precedes the kind."""
DASHED = (0, (4, 1.6))
DOTTED = (0, (1, 1.2))
CURVES = {
    "fold": ("first", "-"),
    "Hopf point": ("second", DASHED),
    "fold of periodic orbits": ("first", DOTTED),
    "period doubling": ("third", "-"),
    "Neimark-Sacker point": ("second", DOTTED),
    "homoclinic orbit": ("third", DASHED),
    "heteroclinic orbit": ("third", DOTTED),
    "saddle-node homoclinic orbit": ("third", "-"),
}
"""Colours and line styles of bifurcation curves, by kind."""
PIECES = 8  # number of pieces of a smooth curve between two points of a branch
PALE = 0.5  # share of white in the colour of an undecided number
GREY = 0.75  # darkest shade of a map of numbers, light enough for curves on it


def branch_lines(
    ax: Axes,
    parameters: ArrayLike,
    values: ArrayLike,
    stable: ArrayLike,
    arclengths: ArrayLike | None = None,
    corners: ArrayLike | None = None,
    *,
    colour: Any = COLOURS["first"],
) -> list[Line2D]:
    """Draw a branch, solid where it is stable and dashed elsewhere, and return its pieces.

    The gaps of dashed lines are white, so that overlapping dashed lines do not look solid; they lie below all solid
    lines. With `arclengths` the branch is drawn as a smooth curve through the points, except at corners; otherwise by
    chords.

    Args:
        ax: the axes.
        parameters: the parameter at each point, (points,).
        values: the values, (points,), or (points, curves) for several, such as the minimum and maximum of an orbit.
        stable: whether the solutions between two successive points are stable, (points - 1,).
        arclengths: increasing arclengths, (points,).
        corners: where the branch is not smooth, (points,); nowhere by default.
        colour: the colour of the branch.

    Raises:
        ValueError: if the shapes of the arrays do not match.
    """
    x, y, solid = np.asarray(parameters, float), np.asarray(values, float), np.asarray(stable, bool)
    if len(y) != len(x):
        raise ArgumentError("values", f"have one entry for each of {len(x)} points", f"has {len(y)}")
    if len(solid) != len(x) - 1:
        raise ArgumentError("stable", f"have one entry for each of {len(x) - 1} intervals", f"has {len(solid)}")
    if arclengths is not None:
        bends = np.zeros(len(x), bool) if corners is None else np.asarray(corners, bool)
        rows = smooth_curve(np.asarray(arclengths, float), np.column_stack([x, y]), bends)
        x, y, solid = rows[:, 0], rows[:, 1:], np.repeat(solid, PIECES)
    cuts = [0, *(np.flatnonzero(np.diff(solid)) + 1), len(solid)]
    parts = []
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        style: dict[str, Any] = {"linestyle": "-", "zorder": 2.0}
        if not solid[begin]:
            style = {"linestyle": DASHED, "gapcolor": ax.get_facecolor(), "zorder": 1.9}
        piece = slice(begin, end + 1)
        parts += ax.plot(x[piece], y[piece], color=colour, linewidth=thick(1.1), **style)
    return parts


def smooth_curve(lengths: np.ndarray, rows: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Interpolate rows, (points, n), by a curve that is smooth except at corners, with `PIECES` points per interval.

    Between corners, each part is an Akima cubic in the arclength, which does not overshoot even with few points.

    Source: H. Akima, J. ACM 17 (1970).
    """
    fine = np.append((lengths[:-1, None] + np.diff(lengths)[:, None] * np.arange(PIECES) / PIECES).ravel(), lengths[-1])
    found = np.stack([np.interp(fine, lengths, row) for row in rows.T], axis=1)
    cuts = [0, *(np.flatnonzero(corners[1:-1]) + 1), len(lengths) - 1]
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        part = slice(begin, end + 1)
        apart = np.append(True, np.diff(lengths[part]) > 1e-9 * max(lengths[-1] - lengths[0], 1e-300))
        if np.sum(apart) > 2 and np.all(np.isfinite(rows[part])):
            from scipy.interpolate import Akima1DInterpolator

            curve = Akima1DInterpolator(lengths[part][apart], rows[part][apart])
            inside = slice(PIECES * begin, PIECES * end + 1)
            within = np.clip(fine[inside], lengths[part][apart][0], lengths[part][apart][-1])
            found[inside] = curve(within)
            found[inside][::PIECES] = rows[part]
    return found


def bifurcation_marks(ax: Axes, kinds: Sequence[str], parameters: ArrayLike, values: ArrayLike) -> None:
    """Mark bifurcations by kind, such as `fold` or `subcritical Hopf point`, each labelled once for a legend.

    Raises:
        ValueError: for an unknown kind.
    """
    places = np.stack([np.asarray(parameters, float), np.asarray(values, float)], axis=-1).reshape(-1, 2)
    named = {line.get_label() for line in ax.lines}
    for kind, place in zip(kinds, places, strict=True):
        side, _, rest = kind.partition(" ")
        mark = MARKS.get(rest if side in FILLED else kind)
        if mark is None:
            raise ArgumentError("kinds", f"hold only {', '.join(MARKS)}", f"holds `{kind}`")
        ax.plot(
            *place, marker=mark, markersize=large(4.5), linestyle="none", color="black",
            markerfacecolor=FILLED.get(side, "white"), markeredgewidth=thick(0.9), zorder=5.0,
            label=None if kind in named else kind,
        )  # fmt: skip
        named.add(kind)


def own_marks(ax: Axes, names: Sequence[str], parameters: ArrayLike, values: ArrayLike) -> None:
    """Mark points at which functions of the user vanish, with a marker and an entry of a legend for each function."""
    named = {line.get_label(): line.get_marker() for line in ax.lines if line.get_marker() in OWN}
    for name, *place in zip(names, np.ravel(parameters), np.ravel(values), strict=True):
        label = None if name in named else name
        mark = named.setdefault(name, OWN[len(named) % len(OWN)])
        ax.plot(*place, marker=mark, markersize=large(6), linestyle="none", color="black", zorder=5.0, label=label)


def shown_up_to(ax: Axes, share: float) -> None:
    """Hide lines and marks beyond a share of the horizontal axis; limits and legend are unchanged."""
    if share >= 1:
        return
    low, high = ax.get_xlim()
    ax.set_ylim(ax.get_ylim())
    for line in ax.lines:
        if np.size(line.get_xdata()) == 1:
            line.set_visible(float(np.ravel(line.get_xdata())[0]) <= low + share * (high - low))
        else:
            line.set_clip_path(Rectangle((0, 0), share, 1, transform=ax.transAxes))


def stability_entries(
    ax: Axes, *, kinds: Mapping[str, Any] | None = None, dashed: str = "unstable", colour: Any = "black"
) -> None:
    """Add entries for a legend: the kinds of branches, and both line styles.

    Args:
        ax: the axes.
        kinds: colours of kinds of branches that differ in colour, by their names; none by default.
        dashed: the meaning of dashed lines.
        colour: the colour of both line styles.
    """
    for text, tint in (kinds or {}).items():
        ax.plot([], [], color=tint, linewidth=thick(1.1), label=text)
    ax.plot([], [], color=colour, linewidth=thick(1.1), linestyle="-", label="stable")
    ax.plot([], [], color=colour, linewidth=thick(1.1), linestyle=DASHED, label=dashed)


def critical_lines(ax: Axes, kind: str, first: ArrayLike, second: ArrayLike, *, colour: Any = None) -> Line2D:
    """Draw a bifurcation curve in the plane of two parameters; each kind has one entry in a legend.

    Args:
        ax: the axes.
        kind: one of `CURVES`, such as `fold`, which determines colour and line style.
        first: the values of the first parameter, (points,).
        second: the values of the second parameter, (points,).
        colour: the colour; by default that of the kind.

    Raises:
        ValueError: for an unknown kind.
    """
    if kind not in CURVES:
        raise ArgumentError("kind", f"be one of {', '.join(CURVES)}", f"is `{kind}`")
    role, style = CURVES[kind]
    tint = COLOURS[role] if colour is None else colour
    text = kind.replace("fold", "folds") if kind.startswith("fold") else f"{kind}s"
    named = {line.get_label() for line in ax.lines}
    (line,) = ax.plot(
        np.asarray(first, float), np.asarray(second, float), color=tint, linestyle=style, linewidth=thick(1.1),
        zorder=2.0, label=None if text in named else text,
    )  # fmt: skip
    return line


def number_image(
    ax: Axes, counts: ArrayLike, first: ArrayLike, second: ArrayLike, *, what: str, undecided: ArrayLike = False
) -> AxesImage:
    """Draw counts on a grid of two parameters in shades of grey, darker for larger counts, behind curves.

    The limits of the axes become those of the grid.

    Args:
        ax: the axes.
        counts: whole numbers, (rows, columns), one row for each value of the second parameter.
        first: evenly spaced values of the first parameter, (columns,).
        second: evenly spaced values of the second parameter, (rows,).
        what: what is counted, for a legend, such as `stable equilibria`.
        undecided: where the number is not known, (rows, columns); these have a colour of their own.

    Raises:
        ValueError: if the counts do not match the grid.
    """
    found, x, y = np.asarray(counts, int), np.asarray(first, float), np.asarray(second, float)
    if found.shape != (len(y), len(x)) or min(found.shape) < 2:
        must = f"have shape (rows, columns) = {(len(y), len(x))}, at least two of each"
        raise ArgumentError("counts", must, f"has shape {found.shape}")
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    unknown = np.broadcast_to(np.asarray(undecided, bool), found.shape)
    present = np.unique(found[~unknown])
    greys = dict(
        zip(present.tolist(), np.linspace(1.0, GREY, len(present)) if len(present) > 1 else [1.0], strict=True)
    )
    pixels = np.vectorize(lambda n: greys.get(n, 1.0), otypes=[float])(found)[..., None].repeat(3, axis=-1)
    pixels[unknown] = paler(COLOURS["undecided"], PALE)
    image = ax.imshow(pixels, origin="lower", extent=extent, aspect="auto", interpolation="nearest", zorder=-1.0)
    for number, grey in greys.items():
        edge = {"edgecolor": "black", "linewidth": 0.4}
        ax.add_patch(Polygon(np.zeros((1, 2)), facecolor=str(grey), label=f"{number} {what}", **edge))
    if np.any(unknown):
        tint = paler(COLOURS["undecided"], PALE)
        ax.add_patch(Polygon(np.zeros((1, 2)), facecolor=tint, label="undecided", edgecolor="black", linewidth=0.4))
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    return image
