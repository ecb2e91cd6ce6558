"""Times at which a solution is saved, known to be in order before a program for them is compiled."""

from typing import Any

import diffrax as dfx
import equinox as eqx
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array

from dynsim._core.types import Times


class InOrder(eqx.Module):
    """Times that are known to increase from the first to the last: no comparison of them fails.

    diffrax compares its times of saving with each other and with the ends of the solve, and would have the program call
    Python, to raise an error, if one of these comparisons held. Here they are settled when the program is traced.
    """

    values: Array

    @property
    def dtype(self) -> Any:
        """The type of the times."""
        return self.values.dtype

    def __len__(self) -> int:
        """Return the number of times."""
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """Return a time, or several that are in order too."""
        return InOrder(self.values[index]) if isinstance(index, slice) else self.values[index]

    def __mul__(self, direction: Any) -> "InOrder":
        """Return the times of a solve in a direction, which is forwards."""
        return InOrder(self.values * direction)

    def __lt__(self, other: Any) -> bool:
        """Return whether a time is before another that it follows, or before the first: no."""
        return False

    def __gt__(self, other: Any) -> bool:
        """Return whether a time is after the last: no."""
        return False

    def astype(self, dtype: Any) -> "InOrder":
        """Return the times in a type."""
        return InOrder(self.values.astype(dtype))


def in_order(ts: Times) -> Times | InOrder:
    """Return times that were checked as such; traced ones, which nobody has compared, as they are."""
    return ts if isinstance(ts, Tracer) else InOrder(jnp.asarray(ts))


def times_of(saved: Times | InOrder) -> Array:
    """Return the times themselves."""
    return saved.values if isinstance(saved, InOrder) else jnp.asarray(saved)


def request(saved: Times | InOrder, **options: Any) -> dfx.SubSaveAt:
    """Return diffrax's request to save at these times."""
    asked = dfx.SubSaveAt(ts=times_of(saved), **options)
    return eqx.tree_at(lambda sub: sub.ts, asked, saved) if isinstance(saved, InOrder) else asked
