"""Token flows with U = c I in coordinates of the initial tokens, efficient for fewer tokens than dimensions."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import Key, Scalar, State, Time, Tokens
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace, Ellipsoid, Sphere
from dynsim.systems.base import AbstractFlow
from dynsim.systems.schedules import AbstractSchedule, ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import AbstractMask
from dynsim.systems.tokens.span_scores import span_scores

Coordinates = Float[Array, "n n"]


class SpanSpace(AbstractSpace):
    r"""Coordinates whose tokens lie on an ellipsoid, $\{M : M_i G M_i^\top = 1\}$.

    G is the Gram matrix of the initial tokens, singular if there are more tokens than dimensions. A row that represents
    the zero token cannot be projected to the space.
    """

    gram: Float[Array, "n n"]

    def project(self, y: State) -> State:
        """Divide each row by the norm of the token that it represents."""
        return y / jnp.sqrt(jnp.sum((y @ self.gram) * y, axis=-1, keepdims=True))

    def tangent(self, x: State, v: State) -> State:
        """Project row by row to the tangent space: v - (x G v) x."""
        return v - jnp.sum((x @ self.gram) * v, axis=-1, keepdims=True) * x

    def defect(self, y: State) -> Scalar:
        """Largest deviation of a token's norm from one, | |token|_W - 1 |."""
        return jnp.max(jnp.abs(jnp.sqrt(jnp.sum((y @ self.gram) * y, axis=-1)) - 1))

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Coordinates of random combinations of the initial tokens."""
        return self.project(jax.random.normal(key, shape, self.gram.dtype))


class SpanForm(AbstractFlow):
    r"""The token flow with $U_h = c_h I$ in the coordinates $y = M Y_0$ of its initial tokens $Y_0$.

    $$ \dot M = A M - \mathrm{diag}(M G M^\top A^\top) M, \qquad G = Y_0 W Y_0^\top $$

    A is the sum over heads of scale times c_h times the weights, whose scores are $M (Y_0 P_h(t) Y_0^\top) M^\top$.
    The change of coordinates is exact, because the tokens never leave the span of their start. M starts at the identity
    and stays lower triangular under a causal mask.

    Source: CONSENSUS, eq. (11), (15), by a change of coordinates.
    """

    start_tokens: Tokens
    scores: Callable[[Time], Float[Array, "heads n n"]]
    factor: Float[Array, " heads"]
    mask: AbstractMask
    scale: Float[Array, ""]
    space: SpanSpace
    query_key: AbstractSchedule

    def __init__(self, flow: TokenFlow, start_tokens: Tokens):
        """Store the scores, factors and Gram matrix on the span of `start_tokens` (n, d), in their dtype.

        Raises:
            ValueError: unless `flow` is a token flow with U = c I on a sphere or an ellipsoid.
        """
        check_spannable(flow)
        y0 = jnp.asarray(start_tokens)
        cast = lambda a: jnp.asarray(a, y0.dtype)
        dual = y0 @ cast(flow.space.matrix) if isinstance(flow.space, Ellipsoid) else y0
        self.start_tokens = y0
        self.scores = span_scores(flow.query_key, y0)
        self.factor = cast(flow.value.factor)  # pyright: ignore[reportAttributeAccessIssue]
        self.mask, self.scale, self.query_key = flow.mask, cast(flow.scale), flow.query_key
        self.space = SpanSpace(dual @ y0.T)

    @property
    def start(self) -> Coordinates:
        """The coordinates of the initial tokens: the identity."""
        return jnp.eye(self.start_tokens.shape[0], dtype=self.start_tokens.dtype)

    def tokens(self, coordinates: Coordinates) -> Tokens:
        """The tokens with the given coordinates."""
        return coordinates @ self.start_tokens

    def velocity(self, t: Time, x: State) -> State:
        """Output of the attention heads in coordinates, A M, before projection to the tangent space."""
        scores = jnp.einsum("hab,jb->haj", self.scores(t), x)
        weights = jax.nn.softmax(self.mask.hide(jnp.einsum("ia,haj->hij", x, scores)), axis=-1)
        return jnp.einsum("h,hij->ij", self.scale * self.factor, weights) @ x

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which P jumps."""
        return self.query_key.breakpoints(t0, t1)

    def step_limit(self) -> float:
        """Longest step for a solver: half of the shortest period of P."""
        return self.query_key.fastest_period() / 2


def check_spannable(flow: AbstractFlow) -> None:
    """Raise `ValueError` unless `flow` is a token flow with U = c I on a sphere or an ellipsoid."""
    if not isinstance(flow, TokenFlow):
        raise ArgumentError("flow", "be a token flow to have a span form", f"is {type(flow).__name__}")
    if not isinstance(flow.value, ScaledIdentity):
        raise ArgumentError("flow", "have the value c I to have a span form", f"has {type(flow.value).__name__}")
    if not isinstance(flow.space, Sphere | Ellipsoid):
        name = type(flow.space).__name__
        raise ArgumentError("flow", "live on a sphere or an ellipsoid to have a span form", f"lives on {name}")
