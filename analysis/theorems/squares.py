"""Polynomials as sums of squares: found by a cone solver, rounded to rational numbers and proved by exact elimination.

Source: H. Peyrl and P. Parrilo, Theoretical Computer Science 409 (2008) 269.
"""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from analysis.theorems.algebra import rational
from dynsim.errors import UnavailableError
from dynsim.exact import positive_definite

Powers = tuple[int, ...]
Polynomial = dict[Powers, Fraction]
"""The coefficient of each monomial, given by the powers of its variables; coefficients are not zero."""

ROUNDINGS = (12, 20, 30, 40)
"""Bits to which the solution of the cone solver is rounded, the shortest first."""


def polynomials(fn: Callable[[Any], Any], size: int) -> list[Polynomial] | None:
    """Compute the entries of a function of a vector of this size as polynomials; None if they are none.

    Floating-point constants are taken as the binary fractions that they are.
    """
    found = rational(fn, size)
    if found is None or not all(entry.denom.is_ground for entry in found):
        return None
    exact = lambda v: Fraction(int(v.numerator), int(v.denominator))
    return [
        {tuple(map(int, powers)): exact(v) / exact(entry.denom.LC) for powers, v in entry.numer.terms()}
        for entry in found
    ]


def added(*terms: tuple[Fraction | int, Polynomial]) -> Polynomial:
    """Compute a linear combination of polynomials."""
    total: defaultdict[Powers, Fraction] = defaultdict(Fraction)
    for factor, polynomial in terms:
        for powers, v in polynomial.items():
            total[powers] += factor * v
    return {powers: v for powers, v in total.items() if v}


def product(one: Polynomial, other: Polynomial) -> Polynomial:
    """Multiply two polynomials."""
    total: defaultdict[Powers, Fraction] = defaultdict(Fraction)
    for a, v in one.items():
        for b, w in other.items():
            total[_sum(a, b)] += v * w
    return {powers: v for powers, v in total.items() if v}


def derivative(polynomial: Polynomial, k: int) -> Polynomial:
    """Differentiate a polynomial by variable k."""
    lowered = lambda a: (*a[:k], a[k] - 1, *a[k + 1 :])
    return {lowered(a): v * a[k] for a, v in polynomial.items() if a[k]}


def along(V: Polynomial, field: Sequence[Polynomial]) -> Polynomial:
    """The derivative of a polynomial along solutions of a polynomial field."""
    return added(*((1, product(derivative(V, k), f)) for k, f in enumerate(field)))


def degree_of(*given: Polynomial) -> int:
    """The largest degree of some polynomials."""
    return max((sum(powers) for one in given for powers in one), default=0)


def monomials(size: int, least: int, most: int) -> list[Powers]:
    """All monomials with degrees in a range, those of low degree first."""
    return [
        tuple(some.count(k) for k in range(size))
        for total in range(least, most + 1)
        for some in itertools.combinations_with_replacement(range(size), total)
    ]


SINGULAR, UNUSED = 1e-7, 1e-4
"""Least eigenvalue of Gram matrices that counts as zero, and the diagonal entry, relative to the largest, that does."""


class _ConeSolution(NamedTuple):
    least: float
    steps: np.ndarray
    grams: list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class MatrixFamily:
    """Polynomials p + sum w_j q_j with unknown weights w, of which one shall be positive except at the origin."""

    fixed: Polynomial
    slopes: tuple[Polynomial, ...] = ()

    def at(self, weights: Sequence[Fraction]) -> Polynomial:
        """The polynomial of these weights."""
        return added((1, self.fixed), *zip(weights, self.slopes, strict=True))


def weights_of_squares(families: Sequence[MatrixFamily], size: int) -> list[Fraction] | None:
    """Find weights with which each polynomial of some families is a sum of squares, positive except at the origin.

    Each polynomial is z' G z with monomials z and a matrix G that exact elimination shows to be positive definite;
    among the monomials is a power of each variable.

    Returns:
        The weights, exact; None if none were found.

    Raises:
        UnavailableError: without clarabel.
    """
    bases = [_basis(family, size) for family in families]
    while all(_is_definite_basis(basis, size) for basis in bases):
        pairs = [_pairs(basis) for basis in bases]
        affine = _representable(families, pairs)
        solved = None if affine is None else _solved(families, bases, pairs, *affine)
        if affine is None or solved is None:
            return None
        if solved.least > SINGULAR:
            return _proved(families, pairs, *affine, solved)
        smaller = [_occurring(basis, G) for basis, G in zip(bases, solved.grams, strict=True)]
        if smaller == bases:
            return None
        bases = smaller
    return None


def _proved(
    families: Sequence[MatrixFamily],
    pairs: Sequence[dict[Powers, list[tuple[int, int]]]],
    start: list[Fraction],
    ways: list[list[Fraction]],
    solved: "_ConeSolution",
) -> list[Fraction] | None:
    """Round a solution of the cone program until the Gram matrices are exactly right and positive definite."""
    size = np.max(np.abs(solved.steps), initial=0.0)
    for bits in ROUNDINGS:
        steps = [_rounded(v, bits, size) for v in solved.steps]
        weights = [
            w + sum((step * way[j] for step, way in zip(steps, ways, strict=True)), Fraction(0))
            for j, w in enumerate(start)
        ]
        parts = zip(families, solved.grams, pairs, strict=True)
        if all(positive_definite(_gram(family.at(weights), G, known, bits)) for family, G, known in parts):
            return weights
    return None


def is_positive(polynomial: Polynomial, size: int) -> bool:
    """Whether a polynomial is shown to be positive except at the origin, as a sum of squares."""
    return weights_of_squares([MatrixFamily(polynomial)], size) is not None


# --- monomials of the squares ---


def _sum(a: Powers, b: Powers) -> Powers:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _basis(family: MatrixFamily, size: int) -> list[Powers]:
    """Monomials that may occur in the squares: without those whose square nothing else could cancel."""
    support = set(family.fixed).union(*family.slopes)
    degrees = [sum(a) for a in support] or [0]
    found = monomials(size, -(-min(degrees) // 2), max(degrees) // 2)
    while True:
        sums = {_sum(a, b) for a, b in itertools.combinations(found, 2)}
        kept = [a for a in found if (twice := _sum(a, a)) in support or twice in sums]
        if len(kept) == len(found):
            return kept
        found = kept


def _occurring(basis: list[Powers], G: np.ndarray) -> list[Powers]:
    """The monomials without those that a singular Gram matrix does not use."""
    sizes = np.diag(G)
    return [a for a, size in zip(basis, sizes, strict=True) if size > UNUSED * np.max(sizes)]


def _is_definite_basis(basis: list[Powers], size: int) -> bool:
    """Whether monomials vanish together only at the origin: a power of each variable is among them, and not 1."""
    alone = {next(k for k, e in enumerate(a) if e) for a in basis if sum(e > 0 for e in a) == 1}
    return len(alone) == size and (0,) * size not in basis


def _pairs(basis: list[Powers]) -> dict[Powers, list[tuple[int, int]]]:
    """The entries (i, j), i <= j, of a Gram matrix that belong to each monomial."""
    found: defaultdict[Powers, list[tuple[int, int]]] = defaultdict(list)
    for j, b in enumerate(basis):
        for i in range(j + 1):
            found[_sum(basis[i], b)].append((i, j))
    return dict(found)


def _representable(
    families: Sequence[MatrixFamily], pairs: Sequence[dict[Powers, Any]]
) -> tuple[list[Fraction], list[list[Fraction]]] | None:
    """The weights with which no polynomial has a monomial that its squares cannot have: a point and directions."""
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    count = len(families[0].slopes)
    zero = Fraction(0)
    rows = [
        [*(slope.get(a, zero) for slope in family.slopes), -family.fixed.get(a, zero)]
        for family, known in zip(families, pairs, strict=True)
        for a in set(family.fixed).union(*family.slopes) - set(known)
    ]
    reduced, pivots = [], ()
    if rows:
        made = DomainMatrix([[QQ(v.numerator, v.denominator) for v in row] for row in rows], (len(rows), count + 1), QQ)
        echelon, pivots = made.rref()
        reduced = [[Fraction(int(v.numerator), int(v.denominator)) for v in row] for row in echelon.to_list()]
    if count in pivots:
        return None
    start, ways = [zero] * count, []
    for row, k in zip(reduced, pivots, strict=False):
        start[k] = row[count]
    for j in sorted(set(range(count)) - set(pivots)):
        way = [zero] * count
        way[j] = Fraction(1)
        for row, k in zip(reduced, pivots, strict=False):
            way[k] = -row[j]
        ways.append(way)
    return start, ways


# --- the cone program ---


def _solved(
    families: Sequence[MatrixFamily],
    bases: Sequence[list[Powers]],
    pairs: Sequence[dict[Powers, list[tuple[int, int]]]],
    start: list[Fraction],
    ways: list[list[Fraction]],
) -> _ConeSolution | None:
    """Maximise the least eigenvalue t <= 1 of all Gram matrices; None if there are none without negative ones."""
    solver = _clarabel()
    sizes = [len(basis) for basis in bases]
    lengths = [n * (n + 1) // 2 for n in sizes]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(int) + len(ways)
    last = int(offsets[-1])
    place = lambda i, j: j * (j + 1) // 2 + i
    equal, wanted = [], []
    for f, (family, known) in enumerate(zip(families, pairs, strict=True)):
        fixed = family.at(start)
        moved = [added((1, family.at(way)), (-1, family.fixed)) for way in ways]
        for a, entries in known.items():
            row = {offsets[f] + place(i, j): 1.0 if i == j else 2**0.5 for i, j in entries}
            row |= {k: -float(one[a]) for k, one in enumerate(moved) if a in one}
            equal.append(row)
            wanted.append(float(fixed.get(a, 0)))
    if not any(wanted):
        equal.append({offsets[0] + place(k, k): 1.0 for k in range(sizes[0])})
        wanted.append(float(sizes[0]))
    rows = [*equal, {last: 1.0}]
    for f, n in enumerate(sizes):
        eye = {place(k, k) for k in range(n)}
        rows += [{offsets[f] + k: -1.0} | ({last: 1.0} if k in eye else {}) for k in range(lengths[f])]
    b = np.array([*wanted, 1.0, *[0.0] * sum(lengths)])
    where = [(r, c, v) for r, row in enumerate(rows) for c, v in row.items()]
    i, j, v = (np.array(part) for part in zip(*where, strict=True))
    A = scipy.sparse.csc_matrix((v, (i, j)), shape=(len(rows), last + 1))
    q = np.zeros(last + 1)
    q[last] = -1.0
    cones = [solver.ZeroConeT(len(equal)), solver.NonnegativeConeT(1), *map(solver.PSDTriangleConeT, sizes)]
    settings = solver.DefaultSettings()
    settings.verbose = False
    P = scipy.sparse.csc_matrix((last + 1, last + 1))
    x = np.array(solver.DefaultSolver(P, q, A, b, cones, settings).solve().x)
    if not (np.all(np.isfinite(x)) and x[last] > -SINGULAR):
        return None
    grams = []
    for f, n in enumerate(sizes):
        G, known = np.zeros((n, n)), x[offsets[f] : offsets[f + 1]]
        for c in range(n):
            for r in range(c + 1):
                G[r, c] = G[c, r] = known[place(r, c)] / (1.0 if r == c else 2**0.5)
        grams.append(G)
    return _ConeSolution(float(x[last]), x[: len(ways)], grams)


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError:
        said = "Sums of squares need the package clarabel: install `dynsim[certificates]`."
        raise UnavailableError(said) from None
    return clarabel


def _rounded(value: float, bits: int, size: float) -> Fraction:
    unit = Fraction(2) ** int(np.ceil(np.log2(size)) - bits) if size else Fraction(1)
    return round(Fraction(float(value)) / unit) * unit


def _gram(polynomial: Polynomial, G: np.ndarray, pairs: dict[Powers, list[tuple[int, int]]], bits: int) -> np.ndarray:
    """Round a Gram matrix and correct it, so that it gives the polynomial exactly."""
    size = float(np.max(np.abs(G)))
    found = np.array([[_rounded(v, bits, size) for v in row] for row in G], dtype=object)
    for a, entries in pairs.items():
        total = sum((found[i, j] * (1 if i == j else 2) for i, j in entries), Fraction(0))
        rest = (polynomial.get(a, Fraction(0)) - total) / sum(1 if i == j else 2 for i, j in entries)
        for i, j in entries:
            found[i, j] = found[j, i] = found[i, j] + rest
    return found
