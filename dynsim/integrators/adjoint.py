"""Diffrax's way of differentiating a solve, its loop without the hundred operations that find a float below the end."""

import types

import diffrax as dfx
import equinox as eqx
import equinox.internal as eqxi
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


def _short_loop() -> types.FunctionType:
    """Return diffrax's loop, in which `prevbefore` is the one above."""
    from diffrax._integrate import loop

    names = {**loop.__globals__, "eqxi": types.SimpleNamespace(**{**vars(eqxi), "prevbefore": prevbefore})}
    short = types.FunctionType(loop.__code__, names, loop.__name__, loop.__defaults__, loop.__closure__)
    short.__kwdefaults__ = loop.__kwdefaults__
    return short
