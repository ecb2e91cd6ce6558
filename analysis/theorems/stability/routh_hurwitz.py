"""The criterion of Routh and Hurwitz at a certified equilibrium."""

from collections.abc import Sequence
from typing import Any

from analysis.dynamics.validated.balls import BallFunction
from analysis.dynamics.validated.enclosures import ball_box
from analysis.dynamics.validated.equilibria import certified_equilibrium
from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, theorem
from analysis.theorems.exactly import above_zero
from analysis.theorems.fields import field_of
from analysis.theorems.regions import point, written
from dynsim._core.types import ArrayLike
from dynsim.systems.base import AbstractFlow


@theorem
def routh_hurwitz(flow: AbstractFlow, near: ArrayLike) -> Conditions:
    """Check by the criterion of Routh and Hurwitz whether all eigenvalues at an equilibrium have negative real parts.

    The equilibrium is certified, and the characteristic polynomial and its Hurwitz determinants are computed in balls.

    Args:
        flow: an autonomous flow on Euclidean space.
        near: a point near a regular equilibrium, (n,).

    Raises:
        ValueError: for bad input, no regular equilibrium nearby, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: F. Gantmacher, The Theory of Matrices, volume 2, Chelsea 1959, chapter XV.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import routh_hurwitz
        >>> routh_hurwitz(ds.catalogue.Lorenz(rho=20.0), [7.0, 7.0, 19.0]).applies
        True
    """
    at = point("near", near)
    field = field_of(flow, len(at), "the criterion of Routh and Hurwitz")
    proof = certified_equilibrium(flow, at)
    sides = proof.enclosure
    J = BallFunction(field, len(at)).jacobian(ball_box(sides[:, 0], sides[:, 1]))
    coefficients = characteristic_polynomial(J)
    rows = [
        Hypothesis("the equilibrium is regular", f"f(x) = 0 at {written(proof.state)}", HOLDS, decided="balls"),
        *(above_zero(f"Hurwitz determinant {k}", f"D_{k} > 0", d) for k, d in enumerate(hurwitz(coefficients), 1)),
    ]
    return Conditions(
        "Criterion of Routh and Hurwitz",
        tuple(rows),
        "all eigenvalues have negative real parts, so that the equilibrium is exponentially stable",
        "an eigenvalue has a real part that is not negative, so that the equilibrium is not exponentially stable",
        None, flow,
    )  # fmt: skip


def characteristic_polynomial(J: Any) -> list[Any]:
    """Coefficients of det(s - J), the leading one first."""
    import flint

    found = flint.arb_mat([list(row) for row in J]).charpoly()
    return [found[k] for k in range(found.degree(), -1, -1)]


def hurwitz(coefficients: Sequence[Any]) -> list[Any]:
    """The leading principal minors of the Hurwitz matrix of a polynomial with leading coefficient 1."""
    import flint

    n = len(coefficients) - 1
    entry = lambda i, j: coefficients[2 * j - i + 1] if 0 <= 2 * j - i + 1 <= n else flint.arb(0)
    matrix = [[entry(i, j) for j in range(n)] for i in range(n)]
    return [flint.arb_mat([row[:k] for row in matrix[:k]]).det() for k in range(1, n + 1)]
