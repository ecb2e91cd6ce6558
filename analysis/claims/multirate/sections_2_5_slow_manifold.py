"""Claims of Sections 2.1 and 5 on fast-slow systems: error of the reduced flow, persistence of the critical manifold.

The critical manifold is {f = 0}, the graph of phi; the slow manifold is the invariant manifold within O(epsilon) of it.
"""

from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.hardmax.exact_geometry import determinant, solved
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, at_least, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE

EPSILONS = (1e-2, 1e-3)
FRAMES = 21
DEGREE = 3


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

    def witness(self) -> dict:
        """Return the data that determine the system."""
        return {"A": self.A, "phi": self.branch, "lambda": self.rate, "epsilon": self.epsilon}


def polynomial_system(key: Key, kind: str) -> PolynomialSystem:
    """Return a random system whose A is `contractive`, `hyperbolic`, or `expanding`: hyperbolic and not contractive."""
    a, b, c, again = jax.random.split(key, 4)
    rate = Fraction(int(jax.random.randint(c, (), 1, 9)), 4) * (-1) ** int(jax.random.randint(b, (), 0, 2))
    given = PolynomialSystem(rational_matrix(a, 2, 2), rational_matrix(b, DEGREE, 2), rate)
    fits = {"hyperbolic": given.hyperbolic, "contractive": given.contractive}
    fits["expanding"] = given.hyperbolic and not given.contractive
    return given if fits[kind] and np.any(given.branch[0] != 0) else polynomial_system(again, kind)


@claim(
    "multirate/remark-25-hyperbolicity",
    MULTIRATE.at("Remark 25"),
    evidence="certified",
    num_trials=2,
    note="Fenichel's theorem requires that no transverse eigenvalue has real part zero: critical manifolds of saddle "
    "type and repelling ones persist too. Contraction is needed for attraction, not for existence; "
    "no control: the corrected claim is the positive case",
)
def persistence_needs_contraction(key: Key, integrator: AbstractIntegrator) -> Trial:
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


def _persistence_trial(given: PolynomialSystem, A: Exact) -> Trial:
    return Trial(
        hypotheses=(holds("the critical manifold is normally hyperbolic", given.hyperbolic),),
        conclusions=(holds("there is an invariant graph within O(epsilon)", given.persists(A, given.epsilon)),),
        witness=given.witness(),
    )


@claim(
    "multirate/remark-25-hyperbolicity/corrected",
    MULTIRATE.at("Remark 25"),
    variant="corrected",
    evidence="certified",
    num_trials=12,
    note="changed: contractive becomes hyperbolic, attracting or not; measured where the slow manifold is the graph of "
    "a polynomial, with the bound of a geometric series",
)
def persistence_needs_hyperbolicity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If no eigenvalue of D_x f has real part zero, the critical manifold persists.

    For small epsilon there is an invariant graph, the slow manifold, within C epsilon of it.
    """
    given = polynomial_system(key, "hyperbolic")
    return _persistence_trial(given, given.A)


@persistence_needs_hyperbolicity.with_control
def persistence_needs_hyperbolicity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Transverse rates as slow as the slow variable: D_x f = epsilon lambda I."""
    given = polynomial_system(key, "hyperbolic")
    return _persistence_trial(given, given.epsilon * given.rate * identity(2))


@claim(
    "multirate/remark-25-necessary",
    MULTIRATE.at("Remark 25"),
    evidence="certified",
    num_trials=2,
    note="linear fast dynamics with transverse contraction and unbounded states; what the reduction needs is the "
    "contraction, which norm constraints do not give (remark-25-norm-constraints). No correction keeps the conclusion; "
    "the same measurement passes where the fast dynamics expands; no control: there is no hypothesis to drop",
)
def norm_constraints_are_necessary(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without a norm constraint on the fast state the reduction is not well-posed.

    Read: one of the following fails: a unique quasi-steady state for each y, its attraction, or the existence of a slow
    manifold within O(epsilon) of the critical manifold.
    """
    return _necessity_trial(polynomial_system(key, "contractive"))


def _necessity_trial(given: PolynomialSystem) -> Trial:
    powers = matrix([[10 ** (9 * j) for j in range(1, DEGREE + 1)]])
    far = np.max(abs(powers @ given.branch))
    well_posed = determinant(given.A) != 0 and given.contractive and given.persists(given.A, given.epsilon)
    return Trial(
        hypotheses=(at_least("largest coordinate of phi(10^9)", far, 10**6, tolerance=0.0),),
        conclusions=(holds("the reduction is not well-posed", not well_posed),),
        witness=given.witness(),
    )
