"""States within the steps of a SciPy solver: its dense output, or steps that end at the wanted times."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class StepOutput:
    """The states within a solver's last step, which began at `y`, before it takes the next one.

    `start(t, y, end)` makes another such solver.
    """

    def __init__(self, start: functools.partial, solver: Any, y: np.ndarray):
        self.start, self.y, self.ends = start, y, (solver.t_old, solver.t)
        self.solver, self.last = solver, solver.y

    @functools.cached_property
    def dense(self) -> Callable[[np.ndarray], np.ndarray]:
        """The dense output, a polynomial."""
        return self.solver.dense_output()

    @functools.cached_property
    def solves(self) -> bool:
        """Whether the dense output solves the equation well enough."""
        (begin, end), tolerances = self.ends, self.start.keywords
        states = self.dense(begin + NODES * (end - begin))
        t, y = begin + PLACE * (end - begin), states @ AT_PLACE
        missed = np.abs(states @ SLOPE_AT_PLACE - (end - begin) * self.solver.fun(t, y))
        return bool(np.all(missed <= MISS * (tolerances["atol"] + tolerances["rtol"] * np.abs(y))))

    def settled(self) -> "StepOutput":
        """Return this output, computed before the solver takes its next step."""
        _ = self.solves  # and with it the dense output
        return self

    def rough(self, ts: np.ndarray) -> np.ndarray:
        """Return the states of the dense output, and the solver's own at the end, the last of the times."""
        return np.vstack([self.dense(ts[:-1]).T, self.last])

    def __call__(self, ts: np.ndarray) -> np.ndarray:
        """Return the states at increasing times within the step, one in each row."""
        if np.all(ts == self.ends[1]):
            return np.tile(self.last, (len(ts), 1))
        if self.solves:
            return self.dense(ts).T
        found, (t, _), y = [], self.ends, self.y
        for end in ts.tolist():
            if end > t:
                solver = self.start(t, y, end)
                while solver.status == "running":
                    solver.step()
                if solver.status == "failed":  # on a way that the step before has been
                    return self.dense(ts).T
                t, y = end, solver.y
            found.append(y)
        return np.stack(found)


class PathOutput:
    """The states at any time of an integration, from the outputs of its steps in their order."""

    def __init__(self, t0: float, y0: np.ndarray, steps: Sequence[StepOutput]):
        self.t0, self.y0, self.steps = t0, y0, steps
        self.ends = np.array([step.ends[1] for step in steps])

    def __call__(self, ts: np.ndarray) -> np.ndarray:
        """Return the states at times in any order, one in each row; NaN after the last step."""
        found = np.full((len(ts), self.y0.size), np.nan)
        places = np.where(ts > self.t0, np.searchsorted(self.ends, ts), -1)
        found[places < 0] = self.y0
        for k in np.unique(places[(places >= 0) & (places < len(self.steps))]):
            times, back = np.unique(ts[places == k], return_inverse=True)
            found[places == k] = self.steps[k](times)[back]
        return found


def _weights(place: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of values at `NODES` in the value, and in the slope, of their polynomial at a place."""
    powers = np.vander(2 * NODES - 1, increasing=True)
    x, k = 2 * place - 1, np.arange(len(NODES))
    slopes = np.concatenate([[0.0], 2 * k[1:] * x ** (k[1:] - 1)])
    return np.linalg.solve(powers.T, x**k), np.linalg.solve(powers.T, slopes)


NODES = (1 - np.cos(np.pi * np.arange(9) / 8)) / 2  # of a step: as many as fix every method's polynomial
PLACE = 0.3  # of a step, where a dense output is looked at: no node, and no symmetric place
AT_PLACE, SLOPE_AT_PLACE = _weights(PLACE)
MISS = 300.0  # tolerances by which a dense output may miss the equation over a step; its error is some tenth of that
