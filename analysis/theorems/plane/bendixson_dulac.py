"""Bendixson's and Dulac's criterion: a divergence of one sign excludes periodic orbits."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import simply_connected
from analysis.theorems.conditions import Conditions, decided, theorem
from analysis.theorems.fields import divergence, field_of, in_plane, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.samples import Values, points_of
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim._core.validation import function, integer
from dynsim.systems.base import AbstractFlow


@theorem
def bendixson_dulac(
    flow: AbstractFlow,
    region: Region | BoxLike,
    *,
    dulac: Callable[[Any], Any] | None = None,
    is_simply_connected: bool | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether Dulac's criterion excludes periodic orbits in a region of the plane.

    Without a Dulac function it is Bendixson's criterion.

    Args:
        flow: a flow in the plane, autonomous.
        region: the region, or a box, (2, 2).
        dulac: the Dulac function, a scalar function of a state in JAX.
        is_simply_connected: whether the region has no holes; by default what is known of its form.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: H. Dulac, C. R. Acad. Sci. Paris 204 (1937) 1703; L. Perko, Differential Equations and Dynamical Systems,
    Springer 2001, section 3.9, theorem 2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import bendixson_dulac
        >>> damped = ds.system("x' = y; y' = -x - x^3 - 0.5*y")
        >>> bendixson_dulac(damped, [(-2.0, 2.0), (-2.0, 2.0)]).applies
        True
    """
    where = as_region(region)
    in_plane(where.dimension, "Dulac's criterion")
    field = field_of(flow, 2, "Dulac's criterion")
    weight = (lambda x: jnp.ones(())) if dulac is None else function("dulac", dulac, "a state")
    weighed = lambda x: jnp.reshape(weight(x), ()) * field(x)
    spread = divergence(weighed)
    # at a single point, such as the middle of an annulus, the divergence may vanish, or have the other sign outside
    sign = float(np.copysign(1.0, np.nansum(Values(spread, 2)(points_of(where)))))
    found = positive(lambda x: sign * spread(x), where, budget=integer("budget", budget, least=1), name="flow")
    name = "div f" if dulac is None else "div (B f)"
    word = "Bendixson's" if dulac is None else "Dulac's"
    return Conditions(
        f"{word} criterion",
        (
            smooth(weighed, 2, "the field" if dulac is None else "B times the field"),
            simply_connected(where, is_simply_connected),
            decided("the divergence has one sign", f"{name} {'<' if sign < 0 else '>'} 0", found),
        ),
        "no periodic orbit, and no homoclinic loop, lies in the region",
        "periodic orbits are not excluded",
        where, flow,
    )  # fmt: skip
