"""Parts of a long run: stored parts are read, and the others are computed and stored as they finish."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from dynsim._runtime.progress import progress
from dynsim.io.checkpoints import Checkpoints

Part = TypeVar("Part")
Finished = Iterator[tuple[int, Part]]


def collected(
    name: str,
    unit: str,
    sizes: Sequence[int],
    run: Callable[[list[int], Callable[[], str]], Finished],
    checkpoints: Checkpoints | None,
    read: Callable[[Checkpoints, int], Part],
    write: Callable[[Checkpoints, int, Part], None],
    shown: bool | None,
) -> list[Part]:
    """Collect the results of all parts in order, with a progress bar.

    Args:
        name: the kind of run, in a word.
        unit: what the parts consist of, in the plural.
        sizes: the number of units in each part.
        run: yields the given part numbers with their results as they finish. It also receives a function that describes
            what is kept so far, without a full stop.
        checkpoints: where parts are stored, if at all.
        read: reads a part.
        write: writes a part.
        shown: whether the bar is shown; see `progress`.

    Raises:
        KeyboardInterrupt: on Ctrl-C, with a sentence that says what is kept.
    """
    done: dict[int, Part] = {}
    said = lambda: interrupted(name, unit, sum(sizes[k] for k in done), sum(sizes), checkpoints)
    with progress(sum(sizes), name, unit=unit, shown=shown) as bar:
        try:
            if checkpoints is not None:
                for index in filter(checkpoints.has, range(len(sizes))):
                    done[index] = read(checkpoints, index)
                    bar.update(sizes[index])
            for index, part in run([k for k in range(len(sizes)) if k not in done], lambda: said().rstrip(".")):
                if checkpoints is not None:
                    write(checkpoints, index, part)
                done[index] = part
                bar.update(sizes[index])
        except KeyboardInterrupt:
            raise KeyboardInterrupt(said()) from None
    return [done[index] for index in range(len(sizes))]


def interrupted(name: str, unit: str, done: int, total: int, checkpoints: Checkpoints | None) -> str:
    """Describe an interrupted run: how much of it is kept, and where."""
    ended = f"The {name} was interrupted after {done} of {total} {unit}"
    if checkpoints is None:
        return f"{ended}; none is kept, because no `folder` was given."
    return f"{ended}; they are kept in `{checkpoints.folder}`, and the same call resumes from there."
