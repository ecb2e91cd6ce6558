"""Data that are drawn in part, on axes for all of them: frames of movies."""

import numpy as np
from matplotlib.axes import Axes


def up_to(rows: np.ndarray, until: float) -> np.ndarray:
    """Return the first rows, two at least, of which there is a share; the others are NaN, which is not drawn."""
    found = np.array(rows, float)
    found[max(2, round(until * len(found))) :] = np.nan
    return found


def for_all(ax: Axes, points: np.ndarray) -> None:
    """Let the limits of the axes be those of all points, (points, 2), also of those that are not drawn yet."""
    ax.update_datalim(points[np.all(np.isfinite(points), axis=1)])
    ax.autoscale_view()
