"""Ctrl-C in a command: it ends within two seconds, even during a compiled call, and reports what is kept.

Python handles a signal between two of its own instructions, but a compiled call may run for minutes. A thread woken by
the signal therefore waits for Python code to end the command, and ends the process itself if that takes too long. It
skips the interpreter's shutdown, in which threads that still run compiled code would crash.
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait

INTERRUPTED = 130  # exit status of a command ended by Ctrl-C: 128 + SIGINT
GRACE = 1.0  # seconds for Python code to end the command by itself

_messages: list[Callable[[], str]] = []
_written: list[str] = []
_noting: list[bool] = []


@contextlib.contextmanager
def on_interrupt(message: Callable[[], str]) -> Iterator[None]:
    """Within this context, let Ctrl-C print `message()`, which says what is kept and how to resume."""
    _messages.append(message)
    try:
        yield
    except KeyboardInterrupt as stop:
        raise (stop if str(stop) else KeyboardInterrupt(message())) from None
    finally:
        _messages.pop()


def message() -> str:
    """The innermost message of `on_interrupt`, or else one that names the files written so far."""
    if _messages:
        return _messages[-1]()
    return f"Stopped; only {', '.join(_written)} was written." if _written else "Stopped; nothing was written."


def wrote(file: str) -> None:
    """Record, within `noted`, that a file has been written completely."""
    if _noting:
        _written.append(f"`{file}`")


@contextlib.contextmanager
def noted() -> Iterator[None]:
    """Within this context, record the files that are written."""
    _noting.append(True)
    try:
        yield
    finally:
        _noting.clear()
        _written.clear()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Within this context, end the process `GRACE` seconds after Ctrl-C if it is still running.

    If Python ignores the exception of the signal, as in a garbage-collection callback, nothing is printed about it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    over, hook = threading.Event(), sys.unraisablehook
    sys.unraisablehook = lambda error: None if error.exc_type is KeyboardInterrupt else hook(error)
    threading.Thread(target=_watch, args=(receiver, over), daemon=True).start()
    try:
        with noted():
            yield
    finally:
        over.set()
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        sender.close()


def _watch(receiver: socket.socket, over: threading.Event) -> None:
    while (received := receiver.recv(16)) and not over.is_set():
        if signal.SIGINT in received and not over.wait(GRACE):
            print(f"\ndynsim: {message()}", file=sys.stderr, flush=True)  # noqa: T201
            leave(INTERRUPTED)


def leave(status: int) -> None:
    """End this process and its child processes immediately, after flushing stdout and stderr."""
    processes = sys.modules.get("multiprocessing")  # importing it could wait for a lock that is never released
    for child in processes.active_children() if processes is not None else ():
        child.kill()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def end_with_parent() -> None:
    """End this worker process as soon as its parent process has ended for whatever reason.

    Otherwise an idle worker would wait forever for its parent's next call, and a busy one would carry on.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(INTERRUPTED)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
