"""Where real data lies: a folder that the reader names, since none of it is part of the library."""

import os
from pathlib import Path

from dynsim.errors import argument_error

VARIABLE = "DYNSIM_DATA"


def data_file(name: str, folder: str | Path | None = None) -> Path:
    """Return the path of a data file in `folder`, by default the folder that `DYNSIM_DATA` names.

    Raises:
        ValueError: if no folder is named, or the file is not in it.
    """
    place = os.environ.get(VARIABLE, "") if folder is None else str(folder)
    if not place:
        raise argument_error("data", f"name the folder that holds `{name}` (`--data` or {VARIABLE})", "names none")
    path = Path(place) / name
    if not path.is_file():
        raise argument_error("data", f"name a folder that holds `{name}`", f"`{place}` does not")
    return path
