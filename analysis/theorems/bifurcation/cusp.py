"""The cusp theorem: the conditions under which two curves of folds meet at a point of the plane of two parameters."""

from collections.abc import Sequence

import numpy as np

from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.eigenspaces import NullSpace, inner, real_parts, shifted
from analysis.theorems.bifurcation.extended import (
    BITS,
    TERMS,
    ExtendedSystem,
    forms_of,
    largest,
    located,
    named,
    no_zero,
    normal_form,
    numbers,
    others,
    two_parameters,
)
from analysis.theorems.bifurcation.forms import Varying, along, joined
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim.systems.parameter import Parameter

NAME = "Cusp bifurcation"
OTHERWISE = "the point is no generic cusp"


@theorem
@arithmetic(BITS, TERMS)
def cusp(parameters: Sequence[Parameter], values: ArrayLike, near: ArrayLike) -> Conditions:
    """Check the conditions of a cusp of a flow near a point: zero eigenvalue, no quadratic term, cubic coefficient.

    The point is certified as a regular zero of f = 0, A q = 0, A h + B(q, q) = 0 for the state, the parameters and the
    vectors. On the centre manifold the flow is u' = cubic u^3 + ..., for |q| = <p, q> = 1.

    Args:
        parameters: two parameters of one flow.
        values: their values near the cusp, (2,).
        near: the equilibrium near the cusp, (n,).

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, sections 8.2 and 8.7.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import cusp
        >>> flow = ds.system("x' = a + b*x - x^3", a=0.1, b=0.1)
        >>> both = ds.Parameter(flow, "a", -1.0, 1.0), ds.Parameter(flow, "b", -1.0, 1.0)
        >>> found = cusp(both, [0.1, 0.1], [0.05])
        >>> found.applies, found.numbers["cubic"]
        (True, -1.0)
    """
    given, at, start = two_parameters(parameters), point("near", near), point("values", values, 2)
    n, m = len(at), len(at) + 2
    forms = forms_of(given, n, "the cusp theorem")
    x = balls([*at, *start])
    J = numbers(forms.jacobian(x))[:, :n]
    q = np.linalg.svd(J)[2][-1]
    k = largest(q)
    q = q / q[k]
    h = np.linalg.lstsq(np.vstack([J, np.eye(n)[k]]), -np.append(numbers(forms(x, balls(q), balls(q))), 0), rcond=None)[
        0
    ]

    def equations(z: Varying) -> Varying:
        x, q, h = z[:m], z[m : m + n], z[m + n :]
        bends = along(forms, x, h) + along(forms, x, q, q)
        return joined(along(forms, x), along(forms, x, q), bends, q[k : k + 1] - 1.0, h[k : k + 1])

    z = zero_near(ExtendedSystem(forms, equations), np.concatenate([at, start, q, h]))
    words, sense = "an eigenvalue is zero, and only one", "f = 0, A q = 0, <p, B(q, q)> = 0"
    follows, found = "one equilibrium becomes three in a wedge between two curves of folds", {}
    if z is None:
        return Conditions(NAME, no_zero(words, sense), follows, OTHERWISE, None, given[0].system)
    x, q, h = z[:m], z[m : m + n], z[m + n :]
    J, where = forms.jacobian(x), numbers(x)
    null, found = NullSpace(shifted(J[:, :n], 0), q), named(given, where[n:])
    place = located(sense, where, given)
    rows = [different_from_zero(words, place, null.determinant), others(J[:, :n], [0])]
    with normal_form(rows):
        cubic = inner(null.p, forms(x, q, q, q) + 3 * forms(x, q, h)).real / 6 / null.size
        pushes, tilts = [], []
        for j in (n, n + 1):
            pushes.append(inner(null.p, J[:, j]).real)
            branch = np.append(real_parts(null.solve(-J[:, j])), balls(np.eye(m)[j, n:]))
            tilts.append(inner(null.p, forms(x, q, branch)).real)
        unfolds = (pushes[0] * tilts[1] - pushes[1] * tilts[0]) * null.size.sqrt()
        rows += [
            different_from_zero("the cubic coefficient is not zero", "<p, C(q, q, q) + 3 B(q, h)> / 6 != 0", cubic),
            different_from_zero("the parameters unfold the point", "det d(<p, f>, d lambda) / d(a, b) != 0", unfolds),
        ]
        found["cubic"] = float(cubic.mid())
        inside = "two of them stable" if bool(cubic < 0) else "one of them stable"
        follows = f"{follows} that meet at the point, {inside} on the centre manifold"
    return Conditions(NAME, tuple(rows), follows, OTHERWISE, None, given[0].system, found)
