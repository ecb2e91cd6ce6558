"""Record a JAX function as a list of scalar operations, and evaluate it in NumPy or another arithmetic."""

from dynsim.programs.numpy_evaluator import NumpyEvaluator, evaluate
from dynsim.programs.program import Comparison, Operation, Program, ProgramError
from dynsim.programs.programmed import NumbersFunction, Programmed, compiles_little, without_compiling
from dynsim.programs.recording import jacobian_program, scalar_program
from dynsim.programs.tables import Table, Tabulated

__all__ = [
    "Comparison",
    "NumbersFunction",
    "NumpyEvaluator",
    "Operation",
    "Program",
    "ProgramError",
    "Programmed",
    "Table",
    "Tabulated",
    "compiles_little",
    "evaluate",
    "jacobian_program",
    "scalar_program",
    "without_compiling",
]
