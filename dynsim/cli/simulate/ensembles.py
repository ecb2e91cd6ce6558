"""`dynsim simulate SYSTEM --members N`: simulate an ensemble, and summarise it by medians and quantile bands."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from dynsim._core.types import Time
from dynsim._runtime.progress import tracked
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.starts import start
from dynsim.cli.parsing.options import parts_beside, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.simulate.noise import solved
from dynsim.errors import ArgumentError, Outcome
from dynsim.integrators import Stats
from dynsim.simulation.ensemble import Ensemble, ensemble
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Components, components

LOW, HIGH = 0.05, 0.95  # quantiles that bound the printed and drawn band
MANY = 20  # smallest number of noisy members for which a density is drawn; fewer give a ragged estimate


def many(o: Simulate, flow: AbstractFlow, ts: np.ndarray, given: jax.Array | None) -> int:
    """Simulate an ensemble; failed members are reported, the others are kept.

    With noise all members start at the given state, otherwise at random ones.
    """
    from dynsim.simulation.run_files import save

    refuse_unused(o, ("movie", "event", "events_out"), "for an ensemble")
    if given is not None and o.noise is None:
        must = "be left out for an ensemble without noise, whose initial states are random (`--initial`)"
        raise ArgumentError("start", must, "is given")
    begun = (start(o, flow, k) if given is None else given for k in range(o.members))
    starts = jnp.stack(list(tracked(begun, o.members, "starts")))
    known = quantities(flow, starts[0])
    system, options = solved(o, flow)
    with parts_beside(o.out, ".members") as folder:
        members = ensemble(system, starts, ts, observed, folder=folder, error_estimate=o.error_estimate, **options)
    say(str(members))
    tell_steps(members.stats)
    succeeded = np.asarray(members.stats.succeeded)
    if succeeded.any():
        last = np.asarray(members.values)[succeeded, -1]
        tell(known, o.end, last) if starts.ndim == 2 else tell_diameter(o.end, last[:, 0])
    write_out(o.out, members, lambda out: save(out, members, seed=o.seed))
    if o.figure is not None:
        draw(o.figure, known, members, noisy=o.noise is not None)
    return 0 if bool(np.all(succeeded)) else 1


def tell_steps(stats: Stats) -> None:
    """Print how many steps the members took, and advice for each kind of failure."""
    steps = np.asarray(stats.num_steps)
    low, high = int(steps.min()), int(steps.max())
    say(f"{low} steps each" if low == high else f"from {low} to {high} steps each")
    for outcome in np.unique(np.asarray(stats.outcome)):
        if outcome != Outcome.FINISHED:
            say(f"where {Outcome(outcome).sentence}: {Outcome(outcome).advice}")


def quantities(flow: AbstractFlow, x: jax.Array) -> Components:
    """Name the quantities of an ensemble with their units: the diameter of tokens, or the components of a vector.

    Raises:
        ValueError: if the names or units that the flow declares do not fit the state.
    """
    known = components(flow, x)
    return Components(("diameter",), ("",), known.time_unit) if x.ndim == 2 else known


def observed(t: Time, x: jax.Array) -> jax.Array:
    """Compute what an ensemble keeps at each time: the diameter and E of tokens, or a vector itself."""
    del t
    return measurements(x) if x.ndim == 2 else x


def measurements(x: jax.Array) -> jax.Array:
    """Compute the diameter and the misalignment E, eq. (25), of tokens (n, d), shape (2,).

    Source: CONSENSUS, eq. (25), for E.
    """
    from analysis.tokens.consensus import diameter, misalignment

    return jnp.stack([diameter(x), misalignment(x)])


def tell(known: Components, end: float, values: np.ndarray) -> None:
    """Print the median and the quantile band of each component over the members at the last time.

    Args:
        known: the components.
        end: the last time.
        values: the last states, (members, components).
    """
    from figures.trajectories import MOST

    bottom, middle, top = np.quantile(values, [LOW, 0.5, HIGH], axis=0)
    for k, name in enumerate(known.headings()[:MOST]):
        band = f"{100 * LOW:.0f} to {100 * HIGH:.0f} % from {bottom[k]:.6g} to {top[k]:.6g}"
        say(f"{name} at t = {end:g}: median {middle[k]:.6g}, {band}")
    if len(known.names) > MOST:
        say(f"and {len(known.names) - MOST} more components")


def tell_diameter(end: float, values: np.ndarray) -> None:
    """Print the median and the largest diameter of the members at the last time, (members,)."""
    say(f"diameter at t = {end:g}: median {np.median(values):.6g}, largest {np.max(values):.6g}")


def draw(file: Path, known: Components, members: Ensemble, *, noisy: bool) -> None:
    """Draw the median and the quantile band of each quantity over time; many components share one panel of medians."""
    from figures.files import write_figure
    from figures.style import settings

    values = np.asarray(members.values)[:, :, : len(known.names)]
    alive = np.isfinite(values).all(axis=2).any(axis=0)  # times at which a member has not failed
    if alive.sum() < 2:
        say("no figure is drawn, because no member reaches the second output time")
        return
    ts = np.asarray(members.ts)[alive]
    finished = np.asarray(members.stats.succeeded)
    with settings():
        drawn, left = drawing(known, ts, values[:, alive], finished, noisy=noisy)
        write_figure(drawn, file, f"{'components' if members.initial.ndim == 2 else 'diameter'} over time")
    if left:
        say(f"{left} of {len(values)} members leave the axes of the figure, whose limits fit most of the others")
    say(f"figure {file}")


def drawing(
    known: Components, ts: np.ndarray, values: np.ndarray, finished: np.ndarray, *, noisy: bool = False
) -> tuple[Figure, int]:
    """Draw the quantities of an ensemble over time, and count the members that leave the axes.

    Args:
        known: the quantities.
        ts: the times.
        values: (members, times, quantities).
        finished: whether each member reached the final time.
        noisy: whether there is noise; densities at the last time are then drawn beside the curves of many members.
    """
    from figures.fitted import fitted
    from figures.panels.attractors import many_series
    from figures.panels.curves import bands, beside
    from figures.panels.labels import axis_labels, of_many, time_label
    from figures.panels.shown import member_limits
    from figures.style import COLUMN, canvas, colour
    from figures.trajectories import MOST

    d = values.shape[2]
    if d > MOST:
        drawn, (ax,) = canvas(aspect=0.85)
        words, ylabel = of_many("medians of the components", known.names, known.units)
        many_series(ax, ts, np.nanmedian(values, axis=0), labels=words, xlabel=time_label(known.time_unit),
                    ylabel=ylabel)  # fmt: skip
        drawn.legend(loc="outside lower center", ncols=4)
        return fitted(drawn), 0
    left = np.zeros(len(values), bool)
    drawn, axes = canvas(COLUMN, max(0.75, 0.3 + 0.3 * d), rows=d)
    for k, (ax, label) in enumerate(zip(axes, axis_labels(known.names, known.units), strict=True)):
        last = k == d - 1
        xlabel = time_label(known.time_unit) if last else ""
        bands(ax, ts, values[:, :, k], ylabel=label, xlabel=xlabel, quantiles=(LOW, HIGH))
        limits = member_limits(values[:, :, k], finished)
        if limits is not None:
            ax.set_ylim(*limits)
            left |= np.any((values[:, :, k] < limits[0]) | (values[:, :, k] > limits[1]), axis=1)
        ax.tick_params(labelbottom=last)
        if noisy and finished.sum() >= MANY:
            at = f"density at\n$t$ = {ts[-1]:g} {known.time_unit}".rstrip() if last else ""
            beside(ax, values[finished, -1, k], label=at)
        if k:
            ax.legend().remove()  # the legend of the first panel holds for all
    count = int(left.sum())
    if count:
        axes[0].plot([], [], color=colour("member"), linewidth=0.5, label=f"{count} of {len(values)} leave the axes")
    axes[0].legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False
    )  # above the panel, since bands may be anywhere in it
    return fitted(drawn), count
