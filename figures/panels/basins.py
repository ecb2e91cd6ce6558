"""Draw basins of attraction on a grid, in colours that also differ as shades of grey, with the attractors."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.image import AxesImage
from matplotlib.patches import Polygon

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.limit_marks import LimitMark, draw_mark, in_window
from figures.style import NO_BASIN, basin_colour, paler, thick

SHADES = (0.62, 0.84, 0.45, 0.72, 0.93, 0.34, 0.54)  # luminance of successive basins
NAMED = {-1: NO_BASIN, -2: "#FFFFFF", -3: "#4D4D4D", -4: "#000000", -5: "#B0B0B0"}  # colours of the labels in `WORDS`
WORDS = {-1: "not settled", -2: "escaped", -3: "no attractor", -4: "undefined", -5: "undecided"}
SMOOTH = 0.15  # largest share of pixels on boundaries; with more the boundary is fractal and not outlined
MOST = 12  # largest number of basins in a legend
FAINT = 0.75  # share of white in the colours of a background
FEW = 5e-4  # a basin with a smaller share of the grid has no legend entry in a background


def shade(label: int) -> tuple[float, float, float]:
    """Colour of a label: its basin's colour, mixed with white or black to reach its luminance."""
    if label < 0:
        return matplotlib.colors.to_rgb(NAMED.get(label, NO_BASIN))
    tint = np.asarray(matplotlib.colors.to_rgb(basin_colour(label)))
    target, own = SHADES[label % len(SHADES)], float(luminance(tint))
    tint = tint + (1 - tint) * (target - own) / (1 - own) if own < target else tint * target / own
    red, green, blue = (float(part) for part in tint)
    return red, green, blue


def luminance(colour: ArrayLike) -> np.ndarray:
    """Grey value of colours, (..., 3), as printed."""
    return np.asarray(colour, float)[..., :3] @ np.array([0.299, 0.587, 0.114])


def basin_image(
    ax: Axes, labels: ArrayLike, axes: Sequence[ArrayLike], *, colours: Mapping[int, Any] | None = None
) -> AxesImage:
    """Draw basins on a grid in the plane, or on a line as a strip.

    Args:
        ax: the axes.
        labels: indices of basins, or negative labels, (first, second) or (first,).
        axes: the evenly spaced values of one or two components.
        colours: colours of labels; by default those of `shade`.

    Raises:
        ValueError: if the labels do not match the axes, or there are more than two axes.
    """
    found, values = _checked(labels, axes)
    pixels, extent = _pixels(found, values, tints(found, colours))
    image = ax.imshow(pixels, origin="lower", extent=extent, aspect="auto", interpolation="nearest", zorder=0.0)
    if found.ndim == 1:
        ax.set_yticks([])
    ax.set_xlim(extent[:2])
    ax.set_ylim(extent[2:])
    return image


def tints(labels: ArrayLike, colours: Mapping[int, Any] | None = None) -> dict[int, tuple[float, float, float]]:
    """Colours of the labels that occur, as RGB: the given ones, and those of `shade` for the others."""
    given = colours or {}
    return {int(k): matplotlib.colors.to_rgb(given.get(int(k), shade(int(k)))) for k in np.unique(np.asarray(labels))}


def boundary(ax: Axes, labels: ArrayLike, axes: Sequence[ArrayLike]) -> LineCollection | None:
    """Draw the boundaries between basins along the cells of the grid in the plane, unless they are fractal."""
    found, values = _checked(labels, axes)
    return _outline(ax, found.T, values) if found.ndim == 2 else None


def limit_marks(
    ax: Axes, marks: Sequence[LimitMark], axes: Sequence[ArrayLike], turns: Mapping[int, float] | None = None
) -> None:
    """Mark limit sets within the window of a grid.

    Args:
        ax: the axes.
        marks: attractors and other limit sets.
        axes: the evenly spaced values of one or two components.
        turns: the periods of axes that are angles, by index; marks are shifted by them into the window.
    """
    sides = [(a[0] - (a[1] - a[0]) / 2, a[-1] + (a[-1] - a[-2]) / 2) for a in (np.asarray(a, float) for a in axes)]
    for mark in marks:
        for shown in in_window(mark, sides, turns or {}):
            draw_mark(ax, shown)


def basin_entries(
    ax: Axes, labels: ArrayLike, *, names: Mapping[int, str] | None = None, colours: Mapping[int, Any] | None = None,
    least: float = 0.0,
) -> None:  # fmt: skip
    """Add entries for a legend: each colour with its name and its share of the grid.

    Args:
        ax: the axes.
        labels: as in `basin_image`.
        names: texts by label; by default numbers.
        colours: colours of labels; by default those of `shade`.
        least: the smallest share of the grid that has an entry.
    """
    found, words = np.asarray(labels, int), names or {}
    shades = {k: tint for k, tint in tints(found, colours).items() if np.mean(found == k) >= least}
    shown = sorted(shades, key=lambda k: (k < 0, abs(k)))
    rows = [
        (shades[k], "black", f"{words.get(k, WORDS.get(k, f'basin {k + 1}'))}: {np.mean(found == k):.1%}")
        for k in shown[:MOST]
    ]
    if len(shown) > MOST:
        rows.append(((1.0, 1.0, 1.0), "none", f"and {len(shown) - MOST} more"))
    for tint, edge, text in rows:
        style = {"edgecolor": edge, "linewidth": thick(0.4), "label": text}
        ax.add_patch(Polygon(np.zeros((1, 2)), facecolor=tint, **style))


def basin_background(
    ax: Axes, labels: ArrayLike, axes: Sequence[ArrayLike], *, names: Mapping[int, str] | None = None
) -> AxesImage:
    """Draw basins faintly behind a portrait of a plane, or of a line over its whole height.

    The limits of the axes do not change. Labels get legend entries with their shares of the grid.

    Args:
        ax: the axes, with their limits set.
        labels: as in `basin_image`.
        axes: as in `basin_image`.
        names: as in `basin_entries`.

    Raises:
        ValueError: if the labels do not match the axes, or there are more than two axes.
    """
    found, values = _checked(labels, axes)
    window = ax.axis()
    colours = {int(k): paler(matplotlib.colors.to_hex(shade(int(k))), FAINT) for k in np.unique(found)}
    pixels, extent = _pixels(found, values, colours)
    place = ax.transData if found.ndim == 2 else ax.get_xaxis_transform()
    image = ax.imshow(
        pixels, origin="lower", extent=extent, aspect="auto", interpolation="nearest", zorder=-1.0, transform=place
    )
    ax.axis(window)
    basin_entries(ax, found, names=names, colours=colours, least=FEW)
    return image


def _checked(labels: ArrayLike, axes: Sequence[ArrayLike]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Convert labels and axes to arrays; raise `ValueError` unless they match."""
    found, values = np.asarray(labels, int), [np.asarray(a, float) for a in axes]
    if found.shape != tuple(len(a) for a in values) or found.ndim not in (1, 2):
        must = "have one or two axes, of the lengths of `axes`"
        raise ArgumentError("labels", must, f"has shape {found.shape}")
    return found, values


def _pixels(
    labels: np.ndarray, values: list[np.ndarray], colours: Mapping[int, tuple]
) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Colours of an image, (rows, columns, 3), and its extent, half a cell beyond the outer points."""
    grid = labels.T if labels.ndim == 2 else labels[None]
    low = [a[0] - (a[1] - a[0]) / 2 for a in values] + [0.0]
    high = [a[-1] + (a[-1] - a[-2]) / 2 for a in values] + [1.0]
    pixels = np.zeros((*grid.shape, 3))
    for label, tint in colours.items():
        pixels[grid == label] = tint
    return pixels, (low[0], high[0], low[1], high[1])


def _outline(ax: Axes, grid: np.ndarray, values: list[np.ndarray]) -> LineCollection | None:
    """Draw the boundaries between basins along the cells of the grid, unless there are too many."""
    edge = np.mean(grid[1:] != grid[:-1]) + np.mean(grid[:, 1:] != grid[:, :-1])
    if not 0 < edge <= SMOOTH:
        return None
    across, up = (np.concatenate([a[:1] - (a[1] - a[0]) / 2, a + (a[1] - a[0]) / 2]) for a in values)
    rows, columns = np.nonzero(grid[:, 1:] != grid[:, :-1])
    upright = np.stack([across[[columns + 1] * 2], up[[rows, rows + 1]]], axis=-1).swapaxes(0, 1)
    rows, columns = np.nonzero(grid[1:] != grid[:-1])
    level = np.stack([across[[columns, columns + 1]], up[[rows + 1] * 2]], axis=-1).swapaxes(0, 1)
    sides = LineCollection(
        [*upright, *level], colors="#202020", linewidths=thick(0.5), zorder=1.0, capstyle="projecting"
    )
    ax.add_collection(sides, autolim=False)
    return sides
