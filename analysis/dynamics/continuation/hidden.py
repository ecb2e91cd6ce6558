"""Test whether eigenvalues may cross unnoticed between points of a curve, by polynomials through their growth."""

from typing import NamedTuple

import numpy as np

from analysis.dynamics.continuation.curve import AbstractCurve, paired

# Number of places between two samples at which polynomials are compared.
GRID = 33
# Number of samples of the polynomial of a higher degree; that of the lower one leaves out the one furthest away.
SAMPLES = 5
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
# Growth, relative to the largest eigenvalue, of those that vanish at a bifurcation, given the error of its location.
VANISHING = 1e-7
# Range of shares of the way between two samples in which a further one is put.
INNER = (0.1, 0.9)
# Largest imaginary part of roots that count as real, and distance of roots from known ones, as shares of the way.
CLOSE = 1e-6
# Share of the way beside a zero that may only be touched in which errors decide about further ones.
DOUBLE = 0.25


class SpectrumAt(NamedTuple):
    """Eigenvalues at an arclength and a parameter, and the growth below which they count as neutral.

    `rates` are the derivatives of the eigenvalues along `tangent`, a unit vector in ambient coordinates; None if they
    are unknown. `touches` says that an eigenvalue touches zero there without crossing it.
    """

    length: float
    values: np.ndarray
    parameter: float
    neutral: np.ndarray | float
    tangent: np.ndarray
    rates: np.ndarray | None
    touches: bool = False


class Eigenpaths:
    """Eigenvalues as continuous functions along a curve: those at successive samples are paired by their distances."""

    def __init__(self, curve: AbstractCurve):
        self.curve, self._pairs = curve, {}

    def growths(
        self, samples: list[SpectrumAt], first: int, chord: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the growth of each eigenvalue at samples, (samples, paths), and its signs and slopes at two of them.

        The eigenvalues are numbered as at sample `first`, the first of the two. The sign is 0 for neutral ones. Slopes
        are those along the chord; they are NaN where they are unknown.
        """
        order = {first: np.arange(len(samples[first].values))}
        for k in range(first + 1, len(samples)):
            order[k] = self._paired(samples[k - 1], samples[k])[order[k - 1]]
        for k in range(first - 1, -1, -1):
            order[k] = np.argsort(self._paired(samples[k], samples[k + 1]))[order[k + 1]]
        growths = [self.curve.growth(one.values)[order[k]] for k, one in enumerate(samples)]
        pair = [(k, samples[k]) for k in (first, first + 1)]
        small = [np.abs(growths[k]) <= np.broadcast_to(one.neutral, len(one.values))[order[k]] for k, one in pair]
        signs = np.array([np.where(s, 0.0, np.sign(growths[first + k])) for k, s in enumerate(small)])
        slopes = np.array([self._slopes(one, chord)[order[k]] for k, one in pair])
        return np.array([self.curve.smoothed(growth) for growth in growths]), signs, slopes

    def _slopes(self, one: SpectrumAt, chord: np.ndarray) -> np.ndarray:
        """Compute the slope of the smoothed growth of each eigenvalue along a chord; NaN where it is unknown."""
        size = float(np.linalg.norm(chord))
        cosine = float(one.tangent @ chord) / size
        if one.rates is None or cosine < ALONG:
            return np.full(len(one.values), np.nan)
        moved = [self.curve.smoothed(self.curve.growth(one.values + s * SMALL * size * one.rates)) for s in (1, -1)]
        return (moved[0] - moved[1]) / (2 * SMALL * size * cosine)

    def _paired(self, one: SpectrumAt, other: SpectrumAt) -> np.ndarray:
        key = one.length, other.length
        if key not in self._pairs:
            self._pairs[key] = paired(one.values, other.values)
        return self._pairs[key]


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
    near = _near(samples, k)
    growths, signs, slopes = paths.growths([samples[j] for j in near], near.index(k), chord)
    missed = signs[0] * signs[1] < 0
    if size <= RESOLUTION * step:
        return 0.5 if np.any(missed) else None
    places = np.array([(samples[j].length - begin) / size for j in near])
    high = _through(places, growths, size * slopes)
    values = np.vander(np.linspace(0.0, 1.0, GRID), len(high), increasing=True) @ high
    error = SAFETY * np.max(np.abs(values - _other(places, growths, size * slopes)), axis=0)
    touches = (samples[k].touches, samples[k + 1].touches)
    one_sign = np.min(values * signs[0], axis=0), np.min(values * signs[1], axis=0)
    bends = np.max(np.abs(np.diff(values, 2, axis=0)), axis=0)  # larger than a dip between two places of the grid
    clear = np.minimum(*one_sign) > error + bends
    for path in np.flatnonzero(np.any(signs, axis=0) & ~clear):
        of_path = values[:, path], float(error[path]), signs[:, path], touches
        if missed[path] or _may_vanish(*of_path) or _vanishes(high[:, path], *of_path[1:]):
            return _place(high[:, path])
    return None


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


def neutral_at(values: np.ndarray) -> np.ndarray:
    """Compute for the eigenvalues at a bifurcation the growth below which they count as neutral."""
    return np.full(len(values), VANISHING * max(1.0, float(np.max(np.abs(values), initial=0.0))))
