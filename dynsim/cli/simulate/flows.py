"""`dynsim simulate SYSTEM`: simulate one trajectory or an ensemble of a flow, or iterate a map."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim.cli.building.equations import is_code, is_equations, title, unused_options
from dynsim.cli.building.flow_options import Simulate, with_defaults, with_dimension
from dynsim.cli.building.own_code import check_function
from dynsim.cli.building.papers import MODEL, SYSTEMS, build, factor, unused
from dynsim.cli.building.starts import TOKENS, has_dimension, own_dimension, start
from dynsim.cli.building.systems import found, names_of_parameters, warn_below_zero
from dynsim.cli.parsing.options import check_outputs, parse, refuse_unused, say, typed_as, warn
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import check_times
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.system import parse_system
from dynsim.cli.simulate import WITH_OWN_OPTIONS, densities
from dynsim.cli.simulate.bounds import NAME, Bounded, check_bounds, distances, first_beyond, tell_bounds, times_within
from dynsim.cli.simulate.ensembles import PARTS, many, measurements
from dynsim.cli.simulate.events import MOST as MOST_EVENTS
from dynsim.cli.simulate.events import Asked, event_table, events_of, tell_events, tell_times
from dynsim.cli.simulate.noise import check_noise, solved
from dynsim.errors import ArgumentError, IntegrationError, check_at_least
from dynsim.simulation.checks import check_start
from dynsim.simulation.hybrid import simulate_hybrid
from dynsim.simulation.hybrid_equations import HybridSystem
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.simulate import iterate, simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.named import components
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.tokens.interactions.choice import DENSE_MOST

OF_TOKENS = 2  # measurements of tokens that an ensemble keeps at each time: diameter and E
FARTHEST = 1e150  # largest entry of a state that is drawn; the square of a larger one overflows
AWAY = 10.0  # an escaping orbit is drawn up to this multiple of its median distance, so that its early part is visible
COPIES = 4  # copies of the largest arrays that exist at the same time
MOST = 8  # largest number of components of a state that is printed
STAGES = 16  # states that a Runge-Kutta solver holds at the same time
EVENTS = ("event", "events_out", "theorems")  # options of a single trajectory
WITHOUT_TRANSITIONS = (
    "event",
    "theorems",
    "members",
    "movie",
    "noise",
    "density",
)  # options that a hybrid system lacks
NOT_OF_RUN_FILES = {field.name for field in dataclasses.fields(Simulate)} - {"system", "trust"}


def main(words: Sequence[str]) -> int:
    """Simulate the system, print a summary, and write the requested run file and figure."""
    o = parse_system(Simulate, words, "simulate")
    if o.system.endswith(".npz"):
        refuse_unused(o, NOT_OF_RUN_FILES, "for a run file, whose run is repeated as it is")
        return rerun_file(Path(o.system), o.trust)
    if o.system.partition("/")[0] in WITH_OWN_OPTIONS and ":" not in o.system:
        must = "be the first word after `dynsim simulate` if it has options of its own"
        raise ArgumentError("system", must, f"`{o.system}` is not")
    if o.system in SYSTEMS and o.parameters:
        o = parse(Simulate, words, "simulate")  # raises the error about the unknown option
    if shared := names_of_parameters(o) & set(MODEL):  # such as `beta`, of an epidemic and of attention
        o = parse_system(Simulate, words, "simulate", shared)
    asked, o = o, with_dimension(o)
    check_sizes(o)
    check_outputs(o.force, out=o.out, figure=o.figure, movie=o.movie, events_out=o.events_out, parts=PARTS)
    flow, given, hybrid = named(o, asked)
    o = with_defaults(o, flow)
    if is_equations(o.system) and (without := unused_options(o.system)):
        say(f"options of the file that are not used: {without}")
    if asked.dimension is None:
        o = dataclasses.replace(o, dimension=own_dimension(o, flow) or o.dimension)
    refuse_unused(asked, unused(o, flow), f"for `{o.system}` with these options, on which it has no effect")
    if hybrid is not None:
        refuse_unused(o, WITHOUT_TRANSITIONS, "for equations with transitions `when(...)`")
    if isinstance(flow, AbstractMap):
        refuse_unused(asked, ("begin",), "for a map")
    check_times(*o.times)
    check_direction(o, flow, hybrid)
    check_noise(asked, flow, density=densities.wanted(o))
    if o.members > 1 or densities.wanted(o):
        refuse_unused(asked, ("bounds",), "for an ensemble, or where the density is kept")
    if isinstance(flow, AbstractMap):
        assert given is not None  # a map has a start, or is refused
        return steps(asked, o, flow, given)
    if told := factor(o, flow):
        say(told)
    x = start(o, flow, 0) if given is None else given
    ts = np.linspace(o.times[0], o.times[1], o.frames)
    if densities.wanted(o):
        refuse_unused(o, ("error_estimate", *EVENTS), "where the density is kept")
        tokens, starts = densities.check(o, flow), x[None]
        del x  # of a million tokens one copy less
        return densities.density_run(o, tokens, starts, ts)
    refuse_unused(o, ("tolerance",), "unless the density is kept")
    if is_code(o.system):
        other, by_names = " (`--integrator scipy` takes NumPy too)", given is None and bool(o.names)
        check_function(flow, x, traced=o.integrator != "scipy", other=other, by_names=by_names)
    components(flow, x)
    if not o.start:
        warn_below_zero(o.system, "initial", x)
    check_start("start" if o.start else "initial", flow, x)
    check_bounds(o, x)
    if hybrid is not None:
        return with_transitions(o, flow, hybrid, ts, x)
    return one(o, flow, ts, x) if o.members == 1 else many(o, flow, ts, given)


def named(o: Simulate, asked: Simulate) -> tuple[Any, jax.Array | None, HybridSystem | None]:
    """Build the system that the options name, with its initial state if the catalogue or the options give one.

    The third part is the hybrid system of which the first is the flow, if it has transitions.

    Raises:
        ValueError: if neither the options as given, `asked`, nor the system's declaration fix its dimension.
    """
    if o.system in SYSTEMS:
        of_others = ("parameters", "start", "names", "units", "map", "breaks", "longest_step")
        refuse_unused(o, of_others, f"for `{o.system}`, on which it has no effect")
        return build(o), None, None
    made = found(o, "simulate")
    if asked.dimension is None and not has_dimension(o, made.system):
        must = (
            "be the number of components of its state, unless `--start`, `--names` or a file for `--initial` gives it"
        )
        raise ArgumentError("dimension", must, f"is not given for `{o.system}`")
    declared = o.system in CATALOGUE or bool(getattr(made.system, "start", ()))
    drawn = not o.start and (not declared or o.initial != Simulate.initial or o.members > 1)
    if drawn and isinstance(made.system, AbstractFlow):
        return made.system, None, made.hybrid
    return made.system, jnp.asarray(made.begun(o.dimension), jnp.dtype(o.precision)), made.hybrid


def steps(asked: Simulate, o: Simulate, system: AbstractMap, x: jax.Array) -> int:
    """Iterate a map `end` times, print its first and last states, and write the requested files.

    `asked` has the options as they are given, and `o` with defaults in place of those that are not.
    """
    only = (
        *EVENTS,
        "members",
        "integrator",
        "max_steps",
        "rtol",
        "atol",
        "error_estimate",
        "tokens",
        "frames",
    )
    refuse_unused(asked, only, "for a map")
    check_bounds(o, x)
    check_at_least(1, end=o.times[1])
    if not o.times[1].is_integer():
        raise ArgumentError("end", "be a whole number of steps for a map", f"is {o.times[1]:g}")
    check_memory(lambda end: COPIES * FLOAT * (end + 1) * max(1, x.size), end=round(o.times[1]))
    path = iterate(system, x, round(o.times[1]))
    beyond = first_beyond(o.bounds, path)
    if beyond is not None:
        path = iterate(system, x, beyond)
        tell_bounds(o.bounds, path, f"step {beyond}")
    left = "" if bool(path.stats.succeeded) else "; the orbit escapes to infinity"
    say(f"{len(path.ts) - 1} steps, from {_shown(path.initial)} to {_shown(path.final)}{left}")
    write(o, path, escape(distances(path)))
    return 0 if bool(path.stats.succeeded) else 1


def escape(sizes: np.ndarray) -> int | None:
    """Find the first step at which an orbit has escaped beyond what can be drawn; None if it stays bounded."""
    escaped = np.flatnonzero(~(sizes < FARTHEST))  # NaN too
    return int(escaped[0]) if escaped.size else None


def drawn_steps(sizes: np.ndarray, escaped: int) -> int:
    """Count the states of an escaping orbit to draw, at least two: those before it runs away.

    It has run away once it stays further out than ten times the median distance of its first half.
    """
    near = np.flatnonzero(sizes[:escaped] <= AWAY * np.median(sizes[: (escaped + 1) // 2]))
    return max(2, int(near[-1]) + 1)


def _shown(x: Any) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in np.ravel(np.asarray(x))) + ")"


def check_sizes(o: Simulate) -> None:
    """Raise `ValueError` for a size that is too small, or too large for the memory."""
    tokens = TOKENS if o.tokens is None else o.tokens
    check_at_least(1, tokens=tokens, dimension=o.token_dimension, heads=o.heads, members=o.members)
    check_at_least(2, frames=o.frames)
    vector = o.tokens is None and o.system not in SYSTEMS

    def predicted(*, tokens: int, dimension: int, heads: int, frames: int, members: int) -> int:
        rows = 1 if vector else tokens
        pairs = 0 if vector else min(tokens, DENSE_MOST) ** 2
        state, weights = rows * dimension, heads * (dimension**2 + pairs)
        if densities.wanted(o):
            kept = frames * densities.cells(o)
        else:
            values = dimension if vector else OF_TOKENS
            kept = frames * state if members == 1 else members * (state + values * frames)
        return FLOAT * (COPIES * (kept + weights) + STAGES * state)

    check_memory(
        predicted, tokens=tokens, dimension=o.token_dimension, heads=o.heads, frames=o.frames, members=o.members
    )


def check_direction(o: Simulate, flow: Any, hybrid: HybridSystem | None) -> None:
    """Raise `ValueError` for a run backwards in time where there is none: with noise, events, or many members."""
    if isinstance(flow, AbstractMap) or o.times[1] > o.times[0]:
        return
    reasons = {
        "with noise": o.noise is not None or isinstance(flow, NoisyFlow),
        "with `--event`": bool(o.event),
        "with transitions": hybrid is not None,
        "for an ensemble": o.members > 1,
        "where the density is kept": densities.wanted(o),
    }
    where = next((words for words, holds in reasons.items() if holds), None)
    if where is not None:
        raise ArgumentError("end", f"be after the initial time, {o.times[0]:g}, {where}", f"is {o.times[1]:g}")


def one(o: Simulate, flow: AbstractFlow, ts: np.ndarray, x: jax.Array) -> int:
    """Simulate one trajectory, print its summary, and write the requested files."""
    events = _events(o, flow, x)
    if o.theorems:
        tell_theorems(flow, x)
    system, options = solved(o, flow)
    with typed_as(flow="system", y0="start"):
        path, failed = None, None
        try:
            path = simulate(system, x, ts, error_estimate=o.error_estimate, **options)
        except IntegrationError as error:
            failed = error
        within = times_within(o.bounds, path, system, x, ts, options)
        if within is not None:
            ts = within
            path = simulate(system, x, ts, error_estimate=o.error_estimate, **options)
            tell_bounds(o.bounds, path, f"t = {ts[-1]:.6g}")
        if path is None:
            assert failed is not None
            warn([str(failed)])
            return partial(o, part_before(failed.reached, system, x, ts, options))
    say(str(path.stats))
    say(f"states {tuple(path.ys.shape)}, largest defect {float(path.stats.max_defect):.2g}")
    if path.ys.ndim == 2 and path.ys.shape[1] <= MOST:
        say(f"from {_shown(path.initial)} at t = {o.times[0]:g} to {_shown(path.final)} at t = {ts[-1]:g}")
    if path.ys.ndim == 3:
        first, last = (float(measurements(x)[0]) for x in (path.initial, path.final))
        say(f"diameter {first:.6g} at t = {o.times[0]:g}, {last:.6g} at t = {ts[-1]:g}")
    if events:
        tell_events(o, flow, x, ts, events, options["integrator"])
    write(o, path)
    return 0


def with_transitions(o: Simulate, flow: AbstractFlow, hybrid: HybridSystem, ts: np.ndarray, x: jax.Array) -> int:
    """Simulate a run of a hybrid system, print its transitions, and write the requested files."""
    from dynsim.simulation.run_files import save

    _, options = solved(o, flow)
    if o.bounds is not None:
        conditions = (*hybrid.conditions, f"a component exceeds {o.bounds:g} (`--bounds`)")
        bounded: Any = Bounded(hybrid.transitions, o.bounds)
        hybrid = hybrid._replace(transitions=bounded, names=(*hybrid.names, NAME), conditions=conditions)
    run = simulate_hybrid(
        flow, x, ts, hybrid.transitions, max_transitions=MOST_EVENTS, error_estimate=o.error_estimate, **options
    )
    say(str(run))
    if o.error_estimate:
        of_states = max((float(np.max(np.asarray(path.stats.error))) for path in run.phases), default=0.0)
        of_times = max((float(np.asarray(jump.time_error)) for jump in run.jumps), default=0.0)
        say(f"estimated errors: {of_states:.2g} of the states, {of_times:.2g} of the times of transitions")
    if x.shape[0] <= MOST:
        say(f"from {_shown(run.initial)} at t = {o.times[0]:g} to {_shown(run.final)}")
    labels = [f"{name}, {word}" for name, word in zip(hybrid.names, hybrid.conditions, strict=True)]
    tell_times(labels, run.jumps, "transition")
    write_out(o.events_out, event_table(hybrid.names, run.jumps, components(flow, x)))
    reduced = dataclasses.replace(run, phases=tuple(path.reduced() for path in run.phases)) if o.reduced else run
    write_out(o.out, reduced, lambda out: save(out, run, seed=o.seed))
    if o.figure is not None:
        drawn = run.plot(reduced=True) if o.reduced else run.plot()
        drawn.save(o.figure, f"{title(o.system)}: state over time")
        say(f"figure {o.figure}")
    return 0


def tell_theorems(flow: AbstractFlow, x: jax.Array) -> None:
    """Print which theorems on consensus apply to a flow and a start; raise `ValueError` for a flow of another kind."""
    from analysis.theorems.consensus import consensus_theorems
    from dynsim.systems.tokens.flow import ProjectedValueFlow, TokenFlow
    from dynsim.systems.tokens.normalised import NormalisedTokenFlow

    if not isinstance(flow, TokenFlow | ProjectedValueFlow | NormalisedTokenFlow):
        raise ArgumentError("theorems", "be left out for other systems than flows of tokens", "is given")
    say(str(consensus_theorems(flow, x)))


def part_before(reached: float, system: AbstractFlow, x: jax.Array, ts: np.ndarray, options: Any) -> Trajectory | None:
    """Compute the part of a failed run up to the last time that was reached, at as many times; None without any.

    With noise the times stay the same, because other ones would draw another path.
    """
    if not abs(reached - ts[0]) > 0:
        return None
    times = ts if isinstance(system, NoisyFlow) else np.linspace(ts[0], reached, len(ts))
    while len(times) > 1:
        path = simulate(system, x, times, throw=False, **options)
        kept = escape(distances(path))
        if kept is None:
            return path
        times = times[:kept]  # and once more, so that the run file holds a run that can be repeated
    return None


def partial(o: Simulate, path: Trajectory | None) -> int:
    """Write the requested files of the part of a run before it failed, and return the exit status, 1."""
    if path is None:
        say(f"nothing is written, because the run ends at t = {o.times[0]:g}, where it begins")
        return 1
    if any((o.out, o.figure, o.movie)):
        say(f"files hold the part of the run up to t = {float(path.ts[-1]):.9g}")
    write(o, path, len(path.ts))
    return 1


def _events(o: Simulate, flow: AbstractFlow, x: jax.Array) -> list[Asked]:
    """Parse the events to be told; raise `ValueError` for noise, and for a state that is no vector."""
    if bool(o.event) < (o.events_out is not None):
        raise ArgumentError("events_out", "be left out without `--event`", f"is `{o.events_out}`")
    if not o.event:
        return []
    refuse_unused(o, ("noise",), "with `--event`")
    if x.ndim != 1:
        raise ArgumentError("event", "be left out for a state that is no vector", f"is {', '.join(o.event)}")
    return events_of(o.event, components(flow, x), np.asarray(flow.space.periods(x)).tolist())


def write(o: Simulate, path: Trajectory, escaped: int | None = None) -> None:
    """Write the requested run file, figure and movie; figure and movie stop before an orbit escapes."""
    from dynsim.simulation.run_files import save

    write_out(o.out, path.reduced() if o.reduced else path, lambda out: save(out, path, seed=o.seed))
    part = path
    if escaped is not None and (o.figure is not None or o.movie is not None):
        if escaped < 2:
            say(f"nothing is drawn, because the orbit exceeds {FARTHEST:g} at step {escaped}")
            return
        shown = drawn_steps(distances(path), escaped)
        if isinstance(path.system, AbstractMap):
            why = f"the orbit escapes, exceeding {FARTHEST:g} at step {escaped}"
            say(f"only the steps before step {shown} are drawn: {why}")
        elif shown < escaped:
            say(f"only the part up to t = {float(path.ts[shown - 1]):.6g} is drawn: the state grows fast after it")
        part = Trajectory(path.ts[:shown], path.ys[:shown], path.system, path.stats)
    if o.figure is not None:
        what = "diameter" if np.ndim(part.ys) == 3 else "state"
        drawn = part.plot(reduced=True) if o.reduced else part.plot()
        name = title(o.system) if is_equations(o.system) else type(part.system).__name__
        drawn.save(o.figure, f"{name}: {what} over time")
        say(f"figure {o.figure}")
    if o.movie is not None:
        from figures.trajectories import movie

        movie(o.movie, part)
        say(f"movie {o.movie}")


def rerun_file(path: Path, trust: tuple[str, ...]) -> int:
    """Repeat the run of a run file, and return 1 unless its states are reproduced bit for bit."""
    from dynsim.simulation.run_files import load, rerun

    with typed_as(path="system"):
        made = rerun(path, trust=trust)
        stored: Any = load(path, trust=trust)
    kept, again = states(stored), states(made)
    unknown = sum(int(np.sum(a != a)) for a in kept)
    if unknown:
        say(f"{path}: cannot be compared, because {unknown} entries of its states are NaN")
        return 1
    fits = [a.shape for a in kept] == [b.shape for b in again]
    same = fits and all(np.array_equal(a, b) for a, b in zip(kept, again, strict=True))
    gap = max(float(np.max(np.abs(a - b), initial=0)) for a, b in zip(kept, again, strict=True)) if fits else np.inf
    say(
        f"{path}: identical bit for bit"
        if same
        else f"{path}: differs by {gap:.3g} (other versions or another machine)"
    )
    return 0 if same else 1


def states(run: Trajectory | HybridTrajectory) -> list[np.ndarray]:
    """List the arrays of states of a run; for a hybrid system, with the times of its transitions."""
    if isinstance(run, HybridTrajectory):
        parts = [[jump.time for jump in run.jumps], [(path.ts, path.ys) for path in run.phases]]
    else:
        parts = run.ys
    return [np.asarray(leaf) for leaf in jax.tree.leaves(parts)]
