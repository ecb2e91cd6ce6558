"""Write bifurcation diagrams to npz files, and read them."""

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np

from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.marks import Mark
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.tori.branches import TorusBranch
from dynsim._core.checked import checked
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, reason
from dynsim.io.npz import read_arrays, write_arrays
from dynsim.io.serialisation import describe, rebuild

FORMAT = "dynsim diagram"


def save_diagram(path: str | Path, diagram: Diagram) -> None:
    """Write a diagram to an npz file with a JSON header, without pickle.

    Args:
        path: the file to write.
        diagram: the result of `bifurcation_diagram`, `with_orbits` or `with_curves`.

    Raises:
        ValueError: if the argument is no diagram, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> from analysis.dynamics import bifurcation_diagram, load_diagram, save_diagram
        >>> flow = ds.FunctionFlow(lambda t, x, a=1.0: a - x**2, parameters={"a": 1.0})
        >>> diagram = bifurcation_diagram(ds.Parameter(flow, "a", -1.0, 1.0), [[1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_diagram(f"{folder}/fold.npz", diagram)
        ...     again = load_diagram(f"{folder}/fold.npz")
        >>> again.parameter, [one.kind for one in again.branches[0].bifurcations]
        ('a', ['fold'])
    """
    arrays: dict[str, np.ndarray] = {}
    alone = instance("diagram", diagram, Diagram, "a diagram")._replace(of=None)
    alone = alone._replace(tori=tuple(one.without_system for one in alone.tori))
    content = describe("diagram", alone, arrays)
    header = json.dumps({"format": FORMAT, "format_version": 2, "diagram": content}, allow_nan=False)
    write_arrays(path, {"header": np.array(header), **arrays})


@checked
def load_diagram(path: str | Path, *, trust: Collection[str] = ()) -> Diagram:
    """Read a diagram from a file.

    Args:
        path: a file that `save_diagram` wrote.
        trust: import paths of your own named tuples that occur as states.

    Raises:
        ValueError: for a file that holds no diagram, or is damaged.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> from analysis.dynamics import bifurcation_diagram, load_diagram, save_diagram
        >>> flow = ds.FunctionFlow(lambda t, x, a=1.0: a - x**2, parameters={"a": 1.0})
        >>> diagram = bifurcation_diagram(ds.Parameter(flow, "a", -1.0, 1.0), [[1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_diagram(f"{folder}/fold.npz", diagram)
        ...     again = load_diagram(f"{folder}/fold.npz")
        >>> again.parameter, [one.kind for one in again.branches[0].bifurcations]
        ('a', ['fold'])
    """
    arrays = read_arrays(path)
    must = "be a file that `save_diagram` wrote"
    try:
        header = json.loads(str(arrays["header"]))
        known = header["format"] == FORMAT and header["format_version"] == 2
        found = rebuild(header["diagram"], arrays, trust) if known else None
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ArgumentError("path", must, f"`{path}` is not ({type(error).__name__}: {reason(error)})") from None
    whole = isinstance(found, Diagram) and all(isinstance(b, Branch) for b in (*found.branches, *found.orbits))
    if not isinstance(found, Diagram) or not whole or len(found.iterates) != len(found.branches):
        raise ArgumentError("path", must, f"`{path}` is not")
    every = (*found.branches, *found.orbits)
    known = [isinstance(b, Bifurcation) for one in every for b in one.bifurcations]
    known += [isinstance(mark, Mark) for one in every for mark in one.marks]
    known += [
        isinstance(p, Degeneracy) for one in found.curves if isinstance(one, CriticalCurve) for p in one.degeneracies
    ]
    if (
        not all(known)
        or not all(isinstance(one, CriticalCurve) for one in found.curves)
        or not all(isinstance(one, TorusBranch) for one in found.tori)
    ):
        raise ArgumentError("path", must, f"`{path}` is not")
    return found
