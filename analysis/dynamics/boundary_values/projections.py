"""Projection boundary conditions of connecting orbits, which begin and end in subspaces of their equilibria."""

from collections.abc import Callable
from typing import Any, NamedTuple

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
# Share of a step over which the field at an equilibrium is differentiated.
SHARE = 1e-3
# Least trace of a quadratic form, that of an empty one.
TINY = 1e-300
# Unit of the excess of the first half, relative to the whole: durations that balance both halves do not count as steps.
LIGHT = 1e-3
# Logarithm of the largest factor by which the distance of an end from its equilibrium changes with the rate there.
MOST = 3.0
# Most Newton steps for an equilibrium, and the last step relative to its size.
NEWTON, LAST = 20, 1e-13


class _Halves(WithUnknowns):
    r"""Flow along both halves of an orbit, from its ends to its middle, each over a unit of time.

    The state consists of the states of both halves, the last one backwards in time, of the excess of the integral of
    $|\dot x|^2$ over the first one, of unknown parameters, and of the durations of both halves. So all that is fast
    stays in place on a mesh when the times beside equilibria change.
    """

    weight: float

    def __init__(self, flow: Any, takes: tuple[Callable, ...], weight: float):
        """Store the flow, what takes each parameter from it, and a factor of the excess."""
        super().__init__(flow, takes)
        self.weight = weight

    def velocity(self, t: Any, x: Any) -> Any:
        """Compute the velocities of both halves, multiplied by their durations."""
        n = halves_of(x.shape[0], len(self.takes))
        flow = self.at(x[:-2])
        ahead, back = flow.vector_field(t, x[:n]), flow.vector_field(t, x[n : 2 * n])
        excess = self.weight * (x[-2] * ahead @ ahead - x[-1] * back @ back)
        return jnp.concatenate([x[-2] * ahead, -x[-1] * back, excess[None], jnp.zeros(len(self.takes) + 2)])


def halves_of(size: int, unknowns: int = 1) -> int:
    """Compute the number of components of a system from that of the state of both halves of an orbit."""
    return (size - 3 - unknowns) // 2


class Connection(BoundaryValueProblem):
    r"""Connecting orbit as a boundary value problem, for a parameter and the durations of both halves as unknowns.

    The first state lies in the unstable subspace of the first equilibrium, the last one in the stable subspace of the
    last one, both at given distances relative to those of the middle. The middle divides the integral of $|\dot x|^2$
    into halves.

    Source: W.-J. Beyn, The numerical computation of connecting orbits in dynamical systems, IMA J. Numer. Anal. 10
    (1990).
    """

    def __init__(
        self,
        parameter: Parameter,
        begin: np.ndarray,
        end: np.ndarray,
        distances: tuple[float, float],
        weight: float,
    ):
        self.flow, self.interval = parameter.system, (0.0, 1.0)
        self.unknowns = (parameter.name, "duration of the first half", "duration of the last half")
        self.takes, self.distances, self.weight = (parameter.take,), distances, weight
        self.equilibria: list[np.ndarray] | None = [begin, end]
        self.rows: list[np.ndarray] | None = None
        self.ways: dict[int, np.ndarray] = {}
        self.paces: list[tuple[float, float]] | None = None  # rates at the given distances, and durations of the halves
        self.durations: np.ndarray | None = None  # of both halves, in place of the distances

    def stay(self, k: int, J: np.ndarray) -> tuple[float, float]:
        """Compute the distance of an end from its equilibrium and the duration of the half, where the derivative is J.

        If the rate changes, the distance does, and the time does not, so that turns of a spiral stay where they are on
        a mesh; beyond a factor of the distance, the time changes.
        """
        distance = self.distances[k]
        if self.paces is None:
            return distance, np.nan
        rate, duration = self.paces[k]
        now, depth = mean_rate(J, stable=k == 1), -float(np.log(distance))
        change = MOST * float(np.tanh((now / rate - 1) * depth / MOST))
        return distance * float(np.exp(-change)), duration + (depth + change) / now - depth / rate

    def extended(self, flow: Any) -> WithUnknowns:
        """Build the flow of both halves, the parameter and the durations."""
        return _Halves(flow, self.takes, self.weight)

    def end_equations(self, take: Callable | None, size: int) -> "Projections":
        """Build the boundary conditions."""
        return Projections(self, take, size)


class BothEnds(NamedTuple):
    """Equilibria at both ends of an orbit, and what the conditions there are made of.

    `rows` are left vectors to which the displacements `away` of the first and last state are perpendicular, `linear`
    the derivatives of the field, and `far` the displacements of the middle.
    """

    rests: list[np.ndarray]
    rows: list[np.ndarray]
    linear: list[np.ndarray]
    away: list[np.ndarray]
    far: list[np.ndarray]


class Projections:
    """Values and derivatives of projection boundary conditions, of the meeting of both halves, and of their ends."""

    def __init__(self, problem: Connection, take: Callable | None, size: int):
        self.problem, self.n = problem, halves_of(size, len(problem.takes))
        moved = None if take is None else inside(take)
        self._field = CycleField(WithUnknowns(problem.flow, problem.takes[:1]), moved, np.zeros(self.n + 1))

    def at(self, first: np.ndarray, last: np.ndarray, parameter: float) -> tuple[EndConditions, np.ndarray]:
        """Evaluate the conditions; give their derivatives by the parameter, too."""
        n, size, own = self.n, len(first), float(first[2 * self.n + 1])
        by_first, by_last = np.zeros((size, size)), np.zeros((size, size))
        found = self._ends(first, last, own, parameter)
        if found is None:
            return EndConditions(np.full(size, np.nan), by_first, by_last), np.full(size, np.nan)
        self.problem.rows = found.rows
        count = len(found.rows[0])
        by_first[:count, :n], by_first[count:n, n : 2 * n] = found.rows
        by_last[n : 2 * n, :n], by_last[n : 2 * n, n : 2 * n] = np.eye(n), -np.eye(n)
        gaps, ways, far_ways, by_times = self._lengths(found, last[-2:])
        by_first[-2, :n], by_first[-1, n : 2 * n] = ways
        by_last[-2:, :n], by_last[-2:, -2:] = far_ways, np.diag(by_times)
        by_first[2 * n, 2 * n] = by_last[2 * n + 1, 2 * n] = 1.0
        projected = [rows @ away for rows, away in zip(found.rows, found.away, strict=True)]
        values = np.concatenate([*projected, last[:n] - last[n : 2 * n], [first[2 * n], last[2 * n]], gaps])
        by = [self._by(k, (own, parameter), found, (ways, far_ways)) for k in (0, 1)]
        if self.problem.durations is not None:
            values[-2:], by_last[-2:, -2:] = np.log(last[-2:] / self.problem.durations), np.diag(1 / last[-2:])
            by_first[-2:], by_last[-2:, :-2], by[0][-2:], by[1][-2:] = 0.0, 0.0, 0.0, 0.0
        by_first[:, 2 * n + 1] = by[0]
        return EndConditions(values, by_first, by_last), by[1]

    def rests(self, first: np.ndarray, own: float, parameter: float) -> list[np.ndarray] | None:
        """Find both equilibria, beside the first states of both halves or where they are known to be; None without."""
        found = []
        for k, near in enumerate((first[: self.n], first[self.n : 2 * self.n])):
            known = near if self.problem.equilibria is None else self.problem.equilibria[k]
            found.append(equilibrium_near(lambda x: self.linear(x, own, parameter), known))
        return None if any(rest is None for rest in found) else found

    def _ends(self, first: np.ndarray, last: np.ndarray, own: float, parameter: float) -> BothEnds | None:
        """Find both equilibria and left vectors of their subspaces; None if these are not like before."""
        rests = self.rests(first, own, parameter)
        if rests is None:
            return None
        linear = [self.linear(rest, own, parameter)[1] for rest in rests]
        return self.at_ends([left_subspace(J, stable=k == 0) for k, J in enumerate(linear)], first, last, rests, linear)

    def at_ends(self, rows: Any, first: np.ndarray, last: np.ndarray, rests: Any, linear: Any) -> BothEnds | None:
        """Collect what is known of both ends; None if left vectors are not as many as before."""
        n, known = self.n, rows if self.problem.rows is None else self.problem.rows
        if [len(mine) for mine in rows] != [len(one) for one in known] or sum(map(len, rows)) > n:
            return None
        rows = [nearest_basis(mine, one) for mine, one in zip(rows, known, strict=True)]
        away = [first[:n] - rests[0], first[n : 2 * n] - rests[1]]
        return BothEnds(rests, rows, linear, away, [last[:n] - rest for rest in rests])

    def _lengths(
        self, ends: BothEnds, times: np.ndarray
    ) -> tuple[list[float], list[np.ndarray], list[np.ndarray], list[float]]:
        """Compute how far both distances or times are from given ones; derivatives by ends, the middle and durations.

        In a subspace of one dimension the distance is a coordinate, which is linear. Otherwise it is the logarithm of a
        norm that is monotone in time, along curves the duration: the norm decays unevenly along spirals.
        """
        gaps, by_away, by_far, by_times = [], [], [], [0.0, 0.0]
        for k, (own, J, away, far) in enumerate(zip(ends.rows, ends.linear, ends.away, ends.far, strict=True)):
            (given, duration), size = self.problem.stay(k, J), float(np.linalg.norm(far))
            if len(own) == self.n - 1:
                way = np.linalg.svd(own)[2][-1]
                known = self.problem.ways.get(k, away)
                way = self.problem.ways[k] = -way if way @ known < 0 else way
                length = float(way @ away) / size
                gaps.append(length - given)
                by_away.append(way / size)
                by_far.append(-length / size**2 * far)
            elif self.problem.paces is not None:
                gaps.append(float(np.log(times[k] / duration)))
                by_times[k] = 1 / times[k]
                by_away.append(0 * away)
                by_far.append(0 * far)
            else:
                P = monotone_norm(J, stable=k == 1)
                length = float(lengths(away, P)) + TINY
                gaps.append(np.log(length / (size * given)))
                by_away.append(P @ away / length**2)
                by_far.append(-far / size**2)
        return gaps, by_away, by_far, by_times

    def _by(
        self, k: int, at: tuple[float, float], ends: BothEnds, ways: tuple[list[np.ndarray], list[np.ndarray]]
    ) -> np.ndarray:
        """Differentiate the conditions by one of both parameters.

        Equilibria move by the implicit function theorem, also beside a fold, where a difference would cross it.
        """
        h = STEP * (1 + abs(at[k]))
        moved = lambda x, share: self.linear(x, at[0] + share * h * (k == 0), at[1] + share * h * (k == 1))
        by_rows, by_gaps = [], []
        for j, (rest, own, away) in enumerate(zip(ends.rests, ends.rows, ends.away, strict=True)):
            stable = j == 0
            slope = (moved(rest, 1.0)[0] - moved(rest, -1.0)[0]) / 2
            move = -np.linalg.lstsq(moved(rest, 0.0)[1], slope, rcond=None)[0]
            share = 1 / max(1.0, float(np.max(np.abs(move) / (STEP * (1 + np.abs(rest))))))
            both = [moved(rest + s * share * move, s * share)[1] for s in (1.0, -1.0)]
            ahead, behind = (left_subspace(J, stable=stable) for J in both)
            turned, bent = np.zeros_like(own), 0.0
            if len(ahead) == len(behind) == len(own):
                turned = (nearest_basis(ahead, own) - nearest_basis(behind, own)) / (2 * share)
                given = np.array([self.problem.stay(j, J) for J in both])
                bent = float(given[1, 0] - given[0, 0])
                if len(own) < self.n - 1 and self.problem.paces is not None:
                    bent = float(np.log(given[1, 1] / given[0, 1]))
                elif len(own) < self.n - 1:
                    sizes = [lengths(away, monotone_norm(J, stable=not stable)) + TINY for J in both]
                    bent = float(np.log(sizes[0] / sizes[1]))
            by_rows.append((turned @ away - own @ move) / h)
            by_gaps.append((bent / (2 * share) - (ways[0][j] + ways[1][j]) @ move) / h)
        return np.concatenate([*by_rows, np.zeros(self.n + 2), by_gaps])

    def drift(self, rest: np.ndarray, at: tuple[float, float], by: tuple[float, float]) -> np.ndarray:
        """Compute how fast an equilibrium moves with both parameters."""
        moved = lambda share: self.linear(rest, at[0] + share * by[0], at[1] + share * by[1])
        slope = (moved(SHARE)[0] - moved(-SHARE)[0]) / (2 * SHARE)
        return -np.linalg.lstsq(moved(0.0)[1], slope, rcond=None)[0]

    def linear(self, x: np.ndarray, own: float, parameter: float) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the field of the flow, and its derivative by the state."""
        f, J = self._field.at(np.zeros(()), np.append(x, own), np.asarray(parameter))
        return f[: self.n], J[: self.n, : self.n]

    def equilibrium(self, near: np.ndarray, own: float) -> np.ndarray:
        """Find the equilibrium near a state at a value of the parameter that is solved for."""
        found = equilibrium_near(lambda x: self.linear(x, own, 0.0), near)
        return near if found is None else found


class Folded(NamedTuple):
    """A path, folded at its middle: both halves as a function of shares of their durations, and a mesh for both."""

    at: Callable[[np.ndarray], np.ndarray]
    durations: Float[np.ndarray, "2"]
    mesh: Float[np.ndarray, " edges"]
    middle: Float[np.ndarray, " n"]
    weight: float

    def rows(self, shares: Float[np.ndarray, " k"], *unknowns: float) -> Float[np.ndarray, "k width"]:
        """Evaluate both halves, and add the other components of the state of an orbit."""
        others = np.tile([0.0, *unknowns, *self.durations], (len(shares), 1))
        return np.column_stack([self.at(shares), others])


def folded(times: Float[np.ndarray, " times"], states: Float[np.ndarray, "times n"], count: int) -> Folded:
    """Fold a path at its middle, with a mesh of some intervals that follows the density of its states."""
    import scipy.interpolate

    moves = np.sum(np.diff(states, axis=0) ** 2, axis=1) / np.diff(times)
    total = np.cumsum(moves)
    middle = int(np.clip(np.searchsorted(total, total[-1] / 2) + 1, 1, len(times) - 2))
    halves = (times[: middle + 1], states[: middle + 1]), (times[-1] - times[middle:][::-1], states[middle:][::-1])
    durations = np.array([float(own[-1] - own[0]) for own, _ in halves])
    parts = [
        scipy.interpolate.PchipInterpolator((own - own[0]) / length, rows)
        for (own, rows), length in zip(halves, durations, strict=True)
    ]
    at = lambda shares: np.column_stack([part(shares) for part in parts])
    grid = np.unique(np.concatenate([part.x for part in parts]).clip(0.0, 1.0))
    rows = at(grid)
    lengths = [np.linalg.norm(np.diff(part, axis=0), axis=1) for part in np.split(rows, 2, axis=1)]
    density = np.append(0.0, np.cumsum(sum(one / np.sum(one) for one in lengths) + 2 * np.diff(grid)))
    mesh = np.interp(np.linspace(0.0, density[-1], count + 1), density, grid)
    mesh[0], mesh[-1] = 0.0, 1.0
    return Folded(at, durations, mesh, states[middle], LIGHT / float(total[-1]))


def unfolded(
    shares: Float[np.ndarray, " places"], rows: Float[np.ndarray, "places width"], n: int
) -> tuple[Float[np.ndarray, " times"], Float[np.ndarray, "times n"]]:
    """Unfold rows of both halves and their durations: times and states from the first equilibrium to the last one."""
    ahead, back = rows[0, -2:]
    times = np.append(ahead * shares, ahead + back * (1 - shares[-2::-1]))
    return times, np.vstack([rows[:, :n], rows[-2::-1, n : 2 * n]])


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
