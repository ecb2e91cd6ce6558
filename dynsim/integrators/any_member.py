"""Whether a condition holds for any member of a batch, as one value for all of them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


@jax.custom_batching.custom_vmap
def any_member(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether a flag is set for any member of a `vmap`; the flag itself outside of one.

    `jax.lax.cond` on it stays a branch under `vmap`: on a flag of each member it would evaluate both sides.
    """
    return flag


@any_member.def_vmap
def _any_of_batch(size: int, batched: list[bool], flags: Bool[Array, " members"]) -> tuple[Bool[Array, ""], bool]:
    del size, batched
    return any_member(jnp.any(flags)), False
