"""One progress bar for everything that can exceed two seconds."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

SILENT_SECONDS = 2.0  # what ends sooner shows nothing

Item = TypeVar("Item")


def progress(total: float, what: str, *, unit: str = "", shown: bool | None = None) -> "tqdm":
    """Return a bar on stderr that appears after two seconds and goes when it is left.

    Args:
        total: what the updates add up to.
        what: what is being done, as "ensemble".
        unit: what is counted, as "members".
        shown: None shows it if stderr is a terminal; True and False decide.
    """
    from tqdm import tqdm

    return tqdm(
        total=total,
        desc=what,
        unit=f" {unit}" if unit else "it",
        delay=SILENT_SECONDS,
        leave=False,
        file=sys.stderr,
        disable=None if shown is None else not shown,
        dynamic_ncols=True,
    )


def tracked(
    items: Iterable[Item], total: int, what: str, *, unit: str = "", shown: bool | None = None
) -> Iterator[Item]:
    """Yield `items`, advancing a bar by one after each."""
    with progress(total, what, unit=unit, shown=shown) as bar:
        for item in items:
            yield item
            bar.update()


@contextlib.contextmanager
def waiting(what: str, *, shown: bool | None = None) -> Iterator[None]:
    """Show on stderr, after two seconds, for how long one compiled call has been running.

    A bar from inside the call would be another program, with other last bits on a terminal than in a batch.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield
        return
    over = threading.Event()
    clock = threading.Thread(target=_tell, args=(what, over), daemon=True)
    clock.start()
    try:
        yield
    finally:
        over.set()
        clock.join()


def _tell(what: str, over: threading.Event) -> None:
    start, line = time.monotonic(), ""
    while not over.wait(SILENT_SECONDS if not line else 1.0):
        line = f"{what}: {time.monotonic() - start:.0f} s"
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()
    if line:
        sys.stderr.write(f"\r{' ' * len(line)}\r")
        sys.stderr.flush()
