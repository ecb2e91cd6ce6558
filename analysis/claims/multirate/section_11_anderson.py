"""Claims of Section 11.3: Anderson acceleration of depth one, the network's own, against exact secant steps."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.multirate.instances.contractions import AbsoluteValueMap, random_absolute_value_map
from analysis.claims.rational_instances import Exact, rational_matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.networks.multirate.equilibrium import Anderson

TOKENS = 3
D = 3
LEAST_CHANGE = Fraction(1, 8)  # of a residual, so that the secant is well conditioned

Map = Callable[[Exact], Exact]


class Iterates(NamedTuple):
    """Two successive iterates and their residuals G(x) - x, in fractions: vectors (d,), or tokens (n, d)."""

    previous: Exact
    x: Exact
    previous_residual: Exact
    residual: Exact

    @property
    def change(self) -> Exact:
        """The difference of the residuals."""
        return self.residual - self.previous_residual

    @property
    def coefficient(self) -> Fraction:
        """Anderson's coefficient theta = <r, r - r_previous> / |r - r_previous|^2, over all entries."""
        return _inner(self.residual, self.change) / _inner(self.change, self.change)

    def mixed(self, coefficient: Fraction) -> Exact:
        """Return G(x) - theta (G(x) - G(x_previous)), the step of Anderson(1) with coefficient theta."""
        return self.x + self.residual - coefficient * (self.x + self.residual - self.previous - self.previous_residual)


def iterates(G: Map, previous: Exact, x: Exact) -> Iterates:
    """Return two iterates of G with their residuals."""
    return Iterates(previous, x, G(previous) - previous, G(x) - x)


def _inner(a: Exact, b: Exact) -> Fraction:
    return sum(np.ravel(a * b), Fraction(0))


class Parabolas(NamedTuple):
    """Scalar maps G(x) = c x^2 + s x + a, one for each token, and the initial values."""

    curve: Exact
    slope: Exact
    shift: Exact
    start: Exact

    def __call__(self, x: Exact) -> Exact:
        """Return the images of the tokens' values, shape (n,)."""
        return self.curve * x * x + self.slope * x + self.shift

    def secants(self, passes: int, weight: Fraction) -> list[Exact]:
        """Return start, G(start), and the secant steps for G(x) = x, with the share `weight` of each step."""
        found = [self.start, self(self.start)]
        while len(found) <= passes:
            last, x = found[-2:]
            r, before = self(x) - x, self(last) - last
            found.append(x + r - weight * r / (r - before) * (x + r - last - before))
        return found

    def conditioned(self) -> bool:
        """Whether residuals change enough in both steps for the secant in floating point."""
        once = self(self.start)
        change = (self(once) - once) - (once - self.start)
        return min(abs(change).tolist()) >= LEAST_CHANGE


def _parabolas(key: Key, *, curved: bool) -> Parabolas:
    """Return random maps, affine unless `curved`, whose residuals change."""
    a, again = jax.random.split(key)
    curve, slope, shift, start = rational_matrix(a, 4, TOKENS)
    found = Parabolas(curve / 4 * int(curved), slope / 2, shift, start / 2)
    return found if found.conditioned() else _parabolas(again, curved=curved)


@eqx.filter_jit
def _scalar_method(method: Anderson, curve: Array, slope: Array, shift: Array, start: Array) -> Array:
    """Return what the network's method makes of the values of tokens of one coordinate."""
    G = lambda x: curve[:, None] * x**2 + slope[:, None] * x + shift[:, None]
    return method(G, start[:, None])[:, 0]


def _floats(*parts: Exact) -> tuple[Array, ...]:
    return tuple(jnp.asarray(part.astype(float)) for part in parts)


def _secant_trial(key: Key, weight: Fraction) -> Trial:
    """Compare the network's method with exact secant steps, of which `weight` multiplies the coefficient."""
    a, b = jax.random.split(key)
    curved, affine = _parabolas(a, curved=True), _parabolas(b, curved=False)
    exact = curved.secants(2, weight)
    found = np.asarray(_scalar_method(Anderson(2), *_floats(*curved)))
    line = np.asarray(_scalar_method(Anderson(2), *_floats(*affine)))
    fixed_points = affine.shift / (1 - affine.slope)
    size = float(np.max(abs(np.concatenate([*exact, affine(affine.start), fixed_points])))) + 1
    tolerance = ROUNDING * size**2 / float(LEAST_CHANGE) ** 2
    return Trial(
        hypotheses=(
            holds("residuals of successive iterates differ", curved.conditioned() and affine.conditioned()),
            holds("the maps are nonlinear", bool(np.any(curved.curve != 0))),
        ),
        conclusions=(
            at_most("error of the secant step", _largest(found - exact[2]), 0.0, tolerance=tolerance),
            at_most(
                "distance from the fixed points of affine maps", _largest(line - fixed_points), 0.0, tolerance=tolerance
            ),
            holds("the exact step gives them", bool(np.all(affine.secants(2, weight)[2] == fixed_points))),
        ),
        witness={"curves": curved.curve, "slopes": curved.slope, "shifts": curved.shift, "iterates": exact},
        parameters={"n": TOKENS, "d": 1},
    )


def _largest(x: object) -> float:
    return float(np.max(np.abs(np.asarray(x, float))))


anderson_of_depth_one_is_the_secant = certified(
    "multirate/claim-anderson",
    statement="""
    For scalar maps G, Anderson's step of depth one from x_0 and G(x_0) is that of the secant method for G(x) = x.

    If G is affine, the step gives the fixed point.
    """,
    trial=lambda key: _secant_trial(key, Fraction(1)),
    # A coefficient that is too small by one thousandth of it.
    control=lambda key: _secant_trial(key, Fraction(999, 1000)),
    num_trials=12,
    note="the printed formula is missing; read as Anderson's step of depth one. For scalars it is the secant method; "
    "for vectors the secant is not unique, and the coefficient is that of `least-squares`. Secant steps are exact, and "
    "the network's method is compared with them up to rounding",
)


@eqx.filter_jit
def _vector_method(method: Anderson, W: Array, rest: Array, x: Array) -> Array:
    """Return what the network's method makes of tokens, for the map x -> W (|x| - |rest|) + rest of each."""
    return method(lambda z: (jnp.abs(z) - jnp.abs(rest)) @ W.T + rest, x)


def _exact_steps(G: AbsoluteValueMap, start: Exact, passes: int, span: str, weight: Fraction) -> tuple[Exact, Iterates]:
    """Return the last step for tokens (n, d), exactly, and the last two iterates of the first token or of all."""
    each = lambda x: np.stack([G(row) for row in x])
    previous, x = start, each(start)
    found = iterates(each, previous, x)
    for _ in range(passes - 1):
        whole = iterates(each, previous, x)
        parts = [whole] if span == "sequence" else [Iterates(*(part[k] for part in whole)) for k in range(len(x))]
        found = parts[0]
        steps = [part.mixed(weight * part.coefficient) for part in parts]
        previous, x = x, steps[0] if span == "sequence" else np.stack(steps)
    return x, found


def _square_trial(key: Key, weight: Fraction) -> Trial:
    """Compare the network's steps with exact ones of coefficients times `weight`, and these with the least squares."""
    a, b = jax.random.split(key)
    G = random_absolute_value_map(a, Fraction(3, 4), D)
    start = rational_matrix(b, TOKENS, D)
    errors, found = [], iterates(G, start[0], G(start[0]))
    for span in ("token", "sequence"):
        for passes in (2, 3):
            exact, found = _exact_steps(G, start, passes, span, weight)
            step = _vector_method(Anderson(passes, span), *_floats(G.W, G.fixed_point[None], start))
            errors.append(_largest(np.asarray(step) - exact))
    best = weight * found.coefficient
    left = found.residual - best * found.change
    half = jnp.full((1, D), 0.5)
    moved = _vector_method(Anderson(2), jnp.eye(D), -half, 2 * half)  # |x| - 1, with the steps 1, 0, -1
    return Trial(
        hypotheses=(
            at_least("square of the change of residuals", _inner(found.change, found.change), 0.0, tolerance=ROUNDING),
            holds("the coefficient is not zero", found.coefficient != 0),
        ),
        conclusions=(
            holds("the mixed residual is orthogonal to the change of residuals", _inner(left, found.change) == 0),
            at_most("largest error of the steps, two and three passes", max(errors), 0.0, tolerance=_error(found)),
            at_most(
                "error for equal residuals, where the coefficient is 0",
                _largest(np.asarray(moved) + 1),
                0.0,
                tolerance=ROUNDING,
            ),
        ),
        witness={"W": G.W, "rest": G.fixed_point, "start": start, "coefficient": best},
        parameters={"n": TOKENS, "d": D},
    )


def _error(found: Iterates) -> float:
    """Return a bound of the rounding error of two steps, from the least change of residuals."""
    size = float(np.max(abs(np.concatenate([np.ravel(part) for part in found])))) + 1
    return ROUNDING * size**4 / min(1.0, float(_inner(found.change, found.change))) ** 2


anderson_leaves_the_least_residual = certified(
    "multirate/claim-anderson/least-squares",
    statement="Read: for vectors, theta = <r_1, r_1 - r_0> / |r_1 - r_0|^2, which minimises |r_1 - theta (r_1 - "
    "r_0)|: the mixed residual is orthogonal to r_1 - r_0.",
    trial=lambda key: _square_trial(key, Fraction(1)),
    # A coefficient that is too small by one thousandth of it.
    control=lambda key: _square_trial(key, Fraction(999, 1000)),
    variant="reading",
    num_trials=8,
    note="inner products over the coordinates of each token, and over all entries of the sequence; one step gives the "
    "fixed point of an affine scalar map, but not of an affine map of the plane",
)
