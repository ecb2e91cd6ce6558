"""Compute phase portraits on the simplex of three states: trajectories, equilibria, and curves of equilibria."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.equilibria.families import Family, equilibrium_families
from analysis.dynamics.equilibria.newton import Equilibrium, equilibria
from analysis.dynamics.flow_maps.unit_speed import curves
from analysis.dynamics.portraits.curved import listed_rests
from analysis.dynamics.scaling.flat import flat_state
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import Time
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow

if TYPE_CHECKING:
    from figures.artists import Artists

ROWS = 6  # rows of starts between an edge of the simplex and the opposite corner
LENGTH = 1.5  # of a trajectory; the edges of the simplex have length sqrt(2)
OUTSIDE = 1e-9  # by which a coordinate of an equilibrium may be negative


class SimplexPortrait(NamedTuple):
    """Phase portrait of a flow on the simplex of three states.

    Attributes:
        trajectories: trajectories from a grid of starts, (paths, points, 3).
        equilibria: the isolated equilibria.
        families: curves of equilibria.
        names: names of the three states, if the flow declares them.
    """

    trajectories: np.ndarray
    equilibria: tuple[Equilibrium, ...]
    families: tuple[Family, ...] = ()
    names: tuple[str, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    def __str__(self) -> str:
        """List the equilibria."""
        kinds = [e.description for e in self.equilibria]
        return listed_rests(self.points, kinds, self.families)

    @property
    def points(self) -> np.ndarray:
        """The states of the isolated equilibria, (equilibria, 3)."""
        return np.array([flat_state(e.state) for e in self.equilibria]).reshape(-1, 3)

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the trajectories and the equilibria in a triangle into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `outline`, `trajectories`, `equilibria` and `families`;
                `names`, labels of the corners.
        """
        return plot(self, ax, **options)


@checked
@on_host_by_default
def simplex_portrait(
    flow: AbstractFlow, *, t: Time = 0.0, rtol: float = 1e-5, atol: float | None = None
) -> SimplexPortrait:
    """Compute the phase portrait of a flow on the simplex of three states.

    Args:
        flow: the system, with states of shape (3,) whose sum is 1. A field that depends on time is frozen at `t`.
        t: time at which the field is evaluated.
        rtol: relative tolerance of the trajectories.
        atol: absolute tolerance of the trajectories; by default a hundredth of the relative one.

    Raises:
        ValueError: if the flow declares another number of names than three.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import simplex_portrait
        >>> spread = ds.FunctionFlow(lambda t, x: 1 / 3 - x, ds.Simplex())
        >>> print(simplex_portrait(spread))
        stable star node (0.333333, 0.333333, 0.333333)
    """
    if len(flow.names) not in (0, 3):
        raise ArgumentError("flow", "have three states", f"has {len(flow.names)}")
    parts = (np.arange(ROWS) + 0.25) / ROWS
    grid = np.array([(a, b, 1 - a - b) for a in parts for b in parts if a + b < 1])
    starts = jnp.asarray(grid)
    paths = curves(flow, starts, LENGTH, signs=[1.0] * len(grid), t=t, rtol=rtol, atol=atol)
    inside = lambda x: bool(np.min(x) > -OUTSIDE)
    found = [e for e in equilibria(flow, starts, t) if inside(np.asarray(e.state))]
    found, lines = equilibrium_families(flow, found, starts, np.ones(3), inside=inside, t=t)
    return SimplexPortrait(np.asarray(paths), tuple(found), tuple(lines), tuple(flow.names))
