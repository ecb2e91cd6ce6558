"""Hamiltonian flows in the plane: a field without divergence keeps a function and has no attractors."""

import jax.numpy as jnp

from analysis.theorems.boundary import simply_connected
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import divergence, field_of, in_plane, smooth
from analysis.theorems.regions import Region, as_region
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def hamiltonian(flow: AbstractFlow, region: Region | BoxLike, *, is_simply_connected: bool | None = None) -> Conditions:
    """Check whether a flow in the plane is Hamiltonian in a region, x' = dH/dy and y' = -dH/dx.

    There is such a function H if the divergence is zero and the region has no holes.

    Args:
        flow: a flow in the plane, autonomous.
        region: the region, or a box, (2, 2).
        is_simply_connected: whether the region is simply connected; by default what is known of its form.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 2.14, theorems 1 and 2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import hamiltonian
        >>> hamiltonian(ds.system("x' = y; y' = x - x^3"), [(-2.0, 2.0), (-2.0, 2.0)]).applies
        True
    """
    where = as_region(region)
    in_plane(where.dimension, "the theorem on Hamiltonian flows")
    field = field_of(flow, 2, "the theorem on Hamiltonian flows")
    spread = divergence(field)
    return Conditions(
        "Hamiltonian flow in the plane",
        (
            smooth(field, 2),
            simply_connected(where, is_simply_connected),
            identically_zero("the divergence is zero", "div f = 0", lambda x: jnp.reshape(spread(x), (1,)), where),
        ),
        "a function H is constant along solutions; equilibria with a regular Jacobian are centres or saddles, and no "
        "equilibrium and no periodic orbit attracts a neighbourhood",
        "the flow is not Hamiltonian there in these coordinates",
        where, flow,
    )  # fmt: skip
