"""Compute the torus on which a simulated motion ends, from its frequencies."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from analysis.dynamics.scaling.flat import flat_states
from analysis.dynamics.tori.section_map import SectionMap, check_section
from analysis.dynamics.tori.solver import CircleCondition, SectionCircle, corrected, locked_near
from analysis.dynamics.tori.torus import InvariantTorus, on_path, section_at, torus_of
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_start, double_state
from dynsim.simulation.simulate import iterate as iterated
from dynsim.systems.base import AbstractFlow
from dynsim.systems.parameter import Parameter

# Number of states of the motion from which frequencies are found.
SAMPLES = 2048
# Default of the number of turns that are left out before them.
TRANSIENT = 500
# Samples in a turn of an autonomous flow, from which its own frequency is found.
PER_TURN = 16
# Frequencies of an autonomous flow between which its own one is looked for, relative to that of the given period.
SLOWER, FASTER = 0.6, 1.6
# Largest Fourier order of the first guess of the circle.
ORDER = 20
# Share of the samples by which frequencies may differ from a peak of the spectrum.
WIDTH = 1.5
# Ratio of the distances from the samples by which half of the strongest frequency must be better.
BETTER = 0.1
# Largest distance of a state from itself after some iterates, relative to the extent, on a locked torus.
SAME = 1e-7
# Extent of the motion, relative to the states, below which it is at rest.
STILL = 1e-7
# Most iterates that are compared.
LONGEST = 64


@checked
@on_host_by_default
def invariant_torus(
    parameter: Parameter,
    start: State,
    *,
    period: float | None = None,
    forcing: Callable[[Any], Any] | None = None,
    iterate: int = 1,
    transient: int = TRANSIENT,
    tolerance: float = 1e-7,
) -> InvariantTorus:
    """Compute the attracting torus to which a trajectory leads, by Newton's method from the frequencies of its motion.

    The trajectory is sampled once in a turn. Its strongest frequency gives the rotation number, and means with a smooth
    window the Fourier coefficients of the circle on which the samples lie.

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import dynsim as ds
    >>> from analysis.dynamics import invariant_torus
    >>> def turn(k, x, mu=0.04):  # a circle of radius sqrt(mu), which is turned by 2 radians
    ...     grown, c, s = (1 + mu - x @ x) * x, jnp.cos(2.0), jnp.sin(2.0)
    ...     return jnp.stack([c * grown[0] - s * grown[1], s * grown[0] + c * grown[1]])
    >>> mu = ds.Parameter(ds.FunctionMap(turn, parameters={"mu": 0.04}), "mu", -0.1, 0.1)
    >>> torus = invariant_torus(mu, [0.1, 0.0])
    >>> round(torus.rotation, 9), round(1 / np.pi, 9)
    (0.318309886, 0.318309886)

    Args:
        parameter: a parameter of the system, in which the torus may be continued; the system has its own value.
        start: a state that the torus attracts.
        period: of an autonomous flow, about the time of one turn, that of the faster motion.
        forcing: of a forced flow, the period as a function of the flow, as in `continue_orbits`.
        iterate: of a map, how often it is applied.
        transient: the number of turns, or of iterates, that are left out.
        tolerance: the largest error of the circle, relative to its extent.

    Raises:
        ValueError: for bad input, and if the motion ends at rest, on a periodic orbit, locked p:q, or on no torus that
            is found.

    Source: J. Laskar, Frequency analysis for multi-dimensional systems, Physica D 67 (1993).
    """
    state = check_start("start", parameter.system, double_state("start", start))
    repeats, left = integer("iterate", iterate, least=1), integer("transient", transient, least=0)
    least = number("tolerance", tolerance)
    flow = isinstance(parameter.system, AbstractFlow)
    turn = float(repeats)
    if flow and (period is None) == (forcing is None):
        must = "be given for an autonomous flow, and `forcing` alone for one that depends on time"
        raise ArgumentError("period", must, "is not" if period is None else "is given beside `forcing`")
    if flow:
        turn = number("period", period) if forcing is None else float(forcing(parameter.system))
    check_section(parameter.system, jax.tree.map(lambda part: part[None], state), turn, repeats, forcing)
    if flow and forcing is None:
        finer = _sampled(parameter.system, state, turn, left, PER_TURN)
        low, high = SLOWER / PER_TURN, FASTER / PER_TURN
        turn = turn / PER_TURN / _frequency(_widest(flat_states(finer)), low, high)
        state, left = jax.tree.map(lambda part: part[-1], finer), 0
    states = _sampled(parameter.system, state, turn, left)
    if not np.all(np.isfinite(flat_states(states))):
        raise ArgumentError("start", "lead to a torus", "leads to states that are not finite")
    section = section_at(parameter, states, turn, repeats, forcing, 1e-3 * least)
    rows = flat_states(states) / section.units.flat(section.like)
    _check_moving(section, rows)
    guess = _guess(section, rows, turn / section.units.time)
    found = corrected(section, guess, guess, CircleCondition(None, guess), least)
    if not found.converged:
        orbit = locked_near(section, guess)
        but = "leads to none that is found" if orbit is None else f"leads to one that is locked {orbit.ratio}"
        raise ArgumentError("start", "lead to a torus with quasi-periodic motion", but)
    return torus_of(section, found.circle, found.error, parameter.name)


def _sampled(system: Any, start: State, turn: float, left: int, per_turn: int = 1) -> State:
    """Sample a trajectory at shares of its turns, or the iterates of a map, after those that are left out."""
    if isinstance(system, AbstractFlow):
        ts = left * turn + turn / per_turn * np.arange(SAMPLES)
        ys = on_path(system, start, np.append(0.0, ts) if left else ts)
        return jax.tree.map(lambda part: part[1:], ys) if left else ys
    steps = round(turn)
    ys = iterated(system, start, (left + SAMPLES - 1) * steps, every=steps).ys
    return jax.tree.map(lambda part: np.asarray(part)[left:], ys)


def _window(count: int) -> Float[np.ndarray, " count"]:
    """Compute the weights of means of a quasi-periodic signal, which converge faster than any power of the count."""
    share = (np.arange(count) + 0.5) / count
    weights = np.exp(-1 / (share * (1 - share)))
    return weights / np.sum(weights)


def _widest(rows: Float[np.ndarray, "samples n"]) -> Float[np.ndarray, " samples"]:
    """Select the component with the largest range."""
    return rows[:, int(np.argmax(np.ptp(rows, axis=0)))]


def _frequency(signal: Float[np.ndarray, " samples"], low: float, high: float) -> float:
    """Find the strongest frequency of a signal between bounds, in turns per sample."""
    from scipy.optimize import minimize_scalar

    count, weights = len(signal), _window(len(signal))
    centred = weights * (signal - np.sum(weights * signal))
    sizes, places = np.abs(np.fft.rfft(centred)), np.fft.rfftfreq(count)
    peak = places[np.argmax(np.where((places >= low) & (places <= high), sizes, -1.0))]
    power = lambda f: -abs(np.sum(centred * np.exp(-2j * np.pi * f * np.arange(count))))
    ends = (peak - WIDTH / count, peak + WIDTH / count)
    found: Any = minimize_scalar(power, bounds=ends, method="bounded", options={"xatol": 1e-13})
    return float(found.x)


def _guess(section: SectionMap, rows: Float[np.ndarray, "samples n"], period: float) -> SectionCircle:
    """Estimate the circle on which samples lie, with the rotation number, from the strongest frequency.

    Where that is a harmonic, as on a circle with a symmetry, half of it describes the samples better.
    """
    count = len(rows)
    strongest = _frequency(_widest(rows), 2 / count, 0.5)
    orders, weights = np.arange(-ORDER, ORDER + 1), _window(count)
    best, found = np.inf, None
    for turn in (strongest, strongest / 2, (1 + strongest) / 2):
        waves = np.exp(-2j * np.pi * turn * np.outer(np.arange(count), orders))
        parts = (weights[:, None] * waves).T @ rows
        away = float(np.max(np.abs(np.real(np.conj(waves) @ parts) - rows)))
        if found is None or away < BETTER * best:
            angles = np.arange(2 * ORDER + 1) / (2 * ORDER + 1)
            nodes = np.real(np.exp(2j * np.pi * np.outer(angles, orders)) @ parts)
            best, found = away, SectionCircle(nodes, turn, period, section.parameter.value)
    assert found is not None
    return found


def _check_moving(section: SectionMap, rows: Float[np.ndarray, "samples n"]) -> None:
    """Raise `ValueError` for samples that do not move, or repeat after some iterates."""
    extent = float(np.max(np.ptp(rows, axis=0)))
    still = extent <= STILL * (1 + float(np.max(np.abs(rows))))
    repeats = (
        q
        for q in range(1, LONGEST + 1)
        if np.max(np.abs(section.gaps(rows[q:], rows[:-q]))[-10 * LONGEST :]) <= SAME * extent
    )
    q = 1 if still else next(repeats, 0)
    if q:
        but = "leads to a fixed point" if section.is_map else "leads to a periodic orbit"
        if q > 1:
            turns = round(q * _frequency(_widest(rows), 2 / len(rows), 0.5))
            but = f"leads to a periodic orbit that is locked {turns}:{q}"
        raise ArgumentError("start", "lead to a torus with quasi-periodic motion", but)
