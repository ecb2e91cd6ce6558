"""Measure how far a partition of the states of a chain is from ordinary and exact lumpability."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Int

from dynsim._core.printing import one_line, report
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError, check_at_least
from dynsim.exact import rationals
from dynsim.systems.master_equation.checks import Matrix, check_generator, num_states
from dynsim.systems.master_equation.generators import attention_generator


@dataclass(frozen=True)
class Lumping:
    r"""Defects of lumpability of a partition of the states; `labels[j]` is the block of state j.

    `ordinary_defect`, in the unit of the rates: the largest difference between two states j of one block of their rates
    into a block B, $\sum_{i \in B} Q_{ij}$. If it is zero (ordinary lumpability), the block probabilities form a Markov
    chain for every initial distribution, and vectors that are constant on blocks, such as token values, remain so under
    $Q^\top$.

    `exact_defect`: the same for the rates $\sum_{j \in B} Q_{ij}$ from a block B into two states i of one block. If it
    is zero (exact lumpability), distributions that are uniform within blocks remain so, and block means of vectors
    (pooling) evolve autonomously under $Q^\top$.

    `generator`, shape (blocks, blocks), is the lumped one, averaged over the states of a block; exact for Fractions.

    Source: Kemeny, Snell, Finite Markov Chains, Section 6.3; Buchholz, J. Appl. Probab. 31 (1994).
    """

    labels: Int[np.ndarray, " k"]
    generator: np.ndarray
    ordinary_defect: Any
    exact_defect: Any

    __repr__ = one_line
    __str__ = report


def lumping(generator: Any, labels: Any) -> Lumping:
    """Compute the lumped generator and the defects of a partition given by `labels`, shape (k,): blocks 0, 1, ...

    Args:
        generator: Q, (k, k).
        labels: the block of each state, (k,).

    Raises:
        ValueError: for labels of another shape, or that leave a block empty.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import lumping
        >>> found = lumping(np.ones((3, 3)) - 3 * np.eye(3), [0, 0, 1])
        >>> found.generator.tolist(), float(found.ordinary_defect)
        ([[-1.0, 2.0], [1.0, -2.0]], 0.0)
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
    """Compute `lumping` for the generator A^T - I of a row-stochastic attention matrix A, shape (n, n).

    Args:
        weights: A, (n, n).
        labels: the block of each token, (n,).

    Raises:
        ValueError: unless A is row-stochastic, and as `lumping` does.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import attention_lumping
        >>> weights = np.full((3, 3), 0.25) + 0.25 * np.eye(3)
        >>> attention_lumping(weights, [0, 0, 1]).generator.tolist()
        [[-0.25, 0.5], [0.25, -0.5]]
    """
    return lumping(attention_generator(weights), labels)


def blocks_of(length: int, block: int) -> Int[np.ndarray, " length"]:
    """Label consecutive blocks of `block` states; the last block may be shorter."""
    check_at_least(1, length=length, block=block)
    return np.arange(length) // block


def _checked(labels: Any, k: int) -> np.ndarray:
    found = np.asarray(reals("labels", labels))
    if found.shape != (k,) or not np.issubdtype(found.dtype, np.integer):
        raise ArgumentError("labels", f"be {k} block numbers", f"has shape {found.shape} and type {found.dtype}")
    if np.min(found) < 0 or np.min(np.bincount(found)) == 0:
        must = "number the blocks 0, 1, ... and leave none empty"
        raise ArgumentError("labels", must, f"has the values {np.unique(found)[:8].tolist()}")
    return found


def _product(member: scipy.sparse.csr_array, Q: Matrix | Any, exact: bool) -> np.ndarray:
    """Sum the rows of Q over each block, shape (blocks, k)."""
    if exact:
        return member.toarray().astype(int).astype(object) @ Q
    found: Any = member @ Q
    return found.toarray() if scipy.sparse.issparse(found) else found


def _spread(sums: np.ndarray, blocks: np.ndarray) -> Any:
    """Compute the largest difference of a row of `sums` between two states of one block."""
    order = np.argsort(blocks, kind="stable")
    begins = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    ordered = sums[:, order]
    return np.max(np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1))
