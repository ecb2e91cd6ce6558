"""Attention rules: the average of the tokens that each token attends to, hard (float or exact) or soft."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim.errors import argument_error
from dynsim.systems.hardmax.brute import Scores, brute_force, expanded
from dynsim.systems.hardmax.follower_sets import FollowerSets
from dynsim.systems.hardmax.rational import Exact, integers, nearest_floats, rationals


class AbstractAttention(eqx.Module):
    """The matrix $\\Lambda(Z, A)$ of (2.2), through what it does to tokens; rows sum to one."""

    on_host: ClassVar[bool]

    @abc.abstractmethod
    def averages(self, x: Any) -> Any:
        """Return $\\sum_j \\Lambda_{ij} z_j$ for every token, shape (n, d)."""


class AbstractHardmax(AbstractAttention):
    """All maximisers count alike, and only they: (2.3)."""

    on_host: ClassVar[bool] = True

    @abc.abstractmethod
    def tokens(self, x: Any) -> np.ndarray:
        """Return `x` as an (n, d) array in this rule's arithmetic; raise `ValueError` for what is no such array."""

    @abc.abstractmethod
    def follower_sets(self, x: Any) -> FollowerSets:
        """Return the sets C_i of (1.1b), exactly those of the numbers in `x`."""

    def averages(self, x: Any) -> np.ndarray:
        """Return the mean over C_i for every token, shape (n, d)."""
        z = self.tokens(x)
        return self.follower_sets(z).averages(z)


class Hardmax(AbstractHardmax):
    """(2.3) in float64: the sets are exactly those of the given floats, the averages are rounded.

    `attention` is A, shape (d, d), or None for the identity.
    """

    attention: np.ndarray | None

    def __init__(self, attention: Any = None):
        """Store A in float64; it need not be symmetric or definite (see `hypotheses`)."""
        self.attention = None if attention is None else square("attention", np.asarray(attention, float))

    def tokens(self, x: Any) -> np.ndarray:
        """Return `x` in float64."""
        try:
            z = np.asarray(x, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise argument_error("x", "hold numbers, one row for each token", "does not") from None
        return (
            checked(z, bool(np.all(np.isfinite(z))), self.attention) + 0.0
        )  # no negative zero: equal rows have equal bytes

    def follower_sets(self, x: Any) -> FollowerSets:
        """Return the sets C_i of (1.1b); near ties are compared exactly, at the floats' binary values."""
        z = self.tokens(x)
        values, inverse, counts = np.unique(z, axis=0, return_inverse=True, return_counts=True)
        scale = float(np.max(np.abs(values))) or 1.0
        u = values / 2.0 ** np.frexp(scale)[1]  # no product overflows; a power of two rounds nothing
        A = self.attention
        norms = np.linalg.norm(u, axis=1)
        queries = u if A is None else u @ A.T
        sizes = norms if A is None else norms * float(np.linalg.norm(A))
        decide = lambda i, c: exact_maximisers(rationals("x", values[[i]])[0], rationals("x", values[c]), self.exact, c)
        sets, gaps = brute_force(Scores(queries, u, sizes, decide))
        return expanded(sets, gaps, inverse.reshape(-1), counts)

    @property
    def exact(self) -> Exact | None:
        """A in fractions, None for the identity."""
        return None if self.attention is None else rationals("attention", self.attention)


class ExactHardmax(AbstractHardmax):
    """(2.3) in rational arithmetic, on arrays of `Fraction`.

    `attention` is A, shape (d, d), or None for the identity.
    """

    attention: Exact | None

    def __init__(self, attention: Any = None):
        """Store A exactly: ints, Fractions, strings as `1/3` or `0.1`, floats at their binary value."""
        self.attention = None if attention is None else square("attention", rationals("attention", attention))

    def tokens(self, x: Any) -> Exact:
        """Return `x` in fractions."""
        return checked(rationals("x", x), True, self.attention)

    def follower_sets(self, x: Any) -> FollowerSets:
        """Return the sets C_i of (1.1b); floats only spare the comparisons that their error bounds decide."""
        z = self.tokens(x)
        numerators, _ = integers(z)
        numbers: dict[tuple[int, ...], int] = {}
        inverse = np.array([numbers.setdefault(tuple(row), len(numbers)) for row in numerators], int)
        first = np.unique(inverse, return_index=True)[1]
        values = numerators[first]
        A = self.attention
        weights = None if A is None else integers(A)[0]
        queries = values if weights is None else values @ weights.T
        u, _ = nearest_floats(queries_as(z[first]))
        q = u if A is None else nearest_floats(queries_as(queries))[0]
        sizes = np.linalg.norm(q, axis=1)
        decide = lambda i, c: best_of(queries[i], values[c], c)
        sets, gaps = brute_force(Scores(q, u, sizes, decide))
        return expanded(sets, gaps, inverse, np.bincount(inverse))


class Softmax(AbstractAttention):
    """(2.6) in JAX: weights $e^{\\langle A z_i, z_j\\rangle / \\tau}$, normalised.

    `temperature` is $\\tau$, in the unit of the scores; `attention` is A, shape (d, d), or None for the identity.
    """

    on_host: ClassVar[bool] = False
    temperature: Array
    attention: Array | None

    def __init__(self, temperature: Any, attention: Any = None):
        """Store both; they may be traced."""
        self.temperature = eqx.error_if(
            jnp.asarray(temperature, float),
            jnp.asarray(temperature, float) <= 0,
            "Argument `temperature` must be positive.",
        )
        self.attention = None if attention is None else jnp.asarray(attention, float)

    def averages(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Return the softmax averages, in the precision of `x`."""
        queries = x if self.attention is None else x @ self.attention.astype(x.dtype).T
        return jax.nn.softmax(queries @ x.T / self.temperature.astype(x.dtype), axis=-1) @ x


def queries_as(values: np.ndarray) -> Exact:
    """Return an array of ints or fractions as fractions."""
    return rationals("x", values)


def exact_maximisers(token: Exact, candidates: Exact, attention: Exact | None, names: np.ndarray) -> np.ndarray:
    """Return which of `names` have the best score for `token`, all in fractions."""
    return best_of(token if attention is None else attention @ token, candidates, names)


def best_of(query: np.ndarray, candidates: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the `names` of the candidates with the largest inner product with `query`, in the arithmetic of both."""
    found = candidates @ query
    best = max(found)
    return names[[value == best for value in found]]


def square(name: str, matrix: np.ndarray) -> np.ndarray:
    """Return a finite square matrix; raise `ValueError` for another array."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise argument_error(name, "have shape (d, d)", f"has shape {matrix.shape}")
    if matrix.dtype != object and not np.all(np.isfinite(matrix)):
        raise argument_error(name, "be finite", "has an entry that is not")
    return matrix


def checked(z: np.ndarray, finite: bool, attention: np.ndarray | None) -> np.ndarray:
    """Return tokens of shape (n, d), n and d at least one, that fit A; raise `ValueError` for others."""
    if z.ndim != 2 or 0 in z.shape:
        raise argument_error("x", "have shape (n, d), with at least one token", f"has shape {z.shape}")
    if not finite:
        where = np.argwhere(~np.isfinite(z))[0]
        raise argument_error("x", "be finite", f"has {z[tuple(where)]} in token {where[0]}")
    if attention is not None and attention.shape[0] != z.shape[1]:
        raise argument_error("x", f"have the dimension {attention.shape[0]} of `attention`", f"has {z.shape[1]}")
    return z
