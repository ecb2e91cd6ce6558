"""Find a Dulac function: powers of the components times an exponential, by linear programmes and rounding."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.optimize import linprog

from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.fields import Field, divergence, field_of, in_plane, smooth
from analysis.theorems.plane.bendixson_dulac import bendixson_dulac
from analysis.theorems.regions import Region, as_region
from analysis.theorems.samples import Values, points_of
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components

LARGEST = 8.0
"""Largest absolute exponent of the family."""
PARTS = (1, 2, 4, 8, 16)
"""Denominators to which exponents are rounded, one after the other."""
SHARES = (0.05, 0.5, 0.95)
"""Shares of the best margin that the smallest exponents have to keep, one after the other."""
WORDS = "a Dulac function was found"


@theorem
def dulac_function(
    flow: AbstractFlow, region: Region | BoxLike, *, is_simply_connected: bool | None = None, budget: int = BUDGET
) -> Conditions:
    """Find a Dulac function B = x^a y^b exp(c x + d y), which excludes periodic orbits in a region of the plane.

    The quotient div(B f) / B is linear in the exponents. A linear programme finds those with which its sign is one at
    points of the region, a second one the smallest such exponents, and they are rounded to binary fractions; the sign
    of div(B f) is then certified as `bendixson_dulac` does it. A component has a power only if it has one sign in the
    region: leave out the axes, which an orbit inside of a quadrant does not cross.

    Args:
        flow: a flow in the plane, autonomous.
        region: the region, or a box, (2, 2).
        is_simply_connected: whether the region has no holes; by default what is known of its form.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions of Dulac's criterion with the function that was found; `numbers` are its exponents. They are
        undecided if none of the family was found, which does not say that there is no Dulac function.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 3.9, theorem 2; J. Hofbauer
    and K. Sigmund, Evolutionary Games and Population Dynamics, Cambridge 1998, section 4.1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import dulac_function
        >>> rivals = ds.system("x' = x*(1 - x - 0.5*y); y' = y*(1 - y - 0.3*x)")
        >>> found = dulac_function(rivals, [(0.01, 3.0), (0.01, 3.0)])
        >>> found.applies, found.numbers
        (True, {'power of y': -2.0})
    """
    where = as_region(region)
    in_plane(where.dimension, "Dulac's criterion")
    field = field_of(flow, 2, "Dulac's criterion")
    names = components(flow, np.zeros(2)).names
    signs = np.where(where.sides[:, 0] > 0, 1.0, np.where(where.sides[:, 1] < 0, -1.0, 0.0))
    powers = np.flatnonzero(signs)
    spread = divergence(field)
    parts = lambda x: jnp.stack([spread(x), *(field(x)[k] / x[k] for k in powers), *field(x)])
    rows = Values(parts, 2)(points_of(where))
    best, found = -np.inf, None
    for exponents, margin in _exponents(rows[np.all(np.isfinite(rows), axis=1)]):
        best = max(best, margin)
        if exponents is None:
            continue
        a = np.zeros(2)
        a[powers], rates = exponents[:-2], exponents[-2:]
        B = _function(a, rates, signs)
        found = bendixson_dulac(flow, where, dulac=B, is_simply_connected=is_simply_connected, budget=budget)
        found = _named(found, a, rates, names)
        if found.hypotheses[-1].status == HOLDS:
            return found
    return _none(flow, field, where, best) if found is None else found


def _exponents(rows: np.ndarray) -> Any:
    """Yield exponents with which div(B f) / B has one sign at all points, simplest first, and the relative margin."""
    size = np.sum(np.abs(rows), axis=1)
    if not len(rows) or not np.all(size > 0):
        yield None, 0.0
        return
    unit = rows / size[:, None]
    best: list[tuple[float, float]] = sorted((_largest_margin(s * unit), s) for s in (1.0, -1.0))[::-1]
    margin, sign = best[0]
    if not margin > 1e-9:
        yield None, margin
        return
    seen: set[tuple[float, ...]] = set()
    for share in SHARES:
        exact = _smallest(sign * unit, share * margin)
        for denominator in PARTS:
            exponents = np.round(exact * denominator) / denominator + 0.0
            kept = float(np.min(sign * unit @ np.append(1.0, exponents)))
            if kept > 0 and tuple(exponents) not in seen:
                seen.add(tuple(exponents))
                yield exponents, kept
    if not seen:
        yield None, margin


def _largest_margin(rows: np.ndarray) -> float:
    """The largest t such that rows @ (1, c) >= t for some exponents c."""
    count = rows.shape[1] - 1
    found = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.column_stack([-rows[:, 1:], np.ones(len(rows))]),
        b_ub=rows[:, 0],
        bounds=[(-LARGEST, LARGEST)] * count + [(None, None)],
    )
    return -np.inf if found.x is None else float(found.x[-1])


def _smallest(rows: np.ndarray, margin: float) -> np.ndarray:
    """The exponents with the least sum of absolute values such that rows @ (1, c) >= margin."""
    count = rows.shape[1] - 1
    found = linprog(
        np.ones(2 * count),
        A_ub=np.column_stack([-rows[:, 1:], rows[:, 1:]]),
        b_ub=rows[:, 0] - margin,
        bounds=[(0.0, LARGEST)] * (2 * count),
    )
    return np.zeros(count) if found.x is None else found.x[:count] - found.x[count:]


def _function(powers: np.ndarray, rates: np.ndarray, signs: np.ndarray) -> Field:
    def B(x: Any) -> Any:
        value = jnp.exp(rates[0] * x[0] + rates[1] * x[1]) if np.any(rates) else jnp.ones(())
        for k, a in enumerate(powers):
            if a:
                part = signs[k] * x[k]
                value = value * (part ** int(a) if a == int(a) else jnp.exp(a * jnp.log(part)))
        return value

    return B


def _named(found: Conditions, powers: np.ndarray, rates: np.ndarray, names: tuple[str, ...]) -> Conditions:
    numbers = {f"power of {name}": float(a) for name, a in zip(names, powers, strict=True) if a}
    numbers |= {f"rate of {name}": float(c) for name, c in zip(names, rates, strict=True) if c}
    said = " ".join(f"{name}^{a:g}" for name, a in zip(names, powers, strict=True) if a)
    if np.any(rates):
        inner = " + ".join(f"{c:g}*{name}" for name, c in zip(names, rates, strict=True) if c).replace("+ -", "- ")
        said = f"{said} exp({inner})".strip()
    row = Hypothesis(WORDS, f"B = {said or '1'}", HOLDS, decided="algebra")
    return found._replace(hypotheses=(row, *found.hypotheses), numbers=numbers)


def _none(flow: Any, field: Field, where: Region, margin: float) -> Conditions:
    family = "div(B f) > 0 or < 0 for B = x^a y^b exp(c x + d y) with exponents up to 8"
    row = Hypothesis(WORDS, family, UNDECIDED, margin, "floats")
    return Conditions(
        "Dulac's criterion", (row, smooth(field, 2)), "no periodic orbit, and no homoclinic loop, lies in the region",
        "periodic orbits are not excluded", where, flow,
    )  # fmt: skip
