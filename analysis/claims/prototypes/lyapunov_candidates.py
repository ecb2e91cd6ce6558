"""The candidates for a Lyapunov function that ship, at states at unequal times, held against sums and a quadrature."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from analysis.ledger.evidence import Measurement, agrees, equal, holds
from analysis.prototypes.lyapunov import lyapunov_candidates
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import map_stats
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow

TIMES = np.array([0.0, 0.5, 0.8, 2.0, 2.1])
"""Times at unequal distances, for the quadrature of rates."""


def candidates_that_ship(key: Key, flow: CoupledFlow, x: Coupled) -> tuple[Measurement, ...]:
    """Measure the candidates for a Lyapunov function at five states, as if these were those of a trajectory.

    A rise is the largest change from one to the next, and the error the largest difference of a change over two
    intervals from the integral of the parabola through three rates, here by its coefficients.
    """
    rng = numpy_rng(key, "series")
    near = lambda leaf: leaf[None] + 0.3 * jnp.asarray(rng.normal(size=(len(TIMES), *leaf.shape)))
    ys = jax.tree.map(near, x)
    found = lyapunov_candidates(
        Trajectory(jnp.asarray(TIMES), ys, flow, map_stats(True, len(TIMES) - 1, jnp.zeros(())))
    )
    W, L, R, V, M = (found[name] for name in ("W", "L", "R", "V", "M"))
    states = [jax.tree.map(lambda leaf, k=k: leaf[k], ys) for k in range(len(TIMES))]
    values = [float(flow.value(t, y)) for t, y in zip(TIMES, states, strict=True)]
    slopes = [flow.gradient(t, y) for t, y in zip(TIMES, states, strict=True)]
    squared = lambda part: sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(part))
    rates = [
        -float(flow.encoder_rate) * squared(g.encoder) - float(flow.prototype_rate) * squared(g.prototypes)
        for g in slopes
    ]
    rule = [_parabola(TIMES[k : k + 3], W.rates[k : k + 3]) for k in range(len(TIMES) - 2)]
    error = np.max(np.abs(W.values[2:] - W.values[:-2] - rule))
    size = 1 + np.max(np.abs(W.values))
    hard = [_hard_loss(flow, y) for y in states]
    return (
        agrees("W at five states", W.values / size, values / size),
        agrees("L is R + V there", (L.values - R.values - V.values) / size, np.zeros(len(TIMES))),
        agrees("M there", M.values / size, hard / size),
        agrees("F there", found["F"].values / size, np.array([_free_energy(flow, y) for y in states]) / size),
        agrees("the potential in this mode, W", found["potential"].values / size, values / size),
        agrees("the rates of W, over the largest", W.rates / np.max(np.abs(rates)), rates / np.max(np.abs(rates))),
        equal("the error of W, over that of the rule", W.error / error, 1.0, tolerance=1e-9),
        equal("the largest rise of L", L.rise, float(np.max(np.diff(L.values))), tolerance=1e-9 * size),
        holds("it increases if the rise exceeds the error", L.increases == (L.rise > L.error)),
    )


def _hard_loss(flow: CoupledFlow, y: Coupled) -> float:
    """Return the sum of the least squared distances of embeddings from prototypes."""
    z, p = np.asarray(flow.embed(y)), np.asarray(y.prototypes)
    return sum(min(float((a - b) @ (a - b)) for b in p) for a in z)


def _free_energy(flow: CoupledFlow, y: Coupled) -> float:
    """Return F at the temperature of a flow, term by term."""
    z, p, T = np.asarray(flow.embed(y)), np.asarray(y.prototypes), float(flow.temperature(0.0))
    return -T * sum(math.log(sum(math.exp(-float((a - b) @ (a - b)) / T) for b in p)) for a in z)


def _parabola(ts: np.ndarray, values: np.ndarray) -> float:
    """Return the integral, from the first to the last of three times, of the parabola through three values."""
    c = np.linalg.solve(np.vander(ts - ts[0], 3), values)
    h = ts[-1] - ts[0]
    return float(c[0] * h**3 / 3 + c[1] * h**2 / 2 + c[2] * h)
