"""Functions that are called thousands of times from the host, as a continuation does at each step: compiled once."""

import functools
import logging
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.errors import JaxRuntimeError

from dynsim.programs import Programmed

ARRAYS = (jax.Array, np.ndarray, np.generic)
_CALLBACKS = logging.getLogger("jax._src.callback")


def _not_a_failure(record: logging.LogRecord) -> bool:
    """Return whether JAX logs anything else than the traceback of a check that fails, which Equinox's error tells."""
    return record.getMessage() != "jax.pure_callback failed"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of systems and arrays, as `equinox.filter_jit` does, with half of its overhead per call.

    Arrays of the arguments, JAX's and NumPy's, and numbers of NumPy are traced; all other leaves, hashable, are part of
    the program. There are no keyword arguments, and every result is an array. Results are ready when the call returns.

    In `without_compiling` a function with a short program is evaluated by NumPy, and its results are NumPy's arrays.

    Raises:
        equinox.EquinoxRuntimeError: where a check of `equinox.error_if` fails in the program.
    """

    def run(given: tuple[Any, tuple[Any, ...]], arrays: list[Any]) -> Any:
        tree, others = given
        leaves = (other if array is None else array for array, other in zip(arrays, others, strict=True))
        return function(*jax.tree.unflatten(tree, leaves))

    program, with_messages = jax.jit(run, static_argnums=0), eqx.filter_jit(function)
    programmed = Programmed(function)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        evaluated = programmed.at(*args)
        if evaluated is not None:
            return evaluated()
        leaves, tree = jax.tree.flatten(args)
        arrays = [leaf if isinstance(leaf, ARRAYS) else None for leaf in leaves]
        others = tuple(leaf if array is None else None for array, leaf in zip(arrays, leaves, strict=True))
        _CALLBACKS.addFilter(_not_a_failure)
        try:
            return jax.block_until_ready(program((tree, others), arrays))
        except (JaxRuntimeError, ValueError):
            return with_messages(*args)  # fails again, with the message of the check alone
        finally:
            _CALLBACKS.removeFilter(_not_a_failure)

    return call
