"""Find out whether the field of a flow, or a map, is smooth, so that its solutions have no corners."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dynsim._core.types import State
from dynsim.programs import program_or_none
from dynsim.systems.base import AbstractFlow


def may_have_corners(system: Any, state: State) -> bool:
    """Test whether the derivative of a field or a map may jump: it compares, or uses `abs`, `where`, roots and such.

    A system without a scalar program may have corners, too.

    Args:
        system: the flow or the map.
        state: a state of it, for the shapes.
    """
    changing, rest = eqx.partition(system, eqx.is_inexact_array_like)
    as_arrays = lambda tree: jax.tree.map(jnp.asarray, tree)

    def values(t: Any, changing: Any, x: Any) -> list[Any]:
        moved = eqx.combine(changing, rest)
        return jax.tree.leaves(moved.vector_field(t, x) if isinstance(moved, AbstractFlow) else moved.step(0, x))

    program = program_or_none(values, jnp.zeros(()), as_arrays(changing), as_arrays(state))
    return program is None or not program.is_smooth
