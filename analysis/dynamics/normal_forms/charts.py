"""Write flows and maps in tangent coordinates at a state, and differentiate them there."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Complex, Float, Int

from analysis.dynamics.flow_maps.compiled import compiled
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.rescaled import is_flat

Chart = Callable[[Array], Array]  # a system in tangent coordinates: `FlowChart`, `MapChart` or `ReturnChart`


class FlowChart(eqx.Module):
    """Vector field of a flow in tangent coordinates u at x, correct to third order in u.

    The point with coordinates u is the retraction of x + B u. Its velocity u' solves D u' = r, where D = 1 + O(u) is
    the derivative of the retraction and r = O(u) the vector field, both expressed in the basis B. Two terms of the
    Neumann series of the inverse of D leave an error of order four.
    """

    flow: AbstractFlow
    state: State
    basis: Float[Array, "n d"]

    def __init__(self, flow: AbstractFlow, state: State, basis: Any):
        """Store the flow, an equilibrium, and an orthonormal basis of the tangent space there."""
        self.flow, self.state, self.basis = flow, state, jnp.asarray(basis, float)

    def __call__(self, u: Array) -> Array:
        """Compute the velocity u' at the coordinates u."""
        at, basis, restored = retracted(self.flow, self.state, self.basis), self.basis, ravel_pytree(self.state)[1]
        r = basis.T @ ravel_pytree(self.flow.vector_field(jnp.zeros(()), restored(at(u))))[0]
        found = r
        for _ in range(2):
            found = found + r - basis.T @ jax.jvp(at, (u,), (found,))[1]
        return found


class FlatChart(eqx.Module):
    """Vector field of a flow on a flat space in the displacement from a state."""

    flow: AbstractFlow
    state: State

    def __call__(self, u: Array) -> Array:
        """Compute the velocity at a displacement u."""
        flat, restored = ravel_pytree(self.state)
        return ravel_pytree(self.flow.vector_field(jnp.zeros(()), restored(flat + u)))[0]


class MapChart(eqx.Module):
    """Iterate of a map in the tangent coordinates u = B^T (y - x) of a point y, correct to fifth order in u.

    The point with coordinates u is the retraction of x + B w with w = u + O(u^2). On a curved space, four fixed-point
    iterations starting from w = u leave an error of order six.
    """

    system: AbstractMap
    state: State
    basis: Float[Array, "n d"]
    iterate: Int[Array, ""]  # an array, so that one compiled program serves every iterate

    def __init__(self, system: AbstractMap, state: State, basis: Any, iterate: int):
        """Store the map, a fixed point of its iterate, and an orthonormal basis of the tangent space there."""
        self.system, self.state = system, state
        self.basis, self.iterate = jnp.asarray(basis, float), jnp.asarray(iterate)

    def __call__(self, u: Array) -> Array:
        """Compute the coordinates of the image of the point with coordinates u."""
        at, (flat, restored) = retracted(self.system, self.state, self.basis), ravel_pytree(self.state)
        w = u
        for _ in range(0 if is_flat(self.system.space) else 4):
            w = w + u - self.basis.T @ (at(w) - flat)
        image = jax.lax.fori_loop(0, self.iterate, lambda k, x: self.system.step(k, x), restored(at(w)))
        return self.basis.T @ (ravel_pytree(image)[0] - flat)


def retracted(system: AbstractFlow | AbstractMap, state: State, basis: Array) -> Callable[[Array], Array]:
    """Build the function from tangent coordinates u at a state x to the retraction of x + B u, flattened."""
    flat, restored = ravel_pytree(state)
    return lambda u: ravel_pytree(system.space.project(restored(flat + basis @ u)))[0]


def series(
    flow: AbstractFlow, state: State, basis: Any, terms: Float[np.ndarray, "orders curves d"]
) -> Float[np.ndarray, "orders curves d"]:
    """Compute Taylor coefficients of the velocity of u = B^T (y - x) along polynomial curves u(s).

    On a curved space the point is the retraction of x + B w, as in `MapChart`. Each fixed-point iteration from w = u
    makes one more order exact.

    Args:
        flow: the flow f.
        state: the equilibrium x.
        basis: B, an orthonormal basis of the tangent space at x.
        terms: coefficients of the curves u(s), by increasing order. The coefficient of order zero must be zero.
    """
    basis, w = jnp.asarray(basis, float), terms
    for _ in range(0 if is_flat(flow.space) else len(terms) - 2):
        w = w + terms - _along_polynomials(_place, flow, state, basis, w)
    return _along_polynomials(_velocity, flow, state, basis, w)


def chart_series(chart: MapChart, terms: Float[np.ndarray, "orders curves d"]) -> Float[np.ndarray, "orders curves d"]:
    """Compute Taylor coefficients of a map in tangent coordinates along polynomial curves, to fifth order."""
    return _scaled(_of_chart(chart, jnp.asarray(terms, float)))


@compiled
def _of_chart(chart: MapChart, terms: Array) -> Array:
    return _derivatives(chart, terms)


def _along_polynomials(part: Callable, flow: AbstractFlow, state: State, basis: Array, terms: np.ndarray) -> np.ndarray:
    return _scaled(_series(part, flow, state, basis, jnp.asarray(terms, float)))


def _scaled(derivatives: Array) -> np.ndarray:
    """Convert derivatives of orders 0, 1, ... on the first axis to Taylor coefficients."""
    found = np.asarray(derivatives)
    return found / np.array([math.factorial(k) for k in range(len(found))])[:, None, None]


@compiled
def _series(part: Callable, flow: AbstractFlow, state: State, basis: Array, terms: Array) -> Array:
    return _derivatives(lambda u: part(flow, state, basis, u), terms)


def _derivatives(one: Callable[[Array], Array], terms: Array) -> Array:
    """Differentiate a function along polynomial curves at s = 0, up to the degree of the curves; orders on axis 0."""
    at: Any = lambda s: (jax.vmap(one)(jnp.polyval(terms[::-1], s)),)
    for _ in terms[1:]:
        at = _with_next(at)
    return jnp.stack(at(jnp.zeros(())))


def _place(flow: AbstractFlow, state: State, basis: Array, u: Array) -> Array:
    return basis.T @ (retracted(flow, state, basis)(u) - ravel_pytree(state)[0])


def _velocity(flow: AbstractFlow, state: State, basis: Array, u: Array) -> Array:
    point = ravel_pytree(state)[1](retracted(flow, state, basis)(u))
    return basis.T @ ravel_pytree(flow.vector_field(jnp.zeros(()), point))[0]


def _with_next(derivatives: Callable[[Array], tuple[Array, ...]]) -> Callable[[Array], tuple[Array, ...]]:
    """Extend a function that gives derivatives up to some order by the derivative of the next order."""

    def longer(s: Array) -> tuple[Array, ...]:
        found, slopes = jax.jvp(derivatives, (s,), (jnp.ones(()),))
        return (*found, slopes[-1])

    return longer


class Form(NamedTuple):
    """Value of a multilinear form at complex vectors, and the sum of the sizes of its real terms."""

    value: Complex[np.ndarray, " d"]
    size: Float[np.ndarray, " d"]


def second_derivative(chart: Chart, u: Any, v: Any) -> Form:
    """Evaluate the second derivative of a chart at u = 0 along two real or complex directions."""
    return _complex(lambda *parts: _second(chart, *parts), u, v)


def third_derivative(chart: Chart, u: Any, v: Any, w: Any) -> Form:
    """Evaluate the third derivative of a chart at u = 0 along three real or complex directions."""
    return _complex(lambda *parts: _third(chart, *parts), u, v, w)


@compiled
def _second(chart: Any, u: Array, v: Array) -> Array:
    return _along(_along(chart, u), v)(jnp.zeros_like(u))


@compiled
def _third(chart: Any, u: Array, v: Array, w: Array) -> Array:
    return _along(_along(_along(chart, u), v), w)(jnp.zeros_like(u))


def _along(f: Callable[[Array], Array], v: Array) -> Callable[[Array], Array]:
    """Build the directional derivative of a function along a fixed direction."""
    return lambda u: jax.jvp(f, (u,), (v,))[1]


def _complex(form: Callable[..., Any], *vectors: Any) -> Form:
    """Evaluate a real multilinear form at real or complex vectors, by expanding real and imaginary parts."""
    value, size = np.zeros(len(vectors[0]), complex), np.zeros(len(vectors[0]))
    parts = [
        ((1.0, np.real(v)), (1j, np.imag(v))) if np.iscomplexobj(v) else ((1.0, v),) for v in map(np.asarray, vectors)
    ]
    for chosen in itertools.product(*parts):
        factors, real = zip(*chosen, strict=True)
        found = np.asarray(form(*(np.asarray(part, float) for part in real)))
        value, size = value + math.prod(factors) * found, size + np.abs(found)
    return Form(value, size)
