"""Dense output: the states of a flow's or a hybrid system's run at any time between its ends."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from dynsim._core.host import filled, on_host, room_for
from dynsim._core.printing import one_line, report
from dynsim._core.types import State, Time, Times, TimesLike
from dynsim._core.validation import function, reals
from dynsim._runtime.progress import waiting
from dynsim.errors import ArgumentError, shown
from dynsim.integrators import AbstractIntegrator, Diffrax, Stats, backwards
from dynsim.integrators.base import StatesAt
from dynsim.integrators.derivatives import check_not_traced
from dynsim.integrators.sliding import may_slide, sliding_states
from dynsim.simulation.checks import as_ordered, as_times, check_integrator, shapes_explained
from dynsim.simulation.hybrid_trajectory import HybridTrajectory, Jump
from dynsim.simulation.simulate import raise_if_failed
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow


class DensePath(eqx.Module):
    """States of a flow at any time in an interval; call it with a time to get the state, on the space.

    Called with several times, in any order, it returns the states with times as first axis. With `Diffrax` it works
    under `jit`, `vmap` and `grad`, where a time outside the interval gives NaN.
    """

    ends: Times
    flow: AbstractFlow
    states: StatesAt
    stats: Stats

    __repr__ = one_line
    __str__ = report

    def __call__(self, t: Time | TimesLike) -> State:
        """State at time `t`, or states at times (times,); raise `ValueError` for a time outside the interval."""
        if isinstance(t, Tracer):
            ys = _on(self.flow.space, self.states(jnp.atleast_1d(jnp.asarray(t, float))))
            return ys if t.ndim else jax.tree.map(lambda y: y[0], ys)
        if _several(t):
            return self.states_at(_all_inside("t", t, self.ends))
        time = np.array([_inside("t", t, self.ends)])
        return on_host(lambda xp, y: y[0], self.states_at(time))

    def at(self, ts: TimesLike) -> Trajectory:
        """States at increasing or decreasing times, as a trajectory of the same flow.

        Raises:
            ValueError: unless there are at least two times, in order and within the interval.
        """
        times = as_ordered(ts)
        for t in (times[0], times[-1]):
            _inside("ts", t, self.ends)
        times = times.astype(self.ends.dtype)
        return Trajectory(jnp.asarray(times), self.states_at(times), self.flow, self.stats)

    def states_at(self, ts: np.ndarray) -> State:
        """States on the space at times, in any order, that are known to be within the interval."""
        times = np.asarray(ts if len(ts) else self.ends[:1], float)
        ys = _on(self.flow.space, self.states(filled(times, room_for(len(times), least=16))))
        return on_host(lambda xp, y: y[: len(ts)], ys)


class HybridDensePath(eqx.Module):
    """States of a hybrid system at any time: one dense path for each phase, and the transitions between them."""

    phases: tuple[DensePath, ...]
    jumps: tuple[Jump, ...]

    __repr__ = one_line
    __str__ = report

    def __call__(self, t: Time | TimesLike, *, before: bool = False) -> State:
        """State at time `t`; at a transition the state after it, or `before` it. Does not work under `jit`.

        At several times, (times,), in any order, the states have times as first axis.

        Raises:
            ValueError: for a time outside the run, and if the shape of the state differs between the times.
        """
        if _several(t):
            rows = [self(float(one), before=before) for one in _all_inside("t", t, self.ends)]
            shapes = sorted({str(jax.tree.map(np.shape, row)) for row in rows})
            if len(shapes) != 1:
                must = "hold times at which the state has one shape"
                raise ArgumentError("t", must, f"it has {' and '.join(shapes)}" if shapes else "holds no time")
            return on_host(lambda xp, *parts: xp.stack(parts), *rows)
        t = _inside("t", t, self.ends)
        here = [jump for jump in self.jumps if jump.time == t]
        if here:
            return here[0].before if before else here[-1].after
        return next(path for path in self.phases if path.ends[0] <= t <= path.ends[-1])(t)

    @property
    def ends(self) -> Times:
        """The first and the last time."""
        times = np.concatenate([path.ends for path in self.phases] + [[jump.time] for jump in self.jumps])
        return np.array([np.min(times), np.max(times)], self.phases[0].ends.dtype if self.phases else float)

    def along(self, ts: TimesLike, fn: Callable[[State], PyTree], *, before: bool = False) -> PyTree:
        """Evaluate `fn(x)` at every time, times first; its shapes must not depend on the phase.

        Raises:
            ValueError: unless there are at least two times, increasing and within the run.
        """
        function("fn", fn, "the state")
        values = [fn(self(float(t), before=before)) for t in as_times(ts)]
        return jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *values)


@overload
def dense_output(run: Trajectory, *, integrator: AbstractIntegrator | None = None) -> DensePath: ...
@overload
def dense_output(run: HybridTrajectory, *, integrator: AbstractIntegrator | None = None) -> HybridDensePath: ...
def dense_output(
    run: Trajectory | HybridTrajectory, *, integrator: AbstractIntegrator | None = None
) -> DensePath | HybridDensePath:
    """Integrate a run once more from its initial state, and return its states at any time in between.

    Args:
        run: a result of `simulate`, `simulate_until` (its `path`), `simulate_hybrid` or `crossings`.
        integrator: by default the integrator of the run, or `Diffrax()`. Between its steps the states are as accurate
            as the integrator's dense output, which also gives the saved times.

    Raises:
        ValueError: for anything but a run of a flow, or for an integrator without dense output.
        IntegrationError: if the end is not reached, with the cause and what to try.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> clock = ds.FunctionFlow(lambda t, x: jnp.ones_like(x))
        >>> path = ds.dense_output(ds.simulate(clock, [0.0], [0.0, 2.0]))
        >>> round(float(path(0.5)[0]), 4)
        0.5
    """
    if integrator is not None:
        check_integrator(integrator)
    if isinstance(run, HybridTrajectory):
        return HybridDensePath(tuple(_dense(path, integrator) for path in run.phases), run.jumps)
    if not isinstance(run, Trajectory) or not isinstance(run.system, AbstractFlow):
        raise ArgumentError("run", "be a trajectory of a flow or of a hybrid system", f"is {shown(run)}")
    return _dense(run, integrator)


def _dense(run: Trajectory, integrator: AbstractIntegrator | None) -> DensePath:
    ends = np.asarray(run.ts)[[0, -1]]
    return dense_path(run.system, run.initial, ends, integrator or run.integrator or Diffrax())  # pyright: ignore


def dense_path(flow: AbstractFlow, start: State, ends: Times, used: AbstractIntegrator) -> DensePath:
    """Integrate a flow between two times with dense output, for arguments that have been checked."""
    if type(used).dense is AbstractIntegrator.dense:
        raise ArgumentError("integrator", "have a dense output", f"is {type(used).__name__}")
    must, but = "be a run of known numbers", "`dense_output` finds room for its steps outside of JAX"
    check_not_traced("run", must, but, flow, start)
    with waiting("dense"), shapes_explained(flow, "run", start, ends):
        states, stats = _states_between(flow, start, float(ends[0]), float(ends[1]), used)
        raise_if_failed(stats, ends)
    return DensePath(ends, flow, states, stats)


def _states_between(
    flow: AbstractFlow, start: State, begin: float, end: float, used: AbstractIntegrator
) -> tuple[StatesAt, Stats]:
    """Dense output between two times, on surfaces on which the trajectory slides by Filippov's convention."""
    if end < begin:
        states, stats = _states_between(backwards.Backwards(flow), start, 0.0 - begin, 0.0 - end, used)
        return backwards.InReversedTime(states), backwards.forwards(stats)
    rtol = getattr(used, "rtol", None)
    found = sliding_states(flow, start, begin, end, rtol) if rtol is not None and may_slide(flow, start) else None
    return used.dense(flow, start, begin, end) if found is None else found


def _several(t: Any) -> bool:
    """Whether `t` means several times: a sequence of numbers, or an array with axes."""
    return (isinstance(t, Sequence) and not isinstance(t, str)) or getattr(t, "ndim", 0) > 0


def _all_inside(name: str, ts: Any, ends: Times) -> np.ndarray:
    """Times rounded like the ends of a run; raise `ValueError` unless all lie between the ends."""
    found = np.asarray(reals(name, ts)).astype(ends.dtype)
    if found.ndim != 1:
        raise ArgumentError(name, "be a time or have shape (times,)", f"has shape {found.shape}")
    for extreme in (found.min(), found.max()) if found.size else ():
        _inside(name, extreme, ends)
    return found


def _inside(name: str, t: Any, ends: Times) -> float:
    """A time rounded like the ends of a run; raise `ValueError` unless it lies between the ends."""
    try:
        found = float(np.asarray(float(t), ends.dtype))
    except (TypeError, ValueError):
        raise ArgumentError(name, "be a time", f"is {shown(t)}") from None
    begin, end = sorted((float(ends[0]), float(ends[1])))
    if not begin <= found <= end:
        raise ArgumentError(name, f"lie between the ends of the run, {begin:.6g} and {end:.6g}", f"is {found:.6g}")
    return found


@eqx.filter_jit
def _on(space: AbstractSpace, ys: State) -> State:
    """Project states, times first, to the space."""
    return jax.vmap(space.project)(ys)
