"""The numbers of a phase portrait: field, equilibria by kind, and which limit each point of a grid goes to."""

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

NEAR = 1e-3  # from a stable equilibrium: a trajectory that has come so close is counted into its basin


class Portrait(NamedTuple):
    """A grid, the field on it, the equilibria found, and the limit of each grid point.

    `points` and `field` are (points, d), `places` (equilibria, d), `kinds` one word for each; `limits` (points,) is
    the number of the stable equilibrium that a point reaches, counted in `places`, and -1 where that is not known.
    """

    points: np.ndarray
    field: np.ndarray
    places: np.ndarray
    kinds: tuple[str, ...]
    limits: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the numbers by name, to be kept."""
        return {
            "points": self.points,
            "field": self.field,
            "equilibrium_points": self.places,
            "kinds": np.array(self.kinds, dtype=str),
            "limits": self.limits,
        }


def circle_portrait(flow: AbstractFlow, num_points: int = 180, *, t: Time = 0.0, horizon: float = 200.0) -> Portrait:
    """Return the portrait of a flow on the circle whose state is a vector (2,), on equal angles from 0.

    Args:
        flow: the system; a time-dependent field is frozen at `t` for field and equilibria.
        num_points: of the grid, at least 8; also the starts of Newton's method, so that between two of them one pair
            of equilibria could be missed.
        t: the time at which the field is taken, and at which trajectories start.
        horizon: how long trajectories are followed to find their limit, in the flow's time unit.
    """
    _check(flow, num_points, horizon, 2)
    angles = 2 * np.pi * np.arange(num_points) / num_points
    return _portrait(flow, np.stack([np.cos(angles), np.sin(angles)], axis=1), t, horizon)


def sphere_portrait(flow: AbstractFlow, num_points: int = 800, *, t: Time = 0.0, horizon: float = 200.0) -> Portrait:
    """Return the portrait of a flow on the sphere S^2 whose state is a vector (3,), on a Fibonacci lattice.

    The arguments are those of `circle_portrait`.
    """
    _check(flow, num_points, horizon, 3)
    heights = 1 - (2 * np.arange(num_points) + 1) / num_points
    turns = np.pi * (3 - np.sqrt(5)) * np.arange(num_points)
    radii = np.sqrt(1 - heights**2)
    return _portrait(flow, np.stack([radii * np.cos(turns), radii * np.sin(turns), heights], axis=1), t, horizon)


def planar_portrait(
    flow: AbstractFlow, xs: ArrayLike, ys: ArrayLike, *, t: Time = 0.0, horizon: float = 200.0
) -> Portrait:
    """Return the portrait of a flow in the plane on a grid, rows of `ys` one after the other; the state is (2,).

    Equilibria outside the window are left out. The other arguments are those of `circle_portrait`.
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
    places = np.array([e.state for e in found]).reshape(-1, points.shape[1])
    return Portrait(
        np.asarray(starts), field, places, tuple(e.kind for e in found), _limits(flow, starts, found, t, horizon)
    )


def _limits(flow: AbstractFlow, starts: jax.Array, found: list[Equilibrium], t: Time, horizon: float) -> np.ndarray:
    """Return which stable equilibrium each start has come near to at the end of the horizon, and half-way to it."""
    stable = [k for k, e in enumerate(found) if e.kind == "stable"]
    if not stable:
        return np.full(len(starts), -1)
    ts = float(t) + np.array([0.0, horizon / 2, horizon])
    solved = ensemble(flow, starts, ts, lambda s, x: x, integrator=Diffrax(rtol=1e-6, atol=1e-8), chunk=len(starts))
    homes = np.array([np.asarray(found[k].state) for k in stable])
    gaps = np.linalg.norm(np.asarray(solved.values)[:, 1:, None] - homes, axis=-1)  # NaN where a member failed
    here = np.nan_to_num(gaps, nan=np.inf) < NEAR
    nearest = np.argmax(here[:, 1], axis=1)
    known = here[:, 1].any(axis=1) & (gaps[:, 1].min(axis=1) <= np.maximum(gaps[:, 0].min(axis=1), NEAR / 10))
    return np.where(known, np.array(stable)[nearest], -1)
