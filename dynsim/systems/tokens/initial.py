"""Random initial tokens from named distributions."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import Key
from dynsim._core.validation import instance, integer, random_key
from dynsim.errors import ArgumentError, nearest, shown
from dynsim.spaces import AbstractSpace, Sphere


def uniform(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Tokens from the space's own distribution: uniform on a sphere, standard normal in R^d."""
    return space.sample(key, shape)


def box(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Tokens uniform in the cube ]-0.5, 0.5[^d, projected to the space.

    Source: CONSENSUS, Section 7.4.
    """
    return space.project(jax.random.uniform(key, shape, minval=-0.5, maxval=0.5))


def hemisphere(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Tokens in one open half-space: `uniform` tokens, reflected where the first coordinate is negative."""
    x = space.sample(key, shape)
    return jnp.where(x[:, :1] < 0, -x, x)


def cluster(key: Key, shape: tuple[int, int], space: AbstractSpace) -> Float[Array, "n d"]:
    """Tokens clustered at a distance of about 0.1 from one random point, projected to the space."""
    one, rest = jax.random.split(key)
    return space.project(space.sample(one, (1, shape[1])) + 0.1 * jax.random.normal(rest, shape) / np.sqrt(shape[1]))


DISTRIBUTIONS: dict[str, Callable[[Key, tuple[int, int], AbstractSpace], Float[Array, "n d"]]] = {
    "uniform": uniform,
    "box": box,
    "hemisphere": hemisphere,
    "cluster": cluster,
}


def initial_tokens(
    distribution: str, key: Key, shape: tuple[int, int], space: AbstractSpace | None = None
) -> Float[Array, "n d"]:
    """Draw initial tokens from a named distribution, reproducibly from a key.

    Args:
        distribution: one of the names in `DISTRIBUTIONS`: "uniform", "box", "hemisphere" or "cluster".
        key: the random key.
        shape: (n, d), the number of tokens and their dimension.
        space: the space that the tokens lie on; the unit sphere by default.

    Raises:
        ValueError: for an unknown name, or if n or d is less than 1.

    Example:
        >>> import dynsim as ds
        >>> initial_tokens("uniform", ds.random_key(0, "tokens"), (4, 3)).shape
        (4, 3)
    """
    if not isinstance(distribution, str) or distribution not in DISTRIBUTIONS:
        but = f"is `{distribution}`{nearest(str(distribution), DISTRIBUTIONS)}"
        raise ArgumentError("distribution", f"be one of {', '.join(DISTRIBUTIONS)}", but)
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise ArgumentError("shape", "be (n, d) with n, d >= 1", f"is {shown(shape)}")
    n, d = (integer("shape", size, least=1) for size in shape)
    place = Sphere() if space is None else instance("space", space, AbstractSpace, "a space such as `Sphere()`")
    return DISTRIBUTIONS[distribution](random_key("key", key), (n, d), place)
