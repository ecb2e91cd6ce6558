"""Derivatives of solutions: refused across a surface on which the field jumps, and where both modes are mixed.

At a jump a derivative needs a saltation matrix, which a solver that steps over the jump does not have.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any, Never

import equinox as eqx
import jax
import jax.extend.core
import jax.numpy as jnp
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Bool

from dynsim._core.types import State, Time, Times
from dynsim.errors import ArgumentError
from dynsim.integrators.switched_field import JUMP, SwitchedField, switched_field
from dynsim.systems.base import AbstractFlow, FunctionFlow

CLOSER = 45  # halvings of the line between two saved states, which find a crossing to 3e-14 of its length
MUST = "not jump on a trajectory whose derivative is taken (`analysis.dynamics.final_state` takes jumps as events)"
MIXED = ArgumentError(
    "adjoint",
    "be `diffrax.DirectAdjoint()` for second derivatives by `jax.hessian` (`jax.jacfwd(jax.jacfwd(f))` is faster)",
    "has no derivatives in reverse mode here",
)
DEPTH = 3  # functions that refer to functions that refer to traced numbers


def is_traced(*trees: Any, depth: int = DEPTH) -> bool:
    """Whether a transformation of JAX passes through some of the numbers, or through those that functions refer to."""
    return any(
        isinstance(leaf, Tracer) or isinstance(leaf, FunctionType) and depth > 0 and _refers_to_traced(leaf, depth - 1)
        for leaf in jax.tree.leaves(trees)
    )


def _refers_to_traced(function: FunctionType, depth: int) -> bool:
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a cell that is still empty
            held.append(cell.cell_contents)
    return any(is_traced(one, depth=depth) for one in held if not isinstance(one, type))


def check_not_traced(name: str, must: str, but: str, *given: Any) -> None:
    """Refuse in one sentence that a transformation of JAX passes through what runs outside of it.

    Args:
        name: the argument that the sentence is about.
        must: what it must be where `jit`, `vmap` or a derivative passes through.
        but: what it is.
        given: the flow, the start, and whatever else may be traced.
    """
    if is_traced(*given):
        raise ArgumentError(name, f"{must} where `jit`, `vmap` or a derivative passes through", but)


def in_either_mode(program: Callable[..., Any], *given: Any) -> Any:
    """Evaluate `program(reverse, *given)`, with derivatives in reverse mode, or forwards where JAX asks for those.

    Derivatives in reverse mode of either, as `jax.hessian` takes them, are refused.
    """
    if not is_traced(given):
        return program(True, *given)
    try:
        return program(True, *_once_in_reverse(given, MIXED))
    except TypeError as error:
        _check_forwards(error)
    return in_forward_mode_only(program(False, *given))


def in_reverse_mode_once(program: Callable[..., Any], refusal: ArgumentError, *given: Any) -> Any:
    """Evaluate `program(*given)`, whose derivatives but the first one in reverse mode are refused."""
    return not_forwards(lambda: program(*_once_in_reverse(given, refusal)), refusal)


def not_forwards(program: Callable[..., Any], refusal: ArgumentError, *given: Any) -> Any:
    """Evaluate `program(*given)`, whose derivatives in forward mode, which it does not have, are refused."""
    try:
        return program(*given)
    except TypeError as error:
        _check_forwards(error)
    raise refusal


def in_forward_mode_only(values: Any, refusal: ArgumentError = MIXED) -> Any:
    """The values; their derivatives in reverse mode, which a loop of unknown length does not have, are refused."""
    return _of_traced(lambda v: _forwards.bind(v, refusal=refusal), values)


def _check_forwards(error: TypeError) -> None:
    if "custom_vjp" not in str(error):  # JAX's words for a derivative forwards of what has one in reverse
        raise error


def _of_traced(function: Callable[[Array], Any], values: Any) -> Any:
    return jax.tree.map(lambda v: function(v) if eqx.is_inexact_array(v) and is_traced(v) else v, values)


def _refuse(*_: Any, refusal: ArgumentError) -> Never:
    raise refusal


_forwards = jax.extend.core.Primitive("in_forward_mode_only")  # the identity, whose transpose raises an error
_forwards.def_impl(lambda x, refusal: x)
_forwards.def_abstract_eval(lambda x, refusal: x)
ad.deflinear2(_forwards, _refuse)
batching.defvectorized(_forwards)
mlir.register_lowering(_forwards, lambda _, x, refusal: [x])


def _once_in_reverse(values: Any, refusal: ArgumentError) -> Any:
    """The values, whose derivatives in reverse mode have none in reverse mode, and none forwards."""

    @jax.custom_vjp
    def once(x: Array) -> Array:
        return x

    once.defvjp(lambda x: (x, None), lambda _, cotangent: (in_forward_mode_only(cotangent, refusal),))
    return _of_traced(once, values)


def refusing_jumps(flow: AbstractFlow, y0: State, ts: Times, ys: State) -> State:
    """The states at times, whose derivatives raise an error if the field jumps between two of them.

    Jumps at fixed times need none, since solvers stop there. Missed are two crossings between successive times, and the
    jumps of a field of more than 2,000 operations or on a curved space.
    """
    if not is_traced(flow, y0, ts, ys):
        return ys
    named = _with_parameters(flow, y0)
    field = switched_field(named, y0)
    if field is None:
        return ys
    inputs = eqx.filter((named, y0, ts), eqx.is_inexact_array)  # a derivative of zero by these is refused, too
    rows = jax.vmap(lambda y: ravel_pytree(y)[0])(ys).astype(float)
    jumped = jax.lax.stop_gradient(_jumps(field, jnp.asarray(ts, float), rows))
    return _kept(ys, jumped, jax.tree.leaves(inputs), field.named())


def _with_parameters(flow: AbstractFlow, y0: State) -> AbstractFlow:
    """The flow with the traced numbers that its function closes over as parameters, which its program can name."""
    if not any(isinstance(leaf, FunctionType) and is_traced(leaf) for leaf in jax.tree.leaves(flow)):
        return flow
    field = lambda t, x: flow.vector_field(t, x)
    function, closed = jax.closure_convert(field, jnp.zeros(()), jax.tree.map(jax.lax.stop_gradient, y0))
    return FunctionFlow(_Closed(function, tuple(closed)), flow.space)


class _Closed(eqx.Module):
    """A function of time and state with the numbers that it closed over."""

    function: Any = eqx.field(static=True)
    closed: tuple[Array, ...]

    def __call__(self, t: Time, x: State) -> State:
        return self.function(t, x, *self.closed)


@jax.jit
def _jumps(field: SwitchedField, ts: Array, rows: Array) -> Bool[Array, ""]:
    """Whether the velocity jumps between two successive states, on a surface that depends on state or parameters."""
    modes = jax.vmap(lambda t, x: field.at(t, x, None)[2])(ts, rows)

    def between(begin: tuple, end: tuple) -> Array:
        point = lambda share: tuple(a + share * (b - a) for a, b in zip(begin[:2], end[:2], strict=True))

        def at(share: Array, which: Array | None) -> tuple[Array, ...]:
            t, x = point(share)
            return field.at(t, x, which)

        def varies(surface: Array, share: Array, which: Array) -> Array:
            """Whether the surface depends on the state or on parameters there, not on the time alone."""
            t, x = point(share)
            distance = lambda x, rest: dataclasses.replace(field, rest=rest).at(t, x, which)[1][surface]
            slopes = jax.tree.leaves(jax.grad(distance, (0, 1), allow_int=True)(x, field.rest))
            return jnp.any(jnp.stack([jnp.any(s != 0) for s in slopes if s.dtype != jax.dtypes.float0]))

        def on(surface: Array) -> Array:
            def halved(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
                low, high = ends
                middle = (low + high) / 2
                same = at(middle, None)[2][surface] == begin[2][surface]
                return jnp.where(same, middle, low), jnp.where(same, high, middle)

            low, high = jax.lax.fori_loop(0, CLOSER, halved, (jnp.zeros(()), jnp.ones(())))
            before = at(low, None)[2]
            after = before.at[surface].set(at(high, None)[2][surface])
            left, right = (at(low, which)[0] for which in (before, after))
            size = jnp.maximum(jnp.max(jnp.abs(left)), jnp.max(jnp.abs(right)))
            jumps = (before[surface] != after[surface]) & (jnp.max(jnp.abs(left - right)) > JUMP * size)
            return jumps & varies(surface, low, before)

        return jnp.any(jax.vmap(on)(jnp.arange(begin[2].shape[0])) & (begin[2] != end[2]))

    points = ts, rows, modes
    ends = jax.tree.map(lambda a: a[:-1], points), jax.tree.map(lambda a: a[1:], points)
    return jnp.any(jax.vmap(between)(*ends))


def _kept(ys: State, jumped: Array, inputs: list[Any], named: str) -> State:
    """The states; their derivatives by the inputs are refused if the field has jumped."""

    @jax.custom_jvp
    def kept(ys: State, jumped: Array, inputs: list[Any]) -> State:
        del jumped, inputs
        return ys

    @kept.defjvp
    def _(primals: tuple, tangents: tuple) -> tuple[State, State]:
        ys, jumped, _ = primals
        refusal = ArgumentError("flow", MUST, f"jumps where {named}")
        if not isinstance(jumped, Tracer):
            if bool(jumped):
                raise refusal
            return ys, tangents[0]
        one = eqx.error_if(jnp.ones(()), jumped, str(refusal))
        return ys, jax.tree.map(lambda v: v * one.astype(v.dtype), tangents[0])

    return kept(ys, jumped, inputs)
