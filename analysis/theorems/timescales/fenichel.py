"""Fenichel's theorem: a critical manifold that is normally hyperbolic persists as a slow manifold."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from analysis.theorems.conditions import Conditions, theorem, together
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.linear import determinant
from analysis.theorems.regions import Region, as_region
from analysis.theorems.subdivision import BUDGET, positive
from analysis.theorems.timescales.critical_manifolds import at_rest, critical_curve, fast_components
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def fenichel(
    flow: AbstractFlow, region: Region | BoxLike, fast: Sequence[int] = (0,), *, budget: int = BUDGET
) -> Conditions:
    """Check whether the critical manifold in a region attracts normally, as Fenichel's theorem asks.

    The critical manifold is where the fast components are at rest. For one fast component its derivative by itself must
    be negative there, for two the trace negative and the determinant positive.

    Args:
        flow: an autonomous flow on Euclidean space, the small parameter at any value.
        region: the region, or a box.
        fast: the indices of one or two fast components.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: N. Fenichel, J. Differential Equations 31 (1979) 53; C. Kuehn, Multiple Time Scale Dynamics, Springer 2015,
    theorem 3.1.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import fenichel
        >>> flow = ds.system("v' = (v - v^3/3 - w)/0.08; w' = v + 0.7 - 0.8*w")
        >>> fenichel(flow, [(-2.5, -1.1), (-1.0, 3.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    quick = fast_components(fast, n, 2)
    field = field_of(flow, n, "Fenichel's theorem")
    J = lambda x: jax.jacfwd(field)(x)[jnp.asarray(quick)][:, jnp.asarray(quick)]
    resting, on = at_rest(where, field, quick)
    attracts = [positive(lambda x: -jnp.trace(J(x)), resting, on=on, budget=budget)]
    if len(quick) == 2:
        attracts.append(positive(lambda x: determinant(J(x)), resting, on=on, budget=budget))
    return Conditions(
        "Fenichel's theorem",
        (
            smooth(field, n),
            together("the critical manifold attracts in the fast directions",
                     "eigenvalues of df/dx have negative real parts where f = 0", attracts),
        ),
        "for small enough time-scale ratios a slow manifold lies near the critical one and attracts",
        "the critical manifold loses its normal hyperbolicity in the region, or repels",
        where, flow, {}, critical_curve(where, field, quick),
    )  # fmt: skip
