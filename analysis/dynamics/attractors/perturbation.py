"""Decide whether an invariant set attracts, by perturbing states on it and testing whether they return."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float
from scipy.spatial import KDTree

from analysis.dynamics.attractors.classification import TrajectoryRecord, distances_across
from analysis.dynamics.attractors.curves import Line
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.flow_maps.angles import entry_extents
from analysis.dynamics.flow_maps.time_map import FEW, WINDOW, TimeMap, states_of
from analysis.dynamics.scaling.flat import flat_states
from dynsim._core.printing import one_line, report
from dynsim.systems.rescaled import is_flat

# Sizes of the perturbations, relative to the extent.
RADII = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
# Number of perturbations of each size, and of unperturbed trajectories for comparison.
PERTURBED = 32
# Number of sampling windows in which perturbations must return.
RETURN = 64
# Largest number of repetitions of these windows while the answer is open.
AGAIN = 4
# Long trajectories are given one window for each so many samples, if this is more than `RETURN`.
LATER = 64
# Perturbation, relative to the range of each entry, of the trajectories that add points to a recurrent set.
APART = 1e-4
# Largest distance, relative to the ranges, of two states of a set that are assumed to have others between them: twice
# the typical distance of nearest states, as of a torus in four dimensions, but within these bounds.
NEIGHBOURS = (0.01, 0.15)
# Share of the perturbations that must return for the set to attract.
BACK = 0.9
# A recurrent set does not attract if more than this share stays away, for every distance that can be resolved.
AWAY = 0.5
# Replaces `AWAY` for an orbit, where perturbations along the orbit never count as away.
AWAY_FROM_ORBIT = 0.25
# Smallest resolvable perturbation, relative to the spacing of the set; smaller ones are on the set by this measure.
TOLD = 2
# A trajectory has left the set if its distance exceeds this many times the median of all trajectories and `OUTSIDE`.
LEFT = 10
# Smallest distance, relative to the extent, at which a trajectory can have left the set.
OUTSIDE = 0.05
# Share of the samples of a set that have others this near: fast parts of a trajectory have few, and far apart.
SPARSE = 0.99
# Number of slightly perturbed trajectories that may leave a set without the set counting as transient.
STRAY = 2


class Attraction(NamedTuple):
    """Whether perturbations of a set return (None if this is open), and the largest radius from which they do.

    `left` says that unperturbed trajectories left the set, as in a chaotic transient.
    """

    attracts: bool | None
    radius: float
    left: bool = False

    __repr__ = one_line
    __str__ = report


def widths(record: TrajectoryRecord) -> np.ndarray:
    """Compute the sizes of perturbations of each entry of a state that change the features by about one extent."""
    return entry_extents(record.time_map, record.extent, record.states.shape[1])


def on_space(time_map: TimeMap, xs: np.ndarray) -> np.ndarray:
    """Project flattened states to the space."""
    if is_flat(time_map.system.space):
        return xs
    project = lambda x: ravel_pytree(time_map.system.space.project(time_map.restored(x)))[0]
    return np.asarray(jax.vmap(project)(jnp.asarray(xs)))


def attraction_of_orbit(time_map: TimeMap, limit: LimitSet, extent: np.ndarray, widths: np.ndarray) -> Attraction:
    """Test whether an equilibrium or periodic orbit attracts, and from which radius all perturbations returned.

    Only radii of more than twice the error of the polygon through the points of an orbit are tested.
    """
    xs = _perturbed(time_map, flat_states(limit.states), widths)
    line, within = Line(limit, extent), float(time_map.interval) * WINDOW
    near_after = lambda windows: _near(line, contraction(limit, windows * within))
    if time_map.solver is None:
        states, last = time_map.later(xs, 0, RETURN), RETURN
    else:  # implicit steps are expensive, so that the loop stops early
        for last in range(1, RETURN + 1):
            states = time_map.window(xs, (last - 1) * WINDOW)
            xs = states[-1]
            if _are_decided(time_map, line, states, near_after(last)):
                break
    seen = _seen(time_map, line, states)
    return Attraction(*radius_of(seen, 2 * line.error, 1.0, AWAY_FROM_ORBIT, near_after(last)))


def contraction(limit: LimitSet, time: float) -> float:
    """Compute the factor by which small perturbations of an equilibrium or an orbit shrink in a time, at most 1."""
    if not limit.values.size:
        return 1.0
    if limit.period > 0:
        return float(min(1.0, np.max(np.abs(limit.values)) ** (time / limit.period)))
    rate = float(np.max(np.real(limit.values)))
    return float(np.exp(min(0.0, rate * time)))


def _near(line: "Line", shrunk: float) -> Float[np.ndarray, " radii"]:
    """Compute for each radius the distance within which a perturbation counts as returned: at most half of the radius.

    If small perturbations shrink fast, it is the radius times the square root of their contraction. A trajectory that
    stays further away is at another attractor close by.
    """
    radii = np.array(RADII)
    return np.minimum(radii / 2, np.maximum(radii * np.sqrt(shrunk), max(radii[-1] / 2, 2 * line.error)))


def _seen(time_map: TimeMap, line: "Line", states: np.ndarray) -> Float[np.ndarray, "radii perturbed"]:
    """Compute the largest distance of each perturbed trajectory from an orbit during a window."""
    ends = np.stack([line.distances(time_map.features_of(s)) for s in states])
    return np.max(ends, axis=0).reshape(len(RADII), PERTURBED)


def _are_decided(time_map: TimeMap, line: "Line", states: np.ndarray, near: np.ndarray) -> bool:
    """Test whether each perturbed trajectory has returned to the orbit, as far as can be resolved, or escaped."""
    back = _seen(time_map, line, states) <= np.maximum(near, 2 * line.error)[:, None]
    return bool(np.all(back.reshape(-1) | time_map.lost(states[-1])[0]))


def attraction_of(record: TrajectoryRecord, limit: LimitSet) -> tuple[LimitSet, Attraction]:
    """Test whether a recurrent set attracts; add points to it and measure its spacing in the process.

    Perturbed trajectories are compared with equally long unperturbed ones, and with those of the smallest perturbation.
    Nearly all of these stay within some distance of the points of the set, its spacing. A perturbation can be resolved
    if it is `TOLD` times as large as the spacing.
    """
    time_map, extent = record.time_map, record.extent
    windows = windows_of(record)
    limit, strayed = _denser(record, limit, windows)
    if strayed > STRAY:
        return limit, Attraction(None, 0.0, left=True)
    flat = flat_states(limit.states)
    unperturbed = flat[np.random.default_rng(1).integers(len(flat), size=PERTURBED)]
    xs = np.concatenate([_perturbed(time_map, flat, widths(record)), unperturbed])
    tree, found = KDTree(limit.features / extent), Attraction(None, 0.0)
    for again in range(AGAIN):
        states = time_map.later(xs, again * windows * WINDOW, windows)
        xs = states[-1]
        limit, found = _judged(record, limit, tree, states, strayed)
        if found.left or found.attracts is not None or TOLD * limit.spacing >= RADII[0]:
            break
    return limit, found


def _judged(
    record: TrajectoryRecord, limit: LimitSet, tree: KDTree, states: np.ndarray, strayed: int
) -> tuple[LimitSet, Attraction]:
    """Measure the spacing and the attraction of a recurrent set from the ends of trajectories that started near it."""
    ends = np.stack([_nearest(tree, record.time_map.features_of(s) / record.extent) for s in states])
    seen = np.quantile(ends, 0.75, axis=0)
    own, slightly = slice(-PERTURBED, None), slice(-3 * PERTURBED, -PERTURBED)
    left, strays = (np.sum(_away(record, seen[some], states[:, some])) for some in (own, slightly))
    if left or strayed + strays > STRAY:
        return limit, Attraction(None, 0.0, left=True)
    rows = seen.reshape(-1, PERTURBED)
    spacing = float(np.max(np.quantile(rows[-2:], BACK, axis=1)))
    attracts, radius = radius_of(rows[:-1], TOLD * spacing, BACK, AWAY)
    if attracts and half_way(rows[:-1], TOLD * spacing):
        attracts, radius = None, 0.0
    if attracts is False and not stay_away(rows[:-1], TOLD * spacing):
        attracts = None
    return limit._replace(spacing=spacing), Attraction(attracts, radius)


def half_way(seen: Float[np.ndarray, "radii perturbed"], told: float) -> bool:
    """Test whether many perturbations of some size came closer without returning, as near neutral sets."""
    between = (seen > told) & (seen <= np.asarray(RADII)[:, None] / 2)
    return bool(np.any(np.mean(between, axis=1) > 1 - BACK))


def windows_of(record: TrajectoryRecord) -> int:
    """Compute the number of windows in which perturbations of a recurrent set must first return."""
    return max(RETURN, len(record.states) // LATER)


def stay_away(seen: Float[np.ndarray, "radii perturbed"], told: float) -> bool:
    """Test whether perturbations stay away from the set itself, and not merely in other basins nearby.

    They do if nearly all stay away whatever their radius. They also do if they stay near the set, on neutral sets
    beside it, so that their distances shrink with the radius. Near a basin boundary that is close to an attractor, in
    contrast, some lead to other attractors, at distances that do not shrink.
    """
    radii = np.array([radius for radius in RADII if radius > told])
    rows = seen[: len(radii)]
    away = rows > radii[:, None] / 2
    if np.all(np.mean(away, axis=1) >= BACK):
        return True
    medians = np.array([np.median(row[gone]) for row, gone in zip(rows, away, strict=True)])
    return len(radii) > 1 and bool(medians[-1] / medians[0] <= np.sqrt(radii[-1] / radii[0]))


def radius_of(
    seen: Float[np.ndarray, "radii perturbed"], told: float, share: float, away: float, near: np.ndarray | None = None
) -> tuple[bool | None, float]:
    """Decide whether perturbations returned (None if open), and find the largest radius from which they did.

    A perturbation has returned if it is within half of its radius, or within `near`. At least the share `share` must
    return, from that radius and from all smaller ones above `told`. They did not return if more than the share `away`
    stayed away from every such radius.
    """
    best, refuted, smaller = 0.0, [], True
    within = np.array(RADII) / 2 if near is None else near
    for radius, row, close in sorted(zip(RADII, seen, within, strict=True), key=lambda one: one[0]):
        if radius <= told:
            continue
        back = float(np.mean(row <= close))
        smaller = smaller and back >= share
        best = radius if smaller else best
        refuted.append(1 - back > away)
    return (True if best > 0 else False if refuted and all(refuted) else None), best


def _perturbed(time_map: TimeMap, flat: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Perturb states of a set by each of `RADII` in random directions, on the space."""
    rng = np.random.default_rng(0)
    centres = flat[rng.integers(len(flat), size=(len(RADII), PERTURBED))]
    turned = rng.normal(size=centres.shape)
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    xs = (centres + np.asarray(RADII)[:, None, None] * widths * turned).reshape(-1, flat.shape[1])
    return on_space(time_map, xs)


def _nearest(tree: KDTree, scaled: np.ndarray) -> np.ndarray:
    return tree.query(np.nan_to_num(scaled, nan=1e99))[0]


def _denser(record: TrajectoryRecord, limit: LimitSet, windows: int) -> tuple[LimitSet, int]:
    """Add points to a recurrent set from trajectories that start near it, and count those that left it."""
    time_map, flat = record.time_map, flat_states(limit.states)
    xs, found = on_space(time_map, _beside(flat)), []
    for k in range(windows):
        states = time_map.window(xs, k * WINDOW)
        xs = states[-1]
        if k >= windows // 4:
            found.append(states)
    paths = np.concatenate(found)
    tree = KDTree(limit.features / record.extent)
    late = np.stack([_nearest(tree, time_map.features_of(s) / record.extent) for s in paths[-WINDOW:]])
    away = _away(record, np.quantile(late, 0.75, axis=0), paths[-WINDOW:])
    points = np.concatenate([flat, paths[:, ~away].reshape(-1, flat.shape[1])])
    if np.sum(away) > STRAY:
        return limit, int(np.sum(away))
    features = time_map.features_of(points)
    ends = KDTree(features[len(flat) :] / record.extent)
    covered = np.quantile(_nearest(ends, limit.features / record.extent), BACK)
    if covered > LEFT * max(limit.spacing, float(np.median(late))):  # all trajectories have left the set
        return limit, len(xs)
    return limit._replace(states=states_of(time_map, points), features=features), int(np.sum(away))


def _beside(flat: Float[np.ndarray, "points n"]) -> Float[np.ndarray, "members n"]:
    """Choose states near the points of a recurrent set, between each and a neighbour from another time.

    On a torus trajectories keep their distances, so that starts close to the points would never fill the gaps.
    """
    rng, ranges = np.random.default_rng(0), np.maximum(np.ptp(flat, axis=0), 1e-300)
    one, other = np.array_split(flat, 2)
    some = one[:: -(-len(one) // FEW)]
    away, place = KDTree(other / ranges).query(some / ranges)
    gaps = np.where((away <= np.clip(2 * np.median(away), *NEIGHBOURS))[:, None], other[place] - some, 0.0)
    return some + rng.uniform(size=(len(some), 1)) * gaps + APART * ranges * rng.normal(size=some.shape)


def _away(record: TrajectoryRecord, seen: np.ndarray, states: np.ndarray) -> Bool[np.ndarray, " members"]:
    """Find which trajectories have left a set: they are far from it, or rest where the set never does.

    Args:
        record: the trajectory of the set.
        seen: distances of the trajectories from the set, (members,).
        states: last states of the trajectories, (window, members, n).
    """
    sparsest = max(float(np.quantile(away, SPARSE)) for away in distances_across(record))
    far = seen > max(LEFT * float(np.median(seen)), OUTSIDE, sparsest)
    steps = np.max(np.abs(np.diff(record.features, axis=0)) / record.extent, axis=1)
    features = np.stack([record.time_map.features_of(s) for s in states])
    return far | (np.max(np.ptp(features, axis=0) / record.extent, axis=-1) < 0.1 * np.min(steps))
