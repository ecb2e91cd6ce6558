"""The theorem of Perron and Frobenius: an irreducible matrix without negative entries has one dominant eigenvalue."""

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse.csgraph

from analysis.theorems.conditions import FAILS, HOLDS, Conditions, Hypothesis, known, theorem
from analysis.theorems.linear import matrix_of
from dynsim.exact import Exact
from dynsim.systems.base import AbstractFlow


@theorem
def perron_frobenius(system: Any, *, flow: bool = False, primitive: bool = False) -> Conditions:
    """Check whether a linear system has one dominant eigenvalue with a positive eigenvector (Perron and Frobenius).

    The matrix of a map must have no negative entries and be irreducible: its graph joins each component to each other
    one. Of a flow x' = A x, only entries off the diagonal must not be negative (a Metzler matrix); then the eigenvalue
    with the largest real part is meant.

    Args:
        system: a linear map or flow with named components, or a matrix, (n, n).
        flow: whether a matrix is that of a flow.
        primitive: ask, for a map, that all other eigenvalues are smaller in modulus, too.

    Returns:
        The conditions; `numbers` holds proved bounds of the dominant eigenvalue, by Collatz and Wielandt.

    Raises:
        ValueError: for bad input.

    Source: C. Meyer, Matrix Analysis and Applied Linear Algebra, SIAM 2000, chapter 8.3.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import perron_frobenius
        >>> found = perron_frobenius(ds.system("x[n+1] = y; y[n+1] = x + y"))  # Fibonacci's numbers
        >>> found.applies, round(found.numbers["r_low"], 6)
        (True, 1.618034)
    """
    A = matrix_of(system, "the theorem of Perron and Frobenius")
    of_flow = isinstance(system, AbstractFlow) or flow
    rows = [known("the system is linear", "x' = A x" if of_flow else "x[n+1] = A x[n]", A is not None)]
    numbers: dict[str, float] = {}
    if A is not None:
        rows += [not_negative(A, of_flow), irreducible(A)]
        if primitive and not of_flow:
            rows.append(known("the matrix is primitive", "a power of it is positive", _is_primitive(A)))
        if all(row.status == HOLDS for row in rows):
            numbers = _bounds(A)
    most = "largest real part" if of_flow else "largest modulus"
    others = "; all others are smaller in modulus" if primitive and not of_flow else ""
    return Conditions(
        "Theorem of Perron and Frobenius", tuple(rows),
        f"the eigenvalue of the {most} is real and simple, between r_low and r_high, and only it has a positive "
        f"eigenvector{others}",
        "several eigenvalues may be dominant, or the eigenvector may have zeros", None,
        system if not isinstance(system, np.ndarray) else None, numbers,
    )  # fmt: skip


def not_negative(A: Exact, of_flow: bool) -> Hypothesis:
    """Decide whether a matrix has no negative entry; that of a flow may have them on its diagonal."""
    n = len(A)
    entries = {(i, j): A[i, j] for i in range(n) for j in range(n) if not (of_flow and i == j)}
    words = "no entry" + (" off the diagonal" if of_flow else "") + " is negative"
    if not entries:
        return known(words, "there is one component", True)
    (i, j), least = min(entries.items(), key=lambda item: item[1])
    sense = "A_ij >= 0" if least >= 0 else f"A_{i + 1},{j + 1} >= 0"
    return Hypothesis(words, sense, HOLDS if least >= 0 else FAILS, float(least), "algebra")


def irreducible(A: Exact) -> Hypothesis:
    """Decide whether the graph of the entries that are not zero is strongly connected."""
    count, labels = scipy.sparse.csgraph.connected_components(A != 0, connection="strong")
    words, sense = "the matrix is irreducible", "its graph is strongly connected"
    if count == 1:
        return known(words, sense, True)
    ends = [k + 1 for k in np.flatnonzero(labels == labels[0])]
    return known(words, f"{sense}; component {', '.join(map(str, ends[:8]))} are a part of {count}", False)


def _is_primitive(A: Exact) -> bool:
    """Whether a power of a matrix without negative entries is positive, by Wielandt's bound on the power."""
    n, step = len(A), A != 0
    power, exponent = np.eye(n, dtype=bool), (n - 1) ** 2 + 1
    while exponent:
        if exponent % 2:
            power = (power.astype(int) @ step.astype(int)) > 0
        step, exponent = (step.astype(int) @ step.astype(int)) > 0, exponent // 2
    return bool(np.all(power))


def _bounds(A: Exact) -> dict[str, float]:
    """Bounds of the dominant eigenvalue: the least and the largest (A x)_i / x_i for a positive vector x."""
    values, vectors = np.linalg.eig(np.array(A, float))
    x = np.abs(np.real(vectors)[:, np.argmax(np.real(values))])
    x = np.array([Fraction(float(v)) for v in np.maximum(x, 1e-12 * np.max(x))], dtype=object)
    ratios = (A @ x) / x
    outwards = lambda value, way: float(np.nextafter(float(value), way))
    return {"r_low": outwards(min(ratios), -np.inf), "r_high": outwards(max(ratios), np.inf)}
