"""Names for the types that every signature uses."""

from typing import Any

from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import Key as KeyArray

from dynsim import _precision  # noqa: F401  (precision is set before the first array exists)

State = PyTree[Float[Array, "..."]]
Time = Float[Array, ""] | float
Step = Int[Array, ""] | int
Key = KeyArray[Array, ""]
Scalar = Float[Array, ""]
Parameters = Any
