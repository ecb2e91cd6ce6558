"""The forward-Euler method as a discrete-time map."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, State, Step
from dynsim._core.validation import instance, real
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow, AbstractMap


class EulerMap(AbstractMap):
    r"""The forward-Euler map of a flow, $x \leftarrow \pi(x + h f(kh, x))$, with f tangent and $\pi$ the retraction."""

    flow: AbstractFlow
    step_size: Float[Array, ""]

    def __init__(self, flow: AbstractFlow, step_size: ArrayLike):
        """Store the flow and the step size h, in the time unit of the flow."""
        self.flow = instance("flow", flow, AbstractFlow, "a flow")
        self.step_size = real("step_size", step_size)

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the flow."""
        return self.flow.space

    def step(self, k: Step, x: State) -> State:
        """State after Euler step `k`, retracted to the space."""
        h = self.step_size
        v = self.flow.space.tangent(x, self.flow.velocity(jnp.asarray(k, h.dtype) * h, x))
        return self.flow.space.project(jax.tree.map(lambda a, b: a + h.astype(a.dtype) * b, x, v))
