"""Projection boundary conditions of connecting orbits, which begin and end in subspaces of their equilibria."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.boundary_values.problem import BoundaryValueProblem
from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.collocation.solver import EndConditions
from analysis.dynamics.continuation.parameter_flow import WithUnknowns, inside
from dynsim.systems.parameter import Parameter

# Relative step of the differences by which boundary conditions are differentiated by parameters.
STEP = 1e-6
# Least trace of a quadratic form, that of an empty one.
TINY = 1e-300
# Logarithm of the largest factor by which the distance of an end from its equilibrium changes with the rate there.
MOST = 3.0
# Most Newton steps for an equilibrium, and the last step relative to its size.
NEWTON, LAST = 20, 1e-13


class _Timed(WithUnknowns):
    """Flow over a unit of time with one of its parameters and, last, the duration as components of the state."""

    def __init__(self, flow: Any, takes: tuple[Callable, ...]):
        super().__init__(flow, takes)

    def velocity(self, t: Any, x: Any) -> Any:
        """Compute the velocity, multiplied by the duration."""
        return jnp.concatenate([x[-1] * self.at(x[:-1]).vector_field(t, x[:-2]), jnp.zeros(2)])


class Connection(BoundaryValueProblem):
    """Connecting orbit as a boundary value problem, for a parameter and the duration as unknowns.

    The first state lies in the unstable subspace of the first equilibrium, the last one in the stable subspace of the
    last one, both at given distances.

    Source: W.-J. Beyn, The numerical computation of connecting orbits in dynamical systems, IMA J. Numer. Anal. 10
    (1990).
    """

    def __init__(self, parameter: Parameter, begin: np.ndarray, end: np.ndarray, distances: tuple[float, float]):
        self.flow, self.interval, self.unknowns = parameter.system, (0.0, 1.0), (parameter.name, "duration")
        self.takes, self.distances = (parameter.take,), distances
        self.equilibria: list[np.ndarray] | None = [begin, end]
        self.rows: list[np.ndarray] | None = None
        self.ways: dict[int, np.ndarray] = {}
        self.duration: float | None = None  # in place of the distance from the last equilibrium
        self.paces: tuple[tuple[float, float], ...] = ((1.0, 0.0), (1.0, 0.0))
        self.timed: int | None = None  # the end whose distance is left free, and the duration given in its place

    def stay(self, k: int, J: np.ndarray) -> tuple[float, float]:
        """Compute the distance of an end from its equilibrium, and the time near it, where the derivative is J.

        Given are a rate and a time at each end. If the rate changes, the distance does, and the time does not, so that
        the orbit stays where it is on a mesh; beyond a factor of the distance, the time changes.
        """
        rate, time = self.paces[k]
        if not time:
            return self.distances[k], 0.0
        now = mean_rate(J, stable=k == 1)
        change = MOST * float(np.tanh((now - rate) * time / MOST))
        return self.distances[k] * float(np.exp(-change)), (rate * time + change) / now

    def total(self, linear: list[np.ndarray]) -> float:
        """Compute the duration from the times near both equilibria."""
        passing = self.duration or 0.0
        return passing + sum(self.stay(k, J)[1] - self.paces[k][1] for k, J in enumerate(linear))

    def extended(self, flow: Any) -> WithUnknowns:
        """Build the flow whose state has the parameter and the duration as further components."""
        return _Timed(flow, self.takes)

    def end_equations(self, take: Callable | None, size: int) -> "_Projections":
        """Build the boundary conditions."""
        return _Projections(self, take, size)


class _Projections:
    """Values and derivatives of projection boundary conditions."""

    def __init__(self, problem: Connection, take: Callable | None, size: int):
        self.problem, self.n = problem, size - 2
        moved = None if take is None else inside(take)
        self._field = CycleField(WithUnknowns(problem.flow, problem.takes), moved, np.zeros(size - 1))

    def at(self, first: np.ndarray, last: np.ndarray, parameter: float) -> tuple[EndConditions, np.ndarray]:
        """Evaluate the conditions; give their derivatives by the parameter, too."""
        n, own = self.n, float(first[self.n])
        by_first, by_last = np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
        ends = self._ends(first, last, own, parameter)
        if ends is None:
            return EndConditions(np.full(n + 2, np.nan), by_first, by_last), np.full(n + 2, np.nan)
        rests, rows, linear = ends
        self.problem.rows = rows
        count, away = len(rows[0]), [state[:n] - rest for state, rest in zip((first, last), rests, strict=True)]
        by_first[:count, :n], by_last[count:n, :n] = rows
        ways, gaps = self._lengths(rows, linear, away)
        by_first[-2, :n], by_last[-1, :n] = ways
        values = np.concatenate([rows[0] @ away[0], rows[1] @ away[1], gaps])
        found = [self._by(k, (own, parameter), rests, rows, away, ways) for k in (0, 1)]
        (by_own, _), (by_parameter, _) = found
        if self.problem.duration is not None:
            row = -2 if self.problem.timed == 0 else -1
            duration = self.problem.total(linear)
            values[row], by_first[row], by_last[row] = last[-1] / duration - 1, 0.0, 0.0
            by_last[row, -1] = 1 / duration
            for by, longer in found:
                by[row] = -longer * last[-1] / duration**2
        by_first[:, n] = by_own
        return EndConditions(values, by_first, by_last), by_parameter

    def _ends(
        self, first: np.ndarray, last: np.ndarray, own: float, parameter: float
    ) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]] | None:
        """Find both equilibria, left vectors of their subspaces and derivatives; None if these are not like before."""
        n, problem, rests, rows, linear = self.n, self.problem, [], [], []
        for k, state in enumerate((first, last)):
            near = state[:n] if problem.equilibria is None else problem.equilibria[k]
            rest = equilibrium_near(lambda x: self.linear(x, own, parameter), near)
            if rest is None:
                return None
            J = self.linear(rest, own, parameter)[1]
            rests.append(rest)
            rows.append(left_subspace(J, stable=k == 0))
            linear.append(J)
        known = rows if problem.rows is None else problem.rows
        if [len(mine) for mine in rows] != [len(one) for one in known]:
            return None
        return rests, [nearest_basis(mine, one) for mine, one in zip(rows, known, strict=True)], linear

    def _lengths(
        self, rows: list[np.ndarray], linear: list[np.ndarray], away: list[np.ndarray]
    ) -> tuple[list[np.ndarray], list[float]]:
        """Compute how far the distances of both ends are from the given ones, and the derivatives by the states.

        In a subspace of one dimension the distance is a coordinate, which is linear. Otherwise it is the logarithm of a
        norm that is monotone in time.
        """
        derivatives, gaps = [], []
        for k, (own, J, apart) in enumerate(zip(rows, linear, away, strict=True)):
            given = self.problem.stay(k, J)[0]
            if len(own) == self.n - 1:
                way = np.linalg.svd(own)[2][-1]
                known = self.problem.ways.get(k, apart)
                way = self.problem.ways[k] = -way if way @ known < 0 else way
                derivatives.append(way)
                gaps.append(float(way @ apart) - given)
            else:
                P = monotone_norm(J, stable=k == 1)
                length = float(lengths(apart, P))
                derivatives.append(P @ apart / length**2)
                gaps.append(np.log(length / given))
        return derivatives, gaps

    def _by(
        self,
        k: int,
        at: tuple[float, float],
        rests: list[np.ndarray],
        rows: list[np.ndarray],
        away: list[np.ndarray],
        ways: list[np.ndarray],
    ) -> tuple[np.ndarray, float]:
        """Differentiate the conditions by one of both parameters, and the duration that they may give.

        Equilibria move by the implicit function theorem, also beside a fold, where a difference would cross it.
        """
        h = STEP * (1 + abs(at[k]))
        moved = lambda x, share: self.linear(x, at[0] + share * h * (k == 0), at[1] + share * h * (k == 1))
        by_rows, by_gaps, longer = [], [], 0.0
        for rest, own, apart, way, stable in zip(rests, rows, away, ways, (True, False), strict=True):
            slope = (moved(rest, 1.0)[0] - moved(rest, -1.0)[0]) / 2
            move = -np.linalg.lstsq(moved(rest, 0.0)[1], slope, rcond=None)[0]
            share = 1 / max(1.0, float(np.max(np.abs(move) / (STEP * (1 + np.abs(rest))))))
            both = [moved(rest + s * share * move, s * share)[1] for s in (1.0, -1.0)]
            ahead, behind = (left_subspace(J, stable=stable) for J in both)
            turned, bent = np.zeros_like(own), 0.0
            if len(ahead) == len(behind) == len(own):
                turned = (nearest_basis(ahead, own) - nearest_basis(behind, own)) / (2 * share)
                stays = [self.problem.stay(int(not stable), J) for J in both]
                given = [one[0] for one in stays]
                longer += (stays[0][1] - stays[1][1]) / (2 * share * h)
                bent = given[1] - given[0]
                if len(own) < self.n - 1:
                    sizes = [lengths(apart, monotone_norm(J, stable=not stable)) for J in both]
                    bent = float(np.log(sizes[0] / sizes[1] * given[1] / given[0]))
            by_rows.append((turned @ apart - own @ move) / h)
            by_gaps.append((bent / (2 * share) - way @ move) / h)
        return np.concatenate([*by_rows, by_gaps]), longer

    def linear(self, x: np.ndarray, own: float, parameter: float) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the field of the flow, and its derivative by the state."""
        f, J = self._field.at(np.zeros(()), np.append(x, own), np.asarray(parameter))
        return f[: self.n], J[: self.n, : self.n]

    def equilibrium(self, near: np.ndarray, own: float) -> np.ndarray:
        """Find the equilibrium near a state at a value of the parameter that is solved for."""
        found = equilibrium_near(lambda x: self.linear(x, own, 0.0), near)
        return near if found is None else found


def equilibrium_near(
    linear: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], start: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"] | None:
    """Find an equilibrium by Newton's method from a state; None if it fails."""
    x = np.array(start, float)
    for _ in range(NEWTON):
        f, J = linear(x)
        if not (np.all(np.isfinite(f)) and np.all(np.isfinite(J))):
            return None
        step = np.linalg.lstsq(J, f, rcond=None)[0]
        if np.linalg.norm(f - J @ step) > np.sqrt(LAST) * np.linalg.norm(J) * (1 + np.max(np.abs(x))):
            return None  # no step along which the Jacobian acts leads to zero
        x = x - step
        if np.max(np.abs(step)) <= LAST * (1 + np.max(np.abs(x))):
            return x
    return x if np.max(np.abs(step)) <= np.sqrt(LAST) * (1 + np.max(np.abs(x))) else None


def left_subspace(J: Float[np.ndarray, "n n"], *, stable: bool) -> Float[np.ndarray, "k n"]:
    """Compute orthonormal left vectors that span the invariant subspace of the stable or the unstable eigenvalues."""
    import scipy.linalg

    found: Any = scipy.linalg.schur(J.T, sort="lhp" if stable else "rhp")
    return found[1][:, : found[2]].T


def monotone_norm(J: Float[np.ndarray, "n n"], *, stable: bool) -> Float[np.ndarray, "n n"]:
    r"""Compute P such that $x^T P x$ decreases along $\dot x = J x$ in the stable subspace, or grows in the unstable.

    The Euclidean distance of a spiral from its centre oscillates, so that it may be the same at several times. P is one
    on average over the subspace, and zero across it: what Newton's method removes there must not count as a length.
    """
    basis, inside = _decay(J, stable=stable)
    return basis.T @ (len(basis) / max(float(np.trace(inside)), TINY) * inside) @ basis


def mean_rate(J: Float[np.ndarray, "n n"], *, stable: bool) -> float:
    """Compute the rate of decay or growth within a subspace, that of its eigenvalue if it has one, else near the least.

    Unlike the least rate it is smooth where two real ones become a pair.
    """
    basis, inside = _decay(J, stable=stable)
    return len(basis) / max(2 * float(np.trace(inside)), TINY)


def _decay(J: np.ndarray, *, stable: bool) -> tuple[np.ndarray, np.ndarray]:
    """Integrate the squares of solutions that decay over all times, as a quadratic form; with the basis."""
    import scipy.linalg

    basis = left_subspace(J.T, stable=stable)
    own = basis @ J @ basis.T
    inside = np.zeros_like(own)
    if len(own):
        inside = scipy.linalg.solve_continuous_lyapunov(own.T, (-1.0 if stable else 1.0) * np.eye(len(own)))
    return basis, inside


def lengths(away: Float[np.ndarray, "*k n"], P: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "*k"]:
    """Compute the lengths of vectors in a norm of `monotone_norm`."""
    return np.asarray(np.sqrt(np.sum((away @ P) * away, axis=-1)))


def nearest_basis(rows: Float[np.ndarray, "k n"], known: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "k n"]:
    """Choose the orthonormal basis of the span of orthonormal rows that is nearest to another one."""
    left, _, right = np.linalg.svd(known @ rows.T)
    return left @ right @ rows
