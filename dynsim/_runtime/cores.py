"""Solve parts of many members at a time on the cores of this process."""

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dynsim._core.host import filled
from dynsim._core.placement import carried, current


def in_parts(solve: Callable[[np.ndarray], Any], members: np.ndarray, most: int) -> list[tuple[np.ndarray, Any]]:
    """Solve members in parts of nearly equal size, at most `most`, on all cores; each part with its result.

    A part is filled up to the width of the largest by its last member.
    """
    if current().platform != "cpu":
        most = max(most, len(members))
    parts = np.array_split(members, -(-len(members) // most)) if len(members) else []
    width = max(map(len, parts), default=0)
    return list(zip(parts, on_cores(solve, [filled(part, width) for part in parts]), strict=True))


def on_cores(solve: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """Apply a function to each part on the cores of this process, in threads that are kept for later calls.

    A call from within such a part runs in place.
    """
    workers = cores()
    if workers == 1 or len(parts) < 2 or getattr(_here, "is_part", False):
        return [solve(part) for part in parts]

    def one(part: Any) -> Any:
        _here.is_part = True
        return solve(part)

    return list(_threads(workers).map(carried(one), parts))


_here = threading.local()


@functools.cache
def _threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "part")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has none of its parent's threads


def cores() -> int:
    """Number of parts to solve at a time: the cores of this process, or fewer if `OMP_NUM_THREADS` says so."""
    if current().platform != "cpu":
        return 1
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")
    return min(free, int(told)) if told.isdigit() and int(told) else free
