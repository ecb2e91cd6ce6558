"""Change from multiple shooting to collocation along a branch of periodic orbits, where shooting ends."""

import numpy as np
from jaxtyping import Float

from analysis.dynamics.continuation.collocation_curve import CollocationCurve
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.orbit_curve import OrbitCurve

# Reasons for which a branch by shooting ends and one by collocation may go on.
CHANGES = ("accuracy", "lost", "multipliers", "short steps")
# Fewest samples of an orbit, the distance between successive ones in ranges of the components, and most halvings.
SAMPLES, APART, HALVINGS = 32, 0.05, 20
# Fewest intervals of the first mesh, and the share of its density that every part of an orbit has.
FEWEST, EVENLY = 24, 0.25
# Length along the tangent, relative to states of order one, by which an orbit beside the last one is computed.
BESIDE = 1e-5


def on_intervals_of(curve: OrbitCurve, point: CurvePoint) -> tuple[CollocationCurve, CurvePoint] | None:
    """Find an orbit by shooting again by collocation, with its tangent; None if Newton's method fails.

    The mesh is dense where the orbit is fast. The tangent at the new nodes is that to an orbit beside the first one.
    """
    shares, rows = _samples(curve, point)
    density = _chords(curve, rows)
    density = density / (float(np.sum(density)) or 1.0) + EVENLY * np.diff(np.append(shares, 1.0))  # 0 at rest
    total = np.append(0.0, np.cumsum(density))
    places = np.linspace(0.0, total[-1], max(FEWEST, len(shares) // 2), endpoint=False)
    picked = np.unique(np.searchsorted(total[:-1], places))
    picked = picked[picked < len(shares)]  # a place in the last interval belongs to the first node
    shares, rows = shares[picked], rows[picked]
    step = BESIDE * np.append(point.basis @ point.tangent[:-1], point.tangent[-1])
    beside = curve.displaced(point.state, step[:-1])
    moves = curve.states_at(beside, point.parameter + float(step[-1]), shares) - rows
    like, _, forcing, longest, rtol, units, _ = curve._given_to_all
    other = CollocationCurve(curve.parameter, like, np.append(shares, 1.0), forcing, longest, rtol, units)
    other.note = f"by collocation from {curve.parameter.name} = {point.parameter * curve.unit:.6g} on"
    state = other.cycle(rows, float(point.state.period))
    tangent = np.append(other.basis(state).T @ np.append(moves.ravel(), step[-2]), step[-1])
    tangent /= np.linalg.norm(tangent)
    found = other.corrected(state, point.parameter, tangent)
    if found is None:
        return None
    sign = 1.0 if tangent @ found.tangent >= 0 else -1.0
    return other, found._replace(tangent=sign * found.tangent)


def _samples(curve: OrbitCurve, point: CurvePoint) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k n"]]:
    """Sample an orbit, from its nodes on, so that successive states are near each other; give shares of the period."""
    count = curve.segments * -(-SAMPLES // curve.segments)
    shares = np.arange(count) / count
    rows = curve.states_at(point.state, point.parameter, shares)
    for _ in range(HALVINGS):
        far = np.flatnonzero(_chords(curve, rows) > APART)
        if not far.size:
            break
        new = (shares[far] + np.append(shares, 1.0)[far + 1]) / 2
        rows = np.insert(rows, far + 1, curve.states_at(point.state, point.parameter, new), axis=0)
        shares = np.insert(shares, far + 1, new)
    return shares, rows


def _chords(curve: OrbitCurve, rows: np.ndarray) -> np.ndarray:
    """Compute the distances between successive states of an orbit, relative to the ranges of the components.

    Ranges below the errors of the solver, as those of a component that is constant, do not count.
    """
    ranges = np.maximum(np.ptp(rows, axis=0), float(curve._rtol) * (1 + np.max(np.abs(rows), axis=0)))
    return np.linalg.norm(curve._short(np.roll(rows, -1, axis=0) - rows) / ranges, axis=1)
