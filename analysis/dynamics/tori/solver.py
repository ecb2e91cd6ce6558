"""Newton's method for invariant circles: the invariance equation at equal shares of the angle, and phase conditions."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.tori.circles import (
    Curve,
    derivative,
    evaluated_at,
    needed,
    resampled,
    shift_matrices,
    shifted,
)
from analysis.dynamics.tori.section_map import SectionImages, SectionMap
from dynsim._core.printing import one_line

# Most Newton steps of a correction.
CORRECTIONS = 12
# Last Newton step, relative to the extent of the circle; the next one would leave errors of the solver.
LAST = 1e-7
# Largest Newton step, relative to the extent of the circle: larger ones lead to other solutions.
FAR = 3.0
# Factor by which the number of values grows where a circle is not resolved.
MORE = 2
# Fewest values on a circle, and most numbers, values times components: a step solves dense equations for all of them.
FEWEST, MOST = 15, 900
# Share of the tolerance that Fourier coefficients exceed that are kept.
KEPT = 1e-2
# Number of iterates after which the invariant directions of a circle are found, and over which growth is averaged.
SETTLED, AVERAGED = 64, 32


class SectionCircle(NamedTuple):
    """An invariant circle in the units of its map: states at equal shares of its angle, the shift by the map, in turns,
    the time of the map of a flow, and the parameter.

    Differences of circles are circles.
    """

    nodes: Curve
    rotation: float
    period: float
    parameter: float

    @property
    def extent(self) -> float:
        """The largest range of a component."""
        return float(np.max(np.ptp(self.nodes, axis=0)))

    def moved(self, by: "SectionCircle", share: float = 1.0) -> "SectionCircle":
        """Add a multiple of a difference, with as many values as this circle has."""
        nodes = self.nodes + share * resampled(by.nodes, len(self.nodes))
        return SectionCircle(
            nodes, self.rotation + share * by.rotation, self.period + share * by.period,
            self.parameter + share * by.parameter,
        )  # fmt: skip

    def minus(self, other: "SectionCircle") -> "SectionCircle":
        """Subtract a circle."""
        return self.moved(other, -1.0)

    @property
    def length(self) -> float:
        """The length of a difference: the root mean square over the angle, with the parameter."""
        return float(np.sqrt(np.mean(np.sum(self.nodes**2, axis=1)) + self.parameter**2))


class CircleCondition(NamedTuple):
    """The equation beside invariance: the product with a difference vanishes at a circle, or the parameter is given."""

    along: SectionCircle | None
    at: SectionCircle


class CorrectedCircle(NamedTuple):
    """A corrected circle, whether it was found, the steps of Newton's method, its error, infinite if that failed."""

    circle: SectionCircle
    converged: bool
    steps: int
    error: float

    __repr__ = one_line


def corrected(
    section: SectionMap, guess: SectionCircle, reference: SectionCircle, condition: CircleCondition, tolerance: float
) -> CorrectedCircle:
    """Find an invariant circle near a guess, with as many values as its error needs.

    The unknowns are the states, the rotation number, the time of an autonomous flow, and the parameter. Phase
    conditions fix the angle and, for autonomous flows, the time, relative to a reference.
    """
    count = len(guess.nodes)
    while True:
        found = _newton(section, guess, reference, condition)
        if not found.converged:
            return found
        error = circle_error(section, found.circle)
        least = max(FEWEST, needed(found.circle.nodes, KEPT * tolerance))
        if error <= tolerance:
            circle = found.circle
            if least < count / 2:
                circle = circle._replace(nodes=resampled(circle.nodes, least))
            return CorrectedCircle(circle, True, found.steps, error)
        count = MORE * count + 1
        if count * section.size > MOST:
            return CorrectedCircle(found.circle, False, found.steps, error)
        guess = found.circle._replace(nodes=resampled(found.circle.nodes, count))


def circle_error(section: SectionMap, circle: SectionCircle) -> float:
    """Compute the largest distance of an image from the circle, relative to its extent, between the given states."""
    middle = shifted(circle.nodes, 0.5 / len(circle.nodes))
    ends = section.ends(middle, circle.period, circle.parameter)
    found = np.max(np.abs(section.gaps(ends, shifted(middle, circle.rotation))))
    return float(found / circle.extent) if np.isfinite(found) else np.inf


def _newton(
    section: SectionMap, guess: SectionCircle, reference: SectionCircle, condition: CircleCondition
) -> CorrectedCircle:
    circle, before = guess, np.inf
    for step in range(1, CORRECTIONS + 1):
        images = section.images(circle.nodes, circle.period, circle.parameter)
        if not all(np.all(np.isfinite(part)) for part in images):
            break
        matrix, values = _equations(section, circle, images, reference, condition)
        try:
            change = np.linalg.solve(matrix, -values)
        except np.linalg.LinAlgError:
            break
        move = _difference(section, change, circle)
        size = max(circle.extent, guess.extent)
        moved = float(np.max(np.abs(move.nodes))) / size
        if not np.isfinite(moved) or moved > FAR or (step > 2 and moved > before and moved > LAST):
            break
        circle, before = circle.moved(move), moved
        if moved <= LAST:
            return CorrectedCircle(circle, circle.extent > 0, step, np.inf)
    return CorrectedCircle(circle, False, CORRECTIONS, np.inf)


def _equations(
    section: SectionMap,
    circle: SectionCircle,
    images: SectionImages,
    reference: SectionCircle,
    condition: CircleCondition,
) -> tuple[Float[np.ndarray, "m m"], Float[np.ndarray, " m"]]:
    """Set up the derivatives and the values of the invariance equation, the phase conditions and the condition."""
    count, n = circle.nodes.shape
    R, dR = shift_matrices(count, circle.rotation)
    width, free = count * n, section.has_period
    matrix, values = np.zeros((width + 2 + free, width + 2 + free)), np.zeros(width + 2 + free)
    block = matrix[:width, :width].reshape(count, n, count, n)
    block -= R[:, None, :, None] * np.eye(n)[:, None, :]
    every = np.arange(count)
    block[every, :, every, :] += images.maps
    values[:width] = section.gaps(images.ends, R @ circle.nodes).ravel()
    matrix[:width, width] = -(dR @ circle.nodes).ravel()
    if free:
        matrix[:width, width + 1] = images.speeds.ravel()
    matrix[:width, -1] = images.by_parameter.ravel()
    near = resampled(reference.nodes, count)
    away = circle.nodes - near
    rows = [derivative(near)]
    if free:
        rows.append(section.speeds(near, 0.0, reference.parameter))
    for k, row in enumerate(rows):
        row = row / np.linalg.norm(row)
        matrix[width + k, :width], values[width + k] = row.ravel(), np.sum(row * away)
    if condition.along is None:
        matrix[-1, -1], values[-1] = 1.0, circle.parameter - condition.at.parameter
        return matrix, values
    along = resampled(condition.along.nodes, count) / count
    matrix[-1, :width], matrix[-1, -1] = along.ravel(), condition.along.parameter
    values[-1] = np.sum(along * (circle.nodes - resampled(condition.at.nodes, count)))
    values[-1] += condition.along.parameter * (circle.parameter - condition.at.parameter)
    return matrix, values


def _difference(section: SectionMap, change: np.ndarray, circle: SectionCircle) -> SectionCircle:
    width = circle.nodes.size
    period = float(change[width + 1]) if section.has_period else 0.0
    return SectionCircle(change[:width].reshape(circle.nodes.shape), float(change[width]), period, float(change[-1]))


def normal_multipliers(section: SectionMap, circle: SectionCircle) -> Float[np.ndarray, " k"]:
    """Compute the mean factors by which distances from a torus change while the map acts once, the largest first.

    Frames at all states are followed along the circle until they are those of its invariant directions, whose growth is
    then averaged over the angle. The neutral directions, one of the circle and one of an autonomous flow, are left out.
    """
    count, n = circle.nodes.shape
    maps = section.images(circle.nodes, circle.period, circle.parameter).maps.reshape(count, n * n)
    frames = np.broadcast_to(np.linalg.qr(np.vander(np.arange(1.0, n + 1)))[0], (count, n, n))
    growth = np.zeros(n)
    for k in range(SETTLED + AVERAGED):
        at = shifted(maps, k * circle.rotation).reshape(count, n, n)
        frames, R = np.linalg.qr(at @ frames)
        if k >= SETTLED:
            sizes = np.abs(np.diagonal(R, axis1=1, axis2=2))
            growth += np.mean(np.log(np.maximum(sizes, np.finfo(float).tiny)), axis=0) / AVERAGED
    neutral = np.argsort(np.abs(growth))[: 1 + section.has_period]
    return np.sort(np.exp(np.delete(growth, neutral)))[::-1]


class LockedOrbit(NamedTuple):
    """A periodic orbit on a torus, on which the motion is locked: q iterates make p turns."""

    p: int
    q: int
    parameter: float

    __repr__ = one_line

    @property
    def ratio(self) -> str:
        """The ratio p:q."""
        return f"{self.p}:{self.q}"


# Most iterates after which an orbit on a torus is looked for, and largest distance of a rotation number from p / q,
# times q squared: the orbits of a wider neighbourhood are those of other fractions.
LONGEST, NEAR = 20, 0.1
# Largest distance of an orbit on a torus from the circle, and least one of two of its points, relative to the extent.
BESIDE, APART = 0.1, 1e-2


def locked_near(section: SectionMap, circle: SectionCircle) -> LockedOrbit | None:
    """Find a periodic orbit near a circle, on which the motion is locked, at the parameter of the circle.

    Its least number q of iterates is that of a fraction p / q near the rotation number.
    """
    for q in range(1, LONGEST + 1):
        p = round(q * circle.rotation)
        if np.gcd(p, q) != 1 or abs(circle.rotation - p / q) > NEAR / q**2:
            continue
        ends = circle.nodes
        for _ in range(q):
            ends = section.ends(ends, circle.period, circle.parameter)
        away = np.linalg.norm(section.gaps(ends, circle.nodes), axis=1)
        if not np.all(np.isfinite(away)):
            continue
        low = (away <= np.roll(away, 1)) & (away <= np.roll(away, -1))
        starts = np.flatnonzero(low)
        for k in starts[np.argsort(away[starts], kind="stable")][:2]:
            if _cycle(section, circle.nodes[k], circle, q):
                return LockedOrbit(p % q if q > 1 else 0, q, circle.parameter)
    return None


def _cycle(section: SectionMap, start: np.ndarray, circle: SectionCircle, q: int) -> bool:
    """Tell whether Newton's method finds an orbit of q iterates near a state that remains near the circle."""
    x, period, n, free = start[None], circle.period, section.size, section.has_period
    for _ in range(CORRECTIONS):
        points, V = [x], np.eye(n)
        for _ in range(q):
            images = section.images(points[-1], period, circle.parameter)
            points.append(images.ends)
            V = images.maps[0] @ V
        matrix = np.zeros((n + free, n + free))
        matrix[:n, :n] = V - np.eye(n)
        values = np.append(section.gaps(points[-1], x)[0], np.zeros(int(free)))
        if free:
            matrix[:n, n] = q * images.speeds[0]
            matrix[n, :n] = section.speeds(x, 0.0, circle.parameter)[0]
        if not np.all(np.isfinite(matrix)):
            return False
        change = np.linalg.lstsq(matrix, -values, rcond=1e-12)[0]
        x, period = x + change[:n], period + (float(change[n]) if free else 0.0)
        if not np.max(np.abs(change)) <= FAR * circle.extent:
            return False
        if np.max(np.abs(change)) <= LAST * circle.extent:
            break
    else:
        return False
    rows = np.concatenate(points[:q])
    fine = evaluated_at(circle.nodes, np.arange(256) / 256)
    near = min(float(np.min(np.linalg.norm(fine - row, axis=1))) for row in rows)
    others = [float(np.max(np.abs(section.gaps(row, rows[0])))) for row in rows[1:]]
    return near <= BESIDE * circle.extent and min(others, default=np.inf) > APART * circle.extent
