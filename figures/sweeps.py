"""Figures of sweeps: curves against one parameter, maps against two, with failed points marked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from dynsim.errors import ArgumentError
from figures.fitted import fitted
from figures.panels.labels import axis_label, number_text, symbol
from figures.style import COLUMN, PAGE, canvas, colour, settings

if TYPE_CHECKING:
    import xarray

MOST = 6  # largest number of panels
DECADES = 3.0  # positive values that span more decades than this may get a logarithmic axis or colour bar
SMALL = 0.05  # a logarithmic axis also requires half of the values to be below this share of the largest
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


def drawing(found: "xarray.Dataset", quantities: Sequence[Quantity]) -> Figure:
    """Draw a sweep over a grid, with one panel for each quantity.

    Against one parameter it shows curves; with several seeds, the mean within the band of all. Against two parameters
    it shows maps of the means over seeds. Points at which all seeds failed have no value, and points at which any
    failed are marked. Axes are logarithmic where values are positive, span three decades, and are mostly small.

    Args:
        found: a result of `sweep`.
        quantities: one quantity for each panel.

    Raises:
        ValueError: unless one or two parameters vary, or if a result is not a number at each point.
    """
    names, dims = varied(found), {str(name) for name in found["status"].dims}
    if len(names) not in (1, 2) or "point" in dims:
        must = "be over a grid, with several values of one or two parameters"
        raise ArgumentError("found", must, f"has {dict(found['status'].sizes)}")
    for one in quantities:
        for name in filter(None, (one.middle, one.low, one.high)):
            if {str(dim) for dim in found[name].dims} != dims:
                raise ArgumentError("quantities", "name numbers", f"`{name}` is an array at each point")
    with settings():
        made = _curves(found, names[0], quantities) if len(names) == 1 else _maps(found, names, quantities)
        means = [*dict.fromkeys(one.words[0] for one in quantities if one.words[0])]
        means += ["mean of the seeds"] * (found["status"].sizes.get("seed", 1) > 1)
        made.suptitle(", ".join(filter(None, [_held(found, names), *(means if len(names) == 2 else [])])), fontsize=8.0)
        return fitted(made)


def _held(found: "xarray.Dataset", names: Sequence[str]) -> str:
    """Values of the parameters that do not vary."""
    fixed = [str(name) for name in found["status"].dims if str(name) not in (*names, "seed")]
    return ", ".join(f"{symbol(name)} = {_with_unit(found, name)}" for name in fixed)


def _with_unit(found: "xarray.Dataset", name: str) -> str:
    unit = found[name].attrs.get("units", "")
    return f"{number_text(float(found[name].values[0]))}\N{NO-BREAK SPACE}{unit}".rstrip()


def _curves(found: "xarray.Dataset", name: str, quantities: Sequence[Quantity]) -> Figure:
    """Draw curves against a parameter in stacked panels."""
    at, order = _sorted(found[name].values)
    failed = _failures(found, [name])[order]
    count = len(quantities)
    drawn, axes = canvas(COLUMN, max(0.75, 0.3 + 0.35 * count), rows=count)
    for ax, one in zip(axes, quantities, strict=True):
        rows = lambda part: _table(found[part], [name])[order]
        middle = rows(one.middle)
        low, high = (rows(one.low), rows(one.high)) if one.low else (middle, middle)
        shown = _nan(np.nanmean, middle)
        below, above = _nan(np.nanmin, low), _nan(np.nanmax, high)
        several = middle.shape[1] > 1
        words = one.words if one.low else ("mean of the seeds" if several else "", "from the least to the largest")
        if one.low or several:
            ax.fill_between(at, below, above, color=colour("band"), alpha=0.4, linewidth=0.0, label=words[1])
        ax.plot(at, shown, color=colour("first"), marker="o", markersize=2.5, label=words[0] or None)
        _scale(ax, "y", np.concatenate([shown, below, above]))
        unit = found[one.middle].attrs.get("units", "")
        ax.set_ylabel(axis_label(one.label, unit))
        _crosses(ax, at, failed, _failed_words(found, failed))
        _scale(ax, "x", at, geometric=True)
        ax.tick_params(labelbottom=ax is axes[-1])
    axes[-1].set_xlabel(_named(found, name))
    handles, labels = axes[0].get_legend_handles_labels()
    kept = [(h, text) for h, text in zip(handles, labels, strict=True) if text]
    if len(kept) > 1:
        drawn.legend(*zip(*kept, strict=True), loc="outside lower center", ncols=3)
    return drawn


def _maps(found: "xarray.Dataset", names: Sequence[str], quantities: Sequence[Quantity]) -> Figure:
    """Draw maps against two parameters side by side, with the first along the horizontal axis."""
    (x, columns), (y, rows) = (_sorted(found[name].values) for name in names)
    failed = _failures(found, names)[columns][:, rows]
    count = len(quantities)
    across = min(count, 3)
    down = -(-count // across)
    width = COLUMN if across == 1 else PAGE
    drawn, axes = canvas(width, (0.85 if across == 1 else 0.8 / across) * down, rows=down, columns=across)
    for ax, one in zip(axes, quantities, strict=False):
        values = _nan(np.nanmean, _table(found[one.middle], names))[columns][:, rows]
        finite = values[np.isfinite(values)]
        norm = LogNorm() if _logarithmic(finite) else Normalize()
        logs = [_geometric(part) for part in (x, y)]
        edges = [_edges(part, log) for part, log in zip((x, y), logs, strict=True)]
        shades = np.ma.masked_invalid(values).T
        image = ax.pcolormesh(*edges, shades, norm=norm, cmap="cividis", edgecolors="none", rasterized=False)
        image.set_edgecolor("face")  # avoids seams between cells
        image.set_linewidth(0.2)
        bar = drawn.colorbar(image, ax=ax, aspect=25, pad=0.02)
        bar.set_label(axis_label(one.label, found[one.middle].attrs.get("units", "")))
        bar.outline.set_linewidth(0.5)  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]
        for word, part, log in zip("xy", (x, y), logs, strict=True):
            getattr(ax, f"set_{word}scale")("log" if log else "linear")
            if len(part) <= TICKS and not log:
                getattr(ax, f"set_{word}ticks")(part)
        places = np.argwhere(failed)
        if len(places):
            ax.plot(x[places[:, 0]], y[places[:, 1]], marker="x", markersize=3.5, linestyle="none", color="black",
                    markeredgewidth=0.7, label=_failed_words(found, failed))  # fmt: skip
        ax.set_xlim(edges[0][0], edges[0][-1])
        ax.set_ylim(edges[1][0], edges[1][-1])
        ax.set_xlabel(_named(found, names[0]))
        ax.set_ylabel(_named(found, names[1]))
    for ax in axes[count:]:
        ax.remove()
    if failed.any():
        drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
    return drawn


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
    if _geometric(finite) if geometric else _logarithmic(finite):
        getattr(ax, f"set_{axis}scale")("log")


def _logarithmic(values: np.ndarray) -> bool:
    """Whether values are positive, span many decades, and are mostly small."""
    if not values.size or values.min() <= 0:
        return False
    wide = np.log10(values.max()) - np.log10(values.min()) > DECADES
    return bool(wide and np.median(values) < SMALL * values.max())


def _geometric(values: np.ndarray) -> bool:
    """Whether increasing parameters are more evenly spaced by their ratios than by their differences."""
    if len(values) < 3 or values[0] <= 0 or values[-1] < GEOMETRIC * values[0] or not np.all(np.diff(values)):
        return False
    spread = lambda steps: steps.max() / steps.min()
    return bool(spread(np.diff(np.log(values))) < spread(np.diff(values)))


def _edges(values: np.ndarray, log: bool) -> np.ndarray:
    """Edges of cells around increasing values, midway between them."""
    at = np.log(values) if log else values
    middles = (at[1:] + at[:-1]) / 2
    found = np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])
    return np.exp(found) if log else found
