"""Attention rules: hardmax in floating-point arithmetic, hardmax in exact arithmetic, and softmax."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.validation import real, reals
from dynsim.errors import ArgumentError, reason
from dynsim.exact import Exact, integers, nearest_floats, rationals
from dynsim.systems.hardmax.search.choice import AbstractSearch, search_for
from dynsim.systems.hardmax.search.follower_sets import FollowerSets
from dynsim.systems.hardmax.search.grouping import equal_keys
from dynsim.systems.hardmax.search.scores import Scores
from dynsim.systems.hardmax.search.ties import FloatTies, IntegerTies, exact_queries

LARGEST = 1e300  # largest modulus of an entry, so that a sum of a million entries is finite


class AbstractAttention(eqx.Module):
    """The row-stochastic attention matrix $\\Lambda(Z, A)$ of (2.2), as a map from tokens to averages of tokens.

    `on_host` says whether it is evaluated in NumPy rather than JAX.

    Source: HARDMAX, (2.2).
    """

    on_host: ClassVar[bool]

    @abc.abstractmethod
    def averages(self, x: Any) -> Any:
        """Averages $\\sum_j \\Lambda_{ij} z_j$ of every token, shape (n, d)."""


class AbstractHardmax(AbstractAttention):
    """Hardmax attention: equal weights on the maximisers of $\\langle A z_i, z_j\\rangle$ over j, and zero elsewhere.

    Source: HARDMAX, (2.3).
    """

    on_host: ClassVar[bool] = True

    @abc.abstractmethod
    def tokens(self, x: Any) -> np.ndarray:
        """Convert `x` to an (n, d) array in this rule's arithmetic; raise `ValueError` if that is impossible."""

    @abc.abstractmethod
    def scores(self, z: Any) -> Scores:
        """Scores of the tokens `z` in floats, with error bounds, and an exact comparison for near ties."""

    @abc.abstractmethod
    def scaled(self, z: Any, exponent: int) -> Float[np.ndarray, "n d"]:
        """Tokens divided by $2^e$, e being `exponent`, in floats; each entry is rounded correctly."""

    @abc.abstractmethod
    def scaled_attention(self) -> Float[np.ndarray, "d d"] | None:
        """A divided by a power of two, in floats, with its largest modulus in [1/2, 1]; None for A = I."""

    def follower_sets(self, x: Any, *, search: AbstractSearch | None = None) -> FollowerSets:
        """Exact follower sets C_i of (1.1b) at the tokens `x`, by the fastest search or by `search`."""
        scores = self.scores(self.tokens(x))
        every = np.arange(len(scores.tokens))
        return (search_for(scores, len(every)) if search is None else search).sets(scores, every)

    def averages(self, x: Any) -> np.ndarray:
        """Mean of the tokens in C_i for every token i, shape (n, d)."""
        z = self.tokens(x)
        return self.follower_sets(z).averages(z)


class Hardmax(AbstractHardmax):
    """Hardmax attention in float64: exact sets C_i for the given floats, and rounded averages.

    `attention` is A, shape (d, d), or None for the identity.

    Source: HARDMAX, (2.3).
    """

    attention: np.ndarray | None

    def __init__(self, attention: Any = None):
        """Store A in float64; it need not be symmetric or definite (see `hypotheses`)."""
        self.attention = None if attention is None else square("attention", floats("attention", attention))

    def tokens(self, x: Any) -> np.ndarray:
        """The tokens `x` in float64, checked."""
        z = checked(floats("x", x), self.attention)
        bad = np.argwhere(~(np.abs(z) < LARGEST))
        if len(bad):
            where = tuple(bad[0])
            must = (
                "be finite" if not np.isfinite(z[where]) else f"have entries below {LARGEST:g}, so that sums are finite"
            )
            raise ArgumentError("x", must, f"has {z[where]} in token {where[0]}")
        return z + 0.0  # adding zero removes negative zeros, so that equal rows have equal bytes

    def scores(self, z: np.ndarray) -> Scores:
        """Scores in floats; near ties are compared exactly, at the floats' binary values."""
        u = np.ldexp(z, -int(np.frexp(np.max(np.abs(z)))[1]))  # division by a power of two is exact
        A = self.attention
        if A is None:
            q = rescaled_rows(u, z)
            norms = np.sqrt(np.einsum("nd,nd->n", q, q))
            return Scores(q, u, norms, norms, FloatTies(z, None))
        q = rescaled_rows(u, z) @ _near_one(A).T
        norms = np.sqrt(np.einsum("nd,nd->n", q, q))
        bounds = np.linalg.norm(rescaled_rows(u, z), axis=1) * len(A)
        weak = np.flatnonzero(norms < 2.0**-9 * bounds)
        if len(weak):  # these queries lost digits by cancellation, so they are recomputed exactly
            q[weak] = rounded_rows(exact_queries(z[weak], A))
            bounds[weak] = norms[weak] = np.sqrt(np.einsum("nd,nd->n", q[weak], q[weak]))
        return Scores(q, u, norms, bounds, FloatTies(z, A))

    def scaled(self, z: np.ndarray, exponent: int) -> np.ndarray:
        """Tokens divided by $2^e$, e being `exponent`."""
        return np.ldexp(z, -exponent)

    def scaled_attention(self) -> np.ndarray | None:
        """A divided by a power of two, with its largest modulus in [1/2, 1]; None for A = I."""
        return None if self.attention is None else _near_one(self.attention)


class ExactHardmax(AbstractHardmax):
    """Hardmax attention in exact rational arithmetic, on arrays of `Fraction`.

    `attention` is A, shape (d, d), or None for the identity.

    Source: HARDMAX, (2.3).
    """

    attention: Exact | None

    def __init__(self, attention: Any = None):
        """Store A exactly, converted by `rational` from ints, Fractions, strings such as `1/3`, or floats."""
        self.attention = None if attention is None else square("attention", rationals("attention", attention))

    def tokens(self, x: Any) -> Exact:
        """The tokens `x` as Fractions, checked."""
        return checked(rationals("x", x), self.attention)

    def scores(self, z: Exact) -> Scores:
        """Scores in floats, whose error bounds decide most comparisons, and integers that decide the others."""
        A, numerators = self.attention, integers(z)[0]
        queries = numerators if A is None else numerators @ integers(A)[0].T
        q = rounded_rows(queries)
        u = numerators / 2 ** int(np.max(np.abs(numerators))).bit_length()
        norms = np.sqrt(np.einsum("nd,nd->n", q, q))
        equal = equal_keys([tuple(row) for row in numerators.tolist()])
        return Scores(q, u.astype(float), norms, norms, IntegerTies(queries, numerators), equal)

    def scaled(self, z: Exact, exponent: int) -> np.ndarray:
        """Tokens divided by $2^e$, e being `exponent`, correctly rounded to floats."""
        numerators, denominator = integers(z)
        return (numerators * 2 ** max(-exponent, 0) / (denominator * 2 ** max(exponent, 0))).astype(float)

    def scaled_attention(self) -> np.ndarray | None:
        """A divided by a power of two, rounded to floats; None for A = I."""
        return None if self.attention is None else nearest_floats(self.attention)[0]


class Softmax(AbstractAttention):
    """Softmax attention in JAX: weights proportional to $e^{\\langle A z_i, z_j\\rangle / \\tau}$.

    `temperature` is $\\tau$, in the unit of the scores; `attention` is A, shape (d, d), or None for the identity.

    Source: HARDMAX, (2.6).
    """

    on_host: ClassVar[bool] = False
    temperature: Array
    attention: Array | None

    def __init__(self, temperature: Any, attention: Any = None):
        """Store the temperature and A; raise `ValueError` unless the temperature is positive or traced."""
        self.temperature = real("temperature", temperature, positive=True)
        self.attention = None if attention is None else jnp.asarray(reals("attention", attention), float)
        if self.attention is not None and (self.attention.ndim != 2 or len({*self.attention.shape}) != 1):
            raise ArgumentError("attention", "have shape (d, d)", f"has shape {self.attention.shape}")

    def averages(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Softmax averages of the tokens, in the precision of `x`."""
        queries = x if self.attention is None else x @ self.attention.astype(x.dtype).T
        return jax.nn.softmax(queries @ x.T / self.temperature.astype(x.dtype), axis=1) @ x


def _near_one(A: np.ndarray) -> np.ndarray:
    """A matrix of floats divided by a power of two, with its largest modulus in [1/2, 1]."""
    return np.ldexp(A, -int(np.frexp(np.max(np.abs(A)))[1]))


def rounded_rows(rows: np.ndarray) -> Float[np.ndarray, "n d"]:
    """Rows of Python ints as floats, each divided by a power of two so that its largest entry is in [1/2, 1)."""
    scale = np.array([2 ** max(abs(entry) for entry in row).bit_length() for row in rows.tolist()], object)
    return (rows / scale[:, None]).astype(float)


def rescaled_rows(u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The scaled tokens `u`, or each row of `z` scaled by its own power of two if squares in `u` might underflow."""
    if np.min(np.einsum("nd->n", np.abs(u))) > 2.0**-300:
        return u
    return np.ldexp(z, -np.frexp(np.max(np.abs(z), axis=1))[1][:, None])


def floats(name: str, values: Any) -> np.ndarray:
    """Convert to float64, rounding Fractions and strings such as `1/3`; raise `ValueError` for booleans."""
    try:
        given = np.asarray(values)
    except ValueError:
        raise ArgumentError(name, "have rows of equal length", "does not") from None
    except TypeError as error:
        raise ArgumentError(name, "hold numbers", f"does not ({reason(error)})") from None
    if given.dtype.kind in "iuf":
        return given.astype(np.float64)
    exact = rationals(name, given)
    try:
        return exact.astype(np.float64)
    except OverflowError:
        raise ArgumentError(
            name, f"have entries below {LARGEST:g}, so that sums are finite", "has larger ones"
        ) from None


def square(name: str, matrix: np.ndarray) -> np.ndarray:
    """The matrix itself; raise `ValueError` unless it is square and finite."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ArgumentError(name, "have shape (d, d)", f"has shape {matrix.shape}")
    if matrix.dtype != object and not np.all(np.abs(matrix) < LARGEST):
        raise ArgumentError(name, f"be finite and below {LARGEST:g}", "has an entry that is not")
    return matrix


def checked(z: np.ndarray, attention: np.ndarray | None) -> np.ndarray:
    """The tokens themselves; raise `ValueError` unless their shape is (n, d), n, d >= 1, and d matches A."""
    if z.ndim != 2 or 0 in z.shape:
        raise ArgumentError("x", "have shape (n, d), with at least one token", f"has shape {z.shape}")
    if attention is not None and attention.shape[0] != z.shape[1]:
        raise ArgumentError("x", f"have the dimension {attention.shape[0]} of `attention`", f"has {z.shape[1]}")
    return z
