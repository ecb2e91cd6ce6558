"""Claims of Theorem 28 (iii): convergence to the stationary distribution, of the flow and of forward Euler."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from analysis.chains.dense_exponential import transition_matrix
from analysis.chains.mixing import mixing_bounds, mixing_time
from analysis.chains.relaxation import relaxation
from analysis.chains.spectra import euler_bounds, reversibilised_gap, spectral_gap
from analysis.chains.stationary import stationary_distributions
from analysis.claims.multirate.chain_comparisons import (
    EPSILON,
    accepts,
    drift_measurements,
    exact_transition_matrix,
    exponential_measurements,
    field_measurement,
    floats,
    map_measurements,
    ring_measurements,
)
from analysis.claims.multirate.instances.chains import (
    Chain,
    distribution,
    dobrushin_coefficient,
    from_rates,
    matrix_power,
    total_variation,
    two_closed_classes,
    uniform_cycle,
)
from analysis.claims.multirate.instances.hard_chains import known, some_irreducible_chain
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap, step_bound

ERROR = Fraction(1, 2**190)  # a bound of the error of an exact transition matrix
LONG = 40  # relaxation times after which the distance is below rounding: e^-40 = 4e-18
ENOUGH = 20  # of a trajectory, of which the integrator has an error of 1e-9 or so
SHARES = (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000))  # of the step bound


def _one(key: Key, size: int) -> Exact:
    """Return a random distribution, or one of the extremal ones, which have one state."""
    rng = numpy_rng(key, "extremal")
    return identity(size)[rng.integers(size)] if size == 1 or rng.integers(2) else distribution(key, size)


def _no_distributions(p: Exact) -> list[Exact]:
    """Return two vectors that are nearly p and no distributions."""
    off = identity(len(p))[0] / 1000
    negative = identity(len(p))[:2].sum(axis=0) * 0
    if len(p) > 1:
        negative = matrix([-1, 1001, *[0] * (len(p) - 2)]) / 1000
    return [p + off, negative]


def _flow_trial(given: Chain, p: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    r"""Measure that $e^{Qh}$ contracts total variation, h = k / (2 max |Q_jj|), and the flow and exponential at p.

    Dobrushin's coefficient is the factor for the worst pair of initial distributions.
    """
    Q, law, h = given.generator, given.stationary_distributions[0], given.size * given.half_step
    P = exact_transition_matrix(Q, h)
    factor = dobrushin_coefficient(P)
    moved = P @ p
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("p_st is invariant", bool(np.all(Q @ law == 0))),
            holds(
                "a mass of 1 + 1/1000, and a negative probability, are refused",
                not any(accepts(lambda q: relaxation(floats(Q), floats(q), [1.0]), q) for q in _no_distributions(p)),
            ),
            holds("p_st is the limit of p by absorption", bool(np.all(stationary_distributions(Q).limit(p) == law))),
            holds("e^{Qh} contracts total variation by a factor below one", factor + ERROR < 1),
            holds(
                "the distance of p from p_st contracts by this factor",
                total_variation(moved, law) <= factor * total_variation(p, law) + ERROR,
            ),
            field_measurement(given, p[None]),
            *exponential_measurements(given, p, h, moved),
        ),
        witness={**given.witness(), "p": p, "law": law, "h": h, "factor": factor},
        parameters=given.parameters(),
    )


def _rate_measurements(given: Chain) -> tuple[Measurement, ...]:
    r"""Measure the spectral gap and the rate of convergence where the eigenvalues are known, from both sides.

    The largest distance d(t) from p_st over all initial distributions is at least $e^{-gt} / 2$ at any time, g being
    the gap.
    """
    exact, Q = known(given), floats(given.generator)
    if exact is None or given.size == 1:
        return ()
    gap, law = spectral_gap(Q), floats(exact.stationary)[:, None]
    far = lambda t: float(np.max(np.sum(abs(transition_matrix(Q, t)[0] - law), axis=0))) / 2
    symmetric_gap = reversibilised_gap(Q)
    # all of these chains that are not reversible, but for one, have a circulant generator, which is normal
    normal = exact.reversible or len(set(exact.stationary)) == 1
    return (
        equal("gap of the reversibilisation", symmetric_gap / exact.gap, 1.0, tolerance=SOLVER)
        if normal
        else at_most("gap of the reversibilisation over the gap", symmetric_gap / exact.gap, 1.0, tolerance=SOLVER),
        field_measurement(given, exact.stationary[None] + identity(given.size), sparse=True),
        equal("spectral gap over its closed form", gap.value / exact.gap, 1.0, tolerance=SOLVER),
        at_most(
            "error of the gap, less that which is stated",
            abs(gap.value - exact.gap) - gap.error,
            0.0,
            tolerance=EPSILON * float(given.fastest),
        ),
        _gap_of_a_turning_mode(),
        equal(
            f"largest distance from p_st after {LONG} relaxation times", far(LONG / exact.gap), 0, tolerance=ROUNDING
        ),
        at_least("largest distance after one", far(1 / exact.gap), math.exp(-1) / 2, tolerance=ROUNDING, within=(0, 1)),
        *_mixing_measurements(given),
    )


def _gap_of_a_turning_mode() -> Measurement:
    """Measure the gap of a ring of eight states with a switch, whose slowest mode turns fast.

    Eigenvalues are those of the ring, e^(i pi k / 4) - 1, plus 0 or -1/2: the one nearest to zero is -1/2.
    """
    ring, switch = np.roll(np.eye(8), 1, axis=0) - np.eye(8), np.array([[-0.25, 0.25], [0.25, -0.25]])
    found = spectral_gap(np.kron(ring, np.eye(2)) + np.kron(np.eye(8), switch)).value
    return equal("gap of a ring with a switch", found, 1 - math.cos(math.pi / 4), tolerance=SOLVER)


def _mixing_measurements(given: Chain) -> tuple[Measurement, ...]:
    """Measure that the mixing time is enclosed: the exact distance from p_st is 1/4 between its two bounds."""
    found, bounds, law = mixing_time(given.generator), mixing_bounds(given.generator), given.stationary_distributions[0]
    gap, symmetric_gap = spectral_gap(given.generator).value, reversibilised_gap(given.generator)

    def far(t: float) -> float:
        P = exact_transition_matrix(given.generator, Fraction(t))
        return float(max(total_variation(column, law) for column in P.T))

    return (
        at_least("largest distance at the lower bound of the mixing time", far(found.lower), 0.25, tolerance=ROUNDING),
        at_most("largest distance at its upper bound", far(found.upper), 0.25, tolerance=ROUNDING),
        at_most("upper over lower bound", found.upper / max(found.lower, 1e-300), 1.001, tolerance=ROUNDING),
        equal("lower bound from the spectrum times the gap", bounds.lower * gap, math.log(2), tolerance=SOLVER),
        equal(
            "upper bound from the spectrum times the gap of the reversibilisation",
            bounds.upper * symmetric_gap,
            math.log(2) - math.log(min(law)) / 2,
            tolerance=SOLVER,
        ),
        at_most("lower bound from the spectrum over the upper", bounds.lower / found.upper, 1.0, tolerance=SOLVER),
        at_least("upper bound from the spectrum over the lower", bounds.upper / found.lower, 1.0, tolerance=SOLVER),
    )


@certified(
    "multirate/theorem-28-iii-flow",
    num_trials=48,
    note="by contraction in total variation over a given time step, hence for every initial distribution, in "
    "fractions; the field, each method for e^{Qt} p and, where eigenvalues are known, the spectral gap and the "
    "distance after one and forty relaxation times are those of the toolkit, up to the errors that it states",
)
def flow_converges_to_the_stationary_distribution(key: Key) -> Trial:
    """If Q is irreducible, e^{Qt} p tends to the stationary distribution as t -> infinity, for every distribution p."""
    given = some_irreducible_chain(key)
    found = _flow_trial(given, _one(key, given.size), given.measured())
    if found.contradicts:
        return found  # a wrong exponential may never come near p_st, for which a mixing time waits
    rng = numpy_rng(key, "ring")
    a, b = rng.integers(1, 3, 2)
    sparse = lambda: (*ring_measurements(int(a), int(b), 3), *drift_measurements(rng))
    more = _rate_measurements(given) if known(given) else sparse()
    return replace(found, conclusions=(*found.conclusions, *more))


@flow_converges_to_the_stationary_distribution.with_control
def flow_converges_to_the_stationary_distribution(key: Key) -> Trial:
    """Two closed classes."""
    given = two_closed_classes(key)
    return _flow_trial(given, distribution(key, given.size), given.measured(irreducible=False))


def _moderate_chain(key: Key, *, links: tuple[int, int]) -> Chain:
    """Return two random pairs of states with `links` rates from the first pair to the second, and back."""
    rng = numpy_rng(key, "moderate")
    R = matrix(rng.integers(1, 6, (4, 4)) * (1 - np.eye(4, dtype=int))) / 2
    R[2:, :2] = R[2:, :2] * links[0]
    R[:2, 2:] = R[:2, 2:] * links[1]
    return from_rates(R)


def _path_trial(key: Key, integrator: AbstractIntegrator, *, linked: bool) -> Trial:
    """Measure a trajectory of the flow of two pairs of states: its values, and its limit after long relaxation."""
    given = _moderate_chain(key, links=(1, 1) if linked else (0, 0))
    p = _one(key, given.size) if linked else matrix([1, 1, 1, 1]) / 4
    gap = spectral_gap(given.generator).value
    times = [Fraction(0), Fraction(1, 8), Fraction(1, 2), Fraction(math.ceil(ENOUGH / gap))]
    path = simulate(MasterEquationFlow(floats(given.generator)), floats(p), [*map(float, times)], integrator=integrator)
    exact = np.stack([floats(exact_transition_matrix(given.generator, t) @ p) for t in times])
    law = floats(given.stationary_distributions[0])
    return Trial(
        hypotheses=given.measured(irreducible=linked),
        conclusions=(
            equal("error of the trajectory", np.max(abs(np.asarray(path.ys) - exact)), 0.0, tolerance=SOLVER),
            equal("final distance from p_st", np.sum(abs(np.asarray(path.final) - law)) / 2, 0.0, tolerance=SOLVER),
        ),
        witness={**given.witness(), "p": p, "law": law},
        parameters=given.parameters(),
    )


integrated_flow_converges_to_the_stationary_distribution = claim(
    "multirate/theorem-28-iii-flow/integrated",
    statement="If Q is irreducible, e^{Qt} p tends to the stationary distribution as t -> infinity, "
    "computed by integration.",
    trial=partial(_path_trial, linked=True),
    control=partial(_path_trial, linked=False),  # Two pairs of states without a transition between them.
    num_trials=8,
    note="four states with rates from 1/2 to 5/2, compared with e^{Qt} p in fractions, and after 20 relaxation times "
    "with p_st",
)


def _euler_trial(given: Chain, share: Fraction, p: Exact, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Measure the contraction of (k - 1)^2 + 1 Euler steps of size `share` times the bound, in total variation.

    That power of the matrix is positive, or no power is (Wielandt), in which case there is no convergence.
    """
    law, m = given.stationary_distributions[0], (given.size - 1) ** 2 + 1
    tau = 2 * share * given.half_step
    power = matrix_power(given.step(tau), m)
    factor = dobrushin_coefficient(power)
    step, path = MasterEquationMap(given.generator, tau), [p]
    for k in range(2 * m):
        path.append(step.step(k, path[-1]))
    far = [total_variation(q, law) for q in path[::m]]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("p_st is invariant under the step", bool(np.all(step.step(0, law) == law))),
            holds("(k - 1)^2 + 1 steps contract total variation by a factor below one", factor < 1),
            holds(
                "the distance of the iterate from p_st contracts by this factor",
                all(b <= factor * a for a, b in zip(far, far[1:], strict=False)),
            ),
            holds("(k - 1)^2 + 1 steps are that power of I + tau Q", bool(np.all(path[m] == power @ p))),
            *map_measurements(given, p, tau),
        ),
        witness={**given.witness(), "p": p, "tau": tau, "law": law, "factor": factor},
        parameters={**given.parameters(), "step over bound": float(share)},
    )


def _bound_measurements(given: Chain) -> tuple[Measurement, ...]:
    """Measure the step bounds and the period at the first of them, which is 1 if the iterates converge there."""
    if given.size == 1:
        return ()
    if step_bound(given.generator) * given.fastest != 1:
        return (holds("the step bound is 1 / max |Q_jj|", False),)
    found, exact, m = euler_bounds(floats(given.generator)), known(given), (given.size - 1) ** 2 + 1
    contracts = dobrushin_coefficient(matrix_power(given.step(2 * given.half_step), m)) < 1
    closed = (
        ()
        if exact is None
        else (
            holds("the period at the bound", found.period == exact.period),
            equal("the convergent step over its closed form", found.convergent / exact.convergent, 1, tolerance=SOLVER),
        )
    )
    return (
        equal("step bound over 1 / max |Q_jj|", found.nonnegative * float(given.fastest), 1.0, tolerance=ROUNDING),
        at_least("convergent step over the bound", found.convergent / found.nonnegative, 1.0, tolerance=SOLVER),
        holds(
            "the period at the bound is 1 if and only if the iterates converge there", (found.period == 1) == contracts
        ),
        *closed,
    )


def _below_the_bound(share: Fraction) -> Measurement:
    return holds("0 < tau < 1 / max |Q_jj|", 0 < share < 1)


@certified(
    "multirate/theorem-28-iii-euler",
    num_trials=48,
    note="the printed bound is read as 0 < tau < 1 / max |Q_jj|, strict, which the proof needs for a positive "
    "diagonal; sufficient, not necessary. By contraction in total variation, so for every start. Also measured: the "
    "largest convergent step, where eigenvalues are known, and the period at the bound",
)
def euler_iterates_converge_to_the_stationary_distribution(key: Key) -> Trial:
    """If Q is irreducible and 0 < tau < 1 / max |Q_jj|, (I + tau Q)^n p tends to the stationary distribution for every
    distribution p.
    """
    given = some_irreducible_chain(key)
    share = SHARES[numpy_rng(key, "share").integers(3)]
    found = _euler_trial(given, share, _one(key, given.size), (*given.measured(), _below_the_bound(share)))
    return replace(found, conclusions=(*found.conclusions, *_bound_measurements(given)))


@euler_iterates_converge_to_the_stationary_distribution.with_control
def euler_iterates_converge_to_the_stationary_distribution(key: Key) -> Trial:
    """The step size at the bound, on a cycle."""
    given = uniform_cycle(4, Fraction(5, 2))
    half = Fraction(1, 2)
    return _euler_trial(given, Fraction(1), distribution(key, 4), (*given.measured(), _below_the_bound(half)))


@certified(
    "multirate/theorem-28-iii-euler/at-the-bound",
    variant="reading",
    num_trials=8,
    note="for a directed cycle with equal rates the step matrix at the bound is a permutation, and its iterates are "
    "periodic with the length of the cycle; no control: the strict bound is measured by the same function",
)
def euler_iterates_converge_at_the_bound(key: Key) -> Trial:
    """If Q is irreducible, (I + tau Q)^n p tends to the stationary distribution for every distribution p.

    Read: also at tau = 1 / max |Q_jj|.
    """
    size = int(numpy_rng(key, "size").integers(2, 6))
    given = uniform_cycle(size, Fraction(1))
    return _euler_trial(given, Fraction(1), distribution(key, size), given.measured())
