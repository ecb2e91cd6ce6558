"""Basins of attraction with their attractors, limits that do not attract, and edge states."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.scaling.flat import flat_states
from figures.fitted import fitted
from figures.panels.basins import basin_image
from figures.panels.labels import axis_labels, slice_label
from figures.panels.limit_marks import Mark
from figures.panels.shares import share_curves
from figures.style import canvas, settings

IN_SLICE = 1e-3  # distance from a slice, relative to 1 + |x|, within which an attractor is drawn as lying in it


def drawing(found: Basins, edges: Sequence[LimitSet] = ()) -> Figure:
    """Draw basins with attractors and edge states; the title of a slice gives the values of the other components."""
    known, which = found.components, list(found.varied)
    held = [k for k in range(len(found.base)) if k not in which]
    judged = [(one, True) for one in found.attractors]
    judged += [(one, None if one.stability == "undecided" else False) for one in found.others]
    judged += [(one, False) for one in edges]
    marks = [_mark(one, attracts, found) for one, attracts in judged]
    with settings():
        figure, (ax,) = canvas(aspect=0.9 if found.labels.ndim == 2 else 0.35)
        names = axis_labels(found.names, [known.units[k] for k in which])
        basin_image(
            ax, found.labels, found.axes, marks=marks, axis_names=[*names, ""],
            turns={place: found.periods[k] for place, k in enumerate(which) if k in found.periods},
            title=slice_label(
                [known.names[k] for k in held], found.base[held].tolist(), [known.units[k] for k in held]
            ),
        )  # fmt: skip
        return fitted(figure)


def _mark(limit: LimitSet, attracts: bool | None, found: Basins) -> Mark:
    """Choose how to mark a limit set: as projected if it does not lie in the drawn slice."""
    flat, which = flat_states(limit.states), list(found.varied)
    gap = flat - found.base
    for k, period in found.periods.items():
        gap[:, k] -= period * np.round(gap[:, k] / period)
    gap[:, which] = 0.0
    projected = bool(np.any(np.abs(gap) > IN_SLICE * (1 + np.abs(found.base))))
    return Mark(flat[:, which], limit.kind, attracts, projected)


def shares(found: FractionCurves, label: str) -> Figure:
    """Draw basin fractions with their intervals against a parameter, which `label` names."""
    with settings():
        drawn, (ax,) = canvas()
        share_curves(ax, found.parameters, found.labels, found.shares, found.low, found.high, xlabel=label)
        return fitted(drawn)
