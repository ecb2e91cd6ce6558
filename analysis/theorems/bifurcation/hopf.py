"""Hopf's theorem: the conditions under which a family of periodic orbits leaves an equilibrium."""

import numpy as np

from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.centre_manifold import centre_manifold
from analysis.theorems.bifurcation.eigenspaces import NullSpace, complexes, imaginary_unit, shifted
from analysis.theorems.bifurcation.extended import (
    BITS,
    TERMS,
    ExtendedSystem,
    forms_of,
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

NAME = "Hopf's theorem"
OTHERWISE = "the point is no generic Hopf point"


@theorem
@arithmetic(BITS, TERMS)
def hopf(parameter: Parameter, value: float, near: ArrayLike) -> Conditions:
    """Check the conditions of Hopf's theorem near a point: eigenvalues on the axis, speed, first Lyapunov coefficient.

    The point is certified as a regular zero of f = 0, A q = i w q for the state, the parameter, the eigenvector and the
    frequency; the conditions are enclosed in balls there, for |q| = <p, q> = 1 with the adjoint eigenvector p.

    Args:
        parameter: a flow of at least two components with the parameter.
        value: the parameter near the Hopf point.
        near: the equilibrium near the Hopf point, (n,).

    Raises:
        ValueError: for bad input, no complex pair of eigenvalues nearby, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, theorem 3.3 and section 5.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import hopf
        >>> lorenz = ds.Parameter(ds.catalogue.Lorenz(rho=24.0), "rho", 20.0, 30.0)
        >>> found = hopf(lorenz, 24.7, [7.9, 7.9, 23.7])
        >>> found.applies, round(found.numbers["rho"], 6), found.numbers["l1"] > 0
        (True, 24.736842, True)
    """
    at, start = point("near", near), float(real("value", value))
    n = len(at)
    forms = forms_of((parameter,), n, NAME)
    pair, q, k = nearest_pair(numbers(forms.jacobian(balls([*at, start])))[:, :n])

    def equations(z: Varying) -> Varying:
        x, u, v, w = z[: n + 1], z[n + 1 : 2 * n + 1], z[2 * n + 1 : -1], z[-1:]
        return joined(along(forms, x), eigenpair(forms, x, (u, v), (z.fixed([0.0]), w), k))

    guess = np.concatenate([at, [start], np.real(q), np.imag(q), [pair.imag]])
    z = zero_near(ExtendedSystem(forms, equations), guess)
    words, sense = "a simple pair of eigenvalues is imaginary", "f = 0, A q = i w q"
    follows, found = "a family of periodic orbits leaves it", {}
    if z is None:
        return Conditions(NAME, no_zero(words, sense), follows, OTHERWISE, None, parameter.system)
    x, u, v, w = z[: n + 1], z[n + 1 : 2 * n + 1], z[2 * n + 1 : -1], z[-1]
    J, where, i_w = forms.jacobian(x), numbers(x), imaginary_unit() * w
    null = NullSpace(shifted(J[:, :n], i_w), complexes(u) + complexes(v) * imaginary_unit())
    place = f"{located(sense, where, [parameter])}, w = {abs(float(w.mid())):.8g}"
    rows = [different_from_zero(words, place, null.determinant * w), others(J[:, :n], [0, w**2])]
    with normal_form(rows):
        speed = rate(forms, x, J, null).real
        first = centre_manifold(forms, x, J[:, :n], null, lambda j, k: i_w * (j - k), 3)[1][0].real / w / null.size
        rows += [
            different_from_zero("the pair crosses the axis", "d Re lambda / da != 0", speed),
            different_from_zero("the first Lyapunov coefficient is not zero", "l1 != 0", first),
        ]
        found = {parameter.name: float(where[n]), "l1": float(first.mid()), "speed": float(speed.mid())}
        side, kind = ("supercritical", "stable") if bool(first < 0) else ("subcritical", "unstable")
        follows = f"a {side} Hopf bifurcation: periodic orbits, {kind} on the centre manifold, leave the equilibrium"
    return Conditions(NAME, tuple(rows), follows, OTHERWISE, None, parameter.system, found)
