"""Ink of figures: what each artist looks like and where it is, as lines of text.

Colours, widths, styles, sizes and orders are written as they are; numbers of data are summed up with weights, to four
digits, so that the rounding of another machine does not matter.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator

LOOKS = (
    "label",
    "zorder",
    "alpha",
    "visible",
    "color",
    "facecolor",
    "edgecolor",
    "linewidth",
    "linestyle",
    "marker",
    "markersize",
    "markerfacecolor",
    "markerfacecoloralt",
    "markeredgecolor",
    "markeredgewidth",
    "fillstyle",
    "hatch",
    "capstyle",
    "clip_on",
    "fontsize",
    "horizontalalignment",
    "verticalalignment",
    "rotation",
    "sizes",
    "array",
    "clim",
    "extent",
    "interpolation",
    "mutation_scale",
    "arrowstyle",
)
"""Properties of artists, where they have them."""
PLACES = ("xydata", "data_3d", "segments", "offsets", "paths", "path", "position", "xy")
"""Places of artists; the first that there is counts."""
OWN = (
    "xyann",
    "arrowprops",
    "U",
    "V",
    "scale",
    "width",
    "headwidth",
    "pivot",
    "_unscaled_dash_pattern",
    "_posA_posB",
    "_loc",
    "_ncols",
)
"""Attributes without a method that returns them."""
AXES = ("xlabel", "ylabel", "zlabel", "xlim", "ylim", "zlim", "xscale", "yscale", "aspect", "title")
STEP, TINY = 1e-4, 1e-11
"""Resolution of numbers relative to the largest of an array, and what counts as zero."""


def ink(drawn: Figure) -> Iterator[str]:
    """Yield a line for a figure, for each of its axes, and for each artist in them."""
    yield f"figure {_said(drawn.get_size_inches())} {_said(drawn.get_suptitle())}"
    for legend in drawn.legends:
        yield from _of_legend(legend)
    yield from map(_of_artist, drawn.texts)
    for ax in drawn.axes:
        yield from _of_axes(ax)


def _of_axes(ax: Any) -> Iterator[str]:
    known = {name: getattr(ax, f"get_{name}")() for name in AXES if hasattr(ax, f"get_{name}")}
    known |= {
        "left": ax.get_title(loc="left"),
        "on": ax.axison,
        "turn": (getattr(ax, "azim", 0), getattr(ax, "elev", 0)),
    }
    for name in ("xaxis", "yaxis"):
        axis = getattr(ax, name)
        if isinstance(axis.get_major_locator(), FixedLocator):
            known[f"{name} ticks"] = axis.get_major_locator().locs
        if isinstance(axis.get_major_formatter(), FixedFormatter):
            known[f"{name} names"] = axis.get_major_formatter().seq
    known["bar"] = getattr(ax, "_colorbar_info", None) and {
        k: v for k, v in ax._colorbar_info.items() if k != "parents"
    }
    known["spines"] = [name for name, spine in ax.spines.items() if spine.get_visible()]
    cell = ax.get_subplotspec()
    known["cell"] = cell and cell.get_geometry()
    yield "axes " + " ".join(f"{name}={_said(value)}" for name, value in known.items())
    for artist in (*ax.lines, *ax.patches, *ax.collections, *ax.images, *ax.texts):
        yield _of_artist(artist)
    if ax.get_legend() is not None:
        yield from _of_legend(ax.get_legend())
    for inner in ax.child_axes:
        yield from _of_axes(inner)


def _of_legend(legend: Any) -> Iterator[str]:
    yield _of_artist(legend)
    anchor = getattr(legend._bbox_to_anchor, "_bbox", None)
    size = [text.get_fontsize() for text in legend.get_texts()][:1]
    place = anchor if anchor is None else anchor.get_points()
    words = [text.get_text() for text in legend.get_texts()]
    yield f"legend {words} {legend.get_title().get_text()} {_said(size)} {_said(place)} {_said(legend.markerscale)}"


def _of_artist(artist: Any) -> str:
    place = next((name for name in PLACES if hasattr(artist, f"get_{name}")), None)
    known = {name: getattr(artist, f"get_{name}")() for name in LOOKS if hasattr(artist, f"get_{name}")}
    known |= {name: getattr(artist, name) for name in OWN if hasattr(artist, name)}
    known |= {"text": artist.get_text()} if isinstance(artist, Text) else {}
    if place is not None and not hasattr(artist, "_posA_posB"):
        known["at"] = _numbers(getattr(artist, f"get_{place}")())
    if hasattr(artist, "norm") and hasattr(artist, "cmap"):
        known |= {"map": artist.cmap.name, "norm": type(artist.norm).__name__}
    said = (f"{name}={_said(value)}" for name, value in known.items())
    return f"{type(artist).__name__} " + " ".join(said)


def _numbers(value: Any) -> Any:
    """Take the numbers out of paths and of lists of arrays of different lengths."""
    if hasattr(value, "vertices"):
        return value.vertices
    if isinstance(value, (list, tuple)) and value and all(np.ndim(getattr(one, "vertices", one)) for one in value):
        return [np.asarray(_numbers(one), float) for one in value]
    return value


def _said(value: Any) -> str:
    """Write texts as they are, and numbers with four digits; arrays are summed up."""
    if isinstance(value, dict):
        return "{" + " ".join(f"{name}={_said(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        flat = np.concatenate([one.ravel() for one in value])
        return f"{len(value)}: {_said(flat)}"
    if isinstance(value, (list, tuple)) and not all(isinstance(one, (int, float, np.number)) for one in value):
        return "[" + " ".join(map(_said, value)) + "]"
    if isinstance(value, (int, float, np.number, np.ndarray, list, tuple)) and not isinstance(value, bool):
        return _summed(np.ma.filled(np.ma.asarray(value, float), np.nan))
    return str(value) if isinstance(value, (str, bool, type(None))) else type(value).__name__


def _summed(numbers: np.ndarray) -> str:
    """Sum an array up: its shape, its largest entry, and a sum with weights of both signs."""
    flat = numbers[np.isfinite(numbers)].ravel()
    shape = f"{numbers.shape}" * bool(numbers.shape) + f" but {numbers.size - flat.size}" * (flat.size < numbers.size)
    most = float(np.max(np.abs(flat), initial=0.0))
    if most < TINY:
        return f"{shape}0"
    weights = np.sin(1 + 0.7 * np.arange(flat.size)) / np.sqrt(flat.size)
    level, total = np.floor([np.log(most) / STEP + 0.3, np.dot(weights, flat / most) / STEP + 0.3])
    return f"{shape}{level:.0f}/{total:.0f}"
