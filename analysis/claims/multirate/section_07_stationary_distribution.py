"""Claims of Section 7: the kernel of a generator, and its stationary distribution."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.chains.classes import communicating_classes
from analysis.chains.spectra import spectral_gap
from analysis.chains.stationary import stationary_distribution, stationary_distributions
from analysis.claims.multirate.chain_comparisons import (
    accepts,
    balance_measurements,
    field_measurement,
    floats,
    map_measurements,
    relative_error,
    stationary_measurements,
    validation_measurements,
)
from analysis.claims.multirate.instances.chains import (
    Chain,
    distribution,
    from_rates,
    irreducible_chain,
    null_space,
    two_closed_classes,
    with_transient,
)
from analysis.claims.multirate.instances.hard_chains import known, some_chain, some_irreducible_chain
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.exact_geometry import row_echelon
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap
from dynsim.systems.master_equation.generators import birth_death, generator_from_rates, walk_in_potential
from dynsim.systems.master_equation.rates import DrivenRates


def _manifold_trial(given: Chain, basis: Exact, p: Exact) -> Trial:
    """Measure that the equilibria of the flow and the map are the span of `basis`, a space of the right dimension.

    Its dimension is the number of closed classes, and it contains the limit of each distribution under the flow, from
    which no conserved quantity (a left null vector of Q) differs.
    """
    Q, rank, classes = given.generator, len(row_echelon(basis).pivots), communicating_classes(given.generator)
    recurrent = bool(np.all((classes.labels < classes.num_closed) == np.any(basis != 0, axis=0)))
    dimension = holds(
        "the dimension of the kernel is the number of closed classes, and it vanishes on the other states",
        recurrent and len(basis) == rank == classes.num_closed,
    )
    if dimension.fails_clearly:  # then there is no stationary distribution for each closed class to be measured
        return Trial(given.measured(irreducible=False), (dimension,), given.witness(), parameters=given.parameters())
    found = stationary_distributions(Q)
    rng = np.random.default_rng(given.size)
    points = matrix(rng.integers(-3, 4, (4, given.size)))
    members = np.concatenate([points, matrix(rng.integers(-3, 4, (4, len(basis)))) @ basis])
    inside = [len(row_echelon(np.concatenate([basis, x[None]])).pivots) == rank for x in members]
    step, limit = MasterEquationMap(Q, given.half_step), found.limit(p)
    laws = np.array([one.probabilities for one in found.distributions])
    return Trial(
        hypotheses=given.measured(irreducible=False),
        conclusions=(
            *validation_measurements(given),
            field_measurement(given, members),
            holds(
                "a state is an equilibrium of the field if and only if it is in the kernel",
                [bool(np.all(Q @ x == 0)) for x in members] == inside,
            ),
            holds(
                "a state is a fixed point of the Euler map if and only if it is in the kernel",
                [bool(np.all(step.step(0, x) == x)) for x in members] == inside,
            ),
            dimension,
            holds(
                "the stationary distributions of the closed classes are a basis of the kernel",
                len(row_echelon(laws).pivots) == len(laws) == rank and not np.any(Q @ laws.T),
            ),
            holds("they are distributions", bool(np.all(laws >= 0)) and all(law.sum() == 1 for law in laws)),
            equal(
                "largest error of the limit of p in floats",
                np.max(abs(stationary_distributions(floats(Q)).limit(floats(p)) - floats(limit))),
                0.0,
                tolerance=SOLVER,
            ),
            *_gap_measurements(given),
            holds(
                "the limit of a distribution is in the kernel, and no conserved quantity changes",
                not np.any(Q @ limit) and not np.any(null_space(Q.T) @ (limit - p)),
            ),
        ),
        witness={**given.witness(), "basis": basis, "p": p, "limit": limit},
        parameters=given.parameters(),
    )


def _gap_measurements(given: Chain) -> tuple[Measurement, ...]:
    """Measure the spectral gap of reducible chains: the eigenvalue zero has the dimension of the kernel."""
    if given.name == "two absorbing ends":  # the rates among transient states have the eigenvalues -1 and -6
        return (equal("spectral gap", spectral_gap(floats(given.generator)).value, 1.0, tolerance=ROUNDING),)
    if given.name == "no transitions":
        return (holds("the spectral gap is infinite", spectral_gap(floats(given.generator)).value == math.inf),)
    return ()


@certified(
    "multirate/theorem-28-i",
    num_trials=48,
    note="true by definition for f(x, y) = Q(y) x. Measured on the field of the flow, in floats, and on the fixed "
    "points of the Euler map, in fractions; in addition the dimension of the kernel, the number of closed classes, and "
    "the limit of a distribution in it. Random chains, and reducible, defective and nearly reducible ones",
)
def manifold_is_the_kernel(key: Key) -> Trial:
    """For x' = Q x with generator structure (nonnegative rates, zero column sums), {x : f(x) = 0} = ker Q."""
    given = some_chain(key)
    p = distribution(key, given.size) if given.size > 1 else matrix([1])
    return _manifold_trial(given, null_space(given.generator), p)


@manifold_is_the_kernel.with_control
def manifold_is_the_kernel(key: Key) -> Trial:
    """The kernel of the transpose of Q."""
    given = irreducible_chain(key)
    # the stationary distribution of `skewed` is not uniform if that of Q is
    skewed = Chain(given.generator * matrix(np.arange(1, given.size + 1))[None])
    given = given if np.any(given.stationary_distributions[0] != given.stationary_distributions[0][0]) else skewed
    return _manifold_trial(given, null_space(given.generator.T), distribution(key, given.size))


def _uniqueness_trial(given: Chain, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Measure that the kernel is spanned by one positive distribution, computed by elimination and by other methods."""
    basis, expected = null_space(given.generator), known(given)
    mass = basis[0].sum()
    law = basis[0] / mass if mass != 0 else basis[0]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("the kernel has dimension one", len(basis) == 1),
            holds("its vector of mass one is positive at every state", bool(np.all(law > 0))),
            holds("all states form one class", communicating_classes(given.generator).irreducible),
            holds("it is the vector known in closed form", expected is None or not np.any(law - expected.stationary)),
            *stationary_measurements(given, law),
        ),
        witness={**given.witness(), "law": law},
        parameters=given.parameters(),
    )


def _constructed_measurements(key: Key) -> tuple[Measurement, ...]:
    r"""Measure generators of the toolkit, and stationary distributions known in closed form.

    In the potential V = 2 m T log 2, m integers on a grid of two by three points, rates are powers of two and the
    stationary distribution is proportional to $2^{-2m}$, whatever the temperature T.
    """
    rng = numpy_rng(key, "constructed")
    m, T, rate = rng.integers(-2, 3, (2, 3)), float(rng.integers(1, 4)), float(rng.integers(1, 4))
    walk = walk_in_potential(2 * m * T * math.log(2), temperature=T, rate=rate)
    places = np.stack(np.meshgrid(range(2), range(3), indexing="ij"), -1).reshape(-1, 2)
    near = np.sum(abs(places[:, None] - places[None]), axis=-1) == 1
    drop = m.ravel()[None] - m.ravel()[:, None]  # from the column to the row
    R = np.where(near, rate * 2.0**drop, 0.0)
    gibbs = 2.0 ** (-2 * m.ravel()) / np.sum(2.0 ** (-2 * m))
    up, down = matrix(rng.integers(1, 9, 4)), matrix(rng.integers(1, 9, 4))
    line = matrix(np.zeros((5, 5), int))
    line[np.arange(1, 5), np.arange(4)], line[np.arange(4), np.arange(1, 5)] = up, down
    balanced = np.cumprod(np.append(matrix([1]), up / down))
    chain: Any = birth_death(up, down)
    sparse: Any = birth_death(floats(up), floats(down))
    return (
        equal(
            "relative error of the rates of a walk in a potential",
            relative_error(walk.toarray(), R - np.diag(np.sum(R, axis=0)), R + np.diag(np.sum(R, axis=0))),
            0.0,
            tolerance=ROUNDING,
        ),
        equal(
            "relative error of its stationary distribution, e^{-V/T} over its sum",
            relative_error(stationary_distribution(walk).probabilities, gibbs, gibbs),
            0.0,
            tolerance=ROUNDING,
        ),
        holds(
            "births and deaths, exact or sparse, give their generator",
            bool(np.all(chain == from_rates(line).generator) and np.all(sparse.toarray() == floats(chain))),
        ),
        holds(
            "the stationary distribution of a line is a product of ratios of rates",
            bool(np.all(stationary_distribution(chain).probabilities == balanced / sum(balanced))),
        ),
        holds(
            "negative rates, and rates from a state to itself, are refused",
            not any(accepts(generator_from_rates, R) for R in (-line, line + identity(5))),
        ),
        holds("rates give their generator", bool(np.all(generator_from_rates(line) == from_rates(line).generator))),
    )


@certified(
    "multirate/theorem-28-ii",
    # A chain with a transient state.
    control=lambda key: _uniqueness_trial(with_transient(key), irreducible_chain(key).measured()),
    num_trials=48,
    note="the kernel by Gaussian elimination in fractions, compared with each method of the toolkit; also on "
    "chains with a stationary distribution known in closed form",
)
def irreducible_chain_has_one_positive_stationary_distribution(key: Key) -> Trial:
    """If Q is irreducible, ker Q is spanned by a positive distribution, the unique stationary distribution."""
    given = some_irreducible_chain(key)
    found = _uniqueness_trial(given, given.measured())
    balanced = balance_measurements(numpy_rng(key, "balance"))
    return replace(found, conclusions=(*found.conclusions, *_constructed_measurements(key), *balanced))


def _driven_measurements(key: Key) -> tuple[Measurement, ...]:
    """Measure the field of a flow whose rates depend on a slow variable y(t) = t, at two of its values."""
    rng = numpy_rng(key, "driven")
    off = 1 - np.eye(4, dtype=int)
    first, second = (matrix(rng.integers(1, 9, (4, 4)) * off) for _ in range(2))
    a, b = jnp.asarray(floats(first)), jnp.asarray(floats(second))
    flow = MasterEquationFlow(DrivenRates(lambda t: a + t * b))
    errors = []
    for t in (Fraction(1, 2), Fraction(3)):
        frozen = from_rates(first + t * second)
        points = np.stack([frozen.stationary_distributions[0], *identity(4)])
        found = flow.velocity(float(t), jnp.asarray(floats(points)))
        errors.append(relative_error(found, floats(points @ frozen.generator.T), float(frozen.fastest)))
    return (
        equal(
            "error of the field for rates that depend on y, relative to the fastest rate: zero at p_st(y)",
            max(errors),
            0.0,
            tolerance=ROUNDING,
        ),
    )


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
        witness={
            **given.witness(),
            "p_st": stationary,
            "distributions": given.stationary_distributions,
            "directions": directions,
            **({"another equilibrium": stationary + directions[0]} if len(directions) else {}),
        },
        parameters=given.parameters(),
    )


@certified(
    "multirate/claim-qss-equals-stationary",
    num_trials=8,
    note="with the generator structure alone all multiples of p_st are equilibria, also 2 p_st and 0; the theorem that "
    "the sentences summarise adds irreducibility and, in its last clause, mass one; no control: the corrected claim is "
    "measured by the same function",
)
def equilibrium_is_the_stationary_distribution(key: Key) -> Trial:
    """Under the generator structure of x' = Q x, the set of equilibria of the fast dynamics is exactly {p_st}."""
    given = some_chain(key)
    return _equilibrium_trial(given, given.measured(irreducible=False), mass=False)


@certified(
    "multirate/claim-qss-equals-stationary/distributions",
    variant="reading",
    num_trials=8,
    note="with two closed classes there is a segment of stationary distributions; no control: as for the printed claim",
)
def equilibrium_among_distributions_is_the_stationary_distribution(key: Key) -> Trial:
    """Under the generator structure the equilibrium is exactly p_st. Read: among distributions, which are invariant."""
    given = two_closed_classes(key)
    return _equilibrium_trial(given, given.measured(irreducible=False), mass=True)


@certified(
    "multirate/claim-qss-equals-stationary/irreducible",
    # Two closed classes.
    control=lambda key: _equilibrium_trial(two_closed_classes(key), irreducible_chain(key).measured(), mass=True),
    variant="corrected",
    num_trials=24,
    note="measured on the flow with rates that depend on y, and on the Euler map, of which p_st is a fixed point",
)
def equilibrium_distribution_of_an_irreducible_generator(key: Key) -> Trial:
    """Under the generator structure the equilibrium is exactly p_st. Added: mass one, and Q is irreducible."""
    given = some_irreducible_chain(key)
    found = _equilibrium_trial(given, given.measured(), mass=True)
    law = given.stationary_distributions[0]
    more = (*map_measurements(given, law, given.half_step), *_driven_measurements(key))
    return replace(found, conclusions=(*found.conclusions, *more))
