"""Draw matrices over pairs of tokens: attention weights, and sensitivities of outputs to inputs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm
from matplotlib.image import AxesImage

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import NO_BASIN, colour


def attention(ax: Axes, weights: ArrayLike, *, masked: ArrayLike | None = None, label: str = "") -> AxesImage:
    """Draw a matrix of attention weights; row i holds the weights that token i places on other tokens.

    The colour scale is the square root of the weight, from 0 to 1, so that small weights are visible; `weight_bar`
    draws its colour bar. Masked entries are hatched on grey, which no weight has.

    Args:
        ax: the axes.
        weights: attention weights from 0 to 1, (n, n), with queries in rows and keys in columns.
        masked: entries that the attention mask excludes, (n, n); none by default.
        label: the title of the axes.

    Raises:
        ValueError: for a matrix of the wrong shape, or weights outside [0, 1].
    """
    A = np.asarray(weights, float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ArgumentError("weights", "have shape (n, n)", f"has shape {A.shape}")
    if not np.all((A >= 0) & (A <= 1 + 1e-6)):
        raise ArgumentError("weights", "lie between 0 and 1", f"reaches from {A.min():.3g} to {A.max():.3g}")
    hidden = np.zeros(A.shape, bool) if masked is None else np.asarray(masked, bool)
    shown = np.ma.masked_array(np.sqrt(A), hidden)
    image = ax.imshow(shown, cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest", rasterized=True)
    ax.patch.set(facecolor=NO_BASIN, edgecolor=colour("surface"), hatch="////", linewidth=0.0)
    ax.set(xticks=[], yticks=[], xlabel="key", ylabel="query")
    if label:
        ax.set_title(label)
    return image


def weight_bar(axes: Sequence[Axes], image: AxesImage) -> Colorbar:
    """Draw the colour bar of panels of `attention`, with ticks at weights."""
    ticks = np.array([0.0, 0.01, 0.1, 0.25, 0.5, 1.0])
    bar = image.axes.figure.colorbar(image, ax=list(axes), shrink=0.8, pad=0.02, aspect=25)
    bar.set_ticks(np.sqrt(ticks).tolist(), labels=[f"{weight:g}" for weight in ticks])
    bar.set_label("attention weight (square-root scale)")
    return bar


def leaks(ax: Axes, matrix: ArrayLike, *, block: int, top: float | None = None, decades: int = 2) -> AxesImage:
    """Draw the sensitivity of the output at each position (row) to the input at each position (column).

    The colour scale is logarithmic; exact zeros are white, and values below the scale have its lowest colour. Thin
    lines separate the blocks. Entries above the dashed diagonal are leaks from the future.

    Args:
        ax: the axes.
        matrix: nonnegative sensitivities, (n, n).
        block: the number of positions in a block.
        top: the upper end of the scale; the largest entry by default.
        decades: the number of decades of the scale.

    Raises:
        ValueError: for a matrix of the wrong shape, a negative entry, or a block of less than one position.
    """
    L = np.asarray(matrix, float)
    if L.ndim != 2 or L.shape[0] != L.shape[1]:
        raise ArgumentError("matrix", "have shape (n, n)", f"has shape {L.shape}")
    if not np.all(L >= 0):
        raise ArgumentError("matrix", "not be negative", f"reaches down to {np.nanmin(L):.3g}")
    if block < 1:
        raise ArgumentError("block", "be at least 1", f"is {block}")
    high = float(np.max(L)) if top is None else top
    high = high if high > 0 else 1.0
    low = high / 10.0**decades
    shown = np.ma.masked_equal(np.where(L > 0, np.maximum(L, low), 0.0), 0.0)
    image = ax.imshow(shown, cmap="cividis", norm=LogNorm(low, high), interpolation="nearest", rasterized=True)
    n = len(L)
    for edge in np.arange(block, n, block) - 0.5:
        ax.axhline(edge, color=colour("surface"), linewidth=0.3)
        ax.axvline(edge, color=colour("surface"), linewidth=0.3)
    ax.plot([-0.5, n - 0.5], [-0.5, n - 0.5], color=colour("negative"), linestyle="--", linewidth=0.8)
    ax.set_xticks(np.arange(0, n, block))
    ax.set_yticks(np.arange(0, n, block))
    return image
