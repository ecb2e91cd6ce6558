"""Attention matrices: what each token gives to each."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike

from dynsim.errors import argument_error


def attention(ax: Axes, weights: ArrayLike, *, label: str = "") -> AxesImage:
    """Draw one matrix of weights, rows being the tokens that give, and return the image.

    The colour runs with the square root of the weight, from 0 to 1, so that small weights are seen; colour-blind safe.

    Args:
        ax: the axes.
        weights: (n, n), from 0 to 1.
        label: a title.
    """
    A = np.asarray(weights, float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise argument_error("weights", "have shape (n, n)", f"has shape {A.shape}")
    if not np.all((A >= 0) & (A <= 1 + 1e-6)):
        raise argument_error("weights", "lie between 0 and 1", f"reaches from {A.min():.3g} to {A.max():.3g}")
    image = ax.imshow(np.sqrt(A), cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest", rasterized=True)
    ax.set_xticks([])
    ax.set_yticks([])
    if label:
        ax.set_title(label)
    return image
