"""Assemble the equations of a periodic orbit from its segments, for multiple shooting and collocation."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from analysis.dynamics.collocation.solver import dense
from analysis.dynamics.continuation.curve import CurvePoint, Equations

# Growth of a mode at an equilibrium, relative to the fastest, that may be none, as beside a saddle-node.
NEUTRAL = 0.02
# Largest change of an orbit under the stricter solver, relative to the last Newton step allowed.
CONFIRMED = 10


class OrbitSegments(NamedTuple):
    """Segments of an orbit: the period, and for each of the m segments its node, end, velocities and derivatives.

    Arrays have shape (m, n); `maps`, the derivatives by the nodes, have shape (m, n, n). `slopes` are the derivatives
    by the parameter, including the change of the period of a forced flow, and `rates` those by the period.
    """

    period: float
    nodes: np.ndarray
    ends: np.ndarray
    maps: np.ndarray
    speeds: np.ndarray
    slopes: np.ndarray
    rates: np.ndarray


def cycle_equations(
    shot: OrbitSegments,
    gaps: Float[np.ndarray, "m n"],
    width: int,
    basis: Float[np.ndarray, "ambient width"] | None,
    *,
    slowest: float,
    forced: bool,
) -> Equations:
    """Compute the gaps, in the coordinates of the next nodes, and below them the phase condition of a free period.

    Args:
        shot: the segments.
        gaps: differences of their ends from the next nodes.
        width: the number of coordinates.
        basis: bases of the tangent spaces at the nodes, as blocks; None on a flat space.
        slowest: length of the velocities below which the phase condition is not normalised.
        forced: whether the period is given.
    """
    nodes, maps, (m, n) = shot.nodes, shot.maps, shot.nodes.shape
    size = float(np.max(np.abs(gaps))) / (1 + float(np.max(np.abs(nodes))))
    speeds, slopes, rates = shot.speeds, shot.slopes, shot.rates
    if basis is not None:
        d = (width - (0 if forced else 1)) // m
        own = np.stack([basis[k * n : (k + 1) * n, k * d : (k + 1) * d] for k in range(m)])
        after = np.roll(own, -1, axis=0)
        maps = np.einsum("kji,kjl,klm->kim", after, maps, own)
        gaps, speeds, slopes, rates = (np.einsum("kji,kj->ki", after, a) for a in (gaps, speeds, slopes, rates))
    count = gaps.size
    values, J, by_parameter = np.zeros(width), np.zeros((width, width)), np.zeros(width)
    values[:count], by_parameter[:count] = gaps.ravel(), slopes.ravel()
    J[:count, :count] = dense(maps, -np.eye(maps.shape[1]))
    if not forced:  # on average, the nodes do not move along the flow
        J[:count, -1], along = rates.ravel(), np.roll(speeds, 1, axis=0).ravel()
        length = float(scipy.linalg.norm(along, check_finite=False))  # without overflow, unlike NumPy's
        with np.errstate(invalid="ignore"):  # states that are far off are refused by who asks
            J[-1, :count] = along / max(length, slowest)
    return Equations(values, J, by_parameter, size)


def may_have_loops(J: Float[np.ndarray, "n n"]) -> bool:
    """Test whether an equilibrium may have homoclinic orbits, by its derivative: not if it attracts or repels all.

    A canard passes a focus that repels, while the parameter hardly changes and the period grows.
    """
    growth = np.linalg.eigvals(J).real if np.all(np.isfinite(J)) else np.zeros(1)
    least = NEUTRAL * float(np.max(np.abs(growth)))
    return bool(np.min(growth) <= least and np.max(growth) >= -least)


def is_confirmed(point: CurvePoint, at: Equations, nodes: Float[np.ndarray, "m n"], tolerance: float) -> bool:
    """Test whether a Newton step with the equations of a stricter solver leaves a point in place.

    Args:
        point: the point.
        at: its equations with the stricter solver.
        nodes: nodes of the orbit, whose size sets the scale.
        tolerance: tolerance of the last Newton step.
    """
    matrix = np.vstack([np.column_stack([at.J, at.slope]), point.tangent])
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(at.values))):
        return False
    change = np.linalg.lstsq(matrix, -np.append(at.values, 0.0), rcond=1e-11)[0]
    return bool(np.max(np.abs(change)) <= CONFIRMED * tolerance * (1 + float(np.max(np.abs(nodes)))))
