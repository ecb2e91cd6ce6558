"""Measure errors of the reduced flow of a fast-slow system against epsilon, after the initial boundary layer."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.convergence import Fit, observed_order
from analysis.fast_slow.folds import fast_eigenvalues
from analysis.fast_slow.quasi_steady_states import fast_limit
from dynsim._core.checked import checked
from dynsim._core.printing import one_line
from dynsim._core.types import State
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator, Scipy, stiff
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.fast_slow.reduced import CriticalManifold, ReducedFlow, fast_jacobian

EPSILONS = (3e-3, 1e-3, 3e-4, 1e-4)
FRAMES = 101
# Errors below this, relative to the largest |x| or |y|, are dominated by the solver.
FLOOR = 1e-9
# The boundary layer ends where exp(-gap t / epsilon) = epsilon^3, below errors of first and second order.
LAYERS = 3.0


class ReductionErrors(NamedTuple):
    """Largest errors of the reduced flow after the boundary layer, one for each of `epsilons`.

    `fast_errors` and `slow_errors` are the errors of x and y against the full system with the same initial y.
    `distances` are those of the full trajectory, at its own y, from the critical manifold, and `corrected_distances`
    from its first-order correction. `layer_ends` are the ends of the boundary layer, in slow time. `gap` is the
    smallest rate of attraction along the reduced trajectory, per fast time unit. `sizes` are the largest |x| and |y|.
    """

    epsilons: np.ndarray
    fast_errors: np.ndarray
    slow_errors: np.ndarray
    distances: np.ndarray
    corrected_distances: np.ndarray
    layer_ends: np.ndarray
    gap: float
    sizes: tuple[float, float] = (1.0, 1.0)

    __repr__ = one_line

    def order(self, errors: np.ndarray) -> Fit:
        """Fit the observed order in epsilon of `errors`, one of the fields, with its standard error."""
        return observed_order(self.epsilons, errors)

    def __str__(self) -> str:
        """Describe the fitted orders, one sentence each; none for fewer than three epsilons or errors of the solver."""
        fast, slow = self.sizes
        named = {
            "x": (self.fast_errors, fast),
            "y": (self.slow_errors, slow),
            "the distance from the critical manifold": (self.distances, fast),
        }
        return " ".join(self._order_sentence(name, *errors) for name, errors in named.items())

    def _order_sentence(self, name: str, errors: np.ndarray, size: float) -> str:
        if len(errors) < 3:
            return f"No order of {name} is fitted to fewer than three epsilons."
        if not np.all(errors > FLOOR * size):
            return f"No order of {name} is fitted: its error falls to {np.min(errors):.2g}, the error of the solver."
        fit = self.order(errors)
        return f"The error of {name} has order {fit.rate:.3f} +- {fit.error:.3f} in epsilon."


@checked
def reduction_error(
    flow: FastSlowFlow,
    start: FastSlow,
    end: float,
    epsilons: Sequence[float] = EPSILONS,
    *,
    layers: float = LAYERS,
    integrator: AbstractIntegrator = stiff(1e-10),
) -> ReductionErrors:
    r"""Compute the errors of the reduced flow on [0, end] for several epsilons.

    Full and reduced flow start at the same y, the reduced flow at the limit of the fast subsystem. They are compared
    after the boundary layer, which ends at $t_0 = C \varepsilon \ln(1 / \varepsilon)$ with $C$ = `layers` / gap.

    Args:
        flow: the system; its own epsilon is not used.
        start: the initial state; x need not be on the critical manifold.
        end: the last time, in slow time; the reduced flow must reach it along an attracting branch.
        epsilons: ratios of the time scales, between 0 and 1.
        layers: length of the boundary layer, in units of its time constant epsilon / gap times ln(1 / epsilon).
        integrator: for the full system; its errors must be small compared with epsilon.

    Raises:
        ValueError: if the branch is not attracting or ends at a fold, or a layer is longer than half of the time.
        IntegrationError: if the integration of the full system fails.

    Example:
        >>> import dynsim as ds
        >>> from analysis.fast_slow import reduction_error
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x, lambda x, y: -x, 0.01)
        >>> found = reduction_error(flow, ds.fast_slow.FastSlow(0.0, 1.0), 1.0, (0.01, 0.005))
        >>> round(found.gap, 4), bool(found.slow_errors[1] < found.slow_errors[0])
        (1.0, True)
    """
    ratios = _ratios(epsilons, end)
    reduced, base = ReducedFlow(flow), fast_limit(flow, start)
    gap = _attraction(flow, _reduced(reduced, base, end))
    layer_ends = layers * ratios * np.log(1 / ratios) / gap
    if not np.all(layer_ends < end / 2):
        must = f"be so small that the boundary layer ends before {end / 2:g}"
        raise ArgumentError(
            "epsilons", must, f"at {ratios[np.argmax(layer_ends)]:g} it ends at {np.max(layer_ends):.3g}"
        )
    rows = []
    for ratio, first in zip(ratios, layer_ends, strict=True):
        ts = np.append(0.0, np.linspace(first, end, FRAMES))
        full = simulate(flow.with_epsilon(ratio), start, ts, integrator=integrator)
        rows.append(_errors(flow, full.ys, simulate(reduced, base, ts, integrator=Scipy()).ys, jnp.asarray(ratio)))
    fast, slow, distances, corrected, *sizes = np.array(rows, float).T
    x, y = (float(np.max(size)) for size in sizes)
    return ReductionErrors(ratios, fast, slow, distances, corrected, layer_ends, gap, (x, y))


@checked
def first_order_correction(flow: FastSlowFlow, state: FastSlow) -> Array:
    r"""Compute the first-order term $h_1(y)$ of the slow manifold at a point of the critical manifold $x = \varphi(y)$.

    The slow manifold is $x = \varphi(y) + \varepsilon h_1(y) + O(\varepsilon^2)$; its invariance gives
    $h_1 = (D_x f)^{-1} D\varphi\, g$. Shape of x.

    Args:
        flow: the system.
        state: a point of the critical manifold.

    Source: Fenichel, J. Differential Equations 31 (1979).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.fast_slow import first_order_correction
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x, lambda x, y: -x, 0.01)
        >>> float(first_order_correction(flow, ds.fast_slow.FastSlow(jnp.array(2.0), jnp.array(2.0))))  # h_1(y) = y
        2.0
    """
    lift = CriticalManifold(flow)
    velocity = FastSlow(jnp.zeros_like(state.fast), flow.slow(*state))
    drift = lift.tangent(state, velocity).fast
    jacobian = fast_jacobian(flow.fast, lift.parts.fast, *state)
    return jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)


@eqx.filter_jit
def _errors(flow: FastSlowFlow, full: State, reduced: State, ratio: Array) -> tuple[Array, ...]:
    """Compute the four largest errors, and |x| and |y|, without the first time, before the end of the layer."""
    lift = CriticalManifold(flow)
    critical = jax.vmap(lift.project)(full)
    shift = ratio * jax.vmap(lambda state: first_order_correction(flow, state))(critical)
    largest = lambda part: jnp.max(jnp.abs(part[1:]))
    off = full.fast - critical.fast
    errors = full.fast - reduced.fast, full.slow - reduced.slow, off, off - shift
    return tuple(largest(part) for part in (*errors, full.fast, full.slow))


def _reduced(flow: ReducedFlow, base: FastSlow, end: float) -> Trajectory:
    """Integrate the reduced flow; raise `ValueError` if the branch ends before `end`."""
    path = simulate(flow, base, np.linspace(0.0, end, 21), integrator=Scipy(), throw=False)
    if not bool(path.stats.succeeded):
        stop = float(path.stats.last_time)
        but = f"the reduced flow stops at t = {stop:.6g}, where the branch ends, as at a fold"
        raise ArgumentError("end", "come before the end of the branch", but)
    return path


def _attraction(flow: FastSlowFlow, path: Trajectory) -> float:
    """Compute the smallest rate of attraction along a reduced trajectory; raise `ValueError` unless it is positive."""
    states = [FastSlow(*(np.asarray(part)[k] for part in path.ys)) for k in range(len(path.ts))]
    rates = np.array([-np.max(np.real(fast_eigenvalues(flow, *state))) for state in states])
    if not np.all(rates > 0):
        worst = int(np.argmin(rates))
        must = "lead along an attracting branch"
        but = f"at t = {float(path.ts[worst]):.6g} a fast mode grows at the rate {-rates[worst]:.3g}"
        raise ArgumentError("start", must, but)
    return float(np.min(rates))


def _ratios(epsilons: Sequence[float], end: float) -> np.ndarray:
    ratios = np.asarray(reals("epsilons", epsilons), float)
    if ratios.ndim != 1 or not ratios.size or not np.all((ratios > 0) & (ratios < 1)):
        raise ArgumentError("epsilons", "be numbers between 0 and 1", f"are {epsilons}")
    if not (end > 0 and math.isfinite(end)):
        raise ArgumentError("end", "be positive", f"is {end}")
    return ratios
