"""Claims of Section 5 on norm constraints: what RMSNorm bounds, and what bounds do for the fast dynamics."""

from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.multirate.instances.networks import generator
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, at_least, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE

EPSILON = Fraction(1, 100_000)  # of RMSNorm, in the network
SCALES = tuple(Fraction(s) for s in ("1/1000000000", "1/100", "1", "1000", "1000000000"))


def context(key: Key) -> Exact:
    """Return a rational context, (d,), of tiny, moderate or huge entries, one of five zero."""
    a, b = jax.random.split(key)
    size, none = int(jax.random.randint(a, (), 0, len(SCALES))), int(jax.random.randint(b, (), 0, 5)) == 0
    d = 2 + int(jax.random.randint(b, (), 0, 7))
    return rational_matrix(b, d) * (0 if none else SCALES[size])


def squared_norm(c: Exact, gain: Exact, epsilon: Fraction = EPSILON) -> Fraction:
    """Return the square of |g c / sqrt(mean(c^2) + epsilon)|, exactly."""
    return sum((gain * c) ** 2, Fraction(0)) / (sum(c**2, Fraction(0)) / len(c) + epsilon)


def _bound_trial(c: Exact, square: Fraction, gain: Exact, bound: Fraction) -> Trial:
    """Measure that the square of a norm is at most `bound` times d."""
    return Trial(
        hypotheses=(at_least("dimension", len(c), 1, tolerance=0.0), at_least("bound", bound, 0, tolerance=0.0)),
        conclusions=(holds("the norm is at most that", square <= bound * len(c)),),
        witness={"context": c, "gain": gain, "|.|^2 / d": square / len(c), "allowed": bound},
    )


@claim(
    "multirate/remark-24-rmsnorm",
    MULTIRATE.at("Remark 24"),
    evidence="certified",
    num_trials=16,
    note="RMSNorm as the text has it, without a gain, as at the start of a training; strictly below with its epsilon, "
    "and zero stays zero; a gain moves the bound: see `gain`. What is injected, proj of it, is at most |W| sqrt(d)",
)
def rms_norm_bounds_the_context(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every context c in R^d, tiny, huge or zero, |RMSNorm(c)| <= sqrt(d)."""
    c = context(key)
    gain = identity(len(c))[0] * 0 + 1
    return _bound_trial(c, squared_norm(c, gain), gain, Fraction(1))


@rms_norm_bounds_the_context.with_control
def rms_norm_bounds_the_context(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Over the mean of the entries' sizes in place of the root of their mean square."""
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
    note="a context along the coordinate of the largest gain; a gain that training has moved from one to 5/4; "
    "no control: the corrected bound is the positive case",
)
def rms_norm_with_a_gain_has_the_same_bound(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: RMSNorm with a gain g, as networks train it. For every context |g RMSNorm(c)| <= sqrt(d)."""
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
    note="changed: the bound has the largest entry of the gain as a factor",
)
def rms_norm_is_bounded_by_its_gain(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every context c and gain g, |g RMSNorm(c)| <= max |g| sqrt(d)."""
    a, b = jax.random.split(key)
    c = context(a)
    gain = _gain(b, len(c))
    return _bound_trial(c, squared_norm(c, gain), gain, max(abs(gain)) ** 2)


@rms_norm_is_bounded_by_its_gain.with_control
def rms_norm_is_bounded_by_its_gain(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the mean of the gain's squares in place of the largest, for the coordinate of the largest gain."""
    gain = _gain(key, 4) + identity(4)[0] * 2
    c = identity(4)[0]
    return _bound_trial(c, squared_norm(c, gain), gain, sum(gain**2, Fraction(0)) / 4)


class Pair(NamedTuple):
    """Two states of a fast subsystem and their velocities, (d,) each, with what constrains them."""

    constraint: str
    x: Exact
    z: Exact
    x_velocity: Exact
    z_velocity: Exact

    @property
    def approach(self) -> Fraction:
        """Half the rate at which the square of their distance grows, over that square: negative if they approach."""
        gap = self.x - self.z
        return sum(gap * (self.x_velocity - self.z_velocity), Fraction(0)) / sum(gap**2, Fraction(0))


def on_sphere(key: Key, stretch: Exact) -> Pair:
    """Return two points next to e_1 of the unit sphere in R^3, in the flow x' = (I - x x^T) diag(stretch) x."""
    x, z = (_near_pole(k) for k in jax.random.split(key))
    move = lambda x: stretch * x - (x @ (stretch * x)) * x
    return Pair("the unit sphere", x, z, move(x), move(z))


def _near_pole(key: Key) -> Exact:
    """Return a rational point of the unit sphere within a fifth of e_1."""
    s = rational_matrix(key, 2) / 32
    q = sum(s * s)
    return np.concatenate([matrix([1]) * (1 - q), 2 * s]) / (1 + q)


def under_mixing(key: Key, share: Fraction, *, common: bool) -> Pair:
    """Return two states of x' = share M x - x with M doubly stochastic; they differ by a constant if `common`."""
    a, b, c = jax.random.split(key, 3)
    M = mixing(a)
    x, gap = rational_matrix(b, 4), rational_matrix(c, 4) + identity(4)[0] * 2
    z = x + (matrix([1, 1, 1, 1]) if common else gap)
    return Pair("a doubly stochastic matrix", x, z, share * (M @ x) - x, share * (M @ z) - z)


def mixing(key: Key) -> Exact:
    """Return a doubly stochastic matrix, a rational mixture of permutations of four."""
    rng = generator(key)
    weights = matrix(rng.integers(1, 9, 3))
    permutations = np.stack([identity(4)[rng.permutation(4)] for _ in weights])
    return np.tensordot(weights, permutations, axes=1) / sum(weights)


def _contraction_trial(pair: Pair, met: bool) -> Trial:
    return Trial(
        hypotheses=(holds(f"the constraint, {pair.constraint}, is met", met),),
        conclusions=(holds("two states approach each other", pair.approach < 0),),
        witness={"x": pair.x, "z": pair.z, "growth of their distance": pair.approach},
    )


@claim(
    "multirate/remark-25-norm-constraints",
    MULTIRATE.at("Remark 25"),
    evidence="certified",
    num_trials=4,
    note="bounded they keep it, contractive not: on the sphere tokens spread from the direction that is stretched "
    "least, and a doubly stochastic M leaves differences of constants as they are in x' = M x - x; RMSNorm in "
    "the network is claim-rmsnorm-contraction; no control: the corrected claim is the positive case",
)
def norm_constraints_make_contractive(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A fast subsystem whose state is held on a sphere, or whose matrix is doubly stochastic, is contractive.

    Read: any two states approach each other.
    """
    if int(jax.random.randint(key, (), 0, 2)):
        pair = on_sphere(key, matrix([-1, 1, 2]))
        still = pair.x @ pair.x_velocity == 0 == pair.z @ pair.z_velocity
        return _contraction_trial(pair, pair.x @ pair.x == pair.z @ pair.z == 1 and bool(still))
    return _contraction_trial(under_mixing(key, Fraction(1), common=True), _doubly_stochastic(key))


def _doubly_stochastic(key: Key) -> bool:
    M = mixing(jax.random.split(key, 3)[0])
    return bool(np.all(M >= 0)) and all(sum(row) == 1 for row in (*M, *M.T))


@claim(
    "multirate/remark-25-norm-constraints/corrected",
    MULTIRATE.at("Remark 25"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
    note="added: the norm that is bounded is that of the operator, strictly below one, and the dynamics has the form "
    "x' = F(x) - x; a bound on the state alone gives no rate",
)
def operator_bounds_below_one_make_contractive(key: Key, integrator: AbstractIntegrator) -> Trial:
    """In x' = rho M x - x with M doubly stochastic and 0 <= rho < 1 any two states approach each other."""
    share = Fraction(int(jax.random.randint(key, (), 0, 100)), 100)
    pair = under_mixing(key, share, common=bool(int(jax.random.randint(key, (), 0, 2))))
    return _contraction_trial(pair, _doubly_stochastic(key) and 0 <= share < 1)


@operator_bounds_below_one_make_contractive.with_control
def operator_bounds_below_one_make_contractive(key: Key, integrator: AbstractIntegrator) -> Trial:
    """At rho = 1, for a constant difference."""
    return _contraction_trial(under_mixing(key, Fraction(1), common=True), _doubly_stochastic(key))
