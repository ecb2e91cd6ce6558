"""Numbers of tokens and dimensions, drawn from a few, so that the trials of a section share their programs."""

import jax

from dynsim._core.types import Key

SIZES = (1, 2, 4, 7)
"""Numbers of tokens."""
SHAPES = ((1, 3), (2, 2), (4, 3), (6, 5))
"""Numbers n of tokens and dimensions d."""


def number_of_tokens(key: Key, sizes: tuple[int, ...] = SIZES) -> int:
    """Return one of the numbers of tokens."""
    return sizes[int(jax.random.randint(jax.random.fold_in(key, 41), (), 0, len(sizes)))]


def shape_of_tokens(key: Key, shapes: tuple[tuple[int, int], ...] = SHAPES) -> tuple[int, int]:
    """Return one of the shapes (n, d)."""
    return shapes[int(jax.random.randint(jax.random.fold_in(key, 43), (), 0, len(shapes)))]
