"""Compute phase portraits on the circle and the sphere: field, equilibria, and the limit of each grid point."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.attractors.basins import labelled
from analysis.dynamics.attractors.options import Search, set_up
from analysis.dynamics.equilibria.families import Family, equilibrium_families
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.flow_maps.unit_speed import Frozen
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import Time
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow

if TYPE_CHECKING:
    from figures.artists import Artists

# Largest distance at which an attractor is identified with an equilibrium found by Newton's method.
SAME = 1e-6


class PortraitCycle(NamedTuple):
    """A limit cycle of a portrait: its number among the limits, its stability, and points along it, (points, d)."""

    limit: int
    kind: str
    points: np.ndarray


class Portrait(NamedTuple):
    """Vector field on a grid, equilibria, and the limit of each grid point.

    Attributes:
        points: grid points, (points, d).
        field: vector field at these points, (points, d).
        equilibrium_points: isolated equilibria, (equilibria, d).
        kinds: stability type of each equilibrium.
        limits: for each grid point the index of the stable equilibrium that it reaches, a larger number for other
            attractors, or -1 if no attractor is known, (points,).
        cycles: limit cycles among the attractors.
        families: curves of equilibria.
        others: kind of each attractor that is no isolated equilibrium, by its number.
        types: type of each equilibrium in words, such as `stable node`.
    """

    points: np.ndarray
    field: np.ndarray
    equilibrium_points: np.ndarray
    kinds: tuple[str, ...]
    limits: np.ndarray
    cycles: tuple[PortraitCycle, ...] = ()
    families: tuple[Family, ...] = ()
    others: Mapping[int, str] = {}
    types: tuple[str, ...] = ()

    __repr__ = one_line
    __str__ = report
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the portrait of a flow on the circle or on the sphere into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`. On the sphere two axes show the
                front and the back.
            options: those of `figures.plot`, of the parts `field`, `equilibria`, `cycles` and `families`; `colour`;
                `names`, labels of the coordinates.
        """
        return plot(self, ax, **options)

    def arrays(self) -> dict[str, np.ndarray]:
        """Collect the arrays to save, by name; cycles, families and the kinds of other attractors are left out."""
        return {
            "points": self.points,
            "field": self.field,
            "equilibrium_points": self.equilibrium_points,
            "kinds": np.array(self.kinds, dtype=str),
            "limits": self.limits,
        }


@checked
@on_host_by_default
def circle_portrait(flow: AbstractFlow, num_points: int = 180, *, t: Time = 0.0, horizon: float = 200.0) -> Portrait:
    """Compute the phase portrait of a flow on the circle, with states of shape (2,), at equally spaced angles from 0.

    Args:
        flow: the system. A field that depends on time is frozen at `t`.
        num_points: number of grid points, at least 8. At most 256 of them are starts of Newton's method, so that a pair
            of equilibria between two starts can be missed.
        t: time at which the field is evaluated.
        horizon: shortest time, in the flow's time unit, for which points that have not arrived are integrated.

    Raises:
        ValueError: for too few points, a horizon that is not positive, or a flow with states of another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import circle_portrait
        >>> flow = ds.FunctionFlow(lambda t, x: jnp.array([1.0, 0.0]) - x[0] * x, ds.Sphere())  # towards (1, 0)
        >>> portrait = circle_portrait(flow, 16)
        >>> portrait.kinds, (np.round(portrait.equilibrium_points, 4) + 0.0).tolist()
        (('stable', 'unstable'), [[1.0, 0.0], [-1.0, 0.0]])
    """
    _check(flow, num_points, horizon, 2)
    angles = 2 * np.pi * np.arange(num_points) / num_points
    return _portrait(flow, np.stack([np.cos(angles), np.sin(angles)], axis=1), t, horizon)


@checked
@on_host_by_default
def sphere_portrait(flow: AbstractFlow, num_points: int = 800, *, t: Time = 0.0, horizon: float = 200.0) -> Portrait:
    """Compute the phase portrait of a flow on the sphere S^2, with states of shape (3,), on a Fibonacci lattice.

    The arguments and errors are the same as for `circle_portrait`.

    Args:
        flow: the system. A field that depends on time is frozen at `t`.
        num_points: number of points of the lattice, at least 8; at most 256 of them are starts of Newton's method.
        t: time at which the field is evaluated.
        horizon: shortest time, in the flow's time unit, for which points that have not arrived are integrated.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import sphere_portrait
        >>> flow = ds.FunctionFlow(lambda t, x: jnp.array([0.0, 0.0, 1.0]) - x[2] * x, ds.Sphere())  # to the north pole
        >>> portrait = sphere_portrait(flow, 50)
        >>> portrait.kinds, (np.round(portrait.equilibrium_points, 4) + 0.0).tolist()
        (('stable', 'unstable'), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    """
    _check(flow, num_points, horizon, 3)
    heights = 1 - (2 * np.arange(num_points) + 1) / num_points
    turns = np.pi * (3 - np.sqrt(5)) * np.arange(num_points)
    radii = np.sqrt(1 - heights**2)
    return _portrait(flow, np.stack([radii * np.cos(turns), radii * np.sin(turns), heights], axis=1), t, horizon)


def _check(flow: AbstractFlow, num_points: int, horizon: float, d: int) -> None:
    if num_points < 8:
        raise ArgumentError("num_points", "be at least 8", f"is {num_points}")
    if not horizon > 0:
        raise ArgumentError("horizon", "be positive", f"is {horizon}")
    try:
        jax.eval_shape(flow.vector_field, jnp.zeros(()), jnp.ones(d))
    except (TypeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise ArgumentError("flow", f"have states of shape ({d},)", f"does not ({reason})") from None


def _portrait(flow: AbstractFlow, points: np.ndarray, t: Time, horizon: float) -> Portrait:
    starts = jax.vmap(flow.space.project)(jnp.asarray(points))
    field = np.asarray(jax.vmap(lambda x: flow.vector_field(jnp.asarray(t, float), x))(starts))
    some = starts[:: -(-len(points) // 256)]
    found, curves_of = equilibrium_families(flow, equilibria(flow, some, t), some, np.ones(points.shape[1]), t=t)
    rests = np.array([e.state for e in found]).reshape(-1, points.shape[1])
    limits, cycles, others = _limits(flow, starts, rests, t, horizon)
    kinds, types = (tuple(getattr(e, name) for e in found) for name in ("kind", "description"))
    return Portrait(np.asarray(starts), field, rests, kinds, limits, cycles, curves_of, others, types)


def _limits(
    flow: AbstractFlow, starts: jax.Array, rests: np.ndarray, t: Time, horizon: float
) -> tuple[np.ndarray, tuple[PortraitCycle, ...], dict[int, str]]:
    """Number the limit of each start, -1 for none; also find limit cycles, and the kinds of the other limits."""
    time_map, flat = set_up(Frozen(flow, t), starts, Search())
    longest = max(Search.longest, int(np.ceil(horizon / float(time_map.interval))))
    found = labelled(time_map, flat, Search(longest=longest), shown=False)
    numbers, cycles = [], []
    for place, limit in enumerate(found.attractors):
        gaps = np.linalg.norm(rests - np.asarray(limit.state), axis=1)
        known = limit.kind == "equilibrium" and np.min(gaps, initial=np.inf) < SAME
        numbers.append(int(np.argmin(gaps)) if known else len(rests) + place)
        if limit.kind == "periodic orbit" and limit.stability in ("stable", "saddle", "unstable"):
            cycles.append(PortraitCycle(numbers[-1], limit.stability, np.asarray(limit.states)))
    kinds = {number: a.kind for number, a in zip(numbers, found.attractors, strict=True) if number >= len(rests)}
    return np.array([*numbers, -1])[np.maximum(found.labels, -1)], tuple(cycles), kinds


def listed_rests(points: np.ndarray, kinds: Sequence[str], families: Sequence[Family]) -> str:
    """List equilibria with their types and states, and curves of equilibria."""
    rows = [f"{k} ({', '.join(f'{v:.6g}' for v in np.round(p, 9) + 0.0)})" for p, k in zip(points, kinds, strict=True)]
    return "; ".join([*rows, *map(str, families)]) or "no equilibrium"
