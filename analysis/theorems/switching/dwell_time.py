"""Dwell time: switching between stable linear modes is stable if it is slow enough."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg

from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, known, theorem
from analysis.theorems.linear import matrix_of
from analysis.theorems.quadratic import is_definite, lyapunov_matrix
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.exact import Exact, positive_definite, rationals

ROOM = 1e-6
"""Relative amount by which constants of matrices are moved to the safe side before they are proved."""


@theorem
def dwell_time(modes: Sequence[Any], *, time: float | None = None) -> Conditions:
    """Find an average dwell time above which switching between stable linear modes is stable.

    Each mode has a quadratic function V_i by Lyapunov's equation with V_i' <= -rate V_i, and V_j <= mu V_i for all
    pairs. If the mean time between switches exceeds log(mu) / rate, all solutions tend to zero exponentially.

    Args:
        modes: two or more linear flows with named components, or matrices A of x' = A x.
        time: the mean time between switches, in units of time; left out if it is only asked for.

    Returns:
        The conditions; `numbers` holds the rate, mu and the dwell time.

    Raises:
        ValueError: for bad input.

    Source: J. Hespanha and A. Morse, IEEE CDC 1999; D. Liberzon, Switching in Systems and Control, Birkhaeuser 2003,
    theorem 3.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import dwell_time
        >>> found = dwell_time([ds.system("x' = -x + 2*y; y' = -y"), ds.system("x' = -x; y' = 2*x - y")])
        >>> found.applies, found.numbers["dwell"] < 6
        (True, True)
    """
    if len(modes) < 2:
        raise ArgumentError("modes", "be two or more linear flows", f"are {len(modes)}")
    given = None if time is None else number("time", time)
    matrices = [matrix_of(one, "the theorem on dwell times", "modes") for one in modes]
    exact = [A for A in matrices if A is not None]
    rows = [known("all modes are linear", "x' = A x", len(exact) == len(matrices))]
    if len(exact) < len(matrices):
        return _conditions(modes, rows, {})
    if len({len(A) for A in exact}) > 1:
        raise ArgumentError("modes", "have equally many components", f"have {[len(A) for A in exact]}")
    P = [lyapunov_matrix(np.array(A, float)) for A in exact]
    for k, (A, one) in enumerate(zip(exact, P, strict=True), 1):
        rows.append(_stable(k, A, one))
    if any(row.status != HOLDS for row in rows):
        return _conditions(modes, rows, {})
    forms = [one for one in P if one is not None]
    rate = min(_rate(np.array(A, float), one) for A, one in zip(exact, forms, strict=True)) * (1 - ROOM)
    mu = max(float(scipy.linalg.eigvalsh(b, a)[-1]) for a in forms for b in forms) * (1 + ROOM)
    Q = [rationals("matrix", one) for one in forms]
    falls = all(positive_definite(-(A.T @ p + p @ A) - Fraction(rate) * p) for A, p in zip(exact, Q, strict=True))
    close = all(positive_definite(Fraction(mu) * a - b) for a in Q for b in Q)
    rows += [
        known("every V_i falls in its mode", f"V_i' <= -{rate:.4g} V_i", falls or None),
        known("the V_i are comparable", f"V_j <= {mu:.4g} V_i", close or None),
    ]
    dwell = math.log(mu) / rate * (1 + 1e-12)
    if given is not None:
        gap, words = given - dwell, "the modes are switched slowly enough"
        status = HOLDS if gap > 0 else UNDECIDED
        rows.append(Hypothesis(words, f"time > log(mu) / rate = {dwell:.4g}", status, gap, "algebra"))
    return _conditions(modes, rows, {"rate": rate, "mu": mu, "dwell": dwell})


def _conditions(modes: Any, rows: list[Hypothesis], numbers: dict[str, float]) -> Conditions:
    return Conditions(
        "Average dwell time", tuple(rows),
        "all solutions tend to zero exponentially if the mean time between switches is larger than the dwell time",
        "fast switching between the modes may be unstable, as far as these functions show", None, modes[0], numbers,
    )  # fmt: skip


def _stable(k: int, A: Exact, P: np.ndarray | None) -> Hypothesis:
    """Decide whether a mode is stable, from the solution of Lyapunov's equation."""
    words = f"mode {k} is stable"
    if P is None:
        return known(words, "Lyapunov's equation has one solution", None, "floats")
    form = rationals("matrix", P)
    if not positive_definite(-(A.T @ form + form @ A)):
        return known(words, "A' P + P A is negative definite", None, "floats")
    return Hypothesis(words, "P is positive definite", HOLDS if is_definite(P) else FAILS, decided="algebra")


def _rate(A: np.ndarray, P: np.ndarray) -> float:
    """The largest rate at which x' P x falls along solutions of x' = A x."""
    return float(scipy.linalg.eigvalsh(-(A.T @ P + P @ A), P)[0])
