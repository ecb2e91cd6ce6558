"""Check the arguments of public functions by their annotations, so that bad input gets one sentence."""

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable
from types import UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import jax.numpy as jnp
import numpy as np
from jaxtyping import AbstractArray, Array, Float, Key

from dynsim._core.types import ArrayLike
from dynsim._core.validation import function, instance, integer, random_key, real_or_exact, reals
from dynsim.errors import ArgumentError, shown

P = ParamSpec("P")
R = TypeVar("R")


def _members(hint: Any) -> set[Any]:
    """The members of a union; a union with a name of its own, as NumPy's ArrayLike from Python 3.12 on, is one."""
    return {*get_args(hint)} or {hint}


LIKE = _members(ArrayLike)
KINDS = {
    "str": "a word", "ndarray": "an array", "AbstractFlow": "a flow", "AbstractMap": "a map",
    "AbstractSpace": "a space", "AbstractIntegrator": "an integrator",
}  # fmt: skip
"""What classes are called in errors; others by their names."""


def checked(fn: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function by its annotations before it runs.

    Arrays with annotated axes must have that many, and axes of one name must have one length in all arguments. Lists
    of numbers become arrays. Classes, numbers, words and functions are checked; other annotations are not.

    Raises:
        ValueError: when the function is called with other arguments.
    """
    taken = inspect.signature(fn)
    hints = functools.cache(lambda: get_type_hints(fn))

    @functools.wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        bound, lengths = taken.bind(*args, **kwargs), {}
        for name, value in bound.arguments.items():
            if taken.parameters[name].kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                bound.arguments[name] = _fitting(name, value, hints().get(name, Any), lengths)
        return fn(*bound.args, **bound.kwargs)

    return run


def check_fields(module: Any) -> None:
    """Check the fields of a module by their annotations, as `checked` does for arguments; lists become arrays."""
    hints, lengths = get_type_hints(type(module)), {}
    for field in dataclasses.fields(module):
        given = getattr(module, field.name)
        fitting = _fitting(field.name, given, hints[field.name], lengths)
        if fitting is not given:
            object.__setattr__(module, field.name, fitting)


def _fitting(name: str, value: Any, hint: Any, lengths: dict[str, tuple[int, str]]) -> Any:
    """The argument as its annotation promises it."""
    hint = Union[hint.__constraints__] if isinstance(hint, TypeVar) else hint  # noqa: UP007
    options = set(get_args(hint)) if get_origin(hint) in (Union, UnionType) else {hint}
    if value is None and type(None) in options:
        return None
    options -= {type(None)}
    if Any in options:
        return value
    arrays = [one for one in options if isinstance(one, type) and issubclass(one, AbstractArray)]
    if options >= LIKE or float in options:
        found = real_or_exact(name, value)
        if float in options and found.ndim:
            raise ArgumentError(name, "be a real number", f"is {shown(value)}")
        rounded = _rounded(name, found) if found.dtype == object else value
        return rounded if float in options else value
    if arrays and arrays[0].dtype is Key:
        return random_key(name, value)
    if arrays:
        return _array(name, value, arrays, lengths)
    if options == {bool}:
        return instance(name, value, bool | np.bool_, "True or False")
    if options == {int}:
        return integer(name, value)
    if get_origin(hint) is Callable:
        return function(name, value, "its arguments", None)
    if all(isinstance(one, type) and get_origin(one) is None for one in options):
        what = sorted(KINDS.get(one.__name__, f"a `{one.__name__}`") for one in options)
        return instance(name, value, functools.reduce(operator.or_, options), " or ".join(what))
    return value


def _rounded(name: str, exact: Any) -> Any:
    """Exact numbers as floats."""
    try:
        return exact.astype(float)[()]
    except OverflowError:
        raise ArgumentError(name, "lie in the range of floats", "is larger") from None


def _array(name: str, value: Any, hints: list[Any], lengths: dict[str, tuple[int, str]]) -> Any:
    """An array with the axes of its annotation; it becomes one of a promised type if it is of none."""
    found = reals(name, value)
    axes, shape = hints[0].dim_str.split(), tuple(found.shape)
    free = [axis for axis in axes if axis.startswith(("*", "..."))]
    before = axes.index(free[0]) if free else len(axes)
    after = len(axes) - before - len(free)
    must = f"have shape ({', '.join(axes)}{',' * (len(axes) == 1)})" if axes else "be one number"
    if axes and 0 in shape:
        raise ArgumentError(name, "not be empty", f"has shape {shape}")
    if len(shape) < before + after or (not free and len(shape) > before):
        raise ArgumentError(name, must, f"has shape {shape}")
    fixed = zip(axes[:before] + axes[len(axes) - after :], shape[:before] + shape[len(shape) - after :], strict=True)
    for axis, size in fixed:
        length, where = lengths.setdefault(axis, (size, name))
        if size != length:
            raise ArgumentError(name, f"{must} with {axis} = {length}, as in `{where}`", f"has shape {shape}")
    if hints[0].dtype is Float and not jnp.issubdtype(found.dtype, jnp.floating):
        found = found.astype(float)
    kinds = [hint.array_type for hint in hints]
    return found if isinstance(found, tuple(kinds)) else (jnp.asarray if Array in kinds else np.asarray)(found)
