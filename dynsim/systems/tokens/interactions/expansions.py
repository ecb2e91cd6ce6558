r"""Real harmonics on the circle and the sphere, times scaled Bessel functions, by stable recurrences.

For a vector v of norm r and a unit vector x, let $K_0$ be the first coefficient of the expansion in `truncation`. Then
$e^{v \cdot x} / K_0(r) = \sum_l c_l \sum_m Z_{lm}(v) Y_{lm}(x)$. Here $Y_{lm}$ are real harmonics with
$\sum_m Y_{lm}(u) Y_{lm}(x) = P_l(u \cdot x)$, and $Z_{lm}(v) = \prod_{k<l} \sigma_k(r^2)\, r^l Y_{lm}(v / r)$ are
polynomials in v times smooth functions of $r^2$. Nothing is singular at v = 0, and nothing overflows, because
$r \sigma_k$, a ratio of two Bessel functions, is less than one. Dividing by $K_0$ leaves the means unchanged.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Rows = Float[Array, "d tokens"]


class Tables(NamedTuple):
    """Coefficients of the recurrences in the degree, for degrees 1 to L and all orders at once."""

    forward: np.ndarray  # (L, orders)
    backward: np.ndarray
    raising: np.ndarray  # (L,)
    diagonal: np.ndarray  # (L, orders): one where the order equals the degree


@functools.cache
def tables(degree: int) -> Tables:
    """Coefficients of the Schmidt semi-normalised harmonics on the sphere."""
    l, m = np.arange(1, degree + 1)[:, None], np.arange(degree + 1)[None]
    inner = m < l
    root = np.sqrt(np.where(inner, (l - m) * (l + m), 1))
    forward = np.where(inner, (2 * l - 1) / root, 0.0)
    backward = np.where(inner, np.sqrt(np.maximum((l - 1) ** 2 - m**2, 0)) / root, 0.0)
    raising = np.where(l[:, 0] == 1, 1.0, np.sqrt((2 * l[:, 0] - 1) / (2 * l[:, 0])))
    return Tables(forward, backward, raising, (l == m).astype(float))


def ratios(r2: Float[Array, " tokens"], degree: int, dimension: int) -> Float[Array, "degree tokens"]:
    r"""Ratios of successive Bessel functions divided by r, $\sigma_0, \dots, \sigma_{L-1}$.

    Computed by downward recurrence, which is contracting, from Amos' lower bound at the degree L.
    """
    half, dtype = (dimension - 2) / 2, r2.dtype
    first = 1 / (degree + half + 0.5 + jnp.sqrt((degree + half + 1.5) ** 2 + r2))
    down = jnp.asarray(2 * np.arange(degree, 0, -1) + dimension - 2, dtype)

    def lower(above: Array, twice: Array) -> tuple[Array, Array]:
        below = 1 / (twice + r2 * above)
        return below, below

    return jax.lax.scan(lower, first.astype(dtype), down)[1][::-1]


def over_degrees(
    v: Rows,
    sigma: Float[Array, "degree tokens"],
    start: Any,
    step: Callable[[Any, Array, Any], tuple[Any, Any]],
    xs: Any,
) -> tuple[Any, Any]:
    """Scan `step(carry, Z_l, xs[l])` over the degrees l from 0, with Z_l of shape (parts, tokens).

    `sigma` holds the `ratios` of v, or ones for unit vectors, for which Z_l are the harmonics themselves. The parts are
    cosine and sine on the circle, and cosine and sine of every order on the sphere. Returns the final carry and the
    stacked outputs, as `jax.lax.scan` does.
    """
    first = lambda tree: jax.tree.map(lambda a: a[0], tree)
    rest = lambda tree: jax.tree.map(lambda a: a[1:], tree)
    circle = v.shape[0] == 2
    begin, advance, table = (_circle if circle else _sphere)(v, sigma)
    carry, head = step(start, _flat(begin[0]), first(xs))

    def one(state: Any, inputs: Any) -> tuple[Any, Any]:
        (memory, carry), (row, x) = state, inputs
        memory = advance(memory, row)
        carry, out = step(carry, _flat(memory[0]), x)
        return (memory, carry), out

    (_, carry), tail = jax.lax.scan(one, (begin, carry), (table, rest(xs)))
    return carry, jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), head, tail)


def _flat(z: Array) -> Array:
    return z.reshape(-1, z.shape[-1])


def _turned(a: Array, v: Rows) -> Array:
    """Product of complex numbers, stored as (2, tokens), with v_1 + i v_2."""
    return jnp.stack([v[0] * a[0] - v[1] * a[1], v[0] * a[1] + v[1] * a[0]])


def _circle(v: Rows, sigma: Array) -> tuple[Any, Any, Any]:
    one = jnp.stack([jnp.ones_like(v[0]), jnp.zeros_like(v[0])])
    return (one,), lambda memory, s: (_turned(memory[0], v) * s[None],), sigma


def _sphere(v: Rows, sigma: Array) -> tuple[Any, Any, Any]:
    """Initial state of the recurrence (Z_0, Z_{-1}, Z of the largest order, last ratio), its step, and coefficients."""
    degree, r2 = sigma.shape[0], jnp.sum(v * v, axis=0)
    coefficients = [jnp.asarray(a, v.dtype) for a in tables(degree)]
    top = jnp.stack([jnp.ones_like(v[0]), jnp.zeros_like(v[0])])
    zero = jnp.zeros((2, degree + 1, v.shape[1]), v.dtype)
    start = zero.at[:, 0].set(top)

    def advance(memory: Any, row: Any) -> Any:
        z, before, top, last = memory
        forward, backward, raising, diagonal, s = row
        top = _turned(top, v) * (raising * s)[None]
        inner = forward[None, :, None] * (v[2] * s)[None, None] * z
        inner = inner - backward[None, :, None] * (r2 * s * last)[None, None] * before
        return inner + diagonal[None, :, None] * top[:, None], z, top, s

    return (start, zero, top, jnp.ones_like(r2)), advance, (*coefficients, sigma)
