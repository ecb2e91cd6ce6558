"""Checkpoints of a long run: a folder with one file per finished part, from which the run resumes."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from dynsim.errors import OtherRunError
from dynsim.io.npz import read_arrays, writable_folder, write_arrays


class Checkpoints:
    """Numbered parts of one run, each a PyTree of arrays in its own file, written atomically.

    Attributes:
        folder: the folder of the files.
        digest: identifies the run; every file contains it, and a file with another digest is refused.
        structure: the tree structure of every part, from `jax.tree.structure`; None for named arrays.
        of: what two runs must share to be the same, in words.
    """

    def __init__(
        self,
        folder: str | Path,
        digest: str,
        structure: Any,
        of: str = "the same system, starts, times, observable and options",
    ):
        """Create the folder if it is missing; raise `ValueError` if it is not writable."""
        self.folder = writable_folder("folder", Path(folder))
        self.digest = digest
        self.structure = structure
        self.of = of

    def _file(self, index: int) -> Path:
        return self.folder / f"part-{index:05d}.npz"

    def has(self, index: int) -> bool:
        """Whether part `index` has been saved; raise `ValueError` if its file belongs to another run."""
        return self._file(index).exists() and bool(self._arrays(index))

    def load(self, index: int) -> PyTree:
        """Load part `index`; raise `ValueError` if it has not been saved or belongs to another run."""
        arrays = self.read(index)
        return jax.tree.unflatten(self.structure, [jnp.asarray(arrays[f"leaf-{k}"]) for k in range(len(arrays))])

    def save(self, index: int, part: PyTree) -> None:
        """Save part `index`; raise `ValueError` if the file cannot be written."""
        self.write(index, {f"leaf-{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(part))})

    def read(self, index: int) -> dict[str, np.ndarray]:
        """Read part `index` as named arrays; raise `ValueError` as `load` does."""
        return {name: array for name, array in self._arrays(index).items() if name != "digest"}

    def write(self, index: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Write named arrays as part `index`; raise `ValueError` if the file cannot be written."""
        write_arrays(self._file(index), {"digest": np.array(self.digest), **arrays})

    def check(self) -> None:
        """Raise `ValueError` if the folder holds parts of another run, whatever their numbers."""
        first = min(self.folder.glob("part-*.npz"), default=None)
        if first is not None:
            self._verified(first)

    def _arrays(self, index: int) -> dict[str, np.ndarray]:
        return self._verified(self._file(index))

    def _verified(self, file: Path) -> dict[str, np.ndarray]:
        arrays = read_arrays(file)
        if str(arrays.get("digest")) != self.digest:
            must = f"be empty or hold parts of this very run ({self.of})"
            raise OtherRunError("folder", must, f"`{self.folder}` holds parts of another run")
        return arrays


def without_addresses(thing: Any) -> str:
    """Text of an object for a digest, without the addresses in memory that differ from process to process."""
    return re.sub("0x[0-9a-f]+", "", str(thing))


def array_bytes(leaf: Any) -> bytes:
    """Dtype, shape and bits of an array or a random key, for a digest."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    leaf = np.asarray(leaf)
    return f"{leaf.dtype} {leaf.shape}".encode() + leaf.tobytes()
