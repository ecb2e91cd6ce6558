"""The converse of Lyapunov's theorem: a quadratic function of an equilibrium, with a certified part of its basin."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.equilibria import certified_equilibrium
from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, decided, known, theorem, together
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.linear import leading_minors
from analysis.theorems.quadratic import ellipsoid, is_definite, lyapunov_solution
from analysis.theorems.regions import Region, point, positive_weights, written
from analysis.theorems.subdivision import BUDGET, least_value, positive
from dynsim._core.types import ArrayLike
from dynsim._core.validation import number
from dynsim.systems.base import AbstractFlow

CORE_BUDGET = 3_000
"""Largest number of boxes for one size of the core; a core that needs more is halved."""
DIRECTIONS, RADII = 500, 60
"""Size of the sample in which a level is looked for at which V does not fall."""
POSITIVE = "V = (x - x*)' P (x - x*) is positive definite"


@theorem
def lyapunov_quadratic(
    flow: AbstractFlow,
    near: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    reach: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Find a quadratic Lyapunov function of an equilibrium, and the largest sublevel set certified to be in its basin.

    V = (x - x*)' P (x - x*) solves Lyapunov's equation A' P + P A = -diag(weights) with the Jacobian A, rounded to
    binary fractions. In a core {V <= c0}, P J(x) + J(x)' P is negative definite, so that solutions there approach each
    other; between the core and the level c, V falls. So x* needs to be known only nearly.

    Args:
        flow: an autonomous flow on Euclidean space.
        near: a point near a regular equilibrium, (n,).
        weights: positive weights of the components in Lyapunov's equation, (n,); 1 by default.
        reach: largest distance from the equilibrium in each component; by default 10 (1 + |x*|).
        budget: largest number of boxes for each condition.

    Returns:
        The conditions; `numbers` are the level c, a level `beyond` at which V was seen not to fall (if it was), and
        the entries of P.

    Raises:
        ValueError: for bad input, no regular equilibrium nearby, or a field that intervals cannot enclose.
        UnavailableError: without python-flint.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.7 and section 8.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import lyapunov_quadratic
        >>> found = lyapunov_quadratic(ds.system("x' = -x + x^3"), [0.0])  # V = x^2 / 2, and the basin is |x| < 1
        >>> found.applies, 0.48 < found.numbers["c"] < 0.5
        (True, True)
    """
    start = point("near", near)
    n = len(start)
    field = field_of(flow, n, "Lyapunov's theorem")
    w = positive_weights(weights, n)
    proof = certified_equilibrium(flow, start)
    at = np.asarray(proof.state, float).ravel()
    far = 10 * (1 + float(np.max(np.abs(at)))) if reach is None else number("reach", reach)
    J = jax.jacfwd(field)
    A = np.asarray(J(jnp.asarray(at)))
    rows = [
        smooth(field, n),
        Hypothesis("the equilibrium is regular", f"f(x) = 0 at {written(at)}", HOLDS, decided="balls"),
    ]
    found = lyapunov_solution(A, np.diag(w))
    if found is None:
        rows.append(known(POSITIVE, "Lyapunov's equation has one solution", None, "floats"))
        return _conditions(flow, rows, None, {})
    P, shift = found
    turning = lambda x: 2 * shift * P - P @ J(x) - J(x).T @ P
    row, core = _core(turning, P, at)
    # If the second row holds and P is not positive definite, an eigenvalue has a positive real part.
    rows += [known(POSITIVE, "pivots of P > 0", is_definite(P) or (False if core else None)), row]
    if core is None or not is_definite(P):  # it is not with a shift
        return _conditions(flow, rows, None, {})
    slope = lambda x: 2 * (P @ (x - at)) @ field(x)
    most = max(float(far**2 / np.max(np.diag(np.linalg.inv(P)))), core)
    level, beyond = _level(slope, P, at, core, most, budget)
    shell = ellipsoid(P, at, level, core / 2)
    falls = positive(lambda x: -slope(x), shell, budget=budget)
    rows.append(decided("V falls around the core", f"V' < 0 for {core / 2:.3g} <= V <= c", falls))
    numbers = {"c": level} | ({"beyond": beyond} if np.isfinite(beyond) else {})
    numbers |= {f"P{i + 1}{j + 1}": float(P[i, j]) for i in range(n) for j in range(i, n)}
    return _conditions(flow, rows, ellipsoid(P, at, level), numbers)


def _conditions(flow: Any, rows: list[Hypothesis], region: Region | None, numbers: dict[str, float]) -> Conditions:
    return Conditions(
        "Lyapunov's theorem with a quadratic function", tuple(rows),
        "the equilibrium is exponentially stable, and {V <= c} is in its basin",
        "no quadratic function with these weights shows that the equilibrium is stable",
        region, flow, numbers,
    )  # fmt: skip


def _core(turning: Callable[[Any], Any], P: np.ndarray, at: np.ndarray) -> tuple[Hypothesis, float | None]:
    """Look for an ellipsoid in which a matrix of functions is positive definite, halving it until one is certified."""
    n = len(at)
    words, sense = "the quadratic form falls in a core", "P J(x) + J(x)' P is negative definite"
    form, half = P if is_definite(P) else np.eye(n), 1.0 + float(np.max(np.abs(at)))
    row = known(words, sense, None)
    for _ in range(20):
        level = half**2 / float(np.max(np.diag(np.linalg.inv(form))))
        inside = ellipsoid(form, at, level)
        parts = []
        for minor in leading_minors(turning, n):
            parts.append(positive(minor, inside, budget=CORE_BUDGET))
            if parts[-1].status != HOLDS:
                break
        row = together(words, f"{sense} where V <= {level:.3g}", parts)
        if row.status == HOLDS:
            return row, level
        half /= 2
    return row._replace(status=UNDECIDED, witness=None), None


def _level(
    slope: Callable[[Any], Any], P: np.ndarray, at: np.ndarray, core: float, most: float, budget: int
) -> tuple[float, float]:
    """Find a level up to which V is certified to fall, and one at which it was seen not to fall.

    A sample gives the set in which the least V without a fall is enclosed; that set shrinks where intervals decide
    nothing, as beside a pole of the field.
    """
    beyond = _seen(slope, P, at, core, most)
    tried = min(most, 1.05 * beyond)
    height = lambda x: (x - at) @ P @ (x - at)
    for _ in range(6):
        shell = ellipsoid(P, at, tried, core / 2)
        rising = Region(shell.sides, (*shell.inside, slope), False)
        low, seen = least_value(height, rising, budget=budget)
        beyond = min(beyond, seen)
        if 0.99 * low > core / 2:
            return min(tried, 0.99 * low), beyond
        tried = max((core * tried) ** 0.5, core)
    return core, beyond


def _seen(slope: Callable[[Any], Any], P: np.ndarray, at: np.ndarray, core: float, most: float) -> float:
    """The least V among points of a sample at which V does not fall."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(DIRECTIONS, len(at)))
    ways /= np.sqrt(np.einsum("ki,ij,kj->k", ways, P, ways))[:, None]
    sizes = np.geomspace(core, most, RADII)
    points = at + np.sqrt(sizes)[:, None, None] * ways
    speeds = np.asarray(jax.vmap(slope)(jnp.asarray(points.reshape(-1, len(at))))).reshape(RADII, DIRECTIONS)
    rises = np.any(~(speeds < 0), axis=1)
    return float(sizes[np.argmax(rises)]) if np.any(rises) else np.inf
