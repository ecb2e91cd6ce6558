"""Generators of Markov chains from rates, birth-death chains, walks in a potential, random chains, and attention."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np
import scipy.sparse
from jaxtyping import Float

from dynsim._core.types import Key
from dynsim._core.validation import LARGEST, floats_or_rationals, number, random_key, reals
from dynsim._core.validation import size as length
from dynsim.errors import ArgumentError
from dynsim.exact import Exact, rationals
from dynsim.systems.master_equation.checks import Matrix, check_transition, entries, exit_rates, square


def generator_from_rates(rates: Any) -> Matrix:
    """Build the generator Q, shape (k, k), with the rate `rates[i, j]` from state j to state i.

    The diagonal of `rates` must be zero. Rates have the unit of an inverse time. Q is dense or sparse as `rates` is,
    and exact for an object array.

    Raises:
        ValueError: if an entry is negative, not finite, or nonzero on the diagonal; the first one is named.

    Example:
        >>> import dynsim as ds
        >>> ds.generator_from_rates([[0.0, 2.0], [1.0, 0.0]]).tolist()
        [[-1.0, 2.0], [1.0, -2.0]]
    """
    R = square("rates", rates)
    rows, columns, values = entries(R)
    bad = np.flatnonzero((values < 0) | (rows == columns))
    if bad.size:
        must = "be at least zero, and zero on the diagonal"
        raise ArgumentError("rates", must, f"entry ({rows[bad[0]]}, {columns[bad[0]]}) is {values[bad[0]]}")
    return _with_diagonal(R)


def birth_death(birth: Any, death: Any) -> Matrix:
    """Build the generator of a birth-death chain with rates `birth[i]` (i to i+1) and `death[i]` (i+1 to i).

    Both have shape (k-1,), and the states are 0, ..., k-1. The generator is sparse, or an exact dense array if `birth`
    or `death` is an object array.

    Raises:
        ValueError: if the shapes differ, or a rate is negative or not finite.
    """
    up, down = _rates("birth", birth), _rates("death", death)
    if up.shape != down.shape or up.ndim != 1:
        raise ArgumentError("death", f"have the shape of `birth`, {up.shape}", f"has shape {down.shape}")
    k = len(up) + 1
    if object in (up.dtype, down.dtype):
        R = rationals("birth", np.zeros((k, k), dtype=int).astype(object))
        R[np.arange(1, k), np.arange(k - 1)] = rationals("birth", up)
        R[np.arange(k - 1), np.arange(1, k)] = rationals("death", down)
        return generator_from_rates(R)
    return generator_from_rates(scipy.sparse.diags_array([up, down], offsets=[-1, 1], shape=(k, k)))  # pyright: ignore[reportArgumentType]


def walk_in_potential(
    potential: Float[np.ndarray, "..."], *, temperature: float = 1.0, rate: float = 1.0
) -> scipy.sparse.csc_array:
    r"""Generator of the nearest-neighbour walk on a grid with rates $r\, e^{-(V_b - V_a)/2T}$ from a to b.

    The walk is reversible with stationary distribution proportional to $e^{-V/T}$. States are grid points in C order.

    Args:
        potential: V at the points of a grid of any dimension, in the unit of `temperature`.
        temperature: T, positive.
        rate: r, the rate between points of equal potential, in inverse time units.

    Raises:
        ValueError: if the potential is not finite, or if the temperature or the rate is not positive.
    """
    V = np.asarray(reals("potential", potential), float)
    if not np.all(np.isfinite(V)) or V.size == 0:
        raise ArgumentError("potential", "hold finite numbers", f"does not (its shape is {V.shape})")
    temperature, rate = number("temperature", temperature), number("rate", rate)
    index, pairs = np.arange(V.size).reshape(V.shape), []
    for axis in range(V.ndim):
        line = np.moveaxis(index, axis, 0)
        pairs.append(np.stack([line[:-1].ravel(), line[1:].ravel()]))
    low, high = np.concatenate(pairs, axis=1) if pairs else np.empty((2, 0), int)
    drop = (V.flat[low] - V.flat[high]) / (2 * temperature)
    with np.errstate(over="ignore"):  # overflowing rates are refused below, by their entry
        values = rate * np.exp(np.concatenate([drop, -drop]))
    places = (np.concatenate([high, low]), np.concatenate([low, high]))
    R = scipy.sparse.csc_array((values, places), shape=(V.size, V.size))
    return generator_from_rates(R)  # pyright: ignore[reportReturnType]


def random_generator(key: Key, size: int) -> Float[np.ndarray, "k k"]:
    """Draw a dense irreducible generator, shape (size, size), with independent exponential rates of mean one."""
    count, key = length("size", size), random_key("key", key)
    R = np.array(jax.random.exponential(key, (count, count), float))
    np.fill_diagonal(R, 0.0)
    return generator_from_rates(R)  # pyright: ignore[reportReturnType]


def attention_generator(weights: Any, *, rate: Any = 1) -> Matrix:
    r"""Generator $r (A^\top - I)$ of a chain that makes transitions by A at the times of a Poisson process.

    A is a row-stochastic attention matrix: `weights[i, j]` is the weight that token i places on token j, and the
    transition probability from i to j. Distributions over tokens evolve by $A^\top$, and token values by A. The
    stationary distribution is the left eigenvector of A, $\pi^\top A = \pi^\top$.

    Args:
        weights: A, shape (n, n), with rows that sum to one; dense, sparse, or exact.
        rate: r, the positive rate of the Poisson process, in inverse time units.

    Raises:
        ValueError: if the rate is not positive, or A is not row-stochastic; the first invalid entry or row is named.

    Source: MULTIRATE, Section 8.
    """
    if not isinstance(rate, Fraction):
        exact = isinstance(rate, int) and not isinstance(rate, bool) and 0 < rate < LARGEST
        rate = rate if exact else number("rate", rate)
    elif rate <= 0:
        raise ArgumentError("rate", "be positive", f"is {rate}")
    return _with_diagonal(rate * check_transition(weights).T)


def _rates(name: str, values: Any) -> np.ndarray | Exact:
    found = floats_or_rationals(name, values)
    bad = np.flatnonzero(~(found >= 0) | (found == np.inf))
    if bad.size:
        raise ArgumentError(name, "hold finite rates of at least zero", f"entry {bad[0]} is {found.flat[bad[0]]}")
    return found


def _with_diagonal(rates: Any) -> Matrix:
    """Generator with the off-diagonal entries of `rates`, whatever its diagonal."""
    R = square("rates", rates)
    if isinstance(R, np.ndarray):
        Q = R.copy()
        Q[np.diag_indices(len(Q))] = -exit_rates(R)
        return Q
    diagonal = scipy.sparse.diags_array(R.diagonal() + exit_rates(R))
    return square("rates", R - diagonal)
