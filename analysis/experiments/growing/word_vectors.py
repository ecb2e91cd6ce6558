"""Read pretrained word vectors, from which a classifier's word embedding may start."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynsim._core.types import Key
from dynsim.errors import ArgumentError, reason
from dynsim.io.data import data_file
from dynsim.io.npz import read_arrays


def given_words(
    drawn: Float[Array, "words d"], file: str, vocabulary: tuple[str, ...], scale: float, key: Key
) -> Float[Array, "words d"]:
    """Build an embedding of words (words, d) from a file of vectors in R^m mapped to R^d; other words stay as drawn.

    The vectors are centred and scaled to the deviation `scale` of a drawn word, and mapped by a random isometry.

    Raises:
        ValueError: if m exceeds d, or the file is refused.
    """
    has, vectors = read_vectors(file, vocabulary)
    m, d = vectors.shape[1], drawn.shape[1]
    if m > d:
        raise ArgumentError("vectors", f"have at most {d} numbers, the dimension of tokens", f"have {m}")
    away = vectors - np.mean(vectors, axis=0)
    isometry = np.linalg.qr(np.asarray(jax.random.normal(jax.random.fold_in(key, 1), (d, m)), float))[0]
    size = np.sqrt(np.mean(np.sum(away**2, axis=1)) / d)
    return drawn.at[np.flatnonzero(has)].set(jnp.asarray(scale / size * away @ isometry.T, drawn.dtype))


def read_vectors(
    file: str, vocabulary: tuple[str, ...]
) -> tuple[Bool[np.ndarray, " words"], Float[np.ndarray, "known m"]]:
    """Find which words of a vocabulary have vectors in a data file, as a mask, with these vectors in their order.

    The file is an npz with arrays `word` (bytes or text) and `vec` (words, m), or text with a word and its m numbers on
    each line, as published by the authors of GloVe.

    Raises:
        ValueError: if the file is missing or malformed, or has vectors for none of the words.
    """
    place = data_file(file)
    known = _npz_vectors(place) if place.suffix == ".npz" else _text_vectors(place, frozenset(vocabulary))
    has = np.array([word in known for word in vocabulary])
    if not np.any(has):
        raise ArgumentError("vectors", "have vectors for words of the sentences", f"`{place}` has none")
    vectors = np.array([known[word] for word in vocabulary if word in known], float)
    if vectors.ndim != 2 or not np.all(np.isfinite(vectors)):
        raise ArgumentError("vectors", "hold finite vectors of equal length", f"`{place}` does not")
    return has, vectors


def _npz_vectors(place: Path) -> dict[str, np.ndarray]:
    arrays = read_arrays(place)
    if not {"word", "vec"} <= set(arrays) or len(arrays["word"]) != len(arrays["vec"]):
        raise ArgumentError("vectors", "hold arrays `word` and `vec` of equal length", f"`{place}` does not")
    words = [word.decode() if isinstance(word, bytes) else str(word) for word in arrays["word"].tolist()]
    return dict(zip(words, arrays["vec"], strict=True))


def _text_vectors(place: Path, wanted: frozenset[str]) -> dict[str, list[float]]:
    found = {}
    try:
        for line in place.read_text(encoding="utf-8").splitlines():
            word, *numbers = line.split(" ")
            if word in wanted:
                found[word] = [float(number) for number in numbers]
    except ValueError as error:
        must = "have a word and its numbers on each line"
        raise ArgumentError("vectors", must, f"`{place}` does not ({reason(error)})") from None
    if len({len(vector) for vector in found.values()}) > 1:
        raise ArgumentError("vectors", "hold vectors of equal length", f"`{place}` does not")
    return found
