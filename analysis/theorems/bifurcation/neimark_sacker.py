"""The theorem of Neimark and Sacker: the conditions under which an invariant circle leaves a fixed point of a map."""

import functools

import numpy as np

from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.centre_manifold import centre_manifold
from analysis.theorems.bifurcation.cycles import CycleForms
from analysis.theorems.bifurcation.eigenspaces import NullSpace, complexes, imaginary_unit, shifted
from analysis.theorems.bifurcation.extended import (
    BITS,
    TERMS,
    ExtendedSystem,
    located,
    no_zero,
    normal_form,
    numbers,
    others,
)
from analysis.theorems.bifurcation.forms import Varying, along, joined
from analysis.theorems.bifurcation.pairs import eigenpair, nearest_pair, rate
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.systems.parameter import Parameter

NAME = "Theorem of Neimark and Sacker"
OTHERWISE = "the point is no generic Neimark-Sacker point"


@theorem
@arithmetic(BITS, TERMS)
def neimark_sacker(parameter: Parameter, value: float, near: ArrayLike, *, period: int = 1) -> Conditions:
    """Check the conditions of a Neimark-Sacker bifurcation of a map: an invariant circle leaves a fixed point.

    The point is certified as a regular zero of f = x, A q = mu q, |mu| = 1 for the state, the parameter, the
    eigenvector and the multiplier, and for a cycle of the same equations with the iterate f^period. On the centre
    manifold the iterate is w to mu w (1 + d |w|^2) + ..., for <p, q> = 1 and |q|^2 with the mean 1 along the cycle, so
    that the number `cubic`, the real part of d, is the same at all of its points.

    Args:
        parameter: a map of at least two components with the parameter.
        value: the parameter near the bifurcation.
        near: the fixed point, or a point of the cycle, near the bifurcation, (n,).
        period: the number of points of the cycle.

    Raises:
        ValueError: for bad input, no complex pair of multipliers nearby, or a map that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, sections 4.7 and 5.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import neimark_sacker
        >>> delayed = ds.Parameter(ds.system("x[n+1] = r*x*(1 - y); y[n+1] = x", r=1.9), "r", 1.0, 3.0)
        >>> found = neimark_sacker(delayed, 1.98, [0.49, 0.49])
        >>> found.applies, round(found.numbers["r"], 9), found.numbers["cubic"] < 0
        (True, 2.0, True)
    """
    at, start = point("near", near), float(real("value", value))
    n = len(at)
    cycle = CycleForms(parameter, n, NAME, period)
    forms = cycle.forms
    pair, q, k = nearest_pair(numbers(forms.jacobian(balls([*at, start])))[:, :n], is_map=True)

    def equations(z: Varying) -> Varying:
        x, u, v, c, s = z[: n + 1], z[n + 1 : 2 * n + 1], z[2 * n + 1 : -2], z[-2:-1], z[-1:]
        pair = eigenpair(forms, x, (u, v), (c, s), k)
        return joined(along(forms, x) - x[:n], pair, c * c + s * s - 1.0)

    guess = np.concatenate([at, [start], np.real(q), np.imag(q), [pair.real, pair.imag]])
    z = zero_near(ExtendedSystem(forms, equations), guess)
    words, sense = "a simple pair of multipliers is on the unit circle", f"{cycle.equation}, A q = mu q, |mu| = 1"
    circles = "an invariant circle" if cycle.period == 1 else f"a cycle of {cycle.period} circles"
    follows, found = f"{circles} leaves the {cycle.object}", {}
    if z is None:
        return Conditions(NAME, no_zero(words, sense), follows, OTHERWISE, None, parameter.system)
    x, i = z[: n + 1], imaginary_unit()
    A, where, mu = forms.jacobian(x), numbers(x), z[-2] + i * z[-1]
    null = NullSpace(shifted(A[:, :n], mu), complexes(z[n + 1 : 2 * n + 1]) + complexes(z[2 * n + 1 : -2]) * i)
    turn = float(np.arctan2(*numbers(z[[-1, -2]])))
    place = f"{located(sense, where, [parameter])}, mu = exp({turn:.8g} i)"
    gap = functools.reduce(lambda a, b: a.min(b), [abs(mu**power - 1) for power in range(1, 5)])
    rows = [
        *cycle.least_period(x),
        different_from_zero(words, place, null.determinant * z[-1]),
        others(A[:, :n], [-2 * z[-2], 1], is_map=True),
        different_from_zero("no strong resonance", "mu^k != 1 for k = 1, 2, 3, 4", gap),
    ]
    with normal_form(rows):
        value_of = lambda j, k: mu**j * mu.conjugate() ** k
        c1 = centre_manifold(forms, x, A[:, :n], null, value_of, 3)[1][0]
        cubic = (mu.conjugate() * c1).real / cycle.mean_square(x, null.q)
        speed = (mu.conjugate() * rate(forms, x, A - balls(np.eye(n, n + 1)), null)).real
        rows += [
            different_from_zero("the pair crosses the unit circle", "d |mu| / da != 0", speed),
            different_from_zero("the cubic coefficient is not zero", "Re d != 0", cubic),
        ]
        found = {parameter.name: float(where[n]), "cubic": float(cubic.mid()), "speed": float(speed.mid())}
        side, kind = ("supercritical", "stable") if bool(cubic < 0) else ("subcritical", "unstable")
        born = f"{circles}, {kind} on the centre manifold, leaves the {cycle.object}"
        follows = f"a {side} Neimark-Sacker bifurcation: {born}"
    return Conditions(NAME, tuple(rows), follows, OTHERWISE, None, parameter.system, found)
