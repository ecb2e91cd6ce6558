"""The sizes to which arrays are filled up, so that few programs are compiled for many sizes."""


def room_for(count: int, *, least: int = 1) -> int:
    """Return the next power of two that is not below `count` and `least`, itself a power of two."""
    return max(least, 1 << max(0, count - 1).bit_length())
