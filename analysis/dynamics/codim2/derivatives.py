"""Extend a system by tangent vectors and two parameters, so that its derivatives include second derivatives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.periodic_orbits.shooting import shoot
from dynsim._core.types import State, Time
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.spaces.product import Product
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import with_parameter
from dynsim.systems.rescaled import is_flat


class Varied(NamedTuple):
    """State, tangent vectors, (vectors, n), the rate at which they move along the flow, and two parameters."""

    state: State
    vectors: Any
    rate: Any
    first: Any
    second: Any


class Images(NamedTuple):
    """Images of rows: end points, derivatives by the rows, and velocities at the images and at the rows.

    The shapes are (m, N), (m, N, N), (m, N) and (m, N); velocities of a map are zero.
    """

    ends: np.ndarray
    maps: np.ndarray
    speeds: np.ndarray
    begins: np.ndarray


class VariedFlow(AbstractFlow):
    """Flow extended by tangent vectors v with v' = Df v + r f, a rate r and two parameters, which are constant."""

    flow: AbstractFlow
    where: tuple[Callable, Callable] = eqx.field(static=True)
    space: AbstractSpace

    def __init__(self, flow: AbstractFlow, where: tuple[Callable, Callable]):
        """Store the flow, and which of its leaves are the parameters."""
        self.flow, self.where = flow, where
        self.space = Product(Varied(flow.space, *[Euclidean()] * 4))

    def velocity(self, t: Time, x: State) -> State:
        """Compute the velocities of all parts."""
        at: Any = x
        moved, (flat, restored) = _moved(self.where, self.flow, at), ravel_pytree(at.state)
        f = lambda y: ravel_pytree(moved.vector_field(t, restored(y)))[0]
        velocity, along = f(flat), lambda v: jax.jvp(f, (flat,), (v,))[1]
        vectors = jax.vmap(along)(at.vectors) + at.rate * velocity[None]
        still = [jnp.zeros_like(part) for part in (at.rate, at.first, at.second)]
        return Varied(restored(velocity), vectors, *still)


class VariedReturns:
    """Images of rows, flattened `Varied`s, under a flow over shares of a period or under an iterate of a map."""

    def __init__(self, system: Any, where: tuple[Callable, Callable], state: State, count: int, iterate: int = 1):
        """Store the system, its parameters, a state for its shape, the number of vectors, and the iterate of a map."""
        size, zero = ravel_pytree(state)[0].size, jnp.zeros(())
        begin = Varied(state, jnp.zeros((count, size)), zero, zero, zero)
        self._is_flow, self._flat = isinstance(system, AbstractFlow), True
        self._where, self._system, self._iterate = where, system, jnp.asarray(iterate)
        self._restored = jax.tree_util.Partial(ravel_pytree(begin)[1])
        if self._is_flow:
            self._pair, self._flat = Linearised(VariedFlow(system, where), begin), is_flat(system.space)

    def images(self, rows: np.ndarray, period: float, rtol: Array) -> Images:
        """Compute the images of all rows; under a flow the k-th row moves from k to k + 1 shares of the period."""
        if self._is_flow:
            found = Images(*shoot(self._pair, rows, period, rtol)[:4])
            if self._flat:
                return found
            begun = [np.asarray(_begun(self._system, self._restored, np.asarray(row))) for row in rows]
            return found._replace(maps=found.maps @ np.stack(begun))
        (row,) = rows
        end, by_row = _of_map(self._where, self._system, self._restored, np.asarray(row), self._iterate)
        zero = np.zeros((1, len(row)))
        return Images(np.asarray(end)[None], np.asarray(by_row)[None], zero, zero)

    def along(self, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum the products of the first vectors with an autonomous field, and differentiate the sum by the rows."""
        value, by_rows = _products(self._where, self._system, self._restored, np.asarray(rows))
        return float(value), np.asarray(by_rows)


@compiled
def _products(where: Any, flow: AbstractFlow, restored: Any, rows: Array) -> tuple[Array, Array]:
    def product(row: Array) -> Array:
        at = restored(row)
        field = _moved(where, flow, at).vector_field(jnp.zeros(()), at.state)
        return ravel_pytree(field)[0] @ at.vectors[0]

    return jax.value_and_grad(lambda z: jnp.sum(jax.vmap(product)(z)))(rows)


def _moved(where: Any, system: Any, at: Varied) -> Any:
    return with_parameter(where[1], with_parameter(where[0], system, at.first), at.second)


def _tangent(space: AbstractSpace, at: Varied) -> Varied:
    """Project the vectors to the tangent space at the state."""
    restored = ravel_pytree(at.state)[1]
    part = lambda v: ravel_pytree(space.tangent(at.state, restored(v)))[0]
    return at._replace(vectors=jax.vmap(part)(at.vectors))


@compiled
def _begun(flow: AbstractFlow, restored: Any, row: Array) -> Array:
    """Differentiate the projection of a row's vectors to the tangent space, which depends on the state."""
    return jax.jacfwd(lambda z: ravel_pytree(_tangent(flow.space, restored(z)))[0])(row)


@compiled
def _of_map(where: Any, system: AbstractMap, restored: Any, row: Array, iterate: Array) -> tuple[Array, Array]:
    """Compute the image of a row under an iterate of a map, and its derivative."""

    def image(z: Array) -> Array:
        given = restored(z)
        at = _tangent(system.space, given._replace(state=system.space.project(given.state)))
        moved, (flat, back) = _moved(where, system, at), ravel_pytree(at.state)
        step = lambda k, y: ravel_pytree(moved.step(k, back(y)))[0]

        def both(k: Array, pair: tuple[Array, Array]) -> tuple[Array, Array]:
            along = lambda v: jax.jvp(lambda y: step(k, y), pair[:1], (v,))[1]
            return step(k, pair[0]), jax.vmap(along)(pair[1])

        y, vectors = jax.lax.fori_loop(0, iterate, both, (flat, at.vectors))
        return ravel_pytree(at._replace(state=back(y), vectors=vectors))[0]

    return image(row), jax.jacfwd(image)(row)
