"""Progress bars on stderr, for operations that take more than two seconds."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

SILENT_SECONDS = 2.0  # no progress is shown before

Item = TypeVar("Item")


def progress(total: float, what: str, *, unit: str = "", shown: bool | None = None) -> "tqdm":
    """Return a progress bar on stderr that appears after two seconds and is erased when its context ends.

    Args:
        total: the sum of all updates.
        what: the name of the operation, such as "ensemble".
        unit: the name of what is counted, such as "members".
        shown: whether to show the bar; None shows it if stderr is a terminal.
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
    """Yield `items`, advancing a progress bar by one after each; see `progress` for the other arguments."""
    with progress(total, what, unit=unit, shown=shown) as bar:
        for item in items:
            yield item
            bar.update()


@contextlib.contextmanager
def waiting(what: str, *, shown: bool | None = None) -> Iterator[None]:
    """Show on stderr, after the first two seconds, the time elapsed in this context, for one long compiled call.

    Callbacks from inside the call would change the compiled program, and with it the rounding, on terminals only.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield
        return
    over = threading.Event()
    clock = threading.Thread(target=_show_elapsed, args=(what, over), daemon=True)
    clock.start()
    try:
        yield
    finally:
        over.set()
        clock.join()


def _show_elapsed(what: str, over: threading.Event) -> None:
    start, line = time.monotonic(), ""
    while not over.wait(SILENT_SECONDS if not line else 1.0):
        line = f"{what}: {time.monotonic() - start:.0f} s"
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()
    if line:
        sys.stderr.write(f"\r{' ' * len(line)}\r")
        sys.stderr.flush()
