"""Evaluate functions with short programs in NumPy, to save the time of compiling them."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import jax
import numpy as np

from dynsim.programs.numpy_evaluator import NumpyEvaluator
from dynsim.programs.program import Program, ProgramError
from dynsim.programs.recording import scalar_program

SHORT = 2000
"""Most operations: one evaluation takes a millisecond, and a second is saved that compiling them takes."""
ARRAYS = (jax.Array, np.ndarray, np.generic)

_first_answer: ContextVar[bool] = ContextVar("first_answer", default=False)


@contextlib.contextmanager
def without_compiling() -> Iterator[None]:
    """Evaluate small functions in NumPy in this context, which saves the compilation if only one answer is needed.

    Values differ from those of compiled programs by rounding; the tolerances of solvers are the same.
    """
    token = _first_answer.set(True)
    try:
        yield
    finally:
        _first_answer.reset(token)


def compiles_little() -> bool:
    """Test whether the current context is one of `without_compiling`."""
    return _first_answer.get()


class Programmed:
    """Cache of scalar programs of a function, one for each structure and shape of its arguments.

    JAX and NumPy arrays and NumPy numbers in the arguments are inputs; all other leaves must be hashable, and are part
    of the program.
    """

    def __init__(self, function: Callable[..., Any]):
        """Store the function, which is traced when it is first called."""
        self._function = function
        self._known: dict[Any, tuple[Program, NumpyEvaluator] | None] = {}

    def at(self, *arguments: Any) -> Callable[[], Any] | None:
        """Get the NumPy evaluator of the function, or None if it should be compiled or has no short program."""
        if not _first_answer.get():
            return None
        arrays, rest = _split(arguments)
        made = self._made(arrays, rest)
        return None if made is None else functools.partial(made[1], *arrays)

    def rows(self, fixed: tuple[Any, ...], *examples: Any) -> NumpyEvaluator | None:
        """Get a batched NumPy version of the function of its last arguments, with the first ones fixed.

        It is None if the function should be compiled or has no short program. `examples` are last arguments without
        batch axes.
        """
        if not _first_answer.get():
            return None
        arrays, rest = _split((*fixed, *examples))
        made, count = self._made(arrays, rest), len(_split(fixed)[0])
        return None if made is None else NumpyEvaluator(made[0], *arrays[:count])

    def _made(self, arrays: list[Any], rest: tuple[Any, tuple[Any, ...]]) -> tuple[Program, NumpyEvaluator] | None:
        key = (rest, tuple((np.shape(a), a.dtype) for a in arrays))
        if key not in self._known:
            tree, others = rest
            where = [k for k, other in enumerate(others) if other is _ARRAY]

            def function(*given: Any) -> Any:
                leaves = list(others)
                for k, a in zip(where, given, strict=True):
                    leaves[k] = a
                return self._function(*jax.tree.unflatten(tree, leaves))

            shaped = [jax.ShapeDtypeStruct(np.shape(a), a.dtype) for a in arrays]
            try:
                program = scalar_program(function, *shaped, limit=SHORT)
                self._known[key] = program, NumpyEvaluator(program)
            except ProgramError:
                self._known[key] = None
        return self._known[key]


_ARRAY = object()  # stands for an array among other leaves


def _split(arguments: tuple[Any, ...]) -> tuple[list[Any], tuple[Any, tuple[Any, ...]]]:
    """Separate the arrays in arguments from their structure and the other leaves."""
    leaves, tree = jax.tree.flatten(arguments)
    arrays = [leaf for leaf in leaves if isinstance(leaf, ARRAYS)]
    return arrays, (tree, tuple(_ARRAY if isinstance(leaf, ARRAYS) else leaf for leaf in leaves))
