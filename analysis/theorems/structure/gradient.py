"""Gradient flows: a field with a symmetric Jacobian falls along a potential and has no periodic orbits."""

import jax
import numpy as np

from analysis.theorems.boundary import simply_connected
from analysis.theorems.conditions import Conditions, known, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def gradient(flow: AbstractFlow, region: Region | BoxLike, *, is_simply_connected: bool | None = None) -> Conditions:
    """Check whether a flow is a gradient flow in a region, f = -grad U, which excludes periodic orbits.

    By Poincare's lemma there is a potential U if the Jacobian is symmetric and the region has no holes.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: the region, or a box.
        is_simply_connected: whether the region is simply connected; by default what is known of its form.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: M. Hirsch, S. Smale and R. Devaney, Differential Equations, Dynamical Systems, and an Introduction to Chaos,
    Elsevier 2013, section 9.3.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import gradient
        >>> gradient(ds.system("x' = x - x^3 + 2*x*y; y' = x^2 - y"), [(-2.0, 2.0), (-2.0, 2.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field = field_of(flow, n, "the theorem on gradient flows")
    above = np.triu_indices(n, 1)

    def turning(x: jax.Array) -> jax.Array:
        J = jax.jacfwd(field)(x)
        return (J - J.T)[above]

    words, sense = "the Jacobian is symmetric", "df_i/dx_j = df_j/dx_i"
    row = identically_zero(words, sense, turning, where) if n > 1 else known(words, "there is one component", True)
    return Conditions(
        "Gradient flow",
        (smooth(field, n), simply_connected(where, is_simply_connected), row),
        "the field is -grad U for a potential U, which falls along every solution that is no equilibrium; no periodic "
        "orbit and no homoclinic loop lies in the region",
        "the field is no gradient there, and periodic orbits are not excluded",
        where, flow,
    )  # fmt: skip
