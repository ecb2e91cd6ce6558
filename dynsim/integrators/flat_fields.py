"""States as flat float64 vectors, and vector fields of them for solvers on the host."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.types import ArrayLike, State
from dynsim.errors import ArgumentError
from dynsim.integrators.base import of_one_kind, put_together, taken_apart
from dynsim.programs import scalar_program
from dynsim.programs.program import Program
from dynsim.programs.python_function import field_maker
from dynsim.programs.sparsity import COLUMNS, SMALLEST, Pattern, entries_of, sparse_pattern
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow, FunctionFlow

FlatField = Callable[[float, np.ndarray], np.ndarray]

# increment of a difference quotient, relative to the largest entry of the state
INCREMENT = float(np.sqrt(np.finfo(float).eps))

# most numbers of an array of the flow that is copied beside the state in each evaluation, in a tenth of a microsecond
JOINED = 256


class Unravel(NamedTuple):
    """The map from a flat vector back to a state; hashable, and compiled into the functions that use it."""

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]

    def __call__(self, flat: ArrayLike) -> State:
        """The state in JAX arrays."""
        if isinstance(flat, np.ndarray):
            return jax.device_put(self.on_host(flat))  # compiles nothing
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        pieces = jnp.split(jnp.asarray(flat), ends)
        leaves = [a.reshape(s).astype(d) for a, s, d in zip(pieces, self.shapes, self.dtypes, strict=True)]
        return jax.tree.unflatten(self.tree, leaves)

    def on_host(self, flat: np.ndarray) -> State:
        """The state in NumPy arrays, or states with the leading axes of `flat`."""
        pieces = np.split(flat, np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1], axis=-1)
        shapes = [(*flat.shape[:-1], *shape) for shape in self.shapes]
        leaves = [a.reshape(s).astype(d) for a, s, d in zip(pieces, shapes, self.dtypes, strict=True)]
        return jax.tree.unflatten(self.tree, leaves)


def flattened(y0: State) -> tuple[np.ndarray, Unravel]:
    """Flatten a state to a float64 vector on the host, with the map back; `ravel_pytree` would compile twice."""
    leaves, tree = jax.tree.flatten(y0)
    flat = np.concatenate([np.asarray(leaf, float).ravel() for leaf in leaves])
    return flat, Unravel(tree, tuple(leaf.shape for leaf in leaves), tuple(leaf.dtype for leaf in leaves))


def flat_field(flow: AbstractFlow, unravel: Unravel, t0: float, flat: np.ndarray) -> FlatField:
    """Vector field of flat states, compiled once for all flows of one kind.

    A field that JAX cannot trace, because it calls NumPy or branches on its state, is called directly.
    """
    parts = taken_apart(flow)
    leaves, compiled = parts.leaves, of_one_kind(_compiled, parts, unravel)
    # one array for all numbers, because each argument takes a microsecond or two
    joined = [leaf.dtype == float and not leaf.weak_type and leaf.size <= JOINED for leaf in leaves]
    apart = [leaf for leaf, own in zip(leaves, joined, strict=True) if not own]
    within = [np.ravel(leaf) for leaf, own in zip(leaves, joined, strict=True) if own]
    numbers, ends = np.concatenate([[t0], flat, *within]), 1 + len(flat)
    try:
        field = compiled(tuple(leaf.shape if own else None for leaf, own in zip(leaves, joined, strict=True)))
        _check_real(field(apart, numbers))
    except Exception as error:  # noqa: BLE001  (a function for NumPy may raise anything when it is traced)
        try:
            for part in jax.tree.leaves(flow.vector_field(t0, unravel.on_host(flat))):
                _check_real(part)
        except Exception as direct:  # noqa: BLE001
            raise direct if isinstance(error, jax.errors.JAXTypeError) else error from None
        direct_field = field_on_host(flow)
        return lambda t, y: direct_field(t, unravel.on_host(y))

    def evaluated(t: float, y: np.ndarray) -> np.ndarray:
        numbers[0], numbers[1:ends] = t, y
        return np.asarray(field(apart, numbers), float)

    return evaluated


def field_on_host(flow: AbstractFlow) -> Callable[[Any, State], np.ndarray]:
    """Flat velocity of a state in NumPy arrays; of a function without a space without the checks of each call."""
    if type(flow) is FunctionFlow and isinstance(flow.space, Flat):
        rhs, parameters = flow.rhs, dict(flow.parameters)
        return lambda t, x: _on_host(rhs(t, x, **parameters))
    return lambda t, x: _on_host(flow.vector_field(t, x))


def shortened(
    flow: AbstractFlow, unravel: Unravel, field: FlatField, jacobian: FlatField | None = None
) -> tuple[FlatField, FlatField | None]:
    """Field and Jacobian, if there is one, as Python functions of numbers where they are short, which is faster.

    Where a number is not finite, the compiled functions decide.
    """
    parts = taken_apart(flow)
    leaves, programs = parts.leaves, of_one_kind(_programs, parts, unravel)
    if any(jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves if hasattr(leaf, "dtype")):
        return field, jacobian  # random keys are no numbers
    fixed = [entry for leaf in leaves for entry in np.asarray(leaf).ravel().tolist()]

    make = programs.short(leaves)
    short = field if make is None else make(fixed, field)
    if jacobian is None or (make := programs.short(leaves, jax.jacfwd)) is None:
        return short, jacobian
    flat = make(fixed, lambda t, y: jacobian(t, y).ravel())
    return short, lambda t, y: flat(t, y).reshape(len(y), len(y))


def flat_jacobian(
    flow: AbstractFlow, unravel: Unravel, field: FlatField, t0: float, flat: np.ndarray
) -> FlatField | None:
    """Jacobian of `flat_field` with respect to the state; None if it cannot be traced or differentiated.

    SciPy's finite differences are avoided. Near an equilibrium, where the field is small but its Jacobian is not, SciPy
    shrinks their increments until they drown in the rounding error of the field, and its implicit methods stall. A
    column that is not finite, as where a norm is zero, is replaced by a difference quotient. Large Jacobians with few
    entries are sparse matrices.
    """
    parts = taken_apart(flow)
    leaves, jacobian = parts.leaves, of_one_kind(_differentiated, parts, unravel)
    both = np.append(t0, flat)
    try:
        pattern = jacobian(leaves, both)[1]
    # a callback, or a function with only a `vjp` rule
    except (jax.errors.JAXTypeError, NotImplementedError, TypeError, ValueError):
        return None

    def evaluated(t: float, y: np.ndarray) -> Any:
        both[0], both[1:] = t, y
        found = np.array(jacobian(leaves, both)[0], float)
        wrong = ~np.isfinite(found)
        for k in np.unique(pattern.columns[wrong]) if pattern else np.flatnonzero(np.any(wrong, axis=0)):
            other = y.copy()
            other[k] += INCREMENT * max(float(np.max(np.abs(y))), np.finfo(float).tiny / INCREMENT)
            column = (field(t, other) - field(t, y)) / (other[k] - y[k])
            if pattern:
                found[pattern.columns == k] = column[pattern.rows[pattern.columns == k]]
            else:
                found[:, k] = column
        return pattern.matrix(found) if pattern else found

    return evaluated


def _count(shapes: tuple[tuple[int, ...], ...]) -> int:
    """The numbers of a state."""
    return sum(map(math.prod, shapes))


def _check_real(v: Any) -> None:
    """Raise `ArgumentError` for complex numbers, of which NumPy would drop the imaginary part."""
    if np.iscomplexobj(v):
        raise ArgumentError("flow", "have a real velocity", "has a complex one")


def _on_host(v: Any) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in jax.tree.leaves(v)])


def _field(tree: Any, static: tuple, rest: Any, unravel: Unravel) -> Callable[[list[Array], Any], Array]:
    """Vector field of time and flat state in one array, for the arrays of a flow."""

    def field(leaves: list[Array], both: Any) -> Array:
        whole = put_together(leaves, tree, static, rest)
        return jnp.concatenate([jnp.ravel(v) for v in jax.tree.leaves(whole.vector_field(both[0], unravel(both[1:])))])

    return field


class Programs:
    """Scalar programs of the field of flows of one kind, of time, flat state and the flow's arrays of some shapes."""

    def __init__(self, tree: Any, static: tuple, rest: Any, unravel: Unravel):
        """Prepare the field, which is traced when a program is asked for."""
        self.field, self.unravel = _field(tree, static, rest, unravel), unravel
        self.size = _count(unravel.shapes)
        self.known: dict[Any, Any] = {}

    def whole(self, leaves: list[Array], changed: Callable[..., Any] = lambda fn: fn) -> Program | None:
        """The program of a change of the field as a function of the state; None if it has none."""

        def fn(t: Array, x: Array, *given: Array) -> Array:
            return changed(lambda x: self.field(list(given), jnp.append(t, x)))(x)

        key = (changed, *((leaf.shape, leaf.dtype) for leaf in leaves))
        if key not in self.known:
            shaped = [jax.ShapeDtypeStruct(*one) for one in key[1:]]
            try:
                self.known[key] = scalar_program(fn, (), (self.size,), *shaped, drop_zeros=True)
            except Exception:  # noqa: BLE001  (a function for NumPy may raise anything when it is traced)
                self.known[key] = None
        return self.known[key]

    def short(self, leaves: list[Array], *changed: Callable[..., Any]) -> Callable[..., Any] | None:
        """A maker of a Python function for the same, or None for a large state, other types and a long program."""
        if self.size > SMALLEST or any(dtype != np.float64 for dtype in self.unravel.dtypes):
            return None
        program = self.whole(leaves, *changed)
        if program is not None and program not in self.known:
            self.known[program] = field_maker(program)
        return None if program is None else self.known[program]


_programs = functools.lru_cache(maxsize=32)(Programs)


@functools.lru_cache(maxsize=32)
def _compiled(tree: Any, static: tuple, rest: Any, unravel: Unravel) -> Callable[[tuple], Callable[..., Array]]:
    """Makers of compiled fields by the shapes of the flow's arrays that follow time and state; None for the others."""
    field, size = _field(tree, static, rest, unravel), 1 + _count(unravel.shapes)

    @functools.lru_cache(maxsize=32)
    def of_shapes(shapes: tuple[tuple[int, ...] | None, ...]) -> Callable[[list[Array], Any], Array]:
        def joined(apart: list[Array], numbers: Any) -> Array:
            leaves, others, end = [], iter(apart), size
            for shape in shapes:
                if shape is None:
                    leaves.append(next(others))
                else:
                    begin, end = end, end + math.prod(shape)
                    leaves.append(numbers[begin:end].reshape(shape))
            return field(leaves, numbers[:size])

        return jax.jit(joined)

    return of_shapes


@functools.lru_cache(maxsize=32)
def _differentiated(tree: Any, static: tuple, rest: Any, unravel: Unravel) -> Callable[[list[Array], Any], Any]:
    """Jacobian for the arrays of a flow: the matrix and None, or its entries and their pattern if they are few."""
    field, programs = _field(tree, static, rest, unravel), Programs(tree, static, rest, unravel)

    def whole(leaves: list[Array], both: Array) -> Array:
        one = lambda direction: jax.jvp(functools.partial(field, leaves), (both,), (jnp.append(0.0, direction),))[1]
        return jax.lax.map(one, jnp.eye(both.size - 1), batch_size=COLUMNS).T

    def compressed(pattern: Pattern, leaves: list[Array], both: Array) -> Array:
        at_time = lambda x: field(leaves, jnp.append(both[0], x))
        return entries_of(at_time, both[1:], pattern.seeds, pattern.group, pattern.rows)

    known: dict[Any, tuple[Pattern | None, Callable[..., Array]]] = {}

    def jacobian(leaves: list[Array], both: Any) -> tuple[Array, Pattern | None]:
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        if shapes not in known:
            program = programs.whole(leaves) if len(both) > SMALLEST else None
            pattern = None if program is None else sparse_pattern(program, len(both) - 1)
            known[shapes] = pattern, jax.jit(functools.partial(compressed, pattern) if pattern else whole)
        pattern, function = known[shapes]
        return function(leaves, both), pattern

    return jacobian
