"""Find limit cycles from the ends of long trajectories, forwards and backwards in time."""

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.flow_maps.autonomy import fields
from analysis.dynamics.flow_maps.unit_speed import TIMES, Paced, followed, typical_speed
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.periodic_orbits.approach import approach
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, orbit_in_given, periodic_orbit
from analysis.dynamics.scaling.flat import extents
from analysis.dynamics.scaling.units import Units, made_units
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim.errors import ArgumentError
from dynsim.integrators.switched_field import may_leave_out
from dynsim.spaces.base import nearest
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow

# Distance, relative to the size of the recorded piece, at which a return becomes a guess of the period.
CLOSE = 0.05
# Distance, relative to the size of an orbit, at which a point counts as lying on it.
SAME = 1e-3
# Duration of the recorded piece after the horizon, relative to the horizon.
LOOK = 0.25
# First horizon, in times needed to cross the range of the starts at a typical speed.
CROSSINGS = 40
# Factor between successive horizons.
LONGER = 4
# Multipliers of the reversed flow below this are computed from several segments, each of which contracts less.
RESOLVED = 1e-3
# Number of these segments.
SEGMENTS = 32
# Largest number of horizons.
HORIZONS = 5
# Most trajectories that are followed by an implicit method after the last horizon, for so many steps, and the ratio of
# the fastest rate to the speed, in ranges of the starts, from which a flow is stiff.
FOLLOWED, IMPLICIT, STIFF = 2, 4096, 1e3
# Speed below which a trajectory is at rest, relative to the largest one at the starts.
RESTING = 1e-6
# Distance, in ranges of the starts, beyond which trajectories are given up.
FAR = 100.0


@checked
@on_host_by_default
def limit_cycles(
    flow: AbstractFlow, starts: Array | np.ndarray, horizon: float | None = None, *, backwards: bool = True
) -> list[PeriodicOrbit]:
    """Find the isolated periodic orbits that trajectories approach from given starts, each of them once.

    Attracting orbits are found forwards in time and repelling ones backwards; saddle orbits are missed. Orbits close
    modulo the periods of angles, so that running solutions of a pendulum are found, too. Orbits in families, as around
    a centre, are not reported. The flow must be autonomous, with vector states.

    Args:
        flow: the system.
        starts: initial points, (starts, d).
        horizon: duration of the transient; orbits whose period exceeds a quarter of it are missed. The default is 40
            times the time needed to cross the range of the starts at their median speed. It grows up to 256-fold for
            trajectories that still move, stay within a hundred ranges of the starts, and do not return. Two that are
            still slow, of a stiff flow, are then followed by an implicit method.
        backwards: whether repelling orbits are searched, too.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import limit_cycles
        >>> (cycle,) = limit_cycles(ds.catalogue.VanDerPol(mu=1.0), np.array([[0.1, 0.0]]))
        >>> cycle.stability, round(cycle.period, 4)
        ('stable', 6.6633)
    """
    return [orbit for orbit, _ in cycles_with_paths(flow, starts, horizon, backwards=backwards)]


def cycles_with_paths(
    flow: AbstractFlow, starts: Array | np.ndarray, horizon: float | None = None, *, backwards: bool = True
) -> list[tuple[PeriodicOrbit, np.ndarray]]:
    """Do the same as `limit_cycles`, with states at equal time steps over one period of each orbit, (points, d)."""
    units, size = _units(flow, starts)
    first, count = (CROSSINGS, HORIZONS) if horizon is None else (horizon / units.time, 1)
    found: list[tuple[PeriodicOrbit, np.ndarray]] = []
    begins = np.asarray(starts, float) / size
    slowest = RESTING * max(float(np.nanmax(_speeds(units, size, begins), initial=0.0)), 1e-300 / units.time)
    far, angles = FAR * (1 + float(np.max(np.abs(begins)))), np.asarray(units.system.space.periods(begins[0]))
    escaped = far if np.all(np.isinf(angles)) else np.inf  # an angle that turns goes far
    for sign, kind in ((1.0, "stable"), (-1.0, "unstable"))[: 1 + backwards]:
        run = functools.partial(_followed, units, size, sign, escaped)
        left = begins
        for time in first * LONGER ** np.arange(count):
            onward = []
            for path, ts in _ends(run, units, size, left, float(time), (slowest, far), angles):
                if any(_on(known, path[0], angles) for _, known in found):
                    continue
                period = _first_return(path, ts, angles)
                if period is None:
                    onward.append(path[0])
                    continue
                orbit = _orbit(units.system, path[0], period, kind)
                if orbit is not None and not any(_on(known, np.asarray(orbit.state), angles) for _, known in found):
                    (once,) = run(np.asarray(orbit.state)[None], np.linspace(0.0, orbit.period, TIMES), 1e-9)
                    found.append((orbit, once if sign > 0 else once[::-1]))
            left = np.array(onward).reshape(len(onward), begins.shape[1])
            if not onward:
                break
        for state in left[:FOLLOWED] if sign > 0 and np.all(np.isinf(angles)) else ():
            if any(_on(known, state, angles) for _, known in found):
                continue
            orbit = _stiff_orbit(units.system, state)
            if orbit is not None and not any(_on(known, np.asarray(orbit.state), angles) for _, known in found):
                rows = np.asarray(orbit.nodes)
                shares, ends = np.append(np.asarray(orbit.times), 1.0), np.vstack([rows, rows[:1]])
                evenly = np.linspace(0.0, 1.0, TIMES)
                found.append((orbit, np.stack([np.interp(evenly, shares, column) for column in ends.T], axis=1)))
    return [(orbit_in_given(orbit, units), size * path) for orbit, path in found]


def _units(flow: AbstractFlow, starts: Array | np.ndarray) -> tuple[Units, np.ndarray]:
    """Rescale a flow by the ranges of the starts and the time needed to cross them; also give the ranges.

    The time is rounded to a power of two, since each unit of time compiles its own program. A flow on a curved space is
    not rescaled.
    """
    if not isinstance(flow.space, Flat):
        return made_units(flow), np.ones(starts.shape[-1])
    size = extents(np.asarray(starts))
    unit = 2.0 ** -round(math.log2(typical_speed(flow, starts, size=size)))
    return made_units(flow, scale=size, time=unit), size


def _followed(
    units: Units, size: np.ndarray, sign: float, far: float, starts: np.ndarray, ts: np.ndarray, rtol: float
) -> np.ndarray:
    """Integrate from starts in rescaled units, forwards or backwards, (starts, times, d), up to a distance `far`."""
    given = units.given(units.system)
    options: Any = {"size": size, "unit": units.time, "rtol": rtol, "atol": rtol / 100, "far": far}
    return followed(given, starts, ts, signs=[sign] * len(starts), **options)


def _ends(
    run: Callable[..., np.ndarray],
    units: Units,
    size: np.ndarray,
    starts: np.ndarray,
    horizon: float,
    bounds: tuple[float, float],
    angles: np.ndarray,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Integrate past a horizon; give the pieces and times after it of trajectories that still move.

    The bounds are the speed above which they do, and the distance beyond which they are given up.
    """
    ts = np.append(0.0, np.linspace(horizon, (1 + LOOK) * horizon, TIMES - 1))
    paths = run(starts, ts, 1e-7)
    (slowest, far), ends = bounds, paths[:, 1]
    with np.errstate(invalid="ignore"):
        moving = np.all(np.isfinite(ends), axis=1) & np.all(np.abs(nearest(ends, angles)) < far, axis=1)
        moving &= _speeds(units, size, ends) > slowest
    places = np.unique(ends, axis=0, return_index=True)[1]
    return [(paths[k, 1:], ts[1:] - horizon) for k in places if moving[k]]


def _speeds(units: Units, size: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Compute the speeds at rescaled states, in sizes per unit of time."""
    with np.errstate(invalid="ignore"):
        return np.max(np.abs(fields(units.given(units.system), size * states, 0.0) / size), axis=1)


def _orbit(flow: AbstractFlow, state: np.ndarray, period: float, kind: str) -> PeriodicOrbit | None:
    """Compute the orbit of the given stability near a state and a period; None if there is none.

    A repelling orbit is computed backwards in time, where it attracts: a large multiplier would amplify all errors.
    """
    back = kind == "unstable"
    towards = Paced(flow, -1.0, 0.0, np.inf) if back else flow
    with contextlib.suppress(ArgumentError, np.linalg.LinAlgError):  # they lead to none
        orbit = periodic_orbit(towards, jnp.asarray(state, float), period)
        if orbit.stability != "stable":
            return None
        if back and np.min(np.abs(orbit.multipliers), initial=1.0) < RESOLVED:
            orbit = periodic_orbit(towards, orbit.state, orbit.period, segments=SEGMENTS)
        return _reversed(orbit) if back else orbit
    return None


def _stiff_orbit(flow: AbstractFlow, state: np.ndarray) -> PeriodicOrbit | None:
    """Compute the stable orbit that a slow trajectory of a stiff flow approaches; None if the flow is not stiff."""
    if may_leave_out(flow, state) or Linearised(flow, state).switched is not None:
        return None
    velocity, J = CycleField(flow, None, state).at(np.zeros(()), state, np.zeros(()))
    if not np.all(np.isfinite(J)):
        return None
    fastest = float(np.max(np.abs(np.linalg.eigvals(J[:, :-1]))))
    return approach(flow, state, IMPLICIT).orbit if fastest > STIFF * float(np.max(np.abs(velocity))) else None


def _reversed(orbit: PeriodicOrbit) -> PeriodicOrbit:
    """Convert an attracting orbit of the reversed flow to the repelling one of the flow itself."""
    nodes = np.asarray(orbit.nodes)
    with np.errstate(divide="ignore"):
        values = 1 / orbit.multipliers[::-1]
    return orbit._replace(nodes=np.roll(nodes[::-1], 1, axis=0), multipliers=values, stability="unstable")


def _first_return(ys: np.ndarray, ts: np.ndarray, angles: np.ndarray = np.array(np.inf)) -> float | None:
    """Find the time of the first return near the first state, modulo periods, after leaving it; None if there is none.

    `angles` has the period of each entry of a state, infinite for entries that are no angles.
    """
    gaps = np.linalg.norm(nearest(ys - ys[0], angles), axis=1)
    size = float(np.nanmax(gaps)) if np.any(np.isfinite(gaps)) else 0.0
    away = np.flatnonzero(gaps > size / 4)
    if not np.all(np.isfinite(gaps)) or size < 1e-6 * (1 + float(np.max(np.abs(ys[0])))) or not len(away):
        return None
    inner = np.arange(1, len(gaps) - 1)
    lows = inner[(gaps[1:-1] <= gaps[:-2]) & (gaps[1:-1] < gaps[2:]) & (gaps[1:-1] < CLOSE * size)]
    lows = lows[lows > away[0]]
    return float(ts[lows[0]]) if len(lows) else None


def _on(path: np.ndarray, point: np.ndarray, angles: np.ndarray) -> bool:
    """Test whether a point lies on a known orbit, modulo the periods of angles."""
    size = float(np.max(np.ptp(path, axis=0)))
    spacing = float(np.max(np.linalg.norm(np.diff(path, axis=0), axis=1)))
    return float(np.min(np.linalg.norm(nearest(path - point, angles), axis=1))) < max(SAME * size, spacing)
