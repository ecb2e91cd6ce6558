r"""Compute $e^{Qt}$ of a small chain as a dense matrix, by scaling and squaring a Taylor sum without subtractions."""

import math

import numpy as np
from jaxtyping import Float

EPSILON = float(np.finfo(float).eps)
# Number of terms of the Taylor sum; for exit rate times step at most one the next is 1 / 19! = 8e-18.
TERMS = 18


def transition_matrix(Q: Float[np.ndarray, "k k"], t: float) -> tuple[Float[np.ndarray, "k k"], float]:
    r"""Compute $e^{Qt}$, a stochastic matrix by columns, and the relative error of its off-diagonal entries.

    With q the largest exit rate, $e^{Qh} = e^{-qh} e^{(Q + q) h}$ has a Taylor sum of non-negative terms; it is
    squared. After each squaring the diagonal is set to one minus the other entries of the column, so that small rates
    keep their relative accuracy through any number of squarings.
    """
    fastest = float(np.max(-np.diagonal(Q), initial=0.0))
    squarings = max(0, math.ceil(math.log2(max(fastest * t, 1.0))))
    h = t / 2**squarings
    N = Q * h
    N[np.diag_indices(len(Q))] = 0.0
    N[np.diag_indices(len(Q))] = fastest * h - np.sum(N, axis=0)
    P = term = np.eye(len(Q))
    for n in range(1, TERMS + 1):
        term = term @ N / n
        P = P + term
    P = column_stochastic(P * math.exp(-fastest * h))
    for _ in range(squarings):
        P = column_stochastic(P @ P)
    return P, EPSILON * len(Q) * (squarings + TERMS)


def column_stochastic(P: np.ndarray) -> np.ndarray:
    """Normalise columns to sum to one, by correcting the larger of the diagonal entry and the rest."""
    diagonal = np.diagonal(P).copy()
    off = P.copy()
    np.fill_diagonal(off, 0.0)
    leaves = np.sum(off, axis=0)
    stays = leaves <= 0.5
    off = np.where(stays[None], off, off / np.where(stays, 1.0, leaves + diagonal)[None])
    np.fill_diagonal(off, np.where(stays, 1 - leaves, diagonal / np.where(stays, 1.0, leaves + diagonal)))
    return off
