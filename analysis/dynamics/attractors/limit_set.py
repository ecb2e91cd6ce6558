"""Invariant sets found by a search: their kind, stability, period, points and spectrum."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.flow_maps.angles import periods_of, principal
from analysis.dynamics.flow_maps.time_map import TimeMap, states_of
from analysis.dynamics.scaling.flat import flat_states
from dynsim._core.printing import one_line, report
from dynsim._core.types import State

CURVE = "curve of equilibria"
SURFACE = "surface of equilibria"
# Distance, relative to the extent, at which a state counts as having arrived at an attractor of any radius.
ARRIVED = 2.5e-5


class LimitSet(NamedTuple):
    """Invariant set: its kind, its stability and points on it.

    Attributes:
        kind: `equilibrium`, `curve of equilibria`, `surface of equilibria` (of dimension two or more, represented by
            one of them), `relative equilibrium`, `fixed point` (of a map), `periodic orbit`, `recurrent set` (chaotic
            or quasiperiodic) or `chaotic edge state`.
        stability: `stable`, `saddle`, `unstable`, `not attracting` (a nonhyperbolic set to which perturbations do not
            return) or `undecided`.
        states: points of the set, stacked along the first axis of every array.
        features: features of these points.
        period: in time units or steps; 0 for equilibria, NaN for nonperiodic sets.
        values: eigenvalues of an equilibrium of a flow, otherwise multipliers.
        radius: largest tested distance, relative to the extent, from which at least nine in ten perturbations returned,
            as from all smaller tested distances; 0 if unknown.
        exponent: largest Lyapunov exponent per time unit or step; NaN unless it was requested.
        spacing: distance from the points, relative to the extent, within which the other points of a curve lie, and
            nine in ten states of other trajectories on a nonperiodic set.
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
        """Describe stability, kind, period and location in one line."""
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
    def is_cycle(self) -> bool:
        """Whether the points are the corners of a closed polygon along a periodic orbit of a flow."""
        return bool(self.period > 0 and self.spacing > 0)

    @property
    def state(self) -> State:
        """One point of the set."""
        return jax.tree.map(lambda y: np.asarray(y)[0], self.states)


class Slow(NamedTuple):
    """Trajectory that is still moving at a speed `rate` per time unit, though it may look at rest."""

    rate: float

    __repr__ = one_line
    __str__ = report


def with_principal_angles(time_map: TimeMap, limit: LimitSet) -> LimitSet:
    """Shift angles by whole turns so that the first point of a set lies in the principal interval."""
    if not periods_of(time_map):
        return limit
    return limit._replace(states=states_of(time_map, principal(time_map, flat_states(limit.states))))
