"""Discard compiled programs before a process exceeds the number of memory mappings that Linux allows."""

import gc
from pathlib import Path

import jax

HELD, MOST = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
# Share of the memory mappings of a process above which programs are discarded.
SHARE = 0.5


def forget_programs() -> bool:
    """Discard all compiled programs if they hold half of the memory mappings that a process may have, or more.

    Beyond the limit the compiler ends the process. The result says whether programs were discarded; without a limit
    they never are.
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
