"""Whether a stricter solver confirms the orbits of a curve, and why not."""

import numpy as np
from jaxtyping import Float

from analysis.dynamics.continuation.curve import CurvePoint, Equations

STRICTER = 0.1  # the factor of the solver's tolerance with which orbits are confirmed
CONFIRMED = 10  # times the last Newton step allowed, by which an orbit may change where the solver is more exact
SLOW = 1e-2  # of the largest speed at a node: an orbit with a slower node passes beside an equilibrium


def is_confirmed(point: CurvePoint, at: Equations, nodes: Float[np.ndarray, "m n"], tolerance: float) -> bool:
    """Return whether a Newton step with the equations of a stricter solver, across the curve, leaves a point in place.

    Args:
        point: the point.
        at: its equations by that solver.
        nodes: of the orbit, whose size counts.
        tolerance: of the last Newton step.
    """
    matrix = np.vstack([np.column_stack([at.J, at.slope]), point.tangent])
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(at.values))):
        return False
    change = np.linalg.lstsq(matrix, -np.append(at.values, 0.0), rcond=1e-11)[0]
    return bool(np.max(np.abs(change)) <= CONFIRMED * tolerance * (1 + float(np.max(np.abs(nodes)))))


def unconfirmed(speeds: Float[np.ndarray, "m n"], *, forced: bool) -> str:
    """Return why an orbit with velocities at its nodes is not confirmed: `homoclinic` if it passes an equilibrium."""
    sizes = np.linalg.norm(speeds, axis=1)
    return "homoclinic" if np.min(sizes) < SLOW * np.max(sizes) and not forced else "accuracy"
