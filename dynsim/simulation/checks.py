"""Checks of the arguments of `simulate`, `simulate_until` and `ensemble`, each refusal one sentence."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.types import State, TimesLike
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError, reason, shown
from dynsim.integrators import AbstractIntegrator, Event
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.named import components
from dynsim.systems.noisy import without_noise

OFF_SPACE = 1e-6  # the largest defect of a start that is taken for rounding error, of float32 too


def check_flow(flow: Any) -> None:
    """Raise `ValueError` unless `flow` is a flow."""
    if isinstance(flow, AbstractMap):
        raise ArgumentError("flow", "be a flow (`iterate` applies maps)", f"is the map {type(flow).__name__}")
    if isinstance(flow, type):
        raise ArgumentError("flow", "be a flow", f"is the class {flow.__name__} itself")
    if not isinstance(flow, AbstractFlow):
        advice = ", for a function of time and state `FunctionFlow(function, space)`" if callable(flow) else ""
        raise ArgumentError("flow", f"be a flow{advice}", f"is a {type(flow).__name__}")


def check_integrator(integrator: Any) -> None:
    """Raise `ValueError` unless `integrator` is an integrator, not its name or its class."""
    if not isinstance(integrator, AbstractIntegrator):
        must = "be an integrator such as `Diffrax()` or `Scipy()`"
        raise ArgumentError("integrator", must, f"is {shown(integrator)}")


def check_events(events: Any) -> None:
    """Raise `ValueError` unless `events` is a sequence of events."""
    if not isinstance(events, Sequence) or not all(isinstance(event, Event) for event in events):
        raise ArgumentError("events", "be a sequence of values of `Event`", "is or holds something else")


def as_state(name: str, y: Any) -> State:
    """Return a state of floating-point arrays; numbers and nested sequences become arrays, named tuples stay.

    Raises:
        ValueError: for what holds other things than real numbers, naming the argument.
    """
    if isinstance(y, dict):
        raise ArgumentError(name, "be an array or a named tuple of arrays", "is a dict")
    if isinstance(y, tuple) and hasattr(y, "_fields"):
        fields = y._fields  # pyright: ignore[reportAttributeAccessIssue]
        return type(y)(*(as_state(f"{name}.{field}", part) for field, part in zip(fields, y, strict=True)))
    found = jnp.asarray(reals(name, y))
    return found if jnp.issubdtype(found.dtype, jnp.inexact) else found.astype(float)


def as_times(ts: TimesLike) -> np.ndarray:
    """Return times as an array; raise `ValueError` unless they are at least two finite, strictly increasing numbers."""
    try:
        times = np.asarray(ts, float)
    except (TypeError, ValueError) as error:
        raise ArgumentError("ts", "be an array of numbers", f"is not ({reason(error)})") from None
    if times.ndim != 1 or times.size < 2:
        raise ArgumentError("ts", "hold at least two times", f"has shape {times.shape}")
    if not np.all(np.isfinite(times)):
        raise ArgumentError("ts", "be finite", "has an entry that is not")
    if not np.all(np.diff(times) > 0):
        where = int(np.argmax(np.diff(times) <= 0))
        raise ArgumentError("ts", "increase", f"goes from {times[where]:.6g} to {times[where + 1]:.6g}")
    return times


def check_start(name: str, flow: AbstractFlow | AbstractMap, y0: State) -> State:
    """Return a state projected to the flow's space; raise `ValueError` unless it is finite and on it up to rounding."""
    y0 = as_state(name, y0)
    try:
        finite, defect, start = inspected(flow.space, y0)
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
    """Raise `ValueError` unless a state is finite; a traced one is not looked at."""
    leaves = [leaf for leaf in jax.tree.leaves(state) if not isinstance(leaf, Tracer)]
    if not all(np.all(np.isfinite(leaf)) for leaf in leaves):
        raise ArgumentError(name, "be finite", "has an entry that is not")


def check_names(system: AbstractFlow | AbstractMap, state: State) -> None:
    """Raise `ValueError` unless the names and units that a user gave to a function fit a state."""
    if isinstance(without_noise(system) if isinstance(system, AbstractFlow) else system, FunctionFlow | FunctionMap):
        components(system, state)


@contextlib.contextmanager
def shapes_explained(flow: AbstractFlow, name: str, y0: State, ts: Any) -> Iterator[None]:
    """Turn an error that a start of the wrong shape, or a NumPy function, causes inside a flow into one sentence."""
    try:
        yield
    except jax.errors.JAXTypeError as error:  # what is traced calls NumPy, `float` or `if` on its state
        if traceable(flow, y0, ts[0]):
            raise
        raise not_traceable() from error
    except (TypeError, ValueError, IndexError) as error:
        check_real(flow, y0, ts[0])
        if isinstance(flow, FunctionFlow) or isinstance(error, ArgumentError):
            raise
        try:
            jax.eval_shape(without_noise(flow).vector_field, ts[0], y0)
        except (TypeError, ValueError, IndexError):
            shapes = ", ".join(str(leaf.shape) for leaf in jax.tree.leaves(y0))
            must = f"have a shape that this {type(flow).__name__} takes"
            raise ArgumentError(name, must, f"has shape {shapes} ({reason(error)})") from None
        raise


@contextlib.contextmanager
def step_explained(map: AbstractMap, x0: State) -> Iterator[None]:
    """Turn an error that a start of the wrong shape, or a NumPy function, causes inside a map into one sentence."""
    try:
        yield
    except jax.errors.JAXTypeError:
        must = "use jax.numpy in its step"
        raise ArgumentError("map", must, "calls NumPy or `float`, or branches by `if`, on its state") from None
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
    """Return the types and the shapes of the arrays of a state in words."""
    return ", ".join(f"{leaf.dtype.name} of shape {leaf.shape}" for leaf in jax.tree.leaves(state))


def check_real(flow: AbstractFlow, y0: State, t0: Any) -> None:
    """Raise `ValueError` for a field that is complex at a state; not for one that cannot be evaluated there."""
    try:
        found = jax.eval_shape(without_noise(flow).vector_field, t0, y0)
    except (TypeError, ValueError, IndexError):
        return
    if any(map(jnp.iscomplexobj, jax.tree.leaves(found))):
        raise ArgumentError("flow", "have a real velocity", "has a complex one") from None


def traceable(flow: AbstractFlow, y0: State, t0: Any) -> bool:
    """Return whether JAX can trace the field: it calls no NumPy and no `float`, and has no `if`, on its state."""
    try:
        jax.eval_shape(without_noise(flow).vector_field, t0, y0)
    except jax.errors.JAXTypeError:
        return False
    return True


def not_traceable() -> ArgumentError:
    """Return the error for a field that JAX cannot trace, given to an integrator that compiles it."""
    must = "use jax.numpy (`Scipy()` takes NumPy functions as they are)"
    return ArgumentError("flow", must, "calls NumPy or `float`, or branches by `if`, on its state")


def start_on(space: AbstractSpace, y0: State) -> State:
    """Return `y0` projected to the space, or as it is, to the bit, if its defect is rounding error already."""
    return inspected(space, y0)[2]


@eqx.filter_jit
def inspected(space: AbstractSpace, y0: State) -> tuple[Any, Any, State]:
    """Return whether a start is finite, its defect, and the start projected to the space, by one compiled call."""
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(y0)]))
    defect = space.defect(y0)
    rounding = 16 * jnp.finfo(jax.tree.leaves(y0)[0].dtype).eps
    return finite, defect, jax.tree.map(lambda x, y: jnp.where(defect <= rounding, y, x), space.project(y0), y0)
