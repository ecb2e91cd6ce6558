"""Claims of Section 5 on norm constraints: the bound of RMSNorm, and contraction of the fast dynamics under bounds."""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.multirate.chain_comparisons import floats, relative_error
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Trial, at_least, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.decoder.transformer import RMSNorm
from dynsim.systems.master_equation.flow import MasterEquationFlow
from dynsim.systems.master_equation.generators import attention_generator
from dynsim.systems.tokens.flow import TokenFlow

EPSILON = Fraction(1, 100_000)  # the epsilon of RMSNorm in the network
SCALES = tuple(Fraction(s) for s in ("1/1000000000", "1/100", "1", "1000", "1000000000"))
DIMENSIONS = (1, 2, 5, 8)
SHARP = Fraction(1, 10**12)  # the share of the squared bound that a context of size 1e9 may miss, for its epsilon


def context(key: Key) -> Exact:
    """Return a random rational context, (d,), of entries at scales 1e-9 to 1e9; one in five is zero."""
    rng = numpy_rng(key, "context")
    d, scale, none = DIMENSIONS[rng.integers(len(DIMENSIONS))], SCALES[rng.integers(len(SCALES))], rng.integers(5) == 0
    return rational_matrix(key, d) * (0 if none else scale)


def squared_norm(c: Exact, gain: Exact, epsilon: Fraction = EPSILON) -> Fraction:
    """Return |g c / sqrt(mean(c^2) + epsilon)|^2, the squared norm of RMSNorm with gain g, exactly."""
    return sum((gain * c) ** 2, Fraction(0)) / (sum(c**2, Fraction(0)) / len(c) + epsilon)


def _bound_trial(c: Exact, square: Fraction, gain: Exact, bound: Fraction) -> Trial:
    """Measure that the squared norm `square` is at most `bound` times d, and that some context attains it."""
    d = len(c)
    largest = identity(d)[np.argmax(abs(gain))] * 10**9
    return Trial(
        hypotheses=(at_least("dimension", d, 1, tolerance=0.0), at_least("bound", bound, 0, tolerance=0.0)),
        conclusions=(
            holds("the squared norm is at most the bound times d", square <= bound * d),
            holds("the bound is sharp", squared_norm(largest, gain) >= (1 - SHARP) * bound * d),
        ),
        witness={"context": c, "gain": gain, "epsilon": EPSILON, "|.|^2 / d": square / d, "allowed": bound},
        parameters={"d": d, "largest entry": float(max(abs(c)))},
    )


def _with_layer(trial: Trial, c: Exact, gain: Exact) -> Trial:
    """Return a trial with a further conclusion: the normalisation of the network is that of the trial."""
    scale = np.sqrt(float(sum(c**2, Fraction(0)) / len(c) + EPSILON))
    found = np.asarray(RMSNorm(jnp.asarray(floats(gain)))(jnp.asarray(floats(c)[None])))[0]
    layer = equal(
        "error of the normalisation of the network, relative to each entry",
        relative_error(found, floats(gain * c) / scale, abs(floats(gain * c)) / scale),
        0.0,
        tolerance=ROUNDING,
    )
    return replace(trial, conclusions=(*trial.conclusions, layer))


@certified(
    "multirate/remark-24-rmsnorm",
    num_trials=24,
    note="compared with the normalisation of the network, and attained by large contexts up to "
    "epsilon. RMSNorm as in the text, without a gain, as at the start of training; the inequality is strict because "
    "of its epsilon; a gain changes the bound: see `gain`. The injected term proj(RMSNorm(c)) is at most |W| sqrt(d)",
)
def rms_norm_bounds_the_context(key: Key) -> Trial:
    """For every context c in R^d, |RMSNorm(c)| <= sqrt(d)."""
    c = context(key)
    gain = identity(len(c))[0] * 0 + 1
    return _with_layer(_bound_trial(c, squared_norm(c, gain), gain, Fraction(1)), c, gain)


@rms_norm_bounds_the_context.with_control
def rms_norm_bounds_the_context(key: Key) -> Trial:
    """Normalisation by the mean absolute value in place of the root mean square."""
    c = rational_matrix(key, 8) + identity(8)[0] * 9
    gain = identity(8)[0] * 0 + 1
    mean = sum(abs(c), Fraction(0)) / len(c)
    return _bound_trial(c, sum(c**2, Fraction(0)) / mean**2, gain, Fraction(1))


def _gain(key: Key, d: int) -> Exact:
    return 1 + rational_matrix(key, d) / 8


@certified(
    "multirate/remark-24-rmsnorm/gain",
    variant="reading",
    num_trials=1,
    note="a context along the coordinate of the largest gain, which is 5/4 instead of the initial 1; "
    "no control: the corrected bound is the positive case",
)
def rms_norm_with_a_gain_has_the_same_bound(key: Key) -> Trial:
    """Read: for RMSNorm with a trained gain g. For every context c, |g RMSNorm(c)| <= sqrt(d)."""
    gain = matrix([1, 1, 1, 1])
    gain[2] = Fraction(5, 4)
    c = matrix([0, 0, 7, 0])
    return _bound_trial(c, squared_norm(c, gain), gain, Fraction(1))


@certified(
    "multirate/remark-24-rmsnorm/largest-gain",
    variant="corrected",
    num_trials=24,
    note="changed: the bound, which is attained, has the largest absolute entry of the gain as a factor",
)
def rms_norm_is_bounded_by_its_gain(key: Key) -> Trial:
    """For every context c and gain g, |g RMSNorm(c)| <= max |g| sqrt(d)."""
    a, b = jax.random.split(key)
    c = context(a)
    gain = _gain(b, len(c))
    return _with_layer(_bound_trial(c, squared_norm(c, gain), gain, max(abs(gain)) ** 2), c, gain)


@rms_norm_is_bounded_by_its_gain.with_control
def rms_norm_is_bounded_by_its_gain(key: Key) -> Trial:
    """The root mean square of the gain in place of its largest entry, for the coordinate of the largest gain."""
    gain = _gain(key, 4) + identity(4)[0] * 2
    c = identity(4)[0]
    return _bound_trial(c, squared_norm(c, gain), gain, sum(gain**2, Fraction(0)) / 4)


class StatePair(NamedTuple):
    """Two states of a fast subsystem and their velocities, (d,) each, under a norm constraint.

    `error` is the largest difference of the velocities from those of the toolkit.
    """

    constraint: str
    x: Exact
    z: Exact
    x_velocity: Exact
    z_velocity: Exact
    error: float

    @property
    def distance_growth(self) -> Fraction:
        """The logarithmic growth rate of their distance; negative if they approach each other."""
        gap = self.x - self.z
        return sum(gap * (self.x_velocity - self.z_velocity), Fraction(0)) / sum(gap**2, Fraction(0))


def on_sphere(key: Key, stretch: Exact) -> StatePair:
    """Return two points near e_1 on the unit sphere in R^3 for the flow x' = (I - x x^T) diag(stretch) x.

    It is the flow of one token, whose only attention weight is one.
    """
    x, z = (_near_pole(k) for k in jax.random.split(key))
    velocities = [stretch * y - (y @ (stretch * y)) * y for y in (x, z)]
    flow = TokenFlow(np.eye(3)[None], np.diag(floats(stretch))[None], scale=1.0)
    found = [np.asarray(flow.vector_field(0.0, jnp.asarray(floats(y)[None])))[0] for y in (x, z)]
    error = float(np.max(abs(np.stack(found) - floats(np.stack(velocities)))))
    return StatePair("the unit sphere", x, z, velocities[0], velocities[1], error)


def _near_pole(key: Key) -> Exact:
    """Return a random rational point of the unit sphere within 1/5 of e_1."""
    s = rational_matrix(key, 2) / 32
    q = sum(s * s)
    return np.concatenate([matrix([1]) * (1 - q), 2 * s]) / (1 + q)


def doubly_stochastic_flow(key: Key, factor: Fraction, *, common: bool) -> StatePair:
    """Return two states of x' = factor M x - x with M doubly stochastic; they differ by (1, 1, 1, 1) if `common`.

    M - I is the generator of a master equation, whose field gives M x.
    """
    a, b, c = jax.random.split(key, 3)
    M = doubly_stochastic_matrix(a)
    x, gap = rational_matrix(b, 4), rational_matrix(c, 4) + identity(4)[0] * 2
    z = x + (matrix([1, 1, 1, 1]) if common else gap)
    states = np.stack([x, z])
    velocities = factor * states @ M.T - states
    field = MasterEquationFlow(floats(np.asarray(attention_generator(M.T)))).velocity(0.0, jnp.asarray(floats(states)))
    found = float(factor) * np.asarray(field) - float(1 - factor) * floats(states)
    error = float(np.max(abs(found - floats(velocities))))
    return StatePair("a doubly stochastic matrix", x, z, velocities[0], velocities[1], error)


def doubly_stochastic_matrix(key: Key) -> Exact:
    """Return a doubly stochastic 4x4 matrix: a random convex combination of permutations, or one of them, or I."""
    rng = numpy_rng(key)
    weights = matrix(rng.integers(1, 9, 3))
    permutations = np.stack([identity(4)[rng.permutation(4)] for _ in weights])
    kind = rng.integers(4)
    if kind < 2:
        return identity(4) if kind else permutations[0]  # reducible, or with eigenvalues on the unit circle
    return np.tensordot(weights, permutations, axes=1) / sum(weights)


def _contraction_trial(pair: StatePair, met: bool, *, rate: Fraction | None = None) -> Trial:
    """Measure that two states approach each other, at least at the `rate` if it is given."""
    least = () if rate is None else (holds("it decreases at least at the rate 1 - rho", pair.distance_growth <= -rate),)
    return Trial(
        hypotheses=(
            holds(f"the constraint, {pair.constraint}, is met", met),
            equal("error of the velocities of the toolkit", pair.error, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(holds("the distance of the two states decreases", pair.distance_growth < 0), *least),
        witness={"x": pair.x, "z": pair.z, "growth of their distance": pair.distance_growth},
        parameters={"constraint": pair.constraint},
    )


@certified(
    "multirate/remark-25-norm-constraints",
    num_trials=4,
    note="the constraints keep it bounded, but not contractive: on the sphere points diverge from the direction of the "
    "least growth rate, and under x' = M x - x with M doubly stochastic constant differences persist; RMSNorm in the "
    "network is claim-rmsnorm-contraction",
)
def norm_constraints_make_contractive(key: Key) -> Trial:
    """A fast subsystem whose state is constrained to a sphere, or whose matrix is doubly stochastic, is contractive.

    Read: the distance of any two states decreases.
    """
    stretch = matrix([-1, 1, 2])
    pair = on_sphere(key, stretch)
    still = pair.x @ pair.x_velocity == 0 == pair.z @ pair.z_velocity
    sphere = _contraction_trial(pair, pair.x @ pair.x == pair.z @ pair.z == 1 and bool(still))
    shifted = _contraction_trial(doubly_stochastic_flow(key, Fraction(1), common=True), _doubly_stochastic(key))
    return Trial(
        hypotheses=(*sphere.hypotheses, *shifted.hypotheses),
        conclusions=(*sphere.conclusions, *shifted.conclusions),
        witness={"S": stretch, "x": pair.x, "z": pair.z, "M": _matrix(key)},
        parameters={"constraints": "both"},
    )


def _matrix(key: Key) -> Exact:
    """Return the matrix of `doubly_stochastic_flow`."""
    return doubly_stochastic_matrix(jax.random.split(key, 3)[0])


def _doubly_stochastic(key: Key) -> bool:
    M = _matrix(key)
    return bool(np.all(M >= 0)) and all(sum(row) == 1 for row in (*M, *M.T))


@certified(
    "multirate/remark-25-norm-constraints/corrected",
    # Two states with a constant difference under rho = 1.
    control=lambda key: _contraction_trial(
        doubly_stochastic_flow(key, Fraction(1), common=True), _doubly_stochastic(key)
    ),
    num_trials=32,
    note="added: the bounded norm is that of the operator, strictly below one, and the dynamics has the form "
    "x' = F(x) - x; a bound on the state alone gives no contraction rate",
)
def operator_bounds_below_one_make_contractive(key: Key) -> Trial:
    """Under x' = rho M x - x with M doubly stochastic and 0 <= rho < 1 the distance of any two states decreases, at
    least at the rate 1 - rho, which is that of states with a constant difference.
    """
    rng = numpy_rng(key, "factor")
    factor, common = Fraction(int(rng.integers(100)), 100), bool(rng.integers(2))
    pair = doubly_stochastic_flow(key, factor, common=common)
    found = _contraction_trial(pair, _doubly_stochastic(key) and 0 <= factor < 1, rate=1 - factor)
    sharp = holds("the rate is 1 - rho for a constant difference", not common or pair.distance_growth == factor - 1)
    velocity = equal("error of the velocities of the toolkit", pair.error, 0.0, tolerance=ROUNDING)
    return replace(
        found,
        hypotheses=found.hypotheses[:1],
        conclusions=(*found.conclusions, sharp, velocity),
        parameters={"rho": float(factor)},
    )
