"""Import a user's function and evaluate it once, and report each failure in one sentence with the user's line."""

import contextlib
import functools
import importlib
import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

from dynsim._core.user_code import is_ours, is_the_users, line_of, quoted, untraceable
from dynsim.errors import ArgumentError, nearest, reason
from dynsim.io.serialisation import execute_file, loaded_file
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow, FunctionMap, jax_errors, stacked
from dynsim.systems.named import components, listed

SHAPING = "`--tokens`, `--dimension`, `--initial`"  # options of `dynsim simulate` that set the shape of a state


def imported(path: str, argument: str = "system", *, beside: str = "") -> Any:
    """Import the object `file.py:name` or `module:name`; raise `ValueError` if it does not exist.

    A file is executed again, unless the import path `beside` names the same file: both objects then share one module.
    """
    where, colon, name = path.rpartition(":")
    if not colon:
        raise ArgumentError(argument, "be `file.py:name` or `module:name`", f"is `{path}`")
    same = where.endswith(".py") and beside.rpartition(":")[0] == where
    if where.endswith(".py") and not name:
        raise without_name(argument, where)
    module = loaded_file(where) if same else _module(where, argument)
    if not hasattr(module, name):
        names = [n for n in vars(module) if not n.startswith("_")]
        raise ArgumentError(argument, f"name an object in `{where}`", f"`{name}` does not exist{nearest(name, names)}")
    return getattr(module, name)


def without_name(argument: str, file: str) -> ArgumentError:
    """Build the error for a file given without the name of an object; it lists the names in the file."""
    module = executed(argument, file)
    here = lambda made: callable(made) and getattr(made, "__module__", "") == module.__name__
    is_one = lambda made: here(made) or isinstance(made, AbstractFlow | AbstractMap)
    names = tuple(name for name, made in vars(module).items() if is_one(made) and not name.startswith("_"))
    has = f"`{file}` is given without (it has {listed(names) or 'none'})"
    return ArgumentError(argument, f"be `{file}:NAME`, with the name of a function, a flow or a map", has)


def _module(where: str, argument: str) -> ModuleType:
    if where.endswith(".py"):
        return executed(argument, where)
    if not where or where.startswith("."):
        raise ArgumentError(argument, "be `file.py:name` or `module:name`", f"names the module `{where}`")
    with own_code(argument, f"name a module that can be imported: `{where}`"):
        return importlib.import_module(where)


def executed(name: str, file: str) -> ModuleType:
    """Execute a Python file as a fresh module; raise `ValueError` about the argument `name` if that fails."""
    if not Path(file).is_file():
        raise ArgumentError(name, "name a file", f"`{file}` does not exist")
    with own_code(name, f"name a file that can be imported: `{file}`"):
        return execute_file(file)  # under a module name that run files can store


@contextlib.contextmanager
def own_code(name: str, must: str) -> Iterator[None]:
    """Turn any exception of the user's code in this context into a `ValueError` that quotes the user's line.

    Args:
        name: the name of the argument that names the code.
        must: the requirement that the code violates.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        line = line_of(error)
        if isinstance(error, ArgumentError) and not line:  # a sentence of this package on the code as a whole
            raise
        if isinstance(error, jax.errors.JAXTypeError):
            raise ArgumentError(name, must, untraceable(error) if line else f"it {untraceable(error)}") from None
        raise ArgumentError(name, must, f"{line or 'it '}raised {_named(error)}") from None


def raised_by_user(error: BaseException) -> str:
    """Word an exception that the user's own code raised; "" if this package raised it.

    Frames of other packages do not count, since a library called with bad arguments is not at fault.
    """
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if is_the_users(f.filename) or is_ours(f.filename)), None)
    if last is None or is_ours(last.filename):
        return ""
    return f"Your code must run without an exception, but {line_of(error)}raised {_named(error)}."


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {reason(error)}"


def check_function(
    system: AbstractFlow | AbstractMap,
    x: jax.Array,
    *,
    traced: bool = True,
    options: str = SHAPING,
    other: str = "",
    by_names: bool = False,
) -> None:
    """Raise `ValueError` if a user's function fails at the state `x`, or does not return an array of its shape.

    With `traced` JAX must be able to trace it, as diffrax needs; SciPy takes NumPy functions too. JAX silently replaces
    an index out of range by the last one, so the function is also evaluated once with NumPy. The error names the
    `options` that set the shape, and suggests `other` for a function that JAX cannot trace. With `by_names` the shape
    of `x` comes from the names of the components, and a mismatch is reported about them.
    """
    function = _function(system)
    code = f"in JAX{other}" if traced else "in JAX or NumPy"
    see, time = f" (see {options})" if options else "", "k" if isinstance(system, AbstractMap) else "t"
    must = f"take ({time}, x) with x of shape {x.shape}{see}, {code}"
    returned: list[Any] = []  # the value before conversion: a number is refused although JAX would make it an array

    def look(t: Any, x: Any) -> None:
        with jax_errors():
            v = function(t, x)
        own = isinstance(system, FunctionFlow | FunctionMap)
        returned.append(stacked(v) if own and isinstance(v, list | tuple) and v else v)  # which SciPy takes too

    with own_code("system", must):
        try:
            jax.eval_shape(look, 0.0, x)
        except Exception as error:
            if traced:
                raise
            try:
                look(0.0, np.array(x))
            except Exception as direct:  # noqa: BLE001  (the function may raise anything)
                raise direct if isinstance(error, jax.errors.JAXTypeError) else error from None
    v = returned[-1]
    if by_names and np.ndim(v) == 1 and np.shape(v) != x.shape:
        components(system, v)
    if not hasattr(v, "shape") or not hasattr(v, "dtype") or v.shape != x.shape:
        kind = f"one of shape {v.shape}" if hasattr(v, "shape") else f"{type(v).__name__}"
        raise ArgumentError("system", f"return an array of shape {x.shape}", f"{definition(function)}returns {kind}")
    if v.dtype.kind not in "iuf":
        raise ArgumentError("system", "return real numbers", f"{definition(function)}returns {v.dtype.name}")
    if isinstance(system, FunctionFlow | FunctionMap):
        _check_indices(function, x, must)


def _function(system: AbstractFlow | AbstractMap) -> Callable[..., Any]:
    """Get the function of time and state of a flow or a map."""
    if isinstance(system, FunctionFlow):
        return functools.partial(system.rhs, **system.parameters)
    if isinstance(system, FunctionMap):
        return functools.partial(system.step_function, **system.parameters)
    return system.velocity if isinstance(system, AbstractFlow) else system.step


def _check_indices(function: Any, x: jax.Array, must: str) -> None:
    """Raise `ValueError` if the function indexes `x` out of range, which only NumPy reports."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            try:
                jax.eval_shape(lambda t: function(t, np.array(x)), 0.0)  # nothing is compiled
            except jax.errors.JAXTypeError:
                function(0.0, np.array(x))
        except IndexError as error:
            with own_code("system", must):
                raise error
        except Exception:  # noqa: BLE001  (a function for JAX need not take NumPy arrays)
            return


def definition(function: Any) -> str:
    """Quote the line that defines a function, "line 1 of `mine.py`, `def f(t, x):`, ", or "it " if it is unknown."""
    inner = function.func if isinstance(function, functools.partial) else function
    code = getattr(inspect.unwrap(inner), "__code__", None)
    return "it " if code is None else quoted(code.co_filename, code.co_firstlineno)
