"""Sparsity of a Jacobian from the scalar program of the field, and its columns in groups that share no row."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike
from dynsim.programs.program import Program

SMALLEST = 64
"""Least number of unknowns for which a sparse factorisation was faster, measured on tridiagonal Jacobians."""
COLUMNS = 64
"""Number of derivatives computed at a time, which bounds the memory for wide Jacobians."""
DENSEST = 0.25
"""Largest share of the entries of a matrix that its sparse factors may have."""


class Pattern(NamedTuple):
    """Places of the entries of a sparse matrix, column by column, and a group for each column.

    Columns of one group share no row, so that one derivative along their sum gives all of them.
    """

    rows: np.ndarray
    columns: np.ndarray
    groups: np.ndarray

    __repr__ = one_line

    @property
    def size(self) -> int:
        """Number of rows and columns."""
        return len(self.groups)

    @property
    def group(self) -> np.ndarray:
        """The group of the column of each entry."""
        return self.groups[self.columns]

    @property
    def seeds(self) -> np.ndarray:
        """The sums of unit vectors of each group, (groups, unknowns)."""
        return (self.groups == np.arange(self.groups.max() + 1)[:, None]).astype(float)

    def matrix(self, entries: np.ndarray) -> Any:
        """The matrix with these entries, in SciPy's compressed columns."""
        from scipy.sparse import csc_array

        ends = np.searchsorted(self.columns, np.arange(self.size + 1))
        return csc_array((entries, self.rows, ends), shape=(self.size, self.size))


def entries_of(
    function: Callable[[Array], Array], x: Array, seeds: ArrayLike, group: ArrayLike, row: ArrayLike
) -> Array:
    """The entries of the Jacobian of a function at x, from one derivative for each group of its columns.

    Args:
        function: takes and returns a vector.
        x: a vector.
        seeds: the seeds of a `Pattern`.
        group: the group of the column of each entry.
        row: the row of each entry.
    """
    along = lambda direction: jax.jvp(function, (x,), (direction,))[1]
    return jax.lax.map(along, jnp.asarray(seeds), batch_size=COLUMNS)[group, row]


def sparse_pattern(program: Program, size: int) -> Pattern | None:
    """Pattern of the Jacobian of a program of [t, *x] and parameters by x, whatever their values.

    None where sparse factors would be nearly full. Of fewer than `SMALLEST` unknowns full ones are faster.
    """
    used = _dependences(program, size)
    columns: list[list[int]] = [[] for _ in range(size)]
    for row, found in enumerate(used):
        for column in _places(found):
            columns[column].append(row)
    places = np.array([(row, k) for k, rows in enumerate(columns) for row in rows], int).reshape(-1, 2)
    pattern = Pattern(places[:, 0], places[:, 1], _grouped(columns))
    return pattern if _stays_sparse(pattern) else None


def _dependences(program: Program, size: int) -> list[int]:
    """The entries of the state that the derivatives of each output involve, as the bits of a number.

    Each number is forgotten after its last use, since it has as many bits as the state has entries.
    """
    bits = [0] * program.first_operation
    for k in range(size):
        bits[1 + k] = 1 << k
    outputs = [k for output in program.outputs for k in output.ravel().tolist()]
    last = {j: k for k, operation in enumerate(program.operations) for j in operation.operands} | dict.fromkeys(outputs)
    for place, operation in enumerate(program.operations):
        operands = operation.operands[1:] if operation.name == "select_n" else operation.operands
        found = 0
        if operation.dtype.kind == "f":
            for k in operands:
                found |= bits[k]
        bits.append(found)
        for k in operation.operands:
            if last[k] == place:
                bits[k] = 0
    return [bits[k] for k in outputs]


def _places(bits: int) -> list[int]:
    """Positions of the bits of a number that are set."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _grouped(columns: Sequence[Sequence[int]]) -> np.ndarray:
    """Put each column into the first group none of whose columns shares a row with it."""
    taken: list[int] = []
    groups = []
    for rows in columns:
        bits = sum(1 << row for row in rows)
        group = next((k for k, other in enumerate(taken) if not other & bits), len(taken))
        if group == len(taken):
            taken.append(0)
        taken[group] |= bits
        groups.append(group)
    return np.array(groups)


def _stays_sparse(pattern: Pattern) -> bool:
    """Whether the factors of a matrix with this pattern have few entries, tried with random ones."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    most = DENSEST * pattern.size**2
    if len(pattern.rows) > most:
        return False
    entries = np.random.default_rng(0).uniform(-1, 1, len(pattern.rows))
    factors = splu(csc_array(pattern.size * eye_array(pattern.size) - pattern.matrix(entries)))
    return factors.L.nnz + factors.U.nnz <= most
