"""Paths of data files, which are not part of the library but in a folder that the user names."""

import os
from pathlib import Path

from dynsim.errors import ArgumentError, UnavailableError

VARIABLE = "DYNSIM_DATA"
"""The environment variable that names the folder."""


def use_data(folder: Path | None) -> None:
    """Let this process, and those that it starts, find data files in `folder`; None leaves all as it is.

    Raises:
        ValueError: if the folder does not exist.
    """
    if folder is None:
        return
    if not folder.is_dir():
        raise ArgumentError("data", "name a folder", f"`{folder}` is none")
    os.environ[VARIABLE] = str(folder)


def data_file(name: str, folder: str | Path | None = None) -> Path:
    """Return the path of the data file `name` in `folder`, by default in the folder that `DYNSIM_DATA` names.

    Raises:
        UnavailableError: if no folder is given, or the file is not in it.
    """
    place = os.environ.get(VARIABLE, "") if folder is None else str(folder)
    if not place:
        must = f"name the folder that holds `{name}` (`--data` or {VARIABLE})"
        raise UnavailableError(f"Argument `data` must {must}, but none is given.")
    path = Path(place) / name
    if not path.is_file():
        raise UnavailableError(f"Argument `data` must name a folder that holds `{name}`, but `{place}` does not.")
    return path
