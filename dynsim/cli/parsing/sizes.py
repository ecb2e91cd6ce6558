"""Sizes that fit in memory: the prediction that every command makes before it allocates anything."""

import os
from collections.abc import Callable

from dynsim.errors import ArgumentError, check_at_least

FLOAT = 8  # bytes
TRIAL, PROCESS = 10_000, 400_000_000  # bytes of the measurements of a trial, and of a process that checks claims
SHARE = 0.5  # of the physical memory; the rest is for copies, for compiled programs, and for others


def memory_limit() -> int:
    """Return the number of bytes that the arrays of a command may take."""
    return int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def check_memory(predicted: Callable[..., int], **sizes: int) -> None:
    """Raise `ValueError` unless arrays of these sizes fit in memory, naming a size and its largest value that does.

    Args:
        predicted: the number of bytes, increasing in every size, as a function of the sizes by name.
        sizes: the sizes; of several that could be reduced the largest is named.
    """
    limit = memory_limit()
    if predicted(**sizes) <= limit:
        return
    for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
        fits = _largest(lambda value, name=name: predicted(**sizes | {name: value}) <= limit, sizes[name])
        if fits > 0:
            raise ArgumentError(name, f"be at most {fits} to fit in half of the memory", f"is {sizes[name]}")
    least = ", ".join(f"{name} {value}" for name, value in sizes.items())
    raise ArgumentError(sizes, "fit in half of the memory", f"do not together ({least})")


def check_work(trials: int | None, jobs: int) -> None:
    """Raise `ValueError` for less than one trial or process, or for more than memory can hold."""
    trials = 1 if trials is None else trials
    check_at_least(1, trials=trials)
    check_at_least(1, jobs=jobs)
    check_memory(lambda trials, jobs: trials * TRIAL + jobs * PROCESS, trials=trials, jobs=jobs)


def _largest(holds: Callable[[int], bool], above: int) -> int:
    """Return the largest integer in [0, above[ for which a decreasing condition holds."""
    low = 0
    while above - low > 1:
        middle = (low + above) // 2
        low, above = (middle, above) if holds(middle) else (low, middle)
    return low
