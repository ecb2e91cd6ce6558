"""When the vector field of a flow jumps, and whether it depends on time, from its scalar program."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim.errors import ArgumentError
from dynsim.integrators.base import (
    AbstractIntegrator,
    of_one_kind,
    put_together,
    step_limit,
    taken_apart,
    velocity_like,
)
from dynsim.integrators.flat_fields import field_on_host
from dynsim.integrators.numpy_switches import numpy_switches
from dynsim.programs import program_or_none
from dynsim.programs.switches import MOST, Switches
from dynsim.systems.base import AbstractFlow, FunctionFlow

LIMIT = 20_000
"""Most operations of a program that is searched for jumps: recording them takes 0.2 s."""

WINDOW, FIRST = 1000.0, 1000
CONFIRMING = 1009
"""Least number of steps of the second run of an error estimate, a prime: other steps than those of round numbers."""


def breakpoints(flow: AbstractFlow, y0: Any, t0: float, t1: float, first: int | None = None) -> np.ndarray:
    """Times strictly between `t0` and `t1` at which the vector field jumps or has a kink, whatever the state.

    To those that the flow declares come those of comparisons, `floor`, `mod`, `sign`, `abs`, `max`, `min` and `clip` of
    time and parameters in a right-hand side of the user's, the knots of its tables (`interp`), and the centres of its
    smooth pulses, such as `exp(-((t - 50) / w)**2)`, which may be as short, and of curves, such as `sin(t)**2000`. They
    are not found in a field of more than 20,000 operations, nor where they depend on a parameter that is traced. Those
    of a field in NumPy are found with the state held at `y0`, smooth pulses among them if they last for 1/4096 of the
    interval. `first` is the number of jumps after which the search ends, also without them.
    """
    known = flow.breakpoints(t0, t1)
    if not _undeclared(flow):
        return known
    made, inputs = _switches(flow, y0)
    if made is not None:
        found = made.times(inputs, t0, t1, first, centres=first is None)
    else:
        found = np.empty(0) if _traceable(flow, y0) else _numpy_switches(flow, y0, t0, t1, first)
    return np.unique(np.concatenate([known, found])) if found.size else known


def _traceable(flow: AbstractFlow, y0: Any) -> bool:
    """Whether JAX can trace the vector field."""
    try:
        velocity_like(flow, 0.0, y0)
    except Exception:  # noqa: BLE001  (a function for NumPy may raise anything when it is traced)
        return False
    return True


def _numpy_switches(flow: AbstractFlow, y0: Any, t0: float, t1: float, first: int | None) -> np.ndarray:
    """The switches of a field in NumPy, with the state held; none if it cannot be evaluated there."""
    y0 = jax.tree.map(np.asarray, y0)
    field = field_on_host(flow)
    try:
        field(t0, y0)
        return numpy_switches(lambda t: field(t, y0), t0, t1, first)
    except Exception as error:
        if isinstance(error, ArgumentError) and error.names == ("ts",):
            raise
        return np.empty(0)


def longest_step(flow: AbstractFlow, y0: Any) -> float:
    """Longest step of a solver that has no breakpoints: the flow's limit, and half of the shortest time between jumps.

    The jumps are those of the first thousand units of time, and at most a thousand: a clock of a circuit may be fast.
    """
    if uses_time(flow, y0) is not False:
        jumps = breakpoints(flow, y0, -1e-9, WINDOW, FIRST)
        end = WINDOW if len(jumps) < FIRST else float(jumps[-1])
        gaps = np.diff(np.append(jumps, WINDOW))
        return min(flow.step_limit(), max(float(np.min(gaps, initial=np.inf)) / 2, end / MOST))
    return flow.step_limit()


def uses_time(flow: AbstractFlow, y0: Any) -> bool | None:
    """Whether the program of the vector field uses the time; None if it has no short program."""
    made, _ = _switches(flow, y0)
    return None if made is None else made.uses_time


def field_program(flow: AbstractFlow, y0: Any) -> tuple[Switches | None, list[Any]]:
    """The program of a vector field with its switches, and the arrays that follow time and state as its inputs.

    None for a field without a short program, and for one that declares its jumps by a method of its own.
    """
    if not _undeclared(flow):
        return None, []
    made = _switches(flow, y0)[0]
    return None if made is None or made.looks_up_states else made, taken_apart(flow).leaves


def _undeclared(flow: Any) -> bool:
    """Whether the innermost flow does not declare by a method of its own when it jumps."""
    while isinstance(getattr(flow, "flow", None), AbstractFlow):
        flow = flow.flow
    return type(flow).breakpoints in (AbstractFlow.breakpoints, FunctionFlow.breakpoints)


def _switches(flow: AbstractFlow, y0: Any) -> tuple[Switches | None, list[Any]]:
    """The switches of a flow's program, and the entries of its inputs after the time; states are zeros."""
    parts = taken_apart(flow)
    leaves = parts.leaves
    if any(jnp.issubdtype(leaf.dtype, jax.dtypes.extended) for leaf in leaves):  # random keys
        return None, []
    states, structure = jax.tree.flatten(y0)
    shaped = tuple((np.shape(a), np.dtype(a.dtype)) for a in (*states, *leaves))
    traced = tuple(isinstance(leaf, Tracer) for leaf in leaves)
    made = of_one_kind(_recorded, parts, structure, shaped, traced)
    if made is None:
        return None, []
    given = [np.zeros(np.shape(a)) if isinstance(a, Tracer) else np.asarray(a) for a in (*map(_zeros, states), *leaves)]
    return made, [entry for a in given for entry in a.ravel()]


def _zeros(state: Any) -> np.ndarray:
    return np.zeros(np.shape(state))


@functools.lru_cache(maxsize=64)
def _recorded(
    tree: Any, static: tuple, rest: Any, structure: Any, shaped: tuple, traced: tuple[bool, ...]
) -> Switches | None:
    """Record the program of a vector field, or return None if it has none or a long one."""
    count = structure.num_leaves

    def field(t: Any, *given: Any) -> list[Any]:
        flow = put_together(given[count:], tree, static, rest)
        return jax.tree.leaves(flow.vector_field(t, jax.tree.unflatten(structure, given[:count])))

    inputs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shaped]
    program = program_or_none(field, (), *inputs, limit=LIMIT, lookups=True)
    if program is None:
        return None
    moved = [np.full(int(np.prod(shape)), k < count or traced[k - count]) for k, (shape, _) in enumerate(shaped)]
    return Switches(program, np.concatenate([[False], *moved]))


def confirming(integrator: AbstractIntegrator, flows: Sequence[AbstractFlow], y0: Any, ts: Any) -> AbstractIntegrator:
    """The integrator for the second run of an error estimate: a tenth of the tolerance, and other steps.

    Of a field that may depend on time, it takes at least 1,009 steps, so that a pulse that the first run stepped over
    shows in the estimate unless it is shorter. Several flows differ in their parameters.
    """
    finer = integrator.tightened()
    if not hasattr(finer, "longest_step") or isinstance(ts, Tracer) or uses_time(flows[0], y0) is False:
        return finer
    longest = abs(float(ts[-1]) - float(ts[0])) / CONFIRMING
    return dataclasses.replace(finer, longest_step=min(longest, *(step_limit(finer, flow) for flow in flows)))  # pyright: ignore
