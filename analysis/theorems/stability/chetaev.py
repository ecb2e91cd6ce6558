"""Chetaev's theorem: a function that grows where it is larger shows that an equilibrium is unstable."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction, balls
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem, together
from analysis.theorems.definite import BESIDE, above, core_of, definite
from analysis.theorems.exactly import BITS, vanishes
from analysis.theorems.fields import Field, field_of, smooth_both
from analysis.theorems.regions import Region, as_region, point
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function, number
from dynsim.systems.base import AbstractFlow


@theorem
def chetaev(
    flow: AbstractFlow,
    V: Callable[[Any], Any],
    region: Region | BoxLike,
    equilibrium: ArrayLike,
    *,
    rate: float = 0.0,
    cut: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether an equilibrium is unstable by Chetaev's theorem.

    V must be larger than at the equilibrium at points arbitrarily near it, and grow along solutions at all points of
    the region at which it is larger. With a positive `rate`, V' >= rate (V - V(x*)) is shown instead of V' > 0.

    Args:
        flow: an autonomous flow on Euclidean space.
        V: the function, a scalar function of a state in JAX.
        region: a neighbourhood of the equilibrium.
        equilibrium: the equilibrium, (n,), at which the field is exactly zero.
        rate: rate at which V grows, where V' may vanish on the boundary of {V > V(x*)}.
        cut: half the side of the box about the equilibrium in which Hessians are used; by default a twentieth of the
            region's least side.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, an equilibrium outside the region, or functions that intervals cannot enclose.
        UnavailableError: without python-flint.

    Source: H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.3.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import ball, chetaev
        >>> flow = ds.system("x' = x + y^2; y' = -y + x^2")
        >>> chetaev(flow, lambda s: s[0] ** 2 - s[1] ** 2, ball([0.0, 0.0], 0.5), [0.0, 0.0]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, at = field_of(flow, n, "Chetaev's theorem"), point("equilibrium", equilibrium, n)
    near, height = core_of(where, at, cut), above(function("V", V, "a state"), at)
    least = number("rate", rate, must="be at least 0") if rate else 0.0
    grows = lambda x: jnp.dot(jax.grad(height)(x), field(x)) - least * height(x)
    larger = dataclasses.replace(where, inside=(*where.inside, height))
    first = positive(grows, larger, strictly=False, budget=BESIDE) if least else None
    parts = [first] if first is not None and first.status == HOLDS else definite(grows, larger, near, budget)
    sense = f"V' >= {least:g} (V - V(x*))" if least else "V' > 0 where V > V(x*)"
    row = together("V grows along solutions where it is larger", sense, parts)
    if row.status == FAILS and (row.witness is None or not float(height(jnp.asarray(row.witness))) > 0):
        row = row._replace(status=UNDECIDED, witness=None)
    return Conditions(
        "Chetaev's theorem", (
            smooth_both(field, height, n),
            vanishes("the point is an equilibrium", "f(x*) = 0", field, at),
            _larger_nearby(height, at),
            row,
        ),
        "the equilibrium is unstable", "V does not show that the equilibrium is unstable", where, flow,
    )  # fmt: skip


def _larger_nearby(height: Field, at: np.ndarray) -> Hypothesis:
    """Decide whether a function takes larger values arbitrarily near a point: by its slope or a positive curvature."""
    words = "V is larger at points arbitrarily near"
    slope, curvature = jax.grad(height), jax.hessian(height)
    values, ways = np.linalg.eigh(np.asarray(curvature(jnp.asarray(at))))
    way = np.round(ways[:, -1] * 2.0**20) / 2.0**20
    with arithmetic(BITS, 1):
        slopes = list(BallFunction(slope, len(at))(balls(at)).ravel())
        bent = BallFunction(lambda x: jnp.reshape(way @ curvature(x) @ way, (1,)), len(at))(balls(at)).ravel()[0]
        if any(bool(v != 0) for v in slopes):
            return Hypothesis(words, "grad V is not 0", HOLDS, decided="balls")
        if bool(bent > 0):
            return Hypothesis(words, "a second derivative > 0", HOLDS, float(bent.lower()), "balls")
    falls = values[-1] < 0 and all(bool(v == 0) for v in slopes)
    return Hypothesis(words, "a second derivative > 0", FAILS if falls else UNDECIDED, float(values[-1]), "floats")
