"""The gate: a unit vector that converges to the dominant plane of the residual matrix."""

from typing import Any, Literal, get_args

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, State, Time
from dynsim._core.validation import choice, real, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow

Normalisation = Literal["oja", "exin"]
"""Normalisation of the gate: Oja's rule, or the gradient of the Rayleigh quotient (the EXIN rule)."""


def gate_velocity(matrix: Float[Array, "d d"], w: Float[Array, " d"], normalisation: str) -> Float[Array, " d"]:
    r"""Velocity of the gate at unit rate, with $E = A^\top A$.

    $$
        E w - (w^\top E w) w \quad\text{(oja)}, \qquad
        \frac{1}{|w|^2} \Bigl(E w - \frac{w^\top E w}{|w|^2} w\Bigr) \quad\text{(exin)}
    $$

    On the unit sphere both rules agree. Oja's rule drives the length to 1; the EXIN rule conserves it.
    """
    pull = matrix.T @ (matrix @ w)
    if normalisation == "oja":
        return pull - jnp.dot(w, pull) * w
    square = jnp.dot(w, w)
    return (pull - jnp.dot(w, pull) / square * w) / square


class GateFlow(AbstractFlow):
    r"""A gate w that tracks the dominant plane of a fixed residual matrix A, $\dot w = \eta_+ f(w)$.

    E = A^T A has every eigenvalue twice, so the limit depends on the initial w: for almost every start it is the
    normalised projection of w on the dominant plane. A start orthogonal to the plane does not converge to it.

    Source: GROWING, eq. (45).
    """

    matrix: Float[Array, "d d"]
    rate: Float[Array, ""]
    normalisation: Normalisation = eqx.field(static=True)
    space: Euclidean

    def __init__(self, matrix: ArrayLike, normalisation: str = "oja", *, rate: Any = 1.0):
        """Store the matrix A, the normalisation and the rate eta_plus.

        Raises:
            ValueError: unless the matrix is square, the normalisation is known and the rate is positive.
        """
        found = reals("matrix", matrix)
        if found.ndim != 2 or found.shape[0] != found.shape[1]:
            raise ArgumentError("matrix", "be a square matrix", f"has shape {found.shape}")
        self.matrix = jnp.asarray(found, float)
        self.normalisation = choice("normalisation", normalisation, get_args(Normalisation))
        self.rate = real("rate", rate, positive=True)
        self.space = Euclidean()

    def velocity(self, t: Time, x: State) -> State:
        """Velocity of the gate."""
        return self.rate.astype(x.dtype) * gate_velocity(self.matrix.astype(x.dtype), x, self.normalisation)
