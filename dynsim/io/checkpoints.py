"""Checkpoints of a long run: a folder with one file for each finished part, from which the run resumes."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from dynsim.errors import argument_error
from dynsim.io.npz import read_arrays, writable_folder, write_arrays


class Checkpoints:
    """Numbered parts of one run, each a PyTree of arrays in a file of its own, written completely or not at all.

    Attributes:
        folder: the folder of the files.
        digest: what identifies the run; every file holds it, and a file with another digest is refused.
        structure: the tree structure of every part, as `jax.tree.structure` returns it.
    """

    def __init__(self, folder: str | Path, digest: str, structure: Any):
        """Create the folder if it is missing; raise `ValueError` if it cannot be written to."""
        self.folder = writable_folder("folder", Path(folder))
        self.digest = digest
        self.structure = structure

    def _file(self, index: int) -> Path:
        return self.folder / f"part-{index:05d}.npz"

    def has(self, index: int) -> bool:
        """Return whether part `index` has been saved; raise `ValueError` if its file belongs to another run."""
        return self._file(index).exists() and bool(self._arrays(index))

    def load(self, index: int) -> PyTree:
        """Return part `index`; raise `ValueError` if it has not been saved, or its file belongs to another run."""
        arrays = self._arrays(index)
        return jax.tree.unflatten(self.structure, [jnp.asarray(arrays[f"leaf-{k}"]) for k in range(len(arrays) - 1)])

    def save(self, index: int, part: PyTree) -> None:
        """Write part `index`; raise `ValueError` if the file cannot be written."""
        leaves = {f"leaf-{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(part))}
        write_arrays(self._file(index), {"digest": np.array(self.digest), **leaves})

    def _arrays(self, index: int) -> dict[str, np.ndarray]:
        arrays = read_arrays(self._file(index))
        if str(arrays.get("digest")) != self.digest:
            must = "be empty or hold parts of this very run (the same system, starts, times, observable and options)"
            raise argument_error("folder", must, f"`{self.folder}` holds parts of another")
        return arrays
