"""Draw into a user's axes or into a figure of our own, and collect the artists that are added, by name."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dynsim.errors import ArgumentError, nearest, shown
from figures import files
from figures.fitted import fitted
from figures.panels.labels import parsed
from figures.panels.portrait_curves import HALO
from figures.style import COLUMN, canvas, settings

Part = bool | Mapping[str, Any]
"""Whether a part of a picture is drawn, or the properties of matplotlib that its artists get."""


class Frame(TypedDict, total=False):
    """Options of every picture, which `sheet` explains."""

    legend: Part | None
    labels: bool
    limits: bool
    title: str


class StyledFrame(Frame, total=False):
    """Those of a picture with one part that takes properties of matplotlib by name, such as `linewidth=2`."""

    style: Mapping[str, Any]


KINDS = {"rectilinear": "plain axes", "3d": "axes in three dimensions (`projection='3d'`)"}


class Artists:
    """What a call of `plot` has added: the artists of each part by name, the axes, the legend and the colour bar.

    `drawn.equilibria` and `drawn["equilibria"]` are the artists of the equilibria, a tuple, which is empty for a part
    that the result does not have or that was switched off. `drawn.figure` is the figure, `drawn.axes` are the axes.

    Example:
        >>> import dynsim as ds
        >>> drawn = ds.iterate(ds.catalogue.Logistic(r=2.0), [0.3], 20).plot()
        >>> [line.get_xdata().tolist()[-1] for line in drawn.lines]
        [20.0]
        >>> list(drawn)
        ['lines', 'errors']
    """

    def __init__(self, axes: Sequence[Any], *, own: bool) -> None:
        self.axes: list[Any] = list(axes)
        self.own = own
        self.legend: Legend | None = None
        self.colourbar: Colorbar | None = None
        self._parts: dict[str, tuple[Artist, ...]] = {}

    @property
    def figure(self) -> Figure:
        """The figure of the axes."""
        return self.axes[0].figure.figure  # the whole figure, if the axes are in a part of it

    def __getattr__(self, name: str) -> tuple[Artist, ...]:
        parts = self.__dict__.get("_parts", {})
        if name not in parts:
            raise AttributeError(f"The drawing has no part `{name}`{nearest(name, parts)}; it has {', '.join(parts)}.")
        return parts[name]

    def __getitem__(self, name: str) -> tuple[Artist, ...]:
        return self.__getattr__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parts]

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {len(artists)}" for name, artists in self._parts.items())
        return f"Artists({counts})"

    def _repr_png_(self) -> Any:
        return files.rendered(self.figure) if self.own else None

    def save(self, file: str | Path, title: str = "") -> Path:
        """Write the figure as PDF, SVG or PNG; files of the same drawing have the same bytes.

        Raises:
            ValueError: for another suffix, or a file that cannot be written.
        """
        path = Path(file)
        files.check_format("file", path)
        files.write_figure(self.figure, path, title or path.stem, self.own)
        return path

    def draw(
        self, name: str, wanted: Part | None, function: Callable[..., Any], *args: Any, ax: Any = None, **keywords: Any
    ):
        """Call a function that draws into axes, unless the part is switched off, and keep the artists that it adds.

        Args:
            name: the name of the part.
            wanted: False to leave it out, or properties that all of its artists get.
            function: called with the axes and the other arguments.
            args: positional arguments of the function.
            ax: the axes; by default the first.
            keywords: keyword arguments of the function.
        """
        target = self.axes[0] if ax is None else ax
        self._parts.setdefault(name, ())
        if wanted is False or wanted is None:
            return None
        before = set(target.get_children())
        made = function(target, *args, **keywords)
        new = [one for one in target.get_children() if one not in before]
        new = [one for one in new if not isinstance(one, Legend) and one.get_label() != HALO]
        self._parts[name] += tuple(one for one in new if not is_proxy(one))
        if isinstance(wanted, Mapping):
            set_properties(name, new, wanted)
        return made

    def bar(self, mappable: Any, label: str, wanted: Part | None, ax: Any = None) -> None:
        """Draw a colour bar beside axes, with keywords of matplotlib's `colorbar` if `wanted` holds some."""
        target = self.axes[0] if ax is None else ax
        style = {"aspect": 25, "pad": 0.02} if self.own else {}
        given = wanted if isinstance(wanted, Mapping) else {}
        made = target.figure.colorbar(mappable, ax=target, **(style | dict(given)))
        made.set_label(label)
        if self.own:
            made.outline.set_linewidth(0.5)
        self.colourbar = made


def set_properties(name: str, artists: Sequence[Artist], properties: Mapping[str, Any]) -> None:
    """Set properties of artists as matplotlib spells them; raise `ValueError` for unknown ones or bad values."""
    for artist in artists:
        try:
            artist.set(**properties)
        except (AttributeError, ValueError, TypeError) as error:
            must = "hold properties of matplotlib's artists"
            raise ArgumentError(name, must, f"is {dict(properties)} ({error})") from None


def is_proxy(artist: Artist) -> bool:
    """Whether an artist shows nothing but an entry of a legend."""
    if isinstance(artist, Line2D):
        return not np.size(artist.get_xdata())
    return (
        isinstance(artist, Patch) and type(artist).__name__ == "Polygon" and np.shape(artist.get_path().vertices)[0] < 3
    )


def check_axes(ax: Any, kind: str = "rectilinear", hint: str = "") -> Any:
    """Check that axes are matplotlib's and of a projection, `rectilinear` or `3d`."""
    if not isinstance(ax, Axes):
        raise ArgumentError("ax", f"be {KINDS[kind]} of matplotlib", f"is {shown(ax)}")
    if ax.name != kind:
        has = KINDS.get(ax.name, f"axes with the projection `{ax.name}`")
        raise ArgumentError("ax", f"be {KINDS[kind]}", f"is {has}{hint}")
    return ax


def alone(function: Callable[..., Any], *args: Any, **keywords: Any) -> "Artists":
    """Draw by a function of axes into a figure of our own, with one part `data`."""
    with sheet(None) as drawn:
        drawn.draw("data", True, function, *args, **keywords)
    return drawn


@contextlib.contextmanager
def sheet(
    ax: Any,
    *,
    kind: str = "rectilinear",
    make: Callable[[], tuple[Figure, Sequence[Any]]] | None = None,
    width: float = COLUMN,
    aspect: float = 0.75,
    legend: Part | None = None,
    columns: int = 3,
    title: str = "",
    labels: bool = True,
    limits: bool = True,
    hint: str = "",
    place: str = "below",
    styled: str = "",
    style: Mapping[str, Any] | None = None,
) -> Iterator[Artists]:
    """Draw within this context: into given axes as they are, or, without any, into a figure of our own in our style.

    Args:
        ax: axes of matplotlib, several of them, or None.
        kind: the projection that is needed, `rectilinear` or `3d`.
        make: makes the figure and its axes; by default one panel.
        width: the width of the own figure in inches.
        aspect: its height over its width.
        legend: whether to draw a legend, or its keywords; by default in the own figure only.
        columns: number of columns of the legend of the own figure, below the axes.
        title: title of the axes.
        labels: whether the axes are labelled.
        limits: whether limits of the axes are set.
        hint: what to do if the projection is wrong, for the error.
        place: where the own figure has its legend: `below` the axes, `above` them, or in none of these (``).
        styled: the part whose artists get the properties in `style`.
        style: properties of matplotlib.
    """
    if ax is not None:
        several = ax if isinstance(ax, Sequence | np.ndarray) else (ax,)
        given = [check_axes(one, kind, hint) for one in np.ravel(np.array(several, object))]
        drawn = Artists(given, own=False)
        kept = [_AxesKept(one) for one in given]
        yield drawn
        if style:
            set_properties("style", drawn[styled], style)
        for one in kept:
            one.restore(labels=labels, limits=limits)
        if title:
            given[0].set_title(parsed(title))
        if legend and given[0].get_legend_handles_labels()[0]:
            drawn.legend = given[0].legend(**(legend if isinstance(legend, Mapping) else {}))
        return
    with settings():
        figure, axes = canvas(width, aspect) if make is None else make()
        drawn = Artists(axes, own=True)
        kept = [_AxesKept(one) for one in axes]
        yield drawn
        if style:
            set_properties("style", drawn[styled], style)
        for one in kept:
            one.restore(labels=labels, limits=limits)
        if title:
            (axes[0].set_title if place == "below" and len(axes) == 1 else figure.suptitle)(parsed(title))
        if place and legend is not False and drawn.legend is None:
            given = legend if isinstance(legend, Mapping) else {}
            drawn.legend = _legend(figure, axes, columns, given, place)
        fitted(figure)
        if figure.legends:
            drawn.legend = figure.legends[0]


def _legend(
    figure: Figure, axes: Sequence[Any], columns: int, keywords: Mapping[str, Any], place: str
) -> Legend | None:
    """Draw a legend below all axes, or above the first, with one entry for each label in any of the axes."""
    named = [zip(*ax.get_legend_handles_labels()[::-1], strict=True) for ax in axes]
    entries: dict[str, Any] = {}
    for pairs in named:
        for label, handle in pairs:
            entries.setdefault(label, handle)
    style: dict[str, Any] = {"handles": entries.values(), "labels": entries.keys(), "ncols": columns}
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    style |= above if place == "above" else {"loc": "outside lower center"}
    style |= dict(keywords)
    if not style["labels"]:
        return None
    return axes[0].legend(**style) if place == "above" else figure.legend(**style)


def visible(ax: Any) -> list[Artist]:
    """Lines, collections, patches and images of axes that show something."""
    return [one for one in (*ax.lines, *ax.collections, *ax.patches, *ax.images) if not is_proxy(one)]


class _AxesKept:
    """Labels and limits of axes before a drawing, which are restored where they are not wanted."""

    def __init__(self, ax: Any) -> None:
        self.ax = ax
        self.children = set(visible(ax))
        self.names = "xyz" if ax.name == "3d" else "xy"
        self.labels = [getattr(ax, f"get_{name}label")() for name in self.names]
        self.limits = [getattr(ax, f"get_{name}lim")() for name in self.names]
        self.free = [getattr(ax, f"get_autoscale{name}_on")() for name in self.names]

    def restore(self, *, labels: bool, limits: bool) -> None:
        for name, text in zip(self.names, self.labels, strict=True):
            if not labels:
                getattr(self.ax, f"set_{name}label")(text)
        for name, ends, free in zip(self.names, self.limits, self.free, strict=True):
            if not limits and free and any(one not in self.children for one in visible(self.ax)):
                self.ax.autoscale(axis=name)
            elif not limits:
                getattr(self.ax, f"set_{name}lim")(ends)
