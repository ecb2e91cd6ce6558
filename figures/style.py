"""Style of all figures: sizes in inches, colours by role, and Matplotlib settings in a context manager.

A figure is created at its printed size and never rescaled; no text is smaller than 6 pt.
"""

import contextlib
import contextvars
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import FuncFormatter

from dynsim._core.checked import checked
from dynsim.errors import ArgumentError, nearest

WIDTHS = {
    "aps-1": 3.375,
    "aps-2": 7.0,
    "nature-1": 89 / 25.4,
    "nature-1.5": 120 / 25.4,
    "nature-2": 183 / 25.4,
    "neurips": 5.5,
}
COLUMN, PAGE = WIDTHS["aps-1"], WIDTHS["nature-2"]

_BLACK, _GREY = "#000000", "#8C8C8C"
_ORANGE, _SKY, _GREEN, _YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
_BLUE, _VERMILION, _PURPLE = "#0072B2", "#D55E00", "#CC79A7"

# Okabe and Ito, "Color Universal Design" (2008): distinguishable with colour-vision deficiencies.
COLOURS = {
    "token": _BLUE,
    "leader": _VERMILION,
    "follower": _SKY,
    "energy": _BLUE,
    "lyapunov": _VERMILION,
    "potential": _BLUE,
    "member": _SKY,
    "band": _SKY,
    "median": _BLUE,
    "first": _BLUE,
    "second": _VERMILION,
    "third": _GREEN,
    "consensus": _GREEN,
    "bound": _BLACK,
    "stable": _BLACK,
    "unstable": _BLACK,
    "saddle": _BLACK,
    "undecided": _PURPLE,
    "start": _BLACK,
    "end": _BLACK,
    "surface": _GREY,
    "field": _GREY,
    "nullcline-1": _VERMILION,
    "nullcline-2": _GREEN,
    "cycle": _BLACK,
    "separatrix": _PURPLE,
    "reference": _GREY,
    "positive": _GREEN,
    "negative": _VERMILION,
}
SERIES = ("first", "second", "third", "undecided", "follower")  # roles of several curves of equal rank
BASINS = (_ORANGE, _SKY, _GREEN, _PURPLE, _YELLOW, _BLUE, _VERMILION)
NO_BASIN = "#D9D9D9"

_RC = {
    "axes.axisbelow": True,
    "axes.formatter.limits": (-3, 4),
    "axes.labelpad": 2.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=[COLOURS[role] for role in SERIES]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8.0,
    "figure.dpi": 150,
    "font.family": "serif",
    "font.serif": ["STIXGeneral", "STIX Two Text", "Times New Roman"],  # the first font comes with Matplotlib
    "font.size": 8.0,
    "grid.linewidth": 0.4,
    "hatch.linewidth": 0.5,
    "legend.edgecolor": "none",
    "legend.facecolor": "white",
    "legend.fancybox": False,
    "legend.fontsize": 7.0,
    "legend.framealpha": 0.85,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.0,
    "lines.markersize": 4.0,
    "mathtext.fontset": "stix",
    "path.simplify": True,
    "path.simplify_threshold": 0.1,
    "pdf.fonttype": 42,
    "savefig.dpi": 450,
    "svg.fonttype": "none",
    "svg.hashsalt": "dynsim",
    "text.usetex": False,
    "xtick.direction": "out",
    "xtick.labelsize": 7.0,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.direction": "out",
    "ytick.labelsize": 7.0,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
}


class Page(NamedTuple):
    """Size in inches and matplotlib's settings of our figures, where they differ from those of this module."""

    width: float | None = None
    height: float | None = None
    rc: Mapping[str, Any] = {}


_PAGE: contextvars.ContextVar[Page | None] = contextvars.ContextVar("page", default=None)


@contextlib.contextmanager
def page(one: Page) -> Iterator[None]:
    """Make our figures within this context in another size, and with other settings of matplotlib."""
    token = _PAGE.set(one)
    try:
        yield
    finally:
        _PAGE.reset(token)


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Draw and write figures with this module's settings within this context; the user's settings are restored.

    Example:
        >>> import matplotlib
        >>> from figures import settings
        >>> before = matplotlib.rcParams["axes.linewidth"]
        >>> with settings():
        ...     matplotlib.rcParams["axes.linewidth"]
        0.6
        >>> matplotlib.rcParams["axes.linewidth"] == before
        True
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        with matplotlib.rc_context(_RC | dict((_PAGE.get() or Page()).rc)):  # pyright: ignore[reportArgumentType]
            yield


def colour(role: str) -> str:
    """The colour of a role.

    Raises:
        ValueError: for an unknown role.

    Example:
        >>> from figures import colour
        >>> colour("leader")  # vermilion
        '#D55E00'
    """
    if role not in COLOURS:
        raise ArgumentError("role", f"be one of {', '.join(COLOURS)}", f"is `{role}`{nearest(role, COLOURS)}")
    return COLOURS[role]


def colours_of(given: Any) -> list[Any]:
    """Colours that curves take in turn: those of a list, or one for all."""
    return list(given) if isinstance(given, list | tuple) and not is_color_like(given) else [given]


@checked
def basin_colour(limit: int) -> str:
    """Colour of the basin of attraction of limit number `limit`; grey for -1, an unknown limit.

    Example:
        >>> from figures import basin_colour
        >>> basin_colour(0), basin_colour(-1)  # orange and grey
        ('#E69F00', '#D9D9D9')
    """
    return NO_BASIN if limit < 0 else BASINS[limit % len(BASINS)]


def paler(colour: str, share: float) -> tuple[float, float, float]:
    """Mix a colour with a share of white, as RGB; unlike transparency, overlapping pieces show no seams.

    Args:
        colour: any colour of Matplotlib.
        share: share of white, from 0 to 1.

    Example:
        >>> from figures import paler
        >>> paler("black", 0.5)
        (0.5, 0.5, 0.5)
    """
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return (1 - share) * red + share, (1 - share) * green + share, (1 - share) * blue + share


def thick(points: float) -> float:
    """Line width in points of our figures, in proportion to the line width of the style that is in use."""
    return points * matplotlib.rcParams["lines.linewidth"] / _RC["lines.linewidth"]


def large(points: float) -> float:
    """Size in points of a marker of our figures, in proportion to the marker size of the style that is in use."""
    return points * matplotlib.rcParams["lines.markersize"] / _RC["lines.markersize"]


class OwnFigure(Figure):
    """A figure that is rendered in the style of this module, whatever style is in use then."""

    def __init__(self, figsize: tuple[float, float], layout: Any):
        self.page = _PAGE.get() or Page()
        width, height = figsize
        wide = self.page.width or width
        super().__init__(figsize=(wide, self.page.height or height * wide / width), layout=layout)

    def draw(self, renderer: Any) -> None:
        """Draw the figure with this module's settings."""
        with page(self.page), settings():
            super().draw(renderer)


def canvas(
    width: float = COLUMN, aspect: float = 0.75, *, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """Make an empty figure and its axes, row by row.

    Args:
        width: the width in inches, at printed size; see `WIDTHS`.
        aspect: height over width of the whole figure.
        rows: the number of rows of panels.
        columns: the number of columns of panels.

    Raises:
        ValueError: unless width and aspect are positive.

    Example:
        >>> from figures import canvas
        >>> drawn, axes = canvas(4.0, aspect=0.5, columns=2)
        >>> drawn.get_size_inches().tolist(), len(axes)
        ([4.0, 2.0], 2)
    """
    if not (width > 0 and aspect > 0):
        raise ArgumentError("width", "be positive, like `aspect`", f"they are {width} and {aspect}")
    drawn = OwnFigure(figsize=(width, width * aspect), layout="compressed")
    drawn.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.04, hspace=0.04)  # pyright: ignore
    return drawn, list(drawn.subplots(rows, columns, squeeze=False).flat)


def letter(axes: Sequence[Axes], names: Sequence[str] = ()) -> None:
    """Label panels (a), (b), ... at the upper left corner, followed by names if given."""
    for number, ax in enumerate(axes):
        name = f" {names[number]}" if names else ""
        ax.set_title(rf"$\mathbf{{({chr(ord('a') + number)})}}${name}", loc="left", pad=3.0)


def power_of_ten(axis: Axis, values: np.ndarray) -> None:
    """Move the power of ten of very small or large values from the ticks into the axis label, before a unit."""
    largest = float(np.max(np.abs(values), initial=0.0))
    power = int(np.floor(np.log10(largest))) if largest > 0 else 0
    if -3 < power < 4:
        return
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 10.0**power:g}".replace("-", "\N{MINUS SIGN}")))
    factor = rf"$10^{{{power}}}$"
    name, bracket, unit = axis.get_label_text().partition(" (")
    axis.set_label_text(f"{name} ({factor} {unit}" if bracket else f"{name} ({factor})")
