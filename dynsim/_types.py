"""Names for the types that every signature uses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int, PyTree, Shaped
from jaxtyping import Key as KeyArray
from numpy.typing import ArrayLike

from dynsim import _settings  # noqa: F401  (made before the first array exists)

State = PyTree[Shaped[Array | np.ndarray, "..."] | float]  # NumPy for maps on the host; NumPy and numbers as input
Tokens = Float[Array | np.ndarray, "n d"]
Times = Float[Array | np.ndarray, " times"]
TimesLike = ArrayLike | Sequence[float]  # as users hand them in
Time = Float[Array, ""] | float
Step = Int[Array, ""] | int
Key = KeyArray[Array, ""]
Scalar = Float[Array, ""]
Parameters = Any
