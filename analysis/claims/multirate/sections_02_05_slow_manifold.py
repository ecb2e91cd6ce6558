"""Claims of Section 5 on fast-slow systems: persistence of the critical manifold.

The critical manifold is {f = 0}, the graph of phi; the slow manifold is the invariant manifold within O(epsilon) of it.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from analysis.claims.multirate.instances.slow_manifolds import (
    DEGREE,
    PolynomialSystem,
    centre,
    circle_system,
    polynomial_system,
)
from analysis.claims.rational_instances import Exact, matrix
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng


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
