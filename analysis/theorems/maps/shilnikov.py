"""Shilnikov's inequality at a saddle focus: with a homoclinic orbit it gives horseshoes."""

import numpy as np

from analysis.dynamics.validated.balls import BallFunction
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, known, theorem
from analysis.theorems.exactly import BITS, above_zero
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import point, written
from analysis.theorems.stability.routh_hurwitz import characteristic_polynomial
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


@theorem
def shilnikov(flow: AbstractFlow, near: ArrayLike, *, homoclinic: bool | None = None) -> Conditions:
    """Check Shilnikov's inequality at a saddle focus: the real eigenvalue is larger than the real part of the pair.

    With the characteristic polynomial p, its trace T and real eigenvalue c > 0, all signs are those of numbers: the
    discriminant, p(0), p(T) and p(-T) are negative exactly if there is a complex pair, c > 0, the real part r of the
    pair is negative, and c + r > 0. If c < 0, time is reversed.

    Args:
        flow: an autonomous flow of three components on Euclidean space.
        near: a point near the saddle focus, (3,).
        homoclinic: whether there is an orbit from the equilibrium to itself, as another proof says; unknown by default.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, section 6.3 (L. Shilnikov 1965).

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import shilnikov
        >>> roessler = ds.system("x' = -y - z; y' = x + 0.2*y; z' = 0.2 + z*(x - 5.7)")
        >>> found = shilnikov(roessler, [0.0, 0.0, 0.0])
        >>> found.status, [one.words for one in found.hypotheses if one.status != "holds"]
        ('undecided', ['an orbit leads from the equilibrium to itself'])
    """
    at = point("near", near, 3)
    field = field_of(flow, 3, "Shilnikov's theorem")
    equations = BallFunction(field, 3)
    found = zero_near(equations, at)
    if found is None:
        raise ArgumentError("near", "be near a regular equilibrium", "leads to none that can be certified")
    state = np.array([float(v.mid()) for v in found])
    J = np.array([[float(v.mid()) for v in row] for row in equations.jacobian(found)])
    values = np.linalg.eigvals(J)
    real = float(values[np.argmin(np.abs(values.imag))].real)
    way = 1.0 if real > 0 else -1.0
    with arithmetic(BITS, 1):
        one, b, c, d = characteristic_polynomial(way * equations.jacobian(found))
        at_value = lambda s: ((one * s + b) * s + c) * s + d
        discriminant = 18 * b * c * d - 4 * b**3 * d + b**2 * c**2 - 4 * c**3 - 27 * d**2
        signs = (-discriminant, -d, -at_value(-b), -at_value(b))
        c_name = "the real eigenvalue c"
        rows = [
            Hypothesis("the equilibrium is regular", f"f(x) = 0 at {written(state)}", HOLDS, decided="balls"),
            above_zero("the eigenvalues are a real one and a complex pair", "discriminant < 0", signs[0]),
            above_zero(f"{c_name} {'repels' if way > 0 else 'attracts'}", f"c {'>' if way > 0 else '<'} 0", signs[1]),
            above_zero(f"the pair {'attracts' if way > 0 else 'repels'}", f"r {'<' if way > 0 else '>'} 0", signs[2]),
            above_zero("Shilnikov's inequality", "|c| > |r|", signs[3]),
        ]  # fmt: skip
    pair = values[np.argmax(values.imag)]
    told = known("an orbit leads from the equilibrium to itself", "homoclinic", homoclinic, "told")
    return Conditions(
        "Shilnikov's theorem",
        (smooth(field, 3), *rows, told),
        "near the homoclinic orbit there are horseshoes and infinitely many periodic orbits of saddle type",
        "horseshoes near a homoclinic orbit are not implied",
        None, flow, {"c": real, "r": float(pair.real), "speed": float(pair.imag)},
    )  # fmt: skip
