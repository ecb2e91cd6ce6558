"""A user's own right-hand side, in a module of its own as users write them: no class, nothing of ours imported."""

import jax.numpy as jnp


def compass(t, x):
    """A needle on the circle in a constant field along the first axis: two rests, one stable."""
    return jnp.array([1.0, 0.0])


def twin_wells(t, x):
    """Two wells in the plane."""
    return jnp.stack([x[0] - x[0] ** 3, -2 * x[1]])


def rotor(t, x):
    """A rotation in the plane, angular frequency 2."""
    return 2 * jnp.stack([-x[1], x[0]])
