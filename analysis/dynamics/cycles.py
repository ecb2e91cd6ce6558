"""Limit cycles found from where trajectories end, forwards and backwards in time."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.pace import Turned, typical_speed
from analysis.dynamics.periodic_orbits import PeriodicOrbit, orbit_in_given, periodic_orbit
from analysis.dynamics.units import Units, made_units
from dynsim._types import Time
from dynsim.ensembles import ensemble
from dynsim.integrators import Diffrax
from dynsim.padding import filled
from dynsim.simulation import simulate
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import RescaledFlow

SAMPLES = 2001  # of the stretch in which a return is looked for
CLOSE = 0.05  # of the size of the stretch: how near a return comes to be a guess
SAME = 1e-3  # of the size of an orbit: a nearer one is the same
LOOK = 0.25  # of the horizon: the stretch
CROSSINGS = 40  # times in which the starts are crossed from end to end at a typical speed: the first horizon
LONGER = 4  # the factor between a horizon and the next
HORIZONS = 5  # how many of these are tried
FAR = 100.0  # ranges of the starts beyond which trajectories are gone


def limit_cycles(
    flow: AbstractFlow, starts: Array, horizon: float | None = None, *, backwards: bool = True
) -> list[PeriodicOrbit]:
    """Return the isolated periodic orbits near which trajectories are after a time, each of them once.

    Attracting ones are found forwards, repelling ones backwards; saddles are left out. Orbits in families, as around a
    centre, are none. The flow is autonomous, its states are vectors.

    Args:
        flow: the system.
        starts: points, (starts, d).
        horizon: the time of the trajectories; a period longer than a quarter of it is missed. By default 40 times as
            long as it takes to cross all starts at their median speed, and up to 256 times longer for trajectories that
            still move, are within a hundred ranges of the starts, and have not come back to where they were.
        backwards: whether repelling ones are looked for.
    """
    units, size = _units(flow, starts)
    scaled = units.system
    first, count = (CROSSINGS, HORIZONS) if horizon is None else (horizon / units.time, 1)
    found: list[tuple[PeriodicOrbit, np.ndarray]] = []
    far = FAR * (1 + float(np.max(np.abs(np.asarray(starts) / size))))
    for sign in (1.0, -1.0) if backwards else (1.0,):
        turned, kind = Turned(scaled, sign), "stable" if sign > 0 else "unstable"
        left = jnp.asarray(np.asarray(starts, float) / size)
        for time in first * LONGER ** np.arange(count):
            onward = []
            for end in _ends(turned, left, float(time), far):
                if any(_on(path, end) for _, path in found):
                    continue
                returned, orbit = _near(turned, end, LOOK * float(time), kind)
                if not returned:
                    onward.append(end)
                if orbit is not None and not any(_on(path, np.asarray(orbit.state)) for _, path in found):
                    found.append((orbit, orbit_path(scaled, orbit)))
            if not onward:
                break
            left = jnp.asarray(filled(np.stack(onward), len(starts)))
    return [orbit_in_given(orbit, units) for orbit, _ in found]


def _units(flow: AbstractFlow, starts: Array) -> tuple[Units, np.ndarray]:
    """Return the flow in the ranges of the starts and the time in which they are crossed, and the ranges.

    The time is rounded to a power of two: programs are compiled for a unit of time. A flow on a space that is not flat
    stays as it is.
    """
    if flow.space != Euclidean():
        return made_units(flow), np.ones(starts.shape[-1])
    spread = np.ptp(np.asarray(starts), axis=0)
    size = np.where(spread > 0, spread, 1.0)
    speed = typical_speed(RescaledFlow(flow, state=size), jnp.asarray(np.asarray(starts) / size))
    unit = 2.0 ** -round(math.log2(speed))
    return made_units(flow, scale=size, time=unit), size


def orbit_path(flow: AbstractFlow, orbit: PeriodicOrbit) -> np.ndarray:
    """Return states of a periodic orbit at equidistant times of one period, (points, d)."""
    return np.asarray(simulate(Turned(flow), orbit.state, np.linspace(0.0, orbit.period, SAMPLES)).ys)


def _ends(flow: AbstractFlow, starts: Array, horizon: float, far: float) -> np.ndarray:
    """Return the last states of trajectories that still move, with no entry above `far`."""
    run = ensemble(
        flow, starts, [0.0, horizon], _Speed(flow), integrator=Diffrax(rtol=1e-7, atol=1e-9), chunk=len(starts)
    )
    ends, speeds = np.asarray(run.final), np.asarray(run.values).reshape(len(starts), -1)
    moving = np.all(np.isfinite(ends), axis=1) & np.all(np.abs(ends) < far, axis=1)
    return np.unique(ends[moving & (speeds[:, 1] > 1e-6 * np.nanmax(np.append(speeds[:, 0], 1e-300)))], axis=0)


class _Speed(eqx.Module):
    """The speed of a flow as a function of time and state."""

    flow: AbstractFlow

    def __call__(self, t: Time, x: Array) -> Array:
        """Return the largest entry of the field."""
        return jnp.max(jnp.abs(self.flow.vector_field(t, x)))[None]


def _near(turned: Turned, end: np.ndarray, stretch: float, kind: str) -> tuple[bool, PeriodicOrbit | None]:
    """Return whether a trajectory comes back to where it was, and the orbit of a kind to which that leads, if any."""
    ts = np.linspace(0.0, stretch, SAMPLES)
    period = _first_return(np.asarray(simulate(turned, jnp.asarray(end), ts, throw=False).ys), ts)
    if period is None:
        return False, None
    try:
        orbit = periodic_orbit(turned.flow, jnp.asarray(end), period)
    except ValueError:  # it leads to none
        return True, None
    return True, orbit if orbit.stability == kind else None


def _first_return(ys: np.ndarray, ts: np.ndarray) -> float | None:
    """Return the time of the first return near the first state, after having left it; None for none."""
    gaps = np.linalg.norm(ys - ys[0], axis=1)
    size = float(np.nanmax(gaps)) if np.any(np.isfinite(gaps)) else 0.0
    away = np.flatnonzero(gaps > size / 4)
    if not np.all(np.isfinite(gaps)) or size < 1e-6 * (1 + float(np.max(np.abs(ys[0])))) or not len(away):
        return None
    inner = np.arange(1, len(gaps) - 1)
    lows = inner[(gaps[1:-1] <= gaps[:-2]) & (gaps[1:-1] < gaps[2:]) & (gaps[1:-1] < CLOSE * size)]
    lows = lows[lows > away[0]]
    return float(ts[lows[0]]) if len(lows) else None


def _on(path: np.ndarray, point: np.ndarray) -> bool:
    """Return whether a point is on a known orbit."""
    size = float(np.max(np.ptp(path, axis=0)))
    spacing = float(np.max(np.linalg.norm(np.diff(path, axis=0), axis=1)))
    return float(np.min(np.linalg.norm(path - point, axis=1))) < max(SAME * size, spacing)
