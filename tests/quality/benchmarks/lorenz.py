"""The Lyapunov spectrum of the Lorenz system: the same algorithm in SciPy, and the other packages where installed."""

import importlib
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.integrate

from analysis.dynamics.lyapunov import lyapunov_spectrum
from dynsim.systems.catalogue.chaotic import Lorenz
from tests.quality.benchmarks.harness import Contender, race

PUBLISHED = np.array([0.9056, 0.0, -14.5723])  # J. C. Sprott, Chaos and Time-Series Analysis (2003)
SIGMA, RHO, BETA = 10.0, 28.0, 8 / 3
START = (1.0, 2.0, 20.0)
RTOL, ATOL = 1e-8, 1e-10
LONG = 100_000.0  # time units, after which the standard error of the largest exponent is half a unit of the third digit


def with_vectors(t: float, y: np.ndarray) -> np.ndarray:
    """Return the velocity of the state and of three tangent vectors, (12,), in NumPy."""
    a, b, c = y[:3]
    J = np.array([[-SIGMA, SIGMA, 0.0], [RHO - c, -1.0, -a], [b, a, -BETA]])
    v = (SIGMA * (b - a), a * (RHO - c) - b, a * b - BETA * c)
    return np.concatenate([v, (J @ y[3:].reshape(3, 3)).ravel()])


def in_scipy(duration: int, transient: int) -> np.ndarray:
    """Return the exponents by `solve_ivp` over intervals of one time unit, with QR after each."""
    x, V, sums = np.array(START), np.eye(3), np.zeros(3)
    for k in range(transient + duration):
        y = scipy.integrate.solve_ivp(
            with_vectors, (0.0, 1.0), np.concatenate([x, V.ravel()]), method="RK45", rtol=RTOL, atol=ATOL
        ).y[:, -1]
        x = y[:3]
        V, R = np.linalg.qr(y[3:].reshape(3, 3))
        if k >= transient:
            sums += np.log(np.abs(np.diagonal(R)))
    return np.sort(sums / duration)[::-1]


def ours(duration: int, transient: int) -> np.ndarray:
    """Return the exponents as the library computes them."""
    found = lyapunov_spectrum(Lorenz(), jnp.asarray(START), float(duration), transient=float(transient), rtol=RTOL)
    return found.exponents


def by_nolds(duration: int) -> np.ndarray:
    """Return the largest exponent that `nolds` estimates from a series of x, by Rosenstein's method."""
    nolds: Any = importlib.import_module("nolds")
    step = 0.05
    ts = np.arange(0.0, duration, step)
    series = scipy.integrate.solve_ivp(
        lambda t, y: with_vectors(t, np.append(y, np.zeros(9)))[:3], (0.0, ts[-1]), START, t_eval=ts, rtol=1e-8
    ).y[0]
    return np.array([nolds.lyap_r(series, emb_dim=5, lag=3, min_tsep=40, trajectory_len=20, tau=step), np.nan, np.nan])


def by_dysts(periods: int, points: int = 500) -> np.ndarray:
    """Return the exponents of `dysts`: a trajectory, and implicit Euler steps of the tangent vectors along it."""
    flows: Any = importlib.import_module("dysts.flows")
    analysis: Any = importlib.import_module("dysts.analysis")
    return analysis.find_lyapunov_exponents(flows.Lorenz(), periods * points, pts_per_period=points)


def imports(name: str) -> bool:
    """Return whether a package can be imported: nolds 0.6.3 needs Python 3.12, dysts 0.96 gluonts and pyarrow."""
    try:
        importlib.import_module(name)
    except (ImportError, TypeError):
        return False
    return True


def everything(rounds: int, *, quick: bool = False) -> list[dict[str, Any]]:
    """Race over one duration, and say how near the published exponents the library is after a long one."""
    duration, transient = (60, 5) if quick else (1000, 50)
    contenders = [
        Contender("dynsim", lambda: ours(duration, transient)),
        Contender("the same algorithm in SciPy", lambda: in_scipy(duration, transient), 20.0),
    ]
    if imports("nolds"):
        contenders.append(Contender("nolds, largest from a series", lambda: by_nolds(min(duration, 100))))
    if imports("dysts.analysis"):
        contenders.append(Contender("dysts, 100 periods of 1.5", lambda: by_dysts(5 if quick else 100)))
    error = lambda found: float(np.nanmax(np.abs(found - PUBLISHED)))
    rows = race(f"Lyapunov spectrum of Lorenz, {duration} time units", contenders, error, rounds=rounds)
    if not quick:
        found = lyapunov_spectrum(Lorenz(), jnp.asarray(START), LONG, transient=100.0, rtol=RTOL)
        print(f"after {LONG:,.0f} time units: {found!r}, off by {error(found.exponents):.1e}")
    return [row._asdict() for row in rows]
