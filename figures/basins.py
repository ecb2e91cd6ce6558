"""Basins of attraction in axes, with attractors, limits that do not attract, and edge states; basin fractions."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.lines import Line2D

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet
from analysis.dynamics.scaling.flat import flat_states
from dynsim.errors import ArgumentError
from figures.artists import Artists, Frame, Part, sheet
from figures.panels.basins import basin_entries, basin_image, boundary, limit_marks
from figures.panels.labels import axis_label, axis_labels, number_text, slice_label
from figures.panels.limit_marks import LimitMark
from figures.panels.shares import share_curves

IN_SLICE = 1e-3  # distance from a slice, relative to 1 + |x|, within which an attractor is drawn as lying in it
DOT = 4.5  # size in points of the dot by which a legend shows a set of small dots


def basins(
    found: Basins,
    ax: Any = None,
    *,
    edges: Sequence[LimitSet] = (),
    image: Part = True,
    boundaries: Part = True,
    attractors: Part = True,
    names: Mapping[int, str] | None = None,
    colour: Mapping[int, Any] | Sequence[Any] | None = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw basins of attraction; see `Basins.plot`."""
    if found.labels.ndim > 2 or not found.varied:
        raise ArgumentError("basins", "have one or two components that vary", f"have {found.labels.ndim}")
    known, which = found.components, list(found.varied)
    held = [k for k in range(len(found.base)) if k not in which]
    judged = [(one, True) for one in found.attractors]
    judged += [(one, None if one.stability == "undecided" else False) for one in found.others]
    judged += [(one, False) for one in edges]
    marks = [_mark(one, attracts, found) for one, attracts in judged]
    turns = {place: found.periods[k] for place, k in enumerate(which) if k in found.periods}
    colours = dict(enumerate(colour)) if isinstance(colour, Sequence) else colour
    words = basin_names(found) | dict(names or {})
    flat = found.labels.ndim == 1
    cut = slice_label([known.names[k] for k in held], found.base[held].tolist(), [known.units[k] for k in held])
    legend = frame.get("legend")
    above = {"title": cut or None, "frameon": False} | (dict(legend) if isinstance(legend, Mapping) else {})
    frame["legend"] = legend if ax is not None or legend is False else above
    with sheet(ax, aspect=0.35 if flat else 0.9, columns=2, place="above", **frame) as drawn:
        drawn.draw("image", image, basin_image, found.labels, found.axes, colours=colours)
        drawn.draw("image", image is not False, basin_entries, found.labels, names=words, colours=colours)
        drawn.draw("boundaries", boundaries, boundary, found.labels, found.axes)
        drawn.draw("attractors", attractors, limit_marks, marks, found.axes, turns)
        axis_names = [*axis_labels(found.names, [known.units[k] for k in which]), ""]
        drawn.axes[0].set(xlabel=axis_names[0], ylabel=axis_names[1])
    for handle in drawn.legend.legend_handles if drawn.legend is not None else ():
        if isinstance(handle, Line2D) and handle.get_marker() == ".":
            handle.set_markersize(DOT)
    return drawn


def basin_names(found: Basins) -> dict[int, str]:
    """Names of the basins by their attractors, with a number where two attractors have the same words."""
    words = [described(one, found) for one in found.attractors]
    return {k: f"{word} (number {k + 1})" if words.count(word) > 1 else word for k, word in enumerate(words)}


def described(limit: LimitSet, found: Basins) -> str:
    """A limit set in few words, by which a legend names its basin."""
    if limit.kind in (CURVE, SURFACE):
        return limit.kind
    if limit.period > 0 and len(flat_states(limit.states)) > 1:
        return f"{limit.kind}, period {number_text(limit.period)}"
    if not (limit.kind.endswith("equilibrium") or limit.kind == "fixed point"):
        return limit.kind
    values = flat_states(limit.states)[0][list(found.varied)] + 0.0
    small = 1e-9 * np.max(np.abs(found.extent), initial=1.0)
    return f"{limit.kind} ({', '.join(number_text(0.0 if abs(v) < small else v) for v in values)})"


def _mark(limit: LimitSet, attracts: bool | None, found: Basins) -> LimitMark:
    """Choose how to mark a limit set: as projected if it does not lie in the drawn slice."""
    flat, which = flat_states(limit.states), list(found.varied)
    gap = flat - found.base
    for k, period in found.periods.items():
        gap[:, k] -= period * np.round(gap[:, k] / period)
    gap[:, which] = 0.0
    projected = bool(np.any(np.abs(gap) > IN_SLICE * (1 + np.abs(found.base))))
    return LimitMark(flat[:, which], limit.kind, attracts, projected)


def shares(
    found: FractionCurves,
    ax: Any = None,
    *,
    lines: Part = True,
    bands: Part = True,
    names: Mapping[int, str] | None = None,
    colour: Mapping[int, Any] | Sequence[Any] | None = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw basin fractions with their intervals against a parameter; see `FractionCurves.plot`."""
    kinds = {k: f"basin {k + 1}: {one.kind}" for found_at in found.attractors for k, one in found_at.items()}
    how = {
        "names": kinds | dict(names or {}),
        "colours": dict(enumerate(colour)) if isinstance(colour, Sequence) else colour,
    }
    data = (found.parameters, found.labels, found.shares, found.low, found.high)
    with sheet(ax, place="above", columns=2, **frame) as drawn:
        drawn.draw("bands", bands, share_curves, *data, parts=("bands",), **how)
        drawn.draw("lines", lines, share_curves, *data, parts=("lines",), **how)
        x = found.parameters
        drawn.axes[0].set(
            xlabel=axis_label(found.name, found.unit),
            ylabel="share of the starts",
            xlim=(x.min(), x.max()),
            ylim=(0, 1),
        )
    return drawn
