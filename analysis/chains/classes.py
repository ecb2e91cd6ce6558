"""Find the communicating classes of a chain, closed and transient, and their periods."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from jaxtyping import Int

from dynsim._core.printing import one_line
from dynsim.errors import counted
from dynsim.systems.master_equation.checks import Matrix, check_generator, check_transition, entries

# Largest number of states or classes that a message lists.
SHOWN = 8


@dataclass(frozen=True)
class Classes:
    """Communicating classes of a chain, closed ones first.

    `labels[j]` is the class of state j; classes 0 to `num_closed` - 1 are closed, the others transient.
    """

    labels: Int[np.ndarray, " k"]
    num_classes: int
    num_closed: int

    __repr__ = one_line

    @property
    def irreducible(self) -> bool:
        """Whether the chain is irreducible: all states form one class."""
        return self.num_classes == 1

    def states(self, number: int) -> Int[np.ndarray, " states"]:
        """List the states of the class `number`, in increasing order."""
        return np.flatnonzero(self.labels == number)

    @property
    def transient(self) -> Int[np.ndarray, " states"]:
        """Transient states, in increasing order."""
        return np.flatnonzero(self.labels >= self.num_closed)

    def __str__(self) -> str:
        """Describe the classification in one sentence."""
        if self.irreducible:
            return f"The chain is irreducible: its {counted(len(self.labels), 'state')} form one class."
        closed = ", ".join(shown(self.states(c)) for c in range(min(self.num_closed, SHOWN)))
        more = ", ..." if self.num_closed > SHOWN else ""
        words = f"{counted(self.num_classes, 'class', 'classes')}, {self.num_closed} of them closed: {closed}{more}"
        return f"The chain is reducible: {words}; {counted(len(self.transient), 'state')} transient."


def communicating_classes(generator: Any) -> Classes:
    """Find the communicating classes of a generator, shape (k, k), from its sparsity pattern.

    Raises:
        ValueError: unless the matrix is a generator: off-diagonal entries not negative, columns that sum to zero.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import communicating_classes
        >>> classes = communicating_classes(np.array([[-1.0, 0.0], [1.0, 0.0]]))  # state 0 leaves for state 1
        >>> classes.labels.tolist(), classes.num_closed, classes.transient.tolist()
        ([1, 0], 1, [0])
    """
    return classes_of_pattern(check_generator(generator))


def transition_classes(weights: Any) -> Classes:
    """Find the communicating classes of a row-stochastic matrix, shape (k, k), from its sparsity pattern.

    Raises:
        ValueError: unless the matrix is row-stochastic.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import transition_classes
        >>> transition_classes(np.array([[0.5, 0.5], [0.0, 1.0]])).labels.tolist()
        [1, 0]
    """
    return classes_of_pattern(check_transition(weights).T)


def periods(weights: Any) -> tuple[int, ...]:
    """Compute the period of each closed class of a row-stochastic matrix, in the order of `transition_classes`.

    The powers of the matrix converge on a closed class if and only if its period is 1. The sparsity pattern decides, so
    that an entry that is nonzero only by rounding counts, too.

    Raises:
        ValueError: unless the matrix is row-stochastic.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import periods
        >>> periods(np.array([[0.0, 1.0], [1.0, 0.0]]))
        (2,)
    """
    A = check_transition(weights)
    classes = classes_of_pattern(A.T)
    return tuple(_period(_graph(A.T), classes.states(c)) for c in range(classes.num_closed))


def shown(states: np.ndarray) -> str:
    """Format a set of states in braces, with at most the first `SHOWN`."""
    numbers = ", ".join(str(s) for s in states[:SHOWN].tolist())
    return f"{{{numbers}{', ...' if len(states) > SHOWN else ''}}}"


def _graph(matrix: Matrix | Any) -> scipy.sparse.csr_array:
    """Build the directed graph with an edge j -> i for every nonzero `matrix[i, j]`, as an adjacency matrix."""
    rows, columns, values = entries(matrix if isinstance(matrix, np.ndarray) else scipy.sparse.csc_array(matrix))
    edges = (np.ones(len(values)), (columns, rows))
    return scipy.sparse.csr_array(edges, shape=matrix.shape)


def classes_of_pattern(matrix: Matrix | Any) -> Classes:
    """Find the communicating classes of a matrix with an edge j -> i for every nonzero `matrix[i, j]`."""
    graph = _graph(matrix)
    number, labels = scipy.sparse.csgraph.connected_components(graph, directed=True, connection="strong")
    begin, end = graph.nonzero()
    left = np.unique(labels[begin[labels[begin] != labels[end]]])
    first = np.full(number, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    is_left = np.isin(np.arange(number), left)
    order = np.lexsort((first, is_left))
    rank = np.empty(number, int)
    rank[order] = np.arange(number)
    return Classes(rank[labels], int(number), int(number - len(left)))


def _period(graph: scipy.sparse.csr_array, states: np.ndarray) -> int:
    """Compute the greatest common divisor of the cycle lengths in a class, from breadth-first levels."""
    part = scipy.sparse.csr_array(graph[states][:, states])
    level = scipy.sparse.csgraph.shortest_path(part, unweighted=True, indices=0).astype(int)
    begin, end = part.nonzero()
    return int(math.gcd(*(level[begin] + 1 - level[end]).tolist()))
