"""Maps of flows between surfaces across periodic orbits, with derivatives of any order from variational equations."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.rolled_solver import advanced
from analysis.dynamics.normal_forms.charts import retracted
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

# Most steps of a solve: it takes hundreds, unless rounding errors of third derivatives hold it up, as those of
# x / (1 - exp(-x)) do beside x = 0.
MOST = 10_000


class ReturnChart(eqx.Module):
    """Map of a flow between tangent coordinates at two states of a periodic orbit, correct to third order.

    The point with coordinates u at a state x is the retraction of x + B u. For a forced flow this is the map over some
    time. For an autonomous flow it is the map along the flow from the surface of these points to that at the other
    state, whose basis must be orthogonal to the velocity. By default the other state is the same one, after a period.
    """

    flow: AbstractFlow
    state: State
    basis: Float[Array, "n d"]
    onto: tuple[State, Float[Array, "n d"]]
    begin: Float[Array, ""]
    end: Float[Array, ""]
    rtol: Float[Array, ""]
    forced: bool = eqx.field(static=True)

    def __init__(
        self,
        flow: AbstractFlow,
        state: State,
        basis: Any,
        duration: Any,
        rtol: Any,
        *,
        forced: bool,
        onto: tuple[State, Any] | None = None,
        begin: Any = 0.0,
    ):
        """Store what determines the map.

        Args:
            flow: the flow.
            state: the first state.
            basis: a basis of the surface there, orthonormal.
            duration: the time from the first state to the other one.
            rtol: the relative tolerance of the solver.
            forced: whether the flow depends on time.
            onto: the other state and a basis there.
            begin: the time at the first state.
        """
        self.flow, self.state, self.basis, self.forced = flow, state, jnp.asarray(basis, float), forced
        self.onto = (state, self.basis) if onto is None else (onto[0], jnp.asarray(onto[1], float))
        self.begin, self.rtol = jnp.asarray(begin, float), jnp.asarray(rtol, float)
        self.end = self.begin + duration

    def __call__(self, u: Array) -> Array:
        """Compute the coordinates of the image of the point with coordinates u.

        The image is reached at a time s after the given one, and is a Taylor polynomial in s. The coordinates and s are
        of order u, so each of the three Newton steps with the derivative at the other state gains one order. For the
        same reason the factor of s^2 is needed to first order only, and the factor of s^3 only at that state.
        """
        restored, (other, basis) = ravel_pytree(self.state)[1], self.onto
        at, flat = retracted(self.flow, other, basis), ravel_pytree(other)[0]
        f = lambda x: ravel_pytree(self.flow.vector_field(self.end, restored(x)))[0]
        derived = lambda g: lambda x: jax.jvp(g, (x,), (f(x),))[1]
        field = _Field(self.flow, jax.tree_util.Partial(restored))
        start = retracted(self.flow, self.state, self.basis)(u)
        end = restored(_solved(start, field=field, begin=self.begin, end=self.end, rtol=self.rtol))
        y = ravel_pytree(self.flow.space.project(end))[0]
        if self.forced:
            later, across = lambda s: y, jnp.zeros_like(flat)
        else:
            second, change = jax.jvp(derived(f), (flat,), (y - flat,))
            third, velocity, across = derived(derived(f))(flat), f(y), f(flat) / (f(flat) @ f(flat))
            later = lambda s: y + s * velocity + s**2 / 2 * (second + change) + s**3 / 6 * third

        def nearer(_: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            v, s = found
            miss = later(s) - at(v)
            return v + basis.T @ miss, s - across @ miss

        return jax.lax.fori_loop(0, 3, nearer, (jnp.zeros(basis.shape[1]), jnp.zeros(())))[0]


class _Field(eqx.Module):
    """Vector field of a flow as a function of time and a flattened state."""

    flow: AbstractFlow
    restored: Callable

    def __call__(self, t: Array, x: Array) -> Array:
        return ravel_pytree(self.flow.vector_field(t, self.restored(x)))[0]


class _Varied(eqx.Module):
    """Variational equation of a vector field, for a state and one tangent vector."""

    field: Any

    def __call__(self, t: Array, pair: Any) -> Any:
        x, dx = pair
        return jax.jvp(lambda x: self.field(t, x), (x,), (dx,))


@eqx.filter_custom_jvp
def _solved(x: Any, *, field: Any, begin: Array, end: Array, rtol: Array) -> Any:
    """Integrate over an interval of time; the tolerance also holds for each derivative by the start."""
    flat, restored = ravel_pytree(x)
    along = lambda t, y: ravel_pytree(field(t, restored(y)))[0]
    y, _, failed = advanced(along, begin, end, flat, (end - begin) / 100, rtol, rtol / 100, most=MOST)
    return restored(jnp.where(failed, jnp.nan, y))


@_solved.def_jvp
def _(primals: Any, tangents: Any, *, field: Any, begin: Array, end: Array, rtol: Array) -> Any:
    (x,), (dx,) = primals, tangents
    moved = jax.tree.map(lambda a, b: jnp.zeros_like(a) if b is None else b, x, dx, is_leaf=lambda leaf: leaf is None)
    return _solved((x, moved), field=_Varied(field), begin=begin, end=end, rtol=rtol)
