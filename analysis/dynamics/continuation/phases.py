"""Move periodic orbits into phase with each other."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

# Number of phases per segment that are tried to align two orbits, and largest number of refining steps.
SHARES = 8
# Time step, relative to the period, below which the phase counts as found.
SAME = 1e-10

Rows = Float[np.ndarray, "m n"]


def beside(
    moved: Callable[[Rows, float], tuple[Rows, Rows]],
    nodes: Rows,
    aims: Rows,
    period: float,
    short: Callable[[Rows], Rows] = lambda apart: apart,
) -> Rows:
    """Move the nodes of an orbit along it so that they are nearest to the nodes of another orbit.

    A curve of orbits that has come back to its first orbit may have shifted the nodes by any time.

    Args:
        moved: advances states by a time, and gives the velocities there.
        nodes: states at equal shares of the period.
        aims: nodes of the other orbit, equally many.
        period: period of the orbit.
        short: removes whole turns of angles from differences of states.
    """
    m = len(nodes)
    apart = lambda rows: [float(np.linalg.norm(short(np.roll(rows, -k, axis=0) - aims))) for k in range(m)]
    begun = [moved(nodes, period / m * (j + 1) / SHARES) for j in range(SHARES)]
    best = min(begun, key=lambda pair: min(apart(pair[0])))
    k = int(np.argmin(apart(best[0])))
    rows, speeds = (np.roll(part, -k, axis=0) for part in best)
    for _ in range(SHARES):
        time = float(np.sum(speeds * short(aims - rows)) / max(float(np.sum(speeds**2)), np.finfo(float).tiny))
        if abs(time) <= SAME * period:
            break
        time = float(np.clip(time, -period / m, period / m))
        rows, speeds = moved(rows, time) if time > 0 else moved(np.roll(rows, 1, axis=0), time + period / m)
    return rows
