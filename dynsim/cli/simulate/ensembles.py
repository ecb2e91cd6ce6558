"""`dynsim simulate SYSTEM --members N`: simulate an ensemble, and summarise it by medians and quantile bands."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

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

PARTS = ".members"  # ending of the folder of finished members beside `--out`
LOW, HIGH = 0.05, 0.95  # quantiles that bound the printed and drawn band
MANY = 20  # smallest number of noisy members for which a density is drawn; fewer give a ragged estimate


def many(o: Simulate, flow: AbstractFlow, ts: np.ndarray, given: jax.Array | None) -> int:
    """Simulate an ensemble; failed members are reported, the others are kept.

    With noise all members start at the given state, otherwise at random ones.
    """
    from dynsim.simulation.run_files import save

    refuse_unused(o, ("movie", "event", "events_out", "theorems"), "for an ensemble")
    if given is not None and o.noise is None:
        must = "be left out for an ensemble without noise, whose initial states are random (`--initial`)"
        raise ArgumentError("start", must, "is given")
    begun = (start(o, flow, k) if given is None else given for k in range(o.members))
    starts = jnp.stack(list(tracked(begun, o.members, "starts")))
    known = quantities(flow, starts[0])
    system, options = solved(o, flow)
    with parts_beside(o.out, PARTS) as folder:
        members = ensemble(system, starts, ts, observed, folder=folder, error_estimate=o.error_estimate, **options)
    say(str(members))
    tell_steps(members.stats)
    succeeded = np.asarray(members.stats.succeeded)
    if succeeded.any():
        last = np.asarray(members.values)[succeeded, -1]
        tell(known, o.times[1], last) if starts.ndim == 2 else tell_diameter(o.times[1], last[:, 0])
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
    from figures.ensembles import leaving, table

    values = np.asarray(members.values)[:, :, : len(known.names)]
    drawn = eqx.tree_at(lambda one: one.values, members, values)
    finished = np.asarray(members.stats.succeeded)
    if np.isfinite(values).all(axis=2).any(axis=0).sum() < 2:
        say("no figure is drawn, because no member reaches the second output time")
        return
    shown = drawn.plot(names=known.names, units=known.units, densities=noisy and finished.sum() >= MANY)
    shown.save(file, f"{'components' if members.initial.ndim == 2 else 'diameter'} over time")
    ys = table(drawn)[1]
    left = np.any([leaving(ys[..., k], finished)[1] for k in range(ys.shape[2])], axis=0)
    if len(shown.axes) == ys.shape[2] and left.any():
        said = "leave the axes of the figure, whose limits fit most of the others"
        say(f"{int(left.sum())} of {len(values)} members {said}")
    say(f"figure {file}")
