"""Fast-slow systems in slow and in fast time, and the fast subsystem with the slow variable fixed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike, State, Time
from dynsim._core.validation import instance, real
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace, Product
from dynsim.systems.base import AbstractFlow, as_space

Part = Float[Array, "..."]
"""The fast or the slow variable."""

RightHandSide = Callable[[Part, Part], Part]
"""A function f(x, y) or g(x, y) of the fast and the slow variable."""


class FastSlow(NamedTuple):
    """A state of a fast-slow system: `fast` is x and `slow` is y, arrays of any shape; or a space for each."""

    fast: State
    slow: State


class FastSlowFlow(AbstractFlow):
    r"""A fast-slow system with fast variable x and slow variable y, in the slow time $t$.

    $$
        \varepsilon \dot x = f(x, y), \qquad \dot y = g(x, y)
    $$

    The functions do not depend on time; if they do, make t a further slow variable with derivative 1. The vector field
    is stiff, with rates of order 1/epsilon: use the integrator `stiff()`.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> flow = ds.FastSlowFlow(lambda x, y: y - x, lambda x, y: -x, 0.1)
        >>> velocity = flow.vector_field(0.0, ds.FastSlow(jnp.array(1.0), jnp.array(2.0)))
        >>> [float(part) for part in velocity]
        [10.0, -1.0]

    Source: MULTIRATE, eq. (1).
    """

    fast: RightHandSide
    slow: RightHandSide
    epsilon: Float[Array, ""]
    space: Product

    def __init__(
        self,
        fast: Any,
        slow: Any,  # a function, as `fast`; both are checked below
        epsilon: ArrayLike,
        *,
        fast_space: AbstractSpace | None = None,
        slow_space: AbstractSpace | None = None,
    ):
        """Store f and g, functions of (x, y) in JAX, the time-scale ratio, and the spaces of x and of y.

        If f conserves a quantity, let `fast_space` be a space on which it is constant, such as `Simplex()` for a
        probability vector. The critical manifold and its stability are then computed within the space.

        Raises:
            ValueError: if f or g is not callable, or epsilon is not a positive number.
        """
        for name, function in (("fast", fast), ("slow", slow)):
            if not callable(function):
                raise ArgumentError(name, "be a function of (x, y)", f"is {type(function).__name__}")
        self.fast, self.slow, self.epsilon = fast, slow, _ratio(epsilon)
        self.space = Product(FastSlow(as_space(fast_space), as_space(slow_space)))

    def velocity(self, t: Time, x: State) -> State:
        """The velocity (f / epsilon, g) in slow time."""
        f, g = rates(self, x)
        return FastSlow(f / self.epsilon.astype(f.dtype), g)

    def with_epsilon(self, epsilon: ArrayLike) -> "FastSlowFlow":
        """The same system with another time-scale ratio."""
        return eqx.tree_at(lambda flow: flow.epsilon, self, _ratio(epsilon))


class FastTimeFlow(AbstractFlow):
    r"""A fast-slow system in its fast time $\tau = t / \varepsilon$: $x' = f(x, y)$, $y' = \varepsilon g(x, y)$.

    Source: MULTIRATE, eq. (1), with time rescaled.
    """

    flow: FastSlowFlow

    def __check_init__(self):
        """Raise `ValueError` for anything else than a fast-slow system."""
        instance("flow", self.flow, FastSlowFlow, "a `FastSlowFlow`")

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the system."""
        return self.flow.space

    def velocity(self, t: Time, x: State) -> State:
        """The velocity (f, epsilon g) in fast time."""
        f, g = rates(self.flow, x)
        return FastSlow(f, self.flow.epsilon.astype(g.dtype) * g)


class FastSubsystem(AbstractFlow):
    """The fast subsystem x' = f(x, y) in fast time with y fixed: `FastTimeFlow` in the limit of small epsilon."""

    fast: RightHandSide
    slow: Part
    space: AbstractSpace

    @checked
    def __init__(self, flow: FastSlowFlow, slow: ArrayLike):
        """Store f and the space of x of `flow`, and the fixed value `slow` of y."""
        self.fast, self.slow, self.space = flow.fast, jnp.asarray(slow, float), flow.space.parts.fast

    def velocity(self, t: Time, x: State) -> State:
        """The value of f at the fixed y."""
        return _shaped("fast", self.fast(x, self.slow.astype(x.dtype)), x)


def rates(flow: FastSlowFlow, x: State) -> FastSlow:
    """Values of f and g at a state; raise `ValueError` unless each has the shape of its variable."""
    if not isinstance(x, FastSlow):
        raise ArgumentError("y0", "be a `FastSlow(fast, slow)` of arrays", f"is {type(x).__name__}")
    f, g = flow.fast(x.fast, x.slow), flow.slow(x.fast, x.slow)
    return FastSlow(_shaped("fast", f, x.fast), _shaped("slow", g, x.slow))


def _shaped(name: str, rate: Part, variable: State) -> Part:
    """The rate itself; raise `ValueError` unless it has the shape of its variable."""
    if jnp.shape(rate) != jnp.shape(variable):
        must = f"return the shape of its variable, {jnp.shape(variable)}"
        raise ArgumentError(name, must, f"returns {jnp.shape(rate)}")
    return rate


def _ratio(epsilon: ArrayLike) -> Float[Array, ""]:
    """Convert epsilon to an array; raise `ValueError` unless it is a positive number or traced."""
    return real("epsilon", epsilon, positive=True)
