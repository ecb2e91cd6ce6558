"""Results in notebooks: they draw themselves, and `explore` draws a system with sliders.

The drawing package is above this one: it is looked up by name when a notebook asks for a picture.
"""

import importlib
from typing import Any

from dynsim._core.siblings import sibling
from dynsim._core.types import TimesLike
from dynsim.errors import argument_error

DRAWING, EXPLORING = "figures.notebook", "figures.explorer"


def picture(result: Any) -> bytes | None:
    """Return a PNG of a result, or None for one that has no picture, which a notebook then shows as text."""
    return sibling(DRAWING).png(result)


class Pictured:
    """A result that draws itself in a notebook."""

    def _repr_png_(self) -> bytes | None:
        return picture(self)


def explore(system: Any, start: Any = None, ts: TimesLike | None = None, **ranges: tuple[float, float]) -> Any:
    """Return a widget for notebooks that draws a trajectory of a flow or a map, with sliders for parameters and start.

    Args:
        system: the flow or map, with a number or a vector as its state, or a named tuple of these.
        start: the first start; by default a random point of the space, if the system names its components.
        ts: the times, of a map the number of steps; by default 0 to 50.
        ranges: low and high of the slider of a parameter, or of a component of the start, by name; by default from
            zero to twice the value.

    Raises:
        ValueError: for a name that is neither, and if ipywidgets is not installed.
        ImportError: if a folder or a file of yours has the name of a package of dynsim.
    """
    try:
        importlib.import_module("ipywidgets")
    except ImportError:
        raise argument_error(
            "system", "be explored with ipywidgets (`pip install dynsim[notebook]`)", "it is missing"
        ) from None
    return sibling(EXPLORING).explorer(system, start, ts, ranges)
