"""Return maps of flows beside periodic orbits, with derivatives of any order by variational equations."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.normal_forms.charts import retracted
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow


class ReturnChart(eqx.Module):
    """The return map of a flow in the coordinates u of the point x + B u, retracted, beside a state x of an orbit.

    It is exact up to the third order. Of a forced flow it is the map over one period from t = 0; of an autonomous one
    it leads from the surface of these points, on which B is across the velocity, along the flow to the same surface.
    """

    flow: AbstractFlow
    state: State
    basis: Float[Array, "n d"]
    period: Float[Array, ""]
    rtol: Float[Array, ""]
    forced: bool = eqx.field(static=True)

    def __init__(self, flow: AbstractFlow, state: State, basis: Any, period: Any, rtol: Any, *, forced: bool):
        """Store the flow, a state and its basis, the period, the solver's relative tolerance, whether it is forced."""
        self.flow, self.state, self.basis, self.forced = flow, state, jnp.asarray(basis, float), forced
        self.period, self.rtol = jnp.asarray(period, float), jnp.asarray(rtol, float)

    def __call__(self, u: Array) -> Array:
        """Return the coordinates of the image.

        It is a time s beyond the end of the period, a Taylor polynomial in s. The coordinates and s are of the size of
        u: each of three steps of Newton's method with the derivative at x gains an order. What is multiplied by s^2
        and s^3 is needed up to the first order and at x only.
        """
        at, (flat, restored) = retracted(self.flow, self.state, self.basis), ravel_pytree(self.state)
        f = lambda x: ravel_pytree(self.flow.vector_field(jnp.zeros(()), restored(x)))[0]
        derived = lambda g: lambda x: jax.jvp(g, (x,), (f(x),))[1]
        field = _Field(self.flow, jax.tree_util.Partial(restored))
        end = restored(_solved(at(u), field=field, end=self.period, rtol=self.rtol))
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
            return v + self.basis.T @ miss, s - across @ miss

        return jax.lax.fori_loop(0, 3, nearer, (jnp.zeros_like(u), jnp.zeros(())))[0]


class _Field(eqx.Module):
    """A flow as a function of time and a flat state."""

    flow: AbstractFlow
    restored: Callable

    def __call__(self, t: Array, x: Array) -> Array:
        return ravel_pytree(self.flow.vector_field(t, self.restored(x)))[0]


class _Varied(eqx.Module):
    """The variational equation of a field: the velocities of a state and of a tangent vector."""

    field: Any

    def __call__(self, t: Array, pair: Any) -> Any:
        x, dx = pair
        return jax.jvp(lambda x: self.field(t, x), (x,), (dx,))


@eqx.filter_custom_jvp
def _solved(x: Any, *, field: Any, end: Array, rtol: Array) -> Any:
    """Return the solution at a time from a state at time 0; the tolerance holds for each of its derivatives too."""
    from dynsim.integrators.embedded import solve_within

    solution = solve_within(lambda t, y, args: field(t, y), jnp.zeros_like(end), end, x, rtol=rtol, first=end / 100)
    return jax.tree.map(lambda a: a[-1], solution.ys)


@_solved.def_jvp
def _(primals: Any, tangents: Any, *, field: Any, end: Array, rtol: Array) -> Any:
    (x,), (dx,) = primals, tangents
    moved = jax.tree.map(lambda a, b: jnp.zeros_like(a) if b is None else b, x, dx, is_leaf=lambda leaf: leaf is None)
    return _solved((x, moved), field=_Varied(field), end=end, rtol=rtol)
