"""Numbers of tokens in a block, from the machine: the cache of a processor or the memory of a GPU."""

import jax

from dynsim._core.placement import current

BLOCK = {"cpu": 512, "gpu": 4096}  # queries, and keys, in a block of exact sums; scores fit in a cache or fill a GPU
CHUNK = {2: 2048, 3: 256}  # tokens in a chunk of harmonics on a processor, by dimension
INSIDE = 4096  # most tokens in a chunk of causal harmonics on a GPU, because the pairs inside a chunk are summed
ALIVE = 16  # numbers that harmonics keep for each token, head and degree, with those that XLA holds for a moment
SCORES = 2**29  # most scores of a tile of queries with all tokens, enough to fill a GPU
SHARE = 8  # a part of a GPU's memory that one of these arrays may fill
MEMORY = 16 * 2**30  # bytes of a GPU that does not tell its memory


def on_gpu() -> bool:
    """Test whether JAX's default platform is a GPU, so that programs for one may be asked for."""
    return jax.default_backend() == "gpu"


def block_size() -> int:
    """Choose the number of queries, and of keys, in a block of exact sums."""
    return BLOCK.get(current().platform, BLOCK["cpu"])


def chunk_size(d: int, degree: int, heads: int, itemsize: int, *, causal: bool) -> int:
    """Choose the largest number of tokens in a chunk of harmonics.

    Args:
        d: the dimension, 2 or 3.
        degree: the degree of the harmonics.
        heads: the number of heads.
        itemsize: bytes of a number.
        causal: whether the pairs of tokens inside a chunk are summed, too.
    """
    if current().platform != "gpu":
        return CHUNK[d]
    return INSIDE if causal else max(CHUNK[d], _free() // (ALIVE * (degree + 1) * heads * itemsize))


def tile_size(n: int, itemsize: int) -> int:
    """Choose the number of queries whose scores with all of `n` tokens are in a GPU's memory at once."""
    return max(1, min(SCORES, _free() // itemsize) // n)


def _free() -> int:
    """Bytes that one array may have."""
    return ((current().memory_stats() or {}).get("bytes_limit") or MEMORY) // SHARE
