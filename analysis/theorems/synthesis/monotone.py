"""Find the order that a flow keeps: the orthant that the signs of the interactions allow."""

from typing import Any

import jax
import numpy as np

from analysis.theorems.conditions import FAILS, HOLDS, Conditions, Hypothesis, theorem
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.samples import Values, points_of
from analysis.theorems.structure.cooperative import cooperative
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components


@theorem
def monotone(
    flow: AbstractFlow, region: Region | BoxLike, *, competitive: bool = False, budget: int = BUDGET
) -> Conditions:
    """Find an order by components, each taken upwards or downwards, that a flow keeps in a convex region.

    The flow keeps the order of an orthant with the signs s if s_i s_j df_i/dx_j >= 0 for i != j. Such signs exist
    exactly if no interaction changes its sign and no loop of interactions, followed either way, has an odd number of
    negative ones. The signs are found from the Jacobian at points of the region, and certified as `cooperative` does.

    Args:
        flow: an autonomous flow on Euclidean space.
        region: a convex region, or a box.
        competitive: find an order that is kept backwards in time.
        budget: largest number of boxes for each pair of components.

    Returns:
        The conditions of Kamke's theorem in the order that was found; `numbers` are the signs. They fail if two proven
        signs of interactions allow none: then the flow keeps the order of no orthant.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: H. Smith, Monotone Dynamical Systems, AMS 1995, chapter 3, sections 1 and 5.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import monotone
        >>> toggle = ds.system("x' = 2/(1 + y^2) - x; y' = 2/(1 + x^2) - y")
        >>> found = monotone(toggle, [(0.0, 3.0), (0.0, 3.0)])
        >>> found.applies, found.numbers
        (True, {'sign of x': 1.0, 'sign of y': -1.0})
    """
    where = as_region(region)
    n = where.dimension
    field = field_of(flow, n, "Kamke's theorem")
    names = components(flow, np.zeros(n)).names
    points = points_of(where)
    bounds = Values(jax.jacfwd(field), n).bounds(points).reshape(len(points), n, n, 2)
    turn = -1.0 if competitive else 1.0
    signs, loop, at = _orthant(turn * bounds)
    if loop:
        said = " - ".join(names[k] for k in loop)
        row = Hypothesis(
            "the interactions allow an order of components",
            f"an even number of {'positive' if competitive else 'negative'} interactions in the loop {said}",
            FAILS, witness=points[at],
        )  # fmt: skip
        word = "competitive" if competitive else "cooperative"
        return Conditions(
            f"Kamke's theorem ({word} flow)", (row, smooth(field, n)),
            "the flow keeps the order of an orthant", "the flow keeps the order of no orthant", where, flow,
        )  # fmt: skip
    found = cooperative(flow, where, competitive=competitive, signs=signs, budget=budget)
    row = Hypothesis(
        "the interactions allow an order of components",
        ", ".join(f"{name} {'up' if s > 0 else 'down'}" for name, s in zip(names, signs, strict=True)),
        HOLDS, decided="algebra",
    )  # fmt: skip
    return found._replace(
        hypotheses=(row, *found.hypotheses),
        numbers={f"sign of {name}": float(s) for name, s in zip(names, signs, strict=True)},
    )


def _orthant(bounds: np.ndarray) -> tuple[np.ndarray, list[int], int]:
    """Signs of an orthant that the proven signs of Jacobians allow; otherwise a loop that allows none, and its point.

    Args:
        bounds: enclosures of the Jacobian at points, (points, n, n, 2).
    """
    n = bounds.shape[1]
    seen = {1.0: bounds[..., 0] > 0, -1.0: bounds[..., 1] < 0}
    signs, parent = np.zeros(n), np.full(n, -1)
    for root in range(n):
        if signs[root]:
            continue
        signs[root], waiting = 1.0, [root]
        while waiting:
            i = waiting.pop()
            for j in (j for j in range(n) if j != i):
                for sign, where in seen.items():
                    proven = where[:, i, j] | where[:, j, i]
                    if not np.any(proven):
                        continue
                    if not signs[j]:
                        signs[j], parent[j] = sign * signs[i], i
                        waiting.append(j)
                    elif signs[j] != sign * signs[i]:
                        return signs, _loop(parent, i, j), int(np.argmax(proven))
    return signs, [], 0


def _loop(parent: Any, i: int, j: int) -> list[int]:
    """The loop that an edge closes in a tree."""
    lines = []
    for k in (i, j):
        line = [k]
        while parent[line[-1]] >= 0:
            line.append(int(parent[line[-1]]))
        lines.append(line)
    up, down = lines
    top = next(k for k in up if k in down)
    return [*up[: up.index(top) + 1], *reversed(down[: down.index(top)]), i]
