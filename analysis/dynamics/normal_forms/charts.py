"""Flows and maps in tangent coordinates around a state, with their second and third derivatives there."""

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

Chart = Callable[[Array], Array]  # a system in tangent coordinates, one of the modules below or a `ReturnChart`


class FlowChart(eqx.Module):
    """The field of a flow in the coordinates u of the point x + B u, retracted, exact up to the third order.

    The velocity u' solves D u' = r, with D = 1 + O(u) the derivative of the retraction and r = O(u) the field, both in
    the basis: two terms of its Neumann series leave an error of order four.
    """

    flow: AbstractFlow
    state: State
    basis: Float[Array, "n d"]

    def __init__(self, flow: AbstractFlow, state: State, basis: Any):
        """Store the flow, an equilibrium, and a basis of the tangent space there."""
        self.flow, self.state, self.basis = flow, state, jnp.asarray(basis, float)

    def __call__(self, u: Array) -> Array:
        """Return the velocity of the coordinates."""
        at, basis, restored = retracted(self.flow, self.state, self.basis), self.basis, ravel_pytree(self.state)[1]
        r = basis.T @ ravel_pytree(self.flow.vector_field(jnp.zeros(()), restored(at(u))))[0]
        found = r
        for _ in range(2):
            found = found + r - basis.T @ jax.jvp(at, (u,), (found,))[1]
        return found


class MapChart(eqx.Module):
    """An iterate of a map in the coordinates u = B^T (y - x) of a point y of the space, exact up to the fifth order.

    The point of the space with the coordinates u is x + B w, retracted, with w = u + O(u^2): four steps of a
    fixed-point iteration from u leave an error of order six.
    """

    system: AbstractMap
    state: State
    basis: Float[Array, "n d"]
    iterate: Int[Array, ""]  # an array: one program serves every iterate

    def __init__(self, system: AbstractMap, state: State, basis: Any, iterate: int):
        """Store the map, a fixed point of its iterate, and a basis of the tangent space there."""
        self.system, self.state = system, state
        self.basis, self.iterate = jnp.asarray(basis, float), jnp.asarray(iterate)

    def __call__(self, u: Array) -> Array:
        """Return the coordinates of the image."""
        at, (flat, restored) = retracted(self.system, self.state, self.basis), ravel_pytree(self.state)
        w = u
        for _ in range(0 if is_flat(self.system.space) else 4):
            w = w + u - self.basis.T @ (at(w) - flat)
        image = jax.lax.fori_loop(0, self.iterate, lambda k, x: self.system.step(k, x), restored(at(w)))
        return self.basis.T @ (ravel_pytree(image)[0] - flat)


def retracted(system: AbstractFlow | AbstractMap, state: State, basis: Array) -> Callable[[Array], Array]:
    """Return the point of the space at tangent coordinates, as a vector."""
    flat, restored = ravel_pytree(state)
    return lambda u: ravel_pytree(system.space.project(restored(flat + basis @ u)))[0]


def series(
    flow: AbstractFlow, state: State, basis: Any, terms: Float[np.ndarray, "orders curves d"]
) -> Float[np.ndarray, "orders curves d"]:
    """Return the Taylor coefficients of B^T f, the velocity of u = B^T (y - x), along polynomials in u.

    On a curved space the point is x + B w, retracted, as in `MapChart`: each step from w = u adds an order.

    Args:
        flow: the flow f.
        state: x, an equilibrium.
        basis: B, of the tangent space there.
        terms: the coefficients of the polynomials from that of order zero, which is zero, on.
    """
    basis, w = jnp.asarray(basis, float), terms
    for _ in range(0 if is_flat(flow.space) else len(terms) - 2):
        w = w + terms - _along_polynomials(_place, flow, state, basis, w)
    return _along_polynomials(_velocity, flow, state, basis, w)


def chart_series(chart: MapChart, terms: Float[np.ndarray, "orders curves d"]) -> Float[np.ndarray, "orders curves d"]:
    """Return the Taylor coefficients of a map in coordinates along polynomials in these, to the fifth order."""
    return _scaled(_of_chart(chart, jnp.asarray(terms, float)))


@compiled
def _of_chart(chart: MapChart, terms: Array) -> Array:
    return _derivatives(chart, terms)


def _along_polynomials(part: Callable, flow: AbstractFlow, state: State, basis: Array, terms: np.ndarray) -> np.ndarray:
    return _scaled(_series(part, flow, state, basis, jnp.asarray(terms, float)))


def _scaled(derivatives: Array) -> np.ndarray:
    """Return Taylor coefficients from derivatives on the first axis."""
    found = np.asarray(derivatives)
    return found / np.array([math.factorial(k) for k in range(len(found))])[:, None, None]


@compiled
def _series(part: Callable, flow: AbstractFlow, state: State, basis: Array, terms: Array) -> Array:
    return _derivatives(lambda u: part(flow, state, basis, u), terms)


def _derivatives(one: Callable[[Array], Array], terms: Array) -> Array:
    """Return the derivatives of a function at zero along polynomials in one variable, on the first axis."""
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
    """Return a function that returns derivatives of a function of a number, and the next one."""

    def longer(s: Array) -> tuple[Array, ...]:
        found, slopes = jax.jvp(derivatives, (s,), (jnp.ones(()),))
        return (*found, slopes[-1])

    return longer


class Form(NamedTuple):
    """The value of a multilinear form at complex vectors, and the sum of the sizes of the real forms it consists of."""

    value: Complex[np.ndarray, " d"]
    size: Float[np.ndarray, " d"]


def second_derivative(chart: Chart, u: Any, v: Any) -> Form:
    """Return the second derivative at the state in two directions, real or complex, in tangent coordinates."""
    return _complex(lambda *parts: _second(chart, *parts), u, v)


def third_derivative(chart: Chart, u: Any, v: Any, w: Any) -> Form:
    """Return the third derivative at the state in three directions, real or complex, in tangent coordinates."""
    return _complex(lambda *parts: _third(chart, *parts), u, v, w)


@compiled
def _second(chart: Any, u: Array, v: Array) -> Array:
    return _along(_along(chart, u), v)(jnp.zeros_like(u))


@compiled
def _third(chart: Any, u: Array, v: Array, w: Array) -> Array:
    return _along(_along(_along(chart, u), v), w)(jnp.zeros_like(u))


def _along(f: Callable[[Array], Array], v: Array) -> Callable[[Array], Array]:
    """Return the derivative of a function in a direction."""
    return lambda u: jax.jvp(f, (u,), (v,))[1]


def _complex(form: Callable[..., Any], *vectors: Any) -> Form:
    """Return the value of a real multilinear form at vectors, some of which are complex."""
    value, size = np.zeros(len(vectors[0]), complex), np.zeros(len(vectors[0]))
    parts = [
        ((1.0, np.real(v)), (1j, np.imag(v))) if np.iscomplexobj(v) else ((1.0, v),) for v in map(np.asarray, vectors)
    ]
    for chosen in itertools.product(*parts):
        factors, real = zip(*chosen, strict=True)
        found = np.asarray(form(*(np.asarray(part, float) for part in real)))
        value, size = value + math.prod(factors) * found, size + np.abs(found)
    return Form(value, size)
