"""The theorem on period doubling (flip): the conditions under which a cycle of period two leaves a fixed point."""

import numpy as np

from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.cycles import CycleForms
from analysis.theorems.bifurcation.eigenspaces import NullSpace, complexes, inner, real_parts, shifted, solved
from analysis.theorems.bifurcation.extended import (
    BITS,
    TERMS,
    ExtendedSystem,
    largest,
    located,
    no_zero,
    normal_form,
    numbers,
    others,
)
from analysis.theorems.bifurcation.forms import Varying, along, joined
from analysis.theorems.bifurcation.pairs import rate
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.systems.parameter import Parameter

NAME = "Period doubling (flip)"
OTHERWISE = "the point is no generic flip"


@theorem
@arithmetic(BITS, TERMS)
def flip(parameter: Parameter, value: float, near: ArrayLike, *, period: int = 1) -> Conditions:
    """Check the conditions of a period doubling (flip) of a map near a point: multiplier -1, speed, cubic coefficient.

    The point is certified as a regular zero of f = x, A q = -q for the state, the parameter and the eigenvector, and
    for a cycle of the same equations with the iterate f^period. On the centre manifold the iterate is u to
    -u + cubic u^3 + ..., for <p, q> = 1 and |q|^2 with the mean 1 along the cycle, so that the number is the same at
    all of its points.

    Args:
        parameter: a map with the parameter.
        value: the parameter near the bifurcation.
        near: the fixed point, or a point of the cycle, near the bifurcation, (n,).
        period: the number of points of the cycle.

    Raises:
        ValueError: for bad input, or a map that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, sections 4.5 and 5.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import flip
        >>> logistic = ds.Parameter(ds.system("x[n+1] = r*x*(1 - x)", r=2.9), "r", 2.0, 4.0)
        >>> found = flip(logistic, 2.9, [0.65])
        >>> found.applies, {name: round(number, 6) for name, number in found.numbers.items()}
        (True, {'r': 3.0, 'cubic': 9.0, 'speed': -1.0})
    """
    at, start = point("near", near), float(real("value", value))
    n = len(at)
    cycle = CycleForms(parameter, n, "the theorem on period doubling", period)
    forms = cycle.forms
    A = numbers(forms.jacobian(balls([*at, start])))[:, :n]
    q = np.linalg.svd(A + np.eye(n))[2][-1]
    k = largest(q)

    def equations(z: Varying) -> Varying:
        x, q = z[: n + 1], z[n + 1 :]
        return joined(along(forms, x) - x[:n], along(forms, x, q) + q, q[k : k + 1] - 1.0)

    z = zero_near(ExtendedSystem(forms, equations), np.concatenate([at, [start], q / q[k]]))
    words, sense = "a simple multiplier is -1", f"{cycle.equation}, A q = -q"
    follows, found = f"a cycle of twice the period leaves the {cycle.object}", {}
    if z is None:
        return Conditions(NAME, no_zero(words, sense), follows, OTHERWISE, None, parameter.system)
    x, q = z[: n + 1], z[n + 1 :]
    A, where = forms.jacobian(x), numbers(x)
    null = NullSpace(shifted(A[:, :n], -1), q)
    place = located(sense, where, [parameter])
    rows = [
        *cycle.least_period(x),
        different_from_zero(words, place, null.determinant),
        others(A[:, :n], [1], is_map=True),
    ]
    with normal_form(rows):
        M = A - balls(np.eye(n, n + 1))
        speed = rate(forms, x, M, null).real
        h = real_parts(solved(complexes(M[:, :n]), forms(x, q, q)))
        cubic = inner(null.p, forms(x, q, q, q) / 6 - forms(x, q, h) / 2).real / cycle.mean_square(x, null.q)
        rows += [
            different_from_zero("the multiplier crosses -1", "d mu / da != 0", speed),
            different_from_zero(
                "the cubic coefficient is not zero", "<p, C(q, q, q) / 6 - B(q, (A - 1)^-1 B(q, q)) / 2> != 0", cubic
            ),
        ]
        found = {parameter.name: float(where[n]), "cubic": float(cubic.mid()), "speed": float(speed.mid())}
        side, kind = ("supercritical", "stable") if bool(cubic > 0) else ("subcritical", "unstable")
        twice = "two" if cycle.period == 1 else 2 * cycle.period
        doubled = f"a cycle of period {twice}, {kind} on the centre manifold"
        follows = f"a {side} flip: {doubled}, leaves the {cycle.object}"
    return Conditions(NAME, tuple(rows), follows, OTHERWISE, None, parameter.system, found)
