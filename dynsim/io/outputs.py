"""Checks of output files before anything is computed."""

from pathlib import Path

from dynsim.errors import ArgumentError
from dynsim.io.npz import writable_folder

# Figures and Markdown contain "dynsim", run files contain it in UTF-32; ledger, trials and witnesses begin like this.
MARKS = (b"dynsim", "dynsim".encode("utf-32-le"), b'{"statement": ', b'{"claim": ')
LOOKED_AT = 2**20  # number of bytes searched at the beginning, and as many at the end


def check_output(name: str, path: Path, *, force: bool) -> None:
    """Raise `ValueError`, naming the argument `name`, unless the file `path` may be written.

    A missing folder is created. A device, a pipe or a folder is never replaced. A file is replaced only if dynsim wrote
    it, if it is empty, or with `force`.
    """
    writable_folder(name, path.parent)
    if not path.exists():
        return
    if not path.is_file():
        raise ArgumentError(name, "be a regular file", f"`{path}` is {'a folder' if path.is_dir() else 'a device'}")
    if not (force or _written_by_dynsim(path)):
        must = "be a new file, or one that dynsim wrote (`--force` replaces any file)"
        but = "may not be: a .csv file has no mark of it" if path.suffix == ".csv" else "is not"
        raise ArgumentError(name, must, f"`{path}` {but}")


def _written_by_dynsim(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(LOOKED_AT)
        file.seek(max(0, path.stat().st_size - LOOKED_AT))
        end = file.read(LOOKED_AT)
    return not begin or any(mark in part for mark in MARKS for part in (begin, end))
