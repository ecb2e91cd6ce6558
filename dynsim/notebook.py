"""Pictures of results in notebooks, and `explore`, which makes a page with sliders.

The drawing package imports this one, so it is looked up by name when a notebook asks for a picture.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynsim._core.siblings import sibling

NOTEBOOK, PLOTTING, EXPLORING = "figures.notebook", "figures.plotting", "figures.explore.page"

if TYPE_CHECKING:
    from figures.artists import Artists
    from figures.explore.page import ExplorePage


def picture(result: Any) -> tuple[bytes, dict[str, int]] | None:
    """PNG of a result with the size in which notebooks show it, or None for a result that is shown as text."""
    return sibling(NOTEBOOK).png(result)


def plot(result: Any, ax: Any, **options: Any) -> "Artists":
    """Draw a result into axes of matplotlib, or into a figure of its own; see `figures.plot`."""
    return sibling(PLOTTING).plot(result, ax, **options)


def explore(
    system: Any,
    start: Any = None,
    horizon: float | None = None,
    *,
    plane: Sequence[str] = (),
    **ranges: tuple[float, float],
) -> "ExplorePage":
    """Make a page that explores a system with sliders; a notebook shows it, and `save` writes one HTML file.

    The page computes in the browser, without a server or a network. It shows the phase plane with nullclines,
    equilibria and the trajectories that you click, time series, the Poincare section of a forced flow, the potential of
    a flow on a line or the cobweb of a map, and a bifurcation diagram.

    Args:
        system: a flow or a map without noise, with at most 12 components, on Euclidean space or with angles.
        start: the initial state; by default that of the equations or of the catalogue, or a random one if the
            components have names.
        horizon: length of trajectories in time units or steps; by default 50 (1,000 steps for a map of several
            components).
        plane: names of the two components that are drawn first.
        ranges: lower and upper end of the slider of a parameter, or of the window of a component, by name; by default
            from zero to twice the value.

    Raises:
        ArgumentError: for a system that a page cannot hold, a name that is neither a parameter nor a component, or if
            Bokeh is not installed (`pip install dynsim[explore]`).
        ImportError: if a folder or a file of yours has the name of a package of dynsim.

    Example:
        >>> import dynsim as ds
        >>> page = ds.explore(ds.catalogue.VanDerPol(), mu=(0.0, 4.0))
        >>> page.title, page.html.startswith("<!DOCTYPE html>")
        ('van-der-pol', True)
    """
    return sibling(EXPLORING).page(system, start, ranges, plane, horizon)
