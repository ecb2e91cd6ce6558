"""Data of a phase plane: field, equilibria, limit cycles, separatrices of saddles, and trajectories, in a window."""

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

HALVINGS = 16  # of an edge of the grid between values of opposite signs


GROWN = 2.0  # times: at a zero the values at its ends shrink, at a jump they stay, at a pole they grow


def beside_poles(
    field: Callable[[Float[np.ndarray, "points 2"]], Float[np.ndarray, "points 2"]],
    xs: Float[np.ndarray, " columns"],
    ys: Float[np.ndarray, " rows"],
    velocity: Float[np.ndarray, "rows columns 2"],
) -> Bool[np.ndarray, "rows columns 2"]:
    """Return for each component which points of a grid are at an end of an edge with a pole on it.

    Edges between values of opposite signs are halved; at a pole the values at the ends of what is left are larger than
    those at the ends of the edge, or not finite.

    Args:
        field: the field at points of the plane.
        xs: the first coordinate of the grid.
        ys: the second one.
        velocity: the field on the grid.
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
    """Return the ends of the edges on which a component changes its sign, (edges, 2, 3): row, column, component."""
    found = []
    for axis in (0, 1):
        low, high = (np.moveaxis(np.moveaxis(velocity, axis, 0)[part], 0, axis) for part in (slice(-1), slice(1, None)))
        with np.errstate(invalid="ignore"):
            begins = np.argwhere(low * high < 0)
        step = np.array([axis == 0, axis == 1, False], int)
        found.append(np.stack([begins, begins + step], axis=1))
    return np.concatenate(found)


GRID = 101  # points of a side of the window
SIDE = 7  # starts of Newton's method on a side of the window
STARTS = 3  # starts on a side of the window, of trajectories that lead to limit cycles
ASIDE = 1e-3  # of the window: where separatrices begin beside their saddle
LENGTH = 3.0  # of curves, in diagonals of the window
IN_SLICE = 1e-6  # of the window: an equilibrium nearer to a slice is in it


class PhasePlane(NamedTuple):
    """What a portrait of a plane shows: `velocity` is that in the plane, (rows, columns, 2), and so are all points.

    `equilibria` are isolated, `families` are curves of equilibria that are not, with points in the plane.
    Curves are NaN where they cannot be followed. `stable_curves` lead to saddles, `unstable_curves` from them.
    `forced` says that the field depends on time and is drawn at one time. `poles` says at which points of the grid a
    component has a pole beside, where no nullcline is.
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

    __repr__ = one_line

    def _repr_png_(self) -> bytes | None:
        return picture(self)

    def __str__(self) -> str:
        """Return in a line what was found."""
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
    """Return what the portrait of a plane shows, or of a slice of a higher system.

    Equilibria are found from a grid of starts, and limit cycles from a few trajectories, so that others can be missed.
    In a slice the field is projected, equilibria are those in it, and trajectories, which leave it, are projected too.

    Args:
        flow: the system, with vector states; a field that depends on time is frozen at `t`.
        box: the window: low and high of the first coordinate, then of the second.
        axes: the numbers of the two components.
        at: the state whose other components a slice has; none for a system of two components.
        trajectories: their starts in the plane, (starts, 2), or how many, spread over the window.
        t: the time at which the field is taken.
        horizon: the time after which trajectories are on their limit cycles, by default what `limit_cycles` takes.
        grid: the number of points of a side of the window.

    Raises:
        ValueError: for bad input, such as a window that holds nothing.
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
    given = _starts(trajectories, low, high)
    into, out, along = _curves(flow, found if whole else (), lifted(given), low, high, axes, t)
    return PhasePlane(
        xs, ys, field, found, places, curves_of,
        tuple(path for _, path in shown), tuple(o.stability for o, _ in shown), tuple(o.period for o, _ in shown),
        into, out, along, forced, poles,
    )  # fmt: skip


def window(box: Sequence[float] | np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the low and the high corner of a window; raise `ValueError` for an empty one, or of another dimension."""
    values = np.asarray(reals("box", box), float).ravel()
    if values.size != 2 * dimension:
        raise ArgumentError("box", f"have {2 * dimension} numbers, low and high of each axis", f"has {values.size}")
    low, high = values[::2], values[1::2]
    if not np.all(np.isfinite(values)) or not np.all(low < high):
        raise ArgumentError("box", "hold more than a point on each axis, low before high", f"is {values.tolist()}")
    return low, high


def _placed(points: np.ndarray, axes: Sequence[int], d: int) -> np.ndarray:
    """Return points of the plane (..., 2) as states (..., d) that are zero in all other components."""
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
    """Return the isolated equilibria in the window, of a slice those in it, and families with points in its plane."""
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
    """Return the midpoints of side^2 cells of the window, shifted so that none is on an axis of symmetry."""
    parts = (np.arange(side) + 0.5 + 0.07 / np.sqrt(2)) / side
    return low + (high - low) * np.stack(np.meshgrid(parts, parts), axis=-1).reshape(-1, 2)


def _starts(given: Array | np.ndarray | int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return given starts, or so many in the window, (starts, 2)."""
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
    """Return the curves that lead to saddles, those that lead from them, and those from the starts, by one program."""
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
    """Return curves with NaN from where they are well outside of the window for the first time."""
    pad = (high - low) / 2
    outside = np.any((paths < low - pad) | (paths > high + pad) | ~np.isfinite(paths), axis=-1)
    gone = np.cumsum(outside, axis=-1) > 0
    return np.where(gone[..., None], np.nan, paths)
