"""Compute phase portraits on a line: the velocity at each state, equilibria, and intervals of equilibria."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.equilibria.crossings import Completeness
from analysis.dynamics.equilibria.families import Family, equilibrium_families
from analysis.dynamics.equilibria.newton import Equilibrium, in_box
from analysis.dynamics.equilibria.search import equilibria_in_box
from analysis.dynamics.portraits.plane import window
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, printed_place
from dynsim._core.types import Time
from dynsim._core.validation import integer
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Components, components

if TYPE_CHECKING:
    from figures.artists import Artists


class LinePortrait(NamedTuple):
    """Phase portrait of a flow of one component: the velocity at the states `xs`, and the equilibria.

    Attributes:
        xs: states, (points,).
        velocity: the velocity there, (points,).
        equilibria: the isolated equilibria in the window.
        families: intervals of equilibria.
        completeness: what the velocity at the ends of the window says about equilibria that may be missing.
        name: name of the component.
        unit: its unit, or "".
        time_unit: the unit of time, or "".
    """

    xs: np.ndarray
    velocity: np.ndarray
    equilibria: tuple[Equilibrium, ...]
    families: tuple[Family, ...]
    completeness: Completeness
    name: str = "x_1"
    unit: str = ""
    time_unit: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    def __str__(self) -> str:
        """List the equilibria, and say if some may be missing."""
        width = [np.ptp(self.xs)]
        rests = [
            f"{e.description} {printed_place([x], width)}" for e, x in zip(self.equilibria, self.points, strict=True)
        ]
        found = [*rests, *map(str, self.families)] or ["no equilibrium in the window"]
        return "; ".join([*found, *([str(self.completeness)] if self.completeness.is_doubtful else [])])

    @property
    def points(self) -> np.ndarray:
        """The states of the isolated equilibria, (equilibria,)."""
        return np.array([float(np.asarray(e.state)[0]) for e in self.equilibria])

    @property
    def known(self) -> Components:
        """The name and the unit of the component."""
        return Components((self.name,), (self.unit,), self.time_unit)

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the velocity against the state into axes, with arrows and equilibria on the horizontal axis.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `zero`, `velocity`, `arrows`, `equilibria` and `families`;
                `basins`, a result of `basins` to draw behind.
        """
        return plot(self, ax, **options)


@checked
@on_host_by_default
def line_portrait(flow: AbstractFlow, box: Any, *, t: Time = 0.0, points: int = 201) -> LinePortrait:
    """Compute the phase portrait of a flow of one component in a window.

    Args:
        flow: the system, with states of shape (1,). A field that depends on time is frozen at `t`.
        box: the lower and the upper end of the window.
        t: time at which the field is evaluated.
        points: number of states at which the velocity is evaluated.

    Raises:
        ValueError: for a window that is empty or not finite.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import line_portrait
        >>> print(line_portrait(ds.FunctionFlow(lambda t, x: x - x**3), (-2.0, 2.0)))
        stable -1; stable 1; unstable 0
    """
    low, high = window(box, 1)
    sides, count = np.stack([low, high]), integer("points", points, least=2)
    xs = np.linspace(low[0], high[0], count)
    speeds = jax.vmap(lambda x: flow.vector_field(jnp.asarray(t, float), x))(jnp.asarray(xs)[:, None])[:, 0]
    inside = lambda x: in_box(x, low, high)
    rests, complete = equilibria_in_box(flow, low, high, t)
    rests = [e for e in rests if inside(np.asarray(e.state))]
    rests, curves = equilibrium_families(flow, rests, sides, high - low, inside=inside, t=t)
    ((name,), (unit,), time_unit) = components(flow, np.zeros(1))
    return LinePortrait(xs, np.asarray(speeds), tuple(rests), tuple(curves), complete, name, unit, time_unit)
