"""Find the short features of functions of time, such as pulses, between which they hardly change.

A time interval is halved where interval arithmetic cannot exclude that a function changes by a share of its range. The
smallest parts are those in which it does change. Nothing is missed between samples, as far as the parts suffice.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from dynsim.programs.intervals import IntervalArray

Enclosures = Callable[[np.ndarray, np.ndarray], list[IntervalArray]]
"""Bounds of each function on many intervals of time, given their beginnings and ends."""
Values = Callable[[np.ndarray], Float[np.ndarray, "functions times"]]

CHANGE = 0.1
"""Change of a function, relative to its range, that a solver may step over."""
SEEN = 0.0125
"""Change in a part, relative to the range, by which it belongs to a feature: an eighth of what may be stepped over."""
FIRST = 64
"""Parts of the whole interval at the beginning."""
MOST = 2**16
"""Most parts; pulses in what they do not resolve are found only by the steps of a solver."""
SHORTEST = 2.0**-40
"""Shortest part, relative to the whole interval."""
BESIDE = 0.1
"""Distance of a stop from a feature, relative to its length, at which it is seen from there."""
QUIET = 2.0
"""Length of rest before or after a feature, relative to its own, beside which a solver may have grown its steps."""


def short_features(
    enclosures: Enclosures, values: Values, edges: Float[np.ndarray, " edges"], *, inset: float = 0.0
) -> np.ndarray:
    """List where the short features of functions begin, have their middles, and end.

    Args:
        enclosures: bounds of the functions on intervals.
        values: values of the functions at times.
        edges: both ends of the time interval, and the times between them at which the functions may jump.
        inset: share of each part that is left out at its ends, where functions jump.
    """
    span = float(edges[-1] - edges[0])
    even = np.linspace(edges[0], edges[-1], FIRST + 1)
    ends = np.unique(np.concatenate([even, edges]))
    begin, end = ends[:-1], ends[1:]
    widths = _widths(enclosures, begin, end, inset)
    low, high = np.full(len(widths), np.inf), np.full(len(widths), -np.inf)
    new = np.concatenate([ends, (begin + end) / 2])
    while True:
        seen = values(new)
        low, high = np.fmin(low, np.nanmin(seen, axis=1)), np.fmax(high, np.nanmax(seen, axis=1))
        ranges = np.maximum(high - low, np.max(np.where(np.isfinite(widths), widths, 0.0), axis=1, initial=0.0))
        split = np.any(~(widths <= CHANGE * ranges[:, None]), axis=0) & (end - begin > SHORTEST * span)
        if not np.any(split) or len(begin) + np.sum(split) > MOST:
            return marks_of_changes(values, begin, end, SEEN * (high - low), edges[1:-1])
        begin, end = _halved(begin, end, split)
        fresh = np.sum(~split)
        widths = np.concatenate([widths[:, ~split], _widths(enclosures, begin[fresh:], end[fresh:], inset)], axis=1)
        new = (begin[fresh:] + end[fresh:]) / 2


def _widths(enclosures: Enclosures, begin: np.ndarray, end: np.ndarray, inset: float) -> np.ndarray:
    """Compute upper bounds of the changes of functions in intervals, (functions, intervals); NaN if unknown."""
    within = inset * (end - begin)
    found = enclosures(begin + within, end - within)
    return np.stack([np.broadcast_to(one.high - one.low, len(begin)) for one in found])


def marks_of_changes(
    values: Values, begin: np.ndarray, end: np.ndarray, least: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """List the ends and middles of the runs of parts in which a function changes, with rest beside them.

    Args:
        values: values of the functions at times.
        begin: where parts of a time interval begin.
        end: where they end.
        least: for each function the least change in a part that counts.
        known: times at which a solver stops anyway; a feature that contains one, or begins the interval, is left out.
    """
    while True:  # a long part at the foot of a pulse is mostly at rest
        order = np.argsort(begin)
        begin, end = begin[order], end[order]
        sides = np.stack([values(begin), values((begin + end) / 2), values(end)])
        moving = (np.ptp(sides, axis=0) > least[:, None]) & (least[:, None] > 0)
        lengths = np.pad(end - begin, 1, constant_values=np.inf)
        split = np.any(moving, axis=0) & (lengths[1:-1] > 2 * np.minimum(lengths[2:], lengths[:-2]))
        if not np.any(split) or len(begin) + np.sum(split) > MOST:
            break
        begin, end = _halved(begin, end, split)
    stops, marks = np.append(begin[0], known), [np.empty(0)]
    for row in moving[np.any(moving, axis=1)]:
        turns = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        first, last = begin[turns[::2]], end[turns[1::2] - 1]
        while True:  # the flanks of a pulse are one feature
            gaps, sizes = first[1:] - last[:-1], last - first
            near = gaps <= np.maximum(sizes[1:], sizes[:-1])
            if not np.any(near):
                break
            first, last = first[np.append(True, ~near)], last[np.append(~near, True)]
        gaps = np.concatenate([[first[0] - begin[0]], first[1:] - last[:-1], [end[-1] - last[-1]]])
        sizes = last - first
        seen = np.searchsorted(stops, last + BESIDE * sizes) > np.searchsorted(stops, first - BESIDE * sizes)
        alone = (np.maximum(gaps[1:], gaps[:-1]) > QUIET * sizes) & ~seen
        marks += [first[alone], (first + last)[alone] / 2, last[alone]]
    return np.unique(np.concatenate(marks))


def _halved(begin: np.ndarray, end: np.ndarray, split: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Halve some of the parts; their halves come last."""
    middle = (begin[split] + end[split]) / 2
    return np.concatenate([begin[~split], begin[split], middle]), np.concatenate([end[~split], middle, end[split]])
