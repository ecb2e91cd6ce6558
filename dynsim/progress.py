"""Progress on stderr: bars on terminals, for what takes more than two seconds; elsewhere a plain line now and then."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

SILENT_SECONDS = 2.0  # no progress is shown before on a terminal
LINE_WIDTH = 80  # characters
LINE_SECONDS = 30.0  # between two lines of progress in a pipe or a file

Item = TypeVar("Item")


def progress(total: float, what: str, *, unit: str = "", shown: bool | None = None) -> "tqdm":
    """Return a progress bar on stderr that appears after two seconds and is erased when its context ends.

    Args:
        total: the sum of all updates.
        what: the name of the operation, such as "ensemble".
        unit: the name of what is counted, such as "members".
        shown: whether to show the bar; None shows it if stderr is a terminal, and else lines, one every half minute.
    """
    from tqdm import tqdm

    if shown is None and not sys.stderr.isatty():
        return tqdm(
            total=total,
            desc=what,
            unit=f" {unit}" if unit else "it",
            delay=LINE_SECONDS,
            mininterval=LINE_SECONDS,
            leave=False,
            file=_Lines(),
            ncols=LINE_WIDTH,
        )
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


class _Lines:
    """A stream that takes the bars of tqdm, each with its carriage return, and writes them to stderr as lines."""

    def write(self, text: str) -> None:
        """Write one line; what only erases a bar is dropped."""
        if text.strip():
            sys.stderr.write(f"{text.strip()}\n")

    def flush(self) -> None:
        """Flush stderr."""
        sys.stderr.flush()


def tracked(
    items: Iterable[Item], total: int, what: str, *, unit: str = "", shown: bool | None = None
) -> Iterator[Item]:
    """Yield `items`, advancing a progress bar by one after each; see `progress` for the other arguments."""
    with progress(total, what, unit=unit, shown=shown) as bar:
        for item in items:
            yield item
            bar.update()


def announce(sentence: str) -> None:
    """Write a line on stderr before a long computation, on terminals and elsewhere."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def waiting(what: str, *, shown: bool | None = None) -> Iterator[None]:
    """Show on stderr the time elapsed in this context, for one long compiled call; see `progress` for when and how.

    Callbacks from inside the call would change the compiled program, and with it the rounding, on terminals only.
    """
    if shown is False:
        yield
        return
    over = threading.Event()
    show = _show_elapsed if shown or sys.stderr.isatty() else _write_elapsed
    clock = threading.Thread(target=show, args=(what, over), daemon=True)
    clock.start()
    try:
        yield
    finally:
        over.set()
        clock.join()


def _write_elapsed(what: str, over: threading.Event) -> None:
    start = time.monotonic()
    while not over.wait(LINE_SECONDS):
        sys.stderr.write(f"{what}: {time.monotonic() - start:.0f} s\n")
        sys.stderr.flush()


def _show_elapsed(what: str, over: threading.Event) -> None:
    start, line = time.monotonic(), ""
    while not over.wait(SILENT_SECONDS if not line else 1.0):
        line = f"{what}: {time.monotonic() - start:.0f} s"
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()
    if line:
        sys.stderr.write(f"\r{' ' * len(line)}\r")
        sys.stderr.flush()
