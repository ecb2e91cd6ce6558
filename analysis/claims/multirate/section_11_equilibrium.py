"""Claims of Section 11 on coming to rest: residuals, passes, Anderson's secant, and whether Post contracts.

Maps x -> W |x| + b are rational, not linear, and have the Lipschitz constant max_i sum_j |W_ij| in the maximum norm.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.multirate import numpy_forward_pass
from analysis.claims.multirate.instances.networks import SMALL, generator, network
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.orientation import oriented
from dynsim.papers import MULTIRATE

D = 3
PASSES = 12
STEP = 1e-4  # between the two states of a near pair


class Bent(NamedTuple):
    """The map x -> W |x| + b in R^d, and its fixed point, exact."""

    W: Exact
    rest: Exact

    def __call__(self, x: Exact) -> Exact:
        """Return the image of a state."""
        return self.W @ (abs(x) - abs(self.rest)) + self.rest

    @property
    def lipschitz(self) -> Fraction:
        """Its Lipschitz constant in the maximum norm."""
        return max(sum(abs(row), Fraction(0)) for row in self.W)


def bent(key: Key, lipschitz: Fraction) -> Bent:
    """Return a random map with that Lipschitz constant; its first row has it."""
    a, b = jax.random.split(key)
    W = rational_matrix(a, D, D) + 9 * identity(D)  # no row is zero
    return Bent(matrix(np.stack([lipschitz * row / sum(abs(row)) for row in W])), rational_matrix(b, D))


def size(x: Exact) -> Fraction:
    """Return the maximum norm."""
    return max(abs(x))


def _order_trial(G: Bent, x: Exact, z: Exact) -> Trial:
    """Measure that of two states the one with the smaller residual is nearer to rest."""
    residuals, distances = ([size(f(s)) for s in (x, z)] for f in (lambda s: G(s) - s, lambda s: s - G.rest))
    return Trial(
        hypotheses=(
            holds("Post is a contraction", G.lipschitz < 1),
            holds("the first has the smaller residual", residuals[0] < residuals[1]),
        ),
        conclusions=(holds("it is nearer to rest", distances[0] <= distances[1]),),
        witness={"W": G.W, "rest": G.rest, "states": (x, z), "residuals": residuals, "distances": distances},
    )


@claim(
    "multirate/claim-residual-distance",
    MULTIRATE.at("Section 11.1"),
    evidence="certified",
    num_trials=1,
    note="read: of two states the one with the smaller residual |Post(x) - x| is nearer. It fails for a contraction "
    "that is slow in one direction: the residual is small there and the way long; without a fixed point there is no "
    "distance at all; no control: the corrected claim is the positive case",
)
def residual_measures_the_distance(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The residual of a pass measures the distance to equilibrium."""
    W = identity(2) * matrix([[0], [0]])
    W[1, 1] = Fraction(999, 1000)
    return _order_trial(Bent(W, matrix([0, 0])), matrix([0, 100]), matrix([1, 0]))


def _sandwich_trial(G: Bent, told: Fraction, x: Exact) -> Trial:
    residual, distance = size(G(x) - x), size(x - G.rest)
    return Trial(
        hypotheses=(
            holds("the Lipschitz constant is below one", told < 1),
            holds("the state is not at rest", distance > 0),
            holds("the map has a fixed point", size(G(G.rest) - G.rest) == 0),
        ),
        conclusions=(
            holds("residual / (1 + L) <= distance", residual <= (1 + told) * distance),
            holds("distance <= residual / (1 - L)", (1 - told) * distance <= residual),
        ),
        witness={"W": G.W, "rest": G.rest, "x": x, "L": told, "residual": residual, "distance": distance},
    )


@claim(
    "multirate/claim-residual-distance/corrected",
    MULTIRATE.at("Section 11.1"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
    note="added: Post has a Lipschitz constant L < 1 and the factors 1 / (1 + L) and 1 / (1 - L); near L = 1 the "
    "second is no bound of use",
)
def residual_bounds_the_distance(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Post has the Lipschitz constant L < 1, residual / (1 + L) <= distance to rest <= residual / (1 - L)."""
    a, b, c = jax.random.split(key, 3)
    L = Fraction(int(jax.random.randint(a, (), 1, 100)), 100)
    G = bent(b, L)
    return _sandwich_trial(G, G.lipschitz, G.rest + rational_matrix(c, D) + 2 * identity(D)[0])


@residual_bounds_the_distance.with_control
def residual_bounds_the_distance(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With half of the Lipschitz constant, for a linear map along its slow direction."""
    G = Bent(identity(D) * Fraction(9, 10), matrix([0, 0, 0]))
    return _sandwich_trial(G, G.lipschitz / 2, identity(D)[0])


def _passes_trial(G: Bent, told: Fraction, x: Exact) -> Trial:
    distances = [size(x - G.rest)]
    for _ in range(PASSES):
        x = G(x)
        distances.append(size(x - G.rest))
    within = [distance <= told**M * distances[0] for M, distance in enumerate(distances)]
    return Trial(
        hypotheses=(
            holds("Post is a contraction", told < 1),
            holds("it starts away from rest", distances[0] > 0),
        ),
        conclusions=(holds(f"after M passes it is within L^M of the distance, M <= {PASSES}", all(within)),),
        witness={"W": G.W, "rest": G.rest, "L": told, "distances": distances},
    )


@claim(
    "multirate/claim-truncated-iteration",
    MULTIRATE.at("Section 11.2"),
    evidence="certified",
    num_trials=12,
    note="Banach's theorem: L^M tends to 0 at any L < 1. The if is the matter: see claim-rmsnorm-contraction",
)
def passes_of_a_contraction_converge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Post, with the context held, is a contraction, x_M = Post(x_{M-1}) tends to its fixed point.

    The distance after M passes is at most L^M times that at the start.
    """
    a, b, c = jax.random.split(key, 3)
    G = bent(a, Fraction(int(jax.random.randint(b, (), 1, 100)), 100))
    return _passes_trial(G, G.lipschitz, G.rest + rational_matrix(c, D) + 2 * identity(D)[0])


@passes_of_a_contraction_converge.with_control
def passes_of_a_contraction_converge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """An expansion by 3/2 in place of the contraction by 2/3."""
    G = Bent(identity(D) * Fraction(3, 2), matrix([0, 0, 0]))
    return _passes_trial(G, Fraction(2, 3), identity(D)[0])


def expansion(post: numpy_forward_pass.Field, x: np.ndarray, step: float = STEP) -> tuple[float, np.ndarray]:
    """Return by how much Post takes apart the pair x +- `step` v that it takes apart most near x, and v, of length one.

    v is the first right singular vector of the Jacobian, by differences; the pair is one of actual states.
    """
    n = x.size
    pair = lambda v: (x + step * v.reshape(x.shape), x - step * v.reshape(x.shape))
    moved = lambda v: np.ravel(np.subtract(*map(post, pair(v)))) / (2 * step)
    J = np.stack([moved(e) for e in np.eye(n)], axis=1)
    v = oriented(np.linalg.svd(J)[2][0])
    return float(np.linalg.norm(moved(v))), v


def contraction_trial(post: numpy_forward_pass.Field, x: np.ndarray, **witness: float) -> Trial:
    """Measure that Post brings the states of pairs nearer to each other: next to x, and far apart on the ray of x."""
    found, _ = expansion(post, x)
    far = 1e6 * x
    ray = float(np.linalg.norm(post(far) - post(-far)) / np.linalg.norm(2 * far))
    return Trial(
        hypotheses=(at_least("size of the state", np.min(np.linalg.norm(x, axis=1)), 0.0, tolerance=ROUNDING),),
        conclusions=(at_most("largest expansion of a near pair", found, 1.0, tolerance=ROUNDING / STEP),),
        witness={"largest expansion": found, "expansion of a far pair": ray, **witness},
    )


@claim(
    "multirate/claim-rmsnorm-contraction",
    MULTIRATE.at("Section 11.2"),
    num_trials=6,
    note="pre-norm layers, random weights, small and large; trained ones are `trained`. It is so for no weights and no "
    "norm: RMSNorm bounds Post(x) - x, so that far pairs keep their distance. No correction keeps the conclusion; "
    "x / 2 would pass the same measurement; no control: nothing is there to break",
)
def post_is_a_contraction_under_rms_norm(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Post, layers with RMSNorm before attention and MLP, brings any two states nearer to each other."""
    a, b = jax.random.split(key)
    scale = float(generator(a).choice([0.1, 0.3, 1.0]))
    layers = numpy_forward_pass.in_numpy(network(a, scale=scale)).rounds[0].after
    x = generator(b).normal(size=(4, SMALL.width))
    return contraction_trial(
        lambda x: numpy_forward_pass.euler_steps(numpy_forward_pass.fields(layers), x), x, scale=scale
    )


class Iterates(NamedTuple):
    """Two iterates, (d,), and their residuals G(x) - x, all exact."""

    last: Exact
    x: Exact
    old: Exact
    new: Exact

    @property
    def coefficient(self) -> Fraction:
        """The multiple of the last change of the residual that is nearest to the residual, by least squares."""
        change = self.new - self.old
        return sum(self.new * change, Fraction(0)) / sum(change**2, Fraction(0))

    def mixed(self, coefficient: Fraction) -> Exact:
        """Return G(x) less a multiple of the last change of G: Anderson's step of depth one."""
        return self.x + self.new - coefficient * (self.x + self.new - self.last - self.old)


def iterates(G: Callable[[Exact], Exact], last: Exact, x: Exact) -> Iterates:
    """Return two iterates of a map with their residuals."""
    return Iterates(last, x, G(last) - last, G(x) - x)


def _scalar(key: Key, *, bend: int) -> Iterates:
    """Return two iterates of a quadratic map of the line, or of an affine one if `bend` is 0, with two residuals."""
    a, b, again = jax.random.split(key, 3)
    slope, shift, curve = rational_matrix(a, 3)
    last, x = rational_matrix(b, 2)
    found = iterates(lambda x: bend * curve * x * x + slope * x + shift, matrix([1]) * last, matrix([1]) * x)
    return found if found.new[0] != found.old[0] else _scalar(again, bend=bend)


def _secant_trial(key: Key, weight: Fraction) -> Trial:
    """Compare with the secant of x -> G(x) - x through two points; `weight` is a factor of the coefficient."""
    found, affine = _scalar(key, bend=1), _scalar(key, bend=0)
    step = found.mixed(weight * found.coefficient)
    secant = found.x - found.new * (found.x - found.last) / (found.new - found.old)
    slope = 1 + (affine.new - affine.old) / (affine.x - affine.last)
    rest = affine.x + affine.new / (1 - slope)
    return Trial(
        hypotheses=(holds("the two residuals differ", bool(found.new != found.old and affine.new != affine.old)),),
        conclusions=(
            holds("Anderson's step is the secant's", bool(step == secant)),
            holds("for affine G it is at rest", bool(affine.mixed(weight * affine.coefficient) == rest)),
        ),
        witness={"iterates": (found.last, found.x), "residuals": (found.old, found.new), "step": step},
    )


@claim(
    "multirate/claim-anderson",
    MULTIRATE.at("Section 11.3"),
    evidence="certified",
    num_trials=12,
    note="the printed formula is lost; read as Anderson's step of depth one. For numbers it is the secant method; for "
    "vectors there is no one secant, and the coefficient is that of `least-squares`",
)
def anderson_of_depth_one_is_the_secant(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For maps G of the line, Anderson's step of depth one from x_0, x_1 is that of the secant method for G(x) = x.

    If G is affine, it ends at the fixed point.
    """
    return _secant_trial(key, Fraction(1))


@anderson_of_depth_one_is_the_secant.with_control
def anderson_of_depth_one_is_the_secant(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With half of the coefficient."""
    return _secant_trial(key, Fraction(1, 2))


def _square_trial(key: Key, weight: Fraction) -> Trial:
    """Measure that no other of a few coefficients leaves a smaller mixed residual."""
    a, b = jax.random.split(key)
    G = bent(a, Fraction(3, 4))
    last, x = rational_matrix(b, 2, D)
    found = iterates(G, last, x)
    left = lambda coefficient: sum((found.new - coefficient * (found.new - found.old)) ** 2)
    best = weight * found.coefficient
    others = [found.coefficient + Fraction(k, 8) for k in range(-8, 9)]
    return Trial(
        hypotheses=(
            holds("the residuals differ", bool(np.any(found.new != found.old))),
            holds("the coefficient is not zero", found.coefficient != 0),
        ),
        conclusions=(holds("no other leaves less", all(left(best) <= left(other) for other in others)),),
        witness={"iterates": (last, x), "coefficient": best, "step": found.mixed(best)},
    )


@claim(
    "multirate/claim-anderson/least-squares",
    MULTIRATE.at("Section 11.3"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="over the whole vector; it ends at the fixed point of an affine map of the line, not of the plane",
)
def anderson_leaves_the_least_residual(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: for vectors, theta = <r_1, r_1 - r_0> / |r_1 - r_0|^2. It leaves the least |r_1 - theta (r_1 - r_0)|."""
    return _square_trial(key, Fraction(1))


@anderson_leaves_the_least_residual.with_control
def anderson_leaves_the_least_residual(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With half of the coefficient."""
    return _square_trial(key, Fraction(1, 2))
