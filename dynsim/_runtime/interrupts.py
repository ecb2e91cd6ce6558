"""Ctrl-C in a command: it ends within two seconds, also during a compiled call, and says what is kept.

Python handles a signal between two of its own instructions; a compiled call may run for minutes. A thread that the
signal wakes waits for Python code to end the command, and ends the process itself if that takes too long. The process
ends without the interpreter's own shutdown, in which threads that still run compiled code would crash.
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

INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended: 128 + SIGINT
GRACE = 1.0  # seconds in which Python code may end the command by itself

_messages: list[Callable[[], str]] = []
_written: list[str] = []
_noting: list[bool] = []


@contextlib.contextmanager
def on_interrupt(message: Callable[[], str]) -> Iterator[None]:
    """Within this context, let Ctrl-C print `message()`: what is kept, and how to go on."""
    _messages.append(message)
    try:
        yield
    except KeyboardInterrupt as stop:
        raise (stop if str(stop) else KeyboardInterrupt(message())) from None
    finally:
        _messages.pop()


def message() -> str:
    """Return the innermost message of `on_interrupt`, or one that names the files that the command has written."""
    if _messages:
        return _messages[-1]()
    return f"Stopped; only {', '.join(_written)} was written." if _written else "Stopped; nothing was written."


def wrote(file: str) -> None:
    """Note, within `noted`, that a file is written whole."""
    if _noting:
        _written.append(f"`{file}`")


@contextlib.contextmanager
def noted() -> Iterator[None]:
    """Within this context, note the files that are written."""
    _noting.append(True)
    try:
        yield
    finally:
        _noting.clear()
        _written.clear()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Within this context, end the process `GRACE` seconds after Ctrl-C if it has not ended by then.

    Where Python ignores the signal's exception, in a callback of its garbage collector, nothing is printed of it.
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
    """End this process and its child processes now, with what is printed written out and nothing else done."""
    processes = sys.modules.get("multiprocessing")  # an import might wait for a lock that is never released
    for child in processes.active_children() if processes is not None else ():
        child.kill()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def end_with_parent() -> None:
    """End this worker process as soon as the process that started it has ended, however it did.

    A worker that waits for its parent's next call would otherwise wait forever, and one at work would go on with it.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(INTERRUPTED)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
