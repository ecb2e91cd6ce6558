"""Estimate the sizes of states and the rates of a flow from sample states, and choose units by them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.scaling.linear_equations import balanced
from analysis.dynamics.scaling.units import Units, made_units, power_near, rounded_units
from dynsim._core.types import State, Time
from dynsim.programs import Programmed
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import is_flat


def ranges(states: State) -> State:
    """Compute the ranges of the entries of vectors among states, and the largest range of other arrays.

    A constant entry has its absolute value as its range; one that is always zero has the largest range of the others.
    """

    def of(part: Any) -> np.ndarray:
        rows = _finite_rows(part)
        spread, sizes = np.ptp(rows, axis=0), np.max(np.abs(rows), axis=0)
        return _filled(np.where(spread > 1e-12 * sizes, spread, sizes))

    return jax.tree.map(of, states)


def largest(states: State) -> State:
    """Compute the largest absolute values of the entries of vectors among states, and the largest of other arrays.

    An entry that is always zero has the largest value of the others.
    """
    return jax.tree.map(lambda part: _filled(np.max(np.abs(_finite_rows(part)), axis=0)), states)


def _finite_rows(part: Any) -> np.ndarray:
    rows = np.asarray(part, float)
    return np.where(np.isfinite(rows), rows, 0.0)


def _filled(sizes: Any) -> np.ndarray:
    """Replace zeros in the sizes of a vector by the largest size; reduce other arrays to the largest size."""
    most = np.max(sizes, initial=0.0)
    return np.where(sizes > 0, sizes, most) if np.ndim(sizes) == 1 else np.asarray(most)


# Ratio of the norms of a Jacobian and of the balanced one from which on the components have far different units.
UNBALANCED = 32.0


def norms(flow: AbstractFlow, states: State, t: Time = 0.0) -> np.ndarray:
    """Compute the Frobenius norm of the Jacobian at states, divided by the square root of the dimension.

    Where the components have far different units, it is that of the balanced Jacobian, whose rows and columns have
    equal sizes. `states` are on the first axis of every array. Norms that are not finite are left out.
    """
    leaves, tree = jax.tree.flatten(states)
    jacobians = _JACOBIAN.rows(
        (flow,), np.asarray(t, float), jax.tree.unflatten(tree, [np.asarray(y)[0] for y in leaves])
    )
    J = np.asarray(_jacobians(flow, states, jnp.asarray(t, float)) if jacobians is None else jacobians(t, *leaves))
    J = J[np.all(np.isfinite(J), axis=(1, 2))]
    found = np.linalg.norm(J, axis=(1, 2))
    in_units = np.array([np.linalg.norm(balanced(one)[0]) for one in J])
    return np.where(found > UNBALANCED * in_units, in_units, found) / np.sqrt(J.shape[1])


def _jacobian(flow: AbstractFlow, t: Array, x: State) -> Array:
    flat, restored = ravel_pytree(x)
    return jax.jacfwd(lambda y: ravel_pytree(flow.vector_field(t, restored(y)))[0])(flat)


_JACOBIAN = Programmed(_jacobian)


@eqx.filter_jit
def _jacobians(flow: AbstractFlow, states: State, t: Array) -> Array:
    return jax.vmap(lambda x: _jacobian(flow, t, x))(states)


def sample_units(
    flow: AbstractFlow,
    states: State,
    *,
    sizes: Callable[[State], State] = ranges,
    rate: Callable[[np.ndarray], Any] = np.median,
) -> Units:
    """Choose units of a flow near the sizes of states, and near the inverse norm of its Jacobian there at time 0.

    Args:
        flow: the flow.
        states: sample states, on the first axis of every array.
        sizes: computes the sizes of the states, `ranges` or `largest`.
        rate: reduces the norms of the Jacobian (see `norms`) to one rate; the default is the median.
    """
    if isinstance(flow, NoisyFlow):
        return made_units(flow)
    found = sizes(states) if is_flat(flow.space) else 1.0
    sized = rounded_units(flow, found, 1.0)
    rates = norms(sized.system, sized.rescaled(states))
    one = float(rate(rates)) if rates.size else 0.0
    return rounded_units(flow, found, 1 / one if one > 0 else 1.0)


def units_near(space: AbstractSpace, states: State) -> State:
    """Choose units near, and not far above, the ranges of states (see `ranges`); 1 on a curved space."""
    if not is_flat(space):
        return jax.tree.map(lambda part: np.ones(()), states)
    return jax.tree.map(lambda size: power_near(size / 4), ranges(states))
