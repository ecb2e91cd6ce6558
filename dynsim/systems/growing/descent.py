"""The growing system in discrete time: one step of the Algorithm between two events."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import State, Step
from dynsim._core.validation import instance, not_negative
from dynsim.errors import ArgumentError, shown
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractMap
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.gate import gate_velocity


def temperature_step(temperature: Any, activity: Any, rate: Any, least: Any = None) -> Any:
    r"""Temperature after a step, $T - \eta_T \sigma / T^2$, clipped from below at the least temperature.

    Source: GROWING, eq. (37); with `least` the clip of the proof of Lemma 17.

    Args:
        temperature: T, positive; a number, an array or a Fraction.
        activity: sigma, multiplied by N where losses are summed over tokens.
        rate: the step size eta_T.
        least: T_min, or None for the equation as printed, without clipping.
    """
    moved = temperature - rate * activity / temperature**2
    if least is None:
        return moved
    return jnp.maximum(moved, least) if isinstance(moved, jax.Array) else max(moved, least)


class GrowingStep(AbstractMap):
    r"""One step of the Algorithm for the existing heads, all updated from the same state; the clock counts steps.

    $$
        T_h \leftarrow \max(T_h - \eta_T c N \sigma_h / T_h^2, T_{min}), \quad
        P_h \leftarrow P_h - \eta_P\, \partial_{P_h} L, \quad
        \theta \leftarrow \theta - \eta_\theta\, \partial_\theta L, \quad
        w \leftarrow \frac{w + \eta_s f(w)}{|w + \eta_s f(w)|}, \quad \eta_s = \frac{\eta_+}{(s + 1)^a}
    $$

    With a = `gate_power` in (1/2, 1] the gate's step sizes are square summable but not summable, condition (E4); with
    a = 0 they are constant. Without `clipping` the temperatures follow eq. (37) as printed and may become negative.

    Source: GROWING, Algorithm of Section 3.4, eq. (37)-(39).
    """

    flow: GrowingFlow
    gate_power: Float[Array, ""]
    clipping: bool = eqx.field(static=True)

    def __init__(self, flow: GrowingFlow, *, gate_power: Any = 0.0, clipping: bool = True):
        """Store the flow, whose rates are the step sizes, the power a, and whether temperatures are clipped."""
        self.flow = instance("flow", flow, GrowingFlow, "a `GrowingFlow`")
        self.gate_power = not_negative("gate_power", gate_power)
        if not isinstance(clipping, bool):
            raise ArgumentError("clipping", "be True or False", f"is {shown(clipping)}")
        self.clipping = clipping

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the flow."""
        return self.flow.space

    def step(self, k: Step, x: State) -> State:
        """State after step `k`."""
        flow = self.flow
        v = flow.velocity(jnp.zeros((), x.prototypes.dtype), x)
        return Growing(
            jax.tree.map(jnp.add, x.encoder, v.encoder),
            self._gate(k, x.gate),
            x.prototypes + v.prototypes,
            self.temperatures_after(x) ** 3,
            x.clock + 1,
        )

    def temperatures_after(self, x: State) -> Float[Array, " heads"]:
        """Temperatures after a step from the state `x`."""
        flow = self.flow
        T = jnp.cbrt(x.cubes)
        count = flow.data.shape[0] if flow.loss.reduction == "sum" else 1
        moving = flow.active & ~flow.clipped
        sigma = jnp.where(moving, count * flow.activity(x), 0)
        least = flow.rules.least_temperature.astype(T.dtype) if self.clipping else None
        return temperature_step(T, sigma, flow.temperature_rate.astype(T.dtype), least)

    def _gate(self, k: Step, w: State) -> State:
        if self.flow.rules.gate == "ideal":
            return w
        size = self.flow.gate_rate / (jnp.asarray(k, self.gate_power.dtype) + 1.0) ** self.gate_power
        moved = w + size.astype(w.dtype) * gate_velocity(self.flow.tracked.astype(w.dtype), w, self.flow.rules.gate)
        norm = jnp.linalg.norm(moved)
        return moved / jnp.where(norm > 0, norm, 1.0)
