"""Continue branches of the critical manifold {f = 0} in the slow variable, with their normal hyperbolicity."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice, product, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.continuation.branches import branch
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve
from analysis.dynamics.continuation.locating import located
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.stepping import follow
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.linearisation import NEAR_ZERO, kind
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient
from analysis.dynamics.scaling.units import power_near
from analysis.fast_slow.folds import LossOfHyperbolicity, Values, fast_eigenvalues, fold_near, root_near
from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from dynsim._core.checked import checked
from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike, State, Time
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.fast_slow.reduced import RightHandSide
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Length of a stretch of the path in the continuation parameter.
LENGTH = 0.5


# Distance from zero, in units of x or ranges of y, beyond which a variable is measured from the start.
FAR = 16.0


# Step along the curve; like `LENGTH`, it is in units of 1 + max |x|.
STEP = 0.1


# Number of points between two choices of the step, and largest number of such choices.
POINTS, ROUNDS = 20, 50


# Share of a stretch by which the curve is continued beyond its end, to pass folds near the ends.
MARGIN = 1e-2


# Distance to the end, relative to the stretch, at which a branch counts as having reached it.
NEAR = 1e-6


# Component of the tangent along the path below which a branch stops without turning at a fold.
VERTICAL = 1e-4


# Distance from a turn of the curve, in units of 1 + max |x|, within which a bifurcation is the turn itself.
LOCAL = 1e-5


NAMES = {"branch point": "crossing", "Hopf point": "pair"}


class Curve(NamedTuple):
    """Points of a branch in order, its bifurcations, and how it ends: `path`, `fold`, `lost`, or "" if it continues."""

    points: list[FastSlow]
    bifurcations: list[LossOfHyperbolicity]
    end: str


class _Measured(eqx.Module):
    """A function of x and y whose arguments and values are in other units, and measured from other origins."""

    rest: RightHandSide
    fast: FastSlow
    slow: FastSlow
    unit: Array

    def __call__(self, x: Array, y: Array) -> Array:
        """Compute the value in these units."""
        (x0, sx), (y0, sy) = self.fast, self.slow
        return self.rest(x0 + sx * x, y0 + sy * y) * self.unit


class _Units(NamedTuple):
    """Origins and units of x and of y, and the unit of fast time."""

    fast: tuple[np.ndarray, np.ndarray]
    slow: tuple[np.ndarray, np.ndarray]
    time: float

    @property
    def are_given(self) -> bool:
        """Whether nothing is rescaled."""
        units = (*self.fast, *self.slow)
        return self.time == 1 and all(np.all(one == k % 2) for k, one in enumerate(units))

    def measured(self, flow: FastSlowFlow) -> FastSlowFlow:
        """The system in these units; g, which no branch depends on, is left as it is."""
        pair = lambda part: FastSlow(*(jnp.asarray(one) for one in part))
        fast = _Measured(flow.fast, pair(self.fast), pair(self.slow), jnp.asarray(self.time / self.fast[1]))
        return FastSlowFlow(fast, flow.slow, flow.epsilon)


def units_of(flow: FastSlowFlow, x: Values, slow: np.ndarray) -> _Units:
    """Choose units near the sizes that matter on a branch through x over the first one of some slow variables.

    Variables whose ranges are far from zero are measured from there. Well-scaled systems are left as they are.
    """
    if not isinstance(flow.space.parts.fast, Euclidean):
        one, zero = np.ones(()), np.zeros(())
        return _Units((zero, one), (zero, one), 1.0)
    begin, ranges = slow[0], np.ptp(slow, axis=0)
    sy = power_near(ranges)
    far = slow[int(np.argmax(np.max(np.abs((slow - begin) / sy).reshape(len(slow), -1), axis=1)))]
    start, rate, zero = (jnp.asarray(value, float) for value in (begin, far - begin, 0.0))
    line = _Line(fast=flow.fast, space=flow.space.parts.fast, begin=start, rate=rate, distance=zero)
    found = curve_units((Parameter(line, _distance, 0.0, 1.0),), jnp.asarray(x, float))
    sx = np.broadcast_to(np.asarray(found.scale, float), np.shape(x))
    origin = lambda at, unit: np.where(np.max(np.abs(at / unit), initial=0.0) > FAR, at, 0.0)
    return _Units((origin(x, sx), sx), (origin(begin, np.where(ranges > 0, ranges, 1.0)), sy), found.time)


def curves(flow: FastSlowFlow, x: Values, path: np.ndarray, units: _Units | None = None) -> Iterator[Curve]:
    """Yield successive branches, joined by folds, from a quasi-steady state over the first point of a path."""
    units = units_of(flow, x, path) if units is None else units
    if units.are_given:
        yield from _curves(flow, x, path)
        return
    (x0, sx), (y0, sy) = units.fast, units.slow
    nodes = (path - y0) / sy

    def slow(y: Values) -> Values:
        """The slow variable in given units, with those of the path as they are."""
        same = np.flatnonzero(np.all((nodes == y).reshape(len(nodes), -1), axis=1))
        return path[same[0]] if same.size else y0 + sy * y

    for part in _curves(units.measured(flow), np.asarray((x - x0) / sx), nodes):
        points = [FastSlow(x0 + sx * point.fast, slow(point.slow)) for point in part.points]
        lost = [one._replace(fast=x0 + sx * one.fast, slow=slow(one.slow)) for one in part.bifurcations]
        yield Curve(points, lost, part.end)


def _curves(flow: FastSlowFlow, x: Values, path: np.ndarray) -> Iterator[Curve]:
    """Do the same in units in which x is of order one."""
    steps = np.diff(path.reshape(len(path), -1), axis=0)
    units = steps / np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), np.finfo(float).tiny)
    corners = np.flatnonzero(np.max(np.abs(np.diff(units, axis=0)), axis=1) > 1e-9) + 1
    ends, k, ahead = [0, *(int(corner) for corner in corners), len(path) - 1], 0, 1
    points, found = [FastSlow(x, path[0])], []
    while 0 <= k < len(ends) - 1:
        for part in _Stretch(flow, path, ends[k], ends[k + 1], points[-1].fast).parts(ahead):
            points, found = points + part.points, found + part.bifurcations
            if part.end:
                yield Curve(points, found, part.end)
                points, found, ahead = points[-1:], found[-1:], -ahead
            if part.end == "lost":
                return
        k += ahead
    yield Curve(points, found, "path")


class _Line(AbstractFlow):
    """Fast subsystem with y on a straight line, at a distance from the beginning of the line."""

    fast: RightHandSide
    space: AbstractSpace
    begin: Array
    rate: Array
    distance: Array

    def velocity(self, t: Time, x: State) -> State:
        """Evaluate f at this distance."""
        return self.fast(x, self.begin + self.distance * self.rate)


class _Manifold(EquilibriumCurve):
    """Curve of quasi-steady states over a line, to a tolerance that rounding near poles allows; see `root_near`."""

    tolerances = (1e-9, 1e-9)

    def coefficient(self, name: str, point: CurvePoint, frequency: float) -> Coefficient:
        """Give NaN, because normal form coefficients are not needed."""
        return UNKNOWN


_distance = attrgetter("distance")  # one function object, so that one compiled program serves all stretches


class _Stretch:
    """Straight stretch of a path between two of its points, and the curve through the quasi-steady state x there."""

    def __init__(self, flow: FastSlowFlow, path: np.ndarray, low: int, high: int, x: Values):
        nodes, self.flow, self.path, self.x = path[low : high + 1], flow, path, x
        sizes = np.linalg.norm(np.diff(nodes.reshape(len(nodes), -1), axis=0), axis=1)
        ends = np.append(0.0, np.cumsum(sizes if np.any(sizes) else np.ones_like(sizes)))
        self.length = LENGTH * _scale(x)
        self.indices, self.distances = np.arange(low, high + 1), self.length * ends / ends[-1]
        self.rate = (nodes[-1] - nodes[0]) / self.length
        begin, rate, zero = (jnp.asarray(value, float) for value in (nodes[0], self.rate, 0.0))
        line = _Line(fast=flow.fast, space=flow.space.parts.fast, begin=begin, rate=rate, distance=zero)
        self.curve = _Manifold(Parameter(line, _distance, 0.0, self.length))

    def parts(self, ahead: int) -> Iterator[Curve]:
        """Yield parts of the curve from x, forwards or backwards: to a fold, between folds, and to the end."""
        first = self.curve.measured(jnp.asarray(self.x), float(self.distances[0 if ahead > 0 else -1]))
        rest, end = [first._replace(tangent=ahead * first.tangent)], "steps"
        for _ in range(ROUNDS):
            step, beyond = STEP * _scale(rest[-1].state), MARGIN * self.length
            within = Limits((-beyond, self.length + beyond), step, step, POINTS)
            more, end = follow(self.curve, rest[-1], rest[-1].tangent, within)
            rest += more
            while (turned := _turn(rest, ahead)) or self._passed(rest, ahead):
                at = self._between(rest, turned, lambda point: float(point.tangent[-1])) if turned else None
                until = [*rest[:turned], at] if at else rest[: turned or None]
                if self._passed(until, ahead):
                    yield self._part(until, ahead, "")
                    return
                fold = self._fold(at, ahead) if at else None
                if not (at and fold):
                    yield self._part(self._before(rest, turned, ahead * VERTICAL), ahead, "lost")
                    return
                part = self._part(until, ahead, "fold")
                yield Curve([*part.points, FastSlow(fold.fast, fold.slow)], [*part.bifurcations, fold], "fold")
                rest, ahead = [at, *rest[turned:]], -ahead
            if end != "steps":
                break
        least = ahead * self.curve.vertical
        known = [k for k, point in enumerate(rest) if ahead * (point.tangent[-1] - least) > 0]
        yield self._part(self._before(rest, known[-1] + 1 if known else 1, least), ahead, "lost")

    def _before(self, points: list[CurvePoint], k: int, slope: float) -> list[CurvePoint]:
        """Select the points before index `k`, and one between them where the tangent has a given slope."""
        last = self._between(points, k, lambda point: point.tangent[-1] - slope) if k < len(points) else None
        return [*points[:k], last] if last else points[:k]

    def _passed(self, points: list[CurvePoint], ahead: int) -> bool:
        """Test whether points reach the end of the stretch."""
        goal = self.distances[-1] if ahead > 0 else 0.0
        return bool(ahead * (points[-1].parameter - goal) >= -NEAR * self.length)

    def _between(self, points: list[CurvePoint], k: int, test: Callable[[CurvePoint], float]) -> CurvePoint | None:
        """Locate the point before index `k` at which a test function changes sign; None if it does not."""
        begin, end = points[k - 1], points[k]
        return located(self.curve, begin, end, test)[0] if test(begin) * test(end) < 0 else None

    def _place(self, distance: float) -> tuple[np.ndarray, float]:
        """Compute the slow variable at a distance, and the position on the path."""
        place = float(np.interp(distance, self.distances, self.indices))
        return np.asarray(self.path[self.indices[0]] + distance * self.rate), place

    def _fold(self, at: CurvePoint, ahead: int) -> LossOfHyperbolicity | None:
        """Locate the fold where the curve turns; None if there is none, as where two branches cross."""
        place, near = self._place(at.parameter)[1], ahead * NEAR * (len(self.indices) - 1)
        return fold_near(self.flow, np.asarray(at.state), self.path, place - near, place + near)

    def _part(self, points: list[CurvePoint], ahead: int, end: str) -> Curve:
        """Sample a part of the curve at the points of the path, with bifurcations, and the last point if it is lost."""
        known, near, tiny = branch(self.curve, points, ("", "")), LOCAL * _scale(points[0].state), 1e-9 * self.length
        start, stop = points[0].parameter, points[-1].parameter
        stop = stop if end else (self.length if ahead > 0 else 0.0) + 2 * ahead * tiny
        inner = lambda at: ahead * (at - start) > tiny and ahead * (stop - at) > tiny
        nodes = zip(self.distances[::ahead], self.path[self.indices[::ahead]], strict=True)
        chosen = [node for node in nodes if inner(node[0])]
        if end == "lost" and ahead * (stop - start) > tiny:
            chosen.append((stop, self._place(stop)[0]))
        found = [
            LossOfHyperbolicity(NAMES[b.kind], np.asarray(b.state), *self._place(b.parameter))
            for b in known.bifurcations
            if b.kind in NAMES and inner(b.parameter) and near < b.arclength < known.arclengths[-1] - near
        ]
        return Curve([FastSlow(self._at(points, ahead, *node), node[1]) for node in chosen], found, end)

    def _at(self, points: list[CurvePoint], ahead: int, distance: float, slow: Values) -> Values:
        """Compute the quasi-steady state at a distance, by bisection where roots meet and Newton's method fails."""
        k = min(max(int(np.searchsorted([ahead * p.parameter for p in points], ahead * distance)), 1), len(points) - 1)
        x, y = (np.asarray(point.state) for point in points[k - 1 : k + 1])
        begin, end = (point.parameter for point in points[k - 1 : k + 1])
        guess = x + (distance - begin) / (end - begin) * (y - x)
        root = root_near(self.flow, guess, slow)
        if np.all(np.abs(root - guess) <= float(np.max(np.abs(y - x))) + NEAR * _scale(x)):
            return root
        at = self._between(points, k, lambda point: point.parameter - distance)
        return guess if at is None else np.asarray(at.state)


def _turn(points: list[CurvePoint], ahead: int) -> int:
    """Find the first point after which the curve no longer advances along the path; 0 if there is none."""
    return next((k for k in range(1, len(points)) if ahead * points[k].tangent[-1] < 0), 0)


def _scale(x: State) -> float:
    return 1.0 + float(np.max(np.abs(np.asarray(x)), initial=0.0))


KINDS = {"stable": "attracting", "unstable": "repelling", "saddle": "saddle", "undecided": "undecided"}


class ManifoldBranch(NamedTuple):
    """Branch of the critical manifold over a path of slow variables, with its stability in the fast directions.

    Attributes:
        fast: x at the points that were reached, shape (points, ...), including a fold at either end, or the last point
            if the continuation failed.
        slow: y at these points.
        spectra: eigenvalues of D_x f in the tangent space of x, (points, modes), per fast time unit, largest real part
            first.
        kinds: `attracting`, `repelling`, `saddle`, or `undecided` (a real part is zero up to rounding) for each point.
        bifurcations: points where normal hyperbolicity is lost.
        end: `path` (the whole path was covered), `fold`, or `lost` (the continuation failed).
    """

    fast: np.ndarray
    slow: np.ndarray
    spectra: np.ndarray
    kinds: tuple[str, ...]
    bifurcations: tuple[LossOfHyperbolicity, ...]
    end: str

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the branch in the plane of slow and fast variable into axes; further branches can share them.

        The branch is solid where attracting, dashed where repelling, and dash-dotted where of saddle type. Runs
        are added by `run.plot(ax, path=True, components=("slow", "fast"))`.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: `components`, the index of the entry of y and of that of x; the parts `branches` and `folds`. A
                part is left out by False, and styled by properties of matplotlib, `folds={"markersize": 8}`. Also
                `colour`, `legend`, `labels`, `limits` and `title`, and properties of the branch, `linewidth=2`.
        """
        return plot(self, ax, **options)

    @property
    def kind(self) -> str:
        """Most frequent of `kinds`."""
        return max(sorted(set(self.kinds)), key=self.kinds.count)

    def __str__(self) -> str:
        """Describe the stability of the branch, its bifurcations and its end in sentences."""
        first, last = (_numbers(self.slow[k]) for k in (0, -1))
        counts = {word: self.kinds.count(word) for word in dict.fromkeys(self.kinds)}
        hyperbolic = ", ".join(f"{word} at {count} of {len(self.kinds)} points" for word, count in counts.items())
        parts = [f"A branch from y = {first} to y = {last}: {hyperbolic}."]
        words = {"crossing": "a zero eigenvalue and goes on", "pair": "a pair of imaginary eigenvalues"}
        for found in self.bifurcations:
            if found.kind in words:
                parts.append(f"At y = {_numbers(found.slow)} it has {words[found.kind]}.")
        if self.end == "fold":
            where = f"x = {_numbers(self.fast[-1])}, y = {last}"
            parts.append(f"It ends at a fold, {where}: beyond, this branch has no quasi-steady state.")
        if self.end == "lost":
            parts.append(
                "There the continuation failed, which is no fold: f may have a pole, or branches may meet there."
            )
        return " ".join(parts)


def _numbers(values: Values) -> str:
    return ", ".join(f"{value:.6g}" for value in np.ravel(values))


@checked
def manifold_branch(flow: FastSlowFlow, start: FastSlow, path: ArrayLike) -> ManifoldBranch:
    """Continue the branch of the critical manifold through a point along a path of y, to a fold or the end.

    The method is pseudo-arclength continuation in x and the length along the path, see
    `analysis.dynamics.continuation.stepping.follow`.

    Args:
        flow: the system.
        start: a guess of a point of the critical manifold at the first slow variable of the path.
        path: slow variables, shape (points, ...), interpolated linearly; the branch is sampled at these points.

    Raises:
        ValueError: for a path of fewer than two points, or if no quasi-steady state is found from `start`.

    Example:
        >>> import dynsim as ds
        >>> from analysis.fast_slow import manifold_branch
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x**2, lambda x, y: -1.0 + 0 * y, 0.01)
        >>> branch = manifold_branch(flow, ds.fast_slow.FastSlow(1.0, 1.0), [1.0, -1.0])  # x = sqrt(y)
        >>> branch.end, branch.kinds[0], abs(round(float(branch.bifurcations[0].slow), 4))
        ('fold', 'attracting', 0.0)
    """
    return connected_branches(flow, start, path, max_branches=1)[0]


@checked
def connected_branches(
    flow: FastSlowFlow, start: FastSlow, path: ArrayLike, *, max_branches: int = 8
) -> tuple[ManifoldBranch, ...]:
    """Continue successive branches of the critical manifold that are joined by folds, starting with `manifold_branch`.

    At each fold the other branch is continued in the opposite direction along the path, until it reaches an end of the
    path or `max_branches` have been found. The other arguments and the errors are the same as for `manifold_branch`.

    Args:
        flow: the system.
        start: guess of a point of the critical manifold at the first slow variable of the path.
        path: slow variables, shape (points, ...), interpolated linearly.
        max_branches: largest number of branches.

    Example:
        >>> import dynsim as ds
        >>> from analysis.fast_slow import connected_branches
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x**2, lambda x, y: -1.0 + 0 * y, 0.01)
        >>> found = connected_branches(flow, ds.fast_slow.FastSlow(1.0, 1.0), [1.0, -1.0])
        >>> [branch.end for branch in found], round(float(found[1].fast[-1]), 4)  # x = sqrt(y) and x = -sqrt(y)
        (['fold', 'path'], -1.0)
    """
    path, max_branches = _path(path), integer("max_branches", max_branches, least=1)
    x = np.asarray(quasi_steady_state(flow, path[0], start.fast).fast)
    found: list[ManifoldBranch] = []
    for curve in islice(curves(flow, x, path), max_branches):
        spectra = np.array([fast_eigenvalues(flow, *point) for point in curve.points])
        fast, slow = (np.array(part) for part in zip(*curve.points, strict=True))
        found.append(ManifoldBranch(fast, slow, spectra, _kinds(spectra), tuple(curve.bifurcations), curve.end))
    return tuple(found)


@checked
def sheet(flow: FastSlowFlow, start: FastSlow, *axes: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Compute one sheet of the critical manifold, x as a function of y, over a grid of slow variables.

    The slow variable is a vector with one of `axes` for each entry. Starting from the grid point nearest to `start`,
    lines of points are continued along the axes; if several branches lie over a point, the one found first is taken.

    Args:
        flow: the system, with a vector as slow variable.
        start: guess of a point of the critical manifold.
        axes: increasing values of each entry of y.

    Returns:
        x, shape (axis 1, ..., axis n, ...), NaN where it was not reached; and its kind as in `ManifoldBranch.kinds`,
        shape (axis 1, ..., axis n), empty where x is NaN.

    Raises:
        ValueError: unless there is one axis for each entry of y, or if no quasi-steady state is found from `start`.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from analysis.fast_slow import sheet
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y[0] - 2 * x, lambda x, y: -y, 0.01)
        >>> x, kinds = sheet(flow, ds.fast_slow.FastSlow(1.0, np.array([2.0])), [2.0, 4.0])
        >>> x.round(4).tolist(), kinds.tolist()
        ([1.0, 2.0], ['attracting', 'attracting'])
    """
    grid = np.stack(np.meshgrid(*(np.asarray(axis, float) for axis in axes), indexing="ij"), axis=-1)
    shape = grid.shape[:-1]
    if np.shape(start.slow) != (len(axes),) or min(shape) < 1:
        raise ArgumentError("axes", f"be one for each entry of y, {np.shape(start.slow)}", f"are {len(axes)}")
    first = np.unravel_index(int(np.argmin(np.sum((grid - np.asarray(start.slow)) ** 2, axis=-1))), shape)
    x = np.asarray(quasi_steady_state(flow, grid[first], start.fast).fast)
    values, spectra = np.full((*shape, *x.shape), np.nan), {}
    units = units_of(flow, x, np.stack([grid[first], *grid.reshape(-1, len(axes))]))
    values[first], spectra[tuple(map(int, first))] = x, fast_eigenvalues(flow, x, grid[first])
    waiting = deque([tuple(int(k) for k in first)])
    while waiting:
        here = waiting.popleft()
        for axis, way in product(range(len(shape)), (-1, 1)):
            ahead = range(here[axis] + way, shape[axis] if way > 0 else -1, way)
            line = ((*here[:axis], k, *here[axis + 1 :]) for k in ahead)
            empty = list(takewhile(lambda there: there not in spectra, line))
            path = np.stack([grid[there] for there in (here, *empty)])
            reached = next(curves(flow, values[here], path, units)).points[1:] if empty else []
            for there, point in zip(empty, reached, strict=False):
                if not np.array_equal(point.slow, grid[there]):
                    break
                values[there], spectra[there] = point.fast, fast_eigenvalues(flow, *point)
                waiting.append(there)
    kinds = np.full(shape, "", dtype="U10")
    kinds[tuple(np.transpose(list(spectra)))] = _kinds(np.array(list(spectra.values())))
    return values, kinds


def _kinds(spectra: np.ndarray) -> tuple[str, ...]:
    """Classify points of the critical manifold by their fast eigenvalues, (points, modes).

    Real parts are zero up to rounding beside the eigenvalues at the point, and beside the typical ones of all points:
    at a fold of a scalar x there is no other.
    """
    sizes = np.max(np.abs(spectra), axis=1, initial=0.0)
    zero = NEAR_ZERO * np.fmax(sizes, np.median(sizes))
    return tuple(KINDS[kind(values, float(size))] for values, size in zip(spectra, zero, strict=True))


def _path(path: ArrayLike) -> np.ndarray:
    found = np.asarray(path, float)
    if found.ndim < 1 or len(found) < 2:
        raise ArgumentError("path", "hold at least two slow variables, first axis", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArgumentError("path", "be finite", "has an entry that is not")
    return found
