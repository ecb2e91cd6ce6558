"""Trace isochrons of periodic orbits in the plane: curves of states that approach the orbit with one phase."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.phase.response import Oscillator
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components

if TYPE_CHECKING:
    from figures.artists import Artists

# Distance from the orbit, relative to its size, up to which isochrons are straight; their error is its square.
STRAIGHT = 1e-3
# First number of points of an isochron over a period, and most rounds in which points are added.
POINTS, ROUNDS = 8, 6
# Largest distance of successive points, relative to the size of the window.
APART = 0.02
# Size of the window, relative to the given one, that curves may leave before they end.
OUTSIDE = 3.0
# Most periods over which isochrons are traced; a weakly stable orbit needs many.
PERIODS = 60
# Relative tolerance of the trajectories, and the absolute one, relative to the ranges of the orbit.
RTOL, ATOL = 1e-9, 1e-13


class Isochrons(NamedTuple):
    """Isochrons of a periodic orbit in the plane.

    Attributes:
        phases: the phase of each isochron, a share of the period.
        curves: points along each isochron, (points, 2), from one end through the orbit to the other.
        cycle: points along the orbit, (points, 2).
        box: the window, (2, 2): lower and upper bound of each component.
        names: names of the components.
        units: their units.
    """

    phases: Float[np.ndarray, " isochrons"]
    curves: tuple[Float[np.ndarray, "points 2"], ...]
    cycle: Float[np.ndarray, "points 2"]
    box: Float[np.ndarray, "2 2"]
    names: tuple[str, ...]
    units: tuple[str, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw isochrons, coloured by their phases, and the orbit into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `isochrons` and `cycle`; `colour`.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Say how many isochrons there are, and of how many points."""
        return f"{len(self.curves)} isochrons of {sum(map(len, self.curves))} points"


@on_host_by_default
def isochrons(
    flow: AbstractFlow, orbit: PeriodicOrbit, box: Sequence[float] | np.ndarray, *, count: int = 16
) -> Isochrons:
    """Trace isochrons of a stable or unstable periodic orbit of a planar flow, at evenly spaced phases.

    Beside the orbit isochrons are straight lines across its phase response. A trajectory that ends on such a line at
    the phase p has the phase p - s at the time s before. Isochrons are traced by these trajectories, backwards for a
    stable orbit and forwards for an unstable one, and points are added where they are far apart. Isochrons that wind
    around the end of the basin are cut off after 60 periods.

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import dynsim as ds
    >>> from analysis.dynamics import isochrons, periodic_orbit
    >>> def clock(t, x):
    ...     return (1 - x @ x) * x + jnp.stack([-x[1], x[0]])
    >>> flow = ds.FunctionFlow(clock, names=("x", "y"))
    >>> found = isochrons(flow, periodic_orbit(flow, [1.0, 0.0], 2 * np.pi), [-2, 2, -2, 2], count=4)
    >>> bool(np.all(np.abs(found.curves[1][:, 0]) < 1e-5))  # a quarter of a turn: the line x = 0
    True

    Args:
        flow: the system.
        orbit: what `periodic_orbit` or `orbit_of` found.
        box: lower and upper bound of both components.
        count: number of isochrons.

    Raises:
        ValueError: for bad input, or a system that is not planar.

    Source: E. M. Izhikevich, Dynamical Systems in Neuroscience (2007), section 10.1.3.
    """
    number = integer("count", count, least=1)
    one = Oscillator(flow, orbit)
    if one.field.size != 2:
        raise ArgumentError("flow", "have two components for isochrons in the plane", f"has {one.field.size}")
    corners = _box(box)
    if orbit.stability not in ("stable", "unstable"):
        raise ArgumentError("orbit", "be stable or unstable", f"is {orbit.stability}")
    phases = np.arange(number) / number
    lines = _IsochronLines(one, corners, 1.0 if orbit.stability == "stable" else -1.0)
    halves = lines.traced(np.tile(phases, 2), np.repeat([1.0, -1.0], number))
    curves = tuple(np.vstack([one[:0:-1], other]) for one, other in zip(halves[:number], halves[number:], strict=True))
    known = components(flow, orbit.state)
    cycle = one.states(np.linspace(0.0, 1.0, 401))
    return Isochrons(phases, curves, cycle, corners, known.names, known.units)


def _box(box: Any) -> Float[np.ndarray, "2 2"]:
    """Check the bounds of a window."""
    given = np.ravel(np.asarray(box, float))
    if given.shape != (4,) or not np.all(np.isfinite(given)) or not np.all(given[::2] < given[1::2]):
        raise ArgumentError("box", "hold a lower and an upper bound of both components", f"is {given.tolist()}")
    return given.reshape(2, 2)


class _IsochronLines:
    """Points of isochrons: those at a small distance from the orbit, moved by the flow, against its attraction."""

    def __init__(self, orbit: Oscillator, corners: np.ndarray, sign: float):
        self.orbit, self.sign = orbit, sign
        self.middle, self.widths = np.mean(corners, axis=1), np.diff(corners, axis=1)[:, 0]

    def traced(self, phases: np.ndarray, sides: np.ndarray) -> list[np.ndarray]:
        """Trace halves of isochrons from the orbit to where they leave the window; times are in periods."""
        starts = np.linspace(0.0, 1.0, POINTS + 1)
        lines = [_Half(phase, side, np.empty(0), np.empty((0, 2))) for phase, side in zip(phases, sides, strict=True)]
        self._added(lines, [starts] * len(lines))
        for k in range(1, PERIODS + 1):
            for _ in range(ROUNDS):
                new = [one.gaps(self) for one in lines]
                if not any(len(times) for times in new):
                    break
                self._added(lines, new)
            going = [one.goes_on(self) for one in lines]
            if k == PERIODS or not any(going):
                break
            longer = [one for one, on in zip(lines, going, strict=True) if on]
            self._added(longer, [k + starts[1:]] * len(longer))
        return [np.vstack([self.orbit.states(np.array([one.phase])), one.finite()]) for one in lines]

    def _added(self, lines: "list[_Half]", times: list[np.ndarray]) -> None:
        """Add points of several isochrons at some times, all of which are computed together."""
        counts = [len(part) for part in times]
        phases = np.repeat([one.phase for one in lines], counts)
        sides = np.repeat([one.side for one in lines], counts)
        points = self._points(phases, np.concatenate(times), sides)
        for one, new, rows in zip(lines, times, np.split(points, np.cumsum(counts)[:-1]), strict=True):
            one.times, order = np.unique(np.append(one.times, new), return_index=True)
            one.points = np.vstack([one.points, rows])[order]

    def _points(self, phases: np.ndarray, times: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Move the ends of the straight parts of isochrons for some times, to the isochrons of some phases."""
        ends = phases + self.sign * times
        Z = self.orbit.response(ends) * self.orbit.ranges  # in units of the orbit, in which lengths are comparable
        across = np.stack([-Z[:, 1], Z[:, 0]], axis=1)
        across *= (STRAIGHT * sides / np.linalg.norm(across, axis=1))[:, None]
        starts = self.orbit.states(ends) + across * self.orbit.ranges
        points, later = starts.copy(), times > 0
        near = lambda x: np.all(np.abs(x - self.middle) <= OUTSIDE * self.widths, axis=1)
        if np.any(later):
            durations = times[later] * self.orbit.period
            points[later] = self.orbit.followed(starts[later], durations, RTOL, ATOL, sign=-self.sign, goes_on=near)
        return points


@dataclass
class _Half:
    """Half of an isochron: its phase, the side of the orbit, and its points at increasing times, NaN far outside."""

    phase: float
    side: float
    times: np.ndarray
    points: np.ndarray

    def finite(self) -> np.ndarray:
        """Take the points up to the first one that is far outside."""
        ended = ~np.all(np.isfinite(self.points), axis=1)
        return self.points[: int(np.argmax(ended)) if np.any(ended) else len(ended)]

    def gaps(self, lines: _IsochronLines) -> np.ndarray:
        """Choose times at which points are missing: between ones that are far apart, one of them in the window."""
        inside = np.all(np.isfinite(self.points), axis=1)
        apart = np.linalg.norm(np.diff(self.points, axis=0) / lines.widths, axis=1)
        near = np.all(np.abs(self.points - lines.middle) <= lines.widths, axis=1)
        wide = (apart > APART) & (near[:-1] | near[1:]) | (inside[:-1] & ~inside[1:] & near[:-1])
        where = np.flatnonzero(wide & (np.cumsum(~inside)[:-1] == 0))  # what comes back from outside is left out
        return (self.times[where][:, None] + np.diff(self.times)[where][:, None] * np.arange(1, 4) / 4).ravel()

    def goes_on(self, lines: _IsochronLines) -> bool:
        """Test whether the isochron stays in the window, and does not yet end at a point."""
        moves = np.linalg.norm(np.diff(self.points[-POINTS:], axis=0) / lines.widths, axis=1)
        far = np.linalg.norm((self.points[-1] - self.points[0]) / lines.widths) > APART
        return bool(np.all(np.isfinite(self.points))) and not (far and np.max(moves) < APART / 100)
