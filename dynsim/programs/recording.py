"""Trace a JAX function once, and record it as a list of scalar operations.

Moves of entries are carried out while recording, calls are inlined, and loops of known length are unrolled.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np

from dynsim._core import settings as _settings  # noqa: F401  (made before the first array exists)
from dynsim.programs.arrays import EXACT, NUMPY
from dynsim.programs.moves import INDICES, MOVES, fill_value, gathered
from dynsim.programs.program import Program, ProgramError
from dynsim.programs.recorder import LARGEST, LIMIT, Entries, Recorder
from dynsim.programs.reductions import CONTRACTIONS

CALLS = {
    "pjit": "jaxpr", "jit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
    "remat": "jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr", "custom_lin": "jaxpr",
}  # fmt: skip
"""Primitives that call a function, with the parameter that holds the function."""
RECORDED = frozenset((*NUMPY, *MOVES, *CONTRACTIONS, "gather"))
TOTAL = {"lt_to": "lt", "le_to": "le"}
"""Comparisons in which NaN is the largest number, and those of numbers."""
EXPANSIONS: dict[str, Callable[..., Any]] = {
    "one_minus_square": lambda a: 1 - a * a,
    "log2": lambda a: jnp.log(a) / math.log(2),
    "polynomial": lambda a, *coefficients: functools.reduce(lambda value, k: value * a + k, coefficients[::-1]),
}
"""Primitives of newer versions of JAX as functions of others."""
EFFECTS = ("callback", "infeed", "outfeed", "rng_uniform")  # parts of the names of primitives with side effects


def scalar_program(
    fn: Callable[..., Any],
    *arguments: Any,
    dtype: Any = float,
    drop_zeros: bool = False,
    limit: int = LIMIT,
    lookups: bool = False,
) -> Program:
    """List the scalar operations of a function of arrays, traced once by JAX.

    ```python
    >>> program = scalar_program(lambda x, mu: jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]]), (2,), ())
    >>> program
    Program of ((2,), ()): 5 operations, 1 constant
    >>> evaluate(program, np.array([[0.5, 1.0], [2.0, 0.0]]), 1.0)
    array([[ 1.  ,  0.25],
           [ 0.  , -2.  ]])
    ```

    Moves of entries (slices, products of shapes, gathers and scatters at constant indices) are carried out while
    recording; sums, products of matrices, cumulative sums, `argmax` and both sides of `lax.cond` become scalar
    operations; loops whose length does not depend on the input are unrolled.

    Args:
        fn: a function of arrays that returns an array or a tree of arrays.
        arguments: what describes each argument: a shape, `()` for a scalar, or a tree of arrays or of
            `jax.ShapeDtypeStruct` whose types are kept.
        dtype: the type of arguments that are described by a shape.
        drop_zeros: leave out products with the constant zero, of which derivatives have many, also where the other
            factor may be infinite or NaN.
        lookups: record table look-ups at one index that depends on the input, as in `jnp.interp`, as selections among
            all entries.
        limit: the most operations; the record of 200,000 takes about 2 s and 100 MB, and more are faster compiled.

    Raises:
        ProgramError: for an operation that is no list of scalar ones, such as a loop whose end depends on the input, a
            gather at an index that does, a sort, a factorisation or a callback, by its name; and for a program that
            would have more operations than the limit.
    """
    described = [_described(one, dtype) for one in arguments]
    traced, shaped = jax.make_jaxpr(lambda *given: fn(*given), return_shape=True)(*described)  # fn may have no hash
    leaves, structure = jax.tree.flatten(tuple(described))
    sizes = [math.prod(leaf.shape) for leaf in leaves]
    recorder, first, given = Recorder(sum(sizes), drop_zeros, limit, lookups), 0, []
    for leaf, size in zip(leaves, sizes, strict=True):
        given.append(Entries(np.arange(first, first + size).reshape(leaf.shape), np.dtype(leaf.dtype)))
        first += size
    found = _walk(recorder, traced.jaxpr, traced.consts, given)
    constants, operations, outputs = recorder.pruned([recorder.placed(v) for v in found])
    shapes, dtypes = tuple(leaf.shape for leaf in leaves), tuple(np.dtype(leaf.dtype) for leaf in leaves)
    kinds = tuple(np.dtype(v.dtype) for v in found)
    return Program(shapes, dtypes, structure, constants, operations, tuple(outputs), kinds, jax.tree.structure(shaped))


def program_or_none(fn: Callable[..., Any], *arguments: Any, **options: Any) -> Program | None:
    """List operations as `scalar_program` does, or return None for a function that has no list or cannot be traced."""
    try:
        return scalar_program(fn, *arguments, **options)
    except (ProgramError, jax.errors.JAXTypeError, TypeError, ValueError, AttributeError, NotImplementedError):
        return None


def jacobian_program(fn: Callable[..., Any], *arguments: Any, dtype: Any = float, drop_zeros: bool = False) -> Program:
    """List the scalar operations of the derivatives of a function by its first argument, in forward mode.

    See `scalar_program` for the arguments and the errors.
    """
    return scalar_program(jax.jacfwd(fn), *arguments, dtype=dtype, drop_zeros=drop_zeros)


def _described(argument: Any, dtype: Any) -> Any:
    """Describe the shapes and types of an argument."""
    if isinstance(argument, tuple) and all(isinstance(n, int | np.integer) for n in argument):
        return jax.ShapeDtypeStruct(argument, np.dtype(dtype))
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), jnp.result_type(leaf)), argument)


def _walk(recorder: Recorder, program: Any, constants: Any, arguments: list[Any]) -> list[Any]:
    """Record the equations of a traced function, and return its outputs: recorded entries or constants."""
    values: dict[Any, Any] = dict(zip(program.constvars, map(_value, constants), strict=True))
    values.update(zip(program.invars, arguments, strict=True))
    read = lambda v: np.asarray(v.val, v.aval.dtype) if isinstance(v, jax.extend.core.Literal) else values[v]  # pyright: ignore[reportAttributeAccessIssue]
    for equation in program.eqns:
        recorder.spend()
        found = _recorded(recorder, equation, [read(v) for v in equation.invars])
        values.update(zip(equation.outvars, found, strict=True))
    return [read(v) for v in program.outvars]


def _value(constant: Any) -> Any:
    """Convert a constant to a NumPy array; random keys raise an error."""
    extended = jnp.issubdtype(getattr(constant, "dtype", float), jax.dtypes.extended)
    return constant if extended else np.asarray(constant)


def _recorded(recorder: Recorder, equation: Any, given: list[Any]) -> list[Any]:
    """Record one equation, and return its outputs."""
    name, params = equation.primitive.name, equation.params
    if any(part in name for part in EFFECTS):
        raise ProgramError(f"`{name}`")
    if max((math.prod(v.aval.shape) for v in equation.outvars), default=0) > LARGEST:
        raise ProgramError(f"`{name}` with more than {LARGEST:,} entries")
    if name in CALLS:
        inner = params[CALLS[name]]
        closed = hasattr(inner, "jaxpr")
        return _walk(recorder, inner.jaxpr if closed else inner, inner.consts if closed else (), given)
    if not any(isinstance(v, Entries) for v in given):
        return _constants(equation, given)
    # From JAX 0.12 on, functions such as `searchsorted` are primitives that say of what they consist.
    expansion = params["_prim"].expand if name == "call_hi_primitive" else EXPANSIONS.get(name)
    if expansion is not None:
        traced = jax.make_jaxpr(expansion)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars))
        return _walk(recorder, traced.jaxpr, traced.consts, given)
    if name in LOOPS:
        return LOOPS[name](recorder, params, given)
    if name in TOTAL and recorder.lookups:
        return [Entries(_total(recorder, TOTAL[name], *map(recorder.placed, given)), np.dtype(bool))]
    if name not in RECORDED:
        raise ProgramError(f"`{name}`")
    dtype = np.dtype(equation.outvars[0].aval.dtype)
    if dtype.kind == "c":
        raise ProgramError(f"`{name}` with complex numbers")
    if name in MOVES or name == "gather":
        return _moved(recorder, equation, given)
    if name in CONTRACTIONS:
        return [Entries(CONTRACTIONS[name](recorder, params, given, dtype), dtype)]
    return [Entries(_entrywise(recorder, name, params, given, dtype), dtype)]


def _constants(equation: Any, given: list[Any]) -> list[Any]:
    """Evaluate an equation on constants, in NumPy where it is exact, otherwise in JAX."""
    name, params, variables = equation.primitive.name, equation.params, equation.outvars
    dtype = variables[0].aval.dtype if variables else None
    plain = all(isinstance(v, np.ndarray) and v.dtype.kind in "fiub" for v in given)
    with np.errstate(all="ignore"):
        if plain and name in MOVES:
            found = MOVES[name](params, *given)
            return found if equation.primitive.multiple_results else [found]
        if name == "iota":
            along = np.arange(params["shape"][params["dimension"]], dtype=params["dtype"])
            shape = [-1 if k == params["dimension"] else 1 for k in range(len(params["shape"]))]
            return [np.broadcast_to(along.reshape(shape), params["shape"])]
        if plain and name in EXACT:
            parameter = _parameter(name, params)
            return [np.asarray(NUMPY[name](*given, *([] if parameter is None else [parameter])), dtype)]
    found = equation.primitive.bind(*(jnp.asarray(v) for v in given), **params)
    return [_value(v) for v in (found if equation.primitive.multiple_results else [found])]


def _total(recorder: Recorder, name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Record a comparison in which NaN is the largest number, which `jnp.searchsorted` uses; zeros have no sign."""
    kind = np.dtype(bool)
    last = recorder.each("ne", right, right, dtype=kind)
    if name == "lt":
        last = recorder.each("and", last, recorder.each("eq", left, left, dtype=kind), dtype=kind)
    return recorder.each("or", recorder.each(name, left, right, dtype=kind), last, dtype=kind)


def _parameter(name: str, params: dict[str, Any]) -> Any:
    """Get the parameter of an elementwise operation, or None."""
    if name == "convert_element_type":
        return np.dtype(params["new_dtype"])
    return params["y"] if name == "integer_pow" else int(params["rounding_method"]) if name == "round" else None


def _entrywise(recorder: Recorder, name: str, params: dict[str, Any], given: list[Any], dtype: np.dtype) -> np.ndarray:
    if name == "convert_element_type" and given[0].dtype == dtype:
        return given[0].where
    return recorder.each(name, *map(recorder.placed, given), dtype=dtype, parameter=_parameter(name, params))


def _moved(recorder: Recorder, equation: Any, given: list[Any]) -> list[Entries]:
    """Apply an operation that moves array entries to their value numbers."""
    name, params = equation.primitive.name, equation.params
    first = INDICES.get(name, 1 if name == "gather" else len(given))
    numbered = [*map(recorder.placed, given[:first]), *given[first:]]
    dtypes = [np.dtype(v.aval.dtype) for v in equation.outvars]
    if name == "gather":
        outside = recorder.constant(fill_value(params, dtypes[0]), dtypes[0])
        move = lambda x, indices: gathered(params, x, indices, outside)
    else:
        move = functools.partial(MOVES[name], params)
    moving = [k for k in range(first, len(given)) if isinstance(given[k], Entries)]
    axis = _looked_up_axis(name, params, moving) if recorder.lookups else None
    if not moving:
        found = move(*numbered)
    elif axis is None:
        raise ProgramError(f"`{name}` at an index that depends on the input")
    else:
        found = _looked_up(recorder, axis, move, numbered, moving[0], dtypes[0])
    many = found if equation.primitive.multiple_results else [found]
    return [Entries(v, dtype) for v, dtype in zip(many, dtypes, strict=True)]


def _looked_up_axis(name: str, params: dict[str, Any], moving: list[int]) -> int | None:
    """The axis of a table that its only varying index belongs to; None if the look-up is of another kind."""
    if name == "dynamic_slice" and len(moving) == 1:
        return moving[0] - 1
    mapped = params["dimension_numbers"].start_index_map if name == "gather" else ()
    return mapped[0] if moving and len(mapped) == 1 else None


def _looked_up(
    recorder: Recorder, axis: int, move: Callable[..., np.ndarray], numbered: list[Any], at: int, dtype: np.dtype
) -> np.ndarray:
    """Record a look-up in a table: a selection among the entries that the values of one index lead to.

    `axis` is the one of the table that the index belongs to. The values include one below and one above those in
    bounds, for which a gather may fill in another value.
    """
    index, wide, narrow = numbered[at], np.dtype(np.int64), np.dtype(np.int32)
    values = range(-1, numbered[0].shape[axis] + 1)
    recorder.check(len(values))
    cases = []
    for k in values:
        given = list(numbered)
        given[at] = np.full(index.where.shape, k)
        cases.append(np.asarray(move(*given)))
    where = index.where[..., 0] if index.where.ndim else index.where
    for name, operands, to in (
        ("convert_element_type", (where,), wide),
        ("add", (where, 1), wide),
        ("clamp", (0, where, len(values) - 1), wide),
        ("convert_element_type", (where,), narrow),
    ):
        placed = [recorder.placed(np.asarray(v, to)) if isinstance(v, int) else where for v in operands]
        parameter = to if name == "convert_element_type" else None
        where = recorder.each(name, *placed, dtype=to, parameter=parameter)
    spread = where.reshape(where.shape + (1,) * (cases[0].ndim - where.ndim))
    return recorder.each("select_n", spread, *cases, dtype=dtype)


def _scanned(recorder: Recorder, params: dict[str, Any], given: list[Any]) -> list[Any]:
    """Unroll a scan, and return its carry and stacked outputs."""
    inner, carried = params["jaxpr"], params.get("num_carry")
    if carried is None:  # JAX 0.12 and newer
        constants, carry, rows = map(list, params["ft_in"].update(given).unpack())
        carried = len(carry)
    else:
        fixed = params["num_consts"]
        constants, carry, rows = given[:fixed], given[fixed : fixed + carried], given[fixed + carried :]
    at = lambda v, k: Entries(np.asarray(v.where[k]), v.dtype) if isinstance(v, Entries) else v[k]
    turns, passes = range(params["length"]), []
    for k in reversed(turns) if params["reverse"] else turns:
        found = _walk(recorder, inner.jaxpr, inner.consts, [*constants, *carry, *(at(v, k) for v in rows)])
        carry = found[:carried]
        passes.append(found[carried:])
    passes = passes[::-1] if params["reverse"] else passes
    kept = inner.out_avals[carried:]
    stacked = [_stacked(recorder, [one[k] for one in passes], aval) for k, aval in enumerate(kept)]
    return [*carry, *stacked]


def _stacked(recorder: Recorder, parts: list[Any], aval: Any) -> Entries:
    """Stack the outputs of the iterations of a scan on a new first axis."""
    where = [recorder.placed(v) for v in parts]
    return Entries(np.stack(where) if where else np.empty((0, *aval.shape), int), np.dtype(aval.dtype))


def _looped(recorder: Recorder, params: dict[str, Any], given: list[Any]) -> list[Any]:
    """Unroll a while loop whose length does not depend on the input."""
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    count, fixed = params["cond_nconsts"], params["body_nconsts"]
    asked, constants, carry = given[:count], given[count : count + fixed], given[count + fixed :]
    while True:
        (goes_on,) = _walk(recorder, condition.jaxpr, condition.consts, [*asked, *carry])
        if isinstance(goes_on, Entries):
            raise ProgramError("`while` with an end that depends on the input")
        if not goes_on:
            return carry
        carry = _walk(recorder, body.jaxpr, body.consts, [*constants, *carry])


def _branched(recorder: Recorder, params: dict[str, Any], given: list[Any]) -> list[Any]:
    """Record the chosen branch of a conditional, or all branches and a selection if it depends on the input."""
    which, *rest = given
    branches = params["branches"]
    if not isinstance(which, Entries):
        one = branches[min(max(int(which), 0), len(branches) - 1)]
        return _walk(recorder, one.jaxpr, one.consts, rest)
    outputs = [_walk(recorder, one.jaxpr, one.consts, rest) for one in branches]
    dtypes = [np.dtype(aval.dtype) for aval in branches[0].out_avals]
    return [
        Entries(recorder.each("select_n", which.where, *map(recorder.placed, cases), dtype=dtype), dtype)
        for dtype, *cases in zip(dtypes, *outputs, strict=True)
    ]


LOOPS: dict[str, Callable[[Recorder, dict[str, Any], list[Any]], list[Any]]] = {
    "scan": _scanned,
    "while": _looped,
    "cond": _branched,
}
"""Recording functions of the primitives that contain other programs."""
