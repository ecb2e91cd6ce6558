"""Ensembles: many initial states of a flow, with an observable, both end states and statistics of each."""

import contextlib
import dataclasses
import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree, Real

from dynsim._core.host import as_array, filled, has_values, on_host
from dynsim._core.placement import carried, current, memory_explained, placed, step_numbers
from dynsim._core.printing import one_line, report
from dynsim._core.types import Key, Scalar, State, TimesLike
from dynsim._core.validation import function, integer
from dynsim._runtime.cores import cores
from dynsim._runtime.executors import as_executor, finished
from dynsim._runtime.progress import progress
from dynsim.errors import ArgumentError, Outcome
from dynsim.integrators import AbstractIntegrator, Diffrax, Event, Stats, backwards
from dynsim.integrators.base import ended_by, masked
from dynsim.integrators.events import values_at
from dynsim.integrators.fixed_step.stochastic import AbstractStochastic, chosen_for_all
from dynsim.integrators.fixed_step.symplectic import Symplectic
from dynsim.integrators.in_lanes import Ways
from dynsim.integrators.sliding import may_slide
from dynsim.integrators.time_structure import confirming
from dynsim.io.checkpoints import Checkpoints
from dynsim.io.locks import held
from dynsim.io.npz import writable_folder
from dynsim.io.parts import collected, interrupted
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import (
    OFF_SPACE,
    as_double,
    as_ordered,
    as_state,
    as_steps,
    check_events,
    check_integrator,
    check_names,
    check_noise_forwards,
    check_system,
    check_traceable,
    check_velocity,
    inspected,
    step_explained,
    times_like,
)
from dynsim.simulation.ensemble_work import Observable, Work, alike, kept_values, way, work_digest
from dynsim.simulation.simulate import solved, with_error, with_few_steps
from dynsim.simulation.sliding_members import member_that_slides, replaced, with_sliding
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.noisy import NoisyFlow

if TYPE_CHECKING:
    from figures.artists import Artists

Part = tuple[PyTree, State, Stats]  # values, final states and statistics of some members


def solve_together(work: Work, part: np.ndarray, width: int) -> Part:
    """Solve the members of a part under `vmap`; with few steps first if they may slide where the field jumps."""
    rtol, member = getattr(work.integrator, "rtol", None), part.tolist()
    if rtol is None or not may_slide(work.flow(member[0]), work.start(member[0])):
        return _together(work, part, width)
    few = with_few_steps(work.integrator, work.flow(member[0]), work.start(member[0]))
    found = _together(dataclasses.replace(work, integrator=few), part, width)
    flow, start = lambda k: work.flow(member[k]), lambda k: work.start(member[k])
    watched = functools.partial(_watched, work.observable, work.ts)
    found, others = with_sliding(found, flow, start, work.ts, rtol, watched, work.events)
    return replaced(found, others, _together(work, part[others], width)) if others.size else found


def _together(work: Work, part: np.ndarray, width: int) -> Part:
    """Solve the members of a part, with the last one repeated up to the common width."""
    known: Any = {"lanes": work.way} if isinstance(work.way, Ways) else {}
    if isinstance(work.integrator, Diffrax):
        known = {"lanes": work.way, "events": work.events}
    if len(part) == work.members == width and _increases(part):  # all, where they are
        return work.solver(part).observe(work.flows, work.y0s, work.ts, work.observable, **known)
    padded = filled(part, width)
    flows = work.flows if len(work.flows) == 1 else tuple(work.flows[k] for k in padded)
    found = work.solver(padded).observe(flows, work.start(padded), work.ts, work.observable, **known)
    return found if len(part) == width else jax.tree.map(lambda a: np.asarray(a)[: len(part)], found)


def _increases(part: np.ndarray) -> bool:
    return bool((part[1:] > part[:-1]).all())


def solve_alone(work: Work, part: np.ndarray, width: int) -> Part:
    """Solve one member by itself; if the integrator raises, only this member fails."""
    del width
    member = int(part[0])
    y0 = work.start(member)
    try:
        ys, final, stats = _alone(work, member)
    except (ArithmeticError, ValueError, RuntimeError) as error:
        warnings.warn(f"Member {work.number(member)} of the ensemble raised: {error}", RuntimeWarning, stacklevel=2)
        ys, stats = _lost(work, y0)
        final = y0
    values = masked(_watched(work.observable, work.ts, ys), work.ts, stats)
    final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y, jnp.nan), final)
    return jax.tree.map(lambda a: jnp.asarray(a)[None], (values, final, stats))


def _alone(work: Work, member: int) -> tuple[State, State, Stats]:
    """Solve one member: its states, the final state, and statistics."""
    solver, flow, y0 = work.solver(member), work.flow(member), work.start(member)
    if not work.events:
        ys, stats, _ = solved(solver, flow, y0, work.ts)
        return ys, jax.tree.map(lambda y: y[-1], ys), stats
    ys, stats, end, final, fired = solver.locate(flow, y0, work.ts, work.events)
    if (again := member_that_slides(flow, y0, work.ts, getattr(solver, "rtol", 0.0), stats, work.events)) is not None:
        return again
    stats = dataclasses.replace(stats, last_time=jnp.asarray(end, work.ts.dtype))
    return ys, final, ended_by(stats, fired[0] if fired else -1, True, end)


@eqx.filter_jit
def _watched(fn: Observable, ts: Array, ys: State) -> PyTree:
    return jax.vmap(fn)(ts, ys)


def _lost(work: Work, y0: State) -> tuple[State, Stats]:
    """States and statistics of a member that could not be integrated at all: NaN after its start."""
    ys = jax.tree.map(lambda y: jnp.full((len(work.ts), *y.shape), jnp.nan, y.dtype).at[0].set(y), y0)
    outcome, none = jnp.asarray(Outcome.NON_FINITE), jnp.asarray(0)
    zero = jnp.zeros(())
    event = jnp.asarray(-1) if work.events else None
    return ys, Stats(jnp.asarray(False), outcome, none, none, zero, work.ts[0], event=event)


def structure(work: Work) -> Any:
    """Tree structure of a part."""
    values = kept_values(work)
    return jax.tree.structure((values, work.start(0), _lost(work, work.start(0))[1]))


class Kept(NamedTuple):
    """Results of an ensemble, or their errors: values of the observable (members, times, ...) and final states."""

    values: PyTree
    final: State


class Ensemble(eqx.Module):
    """An ensemble of runs: `values` of the observable (members, times, ...), both end states, and statistics.

    Trajectories are not kept. A member that failed is NaN from its failure on, including its final state;
    `stats.succeeded` and `stats.outcome` say which members failed and why. `stats.error`, if requested, is the
    estimated error of every value and final state, as `Kept`, and NaN for members that fail at either tolerance. `flow`
    is one flow, or a tuple with one for each member. `solved` says how the members were solved: in lanes, by a kernel
    or in JAX, or why not.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> runs = ds.ensemble(ds.catalogue.Lorenz(), np.ones((4, 3)), [0.0, 1.0], lambda t, x: x[2])
        >>> print(runs)
        4 of 4 members finished.
        >>> runs.solved.startswith("in lanes")
        True
    """

    ts: Real[Array | np.ndarray, " times"]
    values: PyTree
    initial: State
    final: State
    stats: Stats
    flow: AbstractFlow | AbstractMap | tuple[AbstractFlow | AbstractMap, ...]
    integrator: AbstractIntegrator
    solved: str = eqx.field(static=True, default="")

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw medians, quantile bands and members over time into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib, or one for each quantity; without any, a figure is made.
            options: the parts `medians`, `bands`, `members` and `densities` (off by default). A part is left out by
                False, and styled by properties of matplotlib, `members={"alpha": 0.2}`. Also `colour`, `legend`,
                `labels`, `limits` and `title`, which may all be switched off; `names` and `units` of the observed
                quantities; `quantiles` of the bands.

        Returns:
            The artists of each part by name, such as `drawn.members`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe how many members finished, what stopped the others, and the estimated error."""
        if not has_values(self.values, self.stats):
            return report(self)
        outcomes, failed = np.asarray(self.stats.outcome), np.flatnonzero(~np.asarray(self.stats.succeeded))
        done = f"{len(outcomes) - len(failed)} of {len(outcomes)} members finished"
        cap = getattr(self.integrator, "max_steps", None)
        spent = lambda k: f" (max_steps={cap})" if outcomes[k] == Outcome.MAX_STEPS and cap is not None else ""
        system = self.flow[0] if isinstance(self.flow, tuple) else self.flow
        sentence = lambda k: (
            "the state is not finite" if isinstance(system, AbstractMap) else Outcome(outcomes[k]).sentence
        )
        named = "; ".join(f"member {k} failed: {sentence(k)}{spent(k)}" for k in failed[:5])
        more = f", and so on for {len(failed) - 5} more" if len(failed) > 5 else ""
        twice = ""
        if self.stats.error is not None:
            twice = f" Solutions with a tenth of the tolerance differ by at most {self.stats.max_error:.2g}."
        return (f"{done}; {named}{more}." if failed.size else f"{done}.") + twice


def ensemble(
    flow: AbstractFlow | AbstractMap | Sequence[AbstractFlow | AbstractMap],
    y0s: State,
    ts: TimesLike,
    fn: Observable,
    *,
    integrator: AbstractIntegrator | None = None,
    key: Key | None = None,
    chunk: int | None = None,
    cost: Callable[[State], Scalar] | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    shown: bool | None = None,
    error_estimate: bool = False,
    device: Any = None,
    events: Sequence[Event] = (),
) -> Ensemble:
    """Integrate a flow from many initial states, and keep `fn(t, x)` at `ts`, both end states and statistics.

    A map in JAX is iterated from many initial states; its times are numbers of steps.

    With `Diffrax`, one flow, or flows that differ only in numbers, are solved `chunk` members at a time, each member
    with its own steps. Explicit methods and `Rodas5P` solve small systems in lanes: each member also has its own clock
    and end, and on a GPU of NVIDIA a thread of its own; `solved` of the result says whether and why not. So do maps,
    and on a GPU flows with noise. With `Scipy`, or for flows of several kinds, members are solved one by one. A member
    that fails does not affect the others.

    Args:
        flow: the system of all members, or a sequence with one system for each.
        y0s: initial states, with members on the first axis of every array; float32 stays float32.
        ts: times, in the flow's time unit, shared by all members; they increase, or decrease for solutions backwards
            in time, which a flow with noise does not have. For a map they are numbers of steps.
        fn: the observable, a function of time and state in JAX.
        integrator: `Diffrax()`, the default, or `Scipy()`; a fixed-step scheme for flows with noise, see `simulate`.
        key: for flows with noise; member k equals what `simulate` returns for `jax.random.fold_in(key, k)`.
        chunk: the largest number of members solved together; on a processor all of them take as many steps as the
            slowest one. By default at most 1,920 in lanes (448 with a folder or an executor) and 32 otherwise, or fewer
            if their states exceed half a megabyte, and as many as fit on an accelerator; parts are distributed over the
            cores. Results do not depend on it.
        cost: predicts a member's number of steps, up to a factor, from its initial state; members of similar cost are
            solved together.
        folder: for checkpoints of finished members; the same call with the same folder resumes, with the same bits.
        executor: any `concurrent.futures.Executor`, on whose processes or machines the parts are solved.
        shown: whether to show a progress bar; by default on terminals only.
        error_estimate: solve all members again with a tenth of the tolerance (in the folder `finer` of `folder`), and
            store the difference of every value and final state in `stats.error`, in float64; see `simulate`.
        device: where it is solved, see `simulate`; by default small ensembles on the host's processor.
        events: each member ends at its first event, as with `simulate_until`, and without one at the last time. Then
            `stats.event` is the index of the event, or -1, `stats.last_time` its time, and `final` the state there;
            later values are NaN. A member whose event is not a number fails.

    Raises:
        ValueError: for an initial state off the space, unsorted times, a folder that is not writable, in use, or holds
            another run, a device that is not here or whose memory does not suffice, an executor that ends too early,
            and an error estimate for noise without a `path_resolution`.
        KeyboardInterrupt: on Ctrl-C, with a sentence that says which members are kept.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> flow = ds.FunctionFlow(lambda t, x: -x)
        >>> runs = ds.ensemble(flow, np.array([[1.0], [2.0]]), [0.0, 1.0], lambda t, x: x[0])
        >>> runs.values.shape
        (2, 2)
        >>> halved = ds.Event(lambda t, x: x[0] - 0.5)
        >>> runs = ds.ensemble(flow, np.array([[1.0], [2.0]]), [0.0, 1.0], lambda t, x: x[0], events=[halved])
        >>> runs.stats.event.tolist(), round(float(runs.stats.last_time[0]), 4)
        ([0, -1], 0.6931)
    """
    flows = tuple(flow) if isinstance(flow, Sequence) else (flow,)
    if not flows:
        raise ArgumentError("flow", "be a flow, or a sequence with one for each member", "is empty")
    fn = function("fn", fn, "(t, x)", 2)
    count = functools.partial(_numbers, flows[0], y0s)
    with placed(count, (flows, y0s, integrator, key), device) as (here, y0s, integrator, key), memory_explained("y0s"):
        solver = chosen_for_all(here, integrator, key)
        work = _checked(here, solver, y0s, ts, fn, events)
        values, final, stats = _solved_all(work, cost, chunk, folder, executor, shown, error_estimate)
    times = work.ts
    if isinstance(work.flow(0), backwards.Backwards):
        times, stats = 0.0 - times, backwards.forwards(stats)
    kept = flows if isinstance(flow, Sequence) else flows[0]
    how = f"{work.way!r}" if isinstance(work.way, Ways) else f"not in lanes, because {work.way}"
    return Ensemble(times, values, work.y0s, final, stats, kept, solver, how)


def _finer(work: Work) -> Work:
    """The same work for an error estimate, in float64; noise keeps its precision, and with it its path."""
    if isinstance(work.flow(0), AbstractMap):
        raise ArgumentError("error_estimate", "be left out for a map, which has no tolerance", "is given")
    finer = dataclasses.replace(work, integrator=confirming(work.integrator, work.flows, work.start(0), work.ts))
    if not any(isinstance(flow, NoisyFlow) for flow in work.flows):
        finer = dataclasses.replace(finer, y0s=as_double(work.y0s), ts=as_double(work.ts))
    return dataclasses.replace(finer, way=way(finer))


def _numbers(flow: AbstractFlow | AbstractMap, y0s: Any) -> int:
    """Count the numbers of a step of all members."""
    y0s = as_state("y0s", y0s)
    members = max((np.shape(y)[0] for y in jax.tree.leaves(y0s) if np.ndim(y)), default=1)
    one = jax.tree.map(lambda y: np.zeros(np.shape(y)[1:], y.dtype), y0s)
    step, t = (flow.image, 0) if isinstance(flow, AbstractMap) else (flow.vector_field, 0.0)
    return members * step_numbers(lambda x: step(jnp.asarray(t), x), one)


def _solved_all(
    work: Work,
    cost: Callable[[State], Scalar] | None,
    chunk: int | None,
    folder: str | Path | None,
    executor: Executor | None,
    shown: bool | None,
    error_estimate: bool,
) -> Part:
    """Solve all members, twice for an estimate of the error."""
    solver = work.integrator
    finer = _finer(work) if error_estimate else None
    together = solver.batched and work.alike and (not work.events or isinstance(solver, Diffrax))
    here = folder is None and executor is None
    parts = _parts(work, cost, chunk, here=here) if together else [np.array([k]) for k in range(work.members)]
    solve = solve_together if together else solve_alone
    values, final, stats = _run(solve, work, parts, folder, executor, shown)
    if finer is not None:
        below = None if folder is None else Path(folder) / "finer"
        again = _run(solve, finer, parts, below, executor, shown)
        stats = with_error(stats, Kept(values, final), Kept(*again[:2]))
    return values, final, stats


def _run(
    solve: Callable[[Work, np.ndarray, int], Part],
    work: Work,
    parts: list[np.ndarray],
    folder: str | Path | None,
    executor: Executor | None,
    shown: bool | None,
) -> Part:
    """Solve all members, here or on an executor; values, final states and statistics in the members' order."""
    with contextlib.ExitStack() as stack:
        checkpoints = None
        if folder is not None:
            stack.enter_context(held("folder", writable_folder("folder", Path(folder))))
            checkpoints = Checkpoints(folder, work_digest(work, parts), structure(work))
        if executor is None:
            done = _solved(solve, work, parts, checkpoints, shown)
        else:
            done = _solved_on(as_executor(executor), solve, work, parts, checkpoints, shown)
    if len(parts) == 1 and _increases(parts[0]):
        return done[0]
    back = np.argsort(np.concatenate(parts), kind="stable")
    # Joined on the host to avoid compilation; a checkpoint has no weak types.
    return on_host(lambda xp, *pieces: xp.concatenate(pieces)[back], *done)


def _checked(
    flows: tuple,
    integrator: AbstractIntegrator,
    y0s: State,
    ts: TimesLike,
    fn: Observable,
    events: Sequence[Event] = (),
) -> Work:
    """Check the arguments and project the initial states to the space; raise `ValueError` on bad input."""
    for flow in flows:
        check_system(flow)
    check_integrator(integrator)
    check_events(events)
    is_map = isinstance(flows[0], AbstractMap)
    if events and is_map:
        raise ArgumentError("events", "be left out for a map", "are given")
    if events and isinstance(integrator, AbstractStochastic | Symplectic):
        raise ArgumentError("integrator", "be able to locate events", f"is {type(integrator).__name__}")
    y0s = as_state("y0s", y0s)
    counts = {y.shape[0] if y.ndim else 0 for y in jax.tree.leaves(y0s)}
    if len(counts) != 1 or 0 in counts:
        shapes = ", ".join(str(y.shape) for y in jax.tree.leaves(y0s))
        raise ArgumentError("y0s", "have the members, at least one, on the first axis", f"has shape {shapes}")
    if len(flows) not in (1, *counts):
        raise ArgumentError("flow", f"be one flow or one for each of {counts.pop()} starts", f"holds {len(flows)}")
    if is_map:
        times = as_steps(ts)
    else:
        times = times_like(as_ordered(ts), y0s)
        for flow in flows:
            check_noise_forwards(flow, times)
        if backwards.decrease(times):
            flows, times = tuple(map(backwards.Backwards, flows)), 0.0 - times
            fn, events = backwards.InReversedTime(fn), backwards.mirrored(events)
        for flow in flows:
            flow.check_horizon(float(times[0]), float(times[-1]))
    work = Work(flows, integrator, y0s, as_array(times), fn, events=tuple(events), alike=alike(flows))
    work = dataclasses.replace(work, y0s=_starts(work))
    return dataclasses.replace(work, way=way(work))


def _starts(work: Work) -> State:
    """Project the initial states to the space; raise `ValueError` for the first one that is not finite or off it."""
    try:
        if len(work.flows) == 1:
            finite, defects, starts = _inspected_together(work.flows[0].space, work.y0s)
        else:
            seen = [inspected(flow.space, work.start(k)) for k, flow in enumerate(work.flows)]
            finite, defects, starts = jax.tree.map(lambda *parts: as_array(np.stack(parts)), *seen)
    except (TypeError, ValueError) as error:
        raise ArgumentError("y0s", "fit the space of the flow", f"does not ({str(error).splitlines()[0]})") from None
    try:
        finite, defects = np.asarray(finite), np.asarray(defects)
    except jax.errors.TracerArrayConversionError:
        must = "be known numbers within `jit`, where `jax.vmap` of `simulate` takes others"
        raise ArgumentError("y0s", must, "depends on arguments of the compiled function") from None
    bad = np.flatnonzero(~(finite & (defects < OFF_SPACE)))
    if bad.size:
        off = f"member {bad[0]} is {f'off it by {defects[bad[0]]:.3g}' if finite[bad[0]] else 'not finite'}"
        raise ArgumentError("y0s", "be finite and lie on the space of the flow", off)
    check_names(work.flow(0), work.start(0))
    kept_values(work)  # an error in the function is raised once, not for each member
    if work.events:
        jax.eval_shape(functools.partial(values_at, work.events, work.flow(0).space), work.ts[0], work.start(0))
    flow, start, begin = work.flow(0), work.start(0), np.asarray(work.ts)[0]
    if isinstance(flow, AbstractMap):
        with step_explained(flow, start):
            jax.eval_shape(flow.image, 0, start)
        return starts
    check_velocity(flow, "y0s", start, begin)
    if work.integrator.batched:
        check_traceable(flow, start, begin)
    return starts


_inspected_together = eqx.filter_jit(eqx.filter_vmap(inspected, in_axes=(None, 0)))


FEWEST, MOST = 448, 1920
"""Members in lanes together on a processor, fewer if there are cores for more parts; then they stay in its cache."""


def _parts(
    work: Work, cost: Callable[[State], Scalar] | None, chunk: int | None, *, here: bool = False
) -> list[np.ndarray]:
    """Divide the members into parts, sorted by cost and nearly equal in size, so that one program serves all.

    Parts depend on the number of cores only if they are solved `here`, and not kept in a folder.
    """
    if chunk is None:
        size = sum(y.nbytes for y in jax.tree.leaves(work.y0s)) / work.members
        lanes = isinstance(work.way or way(work), Ways)
        if current().platform == "cpu":
            most = np.clip(work.members / cores(), FEWEST, MOST) if here else FEWEST
            chunk = int(np.clip(2**19 / size, 1, most if lanes else 32))
        else:  # with the saved states of a part
            chunk = int(np.clip(2**32 / (size * len(work.ts)) if lanes else 2**28 / size, 1, work.members))
    chunk = integer("chunk", chunk, least=1)
    if cost is None:
        return np.array_split(np.arange(work.members), -(-work.members // chunk))
    costs = np.asarray(eqx.filter_vmap(function("cost", cost, "the start"))(work.y0s), float)
    if costs.shape != (work.members,) or np.isnan(costs).any():
        raise ArgumentError("cost", "return one number for a start", f"returns shape {costs.shape[1:]} or NaN")
    return np.array_split(np.argsort(costs, kind="stable"), -(-work.members // chunk))


def _solved(
    solve: Callable[[Work, np.ndarray, int], Part],
    work: Work,
    parts: list[np.ndarray],
    checkpoints: Checkpoints | None,
    shown: bool | None,
) -> list[Part]:
    """Solve all parts; those with a checkpoint are loaded instead."""
    width = max(len(part) for part in parts)
    if len(parts) == 1 and checkpoints is None:
        with progress(work.members, "ensemble", unit="members", shown=shown) as bar:
            found = jax.block_until_ready(solve(work, parts[0], width))
            bar.update(work.members)
        return [found]
    workers = cores() if solve is solve_together else 1
    done: list[Part] = []
    compiled = threading.Event()  # set when the first call has compiled and started, or failed
    with progress(work.members, "ensemble", unit="members", shown=shown) as bar, ThreadPoolExecutor(workers) as pool:
        running: dict[int, Future[Part]] = {}

        def solved(index: int) -> Part:
            try:
                found = solve(work, parts[index], width)
            finally:
                compiled.set()
            return jax.block_until_ready(found)

        def begin(index: int) -> None:
            """Start a part that has no checkpoint; the first part compiles while the others wait."""
            if index < len(parts) and not (checkpoints is not None and checkpoints.has(index)):
                if running:
                    compiled.wait()
                running[index] = pool.submit(carried(solved), index)

        try:
            for index, part in enumerate(parts):
                for ahead in range(index, index + workers):
                    if ahead not in running:
                        begin(ahead)
                if index in running:
                    done.append(running.pop(index).result())
                    if checkpoints is not None:
                        checkpoints.save(index, done[-1])
                elif checkpoints is not None:
                    done.append(checkpoints.load(index))
                bar.update(len(part))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            reached = sum(map(len, parts[: len(done)]))
            raise KeyboardInterrupt(interrupted("ensemble", "members", reached, work.members, checkpoints)) from None
    return done


def _solved_on(
    executor: Executor,
    solve: Callable[[Work, np.ndarray, int], Part],
    work: Work,
    parts: list[np.ndarray],
    checkpoints: Checkpoints | None,
    shown: bool | None,
) -> list[Part]:
    """Solve all parts on an executor; each is saved as soon as it is finished."""
    width = max(len(part) for part in parts)
    call = lambda part: (solve, (work.part(part), np.arange(len(part)), width))
    run = lambda todo, kept: finished(executor, {k: call(parts[k]) for k in todo}, kept)
    sizes = [len(part) for part in parts]
    return collected("ensemble", "members", sizes, run, checkpoints, Checkpoints.load, Checkpoints.save, shown)
