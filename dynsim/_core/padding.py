"""The sizes to which arrays are filled up, so that few programs are compiled for many sizes."""

import numpy as np


def room_for(count: int, *, least: int = 1) -> int:
    """Return the next power of two that is not below `count` and `least`, itself a power of two."""
    return max(least, 1 << max(0, count - 1).bit_length())


def filled(values: np.ndarray, size: int) -> np.ndarray:
    """Return an array that is not empty, with its last row repeated up to `size` rows."""
    return np.concatenate([values, np.repeat(values[-1:], size - len(values), axis=0)])
