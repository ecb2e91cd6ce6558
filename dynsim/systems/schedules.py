"""Schedules: time-dependent matrices P(t) and U(t), one matrix for each attention head."""

import abc
import copy
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, Key, Time, Tokens
from dynsim._core.validation import integer, number, random_key, real, reals
from dynsim.errors import ArgumentError, shown
from dynsim.systems.head_products import form, mixed, per_head, scaled_form, scaled_transposed, transposed

Matrices = Float[Array, "heads d d"]
"""One (d, d) matrix for each head."""


class AbstractSchedule(eqx.Module):
    """Time-dependent matrices (heads, d, d) that report their jumps and shortest period to integrators."""

    @abc.abstractmethod
    def __call__(self, t: Time) -> Matrices:
        """Matrices at time `t`, (heads, d, d)."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""

    def bilinear(self, t: Time, x: Tokens, y: Float[Array | np.ndarray, "m d"]) -> Float[Array, "heads n m"]:
        """Bilinear forms x_i^T P_h(t) y_j of every head, shape (heads, n, m), in the dtype of `x`."""
        return per_head(form, self(t).astype(x.dtype), jnp.asarray(x), y)

    def mix(
        self, t: Time, weights: Float[Array, "heads n m"], x: Float[Array | np.ndarray, "m d"]
    ) -> Float[Array, "n d"]:
        """Weighted sums over h and j of `weights[h, i, j]` U_h(t) x_j, shape (n, d)."""
        return jnp.sum(per_head(mixed, (weights, self(t).astype(x.dtype)), jnp.asarray(x)), axis=0)

    def queries(self, t: Time, x: Tokens) -> Float[Array, "heads n d"]:
        """Queries P_h(t)^T x_i of every head, whose products with x_j are the bilinear forms."""
        return per_head(transposed, self(t).astype(x.dtype), jnp.asarray(x))

    def applied(self, t: Time, means: Float[Array, "heads n d"]) -> Float[Array, "n d"]:
        """Sum over h of U_h(t) `means[h, i]`; a matrix shared by all heads is applied once, to their sum."""
        U = self(t).astype(means.dtype)
        if U.shape[0] == 1:
            return jnp.sum(means, axis=0) @ U[0].T
        return jnp.einsum("hed,hid->ie", U, means)

    def norm_bound(self) -> float:
        """Bound on the spectral norms of the matrices at all times; infinite if none is known."""
        return math.inf

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which a matrix jumps."""
        return np.empty(0)

    def fastest_period(self) -> float:
        """Shortest period of an entry, in the time unit of the flow; infinite if no entry is periodic."""
        return math.inf

    def end(self) -> float:
        """Time up to which the schedule is defined."""
        return math.inf

    def without_period(self) -> "AbstractSchedule":
        """The same matrices without their static period, so that schedules that differ only in it compile once."""
        return self


class Constant(AbstractSchedule):
    """A constant schedule: the same matrices at all times."""

    value: Matrices

    def __init__(self, value: ArrayLike, *, name: str = "value"):
        """Store `value`, of shape (heads, d, d), or (d, d) for one head."""
        self.value = stack(name, value)

    def __call__(self, t: Time) -> Matrices:
        """The constant matrices."""
        return self.value

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        return _matrices(self.value)

    def norm_bound(self) -> float:
        """Largest spectral norm of the matrices."""
        return _largest_norm(self.value)


class ScaledIdentity(AbstractSchedule):
    """Constant multiples of the identity, c_h I, which leave the span of the tokens invariant.

    Source: CONSENSUS, Sections 3 to 5 (value matrices).
    """

    factor: Float[Array, " heads"]
    dimension: int = eqx.field(static=True)

    def __init__(self, factor: ArrayLike, dimension: int):
        """Store one factor for each head, and the dimension d."""
        self.factor = jnp.atleast_1d(jnp.asarray(reals("factor", factor), float))
        self.dimension = int(dimension)
        traced = isinstance(self.factor, Tracer)
        if self.factor.ndim != 1 or not (traced or np.all(np.isfinite(np.asarray(self.factor)))):
            raise ArgumentError("factor", "be one finite number for each head", f"is {factor}")

    def __call__(self, t: Time) -> Matrices:
        """The matrices c_h I."""
        return self.factor[:, None, None] * jnp.eye(self.dimension, dtype=self.factor.dtype)[None]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        return (self.factor.shape[0], self.dimension, self.dimension)

    def mix(
        self, t: Time, weights: Float[Array, "heads n m"], x: Float[Array | np.ndarray, "m d"]
    ) -> Float[Array, "n d"]:
        """Weighted sums over h of c_h `weights[h]` x, shape (n, d)."""
        return jnp.einsum("h,hij->ij", self.factor.astype(x.dtype), weights) @ x

    def applied(self, t: Time, means: Float[Array, "heads n d"]) -> Float[Array, "n d"]:
        """Sum over h of c_h `means[h, i]`."""
        return jnp.einsum("h,hid->id", self.factor.astype(means.dtype), means)

    def norm_bound(self) -> float:
        """The largest |c_h|."""
        return _largest_norm(self.factor[:, None, None])


class Modulated(AbstractSchedule):
    r"""Matrices D_h(t) P_h' with a diagonal D_h(t) of sinusoids $a \sin(\omega t + \varphi)$, or of their moduli.

    `frequency` is angular, in radians per time unit. `bilinear` scales the tokens instead of forming the product.

    Source: CONSENSUS, Sections 7.2 to 7.4.
    """

    base: Matrices
    amplitude: Float[Array, "heads d"]
    frequency: Float[Array, "heads d"]
    phase: Float[Array, "heads d"]
    rectified: bool = eqx.field(static=True)
    period: float = eqx.field(static=True)

    def __init__(
        self, base: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike, *, rectified: bool = False
    ):
        """Store P', (heads, d, d), and amplitudes, frequencies and phases of D, broadcast to (heads, d).

        Raises:
            ValueError: if an entry is not finite, or a shape does not match.
        """
        self.base = stack("base", base)
        rows = self.base.shape[:2]
        tables = []
        for name, table in (("amplitude", amplitude), ("frequency", frequency), ("phase", phase)):
            values = np.asarray(reals(name, table), self.base.dtype)
            if not np.all(np.isfinite(values)):
                raise ArgumentError(name, "be finite", "has an entry that is not")
            try:
                tables.append(jnp.asarray(np.broadcast_to(values, rows)))
            except ValueError:
                raise ArgumentError(name, f"have shape {rows}", f"has shape {values.shape}") from None
        self.amplitude, self.frequency, self.phase = tables
        self.rectified = bool(rectified)
        fastest = float(np.max(np.abs(np.asarray(self.frequency))))
        self.period = math.inf if fastest == 0 else (1 if rectified else 2) * math.pi / fastest

    def diagonal(self, t: Time) -> Float[Array, "heads d"]:
        """The diagonal of D_h(t), (heads, d)."""
        t = jnp.asarray(t, self.base.dtype)
        wave = self.amplitude * jnp.sin(self.frequency * t + self.phase)
        return jnp.abs(wave) if self.rectified else wave

    def __call__(self, t: Time) -> Matrices:
        """The products D_h(t) P_h'."""
        return self.diagonal(t)[..., None] * self.base

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        return _matrices(self.base)

    def bilinear(self, t: Time, x: Tokens, y: Float[Array | np.ndarray, "m d"]) -> Float[Array, "heads n m"]:
        """Bilinear forms (x D_h) P_h' y^T without forming D_h P_h'."""
        return per_head(scaled_form, (self.diagonal(t).astype(x.dtype), self.base.astype(x.dtype)), x, y)

    def queries(self, t: Time, x: Tokens) -> Float[Array, "heads n d"]:
        """Queries P_h'^T D_h x_i without forming D_h P_h'."""
        return per_head(scaled_transposed, (self.diagonal(t).astype(x.dtype), self.base.astype(x.dtype)), x)

    def norm_bound(self) -> float:
        """Largest norm of |a_h| P_h', which bounds the norms of D_h(t) P_h' because |D_h(t)| <= |a_h|."""
        return _largest_norm(self.amplitude[..., None] * self.base)

    def fastest_period(self) -> float:
        """Shortest period of an entry of D."""
        return self.period

    def without_period(self) -> "Modulated":
        """The same matrices with an infinite period; `fastest_period` then ignores the oscillations of D."""
        same = copy.copy(self)
        object.__setattr__(same, "period", math.inf)  # `__init__` would compute the period again
        return same


class PiecewiseConstant(AbstractSchedule):
    """A piecewise constant schedule, one stack of matrices for each layer; periodic, or defined up to its end."""

    values: Float[Array, "layers heads d d"]
    edges: tuple[float, ...] = eqx.field(static=True)
    periodic: bool = eqx.field(static=True)

    def __init__(self, values: ArrayLike, durations: ArrayLike = 1.0, *, periodic: bool = True):
        """Store `values` (layers, heads, d, d), and one positive duration for all layers or one for each."""
        values = np.asarray(reals("values", values))
        if values.ndim != 4 or values.size == 0 or values.shape[2] != values.shape[3]:
            raise ArgumentError("values", "have shape (layers, heads, d, d)", f"has shape {values.shape}")
        self.values = jnp.stack([stack("values", v) for v in values])
        spans = np.asarray(reals("durations", durations), float)
        fits = spans.ndim == 0 or spans.shape == (len(values),)
        if not (fits and np.all(spans > 0) and np.all(np.isfinite(spans))):
            raise ArgumentError("durations", f"be one or {len(values)} positive numbers", f"is {shown(durations)}")
        self.edges = tuple(float(e) for e in np.cumsum(np.broadcast_to(spans, (len(values),))))
        self.periodic = bool(periodic)

    def layer(self, t: Time) -> Array:
        """Index of the layer at time `t`; at a jump, the layer that begins there."""
        t = jnp.asarray(t, float)
        t = jnp.mod(t, self.edges[-1]) if self.periodic else t
        return jnp.clip(jnp.searchsorted(jnp.asarray(self.edges), t, side="right"), 0, len(self.edges) - 1)

    def __call__(self, t: Time) -> Matrices:
        """Matrices of the layer at time `t`."""
        return self.values[self.layer(t)]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        return _matrices(self.values[0])

    def norm_bound(self) -> float:
        """Largest spectral norm in any layer."""
        return _largest_norm(self.values)

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which a layer ends."""
        edges = np.array((0.0, *self.edges))
        if self.periodic:
            turns = np.arange(math.floor(t0 / edges[-1]), math.floor(t1 / edges[-1]) + 1)
            edges = np.unique(turns[:, None] * edges[-1] + edges[None, :-1])
        return edges[(edges > t0) & (edges < t1)]

    def end(self) -> float:
        """End of the last layer; infinite for a periodic schedule."""
        return math.inf if self.periodic else self.edges[-1]


class Resampled(AbstractSchedule):
    """Independent Gaussian matrices for each layer, determined by a key and the index of the layer.

    Source: CONSENSUS, Section 7.5 (weights drawn anew in every pass).
    """

    key: Key
    heads: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    deviation: Float[Array, ""]
    duration: float = eqx.field(static=True)

    def __init__(self, key: Key, shape: tuple[int, int, int], deviation: float = 0.02, duration: float = 1.0):
        """Store the key, the shape (heads, d, d), the standard deviation of an entry, and the duration of a layer."""
        if not isinstance(shape, tuple | list) or len(shape) != 3 or shape[1] != shape[2]:
            raise ArgumentError("shape", "be (heads, d, d)", f"is {shown(shape)}")
        self.key = random_key("key", key)
        self.heads, self.dimension = (integer("shape", size, least=1) for size in shape[:2])
        self.deviation = real("deviation", deviation)
        self.duration = number("duration", duration)

    def __call__(self, t: Time) -> Matrices:
        """Matrices of layer floor(t / duration)."""
        layer = jnp.floor(jnp.asarray(t, float) / self.duration).astype(jnp.uint32)
        drawn = jax.random.normal(jax.random.fold_in(self.key, layer), self.shape)  # the same numbers in any precision
        return self.deviation * drawn.astype(self.deviation.dtype)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (heads, d, d)."""
        return (self.heads, self.dimension, self.dimension)

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Multiples of `duration` strictly between `t0` and `t1`."""
        edges = np.arange(math.floor(t0 / self.duration), math.ceil(t1 / self.duration) + 1) * self.duration
        return edges[(edges > t0) & (edges < t1)]


def _matrices(value: Matrices) -> tuple[int, int, int]:
    heads, d, _ = value.shape
    return heads, d, d


def _largest_norm(matrices: Array) -> float:
    """Largest spectral norm of a stack of matrices; infinite if they are traced."""
    if isinstance(matrices, Tracer):
        return math.inf
    return float(np.max(np.linalg.norm(np.asarray(matrices, float), 2, axis=(-2, -1))))


def stack(name: str, value: ArrayLike) -> Matrices:
    """Convert to an array (heads, d, d), where a (d, d) matrix is one head; float32 is kept, else float64.

    Raises:
        ValueError: if the shape is wrong or an entry is not finite, unless it is traced; names the argument `name`.
    """
    if isinstance(value, Tracer):
        return jnp.asarray(value) if np.ndim(value) == 3 else jnp.asarray(value)[None]
    M = np.asarray(reals(name, value))
    M = M[None] if M.ndim == 2 else M
    if M.ndim != 3 or M.shape[1] != M.shape[2] or M.size == 0:
        raise ArgumentError(name, "have shape (heads, d, d)", f"has shape {np.shape(value)}")
    if not np.all(np.isfinite(M)):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    return jnp.asarray(M, np.float32 if M.dtype == np.float32 else np.float64)


def as_schedule(name: str, value: AbstractSchedule | ArrayLike) -> AbstractSchedule:
    """Convert an array to a `Constant` schedule; a schedule is returned unchanged."""
    return value if isinstance(value, AbstractSchedule) else Constant(value, name=name)
