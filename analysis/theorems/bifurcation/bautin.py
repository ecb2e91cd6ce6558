"""The theorem on Bautin points (generalised Hopf): Hopf points at which the first Lyapunov coefficient vanishes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.balls import Balls, balls
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
    named,
    no_zero,
    normal_form,
    numbers,
    others,
    two_parameters,
)
from analysis.theorems.bifurcation.forms import Forms, Varying, along, joined
from analysis.theorems.bifurcation.pairs import eigenpair, nearest_pair
from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim.systems.parameter import Parameter

NAME = "Bautin bifurcation (generalised Hopf)"
OTHERWISE = "the point is no generic Bautin point"


@theorem
@arithmetic(BITS, TERMS)
def bautin(parameters: Sequence[Parameter], values: ArrayLike, near: ArrayLike) -> Conditions:
    """Check the conditions of a Bautin point of a flow: a Hopf point whose first Lyapunov coefficient vanishes.

    The point is certified as a regular zero of f = 0, A q = i w q and of the equations of the centre manifold up to
    third order, in which Re c1 = 0; the second Lyapunov coefficient is enclosed there, for |q| = <p, q> = 1.

    Args:
        parameters: two parameters of one flow of at least two components.
        values: their values near the point, (2,).
        near: the equilibrium near the point, (n,).

    Raises:
        ValueError: for bad input, no complex pair of eigenvalues nearby, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, sections 8.3 and 8.7.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import bautin
        >>> text = "r2 = x^2 + y^2; x' = a*x - y + b*x*r2 - x*r2^2; y' = x + a*y + b*y*r2 - y*r2^2"
        >>> flow = ds.system(text, a=0.1, b=0.1)
        >>> both = ds.Parameter(flow, "a", -1.0, 1.0), ds.Parameter(flow, "b", -1.0, 1.0)
        >>> found = bautin(both, [0.01, 0.01], [0.0, 0.0])
        >>> found.applies, found.numbers["l2"]
        (True, -4.0)
    """
    given, at, start = two_parameters(parameters), point("near", near), point("values", values, 2)
    n, m = len(at), len(at) + 2
    forms = forms_of(given, n, "the theorem on Bautin points")
    x = balls([*at, *start])
    pair, q, k = nearest_pair(numbers(forms.jacobian(x))[:, :n])
    system = _BautinSystem(forms, n, k)
    words, sense = "a simple pair of eigenvalues is imaginary", "f = 0, A q = i w q, Re c1 = 0"
    follows, found = "periodic orbits meet on a curve of folds that starts at the point", {}
    z = zero_near(ExtendedSystem(forms, system.at_the_point), system.start(x, q, pair))
    if z is None:
        return Conditions(NAME, no_zero(words, sense), follows, OTHERWISE, None, given[0].system)
    x, u, v, w = z[:m], z[m : m + n], z[m + n : m + 2 * n], z[m + 2 * n]
    A, where, i_w = forms.jacobian(x)[:, :n], numbers(x), imaginary_unit() * w
    null = NullSpace(shifted(A, i_w), complexes(u) + complexes(v) * imaginary_unit())
    found = named(given, where[n:])
    place = located(sense, where, given)
    rows = [different_from_zero(words, place, null.determinant * w), others(A, [0, w**2])]
    with normal_form(rows):
        c2 = centre_manifold(forms, x, A, null, lambda j, k: i_w * (j - k), 5)[1][1]
        second = c2.real / w / null.size**2
        slopes = ExtendedSystem(forms, system.around).jacobian(np.concatenate([z, balls([0.0, 0.0])]))
        matrix, right = np.delete(slopes, (n, n + 1), axis=1), -slopes[:, n:m]
        moved = flint().arb_mat(matrix.tolist()).solve(flint().arb_mat(right.tolist()))
        last = len(z) - 2
        unfolds = (moved[last, 0] * moved[last + 1, 1] - moved[last, 1] * moved[last + 1, 0]) / null.size
        rows += [
            different_from_zero("the second Lyapunov coefficient is not zero", "l2 != 0", second),
            different_from_zero("the parameters unfold the point", "det d(Re lambda, Re c1) / d(a, b) != 0", unfolds),
        ]
        found["l2"] = float(second.mid())
        outer, inner = ("stable", "unstable") if bool(second < 0) else ("unstable", "stable")
        follows = f"{follows}; of two near it the outer one is {outer} on the centre manifold, the inner one {inner}"
    return Conditions(NAME, tuple(rows), follows, OTHERWISE, None, given[0].system, found)


class _BautinSystem:
    """Equations whose zeros are Bautin points: of the eigenvector and of the centre manifold up to third order.

    Unknown are the state and both parameters, the eigenvector u + i v, its frequency, h11, h20 = c + i d,
    h21 = r + i s and the imaginary part of c1; the real parts of the eigenvalue and of c1 are zero at the point.
    """

    def __init__(self, forms: Forms, n: int, k: int):
        self.forms, self.n, self.k = forms, n, k

    def at_the_point(self, z: Varying) -> Varying:
        """Equations at a point where both real parts are zero."""
        return self.around(joined(z, z.fixed([0.0, 0.0])))

    def around(self, z: Varying) -> Varying:
        """Equations with the real parts as further unknowns, at the end."""
        n, k, forms = self.n, self.k, self.forms
        x, (u, v), w = z[: n + 2], (z[n + 2 : 2 * n + 2], z[2 * n + 2 : 3 * n + 2]), z[3 * n + 2 : 3 * n + 3]
        h, c, d, r, s = (z[(3 + j) * n + 3 : (4 + j) * n + 3] for j in range(5))
        turn, growth, real = z[-3:-2], z[-2:-1], z[-1:]
        B, C = (lambda *y: along(forms, x, *y)), (lambda *y: along(forms, x, *y))
        cubic = 0.5 * (C(u, u, u) + C(u, v, v)) + B(u, h) + B(u, c) + B(v, d)
        other = 0.5 * (C(u, u, v) + C(v, v, v)) + B(v, h) + B(u, d) - B(v, c)
        return joined(
            along(forms, x), eigenpair(forms, x, (u, v), (growth, w), k),
            B(h) + B(u, u) + B(v, v),
            B(c) + 0.5 * (B(u, u) - B(v, v)) + 2.0 * (w * d), B(d) + B(u, v) - 2.0 * (w * c),
            B(r) + w * s + cubic - real * u + turn * v, B(s) - w * r + other - real * v - turn * u,
            r[k : k + 1], s[k : k + 1],
        )  # fmt: skip

    def start(self, x: Balls, q: np.ndarray, value: complex) -> np.ndarray:
        """Start of the search: the vectors of the normal form at the point as given."""
        A = self.forms.jacobian(x)[:, : self.n]
        turn = imaginary_unit() * value.imag
        null = NullSpace(shifted(A, value), complexes(q))
        try:
            h, c = centre_manifold(self.forms, x, A, null, lambda j, k: turn * (j - k), 4)
            parts = [np.real(_numbers(h[1, 1])), _numbers(h[2, 0]), _numbers(h[2, 1] - h[2, 1][self.k] * null.q)]
            last = float(c[0].imag.mid())
        except ZeroDivisionError:
            parts, last = [np.zeros(self.n), *np.zeros((2, self.n), complex)], 0.0
        vectors = [np.real(q), np.imag(q), [value.imag], parts[0]]
        return np.concatenate(
            [numbers(x), *vectors, *(f(one) for one in parts[1:] for f in (np.real, np.imag)), [last]]
        )


def _numbers(values: Any) -> np.ndarray:
    return np.array([complex(float(v.real.mid()), float(v.imag.mid())) for v in values])
