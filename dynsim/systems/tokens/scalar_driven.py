"""Two flows on the sphere driven by a scalar rate, with closed-form solutions."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, Scalar, State, Time
from dynsim._core.validation import real, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import Sphere
from dynsim.systems.base import AbstractFlow


class SinusoidalRate(eqx.Module):
    r"""The rate $a(t) = m + A \sin(\omega t + \varphi)$, with its integral in closed form."""

    mean: Scalar
    amplitude: Scalar
    frequency: Scalar
    phase: Scalar

    def __init__(self, mean: ArrayLike, amplitude: ArrayLike = 0.0, frequency: ArrayLike = 1.0, phase: ArrayLike = 0.0):
        """Store mean, amplitude, angular frequency (not zero) and phase in radians."""
        given = {"mean": mean, "amplitude": amplitude, "frequency": frequency, "phase": phase}
        self.mean, self.amplitude, self.frequency, self.phase = (real(name, a) for name, a in given.items())
        if not isinstance(self.frequency, Tracer) and float(self.frequency) == 0:
            raise ArgumentError("frequency", "not be zero", "is zero")

    def __call__(self, t: Time) -> Scalar:
        """The rate a(t)."""
        return self.mean + self.amplitude * jnp.sin(self.frequency * t + self.phase)

    def integral(self, t: Time) -> Scalar:
        """Integral of a over [0, t]."""
        waves = jnp.cos(self.phase) - jnp.cos(self.frequency * t + self.phase)
        return self.mean * t + self.amplitude * waves / self.frequency


class _Driven(AbstractFlow):
    """Base class of both flows: they live on the sphere, and the period of a(t) limits the step."""

    rate: eqx.AbstractVar[SinusoidalRate]

    def step_limit(self) -> float:
        """Longest step for a solver: half of the rate's period, infinite for a constant rate."""
        still = float(self.rate.amplitude) == 0
        return math.inf if still else math.pi / abs(float(self.rate.frequency))


def _as_rate(rate: SinusoidalRate | ArrayLike) -> SinusoidalRate:
    return rate if isinstance(rate, SinusoidalRate) else SinusoidalRate(real("rate", rate))


class AttractedFlow(_Driven):
    r"""One token attracted to a target, $\dot y = a(t)\,(y_0 - (y^\top y_0)\, y)$.

    Source: CONSENSUS, eq. (16).
    """

    target: Float[Array, " d"]
    rate: SinusoidalRate
    space: Sphere

    def __init__(self, target: ArrayLike, rate: SinusoidalRate | ArrayLike = 1.0):
        """Store the target, a unit vector of shape (d,), and the rate."""
        target = np.asarray(reals("target", target), float)
        if target.ndim != 1:
            raise ArgumentError("target", "be a unit vector", f"has shape {target.shape}")
        if not abs(np.linalg.norm(target) - 1) <= 1e-9:
            raise ArgumentError("target", "be a unit vector", f"has norm {np.linalg.norm(target):.6g}")
        self.target = jnp.asarray(target)
        self.rate = _as_rate(rate)
        self.space = Sphere()

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side of (16), as printed."""
        p = self.target.astype(x.dtype)
        a = self.rate(t).astype(x.dtype)
        return a * (jnp.broadcast_to(p, x.shape) - (x @ p)[..., None] * x)

    def solution(self, t: Time, start: State) -> State:
        r"""Closed-form $y(t)$ from $y(0)$.

        Along the target, it is a Moebius function of $\tanh A$, $A = \int_0^t a$.
        """
        p, A = self.target, self.rate.integral(t)
        a, p = (start @ p)[..., None], jnp.broadcast_to(p, start.shape)
        along = (jnp.tanh(A) + a) * p
        return (along + (start - a * p) / jnp.cosh(A)) / (1 + a * jnp.tanh(A))


class OjaFlow(_Driven):
    r"""Oja's flow of one token under a symmetric matrix, $\dot y = a(t)\,(U y - (y^\top U y)\, y)$.

    Source: CONSENSUS, eq. (22).
    """

    matrix: Float[Array, "d d"]
    rate: SinusoidalRate
    space: Sphere

    def __init__(self, matrix: ArrayLike, rate: SinusoidalRate | ArrayLike = 1.0):
        """Store the symmetric matrix U of shape (d, d) and the rate."""
        U = np.asarray(reals("matrix", matrix), float)
        if U.ndim != 2 or U.shape[0] != U.shape[1]:
            raise ArgumentError("matrix", "have shape (d, d)", f"has shape {U.shape}")
        if not np.allclose(U, U.T, rtol=0, atol=1e-12):
            gap = float(np.max(np.abs(U - U.T)))
            raise ArgumentError("matrix", "be symmetric", f"differs from its transpose by {gap:.3g}")
        self.matrix = jnp.asarray(U)
        self.rate = _as_rate(rate)
        self.space = Sphere()

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side of (22), as printed."""
        Uy = x @ self.matrix.astype(x.dtype)
        return self.rate(t).astype(x.dtype) * (Uy - jnp.sum(x * Uy, axis=-1, keepdims=True) * x)

    def solution(self, t: Time, start: State) -> State:
        r"""Closed-form $y(t)$: $e^{AU} y(0)$ normalised, $A = \int_0^t a$, with the largest exponent subtracted."""
        values, vectors = jnp.linalg.eigh(self.matrix)
        exponent = values * self.rate.integral(t)
        along = start @ vectors
        y = (along * jnp.broadcast_to(jnp.exp(exponent - jnp.max(exponent)), along.shape)) @ vectors.T
        return self.space.project(y)
