"""Which partitions of the states leave a chain: lumping of both kinds, with how far a partition is from either."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Int

from dynsim.errors import argument_error
from dynsim.exact import rationals
from dynsim.systems.master_equation.checks import Matrix, check_generator, num_states
from dynsim.systems.master_equation.generators import attention_generator


@dataclass(frozen=True)
class Lumping:
    r"""A partition of the states against a generator; `labels[j]` is the block of state j.

    `ordinary_defect`, in the unit of the rates (Kemeny and Snell): the largest difference, over two states j of one
    block, of their rates into another block, $\sum_{i \in B} Q_{ij}$. If it is zero, the probabilities of the blocks
    are a chain whatever the start, and values that are equal within blocks stay so under $Q^\top$, as token values do
    under attention.

    `exact_defect`: the same of the rates that two states i of one block receive from a block, $\sum_{j \in B} Q_{ij}$.
    If it is zero, distributions that are uniform within blocks stay so, and block means of values (pooling) are closed
    under $Q^\top$.

    `generator` is the lumped one, the mean over the states of a block: (blocks, blocks), exact for Fractions.
    """

    labels: Int[np.ndarray, " k"]
    generator: np.ndarray
    ordinary_defect: Any
    exact_defect: Any


def lumping(generator: Any, labels: Any) -> Lumping:
    """Return how far a partition, shape (k,) of block numbers 0, 1, ..., is from leaving a chain of blocks.

    Raises:
        ValueError: for labels of another shape, or that leave a block empty.
    """
    Q = check_generator(generator)
    blocks = _checked(labels, num_states(Q))
    member = scipy.sparse.csr_array((np.ones(len(blocks)), (blocks, np.arange(len(blocks)))))
    into, received = _product(member, Q, Q.dtype == object), _product(member, Q.T, Q.dtype == object)
    sizes = np.bincount(blocks)
    sums = _product(member, into.T, Q.dtype == object).T
    exact = Q.dtype == object
    lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[None]
    return Lumping(blocks, lumped, _spread(into, blocks), _spread(received, blocks))


def attention_lumping(weights: Any, labels: Any) -> Lumping:
    """Return the same for a row-stochastic attention matrix A, shape (n, n), read as the chain of A^T - I."""
    return lumping(attention_generator(weights), labels)


def blocks_of(length: int, block: int) -> Int[np.ndarray, " length"]:
    """Return the labels of consecutive blocks, the last one as short as it has to be."""
    if block < 1 or length < 1:
        raise argument_error("length` and `block", "be at least 1", f"are {length} and {block}")
    return np.arange(length) // block


def _checked(labels: Any, k: int) -> np.ndarray:
    found = np.asarray(labels)
    if found.shape != (k,) or not np.issubdtype(found.dtype, np.integer):
        raise argument_error("labels", f"be {k} block numbers", f"has shape {found.shape} and type {found.dtype}")
    if np.min(found) < 0 or np.min(np.bincount(found)) == 0:
        must = "number the blocks 0, 1, ... and leave none empty"
        raise argument_error("labels", must, f"has the values {np.unique(found)[:8].tolist()}")
    return found


def _product(member: scipy.sparse.csr_array, Q: Matrix | Any, exact: bool) -> np.ndarray:
    """Return the sum of rows over each block, (blocks, k)."""
    if exact:
        return member.toarray().astype(int).astype(object) @ Q
    found: Any = member @ Q
    return found.toarray() if scipy.sparse.issparse(found) else found


def _spread(sums: np.ndarray, blocks: np.ndarray) -> Any:
    """Return the largest difference of a row of `sums` between two states of one block."""
    order = np.argsort(blocks, kind="stable")
    begins = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    ordered = sums[:, order]
    return np.max(np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1))
