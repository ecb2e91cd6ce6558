"""Comparisons of what the toolkit computes for a chain with exact values, as measurements.

A matrix in fractions is rounded once to floats, relative to each entry; errors are relative to the sum of the moduli of
the terms, which bounds the rounding error of a sum.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse

from analysis.chains.integrator import Exponential
from analysis.chains.relaxation import relaxation
from analysis.chains.reversibility import reversibility
from analysis.chains.stationary import stationary_distribution
from analysis.claims.multirate.instances.chains import Chain, from_rates
from analysis.claims.multirate.instances.hard_chains import known
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, at_least, at_most, equal, holds
from dynsim.errors import ArgumentError
from dynsim.exact import rationals
from dynsim.simulation.simulate import simulate
from dynsim.systems.master_equation.checks import check_generator
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap, step_bound
from dynsim.systems.master_equation.generators import birth_death

BITS = 400  # of a fixed-point number
TERMS = 60  # of the exponential series, for exit rate times step at most 1/2: 2^-60 / 60! < 2^-330
RING = 40  # states of the ring for sparse methods
CORNERS = 6  # of the ring for detailed balance
TINY = 1e-14  # rounding of a probability of the ring: sums of six logarithms
FEW = 64  # exit rate times time up to which series of polynomials are compared
RESOLVED = Fraction(1, 10**6)  # of the fastest rate: gaps above it are resolved by inverse iteration
EPSILON = 2.0**-52
NORMALISED = 2 * EPSILON  # of a sum and a quotient, after the solution whose error a method states
WORKING = 1000 * EPSILON  # more than which a method states as its error on a small chain, and it is of no use
CLOSE = 1e4  # the largest ratio of probabilities for which a fixed weight of the symmetric methods keeps its accuracy


def exact_transition_matrix(Q: Exact, t: Fraction) -> Exact:
    r"""Return $e^{Qt}$ in fractions, with an error below $2^{-200}$ for exit rates times t up to $2^{100}$.

    $e^{Qh}$ is the series of $e^{(Q + q) h}$, whose terms are not negative, with columns divided by their sums, which
    are $e^{qh}$; it is squared. Numbers are integers over 2^400, and an error at most doubles in each squaring.
    """
    fastest = max(-Q.diagonal())
    squarings = max(0, math.ceil(math.log2(max(1, fastest * t)))) + 1
    h = t / 2**squarings
    N = _fixed(identity(len(Q)) * fastest * h + Q * h)
    P = term = _fixed(identity(len(Q)))
    for n in range(1, TERMS):
        term = ((term @ N) >> BITS) // n
        P = P + term
    P = (P << BITS) // np.sum(P, axis=0)[None]
    for _ in range(squarings):
        P = (P @ P) >> BITS
        P = (P << BITS) // np.sum(P, axis=0)[None]
    return np.array([*(Fraction(int(v), 2**BITS) for v in P.flat), None], object)[:-1].reshape(P.shape)


def _exact_relaxation(Q: Exact, p: Exact, t: Fraction) -> Exact:
    r"""Return $e^{Qt} p$ in fractions, with an error below $2^{-200}$ for exit rates times t up to 12.

    By the series of $e^{(Q + q) t} p$, whose terms are not negative and sum to $e^{qt}$; numbers as above.
    """
    z = max(-Q.diagonal()) * t
    N, total = _fixed(identity(len(Q)) * z + Q * t), _fixed(p)
    term = total
    for n in range(1, 2 * TERMS):
        term = ((N @ term) >> BITS) // n
        total = total + term
    return np.array([*(Fraction(int(v), int(np.sum(total))) for v in total), None], object)[:-1]


def _fixed(M: Exact) -> np.ndarray:
    return np.array([*(int(v * 2**BITS) for v in M.flat), None], object)[:-1].reshape(M.shape)


def floats(values: Exact) -> np.ndarray:
    """Return the floats nearest to fractions."""
    return np.asarray(values).astype(float)


def relative_error(found: Any, expected: Any, scale: Any) -> float:
    """Return the largest |found - expected| / scale; infinite where the scale is zero and they differ."""
    difference = abs(np.asarray(found, float) - np.asarray(expected, float))
    scale = np.broadcast_to(np.asarray(scale, float), difference.shape)
    return float(np.max(np.divide(difference, scale, out=np.where(difference > 0, np.inf, 0.0), where=scale > 0)))


def accepts(check: Callable[[Any], Any], value: Any) -> bool:
    """Return whether a check of the toolkit accepts its argument."""
    try:
        check(value)
    except ArgumentError:
        return False
    return True


def validation_measurements(given: Chain) -> tuple[Measurement, ...]:
    """Measure that the toolkit accepts the generator, and refuses what is nearly one."""
    Q = given.generator
    skewed, negative = Q.copy(), Q.copy()
    skewed[0, 0] = skewed[0, 0] + Fraction(1, 1000)
    negative[0, -1], negative[-1, -1] = Fraction(-1, 1000), negative[-1, -1] + negative[0, -1] + Fraction(1, 1000)
    columns = accepts(check_generator, Q.T) == all(row.sum() == 0 for row in Q)
    refused = not accepts(check_generator, skewed) and (len(Q) == 1 or not accepts(check_generator, negative))
    return (
        holds("the toolkit accepts the generator", accepts(check_generator, Q)),
        holds("it accepts the transpose only if rows sum to zero", columns),
        holds("it refuses a column that sums to 1/1000, or a rate of -1/1000", refused),
    )


def field_measurement(given: Chain, points: Exact, *, sparse: bool = False) -> Measurement:
    """Measure that the field of the flow is Q x at `points`, (points, k)."""
    Q = floats(given.generator)
    flow = MasterEquationFlow(scipy.sparse.csc_array(Q) if sparse else Q)
    found = flow.velocity(0.0, jnp.asarray(floats(points)))
    error = relative_error(found, floats(points @ given.generator.T), floats(abs(points) @ abs(given.generator).T))
    error = max(error, relative_error(flow.generator(0.0)[0], Q, abs(Q)))
    kind = "sparse" if sparse else "dense"
    return equal(f"relative error of the field of the {kind} flow", error, 0.0, tolerance=ROUNDING)


def map_measurements(given: Chain, p: Exact, tau: Fraction) -> tuple[Measurement, ...]:
    """Measure that the forward-Euler map is I + tau Q, exactly, in floats and for a sparse Q, and its step bound."""
    Q, expected = given.generator, given.step(tau) @ p
    scale = p + abs(tau * Q) @ p
    rounded = (floats(Q), scipy.sparse.csc_array(floats(Q)))
    errors = [
        relative_error(MasterEquationMap(R, float(tau)).step(0, floats(p)), floats(expected), floats(scale))
        for R in rounded
    ]
    above = given.fastest and accepts(lambda R: MasterEquationMap(R, Fraction(1001, 1000) / given.fastest), Q)
    return (
        holds("the Euler map is I + tau Q", bool(np.all(MasterEquationMap(Q, tau).step(0, p) == expected))),
        holds(
            "that of each state, as a batch, is a column of it",
            bool(np.all(MasterEquationMap(Q, tau).step(0, identity(len(Q))) == given.step(tau).T)),
        ),
        equal("relative error of the Euler map in floats, dense and sparse", max(errors), 0.0, tolerance=ROUNDING),
        holds("its step bound is 1 / max |Q_jj|", step_bound(Q) == (1 / given.fastest if given.fastest else math.inf)),
        holds("it refuses a larger step", not above),
    )


def exponential_measurements(given: Chain, p: Exact, t: Fraction, expected: Exact) -> tuple[Measurement, ...]:
    """Measure that each method for $e^{Qt} p$ that applies to the chain returns `expected`, and so does `simulate`.

    The exact errors are at most those that the methods state, also where a method of polynomials loses digits.
    """
    Q, known_chain = floats(given.generator), known(given)
    methods, lossy = ["dense"], []
    if given.fastest * t <= FEW:
        methods += ["uniformisation"]
        lossy = ["chebyshev"] if known_chain and known_chain.reversible else []
        methods += lossy if known_chain and max(known_chain.stationary) <= CLOSE * min(known_chain.stationary) else []
    if not np.any(np.triu(Q, 2)) and not np.any(np.tril(Q, -2)):
        methods += ["rational"]
    found = {m: relaxation(Q, floats(p), [0.0, float(t)], method=m) for m in dict.fromkeys([*methods, *lossy])}
    start = max(float(np.max(abs(one.probabilities[0] - floats(p)))) for one in found.values())
    path = simulate(MasterEquationFlow(Q), floats(p), [1.0, 1.0 + float(t)], integrator=Exponential())
    shift = 1.0 + float(t) - 1.0  # the time that floats leave of t
    drift = float(given.fastest) * abs(shift - float(t))
    return (
        equal("error at time zero", start, 0.0, tolerance=ROUNDING),
        *(
            equal(
                f"error of e^{{Qt}} p by `{m}`", np.max(abs(found[m].final - floats(expected))), 0, tolerance=ROUNDING
            )
            for m in methods
        ),
        *(_covered(f"e^{{Qt}} p by `{m}`", r.final, expected, float(r.errors[-1])) for m, r in found.items()),
        *(
            at_most(f"error that `{m}` states", found[m].errors[-1], WORKING, tolerance=0.0)
            for m in ("dense", "uniformisation")
            if m in found
        ),
        equal(
            "error of `simulate` by the exponential, from time 1 on",
            np.max(abs(np.asarray(path.final) - floats(expected))),
            0.0,
            tolerance=ROUNDING + drift,
        ),
    )


def _covered(what: str, found: np.ndarray, expected: Exact, stated: float, *, relative: bool = False) -> Measurement:
    """Measure that the largest exact error of floats, or the largest relative one, is at most what a method states."""
    off = abs(rationals("found", found) - expected)
    error = float(max(off / np.where(expected == 0, 1, expected) if relative else off))
    return at_most(f"exact error of {what}, less that which it states", error - stated, 0.0, tolerance=0.0)


def ring_measurements(forwards: int, backwards: int, t: int) -> tuple[Measurement, ...]:
    """Measure methods for sparse chains on a ring of states with two rates, against fractions."""
    ring = matrix(np.roll(np.eye(RING, dtype=int), 1, axis=0))
    chain = from_rates(forwards * ring + backwards * ring.T, "ring")
    start = (identity(RING)[0] + identity(RING)[5]) / 2
    expected = _exact_relaxation(chain.generator, start, Fraction(t))
    methods = ["shift-invert", "uniformisation", *(["chebyshev"] if forwards == backwards else [])]
    Q, times = scipy.sparse.csc_array(floats(chain.generator)), [t / 2, float(t)]
    found = {method: relaxation(Q, floats(start), times, method=method) for method in methods}
    return tuple(
        measured
        for m, one in found.items()
        for measured in (
            equal(
                f"error of e^{{Qt}} p by `{m}` on a ring",
                np.max(abs(one.final - floats(expected))),
                0.0,
                tolerance=ROUNDING,
            ),
            _covered(f"e^{{Qt}} p by `{m}` on a ring", one.final, expected, float(one.errors[-1])),
            at_most(f"error that `{m}` states on a ring", one.errors[-1], 5 * WORKING, tolerance=0.0),
        )
    )


def drift_measurements(rng: np.random.Generator) -> tuple[Measurement, ...]:
    """Measure Chebyshev polynomials on a line with a strong drift, from its least likely end, against fractions.

    In the norm in which they are bounded this start is larger than one by many orders, which costs them digits.
    """
    k, down = 12, Fraction(int(rng.integers(16, 25)))
    chain: Any = birth_death(identity(k - 1).sum(axis=0), down * identity(k - 1).sum(axis=0))
    start, t = identity(k)[-1], 20 / down
    expected = exact_transition_matrix(chain, t) @ start
    found = relaxation(floats(chain), floats(start), [float(t)], method="chebyshev")
    return (
        equal("error against a drift", np.max(abs(found.final - floats(expected))), 0.0, tolerance=ROUNDING),
        _covered("Chebyshev polynomials against a drift", found.final, expected, float(found.errors[-1])),
    )


def balance_measurements(rng: np.random.Generator) -> tuple[Measurement, ...]:
    """Measure violations of detailed balance on rings whose products of rates in both senses have the ratio 1 + 2^-n.

    A tree of transitions leaves one edge out, at which the violation is log(1 + 2^-n), for both of its ends. With
    n = 40 the ring counts as balanced, and the distribution from the tree must be right up to the error that it states.
    """
    ahead, back = ([Fraction(int(rate)) for rate in rng.integers(1, 9, CORNERS)] for _ in range(2))

    def off_by(n: int) -> Chain:
        first = (1 + Fraction(1, 2**n)) * math.prod(back) / math.prod(ahead[1:])
        rates = identity(CORNERS) * 0
        for k, (a, b) in enumerate(zip([first, *ahead[1:]], back, strict=True)):
            rates[(k + 1) % CORNERS, k], rates[k, (k + 1) % CORNERS] = a, b
        return from_rates(rates, "ring")

    found, nearly, balanced = (reversibility(floats(off_by(n).generator)) for n in (20, 32, 40))
    tree, law = (
        stationary_distribution(floats(off_by(40).generator), method="tree"),
        off_by(40).stationary_distributions,
    )
    wrong = relative_error(tree.probabilities, floats(law[0]), floats(law[0]))
    rounded, Q = rationals("found", tree.probabilities), off_by(40).generator
    residual = float(max(abs(Q @ rounded) / (-Q.diagonal() * rounded)))
    return (
        equal("residual that the tree states, over the exact one", tree.residual / residual, 1.0, tolerance=0.01),
        equal("violation of balance over log(1 + 2^-20)", found.violation / math.log1p(2**-20), 1.0, tolerance=1e-6),
        equal(
            "violations added over states, over the violation", found.accumulated / found.violation, 2.0, tolerance=1e-6
        ),
        holds("a ratio of 1 + 2^-32 is no balance, one of 1 + 2^-40 is", balanced.reversible and not nearly.reversible),
        at_most("error of the tree less that which it states", wrong - tree.error, 0.0, tolerance=TINY),
    )


def _least_error(given: Chain) -> float:
    """Return the least error that elimination states: the working precision times the number of states, 0 for one."""
    return given.size * EPSILON if given.size > 1 else 0.0


def stationary_measurements(given: Chain, law: Exact) -> tuple[Measurement, ...]:
    """Measure that the stationary distribution by each method is `law`, exactly or to a relative error."""
    Q, known_chain = floats(given.generator), known(given)
    methods = ["elimination"]
    if known_chain:  # a sparse factorisation can meet a pivot of zero for nearly decoupled random chains
        methods += ["lu", "tree"] if known_chain.reversible else ["lu"]
        methods += ["inverse-iteration"] if known_chain.gap > RESOLVED * given.fastest else []
    found = {m: stationary_distribution(Q, method=m) for m in methods}
    exact = stationary_distribution(given.generator)
    balanced = known_chain is None or reversibility(given.generator).reversible == known_chain.reversible
    return (
        holds("the exact stationary distribution is that vector", bool(np.all(exact.probabilities == law))),
        holds("the chain is found reversible if and only if it is", balanced),
        *(
            equal(
                f"relative error of a probability by `{m}`, up to the error that it states",
                max(0.0, relative_error(one.probabilities, floats(law), floats(law)) - one.error),
                0.0,
                tolerance=ROUNDING,
            )
            for m, one in found.items()
        ),
        *(
            _covered(f"a probability by `{m}`", one.probabilities, law, one.error + NORMALISED, relative=True)
            for m, one in found.items()
        ),
        at_least("error that elimination states", found["elimination"].error, _least_error(given), tolerance=0.0),
        equal("largest error that a method states", max(one.error for one in found.values()), 0.0, tolerance=SOLVER),
    )
