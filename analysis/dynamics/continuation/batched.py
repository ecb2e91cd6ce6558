"""Follow many curves of equilibria or fixed points in step, by one batch of linear algebra for each Newton step."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.continuation.curve import CORRECTIONS, UNCERTAIN, name_of_multiplier
from analysis.dynamics.continuation.equilibrium_curve import LONGER, LONGEST
from analysis.dynamics.continuation.stepping import ANGLE, ASIDE, CLOSED, CONTRACTION, EASY, FAR, GROW, SHRINK, SURE
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.linearisation import NEAR_ZERO
from dynsim._core.printing import one_line

# Last Newton step of a correction, relative to the parameter and one, as on single curves.
LAST = 1e-9
# Most steps of the search for a zero of a test function, and the length of the bracket at its end, relative to a step.
SEARCHES, BRACKET = 60, 1e-12
# Largest value of a test function at its zero, relative to those at the ends of the step: a larger one is a jump.
JUMP = 1e-5
# Largest slope of the parameter at a pitchfork from which the branch turns back, relative to those beside it.
TURNED = 0.05
# A test function that is nearest to zero at a point, by less than this share of its change, may vanish twice nearby.
NEAR = 1.0


class MemberPoints(NamedTuple):
    """MemberPoints of several curves, one a row.

    Attributes:
        member: which curve a point belongs to.
        z: the states, followed by the parameter.
        tangent: unit tangents.
        values: eigenvalues, or multipliers of a map.
        det: determinants of the derivatives with the tangent, whose signs change at branch points.
    """

    member: Int[np.ndarray, " points"]
    z: Float[np.ndarray, "points m"]
    tangent: Float[np.ndarray, "points m"]
    values: Complex[np.ndarray, "points n"]
    det: Float[np.ndarray, " points"]

    __repr__ = one_line

    def rows(self, which: Any) -> "MemberPoints":
        """Select some of the points."""
        return MemberPoints(*(part[which] for part in self))


class MemberCrossings(NamedTuple):
    """Bifurcations on several curves: their members, kinds, states with the parameter, and frequencies."""

    member: Int[np.ndarray, " k"]
    kinds: tuple[str, ...]
    z: Float[np.ndarray, "k m"]
    frequencies: Float[np.ndarray, " k"]

    __repr__ = one_line


class CurveBatch:
    """Equations of many curves, which differ in the values of some other parameters, with what steps along them.

    Whatever is not resolved beyond doubt by the simple rules here is left to the continuation of single curves:
    `doubtful` tells which members are.
    """

    def __init__(self, field: CycleField, others: Float[np.ndarray, "members k"], within: Limits, *, is_map: bool):
        """Store the equations.

        Args:
            field: the velocity or the displacement by the map, as a function of the state and the other parameters, and
                of the parameter.
            others: the other parameters of each member.
            within: the bounds, the steps and the number of points.
            is_map: whether eigenvalues are multipliers.
        """
        self.field, self.others, self.within, self.is_map = field, others, within, is_map
        self.n = field.size - others.shape[1]
        self.doubtful = np.zeros(len(others), bool)

    def _equations(self, member: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the equations and their derivatives by the state and the parameter."""
        n = self.n
        f, J = self.field.at(np.zeros(()), np.column_stack([z[:, :n], self.others[member]]), z[:, n])
        return f[:, :n], np.concatenate([J[:, :n, :n], J[:, :n, -1:]], axis=2)

    def corrected(
        self, member: np.ndarray, z: Float[np.ndarray, "k m"], across: Float[np.ndarray, "k m"]
    ) -> tuple[Float[np.ndarray, "k m"], Bool[np.ndarray, " k"], Int[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Correct points to their curves by Newton's method, in planes across directions.

        Returns:
            The points; which of them converged; the numbers of Newton steps; the largest ratios of successive ones.
        """
        z, n, k = z.copy(), self.n, len(z)
        done, failed, counts = np.zeros(k, bool), np.zeros(k, bool), np.zeros(k, int)
        before, contraction = np.zeros(k), np.zeros(k)
        for _ in range(CORRECTIONS):
            live = np.flatnonzero(~done & ~failed)
            if not live.size:
                break
            f, J = self._equations(member[live], z[live])
            finite = np.all(np.isfinite(f), axis=1) & np.all(np.isfinite(J), axis=(1, 2))
            failed[live[~finite]] = True
            live, f, J = live[finite], f[finite], J[finite]
            sizes = _row_sizes(J)
            matrix = np.concatenate([J / sizes[..., None], across[live, None]], axis=1)
            change = _solve(matrix, np.concatenate([-f / sizes, np.zeros((len(live), 1))], axis=1))
            z[live] += change
            size, least = np.max(np.abs(change), axis=1, initial=0.0), LAST * (1 + np.abs(z[live, n]))
            ratio = np.where(before[live] > UNCERTAIN * least, size / np.maximum(before[live], 1e-300), 0.0)
            contraction[live], before[live] = np.maximum(contraction[live], ratio), size
            counts[live] += 1
            done[live] = size <= least
            failed[live] |= ~(size <= 1e3 * (1 + np.abs(z[live, n])))
        return z, done, counts, contraction

    def measured(
        self, member: np.ndarray, z: Float[np.ndarray, "k m"], along: Float[np.ndarray, "k m"]
    ) -> tuple[MemberPoints, Bool[np.ndarray, " k"]]:
        """Compute tangents, oriented along directions, eigenvalues and determinants; tell where they are finite."""
        f, J = self._equations(member, z)
        finite = np.all(np.isfinite(f), axis=1) & np.all(np.isfinite(J), axis=(1, 2))
        J = np.where(finite[:, None, None], J, 0.0)
        rows = J / _row_sizes(J)[..., None]
        right = np.zeros(z.shape)
        right[:, -1] = 1.0
        tangent = _solve(np.concatenate([rows, along[:, None]], axis=1), right)
        lengths = np.linalg.norm(tangent, axis=1, keepdims=True)
        finite &= np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)
        tangent = tangent / np.where(lengths > 0, lengths, 1.0)
        det = np.linalg.det(np.nan_to_num(np.concatenate([rows, tangent[:, None]], axis=1)))
        values = np.linalg.eigvals(J[:, :, : self.n]).astype(complex) + (1.0 if self.is_map else 0.0)
        return MemberPoints(member, z, tangent, values, det), finite

    def begun(self, starts: Float[np.ndarray, "members n"], value: float) -> MemberPoints:
        """Find the solutions near starts at a value of the parameter; those that are not found are doubtful."""
        member, n = np.arange(len(starts)), self.n
        fixed = np.zeros((len(starts), n + 1))
        fixed[:, n] = 1.0
        z, found, _, _ = self.corrected(member, np.column_stack([starts, np.full(len(starts), value)]), fixed)
        z[:, n] = value
        points, finite = self.measured(member, np.where(found[:, None], z, 0.0), fixed)
        self.doubtful |= ~(found & finite)
        return points

    def growth(self, values: np.ndarray) -> np.ndarray:
        """Compute real parts of eigenvalues, or moduli of multipliers minus one."""
        return np.abs(values) - 1 if self.is_map else np.real(values)

    def sorted_growth(self, points: MemberPoints) -> tuple[np.ndarray, np.ndarray]:
        """Sort the eigenvalues by falling growth; give the growth of each, and the order."""
        growth = self.growth(points.values)
        order = np.argsort(-growth, axis=1, kind="stable")
        return np.take_along_axis(growth, order, axis=1), order

    def neutral(self, points: MemberPoints) -> np.ndarray:
        """Compute the growth below which an eigenvalue counts as neutral."""
        return NEAR_ZERO * np.maximum(1.0, np.max(np.abs(points.values), axis=1, initial=0.0))

    def followed(self, first: MemberPoints, sense: float) -> tuple[MemberPoints, list[str]]:
        """Continue all curves from their first points, along their tangents or against them.

        Returns:
            The points after the first ones, in the order of each curve, and why each curve ends.
        """
        count, within = len(first.member), self.within
        here = MemberPoints(*(part.copy() for part in first))._replace(tangent=sense * first.tangent)
        parts, ends = [], np.array(["doubt"] * count, object)
        sizes, points = np.full(count, min(within.step, within.largest)), np.zeros(count, int)
        going = ~self.doubtful
        while np.any(going):
            k = np.flatnonzero(going)
            now, size = here.rows(k), sizes[k]
            found, fine, counts = self._stepped(now, size)
            small = ~fine & (SHRINK * size < SURE * within.step)
            sizes[k[~fine]] *= SHRINK
            self.doubtful[k[small]], going[k[small]] = True, False
            at, taken = k[fine], found.rows(fine)
            out = (taken.z[:, -1] < within.bounds[0]) | (taken.z[:, -1] > within.bounds[1])
            inside = taken.rows(~out)
            if np.any(out):
                last, whole = self._at_bounds(here.rows(at[out]), taken.rows(out))
                parts.append(last.rows(whole))
                ends[at[out]], going[at[out]] = "bounds", False
            parts.append(inside)
            own = at[~out]
            back = self._back(first.rows(own), here.rows(own), inside) & (points[own] > 2)
            self.doubtful[own[back]] = True
            points[own] += 1
            self._move(here, own, inside)
            easy = counts[fine][~out] <= EASY
            longest = self._largest(inside, first.rows(own))
            sizes[own[easy]] = np.minimum(GROW * sizes[own[easy]], longest[easy])
            full = points[own] >= within.points
            ends[own[full]] = "steps"
            going[own[full | back]] = False
        joined = (
            MemberPoints(*(np.concatenate(part) for part in zip(*parts, strict=True)))
            if parts
            else first.rows(slice(0, 0))
        )
        return joined.rows(np.argsort(joined.member, kind="stable")), ends.tolist()

    @staticmethod
    def _move(here: MemberPoints, own: np.ndarray, taken: MemberPoints) -> None:
        for part, new in zip(here[1:], taken[1:], strict=True):
            part[own] = new

    def _stepped(self, now: MemberPoints, size: np.ndarray) -> tuple[MemberPoints, np.ndarray, np.ndarray]:
        """Step along the tangents; give the points, which of them are beyond doubt, and numbers of Newton steps."""
        z, fine, counts, contraction = self.corrected(now.member, now.z + size[:, None] * now.tangent, now.tangent)
        found, finite = self.measured(now.member, np.where(fine[:, None], z, now.z), now.tangent)
        chord = found.z - now.z
        along = now.tangent + found.tangent
        along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
        away = np.linalg.norm(chord, axis=1)
        aside = np.linalg.norm(chord - np.sum(chord * along, axis=1, keepdims=True) * along, axis=1)
        straight = np.sum(now.tangent * found.tangent, axis=1) >= ANGLE
        fine &= finite & straight & (away <= FAR * size) & (aside <= ASIDE * away) & (contraction <= CONTRACTION)
        return found, fine, counts

    def _at_bounds(self, here: MemberPoints, found: MemberPoints) -> tuple[MemberPoints, np.ndarray]:
        """Find the points at the bounds of the parameter in steps that leave them; tell which are no first points."""
        low, high = self.within.bounds
        edge = np.where(found.z[:, -1] < low, low, high)
        change = found.z[:, -1] - here.z[:, -1]
        share = np.clip((edge - here.z[:, -1]) / np.where(change == 0, 1.0, change), 0.0, 1.0)[:, None]
        fixed = np.zeros(here.z.shape)
        fixed[:, -1] = 1.0
        guess = here.z + share * (found.z - here.z)
        guess[:, -1] = edge
        z, fine, _, _ = self.corrected(here.member, guess, fixed)
        z[:, -1] = edge
        last, finite = self.measured(here.member, np.where(fine[:, None], z, here.z), here.tangent)
        near = np.linalg.norm(z - guess, axis=1) <= np.linalg.norm(found.z - here.z, axis=1)
        inside = share[:, 0] > 0
        self.doubtful[here.member[inside & ~(fine & finite & near)]] = True
        return last, inside

    def _back(self, first: MemberPoints, here: MemberPoints, found: MemberPoints) -> np.ndarray:
        """Tell which steps may lead to the first point of their curve again."""
        room = CLOSED * np.linalg.norm(found.z - here.z, axis=1)
        ends = np.maximum(*(np.linalg.norm(one.z - first.z, axis=1) for one in (here, found)))
        return ends <= room

    def _largest(self, points: MemberPoints, first: MemberPoints) -> np.ndarray:
        """Choose the largest steps, as on single curves: see `EquilibriumCurve.largest_step`."""
        most = self.within.largest
        away = LONGER * np.abs(points.z - first.z) * self.within.free
        away[:, -1] = 0.0
        return 1 / np.linalg.norm(points.tangent / np.clip(away, most, LONGEST * most), axis=1)

    def crossings(self, points: MemberPoints) -> MemberCrossings:
        """Locate the bifurcations between successive points of each curve; what is unclear is doubtful."""
        growth, _ = self.sorted_growth(points)
        neutral = self.neutral(points)
        self.doubtful[points.member[np.any(np.abs(growth) <= neutral[:, None], axis=1)]] = True
        growing = np.sum(growth > 0, axis=1)
        same = points.member[1:] == points.member[:-1]
        folds = same & (points.tangent[1:, -1] * points.tangent[:-1, -1] < 0)
        meets = same & (points.det[1:] * points.det[:-1] < 0)
        change = np.where(same, np.diff(growing), 0)
        real = folds | meets
        leaves = folds & meets & (change == 0)  # a pitchfork, from which the branch turns back
        unclear = (real & ~leaves & ((np.abs(change) != 1) | (folds & meets))) | (np.abs(change) > 2)
        if not self.is_map:
            unclear |= ~real & (np.abs(change) == 1)
        unclear |= self._may_hide(points, growth, same & ~leaves)
        self.doubtful[points.member[:-1][unclear]] = True
        known = ~self.doubtful[points.member[:-1]]
        at = np.flatnonzero(known & (real | (change != 0)))
        kinds = np.where(meets[at], "branch point", np.where(folds[at], "fold", "crossing"))
        found = self._located(points, at, kinds, np.minimum(growing[at], growing[at + 1]))
        slopes = _slopes(points.rows(at), points.rows(at + 1), found.z)
        turns = np.maximum(np.abs(points.tangent[at, -1]), np.abs(points.tangent[at + 1, -1]))
        self.doubtful[found.member[leaves[at] & ~(np.abs(slopes) <= TURNED * turns)]] = True
        self.doubtful[found.member[~self._explained(found, growing[at], growing[at + 1])]] = True
        return self._named(found, kinds, np.minimum(growing[at], growing[at + 1]))

    def _explained(self, found: MemberPoints, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Tell at which bifurcations the eigenvalues that vanish are all those that cross zero in their steps.

        In a step with a fold and a Hopf point, others grow at the fold than at both ends of the step.
        """
        growth = self.growth(found.values)
        ranks = np.argsort(np.argsort(np.abs(growth), axis=1, kind="stable"), axis=1)
        vanish = np.maximum(np.abs(after - before), 1)
        critical = np.take_along_axis(found.values, np.argmin(ranks, axis=1)[:, None], axis=1)[:, 0]
        others = np.sum((growth > 0) & (ranks >= vanish[:, None]), axis=1)
        alike = np.where(before == after, np.abs(others - before + 0.5) <= 0.5, others == np.minimum(before, after))
        return alike & (vanish == np.where(np.imag(critical) == 0, 1, 2))

    def _may_hide(self, points: MemberPoints, growth: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Tell in which steps a test function may vanish twice: it is near zero at one end, and turns round there."""
        tests = np.column_stack([growth, points.tangent[:, -1], points.det])
        found = np.zeros(len(same), bool)
        if len(tests) < 3:
            return found
        before, middle, after = tests[:-2], tests[1:-1], tests[2:]
        one = (same[:-1] & same[1:])[:, None] & (before * middle > 0) & (middle * after > 0)
        sizes = np.abs(before), np.abs(middle), np.abs(after)
        turns = one & (sizes[1] < sizes[0]) & (sizes[1] < sizes[2])
        steep = sizes[1] < NEAR * np.maximum(sizes[0] - sizes[1], sizes[2] - sizes[1])
        hidden = np.any(turns & steep, axis=1)
        found[:-1] |= hidden
        found[1:] |= hidden
        return found

    def _located(self, points: MemberPoints, at: np.ndarray, kinds: np.ndarray, which: np.ndarray) -> MemberPoints:
        """Find the zeros of test functions in steps, by the method of false position with the Illinois rule.

        Args:
            points: the points.
            at: the beginnings of the steps.
            kinds: `fold`, `branch point`, or `crossing` for other eigenvalues.
            which: the index of the eigenvalue that crosses, by falling growth.
        """
        here, there = points.rows(at), points.rows(at + 1)
        chord = there.z - here.z
        lengths = np.linalg.norm(chord, axis=1, keepdims=True)
        chord = chord / lengths

        def test(found: MemberPoints, k: Any) -> np.ndarray:
            growth = np.take_along_axis(self.sorted_growth(found)[0], which[k, None], axis=1)[:, 0]
            return np.where(
                kinds[k] == "fold", found.tangent[:, -1], np.where(kinds[k] == "crossing", growth, found.det)
            )

        every = np.arange(len(at))
        low, high = np.zeros(len(at)), np.ones(len(at))
        values, last = [test(one, every) for one in (here, there)], np.zeros(len(at), int)
        most = np.maximum(np.abs(values[0]), np.abs(values[1]))
        result, least = here._replace(z=here.z.copy()), np.full(len(at), np.inf)
        result = MemberPoints(*(part.copy() for part in result))
        for _ in range(SEARCHES):
            k = np.flatnonzero((high - low > BRACKET) & (least > 0) & ~self.doubtful[here.member])
            if not k.size:
                break
            spread = values[1][k] - values[0][k]
            share = np.clip((low[k] * values[1][k] - high[k] * values[0][k]) / np.where(spread == 0, 1.0, spread), 0, 1)
            inside = (share > low[k]) & (share < high[k])
            share = np.where(inside, share, (low[k] + high[k]) / 2)
            guess = _cubic(here.rows(k), there.rows(k), lengths[k], share[:, None])
            z, fine, _, _ = self.corrected(here.member[k], guess, chord[k])
            found, finite = self.measured(here.member[k], np.where(fine[:, None], z, guess), chord[k])
            fine &= finite & (np.linalg.norm(z - guess, axis=1) <= lengths[k, 0])
            value = test(found, k)
            self.doubtful[here.member[k[~fine]]] = True
            better = np.abs(value) < least[k]
            self._move(result, k[better], found.rows(better))
            least[k] = np.minimum(least[k], np.abs(value))
            left = np.sign(value) == np.sign(values[0][k])
            close = np.abs(value) <= np.finfo(float).eps * most[k]
            low[k], high[k] = np.where(left, share, low[k]), np.where(left, high[k], share)
            values[0][k] = np.where(left, value, values[0][k] * np.where(~left & (last[k] == -1), 0.5, 1.0))
            values[1][k] = np.where(left, values[1][k] * np.where(last[k] == 1, 0.5, 1.0), value)
            last[k] = np.where(left, 1, -1)
            least[k[close]] = 0.0
        self.doubtful[here.member[least > JUMP * most]] = True
        return result

    def _named(self, at: MemberPoints, kinds: np.ndarray, which: np.ndarray) -> MemberCrossings:
        """Name the bifurcations at which other eigenvalues cross, by the critical one."""
        names, frequencies = kinds.astype(object), np.zeros(len(kinds))
        for k in np.flatnonzero(kinds == "crossing"):
            order = np.argsort(-self.growth(at.values[k]), kind="stable")
            critical = complex(at.values[k, order[which[k]]])
            if self.is_map:
                names[k] = name_of_multiplier(critical)
                frequencies[k] = abs(np.angle(critical)) if critical.imag else 0.0
            else:
                names[k], frequencies[k] = ("Hopf point" if critical.imag else ""), abs(critical.imag)
            if not names[k]:  # real eigenvalues without a fold or a branch point
                self.doubtful[at.member[k]] = True
        known = ~self.doubtful[at.member]
        return MemberCrossings(at.member[known], tuple(names[known]), at.z[known], frequencies[known])


def _row_sizes(J: Float[np.ndarray, "k n m"]) -> Float[np.ndarray, "k n"]:
    """Compute the largest derivative in each row, or one where all vanish."""
    found = np.max(np.abs(J), axis=2, initial=0.0)
    return np.where(found > 0, found, 1.0)


def _solve(matrices: Float[np.ndarray, "k m m"], right: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "k m"]:
    """Solve many linear equations; of those that are singular, the shortest least-squares solution."""
    try:
        return np.linalg.solve(matrices, right[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return (np.linalg.pinv(matrices) @ right[..., None])[..., 0]


def _cubic(here: MemberPoints, there: MemberPoints, lengths: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Evaluate the cubic polynomials through points with their tangents at shares of the steps."""
    a, b = share**2 * (3 - 2 * share), share * (1 - share)
    moves = lengths * (b * (1 - share) * here.tangent - b * share * there.tangent)
    return here.z + a * (there.z - here.z) + moves


def _slopes(here: MemberPoints, there: MemberPoints, z: np.ndarray) -> np.ndarray:
    """Compute the slopes of the parameter along the cubic polynomials through points, at places between them."""
    lengths = np.linalg.norm(there.z - here.z, axis=1)
    share = np.linalg.norm(z - here.z, axis=1) / lengths
    first, last = here.tangent[:, -1], there.tangent[:, -1]
    chord = (there.z[:, -1] - here.z[:, -1]) / lengths
    return 6 * share * (1 - share) * chord + (1 - share) * (1 - 3 * share) * first + share * (3 * share - 2) * last


def in_order(first: MemberPoints, backward: MemberPoints, forward: MemberPoints) -> MemberPoints:
    """Join the points of curves in both senses, so that each curve is in order."""
    turned = backward._replace(tangent=-backward.tangent, det=-backward.det).rows(slice(None, None, -1))
    joined = MemberPoints(*(np.concatenate(part) for part in zip(turned, first, forward, strict=True)))
    return joined.rows(np.argsort(joined.member, kind="stable"))
