"""Paths of data files, which are not part of the library but live in a folder that the user names."""

import os
from pathlib import Path

from dynsim.errors import ArgumentError, UnavailableError, shown

VARIABLE = "DYNSIM_DATA"
"""Environment variable that names the folder of data files."""


def use_data(folder: Path | None) -> None:
    """Let this process and its child processes find data files in `folder`; None changes nothing.

    Raises:
        ValueError: if the folder does not exist.
    """
    if folder is None:
        return
    if not folder.is_dir():
        raise ArgumentError("data", "name a folder", f"`{folder}` is not one")
    os.environ[VARIABLE] = str(folder)


def data_file(name: str, folder: str | Path | None = None) -> Path:
    """Path of the data file `name` in `folder`, by default in the folder named by `DYNSIM_DATA`.

    Args:
        name: name of the file.
        folder: the folder that holds it.

    Raises:
        ValueError: for a name that is no word, or a folder that is no path.
        UnavailableError: if no folder is given, or it does not contain the file.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import dynsim as ds
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = (Path(folder) / "two.txt").write_text("2")
        ...     ds.data_file("two.txt", folder).read_text()
        '2'
    """
    for argument, value, kinds, what in (
        ("name", name, str, "a word"),
        ("folder", folder, str | Path | None, "a path"),
    ):
        if not isinstance(value, kinds):  # without JAX, which `--help` does not load
            raise ArgumentError(argument, f"be {what}", f"is {shown(value)}")
    place = os.environ.get(VARIABLE, "") if folder is None else str(folder)
    if not place:
        must = f"name the folder that holds `{name}` (`--data` or {VARIABLE})"
        raise UnavailableError(f"Argument `data` must {must}, but none is given.")
    path = Path(place) / name
    if not path.is_file():
        raise UnavailableError(f"Argument `data` must name a folder that holds `{name}`, but `{place}` does not.")
    return path
