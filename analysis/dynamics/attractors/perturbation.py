"""Perturbations of invariant sets, whether they come back, and the distances by which this can be told."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float
from scipy.spatial import KDTree

from analysis.dynamics.attractors.classification import TrajectoryRecord
from analysis.dynamics.attractors.distances import resolution
from analysis.dynamics.attractors.limit_set import CURVE, LimitSet
from analysis.dynamics.flow_maps.flat import flat_states
from analysis.dynamics.flow_maps.time_map import FEW, WINDOW, TimeMap, states_of
from dynsim.systems.rescaled import is_flat

RADII = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # in extents: from where perturbations are to come back
PERTURBED = 32  # perturbations of each size, and trajectories of the set that they are compared with
RETURN = 64  # windows in which they are to do so, or
AGAIN = 4  # times as many windows at most, while the answer is open
LATER = 64  # the windows in so many times fewer samples than those of the trajectory, if these are more
APART = 1e-4  # of the ranges: perturbations of the trajectories by which a recurrent set is represented
NEIGHBOURS = 0.01  # of the ranges: states of a set that are nearer have others between them
BACK = 0.9  # of the perturbations are to come back
AWAY = 0.5  # of them do not, from any distance that can be told: the set does not attract; of an orbit
AWAY_FROM_ORBIT = 0.25  # of them: perturbations along it are away from nothing
TOLD = 2  # times the spacing of a set: from there on its own trajectories would count as having come back
LEFT = 10  # times the median distance of its own trajectories, and
OUTSIDE = 0.05  # extents: one that is so far away has left the set
STRAY = 2  # slightly perturbed trajectories that may leave a set that its own do not leave
SIDES = 64  # points of a periodic orbit of a flow from which it is taken as a line


class Attraction(NamedTuple):
    """Whether perturbations of a set come back (None if that is open), from which radius, and whether it was left.

    `left` says that unperturbed trajectories have left the set, as those of a chaotic transient do.
    """

    attracts: bool | None
    radius: float
    left: bool = False


def widths(record: TrajectoryRecord) -> np.ndarray:
    """Return the sizes of perturbations of the entries of a state that change the features by about an extent."""
    return np.full(record.states.shape[1], float(np.median(record.extent)))


def on_space(time_map: TimeMap, xs: np.ndarray) -> np.ndarray:
    """Return flat states projected to the space."""
    if is_flat(time_map.system.space):
        return xs
    project = lambda x: ravel_pytree(time_map.system.space.project(time_map.restored(x)))[0]
    return np.asarray(jax.vmap(project)(jnp.asarray(xs)))


def attraction_of_orbit(time_map: TimeMap, limit: LimitSet, extent: np.ndarray, widths: np.ndarray) -> Attraction:
    """Return whether an equilibrium or periodic orbit attracts, and the radius from which all perturbations came back.

    Radii are tried that are twice as large as the error of the polygon of the points of an orbit.
    """
    xs = _perturbed(time_map, flat_states(limit.states), widths)
    line, near = Line(limit, extent), np.empty(0)
    for k in range(RETURN):
        states = time_map.window(xs, k * WINDOW)
        xs = states[-1]
        near = _near(line, contraction(limit, (k + 1) * WINDOW * float(time_map.interval)))
        if time_map.solver is not None and _are_decided(time_map, line, states, near):
            break  # steps of an implicit solver are dear
    return Attraction(*radius_of(_seen(time_map, line, states), 2 * line.error, 1.0, AWAY_FROM_ORBIT, near))


def contraction(limit: LimitSet, time: float) -> float:
    """Return by what factor small perturbations of an equilibrium or an orbit shrink in a time, at most 1."""
    if not limit.values.size:
        return 1.0
    if limit.period > 0:
        return float(min(1.0, np.max(np.abs(limit.values)) ** (time / limit.period)))
    rate = float(np.max(np.real(limit.values)))
    return float(np.exp(min(0.0, rate * time)))


def _near(line: "Line", shrunk: float) -> Float[np.ndarray, " radii"]:
    """Return how near a perturbation of each radius is to an orbit if it has come back: within half of the radius.

    It is nearer where small ones shrink fast: within the radius times the square root of their factor. What is further
    away is at another attractor close by.
    """
    radii = np.array(RADII)
    return np.minimum(radii / 2, np.maximum(radii * np.sqrt(shrunk), max(radii[-1] / 2, 2 * line.error)))


def _seen(time_map: TimeMap, line: "Line", states: np.ndarray) -> Float[np.ndarray, "radii perturbed"]:
    """Return the largest distances of perturbed trajectories from an orbit in a window."""
    ends = np.stack([line.distances(time_map.features_of(s)) for s in states])
    return np.max(ends, axis=0).reshape(len(RADII), PERTURBED)


def _are_decided(time_map: TimeMap, line: "Line", states: np.ndarray, near: np.ndarray) -> bool:
    """Return whether all perturbed trajectories have come back to an orbit, as far as this can be told, or escaped."""
    back = _seen(time_map, line, states) <= np.maximum(near, 2 * line.error)[:, None]
    return bool(np.all(back.reshape(-1) | time_map.lost(states[-1])[0]))


def attraction_of(record: TrajectoryRecord, limit: LimitSet) -> tuple[LimitSet, Attraction]:
    """Return a recurrent set with more points and its spacing, and whether it attracts.

    Perturbed trajectories are compared with unperturbed ones of the set, and with those of the smallest perturbation,
    that are as long: a perturbation by a radius can be told from none if the radius is `TOLD` times the distance of
    nearly all of these from the points of the set, its spacing.
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
        for k in range(again * windows, (again + 1) * windows):
            states = time_map.window(xs, k * WINDOW)
            xs = states[-1]
        limit, found = _judged(record, limit, tree, states, strayed)
        if found.left or found.attracts is not None or TOLD * limit.spacing >= RADII[0]:
            break
    return limit, found


def _judged(
    record: TrajectoryRecord, limit: LimitSet, tree: KDTree, states: np.ndarray, strayed: int
) -> tuple[LimitSet, Attraction]:
    """Return a recurrent set with its spacing, and whether it attracts by the last states of trajectories beside it."""
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
    """Return whether perturbations of a size come nearer, and not back, as beside neutral sets in most components."""
    between = (seen > told) & (seen <= np.asarray(RADII)[:, None] / 2)
    return bool(np.any(np.mean(between, axis=1) > 1 - BACK))


def windows_of(record: TrajectoryRecord) -> int:
    """Return the windows in which perturbations of a recurrent set are to come back at first."""
    return max(RETURN, len(record.states) // LATER)


def stay_away(seen: Float[np.ndarray, "radii perturbed"], told: float) -> bool:
    """Return whether perturbations stay away from a set that does not attract, and not only from its basin.

    Nearly all of them do, whatever their radius, or those that do stay near the set, on neutral sets beside it: their
    distances shrink with the radius. Beside a boundary of its basin that is close to an attractor a part of them leads
    to other attractors, at distances that do not.
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
    """Return whether perturbations came back, None if that is open, and the largest radius from which they did.

    They did if they are within half of their radius, or within what is `near` for each. A share of them has to, from
    that radius and from all smaller ones that are larger than `told`. They did not if a share of more than `away`
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


class Line:
    """The points of equilibria or of a periodic orbit, in extents: those of an orbit of a flow as a closed polygon."""

    def __init__(self, limit: LimitSet, extent: np.ndarray):
        """Store the points and a tree of them; the error is that of the polygon between its corners."""
        self.extent, self.points = extent, limit.features / extent
        self.tree, self.error = KDTree(self.points), 0.0
        self.is_closed = limit.kind != CURVE and resolution(limit, extent) > 0 and len(self.points) > SIDES
        if limit.kind == CURVE:
            self.error = limit.spacing / 2
        if self.is_closed:
            before, after = np.roll(self.points, 1, axis=0), np.roll(self.points, -1, axis=0)
            chord, rest = after - before, self.points - before
            along = np.sum(rest * chord, axis=1) / np.maximum(np.sum(chord**2, axis=1), 1e-300)
            self.error = float(np.max(np.linalg.norm(rest - along[:, None] * chord, axis=1))) / 4

    def distances(self, features: Float[np.ndarray, "members f"]) -> Float[np.ndarray, " members"]:
        """Return the distances of features from the set, in extents."""
        scaled = np.nan_to_num(features / self.extent, nan=1e99)
        near, place = self.tree.query(scaled)
        if not self.is_closed:
            return near
        for other in (place - 1, (place + 1) % len(self.points)):
            side = self.points[other] - self.points[place]
            along = np.sum((scaled - self.points[place]) * side, axis=1) / np.maximum(np.sum(side**2, axis=1), 1e-300)
            foot = self.points[place] + np.clip(along, 0, 1)[:, None] * side
            near = np.minimum(near, np.linalg.norm(scaled - foot, axis=1))
        return near


def _perturbed(time_map: TimeMap, flat: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return states of a set moved by each of `RADII` in random directions, on the space."""
    rng = np.random.default_rng(0)
    centres = flat[rng.integers(len(flat), size=(len(RADII), PERTURBED))]
    turned = rng.normal(size=centres.shape)
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    xs = (centres + np.asarray(RADII)[:, None, None] * widths * turned).reshape(-1, flat.shape[1])
    return on_space(time_map, xs)


def _nearest(tree: KDTree, scaled: np.ndarray) -> np.ndarray:
    return tree.query(np.nan_to_num(scaled, nan=1e99))[0]


def _denser(record: TrajectoryRecord, limit: LimitSet, windows: int) -> tuple[LimitSet, int]:
    """Return a recurrent set with more points, of trajectories from some of its own, and how many of these left it."""
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
    if covered > LEFT * max(limit.spacing, float(np.median(late))):  # all of them have left
        return limit, len(xs)
    return limit._replace(states=states_of(time_map, points), features=features), int(np.sum(away))


def _beside(flat: Float[np.ndarray, "points n"]) -> Float[np.ndarray, "members n"]:
    """Return states close to some points of a recurrent set, between them and their neighbours of another time.

    On a torus trajectories keep their distances: from close to the points they would leave its gaps open for ever.
    """
    rng, ranges = np.random.default_rng(0), np.maximum(np.ptp(flat, axis=0), 1e-300)
    one, other = np.array_split(flat, 2)
    some = one[:: -(-len(one) // FEW)]
    away, place = KDTree(other / ranges).query(some / ranges)
    gaps = np.where((away <= NEIGHBOURS)[:, None], other[place] - some, 0.0)
    return some + rng.uniform(size=(len(some), 1)) * gaps + APART * ranges * rng.normal(size=some.shape)


def _away(record: TrajectoryRecord, seen: np.ndarray, states: np.ndarray) -> Bool[np.ndarray, " members"]:
    """Return which trajectories have left a set: far from it for the others, or at rest as it never is.

    Args:
        record: the trajectory of the set.
        seen: the distances of the trajectories from the set, (members,).
        states: their last states, (window, members, n).
    """
    far = seen > max(LEFT * float(np.median(seen)), OUTSIDE)
    steps = np.max(np.abs(np.diff(record.features, axis=0)) / record.extent, axis=1)
    features = np.stack([record.time_map.features_of(s) for s in states])
    return far | (np.max(np.ptp(features, axis=0) / record.extent, axis=-1) < 0.1 * np.min(steps))
