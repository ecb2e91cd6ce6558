"""Index theory in the plane: a periodic orbit surrounds equilibria of index sum one."""

import numpy as np

from analysis.dynamics.validated.balls import BallFunction
from analysis.dynamics.validated.enclosures import ball_box
from analysis.dynamics.validated.equilibria import CertifiedCount, certified_count
from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.existence.brouwer_degree import PIECES, count_turns, pieces_around
from analysis.theorems.fields import Field, field_of, in_plane, smooth
from analysis.theorems.regions import as_region
from dynsim._core.types import BoxLike
from dynsim._core.validation import integer
from dynsim.systems.base import AbstractFlow


@theorem
def index_theory(flow: AbstractFlow, sides: BoxLike, *, budget: int = PIECES) -> Conditions:
    """Check whether index theory excludes periodic orbits in a box of the plane: no equilibrium in it has index one.

    A periodic orbit surrounds equilibria of which the indices sum to one. All equilibria in the box are certified with
    the sign of their Jacobian determinant, the index; their sum is compared with the turns of the field along the
    boundary of the box.

    Args:
        flow: a flow in the plane, autonomous.
        sides: (low, high) for each component, (2, 2).
        budget: largest number of pieces of the boundary, and of boxes.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 3.12; S. Strogatz, Nonlinear
    Dynamics and Chaos, Westview 2015, section 6.8.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import index_theory
        >>> rivals = ds.system("x' = x*(3 - x - 2*y); y' = y*(2 - x - y)")
        >>> found = index_theory(rivals, [(0.5, 2.0), (0.5, 2.0)])
        >>> found.applies, found.numbers
        (True, {'equilibria': 1.0, 'index': -1.0})
    """
    where, most = as_region(sides), integer("budget", budget, least=1)
    in_plane(where.dimension, "index theory")
    field = field_of(flow, 2, "index theory")
    codes, moves = pieces_around(IntervalFunction(field, 2), where.sides, most)
    rows = [smooth(field, 2), moves]
    numbers: dict[str, float] = {}
    if codes is not None:
        count = certified_count(flow, where.sides, max_boxes=most)
        indices = _indices(field, count)
        rows += _decided(count, indices, count_turns(codes))
        numbers = {"equilibria": float(len(indices)), "index": float(count_turns(codes))}
    return Conditions(
        "Index theory in the plane",
        tuple(rows),
        "no periodic orbit lies in the box, because it would surround equilibria of index sum one",
        "periodic orbits are not excluded",
        where, flow, numbers,
    )  # fmt: skip


def _indices(field: Field, count: CertifiedCount) -> list[int]:
    """The sign of the Jacobian determinant at each equilibrium, 0 if it is not certain."""
    J, found = BallFunction(field, 2), []
    for one in count.found:
        ((a, b), (c, d)) = J.jacobian(ball_box(*one.enclosure.T))
        det = a * d - b * c
        found.append(int(bool(det > 0)) - int(bool(det < 0)))
    return found


def _decided(count: CertifiedCount, indices: list[int], degree: int) -> list[Hypothesis]:
    """Decide whether all equilibria are known and regular, and whether one has index one."""
    known = HOLDS if count.exact and all(indices) else UNDECIDED
    around = [one.state for one, index in zip(count.found, indices, strict=True) if index > 0]
    sums = "their indices sum to the turns along the boundary"
    none = FAILS if around else HOLDS if known == HOLDS else UNDECIDED
    return [
        Hypothesis("all equilibria in the box are known", "f(x) = 0, det Df != 0", known, decided="balls",
                   boxes=count.boxes, left=count.undecided),
        Hypothesis(sums, f"sum of indices = {degree}", HOLDS if sum(indices) == degree else UNDECIDED, decided="balls"),
        Hypothesis("no equilibrium has index one", "det Df < 0", none, decided="balls",
                   witness=np.asarray(around[0]) if around else None),
    ]  # fmt: skip
