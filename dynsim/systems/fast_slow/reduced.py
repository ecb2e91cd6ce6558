"""The quasi-steady-state manifold of a fast-slow system as a space, and the reduced flow on it."""

import math

import jax
import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float

from dynsim._types import Key, Scalar, State, Time
from dynsim.spaces import AbstractSpace, Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, Part, RightHandSide

NEWTON_STEPS = 30
"""Newton's method doubles its digits in each step once it is near: what has not converged by then is near no root."""


class CriticalManifold(AbstractSpace):
    r"""The manifold $\{(x, y) : f(x, y) = 0\}$ near a point of it, where it is the graph of $x = \varphi(y)$.

    The retraction keeps y and takes x to the root that Newton's method finds from it, so that a state carries its
    branch with it. Where there is no root to be found, as beyond a fold, it is NaN.

    Source: MULTIRATE, Section 2.1.
    """

    fast: RightHandSide
    parts: FastSlow

    def __init__(self, flow: FastSlowFlow):
        """Take f and the spaces from the flow."""
        self.fast, self.parts = flow.fast, flow.space.parts

    def project(self, y: State) -> State:
        """Return the point of the manifold with this slow variable that is near in x."""
        slow = self.parts.slow.project(y.slow)
        return FastSlow(nearby_root(self.fast, self.parts.fast, y.fast, slow), slow)

    def tangent(self, x: State, v: State) -> State:
        r"""Return $(D\varphi(y) v_y, v_y)$, with $D\varphi = -(D_x f)^{-1} D_y f$."""
        slow = self.parts.slow.tangent(x.slow, v.slow)
        pull = lambda y: residual(self.fast, self.parts.fast, x.fast, y)
        forcing = jax.jvp(pull, (x.slow,), (slow,))[1]
        moved = jnp.linalg.solve(fast_jacobian(self.fast, self.parts.fast, *x), jnp.ravel(forcing))
        return FastSlow(-moved.reshape(x.fast.shape), slow)

    def defect(self, y: State) -> Scalar:
        """Return how far the retraction moves x, or the defect of y if it is larger."""
        root = nearby_root(self.fast, self.parts.fast, y.fast, y.slow)
        return jnp.maximum(jnp.max(jnp.abs(root - y.fast)), self.parts.slow.defect(y.slow))

    def sample(self, key: Key, shape: tuple[tuple[int, ...], tuple[int, ...]]) -> State:
        """Return the point above a random y that Newton's method finds from a random x; NaN if it finds none."""
        return self.project(Product(self.parts).sample(key, shape))


class ReducedFlow(AbstractFlow):
    r"""The flow $\dot y = g(\varphi(y), y)$ on the quasi-steady-state manifold, the limit of epsilon to zero.

    Its states are points of the manifold, x with them: the start chooses the branch. It ends at a fold.

    Source: MULTIRATE, Section 2.1.
    """

    slow: RightHandSide
    space: CriticalManifold

    def __init__(self, flow: FastSlowFlow):
        """Take f, g and the spaces from the flow, whatever its epsilon is."""
        self.slow, self.space = flow.slow, CriticalManifold(flow)

    def velocity(self, t: Time, x: State) -> State:
        """Return g; the space lifts it to the manifold, whatever x is said to do."""
        del t
        return FastSlow(jnp.zeros_like(x.fast), self.slow(x.fast, x.slow))


def residual(fast: RightHandSide, space: AbstractSpace, x: Part, y: Part) -> Part:
    """Return what vanishes at quasi-steady states: f, made tangent to the space of x, and how far x is off that space.

    The second part makes the Jacobian regular where f conserves what the space holds constant.
    """
    on = space.project(x)
    return space.tangent(on, fast(on, y)) + (x - on)


def fast_jacobian(fast: RightHandSide, space: AbstractSpace, x: Part, y: Part) -> Float[Array, "n n"]:
    """Return the derivative of `residual` in x, flattened: D_x f where the space is all of R^n."""
    size = math.prod(x.shape)
    return jax.jacfwd(lambda z: residual(fast, space, z, y))(x).reshape(size, size)


def nearby_root(fast: RightHandSide, space: AbstractSpace, x: Part, y: Part) -> Part:
    """Return the root of f(., y) that Newton's method reaches from x, or NaN."""
    solver = optx.Newton(rtol=1e-10, atol=1e-13)  # met by a step, after which the error is about its square
    found = optx.root_find(_residual, solver, x, (fast, space, y), max_steps=NEWTON_STEPS, throw=False)
    reached = found.result == optx.RESULTS.successful
    return jnp.where(reached, space.project(found.value), jnp.nan)


def _residual(x: Part, args: tuple[RightHandSide, AbstractSpace, Part]) -> Part:
    fast, space, y = args
    return residual(fast, space, x, y)
