"""Checks of the arguments of `simulate`, `simulate_until` and `ensemble`; each error is one sentence."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.host import as_array, has_values
from dynsim._core.types import State, TimesLike
from dynsim._core.user_code import untraceable
from dynsim._core.validation import LONGEST, reals
from dynsim.errors import ArgumentError, reason, shown
from dynsim.integrators import AbstractIntegrator, Event
from dynsim.integrators.base import velocity_like
from dynsim.spaces import AbstractSpace
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.named import components
from dynsim.systems.noisy import NoisyFlow, without_noise

OFF_SPACE = 1e-6  # largest defect of a start that counts as rounding error, also in float32


def check_flow(flow: Any) -> None:
    """Raise `ValueError` unless `flow` is a flow."""
    if isinstance(flow, AbstractMap):
        raise ArgumentError("flow", "be a flow (`iterate` applies maps)", f"is the map {type(flow).__name__}")
    if isinstance(flow, type):
        raise ArgumentError("flow", "be a flow", f"is the class {flow.__name__} itself")
    if not isinstance(flow, AbstractFlow):
        advice = ", for a function of time and state `FunctionFlow(function, space)`" if callable(flow) else ""
        raise ArgumentError("flow", f"be a flow{advice}", f"is a {type(flow).__name__}")


def check_system(flow: Any) -> None:
    """Raise `ValueError` unless `flow` is a flow, or a map in JAX."""
    if not isinstance(flow, AbstractMap):
        check_flow(flow)
    elif flow.on_host:
        must = "be a flow or a map in JAX (`iterate` applies one from one start)"
        raise ArgumentError("flow", must, f"is {type(flow).__name__}, which runs on the host")


def check_integrator(integrator: Any) -> None:
    """Raise `ValueError` unless `integrator` is an integrator, rather than its name or class."""
    if not isinstance(integrator, AbstractIntegrator):
        must = "be an integrator such as `Diffrax()` or `Scipy()`"
        raise ArgumentError("integrator", must, f"is {shown(integrator)}")


def check_events(events: Any) -> None:
    """Raise `ValueError` unless `events` is a sequence of events."""
    if not isinstance(events, Sequence) or not all(isinstance(event, Event) for event in events):
        raise ArgumentError("events", "be a sequence of `Event` objects", "is or contains something else")


def as_state(name: str, y: Any) -> State:
    """Convert a state to floating-point arrays; named tuples stay named tuples.

    Raises:
        ValueError: if it contains anything but real numbers; the argument is named.
    """
    if isinstance(y, dict):
        raise ArgumentError(name, "be an array or a named tuple of arrays", "is a dict")
    if isinstance(y, tuple) and hasattr(y, "_fields"):
        fields = y._fields  # pyright: ignore[reportAttributeAccessIssue]
        return type(y)(*(as_state(f"{name}.{field}", part) for field, part in zip(fields, y, strict=True)))
    found = as_array(reals(name, y))
    return found if jnp.issubdtype(found.dtype, jnp.inexact) else found.astype(float)


def as_times(ts: TimesLike) -> np.ndarray:
    """Convert times to an array; raise `ValueError` unless they are finite, strictly increasing, and at least two."""
    times = _finite_times(ts)
    if not np.all(np.diff(times) > 0):
        where = int(np.argmax(np.diff(times) <= 0))
        raise ArgumentError("ts", "increase", f"goes from {times[where]:.6g} to {times[where + 1]:.6g}")
    return times


def as_steps(ts: TimesLike) -> np.ndarray:
    """Convert numbers of steps to whole numbers; raise `ValueError` unless they are whole, and increase from 0 on."""
    times = as_times(ts)
    if times[0] < 0 or np.any(times != np.rint(times)) or times[-1] > LONGEST:
        raise ArgumentError("ts", "be numbers of steps of a map, whole and not negative", f"is {shown(ts)}")
    return times.astype(int)


def check_noise_forwards(flow: AbstractFlow, times: np.ndarray) -> None:
    """Raise `ValueError` for a flow with noise whose times decrease."""
    if isinstance(flow, NoisyFlow) and times[-1] < times[0]:
        raise ArgumentError("ts", "increase for a flow with noise", f"goes from {times[0]:.6g} to {times[-1]:.6g}")


def as_ordered(ts: TimesLike) -> np.ndarray:
    """Convert times to an array; raise `ValueError` unless they all increase or all decrease, and are at least two."""
    times = _finite_times(ts)
    steps = np.diff(times) if times[-1] > times[0] else -np.diff(times)
    if not np.all(steps > 0):
        where = int(np.argmax(steps <= 0))
        must = "increase" if times[-1] > times[0] else "increase, or decrease for a run backwards in time"
        raise ArgumentError("ts", must, f"goes from {times[where]:.6g} to {times[where + 1]:.6g}")
    return times


def _finite_times(ts: TimesLike) -> np.ndarray:
    try:
        times = np.asarray(ts, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError("ts", "be an array of numbers", f"is not ({reason(error)})") from None
    if times.ndim != 1 or times.size < 2:
        raise ArgumentError("ts", "hold at least two times", f"has shape {times.shape}")
    if not np.all(np.isfinite(times)):
        raise ArgumentError("ts", "be finite", "has an entry that is not")
    return times


def times_like(ts: np.ndarray, y0: State) -> np.ndarray:
    """Round times to the precision of a state; raise `ValueError` if some of them become equal."""
    dtype = jax.tree.leaves(y0)[0].dtype
    times = np.asarray(ts, dtype)
    if not np.all(np.diff(times) != 0):
        where = int(np.argmax(np.diff(times) == 0))
        verb = "increase" if ts[-1] > ts[0] else "decrease"
        must = f"{verb} by more than the rounding of times in {dtype.name}, the precision of the state"
        raise ArgumentError("ts", must, f"goes from {ts[where]:.9g} to {ts[where + 1]:.9g}")
    return times


def as_double(state: State) -> State:
    """Convert a state, or any tree of floating-point arrays, to float64."""
    return jax.tree.map(lambda leaf: leaf.astype(float), state)


def double_state(name: str, y: Any) -> State:
    """Convert a state as `as_state` does, to float64, in which searches and Newton's method compute."""
    return as_double(as_state(name, y))


def check_start(name: str, flow: AbstractFlow | AbstractMap, y0: State) -> State:
    """Project a state to the flow's space; raise `ValueError` unless it is finite and on the space up to rounding."""
    y0 = as_state(name, y0)
    try:
        finite, defect, start = inspected(flow.space, y0)
    except ArgumentError as error:
        raise ArgumentError(name, error.must, error.but) from None
    except (TypeError, ValueError) as error:
        raise ArgumentError(name, "fit the space of the flow", f"does not ({reason(error)})") from None
    if not bool(finite):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    if not float(defect) < OFF_SPACE:
        space = type(flow.space).__name__
        must = f"lie on the space, {space} (its `project` takes any non-zero point there)"
        raise ArgumentError(name, must, f"is off it by {float(defect):.3g}")
    check_names(flow, start)
    return start


def check_finite(name: str, state: State) -> None:
    """Raise `ValueError` unless a state is finite; a traced state is not checked."""
    leaves = [leaf for leaf in jax.tree.leaves(state) if not isinstance(leaf, Tracer)]
    if not all(np.all(np.isfinite(leaf)) for leaf in leaves):
        raise ArgumentError(name, "be finite", "has an entry that is not")


def check_names(system: AbstractFlow | AbstractMap, state: State) -> None:
    """Raise `ValueError` unless the names and units that a user gave to a function fit the state."""
    if isinstance(without_noise(system) if isinstance(system, AbstractFlow) else system, FunctionFlow | FunctionMap):
        components(system, state)


@contextlib.contextmanager
def shapes_explained(flow: AbstractFlow, name: str, y0: State, ts: Any) -> Iterator[None]:
    """Explain errors inside a flow that come from a start of the wrong shape or a NumPy function."""
    try:
        yield
    except jax.errors.JAXTypeError:  # the traced code calls NumPy, `float` or `if` on its state
        check_traceable(flow, y0, ts[0])
        raise
    except (TypeError, ValueError, IndexError):
        check_velocity(flow, name, y0, ts[0])
        raise


@contextlib.contextmanager
def step_explained(map: AbstractMap, x0: State) -> Iterator[None]:
    """Explain errors inside a map that come from a start of the wrong shape or a NumPy function."""
    try:
        yield
    except jax.errors.JAXTypeError as error:
        raise ArgumentError("map", "use jax.numpy in its step", untraceable(error)) from error
    except (TypeError, ValueError, IndexError) as error:
        if isinstance(error, ArgumentError):
            raise
        try:
            after = jax.eval_shape(map.step, 0, x0)
        except (TypeError, ValueError, IndexError):
            if isinstance(map, FunctionMap):
                raise
            must = f"have a shape that this {type(map).__name__} takes"
            raise ArgumentError("x0", must, f"is {_shapes(x0)} ({reason(error)})") from None
        if any(np.issubdtype(leaf.dtype, np.complexfloating) for leaf in jax.tree.leaves(after)):
            must = "have a real step (the two parts of a complex number are two components)"
            raise ArgumentError("map", must, "has a complex one") from None
        must = f"have a shape and a type that this {type(map).__name__} keeps"
        raise ArgumentError("x0", must, f"is {_shapes(x0)}, and its image {_shapes(after)}") from None


def _shapes(state: Any) -> str:
    """Dtypes and shapes of the arrays of a state, in words."""
    return ", ".join(f"{leaf.dtype.name} of shape {leaf.shape}" for leaf in jax.tree.leaves(state))


def check_velocity(flow: AbstractFlow, name: str, y0: State, t0: Any) -> None:
    """Raise `ValueError` if the velocity is complex, or for a state of a shape that the flow does not take.

    Errors of a function of the user's, and of code for NumPy, are left to the solver.
    """
    shapes = lambda tree: ", ".join(str(leaf.shape) for leaf in jax.tree.leaves(tree))
    try:
        found = velocity_like(without_noise(flow), t0, y0)
        if any(map(jnp.iscomplexobj, jax.tree.leaves(found))):
            raise ArgumentError("flow", "have a real velocity", "has a complex one")
        why = "" if shapes(found) == shapes(y0) else f"its velocity has shape {shapes(found)}"
    except (TypeError, ValueError, IndexError) as error:
        if isinstance(error, ArgumentError):
            raise error from None
        why = "" if isinstance(error, jax.errors.JAXTypeError) else reason(error)
    while isinstance(getattr(flow, "flow", None), AbstractFlow):
        flow = flow.flow  # pyright: ignore[reportAttributeAccessIssue]
    if why and not isinstance(flow, FunctionFlow):
        must = f"have a shape that this {type(flow).__name__} takes"
        raise ArgumentError(name, must, f"has shape {shapes(y0)} ({why})") from None


def traceable(flow: AbstractFlow | AbstractMap, y0: State, t0: Any) -> bool:
    """Whether JAX can trace the vector field, which must not call NumPy or `float`, or use `if`, on its state."""
    return _tracing_error(flow, y0, t0) is None


def check_traceable(flow: AbstractFlow, y0: State, t0: Any) -> None:
    """Raise `ValueError` for a vector field that JAX cannot trace; the sentence quotes the line and gives advice."""
    if (error := _tracing_error(flow, y0, t0)) is not None:
        must = "use jax.numpy (`Scipy()` takes NumPy functions as they are)"
        raise ArgumentError("flow", must, untraceable(error)) from error


def _tracing_error(flow: AbstractFlow | AbstractMap, y0: State, t0: Any) -> Exception | None:
    """The error of JAX when it traces the vector field; None without one."""
    try:
        if isinstance(flow, AbstractMap):
            jax.eval_shape(flow.image, t0, y0)
        else:
            velocity_like(without_noise(flow), t0, y0)
    except jax.errors.JAXTypeError as error:
        return error
    return None


def start_on(space: AbstractSpace, y0: State) -> State:
    """Project `y0` to the space, unless its defect is within rounding error already."""
    return inspected(space, y0)[2]


def inspected(space: AbstractSpace, y0: State) -> tuple[Any, Any, State]:
    """Whether a start is finite, its defect, and its projection to the space: itself, in a flat space."""
    if isinstance(space, Flat) and has_values(y0):
        return all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(y0)), space.defect(y0), y0
    return _inspected(space, y0)


@eqx.filter_jit
def _inspected(space: AbstractSpace, y0: State) -> tuple[Any, Any, State]:
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(y0)]))
    defect = space.defect(y0)
    rounding = 16 * jnp.finfo(jax.tree.leaves(y0)[0].dtype).eps
    return finite, defect, jax.tree.map(lambda x, y: jnp.where(defect <= rounding, y, x), space.project(y0), y0)
