"""Evaluate programs in any arithmetic, given a table of its operations."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dynsim.programs.program import Operation, Program, ProgramError

Table = Mapping[str, Callable[..., Any]]
"""Function of each operation by name; the parameter of an operation, if it has one, comes last."""


class Tabulated:
    """Program prepared for evaluation in the arithmetic of a table, on values of any type."""

    def __init__(self, program: Program, table: Table, constant: Callable[[Any], Any]):
        """Look up the function of every operation, and convert the constants.

        Raises:
            ProgramError: for an operation that is not in the table.
        """
        self.program = program
        self.constants = [constant(value) for value in program.constants]
        self.steps = [(operation, _arithmetic(operation, table)) for operation in program.operations]

    def run(self, inputs: Iterable[Any]) -> list[Any]:
        """Compute all output entries from all input entries."""
        known = [*inputs, *self.constants]
        for operation, fn in self.steps:
            known.append(fn(*[known[k] for k in operation.operands]))
        return [known[k] for output in self.program.outputs for k in output.ravel().tolist()]

    def taken(self, known: list[Any]) -> Iterator[tuple[Operation, list[Any], Any]]:
        """Evaluate step by step: append each result to `known`, and yield operation, operands and result."""
        for operation, fn in self.steps:
            operands = [known[k] for k in operation.operands]
            known.append(fn(*operands))
            yield operation, operands, known[-1]


def _arithmetic(operation: Operation, table: Table) -> Callable[..., Any]:
    fn, parameter = table.get(operation.name), operation.parameter
    if fn is None:
        raise ProgramError(f"`{operation.name}` of the input")
    return fn if parameter is None else lambda *operands: fn(*operands, parameter)
