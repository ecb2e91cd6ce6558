"""Map points from many dimensions to the plane by t-SNE, which keeps neighbours together."""

import numpy as np
from jaxtyping import Float

from dynsim._core.types import ArrayLike
from dynsim._core.validation import number, reals
from dynsim.errors import ArgumentError, UnavailableError


def neighbour_map(points: ArrayLike, *, perplexity: float = 30.0) -> Float[np.ndarray, "points 2"]:
    """Compute a planar t-SNE map of points, started from their principal components and deterministic.

    Neighbours are told apart by distances relative to the nearest ones, so that a common scale of all points changes
    nothing; distances in the map between points that are no neighbours mean nothing. NumPy: not for `jit`.

    Args:
        points: shape (points, dimensions).
        perplexity: the effective number of neighbours of a point.

    Raises:
        ValueError: unless there are more points than `perplexity`, in at least two dimensions, all finite.
        UnavailableError: if scikit-learn is missing.
    """
    found, neighbours = np.asarray(reals("points", points), float), number("perplexity", perplexity)
    if found.ndim != 2 or found.shape[1] < 2 or len(found) <= neighbours:
        must = f"have more rows than `perplexity`, {neighbours:g}, and at least two columns"
        raise ArgumentError("points", must, f"has shape {found.shape}")
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        needs = "scikit-learn (`pip install dynsim[text]`), which is missing"
        raise UnavailableError(f"The map of neighbours needs {needs}.") from None
    scaled = (found - found.mean(axis=0)) / max(float(np.std(found)), np.finfo(float).tiny)
    return TSNE(perplexity=neighbours, init="pca", random_state=0).fit_transform(scaled.astype(np.float32))
