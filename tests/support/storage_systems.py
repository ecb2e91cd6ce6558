"""Functions that a run file names: they are imported, never stored."""

import jax.numpy as jnp


def rotation(t, x):
    """Return the field of a rotation that slows down."""
    return jnp.stack([-x[..., 1], x[..., 0]], axis=-1) / (1 + t)
