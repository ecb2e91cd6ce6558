"""The attention field (7) and the layer (6), summed term by term in NumPy as printed, and rational instances of them.

Claims hold the flows and maps that ship against these sums, which share no code with them.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.rational_instances import factor_and_points, rational_matrix
from dynsim._core.types import ArrayLike, Key
from dynsim.exact import Exact
from dynsim.spaces import Ellipsoid
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import AbstractMask

Sees = Callable[[int, int], bool]


def everything(i: int, j: int) -> bool:
    """Token i attends to every token j."""
    del i, j
    return True


def before(i: int, j: int) -> bool:
    """Token i attends to itself and to the tokens j before it."""
    return j <= i


def beside(i: int, j: int) -> bool:
    """Token i attends to itself and to the token before it."""
    return i - 1 <= j <= i


def printed_weights(x: np.ndarray, P: np.ndarray, sees: Sees = everything) -> np.ndarray:
    """Return alpha_ij of (7) for one head, with its factor 1/sqrt(d), shape (n, n)."""
    n, d = x.shape
    forms = x @ P @ x.T  # y_i^T P y_j
    alpha = np.zeros((n, n))
    for i in range(n):
        keys = [j for j in range(n) if sees(i, j)]
        Z = math.sqrt(d) * sum(math.exp(forms[i, j]) for j in keys)
        for j in keys:
            alpha[i, j] = math.exp(forms[i, j]) / Z
    return alpha


def printed_output(x: ArrayLike, P: ArrayLike, U: ArrayLike, sees: Sees = everything) -> np.ndarray:
    """Return m_i, the sum over h and j of alpha_ij U_h y_j, for P and U of shape (heads, d, d)."""
    x, P, U = _floats(x), _floats(P), _floats(U)
    m = np.zeros(x.shape)
    for h in range(len(P)):
        alpha = printed_weights(x, P[h], sees)
        for j in range(len(x)):
            m += np.outer(alpha[:, j], U[h] @ x[j])
    return m


def printed_field(x: ArrayLike, P: ArrayLike, U: ArrayLike, W: ArrayLike, sees: Sees = everything) -> np.ndarray:
    """Return the right-hand side of (7), the sum of alpha_ij (U_h y_j - (y_i^T W U_h y_j) y_i)."""
    x, W, m = _floats(x), _floats(W), printed_output(x, P, U, sees)
    return np.stack([m[i] - (x[i] @ W @ m[i]) * x[i] for i in range(len(x))])


def printed_layer(
    x: ArrayLike, P: ArrayLike, U: ArrayLike, W: ArrayLike, step: float, sees: Sees = everything
) -> np.ndarray:
    """Return pi_W(y_i + tau m_i), the layer (6) with V = tau V'."""
    return retracted(_floats(x) + step * printed_output(x, P, U, sees), W)


def retracted(x: np.ndarray, W: ArrayLike) -> np.ndarray:
    """Return x_i / |x_i|_W for every row, (2)."""
    return np.stack([row / math.sqrt(row @ _floats(W) @ row) for row in x])


def printed_potential(x: ArrayLike, P: ArrayLike) -> float:
    """Return V of (10), -1/2 times the sum of exp(x_i^T P x_j)."""
    x, P = _floats(x), _floats(P)
    return -sum(math.exp(x[i] @ P @ x[j]) for i in range(len(x)) for j in range(len(x))) / 2


def printed_metric_factors(x: ArrayLike, P: ArrayLike) -> np.ndarray:
    """Return Z_i of (9), sqrt(d) times the sum over j of exp(x_i^T P x_j)."""
    x, P = _floats(x), _floats(P)
    return np.array([math.sqrt(x.shape[1]) * sum(math.exp(a @ P @ b) for b in x) for a in x])


class Instance(NamedTuple):
    """Rational W, P and U, and rational tokens, n points of the ellipsoid of W."""

    W: Exact
    P: Exact
    U: Exact
    tokens: Exact

    @property
    def x(self) -> np.ndarray:
        """The tokens in floating point."""
        return _floats(self.tokens)

    def flow(self, mask: AbstractMask | None = None) -> TokenFlow:
        """Return the flow that ships, (7), for this instance."""
        return TokenFlow(_floats(self.P), _floats(self.U), space=Ellipsoid(_floats(self.W)), mask=mask)

    def field(self, sees: Sees = everything) -> np.ndarray:
        """Return the right-hand side of (7) as printed."""
        return printed_field(self.tokens, self.P, self.U, self.W, sees)


def rational_instance(key: Key, n: int, d: int, heads: int = 2) -> Instance:
    """Return a random instance whose P_h and U_h are neither symmetric nor multiples of the identity."""
    a, b, c = jax.random.split(key, 3)
    lower, tokens = factor_and_points(a, d, n)
    return Instance(lower @ lower.T, rational_matrix(b, heads, d, d) / 4, rational_matrix(c, heads, d, d), tokens)


def _floats(values: ArrayLike) -> np.ndarray:
    return np.asarray(values).astype(float)
