"""Compile functions that the host calls thousands of times, such as those of a continuation step."""

import functools
import logging
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.errors import JaxRuntimeError

from dynsim.programs import Programmed
from dynsim.programs.programmed import ARRAYS

_CALLBACKS = logging.getLogger("jax._src.callback")


def _not_a_failure(record: logging.LogRecord) -> bool:
    """Filter out the traceback that JAX logs when a check fails; Equinox's error already reports it."""
    return record.getMessage() != "jax.pure_callback failed"


def compiled(function: Callable[..., Any], *, loops: bool = False) -> Callable[..., Any]:
    """Compile a function of systems and arrays like `equinox.filter_jit`, with half of the overhead per call.

    Arrays of JAX and NumPy, and NumPy scalars, are traced. All other leaves must be hashable and become part of the
    program. Keyword arguments are not supported, every result is an array, and results are ready when the call returns.

    In `without_compiling` a function with a short program is evaluated by NumPy, and its results are NumPy's arrays.
    One that `loops` until a condition holds has none, which need not be found out by tracing it.

    Raises:
        equinox.EquinoxRuntimeError: if a check of `equinox.error_if` fails in the program.
    """

    def run(given: tuple[Any, tuple[Any, ...]], arrays: list[Any]) -> Any:
        tree, others = given
        leaves = (other if array is None else array for array, other in zip(arrays, others, strict=True))
        return function(*jax.tree.unflatten(tree, leaves))

    program, with_messages = jax.jit(run, static_argnums=0), eqx.filter_jit(function)
    programmed = Programmed(function)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        evaluated = None if loops else programmed.at(*args)
        if evaluated is not None:
            return evaluated()
        leaves, tree = jax.tree.flatten(args)
        arrays = [leaf if isinstance(leaf, ARRAYS) else None for leaf in leaves]
        others = tuple(leaf if array is None else None for array, leaf in zip(arrays, leaves, strict=True))
        _CALLBACKS.addFilter(_not_a_failure)
        try:
            return jax.block_until_ready(program((tree, others), arrays))
        except (JaxRuntimeError, ValueError):
            return with_messages(*args)  # repeats the failure, but with the message of the check alone
        finally:
            _CALLBACKS.removeFilter(_not_a_failure)

    return call
