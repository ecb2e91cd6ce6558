"""Print and draw the results of `dynsim simulate growing`."""

from collections.abc import Iterator

import jax
import numpy as np

from analysis.growing.separation import separation_force
from dynsim.cli.parsing.options import say
from dynsim.cli.simulate.growing.options import Growing
from dynsim.simulation.growing import flow_of
from dynsim.simulation.hybrid_trajectory import HybridTrajectory, Jump
from dynsim.systems.growing.transitions import head_measures
from dynsim.systems.prototypes.assignments import separation

LISTED = 40  # largest number of events that are printed; of more events, the first and the last 20


def describe(o: Growing, path: HybridTrajectory) -> None:
    """Print the events in order, how the run ended, and the heads at the end."""
    lines = list(history(path))
    left_out = max(0, len(lines) - LISTED)
    for line in lines[: LISTED // 2] if left_out else lines:
        say(line)
    if left_out:
        say(f"  ... {left_out} events ...")
        for line in lines[-LISTED // 2 :]:
            say(line)
    say(str(path))
    if path.phases:
        for line in heads(o, path):
            say(line)


def history(path: HybridTrajectory) -> Iterator[str]:
    """Describe each event in a line: its time, its kind, its head, and the number of heads after it."""
    count, flows = None, {float(phase.ts[0]): flow_of(phase) for phase in path.phases}
    for jump in path.jumps:
        slots = changed(jump)
        after = flows.get(jump.time)
        text = f"t = {jump.time:<12.6g} {jump.name:<6}head {', '.join(str(slot) for slot in slots) or '?'}"
        if jump.name == "grow" and after is not None and np.isfinite(np.asarray(after.levels)[slots]).all():
            text += f"  lambda = {float(np.asarray(after.levels)[slots][0]):.6g}"
        count = count if after is None else int(np.sum(np.asarray(after.active)))
        yield text if after is None else f"{text}  ({count} head{'' if count == 1 else 's'})"


def changed(jump: Jump) -> list[int]:
    """List the slots of the heads that an event changed: prototypes added or removed, or temperatures clipped."""
    before, after = jump.before, jump.after
    if jump.name == "clip":
        return np.flatnonzero(np.asarray(before.cubes) != np.asarray(after.cubes)).tolist()
    moved = np.any(np.asarray(before.prototypes) != np.asarray(after.prototypes), axis=(1, 2))
    return np.flatnonzero(moved).tolist()


def heads(o: Growing, path: HybridTrajectory) -> Iterator[str]:
    """Tabulate the heads at the end of the run: temperature, activity, separation force and separation."""
    flow, x = flow_of(path.phases[-1]), path.phases[-1].final
    T, sigma, measures = flow.temperatures(x), flow.activity(x), head_measures(flow, x)
    forces = jax.vmap(separation_force)(x.prototypes, flow.head_inputs(x), T)
    S = jax.vmap(separation)(x.prototypes)
    name = "S" if o.prune_by == "separation" else "Gamma"
    yield f"residual: dominant value {float(flow.dominant):.6g}, threshold {o.threshold:g}"
    yield f"{'head':>4}{'lambda':>12}{'T':>12}{'activity':>12}{'F_sep':>12}{'S':>12}" + (
        f"{name:>12}" if name != "S" else ""
    )
    for slot in np.flatnonzero(np.asarray(flow.active)):
        row = [flow.levels[slot], T[slot], sigma[slot], forces[slot], S[slot]]
        row += [measures[slot]] if name != "S" else []
        yield f"{slot:>4}" + "".join(f"{float(value):>12.5g}" for value in row)
