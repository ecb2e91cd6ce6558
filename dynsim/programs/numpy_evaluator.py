"""Evaluate programs in NumPy without compilation, for one input or a batch of inputs."""

import functools
import itertools
import math
import operator
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from dynsim.errors import ArgumentError
from dynsim.programs.arrays import NUMPY
from dynsim.programs.program import Operation, Program, ProgramError

BLOCK = 4096
"""Number of inputs that are evaluated together, so that their values stay in the CPU cache."""

FLOATING: dict[str, Callable[..., Any]] = {"div": operator.truediv, "rem": np.fmod}
"""Operations that are faster for floating-point numbers than the general form, which also covers integers."""

_EVALUATORS: weakref.WeakKeyDictionary[Program, "NumpyEvaluator"] = weakref.WeakKeyDictionary()


def evaluate(program: Program, *arguments: Any) -> Any:
    """Evaluate a program in NumPy, at one input or at a batch of inputs with leading axes.

    Singularities give no error or warning: infinities and NaN are as in JAX, and other values agree to rounding.

    Args:
        program: the program.
        arguments: arrays, or trees of arrays, of the shapes of the program with any leading axes, which broadcast. They
            are converted to the types in which the program was traced.

    Returns:
        The output, or the tree of outputs, each with the leading axes.

    Raises:
        ProgramError: for an operation that NumPy does not have, by its name.
        ValueError: for arguments of other shapes.
    """
    if program not in _EVALUATORS:
        _EVALUATORS[program] = NumpyEvaluator(program)
    return _EVALUATORS[program](*arguments)


class NumpyEvaluator:
    """Program prepared for evaluation in NumPy, with memory of intermediate results reused."""

    def __init__(self, program: Program, *fixed: Any):
        """Fold constants, and assign a memory slot to every other result; `evaluate` lists the errors.

        Args:
            program: the program; its arguments must be arrays if some are fixed.
            fixed: values of the first arguments, without batch axes; results that depend only on them are kept.
        """
        count = len(fixed)
        self._shapes, self._dtypes = program.shapes[count:], program.dtypes[count:]
        self._structure, self._output_structure = program.structure, program.output_structure
        self._single = program.structure == jax.tree.structure((0,) * len(program.shapes))
        self._sizes = [math.prod(shape) for shape in self._shapes]
        given = [np.asarray(a, dtype).ravel() for a, dtype in zip(fixed, program.dtypes, strict=False)]
        known = dict(enumerate(entry for a in given for entry in a))
        self._steps: list[tuple[Callable[..., Any], int, tuple[int, ...]]] = []
        self._values: list[Any] = [None] * sum(self._sizes)
        place = self._placed(program, self._constants(program, known))
        self._outputs = [
            (output.shape, dtype, [place[k] for k in output.ravel().tolist()])
            for output, dtype in zip(program.outputs, program.output_dtypes, strict=True)
        ]
        self._alone = len(self._outputs) == 1 and program.output_structure == jax.tree.structure(0)

    def _constants(self, program: Program, known: dict[int, Any]) -> dict[int, Any]:
        """Evaluate the operations that depend only on constants and on some given entries of the input."""
        found = {**known, **dict(enumerate(program.constants, program.num_inputs))}
        with np.errstate(all="ignore"):
            for k, operation in enumerate(program.operations, program.first_operation):
                if all(j in found for j in operation.operands):
                    found[k] = _arithmetic(operation)(*(found[j] for j in operation.operands))
        return found

    def _placed(self, program: Program, constants: dict[int, Any]) -> list[int]:
        """Record the steps, and assign a memory slot to each value until its last use."""
        last = np.zeros(program.first_operation + len(program.operations), int)
        for k, operation in enumerate(program.operations, program.first_operation):
            last[list(operation.operands)] = k
        for output in program.outputs:
            last[output.ravel()] = len(last)
        place, free, inputs = [], [], itertools.count()
        for k in range(len(last)):
            if k in constants:
                place.append(len(self._values))
                self._values.append(constants[k])
            elif k < program.num_inputs:
                place.append(next(inputs))
            else:
                operation = program.operations[k - program.first_operation]
                where = tuple(place[j] for j in operation.operands)
                ended = {j for j in operation.operands if last[j] == k and j >= program.first_operation}
                free += [place[j] for j in ended if j not in constants]
                if not free:
                    free.append(len(self._values))
                    self._values.append(None)
                place.append(free.pop())
                self._steps.append((_arithmetic(operation), place[k], where))
        return place

    def __call__(self, *arguments: Any) -> Any:
        """Evaluate the program; see `evaluate`."""
        arrays = self._arrays(arguments)
        counts = [a.ndim - len(shape) for a, shape in zip(arrays, self._shapes, strict=True)]
        with np.errstate(all="ignore"):
            found = self._many(arrays, counts) if any(counts) else self._one(arrays)
        return found[0] if self._alone else jax.tree.unflatten(self._output_structure, found)

    def columns(self, *entries: Any) -> list[Any]:
        """Compute all output entries from all input entries, which are numbers or arrays of equal length."""
        with np.errstate(all="ignore"):
            values = self._run([*entries])
        return [values[k] for _, _, where in self._outputs for k in where]

    def _arrays(self, arguments: tuple[Any, ...]) -> list[np.ndarray]:
        """Convert inputs to the types of the program; raise `ValueError` for other structures or shapes."""
        leaves: Any = arguments
        if not self._single or len(arguments) != len(self._shapes):
            leaves, structure = jax.tree.flatten(arguments)
            if structure != self._structure:
                raise ArgumentError("arguments", f"have the structure {self._structure}", f"have {structure}")
        arrays = [np.asarray(a, dtype) for a, dtype in zip(leaves, self._dtypes, strict=True)]
        for a, shape in zip(arrays, self._shapes, strict=True):
            if a.shape[a.ndim - len(shape) :] != shape or a.ndim < len(shape):
                raise ArgumentError("arguments", f"have the shapes {self._shapes} after batch axes", f"have {a.shape}")
        return arrays

    def _one(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        values = self._run([entry for a in arrays for entry in a.ravel()])
        return [np.array([values[k] for k in where], dtype).reshape(shape) for shape, dtype, where in self._outputs]

    def _many(self, arrays: list[np.ndarray], counts: list[int]) -> list[np.ndarray]:
        """Evaluate a batch of inputs in chunks; inputs without batch axes stay numbers."""
        batch = np.broadcast_shapes(*(a.shape[:count] for a, count in zip(arrays, counts, strict=True)))
        total, rows = math.prod(batch), []
        for a, count, size in zip(arrays, counts, self._sizes, strict=True):
            if not count:
                rows += list(a.ravel())
                continue
            whole = np.broadcast_to(a, batch + a.shape[count:]).reshape(total, size)
            rows += list(np.ascontiguousarray(whole.T))
        found = [np.empty((total, len(where)), dtype) for _, dtype, where in self._outputs]
        for k in range(0, total, BLOCK):
            part = slice(k, k + BLOCK)
            values = self._run([row[part] if row.ndim else row for row in rows])
            for output, (_, _, where) in zip(found, self._outputs, strict=True):
                for j, place in enumerate(where):
                    output[part, j] = values[place]
        return [output.reshape(batch + shape) for output, (shape, _, _) in zip(found, self._outputs, strict=True)]

    def _run(self, inputs: list[Any]) -> list[Any]:
        """Run all steps, and return the values of all memory slots."""
        values = self._values.copy()
        values[: len(inputs)] = inputs
        for fn, place, where in self._steps:
            values[place] = fn(*[values[k] for k in where])
        return values


def _arithmetic(operation: Operation) -> Callable[..., Any]:
    name, parameter = operation.name, operation.parameter
    if name == "integer_pow" and parameter == 2:
        return NUMPY["square"]
    fn = NUMPY.get(name)
    if fn is None:
        raise ProgramError(f"`{name}`, which NumPy does not have")
    if parameter is not None:
        return functools.partial(_with, fn, parameter)
    return FLOATING.get(name, fn) if operation.dtype.kind == "f" else fn


def _with(fn: Callable[..., Any], parameter: Any, *operands: Any) -> Any:
    return fn(*operands, parameter)
