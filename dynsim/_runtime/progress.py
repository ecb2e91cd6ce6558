"""Progress on stderr: bars on terminals after two seconds, and an occasional plain line elsewhere."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

SILENT_SECONDS = 2.0  # seconds before a bar appears on a terminal
LINE_WIDTH = 80  # characters
LINE_SECONDS = 10.0  # seconds between two lines of progress in a pipe or a file
SPARSER = 0.25  # share of the elapsed time between two lines of a long call
TICK = 0.2  # seconds between two checks of the running calls

Item = TypeVar("Item")


def progress(total: float, what: str, *, unit: str = "", shown: bool | None = None) -> "tqdm":
    """Make a progress bar on stderr that appears after two seconds and disappears when its context ends.

    Args:
        total: the sum of all updates.
        what: the name of the operation, such as "ensemble".
        unit: the name of what is counted, such as "members".
        shown: whether to show the bar; by default a bar if stderr is a terminal, otherwise a line every ten seconds.
    """
    from tqdm import tqdm

    if shown is None and not sys.stderr.isatty():
        way = {"delay": LINE_SECONDS, "mininterval": LINE_SECONDS, "file": _Lines(), "ncols": LINE_WIDTH}
    else:
        way = {"delay": SILENT_SECONDS, "file": sys.stderr, "dynamic_ncols": True, "disable": shown is False}
    return tqdm(total=total, desc=what, unit=f" {unit}" if unit else "it", leave=False, **way)


class _Lines:
    """A stream that receives tqdm's bars with their carriage returns and writes them to stderr as lines."""

    def write(self, text: str) -> None:
        """Write one line; text that only erases a bar is dropped."""
        if text.strip():
            sys.stderr.write(f"{text.strip()}\n")
            for call in _calls[:1]:  # a bar says more than the elapsed time
                call.shown = time.monotonic() - call.start

    def flush(self) -> None:
        """Flush stderr."""
        sys.stderr.flush()


def tracked(
    items: Iterable[Item], total: int, what: str, *, unit: str = "", shown: bool | None = None
) -> Iterator[Item]:
    """Yield `items` and advance a progress bar by one after each; see `progress` for the other arguments."""
    with progress(total, what, unit=unit, shown=shown) as bar:
        for item in items:
            yield item
            bar.update()


def announce(sentence: str) -> None:
    """Write a line on stderr before a long computation, on terminals and elsewhere."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def running(command: str) -> Iterator[None]:
    """Show the elapsed time of a command in a pipe or a file, where no bar has been shown for ten seconds.

    On a terminal a line that is replaced would mix with the results.
    """
    with waiting(command, shown=False if sys.stderr.isatty() else None):
        yield


@contextlib.contextmanager
def waiting(what: str, *, shown: bool | None = None) -> Iterator[None]:
    """Show the elapsed time on stderr during one long compiled call; see `progress` for when and how.

    Of nested calls, and of calls in several threads, only the first is shown.

    Callbacks from inside the call would change the compiled program, and hence its rounding, on terminals only.
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
    """A running call: its name, its start, and what has been written about it."""

    def __init__(self, what: str, erased: bool):
        self.what, self.erased = what, erased
        self.start = time.monotonic()
        self.shown = 0.0  # seconds after the start
        self.line = ""
        self.over = False
        self.writing = threading.Lock()

    def show(self) -> None:
        """Write the elapsed time if the last line is old enough, replacing it or as a new line."""
        elapsed = time.monotonic() - self.start
        sparse = max(LINE_SECONDS, SPARSER * self.shown)
        pause = sparse if not self.erased else 1.0 if self.line else SILENT_SECONDS
        with self.writing:
            if self.over or elapsed - self.shown < pause:
                return
            self.shown, self.line = elapsed, f"{self.what}: {elapsed:.0f} s"
            sys.stderr.write(f"\r{self.line}" if self.erased else f"{self.line}\n")
            sys.stderr.flush()

    def end(self) -> None:
        """Stop writing, and erase the line."""
        with self.writing:
            self.over = True
            if self.line and self.erased:
                sys.stderr.write(f"\r{' ' * len(self.line)}\r")
                sys.stderr.flush()


_calls: list[_Call] = []
_clock: list[threading.Thread] = []


def _start_clock() -> None:
    """Start the single thread that shows all calls, if this process has none yet; one per call would be slow."""
    if not (_clock and _clock[0].is_alive()):
        _clock[:] = [threading.Thread(target=_tick, daemon=True)]
        _clock[0].start()


def _tick() -> None:
    while True:
        time.sleep(TICK)
        for call in _calls[:1]:
            call.show()
