"""Pictures of results for notebooks."""

from typing import Any

from dynsim.errors import ArgumentError
from figures.files import Picture, rendered
from figures.plotting import drawing_of, plot


def png(result: Any) -> Picture | None:
    """Picture of a result, or None for a result without one, such as a run with matrices as states."""
    if drawing_of(result) is None:
        return None
    try:
        return rendered(plot(result).figure)
    except ArgumentError:  # it holds nothing that can be drawn
        return None
