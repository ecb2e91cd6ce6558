"""Adapt the sampling interval of trajectories: longer where they hardly move, shorter where the flow is steep."""

from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.dynamics.flow_maps.time_map import TimeMap, states_of
from analysis.dynamics.scaling.samples import norms
from dynsim._core.host import filled

# Motion in an interval, relative to the extent, below which the interval may become longer.
STILL = 0.01
# Share of the motions that must be that small.
NEARLY_ALL = 0.9
# Factor by which an interval becomes longer.
LONGER = 4
# Largest number of such factors applied at once.
AT_ONCE = 2
# Smallest number of samples from which this is decided.
FEWEST = 3
# Largest interval of an explicit solver, times the mean norm of the Jacobian.
STEEP = 32.0
# Number of states at which this norm is averaged.
SOME = 32


def suited(
    time_map: TimeMap,
    states: Float[np.ndarray, "samples members n"],
    xs: Float[np.ndarray, "starts n"],
    extent: Float[np.ndarray, " f"],
) -> tuple[TimeMap, bool]:
    """Adapt the sampling interval to the recent states, and report whether stability of the solver limits it.

    The interval is shortened where the last states require it (`relieved`); otherwise it may be lengthened (`adapted`).
    """
    shorter = relieved(time_map, xs)
    if shorter is not time_map:
        return shorter, False
    longer = adapted(time_map, states, extent)
    return longer, hold_back(longer, states, extent)


def adapted(
    time_map: TimeMap, states: Float[np.ndarray, "samples members n"], extent: Float[np.ndarray, " f"]
) -> TimeMap:
    """Lengthen the interval if nearly all motions in it are small and the solver remains stable; else keep it.

    It becomes `LONGER` times as long, and again if motions would still be small. Deciding from samples, not from the
    starts, ignores fast initial rates, such as those of spikes or of the approach to a slow manifold.
    """
    times = 1
    for _ in range(AT_ONCE):
        if not _hardly_move(time_map, states[::times], extent) or _is_steep(time_map, states, times):
            break
        times *= LONGER
    return time_map.over(times) if times > 1 else time_map


def hold_back(
    time_map: TimeMap, states: Float[np.ndarray, "samples members n"], extent: Float[np.ndarray, " f"]
) -> bool:
    """Test whether nearly all motions in an interval are small, but the solver would be unstable in a longer one."""
    return _hardly_move(time_map, states, extent) and _is_steep(time_map, states)


def _hardly_move(time_map: TimeMap, states: np.ndarray, extent: np.ndarray) -> bool:
    if len(states) < FEWEST:
        return False
    features = np.stack([time_map.features_of(member) for member in np.moveaxis(states, 1, 0)])
    moves = np.max(np.abs(np.diff(features, axis=1)) / extent, axis=-1)
    return bool(np.quantile(moves, NEARLY_ALL) < STILL)


def _is_steep(time_map: TimeMap, states: np.ndarray, times: int = 1) -> bool:
    """Test whether `times` intervals, lengthened once more, would be too long for an explicit solver."""
    if time_map.solver is not None:
        return False
    flat = states.reshape(-1, states.shape[-1])
    some = flat[np.linspace(0, len(flat) - 1, SOME).astype(int)]
    return _steepness(time_map, some) * times * LONGER > STEEP


def relieved(time_map: TimeMap, xs: Float[np.ndarray, "members n"]) -> TimeMap:
    """Shorten a lengthened interval, at most to its first length, if it is now too long for an explicit solver."""
    if time_map.solver is not None:  # implicit solvers are stable
        return time_map
    longer = 2 * float(time_map.interval) / float(time_map.unit)
    steep = _steepness(time_map, xs) / STEEP if longer > 1 and len(xs) else 0.0
    if steep <= LONGER:
        return time_map
    powers = [float(np.log(times) / np.log(LONGER)) for times in (steep, longer)]
    return time_map.over(float(LONGER) ** -min(np.ceil(powers[0]), np.round(powers[1])))


def _steepness(time_map: TimeMap, xs: np.ndarray) -> float:
    """Compute the interval times the mean norm of the Jacobian at states."""
    system: Any = time_map.system
    some = filled(xs[:: -(-len(xs) // SOME)], SOME)
    rates = norms(system, states_of(time_map, some))
    return float(time_map.interval) * float(np.mean(rates)) if rates.size else 0.0
