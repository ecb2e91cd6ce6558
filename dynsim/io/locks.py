"""Locks: one running process for each folder of parts; the lock of a process that was killed does not count."""

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
    """Hold a folder within this context: a `file` in it says which process runs, on which machine, and since when.

    A file whose process has ended, by its number and its start, is replaced. One of another machine cannot be judged,
    and counts as running.

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
                must = f"be of no other run (without one, delete `{lock}`)"
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
    """Make the lock a second name of a complete file; return False if there is a lock."""
    try:
        lock.hardlink_to(mine)
    except FileExistsError:
        return False
    return True


def _read(lock: Path) -> dict | None:
    """Return what a lock says, None if it is gone or says nothing."""
    try:
        found = json.loads(lock.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _runs(found: dict) -> bool:
    """Return whether the process of a lock runs, as far as this machine can tell."""
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
    """Return the start of a process in clock ticks since the machine's, "" where the system does not tell."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
