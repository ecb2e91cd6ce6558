"""Locks that allow one running process per folder of parts; a lock left by a killed process is ignored."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from dynsim.errors import ArgumentError

NAME = ".running"


@contextlib.contextmanager
def held(name: str, folder: Path, file: str = NAME) -> Iterator[None]:
    """Hold a folder within this context: `file` records which process runs, on which machine, and since when.

    A lock whose process has ended, judged by its number and its start, is replaced. A lock from another machine cannot
    be judged and counts as running.

    Raises:
        ValueError: for the argument `name`, if another run holds the folder.
    """
    lock = folder / file
    own = {"process": os.getpid(), "began": _began(os.getpid()), "machine": socket.gethostname()}
    mine = folder / f"{file}.{socket.gethostname()}.{os.getpid()}"
    mine.write_text(json.dumps(own))
    try:
        while not _linked(mine, lock):
            found = _read(lock)
            if found is not None and _runs(found):
                where = f"process {found.get('process')} on {found.get('machine')}"
                must = f"not be in use by another run (if none is running, delete `{lock}`)"
                raise ArgumentError(name, must, f"`{folder}` is held by {where}")
            lock.unlink(missing_ok=True)
    finally:
        mine.unlink(missing_ok=True)
    try:
        yield
    finally:
        if _read(lock) == own:
            lock.unlink(missing_ok=True)


def _linked(mine: Path, lock: Path) -> bool:
    """Create the lock as a hard link to a complete file; False if there is a lock already."""
    try:
        lock.hardlink_to(mine)
    except FileExistsError:
        return False
    return True


def _read(lock: Path) -> dict | None:
    """Content of a lock; None if the lock is gone or unreadable."""
    try:
        found = json.loads(lock.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _runs(found: dict) -> bool:
    """Whether the process of a lock is running, as far as this machine can tell."""
    number = found.get("process")
    if not isinstance(number, int):
        return False
    if found.get("machine") != socket.gethostname():
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return found.get("began") == _began(number)


def _began(process: int) -> str:
    """Start of a process in clock ticks since boot; "" if the system does not report it."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
