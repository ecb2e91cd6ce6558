"""Claims of Section 11 on fixed points: residuals, fixed-point iteration, Anderson acceleration, contraction of Post.

The maps x -> W |x| + b are nonlinear, exact in fractions, and have Lipschitz constant max_i sum_j |W_ij| in the maximum
norm.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.multirate import numpy_forward_pass
from analysis.claims.multirate.instances.networks import SMALL, network
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.orientation import oriented
from dynsim.papers import MULTIRATE

D = 3
PASSES = 12
STEP = 1e-4  # half the distance of the two states of a near pair


class AbsoluteValueMap(NamedTuple):
    """The map x -> W |x| + b in R^d, given by W and a fixed point, in fractions."""

    W: Exact
    fixed_point: Exact

    def __call__(self, x: Exact) -> Exact:
        """Return the image of a state."""
        return self.W @ (abs(x) - abs(self.fixed_point)) + self.fixed_point

    @property
    def lipschitz(self) -> Fraction:
        """Its Lipschitz constant in the maximum norm."""
        return max(sum(abs(row), Fraction(0)) for row in self.W)


def random_absolute_value_map(key: Key, lipschitz: Fraction) -> AbsoluteValueMap:
    """Return a random map with Lipschitz constant `lipschitz`."""
    a, b = jax.random.split(key)
    W = rational_matrix(a, D, D) + 9 * identity(D)  # no row is zero
    return AbsoluteValueMap(matrix(np.stack([lipschitz * row / sum(abs(row)) for row in W])), rational_matrix(b, D))


def maximum_norm(x: Exact) -> Fraction:
    """Return the maximum norm."""
    return max(abs(x))


def _order_trial(G: AbsoluteValueMap, x: Exact, z: Exact) -> Trial:
    """Measure that of two states the one with the smaller residual is closer to the fixed point."""
    residuals, distances = (
        [maximum_norm(f(s)) for s in (x, z)] for f in (lambda s: G(s) - s, lambda s: s - G.fixed_point)
    )
    return Trial(
        hypotheses=(
            holds("Post is a contraction", G.lipschitz < 1),
            holds("the first has the smaller residual", residuals[0] < residuals[1]),
        ),
        conclusions=(holds("the first is closer to the fixed point", distances[0] <= distances[1]),),
        witness={"W": G.W, "rest": G.fixed_point, "states": (x, z), "residuals": residuals, "distances": distances},
    )


@claim(
    "multirate/claim-residual-distance",
    MULTIRATE.at("Section 11.1"),
    evidence="certified",
    num_trials=1,
    note="read: of two states the one with the smaller residual |Post(x) - x| is closer to the fixed point. It fails "
    "for a contraction that is slow in one direction, where the residual is small and the distance large; without a "
    "fixed point there is no distance at all; no control: the corrected claim is the positive case",
)
def residual_measures_the_distance(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The residual of a pass measures the distance to equilibrium."""
    W = identity(2) * matrix([[0], [0]])
    W[1, 1] = Fraction(999, 1000)
    return _order_trial(AbsoluteValueMap(W, matrix([0, 0])), matrix([0, 100]), matrix([1, 0]))


def _sandwich_trial(G: AbsoluteValueMap, lipschitz: Fraction, x: Exact) -> Trial:
    residual, distance = maximum_norm(G(x) - x), maximum_norm(x - G.fixed_point)
    return Trial(
        hypotheses=(
            holds("the Lipschitz constant is below one", lipschitz < 1),
            holds("the state is not the fixed point", distance > 0),
            holds("the map has a fixed point", maximum_norm(G(G.fixed_point) - G.fixed_point) == 0),
        ),
        conclusions=(
            holds("residual / (1 + L) <= distance", residual <= (1 + lipschitz) * distance),
            holds("distance <= residual / (1 - L)", (1 - lipschitz) * distance <= residual),
        ),
        witness={"W": G.W, "rest": G.fixed_point, "x": x, "L": lipschitz, "residual": residual, "distance": distance},
    )


@claim(
    "multirate/claim-residual-distance/corrected",
    MULTIRATE.at("Section 11.1"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
    note="added: Post has a Lipschitz constant L < 1, and the factors 1 / (1 + L) and 1 / (1 - L); near L = 1 the "
    "upper bound is not useful",
)
def residual_bounds_the_distance(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Post has Lipschitz constant L < 1, the distance to the fixed point is between |Post(x) - x| / (1 + L) and
    |Post(x) - x| / (1 - L).
    """
    a, b, c = jax.random.split(key, 3)
    L = Fraction(int(jax.random.randint(a, (), 1, 100)), 100)
    G = random_absolute_value_map(b, L)
    return _sandwich_trial(G, G.lipschitz, G.fixed_point + rational_matrix(c, D) + 2 * identity(D)[0])


@residual_bounds_the_distance.with_control
def residual_bounds_the_distance(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Half the Lipschitz constant, for a linear map."""
    G = AbsoluteValueMap(identity(D) * Fraction(9, 10), matrix([0, 0, 0]))
    return _sandwich_trial(G, G.lipschitz / 2, identity(D)[0])


def _passes_trial(G: AbsoluteValueMap, lipschitz: Fraction, x: Exact) -> Trial:
    distances = [maximum_norm(x - G.fixed_point)]
    for _ in range(PASSES):
        x = G(x)
        distances.append(maximum_norm(x - G.fixed_point))
    within = [distance <= lipschitz**M * distances[0] for M, distance in enumerate(distances)]
    return Trial(
        hypotheses=(
            holds("Post is a contraction", lipschitz < 1),
            holds("the initial state is not the fixed point", distances[0] > 0),
        ),
        conclusions=(
            holds(f"after M passes the distance is at most L^M times the initial one, M <= {PASSES}", all(within)),
        ),
        witness={"W": G.W, "rest": G.fixed_point, "L": lipschitz, "distances": distances},
    )


@claim(
    "multirate/claim-truncated-iteration",
    MULTIRATE.at("Section 11.2"),
    evidence="certified",
    num_trials=12,
    note="Banach's fixed-point theorem: L^M tends to 0 for any L < 1. For the hypothesis see claim-rmsnorm-contraction",
)
def passes_of_a_contraction_converge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If Post, for a fixed context, is a contraction, x_M = Post(x_{M-1}) converges to its fixed point.

    The distance after M passes is at most L^M times the initial one, L being the Lipschitz constant.
    """
    a, b, c = jax.random.split(key, 3)
    G = random_absolute_value_map(a, Fraction(int(jax.random.randint(b, (), 1, 100)), 100))
    return _passes_trial(G, G.lipschitz, G.fixed_point + rational_matrix(c, D) + 2 * identity(D)[0])


@passes_of_a_contraction_converge.with_control
def passes_of_a_contraction_converge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """An expansion with factor 3/2 in place of a contraction with factor 2/3."""
    G = AbsoluteValueMap(identity(D) * Fraction(3, 2), matrix([0, 0, 0]))
    return _passes_trial(G, Fraction(2, 3), identity(D)[0])


def expansion(post: numpy_forward_pass.Field, x: np.ndarray, step: float = STEP) -> tuple[float, np.ndarray]:
    """Return the expansion factor of Post for the pair of states x +- `step` v, and v.

    v is the first right singular vector of the Jacobian at x (central differences), the direction of largest expansion.
    """
    n = x.size
    pair = lambda v: (x + step * v.reshape(x.shape), x - step * v.reshape(x.shape))
    moved = lambda v: np.ravel(np.subtract(*map(post, pair(v)))) / (2 * step)
    J = np.stack([moved(e) for e in np.eye(n)], axis=1)
    v = oriented(np.linalg.svd(J)[2][0])
    return float(np.linalg.norm(moved(v))), v


def contraction_trial(post: numpy_forward_pass.Field, x: np.ndarray, **witness: float) -> Trial:
    """Measure that the distance of a pair of states next to x decreases under Post, in the direction of most expansion.

    The factor for a pair far apart on the line of x is in the witness.
    """
    found, _ = expansion(post, x)
    far = 1e6 * x
    ray = float(np.linalg.norm(post(far) - post(-far)) / np.linalg.norm(2 * far))
    return Trial(
        hypotheses=(at_least("least norm of a token", np.min(np.linalg.norm(x, axis=1)), 0.0, tolerance=ROUNDING),),
        conclusions=(at_most("largest expansion factor of a near pair", found, 1.0, tolerance=ROUNDING / STEP),),
        witness={"largest expansion": found, "expansion of a far pair": ray, **witness},
    )


@claim(
    "multirate/claim-rmsnorm-contraction",
    MULTIRATE.at("Section 11.2"),
    num_trials=6,
    note="pre-norm layers with small and large random weights; for trained ones see `trained`. It fails for any "
    "weights and any norm: RMSNorm bounds Post(x) - x, so that distances of far pairs are preserved to leading order. "
    "No correction keeps the conclusion; x / 2 passes the same measurement; no control: there is no hypothesis to drop",
)
def post_is_a_contraction_under_rms_norm(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Post, layers with RMSNorm before attention and MLP, is a contraction."""
    a, b = jax.random.split(key)
    scale = float(numpy_rng(a).choice([0.1, 0.3, 1.0]))
    layers = numpy_forward_pass.in_numpy(network(a, scale=scale)).rounds[0].after
    x = numpy_rng(b).normal(size=(4, SMALL.width))
    return contraction_trial(
        lambda x: numpy_forward_pass.euler_steps(numpy_forward_pass.fields(layers), x), x, scale=scale
    )


class Iterates(NamedTuple):
    """Two successive iterates, (d,), and their residuals G(x) - x, in fractions."""

    previous: Exact
    x: Exact
    previous_residual: Exact
    residual: Exact

    @property
    def coefficient(self) -> Fraction:
        """Anderson's coefficient theta = <r, r - r_previous> / |r - r_previous|^2."""
        change = self.residual - self.previous_residual
        return sum(self.residual * change, Fraction(0)) / sum(change**2, Fraction(0))

    def mixed(self, coefficient: Fraction) -> Exact:
        """Return G(x) - theta (G(x) - G(x_previous)), the step of Anderson(1) with coefficient theta."""
        return self.x + self.residual - coefficient * (self.x + self.residual - self.previous - self.previous_residual)


def iterates(G: Callable[[Exact], Exact], previous: Exact, x: Exact) -> Iterates:
    """Return two iterates of G with their residuals."""
    return Iterates(previous, x, G(previous) - previous, G(x) - x)


def _scalar_iterates(key: Key, *, curvature: int) -> Iterates:
    """Return two iterates of a random quadratic scalar map, affine if `curvature` is 0, with distinct residuals."""
    a, b, again = jax.random.split(key, 3)
    slope, shift, curve = rational_matrix(a, 3)
    previous, x = rational_matrix(b, 2)
    found = iterates(lambda x: curvature * curve * x * x + slope * x + shift, matrix([1]) * previous, matrix([1]) * x)
    return found if found.residual[0] != found.previous_residual[0] else _scalar_iterates(again, curvature=curvature)


def _secant_trial(key: Key, weight: Fraction) -> Trial:
    """Compare Anderson(1) with the secant method for G(x) - x = 0; `weight` multiplies the coefficient."""
    found, affine = _scalar_iterates(key, curvature=1), _scalar_iterates(key, curvature=0)
    step = found.mixed(weight * found.coefficient)
    secant = found.x - found.residual * (found.x - found.previous) / (found.residual - found.previous_residual)
    slope = 1 + (affine.residual - affine.previous_residual) / (affine.x - affine.previous)
    fixed_point = affine.x + affine.residual / (1 - slope)
    return Trial(
        hypotheses=(
            holds(
                "the two residuals differ",
                bool(found.residual != found.previous_residual and affine.residual != affine.previous_residual),
            ),
        ),
        conclusions=(
            holds("the Anderson step is the secant step", bool(step == secant)),
            holds("for affine G it is the fixed point", bool(affine.mixed(weight * affine.coefficient) == fixed_point)),
        ),
        witness={
            "iterates": (found.previous, found.x),
            "residuals": (found.previous_residual, found.residual),
            "step": step,
        },
    )


@claim(
    "multirate/claim-anderson",
    MULTIRATE.at("Section 11.3"),
    evidence="certified",
    num_trials=12,
    note="the printed formula is missing; read as Anderson's step of depth one. For scalars it is the secant method; "
    "for vectors the secant is not unique, and the coefficient is that of `least-squares`",
)
def anderson_of_depth_one_is_the_secant(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For scalar maps G, Anderson's step of depth one from x_0, x_1 is that of the secant method for G(x) = x.

    If G is affine, the step gives the fixed point.
    """
    return _secant_trial(key, Fraction(1))


@anderson_of_depth_one_is_the_secant.with_control
def anderson_of_depth_one_is_the_secant(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Half the coefficient."""
    return _secant_trial(key, Fraction(1, 2))


def _square_trial(key: Key, weight: Fraction) -> Trial:
    """Measure that none of several other coefficients gives a smaller mixed residual."""
    a, b = jax.random.split(key)
    G = random_absolute_value_map(a, Fraction(3, 4))
    previous, x = rational_matrix(b, 2, D)
    found = iterates(G, previous, x)
    left = lambda coefficient: sum((found.residual - coefficient * (found.residual - found.previous_residual)) ** 2)
    best = weight * found.coefficient
    others = [found.coefficient + Fraction(k, 8) for k in range(-8, 9)]
    return Trial(
        hypotheses=(
            holds("the residuals differ", bool(np.any(found.residual != found.previous_residual))),
            holds("the coefficient is not zero", found.coefficient != 0),
        ),
        conclusions=(
            holds(
                "no other coefficient gives a smaller mixed residual",
                all(left(best) <= left(other) for other in others),
            ),
        ),
        witness={"iterates": (previous, x), "coefficient": best, "step": found.mixed(best)},
    )


@claim(
    "multirate/claim-anderson/least-squares",
    MULTIRATE.at("Section 11.3"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="inner products over the whole vector; one step gives the fixed point of an affine scalar map, but not of an "
    "affine map of the plane",
)
def anderson_leaves_the_least_residual(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: for vectors, theta = <r_1, r_1 - r_0> / |r_1 - r_0|^2, which minimises |r_1 - theta (r_1 - r_0)|."""
    return _square_trial(key, Fraction(1))


@anderson_leaves_the_least_residual.with_control
def anderson_leaves_the_least_residual(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Half the coefficient."""
    return _square_trial(key, Fraction(1, 2))
