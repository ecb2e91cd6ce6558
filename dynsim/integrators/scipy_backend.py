"""Integration by SciPy: an independent implementation at tighter tolerances, to confirm diffrax's results."""

import bisect
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.host import filled, on_host, room_for
from dynsim._core.shared_functions import shared
from dynsim._core.types import State, Times
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError, Outcome, nearest, shown
from dynsim.integrators.base import (
    AbstractIntegrator,
    Event,
    StatesAt,
    Stats,
    check_longest_step,
    least_rtol,
    on_space,
    step_limit,
)
from dynsim.integrators.derivatives import check_not_traced
from dynsim.integrators.events import (
    at_end,
    before_reset,
    check_begin,
    check_end,
    events_at,
    first_signs,
    signs,
    values,
)
from dynsim.integrators.flat_fields import FlatField, Unravel, flat_field, flat_jacobian, flattened, shortened
from dynsim.integrators.lanes.brackets import Bracket, narrowed, untouched
from dynsim.integrators.time_structure import breakpoints
from dynsim.spaces import AbstractSpace
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow


class StepOutput:
    """States within a solver's last step, which began at `y`, available before the next step is taken.

    `start(t, y, end)` creates another solver of the same kind.
    """

    def __init__(self, start: functools.partial, solver: Any, y: np.ndarray):
        self.start, self.y, self.ends = start, y, (float(solver.t_old), float(solver.t))
        self.solver, self.last = solver, solver.y
        self.known: bool | None = None
        self.nodes: np.ndarray | None = None  # states at `NODES`, (n, nodes)

    @functools.cached_property
    def dense(self) -> Callable[[np.ndarray], np.ndarray]:
        """The dense output, a polynomial."""
        return self.solver.dense_output()

    @property
    def solves(self) -> bool:
        """Whether the dense output satisfies the equation closely enough."""
        if self.known is None:
            if self.nodes is None:
                self.sampled(np.empty(0))
            confirm([self])
        return bool(self.known)

    def sampled(self, ts: np.ndarray) -> np.ndarray:
        """States from the dense output at increasing times within the step, which `confirm` has yet to confirm.

        Calls of the dense output cost more than times: it is evaluated once for both purposes.
        """
        if self.known is not None or ts.size and ts[0] == self.ends[1]:
            return self(ts)
        begin, end = self.ends
        states = self.dense(np.concatenate([begin + (end - begin) * NODES, ts]))
        self.nodes = states[:, : len(NODES)]
        return states[:, len(NODES) :].T

    def settled(self) -> "StepOutput":
        """Compute the output before the solver takes its next step."""
        _ = self.solves  # computes the dense output too
        return self

    def rough(self, ts: np.ndarray) -> np.ndarray:
        """States from the dense output, with the solver's own state at the end, which is the last of the times."""
        return np.vstack([self.dense(ts[:-1]).T, self.last])

    def __call__(self, ts: np.ndarray) -> np.ndarray:
        """States at increasing times within the step, one in each row."""
        if ts[0] == self.ends[1]:
            return np.tile(self.last, (len(ts), 1))
        states = self.sampled(ts) if self.known is None else self.dense(ts).T
        if self.solves:
            return states
        found, (t, _), y = [], self.ends, self.y
        for end in ts.tolist():
            if end > t:
                solver = self.start(t, y, end)
                while solver.status == "running":
                    solver.step()
                if solver.status == "failed":  # although the previous step went this way
                    return states
                t, y = end, solver.y
            found.append(y)
        return np.stack(found)


def confirm(outputs: Sequence[StepOutput]) -> None:
    """Find out together whether the dense outputs of steps, which were sampled, satisfy the equation."""
    ends = np.array([output.ends for output in outputs])
    tolerances = [output.start.keywords for output in outputs]
    atol, rtol = (np.array([given[name] for given in tolerances])[:, None] for name in ("atol", "rtol"))
    h, nodes = ends[:, 1] - ends[:, 0], np.stack([np.asarray(output.nodes) for output in outputs])
    ts, y, slope = ends[:, 0] + h * PLACE, nodes @ AT_PLACE[0], nodes @ AT_PLACE[1]
    velocity = [output.solver.fun(t, x) for output, t, x in zip(outputs, ts.tolist(), y, strict=True)]
    missed = np.abs(slope - h[:, None] * np.stack(velocity))
    solve = (missed <= MISS * atol + MISS * rtol * np.abs(y)).all(axis=1)
    for output, known in zip(outputs, solve.tolist(), strict=True):
        output.known = known


class PathOutput:
    """States at any time of an integration, from the outputs of its steps in order."""

    def __init__(self, t0: float, y0: np.ndarray, steps: Sequence[StepOutput]):
        self.t0, self.y0, self.steps = t0, y0, steps
        self.ends = np.array([step.ends[1] for step in steps])

    def __call__(self, ts: np.ndarray) -> np.ndarray:
        """States at times in any order, one in each row; NaN after the last step."""
        found = np.full((len(ts), self.y0.size), np.nan)
        places = np.where(ts > self.t0, np.searchsorted(self.ends, ts), -1)
        found[places < 0] = self.y0
        for k in np.unique(places[(places >= 0) & (places < len(self.steps))]):
            times, back = np.unique(ts[places == k], return_inverse=True)
            found[places == k] = self.steps[k](times)[back]
        return found


def _weights(place: float) -> np.ndarray:
    """Weights of the values at `NODES` in the interpolating polynomial and in its derivative at a place."""
    powers = np.vander(2 * NODES - 1, increasing=True)
    x, k = 2 * place - 1, np.arange(len(NODES))
    slopes = np.concatenate([[0.0], 2 * k[1:] * x ** (k[1:] - 1)])
    return np.linalg.solve(powers.T, np.stack([x**k, slopes], axis=1)).T.copy()


# relative to a step: enough nodes to determine every method's polynomial
NODES = (1 - np.cos(np.pi * np.arange(9) / 8)) / 2


PLACE = 0.3  # relative to a step, where the dense output is checked: neither a node nor a symmetric place


AT_PLACE = _weights(PLACE)


ROUNDING = 16  # rounding errors of the time up to which two jumps are one; SciPy's shortest step is ten

TOGETHER = 64  # steps whose dense output is checked together, which costs as many microseconds as that of a few alone


MISS = 300.0  # largest residual of the dense output over a step, in tolerances; its error is about a tenth of that


FILLED = 2**20  # of saved numbers; above it, padding to a common shape costs more than a compilation
IMPLICIT = ("Radau", "BDF")  # methods that accept an exact Jacobian
METHODS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")


class Scipy(AbstractIntegrator):
    """A SciPy solver applied to the compiled vector field; it does not work under `vmap` or `jit`.

    `longest_step` limits the steps, as in `Diffrax`. A field that calls NumPy, or branches on its state, cannot be
    compiled and is called directly, which is slower. Radau and BDF use the exact Jacobian of a field that can be
    differentiated, as a sparse matrix if it is large and has few entries, and SciPy's differences otherwise. A short
    field is evaluated as a Python function of numbers, whose results are those of the compiled one up to rounding, by
    all methods but LSODA.

    Saved states come from the dense output of a step. It is less accurate than the steps, by four digits where
    stability rather than accuracy limits their length. Where it does not satisfy the equation up to some hundred
    tolerances, additional steps end at the saved times. A float32 state is solved to eight times its rounding error at
    best.
    """

    method: str = eqx.field(static=True, default="DOP853")
    rtol: float = eqx.field(static=True, default=1e-12, converter=functools.partial(number, "rtol"))
    atol: float = eqx.field(static=True, default=1e-13, converter=functools.partial(number, "atol"))
    max_steps: int = eqx.field(static=True, default=1_000_000)
    longest_step: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if not isinstance(self.method, str) or self.method not in METHODS:
            but = f"is `{shown(self.method).strip(chr(39))}`{nearest(str(self.method), METHODS)}"
            raise ArgumentError("method", f"be one of {', '.join(METHODS)}", but)
        integer("max_steps", self.max_steps, least=1)
        check_longest_step(self.longest_step)

    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Solve for the states at `ts`, projected to the space, and statistics."""
        return _followed(self, flow, y0, np.asarray(ts, float), ())[:2]

    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, tuple[int, ...]]:
        """Integrate up to the first event, bracketed among the states within each step."""
        ys, stats, t, flat, fired = _followed(self, flow, y0, np.asarray(ts, float), shared(tuple(events)))
        return ys, stats, t, flow.space.project(flattened(y0)[1](flat)), fired

    def dense(self, flow: AbstractFlow, y0: State, t0: float, t1: float) -> tuple[StatesAt, Stats]:
        """Solve from `t0` to `t1` and return a function for the states at any times between, and statistics."""
        steps: list[StepOutput] = []
        ends = np.array([t0, t1], float)
        _, stats, *_ = _followed(self, flow, y0, ends, (), steps)
        flat, unravel = flattened(y0)
        return _FlatOutput(PathOutput(t0, flat, steps), unravel), stats


def _followed(
    integrator: Scipy,
    flow: AbstractFlow,
    y0: State,
    ts: np.ndarray,
    events: tuple[Event, ...],
    kept: list[StepOutput] | None = None,
) -> tuple[State, Stats, float, np.ndarray, tuple[int, ...]]:
    """Solve up to the last time or the first event: states and statistics, then time, flat state and events there."""
    but = f"is {type(integrator).__name__}, which runs outside of JAX"
    check_not_traced("integrator", "be `Diffrax()`", but, flow, y0)
    flat, unravel = flattened(y0)
    field = flat_field(flow, unravel, float(ts[0]), flat)
    saved = np.full((len(ts), flat.size), np.nan)
    saved[0] = flat
    implicit = integrator.method in IMPLICIT
    jacobian = flat_jacobian(flow, unravel, field, float(ts[0]), flat) if implicit else None
    # SciPy's own work is small, and calls of a compiled field are most of the time; but other rounding errors of a
    # stiff field may keep LSODA at its method for fields that are not stiff
    if integrator.method != "LSODA":
        field, jacobian = shortened(flow, unravel, field, jacobian)
    walk = _Walk(integrator, flow, field, unravel, events, jacobian)
    t, y, fired, outcome, steps, begin = ts[0], saved[0], (), Outcome.FINISHED, 0, 1
    unconfirmed: list[tuple[StepOutput, int, int]] = []
    times = ts.tolist()
    with np.errstate(all="ignore"):
        for piece in walk.pieces(ts, saved[0]):
            steps += 1
            if piece.states is None:
                outcome = piece.outcome
                break
            end = bisect.bisect_right(times, piece.t1)
            if end > begin:
                saved[begin:end] = piece.states.sampled(ts[begin:end])
                if piece.states.known is None:
                    unconfirmed.append((piece.states, begin, end))
                begin = end
            if len(unconfirmed) == TOGETHER:
                _confirmed(unconfirmed, ts, saved)
            if kept is not None:
                kept.append(piece.states.settled())
            t, y, fired = piece.t1, piece.y1, piece.events
            if fired:
                break
        _confirmed(unconfirmed, ts, saved)
    ys, defect = _finish(flow.space, unravel, saved)
    numbers = outcome is Outcome.FINISHED, int(outcome), steps, 0, np.asarray(t, defect.dtype)
    succeeded, why, taken, rejected, last = jax.device_put([np.asarray(number) for number in numbers])
    stats = Stats(succeeded, why, taken, rejected, defect, last)
    return ys, stats, float(t), y, fired


def _confirmed(outputs: list[tuple[StepOutput, int, int]], ts: np.ndarray, saved: np.ndarray) -> None:
    """Confirm the dense outputs of steps, solve again to the saved times of those that fail, and empty the list."""
    if sampled := [output for output, *_ in outputs if output.known is None and output.nodes is not None]:
        confirm(sampled)
    for output, begin, end in outputs:
        if output.known is False:
            saved[begin:end] = output(ts[begin:end])
    outputs.clear()


class _FlatOutput(NamedTuple):
    """States of an integration at times in any order; it uses NumPy and does not work under `jit`."""

    output: PathOutput
    unravel: Unravel

    def __call__(self, ts: Times) -> State:
        return _unravelled(self.unravel, self.output(np.asarray(ts, float)))


class _Piece(NamedTuple):
    """One accepted step: its ends, its states in between, and the events at its end; or how the integration failed."""

    t0: float
    t1: float
    y1: np.ndarray
    states: StepOutput | None
    events: tuple[int, ...]
    outcome: Outcome


class _Walk(NamedTuple):
    """The solver, step by step, restarted at every breakpoint."""

    integrator: Scipy
    flow: AbstractFlow
    field: FlatField
    unravel: Unravel
    events: tuple[Event, ...]
    jacobian: FlatField | None = None

    def pieces(self, ts: np.ndarray, y: np.ndarray) -> Iterator[_Piece]:
        """Yield the steps from `ts[0]` to `ts[-1]`, or up to an event or a failure."""
        import scipy.integrate as si

        jumps = breakpoints(self.flow, self.unravel.on_host(y), float(ts[0]), float(ts[-1]))
        sides = self.begin(ts[0], y)
        left = self.integrator.max_steps
        for a, b, first, last in smooth_spans(float(ts[0]), float(ts[-1]), jumps):
            if not np.all(np.isfinite(self.field(a, y))):
                yield _Piece(a, a, y, None, (), Outcome.NON_FINITE)
                return
            field = self.field
            if (first, last) != (a, b):
                field = lambda t, y, first=first, last=last: self.field(min(max(t, first), last), y)
            start = functools.partial(
                _started, getattr(si, self.integrator.method), field, max_step=step_limit(self.integrator, self.flow),
                **self.tolerances(y), **self.differentiated(first, last),
            )  # fmt: skip
            solver = start(a, y, b)
            while solver.status == "running":
                before = solver.y
                overflowed = _overflows(solver)
                left -= 1
                outcome = Outcome.NON_FINITE if overflowed else self.outcome(solver, left)
                if outcome is not Outcome.FINISHED:
                    yield _Piece(solver.t, solver.t, solver.y, None, (), outcome)
                    return
                piece, sides = self.look(solver, StepOutput(start, solver, before), sides, ts[-1])
                yield piece
                if piece.events:
                    return
            y = solver.y

    def differentiated(self, first: float, last: float) -> dict[str, FlatField]:
        """The Jacobian between two times, as a keyword for methods that accept one."""
        jacobian = self.jacobian
        return {} if jacobian is None else {"jac": lambda t, y: jacobian(min(max(t, first), last), y)}

    def tolerances(self, y: np.ndarray) -> dict[str, float]:
        """Tolerances; for a float32 field at least its rounding error, which shorter steps cannot reduce."""
        least = least_rtol(self.unravel.on_host(y))
        size = float(np.max(np.abs(y), initial=0.0))
        return {"rtol": max(self.integrator.rtol, least), "atol": max(self.integrator.atol, least * size)}

    def outcome(self, solver: Any, left: int) -> Outcome:
        """Why the solver cannot go on; `FINISHED` if it can."""
        if not math.isfinite(solver.y.dot(solver.y)) and not np.all(np.isfinite(solver.y)):
            return Outcome.NON_FINITE
        if solver.status == "failed":
            ahead = self.field(solver.t + 1e-9 * max(1.0, abs(solver.t)), solver.y)
            return Outcome.STEP_UNDERFLOW if np.all(np.isfinite(ahead)) else Outcome.NON_FINITE
        return Outcome.MAX_STEPS if left <= 0 and solver.status == "running" else Outcome.FINISHED

    def begin(self, t: float, y: np.ndarray) -> Any:
        """Signs of the events at the start, and when they show; raise `ValueError` unless the events are finite."""
        if not self.events:
            return ()
        start = self.unravel(y)
        before, _ = flattened(before_reset(self.events, start))
        velocity = self.unravel(self.field(t, y))
        earlier = velocity if np.array_equal(before, y) else self.unravel(self.field(t, before))
        found = _first_signs(self.events, self.flow.space, jnp.asarray(t), start, velocity, earlier)
        values, sides, quiet = jax.tree.map(np.asarray, found)
        check_begin(values)
        return sides, quiet

    def signs(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signs of the events at a flat state, up to rounding, and their rates of change."""
        state, velocity = self.unravel(y), self.unravel(self.field(t, y))
        return jax.tree.map(np.asarray, _signs(self.events, self.flow.space, jnp.asarray(t), state, velocity))

    def look(self, solver: Any, output: StepOutput, sides: Any, end: float) -> tuple[_Piece, Any]:
        """The last step, cut at its first event, and the events' signs at its end, with the times when they show."""
        whole = _Piece(solver.t_old, solver.t, solver.y, output, (), Outcome.FINISHED)
        if not self.events:
            return whole, sides
        step = untouched(np.float64(solver.t_old), np.float64(solver.t), *sides)
        found = self.narrowed(step, output.rough)
        if found.event >= 0 and not output.solves:
            found = self.narrowed(step, output)
        if found.event < 0 and solver.t == end:
            found = at_end(self.events, found, *self.signs(solver.t, solver.y))
        if found.event < 0:
            return whole, (found.sides, found.quiet)
        while found.splits:
            found = self.narrowed(found, output)
        check_end(found)
        t = float(found.end)
        y = output(np.array([t]))[0]
        velocity = self.unravel(self.field(t, y))
        fired = events_at(self.events, self.flow.space, found, self.unravel(y), velocity)
        return _Piece(solver.t_old, t, y, output, fired, Outcome.FINISHED), sides

    def narrowed(self, bracket: Bracket, states: Callable[[np.ndarray], np.ndarray]) -> Bracket:
        """Narrow a bracket to the part that contains the first event."""
        ts = bracket.samples(self.events)
        found = _values(self.events, self.flow.space, self.unravel, ts, states(ts))
        return narrowed(self.events, bracket, ts, np.asarray(found))


def smooth_spans(t0: float, t1: float, jumps: np.ndarray) -> list[tuple[float, float, float, float]]:
    """Spans between jumps of the field: begin and end, and the first and last time at which it is evaluated.

    The field may jump at a breakpoint or at the next float. SciPy takes no step between breakpoints that differ by
    rounding, such as those before and after a time at which a sign is zero: they are one, or that of an end.
    """
    if t0 == t1:
        return []
    times = np.concatenate([[t0], jumps, [t1]])
    apart = np.diff(times) > ROUNDING * np.spacing(np.maximum(abs(times[:-1]), abs(times[1:])))
    groups = np.split(times, 1 + np.flatnonzero(apart)) if np.any(apart) else [times[:-1], times[-1:]]
    begins, ends = [t0, *(group[-1] for group in groups[1:-1])], [*(group[-1] for group in groups[1:-1]), t1]
    first = [group[-1] if group[-1] == t0 else np.nextafter(group[-1], np.inf) for group in groups[:-1]]
    last = [group[0] if group[0] == t1 else np.nextafter(group[0], -np.inf) for group in groups[1:]]
    return list(zip(begins, ends, first, last, strict=True))


def _started(method: Any, field: FlatField, t: float, y: np.ndarray, end: float, **options: Any) -> Any:
    """A solver of SciPy that calls the field without SciPy's conversions, since its results are arrays of float64."""
    solver = method(field, t, y, end, **options)
    solver.fun = field
    return solver


def _overflows(solver: Any) -> bool:
    """Take a step; True if SciPy's linear algebra refused a Jacobian that is not finite."""
    try:
        if type(solver).__name__ != "LSODA":
            solver.step()
        else:
            with warnings.catch_warnings():  # its failure is reported as every other one
                warnings.simplefilter("ignore")
                solver.step()
    except ValueError:  # from `lu_factor`; the field has been traced already and raises nothing more
        return True
    return False


_signs = eqx.filter_jit(signs)
_first_signs = eqx.filter_jit(first_signs)


@eqx.filter_jit
def _values(events, space, unravel, ts, ys):
    """Values of the events at flat states, times first."""
    return values(events, space, ts, jax.vmap(unravel)(ys))


def _finish(space: AbstractSpace, unravel: Unravel, saved: np.ndarray) -> tuple[State, Array]:
    """Project the saved states to the space, with the largest defect before, padded to 16, 32, ... times.

    The last state is repeated up to such a number, so that few shapes are compiled, unless more than `FILLED` numbers
    are saved. In a flat space nothing is compiled.
    """
    if isinstance(space, Flat):
        return jax.device_put((unravel.on_host(saved), np.zeros((), unravel.dtypes[0])))
    count = len(saved)
    full = room_for(count, least=16) if saved.size <= FILLED else count
    ys, defect = _on_space(space, unravel, filled(saved, full))
    return on_host(lambda xp, y: y[:count], ys), defect


@eqx.filter_jit
def _on_space(space: AbstractSpace, unravel: Unravel, saved: np.ndarray | Array) -> tuple[State, Array]:
    return on_space(space, jax.vmap(unravel)(saved))


@eqx.filter_jit
def _unravelled(unravel: Unravel, flat: np.ndarray | Array) -> State:
    """Convert flat states, times first, to states."""
    return jax.vmap(unravel)(flat)
