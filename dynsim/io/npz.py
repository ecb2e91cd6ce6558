"""Named arrays in one npz file: written whole or not at all, the same bytes for the same arrays, never a pickle."""

import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dynsim.errors import argument_error, reason

_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member: a file depends on its arrays and on nothing else


def writable_folder(name: str, folder: Path) -> Path:
    """Return `folder`, made if need be; raise `ValueError`, naming the argument, if nothing can be written in it."""
    probe = folder / f".{os.getpid()}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise argument_error(name, "be a folder that can be written", f"is `{folder}` ({reason(error)})") from None
    return folder


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` to `path` as an npz file; a reader sees the old file or the new one, never a part.

    Raises:
        ValueError: if the folder cannot be written, or the writing stops half-way, on a full disk for example.
    """
    path = Path(path)
    writable_folder("path", path.parent)
    if path.is_dir():
        raise argument_error("path", "be a file", f"is the folder `{path}`")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w") as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        os.replace(part, path)  # noqa: PTH105  (atomic, and the same on every system)
    except OSError as error:
        raise argument_error("path", "be a file that can be written", f"`{path}` is not ({reason(error)})") from None
    finally:
        part.unlink(missing_ok=True)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file; raise `ValueError` if it is not there, not an npz, truncated or pickled."""
    path = Path(path)
    if not path.is_file():
        raise argument_error("path", "be a file", f"`{path}` is not one")
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, RuntimeError) as error:
        raise argument_error("path", "be a complete npz file", f"`{path}` is not ({reason(error)})") from None


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as member:
        return np.lib.format.read_array(member, allow_pickle=False)
