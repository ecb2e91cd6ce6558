"""Claims of Section 2.1 on the quasi-steady-state reduction: the error of the reduced flow, to second order."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import cumulative_simpson, quad

from analysis.dynamics.rates import observed_order
from analysis.fast_slow.folds import fast_eigenvalues
from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from analysis.fast_slow.reductions import first_order_correction
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, equal
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE
from dynsim.simulation import simulate
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, rates
from dynsim.systems.fast_slow.reduced import CriticalManifold, ReducedFlow

EPSILONS = np.array([2e-2, 6e-3, 2e-3])
FRAMES = 101
ORDER_ERROR = (
    0.1  # of an observed order at these epsilons: epsilon over the least rate of attraction, times the decades
)


class ReductionProblem(NamedTuple):
    """A fast-slow system, an initial state off its critical manifold, the branch of the reduction, and the final time.

    `branch` is an estimate of the fast variable on the branch; `a` and `b` are the factors of the oscillator.
    """

    flow: FastSlowFlow
    start: FastSlow
    branch: float
    end: float
    a: float
    b: float

    @property
    def base(self) -> FastSlow:
        """The point of the branch with the slow variable of the initial state."""
        return quasi_steady_state(self.flow, self.start.slow, self.branch)


class Cubic(eqx.Module):
    r"""f or g of $\varepsilon \dot x = y - a (x^3 / 3 - x)$, $\dot y = -b x$; `factor` is a or b."""

    factor: Float[Array, ""]
    cubic: bool = eqx.field(static=True)

    def __call__(self, x: Array, y: Array) -> Array:
        """Return f(x, y) if `cubic`, else g(x, y)."""
        return y - self.factor * (x**3 / 3 - x) if self.cubic else -self.factor * x


def oscillator(a: float, b: float) -> FastSlowFlow:
    """Return van der Pol's oscillator with the factors a and b."""
    return FastSlowFlow(Cubic(jnp.array(a), True), Cubic(jnp.array(b), False), 1.0)


def reduction_problem(key: Key) -> ReductionProblem:
    """Return a random oscillator, an initial state off its outer branch, and a final time before the fold."""
    a, b, x, y = (float(v) for v in jax.random.uniform(key, (4,)))
    a, b = 0.8 + 0.4 * a, 0.5 + b / 2
    start = FastSlow(jnp.array(2.4 + x), jnp.array(0.1 + 0.3 * y))
    # the reduced flow reaches the fold x = 1 in the time a (x^2 / 2 - ln x - 1/2) / b, and y > 0 means x > sqrt(3)
    return ReductionProblem(oscillator(a, b), start, 2.0, 0.3 * a / b, a, b)


def _slow_paths(given: ReductionProblem, reduced: FastSlowFlow, integrator: AbstractIntegrator):
    """Return the times, the path of a reduced flow, and the slow variable of the full flow for each epsilon."""
    ts = np.linspace(0.0, given.end, FRAMES)
    path = simulate(ReducedFlow(reduced), given.base, ts, integrator=integrator).ys
    full = [simulate(given.flow.with_epsilon(e), given.start, ts, integrator=integrator).ys.slow for e in EPSILONS]
    return ts, path, np.stack(full)


@eqx.filter_jit
def _linear_coefficients(flow: FastSlowFlow, path: FastSlow) -> tuple[Array, Array]:
    """Return along a reduced path the derivative of g(phi(y), y) in y, and of g in the direction of h_1."""

    def at(state: FastSlow) -> tuple[Array, Array]:
        zero, one = jnp.zeros_like(state.fast), jnp.ones_like(state.slow)
        along = CriticalManifold(flow).tangent(state, FastSlow(zero, one))
        slow = lambda x, y: rates(flow, FastSlow(x, y)).slow
        change = lambda v: jax.jvp(slow, tuple(state), tuple(v))[1]
        return change(along), change(FastSlow(first_order_correction(flow, state), 0 * one))

    return jax.vmap(at)(path)


def _first_order(given: ReductionProblem, ts: np.ndarray, path: FastSlow) -> np.ndarray:
    r"""Return the coefficient $y_1$ of epsilon in the slow variable, after the boundary layer.

    $\dot y_1 = D(g(\varphi(y), y)) y_1 + D_x g\, h_1(y)$, and $y_1(0)$ is the integral of $g - g(\varphi(y), y)$ over
    the boundary layer in fast time, of which $f = -\frac a3 (x - x_0)(x^2 + x x_0 + x_0^2 - 3)$ leaves a regular one.
    """
    growth, forcing = (np.asarray(part) for part in _linear_coefficients(given.flow, path))
    rest, start = float(given.base.fast), float(given.start.fast)
    layer = lambda x: 3 * given.b / (given.a * (x * x + x * rest + rest * rest - 3))
    first = -quad(layer, rest, start)[0]
    factor = np.exp(cumulative_simpson(growth, x=ts, initial=0))
    return factor * (first + cumulative_simpson(forcing / factor, x=ts, initial=0))


def _reduction_trial(given: ReductionProblem, reduced: FastSlowFlow, integrator: AbstractIntegrator) -> Trial:
    """Measure the order of the error of the reduced flow `reduced`, and of what is left beyond its first-order term."""
    ts, path, full = _slow_paths(given, reduced, integrator)
    late, base = ts >= given.end / 2, given.base  # after the boundary layer
    gaps = full - np.asarray(path.slow)
    error, left = (
        np.max(abs(part[:, late]), axis=1) for part in (gaps, gaps - EPSILONS[:, None] * _first_order(given, ts, path))
    )
    first, second = (observed_order(EPSILONS, part).rate for part in (error, left))
    x, y = float(base.fast), float(base.slow)
    (rate,) = np.real(fast_eigenvalues(given.flow, np.asarray(x), np.asarray(y)))
    return Trial(
        hypotheses=(
            at_least("rate of attraction of the branch", -rate, 0.0, tolerance=SOLVER),
            at_least("initial distance from the critical manifold", abs(float(given.start.fast) - x), 0.1, tolerance=0),
        ),
        conclusions=(
            equal("f at the quasi-steady state", y - given.a * (x**3 / 3 - x), 0, tolerance=ROUNDING),
            equal("the fast eigenvalue, less that in closed form", rate + given.a * (x * x - 1), 0, tolerance=ROUNDING),
            equal("order of the error in epsilon", first, 1, tolerance=ORDER_ERROR),
            at_least("order of the error beyond its first-order term", second, 2 - 2 * ORDER_ERROR, tolerance=0),
            at_most("largest error at the least epsilon", error[-1], 1.0, tolerance=SOLVER),
        ),
        witness={"start": tuple(map(float, given.start)), "errors": error, "left": left, "epsilons": EPSILONS},
        parameters={"a": given.a, "b": given.b},
    )


@claim(
    "multirate/claim-qss-reduction",
    MULTIRATE.at("Section 2.1"),
    num_trials=8,
    note="read: with an error of order epsilon, on a fixed time interval, on an attracting branch (the condition of "
    "Remark 25), from initial states in its basin; it holds neither beyond a fold nor on a repelling branch. The order "
    "is fitted over a decade of epsilons, and the coefficient is that of the asymptotic expansion",
)
def reduced_slow_variable_is_near(key: Key, integrator: AbstractIntegrator) -> Trial:
    """On a fixed time interval the solution of the reduced flow y' = g(phi(y), y) differs from the slow variable of the
    full system by O(epsilon).

    After the boundary layer the difference is epsilon y_1 + O(epsilon^2), with y_1 from the boundary layer and the
    first-order term of the slow manifold.
    """
    given = reduction_problem(key)
    return _reduction_trial(given, given.flow, integrator)


@reduced_slow_variable_is_near.with_control
def reduced_slow_variable_is_near(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The reduced flow with g larger by a hundredth."""
    given = reduction_problem(key)
    return _reduction_trial(given, oscillator(given.a, 1.01 * given.b), integrator)
