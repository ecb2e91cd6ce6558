"""Write basins of attraction to files, and read them again."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.limit_set import LimitSet
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, reason
from dynsim.io.npz import read_arrays, write_arrays
from dynsim.io.serialisation import describe, rebuild
from dynsim.systems.named import Components

FORMAT = "dynsim basins"


def save_basins(path: str | Path, found: Basins, more: Mapping[str, np.ndarray] | None = None) -> None:
    """Write basins to an npz file with a JSON header, without pickle; labels and axes are plain members of the file.

    Args:
        path: the file to write.
        found: the result of `basins`.
        more: further arrays of the file, by name.

    Raises:
        ValueError: for anything but basins, or if the file cannot be written.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> from analysis.dynamics import basins, load_basins, save_basins
        >>> found = basins(ds.FunctionFlow(lambda t, x: x - x**3), [(-2.0, 2.0)], (8,))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_basins(f"{folder}/wells.npz", found)
        ...     load_basins(f"{folder}/wells.npz").labels.tolist() == found.labels.tolist()
        True
    """
    whole = instance("found", found, Basins, "basins")
    arrays: dict[str, np.ndarray] = {}
    content = describe("basins", whole, arrays)
    header = {"format": FORMAT, "format_version": 2, "basins": content}
    axes = {f"axis_{k + 1}": axis for k, axis in enumerate(whole.axes)}
    plain = {"labels": whole.labels, **axes, "names": np.array(whole.names), **(more or {})}
    write_arrays(path, {"header": np.array(json.dumps(header, allow_nan=False)), **arrays, **plain})


def load_basins(path: str | Path) -> Basins:
    """Read basins from a file that `save_basins` wrote.

    Raises:
        ValueError: for a file that holds no basins, or is damaged.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> from analysis.dynamics import basins, load_basins, save_basins
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_basins(f"{folder}/wells.npz", basins(ds.FunctionFlow(lambda t, x: x - x**3), [(-2.0, 2.0)], (8,)))
        ...     print(len(load_basins(f"{folder}/wells.npz").attractors))
        2
    """
    arrays = read_arrays(path)
    must = "be a file that `save_basins` wrote"
    try:
        header = json.loads(str(arrays["header"]))
        known = header["format"] == FORMAT and header["format_version"] == 2
        found = rebuild(header["basins"], arrays) if known else None
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError("path", must, f"`{path}` is not ({type(error).__name__}: {reason(error)})") from None
    if not isinstance(found, Basins) or not isinstance(found.components, Components):
        raise ArgumentError("path", must, f"`{path}` is not")
    sets = (*found.attractors, *found.others)
    shape = tuple(len(axis) for axis in found.axes)
    if not all(isinstance(one, LimitSet) for one in sets) or np.shape(found.labels) != shape:
        raise ArgumentError("path", must, f"`{path}` is not")
    return found
