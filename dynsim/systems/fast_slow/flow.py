"""Fast-slow systems: both time scales, and the fast subsystem with the slow variable held fixed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from dynsim._types import State, Time
from dynsim.errors import argument_error
from dynsim.spaces import AbstractSpace, Euclidean, Product
from dynsim.systems.base import AbstractFlow

Part = Float[Array, "..."]
RightHandSide = Callable[[Part, Part], Part]


class FastSlow(NamedTuple):
    """A state on two time scales: `fast` is x and `slow` is y, arrays of any shape; or a space for each of them."""

    fast: State
    slow: State


class FastSlowFlow(AbstractFlow):
    r"""A fast variable x and a slow variable y, in the slow time $t$.

    $$
        \varepsilon \dot x = f(x, y), \qquad \dot y = g(x, y)
    $$

    The functions do not depend on time: a clock is one more slow variable, with rate 1, so that the manifold f = 0 is
    one of (y, t). The field is stiff, with rates of order 1/epsilon: follow it with `stiff()`.

    Source: MULTIRATE, eq. (1).
    """

    fast: RightHandSide
    slow: RightHandSide
    epsilon: Float[Array, ""]
    space: Product

    def __init__(
        self,
        fast: Any,
        slow: Any,  # checked here, in one sentence, as `fast`
        epsilon: ArrayLike,
        *,
        fast_space: AbstractSpace | None = None,
        slow_space: AbstractSpace | None = None,
    ):
        """Store f and g, functions of (x, y) in JAX, the ratio of the time scales, and the spaces of x and of y.

        A fast part that conserves something has a space on which that is constant, such as `Simplex()` for a
        probability vector: the manifold and its stability are those within that space.
        """
        for name, rate in (("fast", fast), ("slow", slow)):
            if not callable(rate):
                raise argument_error(name, "be a function of (x, y)", f"is {type(rate).__name__}")
        self.fast, self.slow, self.epsilon = fast, slow, _ratio(epsilon)
        self.space = Product(FastSlow(fast_space or Euclidean(), slow_space or Euclidean()))

    def velocity(self, t: Time, x: State) -> State:
        """Return f / epsilon and g."""
        del t
        f, g = rates(self, x)
        return FastSlow(f / self.epsilon.astype(f.dtype), g)

    def with_epsilon(self, epsilon: ArrayLike) -> "FastSlowFlow":
        """Return the same system with another ratio of its time scales."""
        return eqx.tree_at(lambda flow: flow.epsilon, self, _ratio(epsilon))


class FastTimeFlow(AbstractFlow):
    r"""A fast-slow system in its fast time $\tau = t / \varepsilon$: $x' = f(x, y)$, $y' = \varepsilon g(x, y)$."""

    flow: FastSlowFlow

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the system."""
        return self.flow.space

    def velocity(self, t: Time, x: State) -> State:
        """Return f and epsilon g."""
        del t
        f, g = rates(self.flow, x)
        return FastSlow(f, self.flow.epsilon.astype(g.dtype) * g)


class FastSubsystem(AbstractFlow):
    """The fast subsystem x' = f(x, y) in fast time, its slow variable held fixed: the limit of epsilon to zero."""

    fast: RightHandSide
    slow: Part
    space: AbstractSpace

    def __init__(self, flow: FastSlowFlow, slow: ArrayLike):
        """Take f and the space of x from `flow`, and hold y at `slow`."""
        self.fast, self.slow, self.space = flow.fast, jnp.asarray(slow, float), flow.space.parts.fast

    def velocity(self, t: Time, x: State) -> State:
        """Return f at the fixed y."""
        del t
        return _shaped("fast", self.fast(x, self.slow.astype(x.dtype)), x)


def rates(flow: FastSlowFlow, x: State) -> FastSlow:
    """Return f and g at a state, each of the shape of its variable."""
    if not isinstance(x, FastSlow):
        raise argument_error("y0", "be a `FastSlow(fast, slow)` of arrays", f"is {type(x).__name__}")
    f, g = flow.fast(x.fast, x.slow), flow.slow(x.fast, x.slow)
    return FastSlow(_shaped("fast", f, x.fast), _shaped("slow", g, x.slow))


def _shaped(name: str, rate: Part, variable: State) -> Part:
    """Return the rate if it has the shape of its variable; raise `ValueError` if it does not."""
    if jnp.shape(rate) != jnp.shape(variable):
        must = f"return the shape of its variable, {jnp.shape(variable)}"
        raise argument_error(name, must, f"returns {jnp.shape(rate)}")
    return rate


def _ratio(epsilon: ArrayLike) -> Float[Array, ""]:
    """Return epsilon as an array; raise `ValueError` unless it is one positive number."""
    if not isinstance(epsilon, Tracer):
        value = np.asarray(epsilon, float)
        if value.ndim or not np.isfinite(value) or not value > 0:
            raise argument_error("epsilon", "be a positive number", f"is {epsilon}")
    return jnp.asarray(epsilon, float)
