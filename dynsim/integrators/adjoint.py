"""Diffrax's way of differentiating a solve, its loop without the hundred operations that find a float below the end."""

import functools
import types
from collections.abc import Callable
from typing import Any

import diffrax as dfx
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float


class Below:
    """The float `count` places below `end`, computed where it is compared with another.

    A step that would end less than 100 floats before the end of a solve ends there. Diffrax finds this float by 100
    operations one after another; they take half of a second to compile.
    """

    __array_ufunc__ = None  # NumPy leaves the comparison to this class

    def __init__(self, end: Array, count: int):
        self.end, self.count = end, count

    def __lt__(self, other: Float[Array, ""]) -> Bool[Array, ""]:
        """Return whether a float lies above."""
        return other > self.value()

    def value(self) -> Float[Array, ""]:
        """Return the float; below zero follows the largest normal negative one, as denormal ones count as zero."""
        end = lax.stop_gradient(jnp.asarray(self.end))
        tiny = jnp.asarray(-jnp.finfo(end.dtype).tiny, end.dtype)
        whole = jnp.int64 if end.dtype.itemsize == 8 else jnp.int32
        bits = lambda x: lax.bitcast_convert_type(x, whole)
        negative = jnp.where(end == 0, bits(tiny) + (self.count - 1), bits(end) + self.count)
        return lax.bitcast_convert_type(jnp.where(end > 0, bits(end) - self.count, negative), end.dtype)


def prevbefore(x: Array | Below) -> Below:
    """Return the float before a float, or before one that lies below it."""
    return Below(x.end, x.count + 1) if isinstance(x, Below) else Below(x, 1)


class Checkpointed(dfx.RecursiveCheckpointAdjoint):
    """Diffrax's own default adjoint, with a loop that compiles in less time and makes the same steps."""

    @property
    def _loop(self):
        return _short_loop()


class Forward(dfx.ForwardMode):
    """The same without derivatives in reverse mode: what nobody differentiates is traced in less time."""

    @property
    def _loop(self):
        return _short_loop()


def without_reverse(solver: dfx.AbstractAdaptiveSolver) -> dfx.AbstractAdaptiveSolver:
    """Return a solver whose stages have no derivatives in reverse mode, if it has stages in a loop."""
    if not isinstance(solver, dfx.AbstractRungeKutta) or solver.scan_kind is not None:
        return solver
    return eqx.tree_at(lambda s: s.scan_kind, solver, "lax", is_leaf=lambda part: part is None)


def step_of(solver: dfx.AbstractSolver) -> Callable[..., Any]:
    """Return the step of a solver; without derivatives in reverse mode, stages are added up entry by entry.

    Diffrax's product of a row with all stages is, for many members at once, one with a copy in which the stages come
    first; of an ensemble of large states these copies took a tenth of the time.
    """
    explicit = isinstance(solver, dfx.AbstractERK) and type(solver).step is dfx.AbstractRungeKutta.step
    if not explicit or getattr(solver, "scan_kind", None) != "lax":
        return solver.step
    return functools.partial(_replaced(dfx.AbstractRungeKutta.step, vector_tree_dot=_added), solver)


@jax.custom_vjp
def _entered(values: Any, token: Array) -> Any:
    """Return values and a number, whose cotangent tells whether those of the values count."""
    return values, token


def _entered_forwards(values: Any, token: Array) -> Any:
    return (values, token), None


def _entered_backwards(_: None, cotangents: Any) -> Any:
    values, token = cotangents
    return jax.tree.map(lambda c: jnp.where(token > 0, c, jnp.zeros_like(c)), values), jnp.zeros_like(token)


_entered.defvjp(_entered_forwards, _entered_backwards)


@jax.custom_vjp
def _left(values: Any, token: Array, counts: Array) -> Any:
    """Return values; the cotangent of the number is 1 where they count."""
    del token, counts
    return values


def _left_forwards(values: Any, token: Array, counts: Array) -> Any:
    del token
    return values, counts


def _left_backwards(counts: Array, cotangents: Any) -> Any:
    return cotangents, counts.astype(float), None


_left.defvjp(_left_forwards, _left_backwards)


def without_derivative_unless(function: Callable[..., Any], given: Any) -> Any:
    """Return the values of `function(given)`, a tree and whether it counts; what does not has derivatives zero.

    Without this the derivative in reverse mode of a value that is not finite is NaN, even where nothing depends on it.
    """
    inexact, rest = eqx.partition(given, eqx.is_inexact_array)
    inexact, token = _entered(inexact, jnp.ones(()))
    values, counts = function(eqx.combine(inexact, rest))
    inexact, rest = eqx.partition(values, eqx.is_inexact_array)
    return eqx.combine(_left(inexact, token, counts), rest), counts


def _added(row: Any, stages: Any) -> Any:
    """Return the combination of stages that has the entries of a row as coefficients."""
    return jax.tree.map(lambda ks: sum(a * k for a, k in zip(jnp.asarray(row), ks, strict=True)), stages)


def _short_loop() -> types.FunctionType:
    """Return diffrax's loop, in which `prevbefore` is the one above."""
    from diffrax._integrate import loop

    return _replaced(loop, eqxi=types.SimpleNamespace(**{**vars(eqxi), "prevbefore": prevbefore}))


def _replaced(function: Any, **names: Any) -> types.FunctionType:
    """Return a function in which names of its module stand for something else."""
    given = function.__globals__ | names
    made = types.FunctionType(function.__code__, given, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
