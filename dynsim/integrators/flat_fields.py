"""States as flat vectors of float64, and fields of them for solvers on the host."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.integrators.base import without_periods
from dynsim.systems.base import AbstractFlow

FlatField = Callable[[float, np.ndarray], np.ndarray]

COLUMNS = 64  # of a Jacobian at a time, so that a wide one needs no more memory than it has entries
INCREMENT = float(np.sqrt(np.finfo(float).eps))  # of a difference, relative to the largest entry of the state


class Unravel(NamedTuple):
    """The way back from a flat vector to a state; hashable, and compiled into what it is used in."""

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]

    def __call__(self, flat: ArrayLike) -> State:
        """Return the state in JAX arrays."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        pieces = jnp.split(jnp.asarray(flat), ends)
        leaves = [a.reshape(s).astype(d) for a, s, d in zip(pieces, self.shapes, self.dtypes, strict=True)]
        return jax.tree.unflatten(self.tree, leaves)

    def on_host(self, flat: np.ndarray) -> State:
        """Return the state in NumPy arrays."""
        pieces = np.split(flat, np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1])
        leaves = [a.reshape(s).astype(d) for a, s, d in zip(pieces, self.shapes, self.dtypes, strict=True)]
        return jax.tree.unflatten(self.tree, leaves)


def flattened(y0: State) -> tuple[np.ndarray, Unravel]:
    """Return a state as one float64 vector and the way back, on the host: `ravel_pytree` would compile twice."""
    leaves, tree = jax.tree.flatten(y0)
    flat = np.concatenate([np.asarray(leaf, float).ravel() for leaf in leaves])
    return flat, Unravel(tree, tuple(leaf.shape for leaf in leaves), tuple(leaf.dtype for leaf in leaves))


def flat_field(flow: AbstractFlow, unravel: Unravel, t0: float, flat: np.ndarray) -> FlatField:
    """Return the field of flat vectors; compiled once for all flows of one kind, whatever their numbers.

    A field that cannot be traced, because it calls NumPy or branches on its state, is called as it is.
    """
    leaves, field = _of_one_kind(_compiled, flow, unravel)
    both = np.append(t0, flat)  # time and state in one array: each argument takes a microsecond
    try:
        if np.iscomplexobj(field(leaves, both)):  # NumPy would leave the imaginary part out
            raise ArgumentError("flow", "have a real velocity", "has a complex one")
    except jax.errors.JAXTypeError:
        return lambda t, y: _on_host(flow.vector_field(t, unravel.on_host(y)))

    def evaluated(t: float, y: np.ndarray) -> np.ndarray:
        both[0], both[1:] = t, y
        return np.asarray(field(leaves, both), float)

    return evaluated


def flat_jacobian(
    flow: AbstractFlow, unravel: Unravel, field: FlatField, t0: float, flat: np.ndarray
) -> FlatField | None:
    """Return the Jacobian by the state of the flow's `flat_field`; None if it cannot be traced or differentiated.

    SciPy's differences are not used: near an equilibrium, where the field is small and its Jacobian is not, it makes
    their increments smaller until they are lost in the rounding of the field, and its implicit methods hardly move.
    A column that is not finite, as where a norm is zero, is a quotient of differences instead.
    """
    leaves, jacobian = _of_one_kind(_differentiated, flow, unravel)
    both = np.append(t0, flat)
    try:
        jacobian(leaves, both)
    except (jax.errors.JAXTypeError, NotImplementedError, TypeError, ValueError):  # a callback, a rule for `vjp` alone
        return None

    def evaluated(t: float, y: np.ndarray) -> np.ndarray:
        both[0], both[1:] = t, y
        found = np.array(jacobian(leaves, both), float)
        for k in np.flatnonzero(~np.all(np.isfinite(found), axis=0)):
            other = y.copy()
            other[k] += INCREMENT * max(float(np.max(np.abs(y))), np.finfo(float).tiny / INCREMENT)
            found[:, k] = (field(t, other) - field(t, y)) / (other[k] - y[k])
        return found

    return evaluated


def _of_one_kind(compiled: Any, flow: AbstractFlow, unravel: Unravel) -> tuple[list[Array], Callable[..., Array]]:
    """Return the arrays of a flow, and what `compiled` makes of the rest of it, the same for flows of one kind."""
    arrays, others = eqx.partition(without_periods(flow), eqx.is_array)
    leaves, tree = jax.tree.flatten(arrays)  # here, not at every evaluation: it takes as long as one
    static, rest = jax.tree.flatten(others)  # a flow that holds a dictionary has no hash, its parts have
    try:
        return leaves, compiled(tree, tuple(static), rest, unravel)
    except TypeError:  # something static that cannot be hashed
        return leaves, compiled.__wrapped__(tree, tuple(static), rest, unravel)


def _on_host(v: State) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in jax.tree.leaves(v)])


def _field(tree: Any, static: tuple, rest: Any, unravel: Unravel) -> Callable[[list[Array], Any], Array]:
    """Return the field of the time and a flat state in one array, for the arrays of a flow."""

    def field(leaves: list[Array], both: Any) -> Array:
        whole = eqx.combine(jax.tree.unflatten(tree, leaves), jax.tree.unflatten(rest, static))
        return jnp.concatenate([jnp.ravel(v) for v in jax.tree.leaves(whole.vector_field(both[0], unravel(both[1:])))])

    return field


@functools.lru_cache(maxsize=32)
def _compiled(tree: Any, static: tuple, rest: Any, unravel: Unravel) -> Callable[[list[Array], Any], Array]:
    return jax.jit(_field(tree, static, rest, unravel))


@functools.lru_cache(maxsize=32)
def _differentiated(tree: Any, static: tuple, rest: Any, unravel: Unravel) -> Callable[[list[Array], Any], Array]:
    field = _field(tree, static, rest, unravel)

    @jax.jit
    def jacobian(leaves: list[Array], both: Array) -> Array:
        along = lambda direction: jax.jvp(functools.partial(field, leaves), (both,), (jnp.append(0.0, direction),))[1]
        return jax.lax.map(along, jnp.eye(both.size - 1), batch_size=COLUMNS).T

    return jacobian
