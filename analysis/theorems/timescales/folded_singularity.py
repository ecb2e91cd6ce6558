"""Folded singularities of systems with one fast and two slow components: nodes and saddles have canards."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.exactly import above_zero, different_from_zero, in_balls
from analysis.theorems.fields import field_of
from analysis.theorems.regions import point, written
from analysis.theorems.stability.routh_hurwitz import characteristic_polynomial
from analysis.theorems.timescales.critical_manifolds import fast_components
from dynsim._core.types import ArrayLike
from dynsim.systems.base import AbstractFlow

NAME = "Folded singularity of Szmolyan and Wechselberger"


@theorem
def folded_singularity(flow: AbstractFlow, near: ArrayLike, fast: Sequence[int] = (0,)) -> Conditions:
    """Check whether there are canards at a folded singularity: a folded node or a folded saddle, but no focus.

    With x the fast component, f its field and g those of the slow ones y, the desingularised slow flow is
    x' = df/dy . g, y' = -df/dx g. Its equilibria on the fold, f = df/dx = df/dy . g = 0, are the folded singularities,
    and two of its eigenvalues there tell their kind; the third is zero.

    Args:
        flow: an autonomous flow of three components, the small parameter at any positive value.
        near: a point near the folded singularity, (3,).
        fast: the index of the fast component.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: P. Szmolyan and M. Wechselberger, Canards in R^3, J. Differential Equations 177 (2001) 419,
    sections 3 and 4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import folded_singularity
        >>> node = ds.system("x' = (y - x^2)/0.01; y' = -1.2*x - z; z' = 0.1")
        >>> found = folded_singularity(node, [0.1, 0.0, 0.0])
        >>> found.applies, round(found.numbers["mu"], 9)
        (True, 0.2)
    """
    at = point("near", near, 3)
    (k,) = fast_components(fast, 3, 1)
    field = field_of(flow, 3, "folded singularities")
    slow = [j for j in range(3) if j != k]
    slopes = jax.grad(lambda x: field(x)[k])

    def desingularised(x: Any) -> Any:
        g, df = field(x), slopes(x)
        along = sum((df[j] * g[j] for j in slow), jnp.zeros(()))
        return jnp.stack([along if j == k else -df[k] * g[j] for j in range(3)])

    equations = lambda x: jnp.stack([field(x)[k], slopes(x)[k], desingularised(x)[k]])
    found = zero_near(BallFunction(equations, 3), at)
    words, sense = "the slow flow meets the fold in a folded singularity", "f = 0, df/dx = 0, df/dy . g = 0"
    rows: list[Hypothesis] = []
    numbers: dict[str, float] = {}
    kind = "folded singularity"
    if found is None:
        rows.append(Hypothesis(words, f"{sense} has a regular zero nearby", UNDECIDED, decided="balls"))
    else:
        middle = np.array([float(v.mid()) for v in found])
        _, b, c, _ = characteristic_polynomial(BallFunction(desingularised, 3).jacobian(found))
        kind = "folded saddle" if bool(c < 0) else "folded node"
        rows += [
            Hypothesis(words, f"{sense} at {written(middle)}", HOLDS, decided="balls"),
            different_from_zero("the fold is nondegenerate", "d2f/dx2 != 0",
                                in_balls(lambda x: jax.jacfwd(slopes)(x)[k, k], found)),
            above_zero("the critical manifold is regular", "|df/dy|^2 > 0",
                       in_balls(lambda x: sum((slopes(x)[j] ** 2 for j in slow), jnp.zeros(())), found)),
            *_kind(b, c),
        ]  # fmt: skip
        spread = float((b**2 - 4 * c).mid())
        if spread > 0:
            ends = sorted(((-float(b.mid()) + s * spread**0.5) / 2 for s in (-1, 1)), key=abs)
            numbers = {"mu": ends[0] / ends[1]} if ends[1] else {}
    follows = {
        "folded saddle": "a canard leads from the attracting to the repelling slow manifold through a folded saddle",
        "folded node": "a whole sector of solutions passes a folded node, bounded by a strong canard, with a weak "
        "canard unless 1/mu is an integer; mu is the ratio of the eigenvalues",
    }.get(kind, "canards lead from the attracting to the repelling slow manifold")
    return Conditions(NAME, tuple(rows), follows, "canards are not implied", None, flow, numbers)


def _kind(b: Any, c: Any) -> list[Hypothesis]:
    """Decide whether the two eigenvalues, with the sum -b and the product c, are those of a saddle or a stable node."""
    if not bool(c > 0):
        return [different_from_zero("no eigenvalue on the critical manifold is zero", "l1 l2 != 0", c)]
    return [
        above_zero("the eigenvalues on the critical manifold are real", "(l1 + l2)^2 > 4 l1 l2", b**2 - 4 * c),
        above_zero("the slow flow leads to the singularity from the attracting side", "l1 + l2 < 0", b),
    ]
