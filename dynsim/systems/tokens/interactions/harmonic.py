"""Attention by harmonics on the circle and the sphere, with moments of the tokens instead of pairs of tokens."""

import copy
import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from dynsim._core.types import Time, Tokens
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.kernels import kernels_on
from dynsim.spaces import AbstractSpace, Ellipsoid, Sphere
from dynsim.systems.schedules import AbstractSchedule, Constant, PiecewiseConstant, ScaledIdentity
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Heads
from dynsim.systems.tokens.interactions.expansions import over_degrees, ratios
from dynsim.systems.tokens.interactions.harmonic_kernels import kernel_fits, moments_by_kernel, values_by_kernel
from dynsim.systems.tokens.interactions.masks import Causal, Full
from dynsim.systems.tokens.interactions.shards import Shard
from dynsim.systems.tokens.interactions.tiles import chunk_size
from dynsim.systems.tokens.interactions.traffic import Traffic
from dynsim.systems.tokens.interactions.truncation import degree_for, left_out

MOST = {2: 4096, 3: 256}  # largest degree, by dimension; beyond it blocks are less work for any n that fits in memory
ROUNDINGS = 8  # a tolerance of the kernel below this many machine epsilons cannot be met
TOLD = 4  # a mean weight below this many tolerances of the kernel cannot be distinguished from zero

Parts = tuple[Array, Array, Array]  # queries, keys and the index of the first token, by blocks


class Harmonic(AbstractInteraction):
    r"""The kernel $e^{v \cdot x}$, $v = P^\top x_i$, expanded in harmonics: work linear in the number of tokens.

    Works for tokens on the circle, on the sphere in R^3, or on an ellipsoid of these dimensions, with any P, and with
    no mask or a causal one. `tolerance` bounds the error of the kernel relative to its largest value $e^{|v|}$. The
    required degree follows from a proved bound (`truncation`) and from `reach`, the largest norm of v. `bounds` gives
    the resulting error bounds of the means. The result is NaN for a query longer than `reach`, and where all weights
    are below the tolerance, because the mean is then undetermined.
    """

    tolerance: float = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    reach: np.ndarray  # an array, so that matrices P of the same degree share one compiled program

    def __init__(self, tolerance: float = 1e-12, reach: float | None = None):
        """Store the tolerance of the kernel, relative to its maximum, and the largest norm of a query.

        Args:
            tolerance: the largest error of the kernel, relative to $e^{|v|}$.
            reach: the largest norm of a query. Needed only where P gives no bound, as for traced or random matrices.
        """
        self.tolerance = checked_tolerance(tolerance)
        self.reach = np.asarray(math.nan if reach is None else number("reach", reach))
        self.dimension = self.degree = -1  # set by `prepared`, which sees P

    def prepared(self, heads: Heads) -> "Harmonic":
        """The interaction with the degree that the matrices P require."""
        check_harmonic(heads)
        reach = float(self.reach)
        reach = reach_of(heads.query_key, heads.space) if math.isnan(reach) else reach
        if not math.isfinite(reach):
            must = "have a `reach`, the largest norm of a query, because the matrices P have no known bound"
            raise ArgumentError("interaction", must, "has none")
        degree = needed_degree(heads.query_key.shape[1], reach, self.tolerance, np.float64)
        made = copy.copy(self)
        object.__setattr__(made, "dimension", heads.query_key.shape[1])
        object.__setattr__(made, "reach", np.asarray(reach))
        object.__setattr__(made, "degree", degree)
        return made

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Attention output of all heads; all heads share the moments of the tokens."""
        return self.output_here(heads, t, x, Shard())

    def output_here(self, heads: Heads, t: Time, x: Tokens, shard: Shard) -> Tokens:
        """Attention output for the tokens of this device, from the moments of the tokens on all devices."""
        x = jnp.asarray(x)
        check_tolerance(self.tolerance, x.dtype)
        v, u, back = unit_keys(heads, t, x)
        means = _means(self, v, u, isinstance(heads.mask, Causal), shard)[0]
        return heads.value.applied(t, back(means))

    def traffic(self, heads: Heads, x: Tokens, shard: Shard) -> Traffic:
        """Bytes received by each device for one vector field: the moments of all devices, or their sum."""
        d = x.shape[1]
        size = (self.degree + 1) * _parts(self.degree, d) * (d + 1) * x.dtype.itemsize
        if shard.devices == 1:
            return Traffic()
        return Traffic(gathered=shard.devices * size) if isinstance(heads.mask, Causal) else Traffic(reduced=size)

    def bounds(self, heads: Heads, t: Time, x: Tokens) -> Float[Array, "heads n"]:
        """Proved a posteriori bounds on the truncation errors of the means, for unit tokens."""
        v, u, _ = unit_keys(heads, t, jnp.asarray(x))
        share = _means(self, v, u, isinstance(heads.mask, Causal), Shard())[1]
        return 2 * self.truncation / share

    @property
    def truncation(self) -> float:
        """Proved bound on the truncation error of the kernel, relative to e^|v|; at most the tolerance."""
        return float(left_out(self.dimension, float(self.reach), self.degree)[-1])


def checked_tolerance(tolerance: Any) -> float:
    """Check a tolerance of the kernel; raise `ValueError` if no weight could be distinguished from zero with it.

    A mean is determined where the mean weight, which is at most one, exceeds `TOLD` tolerances.
    """
    found = number("tolerance", tolerance)
    if found >= 1 / TOLD:
        raise ArgumentError("tolerance", f"be below 1/{TOLD}, because no mean is determined above", f"is {found:g}")
    return found


def unit_keys(heads: Heads, t: Time, x: Array) -> tuple[Array, Array, Any]:
    """Queries (heads, n, d) and unit vectors (n, d) with the same products, and the map of means back to tokens."""
    v, same = heads.query_key.queries(t, x), lambda means: means
    if not isinstance(heads.space, Ellipsoid):
        return v, x, same
    factor = jnp.linalg.cholesky(heads.space.matrix).astype(x.dtype)  # W = C C^T, u = C^T x
    solved = lambda rows, lower: jax.scipy.linalg.solve_triangular(factor, rows.T, lower=True, trans=int(not lower)).T
    turned = jax.vmap(lambda rows: solved(rows, True))(v)
    return turned, x @ factor, jax.vmap(lambda rows: solved(rows, False))


@eqx.filter_jit
def _means(
    harmonic: Harmonic, v: Float[Array, "heads n d"], u: Tokens, causal: bool, shard: Shard
) -> tuple[Array, Array]:
    """Means (heads, n, d), and mean weights relative to the largest possible weight (heads, n)."""
    n, d = u.shape
    size = min(n, chunk_size(d, harmonic.degree, v.shape[0], u.dtype.itemsize, causal=causal))
    blocks = lambda a: jnp.pad(a, [(0, -n % size)] + [(0, 0)] * (a.ndim - 1)).reshape(-1, size, *a.shape[1:])
    keys, queries = blocks(u), blocks(jnp.moveaxis(v, 0, 1))
    parts = (queries, keys, jnp.arange(keys.shape[0]) * size)

    def divided(sums: Array, q: Array, first: Array) -> tuple[Array, Array]:
        """Means and relative mean weights of one block, so that the sums of all blocks are never stored."""
        seen = shard.first(n) + first + jnp.arange(1, size + 1) if causal else jnp.full(size, n * shard.devices)
        r = jnp.sqrt(jnp.sum(jax.lax.stop_gradient(q) ** 2, axis=-1))
        share = jax.lax.stop_gradient(sums[..., -1]) / seen.astype(u.dtype)[:, None] * _first(r, d)
        known = (share > TOLD * harmonic.tolerance) & (r <= jnp.asarray(harmonic.reach, r.dtype) * (1 + 1e-6))
        return jnp.where(known[..., None], sums[..., :-1] / sums[..., -1:], jnp.nan), share

    means, share = (_running if causal else _complete)(harmonic.degree, n, parts, divided, shard)
    joined = lambda a: jnp.moveaxis(a.reshape(-1, *a.shape[2:])[:n], 1, 0)
    return joined(means), joined(share)


def _complete(degree: int, n: int, parts: Parts, divided: Any, shard: Shard) -> tuple[Array, Array]:
    """Means and relative mean weights over all tokens, by moments; leading axes (blocks, size, heads)."""
    queries, keys, firsts = parts
    kernels = kernels_on() and kernel_fits(degree, keys)

    def block(part: tuple[Array, Array]) -> tuple[Array, Array]:
        q, first = part
        return divided(_values_anywhere(degree, q, moments) if kernels else _evaluated(degree, q, moments), q, first)

    summed = _summed_anywhere(degree, n, keys, firsts) if kernels else _summed(degree, n, keys, firsts)
    moments = shard.total(summed)
    return jax.lax.map(jax.checkpoint(block), (queries, firsts))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _summed_anywhere(degree: int, n: int, keys: Array, firsts: Array) -> Array:
    """Moments by a kernel on a CUDA device; derivatives are those of `_summed`."""
    by_kernel = lambda keys, firsts: moments_by_kernel(degree, keys.reshape(-1, keys.shape[-1])[:n])
    return jax.lax.platform_dependent(keys, firsts, cuda=by_kernel, default=functools.partial(_summed, degree, n))


@_summed_anywhere.defjvp
def _derivative_of_moments(degree: int, n: int, at: Any, along: Any) -> tuple[Array, Array]:
    return jax.jvp(lambda keys: _summed(degree, n, keys, at[1]), at[:1], along[:1])


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _values_anywhere(degree: int, queries: Array, moments: Array) -> Array:
    """Sums for a block of queries by a kernel on a CUDA device; derivatives are those of `_evaluated`."""
    d = queries.shape[-1]
    by_kernel = lambda q, moments: values_by_kernel(degree, q.reshape(-1, d), moments).reshape(*q.shape[:-1], d + 1)
    return jax.lax.platform_dependent(queries, moments, cuda=by_kernel, default=functools.partial(_evaluated, degree))


@_values_anywhere.defjvp
def _derivative_of_values(degree: int, at: Any, along: Any) -> tuple[Array, Array]:
    return jax.jvp(functools.partial(_evaluated, degree), at, along)


def _running(degree: int, n: int, parts: Parts, divided: Any, shard: Shard) -> tuple[Array, Array]:
    """Causal means and weights: running moments for earlier blocks, and pairs of tokens within a block."""
    size, d = parts[1].shape[1:]
    seen = jnp.tril(jnp.ones((size, size), bool))

    def block(moments: Array, part: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        q, u, first = part
        k = _with_ones(u, first, n)
        scores = jnp.einsum("ihd,jd->ihj", q, u) - _log_first(jnp.sum(q * q, axis=-1), d)[..., None]
        inside = jnp.einsum("ihj,je->ihe", jnp.exp(jnp.where(seen[:, None], scores, -jnp.inf)), k)
        return moments + _moments(degree, k), divided(_evaluated(degree, q, moments) + inside, q, first)

    earlier = shard.total_before(_summed(degree, n, *parts[1:])) if shard.devices > 1 else _no_moments(degree, parts[1])
    return jax.lax.scan(jax.checkpoint(block), earlier, parts)[1]


def _summed(degree: int, n: int, keys: Array, firsts: Array) -> Array:
    """Moments summed over all blocks."""

    def add(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        return total + _moments(degree, _with_ones(*part, n)), None

    return jax.lax.scan(jax.checkpoint(add), _no_moments(degree, keys), (keys, firsts))[0]


def _with_ones(u: Array, first: Array, n: int) -> Array:
    """A block of tokens with a last coordinate of one, or zero for padding."""
    real = first + jnp.arange(u.shape[0]) < n
    return jnp.concatenate([u, real.astype(u.dtype)[:, None]], axis=1)


def _no_moments(degree: int, keys: Array) -> Array:
    d = keys.shape[-1]
    return jnp.zeros((degree + 1, _parts(degree, d), d + 1), keys.dtype)


def _parts(degree: int, d: int) -> int:
    return 2 if d == 2 else 2 * (degree + 1)


def _moments(degree: int, keys: Array) -> Float[Array, "degrees parts sums"]:
    """Sums of Y_lm(x_j) (x_j, 1) over a block of tokens, times the coefficients of the expansion."""
    u, d = keys[:, :-1].T, keys.shape[1] - 1
    step = lambda carry, z, c: (carry, c * (z @ keys))
    l = np.arange(degree + 1)
    c = jnp.asarray(np.where(l == 0, 1, 2) if d == 2 else 2 * l + 1, keys.dtype)
    return over_degrees(u, jnp.ones((degree, keys.shape[0]), keys.dtype), (), step, c)[1]


def _evaluated(degree: int, queries: Float[Array, "size heads d"], moments: Array) -> Float[Array, "size heads sums"]:
    """Sums of e^{v . x_j} (x_j, 1) for a block of queries, divided by the first coefficient."""
    size, heads, d = queries.shape
    v = queries.reshape(-1, d).T
    step = lambda total, z, m: (total + m.T @ z, None)
    start = jnp.zeros((d + 1, v.shape[1]), v.dtype)
    sigma = ratios(jnp.sum(v * v, axis=0), degree, d)
    return over_degrees(v, sigma, start, step, moments)[0].T.reshape(size, heads, d + 1)


def _first(r: Array, d: int) -> Array:
    """First coefficient of the expansion, I_0(r) or i_0(r), divided by e^r."""
    if d == 2:
        return jax.scipy.special.i0e(r)
    small = r < 1e-4
    safe = jnp.where(small, 1.0, r)
    return jnp.where(small, 1 - r, -jnp.expm1(-2 * safe) / (2 * safe))


def _log_first(r2: Array, d: int) -> Array:
    """Logarithm of the first coefficient of the expansion, smooth at r = 0."""
    small = r2 < 1e-4
    r = jnp.sqrt(jnp.where(small, 1.0, r2))
    series = r2 / 4 - r2**2 / 64 if d == 2 else r2 / 6 - r2**2 / 180  # the next terms are below 2e-15
    return jnp.where(small, series, r + jnp.log(_first(r, d)))


def reach_of(query_key: AbstractSchedule, space: AbstractSpace) -> float:
    """Bound on the norms of queries, in coordinates where tokens are unit vectors; infinite if unknown."""
    if not isinstance(space, Ellipsoid):
        return query_key.norm_bound()
    W = np.asarray(space.matrix, float) if not isinstance(space.matrix, Tracer) else None
    if W is None:
        return math.inf
    if isinstance(query_key, Constant | PiecewiseConstant | ScaledIdentity) and math.isfinite(query_key.norm_bound()):
        matrices = query_key.values if isinstance(query_key, PiecewiseConstant) else query_key(0.0)
        inverse = np.linalg.inv(np.linalg.cholesky(W))
        return float(np.max(np.linalg.norm(inverse @ np.asarray(matrices, float) @ inverse.T, 2, axis=(-2, -1))))
    return query_key.norm_bound() / float(np.linalg.eigvalsh(W)[0])


def check_harmonic(heads: Heads) -> None:
    """Raise `ValueError` unless the kernel of these heads can be expanded in harmonics."""
    d, alternative = heads.query_key.shape[1], "use `Blocked()`"
    if d not in MOST:
        raise ArgumentError(
            "interaction", f"not be `Harmonic` unless the dimension is 2 or 3 ({alternative})", f"is for {d}"
        )
    if not isinstance(heads.space, Sphere | Ellipsoid):
        must = f"not be `Harmonic` unless tokens live on a sphere or an ellipsoid ({alternative})"
        raise ArgumentError("interaction", must, f"is for `{type(heads.space).__name__}`")
    if not isinstance(heads.mask, Full | Causal):
        must = f"not be `Harmonic` unless the mask is `Full` or `Causal` ({alternative})"
        raise ArgumentError("interaction", must, f"is for `{type(heads.mask).__name__}`")


def check_tolerance(tolerance: float, dtype: Any) -> None:
    """Raise `ValueError` if a tolerance of the kernel is below the rounding error of a dtype."""
    least = ROUNDINGS * float(jnp.finfo(dtype).eps)
    if tolerance < least:
        must = f"be at least {least:.1g} for harmonics in {jnp.dtype(dtype).name}"
        raise ArgumentError("tolerance", must, f"is {tolerance:g}")


def needed_degree(dimension: int, reach: float, tolerance: float, dtype: Any) -> int:
    """Degree of the expansion for a tolerance, rounded up to an even number so that similar P share a program.

    Raises:
        ValueError: if the dtype cannot reach the tolerance, or if P needs more than `MOST` degrees.
    """
    check_tolerance(tolerance, dtype)
    most = MOST[dimension]
    degree = degree_for(dimension, reach, tolerance, most)
    if degree < 0:
        must = f"need at most {most} degrees for harmonics (use `Blocked()`, or a larger tolerance)"
        raise ArgumentError("query_key", must, f"queries of norm {reach:g} need more at the tolerance {tolerance:g}")
    return min(degree + degree % 2, most)
