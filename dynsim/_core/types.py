"""Names for the types used in signatures throughout the library."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PyTree, Shaped
from jaxtyping import Key as KeyArray
from numpy.typing import ArrayLike

from dynsim._core import settings as _settings  # noqa: F401  (made before the first array exists)

if TYPE_CHECKING:
    State = PyTree[Shaped[Array | np.ndarray, "..."] | float]  # NumPy for maps on the host; NumPy and numbers as input
else:

    class _Tree(type):
        """Run-time check of the annotation above, forty times faster than jaxtyping's check of each leaf."""

        def __instancecheck__(cls, tree: object) -> bool:
            return all(isinstance(leaf, jax.Array | np.ndarray | float | int) for leaf in jax.tree.leaves(tree))

    class State(metaclass=_Tree):
        """A tree of arrays or numbers: JAX arrays, NumPy arrays for maps on the host; any of these as input."""


from collections.abc import Callable

import jax.flatten_util
import numpy as np

Tokens = Float[Array | np.ndarray, "n d"]
Times = Float[Array | np.ndarray, " times"]
TimesLike = ArrayLike | Sequence[float]  # as users pass them
BoxLike = Sequence[Any] | Array | np.ndarray  # as users pass it: (low, high) for each component
Time = Float[Array, ""] | float
Step = Int[Array, ""] | int
Key = KeyArray[Array, ""]
Scalar = Float[Array, ""]
Parameters = Any


SymmetryGenerator = Callable[[State], State]
