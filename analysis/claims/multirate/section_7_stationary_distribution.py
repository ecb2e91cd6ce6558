"""Claims of Section 7: the kernel of a generator, its stationary law, and what relaxes onto it."""

import math
from fractions import Fraction

import numpy as np

from analysis.claims.multirate.instances.chains import (
    Chain,
    chain,
    contraction,
    distance,
    distribution,
    draws,
    kernel,
    power,
    two_traps,
    uniform_cycle,
    with_transient,
)
from analysis.claims.rational_instances import Exact, matrix
from analysis.hardmax.exact_geometry import row_echelon
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE
from dynsim.systems.master_equation.flow import MasterEquationMap

TERMS = 20  # of the exponential series: what is left out is below 1 / 20!


def _any_chain(key: Key) -> Chain:
    """Return an irreducible chain, one with a transient state, or one with two closed classes."""
    kinds = (chain, with_transient, two_traps)
    return kinds[draws(key, "kind").integers(len(kinds))](key)


def _manifold_trial(given: Chain, basis: Exact) -> Trial:
    """Measure that the states at rest are the combinations of `basis`, and that there is one for each closed class."""
    Q = given.generator
    points = matrix(np.random.default_rng(given.size).integers(-3, 4, (6, given.size)))
    members = [*basis, *points, *(matrix(np.arange(1, len(basis) + 1)) @ basis)[None]]
    rank = len(row_echelon(basis).pivots)
    inside = [len(row_echelon(np.concatenate([basis, x[None]])).pivots) == rank for x in members]
    resting = [bool(np.all(Q @ x == 0)) for x in members]
    return Trial(
        hypotheses=given.measured(irreducible=False),
        conclusions=(
            holds("a state is at rest if and only if it is in the kernel", resting == inside),
            holds("the kernel has a dimension for each closed class", len(basis) == len(given.laws)),
            holds("and the stationary laws are in it", all(bool(np.all(Q @ law == 0)) for law in given.laws)),
        ),
        witness={**given.witness(), "basis": basis},
    )


@claim(
    "multirate/theorem-28-i",
    MULTIRATE.at("Theorem 28 (i)"),
    evidence="certified",
    num_trials=24,
    note="trivially true: for f(x, y) = Q(y) x the set f = 0 is the kernel by definition. Measured besides is what the "
    "definition does not say, its dimension: the number of closed classes",
)
def manifold_is_the_kernel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For x' = Q x with generator structure (rates not negative, columns sum to zero), {x : f(x) = 0} = ker Q."""
    given = _any_chain(key)
    return _manifold_trial(given, kernel(given.generator))


@manifold_is_the_kernel.with_control
def manifold_is_the_kernel(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The kernel of the transpose, the other convention."""
    given = chain(key)
    skewed = Chain(given.generator * matrix(np.arange(1, given.size + 1))[None])  # its law is not uniform, if Q's is
    given = given if np.any(given.laws[0] != given.laws[0][0]) else skewed
    return _manifold_trial(given, kernel(given.generator.T))


def _law_trial(given: Chain, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Measure that the kernel is the line of one positive law, found in two ways."""
    basis, law = kernel(given.generator), given.laws[0]
    mass = basis[0].sum()
    normalised = basis[0] / mass if mass != 0 else basis[0]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("the kernel has dimension one", len(basis) == 1),
            holds("its vector of mass one is positive in every state", bool(np.all(normalised > 0))),
            holds("and is the law that elimination of states gives", bool(np.all(normalised == law))),
        ),
        witness={**given.witness(), "law": law},
    )


@claim("multirate/theorem-28-ii", MULTIRATE.at("Theorem 28 (ii)"), evidence="certified", num_trials=32)
def irreducible_chain_has_one_positive_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible, ker Q is spanned by one distribution, which is positive and the only one at rest."""
    given = chain(key)
    return _law_trial(given, given.measured())


@irreducible_chain_has_one_positive_law.with_control
def irreducible_chain_has_one_positive_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A state that is never entered again."""
    return _law_trial(with_transient(key), chain(key).measured())


def _flow_trial(given: Chain, p: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    r"""Bound how much closer $e^{Qh}$, h = 1 / (2 max |Q_jj|), brings any two distributions.

    With M = I + Q h it is the mean of the powers of M under Poisson weights, that of M^m being at least 1 / (3 m!).
    """
    Q, m, law = given.generator, given.size - 1, given.laws[0]
    h = 1 / (2 * given.fastest)
    M = given.step(h)
    factor = 1 - (1 - contraction(power(M, m))) / (3 * math.factorial(m))
    moved, left_out = _exponential(M, p)
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("the law is kept", bool(np.all(Q @ law == 0))),
            holds("two distributions come closer in the time h, by a factor below one", factor < 1),
            holds("so does e^{Qh} p to the law", distance(moved, law) <= factor * distance(p, law) + left_out),
        ),
        witness={**given.witness(), "p": p, "law": law, "h": h, "factor": factor},
    )


def _exponential(M: Exact, p: Exact) -> tuple[Exact, Fraction]:
    r"""Return $e^{-1} \sum_n M^n p / n!$, the series cut and normalised, and its error at most, in total variation."""
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
    note="by contraction in total variation over a time step that is stated, so for every start and every horizon",
)
def flow_relaxes_to_the_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible, e^{Qt} p tends to the stationary law as t tends to infinity, for every distribution p."""
    given = chain(key)
    return _flow_trial(given, distribution(key, given.size), given.measured())


@flow_relaxes_to_the_law.with_control
def flow_relaxes_to_the_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two closed classes."""
    given = two_traps(key)
    return _flow_trial(given, distribution(key, given.size), chain(key).measured())


def _euler_trial(given: Chain, share: Fraction, p: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Measure by what factor (k - 1)^2 + 1 steps of `share` of the bound bring any two distributions together.

    After so many steps the matrix is positive, or no power of it ever is (Wielandt): then there is no convergence.
    """
    law, m = given.laws[0], (given.size - 1) ** 2 + 1
    tau = share / given.fastest
    factor = contraction(power(given.step(tau), m))
    step, path = MasterEquationMap(given.generator, tau), [p]
    for k in range(2 * m):
        path.append(step.step(k, path[-1]))
    far = [distance(q, law) for q in path[::m]]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("the law is kept by the step", bool(np.all(step.step(0, law) == law))),
            holds("two distributions come closer in (k - 1)^2 + 1 steps, by a factor below one", factor < 1),
            holds("so does the iterate to the law", all(b <= factor * a for a, b in zip(far, far[1:], strict=False))),
        ),
        witness={**given.witness(), "p": p, "tau": tau, "law": law, "factor": factor},
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
def euler_iterate_tends_to_the_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible and 0 < tau < 1 / max |Q_jj|, (I + tau Q)^n p tends to the stationary law for every p."""
    given = chain(key)
    share = (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000))[draws(key, "share").integers(3)]
    p = distribution(key, given.size)
    return _euler_trial(given, share, p, (*given.measured(), _below_the_bound(share)))


@euler_iterate_tends_to_the_law.with_control
def euler_iterate_tends_to_the_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The step at the bound, on a cycle."""
    given = uniform_cycle(4, Fraction(5, 2))
    half = Fraction(1, 2)
    return _euler_trial(given, Fraction(1), distribution(key, 4), (*given.measured(), _below_the_bound(half)))


@claim(
    "multirate/theorem-28-iii-euler/at-the-bound",
    MULTIRATE.at("Theorem 28 (iii)"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="a cycle that is left everywhere at one rate, two states or more, becomes a permutation at the bound: its "
    "iterates have its length as period; no control: the strict bound is measured by the same function",
)
def euler_iterate_tends_to_the_law_at_the_bound(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Q is irreducible, the iterate tends to the stationary law for every p. Read: also at tau = 1 / max |Q_jj|."""
    size = int(draws(key, "size").integers(2, 6))
    given = uniform_cycle(size, Fraction(1))
    return _euler_trial(given, Fraction(1), distribution(key, size), given.measured())


def _equilibrium_trial(given: Chain, hypotheses: tuple[Measurement, ...], *, mass: bool) -> Trial:
    """Measure that no equilibrium differs from a stationary law; with `mass` one, among distributions."""
    Q, law = given.generator, given.laws[0]
    equations = np.concatenate([Q, matrix([[1] * given.size])]) if mass else Q
    directions = kernel(equations)
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("p_st is an equilibrium", bool(np.all(Q @ law == 0))),
            holds("no other point is one: no direction leads from it to more", len(directions) == 0),
        ),
        witness={**given.witness(), "p_st": law, "directions": directions},
    )


@claim(
    "multirate/claim-qss-equals-stationary",
    MULTIRATE.at("Section 1, Section 7, Section 12"),
    evidence="certified",
    num_trials=8,
    note="the generator structure alone leaves a whole line of equilibria, 2 p_st and 0 among them; the theorem that "
    "the sentences summarise adds irreducibility and, in its last clause, mass one; no control: the repair is measured "
    "by the same function",
)
def equilibrium_is_the_stationary_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under the generator structure of x' = Q x, the equilibrium set of the fast dynamics is exactly p_st."""
    given = _any_chain(key)
    return _equilibrium_trial(given, given.measured(irreducible=False), mass=False)


@claim(
    "multirate/claim-qss-equals-stationary/distributions",
    MULTIRATE.at("Section 1, Section 7, Section 12"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="two closed classes have a segment of stationary laws between them; no control: as for the printed claim",
)
def equilibrium_distribution_is_the_stationary_law(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under the generator structure the equilibrium is exactly p_st. Read: among distributions, which Q keeps."""
    given = two_traps(key)
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
    given = chain(key)
    return _equilibrium_trial(given, given.measured(), mass=True)


@equilibrium_distribution_of_an_irreducible_generator.with_control
def equilibrium_distribution_of_an_irreducible_generator(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two closed classes."""
    return _equilibrium_trial(two_traps(key), chain(key).measured(), mass=True)
