"""Named initial laws."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._types import Key
from dynsim.errors import argument_error, nearest
from dynsim.spaces import AbstractSpace, Sphere


def uniform(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Return tokens from the space's own law: uniform on a sphere."""
    return space.sample(key, shape)


def box(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Return tokens uniform in ]-0.5, 0.5[^d, projected to the space.

    Source: CONSENSUS, Section 7.4.
    """
    return space.project(jax.random.uniform(key, shape, minval=-0.5, maxval=0.5))


def hemisphere(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Return tokens of `uniform`, those with a negative first coordinate reflected: all in one open half-space."""
    x = space.sample(key, shape)
    return jnp.where(x[:, :1] < 0, -x, x)


def cluster(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Return tokens within about 0.1 of one random point."""
    one, rest = jax.random.split(key)
    return space.project(space.sample(one, (1, shape[1])) + 0.1 * jax.random.normal(rest, shape) / np.sqrt(shape[1]))


DISTRIBUTIONS: dict[str, Callable[[Key, tuple[int, int], AbstractSpace], Float[Array, "n d"]]] = {
    "uniform": uniform,
    "box": box,
    "hemisphere": hemisphere,
    "cluster": cluster,
}


def initial(law: str, key: Key, shape: tuple[int, int], space: AbstractSpace | None = None) -> Float[Array, "n d"]:
    """Return the tokens (n, d) of the law of that name on `space`, the sphere by default."""
    if law not in DISTRIBUTIONS:
        raise argument_error("law", f"be one of {', '.join(DISTRIBUTIONS)}", f"is `{law}`{nearest(law, DISTRIBUTIONS)}")
    if min(shape) < 1:
        raise argument_error("shape", "be (n, d) with n, d >= 1", f"is {shape}")
    return DISTRIBUTIONS[law](key, shape, Sphere() if space is None else space)
