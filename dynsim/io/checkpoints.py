"""A folder of finished parts of a long run, each written whole or not at all, from which the run resumes."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from dynsim.errors import argument_error
from dynsim.io.npz import read_arrays, writable_folder, write_arrays


class Checkpoints:
    """Numbered parts, PyTrees of arrays of one `structure`, that belong to the run with the given `digest`."""

    def __init__(self, folder: str | Path, digest: str, structure: Any):
        """Make the folder if need be; raise `ValueError` if it cannot be written."""
        self.folder = writable_folder("folder", Path(folder))
        self.digest = digest
        self.structure = structure

    def _file(self, index: int) -> Path:
        return self.folder / f"part-{index:05d}.npz"

    def finished(self, index: int) -> bool:
        """Return whether part `index` is there; raise `ValueError` if what is there is of another run."""
        return self._file(index).exists() and bool(self._arrays(index))

    def take(self, index: int) -> PyTree:
        """Return part `index`."""
        arrays = self._arrays(index)
        return jax.tree.unflatten(self.structure, [jnp.asarray(arrays[f"leaf-{k}"]) for k in range(len(arrays) - 1)])

    def put(self, index: int, part: PyTree) -> None:
        """Write part `index`."""
        leaves = {f"leaf-{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(part))}
        write_arrays(self._file(index), {"digest": np.array(self.digest), **leaves})

    def _arrays(self, index: int) -> dict[str, np.ndarray]:
        arrays = read_arrays(self._file(index))
        if str(arrays.get("digest")) != self.digest:
            must = "be empty or hold parts of this very run (the same system, starts, times, observable and options)"
            raise argument_error("folder", must, f"`{self.folder}` holds parts of another")
        return arrays
