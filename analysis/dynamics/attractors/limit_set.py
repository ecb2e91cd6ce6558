"""Invariant sets: their kind, points, stability and place."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.flow_maps.angles import periods_of, principal
from analysis.dynamics.flow_maps.flat import flat_states
from analysis.dynamics.flow_maps.time_map import TimeMap, states_of
from dynsim._core.printing import one_line, report
from dynsim._core.types import State

CURVE = "curve of equilibria"
SURFACE = "surface of equilibria"
ARRIVED = 2.5e-5  # of the extent: how close to an attractor is close enough, whatever its radius


class LimitSet(NamedTuple):
    """An invariant set: its `kind`, points on it, its stability.

    `kind` is `equilibrium`, `curve of equilibria`, `surface of equilibria` (of two dimensions or more, `states` being
    one of them), `fixed point` (of a map), `periodic orbit` or `recurrent set` (chaotic or quasiperiodic); `stability`
    is `stable`, `saddle`, `unstable`, `not attracting` (a set that is not hyperbolic, from which perturbations stay
    away) or `undecided`. `states` has points of the set on the first axis, and `features` their features. `period` is
    in time units or steps, 0 for equilibria, NaN for a recurrent set that is not periodic. `values` holds the
    eigenvalues of a flow's equilibrium, else multipliers. `radius` is the largest distance tried, in extents, from
    which nine in ten perturbations or more came back, as from all smaller ones; 0 if it is not known. `spacing` is the
    distance, in extents, from these points within which nine in ten states of other trajectories on a set that is not
    periodic lie. `exponent` is the largest Lyapunov exponent, NaN unless it was asked for.
    """

    kind: str
    stability: str
    states: State
    features: Float[np.ndarray, "points f"]
    period: float
    values: Complex[np.ndarray, " values"]
    radius: float = 0.0
    exponent: float = float("nan")
    spacing: float = 0.0

    __repr__ = one_line

    def __str__(self) -> str:
        """Return the set in a line: stability, kind, period and place."""
        word = {"undecided": "neutral or undecided "}.get(self.stability, f"{self.stability} ")
        period = f" of period {self.period:.6g}" if self.period > 0 else ""
        points = flat_states(self.states)[:, :6]
        parted = self.kind == CURVE and np.ptp(points[[0, -1]], axis=0).max() > 2 * np.ptp(points[:2], axis=0).max()
        ends = np.round(points[[0, -1] if parted else [0]], 12) + 0.0
        where = ("from " if parted else "through " if self.kind == SURFACE else "at ") + " to ".join(
            np.array2string(x, precision=5, separator=", ") for x in ends
        )
        grows = f", largest exponent {self.exponent:.4g}" if np.isfinite(self.exponent) else ""
        return f"{word}{self.kind}{period} {where}{grows}"

    @property
    def state(self) -> State:
        """A point of the set."""
        return jax.tree.map(lambda y: np.asarray(y)[0], self.states)


class Slow(NamedTuple):
    """A state that moves on at a rate per time unit, though it may look as if it were at rest."""

    rate: float

    __repr__ = one_line
    __str__ = report


def with_principal_angles(time_map: TimeMap, limit: LimitSet) -> LimitSet:
    """Return a set, with angles by whole turns in the principal interval at its first point."""
    if not periods_of(time_map.features):
        return limit
    return limit._replace(states=states_of(time_map, principal(time_map.features, flat_states(limit.states))))
