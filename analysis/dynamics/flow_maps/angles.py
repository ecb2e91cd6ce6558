"""Treat entries of states that are angles: features on circles, whole turns and principal values."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.time_map import NEARLY, TimeMap, state_itself, state_of
from analysis.dynamics.scaling.flat import flat_state
from dynsim._core.types import State
from dynsim.spaces import AbstractSpace
from dynsim.spaces.base import nearest

# Largest distance of two states that are the same modulo whole turns, in units of each component.
SAME_PLACE = 1e-6

Periods = tuple[tuple[int, float], ...]


class OnCircles(eqx.Module):
    """Features of a state with angles: the cosine and sine of each angle replace its entry."""

    periods: Periods = eqx.field(static=True)

    def __call__(self, x: State) -> Array:
        """Compute the features of a state."""
        flat = ravel_pytree(x)[0]
        turns = [(k, 2 * np.pi / period) for k, period in self.periods]
        rest = [k for k in range(flat.shape[0]) if k not in dict(self.periods)]
        circles = [fn(flat[k] * rate) / rate for k, rate in turns for fn in (jnp.cos, jnp.sin)]
        return jnp.stack([*(flat[k] for k in rest), *circles])

    def entries(self, extent: Float[np.ndarray, " f"]) -> Float[np.ndarray, " n"]:
        """Get the extent of each entry of a state from the extents of the features."""
        pairs = extent[len(extent) - 2 * len(self.periods) :].reshape(-1, 2)
        found = np.empty(len(extent) - len(pairs))
        angles = [k for k, _ in self.periods]
        found[angles] = np.max(pairs, axis=1)
        found[np.setdiff1d(np.arange(len(found)), angles)] = extent[: len(found) - len(pairs)]
        return found


def angles_of(space: AbstractSpace, state: State) -> Periods:
    """List the angles among the entries of a flattened state as pairs of index and period."""
    periods = flat_state(space.periods(state))
    return tuple((int(k), float(periods[k])) for k in np.flatnonzero(np.isfinite(periods)))


def periods_of(time_map: TimeMap) -> Periods:
    """List the angles among the entries of a flattened state of a time map as pairs of index and period."""
    return angles_of(time_map.system.space, state_of(time_map, np.zeros(time_map.sizes.shape)))


def entry_extents(time_map: TimeMap, extent: Float[np.ndarray, " f"], n: int) -> Float[np.ndarray, " n"]:
    """Get the extent of each of `n` entries of a state from those of the features; the median for other features."""
    if isinstance(time_map.features, OnCircles):
        return time_map.features.entries(extent)
    return extent if time_map.features is state_itself else np.full(n, float(np.median(extent)))


def whole_turns(time_map: TimeMap, moved: Float[np.ndarray, "... n"]) -> Float[np.ndarray, "... n"]:
    """Compute the whole turns nearest to a displacement of a flattened state; 0 for entries that are no angles."""
    found = np.zeros_like(moved)
    for k, period in periods_of(time_map):
        found[..., k] = period * np.round(moved[..., k] / period)
    return found


def principal(time_map: TimeMap, states: Float[np.ndarray, "states n"]) -> Float[np.ndarray, "states n"]:
    """Shift flattened states by whole turns, the same for all, so that the first has principal angles.

    The principal interval of an angle with period P is from -P / 2, excluded up to rounding, to P / 2.
    """
    moved = np.array(states)
    for k, period in periods_of(time_map):
        moved[:, k] -= period * np.ceil(moved[0, k] / period - 0.5 - NEARLY)
    return moved


def modulo(
    points: Float[np.ndarray, "points d"], angles: Float[np.ndarray, " d"], sizes: Float[np.ndarray, " d"]
) -> list[int]:
    """Choose one of the points that differ only by whole turns of angles: the one nearest to zero. Give their indices.

    Args:
        points: the points.
        angles: the period of each component, infinite for a component that is no angle.
        sizes: the unit of each component.
    """
    turning, kept = np.isfinite(angles), []
    for k in np.argsort(np.sum(np.abs(points[:, turning]), axis=1), kind="stable").tolist():
        if not any(turned_by(points[k], points[j], angles, sizes) for j in kept):
            kept.append(k)
    return sorted(kept)


def turned_by(
    x: Float[np.ndarray, " d"],
    y: Float[np.ndarray, " d"],
    angles: Float[np.ndarray, " d"],
    sizes: Float[np.ndarray, " d"],
) -> bool:
    """Test whether two points differ by whole turns of angles, at least one, and by nothing else."""
    turning = np.isfinite(angles)
    far = np.abs(x - y)[turning] > angles[turning] / 2
    unit = np.where(turning, angles, sizes)
    return bool(np.any(far) and np.all(np.abs(nearest(x - y, angles)) <= SAME_PLACE * unit))
