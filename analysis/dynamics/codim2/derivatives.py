"""A system together with tangent vectors and two parameters, as one system: its derivatives are second derivatives."""

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
    """A state, tangent vectors there, (vectors, n), the rate at which they move along the flow, and two parameters."""

    state: State
    vectors: Any
    rate: Any
    first: Any
    second: Any


class Layout(NamedTuple):
    """Where the parts of a flat `Varied` are: the state and the vectors, and the places of the others."""

    size: int
    count: int

    @property
    def moving(self) -> int:
        """The entries of the state and the vectors, which come first."""
        return self.size * (1 + self.count)

    @property
    def rate(self) -> int:
        """The place of the rate; the first and the second parameter follow it."""
        return self.moving


class Images(NamedTuple):
    """The images of rows: themselves, derivatives by the rows, and velocities at the images and at the rows.

    Shapes (m, N), (m, N, N), (m, N), (m, N); velocities of a map are zero.
    """

    ends: np.ndarray
    maps: np.ndarray
    speeds: np.ndarray
    begins: np.ndarray


class VariedFlow(AbstractFlow):
    """A flow with tangent vectors v, v' = Df v + r f, at a rate r and values of two parameters, which are at rest."""

    flow: AbstractFlow
    where: tuple[Callable, Callable] = eqx.field(static=True)
    space: AbstractSpace

    def __init__(self, flow: AbstractFlow, where: tuple[Callable, Callable]):
        """Store the flow, and which leaves of it are the parameters."""
        self.flow, self.where = flow, where
        self.space = Product(Varied(flow.space, *[Euclidean()] * 4))

    def velocity(self, t: Time, x: State) -> State:
        """Return the velocities of all parts."""
        at: Any = x
        moved, (flat, restored) = _moved(self.where, self.flow, at), ravel_pytree(at.state)
        f = lambda y: ravel_pytree(moved.vector_field(t, restored(y)))[0]
        velocity, along = f(flat), lambda v: jax.jvp(f, (flat,), (v,))[1]
        vectors = jax.vmap(along)(at.vectors) + at.rate * velocity[None]
        still = [jnp.zeros_like(part) for part in (at.rate, at.first, at.second)]
        return Varied(restored(velocity), vectors, *still)


class VariedReturns:
    """The images of rows, flat `Varied`s, under a flow over shares of a period, or under an iterate of a map."""

    def __init__(self, system: Any, where: tuple[Callable, Callable], state: State, count: int, iterate: int = 1):
        """Store the system, its parameters, a state for its shape, the number of vectors, and the iterate of a map."""
        size, zero = ravel_pytree(state)[0].size, jnp.zeros(())
        begin = Varied(state, jnp.zeros((count, size)), zero, zero, zero)
        self.layout, self._is_flow, self._flat = Layout(size, count), isinstance(system, AbstractFlow), True
        self._where, self._system, self._iterate = where, system, jnp.asarray(iterate)
        self._restored = jax.tree_util.Partial(ravel_pytree(begin)[1])
        if self._is_flow:
            self._pair, self._flat = Linearised(VariedFlow(system, where), begin), is_flat(system.space)

    def images(self, rows: np.ndarray, period: float, rtol: Array) -> Images:
        """Return the images of all rows; of a flow the k-th row is followed from k to k + 1 shares of the period."""
        if self._is_flow:
            found = Images(*shoot(self._pair, rows, period, rtol))
            if self._flat:
                return found
            begun = [np.asarray(_begun(self._system, self._restored, np.asarray(row))) for row in rows]
            return found._replace(maps=found.maps @ np.stack(begun))
        (row,) = rows
        end, by_row = _of_map(self._where, self._system, self._restored, np.asarray(row), self._iterate)
        zero = np.zeros((1, len(row)))
        return Images(np.asarray(end)[None], np.asarray(by_row)[None], zero, zero)

    def along(self, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the sum of the products of first vectors with the field of an autonomous flow, by rows too."""
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
    """Return the same with the tangent parts of the vectors."""
    restored = ravel_pytree(at.state)[1]
    part = lambda v: ravel_pytree(space.tangent(at.state, restored(v)))[0]
    return at._replace(vectors=jax.vmap(part)(at.vectors))


@compiled
def _begun(flow: AbstractFlow, restored: Any, row: Array) -> Array:
    """Return the derivative of a row with its vectors in the tangent space, which changes with the state."""
    return jax.jacfwd(lambda z: ravel_pytree(_tangent(flow.space, restored(z)))[0])(row)


@compiled
def _of_map(where: Any, system: AbstractMap, restored: Any, row: Array, iterate: Array) -> tuple[Array, Array]:
    """Return the image of a row by an iterate of a map, and its derivative."""

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
