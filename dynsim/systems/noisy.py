"""Stochastic differential equations on any space, with Ito or Stratonovich noise."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import PyTree

from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import choice, function, instance, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow, AbstractMap, in_precision_of

CALCULI = ("ito", "stratonovich")


class NoisyFlow(AbstractFlow):
    r"""A stochastic differential equation on a space; only the tangential component of the noise is applied.

    $$ dx = T_x f(t, x)\, dt + T_x \sigma(t, x) \circ dB $$

    for `calculus="stratonovich"`, whose solutions stay on the space by the chain rule. With `calculus="ito"` it is the
    limit of x <- project(x + T_x f dt + T_x sigma dB) for short steps. In Euclidean space this is Ito's equation.
    Elsewhere it is Ito's equation with the additional drift
    $\tfrac12 D^2\mathrm{project}(x)[T_x\sigma, T_x\sigma]\,dt$ that keeps the solution on the space. On a sphere or
    an ellipsoid this is Ito's equation in geodesic normal coordinates of the metric of `tangent`. If the noise has the
    same amplitude in all directions of a sphere, both calculi give the same Brownian motion.

    The noise is one of

    - a number, or arrays of the shape of the state: the amplitude of independent Brownian motions of the entries;
    - a function of (t, x) that returns such an amplitude: diagonal noise;
    - a function of (t, x) that returns arrays with one more axis of length m at the end: m Brownian motions that act
      on all entries, where `sigma[..., k]` is the direction of the k-th.

    `domain`, if given, is a function of the state that is negative outside the domain of the equation, such as
    `jnp.min` for the positive orthant. A run that leaves the domain ends there, like a run that leaves the simplex.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> noisy = ds.NoisyFlow(ds.FunctionFlow(lambda t, x: -x), 0.1, calculus="ito")
        >>> noisy.drift(0.0, jnp.array([1.0])).tolist()
        [-1.0]
    """

    flow: AbstractFlow
    noise: Any
    calculus: str = eqx.field(static=True)
    domain: Callable[[State], Scalar] | None

    def __init__(
        self,
        flow: AbstractFlow,
        noise: Any,  # a function, a number, arrays or a named tuple of arrays
        *,
        calculus: str,
        domain: Callable[[State], Scalar] | None = None,
    ):
        """Store the flow, the noise, and whether its integral is Ito's or Stratonovich's."""
        self.flow = instance("flow", flow, AbstractFlow, "a flow")
        if isinstance(flow, NoisyFlow):
            raise ArgumentError("flow", "be a flow without noise", "is a NoisyFlow")
        self.noise = (
            function("noise", noise, "(t, x)", 2)
            if callable(noise)
            else jax.tree.map(_amplitude, noise, is_leaf=_is_list)
        )
        self.calculus = choice("calculus", calculus, CALCULI)
        self.domain = None if domain is None else function("domain", domain, "the state")

    def outside(self, x: State) -> jax.Array:
        """Whether a state is outside `domain`; raise `ValueError` if `domain` does not return one number."""
        if self.domain is None:
            return jnp.zeros((), bool)
        value = jnp.asarray(reals("domain", self.domain(x)))
        if value.ndim:
            raise ArgumentError("domain", "return one number", f"returns shape {value.shape}")
        return value < 0

    @property
    def space(self) -> AbstractSpace:
        """The space of the flow."""
        return self.flow.space

    @property
    def names(self) -> Sequence[str]:
        """Names of the components of the state."""
        return self.flow.names

    @property
    def units(self) -> Sequence[str]:
        """Units of the components of the state."""
        return self.flow.units

    @property
    def time_unit(self) -> str:
        """Unit of time of the flow."""
        return self.flow.time_unit

    def velocity(self, t: Time, x: State) -> State:
        """Raise `ValueError`, because code that uses only a velocity would ignore the noise."""
        must = "be without noise here (its field `flow` is; `simulate` and `ensemble` take noise)"
        raise ArgumentError("flow", must, "is a NoisyFlow")

    def drift(self, t: Time, y: State) -> State:
        """Tangent velocity of the flow without noise, at the projected point."""
        return self.flow.vector_field(t, y)

    def kick(self, t: Time, y: State, increment: PyTree) -> State:
        """Tangential noise at the projected point, times an increment of the Brownian motions."""
        noisy, t = in_precision_of(y, (self, t))
        x = noisy.space.project(y)
        sigma = noisy._sigma(t, x)
        if self._diagonal(x, sigma):
            pushed = jax.tree.map(
                lambda s, a, dw: jnp.broadcast_to(s, a.shape).astype(a.dtype) * dw, sigma, x, increment
            )
        else:
            pushed = jax.tree.map(lambda s, a: s.astype(a.dtype) @ increment.astype(a.dtype), sigma, x)
        return noisy.space.tangent(x, pushed)

    def increment_shapes(self, t: Time, x: State) -> PyTree:
        """Shapes and dtypes of an increment of the Brownian motions; raise `ValueError` if the noise does not fit."""
        shapes = jax.eval_shape(lambda: (x, self._sigma(t, x)))
        like, sigma = shapes
        if self._diagonal(like, sigma):
            return like
        leaves = list(zip(jax.tree.leaves(sigma), jax.tree.leaves(like), strict=True))
        counts = {s.shape[-1] if s.shape[:-1] == a.shape and s.ndim else -1 for s, a in leaves}
        if len(counts) != 1 or counts == {-1}:
            told = ", ".join(str(s.shape) for s, _ in leaves)
            must = f"return arrays of the shape of the state, {leaves[0][1].shape}, or with one more axis"
            raise ArgumentError("noise", must, f"has shape {told}")
        return jax.ShapeDtypeStruct((counts.pop(),), leaves[0][1].dtype)

    def breakpoints(self, t0: float, t1: float) -> Any:
        """Times strictly between `t0` and `t1` at which the flow's vector field jumps."""
        return self.flow.breakpoints(t0, t1)

    def step_limit(self) -> float:
        """Longest step of the flow."""
        return self.flow.step_limit()

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if the flow is not defined on all of [t0, t1]."""
        self.flow.check_horizon(t0, t1)

    def amplitude(self, t: Time, x: State) -> Any:
        """The noise as it was given, evaluated if it is a function."""
        return self.noise(t, x) if callable(self.noise) else self.noise

    def _sigma(self, t: Time, x: State) -> State:
        """Amplitude or directions of the noise, with the structure of the state."""
        found = self.amplitude(t, x)
        found = jnp.stack([jnp.asarray(part) for part in found]) if isinstance(found, list) else found
        if jax.tree.structure(found) == jax.tree.structure(x):
            return jax.tree.map(_array, found)
        if jax.tree.structure(found) == jax.tree.structure(0):
            return jax.tree.map(lambda a: _array(found), x)
        raise ArgumentError("noise", "have the same structure as the state", "has a different one")

    @staticmethod
    def _diagonal(x: PyTree, sigma: PyTree) -> bool:
        """Whether each entry has its own Brownian motion, judged by the shapes."""
        pairs = zip(jax.tree.leaves(sigma), jax.tree.leaves(x), strict=True)
        return all(s.shape in ((), a.shape) for s, a in pairs)


def without_noise(flow: AbstractFlow) -> AbstractFlow:
    """The flow without its noise; a flow without noise is returned unchanged."""
    return flow.flow if isinstance(flow, NoisyFlow) else flow


def fields(flow: AbstractFlow | AbstractMap, t: Any, x: State) -> tuple[PyTree, ...]:
    """Everything that a solver evaluates: the vector field, and the noise if it depends on time or state; or a map."""
    if isinstance(flow, AbstractMap):
        return (flow.image(t, x),)
    field = without_noise(flow).vector_field(t, x)
    return (field, flow.amplitude(t, x)) if isinstance(flow, NoisyFlow) and callable(flow.noise) else (field,)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _array(value: Any) -> jax.Array:
    return jnp.asarray(reals("noise", value))


def _amplitude(value: Any) -> jax.Array:
    found = jnp.asarray(reals("noise", value), float)
    if not isinstance(found, Tracer) and not bool(jnp.all(jnp.isfinite(found))):
        raise ArgumentError("noise", "be finite", "has an entry that is not")
    return found
