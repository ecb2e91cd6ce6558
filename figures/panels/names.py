"""Place names beside points, avoiding marks, lines and other names, with a white outline."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from dynsim._core.types import ArrayLike

HALO = (withStroke(linewidth=1.8, foreground="white"),)
_RINGS = (1.5, 5.0, 10.0, 16.0)  # distances in points between a mark and its name, tried from the nearest
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_ALIGNED = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
_SPACING = 3.0  # pixels between the sampled points of a line


def place_names(
    ax: Axes, points: ArrayLike, names: Sequence[str], *, size: float = 4.0, fontsize: float = 7.0
) -> list[Annotation]:
    """Write names beside points; a name placed far from its point is joined to it by a line.

    For each name, 32 places around its point are tried. The one that covers the fewest marks and lines is used, and
    among equals the nearest. Everything else must have been drawn before, because the final layout is needed.

    Args:
        ax: the axes, which must belong to a figure.
        points: the points, (names, 2).
        names: the words.
        size: the diameter of the marks at the points, in points.
        fontsize: the font size of the names, in points.
    """
    drawn = ax.get_figure(root=True)
    if not isinstance(drawn, Figure) or not len(names):
        return []
    drawn.draw_without_rendering()
    pixels = drawn.dpi / 72
    marks, lines = _marks(ax, pixels), _lines(ax)
    taken = [Text.get_window_extent(text) for text in ax.texts if text.get_text()]
    legend = ax.get_legend()
    taken += [legend.get_window_extent()] if legend else []
    frame = ax.get_window_extent()
    written = []
    for point, name in zip(np.asarray(points, float), names, strict=True):
        best: tuple[float, Annotation, Bbox] | None = None
        for ring, side in ((ring, side) for ring in _RINGS for side in _SIDES):
            text = _beside(ax, point, name, side, size / 2 + ring, fontsize, joined=ring > _RINGS[1])
            box = Text.get_window_extent(text).padded(0.5 * pixels)  # excludes the joining line
            cost = _cost(box, frame, taken, marks, lines) + 0.1 * ring
            if best is None or cost < best[0]:
                if best is not None:
                    best[1].remove()
                best = cost, text, box
            else:
                text.remove()
        if best is not None:
            taken.append(best[2])
            written.append(best[1])
    return written


def _beside(
    ax: Axes, point: np.ndarray, name: str, side: tuple[int, int], far: float, fontsize: float, *, joined: bool
) -> Annotation:
    away = np.array(side) * far / np.linalg.norm(side)
    text = ax.annotate(
        name,
        (float(point[0]), float(point[1])),
        (float(away[0]), float(away[1])),
        textcoords="offset points",
        ha=_ALIGNED[side[0]][0],
        va=_ALIGNED[side[1]][1],
        fontsize=fontsize,
        zorder=9.0,
        path_effects=list(HALO),
        arrowprops={"arrowstyle": "-", "linewidth": 0.4, "shrinkA": 0.0, "shrinkB": 0.0} if joined else None,
    )
    text.set_in_layout(False)
    text.get_window_extent()  # moves the text to its place, which its own box does not do
    return text


def _cost(box: Bbox, frame: Bbox, taken: list[Bbox], marks: np.ndarray, lines: np.ndarray) -> float:
    """Cost of a name in a box: covered names and leaving the axes cost most, then marks, then lines."""
    outside = box.x0 < frame.x0 or box.y0 < frame.y0 or box.x1 > frame.x1 or box.y1 > frame.y1
    names = sum(box.overlaps(other) for other in taken)
    x, y, radius = marks.T
    hit = (x > box.x0 - radius) & (x < box.x1 + radius) & (y > box.y0 - radius) & (y < box.y1 + radius)
    crossed = (lines > box.min).all(axis=1) & (lines < box.max).all(axis=1)
    return 1000.0 * (outside + names) + 20.0 * hit.sum() + crossed.sum()


def _marks(ax: Axes, pixels: float) -> np.ndarray:
    """Marks of the lines of the axes, as rows of position and radius in pixels."""
    found = [np.empty((0, 3))]
    for line in ax.lines:
        if line.get_marker() not in (None, "None", "", " "):
            at = line.get_transform().transform(np.asarray(line.get_xydata(), float).reshape(-1, 2))
            found.append(np.column_stack([at, np.full(len(at), pixels * line.get_markersize() / 2)]))
    return np.concatenate(found)


def _lines(ax: Axes) -> np.ndarray:
    """Points along the lines and outlines of the axes, in pixels."""
    frame = ax.get_window_extent().padded(20.0)
    curves = [
        line.get_transform().transform(np.asarray(line.get_xydata(), float))
        for line in ax.lines
        if line.get_linestyle() != "None" and np.size(line.get_xdata()) > 1
    ]
    outlined = [patch for patch in ax.patches if isinstance(patch, Patch) and to_rgba(patch.get_edgecolor())[3] > 0]
    curves += [
        path for patch in outlined for path in patch.get_transform().transform_path(patch.get_path()).to_polygons()
    ]
    found = [np.empty((0, 2))]
    for curve in map(np.asarray, curves):
        for one, other in zip(curve[:-1], curve[1:], strict=True):
            count = int(np.clip(np.linalg.norm(other - one) / _SPACING, 1, 20_000))
            found.append(one + np.linspace(0.0, 1.0, count + 1)[:, None] * (other - one))
    along = np.concatenate(found)
    return along[(along > frame.min).all(axis=1) & (along < frame.max).all(axis=1)]
