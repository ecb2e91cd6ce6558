"""Compute the data of a phase plane: vector field, equilibria, limit cycles, separatrices and trajectories."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from analysis.dynamics.equilibria.families import Family, equilibrium_families
from analysis.dynamics.equilibria.newton import Equilibrium, equilibria, in_box
from analysis.dynamics.flow_maps.autonomy import change_in_time, fields
from analysis.dynamics.flow_maps.unit_speed import curves
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.dynamics.periodic_orbits.limit_cycles import cycles_with_paths
from dynsim._core.printing import one_line
from dynsim._core.types import Time
from dynsim._core.validation import integer, reals
from dynsim.errors import ArgumentError
from dynsim.notebook import picture
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components

# Number of bisections of a grid edge on which a component changes sign.
HALVINGS = 16


# Growth of the values at the ends that indicates a pole; at a zero they shrink, and at a jump they stay the same.
GROWN = 2.0


def beside_poles(
    field: Callable[[Float[np.ndarray, "points 2"]], Float[np.ndarray, "points 2"]],
    xs: Float[np.ndarray, " columns"],
    ys: Float[np.ndarray, " rows"],
    velocity: Float[np.ndarray, "rows columns 2"],
) -> Bool[np.ndarray, "rows columns 2"]:
    """Find the grid points beside which a component of the vector field has a pole.

    Edges whose ends have opposite signs are bisected. At a pole the values at the ends of the remaining interval are
    larger than those at the ends of the edge, or not finite.

    Args:
        field: the vector field at points of the plane.
        xs: first coordinate of the grid.
        ys: second coordinate of the grid.
        velocity: the vector field on the grid.
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
        poles = ~(np.abs(fa) + np.abs(fb) <= GROWN * first)
    for k in (0, 1):
        found[tuple(ends[poles, k].T)] = True
    return found


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
# Number of starts of Newton's method on each side of the window.
SIDE = 7
# Number of starts, on each side of the window, of the trajectories that locate limit cycles.
STARTS = 3
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
        equilibria: isolated equilibria.
        points: their positions in the plane.
        families: curves of equilibria, with points in the plane.
        cycles: points along each limit cycle.
        cycle_kinds: stability of each limit cycle.
        periods: period of each limit cycle.
        stable_curves: separatrices that lead to saddles; NaN after they leave the window.
        unstable_curves: separatrices that leave saddles.
        trajectories: trajectories from the given starts.
        forced: whether the field depends on time, and is drawn at one time.
        poles: grid points beside which a component has a pole, so that its sign change is no nullcline.
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
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    time_unit: str = ""

    __repr__ = one_line

    def _repr_png_(self) -> bytes | None:
        return picture(self)

    def __str__(self) -> str:
        """Describe the equilibria and limit cycles in one line."""
        places = [
            f"{e.kind} ({', '.join(f'{v:.6g}' for v in np.round(p, 9) + 0.0)})"
            for e, p in zip(self.equilibria, self.points, strict=True)
        ]
        places += [str(family) for family in self.families]
        cycles = [f"{k} cycle of period {p:.8g}" for k, p in zip(self.cycle_kinds, self.periods, strict=True)]
        return "; ".join(places + cycles) or "no equilibrium and no limit cycle in the window"


def phase_plane(
    flow: AbstractFlow,
    box: Sequence[float] | np.ndarray,
    *,
    axes: tuple[int, int] = (0, 1),
    at: Sequence[float] | np.ndarray | None = None,
    trajectories: Array | np.ndarray | int = 0,
    t: Time = 0.0,
    horizon: float | None = None,
    grid: int = GRID,
) -> PhasePlane:
    """Compute the data of a phase plane, or of a planar slice of a higher-dimensional system.

    Equilibria are searched from a grid of starts and limit cycles from a few trajectories, so that some may be missed.
    In a slice the field is projected to the plane, and equilibria must lie in the slice. Trajectories leave the slice
    and are projected too.

    Args:
        flow: the system, with vector states. A field that depends on time is frozen at `t`.
        box: the window: lower and upper bound of the first coordinate, then of the second.
        axes: indices of the two components.
        at: a state that fixes the other components in a slice; omit it for a system of two components.
        trajectories: starts in the plane, (starts, 2), or their number, spread over the window.
        t: time at which the field is evaluated.
        horizon: time after which trajectories have reached their limit cycles; the default is that of `limit_cycles`.
        grid: number of grid points on each side of the window.

    Raises:
        ValueError: for bad input, or if the field is finite nowhere in the window.
    """
    low, high = window(box, 2)
    state = np.zeros(2) if at is None else np.asarray(reals("at", at), float)
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
    poles = beside_poles(in_plane, xs, ys, field)
    forced = change_in_time(flow, points)[0] > 0
    found, curves_of = _equilibria(flow, lifted, low, high, axes, state, t)
    places = np.array([np.asarray(e.state)[list(axes)] for e in found]).reshape(-1, 2)
    whole = len(state) == 2
    cycles = [] if forced or not whole else cycles_with_paths(flow, _spread(low, high, STARTS), horizon)
    shown = [(o, path) for o, path in cycles if bool(np.any(np.all((path >= low) & (path <= high), axis=1)))]
    given = trajectory_starts(trajectories, low, high)
    into, out, along = _curves(flow, found if whole else (), lifted(given), low, high, axes, t)
    known = components(flow, state)
    return PhasePlane(
        xs, ys, field, found, places, curves_of,
        tuple(path for _, path in shown), tuple(o.stability for o, _ in shown), tuple(o.period for o, _ in shown),
        into, out, along, forced, poles, tuple(known.names[k] for k in axes), tuple(known.units[k] for k in axes),
        known.time_unit,
    )  # fmt: skip


def window(box: Sequence[float] | np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Split a box into its lower and upper corner.

    Raises:
        ValueError: for an empty box, or one of another dimension.
    """
    values = np.asarray(reals("box", box), float).ravel()
    if values.size != 2 * dimension:
        raise ArgumentError("box", f"have {2 * dimension} numbers, low and high of each axis", f"has {values.size}")
    low, high = values[::2], values[1::2]
    if not np.all(np.isfinite(values)) or not np.all(low < high):
        raise ArgumentError("box", "hold more than a point on each axis, low before high", f"is {values.tolist()}")
    return low, high


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
) -> tuple[tuple[Equilibrium, ...], tuple[Family, ...]]:
    """Find isolated equilibria and curves of equilibria in the window; in a slice only those in its plane."""
    others = [k for k in range(len(at)) if k not in axes]
    starts = lifted(_spread(low, high, SIDE))
    found = equilibria(flow, starts, t)
    inside = lambda x: in_box(x[list(axes)], low, high)
    near = IN_SLICE * float(np.max(high - low))
    kept = [e for e in found if np.all(np.abs(np.asarray(e.state)[others] - at[others]) <= near)]
    kept = [e for e in kept if inside(np.asarray(e.state))]
    extent = lifted(high - low)
    extent[others] = 1.0
    isolated, curves_of = equilibrium_families(
        flow, kept, starts, extent, inside=inside, axes=axes if others else None, t=t
    )
    return isolated, tuple(f._replace(points=f.points[:, list(axes)]) for f in curves_of)


def _spread(low: np.ndarray, high: np.ndarray, side: int) -> np.ndarray:
    """Compute midpoints of side^2 cells of the window, shifted so that none lies on an axis of symmetry."""
    parts = (np.arange(side) + 0.5 + 0.07 / np.sqrt(2)) / side
    return low + (high - low) * np.stack(np.meshgrid(parts, parts), axis=-1).reshape(-1, 2)


def trajectory_starts(given: Array | np.ndarray | int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Check the given starts, or spread that many over the window, (starts, 2)."""
    if isinstance(given, int):
        return _spread(low, high, int(np.ceil(np.sqrt(given))))[:given] if given else np.empty((0, 2))
    starts = np.asarray(reals("trajectories", given), float)
    if starts.ndim != 2 or starts.shape[1] != 2:
        raise ArgumentError("trajectories", "have shape (starts, 2)", f"has shape {starts.shape}")
    return starts


def _curves(
    flow: AbstractFlow, found: Sequence[Equilibrium], starts: np.ndarray, low: np.ndarray, high: np.ndarray,
    axes: tuple[int, int], t: Time,
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
    paths = curves(flow, points, LENGTH * size, signs=[sign for sign, *_ in begins], t=t)
    shown = clipped(paths[..., list(axes)], low, high)
    role = np.array([role for _, role, _ in begins], int)
    return shown[role == -1], shown[role == 1], shown[role == 0]


def clipped(paths: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Replace the points of curves by NaN from the first point well outside the window on."""
    pad = (high - low) / 2
    outside = np.any((paths < low - pad) | (paths > high + pad) | ~np.isfinite(paths), axis=-1)
    gone = np.cumsum(outside, axis=-1) > 0
    return np.where(gone[..., None], np.nan, paths)
