"""Sufficient conditions for prototypes to stay bounded, and for a prototype to escape to infinity."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from dynsim._core.checked import checked
from dynsim._core.types import Scalar, State, Time
from dynsim.simulation.checks import check_start
from dynsim.systems.prototypes.assignments import squared_distances
from dynsim.systems.prototypes.flow import CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.temperatures import Annealing, ConstantTemperature

# Relative safety margin, far above the rounding errors of the quantities that are compared.
MARGIN = 1e-9

Flow = PrototypeFlow | CoupledFlow


@checked
def bounding_radius(flow: Flow, x: State, t: Time = 0.0) -> tuple[float, str]:
    r"""Bound $|p_k|$ for all later times, with the reason: `ridge`, `hull` or `none` (the bound is infinite).

    `ridge`: the potential decreases, and is at least $\frac\rho2 |P|^2$, less $N T \log K$ in the mode `frozen`.
    `hull`: with frozen embeddings, in the mode `frozen` and without barrier, every prototype moves towards a mean of
    the embeddings with positive weights, so that no distance from the centre of a ball around them grows beyond it.

    Args:
        flow: a flow of prototypes, with or without its encoder.
        x: its state.
        t: time, in the unit of the flow.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import bounding_radius
        >>> loss = ds.prototypes.PrototypeLoss("frozen")
        >>> flow = ds.prototypes.PrototypeFlow([[-1.0], [1.0]], 1.0, loss=loss)
        >>> bounding_radius(flow, jnp.array([[0.5], [-2.0]]))
        (2.0, 'hull')
    """
    x = check_start("x", flow, x)
    p, z, loss = flow.prototypes(x), flow.embed(x), flow.loss
    found = (np.inf, "none")
    if float(loss.ridge) > 0 and _cools(flow):
        found = (float(np.sqrt(2 * _level(flow, x, t) / float(loss.ridge))) * (1 + MARGIN), "ridge")
    if isinstance(flow, PrototypeFlow) and loss.gradient == "frozen" and float(loss.barrier) == 0:
        norms = [float(jnp.max(jnp.linalg.norm(points, axis=1))) for points in (p, z)]
        found = min(found, (max(norms), "hull"))
    return found


@checked
def escaping_prototypes(flow: Flow, x: State, t: Time = 0.0) -> Bool[np.ndarray, " k"]:
    r"""Find the prototypes that certainly escape to infinity from a state; the others may escape or not.

    The embeddings must be frozen, the ridge 0, and the temperature constant or annealed. The potential decreases, so
    that every embedding keeps a prototype within a squared distance B that is known from the state.

    In the mode `full`, without barrier or with two prototypes, a prototype escapes if $d_{nk} > T + B$ for all n and it
    sees any two embeddings at an acute angle: its weights are then negative, all $d_{nk}$ increase, and both conditions
    stay true. In the mode `frozen`, with a barrier and two prototypes, it escapes if the repulsion exceeds the
    attraction, which is at most $e^{-(D - B)/T}$ times a distance for each embedding, with $D = \min_n d_{nk}$: then D
    increases, and the condition stays true.

    Args:
        flow: a flow of prototypes, with or without its encoder.
        x: its state.
        t: time, in the unit of the flow.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import escaping_prototypes
        >>> flow = ds.prototypes.PrototypeFlow([[-1.0], [1.0]], 1.0)
        >>> escaping_prototypes(flow, jnp.array([[0.0], [10.0]])).tolist()
        [False, True]
    """
    x = check_start("x", flow, x)
    z, p, loss = flow.embed(x), flow.prototypes(x), flow.loss
    repelled = float(loss.barrier) > 0
    none = np.zeros(len(p), bool)
    if isinstance(flow, CoupledFlow) or float(loss.ridge) > 0 or not _cools(flow) or (repelled and len(p) != 2):
        return none
    d, between = np.asarray(squared_distances(z, p)), np.asarray(squared_distances(z, z))
    T, B = float(flow.temperature(t)), _level(flow, x, t) * (len(z) if loss.reduction == "mean" else 1)
    if loss.gradient == "full":
        return _shut_out(d, between, (T + B) * (1 + MARGIN))
    if not repelled:
        return none
    count = len(z) if loss.reduction == "sum" else 1
    return _out_of_reach(d, float(np.sqrt(np.max(between))), T, B, float(loss.barrier) / count)


def _shut_out(d: np.ndarray, between: np.ndarray, threshold: float) -> Bool[np.ndarray, " k"]:
    """Find the prototypes farther from all embeddings than a threshold, from which embeddings form acute angles."""
    acute = d[:, None] + d[None] > between[:, :, None] * (1 + MARGIN)  # by the law of cosines
    return np.all(d > threshold, axis=0) & np.all(acute, axis=(0, 1))


def _out_of_reach(d: np.ndarray, width: float, T: float, B: float, barrier: float) -> Bool[np.ndarray, " k"]:
    """Find which of two prototypes is pushed outwards by the barrier more strongly than it is drawn inwards."""
    D = np.min(d, axis=0)
    pull = np.exp(np.minimum(0.0, (B - D) / T)) * (np.sqrt(D) + width)  # it decreases in D, with the next line's cube
    weaker = pull * (np.sqrt(D) + np.sqrt(B)) ** 3 < barrier * (1 - MARGIN)
    return weaker & (max(B, 2 * T) * (1 + MARGIN) < D)


def _level(flow: Flow, x: State, t: Time) -> float:
    r"""Bound the loss (`full`) or the hard loss (`frozen`), with the penalty, for all later times.

    In the mode `frozen` it is the potential plus $N T \log K$, which decreases when the temperature does.
    """
    level, count = float(_potential(flow, jnp.asarray(t, float), x)), len(flow.prototypes(x))
    if flow.loss.gradient == "frozen":
        points = len(flow.embed(x)) if flow.loss.reduction == "sum" else 1
        level += points * float(flow.temperature(t)) * float(np.log(count))
    return level * (1 + MARGIN)


@eqx.filter_jit
def _potential(flow: Flow, t: Time, x: State) -> Scalar:
    return flow.potential(t, x)


def _cools(flow: Flow) -> bool:
    """Test whether the temperature is known to have a positive limit and never to rise."""
    return isinstance(flow.temperature, ConstantTemperature | Annealing)
