"""Pictures of results in notebooks, and `explore`, which draws a system with sliders.

The drawing package imports this one, so it is looked up by name when a notebook asks for a picture.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dynsim._core.siblings import sibling
from dynsim._core.types import TimesLike
from dynsim.errors import ArgumentError

NOTEBOOK, PLOTTING, EXPLORING = "figures.notebook", "figures.plotting", "figures.explorer"

if TYPE_CHECKING:
    from figures.artists import Artists


def picture(result: Any) -> tuple[bytes, dict[str, int]] | None:
    """PNG of a result with the size in which notebooks show it, or None for a result that is shown as text."""
    return sibling(NOTEBOOK).png(result)


def plot(result: Any, ax: Any, **options: Any) -> "Artists":
    """Draw a result into axes of matplotlib, or into a figure of its own; see `figures.plot`."""
    return sibling(PLOTTING).plot(result, ax, **options)


def explore(system: Any, start: Any = None, ts: TimesLike | None = None, **ranges: tuple[float, float]) -> Any:
    """Make a notebook widget that draws a trajectory, with sliders for parameters and initial state.

    Args:
        system: the flow or map; its state is a number, a vector, or a named tuple of these.
        start: the initial state; by default a random point of the space, if the system names its components.
        ts: the times of a flow, or the number of steps of a map; by default 0 to 50.
        ranges: lower and upper end of the slider of a parameter or an initial component, by name; by default from zero
            to twice the value.

    Raises:
        ValueError: for a name that is neither a parameter nor a component, or if ipywidgets is not installed.
        ImportError: if a folder or a file of yours has the name of a package of dynsim.

    Example:
        >>> import dynsim as ds
        >>> widget = ds.explore(ds.FunctionMap(lambda k, x: x / 2), [1.0], 3)
        >>> [type(part).__name__ for part in widget.children]
        ['Image', 'Label', 'FloatSlider']
    """
    try:
        importlib.import_module("ipywidgets")
    except ImportError:
        raise ArgumentError(
            "system", "be explored with ipywidgets (`pip install dynsim[notebook]`)", "ipywidgets is not installed"
        ) from None
    return sibling(EXPLORING).explorer(system, start, ts, ranges)
