"""Measure distances between invariant sets and the growth of volumes, and match attractors along a parameter."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.optimize import linear_sum_assignment
from scipy.spatial import KDTree

from analysis.dynamics.attractors.classification import TrajectoryRecord
from analysis.dynamics.attractors.curves import Line, resolution
from analysis.dynamics.attractors.limit_set import ARRIVED, CURVE, LimitSet
from analysis.dynamics.flow_maps.time_map import WINDOW, TimeMap, velocity_of
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.scaling.units import power_near
from dynsim._core.printing import one_line, report
from dynsim.systems.rescaled import is_flat

# Share of late samples that must be as close to a set as its points are to each other; the rest may be outliers.
COVERED = 0.9
# Largest share of the distance to another attractor at which a state counts as having arrived.
APART = 0.4
# Number of blocks of a trajectory from which the error of the mean volume growth is estimated.
BLOCKS = 8
# Growth below this share of the size of the derivative counts as rounding error.
KEPT = 1e-8
# Largest share of the starts whose excursions the extent ignores, if they are `WILD` times as long as the others.
FEW_STARTS = 0.1
# Length of an excursion, relative to the other starts, from which on the extent ignores it.
WILD = 10
# Number of parts of a trajectory; a trajectory that drifts away must do so in each part.
PASSAGE = 4
# Share of the largest feature below which another one is rounding error: features may have units 1e12 times apart.
ZERO = 1e-13
# Range of a feature, relative to its size, below which it is constant up to errors of the solver.
CONSTANT = 1e-9
# Smallest ratio of the distances from the start in successive parts of a trajectory that drifts away.
ONWARD = 1.25
# Number of e-foldings of volumes before which perturbations that stay away are inconclusive.
FOLDS = 3
# Number of standard errors above which a mean growth counts as nonzero.
CLEAR = 3


def extent_of(features: Float[np.ndarray, "points f"]) -> Float[np.ndarray, " f"]:
    """Compute the range of each feature, the scale for distances; a constant feature has its absolute value.

    A feature that is always zero, up to rounding of the others, is scaled by the size of the others, or by 1 if these
    are of order one.
    """
    ranges, sizes = np.ptp(features, axis=0), np.max(np.abs(features), axis=0)
    most = float(np.max(sizes, initial=0.0))
    rest = float(power_near(most / 4))
    varies = ranges > np.maximum(ZERO * most, CONSTANT * sizes)
    return np.where(varies, ranges, np.where(sizes > ZERO * most, sizes, rest))


def extent_of_paths(features: Float[np.ndarray, "samples starts f"]) -> Float[np.ndarray, " f"]:
    """Compute `extent_of` for trajectories, ignoring the far longer excursions of a few of them.

    A start beside a pole of a map may be thrown far away before it comes back, and no distance is small relative to
    that. With few starts one of them may be a third, so that up to half are ignored, but only if they come back or move
    on and on.
    """
    whole = extent_of(features.reshape(-1, features.shape[-1]))
    low, high = _without_passages(features)
    ends = np.stack([np.quantile(low, FEW_STARTS, axis=0), np.quantile(high, 1 - FEW_STARTS, axis=0)])
    most = extent_of(ends)
    return np.where(whole > WILD * most, most, whole)


def _without_passages(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the smallest and largest features of each trajectory, (starts, f), ignoring passages of the longest ones.

    Fewer than half of the trajectories are shortened, separately for each feature. One that came back is represented by
    its late half, and one that moves on and on by its start.
    """
    low, high = np.min(features, axis=0), np.max(features, axis=0)
    early, late = np.array_split(features, 2)
    came_back = np.ptp(early, axis=0) > WILD * np.ptp(late, axis=0)
    away = np.array([np.max(np.abs(part - features[0]), axis=0) for part in np.array_split(features, PASSAGE)])
    goes_on = np.all(away[1:] > ONWARD * away[:-1], axis=0)
    count = features.shape[1]
    rank = np.argsort(np.argsort(-(high - low), axis=0, kind="stable"), axis=0)
    longest = rank < (max(1, (count - 1) // 2) if count > 1 else 0)
    home, begin = longest & came_back, longest & goes_on & ~came_back
    low = np.where(home, np.min(late, axis=0), np.where(begin, features[0], low))
    return low, np.where(home, np.max(late, axis=0), np.where(begin, features[0], high))


def stays_on(features: np.ndarray, known: LimitSet, extent: np.ndarray, among: Sequence[LimitSet] = ()) -> bool:
    """Test whether the late samples of a trajectory all lie on a known attractor, which is one `among` others."""
    tail = features[-max(WINDOW, len(features) // 4) :]
    near, fine = Line(known, extent).distances(tail), reach(known, extent, among)
    return bool(np.quantile(near, COVERED) <= fine and np.max(near) <= max(known.radius, fine))


def reach(known: LimitSet, extent: np.ndarray, among: Sequence[LimitSet] = ()) -> float:
    """Compute the distance, relative to the extent, within which a state counts as having arrived at a set.

    If no return radius is known, the distance is less than half of that to the nearest other set `among` the given
    ones.
    """
    seen = max(known.radius / 4, 2 * resolution(known, extent))
    if seen >= ARRIVED:
        return seen
    line = Line(known, extent)
    gaps = [float(np.min(line.distances(other.features))) for other in among if other is not known]
    return max(seen, min([ARRIVED, *(APART * gap for gap in gaps if gap > 0)]))


def same_set(one: LimitSet, other: LimitSet, extent: np.ndarray) -> bool:
    """Test whether two nonperiodic sets cover each other as densely as each covers itself."""
    a, b = one.features / extent, other.features / extent
    near = 2 * max(one.spacing, other.spacing)
    return all(np.quantile(KDTree(x).query(y)[0], COVERED) <= near for x, y in ((a, b), (b, a)))


class VolumeGrowth(NamedTuple):
    """The mean rate at which volumes grow along a trajectory, its standard error, and the size of the derivative."""

    mean: float
    error: float
    size: float

    __repr__ = one_line
    __str__ = report

    @property
    def is_none(self) -> bool:
        """Whether volumes are conserved, which excludes an attractor."""
        return abs(self.mean) <= KEPT * max(self.size, 1e-300)

    @property
    def is_clear(self) -> bool:
        """Whether the mean is not zero, beyond its error."""
        return not self.is_none and bool(abs(self.mean) > CLEAR * self.error)

    def is_brief(self, duration: float) -> bool:
        """Whether volumes shrink, but only slightly in a given time."""
        return self.is_clear and -FOLDS < self.mean * duration < 0


def volume_growth(record: TrajectoryRecord, few: int = 1024) -> VolumeGrowth:
    """Compute the mean growth rate of volumes along a trajectory, from about `few` of its samples."""
    rows = record.states[:: max(1, len(record.states) // few)]
    space, restored = record.time_map.system.space, record.time_map.restored
    some = rows[:1] if is_flat(space) else rows
    bases = np.array([tangent_basis(space, restored(jnp.asarray(x))) for x in some])
    bases = np.broadcast_to(bases, (len(rows), *bases.shape[1:]))
    growth, size = (np.asarray(part) for part in _growth(record.time_map, jnp.asarray(rows), jnp.asarray(bases)))
    if not np.all(np.isfinite(growth)):  # the derivative of a map is singular somewhere, so that volumes vanish
        return VolumeGrowth(float(np.mean(growth)), 0.0, float(np.mean(size)))
    means = [float(np.mean(part)) for part in np.array_split(growth, BLOCKS)]
    return VolumeGrowth(float(np.mean(growth)), float(np.std(means, ddof=1) / np.sqrt(BLOCKS)), float(np.mean(size)))


@eqx.filter_jit
def _growth(time_map: TimeMap, rows: Array, bases: Array) -> tuple[Array, Array]:
    """Compute the growth rates of volumes at states, and sizes of the derivative, in units of the search."""
    velocity, sizes = velocity_of(time_map), time_map.sizes

    def one(x: Array, basis: Array) -> tuple[Array, Array]:
        J = basis.T @ (jax.jacfwd(lambda y: velocity(jnp.zeros(()), y))(x) * sizes[None] / sizes[:, None]) @ basis
        if time_map.is_map:
            return jnp.linalg.slogdet(J)[1], jnp.asarray(1.0)
        return jnp.trace(J), jnp.linalg.norm(J)

    return jax.vmap(one)(rows, bases)


def set_distance(one: LimitSet, other: LimitSet, extent: Float[np.ndarray, " f"]) -> float:
    """Compute the Hausdorff distance between the features of two sets, relative to the extent."""
    pairs = ((one, other), (other, one))
    return max(float(np.max(Line(a, extent).distances(b.features))) for a, b in pairs)


def same_limit(one: LimitSet, other: LimitSet, extent: Float[np.ndarray, " f"], near: float) -> bool:
    """Test whether two sets are one, up to a distance relative to the extent and to the gaps between their points."""
    gaps = 2 * max(resolution(one, extent), resolution(other, extent))
    return one.kind == other.kind and set_distance(one, other, extent) <= near + gaps


def one_curve(one: LimitSet, other: LimitSet, extent: Float[np.ndarray, " f"]) -> bool:
    """Test whether two sets are parts of one curve of equilibria, since a search sees only the part near its start."""
    if not one.kind == other.kind == CURVE or one.stability != other.stability:
        return False
    nearest = np.min(KDTree(one.features / extent).query(other.features / extent)[0])
    return bool(nearest <= 2 * max(one.spacing, other.spacing))


class Followed:
    """Attractors along a parameter: each keeps the label of the one that it continues, new ones get the next label."""

    def __init__(self, furthest: float = 0.2):
        """Start without attractors; attractors more than `furthest` apart, relative to the extent, are not matched."""
        self.furthest, self.known = furthest, dict[int, LimitSet]()

    def labels(
        self, found: Sequence[LimitSet], extent: Float[np.ndarray, " f"], pairs: Sequence[int] | None = None
    ) -> list[int]:
        """Label the attractors at the next parameter value, and remember them for the value after that.

        Args:
            found: the attractors.
            extent: size of each feature.
            pairs: for each attractor, the index in `known` of the one that it continues, or -1; the default is `match`.
        """
        known = list(self.known)
        pairs = match(list(self.known.values()), found, extent, furthest=self.furthest) if pairs is None else pairs
        fresh = itertools.count(len(known))
        labels = [known[place] if place >= 0 else next(fresh) for place in pairs]
        self.known |= zip(labels, found, strict=True)
        return labels


def relabelled(labels: Int[np.ndarray, "..."], names: Sequence[int]) -> Int[np.ndarray, "..."]:
    """Replace indices of attractors by labels; negative labels are kept."""
    return np.where(labels >= 0, np.append(np.asarray(names, int), 0)[np.maximum(labels, -1)], labels)


def match(
    before: Sequence[LimitSet], after: Sequence[LimitSet], extent: Float[np.ndarray, " f"], *, furthest: float = 0.2
) -> list[int]:
    """Match attractors at two parameter values: the index in `before` that each one in `after` continues, or -1.

    Sets more than `furthest` apart, relative to the extent, are not matched. The matching minimises the sum of
    distances, in which an unmatched attractor counts as `furthest`.
    """
    found = [-1] * len(after)
    if before and after:
        costs = np.array([[set_distance(a, b, extent) for b in before] for a in after])
        for row, column in zip(*linear_sum_assignment(np.minimum(costs, furthest)), strict=True):
            if costs[row, column] <= furthest:
                found[row] = int(column)
    return found
