"""The theorem of Poincare and Bendixson: a trapping region of the plane without equilibria has a periodic orbit."""

import jax.numpy as jnp

from analysis.theorems.boundary import bounded, has_a_point, pointing_inwards
from analysis.theorems.conditions import Conditions, decided, theorem
from analysis.theorems.fields import field_of, in_plane, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def poincare_bendixson(
    flow: AbstractFlow, region: Region | BoxLike, *, backwards: bool = False, budget: int = BUDGET
) -> Conditions:
    """Check whether the theorem of Poincare and Bendixson gives a periodic orbit in a region of the plane.

    Args:
        flow: a flow in the plane, autonomous.
        region: the region, such as an annulus; a bounded region with a boundary of smooth pieces.
        backwards: whether the field has to point out of the region, so that the orbit attracts backwards in time.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: M. Hirsch, S. Smale and R. Devaney, Differential Equations, Dynamical Systems, and an Introduction to Chaos,
    Elsevier 2013, section 10.5.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import annulus, poincare_bendixson
        >>> flow = ds.system("x' = x - y - x*(x^2 + y^2); y' = x + y - y*(x^2 + y^2)")
        >>> poincare_bendixson(flow, annulus([0.0, 0.0], 0.5, 1.5)).applies
        True
    """
    where = as_region(region)
    in_plane(where.dimension, "the theorem of Poincare and Bendixson")
    field = field_of(flow, 2, "the theorem of Poincare and Bendixson")
    moving = positive(lambda x: jnp.sum(field(x) ** 2), where, budget=budget)
    time = "backwards in time " if backwards else ""
    return Conditions(
        "Theorem of Poincare and Bendixson",
        (
            smooth(field, 2),
            has_a_point(where, budget),
            *bounded(where, budget),
            pointing_inwards(field, where, strictly=False, outwards=backwards, budget=budget),
            decided("the region has no equilibrium", "|f|^2 > 0", moving),
        ),
        f"the region has a periodic orbit, and every solution from it tends {time}to one",
        "a periodic orbit is not implied",
        where, flow,
    )  # fmt: skip
