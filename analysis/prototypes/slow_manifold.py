r"""Compute the slow manifold of a coupled flow, the prototypes $P^*(\theta)$ at rest, and the encoder's reduced flow.

The prototypes are the fast subsystem, in the time $\eta_P t$. The encoder follows the reduced flow, in the time
$\eta_\theta t = \varepsilon \eta_P t$. Each function names its time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.fast_slow.quasi_steady_states import quasi_steady_state
from analysis.fast_slow.reductions import EPSILONS, ReductionErrors, reduction_error
from analysis.prototypes.hessian import Matrix, hessian_blocks
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, State
from dynsim.integrators import AbstractIntegrator, stiff
from dynsim.simulation.simulate import simulate
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow
from dynsim.systems.fast_slow.reduced import nearby_root
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow

# Number of times at which the distance from the slow manifold is measured.
FRAMES = 9


class Relaxed(NamedTuple):
    r"""Prototypes at rest for fixed parameters of the encoder, $\partial_P L = 0$, and the rate of convergence to them.

    `rate` is $\mu_P = \lambda_{min}(H_{PP})$, per unit of $\eta_P t$; it is negative at a saddle.
    """

    prototypes: Float[np.ndarray, "k m"]
    rate: float

    __repr__ = one_line
    __str__ = report


@checked
def relaxed_prototypes(flow: CoupledFlow, encoder: State, start: ArrayLike) -> Relaxed:
    r"""Find the prototypes $P^*(\theta)$ at rest from `start` by a root finder, with their rate $\mu_P$.

    Which of several equilibria is found depends on the start.

    Args:
        flow: the coupled flow of encoder and prototypes.
        encoder: parameters of the encoder, as in a state.
        start: guess of the prototypes, (k, m).

    Source: PROTOTYPES, Theorem 1 (ii).

    Raises:
        ValueError: if none is found, or if the temperature is annealed.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import relaxed_prototypes
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [3.0]], ds.prototypes.LinearEncoder(1, 1), 1.0)
        >>> found = relaxed_prototypes(flow, jnp.array([[2.0]]), [[0.0]])  # one prototype: the mean of 2 and 6
        >>> found.prototypes.round(4).tolist(), round(found.rate, 4)
        ([[4.0]], 4.0)
    """
    P = _at_rest(flow, encoder, start)
    H = hessian_blocks(flow, Coupled(encoder, P)).prototypes
    return Relaxed(np.asarray(P), float(np.linalg.eigvalsh(H)[0]))


@checked
def effective_loss(flow: CoupledFlow, encoder: State, start: ArrayLike) -> float:
    r"""Compute the effective loss $\tilde L(\theta) = L(\theta, P^*(\theta))$, the `potential` of the flow's mode.

    In the mode `frozen` it is the free energy, since the reduced flow descends no other function: $L_q$ has another
    gradient on the slow manifold. The arguments and errors are those of `relaxed_prototypes`.

    Args:
        flow: the coupled flow of encoder and prototypes.
        encoder: parameters of the encoder, as in a state.
        start: guess of the prototypes, (k, m).

    Source: PROTOTYPES, Theorem 1 (iii).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import effective_loss
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [3.0]], ds.prototypes.LinearEncoder(1, 1), 1.0)
        >>> round(effective_loss(flow, jnp.array([[2.0]]), [[0.0]]), 4)  # (2 - 4)**2 + (6 - 4)**2
        8.0
    """
    return float(flow.potential(0.0, Coupled(encoder, _at_rest(flow, encoder, start))))


@checked
def effective_loss_hessian(flow: CoupledFlow, encoder: State, start: ArrayLike) -> Matrix:
    r"""Compute the Hessian of the effective loss, $H_{\theta\theta} - H_{\theta P} H_{PP}^{-1} H_{P\theta}$.

    It is that of `effective_loss` by the flat parameters, in the mode of the flow. The arguments and errors are those
    of `relaxed_prototypes`.

    Args:
        flow: the coupled flow of encoder and prototypes.
        encoder: parameters of the encoder, as in a state.
        start: guess of the prototypes, (k, m).

    Source: PROTOTYPES, Theorem 1 (iii).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import effective_loss_hessian
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [3.0]], ds.prototypes.LinearEncoder(1, 1), 1.0)
        >>> effective_loss_hessian(flow, jnp.array([[2.0]]), [[0.0]]).round(4).tolist()  # of 2 theta**2
        [[4.0]]
    """
    H = hessian_blocks(flow, Coupled(encoder, _at_rest(flow, encoder, start)))
    return H.encoder - H.mixed @ np.linalg.solve(H.prototypes, H.mixed.T)


@checked
def tikhonov_errors(
    flow: CoupledFlow,
    x0: Coupled,
    ratios: Sequence[float] = EPSILONS,
    horizon: float = 1.0,
    *,
    integrator: AbstractIntegrator = stiff(1e-10),
) -> ReductionErrors:
    r"""Compute the errors of the encoder's reduced flow for several ratios $\varepsilon$, after the boundary layer.

    The full flow starts at `x0`, the reduced one at the same $\theta$. `fast_errors` are those of the prototypes,
    `slow_errors` those of $\theta$, and `distances` are $|P - P^*(\theta)|$ along the full trajectory.

    Args:
        flow: the coupled flow; its own ratio is not used.
        x0: the initial state.
        ratios: the values of $\varepsilon$; three or more for a fitted `order`.
        horizon: the last time, in the encoder's time $\eta_\theta t$.
        integrator: for the full flow; its errors must be small compared with the ratios.

    Source: PROTOTYPES, eq. (A.6), with fast and slow exchanged.

    Raises:
        ValueError: if the prototypes do not converge at the initial $\theta$, lose stability before `horizon`, or the
            boundary layer is longer than half of it; or if the temperature is annealed.
        IntegrationError: if the integration of the full flow fails.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import tikhonov_errors
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [3.0]], ds.prototypes.LinearEncoder(1, 1), 1.0)
        >>> found = tikhonov_errors(flow, ds.prototypes.Coupled(jnp.array([[1.0]]), jnp.array([[2.0]])), (0.02, 0.01))
        >>> found.slow_errors.shape, bool(found.slow_errors[1] < found.slow_errors[0])
        ((2,), True)
    """
    start = FastSlow(x0.prototypes, ravel_pytree(x0.encoder)[0])
    return reduction_error(flow.fast_slow(x0.encoder), start, horizon, ratios, integrator=integrator)


@checked
def manifold_distances(
    flow: CoupledFlow,
    x0: Coupled,
    ratios: Sequence[float] = EPSILONS,
    horizon: float = 1.0,
    *,
    layer: float = 0.5,
    integrator: AbstractIntegrator = stiff(1e-9),
) -> Float[np.ndarray, " ratios"]:
    r"""Compute the largest $|P - P^*(\theta)|$ on a trajectory after its boundary layer, for each $\varepsilon$.

    It is one of the `tikhonov_errors`, without the reduced flow. Newton's method for it starts from P, so that each
    state determines its branch; the distance is NaN where it does not converge.

    Args:
        flow: the coupled flow; its own ratio is not used.
        x0: the initial state.
        ratios: the values of $\varepsilon$.
        horizon: the last time, in the encoder's time $\eta_\theta t$.
        layer: the part of the horizon that is left out, in which the boundary layer must end.
        integrator: for the full flow.

    Source: PROTOTYPES, eq. (A.6), with fast and slow exchanged.

    Raises:
        ValueError: if the temperature is annealed.
        IntegrationError: if the integration fails.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import manifold_distances
        >>> flow = ds.prototypes.CoupledFlow([[1.0], [3.0]], ds.prototypes.LinearEncoder(1, 1), 1.0)
        >>> x0 = ds.prototypes.Coupled(jnp.array([[1.0]]), jnp.array([[2.0]]))
        >>> found = manifold_distances(flow, x0, (0.02, 0.01))
        >>> round(float(found[0] / found[1]))  # proportional to the ratio
        2
    """
    system, found = flow.fast_slow(x0.encoder), []
    for ratio in ratios:
        coupled = flow.with_ratio(ratio)
        ts = np.append(0.0, np.linspace(layer, 1.0, FRAMES)) * horizon / float(coupled.encoder_rate)
        found.append(float(_largest_distance(system, simulate(coupled, x0, ts, integrator=integrator).ys)))
    return np.array(found)


@eqx.filter_jit
def _largest_distance(system: FastSlowFlow, states: State) -> Array:
    def distance(x: State) -> Array:
        rest = nearby_root(system.fast, system.space.parts.fast, x.prototypes, ravel_pytree(x.encoder)[0])
        return jnp.max(jnp.abs(rest - x.prototypes))

    return jnp.max(jax.vmap(distance)(jax.tree.map(lambda y: y[1:], states)))


def _at_rest(flow: CoupledFlow, encoder: State, start: ArrayLike) -> Array:
    return quasi_steady_state(flow.fast_slow(encoder), ravel_pytree(encoder)[0], start).fast
