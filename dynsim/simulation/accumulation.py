"""Transitions that accumulate at a time (Zeno behaviour): where their intervals are no longer than its rounding."""

import math
from typing import Any

import numpy as np

SHORTEST = 4  # neighbouring floats of the time between which a transition that occurs twice leaves no motion
DECAY = 1000  # by which the intervals between transitions that accumulate must have shrunk
REST = 2**18  # neighbouring floats of the time between the last transition and the limit of those that accumulate


def rounding_of(time: Any) -> float:
    """Return the distance of neighbouring floats of a time, in its type."""
    return float(np.spacing(np.abs(np.asarray(time))))


def is_at_once(length: float, rounding: float) -> bool:
    """Return whether a phase is as short as its times can tell."""
    return length <= SHORTEST * rounding


def accumulate(ends: np.ndarray, rounding: float) -> bool:
    """Return whether the times at which a transition occurs have come to their limit, up to rounding.

    Over the last `count` intervals their length has halved: those that follow take `count / log(2)` times the last one
    together. Each interval is off by the rounding of the time, so that they shrink no further than this lets them.
    """
    gaps = np.diff(ends)
    grown = np.flatnonzero(np.diff(gaps) > SHORTEST * rounding)
    gaps = gaps[grown[-1] + 1 :] if grown.size else gaps
    if len(gaps) < 2 or gaps[0] < DECAY * gaps[-1]:
        return False
    before = int(np.flatnonzero(gaps >= 2 * gaps[-1])[-1])
    count = len(gaps) - 1 - before
    slow = gaps[before] - gaps[-1] <= count * SHORTEST * rounding
    return bool(slow and gaps[-1] * count / math.log(2) <= REST * rounding)
