"""The sizes to which arrays are filled up, so that few programs are compiled for many sizes."""

import numpy as np


def room_for(count: int, *, least: int = 1) -> int:
    """Return the next power of two that is not below `count` and `least`, itself a power of two."""
    return max(least, 1 << max(0, count - 1).bit_length())


def filled(values: np.ndarray, *, least: int = 16) -> np.ndarray:
    """Return an array that is not empty, with its last entry repeated up to `room_for` entries."""
    return np.pad(values, (0, room_for(len(values), least=least) - len(values)), mode="edge")
