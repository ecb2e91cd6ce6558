"""Miranda's theorem: opposite signs on opposite faces of a box give an equilibrium."""

from analysis.theorems.conditions import Conditions, theorem, together
from analysis.theorems.fields import continuous, field_of, value_at
from analysis.theorems.regions import as_region
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow


@theorem
def miranda(flow: AbstractFlow, sides: BoxLike, *, budget: int = BUDGET) -> Conditions:
    """Check whether Miranda's theorem gives an equilibrium in a box.

    Args:
        flow: an autonomous flow on Euclidean space.
        sides: (low, high) for each component, (n, 2). Component k of the field must have opposite signs on the two
            faces across component k.
        budget: largest number of boxes for each face.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: C. Miranda, Boll. Un. Mat. Ital. 3 (1940) 5.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import miranda
        >>> miranda(ds.system("x' = 1 - x + 0.1*y; y' = x^2 - y"), [(0.5, 2.0), (0.1, 5.0)]).applies
        True
    """
    where = as_region(sides)
    field = field_of(flow, where.dimension, "Miranda's theorem")
    rows = [continuous(field, where.dimension)]
    for k in range(where.dimension):
        middle = where.sides.mean(axis=1)
        middle[k] = where.sides[k, 1]
        sign = 1.0 if float(value_at(field, middle)[k]) > 0 else -1.0
        ends = [
            positive(lambda x, k=k, s=s: s * field(x)[k], where, faces=[(k, end)], budget=budget)
            for end, s in ((1, sign), (0, -sign))
        ]
        sense = f"f_{k} {'<' if sign > 0 else '>'} 0 below and {'>' if sign > 0 else '<'} 0 above"
        rows.append(together(f"component {k} of the field has opposite signs on its two faces", sense, ends))
    return Conditions(
        "Miranda's theorem", tuple(rows),
        "the box has an equilibrium", "an equilibrium is not implied", where, flow,
    )  # fmt: skip
