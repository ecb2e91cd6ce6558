"""Brouwer's degree in the plane: how often a field turns along the boundary of a box counts equilibria inside."""

import numpy as np

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.fields import continuous, field_of, in_plane
from analysis.theorems.regions import as_region
from dynsim._core.types import BoxLike
from dynsim._core.validation import integer
from dynsim.systems.base import AbstractFlow

PIECES = 20_000
"""Largest number of pieces of the boundary."""


@theorem
def brouwer_degree(flow: AbstractFlow, sides: BoxLike, *, budget: int = PIECES) -> Conditions:
    """Count the turns of a field in the plane along the boundary of a box; unless zero, the box has an equilibrium.

    The boundary is cut into pieces on each of which one component of the field has a certain sign.

    Args:
        flow: a flow in the plane, autonomous.
        sides: (low, high) for each component, (2, 2).
        budget: largest number of pieces.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 3.12, definition 1 and
    theorems 1 and 2; K. Deimling, Nonlinear Functional Analysis, Springer 1985, section 1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import brouwer_degree
        >>> found = brouwer_degree(ds.system("x' = x^2 - y^2; y' = 2*x*y - 0.1"), [(-1.0, 1.0), (-1.0, 1.0)])
        >>> found.applies, found.numbers["degree"]
        (True, 2.0)
    """
    where = as_region(sides)
    in_plane(where.dimension, "Brouwer's degree")
    field = field_of(flow, 2, "Brouwer's degree")
    codes, moves = pieces_around(IntervalFunction(field, 2), where.sides, integer("budget", budget, least=1))
    turns = Hypothesis("the field turns along the boundary", "degree != 0", UNDECIDED, boxes=moves.boxes)
    numbers: dict[str, float] = {}
    if codes is not None:
        degree = count_turns(codes)
        numbers = {"degree": float(degree)}
        turns = turns._replace(status=HOLDS if degree else FAILS, margin=float(abs(degree)))
    return Conditions(
        "Brouwer's degree in the plane",
        (continuous(field, 2), moves, turns),
        "the box has an equilibrium; if all have a regular Jacobian, nodes, foci and centres less saddles are `degree`",
        "an equilibrium is not implied",
        where, flow, numbers,
    )  # fmt: skip


def pieces_around(field: IntervalFunction, sides: np.ndarray, budget: int) -> tuple[np.ndarray | None, Hypothesis]:
    """Cut the boundary, anticlockwise, until one component has a sign on each piece.

    Returns:
        The sign of each piece in order, 0 to 3 for f1 > 0, f2 > 0, f1 < 0 and f2 < 0, or None; and whether the field
        is not zero on the boundary, with the pieces that were tried, and those without a sign.
    """
    row = Hypothesis("the field is not zero on the boundary", "f != 0", UNDECIDED)
    (west, east), (south, north) = sides
    corners = np.array([[west, south], [east, south], [east, north], [west, north]])
    first, second, tried = corners, np.roll(corners, -1, axis=0), 0
    done = np.full(4, -1)
    while True:
        new = np.flatnonzero(done < 0)
        pieces = np.sort(np.stack([first[new], second[new]], axis=2), axis=2)
        tried += len(new)
        found = field.enclosed(pieces)
        ways = np.stack([found[:, 0, 0] > 0, found[:, 1, 0] > 0, found[:, 0, 1] < 0, found[:, 1, 1] < 0], axis=1)
        done[new] = np.where(np.any(ways, axis=1), np.argmax(ways, axis=1), -1)
        bad = np.flatnonzero(done < 0)
        if not len(bad):
            return done, row._replace(status=HOLDS, boxes=tried, left=np.empty((0, 2, 2)))
        row = row._replace(boxes=tried, left=np.sort(np.stack([first[bad], second[bad]], axis=2), axis=2))
        at = np.concatenate([first[bad], second[bad]])
        zero = np.flatnonzero(np.all(field.values(np.stack([at, at], axis=2)) == 0, axis=(1, 2)))
        if len(zero):
            return None, row._replace(status=FAILS, witness=at[zero[0]])
        middle = (first[bad] + second[bad]) / 2
        if tried + 2 * len(bad) > budget or np.any(np.all((middle == first[bad]) | (middle == second[bad]), axis=1)):
            return None, row
        done = np.insert(done, bad + 1, -1)
        second = np.insert(second, bad, middle, axis=0)
        first = np.insert(first, bad + 1, middle, axis=0)


def count_turns(codes: np.ndarray) -> int:
    """Count whole turns; neighbours share a point, at which both signs hold, so they differ by a quarter at most."""
    steps = (np.roll(codes, -1) - codes + 1) % 4 - 1
    assert np.all(np.abs(steps) <= 1)
    return int(np.sum(steps)) // 4
