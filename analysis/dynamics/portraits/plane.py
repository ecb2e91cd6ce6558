"""Compute the data of a phase plane: vector field, equilibria, limit cycles, separatrices and trajectories."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from analysis.dynamics.equilibria.crossings import Completeness, may_touch, spread
from analysis.dynamics.equilibria.families import Family, equilibrium_families
from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibria.newton import Equilibrium, in_box
from analysis.dynamics.equilibria.search import equilibria_in_box
from analysis.dynamics.equilibria.sliding import (
    PseudoEquilibrium,
    SurfacePoints,
    on_surface,
    pseudo_equilibria,
    surface_points,
)
from analysis.dynamics.flow_maps.angles import modulo
from analysis.dynamics.flow_maps.autonomy import change_in_time, fields
from analysis.dynamics.flow_maps.unit_speed import RTOL, curves
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.dynamics.periodic_orbits.limit_cycles import cycles_with_paths
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.units import made_units
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, printed_place
from dynsim._core.types import BoxLike, Time
from dynsim._core.validation import box_sides, integer, number, reals
from dynsim.errors import ArgumentError
from dynsim.integrators.switched_field import SwitchedField, switched_field
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components

if TYPE_CHECKING:
    from figures.artists import Artists

# Number of bisections of a grid edge on which a component changes sign.
HALVINGS = 16


# Number of golden sections that find the least value of a component on a grid line, and the largest one that is a zero,
# relative to the values at the grid points beside it.
SECTIONS, TOUCHED = 40, 1e-9
# Growth of the values at the ends that indicates a pole; at a zero they shrink, and at a jump they stay the same.
GROWN, KEPT = 2.0, 0.25


def beside_poles(
    field: Callable[[Float[np.ndarray, "points 2"]], Float[np.ndarray, "points 2"]],
    xs: Float[np.ndarray, " columns"],
    ys: Float[np.ndarray, " rows"],
    velocity: Float[np.ndarray, "rows columns 2"],
    growth: float = GROWN,
) -> Bool[np.ndarray, "rows columns 2"]:
    """Find the grid points beside which a component of the vector field has a pole.

    Edges whose ends have opposite signs are bisected. At a pole the values at the ends of the remaining interval are
    larger than those at the ends of the edge by a factor, or not finite. With a factor below 1 jumps are found, too.

    Args:
        field: the vector field at points of the plane.
        xs: first coordinate of the grid.
        ys: second coordinate of the grid.
        velocity: the vector field on the grid.
        growth: the factor.
    """
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    ends = _edges(velocity)
    found = np.zeros(velocity.shape, bool)
    if not len(ends):
        return found
    a, b = (grid[ends[:, k, 0], ends[:, k, 1]] for k in (0, 1))
    which, rows = ends[:, 0, 2], np.arange(len(ends))
    fa, fb = (velocity[tuple(ends[:, k].T)] for k in (0, 1))
    first = np.abs(fa) + np.abs(fb)
    with np.errstate(all="ignore"):
        for _ in range(HALVINGS):
            middle = (a + b) / 2
            value = np.asarray(field(middle))[rows, which]
            left = np.sign(value) == np.sign(fa)
            a, fa = np.where(left[:, None], middle, a), np.where(left, value, fa)
            b, fb = np.where(left[:, None], b, middle), np.where(left, fb, value)
        poles = ~(np.abs(fa) + np.abs(fb) <= growth * first)
    for k in (0, 1):
        found[tuple(ends[poles, k].T)] = True
    return found


def touching_nullclines(
    field: Callable[[Float[np.ndarray, "points 2"]], Float[np.ndarray, "points 2"]],
    xs: Float[np.ndarray, " columns"],
    ys: Float[np.ndarray, " rows"],
    velocity: Float[np.ndarray, "rows columns 2"],
) -> tuple[Float[np.ndarray, "first 2 2"], Float[np.ndarray, "second 2 2"]]:
    """Find where each component vanishes without a change of sign, as segments between the edges of grid cells.

    The arguments are those of `beside_poles`. The least value of a component on a grid line is found by sections; it is
    a zero if it is small relative to the values at the grid points beside it.
    """
    found: tuple[dict, dict] = ({}, {})  # points on the edges of cells: component, then row, column and axis
    for axis, coordinates in ((1, xs), (0, ys)):
        for row, column, which in np.argwhere(may_touch(velocity, axis)).tolist():
            found[which][(row, column, axis)] = None
        for which, marks in enumerate(found):
            places = np.array([place for place in marks if place[2] == axis], int).reshape(-1, 3)
            if not len(places):
                continue
            k = places[:, axis]
            lines = np.stack([xs[places[:, 1]], ys[places[:, 0]]], axis=1)
            at = lambda s, lines=lines, axis=axis: np.where([axis == 1, axis == 0], s[:, None], lines)
            speed = lambda s, at=at, which=which: np.abs(np.asarray(field(at(s)))[:, which])
            s = _least(speed, coordinates[k - 1], coordinates[k + 1])
            before, after = (np.abs(velocity[tuple(_shifted(places, axis, by).T)]) for by in (-1, 1))
            zero = speed(s) <= TOUCHED * np.maximum(before, after)[:, which]
            for place, point, low, keep in zip(places, at(s), s < coordinates[k], zero, strict=True):
                del marks[tuple(place.tolist())]
                if keep:
                    marks[(*_shifted(place[None], axis, -int(low))[0].tolist(), axis)] = point
    return _segments(found[0]), _segments(found[1])


def _shifted(places: np.ndarray, axis: int, by: int) -> np.ndarray:
    """Move the rows or columns of grid points, (points, 2)."""
    return places[:, :2] + by * np.array([axis == 0, axis == 1])


def _least(speed: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Find where functions of one number are least in intervals, by golden sections."""
    share = (np.sqrt(5) - 1) / 2
    for _ in range(SECTIONS):
        first, second = high - share * (high - low), low + share * (high - low)
        left = speed(first) < speed(second)
        low, high = np.where(left, low, first), np.where(left, second, high)
    return (low + high) / 2


def _segments(points: dict[tuple[int, int, int], np.ndarray]) -> Float[np.ndarray, "segments 2 n"]:
    """Join points on the edges of the same cell; an edge is at a row and a column, along an axis (1 is the first)."""
    found = []
    for row, column in {(r - a, c - b) for r, c, axis in points for a, b in ((0, 0), (axis == 1, axis == 0))}:
        edges = ((row, column, 1), (row + 1, column, 1), (row, column, 0), (row, column + 1, 0))
        ends = [points[edge] for edge in edges if edge in points]
        found += [ends[:2]] if len(ends) > 1 else []
    return np.reshape(found, (-1, 2, 2) if not found else (-1, *np.shape(found[0])))


def _edges(velocity: Float[np.ndarray, "rows columns 2"]) -> np.ndarray:
    """Find the ends of the grid edges on which a component changes sign, (edges, 2, 3): row, column, component."""
    found = []
    for axis in (0, 1):
        low, high = (np.moveaxis(np.moveaxis(velocity, axis, 0)[part], 0, axis) for part in (slice(-1), slice(1, None)))
        with np.errstate(invalid="ignore"):
            begins = np.argwhere(low * high < 0)
        step = np.array([axis == 0, axis == 1, False], int)
        found.append(np.stack([begins, begins + step], axis=1))
    return np.concatenate(found)


# Number of grid points on each side of the window.
GRID = 101
# Number of starts, on each side of the window, of the trajectories that locate limit cycles.
STARTS = 3
# Share of the window over which the field varies near an equilibrium, from which on cycles are looked for there, too.
WIDE = 1 / 64
# Largest number of such equilibria, and the largest distance, relative to a cycle, of a point of the same cycle.
MOST, SAME_CYCLE = 4, 0.02
# Distance of the start of a separatrix from its saddle, relative to the diagonal of the window.
ASIDE = 1e-3
# Length of curves, in diagonals of the window.
LENGTH = 3.0
# Largest distance, relative to the window, at which an equilibrium counts as lying in a slice.
IN_SLICE = 1e-6


class PhasePlane(NamedTuple):
    """Vector field, equilibria, limit cycles, separatrices and trajectories in a window of the plane.

    Attributes:
        xs: first coordinate of the grid.
        ys: second coordinate of the grid.
        velocity: components of the field in the plane, (rows, columns, 2).
        equilibria: isolated equilibria, with all copies of an angle that are in the window; printed once.
        points: their positions in the plane.
        families: curves of equilibria, with points in the plane.
        cycles: points along each limit cycle; NaN between copies of it that differ by whole turns of an angle.
        cycle_kinds: stability of each limit cycle.
        periods: period of each limit cycle.
        stable_curves: separatrices that lead to saddles; NaN where they are well outside the window.
        unstable_curves: separatrices that leave saddles.
        trajectories: trajectories from the given starts, with copies that differ by whole turns of an angle and enter
            the window; NaN between them and where they are well outside.
        forced: whether the field depends on time, and is drawn at one time.
        poles: grid points beside which a component has a pole, so that its sign change is no nullcline.
        completeness: whether the equilibria found explain the field on the edge of the window.
        touching: segments, (segments, 2, 2), where each component vanishes without a change of sign.
        surfaces: segments, (segments, 2, 2), of the curves on which the field jumps.
        sliding: whether trajectories slide along each of these.
        pseudo_equilibria: states at rest there.
        angles: periods of the two components; infinite for a component that is no angle.
        is_wide: whether the field changes near an equilibrium on a much smaller scale than the window, so that limit
            cycles away from such equilibria may be missed.
        names: names of the two components.
        units: units of the two components.
        time_unit: the unit of time.
    """

    xs: Float[np.ndarray, " columns"]
    ys: Float[np.ndarray, " rows"]
    velocity: Float[np.ndarray, "rows columns 2"]
    equilibria: tuple[Equilibrium, ...]
    points: Float[np.ndarray, "equilibria 2"]
    families: tuple[Family, ...]
    cycles: tuple[np.ndarray, ...]
    cycle_kinds: tuple[str, ...]
    periods: tuple[float, ...]
    stable_curves: Float[np.ndarray, "curves points 2"]
    unstable_curves: Float[np.ndarray, "curves points 2"]
    trajectories: Float[np.ndarray, "curves points 2"]
    forced: bool
    poles: Bool[np.ndarray, "rows columns 2"]
    completeness: Completeness = Completeness()
    touching: tuple[np.ndarray, np.ndarray] = (np.empty((0, 2, 2)), np.empty((0, 2, 2)))
    is_wide: bool = False
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    time_unit: str = ""
    surfaces: Float[np.ndarray, "segments 2 2"] = np.empty((0, 2, 2))
    sliding: Bool[np.ndarray, " segments"] = np.empty(0, bool)
    pseudo_equilibria: tuple[PseudoEquilibrium, ...] = ()
    angles: tuple[float, float] = (np.inf, np.inf)

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the phase plane into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `streamlines`, `nullclines`, `equilibria`, `cycles`,
                `separatrices`, `trajectories`, `families` and `surfaces`; `colour` and `colourbar`; `types=True` for
                node, focus, centre and saddle in the legend; `basins`, a result of `basins` to draw behind.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the equilibria and limit cycles in one line."""
        widths = np.array([np.ptp(self.xs), np.ptp(self.ys)])
        kept = modulo(self.points, np.asarray(self.angles), widths)
        places = [
            f"{e.description} ({printed_place(p, widths)})"
            for k, (e, p) in enumerate(zip(self.equilibria, self.points, strict=True))
            if k in kept
        ]
        places += [str(family) for family in self.families]
        places += [str(e) for e in self.pseudo_equilibria]
        cycles = [f"{k} cycle of period {p:.8g}" for k, p in zip(self.cycle_kinds, self.periods, strict=True)]
        listed = places + cycles or ["no equilibrium and no limit cycle in the window"]
        listed += [str(self.completeness)] if self.completeness.is_doubtful else []
        listed += ["other limit cycles may be missed in so wide a window"] if self.is_wide else []
        return "; ".join(listed)


@on_host_by_default
def phase_plane(
    flow: AbstractFlow,
    box: BoxLike,
    *,
    axes: tuple[int, int] = (0, 1),
    at: Sequence[float] | np.ndarray | None = None,
    trajectories: Array | np.ndarray | int = 0,
    t: Time = 0.0,
    horizon: float | None = None,
    grid: int = GRID,
    rtol: float = RTOL,
    atol: float | None = None,
) -> PhasePlane:
    """Compute the data of a phase plane, or of a planar slice of a higher-dimensional system.

    Equilibria are searched where nullclines cross, and `completeness` tells whether they are all; limit cycles are
    searched by a few trajectories, so that some may be missed.
    In a slice the field is projected to the plane, and equilibria must lie in the slice. Trajectories leave the slice
    and are projected too.

    Args:
        flow: the system, with vector states. A field that depends on time is frozen at `t`.
        box: the window: (low, high) for each of the two coordinates, (2, 2), or these four numbers in a row.
        axes: indices of the two components.
        at: a state that fixes the other components in a slice; omit it for a system of two components.
        trajectories: starts in the plane, (starts, 2), or their number, spread over the window.
        t: time at which the field is evaluated.
        horizon: time after which trajectories have reached their limit cycles; the default is that of `limit_cycles`.
        grid: number of grid points on each side of the window.
        rtol: relative tolerance of trajectories and of the curves of saddles.
        atol: their absolute tolerance; by default a hundredth of the relative one, in units of their length.

    Raises:
        ValueError: for bad input, or if the field is finite nowhere in the window.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import phase_plane
        >>> plane = phase_plane(ds.catalogue.VanDerPol(mu=1.0), [(-3.0, 3.0), (-3.0, 3.0)])
        >>> plane.equilibria[0].kind, plane.cycle_kinds, [round(period, 4) for period in plane.periods]
        ('unstable', ('stable',), [6.6633])
    """
    low, high = window(box, 2)
    tolerances = number("rtol", rtol), None if atol is None else number("atol", atol)
    state = np.zeros(2) if at is None else np.asarray(reals("at", at), float)
    if len(set(axes)) != 2 or not set(axes) <= set(range(len(state))):
        others = "; `at` gives the others" if at is None else ""
        raise ArgumentError("axes", f"be the indices of two of {len(state)} components{others}", f"is {axes}")
    lifted = lambda p: (
        np.where(np.isin(np.arange(len(state)), axes), np.zeros(len(state)), state) + _placed(p, axes, len(state))
    )
    side = integer("grid", grid, least=8)
    xs, ys = np.linspace(low[0], high[0], side), np.linspace(low[1], high[1], side)
    points = lifted(np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2))
    _check_states(flow, points[0])
    field = fields(flow, points, t)[:, list(axes)].reshape(side, side, 2)
    if not np.any(np.isfinite(field)):
        raise ArgumentError("box", "hold points at which the field is finite", "holds none")
    in_plane = lambda p: fields(flow, lifted(p), t)[:, list(axes)]
    switched = _switched(flow, xs, ys, t) if len(state) == 2 and tuple(axes) == (0, 1) else None
    poles = beside_poles(in_plane, xs, ys, field, GROWN if switched is None else KEPT)
    forced = change_in_time(flow, points)[0] > 0
    found, curves_of, complete = _equilibria(flow, lifted, low, high, axes, state, t)
    if switched is not None:
        found, switched = switched.without(found, low, high)
        complete = Completeness()
    places = np.array([np.asarray(e.state)[list(axes)] for e in found]).reshape(-1, 2)
    whole = len(state) == 2
    cycles, small = ([], False) if forced or not whole else _cycles(flow, found, low, high, horizon)
    angles = np.asarray(flow.space.periods(state))[list(axes)]
    placed = [(o, in_window(path, low, high, angles)) for o, path in cycles]
    shown = [(o, path) for o, path in placed if len(path)]
    given = trajectory_starts(trajectories, low, high)
    into, out, along = _curves(flow, found if whole else (), lifted(given), low, high, axes, t, tolerances)
    known = components(flow, state)
    jumps: Any = () if switched is None else switched.drawn(list(axes))
    return PhasePlane(
        xs, ys, field, found, places, curves_of,
        tuple(path for _, path in shown), tuple(o.stability for o, _ in shown), tuple(o.period for o, _ in shown),
        into, out, along, forced, poles, complete, touching_nullclines(in_plane, xs, ys, field), small,
        tuple(known.names[k] for k in axes), tuple(known.units[k] for k in axes), known.time_unit,
        *jumps, angles=tuple(angles.tolist()),
    )  # fmt: skip


def window(box: BoxLike, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Split a box into its lower and upper corner; it may be flat, low and high of each axis one after the other.

    Raises:
        ValueError: for an empty box, or one of another dimension.
    """
    values = np.asarray(reals("box", box), float)
    if values.ndim == 1 and values.size != 2 * dimension:
        raise ArgumentError("box", f"have {2 * dimension} numbers, low and high of each axis", f"has {values.size}")
    low, high = box_sides("box", values.reshape(-1, 2) if values.ndim == 1 else values, dimension)
    return low, high


class _Surfaces(NamedTuple):
    """Where a field of two components jumps: points on the edges of a grid, and states at rest on the surfaces."""

    field: SwitchedField
    t: Time
    edges: list[Any]
    near: SurfacePoints
    pseudo: tuple[PseudoEquilibrium, ...] = ()

    def without(
        self, found: Sequence[Equilibrium], low: np.ndarray, high: np.ndarray
    ) -> "tuple[tuple[Equilibrium, ...], _Surfaces]":
        """Leave out equilibria that lie on a surface, and find the pseudo-equilibria."""
        places = np.array([np.asarray(e.state) for e in found]).reshape(-1, 2)
        on = on_surface(self.field, self.t, places, high - low)
        rests = pseudo_equilibria(self.field, self.t, self.near, lambda x: in_box(x, low, high), high - low)
        return tuple(e for e, out in zip(found, on, strict=True) if not out), self._replace(pseudo=rests)

    def drawn(self, axes: list[int]) -> tuple[np.ndarray, np.ndarray, tuple[PseudoEquilibrium, ...]]:
        """The segments of the surfaces in the plane, which of them slide, and the states at rest."""
        known = dict(zip(self.edges, zip(self.near.points[:, axes], self.near.slides, strict=True), strict=True))
        marked = {edge: np.append(point, slides) for edge, (point, slides) in known.items()}
        found = np.zeros((0, 2, 3)) if not len(found := _segments(marked)) else found
        return found[..., :2], np.all(found[..., 2] > 0, axis=1), self.pseudo


def _switched(flow: AbstractFlow, xs: np.ndarray, ys: np.ndarray, t: Time) -> _Surfaces | None:
    """Find where the field jumps on the edges of a grid; None if it does not."""
    field = switched_field(flow, jnp.zeros(2))
    if field is None:
        return None
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    rows, columns = grid.shape[:2]
    along = np.argwhere(np.ones((rows, columns - 1))), np.argwhere(np.ones((rows - 1, columns)))
    ahead = along[0] + np.array([0, 1]), along[1] + np.array([1, 0])
    begins, ends = (grid[tuple(np.concatenate(places).T)] for places in (along, ahead))
    near = surface_points(field, t, begins, ends)
    near = SurfacePoints(*(part[near.jumps] for part in near))
    if not len(near.which):
        return None
    axis = (near.which < len(along[0])).astype(int)
    edges = [tuple(edge) for edge in np.column_stack([np.concatenate(along)[near.which], axis]).tolist()]
    return _Surfaces(field, t, edges, near)


def _cycles(
    flow: AbstractFlow, found: Sequence[Equilibrium], low: np.ndarray, high: np.ndarray, horizon: float | None
) -> tuple[list[tuple[PeriodicOrbit, np.ndarray]], bool]:
    """Find limit cycles from starts over the window, and from starts near equilibria where the field varies faster.

    Also tell whether there are such equilibria.
    """
    cycles, sides = cycles_with_paths(flow, spread(low, high, STARTS), horizon), high - low
    rows = FieldRows(made_units(flow), np.array([low, high]))
    scales = [(e, np.asarray(e.state), _scale(rows, np.asarray(e.state), sides)) for e in found]
    small = [(x, size) for e, x, size in scales if size < WIDE and e.kind != "saddle"]
    for x, size in small[:MOST]:
        for orbit, path in cycles_with_paths(flow, spread(x - size * sides, x + size * sides, STARTS), horizon):
            gaps = [np.min(np.max(np.abs(path[:1] - other) / np.ptp(other, axis=0), axis=1)) for _, other in cycles]
            if min(gaps, default=1.0) > SAME_CYCLE:
                cycles.append((orbit, path))
    return cycles, bool(small)


def _scale(rows: FieldRows, x: np.ndarray, sides: np.ndarray) -> float:
    """Estimate the share of the window over which the Jacobian at an equilibrium changes by about its own norm."""
    shares = 2.0 ** -np.arange(1.0, 31.0)
    points = x + shares[:, None, None] * sides * np.array([[1.0, 0.3], [-0.3, 1.0], [-1.0, -0.3], [0.3, -1.0]])
    scaled = lambda points: rows(points)[1] * sides / sides[:, None]
    own = scaled(x[None])
    changes = np.linalg.norm(scaled(points.reshape(-1, 2)) - own, axis=(1, 2)).reshape(len(shares), -1)
    with np.errstate(invalid="ignore"):
        near = np.all(changes <= np.linalg.norm(own), axis=1)
    return float(shares[np.argmax(near)]) if np.any(near) else 1.0


def _placed(points: np.ndarray, axes: Sequence[int], d: int) -> np.ndarray:
    """Embed points of the plane (..., 2) as states (..., d) whose other components are zero."""
    found = np.zeros((*np.shape(points)[:-1], d))
    found[..., list(axes)] = points
    return found


def _check_states(flow: AbstractFlow, x: np.ndarray) -> None:
    try:
        shape = jax.eval_shape(flow.vector_field, np.zeros(()), x).shape
    except (TypeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise ArgumentError("flow", f"have states of shape {x.shape}", f"does not ({reason})") from None
    if shape != x.shape:
        raise ArgumentError("flow", f"have states of shape {x.shape}", f"has a field of shape {shape}")


def _equilibria(
    flow: AbstractFlow,
    lifted: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    axes: tuple[int, int],
    at: np.ndarray,
    t: Time,
) -> tuple[tuple[Equilibrium, ...], tuple[Family, ...], Completeness]:
    """Find isolated equilibria and curves of equilibria in the window; in a slice only those in its plane."""
    others = [k for k in range(len(at)) if k not in axes]
    found, complete = equilibria_in_box(flow, low, high, t, lifted=lifted, axes=axes)
    inside = lambda x: in_box(x[list(axes)], low, high)
    near = IN_SLICE * float(np.max(high - low))
    kept = [e for e in found if np.all(np.abs(np.asarray(e.state)[others] - at[others]) <= near)]
    kept = [e for e in kept if inside(np.asarray(e.state))]
    extent = lifted(high - low)
    extent[others] = 1.0
    corners = lifted(np.array([low, high]))
    isolated, curves_of = equilibrium_families(
        flow, kept, corners, extent, inside=inside, axes=axes if others else None, t=t
    )
    return isolated, tuple(f._replace(points=f.points[:, list(axes)]) for f in curves_of), complete


def trajectory_starts(given: Array | np.ndarray | int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Check the given starts, or spread that many over the window, (starts, 2)."""
    if isinstance(given, int):
        return spread(low, high, int(np.ceil(np.sqrt(given))))[:given] if given else np.empty((0, 2))
    starts = np.asarray(reals("trajectories", given), float)
    if starts.ndim != 2 or starts.shape[1] != 2:
        raise ArgumentError("trajectories", "have shape (starts, 2)", f"has shape {starts.shape}")
    return starts


def _curves(
    flow: AbstractFlow, found: Sequence[Equilibrium], starts: np.ndarray, low: np.ndarray, high: np.ndarray,
    axes: tuple[int, int], t: Time, tolerances: tuple[float, float | None] = (RTOL, None),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Compute the curves into saddles, out of saddles, and from the starts, in one compiled program."""
    size = float(np.linalg.norm(high - low))
    begins = [(1.0, 0, x) for x in starts]
    for e in (e for e in found if e.kind == "saddle"):
        pair: Any = np.linalg.eig(tangent_jacobian(flow, e.state, jnp.asarray(t, float)))
        for value, vector in zip(pair[0].real, pair[1].real.T, strict=True):
            sign = float(np.sign(value))
            begins += [(sign, int(sign), np.asarray(e.state) + side * ASIDE * size * vector) for side in (1, -1)]
    points = np.reshape([x for *_, x in begins], (-1, starts.shape[1]))
    rtol, atol = tolerances
    paths = curves(flow, points, LENGTH * size, signs=[sign for sign, *_ in begins], t=t, rtol=rtol, atol=atol)
    shown = clipped(paths[..., list(axes)], low, high)
    role = np.array([role for _, role, _ in begins], int)
    given = paths[role == 0][..., list(axes)]
    angles = np.asarray(flow.space.periods(starts[0]))[list(axes)] if len(starts) else np.full(2, np.inf)
    if np.any(np.isfinite(angles)):
        given = _stacked([in_window(path[np.all(np.isfinite(path), axis=1)], low, high, angles) for path in given])
    return shown[role == -1], shown[role == 1], clipped(given, low, high)


def _stacked(paths: Sequence[np.ndarray]) -> Float[np.ndarray, "paths points 2"]:
    """Stack paths of different lengths, with NaN after the ends of the shorter ones."""
    found = np.full((len(paths), max(map(len, paths), default=0), 2), np.nan)
    for row, path in zip(found, paths, strict=True):
        row[: len(path)] = path
    return found


def in_window(
    path: Float[np.ndarray, "points 2"], low: np.ndarray, high: np.ndarray, angles: np.ndarray
) -> Float[np.ndarray, "more 2"]:
    """Join the copies of a path, by whole turns of angles, that enter a window, the nearest first, with NaN between."""
    turns = np.where(np.isfinite(angles), angles, 0.0)
    each = np.where(turns > 0, turns, 1.0)
    first = np.where(turns > 0, np.ceil((low - np.max(path, axis=0)) / each), 0).astype(int)
    last = np.where(turns > 0, np.floor((high - np.min(path, axis=0)) / each), 0).astype(int)
    shifts = turns * np.stack(np.meshgrid(*map(np.arange, first, last + 1)), axis=-1).reshape(-1, 2)
    copies = [path + shift for shift in sorted(shifts, key=np.linalg.norm)]
    entering = [copy for copy in copies if np.any(np.all((copy >= low) & (copy <= high), axis=1))]
    gap = np.full((1, 2), np.nan)
    return np.concatenate([part for copy in entering for part in (gap, copy)][1:] or [np.empty((0, 2))])


def clipped(paths: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Replace the points of curves that are well outside the window by NaN; a curve may enter it again."""
    pad = (high - low) / 2
    outside = np.any((paths < low - pad) | (paths > high + pad) | ~np.isfinite(paths), axis=-1)
    return np.where(outside[..., None], np.nan, paths)
