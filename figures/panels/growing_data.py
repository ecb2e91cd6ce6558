"""Draw data partially on axes that fit all of them, for frames of movies."""

import numpy as np
from matplotlib.axes import Axes


def up_to(rows: np.ndarray, until: float) -> np.ndarray:
    """Replace all but the first rows by NaN, which is not drawn; `until` is the share kept, at least two rows."""
    found = np.array(rows, float)
    found[max(2, round(until * len(found))) :] = np.nan
    return found


def for_all(ax: Axes, points: np.ndarray) -> None:
    """Fit the limits of the axes to all points, (points, 2), including those not drawn yet."""
    ax.update_datalim(points[np.all(np.isfinite(points), axis=1)])
    ax.autoscale_view()
