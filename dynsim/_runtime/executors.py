"""Run calls on any `concurrent.futures.Executor`: local processes, or remote ones through `dask.distributed`."""

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from queue import SimpleQueue
from typing import Any

from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, reason

CONNECT = 10  # seconds within which a scheduler must answer

Call = tuple[Callable[..., Any], tuple]
"""A function that another process can import, with its arguments."""


def as_executor(executor: Any) -> Executor:
    """Check that a value is a `concurrent.futures.Executor` and return it; raise `ValueError` otherwise."""
    return instance("executor", executor, Executor, "a `concurrent.futures.Executor`, as `Client.get_executor()` is")


def finished(executor: Executor, calls: Mapping[int, Call], kept: Callable[[], str] = str) -> Iterator[tuple[int, Any]]:
    """Yield the results of numbered calls as they finish; an exception of a call is raised here.

    Args:
        executor: where the calls run; all of them are submitted at once.
        calls: the calls by number.
        kept: describes what is kept if the executor ends before its calls, in words, without a full stop.

    Raises:
        ValueError: if the executor ends before its calls, or cannot transfer one of them.
    """
    # `concurrent.futures.as_completed` waits forever for a future that its executor cancels by itself.
    done: SimpleQueue[tuple[int, Future]] = SimpleQueue()
    futures: list[Future] = []
    count = 0
    try:
        for index, (function, arguments) in calls.items():
            future = executor.submit(function, *arguments)
            futures.append(future)
            future.add_done_callback(lambda future, index=index: done.put((index, future)))
        while count < len(calls):
            index, future = done.get()
            yield index, future.result()
            count += 1
    except Exception as error:  # noqa: BLE001  (a call may raise anything, and so may an executor)
        raise _explained(executor, error, count, len(calls), kept) from None
    finally:
        for future in futures:
            future.cancel()


def _explained(executor: Executor, error: Exception, count: int, calls: int, kept: Callable[[], str]) -> Exception:
    """Explain that an executor has ended or cannot transfer a call; other errors are returned unchanged."""
    if (
        isinstance(error, pickle.PicklingError)
        or "pickle" in str(error)
        and isinstance(error, AttributeError | TypeError)
    ):
        return ArgumentError("executor", "be able to transfer its calls to its processes", f"is not ({reason(error)})")
    own = type(error).__module__.split(".")[0] == type(executor).__module__.split(".")[0] != "builtins"
    closed = isinstance(error, RuntimeError) and "shutdown" in str(error)
    if not (isinstance(error, BrokenExecutor | CancelledError) or own or closed):
        return error
    said = kept()
    after = f"ended after {count} of {calls} parts ({type(error).__name__})"
    return ArgumentError("executor", "finish its calls", f"{after}{f'; {said[0].lower()}{said[1:]}' if said else ''}")


@contextlib.contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """Yield the executor of the Dask cluster at a scheduler's address; None for None.

    Raises:
        ValueError: if `dask.distributed` is not installed, or no scheduler answers at the address.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        must = "be left out without dask.distributed (`pip install dynsim[cluster]`)"
        raise ArgumentError("cluster", must, f"is `{address}`") from None
    try:
        client = Client(address, timeout=CONNECT)
    except (OSError, ValueError) as error:
        must = "be the address of a running Dask scheduler"
        raise ArgumentError("cluster", must, f"`{address}` does not answer ({reason(error)})") from None
    with client, client.get_executor() as executor:
        yield executor
