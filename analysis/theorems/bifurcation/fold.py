"""Sotomayor's theorem: the conditions of a fold (saddle-node) bifurcation."""

import numpy as np

from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.eigenspaces import NullSpace, inner, shifted
from analysis.theorems.bifurcation.extended import (
    BITS,
    TERMS,
    ExtendedSystem,
    forms_of,
    largest,
    located,
    no_zero,
    numbers,
)
from analysis.theorems.bifurcation.forms import Varying, along, joined
from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.systems.parameter import Parameter

NAME = "Sotomayor's theorem (fold)"
FOLLOWS = "two equilibria meet at the point, and there are none beyond it"
OTHERWISE = "the point is no generic fold"


@theorem
@arithmetic(BITS, TERMS)
def fold(parameter: Parameter, value: float, near: ArrayLike) -> Conditions:
    """Check the conditions of a fold at which two equilibria meet and vanish, as a parameter passes a value nearby.

    The point is certified as a regular zero of f = 0, A q = 0 for the state, the parameter and the null vector q, and
    the conditions are enclosed in balls there, for |q| = <p, q> = 1 with the null vector p of the adjoint.

    Args:
        parameter: a flow with the parameter.
        value: the parameter near the fold.
        near: the state near the fold, (n,).

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, theorem 3.1 and section 5.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import fold
        >>> flow = ds.system("x' = mu - x^2; y' = -y", mu=0.1)
        >>> fold(ds.Parameter(flow, "mu", -1.0, 1.0), 0.01, [0.05, 0.0]).applies
        True
    """
    at, start = point("near", near), float(real("value", value))
    rows, found = _decided(parameter, start, at)
    return Conditions(NAME, rows, FOLLOWS, OTHERWISE, None, parameter.system, found)


def _decided(parameter: Parameter, start: float, at: np.ndarray) -> tuple[tuple[Hypothesis, ...], dict[str, float]]:
    n = len(at)
    forms = forms_of((parameter,), n, "Sotomayor's theorem")
    q = np.linalg.svd(numbers(forms.jacobian(balls([*at, start])))[:, :n])[2][-1]
    k = largest(q)

    def equations(z: Varying) -> Varying:
        x, q = z[: n + 1], z[n + 1 :]
        return joined(along(forms, x), along(forms, x, q), q[k : k + 1] - 1.0)

    z = zero_near(ExtendedSystem(forms, equations), np.concatenate([at, [start], q / q[k]]))
    words, sense = "an eigenvalue is zero, and only one", "f = 0, A q = 0, |q| = 1"
    if z is None:
        return no_zero(words, sense), {}
    x, q, J = z[: n + 1], z[n + 1 :], forms.jacobian(z[: n + 1])
    null, where = NullSpace(shifted(J[:, :n], 0), q), numbers(x)
    place = located(sense, where, [parameter])
    rows = [different_from_zero(words, place, null.determinant)]
    if rows[0].status == HOLDS:
        bends, moves = inner(null.p, forms(x, q, q)).real / null.size.sqrt() / 2, inner(null.p, J[:, n]).real
        rows += [
            different_from_zero("the quadratic coefficient is not zero", "<p, B(q, q)> / 2 != 0", bends),
            different_from_zero("the parameter unfolds the point", "<p, df/da> != 0", moves * null.size.sqrt()),
        ]
    return tuple(rows), {parameter.name: float(where[n])}
