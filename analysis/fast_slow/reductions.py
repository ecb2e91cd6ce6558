"""How far a fast-slow system is from its reduced flow, against epsilon, the boundary layer left out."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.rates import Fit, observed_order
from analysis.fast_slow.folds import fast_eigenvalues
from analysis.fast_slow.quasi_steady_states import settled
from dynsim._types import State
from dynsim.errors import argument_error
from dynsim.integrators import AbstractIntegrator, Scipy, stiff
from dynsim.simulation import simulate
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.fast_slow.reduced import CriticalManifold, ReducedFlow, fast_jacobian
from dynsim.trajectory import Trajectory

EPSILONS = (3e-3, 1e-3, 3e-4, 1e-4)
FRAMES = 101
FLOOR = 1e-9  # errors below it are those of the solver
LAYERS = 3.0  # a layer is over when exp(-gap t / epsilon) = epsilon^3, small beside errors of the first two orders


class Reduction(NamedTuple):
    """Largest errors of the reduced flow for each epsilon, from the end of the boundary layer on.

    `fast_errors` and `slow_errors` are those of x and y against the reduced flow from the same y; `distances` how far
    the full trajectory is, at its own y, from the manifold, and `corrected` from its first-order correction. `starts`
    are the ends of the layer, in slow time, and `gap` the least rate of attraction met, in fast time.
    """

    epsilons: np.ndarray
    fast_errors: np.ndarray
    slow_errors: np.ndarray
    distances: np.ndarray
    corrected: np.ndarray
    starts: np.ndarray
    gap: float

    def order(self, errors: np.ndarray) -> Fit:
        """Return the order in epsilon of some of its errors, with its standard error."""
        return observed_order(self.epsilons, errors)

    def explain(self) -> str:
        """Return the fitted orders, a sentence for each; three epsilons are needed, and errors above the solver's."""
        named = {"x": self.fast_errors, "y": self.slow_errors, "the distance from the manifold": self.distances}
        return " ".join(self._said(name, errors) for name, errors in named.items())

    def _said(self, name: str, errors: np.ndarray) -> str:
        if len(errors) < 3:
            return f"No order of {name} is fitted to fewer than three epsilons."
        if not np.all(errors > FLOOR):
            return f"No order of {name} is fitted: its error is down to {np.min(errors):.2g}, that of the solver."
        fit = self.order(errors)
        return f"The error of {name} has order {fit.rate:.3f} +- {fit.error:.3f} in epsilon."


def reduction_error(
    flow: FastSlowFlow,
    start: FastSlow,
    end: float,
    epsilons: Sequence[float] = EPSILONS,
    *,
    layers: float = LAYERS,
    integrator: AbstractIntegrator = stiff(1e-10),
) -> Reduction:
    r"""Return the error of the reduced flow on [0, end] against epsilon.

    Both start at the same y; the reduced flow on the branch to which the fast dynamics goes from x. They are compared
    from $t_0 = C \varepsilon \ln(1 / \varepsilon)$ on, with $C$ = `layers` / gap.

    Args:
        flow: the system; its own epsilon is not used.
        start: a point off the manifold, or on it.
        end: last time, in slow time; the reduced flow must reach it, on an attracting branch all the way.
        epsilons: the ratios to try, below 1.
        layers: the boundary layer left out, in units of ln(1 / epsilon) times its time constant.
        integrator: of the full system; its errors must be small beside epsilon.

    Raises:
        ValueError: if the branch does not attract, or ends at a fold, or a layer is longer than half of the time.
        IntegrationError: if the full system cannot be followed.
    """
    ratios = _ratios(epsilons, end)
    reduced, base = ReducedFlow(flow), settled(flow, start)
    gap = _attraction(flow, _reduced(reduced, base, end))
    starts = layers * ratios * np.log(1 / ratios) / gap
    if not np.all(starts < end / 2):
        must = f"be so small that the boundary layer ends before {end / 2:g}"
        raise argument_error("epsilons", must, f"at {ratios[np.argmax(starts)]:g} it ends at {np.max(starts):.3g}")
    rows = []
    for ratio, first in zip(ratios, starts, strict=True):
        ts = np.append(0.0, np.linspace(first, end, FRAMES))
        full = simulate(flow.with_epsilon(ratio), start, ts, integrator=integrator)
        rows.append(_errors(flow, full.ys, simulate(reduced, base, ts, integrator=Scipy()).ys, jnp.asarray(ratio)))
    fast, slow, distances, corrected = np.array(rows, float).T
    return Reduction(ratios, fast, slow, distances, corrected, starts, gap)


def first_order(flow: FastSlowFlow, state: FastSlow) -> Array:
    r"""Return $h_1$ at a point of the manifold, of $x = \varphi(y) + \varepsilon h_1(y) + O(\varepsilon^2)$.

    That is the slow manifold; $h_1 = (D_x f)^{-1} D\varphi\, g$, from its invariance.
    """
    lift = CriticalManifold(flow)
    velocity = FastSlow(jnp.zeros_like(state.fast), flow.slow(*state))
    drift = lift.tangent(state, velocity).fast
    jacobian = fast_jacobian(flow.fast, lift.parts.fast, *state)
    return jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)


@eqx.filter_jit
def _errors(flow: FastSlowFlow, full: State, reduced: State, ratio: Array) -> tuple[Array, ...]:
    """Return the four largest errors after the first time, which is in the layer."""
    lift = CriticalManifold(flow)
    below = jax.vmap(lift.project)(full)
    shift = ratio * jax.vmap(lambda state: first_order(flow, state))(below)
    largest = lambda part: jnp.max(jnp.abs(part[1:]))
    off = full.fast - below.fast
    return largest(full.fast - reduced.fast), largest(full.slow - reduced.slow), largest(off), largest(off - shift)


def _reduced(flow: ReducedFlow, base: FastSlow, end: float) -> Trajectory:
    """Return the reduced path; raise `ValueError` if the branch ends before it does."""
    path = simulate(flow, base, np.linspace(0.0, end, 21), integrator=Scipy(), throw=False)
    if not bool(path.stats.succeeded):
        stop = float(path.stats.last_time)
        but = f"the reduced flow stops at t = {stop:.6g}: there is no branch beyond, as at a fold"
        raise argument_error("end", "come before the end of the branch", but)
    return path


def _attraction(flow: FastSlowFlow, path: Trajectory) -> float:
    """Return the least rate at which the branch attracts along a reduced path; raise `ValueError` where it does not."""
    states = [FastSlow(*(np.asarray(part)[k] for part in path.ys)) for k in range(len(path.ts))]
    rates = np.array([-np.max(np.real(fast_eigenvalues(flow, *state))) for state in states])
    if not np.all(rates > 0):
        worst = int(np.argmin(rates))
        must = "lead along an attracting branch"
        but = f"at t = {float(path.ts[worst]):.6g} a fast mode grows at the rate {-rates[worst]:.3g}"
        raise argument_error("start", must, but)
    return float(np.min(rates))


def _ratios(epsilons: Sequence[float], end: float) -> np.ndarray:
    ratios = np.asarray(epsilons, float)
    if ratios.ndim != 1 or not ratios.size or not np.all((ratios > 0) & (ratios < 1)):
        raise argument_error("epsilons", "be numbers between 0 and 1", f"are {epsilons}")
    if not (end > 0 and math.isfinite(end)):
        raise argument_error("end", "be positive", f"is {end}")
    return ratios
