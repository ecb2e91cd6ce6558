"""Test Lyapunov function candidates of prototype flows along a trajectory, with the numerical error of a rise."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.prototypes.certificates import Flow
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import (
    competitive_loss,
    free_energy,
    hard_loss,
    prototype_variance,
    reconstruction_error,
)

Series = Float[np.ndarray, " times"]


class Candidate(NamedTuple):
    """A function along a trajectory, its rates of change there, and the largest rise between two successive times.

    `rates` are the derivatives along the field, with the change of the temperature. `error` is the largest difference
    between a change of the function over two intervals and the integral of its rate by Simpson's rule: it has the
    error of the solver, of the derivative, and of the quadrature. `rise` is negative if the function always decreases.
    """

    values: Series
    rates: Series
    error: float
    rise: float

    __repr__ = one_line
    __str__ = report

    @property
    def increases(self) -> bool:
        """Whether the function increases somewhere by more than the numerical error."""
        return self.rise > self.error


def measures(flow: Flow) -> dict[str, Callable[[Time, State], Scalar]]:
    """List the candidates as functions of time and state: L, F, R, V and M as sums, W, and the potential of the mode.

    `W` is the loss with barrier and ridge, and `potential` the function that the flow descends: W in the mode `full`,
    and with F for L in the mode `frozen`; both have the sum or the mean of the flow's loss.
    """
    parts = lambda x: (flow.embed(x), flow.prototypes(x))
    return {
        "L": lambda t, x: competitive_loss(*parts(x), flow.temperature(t)),
        "F": lambda t, x: free_energy(*parts(x), flow.temperature(t)),
        "R": lambda t, x: reconstruction_error(*parts(x), flow.temperature(t)),
        "V": lambda t, x: prototype_variance(*parts(x), flow.temperature(t)),
        "M": lambda t, x: hard_loss(*parts(x)),
        "W": flow.value,
        "potential": flow.potential,
    }


def rate_along(flow: Flow, measure: Callable[[Time, State], Scalar], t: Time, x: State) -> Scalar:
    """Compute the derivative of a function of time and state along the flow."""
    when = jnp.asarray(t, float)
    return jax.jvp(measure, (when, x), (jnp.ones_like(when), flow.velocity(when, x)))[1]


@checked
def lyapunov_candidates(path: Trajectory) -> dict[str, Candidate]:
    """Evaluate each of `measures` along a trajectory of a flow of prototypes.

    The hard loss M has kinks, and so has every other function while the temperature is annealed. Near kinks, and where
    the times are far apart, the error is larger.

    Raises:
        ValueError: for fewer than three times, or a trajectory of another system.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import lyapunov_candidates
        >>> flow = ds.prototypes.PrototypeFlow([[-1.0], [1.0]], 1.0)
        >>> found = lyapunov_candidates(ds.simulate(flow, [[1.0]], [0.0, 0.1, 0.2]))
        >>> round(float(found["L"].values[0]), 4), round(float(found["L"].rates[0]), 4)  # L = 2 p**2 + 2, and p' = -4 p
        (4.0, -16.0)
    """
    ts = np.asarray(path.ts, float)
    if len(ts) < 3:
        raise ArgumentError("path", "have at least three times", f"has {len(ts)}")
    flow = instance("path", path.system, Flow, "a trajectory of a flow of prototypes")
    series = jax.tree.map(np.asarray, _series(flow, jnp.asarray(ts), path.ys))
    return {name: _candidate(ts, *parts) for name, parts in series.items()}


@eqx.filter_jit
def _series(flow: Flow, ts: Array, ys: State) -> dict[str, tuple[Array, Array]]:
    """Evaluate each measure and its rate at all times."""
    both = lambda measure: lambda t, x: (measure(t, x), rate_along(flow, measure, t, x))
    return {name: jax.vmap(both(measure))(ts, ys) for name, measure in measures(flow).items()}


def _candidate(ts: np.ndarray, values: np.ndarray, rates: np.ndarray) -> Candidate:
    error = float(np.max(np.abs(values[2:] - values[:-2] - _simpson(ts, rates))))
    return Candidate(values, rates, error, float(np.max(np.diff(values))))


def _simpson(ts: np.ndarray, rates: np.ndarray) -> Float[np.ndarray, " pairs"]:
    """Integrate the parabolas through three successive rates over their two intervals."""
    a, b = np.diff(ts)[:-1], np.diff(ts)[1:]
    weights = (2 - b / a, (a + b) ** 2 / (a * b), 2 - a / b)
    return (a + b) / 6 * sum(w * rates[k : len(rates) - 2 + k] for k, w in enumerate(weights))
