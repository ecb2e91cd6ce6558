"""Typical sizes of equations along a curve, by which residuals, steps and eigenvalues are judged."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.dynamics.sparse.matrices import row_sizes

# Distance of the parameter, relative to its range, at which the sizes of the equations are typical of a curve.
ASIDE = 1e-3
# Factor by which a size has to fall at two successive places.
FALLEN = 1e4


class SizesAlong:
    """Sizes of equations at places along a curve, each the largest derivative in a row.

    Over a curve they may fall by orders of magnitude, as rates do that depend exponentially on a parameter: tolerances
    from elsewhere would let states pass that are no solutions. At a bifurcation they vanish at one place only, and
    remain what they were before.
    """

    def __init__(self, flat: Float[np.ndarray, " n"], sizes: Float[np.ndarray, " m"]):
        """Begin with the sizes at the first place, a flattened state with its parameter; 1 for those that vanish."""
        sizes = np.where(sizes > 0, sizes, 1.0)
        self._places, self._sizes, self._last = flat[None], sizes[None], sizes

    @property
    def only(self) -> Float[np.ndarray, " m"] | None:
        """The sizes, if one place alone is known."""
        return self._sizes[0] if len(self._places) == 1 else None

    def near(self, flat: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
        """Look up the sizes at the nearest place."""
        if self.only is not None:
            return self.only
        return self._sizes[np.argmin(np.abs(self._places - flat).max(axis=1))]

    def add(self, flat: Float[np.ndarray, " n"], sizes: Float[np.ndarray, " m"]) -> None:
        """Take down sizes at another place if they have fallen; those that vanish, and larger ones, stay as nearby."""
        known = self.near(flat)
        sizes = np.where((sizes > 0) & np.isfinite(sizes), sizes, known)
        fallen, self._last = np.fmax(sizes, self._last), sizes
        if np.any(FALLEN * fallen < known):
            self._places = np.vstack([self._places, flat])
            self._sizes = np.vstack([self._sizes, np.fmin(fallen, known)])


def first_sizes(
    equations: Callable[[float], Any], at: float, bounds: tuple[float, float], count: int
) -> Float[np.ndarray, " count"]:
    """Compute typical sizes of equations at the first solution: medians over values of the parameter.

    The values are beside that of the solution, which may be a bifurcation, and inside the bounds.

    Args:
        equations: gives the equations at a value of the parameter.
        at: the value at the solution.
        bounds: the range of the parameter.
        count: the number of equations.
    """
    low, high = bounds
    near = [at + k * ASIDE * (high - low) for k in (-2, -1, 0, 1, 2)]
    found = [equations(value) for value in near if low <= value <= high]
    sizes = [np.maximum(row_sizes(one.J), np.abs(one.slope)) for one in found]
    sizes = [one for one in sizes if np.all(np.isfinite(one))]
    if not sizes:
        return np.ones(count)
    middle, most = np.median(sizes, axis=0), np.max(sizes, axis=0)
    return np.where(middle > 0, middle, most)
