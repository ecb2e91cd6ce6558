"""Evaluate functions with short programs in NumPy, to save the time of compiling them."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

import jax
import numpy as np

from dynsim.programs.numpy_evaluator import NumpyEvaluator
from dynsim.programs.program import Program, ProgramError
from dynsim.programs.python_function import python_function
from dynsim.programs.recording import scalar_program

SHORT = 2000
"""Most operations: one evaluation takes a millisecond, and a second is saved that compiling them takes."""
ARRAYS = (jax.Array, np.ndarray, np.generic)

PATIENCE = 30_000_000
"""Operations in Python of one answer, some two seconds, after which the rest is compiled."""

_operations_left: ContextVar[list[int] | None] = ContextVar("operations_left", default=None)


@contextlib.contextmanager
def without_compiling() -> Iterator[None]:
    """Evaluate small functions in NumPy in this context, which saves the compilation if only one answer is needed.

    Values differ from those of compiled programs by rounding; the tolerances of solvers are the same.
    """
    token = _operations_left.set([PATIENCE])
    try:
        yield
    finally:
        _operations_left.reset(token)


def compiles_little() -> bool:
    """Test whether the current context is one of `without_compiling`."""
    return _operations_left.get() is not None


def affordable(operations: int) -> int:
    """Get how many evaluations of so many operations Python may still do in this context before others are compiled."""
    left = _operations_left.get()
    return left[0] // operations if left else 0


def spend(operations: int) -> None:
    """Count operations in Python in this context."""
    left = _operations_left.get()
    if left:
        left[0] = max(0, left[0] - operations)


class Programmed:
    """Cache of scalar programs of a function, one for each structure and shape of its arguments.

    JAX and NumPy arrays and NumPy numbers in the arguments are inputs; all other leaves must be hashable, and are part
    of the program.
    """

    def __init__(self, function: Callable[..., Any]):
        """Store the function, which is traced when it is first called."""
        self._function = function
        self._known: dict[Any, tuple[Program, NumpyEvaluator] | None] = {}
        self._functions: dict[Program, Callable[..., list[float]] | None] = {}

    def at(self, *arguments: Any) -> Callable[[], Any] | None:
        """Get the NumPy evaluator of the function, or None if it should be compiled or has no short program."""
        if not compiles_little():
            return None
        arrays, rest = _split(arguments)
        made = self._made(arrays, rest)
        return None if made is None else functools.partial(made[1], *arrays)

    def rows(self, fixed: tuple[Any, ...], *examples: Any) -> NumpyEvaluator | None:
        """Get a batched NumPy version of the function of its last arguments, with the first ones fixed.

        It is None if the function should be compiled or has no short program. `examples` are last arguments without
        batch axes.
        """
        made = self._of(fixed, examples)
        return None if made is None else NumpyEvaluator(made[0], *made[1])

    def numbers(self, fixed: tuple[Any, ...], *examples: Any, most: int | None = None) -> "NumbersFunction | None":
        """Get the same as a function of the numbers in its last arguments, which Python evaluates in microseconds.

        It is also None if Python does not have all of its operations. With `most`, it is given for a program of so many
        operations at most whether or not others are compiled, since a call of a compiled program takes longer.
        """
        if most is None:
            made = self._of(fixed, examples)
        else:
            known = self._made(*_split((*fixed, *examples)))
            made = None if known is None else (known[0], _split(fixed)[0])
        if made is None or (most is not None and len(made[0].operations) > most):
            return None
        program, given = made
        if program not in self._functions:
            self._functions[program] = python_function(program, SHORT)
        function = self._functions[program]
        if function is None:
            return None
        entries = [entry for a in given for entry in np.asarray(a).ravel().tolist()]
        return NumbersFunction(function, entries, NumpyEvaluator(program, *given), len(program.operations))

    def _of(self, fixed: tuple[Any, ...], examples: tuple[Any, ...]) -> tuple[Program, list[Any]] | None:
        """Get the program for some arguments, and the arrays in the first ones."""
        if not compiles_little():
            return None
        made = self._made(*_split((*fixed, *examples)))
        return None if made is None else (made[0], _split(fixed)[0])

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


class NumbersFunction(NamedTuple):
    """Short function of numbers by Python, or by NumPy where Python refuses a number, as in a division by zero."""

    function: Callable[[list[float]], list[float]]
    fixed: list[float]
    evaluator: NumpyEvaluator
    operations: int

    def __call__(self, entries: list[float]) -> list[float]:
        """Evaluate the function at the entries of its arguments."""
        try:
            return self.function([*self.fixed, *entries])
        except (ArithmeticError, ValueError):
            return self.evaluator.columns(*map(np.float64, entries))


_ARRAY = object()  # stands for an array among other leaves


def _split(arguments: tuple[Any, ...]) -> tuple[list[Any], tuple[Any, tuple[Any, ...]]]:
    """Separate the arrays in arguments from their structure and the other leaves."""
    leaves, tree = jax.tree.flatten(arguments)
    arrays = [leaf for leaf in leaves if isinstance(leaf, ARRAYS)]
    return arrays, (tree, tuple(_ARRAY if isinstance(leaf, ARRAYS) else leaf for leaf in leaves))
