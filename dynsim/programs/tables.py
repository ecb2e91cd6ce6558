"""Programs in any arithmetic: a table says what each operation does."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dynsim.programs.program import Operation, Program, ProgramError

Table = Mapping[str, Callable[..., Any]]
"""The arithmetic of each operation, by its name; a parameter, if the operation has one, comes last."""


class Tabulated:
    """A program in the arithmetic of a table, which values of any kind follow."""

    def __init__(self, program: Program, table: Table, constant: Callable[[Any], Any]):
        """Find the arithmetic of every operation, and convert the constants.

        Raises:
            ProgramError: for an operation that is not in the table, by its name.
        """
        self.program = program
        self.constants = [constant(value) for value in program.constants]
        self.steps = [(operation, _arithmetic(operation, table)) for operation in program.operations]

    def run(self, inputs: Iterable[Any]) -> list[Any]:
        """Compute the entries of all outputs from those of all inputs."""
        known = [*inputs, *self.constants]
        for _ in self.taken(known):
            pass
        return [known[k] for output in self.program.outputs for k in output.ravel().tolist()]

    def taken(self, known: list[Any]) -> Iterator[tuple[Operation, list[Any], Any]]:
        """Add results to `known`, the inputs and constants, and yield each operation, its operands and its result."""
        for operation, fn in self.steps:
            operands = [known[k] for k in operation.operands]
            known.append(fn(*operands))
            yield operation, operands, known[-1]


def _arithmetic(operation: Operation, table: Table) -> Callable[..., Any]:
    fn, parameter = table.get(operation.name), operation.parameter
    if fn is None:
        raise ProgramError(f"`{operation.name}` of the input")
    return fn if parameter is None else lambda *operands: fn(*operands, parameter)
