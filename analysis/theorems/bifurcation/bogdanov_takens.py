"""The theorem of Bogdanov and Takens: the conditions under which folds, Hopf points and homoclinic orbits meet."""

from collections.abc import Sequence

import numpy as np

from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.eigenspaces import bordered, complexes, real_parts, solved
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

NAME = "Theorem of Bogdanov and Takens"
OTHERWISE = "the point is no generic Bogdanov-Takens point"


@theorem
@arithmetic(BITS, TERMS)
def bogdanov_takens(parameters: Sequence[Parameter], values: ArrayLike, near: ArrayLike) -> Conditions:
    """Check the conditions of a Bogdanov-Takens point of a flow: a double eigenvalue zero with one eigenvector.

    The point is certified as a regular zero of f = 0, A q0 = 0, A q1 = q0 for the state, the parameters and the
    vectors. On the centre manifold the flow is u' = v, v' = square u^2 + mixed u v + ..., with
    square > 0 for |q0| = 1.

    Args:
        parameters: two parameters of one flow of at least two components.
        values: their values near the point, (2,).
        near: the equilibrium near the point, (n,).

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, sections 8.4 and 8.7.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import bogdanov_takens
        >>> flow = ds.system("x' = y; y' = s + r*x + x^2 - x*y", s=0.1, r=0.1)
        >>> both = ds.Parameter(flow, "s", -1.0, 1.0), ds.Parameter(flow, "r", -1.0, 1.0)
        >>> found = bogdanov_takens(both, [0.05, 0.05], [0.1, 0.0])
        >>> found.applies, found.numbers["square"], found.numbers["mixed"]
        (True, 1.0, -1.0)
    """
    given, at, start = two_parameters(parameters), point("near", near), point("values", values, 2)
    n, m = len(at), len(at) + 2
    forms = forms_of(given, n, NAME)
    J = numbers(forms.jacobian(balls([*at, *start])))[:, :n]
    left, sizes, right = np.linalg.svd(J)
    k = largest(right[-1])
    q0 = right[-1] / right[-1][k]
    q1 = right[:-1].T @ (left[:, :-1].T @ q0 / np.maximum(sizes[:-1], 1e-300))
    q1 = q1 - q1[k] * q0

    def equations(z: Varying) -> Varying:
        x, q0, q1 = z[:m], z[m : m + n], z[m + n :]
        chain = joined(along(forms, x, q0), along(forms, x, q1) - q0)
        return joined(along(forms, x), chain, q0[k : k + 1] - 1.0, q1[k : k + 1])

    z = zero_near(ExtendedSystem(forms, equations), np.concatenate([at, start, q0, q1]))
    words, sense = "a double eigenvalue is zero, with one eigenvector", "f = 0, A q0 = 0, A q1 = q0"
    follows, found = "curves of folds, Hopf points and homoclinic orbits meet at the point", {}
    if z is None:
        return Conditions(NAME, no_zero(words, sense), follows, OTHERWISE, None, given[0].system)
    x, q0, q1 = z[:m], z[m : m + n], z[m + n :]
    J, where = forms.jacobian(x), numbers(x)
    border = bordered(complexes(J[:, :n].T), complexes(q0), complexes(q1))
    found = named(given, where[n:])
    place = located(sense, where, given)
    rows = [
        different_from_zero(words, place, flint().acb_mat(border.tolist()).det().real),
        others(J[:, :n], [0, 0]),
    ]
    with normal_form(rows):
        p1 = real_parts(solved(border, complexes([0] * n + [1])))[:-1]
        p0 = real_parts(solved(border, np.append(p1, balls([0.0]))))[:-1]
        bends, length = forms(x, q0, q0), (q0 @ q0).sqrt()
        square, mixed = p1 @ bends / 2 / length, (p0 @ bends + p1 @ forms(x, q0, q1)) / length
        square, mixed = (-square, -mixed) if bool(square < 0) else (square, mixed)
        units = balls(np.eye(m))
        falls = [p1 @ forms(x, q0, e) for e in units]
        traces = [p0 @ forms(x, q0, e) + p1 @ forms(x, q1, e) for e in units]
        unfolds = flint().arb_mat([*J.tolist(), falls, traces]).det()
        rows += [
            different_from_zero("the coefficient of u^2 is not zero", "<p1, B(q0, q0)> / 2 != 0", square),
            different_from_zero("the coefficient of u v is not zero", "<p0, B(q0, q0)> + <p1, B(q0, q1)> != 0", mixed),
            different_from_zero(
                "the parameters unfold the point", "det d(f, determinant, trace) / d(x, parameters) != 0", unfolds
            ),
        ]
        found |= {"square": float(square.mid()), "mixed": float(mixed.mid())}
        kind = "stable" if bool(mixed < 0) else "unstable"
        follows = f"{follows}; periodic orbits nearby are {kind} on the centre manifold"
    return Conditions(NAME, tuple(rows), follows, OTHERWISE, None, given[0].system, found)
