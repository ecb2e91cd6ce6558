"""Velocity and activities of a growing flow, by one program for each shape."""

import equinox as eqx
from jaxtyping import Array, Float

from dynsim.systems.growing.flow import Growing, GrowingFlow


@eqx.filter_jit
def measured(flow: GrowingFlow, x: Growing) -> tuple[Growing, Float[Array, " heads"]]:
    """Return the velocity and the activities at a state."""
    return flow.velocity(0.0, x), flow.activity(x)
