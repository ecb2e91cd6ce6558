"""Trajectories: times, states, the system that produced them, and statistics of the integration."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree, Real

from dynsim._core.host import has_values
from dynsim._core.placement import beside
from dynsim._core.printing import one_line
from dynsim._core.types import State, Time
from dynsim._core.validation import function
from dynsim.integrators.base import AbstractIntegrator, Stats
from dynsim.notebook import Pictured
from dynsim.systems.base import AbstractFlow, AbstractMap


class Trajectory(eqx.Module, Pictured):
    """States `ys` (times first) at the times `ts`, with the system that produced them and integration statistics.

    `integrator` is the one that a rerun needs; None for a map, and for a path cut at an event.

    `along` evaluates a function of one state at every time, on the device on which the states lie. In a notebook a
    trajectory of numbers, vectors, or named tuples of these is shown as a picture.
    """

    ts: Real[Array | np.ndarray, " times"]
    ys: PyTree
    system: AbstractFlow | AbstractMap
    stats: Stats
    integrator: AbstractIntegrator | None = None

    __repr__ = one_line

    @property
    def initial(self) -> State:
        """The initial state."""
        return _at(self.ys, 0)

    @property
    def final(self) -> State:
        """The final state."""
        return _at(self.ys, len(jax.tree.leaves(self.ys)[0]) - 1)

    def __str__(self) -> str:
        """Describe the run in a line: system, times, shape of the state, and how the integration ended."""
        if not has_values(self.ts, self.ys, self.stats):
            return f"Trajectory of {type(self.system).__name__}"
        shapes = ", ".join(str(np.shape(leaf)[1:]) for leaf in jax.tree.leaves(self.ys))
        ends = f"{float(self.ts[0]):g} to {float(self.ts[-1]):g}"
        how = "" if isinstance(self.system, AbstractMap) else f" {self.stats}"
        return f"Trajectory of {type(self.system).__name__}, {len(self.ts)} times from {ends}, states {shapes}.{how}"

    def along(self, fn: Callable[[State], PyTree]) -> PyTree:
        """Evaluate `fn(x)` at every time, times first."""
        function("fn", fn, "the state")
        return self.along_time(lambda t, x: fn(x))

    def along_time(self, fn: Callable[[Time, State], PyTree]) -> PyTree:
        """Evaluate `fn(t, x)` at every time, times first; states on the host (exact fractions) in a Python loop."""
        function("fn", fn, "(t, x)", 2)
        if any(isinstance(y, np.ndarray) for y in jax.tree.leaves(self.ys)):
            values: list[Any] = [
                fn(t, jax.tree.map(lambda y, k=k: y[k], self.ys)) for k, t in enumerate(np.asarray(self.ts))
            ]
            return jax.tree.map(lambda *parts: np.stack([np.asarray(p) for p in parts]), *values)
        with beside(self.ys):
            return jax.vmap(fn)(jnp.asarray(self.ts), self.ys)


def _at(ys: PyTree, k: int) -> State:
    """The k-th state, by one program for all k; states on the host stay there."""
    if any(isinstance(y, np.ndarray) for y in jax.tree.leaves(ys)):
        return jax.tree.map(lambda y: y[k], ys)
    with beside(ys):
        return _indexed(ys, k)


@jax.jit
def _indexed(ys: PyTree, k: Int[Array, ""] | int) -> State:
    return jax.tree.map(lambda y: jax.lax.dynamic_index_in_dim(y, k, keepdims=False), ys)
