"""Count many tokens on equal-area grids, find clusters of the density, and compute how fast the clusters merge.

The cost grows with the number of cells, not with pairs of tokens.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from jaxtyping import Array, Float, Int
from scipy.spatial import KDTree

from analysis.tokens.clusters import Drift, merging
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, Time, Tokens
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.spaces import Sphere
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow

if TYPE_CHECKING:
    from figures.artists import Artists

# Largest distance of the centres of neighbouring cells on the sphere, in square roots of the cell area.
NEAR = 1.6


class EqualAreaGrid(eqx.Module):
    """Cells of equal area: arcs on the circle, or rings of latitude cut into nearly square cells on the sphere."""

    dimension: int = eqx.field(static=True)
    cells: int = eqx.field(static=True)
    edges: np.ndarray  # of the rings, in the last coordinate of the sphere; one ring for the circle
    counts: np.ndarray  # number of cells in each ring

    def __init__(self, dimension: int, cells: int):
        """Divide S^{dimension - 1} into about `cells` cells.

        Raises:
            ValueError: unless the dimension is 2 or 3 and there are at least 8 cells.
        """
        if dimension not in (2, 3):
            raise ArgumentError("dimension", "be 2 or 3 for a grid of equal area", f"is {dimension}")
        cells = integer("cells", cells, least=8)
        rings = 1 if dimension == 2 else round(math.sqrt(cells * math.pi) / 2)
        middles = (np.arange(rings) + 0.5) * math.pi / rings
        shares = np.sin(middles) / np.sum(np.sin(middles))
        self.counts = np.array([cells]) if dimension == 2 else np.maximum(3, np.round(cells * shares)).astype(int)
        self.dimension, self.cells = dimension, int(np.sum(self.counts))
        self.edges = np.concatenate([[-1.0], -1 + 2 * np.cumsum(self.counts) / self.cells])

    def cell(self, x: Tokens) -> Int[Array, " n"]:
        """Find the index of the cell of each unit vector."""
        x = jnp.asarray(x)
        turn = jnp.mod(jnp.arctan2(x[:, 1], x[:, 0]) / (2 * math.pi), 1.0)
        if self.dimension == 2:
            ring = jnp.zeros(x.shape[0], int)
        else:
            ring = jnp.searchsorted(jnp.asarray(self.edges[1:-1], x.dtype), x[:, 2], side="right")
        counts = jnp.asarray(self.counts)[ring]
        inside = jnp.minimum((turn * counts.astype(x.dtype)).astype(counts.dtype), counts - 1)
        return jnp.asarray(np.cumsum(self.counts) - self.counts)[ring] + inside

    def shares(self, x: Tokens) -> Float[Array, " cells"]:
        """Compute the share of the tokens in each cell; the shares sum to one."""
        one = jnp.asarray(1 / x.shape[0], x.dtype)
        return jnp.zeros(self.cells, x.dtype).at[self.cell(x)].add(one)

    def centres(self) -> np.ndarray:
        """Compute the centres of the cells, unit vectors (cells, dimension)."""
        angle = np.concatenate([2 * np.pi * (np.arange(count) + 0.5) / count for count in self.counts])
        if self.dimension == 2:
            return np.stack([np.cos(angle), np.sin(angle)], axis=1)
        z = np.repeat((self.edges[1:] + self.edges[:-1]) / 2, self.counts)
        r = np.sqrt(1 - z**2)
        return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)

    def neighbours(self) -> np.ndarray:
        """List the pairs of neighbouring cells, shape (pairs, 2)."""
        if self.dimension == 2:
            return np.stack([np.arange(self.cells), np.roll(np.arange(self.cells), -1)], axis=1)
        near = NEAR * math.sqrt(4 * math.pi / self.cells)
        return KDTree(self.centres()).query_pairs(near, output_type="ndarray")


class TokenDensity(NamedTuple):
    """Density of many tokens over time: the share of the tokens in each cell of a grid, (times, cells).

    Example:
        >>> import numpy as np
        >>> from analysis.tokens import EqualAreaGrid, TokenDensity
        >>> found = TokenDensity(EqualAreaGrid(2, 8), np.array([0.0, 1.0]), np.full((2, 8), 1 / 8))
        >>> found.plot().axes[0].get_xlabel()
        'time $t$'
    """

    grid: EqualAreaGrid
    ts: np.ndarray
    shares: np.ndarray

    __repr__ = one_line
    __str__ = report
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the density over time on the circle, or at one time on an equal-area map of the sphere, into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: `time`, the last time that is shown, or the only one on the sphere; the part `image`, which is left
                out by False and styled by properties of matplotlib; `top`, the density relative to the uniform one at
                the dark end of the colours; `colourbar`, `legend`, `labels`, `limits` and `title`.
        """
        return plot(self, ax, **options)


class DensityClusters(NamedTuple):
    """Clusters of a density, heaviest first: `masses` (shares of all tokens) and `centres` (unit vectors)."""

    masses: np.ndarray
    centres: np.ndarray

    __repr__ = one_line
    __str__ = report


@checked
def density_clusters(
    grid: EqualAreaGrid, shares: ArrayLike, *, level: float = 4.0, least: float = 1e-3
) -> DensityClusters:
    """Find connected sets of cells that hold at least `level` times the uniform share. NumPy: not for `jit`.

    Args:
        grid: the cells.
        shares: share of the tokens in each cell.
        level: density, relative to the uniform one, below which cells are background and belong to no cluster.
        least: smallest mass of a cluster; lighter ones count as background, too.

    Raises:
        ValueError: for shares of another shape, or a level that is not positive.

    Example:
        >>> import numpy as np
        >>> from analysis.tokens import EqualAreaGrid, density_clusters
        >>> grid = EqualAreaGrid(2, 8)
        >>> density_clusters(grid, [0.75, 0, 0, 0, 0.25, 0, 0, 0], level=2.0).masses
        array([0.75, 0.25])
    """
    p = np.asarray(shares, float)
    if p.shape != (grid.cells,):
        raise ArgumentError("shares", f"have one number for each of {grid.cells} cells", f"has shape {p.shape}")
    if not level > 0:
        raise ArgumentError("level", "be positive", f"is {level}")
    dense = p * grid.cells >= level
    pairs = grid.neighbours()
    pairs = pairs[dense[pairs].all(axis=1)]
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(grid.cells,) * 2)
    _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    masses = np.bincount(labels, np.where(dense, p, 0.0))
    kept = np.flatnonzero(masses >= least)
    kept = kept[np.argsort(-masses[kept], kind="stable")]
    weighted = np.where(dense, p, 0.0)[:, None] * grid.centres()
    sums = np.stack([np.bincount(labels, weighted[:, k]) for k in range(grid.dimension)], axis=1)[kept]
    return DensityClusters(masses[kept], sums / np.linalg.norm(sums, axis=1, keepdims=True))


@checked
def cluster_drift(flow: TokenFlow, found: DensityClusters, t: Time = 0.0) -> Drift:
    """Compute the motion of clusters as if each were a point with its mass, and their rate of approach.

    NumPy: not for `jit`. The cost grows with the pairs of clusters; the background exerts no pull.

    Args:
        flow: the flow of the tokens, on a circle or a sphere.
        found: the clusters.
        t: time, in the unit of the flow.

    Raises:
        ValueError: unless the value is c I and the tokens live on a sphere.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.tokens import DensityClusters, cluster_drift
        >>> found = DensityClusters(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> bool(cluster_drift(ds.tokens.TokenFlow(query_key=np.eye(2)), found).rate > 0)
        True
    """
    if not isinstance(flow.value, ScaledIdentity) or not isinstance(flow.space, Sphere):
        is_ = f"has {type(flow.value).__name__} on {type(flow.space).__name__}"
        raise ArgumentError("flow", "have the value c I and live on a sphere", is_)
    c = jnp.asarray(found.centres)
    scores = flow.query_key.bilinear(t, c, c) + jnp.log(jnp.asarray(found.masses))[None, None]
    strength = float(flow.scale) * np.tensordot(
        np.asarray(flow.value.factor), np.asarray(jax.nn.softmax(scores, axis=-1)), 1
    )
    gaps = found.centres[None] - found.centres[:, None]
    tangent = gaps - np.einsum("ijd,id->ij", gaps, found.centres)[..., None] * found.centres[:, None]
    return merging(found.centres, strength[..., None] * tangent)


@checked
def merge_times(ts: ArrayLike, counts: ArrayLike) -> np.ndarray:
    """Find the times at which the number of clusters decreases for good, one for each lost cluster.

    A decrease that is undone later does not count: each time is the first from which on there are never more than k
    clusters.

    Args:
        ts: increasing times, (times,).
        counts: number of clusters at each time, (times,).

    Raises:
        ValueError: unless both have one shape (times,).

    Example:
        >>> from analysis.tokens import merge_times
        >>> merge_times([0.0, 1.0, 2.0, 3.0, 4.0], [3, 2, 3, 1, 1])
        array([3., 3.])
    """
    ts, counts = np.asarray(ts, float), np.asarray(counts)
    if ts.ndim != 1 or not ts.size or counts.shape != ts.shape:
        raise ArgumentError(("ts", "counts"), "have one shape (times,)", f"have shapes {ts.shape} and {counts.shape}")
    if counts.dtype.kind not in "iu":
        raise ArgumentError("counts", "hold whole numbers", f"holds {counts.dtype.name}")
    ahead = np.maximum.accumulate(counts[::-1])[::-1]  # largest number of clusters from each time on
    lost = ahead[0] - ahead
    return np.repeat(ts[1:], np.diff(lost))
