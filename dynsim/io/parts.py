"""The parts of a long run: those that are kept are read, the others run and are kept as they finish."""

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
    """Return the results of all parts in their order, with a progress bar.

    Args:
        name: what runs, in a word.
        unit: what a part holds several of, in the plural.
        sizes: how many each part holds.
        run: yields the numbers of the parts that it is given, with their results, as they finish. It is also given a
            function that says what is kept so far, without a period.
        checkpoints: where parts are kept, if they are.
        read: how a part is read.
        write: how one is written.
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
    """Return the sentence on a run that was interrupted: how much of it is kept, and where."""
    ended = f"The {name} was interrupted after {done} of {total} {unit}"
    if checkpoints is None:
        return f"{ended}; none is kept, since no `folder` was given."
    return f"{ended}; they are kept in `{checkpoints.folder}`, and the same call resumes from there."
