"""The scalar operations of a method's steps for one flow: recorded once, evaluated on lanes or written as a kernel."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim.integrators.lanes.method import Lane, Settings, TrialStep, begun, stepped, within
from dynsim.programs import Program, ProgramError, scalar_program
from dynsim.systems.base import AbstractFlow

LIMIT = 6000
"""Most scalar operations of a step: more take longer to compile than the lanes save."""


class Recorded(NamedTuple):
    """The programs of a method for one flow, and the shapes of their inputs.

    Attributes:
        begin: from a start (d,), the settings and the parameters to a `Lane`.
        step: from a `Lane`, the settings and the parameters to the next `Lane` and the `TrialStep`.
        inside: from a `TrialStep` and a time to the state (d,).
        size: number d of entries of the state.
        numbers: number of entries of the parameters.
        dtype: the type of the state.
    """

    begin: Program
    step: Program
    inside: Program
    size: int
    numbers: int
    dtype: np.dtype


def recorded(solver: dfx.AbstractERK, flow: AbstractFlow, y0: Any) -> Recorded:
    """Record the steps of a method for a flow, with the arrays of the flow as inputs; equal flows share the record.

    Args:
        solver: an explicit Runge-Kutta method with one tableau.
        flow: the flow; its floating-point arrays are taken in the type of the state.
        y0: the shapes and types of a state.

    Raises:
        ProgramError: for a field that is no list of scalar operations, or too long a list, or whose state or arrays
            have several types.
    """
    arrays, rest = eqx.partition(flow, eqx.is_array)
    leaves, tree = jax.tree.flatten(arrays)
    others, form = jax.tree.flatten(rest)
    starts, structure = jax.tree.flatten(y0)
    described = tuple((leaf.shape, np.dtype(leaf.dtype)) for leaf in starts)
    given = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    key = (solver, tree, given, form, tuple(others), tuple(map(type, others)), structure, described)
    try:
        hash(key)
    except TypeError as error:
        raise ProgramError(f"a part that cannot be compared ({error})") from None
    found = _recorded(*key)
    if isinstance(found, ProgramError):
        raise found
    return found


@functools.lru_cache(64)
def _recorded(solver: Any, tree: Any, given: Any, form: Any, others: Any, kinds: Any, structure: Any, starts: Any):
    """Record the steps, or return why they cannot be; the arguments are those parts of a flow that can be compared."""
    del kinds
    types = {dtype for _, dtype in starts}
    if len(types) != 1 or next(iter(types)).name not in ("float32", "float64"):
        return ProgramError(f"a state of types {', '.join(sorted(t.name for t in types))}")
    dtype = next(iter(types))
    if any(kind != dtype and kind.kind not in "fib" for _, kind in map(_plain, given)):
        return ProgramError("an array of another type than the state's, such as complex numbers or random keys")
    sizes, stages = [math.prod(shape) for shape, _ in starts], solver.tableau.num_stages
    if sum(sizes) * stages * stages > LIMIT:  # already the sums over stages
        return ProgramError(f"more than {LIMIT:,} operations in a step")
    ends = np.cumsum(sizes)[:-1].tolist()
    rest = jax.tree.unflatten(form, others)

    def field(leaves: Sequence[Any], t: Any, y: Any) -> Any:
        flow = eqx.combine(jax.tree.unflatten(tree, list(leaves)), rest)
        parts = [part.reshape(shape) for part, (shape, _) in zip(jnp.split(y, ends), starts, strict=True)]
        found = [
            jnp.ravel(part) for part in jax.tree.leaves(flow.vector_field(t, jax.tree.unflatten(structure, parts)))
        ]
        if not all(jnp.issubdtype(part.dtype, jnp.floating) for part in found):
            raise ProgramError("a velocity that is not real")
        return jnp.concatenate(found).astype(dtype)

    shaped, size = jax.ShapeDtypeStruct, sum(sizes)
    number, whole, flag = shaped((), dtype), shaped((), np.int32), shaped((), np.bool_)
    vector, ks = shaped((size,), dtype), shaped((stages, size), dtype)
    settings = Settings(number, number, number, number, number, whole)
    arrays = [shaped(shape, in_type(kind, dtype)) for shape, kind in given]
    lane = Lane(number, number, vector, vector, whole, whole, whole, flag, whole)
    trial = TrialStep(flag, number, number, vector, vector, ks)
    of = lambda leaves: functools.partial(field, leaves)
    try:
        return Recorded(
            scalar_program(lambda y, s, leaves: begun(solver, of(leaves), y, s), vector, settings, arrays, limit=LIMIT),
            scalar_program(lambda x, s, leaves: stepped(solver, of(leaves), x, s), lane, settings, arrays, limit=LIMIT),
            scalar_program(lambda step, t: within(solver, step, t), trial, number, limit=LIMIT),
            size,
            sum(math.prod(shape) for shape, _ in given),
            dtype,
        )
    except ProgramError as error:
        return error
    except Exception as error:  # noqa: BLE001  (of the user's field; who asked for lanes solves without, and tells)
        return ProgramError(f"what cannot be traced ({type(error).__name__})")


def _plain(described: Any) -> tuple[Any, Any]:
    """Give random keys, whose type NumPy lacks, a type that is refused."""
    shape, dtype = described
    return shape, np.dtype(dtype) if isinstance(dtype, np.dtype) else np.dtype(complex)


def in_type(given: Any, dtype: np.dtype) -> np.dtype:
    """Type in which an array of a flow is used: floating-point numbers have the type of the state."""
    return dtype if np.dtype(given).kind == "f" else np.dtype(given)
