"""One trajectory of a short field at a time in Python, without compiling: the method DOP853."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynsim.integrators.dop853 import EXPONENT, EXTENDED, FIFTH, LEAST, MOST, REJECTIONS, SAFETY, STAGES, THIRD, A, C
from dynsim.programs import NumbersFunction
from dynsim.programs.programmed import affordable, spend

OVERHEAD = 150  # operations of Python that take as long as a stage without the field

_TIMES = C.tolist()
_ROWS = [A[k, :k].copy() for k in range(EXTENDED)]
_ERRORS = np.stack([FIFTH, THIRD])


class TakenStep(NamedTuple):
    """An accepted step: its beginning and end, the states at both, and the stages of the method, (stages, n)."""

    begin: float
    end: float
    state: np.ndarray
    after: np.ndarray
    stages: np.ndarray


class StuckError(ArithmeticError):
    """The solver cannot go on at a time, because its steps are `rejected`, or because compiled code is to take over."""

    def __init__(self, t: float, rejected: bool):
        super().__init__(t, rejected)
        self.t, self.rejected = t, rejected


def steps(
    field: NumbersFunction,
    begin: float,
    end: float,
    y: Float[np.ndarray, " n"],
    first: float,
    *,
    rtol: float,
    atol: float,
    longest: float = math.inf,
    dense: bool = False,
) -> Iterator[TakenStep]:
    """Yield the accepted steps from a time to a later one.

    Args:
        field: the field of the time and the entries of the state; steps to infinities and NaN are rejected.
        begin: the initial time.
        end: the final time.
        y: the initial state.
        first: length of the first step.
        rtol: the relative tolerance of the error in the mean square of a step.
        atol: the absolute tolerance.
        longest: the longest step.
        dense: whether the stages of the dense output are computed, too.

    Raises:
        StuckError: if too many steps are rejected in a row, or if more operations than Python may do are needed.
    """
    t, h, rejected, cost = begin, first, 0, STAGES * (field.operations + OVERHEAD)
    K = np.empty((EXTENDED if dense else STAGES + 1, len(y)))
    K[0] = field([t, *y.tolist()])
    while t < end:
        if not affordable(cost):
            raise StuckError(t, False)
        spend(cost)
        h = min(h, longest)
        last = t + h >= end
        h, until = (end - t, end) if last else (h, t + h)
        after, error = _tried(field, t, until, h, y, K, rtol, atol)
        if error < 1:
            for k in range(STAGES + 1, len(K)):
                K[k] = field([t + _TIMES[k] * h, *(y + (h * _ROWS[k]) @ K[:k]).tolist()])
            yield TakenStep(t, until, y, after, K.copy())
            t, y, K[0] = until, after, K[STAGES]
        factor = min(max(SAFETY * max(error, 1e-30) ** EXPONENT, LEAST), 1.0 if rejected or error >= 1 else MOST)
        h, rejected = h * factor, 0 if error < 1 else rejected + 1
        if rejected > REJECTIONS:
            raise StuckError(t, True)


@np.errstate(all="ignore")
def _tried(
    field: NumbersFunction, t: float, until: float, h: float, y: np.ndarray, K: np.ndarray, rtol: float, atol: float
) -> tuple[np.ndarray, float]:
    """Compute the stages of a step, of which the first is known, the state after it and its relative error."""
    for k in range(1, STAGES):
        K[k] = field([t + _TIMES[k] * h, *(y + (h * _ROWS[k]) @ K[:k]).tolist()])
    after = y + (h * _ROWS[STAGES]) @ K[:STAGES]
    K[STAGES] = field([until, *after.tolist()])
    both = (_ERRORS @ K[: STAGES + 1]) / (atol + rtol * np.maximum(np.abs(y), np.abs(after)))
    fifth, third = np.einsum("ij,ij->i", both, both).tolist()
    mean = (fifth + 0.01 * third) * len(y)
    error = abs(h) * fifth / math.sqrt(mean) if mean > 0 else mean
    return after, error if math.isfinite(error + K[STAGES].sum()) else math.inf


def advanced(
    field: NumbersFunction, begin: float, end: float, y: np.ndarray, first: float, **options: Any
) -> Float[np.ndarray, " n"]:
    """Compute the state at a later time; the options and errors are those of `steps`."""
    for step in steps(field, begin, end, y, first, **options):
        y = step.after
    return y
