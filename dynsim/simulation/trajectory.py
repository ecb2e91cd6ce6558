"""Trajectories: times, states, the system that produced them, and statistics of the integration."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree, Real

from dynsim._core.host import has_values, on_host
from dynsim._core.placement import beside
from dynsim._core.printing import one_line
from dynsim._core.types import State, Time
from dynsim._core.validation import function
from dynsim.integrators.base import AbstractIntegrator, Stats
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow, AbstractMap

if TYPE_CHECKING:
    from figures.artists import Artists


class Trajectory(eqx.Module):
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
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the components over time, or the path in state space, into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib, or one for each component; without any, a figure with both pictures is made.
            options: the parts `lines`, `errors`, `start` and `end`. A part is left out by False, and styled by
                properties of matplotlib, `lines={"linewidth": 2}`. Also `colour`, `legend`, `labels`, `limits` and
                `title`, which may all be switched off; `components` by name or index; `path=True` for the path in the
                plane, in axes of three dimensions, or on the sphere or the simplex; `smooth=False` for the saved
                times only; `reduced=True` for angles between minus half a period and half a period; properties of the
                lines, `linewidth=2`. A run of prototypes shows them among their embeddings and has the part
                `embeddings`, too, but no `errors`, `components` or `path`.

        Returns:
            The artists of each part by name, such as `drawn.lines`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    @property
    def initial(self) -> State:
        """The initial state."""
        return _at(self.ys, 0)

    @property
    def final(self) -> State:
        """The final state."""
        return _at(self.ys, len(jax.tree.leaves(self.ys)[0]) - 1)

    def reduced(self) -> "Trajectory":
        """The same run with its angles between minus half a period and half a period, for tables and measures.

        Example:
            >>> import dynsim as ds
            >>> turn = ds.FunctionMap(lambda k, x: x + 1.0, periods={"x": 4.0}, names=("x",))
            >>> ds.iterate(turn, [0.0], 4).reduced().ys[:, 0].tolist()
            [0.0, 1.0, 2.0, -1.0, 0.0]
        """
        return eqx.tree_at(lambda run: run.ys, self, self.system.space.reduced(self.ys))

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


def last_finite(run: Trajectory) -> int:
    """Find the index of the last time with a finite state, which is not the last one after a failure."""
    finite = [np.isfinite(np.asarray(a)).reshape(len(run.ts), -1).all(axis=1) for a in jax.tree.leaves(run.ys)]
    return int(np.flatnonzero(np.all(finite, axis=0))[-1])


def _at(ys: PyTree, k: int) -> State:
    """The k-th state, by one program for all k; states on the host stay there, and need none."""
    leaves = jax.tree.leaves(ys)
    if any(isinstance(y, np.ndarray) for y in leaves):
        return jax.tree.map(lambda y: y[k], ys)
    known = has_values(ys) and all(device.platform == "cpu" for y in leaves for device in y.devices())
    with beside(ys):
        return on_host(lambda xp, y: y[k], ys) if known else _indexed(ys, k)


@jax.jit
def _indexed(ys: PyTree, k: Int[Array, ""] | int) -> State:
    return jax.tree.map(lambda y: jax.lax.dynamic_index_in_dim(y, k, keepdims=False), ys)
