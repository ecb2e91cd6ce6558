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
TICK = 0.2  # seconds between two looks at the calls that are running

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
    call = _Call(what, bool(shown or sys.stderr.isatty()))
    _calls.append(call)
    _start_clock()
    try:
        yield
    finally:
        _calls.remove(call)
        call.end()


class _Call:
    """A call that is running: its name, since when, and what was written of it."""

    def __init__(self, what: str, erased: bool):
        self.what, self.erased = what, erased
        self.start = time.monotonic()
        self.shown = 0.0  # seconds after the start
        self.line = ""
        self.over = False
        self.writing = threading.Lock()

    def show(self) -> None:
        """Write the time elapsed, if it is long enough since the last time: over the last line, or a new one."""
        elapsed = time.monotonic() - self.start
        pause = LINE_SECONDS if not self.erased else 1.0 if self.line else SILENT_SECONDS
        with self.writing:
            if self.over or elapsed - self.shown < pause:
                return
            self.shown, self.line = elapsed, f"{self.what}: {elapsed:.0f} s"
            sys.stderr.write(f"\r{self.line}" if self.erased else f"{self.line}\n")
            sys.stderr.flush()

    def end(self) -> None:
        """Write no more, and erase the line."""
        with self.writing:
            self.over = True
            if self.line and self.erased:
                sys.stderr.write(f"\r{' ' * len(self.line)}\r")
                sys.stderr.flush()


_calls: list[_Call] = []
_clock: list[threading.Thread] = []


def _start_clock() -> None:
    """Start the one thread that shows all calls, in this process for the first time: a thread for each is dear."""
    if not (_clock and _clock[0].is_alive()):
        _clock[:] = [threading.Thread(target=_tick, daemon=True)]
        _clock[0].start()


def _tick() -> None:
    while True:
        time.sleep(TICK)
        for call in list(_calls):
            call.show()
