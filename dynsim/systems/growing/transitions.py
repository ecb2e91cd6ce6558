"""Events of the growing system: conditions for adding, removing and clipping heads, and the resets they cause.

The guards are functions of time and state for event location by the integrators, positive when the condition holds
(negative for the clip). The resets return the flow and the state after an event. They use NumPy, not `jit`.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynsim._core.host import as_array
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import instance, integer
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow
from dynsim.systems.growing.flow import Growing, GrowingFlow, placeholders
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.assignments import separation

CLIP_TIE = 1e-9  # relative; temperatures whose cubes are this close to the least one are clipped together


class GrowthGuard(eqx.Module):
    """Positive when a head is to be added: dwell time over, gate settled, residual above the threshold."""

    flow: GrowingFlow

    def __call__(self, t: Time, x: State) -> Scalar:
        """The smallest margin of the conditions, at most 1 in size."""
        return _limited(jnp.minimum(jnp.minimum(clock_margin(self.flow, x), gate_margin(self.flow, x)), self._room()))

    def _room(self) -> Scalar:
        return jnp.where(may_grow(self.flow), 1.0, -1.0)


class PruningGuard(eqx.Module):
    """Positive when a head is to be removed: dwell time over, and a head's pruning measure below the threshold."""

    flow: GrowingFlow

    def __call__(self, t: Time, x: State) -> Scalar:
        """The smaller margin of the two conditions, at most 1 in size; -1 without a pruning threshold."""
        threshold = self.flow.rules.pruning
        below = jnp.max(jnp.where(self.flow.active, threshold - head_measures(self.flow, x), -1.0))
        margin = jnp.where(threshold > 0, below, -1.0)
        return _limited(jnp.minimum(clock_margin(self.flow, x), margin))


class ClipGuard(eqx.Module):
    """Negative when a temperature has fallen below the least temperature, judged by its cube."""

    flow: GrowingFlow

    def __call__(self, t: Time, x: State) -> Scalar:
        """Smallest T^3 - T_min^3 over the existing heads that are not clipped; 1 if there is none."""
        warm = self.flow.active & ~self.flow.clipped
        return jnp.min(jnp.where(warm, x.cubes - self.flow.rules.least_temperature**3, 1.0))


def clock_margin(flow: GrowingFlow, x: Growing) -> Scalar:
    """Time by which the dwell time is exceeded; 1 if there is no dwell time."""
    return jnp.where(flow.rules.dwell > 0, x.clock - flow.rules.dwell, 1.0)


def gate_margin(flow: GrowingFlow, x: Growing) -> Scalar:
    """Margin by which the squared distance of the unit gate from the dominant plane is below `settled` squared."""
    if flow.rules.gate == "ideal":
        return jnp.asarray(1.0)
    square = jnp.sum(x.gate**2)
    inside = jnp.sum((flow.plane @ x.gate) ** 2) / jnp.where(square > 0, square, 1.0)
    return flow.rules.settled**2 - (1 - inside)


def may_grow(flow: GrowingFlow) -> Bool[Array, ""]:
    """Whether a slot is free and the residual exceeds the threshold (and, if `ordered`, is below the last level)."""
    above = flow.dominant > flow.rules.threshold
    lower = flow.dominant < flow.last_level if flow.rules.ordered else True
    return above & lower & ~jnp.all(flow.active)


def head_measures(flow: GrowingFlow, x: Growing) -> Float[Array, " heads"]:
    """Pruning measure of each head: S(P_h), or Gamma_h, which is infinite for a head without a direction."""
    if flow.rules.prune_by == "separation":
        return _separations(x.prototypes)
    return directional_energies(flow)


_separations = jax.jit(jax.vmap(separation))


def directional_energies(flow: GrowingFlow) -> Float[Array, " heads"]:
    r"""Directional energy $\Gamma_h$ of each head, see `directional_energy`; infinite for a head without a direction.

    Source: GROWING, Section 9, Experiment 4.
    """
    return directional_energy(flow.interaction, flow.frames[:, 0])


def directional_energy(m: Float[Array, "d d"], u: Float[Array, "heads d"]) -> Float[Array, " heads"]:
    """Directional energy |B u| of directions u, with B = M_a / |M_a|_F; infinite for rows of zeros."""
    return jnp.where(jnp.any(u != 0, axis=1), jnp.linalg.norm(u @ m.T, axis=1) / jnp.linalg.norm(m), jnp.inf)


def grow(flow: AbstractFlow, t: float, x: State) -> tuple[GrowingFlow, Growing]:
    """Add a head: capture the direction of the gate, or its plane, and start prototypes along it at T_init.

    Source: GROWING, Algorithm of Section 3.4, Step 3.

    Raises:
        ValueError: if every slot is occupied, or the residual is zero.
    """
    del t
    flow = _growing(flow)
    active, order = np.asarray(flow.active), np.asarray(flow.order)
    if np.all(active):
        raise ArgumentError("capacity", "exceed the number of heads for growth", f"is {flow.rules.capacity}")
    if float(flow.dominant) == 0:
        raise ArgumentError("flow", "have a residual for growth", "has none")
    slot = int(np.argmin(active))
    grown = flow.with_heads(
        active=placed(active, slot, True),
        clipped=placed(flow.clipped, slot, False),
        frames=placed(flow.frames, slot, new_frame(flow, x.gate)),
        levels=placed(flow.levels, slot, flow.dominant),
        order=placed(order, slot, np.max(order) + 1),
        last_level=flow.dominant,
    )
    return grown, x._replace(
        gate=grown.gate_start().astype(x.gate.dtype),
        prototypes=placed(x.prototypes, slot, new_bank(grown, x, slot)),
        cubes=placed(x.cubes, slot, _first_cube(flow, x)),
        clock=jnp.zeros_like(x.clock),
    )


def new_frame(flow: GrowingFlow, gate: Any) -> Float[np.ndarray, "2 d"]:
    """Directions that a new head captures: the gate's direction, and its partner if the plane is removed."""
    free, m = flow.uncaptured(), np.asarray(flow.interaction, float)
    w = np.asarray(gate, float)
    if flow.rules.reading == "tokens":
        w = m @ free @ np.asarray(flow.root, float) @ w  # the feature direction to which these tokens respond
    u = _unit(free @ w, "gate")
    frame = np.zeros((2, len(u)))
    frame[0] = u
    if flow.rules.removal == "plane":
        partner = free @ np.asarray(flow.tracked if flow.rules.reading != "tokens" else flow.interaction, float) @ u
        partner = partner - u * (u @ partner)
        frame[1] = _unit(partner, "plane")
    return frame


def new_bank(flow: GrowingFlow, x: Growing, slot: int) -> Float[np.ndarray, "k d"]:
    """Initial prototypes of the head in a slot."""
    inputs = flow.embed(x) if flow.rules.head_input == "shared" else flow.head_inputs(x)[slot]
    u, level = np.asarray(flow.frames, float)[slot, 0], np.asarray(flow.levels)[slot]
    return bank_along(np.asarray(inputs, float), u, flow.rules, float(level))


def bank_along(
    inputs: Float[np.ndarray, "n d"], u: Float[np.ndarray, " d"], rules: GrowthRules, level: float
) -> Float[np.ndarray, "k d"]:
    """Initial prototypes of a head, on the line along its direction u through the mean of its inputs.

    Args:
        inputs: the tokens that the head sees, shape (n, d).
        u: the direction of the head, a unit vector of shape (d,).
        rules: where on the line the prototypes lie.
        level: the dominant value of the residual at the growth.
    """
    centre, count = np.mean(inputs, axis=0), rules.prototypes
    along = (inputs - centre) @ u
    if rules.birth == "quantiles":
        steps = np.quantile(along, (np.arange(count) + 0.5) / count)
    else:
        units = {"fixed": 1.0, "tokens": np.std(along), "eigenvalue": level}
        steps = units[rules.scaling] * (np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1))
    return centre + float(rules.spread) * np.outer(steps, u)


def prune(flow: AbstractFlow, t: float, x: State, head: int | None = None) -> tuple[GrowingFlow, Growing]:
    """Remove a head, by default the one with the smallest measure; its direction is retained or released.

    Source: GROWING, Algorithm of Section 3.4, Step 4.

    Raises:
        ValueError: if there is no such head.
    """
    del t
    flow = _growing(flow)
    active = np.asarray(flow.active)
    if head is None:
        if not np.any(active):
            raise ArgumentError("flow", "have a head to remove", "has none")
        head = int(jnp.argmin(jnp.where(flow.active, head_measures(flow, x), jnp.inf)))
    elif integer("head", head, least=0) >= len(active) or not active[head]:
        raise ArgumentError("head", "be the slot of a head", f"is {head}")
    frame = np.asarray(flow.frames[head], float)
    kept = flow.retained + frame.T @ frame if flow.rules.release == "retain" else flow.retained
    pruned = flow.with_heads(
        active=placed(active, head, False),
        clipped=placed(flow.clipped, head, False),
        frames=placed(flow.frames, head, 0.0),
        retained=kept,
        levels=placed(flow.levels, head, np.nan),
    )
    empty = placeholders(flow.rules, x.prototypes.shape[-1])
    gate = pruned.gate_start().astype(x.gate.dtype) if flow.rules.gate == "ideal" else x.gate
    return pruned, x._replace(
        gate=gate,
        prototypes=placed(x.prototypes, head, empty[head]),
        cubes=placed(x.cubes, head, _first_cube(flow, x)),
        clock=jnp.zeros_like(x.clock),
    )


def clip(flow: AbstractFlow, t: float, x: State) -> tuple[GrowingFlow, Growing]:
    """Freeze the temperatures that have reached the least temperature.

    Source: GROWING, Section 5.3; Lemma 17, proof.
    """
    del t
    flow = _growing(flow)
    least = flow.rules.least_temperature.astype(x.cubes.dtype) ** 3
    reached = flow.active & ~flow.clipped & (x.cubes <= least * (1 + CLIP_TIE))
    if not bool(jnp.any(reached)):  # located only up to an error: clip the nearest one
        warm = jnp.where(flow.active & ~flow.clipped, x.cubes, jnp.inf)
        reached = jnp.arange(len(warm)) == jnp.argmin(warm)
    clipped = eqx.tree_at(lambda f: f.clipped, flow, flow.clipped | reached)
    return clipped, x._replace(cubes=jnp.where(reached, least, x.cubes))


def placed(values: Any, slot: int | tuple[()], value: Any) -> Array:
    """An array with a new value in one slot, in its dtype; uses NumPy to avoid compilation."""
    found = np.array(values)
    found[slot] = np.asarray(value)
    return as_array(found)


def _first_cube(flow: GrowingFlow, x: Growing) -> np.floating:
    """T_init^3 in the dtype of the state's cubes."""
    T = np.dtype(x.cubes.dtype).type(flow.rules.initial_temperature)
    return T * T * T


def _growing(flow: AbstractFlow) -> GrowingFlow:
    return instance("flow", flow, GrowingFlow, "a `GrowingFlow`")


def _limited(margin: Scalar) -> Scalar:
    return jnp.clip(margin, -1.0, 1.0)


def _unit(v: np.ndarray, name: str) -> np.ndarray:
    norm = np.linalg.norm(v)
    if not norm > 1e-9:
        raise ArgumentError(name, "have a component in the residual subspace", f"has one of length {norm:.3g}")
    return v / norm
