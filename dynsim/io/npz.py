"""Read and write npz files: written atomically, byte for byte reproducible, and without pickles."""

import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, reason
from dynsim.io.whole_files import whole_file

LIMIT = "DYNSIM_MAX_BYTES"  # environment variable that overrides `MAX_BYTES`
MAX_BYTES = 2**31  # largest decompressed size of the arrays of one file, to refuse archives that would fill the memory
_EPOCH = (1980, 1, 1, 0, 0, 0)  # date of every member, so that a file depends only on its arrays
_COUNT_LIMIT = 0xFFFF  # a zip archive with this many members or more stores this number in its end record
_LONGEST_END = 22 + 0xFFFF  # largest size in bytes of the end record, including its comment


def writable_folder(name: str, folder: Path) -> Path:
    """Create a folder if it is missing; raise `ValueError` for the argument `name` if it is not writable."""
    probe = folder / f".{os.getpid()}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ArgumentError(name, "be a folder that can be written", f"is `{folder}` ({reason(error)})") from None
    return folder


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` to an npz file atomically: a reader sees the old or the new file, never a part.

    Raises:
        ValueError: if the folder is not writable, or writing fails, for example on a full disk.
    """
    path = Path(path)
    writable_folder("path", path.parent)
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "device or pipe"
        raise ArgumentError("path", "be a file", f"is the {kind} `{path}`")
    try:
        with whole_file(path) as part, zipfile.ZipFile(part, "w") as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    except OSError as error:
        raise ArgumentError("path", "be a file that can be written", f"`{path}` is not ({reason(error)})") from None


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read the arrays of an npz file by name.

    Sizes are read from the archive's headers before anything is decompressed.

    Raises:
        ValueError: if the file is missing, damaged, contains pickles, or exceeds `MAX_BYTES` (or `DYNSIM_MAX_BYTES`).
    """
    path = Path(instance("path", path, str | os.PathLike, "the path of a file"))
    if not path.is_file():
        raise ArgumentError("path", "be a file", f"`{path}` is not one")
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            # `zipfile` silently drops the members that follow a damaged length in the directory.
            if _number_of_members(file) not in (len(members), _COUNT_LIMIT):
                raise zipfile.BadZipFile("its directory does not have the number of members that its end record states")
            _check_size(path, sum(member.file_size for member in members))
            return {member.filename.removesuffix(".npy"): _member(archive, member) for member in members}
    except ArgumentError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, RuntimeError) as error:
        raise ArgumentError("path", "be a complete npz file", f"`{path}` is not ({reason(error)})") from None


def _check_size(path: Path, size: int) -> None:
    """Raise `ArgumentError` if `size`, in bytes, exceeds the limit."""
    limit = os.environ.get(LIMIT, str(MAX_BYTES))
    if not limit.isdigit():
        raise ArgumentError(LIMIT, "be a number of bytes", f"is `{limit}`")
    if size > int(limit):
        must = f"hold at most {int(limit):,} bytes of arrays (the variable {LIMIT} sets the limit)"
        raise ArgumentError("path", must, f"`{path}` holds {size:,}")


def _number_of_members(file: BinaryIO) -> int:
    """Number of members in the end record of a zip archive, at most `_COUNT_LIMIT`."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_END))
    end = file.read()
    start = end.rfind(b"PK\x05\x06")
    return int.from_bytes(end[start + 10 : start + 12], "little")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    # Opened by its directory entry, not by name, because a damaged name may be that of another member.
    with archive.open(member) as content:
        _check_shape(content, member)
    with archive.open(member) as content:
        array = np.lib.format.read_array(content, allow_pickle=False)
        if content.read(1):  # the checksum of a member is verified only at its end
            raise ValueError(f"`{member.filename}` is longer than its array")
        return array


def _check_shape(content: Any, member: zipfile.ZipInfo) -> None:
    """Raise `ValueError` unless the array described by the header fits the member, because it is allocated first."""
    version = np.lib.format.read_magic(content)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(content)
    if content.tell() + math.prod(shape) * dtype.itemsize != member.file_size and not dtype.hasobject:
        raise ValueError(f"`{member.filename}` is not as long as its array")
