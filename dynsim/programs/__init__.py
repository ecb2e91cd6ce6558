"""Record a JAX function as a list of scalar operations, and evaluate it in NumPy or another arithmetic."""

from dynsim.programs.numpy_evaluator import NumpyEvaluator as NumpyEvaluator
from dynsim.programs.numpy_evaluator import evaluate as evaluate
from dynsim.programs.program import Comparison as Comparison
from dynsim.programs.program import Operation as Operation
from dynsim.programs.program import Program as Program
from dynsim.programs.program import ProgramError as ProgramError
from dynsim.programs.programmed import NumbersFunction as NumbersFunction
from dynsim.programs.programmed import Programmed as Programmed
from dynsim.programs.programmed import compiles_little as compiles_little
from dynsim.programs.programmed import without_compiling as without_compiling
from dynsim.programs.recording import jacobian_program as jacobian_program
from dynsim.programs.recording import program_or_none as program_or_none
from dynsim.programs.recording import scalar_program as scalar_program
from dynsim.programs.tables import Table as Table
from dynsim.programs.tables import Tabulated as Tabulated
