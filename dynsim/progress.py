"""One progress bar for everything that can exceed two seconds."""

import sys
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

SILENT_SECONDS = 2.0  # what ends sooner shows nothing

Item = TypeVar("Item")


class Bar(Protocol):
    """What a caller may do with a bar; it is a context manager, gone when left."""

    def update(self, n: float = 1) -> bool | None:
        """Advance by `n`."""
        ...

    def __enter__(self) -> "Bar": ...

    def __exit__(self, *exc: object) -> None: ...


def progress(total: float, what: str, *, unit: str = "", shown: bool | None = None) -> Bar:
    """Return a bar on stderr that appears after two seconds and goes when it is left.

    Args:
        total: what the updates add up to.
        what: what is being done, as "ensemble".
        unit: what is counted, as "members".
        shown: None shows it if stderr is a terminal; True and False decide.
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
    """Yield `items`, advancing a bar by one after each."""
    with progress(total, what, unit=unit, shown=shown) as bar:
        for item in items:
            yield item
            bar.update()
