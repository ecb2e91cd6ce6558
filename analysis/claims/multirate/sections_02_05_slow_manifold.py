"""Claims of Section 5 on fast-slow systems: persistence of the critical manifold.

The critical manifold is {f = 0}, the graph of phi; the slow manifold is the invariant manifold within O(epsilon) of it.
"""

import math
from dataclasses import replace
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
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
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


def _flow_errors(key: Key, given: PolynomialSystem) -> tuple[Measurement, ...]:
    """Measure the flow and its analysis against the exact system at a random slow variable."""
    y = Fraction(int(numpy_rng(key, "slow variable").integers(-8, 9)), 8)
    tolerance = ROUNDING * float(1 + given.inverse_norm) ** 2 / float(given.epsilon)
    errors = given.errors(y)
    return tuple(at_most(f"error of the {what}", error, 0.0, tolerance=tolerance) for what, error in errors.items())


@certified(
    "multirate/remark-25-hyperbolicity",
    num_trials=2,
    note="Fenichel's theorem requires that no transverse eigenvalue has real part zero: critical manifolds of saddle "
    "type and repelling ones persist too. Contraction is needed for attraction, not for existence",
)
def persistence_needs_contraction(key: Key) -> Trial:
    """For the manifold {f = 0} to persist for small epsilon, the fast dynamics must be contractive transverse to it.

    Where it is not, there is no invariant graph within O(epsilon) of the manifold. Read: "the slow manifold", which the
    paper defines as the equilibrium set, is the critical manifold {f = 0}.
    """
    given = polynomial_system(key, "expanding")
    return Trial(
        hypotheses=(holds("the fast dynamics is not contractive", not given.contractive),),
        conclusions=(
            holds("there is no invariant graph within O(epsilon)", not given.persists(given.A, given.epsilon)),
        ),
        witness={**given.witness(), "graph": given.coefficients(given.A, given.epsilon)},
    )


def _persistence_trial(key: Key, A: Exact, hypothesis: Measurement, given: PolynomialSystem) -> Trial:
    """Measure persistence over a line, of the system `given`, and over a circle, with the matrix `A`."""
    circle = circle_system(key, A)
    return Trial(
        hypotheses=(hypothesis,),
        conclusions=(
            holds("over a line: there is an invariant graph within O(epsilon)", given.persists(given.A, given.epsilon)),
            holds("over a circle: there is one at a sequence of epsilons that tends to 0", circle.persists(A)),
            *_flow_errors(key, given),
        ),
        witness={**given.witness(), "circle": tuple(circle), "epsilons": circle.epsilons},
        parameters={"eigenvalues": "contractive" if given.contractive else "hyperbolic, not contractive"},
    )


@certified(
    "multirate/remark-25-hyperbolicity/corrected",
    num_trials=12,
    note="changed: contractive becomes hyperbolic, attracting or not; measured where the slow manifold is the graph of "
    "a polynomial, or of a Fourier series at ratios of time scales at which a centre would be resonant, with the bound "
    "of a geometric series",
)
def persistence_needs_hyperbolicity(key: Key) -> Trial:
    """If no eigenvalue of D_x f has real part zero, or tends to such along it, the critical manifold persists.

    For small epsilon there is an invariant graph, the slow manifold, within C epsilon of it.
    """
    given = polynomial_system(key, "hyperbolic")
    hyperbolic = holds("the critical manifold is normally hyperbolic", given.hyperbolic)
    return _persistence_trial(key, given.A, hyperbolic, given)


@persistence_needs_hyperbolicity.with_control
def persistence_needs_hyperbolicity(key: Key) -> Trial:
    """D_x f invertible with imaginary eigenvalues: a centre, over the circle."""
    A = centre(key)
    return _persistence_trial(
        key, A, holds("D_x f is invertible", determinant(A) != 0), polynomial_system(key, "hyperbolic")
    )


@certified(
    "multirate/remark-25-necessary",
    num_trials=2,
    note="linear fast dynamics with transverse contraction and unbounded states; what the reduction needs is the "
    "contraction, which norm constraints do not give (remark-25-norm-constraints). No correction keeps the conclusion; "
    "the same measurement passes where the fast dynamics expands; no control: there is no hypothesis to drop",
)
def norm_constraints_are_necessary(key: Key) -> Trial:
    """Without a norm constraint on the fast state the reduction is not well-posed.

    Read: one of the following fails: a unique quasi-steady state for each y, its attraction, or the existence of a slow
    manifold within O(epsilon) of the critical manifold.
    """
    given = polynomial_system(key, "contractive")
    trial, errors = _necessity_trial(given), _flow_errors(key, given)
    agree = holds("the flow agrees with the exact system", not any(m.fails_clearly for m in errors))
    return replace(trial, hypotheses=(*trial.hypotheses, agree))


def _necessity_trial(given: PolynomialSystem) -> Trial:
    powers = matrix([[10 ** (9 * j) for j in range(1, DEGREE + 1)]])
    far = np.max(abs(powers @ given.branch))
    well_posed = determinant(given.A) != 0 and given.contractive and given.persists(given.A, given.epsilon)
    return Trial(
        hypotheses=(at_least("largest coordinate of phi(10^9)", far, 10**6, tolerance=0.0),),
        conclusions=(holds("the reduction is not well-posed", not well_posed),),
        witness={**given.witness(), "graph": given.coefficients(given.A, given.epsilon)} if well_posed else {},
    )
