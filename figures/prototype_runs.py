"""Runs of prototypes and of growing heads in axes: prototypes among their embeddings, and temperatures over time."""

from typing import Any

import jax
import matplotlib
import numpy as np

from dynsim.simulation.trajectory import Trajectory, last_finite
from figures.artists import Artists, Part, set_properties, sheet
from figures.panels.prototypes import prototype_paths
from figures.refined import refined


def prototypes(
    run: Trajectory,
    ax: Any = None,
    *,
    embeddings: Part = True,
    start: Part = True,
    end: Part = True,
    lines: Part = True,
    smooth: bool = True,
    colour: Any = None,
    legend: Part | None = None,
    labels: bool = True,
    limits: bool = True,
    title: str = "",
    **style: Any,
) -> Artists:
    """Draw the paths of prototypes among the embeddings at the last time; see `Trajectory.plot`."""
    flow: Any = run.system
    z = flow.embed(jax.tree.map(lambda a: a[last_finite(run)], run.ys))
    found = refined(run) if smooth else run
    ways = np.asarray(found.along(flow.prototypes))
    with sheet(ax, aspect=0.9, legend=legend, labels=labels, limits=limits, title=title) as drawn:
        data = (np.asarray(z), ways, np.asarray(found.ts))
        how = {"colours": tints(colour, ways.shape[1])}
        for part, wanted in (("embeddings", embeddings), ("start", start), ("end", end), ("lines", lines)):
            drawn.draw(part, wanted, prototype_paths, *data, parts=(part,), **how)
        if style:
            set_properties("style", drawn["lines"], style)
    return drawn


def tints(colour: Any, count: int) -> list[Any]:
    """Colours of several curves: those given, one for all, or those of the style in use, in turn."""
    if colour is None:
        return matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", ["C0"])
    return list(colour) if isinstance(colour, list | tuple) and len(colour) == count else [colour]
