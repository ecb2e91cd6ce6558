"""Limit cycles found from where trajectories end, forwards and backwards in time."""

import contextlib
import functools
import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.flow_maps.autonomy import fields
from analysis.dynamics.flow_maps.unit_speed import TIMES, followed, typical_speed
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, orbit_in_given, periodic_orbit
from analysis.dynamics.scaling.units import Units, made_units
from dynsim.errors import ArgumentError
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow

CLOSE = 0.05  # of the size of the stretch: how near a return comes to be a guess
SAME = 1e-3  # of the size of an orbit: a nearer one is the same
LOOK = 0.25  # of the horizon: the stretch
CROSSINGS = 40  # times in which the starts are crossed from end to end at a typical speed: the first horizon
LONGER = 4  # the factor between a horizon and the next
HORIZONS = 5  # how many of these are tried
FAR = 100.0  # ranges of the starts beyond which trajectories are gone


def limit_cycles(
    flow: AbstractFlow, starts: Array | np.ndarray, horizon: float | None = None, *, backwards: bool = True
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
    return [orbit for orbit, _ in cycles_with_paths(flow, starts, horizon, backwards=backwards)]


def cycles_with_paths(
    flow: AbstractFlow, starts: Array | np.ndarray, horizon: float | None = None, *, backwards: bool = True
) -> list[tuple[PeriodicOrbit, np.ndarray]]:
    """Return `limit_cycles`, each with its states at equidistant times of one period, (points, d)."""
    units, size = _units(flow, starts)
    first, count = (CROSSINGS, HORIZONS) if horizon is None else (horizon / units.time, 1)
    found: list[tuple[PeriodicOrbit, np.ndarray]] = []
    begins = np.asarray(starts, float) / size
    far = FAR * (1 + float(np.max(np.abs(begins))))
    for sign, kind in ((1.0, "stable"), (-1.0, "unstable"))[: 1 + backwards]:
        run = functools.partial(_followed, units, size, sign)
        left = begins
        for time in first * LONGER ** np.arange(count):
            onward = []
            for path, ts in _ends(run, units, size, left, float(time), far):
                if any(_on(known, path[0]) for _, known in found):
                    continue
                period = _first_return(path, ts)
                if period is None:
                    onward.append(path[0])
                    continue
                orbit = _orbit(units.system, path[0], period, kind)
                if orbit is not None and not any(_on(known, np.asarray(orbit.state)) for _, known in found):
                    (once,) = run(np.asarray(orbit.state)[None], np.linspace(0.0, orbit.period, TIMES), 1e-9)
                    found.append((orbit, once if sign > 0 else once[::-1]))
            if not onward:
                break
            left = np.stack(onward)
    return [(orbit_in_given(orbit, units), size * path) for orbit, path in found]


def _units(flow: AbstractFlow, starts: Array | np.ndarray) -> tuple[Units, np.ndarray]:
    """Return the flow in the ranges of the starts and the time in which they are crossed, and the ranges.

    The time is rounded to a power of two: programs are compiled for a unit of time. A flow on a space that is not flat
    stays as it is.
    """
    if flow.space != Euclidean():
        return made_units(flow), np.ones(starts.shape[-1])
    spread = np.ptp(np.asarray(starts), axis=0)
    size = np.where(spread > 0, spread, 1.0)
    unit = 2.0 ** -round(math.log2(typical_speed(flow, starts, size=size)))
    return made_units(flow, scale=size, time=unit), size


def _followed(
    units: Units, size: np.ndarray, sign: float, starts: np.ndarray, ts: np.ndarray, rtol: float
) -> np.ndarray:
    """Return the states from some starts in these units, forwards or backwards, (starts, times, d)."""
    signs = [sign] * len(starts)
    return followed(
        units.given(units.system), starts, ts, signs=signs, size=size, unit=units.time, rtol=rtol, atol=rtol / 100
    )


def _ends(
    run: Callable[..., np.ndarray], units: Units, size: np.ndarray, starts: np.ndarray, horizon: float, far: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what follows a horizon, and its times, of trajectories that still move then, with no entry above `far`."""
    ts = np.append(0.0, np.linspace(horizon, (1 + LOOK) * horizon, TIMES - 1))
    paths = run(starts, ts, 1e-7)
    given, ends = units.given(units.system), paths[:, 1]
    with np.errstate(invalid="ignore"):
        moving = np.all(np.isfinite(ends), axis=1) & np.all(np.abs(ends) < far, axis=1)
        before, after = (np.max(np.abs(fields(given, size * x, 0.0) / size), axis=1) for x in (starts, ends))
        moving &= after > 1e-6 * np.nanmax(np.append(before, 1e-300 / units.time))
    places = np.unique(ends, axis=0, return_index=True)[1]
    return [(paths[k, 1:], ts[1:] - horizon) for k in places if moving[k]]


def _orbit(flow: AbstractFlow, state: np.ndarray, period: float, kind: str) -> PeriodicOrbit | None:
    """Return the orbit of a kind to which a state and a period lead, if any."""
    with contextlib.suppress(ArgumentError, np.linalg.LinAlgError):  # they lead to none
        orbit = periodic_orbit(flow, jnp.asarray(state), period)
        return orbit if orbit.stability == kind else None
    return None


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
