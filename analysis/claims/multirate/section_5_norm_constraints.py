"""Claims of Section 5 on norm constraints: the bound of RMSNorm, and contraction of the fast dynamics under bounds."""

from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, at_least, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE

EPSILON = Fraction(1, 100_000)  # the epsilon of RMSNorm in the network
SCALES = tuple(Fraction(s) for s in ("1/1000000000", "1/100", "1", "1000", "1000000000"))


def context(key: Key) -> Exact:
    """Return a random rational context, (d,), 2 <= d <= 8, of entries at scales 1e-9 to 1e9; one in five is zero."""
    a, b = jax.random.split(key)
    size, none = int(jax.random.randint(a, (), 0, len(SCALES))), int(jax.random.randint(b, (), 0, 5)) == 0
    d = 2 + int(jax.random.randint(b, (), 0, 7))
    return rational_matrix(b, d) * (0 if none else SCALES[size])


def squared_norm(c: Exact, gain: Exact, epsilon: Fraction = EPSILON) -> Fraction:
    """Return |g c / sqrt(mean(c^2) + epsilon)|^2, the squared norm of RMSNorm with gain g, exactly."""
    return sum((gain * c) ** 2, Fraction(0)) / (sum(c**2, Fraction(0)) / len(c) + epsilon)


def _bound_trial(c: Exact, square: Fraction, gain: Exact, bound: Fraction) -> Trial:
    """Measure that the squared norm `square` is at most `bound` times d."""
    return Trial(
        hypotheses=(at_least("dimension", len(c), 1, tolerance=0.0), at_least("bound", bound, 0, tolerance=0.0)),
        conclusions=(holds("the squared norm is at most the bound times d", square <= bound * len(c)),),
        witness={"context": c, "gain": gain, "|.|^2 / d": square / len(c), "allowed": bound},
    )


@claim(
    "multirate/remark-24-rmsnorm",
    MULTIRATE.at("Remark 24"),
    evidence="certified",
    num_trials=16,
    note="RMSNorm as in the text, without a gain, as at the start of training; the inequality is strict because of its "
    "epsilon; a gain changes the bound: see `gain`. The injected term proj(RMSNorm(c)) is at most |W| sqrt(d)",
)
def rms_norm_bounds_the_context(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every context c in R^d, |RMSNorm(c)| <= sqrt(d)."""
    c = context(key)
    gain = identity(len(c))[0] * 0 + 1
    return _bound_trial(c, squared_norm(c, gain), gain, Fraction(1))


@rms_norm_bounds_the_context.with_control
def rms_norm_bounds_the_context(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Normalisation by the mean absolute value in place of the root mean square."""
    c = rational_matrix(key, 8) + identity(8)[0] * 9
    gain = identity(8)[0] * 0 + 1
    mean = sum(abs(c), Fraction(0)) / len(c)
    return _bound_trial(c, sum(c**2, Fraction(0)) / mean**2, gain, Fraction(1))


def _gain(key: Key, d: int) -> Exact:
    return 1 + rational_matrix(key, d) / 8


@claim(
    "multirate/remark-24-rmsnorm/gain",
    MULTIRATE.at("Remark 24"),
    variant="reading",
    evidence="certified",
    num_trials=1,
    note="a context along the coordinate of the largest gain, which is 5/4 instead of the initial 1; "
    "no control: the corrected bound is the positive case",
)
def rms_norm_with_a_gain_has_the_same_bound(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: for RMSNorm with a trained gain g. For every context c, |g RMSNorm(c)| <= sqrt(d)."""
    gain = matrix([1, 1, 1, 1])
    gain[2] = Fraction(5, 4)
    c = matrix([0, 0, 7, 0])
    return _bound_trial(c, squared_norm(c, gain), gain, Fraction(1))


@claim(
    "multirate/remark-24-rmsnorm/largest-gain",
    MULTIRATE.at("Remark 24"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
    note="changed: the bound has the largest absolute entry of the gain as a factor",
)
def rms_norm_is_bounded_by_its_gain(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every context c and gain g, |g RMSNorm(c)| <= max |g| sqrt(d)."""
    a, b = jax.random.split(key)
    c = context(a)
    gain = _gain(b, len(c))
    return _bound_trial(c, squared_norm(c, gain), gain, max(abs(gain)) ** 2)


@rms_norm_is_bounded_by_its_gain.with_control
def rms_norm_is_bounded_by_its_gain(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The root mean square of the gain in place of its largest entry, for the coordinate of the largest gain."""
    gain = _gain(key, 4) + identity(4)[0] * 2
    c = identity(4)[0]
    return _bound_trial(c, squared_norm(c, gain), gain, sum(gain**2, Fraction(0)) / 4)


class Pair(NamedTuple):
    """Two states of a fast subsystem and their velocities, (d,) each, under a norm constraint."""

    constraint: str
    x: Exact
    z: Exact
    x_velocity: Exact
    z_velocity: Exact

    @property
    def distance_growth(self) -> Fraction:
        """The logarithmic growth rate of their distance; negative if they approach each other."""
        gap = self.x - self.z
        return sum(gap * (self.x_velocity - self.z_velocity), Fraction(0)) / sum(gap**2, Fraction(0))


def on_sphere(key: Key, stretch: Exact) -> Pair:
    """Return two points near e_1 on the unit sphere in R^3 for the flow x' = (I - x x^T) diag(stretch) x."""
    x, z = (_near_pole(k) for k in jax.random.split(key))
    move = lambda x: stretch * x - (x @ (stretch * x)) * x
    return Pair("the unit sphere", x, z, move(x), move(z))


def _near_pole(key: Key) -> Exact:
    """Return a random rational point of the unit sphere within 1/5 of e_1."""
    s = rational_matrix(key, 2) / 32
    q = sum(s * s)
    return np.concatenate([matrix([1]) * (1 - q), 2 * s]) / (1 + q)


def doubly_stochastic_flow(key: Key, factor: Fraction, *, common: bool) -> Pair:
    """Return two states of x' = factor M x - x with M doubly stochastic; they differ by (1, 1, 1, 1) if `common`."""
    a, b, c = jax.random.split(key, 3)
    M = doubly_stochastic_matrix(a)
    x, gap = rational_matrix(b, 4), rational_matrix(c, 4) + identity(4)[0] * 2
    z = x + (matrix([1, 1, 1, 1]) if common else gap)
    return Pair("a doubly stochastic matrix", x, z, factor * (M @ x) - x, factor * (M @ z) - z)


def doubly_stochastic_matrix(key: Key) -> Exact:
    """Return a random doubly stochastic 4x4 matrix, a rational convex combination of permutation matrices."""
    rng = numpy_rng(key)
    weights = matrix(rng.integers(1, 9, 3))
    permutations = np.stack([identity(4)[rng.permutation(4)] for _ in weights])
    return np.tensordot(weights, permutations, axes=1) / sum(weights)


def _contraction_trial(pair: Pair, met: bool) -> Trial:
    return Trial(
        hypotheses=(holds(f"the constraint, {pair.constraint}, is met", met),),
        conclusions=(holds("the distance of the two states decreases", pair.distance_growth < 0),),
        witness={"x": pair.x, "z": pair.z, "growth of their distance": pair.distance_growth},
    )


@claim(
    "multirate/remark-25-norm-constraints",
    MULTIRATE.at("Remark 25"),
    evidence="certified",
    num_trials=4,
    note="the constraints keep it bounded, but not contractive: on the sphere points diverge from the direction of the "
    "least growth rate, and under x' = M x - x with M doubly stochastic constant differences persist; RMSNorm in the "
    "network is claim-rmsnorm-contraction; no control: the corrected claim is the positive case",
)
def norm_constraints_make_contractive(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A fast subsystem whose state is constrained to a sphere, or whose matrix is doubly stochastic, is contractive.

    Read: the distance of any two states decreases.
    """
    if int(jax.random.randint(key, (), 0, 2)):
        pair = on_sphere(key, matrix([-1, 1, 2]))
        still = pair.x @ pair.x_velocity == 0 == pair.z @ pair.z_velocity
        return _contraction_trial(pair, pair.x @ pair.x == pair.z @ pair.z == 1 and bool(still))
    return _contraction_trial(doubly_stochastic_flow(key, Fraction(1), common=True), _doubly_stochastic(key))


def _doubly_stochastic(key: Key) -> bool:
    M = doubly_stochastic_matrix(jax.random.split(key, 3)[0])
    return bool(np.all(M >= 0)) and all(sum(row) == 1 for row in (*M, *M.T))


@claim(
    "multirate/remark-25-norm-constraints/corrected",
    MULTIRATE.at("Remark 25"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
    note="added: the bounded norm is that of the operator, strictly below one, and the dynamics has the form "
    "x' = F(x) - x; a bound on the state alone gives no contraction rate",
)
def operator_bounds_below_one_make_contractive(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under x' = rho M x - x with M doubly stochastic and 0 <= rho < 1 the distance of any two states decreases."""
    factor = Fraction(int(jax.random.randint(key, (), 0, 100)), 100)
    pair = doubly_stochastic_flow(key, factor, common=bool(int(jax.random.randint(key, (), 0, 2))))
    return _contraction_trial(pair, _doubly_stochastic(key) and 0 <= factor < 1)


@operator_bounds_below_one_make_contractive.with_control
def operator_bounds_below_one_make_contractive(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two states with a constant difference under rho = 1."""
    return _contraction_trial(doubly_stochastic_flow(key, Fraction(1), common=True), _doubly_stochastic(key))
