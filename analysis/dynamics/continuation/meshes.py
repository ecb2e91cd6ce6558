"""Continue periodic orbits by collocation, on meshes that are replaced where the error of an orbit grows."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from analysis.dynamics.collocation.intervals import refined_mesh
from analysis.dynamics.collocation.solver import MOST
from analysis.dynamics.continuation.branches import Branch, branch, is_vertical, joined
from analysis.dynamics.continuation.collocation_curve import CollocationCurve
from analysis.dynamics.continuation.curve import UNDEFINED, AbstractCurve, CurvePoint
from analysis.dynamics.continuation.marks import Watched
from analysis.dynamics.continuation.method_change import CHANGES, on_intervals_of
from analysis.dynamics.continuation.on_mesh import CurveOnMesh
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.stepping import begun_inside, follow
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.scaling.flat import states_like
from dynsim._runtime.blas import in_one_thread
from dynsim.errors import ArgumentError
from dynsim.systems.rescaled import is_flat

OnMesh = TypeVar("OnMesh", bound=CurveOnMesh)

# Error of an orbit on a new mesh, relative to the largest one: the mesh serves for several steps.
NEW = 0.03
# Largest factor by which the number of intervals grows at once, and its factor beyond what the error asks for.
GROWTH, ROOM = 2.0, 1.1
# Most meshes that are tried for an orbit.
TRIALS = 8


class Part(NamedTuple):
    """Successive points of a curve of orbits on one mesh."""

    curve: AbstractCurve
    points: list[CurvePoint]


def remeshed(curve: OnMesh, point: CurvePoint, direction: np.ndarray) -> tuple[OnMesh, CurvePoint] | None:
    """Find an orbit again on a mesh on which its error is small; None if it needs too many intervals.

    Intervals are added as the error, of order twice the number of Gauss points, asks for.
    """
    count, most = curve.segments, MOST
    for _ in range(TRIALS):
        moved, found = curve.moved_to(curve.adapted(point, count), point, direction)
        error = np.inf if found is None else moved.error(found)
        if found is not None and error <= NEW * curve.accuracy:
            return moved, found
        if count >= most:
            return (moved, found) if found is not None and error <= curve.accuracy else None
        factor = GROWTH if not np.isfinite(error) else ROOM * (error / (NEW * curve.accuracy)) ** (1 / 8)
        count = min(int(np.ceil(count * min(factor, GROWTH))), most)
        if found is not None:
            curve, point, direction = moved, found, found.tangent
    return None


def follow_on_meshes(
    curve: AbstractCurve, first: CurvePoint, direction: np.ndarray, within: Limits
) -> tuple[list[Part], str]:
    """Continue a curve from a point in one direction; give its parts, which share their ends, and why it ends.

    Meshes are replaced where the error grows, and shooting by collocation where it ends, if the curve says so.
    """
    parts: list[Part] = []
    here, size, left, home = first, None, within.points, first._replace(tangent=direction)
    while True:
        points, end = follow(curve, here, direction, within._replace(points=left), size=size, home=home)
        begin = here._replace(tangent=direction)
        if points:
            parts.append(Part(curve, [begin, *points]))
        left -= len(points)
        if (end in CHANGES or end.startswith(UNDEFINED)) and isinstance(curve, OrbitCurve) and curve.changes:
            count = curve.segments
            curve, here, home = _changed(curve, points[-1] if points else begin, home)
            direction, size = here.tangent, within.step * (curve.segments / count) ** 0.5
            continue
        if end == "lost" and isinstance(curve, CurveOnMesh) and curve.segments < MOST and left > 0:
            last = points[-1] if points else begin  # on a finer mesh, Newton's method may converge
            finer, found = curve.moved_to(curve.adapted(last, min(2 * curve.segments, MOST)), last, last.tangent)
            if found is not None:
                _, back = curve.moved_to(finer.mesh, home, home.tangent)
                curve, here, home = finer, found, found if back is None else back
                direction, size = here.tangent, within.step
                continue
        if end != "mesh" or not isinstance(curve, CurveOnMesh):
            return parts, end
        if left <= 0:
            return parts, "steps"
        last = points[-1] if points else begin
        chord = float(np.linalg.norm(points[-1].flat - [begin, *points][-2].flat)) if points else None
        found = remeshed(curve, last, last.tangent)
        if found is None:
            return parts, curve.unconfirmed(curve.nodes(last.state), last.parameter, last)
        if not points:  # not even one step on a new mesh
            size = within.step if size is None else size
            size /= 4
            if size < 1e-6 * within.step:
                return parts, curve.unconfirmed(curve.nodes(last.state), last.parameter, last)
        else:
            size = chord
        _, back = curve.moved_to(found[0].mesh, home, home.tangent)
        ratio = (found[0].segments / curve.segments) ** 0.5
        curve, here = found
        size, home = size * ratio, here if back is None else back
        direction = here.tangent


def on_resolved_mesh(curve: OrbitCurve, point: CurvePoint) -> tuple[CollocationCurve, CurvePoint] | None:
    """Find an orbit by shooting again on a mesh that resolves it; None on curved spaces, or if there is none."""
    found = on_intervals_of(curve, point) if is_flat(curve.flow.space) else None
    return None if found is None else remeshed(*found, found[1].tangent)


def _changed(curve: OrbitCurve, last: CurvePoint, home: CurvePoint) -> tuple[OrbitCurve, CurvePoint, CurvePoint]:
    """Find the last orbit by shooting again by collocation, or leave the method; `home` is where the curve began."""
    found = on_resolved_mesh(curve, last)
    if found is None:  # the curve goes on by shooting alone
        alone = copy.copy(curve)
        alone.changes = False
        return alone, last, home
    other, here = found
    cycle = other.cycle(curve.states_at(home.state, home.parameter, other.mesh[:-1]), float(home.state.period))
    if not np.all(np.isfinite(other.equations(cycle, home.parameter, other.basis(cycle)).values)):
        return other, here, here  # the first orbit is not resolved by this mesh
    first = other.measured(cycle, home.parameter)
    sign = 1.0 if first.tangent[-1] * home.tangent[-1] >= 0 else -1.0
    return other, here, first._replace(tangent=sign * first.tangent)


@in_one_thread
def branch_of_parts(parts: list[Part], ends: tuple[str, str], marks: Watched | None = None) -> Branch:
    """Build the branch of successive parts of a curve, and locate its bifurcations; see `branches.branch`."""
    most = max((part.curve.segments for part in parts if isinstance(part.curve, CurveOnMesh)), default=0)
    found = []
    for k, part in enumerate(parts):
        own = (ends[0] if k == 0 else "", ends[1] if part is parts[-1] else "")
        made = _with_periods(part, branch(part.curve, part.points, own, marks))
        found.append(_with_times(part, made) if most else made)
    whole = joined(found, ends)
    whole = whole._replace(vertical=is_vertical(parts[0].curve, whole.parameters, whole.arclengths))
    return on_intervals(parts, whole, most) if most else whole


def _with_periods(part: Part, made: Branch) -> Branch:
    """Set the periods of the orbits of a forced flow, also at bifurcations."""
    if not isinstance(part.curve, OrbitCurve):
        return made
    curve = part.curve
    own = lambda found: tuple(b._replace(state=curve.with_periods(b.state, b.parameter)) for b in found)
    states = curve.with_periods(made.states, made.parameters)
    return made._replace(states=states, bifurcations=own(made.bifurcations), marks=own(made.marks))


def _with_times(part: Part, made: Branch) -> Branch:
    """Add the times of the nodes to orbits at bifurcations, and leave out the nodes of the others."""
    curve, states = part.curve, made.states
    periods = Cycle((), states.period if isinstance(states, Cycle) else ())
    if not isinstance(curve, CurveOnMesh):
        return made._replace(states=periods)
    timed = lambda found: tuple(b._replace(state=b.state._replace(times=curve.mesh[:-1])) for b in found)
    return made._replace(states=periods, bifurcations=timed(made.bifurcations), marks=timed(made.marks))


def on_intervals(parts: list[Part], found: Branch, count: int) -> Branch:
    """Give the orbits of a branch, which consists of parts, at the beginnings of `count` intervals, with their times.

    There must be at least as many as the largest number of intervals, or segments, of a part.
    """
    made = []
    for k, part in enumerate(parts):
        points = part.points[int(k > 0) :]
        sampled = (_sampled(part.curve, point.state, point.parameter, count) for point in points)
        made.append(_stacked(part.curve, [*sampled]))
    nodes, times = jax.tree.map(lambda *a: np.concatenate(a), *made)
    states: Any = found.states
    return found._replace(states=Cycle(nodes, states.period, times))


def on_one_mesh(curve: AbstractCurve, found: list[tuple[list[Part], Branch]]) -> list[Branch]:
    """Give orbits of several branches, with the parts that they consist of, equal numbers of nodes if there are meshes.

    A branch without parts is known from before; its orbits are those of the curve, on meshes of their own.
    """
    cycles: list[Any] = [made.states for _, made in found]
    if not isinstance(curve, OrbitCurve) or all(cycle.times is None for cycle in cycles):
        return [made for _, made in found]
    most = max(jax.tree.leaves(cycle.nodes)[0].shape[1] for cycle in cycles)
    return [on_intervals(parts, made, most) if parts else _again(curve, made, most) for parts, made in found]


def _again(curve: Any, known: Branch, count: int) -> Branch:
    """Give the orbits of a known branch at the beginnings of `count` intervals."""
    states, sampled = known.states, []
    for k, value in enumerate(known.parameters):
        cycle: Any = jax.tree.map(lambda a, k=k: a[k], states)
        here = curve if cycle.times is None else curve.on(np.append(cycle.times, 1.0))
        sampled.append(_sampled(here, curve.own(cycle), float(value) / curve.unit, count))
    return known._replace(
        states=states._replace(**dict(zip(("nodes", "times"), _stacked(curve, sampled), strict=True)))
    )


def _stacked(curve: Any, sampled: list[tuple[np.ndarray, np.ndarray]]) -> tuple[Any, np.ndarray]:
    """Stack the nodes of orbits, in the units of the given system, and their times."""
    shares, rows = zip(*sampled, strict=True)
    nodes = states_like(jax.tree.map(np.asarray, curve._like), np.concatenate(rows))
    nodes = jax.tree.map(lambda a: a.reshape(len(rows), len(rows[0]), *a.shape[1:]), nodes)
    return nodes if curve.units is None else curve.units.moved(nodes, 1), np.stack(shares)


def _sampled(curve: Any, state: Any, parameter: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide the intervals or segments of an orbit into `count`; give their beginnings, and the states there."""
    m = curve.segments
    mesh = curve.mesh if isinstance(curve, CurveOnMesh) else np.arange(m + 1) / m
    shares = refined_mesh(mesh, count)[:-1]
    return shares, curve.states_at(state, parameter, shares)


def backwards(parts: list[Part]) -> list[Part]:
    """Turn the parts of a curve round."""
    return [Part(one.curve, [p._replace(tangent=-p.tangent) for p in one.points[::-1]]) for one in parts[::-1]]


@in_one_thread
def both_ways_on_meshes(
    curve: AbstractCurve,
    first: CurvePoint,
    within: Limits,
    collect: Callable[[list[Part], tuple[str, str]], Any] | None = None,
    away: tuple[str, Callable[[CurvePoint], bool]] | None = None,
) -> Any:
    """Continue a curve of solutions from one of them in both directions, and collect the parts; see `both_ways`.

    `away` says why a curve begins at its first point, and whether the tangent leads away from there: the other
    direction is then left out.
    """
    first = begun_inside(first, within)
    if isinstance(curve, CurveOnMesh) and curve.unresolved(first):
        found = remeshed(curve, first, np.append(np.zeros(len(first.tangent) - 1), 1.0))
        if found is None:
            must = f"be one that {MOST} intervals of a mesh resolve"
            raise ArgumentError("orbit", must, "needs more")
        curve, first = found
    collected = collect or (lambda parts, ends: branch_of_parts(parts, ends, within.marks))
    if away is not None:
        outward = first.tangent if away[1](first) else -first.tangent
        parts, end = follow_on_meshes(curve, first, outward, within)
        return collected(parts or [Part(curve, [first])], (away[0], end))
    forward, end = follow_on_meshes(curve, first, first.tangent, within)
    if end == "closed":
        return collected(forward, ("closed", "closed"))
    backward, begin = follow_on_meshes(curve, first, -first.tangent, within)
    turned = backwards(backward)
    if not turned or not forward:
        parts = [*turned, *forward] or [Part(curve, [first])]
    elif turned[-1].curve is forward[0].curve:
        middle = Part(curve, [*turned[-1].points, *forward[0].points[1:]])
        parts = [*turned[:-1], middle, *forward[1:]]
    else:
        parts = [*turned, *forward]
    return collected(parts, (begin, end))
