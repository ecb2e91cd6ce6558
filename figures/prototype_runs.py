"""Runs of prototypes and of growing heads in axes: prototypes among their embeddings, and temperatures over time."""

from typing import Any, Unpack

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

from dynsim.simulation.growing import flow_of
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.trajectory import Trajectory, last_finite
from dynsim.systems.base import AbstractMap
from figures.artists import Artists, Part, StyledFrame, sheet
from figures.panels.growing import temperature_fan
from figures.panels.prototypes import prototype_paths
from figures.refined import refined, refined_phases
from figures.style import colours_of


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
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw the paths of prototypes among the embeddings at the last time; see `Trajectory.plot`."""
    flow: Any = run.system
    z = flow.embed(jax.tree.map(lambda a: a[last_finite(run)], run.ys))
    found = refined(run) if smooth else run
    ways = np.asarray(found.along(flow.prototypes))
    with sheet(ax, styled="lines", aspect=0.9, **frame) as drawn:
        data = (np.asarray(z), ways, np.asarray(found.ts))
        own = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", ["C0"])
        how = {"colours": own if colour is None else colours_of(colour)}
        for part, wanted in (("embeddings", embeddings), ("start", start), ("end", end), ("lines", lines)):
            drawn.draw(part, wanted, prototype_paths, *data, parts=(part,), **how)
    return drawn


def temperatures(
    run: HybridTrajectory,
    ax: Any = None,
    *,
    lines: Part = True,
    least: Part = True,
    smooth: bool = True,
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw the temperatures of growing heads over time, above the least one; see `HybridTrajectory.plot`."""
    found = refined_phases(run, of=lambda x: jnp.cbrt(x.cubes)) if smooth else run
    data, first = temperatures_of(found), run.phases[0]
    how: dict[str, Any] = {"least": float(flow_of(first).rules.least_temperature), "colour": colour}
    how["xlabel"] = "step" if isinstance(first.system, AbstractMap) else "time $t$"
    with sheet(ax, styled="lines", aspect=0.7, columns=4, **frame) as drawn:
        drawn.draw("lines", lines, temperature_fan, *data, parts=("lines",), **how)
        drawn.draw("least", least, temperature_fan, *data, parts=("least",), **how)
    return drawn


def temperatures_of(run: HybridTrajectory) -> tuple[np.ndarray, np.ndarray]:
    """Collect the temperatures of the heads at all times, (times, heads); NaN where a head does not exist."""
    found = []
    for phase in run.phases:
        flow = flow_of(phase)
        found.append(np.where(np.asarray(flow.active), jax.vmap(flow.temperatures)(phase.ys), np.nan))
    return np.concatenate([np.asarray(phase.ts) for phase in run.phases]), np.concatenate(found)
