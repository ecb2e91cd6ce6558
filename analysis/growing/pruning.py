"""Measures of heads around a pruning: forces, separations, directional energies, and shares of the encoder's gradient.

All are arrays with an entry for each slot of the flow, zero where there is no head.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from analysis.growing.separation import separation_force
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.transitions import directional_energies, prune
from dynsim.systems.prototypes.assignments import assignment_covariance, assignments, separation, squared_distances

PerHead = Float[Array, " heads"]


class HeadMeasures(NamedTuple):
    r"""Measures of each head at one state.

    `forces` are $F_{sep}^{(h)}$; `separations` the least squared distance of two prototypes, and `diameters` the
    largest; `diversities` are $\mathrm{tr}\, \Sigma_q$ and `activities` $\sigma$ of eq. (21); `energies` are
    $\Gamma_h = |B u_h|$, and `gradients` the norms of the derivatives of the heads' losses by the encoder's parameters,
    or by the embeddings if there are none.
    """

    forces: PerHead
    separations: PerHead
    diameters: PerHead
    diversities: PerHead
    activities: PerHead
    energies: PerHead
    gradients: PerHead

    @property
    def shares(self) -> PerHead:
        """The share of each head in the sum of the norms of the gradients: its relative weight on the backbone."""
        return self.gradients / jnp.sum(self.gradients)

    __repr__ = one_line
    __str__ = report


@checked
@eqx.filter_jit
def heads_at(flow: GrowingFlow, x: Growing) -> HeadMeasures:
    """Measure the heads of a flow at a state.

    Args:
        flow: the growing flow.
        x: its state.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.growing import heads_at
        >>> rules = ds.growing.GrowthRules(first="random", capacity=1, prototypes=2)
        >>> flow = ds.growing.GrowingFlow([[0.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> x = flow.start(ds.random_key(0, "state"))._replace(prototypes=jnp.array([[[1.0, 0.0], [-1.0, 0.0]]]))
        >>> found = heads_at(flow, x)
        >>> found.separations.tolist(), found.diversities.tolist(), found.forces.tolist()
        ([4.0], [0.5], [2.0])
    """
    z, p, T = flow.head_inputs(x), x.prototypes, flow.temperatures(x)
    only = lambda values: jnp.where(flow.active, values, 0.0)
    covariances = jax.vmap(lambda z, p, T: assignment_covariance(assignments(z, p, T)))(z, p, T)
    return HeadMeasures(
        only(jax.vmap(separation_force)(p, z, T)),
        only(jax.vmap(separation)(p)),
        only(jax.vmap(lambda p: jnp.max(squared_distances(p, p)))(p)),
        only(jnp.trace(covariances, axis1=1, axis2=2)),
        flow.activity(x),
        only(directional_energies(flow)),
        only(_backbone_gradients(flow, x)),
    )


class Pruning(NamedTuple):
    """Removed head, the slots of the remaining ones, and the measures of all heads before and after."""

    head: int
    survivors: Int[np.ndarray, " survivors"]
    before: HeadMeasures
    after: HeadMeasures

    __repr__ = one_line
    __str__ = report

    @property
    def drop(self) -> float:
        """Decrease of the summed separation forces of all heads."""
        return float(jnp.sum(self.before.forces) - jnp.sum(self.after.forces))

    @property
    def gains(self) -> Float[np.ndarray, " survivors"]:
        """Factors by which the survivors' shares of the gradient grow."""
        after, before = np.asarray(self.after.shares), np.asarray(self.before.shares)
        return after[self.survivors] / before[self.survivors]


@checked
def pruned(flow: GrowingFlow, x: Growing, head: int) -> Pruning:
    """Measure all heads before and after the removal of the head in a slot.

    Args:
        flow: the growing flow, with at least two heads.
        x: its state.
        head: slot of the head to remove.

    Raises:
        ValueError: if there is no such head, or no other one.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.growing import pruned
        >>> rules = ds.growing.GrowthRules(first="random", capacity=2, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> flow = flow.with_heads(active=jnp.array([True, True]))
        >>> pruned(flow, flow.start(ds.random_key(0, "state")), 0).survivors.tolist()
        [1]
    """
    head = integer("head", head, least=0)
    if int(jnp.sum(flow.active)) < 2:
        raise ArgumentError("flow", "have at least two heads", f"has {int(jnp.sum(flow.active))}")
    after, y = prune(flow, 0.0, x, head)
    return Pruning(head, np.flatnonzero(np.asarray(after.active)), heads_at(flow, x), heads_at(after, y))


def _backbone_gradients(flow: GrowingFlow, x: State) -> PerHead:
    """Compute the norm of the derivative of each head's loss by the encoder's parameters, or by the embeddings."""
    by_inputs, _ = jax.vmap(flow.loss.gradients)(flow.head_inputs(x), x.prototypes, flow.temperatures(x))
    if any(leaf.size for leaf in jax.tree.leaves(x.encoder)):
        _, back = jax.vjp(lambda theta: flow.head_inputs(x._replace(encoder=theta)), x.encoder)
    else:
        _, back = jax.vjp(lambda z: eqx.tree_at(lambda f: f.data, flow, z).head_inputs(x), flow.data)

    def norm(own: Array) -> Array:
        leaves = jax.tree.leaves(back(jnp.where(own[:, None, None], by_inputs, 0.0)))
        return jnp.sqrt(sum((jnp.sum(leaf**2) for leaf in leaves), jnp.zeros(())))

    return jax.vmap(norm)(jnp.eye(len(by_inputs), dtype=bool))
