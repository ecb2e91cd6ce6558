"""Basins of the forced Duffing oscillator against a loop over `solve_ivp`, and orbit diagrams of the logistic map."""

import time
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from analysis.dynamics.attractors.basins import basins
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.orbit_diagrams import orbit_diagram
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.catalogue.oscillators import Duffing
from dynsim.systems.parameter import Parameter
from tests.quality.benchmarks.harness import Contender, Row, race, show

DAMPING, FORCE, PERIOD = 0.15, 0.2, 2 * np.pi
LOOPED = 48  # starts of the loop, whose time is multiplied up to the whole grid
PERIODS = 32  # of the loop


def looped(starts: np.ndarray, method: str, rtol: float) -> np.ndarray:
    """Return the states after some periods by a loop over `solve_ivp`."""

    def field(t: float, x: np.ndarray) -> list[float]:
        return [x[1], FORCE * np.cos(t) - DAMPING * x[1] + x[0] - x[0] ** 3]

    end = PERIODS * PERIOD
    return np.array(
        [solve_ivp(field, (0.0, end), x, method=method, rtol=rtol, atol=rtol / 100).y[:, -1] for x in starts]
    )


def duffing(side: int) -> list[Row]:
    """Race the basins on a grid of side times side points against the loop at the same tolerances.

    The error is the share of labels of some starts that differ from those of DOP853 at the tolerance 1e-11; the
    boundary is fractal, so that near it the tolerance decides.
    """
    flow = Duffing(delta=DAMPING, gamma=FORCE)
    box, forced = [[-2.0, 2.0], [-2.0, 2.0]], Search(period=PERIOD)
    basins(flow, box, [16, 16], search=forced, shown=False)  # compiles the program of few starts
    begin, spent = time.perf_counter(), time.process_time()
    found = basins(flow, box, [side, side], search=forced, shown=False)
    ours, cpu = time.perf_counter() - begin, time.process_time() - spent
    some = np.random.default_rng(0).integers(side, size=(LOOPED, 2))
    starts = np.stack([found.axes[k][some[:, k]] for k in (0, 1)], axis=1)
    begin, spent = time.perf_counter(), time.process_time()
    ends = looped(starts, "RK45", 1e-6)
    many = side**2 / LOOPED
    theirs, their_cpu = (time.perf_counter() - begin) * many, (time.process_time() - spent) * many
    rests = np.stack([np.asarray(a.state) for a in found.attractors])
    tight, loose = (np.linalg.norm(x[:, None] - rests, axis=-1) for x in (looped(starts, "DOP853", 1e-11), ends))
    settled = np.min(tight, axis=1) < 0.01  # the others are still on their way after so few periods
    right = np.argmin(tight, axis=1)[settled]
    wrong = [float(np.mean(labels[settled] != right)) for labels in (
        np.argmin(loose, axis=1), found.labels[some[:, 0], some[:, 1]]
    )]  # fmt: skip
    rows = [
        Row(f"solve_ivp, CPU {their_cpu:.0f} s ({LOOPED} starts)", theirs, 0.0, wrong[0], 1.0, 0.0, "solve_ivp"),
        Row(f"dynsim basins, CPU {cpu:.1f} s", ours, 0.0, wrong[1], theirs / ours, 30.0, "solve_ivp"),
    ]
    show(f"basins of the forced Duffing oscillator, {side} x {side}; wrong labels of {np.sum(settled)}", rows)
    return rows


def logistic(values: int, kept: int, rounds: int) -> list[Row]:
    """Race the orbit diagram of the logistic map; the error is that where the orbit is periodic."""
    rs = np.linspace(2.5, 4.0, values)

    def by_numpy() -> np.ndarray:
        x, found = np.full(values, 0.3), np.empty((kept, values))
        for _ in range(1000):
            x = rs * x * (1 - x)
        for k in range(kept):
            x = rs * x * (1 - x)
            found[k] = x
        return found.T

    def ours() -> np.ndarray:
        return orbit_diagram(
            Parameter(Logistic(), _rate, 0.0, 4.0), rs, jnp.asarray([0.3]), transient=1000, kept=kept
        ).values

    calm = rs < 3.5
    reference = by_numpy()
    contenders = [Contender("NumPy, all values at once", by_numpy), Contender("dynsim orbit_diagram", ours)]
    error = lambda found: float(np.max(np.abs(found[calm] - reference[calm])))
    return race(f"orbit diagram, {values} values, {kept} kept after 1000 steps", contenders, error, rounds=rounds)


def _rate(system: Any) -> Any:
    return system.r


def everything(rounds: int, *, quick: bool) -> dict[str, Any]:
    """Run both; aims: the grid of 400 x 400 within 20 s, the orbit diagram of 2,000 x 1,000 within 1 s."""
    rows = duffing(40 if quick else 400)
    diagram = logistic(*((100, 50) if quick else (2000, 1000)), rounds)
    return {"duffing": [row._asdict() for row in rows], "logistic": [row._asdict() for row in diagram]}
