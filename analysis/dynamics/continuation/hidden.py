"""Test whether eigenvalues may cross unnoticed between points of a curve, by polynomials through their growth."""

import itertools
from typing import NamedTuple

import numpy as np

from analysis.dynamics.continuation.curve import AbstractCurve, paired

# Number of places between two samples at which polynomials are compared.
GRID = 33
# Number of samples of the polynomial of a higher degree; that of the lower one leaves out the one furthest away.
SAMPLES = 5
# Number of samples on each side of the middle of a step among which those of a polynomial are chosen.
BESIDE = 3
# Smallest distance of samples of one polynomial, relative to the distance of the two between which it is evaluated.
APART = 0.3
# Bound of a polynomial's error, relative to its difference from that of another one, which may be small by chance.
SAFETY = 10
# Number of values and slopes that determine this other polynomial.
OTHER = 4
# Share of a step along which growth is differentiated, given the derivatives of the eigenvalues.
SMALL = 1e-6
# Smallest cosine between a tangent and the chord of a step with which slopes along the chord are known.
ALONG = 0.5
# Distance of two samples, relative to the step, below which a polynomial decides nothing any more.
RESOLUTION = 1e-5
# Range of shares of the way between two samples in which a further one is put.
INNER = (0.1, 0.9)
# Largest imaginary part of roots that count as real, and distance of roots from known ones, as shares of the way.
CLOSE = 1e-6
# Distance of two real eigenvalues, relative to that at another sample, below which they may meet beside the samples.
MEETING = 0.5
# Growth of eigenvalues, in units of its changes among the samples and by its slopes, from which it does not come near
# zero.
FAR = 2.0
TINY = float(np.finfo(float).tiny)
# Least unit of two eigenvalues that meet, so that the square of a multiplier 1 in it does not overflow.
LEAST = 1e-150
# Share of the way beside a zero that may only be touched in which errors decide about further ones.
DOUBLE = 0.25


class SpectrumAt(NamedTuple):
    """Eigenvalues at an arclength and a parameter, and the growth below which they count as neutral.

    `rates` are the derivatives of the eigenvalues along `tangent`, a unit vector in ambient coordinates, as differences
    over the distance `apart`; None if they are unknown. `touches` says that an eigenvalue touches zero there without
    crossing it.
    """

    length: float
    values: np.ndarray
    parameter: float
    neutral: np.ndarray | float
    tangent: np.ndarray
    rates: np.ndarray | None
    apart: float
    touches: bool = False


class _Functions(NamedTuple):
    """Smooth functions along a curve that vanish where eigenvalues have growth 0.

    Attributes:
        values: (samples, functions).
        signs: at two samples, 0 where a function vanishes up to its error, (2, functions).
        slopes: along the chord of a step at these samples, NaN where they are unknown, (2, functions).
        sides: 1 for a function that counts only where a pair of eigenvalues is real, -1 where it is complex, else 0.
        discriminants: for these, the function whose sign says which of both; it has sides of 0 and no signs.
    """

    values: np.ndarray
    signs: np.ndarray
    slopes: np.ndarray
    sides: np.ndarray
    discriminants: np.ndarray


class Eigenpaths:
    """Eigenvalues as continuous functions along a curve: those at successive samples are paired by their distances.

    Where two real eigenvalues meet and become a complex pair, each is a square root. Their sum, product and
    discriminant stay smooth, and tell as much about zeros of the growth.
    """

    def __init__(self, curve: AbstractCurve):
        self.curve, self._pairs, self._places = curve, {}, {}

    def doubtful(self, samples: list[SpectrumAt], k: int, chord: np.ndarray) -> float | None:
        """Do the same as the function, unless it is known for these samples: most stay when one is added."""
        near = _near(samples, k)
        key = (near.index(k), *((samples[j].length, samples[j].touches) for j in near))
        if key not in self._places:
            self._places[key] = doubtful(self, [samples[j] for j in near], near.index(k), chord)
        return self._places[key]

    def functions(self, samples: list[SpectrumAt], first: int, chord: np.ndarray) -> _Functions:
        """Evaluate functions whose zeros are those of the growth of eigenvalues, at samples `first` and `first + 1`.

        The eigenvalues are numbered as at sample `first`, without those that do not come near zero. Slopes are those
        along the chord.
        """
        order = {first: np.arange(len(samples[first].values))}
        for k in range(first + 1, len(samples)):
            order[k] = self._paired(samples[k - 1], samples[k])[order[k - 1]]
        for k in range(first - 1, -1, -1):
            order[k] = np.argsort(self._paired(samples[k], samples[k + 1]))[order[k + 1]]
        values = np.array([one.values[order[k]] for k, one in enumerate(samples)])
        both = [(samples[k], order[k]) for k in (first, first + 1)]
        small = np.array([
            np.abs(self.curve.growth(one.values)) <= np.broadcast_to(one.neutral, len(one.values)) for one, _ in both
        ])  # fmt: skip
        small = np.array([row[order] for row, (_, order) in zip(small, both, strict=True)])
        moved = [_moved(one, order, chord) for one, order in both]
        slopes = np.array([self._slopes(*one, chord) for one in both])
        smooth = self.curve.smoothed(self.curve.growth(values))
        changes = np.ptp(smooth, axis=0) + (samples[first + 1].length - samples[first].length) * np.abs(slopes)
        near = ~np.all(np.min(np.abs(smooth), axis=0) > FAR * changes, axis=0)  # others do not come near zero
        values, small, slopes = values[:, near], small[:, near], slopes[:, near]
        moved = [part[:, near] for part in moved]
        pairs = _meeting_pairs(values, small)
        single = np.setdiff1d(np.arange(values.shape[1]), np.ravel(pairs)).astype(int)
        growths = self.curve.growth(values[:, single])
        signs = np.where(small[:, single], 0.0, np.sign(growths[first : first + 2]))
        alone = _Functions(self.curve.smoothed(growths), signs, slopes[:, single], *np.zeros((2, len(single)), int))
        if not len(pairs):
            return alone
        others = self._of_pairs(values[:, pairs], first, small[:, pairs], [m[:, pairs] for m in moved])
        others = others._replace(discriminants=len(single) + others.discriminants)
        return _Functions(*(np.concatenate(part, axis=-1) for part in zip(alone, others, strict=True)))

    def _of_pairs(self, values: np.ndarray, first: int, small: np.ndarray, moved: list[np.ndarray]) -> _Functions:
        """Evaluate the discriminants of pairs of eigenvalues that meet, and functions of their sums and products.

        Those of a pair follow each other, the discriminant first. The pairs are on the last two axes of each argument;
        `moved` are the eigenvalues at both samples and beside, and the distances in between.
        """
        size = np.maximum(np.max(np.abs(values), axis=(0, 2)), LEAST)
        apart = lambda v: ((v[..., 0] - v[..., 1]) / size) ** 2
        functions = (apart, *self.curve.of_pairs(size))
        made = lambda v: np.arcsinh(np.stack([np.real(f(v)) for f in functions], axis=-1))
        found = made(values)
        sides = np.array([0, *self.curve.sides_of_pairs])
        zero = np.where(sides > 0, np.any(small, axis=2)[..., None], np.all(small, axis=2)[..., None])
        signs = np.where(zero | (sides == 0), 0.0, np.sign(found[first : first + 2]))
        slopes = np.array([(made(after) - made(at)) / np.real(away[:, :1]) for at, after, away in moved])
        flat = lambda part: part.reshape(len(part), -1)
        starts = len(sides) * np.arange(len(size))
        return _Functions(flat(found), flat(signs), flat(slopes), np.tile(sides, len(size)), starts.repeat(len(sides)))

    def _slopes(self, one: SpectrumAt, order: np.ndarray, chord: np.ndarray) -> np.ndarray:
        """Compute the slope of the smoothed growth of each eigenvalue along a chord; NaN where it is unknown."""
        size = float(np.linalg.norm(chord))
        cosine = float(one.tangent @ chord) / size
        if one.rates is None or cosine < ALONG:
            return np.full(len(one.values), np.nan)
        moved = [self.curve.smoothed(self.curve.growth(one.values + s * SMALL * size * one.rates)) for s in (1, -1)]
        return ((moved[0] - moved[1]) / (2 * SMALL * size * cosine))[order]

    def _paired(self, one: SpectrumAt, other: SpectrumAt) -> np.ndarray:
        key = one.length, other.length
        if key not in self._pairs:
            self._pairs[key] = paired(one.values, other.values)
        return self._pairs[key]


def _moved(one: SpectrumAt, order: np.ndarray, chord: np.ndarray) -> np.ndarray:
    """List the eigenvalues at a sample, those at a distance along a chord, and this distance; NaN if unknown."""
    cosine = float(one.tangent @ chord) / float(np.linalg.norm(chord))
    if one.rates is None or cosine < ALONG:
        return np.full((3, len(order)), np.nan)
    values, apart = one.values[order], np.full(len(order), one.apart * cosine)
    return np.array([values, values + one.apart * one.rates[order], apart])


def _meeting_pairs(values: np.ndarray, small: np.ndarray) -> np.ndarray:
    """Find pairs of paths that meet among or beside the samples, given (samples, paths) and which ones are neutral.

    They are real at some samples and conjugate at the others, or all real and much closer at one sample than at another
    one. Two that vanish at one sample, as at a branch point with symmetries, do not count as meeting beside it.
    """
    count = values.shape[1]
    partners = np.tile(np.arange(count), (len(values), 1))
    for k, row in enumerate(values):
        upper, lower = np.flatnonzero(np.imag(row) > 0), np.flatnonzero(np.imag(row) < 0)
        if len(upper) == len(lower) > 0:
            other = lower[paired(row[upper], np.conj(row[lower]))]
            partners[k, upper], partners[k, other] = other, upper
    own = np.arange(count)
    single = partners == own
    partner = np.max(np.where(single, -1, partners), axis=0)
    consistent = np.all(single | (partners == partner), axis=0)
    found = [
        np.array([i, j])
        for i, j in enumerate(partner)
        if i < j and consistent[i] and consistent[j] and partner[j] == i and np.any(single[:, i])
    ]
    real = np.flatnonzero(np.all(single, axis=0))
    if len(real) < 2:
        return np.array(found, int).reshape(-1, 2)
    apart = np.abs(values[:, real, None] - values[:, None, real])
    most = np.max(apart, axis=0)
    both = np.any(small[:, real, None] & small[:, None, real], axis=0)
    ratio = np.where(both | (most <= CLOSE * np.max(np.abs(values))), 1.0, np.min(apart, axis=0) / np.fmax(most, TINY))
    near = np.argwhere(np.triu(ratio <= MEETING, 1))
    free = np.ones(count, bool)
    for i, j in real[near[np.argsort(ratio[*near.T], kind="stable")]].tolist():
        if free[i] and free[j]:
            found.append(np.array([i, j]))
            free[[i, j]] = False
    return np.array(found, int).reshape(-1, 2)


def doubtful(paths: Eigenpaths, samples: list[SpectrumAt], k: int, chord: np.ndarray) -> float | None:
    """Find where to look for a further zero of the growth between the k-th sample and the next one.

    Zeros that are known are samples. The growth of each eigenvalue is interpolated by two polynomials, whose difference
    estimates their error: one through values at several samples, and one with the slopes at the two samples where these
    are known. The slopes show growth that oscillates faster than the samples follow each other. There may be a further
    zero if the samples disagree about the sign, or if a polynomial comes closer to zero than its error and its slope
    does not show that it reaches zero just once, at a sample. The result is a share of the way, or None if there is no
    doubt.

    Args:
        paths: the eigenvalues along the curve.
        samples: those of the step and of its neighbours, by arclength.
        k: the sample before the place.
        chord: vector from the first point of the step to the last one.
    """
    step = float(np.linalg.norm(chord))
    begin, end = samples[k].length, samples[k + 1].length
    size = end - begin
    if not size > 0:  # two bifurcations at one point of the curve, or at neighbouring numbers
        return None
    near = _near(samples, k)
    growths, signs, slopes, sides, discriminants = paths.functions([samples[j] for j in near], near.index(k), chord)
    if not growths.shape[1]:
        return None
    missed = signs[0] * signs[1] < 0
    places = np.array([(samples[j].length - begin) / size for j in near])
    high = _through(places, growths, size * slopes)
    values = np.vander(np.linspace(0.0, 1.0, GRID), len(high), increasing=True) @ high
    error = SAFETY * np.max(np.abs(values - _other(places, growths, size * slopes)), axis=0)
    touches = (samples[k].touches, samples[k + 1].touches)
    one_sign = np.min(values * signs[0], axis=0), np.min(values * signs[1], axis=0)
    bends = np.max(np.abs(np.diff(values, 2, axis=0)), axis=0)  # larger than a dip between two places of the grid
    clear = np.minimum(*one_sign) > error + bends
    other = -sides * values[:, discriminants] > (error + bends)[discriminants]
    missed &= ~np.all(other, axis=0)
    clear |= np.all(other, axis=0)
    if size <= RESOLUTION * step:
        return 0.5 if np.any(missed) else None
    for path in np.flatnonzero(np.any(signs, axis=0) & ~clear):
        of_path = values[:, path], float(error[path]), signs[:, path], touches
        if missed[path] or _may_vanish(*of_path) or _vanishes(high[:, path], *of_path[1:]):
            return _place(high[:, path])
    return None


def certain(curve: AbstractCurve, samples: list[SpectrumAt], flats: np.ndarray) -> np.ndarray:
    """Find the steps between successive samples that `doubtful` leaves without doubt, all in a few array operations.

    A step with fewer or uneven samples beside it, unknown slopes, eigenvalues that meet, or growth near zero is left to
    `doubtful`.

    Args:
        curve: the equations.
        samples: those at all points of the branch.
        flats: the points themselves, as rows.

    Returns:
        Whether each step is without doubt.
    """
    count, width = len(samples), 2 * BESIDE
    clear = np.zeros(max(count - 1, 0), bool)
    values = [one.values for one in samples]
    alike = len({len(row) for row in values}) == 1 and all(one.rates is not None for one in samples)
    if count < width or not alike or not len(values[0]):
        return clear
    order = [np.arange(len(values[0]))]
    for one, other in itertools.pairwise(values):
        order.append(paired(one, other)[order[-1]])
    rows = np.array(order)
    taken = lambda parts: np.take_along_axis(np.array([*parts]), rows, axis=1)
    values, rates = taken(values), taken(one.rates for one in samples)
    neutral = taken(np.broadcast_to(one.neutral, len(rows[0])) for one in samples)
    growths, lengths = curve.growth(values), np.array([one.length for one in samples])
    first = np.arange(BESIDE - 1, count - BESIDE)  # beginnings of steps with samples on both sides
    size = np.diff(lengths)[first]
    gaps = np.array([np.diff(lengths)[first + k] for k in (-2, -1, 1, 2)])
    places = np.stack([(lengths[first + k] - lengths[first]) / size for k in range(1 - BESIDE, BESIDE + 1)], axis=1)
    left = np.abs(places[:, 0] - 0.5) <= np.abs(places[:, -1] - 0.5)
    window = first[:, None] + np.where(left[:, None], np.arange(-2, 3), np.arange(-1, 4))
    places = np.where(left[:, None], places[:, :-1], places[:, 1:])
    around = values[window]
    real = np.imag(around) == 0
    apart = np.abs(around[..., None] - around[..., None, :])
    both_real = (real[..., None] & real[..., None, :]).all(axis=1) & ~np.eye(len(rows[0]), dtype=bool)
    meets = np.any(both_real & (apart.min(axis=1) <= MEETING * apart.max(axis=1)), axis=2)
    meets |= real.any(axis=1) != real.all(axis=1)
    smooth = curve.smoothed(growths)
    near = smooth[window]
    far = np.abs(near).min(axis=1) > FAR * np.ptp(near, axis=1)  # so that it is no matter how they meet
    steep = np.zeros(len(first), bool)
    tangents, slopes = np.array([one.tangent for one in samples]), []
    chords = np.diff(flats, axis=0)[first]
    for k in (first, first + 1):
        cosines = np.einsum("ij,ij->i", tangents[k], chords) / np.linalg.norm(chords, axis=1)
        steep |= cosines < ALONG
        h = (SMALL * np.linalg.norm(chords, axis=1))[:, None]
        moved = [curve.smoothed(curve.growth(values[k] + s * h * rates[k])) for s in (1, -1)]
        slopes.append((moved[0] - moved[1]) / (2 * h * cosines[:, None]) * size[:, None])
    powers = np.arange(7)
    ends = np.stack([powers * x ** np.maximum(powers - 1, 0) for x in (0.0, 1.0)])
    conditions = np.concatenate([places[:, :, None] ** powers, np.broadcast_to(ends, (len(first), 2, 7))], axis=1)
    high = np.linalg.solve(conditions, np.concatenate([near, np.stack(slopes, axis=1)], axis=1))
    grid = np.linspace(0.0, 1.0, GRID)
    on_grid = np.vander(grid, 7, increasing=True) @ high
    s = grid[None, :, None]
    a, b, da, db = (part[:, None, :] for part in (smooth[first], smooth[first + 1], *slopes))
    other = (1 - s) ** 2 * ((1 + 2 * s) * a + s * da) + s**2 * ((3 - 2 * s) * b - (1 - s) * db)
    error = SAFETY * np.max(np.abs(on_grid - other), axis=1)
    bends = np.max(np.abs(np.diff(on_grid, 2, axis=1)), axis=1)
    signs = [np.where(np.abs(growths[k]) <= neutral[k], 0.0, np.sign(growths[k])) for k in (first, first + 1)]
    away = np.minimum(*(np.min(on_grid * sign[:, None, :], axis=1) for sign in signs)) > error + bends
    still = (signs[0] == 0) & (signs[1] == 0)
    even = np.all(gaps >= APART * size, axis=0)
    clear[first] = even & ~steep & np.all(np.where(meets, far, away | still), axis=1)
    return clear


def _near(samples: list[SpectrumAt], k: int) -> list[int]:
    """List the samples for a polynomial after the k-th one: both neighbours, and the next ones not too close."""
    size = samples[k + 1].length - samples[k].length
    left, right = [k], [k + 1]
    for side, more in ((left, range(k - 1, -1, -1)), (right, range(k + 2, len(samples)))):
        for j in more:
            fits = len(samples[j].values) == len(samples[k].values)
            if fits and abs(samples[j].length - samples[side[-1]].length) >= APART * size:
                side.append(j)
    chosen = [k, k + 1]
    middle = samples[k].length + size / 2
    others = sorted((*left[1:], *right[1:]), key=lambda j: abs(samples[j].length - middle))
    return sorted([*chosen, *others[: SAMPLES - 2]])


def _other(places: np.ndarray, growths: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Evaluate on the grid the polynomials through the values nearest to it, with slopes at both ends if known."""
    known = int(np.sum(~np.isnan(slopes[:, 0])))
    nearest = np.argsort(np.abs(places - 0.5), kind="stable")[: min(OTHER, len(places) - 1 + known) - known]
    found = _through(places[nearest], growths[nearest], slopes)
    return np.vander(np.linspace(0.0, 1.0, GRID), len(found), increasing=True) @ found


def _through(places: np.ndarray, growths: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Compute the polynomials through values at places, with slopes at 0 and 1 where these are known."""
    known = np.flatnonzero(~np.isnan(slopes[:, 0]))
    powers = np.arange(len(places) + len(known))
    by_slopes = np.array([powers * float(x) ** np.maximum(powers - 1, 0) for x in known]).reshape(-1, len(powers))
    conditions = np.vstack([np.vander(places, len(powers), increasing=True), by_slopes])
    return np.linalg.solve(conditions, np.vstack([growths, slopes[known]]))


def _inner_roots(polynomial: np.ndarray) -> np.ndarray:
    """Compute the real parts, between 0 and 1, of the roots of a polynomial that are real or close to it."""
    roots = np.polynomial.Polynomial(polynomial).roots()
    roots = np.real(roots[np.abs(np.imag(roots)) < CLOSE])
    return roots[(roots > 0) & (roots < 1)]


def _vanishes(polynomial: np.ndarray, error: float, signs: np.ndarray, touches: tuple[bool, bool]) -> bool:
    """Test whether a polynomial vanishes between 0 and 1, other than where it is known to.

    An error splits the double zero of an eigenvalue that touches zero. Up to the second one it is smaller than its
    error.
    """
    roots = _inner_roots(polynomial)
    for end in (0, 1):
        distance = np.abs(roots - end)
        middle = np.abs(np.polynomial.Polynomial(polynomial)((roots + end) / 2))
        split = touches[end] & (distance < DOUBLE) & (middle <= error)
        roots = roots[~((signs[end] == 0) & ((distance < CLOSE) | split))]
    return bool(len(roots))


def _may_vanish(values: np.ndarray, error: float, signs: np.ndarray, touches: tuple[bool, bool]) -> bool:
    """Test whether a function may vanish between the ends of a grid, where its signs are known or it is zero.

    `touches` says that a zero at an end may be one that is only touched.
    """
    sign = next(s for s in signs if s)
    inside = sign * values
    small = inside <= error
    slopes = np.diff(inside) * (len(values) - 1)
    for end, towards in ((0, 1.0), (-1, -1.0)):
        run = small if end == 0 else small[::-1]
        if signs[end] == 0 and run[0]:  # it vanishes at this end, and grows from there by more than its error
            count = int(np.argmin(run)) if not np.all(run) else len(run)
            beside = slopes[:count] if end == 0 else slopes[::-1][:count]
            if count > DOUBLE * len(run) if touches[end] else np.any(towards * beside <= error) or count == len(run):
                return True
            run[:count] = False
    return bool(np.any(small))


def _place(polynomial: np.ndarray) -> float:
    """Choose the share of the way at which a polynomial is extreme and nearest to zero, or else half of it."""
    found = np.polynomial.Polynomial(polynomial)
    turns = _inner_roots(found.deriv().coef)
    if not len(turns):
        return 0.5
    return float(np.clip(turns[np.argmin(np.abs(found(turns)))], *INNER))


def intervals(samples: list[SpectrumAt], doubts: list[int]) -> list[tuple[float, float]]:
    """Join neighbouring intervals between samples, and return their lowest and highest values of the parameter."""
    found: list[tuple[float, float]] = []
    for k in doubts:
        low, high = sorted((samples[k].parameter, samples[k + 1].parameter))
        if found and low <= found[-1][1] and high >= found[-1][0]:
            low, high = min(low, found[-1][0]), max(high, found[-1][1])
            found.pop()
        found.append((low, high))
    return found
