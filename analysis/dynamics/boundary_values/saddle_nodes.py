"""Homoclinic orbits to saddle-nodes: along the curve of folds, and where curves of orbits to saddles end."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.boundary_values.projections import (
    LAST,
    NEWTON,
    SHARE,
    STEP,
    BothEnds,
    Connection,
    Projections,
    left_subspace,
)
from analysis.dynamics.collocation.solver import EndConditions
from dynsim.systems.parameter import Parameter


class SaddleNode(NamedTuple):
    """A saddle-node: the state, both parameters, and the direction across the curve of folds in their plane."""

    state: Float[np.ndarray, " n"]
    first: float
    second: float
    across: Float[np.ndarray, "2"]
    right: Float[np.ndarray, " n"] = np.zeros(0)  # the direction of the centre


class SaddleNodeConnection(Connection):
    """Homoclinic orbit to a saddle-node as a boundary value problem.

    The first state lies in the centre-unstable subspace, the last one in the centre-stable one, and the first parameter
    at the fold. The durations of both halves are given: the way along the centre takes no time that is known before.

    The orbit is central. With a side it leaves (0) or arrives (1) without a part along the centre instead; the second
    parameter is then an unknown, too, before the durations.

    Source: A. R. Champneys, Y. A. Kuznetsov and B. Sandstede, A numerical toolbox for homoclinic bifurcation analysis,
    Int. J. Bifurcation Chaos 6 (1996).
    """

    def __init__(
        self,
        parameters: tuple[Parameter, Parameter],
        place: SaddleNode,
        durations: np.ndarray,
        weight: float,
        side: int | None = None,
    ):
        first, second = parameters
        super().__init__(first, place.state, place.state, (1.0, 1.0), weight)
        self.durations, self.place, self.side, self.second = durations, place, side, second.take
        # in place of the fold: a state, a direction, and the distance along it at which a saddle lies
        self.beside: tuple[np.ndarray, np.ndarray, float] | None = None
        if side is not None:
            self.takes, self.unknowns = (first.take, second.take), (first.name, second.name, *self.unknowns[1:])

    def end_equations(self, take: Callable | None, size: int) -> "SaddleNodeProjections":
        """Build the boundary conditions."""
        return SaddleNodeProjections(self, self.second, size)


class SaddleNodeProjections(Projections):
    """Boundary conditions of a homoclinic orbit to a saddle-node."""

    problem: SaddleNodeConnection

    def at(self, first: np.ndarray, last: np.ndarray, parameter: float) -> tuple[EndConditions, np.ndarray]:
        """Evaluate the conditions; give their derivatives by the parameter, too."""
        n, size, nothing = self.n, len(first), np.full(len(first), np.nan)
        by_first, by_last = np.zeros((size, size)), np.zeros((size, size))
        place = self.saddle_node(float(first[2 * n + 1]), self._second(first, parameter))
        found = None if place is None else self._beside(place, first, last)
        if place is None or found is None:
            return EndConditions(nothing, by_first, by_last), nothing
        self.problem.rows, self.problem.place = found.rows, place
        k, m = len(found.rows[0]), sum(map(len, found.rows))
        by_first[:k, :n], by_first[k:m, n : 2 * n] = found.rows
        by_last[m : m + n, :n], by_last[m : m + n, n : 2 * n] = np.eye(n), -np.eye(n)
        by_first[m + n, 2 * n] = by_last[m + n + 1, 2 * n] = 1.0
        by_last[-2:, -2:] = np.diag(1 / last[-2:])
        values = self._values(first, last, parameter, np.zeros(2))
        by = []
        for j, at in enumerate((float(first[2 * n + 1]), self._second(first, parameter))):
            h = STEP * (1 + abs(at))
            ahead, behind = (self._values(first, last, parameter, np.eye(2)[j] * s * h) for s in (1.0, -1.0))
            by.append(nothing if ahead is None or behind is None else (ahead - behind) / (2 * h))
        by_first[:, 2 * n + 1] = by[0]
        if self.problem.side is not None:
            by_first[:, 2 * n + 2], by[1] = by[1], np.zeros(size)
        return EndConditions(nothing if values is None else values, by_first, by_last), by[1]

    def _second(self, first: np.ndarray, parameter: float) -> float:
        return parameter if self.problem.side is None else float(first[2 * self.n + 2])

    def _values(self, first: np.ndarray, last: np.ndarray, parameter: float, moved: np.ndarray) -> np.ndarray | None:
        """Compute the conditions at moved parameters; None without a saddle-node."""
        n, at = self.n, np.array([float(first[2 * self.n + 1]), self._second(first, parameter)]) + moved
        place = self.saddle_node(*at)
        found = None if place is None else self._beside(place, first, last)
        if place is None or found is None:
            return None
        gap = float(place.across @ (at - [place.first, place.second]))
        projected = [rows @ away for rows, away in zip(found.rows, found.away, strict=True)]
        with np.errstate(invalid="ignore"):  # of a negative duration in a step of Newton's method
            times = np.log(last[-2:] / self.problem.durations)
        return np.concatenate([*projected, last[:n] - last[n : 2 * n], [first[2 * n], last[2 * n], gap], times])

    def ends(self, first: np.ndarray, last: np.ndarray, parameter: float) -> BothEnds | None:
        """Find the saddle-node, and left vectors of its subspaces; None if they are not like before."""
        place = self.saddle_node(float(first[2 * self.n + 1]), self._second(first, parameter))
        return None if place is None else self._beside(place, first, last)

    def _beside(self, place: SaddleNode, first: np.ndarray, last: np.ndarray) -> BothEnds | None:
        J = self.linear(place.state, place.first, place.second)[1]
        rows = [left_subspace(self.without_centre(J, k), stable=k == 0) for k in (0, 1)]
        return self.at_ends(rows, first, last, [place.state] * 2, [J] * 2)

    def without_centre(self, J: np.ndarray, k: int) -> np.ndarray:
        """Shift eigenvalues so that the one at zero counts as unstable at the beginning, and as stable at the end.

        At the side on which the orbit has no part along the centre it is the other way round.
        """
        values = np.linalg.eigvals(J)
        away = np.delete(np.abs(values.real), int(np.argmin(np.abs(values))))
        shift = float(np.min(away, initial=np.inf)) / 2
        return J + shift * (1.0 if (k == 0) == (self.problem.side != k) else -1.0) * np.eye(len(J))

    def rests(self, first: np.ndarray, own: float, parameter: float) -> list[np.ndarray] | None:
        """Find the saddle-node, as both equilibria."""
        place = self.saddle_node(own, parameter)
        return None if place is None else [place.state, place.state]

    def drift(self, rest: np.ndarray, at: tuple[float, float], by: tuple[float, float]) -> np.ndarray:
        """Compute how fast the saddle-node moves with both parameters."""
        ahead, behind = (self.saddle_node(at[0] + s * by[0], at[1] + s * by[1]) for s in (SHARE, -SHARE))
        return 0 * rest if ahead is None or behind is None else (ahead.state - behind.state) / (2 * SHARE)

    def saddle_node(self, own: float, second: float) -> SaddleNode | None:
        """Find the saddle-node at the foot of the perpendicular from both parameters to the curve of folds.

        Newton's method solves for a vanishing field and a vanishing bordered determinant.
        """
        n, place = self.n, self.problem.place
        z = np.array([*place.state, own, second])
        along = np.array([-place.across[1], place.across[0]])
        u, _, vt = np.linalg.svd(self._full(np.array([*place.state, place.first, place.second])[None])[1][0, :, :n])
        left, right = u[:, -1], vt[-1]
        for _ in range(NEWTON):
            steps = STEP * (1 + np.abs(z))
            beside = np.concatenate([z[None], z + np.diag(steps), z - np.diag(steps)])
            f, J = self._full(beside)
            if not np.all(np.isfinite(J)):
                return None
            bordered = np.block([[J[0, :, :n], left[:, None]], [right[None], np.zeros((1, 1))]])
            try:
                ahead, back = (np.linalg.solve(M, np.eye(n + 1)[-1]) for M in (bordered, bordered.T))
            except np.linalg.LinAlgError:
                return None
            turned = (J[1 : n + 3, :, :n] - J[n + 3 :, :, :n]) / (2 * steps[:, None, None])
            slope = -(back[:n] @ turned @ ahead[:n])
            value = ahead[n]
            if self.problem.beside is not None:
                origin, way, far = self.problem.beside
                slope, value = np.append(way, [0.0, 0.0]), way @ (z[:n] - origin) - far
            matrix = np.vstack([J[0], slope, [*np.zeros(n), *along]])
            rest = [*f[0], value, along @ (z[n:] - [own, second])]
            step = np.linalg.lstsq(matrix, np.array(rest), rcond=None)[0]
            z = z - step
            if np.max(np.abs(step)) <= np.sqrt(LAST) * (1 + np.max(np.abs(z))):
                way = np.linalg.svd(matrix[:-1])[2][-1, n:]
                across = np.array([way[1], -way[0]]) / np.linalg.norm(way)
                across = -across if across @ place.across < 0 else across
                return SaddleNode(z[:n], float(z[n]), float(z[n + 1]), across, ahead[:n] / np.linalg.norm(ahead[:n]))
        return None

    def _full(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the field and its derivatives by the state and both parameters, at many of these."""
        f, J = self._field.at(np.zeros(()), z[:, :-1], z[:, -1])
        return f[:, : self.n], J[:, : self.n]

    def along_centre(self, first: np.ndarray, parameter: float) -> np.ndarray:
        """Compute the parts of both ends along the centre: of a central orbit they have opposite signs."""
        found = self.ends(first, first, parameter)
        if found is None:
            return np.full(2, np.nan)
        left = np.linalg.svd(found.linear[0])[0][:, -1]
        return np.array([left @ away for away in found.away])
