"""Figures of sweeps: curves against one parameter, maps against two, with failed points marked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize

from dynsim.errors import ArgumentError
from dynsim.systems.named import listed
from figures.artists import Artists, Part, StyledFrame, sheet
from figures.panels.labels import axis_label, number_text, symbol
from figures.panels.shown import cell_edges, is_logarithmic
from figures.style import COLOURS, COLUMN, PAGE, canvas, large, thick

if TYPE_CHECKING:
    import xarray

MOST = 6  # largest number of panels
TICKS = 8  # a map's parameter with at most this many values has a tick at each
GEOMETRIC = 30.0  # parameters with at least this ratio may be logarithmically spaced


class Quantity(NamedTuple):
    """What a panel shows: a result, and optionally lower and upper results for a band, with words for both."""

    label: str
    middle: str
    low: str = ""
    high: str = ""
    words: tuple[str, str] = ("", "")


def varied(found: "xarray.Dataset") -> list[str]:
    """Parameters of a sweep that have more than one value."""
    return [str(name) for name, size in found["status"].sizes.items() if size > 1 and name != "seed"]


def sweep(
    found: "xarray.Dataset",
    ax: Any = None,
    *,
    quantities: Sequence["Quantity | str"] | str = (),
    lines: Part = True,
    bands: Part = True,
    image: Part = True,
    failures: Part = True,
    colour: Any = None,
    colourbar: Part | None = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a sweep over a grid, with one panel for each quantity.

    Against one parameter it shows curves; with several seeds, the mean within the band of all. Against two parameters
    it shows maps of the means over seeds. Points at which all seeds failed have no value, and points at which any
    failed are marked. Axes are logarithmic where values are positive, span three decades, and are mostly small.

    Args:
        found: a result of `sweep`.
        ax: one of the user's axes for each quantity; by default a figure of our own.
        quantities: names of results, or `Quantity`; by default all numbers.
        lines: whether curves are drawn, or their properties; `bands`, `image` and `failures` likewise.
        bands: bands over seeds.
        image: maps against two parameters.
        failures: marks of points that failed.
        colour: the colour of curves, or the colour map of maps.
        colourbar: whether maps have colour bars; by default in a figure of our own only.
        frame: `legend`, `labels`, `limits` and `title`, which may be switched off, and properties of curves or maps.

    Raises:
        ValueError: unless one or two parameters vary, or if a result is not a number at each point.
    """
    names, dims = varied(found), {str(name) for name in found["status"].dims}
    if len(names) not in (1, 2) or "point" in dims:
        must = "be over a grid, with several values of one or two parameters"
        raise ArgumentError("found", must, f"has {dict(found['status'].sizes)}")
    given = [quantities] if isinstance(quantities, str) else list(quantities)
    several = [Quantity(one, one) if isinstance(one, str) else one for one in given or _numbers(found)]
    for one in several:
        for name in filter(None, (one.middle, one.low, one.high)):
            if name not in found:
                raise ArgumentError("quantities", f"name results, {listed(_numbers(found))}", f"hold `{name}`")
            if {str(dim) for dim in found[name].dims} != dims:
                raise ArgumentError("quantities", "name numbers", f"`{name}` is an array at each point")
    count = len(several)
    title, style = frame.pop("title", ""), frame.pop("style", {})
    with sheet(ax, make=lambda: _panels(count, len(names)), **frame) as drawn:
        if len(drawn.axes) < count or not count:
            raise ArgumentError("ax", f"be one for each of {count} quantities", f"are {len(drawn.axes)}")
        if len(names) == 1:
            _curves(drawn, found, names[0], several, (lines, bands, failures), colour, style)
        else:
            _maps(drawn, found, names, several, (image, failures, colourbar), colour, style)
        means = [*dict.fromkeys(one.words[0] for one in several if one.words[0])]
        means += ["mean of the seeds"] * (found["status"].sizes.get("seed", 1) > 1)
        said = ", ".join(filter(None, [_held(found, names), *(means if len(names) == 2 else [])]))
        if title and not drawn.own:
            drawn.axes[0].set_title(title)
        elif drawn.own:
            drawn.figure.suptitle(title or said, fontsize=8.0)
    return drawn


def _numbers(found: "xarray.Dataset") -> list[str]:
    """Results that are one number at each point."""
    results = [str(name) for name in found.data_vars if name not in ("status", "cause")]
    return [name for name in results if set(found[name].dims) == set(found["status"].dims)]


def _panels(count: int, varied: int) -> tuple[Any, list[Axes]]:
    """Stacked panels of curves, or maps side by side."""
    if varied == 1:
        return canvas(COLUMN, max(0.75, 0.3 + 0.35 * count), rows=count)
    across = min(count, 3)
    down = -(-count // across)
    width = COLUMN if across == 1 else PAGE
    drawn, axes = canvas(width, (0.85 if across == 1 else 0.8 / across) * down, rows=down, columns=across)
    for ax in axes[count:]:
        ax.remove()
    return drawn, axes[:count]


def _held(found: "xarray.Dataset", names: Sequence[str]) -> str:
    """Values of the parameters that do not vary."""
    fixed = [str(name) for name in found["status"].dims if str(name) not in (*names, "seed")]
    return ", ".join(f"{symbol(name)} = {_with_unit(found, name)}" for name in fixed)


def _with_unit(found: "xarray.Dataset", name: str) -> str:
    unit = found[name].attrs.get("units", "")
    return f"{number_text(float(found[name].values[0]))}\N{NO-BREAK SPACE}{unit}".rstrip()


def _curves(
    drawn: Artists, found: "xarray.Dataset", name: str, quantities: Sequence[Quantity], parts: Sequence[Part],
    colour: Any, style: Any,
) -> None:  # fmt: skip
    """Draw curves against a parameter, one quantity in each of the axes."""
    lines, bands, failures = parts
    at, order = _sorted(found[name].values)
    failed = _failures(found, [name])[order]
    tint = colour or COLOURS["first"]
    for ax, one in zip(drawn.axes, quantities, strict=False):
        rows = lambda part: _table(found[part], [name])[order]
        middle = rows(one.middle)
        low, high = (rows(one.low), rows(one.high)) if one.low else (middle, middle)
        shown = _nan(np.nanmean, middle)
        below, above = _nan(np.nanmin, low), _nan(np.nanmax, high)
        several = middle.shape[1] > 1
        words = one.words if one.low else ("mean of the seeds" if several else "", "from the least to the largest")
        if one.low or several:
            drawn.draw("bands", bands, _band, at, below, above, colour or COLOURS["band"], words[1], ax=ax)
        drawn.draw("lines", lines, _line, at, shown, tint, words[0] or None, style, ax=ax)
        _scale(ax, "y", np.concatenate([shown, below, above]))
        unit = found[one.middle].attrs.get("units", "")
        ax.set_ylabel(axis_label(one.label, unit))
        drawn.draw("failures", failures, _crosses, at, failed, _failed_words(found, failed), ax=ax)
        _scale(ax, "x", at, geometric=True)
        last = ax is drawn.axes[len(quantities) - 1]
        if drawn.own:
            ax.tick_params(labelbottom=last)
        if last:
            ax.set_xlabel(_named(found, name))


def _line(ax: Axes, at: np.ndarray, shown: np.ndarray, tint: Any, label: str | None, style: Any) -> None:
    ax.plot(at, shown, **{"color": tint, "marker": "o", "markersize": large(2.5), "label": label, **style})


def _band(ax: Axes, at: np.ndarray, below: np.ndarray, above: np.ndarray, tint: Any, label: str) -> None:
    ax.fill_between(at, below, above, color=tint, alpha=0.4, linewidth=0.0, label=label)


def _maps(
    drawn: Artists, found: "xarray.Dataset", names: Sequence[str], quantities: Sequence[Quantity],
    parts: Sequence[Part | None], colour: Any, style: Any,
) -> None:  # fmt: skip
    """Draw maps against two parameters, the first along the horizontal axis."""
    wanted, failures, colourbar = parts
    (x, columns), (y, rows) = (_sorted(found[name].values) for name in names)
    failed = _failures(found, names)[columns][:, rows]
    logs = [_geometric(part) for part in (x, y)]
    edges = [cell_edges(part, log) for part, log in zip((x, y), logs, strict=True)]
    for ax, one in zip(drawn.axes, quantities, strict=False):
        values = _nan(np.nanmean, _table(found[one.middle], names))[columns][:, rows]
        finite = values[np.isfinite(values)]
        norm = LogNorm() if is_logarithmic(finite) else Normalize()
        how = {"norm": norm, "cmap": colour or "cividis", **style}
        made = drawn.draw("image", wanted, _shades, edges, np.ma.masked_invalid(values).T, how, ax=ax)
        bar = drawn.own if colourbar is None else colourbar
        if made is not None and bar is not False:
            drawn.bar(made, axis_label(one.label, found[one.middle].attrs.get("units", "")), bar, ax=ax)
        for word, part, log in zip("xy", (x, y), logs, strict=True):
            getattr(ax, f"set_{word}scale")("log" if log else "linear")
            if len(part) <= TICKS and not log:
                getattr(ax, f"set_{word}ticks")(part)
        places = np.argwhere(failed)
        if len(places):
            drawn.draw(
                "failures", failures, _marks, x[places[:, 0]], y[places[:, 1]], _failed_words(found, failed), ax=ax
            )
        ax.set(
            xlim=edges[0][[0, -1]],
            ylim=edges[1][[0, -1]],
            xlabel=_named(found, names[0]),
            ylabel=_named(found, names[1]),
        )


def _shades(ax: Axes, edges: Sequence[np.ndarray], values: np.ndarray, how: Any) -> Any:
    image = ax.pcolormesh(*edges, values, edgecolors="none", rasterized=False, **how)
    image.set_edgecolor("face")  # avoids seams between cells
    image.set_linewidth(0.2)
    return image


def _marks(ax: Axes, xs: np.ndarray, ys: np.ndarray, label: str) -> None:
    ax.plot(xs, ys, marker="x", markersize=large(3.5), linestyle="none", color="black", markeredgewidth=thick(0.7),
            label=label)  # fmt: skip


def _table(values: "xarray.DataArray", names: Sequence[str]) -> np.ndarray:
    """Values with the axes of these parameters first, and all seeds on one last axis."""
    fixed = {str(dim): 0 for dim in values.dims if str(dim) not in (*names, "seed")}
    kept = values.isel(fixed)
    kept = kept.transpose(*names, *(dim for dim in kept.dims if dim not in names))
    return np.asarray(kept.values, float).reshape(*(kept.sizes[name] for name in names), -1)


def _failures(found: "xarray.Dataset", names: Sequence[str]) -> np.ndarray:
    """Whether any seed failed at each point of the varied parameters."""
    return np.any(_table(found["status"] == "failed", names), axis=-1)


def _failed_words(found: "xarray.Dataset", failed: np.ndarray) -> str:
    some = " for a seed" if found["status"].sizes.get("seed", 1) > 1 else ""
    return f"failed{some} ({int(failed.sum())} of {failed.size})"


def _crosses(ax: Axes, at: np.ndarray, failed: np.ndarray, label: str) -> None:
    """Mark failed points at the lower edge of the axes."""
    if failed.any():
        bottom = ax.get_xaxis_transform()
        ax.plot(at[failed], np.full(failed.sum(), 0.03), marker="x", linestyle="none", color="black", markersize=3.5,
                transform=bottom, clip_on=False, label=label)  # fmt: skip


def _nan(reduce: Any, values: np.ndarray) -> np.ndarray:
    """Reduce values along the last axis, ignoring those that are not finite; NaN where none is left."""
    finite = np.where(np.isfinite(values), values, np.nan)
    empty = np.all(np.isnan(finite), axis=-1)
    return np.where(empty, np.nan, reduce(np.where(empty[..., None], 0.0, finite), axis=-1))


def _sorted(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values of a parameter in increasing order, and that order."""
    at = np.asarray(values, float)
    order = np.argsort(at, kind="stable")
    return at[order], order


def _named(found: "xarray.Dataset", name: str) -> str:
    return axis_label(name, found[name].attrs.get("units", ""))


def _scale(ax: Axes, axis: str, values: np.ndarray, *, geometric: bool = False) -> None:
    """Make an axis logarithmic if its values call for it."""
    finite = values[np.isfinite(values)]
    if _geometric(finite) if geometric else is_logarithmic(finite):
        getattr(ax, f"set_{axis}scale")("log")


def _geometric(values: np.ndarray) -> bool:
    """Whether increasing parameters are more evenly spaced by their ratios than by their differences."""
    if len(values) < 3 or values[0] <= 0 or values[-1] < GEOMETRIC * values[0] or not np.all(np.diff(values)):
        return False
    spread = lambda steps: steps.max() / steps.min()
    return bool(spread(np.diff(np.log(values))) < spread(np.diff(values)))
