r"""$e^{Qt}$ of a small chain as a dense matrix, by a Taylor sum and squarings in which nothing is subtracted."""

import math

import numpy as np
from jaxtyping import Float

EPSILON = float(np.finfo(float).eps)
TERMS = 18  # of the Taylor sum of a step in which no state is left more than once on average: 1 / 19! = 8e-18


def transition_matrix(Q: Float[np.ndarray, "k k"], t: float) -> tuple[Float[np.ndarray, "k k"], float]:
    r"""Return $e^{Qt}$, columns summing to one, no entry negative, and a relative error of its off-diagonal entries.

    With q the largest exit rate, $e^{Qh} = e^{-qh} e^{(Q + q) h}$ has a Taylor sum of non-negative terms; it is
    squared. After each squaring the diagonal is what the off-diagonal entries leave of one, so that a slow rate keeps
    its relative precision through any number of squarings.
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
    P = conserving(P * math.exp(-fastest * h))
    for _ in range(squarings):
        P = conserving(P @ P)
    return P, EPSILON * len(Q) * (squarings + TERMS)


def conserving(P: np.ndarray) -> np.ndarray:
    """Return P with columns that sum to one, by the larger of diagonal and rest."""
    diagonal = np.diagonal(P).copy()
    off = P.copy()
    np.fill_diagonal(off, 0.0)
    leaves = np.sum(off, axis=0)
    stays = leaves <= 0.5
    off = np.where(stays[None], off, off / np.where(stays, 1.0, leaves + diagonal)[None])
    np.fill_diagonal(off, np.where(stays, 1 - leaves, diagonal / np.where(stays, 1.0, leaves + diagonal)))
    return off
