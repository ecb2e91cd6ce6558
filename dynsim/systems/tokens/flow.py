"""Self-attention on ellipsoids: the token flow (7), the layer map (6), and their special cases."""

import copy
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, Step, Time, Tokens
from dynsim._core.validation import instance, real, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import AbstractSpace, Ellipsoid, Sphere
from dynsim.systems.base import AbstractFlow, AbstractMap, as_space
from dynsim.systems.schedules import AbstractSchedule, Constant, ScaledIdentity, as_schedule
from dynsim.systems.tokens.interactions.base import AbstractInteraction
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full


class TokenFlow(AbstractFlow):
    r"""Multi-head self-attention on a product of ellipsoids, multiplied by $1/\sqrt d$ unless `scale` is given.

    $$
        \dot y_i = T_{y_i}\pi_W \cdot \sum_h \sum_j \alpha^h_{ij}(t, y)\, U_h(t) y_j, \qquad
        \alpha^h_{ij} = \frac{e^{y_i^\top P_h(t) y_j}}{\sqrt d \sum_k e^{y_i^\top P_h(t) y_k}}
    $$

    The factor $1/\sqrt d$ of the printed equation is the field `scale`; `scale=1` leaves it out. It multiplies the
    velocity and hence all rates, and is not part of `weights`, whose rows sum to one. `interaction`
    selects how the sums are computed: `Dense()`, `Blocked()`, `Harmonic()`, or `Auto()`, the default, which chooses
    the fastest.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from dynsim.tokens import TokenFlow
        >>> flow = TokenFlow(np.eye(3)[None])
        >>> x = flow.space.sample(ds.random_key(0, "tokens"), (4, 3))
        >>> flow.weights(0.0, x).shape
        (1, 4, 4)

    Source: CONSENSUS, eq. (7).
    """

    query_key: AbstractSchedule
    value: AbstractSchedule
    space: AbstractSpace
    mask: AbstractMask
    scale: Float[Array, ""]
    interaction: AbstractInteraction

    def __init__(
        self,
        query_key: AbstractSchedule | ArrayLike,
        value: AbstractSchedule | ArrayLike = 1.0,
        *,
        space: AbstractSpace | None = None,
        mask: AbstractMask | None = None,
        scale: float | None = None,
        interaction: AbstractInteraction | None = None,
    ):
        """Store the matrices, as schedules or arrays, and check that their shapes agree.

        Args:
            query_key: P, of shape (heads, d, d), constant or a schedule.
            value: U, of shape (heads, d, d), or (d, d) for all heads; a number c stands for c I.
            space: the space of each token; the unit sphere by default.
            mask: which tokens attend to which; all to all by default.
            scale: the factor of the attention output; 1 / sqrt(d) by default.
            interaction: how the sums over tokens are computed; `Auto()` by default.
        """
        self.query_key = as_schedule("query_key", query_key)
        heads, d, _ = self.query_key.shape
        if not isinstance(value, AbstractSchedule) and reals("value", value).ndim == 0:
            value = ScaledIdentity(jnp.full(heads, real("value", value)), d)
        self.value = as_schedule("value", value)
        if isinstance(self.value, ScaledIdentity) and self.value.shape[0] == 1 < heads:
            self.value = ScaledIdentity(jnp.broadcast_to(self.value.factor, (heads,)), self.value.dimension)
        if self.value.shape not in (self.query_key.shape, (1, d, d)):
            must = f"have as many heads and dimensions as `query_key`, {self.query_key.shape}"
            raise ArgumentError("value", must, f"has shape {self.value.shape}")
        self.space = Sphere() if space is None else as_space(space)
        if isinstance(self.space, Ellipsoid) and self.space.matrix.shape[0] != d:
            raise ArgumentError("space", f"have dimension {d}", f"has dimension {self.space.matrix.shape[0]}")
        self.mask = Full() if mask is None else instance("mask", mask, AbstractMask, "a mask such as `Causal()`")
        self.scale = real("scale", 1 / math.sqrt(d) if scale is None else scale)
        self.interaction = _prepared(self, Auto() if interaction is None else interaction)

    def computed_by(self, interaction: AbstractInteraction) -> "TokenFlow":
        """The same flow with its sums computed by another interaction."""
        same = copy.copy(self)
        object.__setattr__(same, "interaction", _prepared(self, interaction))
        return same

    def weights(self, t: Time, x: Tokens) -> Float[Array, "heads n n"]:
        """Attention weights, `weights[h, i, j]` from token i to token j in head h; every row sums to one."""
        return jax.nn.softmax(self.mask.hide(self.query_key.bilinear(t, x, x)), axis=-1)

    def velocity(self, t: Time, x: Tokens) -> Tokens:
        """Output of the attention heads, m_i = sum_h sum_j alpha_ij U_h y_j, before projection to the tangent space.

        `vector_field` projects it to the tangent space, which gives the right-hand side of (7).
        """
        return self.scale.astype(x.dtype) * self.interaction.output(self, t, x)

    def pulls(self, t: Time, x: Tokens) -> np.ndarray:
        """Contribution of token j to the velocity of token i, shape (n, n, d); its sum over j is the vector field.

        Available for U = c I on a sphere or an ellipsoid, where a token contributes nothing to its own velocity.
        Computed from differences of tokens, it stays accurate far below the rounding error of the sum. Empty for any
        other flow.
        """
        if not isinstance(self.value, ScaledIdentity) or not isinstance(self.space, Sphere | Ellipsoid):
            return np.empty((0, 0, 0))
        y = np.asarray(x)
        W = np.asarray(self.space.matrix) if isinstance(self.space, Ellipsoid) else np.eye(y.shape[1])
        strength = float(self.scale) * np.tensordot(
            np.asarray(self.value.factor), np.asarray(_weights(self, jnp.asarray(t, float), y)), 1
        )
        # (I - y y^T W) z equals (I - y y^T W)(z - y), and the difference z - y avoids cancellation for nearby tokens.
        gaps = y[None] - y[:, None]
        tangent = gaps - np.einsum("ijd,de,ie->ij", gaps, W, y)[..., None] * y[:, None]
        return strength[..., None] * tangent

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which P or U jumps."""
        jumps = [part.breakpoints(t0, t1) for part in (self.query_key, self.value)]
        return np.union1d(*jumps) if jumps[0].size or jumps[1].size else jumps[0]

    def step_limit(self) -> float:
        """Longest step for a solver: half of the shortest period of P and U."""
        return min(part.fastest_period() for part in (self.query_key, self.value)) / 2

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if a schedule does not cover [t0, t1]."""
        for name, part in (("query_key", self.query_key), ("value", self.value)):
            end = part.end()
            if t1 > end or (t0 < 0 and math.isfinite(end)):
                raise ArgumentError(
                    "ts",
                    f"stay inside the schedule of `{name}`, [0, {end}]",
                    f"ends at {t1}" if t1 > end else f"begins at {t0}",
                )


@eqx.filter_jit
def _weights(flow: TokenFlow, t: Time, x: Tokens) -> Float[Array, "heads n n"]:
    return flow.weights(t, x)


def _prepared(flow: TokenFlow, interaction: AbstractInteraction) -> AbstractInteraction:
    kind = "an interaction such as `Blocked()`"
    return instance("interaction", interaction, AbstractInteraction, kind).prepared(flow)


class LayerMap(AbstractMap):
    r"""One layer of the discrete transformer, $y_i \leftarrow \pi_W(y_i + \tau m_i)$, evaluated without a solver.

    Layer k evaluates P and U at time `k * step_size`, so the same schedules serve the map and the flow.

    Source: CONSENSUS, eq. (6).
    """

    flow: TokenFlow
    step_size: Float[Array, ""]

    def __init__(self, flow: TokenFlow, step_size: ArrayLike = 1.0):
        """Store the flow, which holds P, U, the mask and the space, and the step size tau."""
        self.flow = instance("flow", flow, TokenFlow, "a `TokenFlow`")
        self.step_size = real("step_size", step_size, positive=True)

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the flow's tokens."""
        return self.flow.space

    def step(self, k: Step, x: Tokens) -> Tokens:
        """Tokens after layer `k`."""
        tau, t = self.step_size.astype(x.dtype), jnp.asarray(k, self.step_size.dtype) * self.step_size
        return self.flow.space.project(x + tau * self.flow.velocity(t, x))


class AbstractAttentionFlow(AbstractFlow):
    """A flow that evaluates self-attention with its matrices P and U, whose schedules count in its runs."""

    attention: eqx.AbstractVar[TokenFlow]

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which P or U jumps."""
        return self.attention.breakpoints(t0, t1)

    def step_limit(self) -> float:
        """Longest step for a solver: half of the shortest period of P and U."""
        return self.attention.step_limit()

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if a schedule does not cover [t0, t1]."""
        self.attention.check_horizon(t0, t1)


class ProjectedValueFlow(AbstractAttentionFlow):
    r"""Causal attention on the ellipsoid of $W = U^\top U$, with value matrix U and its own projection $\Pi_W$.

    $$ \dot y_i = U^{-1} (I - U y_i y_i^\top U^\top) \sum_{j \le i} \alpha_{ij} U y_j $$

    Source: CONSENSUS, eq. (20).
    """

    attention: TokenFlow
    matrix: Float[Array, "d d"]
    space: Ellipsoid

    def __init__(self, query_key: AbstractSchedule | ArrayLike, value: ArrayLike):
        """Store P, with one head, and the invertible matrix U of shape (d, d)."""
        U = np.asarray(reals("value", value), float)
        if not np.all(np.isfinite(U)):
            raise ArgumentError("value", "be finite", "has an entry that is not")
        P = as_schedule("query_key", query_key)
        if P.shape[0] != 1:
            raise ArgumentError("query_key", "have one head", f"has {P.shape[0]}")
        if U.shape != P.shape[1:] or np.linalg.matrix_rank(U) < len(U):
            raise ArgumentError("value", f"be an invertible matrix of shape {P.shape[1:]}", f"has shape {U.shape}")
        self.space = Ellipsoid(U.T @ U)
        self.attention = TokenFlow(P, U, space=self.space, mask=Causal())
        self.matrix = jnp.asarray(U)

    def velocity(self, t: Time, x: Tokens) -> Tokens:
        """Right-hand side of (20), with the projection as printed."""
        U = self.matrix.astype(x.dtype)
        X = self.attention.velocity(t, x)
        z = x @ U.T
        return jnp.linalg.solve(U, (X - jnp.sum(z * X, axis=-1, keepdims=True) * z).T).T


def gradient_token_flow(query_key: ArrayLike) -> TokenFlow:
    """Build the gradient flow (8): one head, U = I, and W = P constant, symmetric and positive definite."""
    try:
        space = Ellipsoid(query_key)
    except ArgumentError as error:
        raise ArgumentError("query_key", error.must, error.but) from None
    return TokenFlow(space.matrix, 1.0, space=space)


def identity_value_flow(query_key: AbstractSchedule | ArrayLike, *, space: AbstractSpace | None = None) -> TokenFlow:
    """Build the flow (11): U = I, with any number of heads on any ellipsoid."""
    return TokenFlow(query_key, 1.0, space=space)


def causal_identity_flow(query_key: AbstractSchedule | ArrayLike) -> TokenFlow:
    """Build the flow (15): causal attention with U = I on the sphere."""
    return TokenFlow(query_key, 1.0, mask=Causal())


def causal_symmetric_flow(query_key: AbstractSchedule | ArrayLike, value: ArrayLike) -> TokenFlow:
    """Build the flow (21): causal attention with one head and a symmetric U on the sphere."""
    P, U = as_schedule("query_key", query_key), Constant(value, name="value")
    if P.shape[0] != 1 or U.shape[0] != 1:
        raise ArgumentError("query_key", "have one head", f"has {max(P.shape[0], U.shape[0])}")
    if not isinstance(value, Tracer) and not np.allclose(U.value[0], U.value[0].T, rtol=0, atol=1e-9):
        gap = float(np.max(np.abs(U.value[0] - U.value[0].T)))
        raise ArgumentError("value", "be symmetric", f"differs from its transpose by {gap:.3g}")
    return TokenFlow(P, U, mask=Causal())
