"""Perturbations of equilibria: the eigenvalue of slowest decay, and the decay that the flow shows."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.dynamics.linearisation import tangent_jacobian
from dynsim._core.types import State
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import AbstractFlow
from dynsim.systems.prototypes.assignments import separation

SMALL = 1e-4  # of a perturbation: the decay rate is the eigenvalue up to terms of this order


def slowest(flow: AbstractFlow, x: State) -> tuple[float, np.ndarray]:
    """Return the least decay rate of the linearisation at x, and its direction, a vector of the flat state."""
    values, vectors = np.linalg.eig(tangent_jacobian(flow, x))
    k = int(np.argmax(np.real(values)))
    return -float(np.real(values[k])), np.real(vectors[:, k])


def gap_after(flow: AbstractFlow, x: State, integrator: AbstractIntegrator) -> tuple[float, float]:
    """Return the least decay rate of the linearisation, and that of a small perturbation over one of its time units.

    The perturbation is along the direction of the least rate; both are per time unit of the flow.
    """
    rate, direction = slowest(flow, x)
    flat, restored = ravel_pytree(x)
    size = max(abs(rate), 1e-2)
    start = restored(flat + SMALL * jnp.asarray(direction))
    end = simulate(flow, start, [0.0, 1 / size], integrator=integrator).final
    distance = float(jnp.linalg.norm(ravel_pytree(end)[0] - flat))
    return rate, float(np.log(SMALL / distance)) * size


def separation_reached(flow: AbstractFlow, x: State, integrator: AbstractIntegrator) -> float:
    """Return the separation of the prototypes that a state near x reaches after 15 units of the slowest decay."""
    rate, _ = slowest(flow, x)
    moved = jax.tree.map(lambda part: part + 0.02 * jnp.sin(1.0 + jnp.arange(1.0 * part.size)).reshape(part.shape), x)
    end = simulate(flow, moved, [0.0, 15 / max(abs(rate), 1e-2)], integrator=integrator).final
    return float(separation(end.prototypes))
