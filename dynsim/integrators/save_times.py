"""Save times that are known to be in order before a program for them is compiled."""

from typing import Any

import diffrax as dfx
import equinox as eqx
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array

from dynsim._core.types import Times


class InOrder(eqx.Module):
    """Times known to increase, so that diffrax's checks of their order are settled during tracing.

    diffrax compares save times with each other and with the ends of the solve, and its compiled program would call
    Python to raise an error if a check failed. Here these comparisons return False already when the program is traced.
    """

    values: Array

    @property
    def dtype(self) -> Any:
        """The dtype of the times."""
        return self.values.dtype

    def __len__(self) -> int:
        """Number of times."""
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """A single time, or a slice of times that are in order too."""
        return InOrder(self.values[index]) if isinstance(index, slice) else self.values[index]

    def __mul__(self, direction: Any) -> "InOrder":
        """The times multiplied by the direction of a solve, which is forwards."""
        return InOrder(self.values * direction)

    def __lt__(self, other: Any) -> bool:
        """False: no time precedes another that it follows, or the first."""
        return False

    def __gt__(self, other: Any) -> bool:
        """False: no time is after the last."""
        return False

    def astype(self, dtype: Any) -> "InOrder":
        """The times in another dtype."""
        return InOrder(self.values.astype(dtype))


def in_order(ts: Times) -> Times | InOrder:
    """Mark times as ordered once they have been checked; traced times are returned unchanged."""
    return ts if isinstance(ts, Tracer) else InOrder(jnp.asarray(ts))


def times_of(saved: Times | InOrder) -> Array:
    """The times as a plain array."""
    return saved.values if isinstance(saved, InOrder) else jnp.asarray(saved)


def request(saved: Times | InOrder, **options: Any) -> dfx.SubSaveAt:
    """Request for diffrax to save at these times."""
    asked = dfx.SubSaveAt(ts=times_of(saved), **options)
    return eqx.tree_at(lambda sub: sub.ts, asked, saved) if isinstance(saved, InOrder) else asked
