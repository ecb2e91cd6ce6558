"""Text as sequences of bytes: read from files, cut into windows, and continued by a network."""

import gzip
import zlib
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from dynsim._core.types import ArrayLike, Key, Step
from dynsim.errors import ArgumentError, check_at_least, reason
from dynsim.networks.decoder.transformer import check_ids
from dynsim.networks.multirate.network import MultirateNetwork
from dynsim.systems.tokens.interactions.masks import Causal

Bytes = UInt8[np.ndarray, " bytes"]


def read_bytes(path: str | Path) -> Bytes:
    """Read the bytes of a text file, decompressed if its name ends with `.gz`.

    Raises:
        ValueError: if the file is missing, unreadable or empty.
    """
    path = Path(path)
    try:
        found = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ArgumentError("path", "be a text, plain or .gz", f"`{path}` is not ({reason(error)})") from None
    if not found:
        raise ArgumentError("path", "be a text of at least one byte", f"`{path}` is empty")
    return np.frombuffer(found, np.uint8)


def windows(text: Bytes, length: int, *, count: int | None = None) -> Int[np.ndarray, "windows length_and_next"]:
    """Cut a text into windows of `length` + 1 bytes, (windows, length + 1), all of them or `count` evenly spaced.

    The last byte of a window is the first byte of the next. Bytes after the last complete window are dropped.

    Raises:
        ValueError: if a number is less than 1, or the text is too short for `count` windows, or for one.
    """
    check_at_least(1, length=length, count=1 if count is None else count)
    most = (len(text) - 1) // length
    if most < (count or 1):
        must = f"have at least {(count or 1) * length + 1} bytes, for {count or 1} windows of {length}"
        raise ArgumentError("text", must, f"has {len(text)}")
    chosen = np.arange(most) if count is None else np.arange(count) * most // count
    return text[chosen[:, None] * length + np.arange(length + 1)].astype(np.int32)


class RandomWindows(eqx.Module):
    """Batches for `train`: windows of `length` + 1 bytes at uniformly random places in a text."""

    text: UInt8[Array, " bytes"]
    batch: int = eqx.field(static=True)
    length: int = eqx.field(static=True)

    def __call__(self, step: Int[Array, ""], key: Key) -> Int[Array, "batch length_and_next"]:
        """Windows of a step, (batch, length + 1)."""
        starts = jax.random.randint(key, (self.batch,), 0, self.text.shape[0] - self.length)
        return self.text[starts[:, None] + jnp.arange(self.length + 1)[None]].astype(jnp.int32)


def random_windows(text: Bytes, *, batch: int, length: int) -> RandomWindows:
    """Make batches of `batch` random windows of `length` + 1 bytes, for `train`.

    Raises:
        ValueError: if a number is less than 1 or the text is shorter than a window.
    """
    check_at_least(1, batch=batch, length=length)
    if len(text) < length + 1:
        raise ArgumentError("text", f"have at least {length + 1} bytes, one window", f"has {len(text)}")
    return RandomWindows(jnp.asarray(text), batch, length)


def greedy(model: MultirateNetwork, prompt: ArrayLike, count: int) -> Int[np.ndarray, " total"]:
    """Continue a prompt by `count` symbols, each the most likely one; among equal scores the first counts.

    The function is compiled once for each total length.

    Raises:
        ValueError: if the prompt is empty or has symbols outside the vocabulary, `count` is less than 1, or the slow
            layers are not causal.
    """
    ids, start = _padded_prompt(model, prompt, count)
    return np.asarray(_continued(model, ids, start, jax.random.key(0), jnp.zeros(())))


def sampled(
    model: MultirateNetwork, prompt: ArrayLike, count: int, key: Key, *, temperature: float = 1.0
) -> Int[np.ndarray, " total"]:
    """Continue a prompt by `count` symbols, each drawn from softmax(logits / temperature).

    Raises:
        ValueError: as for `greedy`, or if the temperature is not positive.
    """
    if not temperature > 0:
        raise ArgumentError("temperature", "be positive", f"is {temperature}")
    ids, start = _padded_prompt(model, prompt, count)
    return np.asarray(_continued(model, ids, start, key, jnp.asarray(temperature, float)))


def _padded_prompt(model: MultirateNetwork, prompt: ArrayLike, count: int) -> tuple[Int[Array, " total"], Step]:
    """The prompt padded by `count` zeros, and the length of the prompt."""
    known = np.asarray(prompt)
    if known.ndim != 1 or len(known) == 0:
        raise ArgumentError("prompt", "be one sequence of at least one symbol", f"has shape {known.shape}")
    check_ids("prompt", known, model.token_embedding.shape[0])
    if count < 1:
        raise ArgumentError("count", "be at least 1", f"is {count}")
    masks = [layer.attention.mask for r in model.rounds for layer in r.slow]
    if not all(isinstance(mask, Causal) for mask in masks):
        raise ArgumentError(
            "model", "have causal slow layers to generate text", "its slow layers attend to later symbols"
        )
    return jnp.pad(jnp.asarray(known, jnp.int32), (0, count)), jnp.asarray(len(known))


@eqx.filter_jit
def _continued(
    model: MultirateNetwork, ids: Int[Array, " total"], start: Step, key: Key, temperature: Float[Array, ""]
) -> Int[Array, " total"]:
    """Fill `ids` with symbols generated from `start` on; since the network is causal, later zeros have no effect."""

    def extend(i: Array, ids: Array) -> Array:
        scores = model(ids)[i - 1]
        noise = jax.random.gumbel(jax.random.fold_in(key, i), scores.shape, scores.dtype)
        return ids.at[i].set(jnp.argmax(scores + temperature.astype(scores.dtype) * noise).astype(ids.dtype))

    return jax.lax.fori_loop(start, ids.shape[0], extend, ids)
