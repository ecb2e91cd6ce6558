"""Check that the arrays of a command fit in memory, before anything is allocated."""

import os
from collections.abc import Callable

from dynsim.errors import ArgumentError, check_at_least

FLOAT = 8  # bytes of a float64
TRIAL, PROCESS = 10_000, 400_000_000  # bytes taken by the measurements of a trial, and by a process that checks claims
SHARE = 0.5  # share of physical memory for arrays; the rest is left to copies, compiled programs and other processes


def memory_limit() -> int:
    """Compute the number of bytes that the arrays of a command may take."""
    return int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def check_memory(predicted: Callable[..., int], **sizes: int) -> None:
    """Raise `ValueError` unless arrays of these sizes fit in memory, with the largest size that would fit.

    Args:
        predicted: the number of bytes as a function of the sizes by name, increasing in each of them.
        sizes: the sizes by name; the error suggests to reduce the largest one that helps.
    """
    limit = memory_limit()
    if predicted(**sizes) <= limit:
        return
    for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
        fits = _largest(lambda value, name=name: predicted(**sizes | {name: value}) <= limit, sizes[name])
        if fits > 0:
            raise ArgumentError(name, f"be at most {fits} to fit in half of the memory", f"is {_number(sizes[name])}")
    least = ", ".join(f"{name} {value}" for name, value in sizes.items())
    raise ArgumentError(sizes, "fit in half of the memory", f"do not together ({least})")


def _number(value: int) -> str:
    """Write a number in full, unless it has very many digits."""
    return str(value) if value < 10**18 else f"about 1e{len(str(value)) - 1}"


def check_work(trials: int | None, jobs: int) -> None:
    """Raise `ValueError` for fewer than one trial or process, or for more than memory can hold."""
    trials = 1 if trials is None else trials
    check_at_least(1, trials=trials)
    check_at_least(1, jobs=jobs)
    check_memory(lambda trials, jobs: trials * TRIAL + jobs * PROCESS, trials=trials, jobs=jobs)


def _largest(holds: Callable[[int], bool], above: int) -> int:
    """Find the largest integer in [0, above[ for which a monotone condition holds, by bisection."""
    low = 0
    while above - low > 1:
        middle = (low + above) // 2
        low, above = (middle, above) if holds(middle) else (low, middle)
    return low
