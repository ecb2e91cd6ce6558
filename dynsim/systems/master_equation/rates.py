"""Time-dependent generators: constant sparse ones, and ones whose rates follow a slow variable, Q(y(t))."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, Float, Int

from dynsim._core.host import as_array
from dynsim._core.types import Time
from dynsim._core.validation import function, number, returned, times
from dynsim.errors import ArgumentError
from dynsim.systems.master_equation.checks import Matrix, check_generator, entries, num_states
from dynsim.systems.schedules import AbstractSchedule


class SparseGenerator(AbstractSchedule):
    """A constant sparse generator in JAX, stored as its nonzero entries in row order."""

    rows: Int[Array, " entries"]
    columns: Int[Array, " entries"]
    values: Float[Array, " entries"]
    size: int = eqx.field(static=True)

    def __init__(self, generator: Matrix | Any):
        """Check a generator of shape (k, k) with `check_generator` and store its nonzero entries."""
        Q = check_generator(generator)
        rows, columns, values = entries(Q)
        order = np.lexsort((columns, rows))
        self.rows, self.columns = as_array(rows[order]), as_array(columns[order])
        self.values = jnp.asarray(values[order], float)
        self.size = num_states(Q)

    def __call__(self, t: Time) -> Float[Array, "1 k k"]:
        """Q as a dense array of shape (1, k, k)."""
        return jnp.zeros((1, self.size, self.size)).at[0, self.rows, self.columns].add(self.values)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (1, k, k)."""
        return (1, self.size, self.size)

    def matrix(self) -> scipy.sparse.csc_array:
        """Q as a SciPy sparse array."""
        places = (np.asarray(self.rows), np.asarray(self.columns))
        return scipy.sparse.csc_array((np.asarray(self.values), places), shape=self.shape[1:])

    def apply(self, p: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The product Q p in the dtype of `p`, without forming the dense Q."""
        terms = jnp.moveaxis(p, -1, 0)[self.columns]
        terms = terms * self.values.astype(p.dtype).reshape(-1, *(1,) * (p.ndim - 1))
        sums = jax.ops.segment_sum(terms, self.rows, self.size, indices_are_sorted=True)
        return jnp.moveaxis(sums, 0, -1)


class DrivenRates(AbstractSchedule):
    r"""The generator $Q(y(t))$ with the rate `rates(t)[i, j]` from state j to state i; its columns sum to zero.

    `rates` is a function of time alone, written in JAX, with y(t) already substituted. Its diagonal is ignored.
    `breaks` are the times at which it jumps, and `period` is its shortest period, both in its time unit.

    Source: MULTIRATE, (27).
    """

    rates: Callable[[Time], Array]
    size: int = eqx.field(static=True)
    breaks: tuple[float, ...] = eqx.field(static=True)
    period: float = eqx.field(static=True)

    def __init__(self, rates: Any, *, breaks: Sequence[float] = (), fastest_period: float = math.inf):
        """Store the function (or callable PyTree) of time, the times of its jumps, and its shortest period.

        Raises:
            ValueError: if `rates` does not return an array of shape (k, k), or if the period is not positive.
        """
        function("rates", rates, "t")
        self.period = number("fastest_period", fastest_period, infinite=True)
        self.breaks = times("breaks", breaks)
        shape = getattr(returned("rates", rates, jnp.zeros(())), "shape", ())
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
            raise ArgumentError("rates", "return shape (k, k)", f"returns shape {shape}")
        self.rates = rates  # pyright: ignore[reportAttributeAccessIssue]
        self.size = int(shape[0])

    def __call__(self, t: Time) -> Float[Array, "1 k k"]:
        """Q at time `t`, of shape (1, k, k)."""
        time = jnp.asarray(t)
        R = self.rates(time if jnp.issubdtype(time.dtype, jnp.floating) else time.astype(float))
        R = R * (1 - jnp.eye(self.size, dtype=R.dtype))
        return (R - jnp.diag(jnp.sum(R, axis=0)))[None]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (1, k, k)."""
        return (1, self.size, self.size)

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which the rates jump."""
        return np.array([b for b in self.breaks if t0 < b < t1])

    def fastest_period(self) -> float:
        """Shortest period of the rates; infinite if none was given."""
        return self.period
