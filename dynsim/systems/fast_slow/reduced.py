"""The critical manifold of a fast-slow system as a space, and the reduced flow on it."""

import math

import jax
import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.types import Key, Scalar, State, Time
from dynsim.spaces import AbstractSpace, Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, Part, RightHandSide

NEWTON_STEPS = 30
"""Limit on Newton steps; quadratic convergence near a regular root takes far fewer."""


class CriticalManifold(AbstractSpace):
    r"""The critical manifold $\{(x, y) : f(x, y) = 0\}$, locally the graph of a function $x = \varphi(y)$.

    The paper calls it the quasi-steady-state manifold. The retraction keeps y and maps x to the root that Newton's
    method finds from it, so each state determines its own branch. It is NaN where Newton's method does not converge, as
    beyond a fold.

    Source: MULTIRATE, Section 2.1.
    """

    fast: RightHandSide
    parts: FastSlow

    @checked
    def __init__(self, flow: FastSlowFlow):
        """Store f and the spaces of the flow."""
        self.fast, self.parts = flow.fast, flow.space.parts

    def project(self, y: State) -> State:
        """Point of the manifold with the same y, where Newton's method from `y.fast` finds x; NaN if it fails."""
        slow = self.parts.slow.project(y.slow)
        return FastSlow(nearby_root(self.fast, self.parts.fast, y.fast, slow), slow)

    def tangent(self, x: State, v: State) -> State:
        r"""Tangent vector $(D\varphi(y) v_y, v_y)$, with $D\varphi = -(D_x f)^{-1} D_y f$."""
        slow = self.parts.slow.tangent(x.slow, v.slow)
        at = lambda y: residual(self.fast, self.parts.fast, x.fast, y)
        forcing = jax.jvp(at, (x.slow,), (slow,))[1]
        change = jnp.linalg.solve(fast_jacobian(self.fast, self.parts.fast, *x), jnp.ravel(forcing))
        return FastSlow(-change.reshape(x.fast.shape), slow)

    def defect(self, y: State) -> Scalar:
        """Larger of two numbers: the largest change of an entry of x by the retraction, and the defect of y."""
        root = nearby_root(self.fast, self.parts.fast, y.fast, y.slow)
        return jnp.maximum(jnp.max(jnp.abs(root - y.fast)), self.parts.slow.defect(y.slow))

    def sample(self, key: Key, shape: tuple[tuple[int, ...], tuple[int, ...]]) -> State:
        """A point with random y, and x from Newton's method with a random guess; `shape` has the shapes of x and y."""
        return self.project(Product(self.parts).sample(key, shape))


class ReducedFlow(AbstractFlow):
    r"""The reduced flow $\dot y = g(\varphi(y), y)$ on the critical manifold, the limit as epsilon tends to zero.

    Its states are points (x, y) of the manifold, so the initial state determines the branch. The flow is not defined
    beyond a fold.

    Source: MULTIRATE, Section 2.1.
    """

    slow: RightHandSide
    space: CriticalManifold

    @checked
    def __init__(self, flow: FastSlowFlow):
        """Store f, g and the spaces of the flow; its epsilon is not used."""
        self.slow, self.space = flow.slow, CriticalManifold(flow)

    def velocity(self, t: Time, x: State) -> State:
        """The vector (0, g); projection to the tangent space then sets the component of x from g."""
        return FastSlow(jnp.zeros_like(x.fast), self.slow(x.fast, x.slow))


def residual(fast: RightHandSide, space: AbstractSpace, x: Part, y: Part) -> Part:
    """Tangential part of f plus the difference of x from its projection; zero on the critical manifold.

    The second term makes the Jacobian regular if f conserves a quantity that is constant on the space.
    """
    on = space.project(x)
    return space.tangent(on, fast(on, y)) + (x - on)


def fast_jacobian(fast: RightHandSide, space: AbstractSpace, x: Part, y: Part) -> Float[Array, "n n"]:
    """Jacobian of `residual` with respect to x, flattened; D_x f if the space is R^n."""
    size = math.prod(x.shape)
    return jax.jacfwd(lambda z: residual(fast, space, z, y))(x).reshape(size, size)


def nearby_root(fast: RightHandSide, space: AbstractSpace, x: Part, y: Part) -> Part:
    """Root of f(., y) to which Newton's method converges from x, or NaN.

    Values of f are scaled by a power of two that is not below the derivatives of f times x, because rounding errors at
    a root have this size, whatever it is.
    """
    solver = optx.Newton(rtol=1e-10, atol=1e-13)  # tolerances of the last step; the error after it is about its square
    terms = jnp.max(jnp.abs(fast_jacobian(fast, space, x, y))) * (1 + jnp.max(jnp.abs(x)))
    unit = unit_above(terms)
    found = optx.root_find(_residual, solver, x, (fast, space, y, unit), max_steps=NEWTON_STEPS, throw=False)
    reached = found.result == optx.RESULTS.successful
    return jnp.where(reached, space.project(found.value), jnp.nan)


def unit_above(size: Array) -> Array:
    """A power of two not below `size` and not below one, without a derivative; 1 if `size` is not finite."""
    return jax.lax.stop_gradient(jnp.exp2(jnp.ceil(jnp.log2(1 + jnp.where(jnp.isfinite(size), size, 0.0)))))


def _residual(x: Part, args: tuple[RightHandSide, AbstractSpace, Part, Array]) -> Part:
    fast, space, y, unit = args
    return residual(fast, space, x, y) / unit
