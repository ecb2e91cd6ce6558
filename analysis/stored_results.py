"""Write results to files and read them again, so that they are drawn again and nothing is computed."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.poincare import Section
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.line import LinePortrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.dynamics.portraits.simplex import SimplexPortrait
from analysis.dynamics.series.chaos_test import ZeroOneTest
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.recurrence import RecurrencePlot
from analysis.dynamics.series.return_maps import ReturnMap
from analysis.tables import table
from dynsim.errors import ArgumentError
from dynsim.io.npz import read_arrays, write_arrays
from dynsim.io.serialisation import describe, rebuild
from dynsim.io.tables import FORMAT, arrays_of

STORED = (
    ConnectingOrbit, CriticalCurve, FractionCurves, HysteresisDiagram, Isochrons, LinePortrait, LockingRange,
    LyapunovSpectrum, OrbitDiagram, PhasePlane, PhaseResponse, Portrait, PowerSpectrum, RecurrencePlot, ReturnMap,
    Section, SimplexPortrait, StabilityMap, ZeroOneTest,
)  # fmt: skip
"""Classes of results that can be stored whole."""
MUST = "be a file that `save_result` or a command with `--out` wrote"


def save_result(path: str | Path, result: Any, **drawing: Any) -> None:
    """Write a result to an npz file that holds it whole, and its table.

    The columns of `table(result)` are arrays of the file by their names, as `write_table` writes them. `load_result`
    reads the result again, and `dynsim draw FILE` draws it.

    Args:
        path: the file, which ends in .npz.
        result: a section, diagram, portrait, spectrum, or another result of one of the classes in `STORED`.
        drawing: options of its method `plot` with which `dynsim draw` draws it: numbers, words, and lists of these.

    Raises:
        ValueError: for another suffix, a result of another class or with states that are no arrays, or a file that
            cannot be written.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from analysis import load_result, save_result
        >>> from analysis.dynamics import return_map
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_result(f"{folder}/map.npz", return_map(np.arange(3.0)))
        ...     load_result(f"{folder}/map.npz").pairs.tolist()
        [[0.0, 1.0], [1.0, 2.0]]
    """
    file = Path(path)
    if file.suffix != ".npz":
        raise ArgumentError("path", "end in .npz", f"is `{file}`")
    if not isinstance(result, STORED):
        names = ", ".join(kind.__name__ for kind in STORED)
        raise ArgumentError("result", f"be one of {names}", f"is {type(result).__name__}")
    listed, arrays = table(result), {}
    content = {"result": describe("result", result, arrays), "drawing": drawing}
    header = {"format": FORMAT, "columns": listed.names, "units": listed.units, **content}
    write_arrays(file, {"header": np.array(json.dumps(header)), **arrays_of(listed), **arrays})


def load_result(path: str | Path) -> Any:
    """Read a result that `save_result` wrote.

    Raises:
        ValueError: for a file that cannot be read, or is of another kind.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from analysis import load_result, save_result
        >>> from analysis.dynamics import return_map
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_result(f"{folder}/map.npz", return_map(np.arange(4.0)))
        ...     print(load_result(f"{folder}/map.npz").pairs.shape)
        (3, 2)
    """
    return load_with_drawing(path)[0]


def load_with_drawing(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Read a result that `save_result` wrote, and the options with which it is drawn."""
    arrays = read_arrays(path)
    try:
        header = json.loads(str(arrays["header"]))
        found = rebuild(header["result"], arrays)
        drawing = {k: tuple(v) if isinstance(v, list) else v for k, v in header["drawing"].items()}
    except (KeyError, ValueError, TypeError, AttributeError):
        found, drawing = None, {}
    if not isinstance(found, STORED):
        raise ArgumentError("path", MUST, f"`{path}` is not")
    return found, drawing


def is_stored(result: Any) -> bool:
    """Whether `save_result` can store a result whole."""
    return isinstance(result, STORED) and not (isinstance(result, Section) and not hasattr(result.states, "shape"))
