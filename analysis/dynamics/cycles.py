"""Limit cycles found from where trajectories end, forwards and backwards in time."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.pace import Turned
from analysis.dynamics.periodic_orbits import PeriodicOrbit, periodic_orbit
from dynsim._types import Time
from dynsim.ensembles import ensemble
from dynsim.integrators import Diffrax
from dynsim.simulation import simulate
from dynsim.systems.base import AbstractFlow

SAMPLES = 2001  # of the stretch in which a return is looked for
CLOSE = 0.05  # of the size of the stretch: how near a return comes to be a guess
SAME = 1e-3  # of the size of an orbit: a nearer one is the same
LOOK = 0.25  # of the horizon: the stretch


def limit_cycles(flow: AbstractFlow, starts: Array, horizon: float, *, backwards: bool = True) -> list[PeriodicOrbit]:
    """Return the isolated periodic orbits near which trajectories are after a time, each of them once.

    Attracting ones are found forwards, repelling ones backwards; saddles are left out. Orbits in families, as around a
    centre, are none. The flow is autonomous, its states are vectors.

    Args:
        flow: the system.
        starts: points, (starts, d).
        horizon: the time of the trajectories; a period longer than a quarter of it is missed.
        backwards: whether repelling ones are looked for.
    """
    found: list[tuple[PeriodicOrbit, np.ndarray]] = []
    for sign in (1.0, -1.0) if backwards else (1.0,):
        turned = Turned(flow, sign)
        for end in _ends(turned, starts, horizon):
            if any(_on(path, end) for _, path in found):
                continue
            orbit = _near(turned, end, LOOK * horizon, "stable" if sign > 0 else "unstable")
            if orbit is not None and not any(_on(path, np.asarray(orbit.state)) for _, path in found):
                found.append((orbit, orbit_path(flow, orbit)))
    return [orbit for orbit, _ in found]


def orbit_path(flow: AbstractFlow, orbit: PeriodicOrbit) -> np.ndarray:
    """Return states of a periodic orbit at equidistant times of one period, (points, d)."""
    return np.asarray(simulate(Turned(flow), orbit.state, np.linspace(0.0, orbit.period, SAMPLES)).ys)


def _ends(flow: AbstractFlow, starts: Array, horizon: float) -> np.ndarray:
    """Return the finite last states of trajectories that still move."""
    run = ensemble(
        flow, starts, [0.0, horizon], _Speed(flow), integrator=Diffrax(rtol=1e-7, atol=1e-9), chunk=len(starts)
    )
    ends, speeds = np.asarray(run.final), np.asarray(run.values).reshape(len(starts), -1)
    bound = 1e6 * (1 + float(np.max(np.abs(starts))))
    moving = np.all(np.isfinite(ends), axis=1) & np.all(np.abs(ends) < bound, axis=1)
    return ends[moving & (speeds[:, 1] > 1e-6 * np.nanmax(np.append(speeds[:, 0], 1e-300)))]


class _Speed(eqx.Module):
    """The speed of a flow as a function of time and state."""

    flow: AbstractFlow

    def __call__(self, t: Time, x: Array) -> Array:
        """Return the largest entry of the field."""
        return jnp.max(jnp.abs(self.flow.vector_field(t, x)))[None]


def _near(turned: Turned, end: np.ndarray, stretch: float, kind: str) -> PeriodicOrbit | None:
    """Return the orbit of a kind to which the first close return of a trajectory leads, None for none."""
    ts = np.linspace(0.0, stretch, SAMPLES)
    period = _first_return(np.asarray(simulate(turned, jnp.asarray(end), ts, throw=False).ys), ts)
    if period is None:
        return None
    try:
        orbit = periodic_orbit(turned.flow, jnp.asarray(end), period)
    except ValueError:  # it leads to none
        return None
    return orbit if orbit.stability == kind else None


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
