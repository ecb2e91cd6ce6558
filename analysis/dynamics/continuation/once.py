"""A value that is computed when it is first needed."""

from collections.abc import Callable
from typing import Any


class Once:
    """A value that is computed when it is first needed, unless it is given before."""

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[], Any]):
        """Store the function that computes the value."""
        self._make, self._known = make, []

    def __call__(self) -> Any:
        """Return the value."""
        if not self._known:
            self._known.append(self._make())
        return self._known[0]

    @property
    def is_known(self) -> bool:
        """Whether the value is known."""
        return bool(self._known)

    def give(self, value: Any) -> None:
        """Store the value, which was computed elsewhere."""
        self._known[:] = [value]
