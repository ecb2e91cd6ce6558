"""Intervals between the samples of a trajectory: longer ones where it hardly moves in them, as with two time scales."""

from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.dynamics.flow_maps.time_map import TimeMap, states_of
from analysis.dynamics.scaling.samples import norms
from dynsim._core.host import filled

STILL = 0.01  # of the extent: a motion in an interval below which it may be longer
NEARLY_ALL = 0.9  # of the motions are that small
LONGER = 4  # times as long an interval becomes,
AT_ONCE = 2  # so often at once
FEWEST = 3  # samples by whose motions this is decided
STEEP = 32.0  # times one over the mean norm of the Jacobian: an interval becomes no longer than that
SOME = 32  # states at which this norm is taken


def suited(
    time_map: TimeMap,
    states: Float[np.ndarray, "samples members n"],
    xs: Float[np.ndarray, "starts n"],
    extent: Float[np.ndarray, " f"],
) -> tuple[TimeMap, bool]:
    """Return the map over an interval that suits trajectories and last states, and whether its solver holds it back.

    The interval becomes shorter where the last states ask for it (`relieved`), and else may become longer (`adapted`).
    """
    shorter = relieved(time_map, xs)
    if shorter is not time_map:
        return shorter, False
    longer = adapted(time_map, states, extent)
    return longer, hold_back(longer, states, extent)


def adapted(
    time_map: TimeMap, states: Float[np.ndarray, "samples members n"], extent: Float[np.ndarray, " f"]
) -> TimeMap:
    """Return the map over a longer interval if nearly all motions in one are small, and a solver can follow; else it.

    It is `LONGER` times as long, and so many times again if motions in that one would be small, too. Fast rates at the
    starts, as those of spikes, or of the way to a slow manifold, are so not those of all samples.
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
    """Return whether nearly all motions in an interval are small, and a solver can follow no longer one."""
    return _hardly_move(time_map, states, extent) and _is_steep(time_map, states)


def _hardly_move(time_map: TimeMap, states: np.ndarray, extent: np.ndarray) -> bool:
    if len(states) < FEWEST:
        return False
    features = np.stack([time_map.features_of(member) for member in np.moveaxis(states, 1, 0)])
    moves = np.max(np.abs(np.diff(features, axis=1)) / extent, axis=-1)
    return bool(np.quantile(moves, NEARLY_ALL) < STILL)


def _is_steep(time_map: TimeMap, states: np.ndarray, times: int = 1) -> bool:
    """Return whether an interval longer than so many of these would be too long for an explicit solver."""
    if time_map.solver is not None:
        return False
    flat = states.reshape(-1, states.shape[-1])
    some = flat[np.linspace(0, len(flat) - 1, SOME).astype(int)]
    return _steepness(time_map, some) * times * LONGER > STEEP


def relieved(time_map: TimeMap, xs: Float[np.ndarray, "members n"]) -> TimeMap:
    """Return the map over a shorter interval, but not than the first, if that has become steep at states; else it."""
    if time_map.solver is not None:  # an implicit one
        return time_map
    longer = 2 * float(time_map.interval) / float(time_map.unit)
    steep = _steepness(time_map, xs) / STEEP if longer > 1 and len(xs) else 0.0
    if steep <= LONGER:
        return time_map
    powers = [float(np.log(times) / np.log(LONGER)) for times in (steep, longer)]
    return time_map.over(float(LONGER) ** -min(np.ceil(powers[0]), np.round(powers[1])))


def _steepness(time_map: TimeMap, xs: np.ndarray) -> float:
    """Return the interval times the mean norm of the Jacobian at states."""
    system: Any = time_map.system
    some = filled(xs[:: -(-len(xs) // SOME)], SOME)
    rates = norms(system, states_of(time_map, some))
    return float(time_map.interval) * float(np.mean(rates)) if rates.size else 0.0
