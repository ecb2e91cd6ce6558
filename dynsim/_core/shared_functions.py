"""Functions with equal code and equal values around it, of which one stands for all, so that they share a program."""

import dis
import functools
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

ROOM = 512
"""Most functions that are remembered; the oldest is forgotten first."""
DEPTH = 4
"""Most functions that call each other and are compared by their code."""
LARGEST = 2**16
"""Most bytes of an array that is compared by its values."""
FIXED = {"analysis", "builtins", "cmath", "dynsim", "functools", "jax", "jaxlib", "math", "numpy", "operator", "scipy"}
"""Packages whose modules, classes and functions do not change while a program runs."""

_known: OrderedDict[Any, Callable[..., Any]] = OrderedDict()


def shared(tree: Any) -> Any:
    """A tree in which each plain function is replaced by an equal one that was seen before.

    Two functions are equal if their code is the same and so are all values that it refers to: closed-over and global
    numbers, words, arrays and functions. The one that stands for all keeps these values. Functions that refer to
    anything else, such as a list, an object, or a module or class of the user's, whose attributes may change, are left
    as they are.

    ```python
    >>> levels = [lambda x, level=level: x - level for level in (1.0, 1.0, 2.0)]
    >>> one, same, other = shared(levels)
    >>> one is same, one is other
    (True, False)
    ```
    """
    return jax.tree.map(lambda leaf: _representative(leaf) if isinstance(leaf, types.FunctionType) else leaf, tree)


def _representative(function: types.FunctionType) -> Callable[..., Any]:
    try:
        key, frozen = _key(function, DEPTH)
    except _OwnError:
        return function
    if key not in _known:
        _known[key] = frozen
        while len(_known) > ROOM:
            _known.popitem(last=False)
    return _known[key]


class _OwnError(Exception):
    """A function refers to something that may change."""


def _key(function: types.FunctionType, depth: int) -> tuple[Any, Callable[..., Any]]:
    """What equal functions have in common, and a function that keeps the values it refers to now."""
    if depth == 0 or function.__dict__:  # attributes of the user's, or of a decorator
        raise _OwnError
    code = function.__code__
    if _assigns(code):
        raise _OwnError
    try:
        closed = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a variable without a value yet
        raise _OwnError from None
    names = sorted(_names(code) & function.__globals__.keys())
    around = {name: function.__globals__[name] for name in names}
    parts = (closed, [around[name] for name in names], function.__defaults__ or (), function.__kwdefaults__ or {})
    kept = [[_value(v, depth) for v in (part.values() if isinstance(part, dict) else part)] for part in parts]
    values = [[pair[1] for pair in row] for row in kept]
    scope = {
        "__builtins__": function.__globals__.get("__builtins__", __builtins__),
        "__name__": function.__globals__.get("__name__"), **dict(zip(names, values[1], strict=True)),
    }  # fmt: skip
    cells = tuple(types.CellType(v) for v in values[0])
    made = types.FunctionType(code, scope, function.__name__, tuple(values[2]) or None, cells)
    made.__kwdefaults__ = dict(zip(function.__kwdefaults__ or {}, values[3], strict=True)) or None
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    keys = tuple(tuple(pair[0] for pair in row) for row in kept)
    return (code, function.__qualname__, tuple(names), tuple(function.__kwdefaults__ or ()), keys), made


@functools.lru_cache(maxsize=ROOM)
def _assigns(code: types.CodeType) -> bool:
    """Whether code, or a function in it, assigns to variables of its surroundings."""
    outer = set(code.co_freevars)
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return True
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in outer:
            return True
    return any(_assigns(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


def _names(code: types.CodeType) -> set[str]:
    """The names that code and the functions in it may look up."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _is_fixed(value: Any) -> bool:
    """Whether a value is a module, a class or a function of a package that does not change, or compiled by JAX."""
    if isinstance(value, types.BuiltinFunctionType):  # of a module or a class, or else a method of something
        owner = value.__self__
        return owner is None or (isinstance(owner, types.ModuleType | type) and _is_fixed(owner))
    if isinstance(value, types.ModuleType | type | types.FunctionType):
        home = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
        return (home or "").split(".")[0] in FIXED
    return isinstance(value, np.ufunc) or (
        callable(value) and type(value).__module__.split(".")[0] in ("jax", "jaxlib")
    )


def _value(value: Any, depth: int) -> tuple[Any, Any]:
    """What equal values have in common, and the value as it is now."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return (type(value), repr(value)), value
    if _is_fixed(value):
        return (value,), value
    if isinstance(value, types.FunctionType):
        return _key(value, depth - 1)
    if isinstance(value, tuple):
        pairs = [_value(v, depth) for v in value]
        return (type(value), tuple(pair[0] for pair in pairs)), value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiubc" and value.nbytes <= LARGEST:
        array = np.array(value)
        return (type(value), array.dtype.str, array.shape, array.tobytes()), array if array.ndim else value
    if isinstance(value, jax.Array) and not isinstance(value, Tracer):
        array = np.asarray(value) if value.nbytes <= LARGEST and value.dtype.kind in "fiubc" else None
        if array is not None:
            return (jax.Array, array.dtype.str, array.shape, array.tobytes()), value
    raise _OwnError
