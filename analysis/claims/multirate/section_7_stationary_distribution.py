"""Claims of Section 7: the kernel of a generator, its stationary distribution, and convergence to it."""

import math
from fractions import Fraction

import numpy as np

from analysis.claims.multirate.instances.chains import (
    Chain,
    distribution,
    dobrushin_coefficient,
    irreducible_chain,
    matrix_power,
    null_space,
    total_variation,
    two_closed_classes,
    uniform_cycle,
    with_transient,
)
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.rational_instances import Exact, matrix
from analysis.hardmax.exact_geometry import row_echelon
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE
from dynsim.systems.master_equation.flow import MasterEquationMap

TERMS = 20  # of the exponential series, with a remainder of order 1 / 20!


def _any_chain(key: Key) -> Chain:
    """Return a random chain: irreducible, with a transient state, or with two closed classes."""
    kinds = (irreducible_chain, with_transient, two_closed_classes)
    return kinds[numpy_rng(key, "kind").integers(len(kinds))](key)


def _manifold_trial(given: Chain, basis: Exact) -> Trial:
    """Measure that the equilibria are the span of `basis`, of a dimension equal to the number of closed classes."""
    Q = given.generator
    points = matrix(np.random.default_rng(given.size).integers(-3, 4, (6, given.size)))
    members = [*basis, *points, *(matrix(np.arange(1, len(basis) + 1)) @ basis)[None]]
    rank = len(row_echelon(basis).pivots)
    inside = [len(row_echelon(np.concatenate([basis, x[None]])).pivots) == rank for x in members]
    resting = [bool(np.all(Q @ x == 0)) for x in members]
    return Trial(
        hypotheses=given.measured(irreducible=False),
        conclusions=(
            holds("a state is an equilibrium if and only if it is in the kernel", resting == inside),
            holds(
                "the dimension of the kernel is the number of closed classes",
                len(basis) == len(given.stationary_distributions),
            ),
            holds(
                "the stationary distributions are in the kernel",
                all(bool(np.all(Q @ stationary == 0)) for stationary in given.stationary_distributions),
            ),
        ),
        witness={**given.witness(), "basis": basis},
    )


@claim(
    "multirate/theorem-28-i",
    MULTIRATE.at("Theorem 28 (i)"),
    evidence="certified",
    num_trials=24,
    note="trivially true: for f(x, y) = Q(y) x the critical manifold {f = 0} is the kernel by definition. In addition "
    "its dimension is measured, the number of closed classes",
)
def manifold_is_the_kernel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For x' = Q x with generator structure (nonnegative rates, zero column sums), {x : f(x) = 0} = ker Q."""
    given = _any_chain(key)
    return _manifold_trial(given, null_space(given.generator))


@manifold_is_the_kernel.with_control
def manifold_is_the_kernel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The kernel of the transpose of Q."""
    given = irreducible_chain(key)
    # the stationary distribution of `skewed` is not uniform if that of Q is
    skewed = Chain(given.generator * matrix(np.arange(1, given.size + 1))[None])
    given = given if np.any(given.stationary_distributions[0] != given.stationary_distributions[0][0]) else skewed
    return _manifold_trial(given, null_space(given.generator.T))


def _uniqueness_trial(given: Chain, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Measure that the kernel is spanned by one positive distribution, computed in two ways."""
    basis, stationary = null_space(given.generator), given.stationary_distributions[0]
    mass = basis[0].sum()
    normalised = basis[0] / mass if mass != 0 else basis[0]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("the kernel has dimension one", len(basis) == 1),
            holds("its vector of mass one is positive at every state", bool(np.all(normalised > 0))),
            holds(
                "it is the stationary distribution found by elimination of states",
                bool(np.all(normalised == stationary)),
            ),
        ),
        witness={**given.witness(), "law": stationary},
    )


@claim("multirate/theorem-28-ii", MULTIRATE.at("Theorem 28 (ii)"), evidence="certified", num_trials=32)
def irreducible_chain_has_one_positive_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible, ker Q is spanned by a positive distribution, the unique stationary distribution."""
    given = irreducible_chain(key)
    return _uniqueness_trial(given, given.measured())


@irreducible_chain_has_one_positive_stationary_distribution.with_control
def irreducible_chain_has_one_positive_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A chain with a transient state."""
    return _uniqueness_trial(with_transient(key), irreducible_chain(key).measured())


def _flow_trial(given: Chain, p: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    r"""Measure a bound of the contraction of $e^{Qh}$, h = 1 / (2 max |Q_jj|), in total variation.

    With M = I + Q h, $e^{Qh}$ is a mean of the powers of M with Poisson weights, that of M^m being at least 1 / (3 m!).
    """
    Q, m, stationary = given.generator, given.size - 1, given.stationary_distributions[0]
    h = 1 / (2 * given.fastest)
    M = given.step(h)
    factor = 1 - (1 - dobrushin_coefficient(matrix_power(M, m))) / (3 * math.factorial(m))
    moved, left_out = _exponential(M, p)
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("p_st is invariant", bool(np.all(Q @ stationary == 0))),
            holds("e^{Qh} contracts total variation by a factor below one", factor < 1),
            holds(
                "the distance of p from p_st contracts by this factor",
                total_variation(moved, stationary) <= factor * total_variation(p, stationary) + left_out,
            ),
        ),
        witness={**given.witness(), "p": p, "law": stationary, "h": h, "factor": factor},
    )


def _exponential(M: Exact, p: Exact) -> tuple[Exact, Fraction]:
    r"""Return $e^{-1} \sum_n M^n p / n!$, truncated and normalised, and a bound of its error in total variation."""
    weights = [Fraction(1, math.factorial(n)) for n in range(TERMS)]
    total, term = 0 * p, p
    for weight in weights:
        total, term = total + weight * term, M @ term
    return total / sum(weights), 2 * Fraction(1, math.factorial(TERMS))


@claim(
    "multirate/theorem-28-iii-flow",
    MULTIRATE.at("Theorem 28 (iii)"),
    evidence="certified",
    num_trials=24,
    note="by contraction in total variation over a given time step, hence for every initial distribution",
)
def flow_converges_to_the_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible, e^{Qt} p tends to the stationary distribution as t -> infinity, for every distribution p."""
    given = irreducible_chain(key)
    return _flow_trial(given, distribution(key, given.size), given.measured())


@flow_converges_to_the_stationary_distribution.with_control
def flow_converges_to_the_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two closed classes."""
    given = two_closed_classes(key)
    return _flow_trial(given, distribution(key, given.size), irreducible_chain(key).measured())


def _euler_trial(given: Chain, share: Fraction, p: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Measure the contraction of (k - 1)^2 + 1 Euler steps of size `share` times the bound, in total variation.

    That power of the matrix is positive, or no power is (Wielandt), in which case there is no convergence.
    """
    stationary, m = given.stationary_distributions[0], (given.size - 1) ** 2 + 1
    tau = share / given.fastest
    factor = dobrushin_coefficient(matrix_power(given.step(tau), m))
    step, path = MasterEquationMap(given.generator, tau), [p]
    for k in range(2 * m):
        path.append(step.step(k, path[-1]))
    far = [total_variation(q, stationary) for q in path[::m]]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("p_st is invariant under the step", bool(np.all(step.step(0, stationary) == stationary))),
            holds("(k - 1)^2 + 1 steps contract total variation by a factor below one", factor < 1),
            holds(
                "the distance of the iterate from p_st contracts by this factor",
                all(b <= factor * a for a, b in zip(far, far[1:], strict=False)),
            ),
        ),
        witness={**given.witness(), "p": p, "tau": tau, "law": stationary, "factor": factor},
    )


def _below_the_bound(share: Fraction) -> Measurement:
    return holds("0 < tau < 1 / max |Q_jj|", 0 < share < 1)


@claim(
    "multirate/theorem-28-iii-euler",
    MULTIRATE.at("Theorem 28 (iii)"),
    evidence="certified",
    num_trials=24,
    note="the printed bound is read as 0 < tau < 1 / max |Q_jj|, strict, which the proof needs for a positive "
    "diagonal; sufficient, not necessary. By contraction in total variation, so for every start",
)
def euler_iterates_converge_to_the_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible and 0 < tau < 1 / max |Q_jj|, (I + tau Q)^n p tends to the stationary distribution for every
    distribution p.
    """
    given = irreducible_chain(key)
    share = (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000))[numpy_rng(key, "share").integers(3)]
    p = distribution(key, given.size)
    return _euler_trial(given, share, p, (*given.measured(), _below_the_bound(share)))


@euler_iterates_converge_to_the_stationary_distribution.with_control
def euler_iterates_converge_to_the_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The step size at the bound, on a cycle."""
    given = uniform_cycle(4, Fraction(5, 2))
    half = Fraction(1, 2)
    return _euler_trial(given, Fraction(1), distribution(key, 4), (*given.measured(), _below_the_bound(half)))


@claim(
    "multirate/theorem-28-iii-euler/at-the-bound",
    MULTIRATE.at("Theorem 28 (iii)"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="for a directed cycle with equal rates the step matrix at the bound is a permutation, and its iterates are "
    "periodic with the length of the cycle; no control: the strict bound is measured by the same function",
)
def euler_iterates_converge_at_the_bound(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible, (I + tau Q)^n p tends to the stationary distribution for every distribution p.

    Read: also at tau = 1 / max |Q_jj|.
    """
    size = int(numpy_rng(key, "size").integers(2, 6))
    given = uniform_cycle(size, Fraction(1))
    return _euler_trial(given, Fraction(1), distribution(key, size), given.measured())


def _equilibrium_trial(given: Chain, hypotheses: tuple[Measurement, ...], *, mass: bool) -> Trial:
    """Measure that the stationary distribution is the only equilibrium; with `mass`, among vectors of mass one."""
    Q, stationary = given.generator, given.stationary_distributions[0]
    equations = np.concatenate([Q, matrix([[1] * given.size])]) if mass else Q
    directions = null_space(equations)
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("p_st is an equilibrium", bool(np.all(Q @ stationary == 0))),
            holds("no other point is an equilibrium: the solution space has dimension zero", len(directions) == 0),
        ),
        witness={**given.witness(), "p_st": stationary, "directions": directions},
    )


@claim(
    "multirate/claim-qss-equals-stationary",
    MULTIRATE.at("Section 1, Section 7, Section 12"),
    evidence="certified",
    num_trials=8,
    note="with the generator structure alone all multiples of p_st are equilibria, also 2 p_st and 0; the theorem that "
    "the sentences summarise adds irreducibility and, in its last clause, mass one; no control: the corrected claim is "
    "measured by the same function",
)
def equilibrium_is_the_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under the generator structure of x' = Q x, the set of equilibria of the fast dynamics is exactly {p_st}."""
    given = _any_chain(key)
    return _equilibrium_trial(given, given.measured(irreducible=False), mass=False)


@claim(
    "multirate/claim-qss-equals-stationary/distributions",
    MULTIRATE.at("Section 1, Section 7, Section 12"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="with two closed classes there is a segment of stationary distributions; no control: as for the printed claim",
)
def equilibrium_among_distributions_is_the_stationary_distribution(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under the generator structure the equilibrium is exactly p_st. Read: among distributions, which are invariant."""
    given = two_closed_classes(key)
    return _equilibrium_trial(given, given.measured(irreducible=False), mass=True)


@claim(
    "multirate/claim-qss-equals-stationary/irreducible",
    MULTIRATE.at("Section 1, Section 7, Section 12"),
    variant="corrected",
    evidence="certified",
    num_trials=24,
)
def equilibrium_distribution_of_an_irreducible_generator(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under the generator structure the equilibrium is exactly p_st. Added: mass one, and Q is irreducible."""
    given = irreducible_chain(key)
    return _equilibrium_trial(given, given.measured(), mass=True)


@equilibrium_distribution_of_an_irreducible_generator.with_control
def equilibrium_distribution_of_an_irreducible_generator(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two closed classes."""
    return _equilibrium_trial(two_closed_classes(key), irreducible_chain(key).measured(), mass=True)
