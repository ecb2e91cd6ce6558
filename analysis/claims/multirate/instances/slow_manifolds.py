"""Fast-slow systems with invariant graphs in closed form, in fractions: polynomials, and Fourier series on a circle."""

import math
from fractions import Fraction
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.fast_slow.folds import fast_eigenvalues
from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from analysis.fast_slow.reductions import first_order_correction
from analysis.hardmax.exact_geometry import determinant, solved
from dynsim._core.types import Key
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow

DEGREE = 3
MODES = 6  # of the Fourier series that are solved for
RATIO = Fraction(1, 2)  # of successive coefficients of the Fourier series


class Polynomial(eqx.Module):
    """f or g of a `PolynomialSystem` in floating point: A (x - phi(y)) if `fast`, else lambda y."""

    A: Float[Array, "2 2"]
    branch: Float[Array, "degree 2"]
    rate: Float[Array, ""]
    fast: bool = eqx.field(static=True)

    def __call__(self, x: Array, y: Array) -> Array:
        """Return f(x, y) or g(x, y)."""
        powers = jnp.stack([y**j for j in range(1, DEGREE + 1)])
        return self.A @ (x - powers @ self.branch) if self.fast else self.rate * y


_correction = eqx.filter_jit(first_order_correction)


def _error(found: object, exact: object) -> float:
    expected = np.asarray(exact, float)
    return float(np.max(np.abs(np.asarray(found) - expected)) / (1 + np.max(np.abs(expected))))


class PolynomialSystem(NamedTuple):
    r"""The fast-slow system $\varepsilon x' = A (x - \varphi(y))$, $y' = \lambda y$ with x in the plane, rational.

    $\varphi(y) = \sum_j b_j y^j$ is a polynomial without constant part; its coefficients are the rows of `branch`.
    """

    A: Exact
    branch: Exact
    rate: Fraction

    @property
    def hyperbolic(self) -> bool:
        """Whether the critical manifold is normally hyperbolic: no eigenvalue of A has real part zero."""
        d, trace = determinant(self.A), sum(np.diag(self.A))
        return d < 0 or (d > 0 and trace != 0)

    @property
    def contractive(self) -> bool:
        """Whether the fast dynamics is contractive: all eigenvalues of A have negative real part."""
        return determinant(self.A) > 0 and sum(np.diag(self.A)) < 0

    @property
    def epsilon(self) -> Fraction:
        """A ratio of time scales so small that a geometric series bounds the distance of the slow manifold."""
        return 1 / (4 * (1 + DEGREE * abs(self.rate) * self.inverse_norm))

    @property
    def inverse_norm(self) -> Fraction:
        """The maximum norm of A^{-1}, the largest row sum of absolute values."""
        return max(sum(abs(row), Fraction(0)) for row in solved(self.A, identity(2)))

    def coefficients(self, A: Exact, epsilon: Fraction) -> list[Exact]:
        """Return the coefficients k_j of the invariant graph, (A - epsilon lambda j) k_j = A b_j.

        Raises:
            ValueError: if there is none.
        """
        return [solved(A - epsilon * self.rate * j * identity(2), A @ b) for j, b in enumerate(self.branch, start=1)]

    def persists(self, A: Exact, epsilon: Fraction) -> bool:
        """Return whether there is an invariant graph close to the critical manifold, with `A` in place of the matrix A.

        Close means |k_j - b_j| <= 2 epsilon |lambda| j |A^{-1}| |b_j| for each coefficient.
        """
        try:
            graph = self.coefficients(A, epsilon)
        except ValueError:
            return False
        bounds = [
            2 * epsilon * abs(self.rate) * j * self.inverse_norm * max(abs(b)) for j, b in enumerate(self.branch, 1)
        ]
        return all(max(abs(k - b)) <= bound for k, b, bound in zip(graph, self.branch, bounds, strict=True))

    def flow(self) -> FastSlowFlow:
        """Return the system as a flow, with `epsilon`."""
        A, branch = (jnp.asarray(part.astype(float)) for part in (self.A, self.branch))
        f, g = (Polynomial(A, branch, jnp.asarray(float(self.rate)), fast) for fast in (True, False))
        return FastSlowFlow(f, g, float(self.epsilon))

    def errors(self, y: Fraction) -> dict[str, float]:
        """Return at a slow variable y the errors of the flow and of its analysis, relative to one plus the exact value.

        They are the velocity on the invariant graph, the quasi-steady state, the trace and the determinant of D_x f
        from its eigenvalues, and the first-order term of the slow manifold.
        """
        graph = np.stack(self.coefficients(self.A, self.epsilon))
        powers = matrix([y**j for j in range(1, DEGREE + 1)])
        rates = matrix([j * self.rate for j in range(1, DEGREE + 1)])
        x, phi = powers @ graph, powers @ self.branch
        speed, drift = ((rates * powers) @ part for part in (graph, self.branch))
        flow, float_y = self.flow(), jnp.asarray(float(y))
        at = lambda fast: FastSlow(jnp.asarray(fast.astype(float)), float_y)
        velocity = flow.velocity(0.0, at(x))
        values = fast_eigenvalues(flow, phi.astype(float), np.asarray(float(y)))
        found = {
            "fast velocity on the graph": (velocity.fast, speed),
            "slow velocity": (velocity.slow, self.rate * y),
            "quasi-steady state": (quasi_steady_state(flow, float_y, jnp.zeros(2)).fast, phi),
            "trace of D_x f": (np.sum(values).real, sum(np.diag(self.A))),
            "determinant of D_x f": (np.prod(values).real, determinant(self.A)),
            "first-order term": (_correction(flow, at(phi)), solved(self.A, drift)),
        }
        return {name: _error(value, exact) for name, (value, exact) in found.items()}

    def witness(self) -> dict:
        """Return the data that determine the system."""
        return {"A": self.A, "phi": self.branch, "lambda": self.rate, "epsilon": self.epsilon}


class CircleSystem(NamedTuple):
    r"""The fast-slow system $\varepsilon x' = A (x - \varphi(\theta))$, $\theta' = \nu$, x in the plane, on a circle.

    $\varphi(\theta) = \mathrm{Re} \sum_k r^k e^{i k \theta} b$ with r = `RATIO`, analytic and with all harmonics. The
    invariant graph has the coefficients $(A - i \varepsilon k \nu)^{-1} A\, r^k b$.
    """

    A: Exact
    coefficient: Exact
    speed: Fraction

    @property
    def frequency(self) -> Fraction:
        """The square root of |det A|, rounded down to four digits: the frequency of a centre if it is one."""
        size = abs(determinant(self.A))
        return Fraction(math.isqrt(size.numerator * 10**8 // size.denominator), 10**4)

    @property
    def epsilons(self) -> list[Fraction]:
        """Ratios of time scales that tend to zero, at which a harmonic has the frequency of A."""
        return [self.frequency / (k * self.speed) for k in range(1, MODES + 1)]

    def coefficients(self, A: Exact, epsilon: Fraction) -> list[Exact]:
        """Return real and imaginary parts of the first coefficients of the graph, each of shape (2, 2).

        Raises:
            ValueError: if a harmonic is resonant, so that there is no invariant graph.
        """
        found = []
        for k in range(1, MODES + 1):
            turn = epsilon * k * self.speed * identity(2)
            whole = np.concatenate([np.concatenate([A, turn], axis=1), np.concatenate([-turn, A], axis=1)])
            right = np.concatenate([RATIO**k * A @ self.coefficient, matrix([0, 0])])
            found.append(solved(whole, right).reshape(2, 2))
        return found

    def persists(self, A: Exact) -> bool:
        r"""Return whether there is an invariant graph within C epsilon at each of `epsilons`, with `A` for the matrix.

        C is $r^k |b| k \nu$ times the supremum of $|(A - i s)^{-1}|$ for harmonic k, and with the determinant D and the
        trace T of A that norm is at most $(|A| + s) / \sqrt{q}$, where $q = (D - s^2)^2 + s^2 T^2$ has a positive
        minimum and is at least $s^2 (2 |D| + T^2 - 2 D)$.
        """
        D, T = determinant(A), sum(np.diag(A))
        least = D**2 if T**2 >= 2 * D else D**2 - (2 * D - T**2) ** 2 / 4
        slope = 2 * abs(D) + T**2 - 2 * D
        for epsilon in self.epsilons:
            try:
                graph = self.coefficients(A, epsilon)
            except ValueError:
                return False
            if least <= 0 or slope <= 0:
                continue  # a centre, between its resonances
            square = 2 * (_square(A) / least + 1 / slope)
            for k, found in enumerate(graph, 1):
                turn, size = (epsilon * k * self.speed) ** 2, RATIO ** (2 * k) * _square(self.coefficient)
                moved = found - np.stack([RATIO**k * self.coefficient, matrix([0, 0])])
                if _square(moved) > turn * square * size:
                    return False
        return True


def _square(values: Exact) -> Fraction:
    return sum(np.ravel(values) ** 2, Fraction(0))


def circle_system(key: Key, A: Exact) -> CircleSystem:
    """Return a system with random coefficients and speed."""
    a, b = jax.random.split(key)
    coefficient = rational_matrix(a, 2)
    if not np.any(coefficient != 0):
        coefficient = matrix([1, 0])
    return CircleSystem(A, coefficient, Fraction(int(jax.random.randint(b, (), 1, 9)), 4))


def centre(key: Key) -> Exact:
    """Return a random matrix with imaginary eigenvalues, whose moduli have at most four digits."""
    a, b = jax.random.split(key)
    (shear,) = rational_matrix(a, 1)
    size = Fraction(int(jax.random.randint(b, (), 1, 9)), 4)
    S = matrix([[1, 0], [0, 1]])
    S[0, 1] = shear
    turn = matrix([[0, 1], [-1, 0]]) * size
    return S @ turn @ solved(S, identity(2))


def polynomial_system(key: Key, kind: str) -> PolynomialSystem:
    """Return a random system whose A is `contractive`, `hyperbolic`, or `expanding`: hyperbolic and not contractive."""
    a, b, c, again = jax.random.split(key, 4)
    rate = Fraction(int(jax.random.randint(c, (), 1, 9)), 4) * (-1) ** int(jax.random.randint(b, (), 0, 2))
    given = PolynomialSystem(rational_matrix(a, 2, 2), rational_matrix(b, DEGREE, 2), rate)
    fits = {"hyperbolic": given.hyperbolic, "contractive": given.contractive}
    fits["expanding"] = given.hyperbolic and not given.contractive
    return given if fits[kind] and np.any(given.branch[0] != 0) else polynomial_system(again, kind)
