"""What a figure shows, as lines of text: sizes, axes, and of each artist its colours, marks, words and places.

Properties that an artist of its kind has by default are left out. An array of numbers is summed up by its shape, its
least and largest entries, and a mean with weights of both signs.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator

LOOKS = {
    "zorder": None, "alpha": None, "visible": True, "color": None, "facecolor": None, "edgecolor": None,
    "linewidth": None, "linestyle": "-", "marker": "None", "markersize": None, "markerfacecolor": None,
    "markeredgecolor": None, "markeredgewidth": None, "fillstyle": "full", "hatch": None, "clip_on": True,
    "fontsize": None, "horizontalalignment": "left", "verticalalignment": "baseline", "rotation": 0.0, "sizes": None,
    "array": None, "clim": (None, None), "extent": None, "interpolation": None, "mutation_scale": None,
    "arrowstyle": None,
}  # fmt: skip
"""Properties of artists, and the values with which they are left out."""
PLACES = ("xydata", "data_3d", "segments", "offsets", "paths", "path", "position", "xy")
"""Places of artists; the first that there is counts."""
OWN = (
    "xyann",
    "U",
    "V",
    "scale",
    "width",
    "headwidth",
    "pivot",
    "_unscaled_dash_pattern",
    "_loc",
    "_ncols",
)
"""Attributes without a method that returns them."""
ARROW = "_posA_posB"
"""Both ends of an arrow; those of streamlines share a line whatever their colours, which the streamlines have."""
AXES = ("xlabel", "ylabel", "zlabel", "xlim", "ylim", "zlim", "xscale", "yscale", "aspect", "title")
PLAIN = {
    "xscale": "linear", "yscale": "linear", "aspect": "auto", "title": "", "left": "", "on": True, "turn": [0, 0],
    "spines": ["left", "right", "bottom", "top"], "cell": [],
}  # fmt: skip
"""Properties of axes that are left out with these values."""
TINY = 1e-9
"""Numbers that are rounding beside the largest of an array."""


def ink(drawn: Figure) -> Iterator[str]:
    """Yield a line for a figure, for each of its axes, and for each artist in them."""
    title = drawn.get_suptitle()
    yield f"figure {_said(drawn.get_size_inches())}" + f" {title}" * bool(title)
    for legend in drawn.legends:
        yield from _of_legend(legend)
    for text in drawn.texts:
        yield f"{_looks(text)} at={_said(_place(text))}"
    for ax in drawn.axes:
        yield from _of_axes(ax)


def _of_axes(ax: Any) -> Iterator[str]:
    known = {name: getattr(ax, f"get_{name}")() for name in AXES if hasattr(ax, f"get_{name}")}
    known |= {"left": ax.get_title(loc="left"), "on": ax.axison}
    known["spines"] = [name for name, spine in ax.spines.items() if spine.get_visible()]
    cell = ax.get_subplotspec()
    known["cell"] = [] if cell is None else list(cell.get_geometry())
    known["turn"] = [getattr(ax, "azim", 0), getattr(ax, "elev", 0)]
    for name in ("xaxis", "yaxis"):
        axis = getattr(ax, name)
        if isinstance(axis.get_major_locator(), FixedLocator):
            known[f"{name} ticks"] = axis.get_major_locator().locs
        if isinstance(axis.get_major_formatter(), FixedFormatter):
            known[f"{name} names"] = axis.get_major_formatter().seq
    yield "axes " + _joined({name: value for name, value in known.items() if not _is(value, PLAIN.get(name))})
    alike: dict[str, list[Any]] = {}
    for artist in (*ax.lines, *ax.patches, *ax.collections, *ax.images, *ax.texts):
        alike.setdefault(_looks(artist), []).append(_place(artist))
    for looks, places in alike.items():
        yield f"  {_count(len(places))}{looks} at={_said(places[0] if len(places) == 1 else _flat(places))}"
    if ax.get_legend() is not None:
        yield from (f"  {line}" for line in _of_legend(ax.get_legend()))
    for inner in ax.child_axes:
        yield from (f"  {line}" for line in _of_axes(inner))


def _of_legend(legend: Legend) -> Iterator[str]:
    sizes = sorted({text.get_fontsize() for text in legend.get_texts()})
    words = [text.get_text() for text in legend.get_texts()]
    yield f"{_looks(legend)} fontsize={_said(sizes)} {words} {legend.get_title().get_text()}"


def _count(number: int) -> str:
    return f"{number} of " * (number > 1)


def _looks(artist: Artist) -> str:
    """Write the kind of an artist and all but its place; artists that look alike share a line."""
    known = {name: getattr(artist, f"get_{name}")() for name in LOOKS if hasattr(artist, f"get_{name}")}
    known = {name: value for name, value in known.items() if not _is(value, LOOKS[name])}
    if hasattr(artist, ARROW):
        known = {name: value for name, value in known.items() if "color" not in name}
    if known.get("zorder") == type(artist).zorder:
        del known["zorder"]
    if "marker" not in known:
        known = {name: value for name, value in known.items() if not name.startswith("marker")}
    if isinstance(artist, Text):
        known = {"text": artist.get_text(), **known}
    elif not str(artist.get_label()).startswith("_"):
        known["label"] = artist.get_label()
    own = {name: getattr(artist, name) for name in OWN if hasattr(artist, name)}
    known |= {name: value for name, value in own.items() if not (value is None or _is(value, (0, None)))}
    if hasattr(artist, "norm") and hasattr(artist, "cmap"):
        known |= {"map": artist.cmap.name, "norm": type(artist.norm).__name__}
    return f"{type(artist).__name__} {_joined(known)}"


def _place(artist: Artist) -> Any:
    if hasattr(artist, ARROW):
        return _flat(getattr(artist, ARROW) or ())
    place = next((name for name in PLACES if hasattr(artist, f"get_{name}")), None)
    return None if place is None else _numbers(getattr(artist, f"get_{place}")())


def _is(value: Any, plain: Any) -> bool:
    """Whether a value is the one with which a property is left out."""
    return type(value) is type(plain) and bool(value == plain)


def _joined(known: dict[str, Any]) -> str:
    """Write names and values; colours as they are on the screen."""
    said = {name: _coloured(value) if "color" in name else _said(value) for name, value in known.items()}
    return " ".join(f"{name}={value}" for name, value in said.items() if value)


def _coloured(value: Any) -> str:
    """Write colours, those of several parts one after another, up to eight of them."""
    many = np.ndim(value) == 2
    found = [to_hex(one, keep_alpha=np.shape(one) == (4,) and one[3] < 1) for one in (value[:8] if many else [value])]
    return ",".join(dict.fromkeys(found)) if len(found) > 1 and len(set(found)) == 1 else ",".join(found)


def _numbers(value: Any) -> Any:
    """Take the numbers out of paths and of lists of arrays of different lengths."""
    if hasattr(value, "vertices"):
        return value.vertices
    if isinstance(value, (list, tuple)) and value and all(np.ndim(getattr(one, "vertices", one)) for one in value):
        return _flat([_numbers(one) for one in value])
    return value


def _flat(values: Sequence[Any]) -> np.ndarray:
    """Join the numbers of several places."""
    return np.concatenate([np.zeros(0), *(np.ravel(np.asarray(one, float)) for one in values if one is not None)])


def _said(value: Any) -> str:
    """Write texts as they are, and numbers with four digits; arrays are summed up."""
    if isinstance(value, (list, tuple)) and not all(isinstance(one, (int, float, np.number)) for one in value):
        return "[" + " ".join(map(_said, value)) + "]"
    if isinstance(value, (int, float, np.number, np.ndarray, list, tuple)) and not isinstance(value, bool):
        return _summed(np.ma.filled(np.ma.asarray(value, float), np.nan))
    return str(value) if isinstance(value, (str, bool, type(None))) else type(value).__name__


FEW = 3
"""Most numbers that are written one by one."""


def _summed(numbers: np.ndarray) -> str:
    """Write a few numbers, or of more their shape, the least, the largest, and a mean with weights of both signs."""
    flat = numbers[np.isfinite(numbers)].ravel()
    most = float(np.max(np.abs(flat), initial=0.0))
    digits = lambda values: ",".join(f"{0.0 if abs(v) <= TINY * most else v:.4g}" for v in values)
    if numbers.size <= FEW:
        return digits(numbers.ravel())
    lost = f"-{numbers.size - flat.size}" * bool(flat.size < numbers.size)
    shape = "x".join(map(str, numbers.shape)) + lost
    if most == 0:
        return f"{shape}:0"
    weights = np.sin(1 + 0.7 * np.arange(flat.size)) / flat.size
    return f"{shape}:{digits([flat.min(), flat.max()])}~{np.dot(weights, flat / most):.4f}"


def text_of(drawings: Sequence[Figure]) -> list[str]:
    """Lines for several figures."""
    return [line for one in drawings for line in ink(one)]
