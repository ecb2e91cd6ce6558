"""Names for the types that every signature uses."""

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
        """What the annotation above says, checked at run time forty times as fast as jaxtyping checks each leaf."""

        def __instancecheck__(cls, tree: object) -> bool:
            return all(isinstance(leaf, jax.Array | np.ndarray | float | int) for leaf in jax.tree.leaves(tree))

    class State(metaclass=_Tree):
        """A tree of arrays or numbers: JAX's, NumPy's for maps on the host, either or numbers as input."""


from collections.abc import Callable

import jax.flatten_util
import numpy as np

Tokens = Float[Array | np.ndarray, "n d"]
Times = Float[Array | np.ndarray, " times"]
TimesLike = ArrayLike | Sequence[float]  # as users hand them in
Time = Float[Array, ""] | float
Step = Int[Array, ""] | int
Key = KeyArray[Array, ""]
Scalar = Float[Array, ""]
Parameters = Any


SymmetryGenerator = Callable[[State], State]
