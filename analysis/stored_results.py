"""Write results to files and read them again, so that they are drawn again and nothing is computed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.equilibria.crossings import Completeness
from analysis.dynamics.equilibria.families import Family
from analysis.dynamics.equilibria.newton import Equilibrium
from analysis.dynamics.equilibria.sliding import PseudoEquilibrium
from analysis.dynamics.linearisation import Spectrum
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.poincare import Section
from analysis.dynamics.portraits.curved import Portrait, PortraitCycle
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
from dynsim.io.tables import FORMAT, arrays_of

STORED = (
    ConnectingOrbit, CriticalCurve, FractionCurves, HysteresisDiagram, Isochrons, LinePortrait, LockingRange,
    LyapunovSpectrum, OrbitDiagram, PhasePlane, PhaseResponse, Portrait, PowerSpectrum, RecurrencePlot, ReturnMap,
    Section, SimplexPortrait, StabilityMap, ZeroOneTest,
)  # fmt: skip
"""Classes of results that can be stored whole."""
PARTS = (Completeness, Cycle, Degeneracy, Equilibrium, Family, PortraitCycle, Profile, PseudoEquilibrium, Spectrum)
"""Classes of their parts."""
KINDS: dict[str, type] = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in (*STORED, *PARTS)}
MUST = "be a file that `save_result` or a command with `--out` wrote"
ARRAY = "result."
"""Beginning of the names of arrays in a file that are parts of the result, and not columns of its table."""


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
    header = {"format": FORMAT, "columns": listed.names, "units": listed.units, "result": _written(result, arrays)}
    write_arrays(file, {"header": np.array(json.dumps(header | {"drawing": drawing})), **arrays_of(listed), **arrays})


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
        return _read(header["result"], arrays), {k: _sequence(v) for k, v in header["drawing"].items()}
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        raise ArgumentError("path", MUST, f"`{path}` is not") from None


def is_stored(result: Any) -> bool:
    """Whether `save_result` can store a result whole."""
    return isinstance(result, STORED) and not (isinstance(result, Section) and not hasattr(result.states, "shape"))


def _sequence(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _written(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Describe a value in JSON; arrays are added to `arrays` and described by their names."""
    if isinstance(value, np.ndarray | jax.Array):
        name = f"{ARRAY}{len(arrays)}"
        arrays[name] = np.asarray(value)
        return {"array": name}
    if isinstance(value, np.generic):
        return _written(value.item(), arrays)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"mapping": [[_written(k, arrays), _written(v, arrays)] for k, v in value.items()]}
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if kind in KINDS:
        return {"kind": kind, "fields": {name: _written(getattr(value, name), arrays) for name in value._fields}}
    if type(value) in (tuple, list):
        return {"tuple": [_written(one, arrays) for one in value]}
    raise ArgumentError("result", "hold arrays, numbers and words", f"holds {type(value).__name__}")


def _read(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Restore what `_written` describes."""
    if not isinstance(value, dict):
        return value
    ((kind, given),) = [pair for pair in value.items() if pair[0] != "fields"]
    if kind == "array":
        return arrays[given]
    if kind == "complex":
        return complex(*given)
    if kind == "mapping":
        return {_read(k, arrays): _read(v, arrays) for k, v in given}
    if kind == "tuple":
        return tuple(_read(one, arrays) for one in given)
    return KINDS[given](**{name: _read(one, arrays) for name, one in value["fields"].items()})
