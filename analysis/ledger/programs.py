"""Compiled programs of one process: Linux allows only so many parts of memory, and each program holds some."""

import gc
from pathlib import Path

import jax

HELD, MOST = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
SHARE = 0.5  # of the parts that a process may hold


def forget_programs() -> bool:
    """Forget all compiled programs if they hold half of the parts of memory that a process may have, or more.

    Beyond the limit the compiler ends the process. Return whether it was so; where there is no limit it never is.
    """
    try:
        with HELD.open("rb") as parts:
            held = sum(1 for _ in parts)
        most = int(MOST.read_text())
    except OSError:
        return False
    if held < SHARE * most:
        return False
    jax.clear_caches()
    gc.collect()
    return True
