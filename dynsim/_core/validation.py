"""Validation of arguments as numbers, arrays and functions; every error message names the argument."""

import inspect
import math
import numbers
from collections.abc import Iterable
from types import UnionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim.errors import ArgumentError, reason, shown
from dynsim.exact import rationals

# Largest integer of 64 bits.
LARGEST = 2**63 - 1
# Longest axis of an array; the bytes of a square matrix of this size still fit in 64 bits, beyond which XLA aborts.
LONGEST = 2**29


def reals(name: str, value: Any) -> np.ndarray | jax.Array:
    """Check that a value holds real numbers; JAX arrays are returned unchanged, others as NumPy arrays.

    Raises:
        ValueError: for anything other than real numbers.
    """
    if isinstance(value, jax.Array):
        real_type = jnp.issubdtype(value.dtype, jnp.number) and not jnp.issubdtype(value.dtype, jnp.complexfloating)
        if not real_type and value.dtype != bool:
            raise ArgumentError(name, "hold real numbers", f"holds {value.dtype.name}")
        return value
    try:
        found = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(name, "be an array of real numbers", f"is not ({reason(error)})") from None
    if found.dtype.kind not in "biuf":
        raise ArgumentError(name, "hold real numbers", f"holds {found.dtype.name}: {shown(value)}")
    return found


def real_or_exact(name: str, value: Any) -> np.ndarray | jax.Array:
    """Check that a value holds real numbers, as `reals` does, or fractions, which become an array of objects."""
    try:
        found = value if isinstance(value, jax.Array) else np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(name, "be an array of real numbers", f"is not ({reason(error)})") from None
    exact = found.dtype == object and all(isinstance(entry, numbers.Real) for entry in np.ravel(found))
    return found if exact else reals(name, found if isinstance(found, jax.Array) or found.ndim else value)


def floats_or_rationals(name: str, value: Any) -> np.ndarray:
    """Convert an array of objects, such as fractions, to Fractions, and one of other real numbers to floats."""
    try:
        found = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(name, "hold numbers", f"does not ({reason(error)})") from None
    return rationals(name, found) if found.dtype == object else np.asarray(reals(name, found), float)


def real(name: str, value: Any, *, positive: bool = False) -> jax.Array:
    """Check one finite real number and return it as a scalar JAX array; a traced value is not checked.

    Raises:
        ValueError: for anything else, or if the number must be positive and is not.
    """
    kind = "be a positive number" if positive else "be a real number"
    try:
        found = reals(name, value)
    except ArgumentError:
        raise ArgumentError(name, kind, f"is {shown(value)}") from None
    if found.ndim:
        raise ArgumentError(name, kind, f"has shape {found.shape}")
    if not isinstance(found, Tracer):
        if not math.isfinite(float(found)):
            raise ArgumentError(name, "be finite", f"is {float(found):g}")
        if positive and not float(found) > 0:
            raise ArgumentError(name, "be positive", f"is {float(found):g}")
    return jnp.asarray(found, float)


def not_negative(name: str, value: Any) -> jax.Array:
    """Check one finite nonnegative number, as `real` does; raise `ValueError` for anything else."""
    found = real(name, value)
    if not isinstance(found, Tracer) and float(found) < 0:
        raise ArgumentError(name, "not be negative", f"is {float(found):g}")
    return found


def number(name: str, value: Any, *, must: str = "be positive", infinite: bool = False) -> float:
    """Check one positive number and return it as a float; infinity is accepted if `infinite`.

    Raises:
        ValueError: for anything else.
    """
    array = isinstance(value, np.ndarray | jax.Array)
    try:
        found = float(value) if isinstance(value, numbers.Real) or (array and value.ndim == 0) else math.nan
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not found > 0 or (found == math.inf and not infinite):
        raise ArgumentError(name, must, f"is {shown(value)}")
    return found


def integer(name: str, value: Any, *, least: float = -math.inf, most: int = LARGEST) -> int:
    """Check an integer from `least` to `most`; raise `ValueError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentError(name, "be an integer", f"is {shown(value)}")
    found = int(value)
    if found < least:
        raise ArgumentError(name, f"be at least {least}", f"is {found}")
    if found > most:
        raise ArgumentError(name, f"be at most {most}", f"is {found if found < 10**30 else 'larger'}")
    return found


def size(name: str, value: Any) -> int:
    """Check the length of an axis of an array, at least 1; raise `ValueError` for anything else."""
    return integer(name, value, least=1, most=LONGEST)


def float_dtype(name: str, value: Any) -> np.dtype:
    """Check the type of floating-point numbers; raise `ValueError` for anything else."""
    try:
        found = jnp.dtype(value)
    except (TypeError, ValueError):
        found = None
    if found is None or value is None or not jnp.issubdtype(found, jnp.floating):
        raise ArgumentError(name, "be a type of floating-point numbers, such as `float`", f"is {shown(value)}")
    return found


def times(name: str, values: Any) -> tuple[float, ...]:
    """Check a sequence of finite times and return it sorted; raise `ValueError` for anything else."""
    if not isinstance(values, Iterable):
        raise ArgumentError(name, "be a sequence of times", f"is {shown(values)}")
    found = reals(name, values if isinstance(values, np.ndarray | jax.Array) else [*values])
    if found.ndim != 1 or not np.all(np.isfinite(np.asarray(found))):
        raise ArgumentError(name, "be a sequence of finite times", f"is {shown(values)}")
    return tuple(sorted(float(value) for value in found))


def function(name: str, value: Any, of: str, count: int | None = 1, named: Iterable[str] = ()) -> Any:
    """Check that a value is a function of certain arguments.

    `of` describes the arguments in words. `count` is the number of positional arguments (None for any number), and
    `named` are further arguments passed by name.

    Raises:
        ValueError: if the value cannot be called, or not with these arguments.
    """
    if not callable(value) or isinstance(value, type):
        raise ArgumentError(name, f"be a function of {of}", f"is {shown(value)}")
    taken = signature_of(value)
    try:
        if count is not None:
            taken.bind(*(None,) * count, **dict.fromkeys(named))
    except TypeError:
        raise ArgumentError(name, f"be a function of {of}", f"{shown(value)} takes {taken}") from None
    return value


def signature_of(fn: Any) -> inspect.Signature:
    """The signature of a function; that of a function of anything for one without, as some that are written in C."""
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return inspect.signature(lambda *arguments, **options: None)


def choice(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    """Check that a value is one of several words; raise `ValueError` for any other."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(name, f"be one of {', '.join(choices)}", f"is {shown(value)}")
    return value


def instance(name: str, value: Any, kind: type | UnionType, what: str) -> Any:
    """Check that a value is an instance of a class, described by `what`; raise `ValueError` otherwise."""
    if not isinstance(value, kind):
        raise ArgumentError(name, f"be {what}", f"is {shown(value)}")
    return value


def instances(name: str, values: Any, kind: type | UnionType, what: str) -> tuple[Any, ...]:
    """Check that values are a sequence of instances of a class, described by `what`, and return them as a tuple."""
    if not isinstance(values, Iterable):
        raise ArgumentError(name, f"be {what}", f"is {shown(values)}")
    return tuple(instance(name, value, kind, what) for value in values)


def random_key(name: str, value: Any) -> jax.Array:
    """Check that a value is a random key; raise `ValueError` for anything else."""
    if not (isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key) and value.ndim == 0):
        raise ArgumentError(name, "be a random key such as `random_key(0, 'name')`", f"is {shown(value)}")
    return value


def sizes(name: str, value: Any, *, dimension: int | None = None, axes: int = 1) -> tuple[int, ...]:
    """Check the shape of an array and return it as a tuple; one number means a vector.

    Args:
        name: the name of the argument.
        value: nonnegative integers.
        dimension: the required last entry; any by default.
        axes: the least number of axes; unless it is zero, the last axis must not be empty.

    Raises:
        ValueError: for anything else.
    """
    found = (value,) if isinstance(value, int | np.integer) else value
    listed = isinstance(found, tuple | list) or isinstance(found, np.ndarray) and found.ndim == 1
    if not listed or not all(isinstance(n, int | np.integer) and n >= 0 for n in found):
        raise ArgumentError(name, "be a shape such as (3,)", f"is {shown(value)}")
    if len(found) < axes or axes and not found[-1]:
        raise ArgumentError(name, "have a last axis of at least 1 entry", f"is {shown(value)}")
    if dimension is not None and found[-1] != dimension:
        raise ArgumentError(name, f"end in {dimension}, the dimension of the space", f"is {shown(value)}")
    return tuple(int(n) for n in found)


def returned(name: str, fn: Any, *arguments: Any) -> Any:
    """Shapes and dtypes of what a function returns for these arguments, without running it.

    Raises:
        ValueError: if it returns anything other than arrays and numbers.
    """

    def arrays(*given: Any) -> Any:
        found = fn(*given)
        for leaf in jax.tree.leaves(found):
            if not isinstance(leaf, jax.Array | np.ndarray | np.generic | numbers.Number):
                raise ArgumentError(name, "return arrays of numbers", f"returns {shown(leaf)}")
        return found

    return jax.eval_shape(arrays, *arguments)


def box_sides(name: str, value: Any, count: int | None = None) -> np.ndarray:
    """Check a box, (low, high) for each component, (d, 2), and return all lower and all upper bounds, (2, d).

    Args:
        name: the name of the argument.
        value: the box.
        count: the number of components, d, if it is known.
    """
    sides = np.asarray(reals(name, value), float)
    if sides.ndim != 2 or sides.shape != (len(sides) if count is None else count, 2) or not len(sides):
        must = f"have shape ({'d' if count is None else count}, 2), (low, high) for each component"
        turned = ": transpose it" if sides.ndim == 2 and len(sides) == 2 and count in (None, sides.shape[1]) else ""
        raise ArgumentError(name, must, f"has shape {sides.shape}{turned}")
    if not (np.all(np.isfinite(sides)) and np.all(sides[:, 0] < sides[:, 1])):
        raise ArgumentError(name, "hold finite (low, high) for each component, low before high", f"is {sides.tolist()}")
    return sides.T
