"""Attention scores Y P(t) Y^T of the initial tokens, with the time-independent part computed once."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Time, Tokens
from dynsim.systems.schedules import AbstractSchedule, Constant, Modulated, PiecewiseConstant

Scores = Callable[[Time], Float[Array, "heads n n"]]


class GeneralScores(eqx.Module):
    """Scores for any schedule, computed by its own bilinear form at every call."""

    schedule: AbstractSchedule
    tokens: Tokens

    def __call__(self, t: Time) -> Float[Array, "heads n n"]:
        """Scores Y P_h(t) Y^T at time `t`."""
        return self.schedule.bilinear(t, self.tokens, self.tokens)


class ConstantScores(eqx.Module):
    """Scores that do not depend on time, computed once."""

    value: Float[Array, "heads n n"]

    def __call__(self, t: Time) -> Float[Array, "heads n n"]:
        """The constant scores, at any time."""
        return self.value


class PiecewiseScores(eqx.Module):
    """Scores of a piecewise constant schedule, one stack of matrices for each layer."""

    schedule: PiecewiseConstant
    values: Float[Array, "layers heads n n"]

    def __call__(self, t: Time) -> Float[Array, "heads n n"]:
        """Scores of the layer at time `t`."""
        return self.values[self.schedule.layer(t)]


class ModulatedScores(eqx.Module):
    """Scores Y D_h(t) P_h' Y^T of a modulated schedule; the constant factor P_h' Y^T is computed once."""

    schedule: Modulated
    tokens: Tokens
    keys: Float[Array, "heads d n"]

    def __call__(self, t: Time) -> Float[Array, "heads n n"]:
        """Scores Y D_h(t) P_h' Y^T at time `t`."""
        diagonal = self.schedule.diagonal(t).astype(self.tokens.dtype)
        # The heads are evaluated one by one because XLA's batched product was 3.5 times slower on CPUs
        # (n = 50, d = 500, two heads, float64).
        one = lambda head: jax.lax.optimization_barrier(self.tokens * head[0][None]) @ head[1]
        return jax.lax.map(one, (diagonal, self.keys))


@functools.singledispatch
def span_scores(schedule: AbstractSchedule, tokens: Tokens) -> Scores:
    """Make a function of time that returns the scores (heads, n, n) of `tokens` (n, d), in their dtype."""
    return GeneralScores(schedule, tokens)


@span_scores.register(Constant)
def _(schedule: Constant, tokens: Tokens) -> ConstantScores:
    return ConstantScores(schedule.bilinear(0.0, tokens, tokens))


@span_scores.register(PiecewiseConstant)
def _(schedule: PiecewiseConstant, tokens: Tokens) -> PiecewiseScores:
    P = schedule.values.astype(tokens.dtype)
    left = jnp.einsum("nd,lhde->lhne", tokens, P)
    return PiecewiseScores(schedule, jnp.einsum("lhne,me->lhnm", left, tokens))


@span_scores.register(Modulated)
def _(schedule: Modulated, tokens: Tokens) -> ModulatedScores:
    return ModulatedScores(schedule, tokens, jnp.einsum("hde,me->hdm", schedule.base.astype(tokens.dtype), tokens))
