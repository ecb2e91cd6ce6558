"""Names for the types used in signatures throughout the library."""

import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PyTree, Shaped
from jaxtyping import Key as KeyArray

from dynsim._core import settings as _settings  # noqa: F401  (made before the first array exists)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    TimesLike = ArrayLike | Sequence[float]  # as users pass them
    State = PyTree[Shaped[Array | np.ndarray, "..."] | float]  # NumPy for maps on the host; NumPy and numbers as input
else:

    class _Tree(type):
        """Run-time check of the annotation above, forty times faster than jaxtyping's check of each leaf."""

        def __instancecheck__(cls, tree: object) -> bool:
            return all(isinstance(leaf, jax.Array | np.ndarray | float | int) for leaf in jax.tree.leaves(tree))

    class State(metaclass=_Tree):
        """A tree of arrays or numbers: JAX arrays, NumPy arrays for maps on the host; any of these as input."""

    class _Input(type):
        """Run-time check of what NumPy converts to an array, whose own alias is a union of its private types."""

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, numbers.Number | Sequence) or hasattr(value, "__array__")

    class ArrayLike(metaclass=_Input):
        """What NumPy converts to an array: numbers, sequences of numbers, and arrays, also of JAX."""

        __module__ = "numpy.typing"  # as `help` shows it

    class TimesLike(metaclass=_Input):
        """Times: an array, or a sequence of numbers."""


Tokens = Float[Array | np.ndarray, "n d"]
Times = Float[Array | np.ndarray, " times"]
BoxLike = Sequence[Any] | Array | np.ndarray  # as users pass it: (low, high) for each component
Time = Float[Array, ""] | float
Step = Int[Array, ""] | int
Key = KeyArray[Array, ""]
Scalar = Float[Array, ""]
Parameters = Any


SymmetryGenerator = Callable[[State], State]
