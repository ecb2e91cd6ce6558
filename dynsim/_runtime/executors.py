"""Work on any `concurrent.futures.Executor`: processes of this machine, or of others through `dask.distributed`."""

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from queue import SimpleQueue
from typing import Any

from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, reason

CONNECT = 10  # seconds in which a scheduler must answer

Call = tuple[Callable[..., Any], tuple]
"""A function that another process can import, and its arguments."""


def as_executor(executor: Any) -> Executor:
    """Return `executor`; raise `ValueError` unless it is a `concurrent.futures.Executor`."""
    return instance("executor", executor, Executor, "a `concurrent.futures.Executor`, as `Client.get_executor()` is")


def finished(executor: Executor, calls: Mapping[int, Call], kept: Callable[[], str] = str) -> Iterator[tuple[int, Any]]:
    """Yield the results of calls with their numbers, as they finish; an exception of a call is raised here.

    Args:
        executor: where the calls run, all of them submitted at once.
        calls: the calls by number.
        kept: what is kept if the executor ends before its calls, in words, without a period.

    Raises:
        ValueError: if the executor ends before its calls, or cannot send one of them.
    """
    # `concurrent.futures.as_completed` waits for ever for a future that its executor cancels by itself.
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
    """Return the sentence on an executor that has ended or cannot send a call; other errors as they are."""
    if (
        isinstance(error, pickle.PicklingError)
        or "pickle" in str(error)
        and isinstance(error, AttributeError | TypeError)
    ):
        return ArgumentError("executor", "be able to send what it runs to its processes", f"is not ({reason(error)})")
    own = type(error).__module__.split(".")[0] == type(executor).__module__.split(".")[0] != "builtins"
    closed = isinstance(error, RuntimeError) and "shutdown" in str(error)
    if not (isinstance(error, BrokenExecutor | CancelledError) or own or closed):
        return error
    said = kept()
    after = f"ended after {count} of {calls} parts ({type(error).__name__})"
    return ArgumentError(
        "executor", "run to the end of its work", f"{after}{f'; {said[0].lower()}{said[1:]}' if said else ''}"
    )


@contextlib.contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """Yield the executor of the Dask cluster whose scheduler has an address; None for None.

    Raises:
        ValueError: without `dask.distributed`, or if no scheduler answers at the address.
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
        must = "be the address of a Dask scheduler that answers"
        raise ArgumentError("cluster", must, f"`{address}` does not ({reason(error)})") from None
    with client, client.get_executor() as executor:
        yield executor
