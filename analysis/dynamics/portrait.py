"""Data of phase portraits: the vector field on a grid, equilibria by type, and the basin of each grid point."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from analysis.dynamics.equilibria import Equilibrium, equilibria
from dynsim._types import Time
from dynsim.ensembles import ensemble
from dynsim.errors import argument_error
from dynsim.integrators import Diffrax
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow

NEAR = 1e-3  # distance from a stable equilibrium within which a trajectory counts as converging to it


class Portrait(NamedTuple):
    """A grid, the vector field on it, the equilibria found, and the limit of each grid point.

    `points` and `field` have shape (points, d), `equilibrium_points` (equilibria, d), and `kinds` holds the type of
    each equilibrium. `limits`, shape (points,), is the index of the stable equilibrium to which a grid point converges,
    -1 where that is not known.
    """

    points: np.ndarray
    field: np.ndarray
    equilibrium_points: np.ndarray
    kinds: tuple[str, ...]
    limits: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fields as named arrays, to be saved."""
        return {
            "points": self.points,
            "field": self.field,
            "equilibrium_points": self.equilibrium_points,
            "kinds": np.array(self.kinds, dtype=str),
            "limits": self.limits,
        }


def circle_portrait(flow: AbstractFlow, num_points: int = 180, *, t: Time = 0.0, horizon: float = 200.0) -> Portrait:
    """Return the portrait of a flow on the circle with states of shape (2,), at equally spaced angles from 0.

    Args:
        flow: the system; a time-dependent field is frozen at `t` for field and equilibria.
        num_points: size of the grid, at least 8. Newton's method starts from these points (at most 256), so that a pair
            of equilibria between two of them can be missed.
        t: the time at which the field is evaluated, and at which trajectories start.
        horizon: the time over which trajectories are integrated to find their limits, in the flow's time unit.

    Raises:
        ValueError: for fewer points, a horizon that is not positive, or a flow with states of another shape.
    """
    _check(flow, num_points, horizon, 2)
    angles = 2 * np.pi * np.arange(num_points) / num_points
    return _portrait(flow, np.stack([np.cos(angles), np.sin(angles)], axis=1), t, horizon)


def sphere_portrait(flow: AbstractFlow, num_points: int = 800, *, t: Time = 0.0, horizon: float = 200.0) -> Portrait:
    """Return the portrait of a flow on the sphere S^2 with states of shape (3,), on a Fibonacci lattice.

    Arguments and errors are those of `circle_portrait`.
    """
    _check(flow, num_points, horizon, 3)
    heights = 1 - (2 * np.arange(num_points) + 1) / num_points
    turns = np.pi * (3 - np.sqrt(5)) * np.arange(num_points)
    radii = np.sqrt(1 - heights**2)
    return _portrait(flow, np.stack([radii * np.cos(turns), radii * np.sin(turns), heights], axis=1), t, horizon)


def planar_portrait(
    flow: AbstractFlow, xs: ArrayLike, ys: ArrayLike, *, t: Time = 0.0, horizon: float = 200.0
) -> Portrait:
    """Return the portrait of a flow in the plane, with states of shape (2,), on the grid of `xs` and `ys`.

    Grid points are ordered with x varying fastest. Equilibria outside the grid are left out. The other arguments and
    the errors are those of `circle_portrait`.
    """
    xs, ys = np.asarray(xs, float), np.asarray(ys, float)
    if xs.ndim != 1 or ys.ndim != 1 or min(len(xs), len(ys)) < 2:
        raise argument_error("xs", "be one-dimensional with at least two entries, as `ys`", f"has shape {xs.shape}")
    _check(flow, xs.size * ys.size, horizon, 2)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    return _portrait(flow, grid, t, horizon, low=grid.min(axis=0), high=grid.max(axis=0))


def _check(flow: AbstractFlow, num_points: int, horizon: float, d: int) -> None:
    if num_points < 8:
        raise argument_error("num_points", "be at least 8", f"is {num_points}")
    if not horizon > 0:
        raise argument_error("horizon", "be positive", f"is {horizon}")
    try:
        jax.eval_shape(flow.vector_field, jnp.zeros(()), jnp.ones(d))
    except (TypeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise argument_error("flow", f"have states of shape ({d},)", f"does not ({reason})") from None


def _portrait(
    flow: AbstractFlow, points: np.ndarray, t: Time, horizon: float, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
) -> Portrait:
    starts = jnp.asarray(points) if isinstance(flow.space, Euclidean) else jax.vmap(flow.space.project)(points)
    field = np.asarray(jax.vmap(lambda x: flow.vector_field(jnp.asarray(t, float), x))(starts))
    some = starts[:: -(-len(points) // 256)]
    found = [e for e in equilibria(flow, some, t) if np.all(e.state >= low) and np.all(e.state <= high)]
    rests = np.array([e.state for e in found]).reshape(-1, points.shape[1])
    return Portrait(
        np.asarray(starts), field, rests, tuple(e.kind for e in found), _limits(flow, starts, found, t, horizon)
    )


def _limits(flow: AbstractFlow, starts: jax.Array, found: list[Equilibrium], t: Time, horizon: float) -> np.ndarray:
    """Return the index of the stable equilibrium that each start is near at the end and not receding from; else -1."""
    stable = [k for k, e in enumerate(found) if e.kind == "stable"]
    if not stable:
        return np.full(len(starts), -1)
    ts = float(t) + np.array([0.0, horizon / 2, horizon])
    solved = ensemble(flow, starts, ts, lambda s, x: x, integrator=Diffrax(rtol=1e-6, atol=1e-8), chunk=len(starts))
    targets = np.array([np.asarray(found[k].state) for k in stable])
    gaps = np.linalg.norm(np.asarray(solved.values)[:, 1:, None] - targets, axis=-1)  # NaN where a member failed
    here = np.nan_to_num(gaps, nan=np.inf) < NEAR
    nearest = np.argmax(here[:, 1], axis=1)
    known = here[:, 1].any(axis=1) & (gaps[:, 1].min(axis=1) <= np.maximum(gaps[:, 0].min(axis=1), NEAR / 10))
    return np.where(known, np.array(stable)[nearest], -1)
