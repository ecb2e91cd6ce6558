"""Periodic orbits whose nodes are moved along them, next to those of another orbit."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

SHARES = 8  # of a segment, at which the phase of an orbit is looked for, and the most steps that then find it
SAME = 1e-10  # of the period: a step that finds no other phase

Rows = Float[np.ndarray, "m n"]


def beside(moved: Callable[[Rows, float], tuple[Rows, Rows]], nodes: Rows, aims: Rows, period: float) -> Rows:
    """Return the nodes of an orbit moved along it so that they are nearest to those of another one.

    A curve of orbits that has come back to the first one may have moved its nodes by any time.

    Args:
        moved: the states a time after some, and the velocities there.
        nodes: the states at equal shares of the period.
        aims: those of the other orbit, as many.
        period: of the orbit.
    """
    m = len(nodes)
    apart = lambda rows: [float(np.linalg.norm(np.roll(rows, -k, axis=0) - aims)) for k in range(m)]
    begun = [moved(nodes, period / m * (j + 1) / SHARES) for j in range(SHARES)]
    best = min(begun, key=lambda pair: min(apart(pair[0])))
    k = int(np.argmin(apart(best[0])))
    rows, speeds = (np.roll(part, -k, axis=0) for part in best)
    for _ in range(SHARES):
        time = float(np.sum(speeds * (aims - rows)) / max(float(np.sum(speeds**2)), np.finfo(float).tiny))
        if abs(time) <= SAME * period:
            break
        time = float(np.clip(time, -period / m, period / m))
        rows, speeds = moved(rows, time) if time > 0 else moved(np.roll(rows, 1, axis=0), time + period / m)
    return rows
