"""Choose axis limits that contain most of each curve, and mark where curves continue beyond them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import large

OUTER = 0.1  # share of a curve's weight at both ends of its values that is ignored
FAR = 4.0  # if all values span more than this many times the range of the usual ones, the outer values are not shown
FEW_MEMBERS = 0.05  # share of an ensemble's members whose extremes are ignored
PAD = 0.08  # margin on both sides, relative to the range shown
DECADES = 3.0  # positive values that span more decades than this may get a logarithmic axis or colour bar
SMALL = 0.05  # a logarithmic axis also requires half of the values to be below this share of the largest
NEAR = 0.02  # marks closer than this, relative to the width of the axes, are merged


def is_logarithmic(values: np.ndarray) -> bool:
    """Whether values are positive, span many decades, and are mostly small."""
    if not values.size or values.min() <= 0:
        return False
    wide = np.log10(values.max()) - np.log10(values.min()) > DECADES
    return bool(wide and np.median(values) < SMALL * values.max())


def usual_limits(curves: Sequence[tuple[ArrayLike, ArrayLike]], always: ArrayLike = ()) -> tuple[float, float] | None:
    """Limits that contain the middle part of each curve, or None if all of every curve can be shown.

    The middle part leaves a tenth of the weight below it and a tenth above it. Values beyond the middle parts are
    ignored if the range of all values is more than four times theirs.

    Args:
        curves: for each curve its values, (points,), and their weights, (points,), such as the parameter intervals that
            they represent. If all weights vanish, all points count alike. Values that are not finite are ignored.
        always: further values that must lie between the limits, such as those at bifurcations.

    Raises:
        ValueError: for weights of the wrong shape, or negative weights.
    """
    kept = np.asarray(always, float).ravel()
    middle, every = [kept[np.isfinite(kept)]], [kept[np.isfinite(kept)]]
    for values, weights in curves:
        y, w = np.asarray(values, float), np.asarray(weights, float)
        if y.ndim != 1 or y.shape != w.shape or np.any(w < 0):
            raise ArgumentError("curves", "have as many weights as values, none negative", f"have {w} for {y}")
        there = np.isfinite(y)
        if there.any():
            middle.append(_middle(y[there], w[there]))
            every.append(y[there])
    inner, outer = np.concatenate(middle), np.concatenate(every)
    if not inner.size:
        return None
    return _unless_shown((float(inner.min()), float(inner.max())), outer)


def member_limits(values: ArrayLike, finished: ArrayLike) -> tuple[float, float] | None:
    """Limits that contain the values of most ensemble members, or None if all can be shown.

    Members whose integration failed, for example because they escape to infinity, are ignored, and so are the extremes
    of a twentieth of the others. If all members failed, the middle part of each is used.

    Args:
        values: the values of the members, (members, times), NaN after a failure.
        finished: whether each member was integrated to the end, (members,).
    """
    rows, ended = np.asarray(values, float), np.asarray(finished, bool)
    rows = np.where(np.isfinite(rows), rows, np.nan)
    there = ~np.all(np.isnan(rows), axis=1)
    if not np.any(there & ended):
        return usual_limits([(row, np.ones(len(row))) for row in rows[there]])
    kept = rows[there & ended]
    low = float(np.quantile(np.nanmin(kept, axis=1), FEW_MEMBERS))
    high = float(np.quantile(np.nanmax(kept, axis=1), 1 - FEW_MEMBERS))
    return _unless_shown((low, high), rows[there])


def _unless_shown(inner: tuple[float, float], outer: np.ndarray) -> tuple[float, float] | None:
    """The inner range with a margin, or None if the range of all values is not much wider."""
    (low, high), least, most = inner, float(np.nanmin(outer)), float(np.nanmax(outer))
    if not high > low or most / 2 - least / 2 <= FAR / 2 * (high - low):  # halves do not overflow
        return None
    pad = PAD * (high - low)
    return max(low, least) - pad, min(high, most) + pad


def _middle(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The values at both ends of the middle part of a distribution."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order]) if weights.sum() > 0 else np.arange(1.0, len(values) + 1)
    places = np.searchsorted(total / total[-1], [OUTER, 1 - OUTER])
    return values[order][np.minimum(places, len(values) - 1)]


def leaving_marks(ax: Axes, limits: tuple[float, float], lines: Sequence[Line2D]) -> tuple[float, float] | None:
    """Set vertical limits and mark with triangles where lines leave them.

    Returns:
        The minimum and maximum of the lines, as stated in the legend of the marks, or None if no line leaves.
    """
    low, high = limits
    width = float(np.ptp(ax.get_xlim())) or 1.0
    marked: dict[str, list[float]] = {"v": [], "^": []}
    for line in lines:
        x, y = (np.asarray(part, float) for part in (line.get_xdata(), line.get_ydata()))
        for edge, sign, mark in ((low, -1.0, "v"), (high, 1.0, "^")):
            for place in _crossings(x, sign * y, sign * edge):
                if all(abs(place - other) > NEAR * width for other in marked[mark]):
                    marked[mark].append(place)
                    ax.plot([place], [edge], marker=mark, markersize=large(3.5), linestyle="none",
                            color=line.get_color(), clip_on=False, zorder=6.0)  # fmt: skip
    ax.set_ylim(low, high)
    if not any(marked.values()):
        return None
    every = np.concatenate([np.asarray(line.get_ydata(), float) for line in lines])
    least, most = float(np.nanmin(every)), float(np.nanmax(every))
    ends = [("v", least)] * bool(marked["v"]) + [("^", most)] * bool(marked["^"])
    for mark, end in ends:
        ax.plot(
            [], [], marker=mark, markersize=large(3.5), linestyle="none", color="0.4", label=f"goes on to {_said(end)}"
        )
    return least, most


def _crossings(x: np.ndarray, y: np.ndarray, edge: float) -> list[float]:
    """Where a line through points crosses a horizontal edge."""
    beyond = y > edge
    found = []
    for k in np.flatnonzero(beyond[1:] != beyond[:-1]):
        if np.all(np.isfinite(y[k : k + 2])):
            share = (edge - y[k]) / (y[k + 1] - y[k]) if abs(y[k + 1] - y[k]) < np.inf else 0.0
            found.append(float(x[k] + share * (x[k + 1] - x[k])))
    return found


def _said(value: float) -> str:
    """A number with three digits, with a typeset power of ten."""
    digits, _, power = f"{value:.3g}".partition("e")
    return rf"${digits} \times 10^{{{int(power)}}}$" if power else f"${digits}$"


def cell_edges(values: np.ndarray, log: bool) -> np.ndarray:
    """Edges of cells around increasing values, midway between them."""
    at = np.log(values) if log else values
    middles = (at[1:] + at[:-1]) / 2
    found = np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])
    return np.exp(found) if log else found
