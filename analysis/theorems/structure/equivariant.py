"""Equivariant flows: a linear symmetry takes solutions to solutions."""

import numpy as np

from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


@theorem
def equivariant(flow: AbstractFlow, symmetries: ArrayLike, region: Region | BoxLike) -> Conditions:
    """Check whether linear maps are symmetries of a flow, f(g x) = g f(x), by exact cancellation.

    Args:
        flow: an autonomous flow on Euclidean space.
        symmetries: regular matrices, such as generators of the group, (count, n, n), or one of them, (n, n).
        region: the region, or a box, in which points are tried where the identity may fail.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: M. Golubitsky, I. Stewart and D. Schaeffer, Singularities and Groups in Bifurcation Theory, volume 2,
    Springer 1988, chapter XIII.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.theorems import equivariant
        >>> found = equivariant(ds.catalogue.Lorenz(), np.diag([-1.0, -1.0, 1.0]), [(-20.0, 20.0)] * 3)
        >>> found.applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, given = field_of(flow, n, "the theorem on symmetries"), matrices(symmetries, n)
    named = [""] if len(given) == 1 else [f" {k}" for k in range(1, len(given) + 1)]
    commutes = lambda name, g: identically_zero(
        f"the field commutes with symmetry{name}", "f(g x) = g f(x)", lambda x: field(g @ x) - g @ field(x), where
    )
    return Conditions(
        "Equivariant flow",
        (
            smooth(field, n),
            *(commutes(name, g) for name, g in zip(named, given, strict=True)),
        ),
        "the symmetries take solutions to solutions, and the points that some of them fix are an invariant subspace",
        "one of the maps is no symmetry of the flow",
        where, flow,
    )  # fmt: skip


def matrices(symmetries: ArrayLike, n: int) -> np.ndarray:
    """Read regular matrices, (count, n, n).

    Raises:
        ValueError: for anything else.
    """
    found = np.asarray(reals("symmetries", symmetries), float)
    found = found[None] if found.ndim == 2 else found
    if found.ndim != 3 or found.shape[1:] != (n, n) or not len(found):
        raise ArgumentError("symmetries", f"be matrices ({n}, {n})", f"have shape {np.shape(symmetries)}")
    if np.any(np.linalg.matrix_rank(found) < n):
        raise ArgumentError("symmetries", "be regular matrices", "hold a singular one")
    return found
