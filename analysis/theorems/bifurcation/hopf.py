"""Hopf's theorem: the conditions under which a family of periodic orbits leaves an equilibrium."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction, Balls
from analysis.dynamics.validated.enclosures import enclosed_eigenvalues
from analysis.theorems.bifurcation.extended import Family, certified_zero, derivatives, family_of, in_balls
from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis
from analysis.theorems.regions import point, written
from analysis.theorems.signs import different_from_zero
from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

NAME = "Hopf's theorem"
SOURCE = "Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, theorem 3.3 and section 5.4"
OTHERWISE = "the point is no generic Hopf point"


@checked
def hopf(parameter: Parameter, value: float, near: ArrayLike) -> Conditions:
    """Check the conditions of Hopf's theorem near a point: eigenvalues on the axis, speed, first Lyapunov coefficient.

    The point is certified as a regular zero of a system for the state, the parameter, the eigenvectors of both sides
    and the vectors of the normal form; the conditions are enclosed in balls there.

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
    family = family_of(parameter, n, NAME)
    guess = _guess(family, at, start)
    system = _HopfSystem(family, n, guess)
    found = certified_zero(system.equations, guess)
    words = "f = 0, A q = i w q"
    if found is None:
        rows = (Hypothesis("a pair of eigenvalues is imaginary", f"{words} has a regular zero nearby", UNDECIDED,
                           decided="balls"),)  # fmt: skip
        return Conditions(
            NAME, SOURCE, rows, "a family of periodic orbits leaves it", OTHERWISE, None, parameter.system
        )
    middle = np.array([float(v.mid()) for v in found])
    frequency, where = middle[3 * n], middle[3 * n + 1]
    place = f"{words} at {written(middle[:n])}, {parameter.name} = {where:.8g}, w = {abs(frequency):.8g}"
    first, speed = in_balls(system.first_lyapunov, found), in_balls(system.speed, found)
    kind = "stable" if bool(first < 0) else "unstable"
    side = "supercritical" if bool(first < 0) else "subcritical"
    return Conditions(
        NAME,
        SOURCE,
        (
            Hypothesis("a simple pair of eigenvalues is imaginary", place, HOLDS, decided="balls"),
            _others(family, found, n),
            different_from_zero("the pair crosses the axis", "d Re lambda / da != 0", speed),
            different_from_zero("the first Lyapunov coefficient is not zero", "l1 != 0", first),
        ),
        f"a {side} Hopf bifurcation: periodic orbits, {kind} on the centre manifold, leave the equilibrium",
        OTHERWISE, None, parameter.system,
        {parameter.name: float(where), "l1": float(first.mid()), "speed": float(speed.mid())},
    )  # fmt: skip


class _HopfSystem:
    """Equations whose regular zeros are Hopf points, with the vectors from which the coefficients are made.

    Unknown are the state x, the eigenvector q = u + i v, its frequency, the parameter, the adjoint eigenvector r + i s
    with a complex slack that is zero, and h11, h20 = c + i d and dx/da.
    """

    def __init__(self, family: Family, n: int, guess: np.ndarray):
        self.family, self.n = family, n
        self.A, self.B, self.C, self.F = derivatives(family)
        self.u0, self.v0 = jnp.asarray(guess[n : 2 * n]), jnp.asarray(guess[2 * n : 3 * n])

    def split(self, z: Any) -> tuple[Any, ...]:
        n = self.n
        x, u, v, w, a = z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n], z[3 * n + 1]
        r, s, h, c, d, dx = (z[3 * n + 4 + k * n : 3 * n + 4 + (k + 1) * n] for k in range(6))
        return x, u, v, w, a, z[3 * n + 2], z[3 * n + 3], r, s, h, c, d, dx

    def equations(self, z: Any) -> Any:
        x, u, v, w, a, one, two, r, s, h, c, d, dx = self.split(z)
        A, B = (lambda y: self.A(x, a, y)), (lambda y, e: self.B(x, a, y, e))
        turned = jax.vjp(lambda y: self.family(y, a), x)[1]
        norms = jnp.stack([
            jnp.dot(u, u) + jnp.dot(v, v) - 1, jnp.dot(self.u0, v) - jnp.dot(self.v0, u),
            jnp.dot(r, u) + jnp.dot(s, v) - 1, jnp.dot(r, v) - jnp.dot(s, u),
        ])  # fmt: skip
        return jnp.concatenate([
            self.family(x, a), A(u) + w * v, A(v) - w * u,
            turned(r)[0] - w * s + one * u - two * v, turned(s)[0] + w * r + one * v + two * u,
            A(h) + B(u, u) + B(v, v),
            -2 * w * d - A(c) - B(u, u) + B(v, v), 2 * w * c - A(d) - 2 * B(u, v),
            A(dx) + self.F(x, a), norms,
        ])  # fmt: skip

    def first_lyapunov(self, z: Any) -> Any:
        x, u, v, w, a, _, _, r, s, h, c, d, _ = self.split(z)
        B, C = (lambda y, e: self.B(x, a, y, e)), (lambda y, e, g: self.C(x, a, y, e, g))
        real_part = C(u, u, u) + C(u, v, v) + 2 * B(u, h) + B(u, c) + B(v, d)
        imaginary = C(u, u, v) + C(v, v, v) + 2 * B(v, h) + B(u, d) - B(v, c)
        return (jnp.dot(r, real_part) + jnp.dot(s, imaginary)) / (2 * w)

    def speed(self, z: Any) -> Any:
        x, u, v, _, a, _, _, r, s, _, _, _, dx = self.split(z)
        changed = lambda y: jax.jvp(lambda b: self.A(x, b, y), (a,), (jnp.ones_like(a),))[1] + self.B(x, a, y, dx)
        return jnp.dot(r, changed(u)) + jnp.dot(s, changed(v))


def _guess(family: Family, at: np.ndarray, start: float) -> np.ndarray:
    """Start of the search: the eigenvectors and the vectors of the normal form at the point as given."""
    n, x, a = len(at), jnp.asarray(at), jnp.asarray(start)
    J = np.asarray(jax.jacfwd(lambda y: family(y, a))(x))
    values, vectors = np.linalg.eig(J)
    pairs = [k for k in range(n) if values[k].imag > 0]
    if not pairs:
        raise ArgumentError("near", "be near a point with a complex pair of eigenvalues", f"has {values.tolist()}")
    k = min(pairs, key=lambda j: abs(values[j].real) / abs(values[j]))
    q, w = vectors[:, k] / np.linalg.norm(vectors[:, k]), float(values[k].imag)
    left, adjoint = np.linalg.eig(J.T)
    p = adjoint[:, int(np.argmin(np.abs(left - np.conj(values[k]))))]
    p = p / np.conj(np.vdot(p, q))
    _, B, _, F = derivatives(family)
    second = lambda e, g: np.asarray(B(x, a, jnp.asarray(e), jnp.asarray(g)))
    u, v = q.real, q.imag
    h = -np.linalg.solve(J, second(u, u) + second(v, v))
    h20 = np.linalg.solve(2j * w * np.eye(n) - J, second(u, u) - second(v, v) + 2j * second(u, v))
    dx = -np.linalg.solve(J, np.asarray(F(x, a)))
    return np.concatenate([at, u, v, [w, start, 0.0, 0.0], p.real, p.imag, h, h20.real, h20.imag, dx])


def _others(family: Family, found: Balls, n: int) -> Hypothesis:
    """Decide whether the other eigenvalues at the point are off the imaginary axis."""
    if n == 2:
        return Hypothesis("no other eigenvalue is on the axis", "there are two", HOLDS, decided="algebra")
    at = np.array([*found[:n], found[3 * n + 1]], dtype=object)
    J = BallFunction(lambda z: family(z[:n], z[n]), n + 1).jacobian(at)[:, :n]
    values = enclosed_eigenvalues(J)
    parts = sorted(values, key=lambda value: abs(float(value.real.mid())))
    off = [value for value in parts if bool(value.real != 0)]
    status = HOLDS if len(off) == n - 2 else UNDECIDED
    gap = min((float(abs(value.real).lower()) for value in off), default=float("nan"))
    return Hypothesis("no other eigenvalue is on the axis", "Re lambda != 0", status, gap, "balls")
