"""Stochastic Runge-Kutta methods as tableaux, and their coefficients on trees."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from analysis.theorems.noise.words import Combination, Word, combined, integral, product
from dynsim._core.printing import one_line
from dynsim._core.validation import choice
from dynsim.errors import ArgumentError, shown

VARIABLES: dict[str, Word] = {"sqrt(h)": (), "I1": (1,), "I11": (1, 1), "I10": (1, 0), "I111": (1, 1, 1)}
"""The random variables of a step, each divided by the power of h that leaves the order of a root of h."""
Tree = tuple[int, tuple[Any, ...]]
"""A rooted tree: its colour, 0 for the drift and 1 for the noise, and its branches."""
Matrix = Sequence[Sequence[Any]]


@dataclasses.dataclass(frozen=True, repr=False)
class StochasticTableau:
    """A stochastic Runge-Kutta method for dx = a(x) dt + b(x) dW with scalar noise, in the notation of Roessler.

    A step is x + sum alpha_i a(H0_i) h + sum beta_i b(H1_i), with the stages H0_i = x + sum A0_ij a(H0_j) h + sum B0_ij
    b(H1_j) and H1_i = x + sum A1_ij a(H0_j) h + sum B1_ij b(H1_j). The entries of beta, B0 and B1 are sums over random
    variables: "sqrt(h)", "I1" for the increment of W, "I11" for I(1,1) / sqrt(h), "I10" for I(1,0) / h, the integral of
    W divided by h, and "I111" for I(1,1,1) / h.

    Args of the constructor: numbers, fractions, or texts such as "2/3"; floats count as the binary fractions that they
    are. Matrices that are left out are zero.

    Attributes:
        alpha: weights of the drift, (stages,).
        beta: weights of the noise by random variable, (stages,) each.
        A0, A1: drift in the stages of the drift and of the noise, (stages, stages).
        B0, B1: noise in these stages by random variable, (stages, stages) each.
        calculus: "ito" or "stratonovich".
        name: the name of the method.

    Example:
        >>> from analysis.theorems import StochasticTableau, order_conditions
        >>> later = [[0, 0], [1, 0]]
        >>> heun = StochasticTableau(["1/2", "1/2"], {"I1": ["1/2", "1/2"]}, later, {"I1": later}, later, {"I1": later},
        ...                          calculus="stratonovich")
        >>> order_conditions(heun, strong=1).applies
        True
    """

    alpha: Sequence[Any]
    beta: Mapping[str, Sequence[Any]]
    A0: Matrix | None = None
    B0: Mapping[str, Matrix] = dataclasses.field(default_factory=dict)
    A1: Matrix | None = None
    B1: Mapping[str, Matrix] = dataclasses.field(default_factory=dict)
    calculus: str = "ito"
    name: str = "the method"

    __repr__ = one_line

    def __str__(self) -> str:
        return f"{self.name}, {self.calculus.capitalize()}, {len(self.alpha)} stages"

    def __post_init__(self) -> None:
        choice("calculus", self.calculus, ("ito", "stratonovich"))
        _ = self._rows, self._couplings  # refuses numbers and shapes that do not fit

    @property
    def is_ito(self) -> bool:
        """Whether the method is for Ito's integral."""
        return self.calculus == "ito"

    @property
    def variables(self) -> set[str]:
        """The random variables that are used."""
        return {name for part in (self.beta, self.B0, self.B1) for name in part}

    @functools.cached_property
    def _rows(self) -> tuple[list[Combination], list[Combination]]:
        """Weights of the drift and of the noise."""
        s = len(self.alpha)
        drift = [{(0,): _exact("alpha", v)} for v in self.alpha]
        return drift, _random("beta", self.beta, s)

    @functools.cached_property
    def _couplings(self) -> dict[tuple[int, int], list[list[Combination]]]:
        """Entries by the colours of the stage and of what is added to it."""
        s = len(self.alpha)
        zero = [[0] * s] * s
        found = {}
        for colour, A, B in ((0, self.A0, self.B0), (1, self.A1, self.B1)):
            rows = _shaped(f"A{colour}", zero if A is None else A, s)
            found[colour, 0] = [[{(0,): _exact(f"A{colour}", v)} for v in row] for row in rows]
            flat = {k: list(itertools.chain(*_shaped(f"B{colour}", M, s))) for k, M in B.items()}
            sums = _random(f"B{colour}", flat, s * s)
            found[colour, 1] = [sums[k * s : (k + 1) * s] for k in range(s)]
        return found

    def coefficient(self, tree: Tree) -> Combination:
        """The coefficient of an elementary differential in a step."""
        colour, branches = tree
        return self._sum(self._rows[colour], colour, branches)

    def _sum(self, weights: Sequence[Combination], colour: int, branches: tuple[Tree, ...]) -> Combination:
        total = []
        for k, weight in enumerate(weights):
            value = weight
            for branch in branches:
                if value:
                    below = self._sum(self._couplings[colour, branch[0]][k], *branch)
                    value = product(value, below, is_ito=self.is_ito)
            total.append((1, value))
        return combined(*total)


def _shaped(name: str, M: Matrix, size: int) -> Matrix:
    """Check that a matrix is square."""
    if len(M) != size or any(len(row) != size for row in M):
        raise ArgumentError(name, f"have {size} rows of {size} entries, for the stages", f"is {shown(M)}")
    return M


def _random(name: str, parts: Mapping[str, Sequence[Any]], size: int) -> list[Combination]:
    """Sum the entries for each random variable."""
    for variable, values in parts.items():
        if variable not in VARIABLES:
            raise ArgumentError(name, f"name variables, of {', '.join(VARIABLES)}", f"names {variable!r}")
        if len(values) != size:
            raise ArgumentError(name, f"have {size} entries", f"has {len(values)}")
    terms = lambda k: [(_exact(name, values[k]), {VARIABLES[one]: Fraction(1)}) for one, values in parts.items()]
    return [combined(*terms(k)) for k in range(size)]


def _exact(name: str, value: Any) -> Fraction:
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ArgumentError(name, "hold numbers or fractions such as '2/3'", f"holds {shown(value)}") from None


# --- trees ---


@functools.cache
def trees(total: int) -> tuple[Tree, ...]:
    """All trees of a weight, twice the order: two for each node of the drift, one for each node of the noise."""
    found = [(colour, branches) for colour in (1, 0) if total >= 2 - colour for branches in forests(total - 2 + colour)]
    return tuple(found)


@functools.cache
def forests(total: int) -> tuple[tuple[Tree, ...], ...]:
    """All multisets of trees of a total weight."""
    return tuple(_forests(total, total))


def _forests(total: int, most: int) -> list[tuple[Tree, ...]]:
    if not total:
        return [()]
    found = []
    for size in range(min(total, most), 0, -1):
        for count in range(1, total // size + 1):
            for some in itertools.combinations_with_replacement(trees(size), count):
                found += [(*some, *rest) for rest in _forests(total - count * size, size - 1)]
    return found


def exact_integral(tree: Tree, *, is_ito: bool) -> Combination:
    """The iterated integral of a tree in the expansion of the solution."""
    inner: Combination = {(): Fraction(1)}
    for branch in tree[1]:
        inner = product(inner, exact_integral(branch, is_ito=is_ito), is_ito=is_ito)
    return integral(inner, tree[0])


def is_additive(tree: Tree) -> bool:
    """Whether no node of the noise has branches, so that the tree counts for a constant b."""
    return (tree[0] == 0 or not tree[1]) and all(map(is_additive, tree[1]))


def written(tree: Tree) -> str:
    """Write the elementary differential of a tree, such as b'(a)."""
    name, branches = "ab"[tree[0]], tree[1]
    return f"{name}{chr(39) * len(branches)}({', '.join(map(written, branches))})" if branches else name


# --- methods ---

_SECOND = [[0, 0], [1, 0]]
METHODS = {
    "euler-maruyama": StochasticTableau([1], {"I1": [1]}, name="Euler-Maruyama"),
    "milstein": StochasticTableau(
        [1, 0], {"I1": [1, 0], "I11": [-1, 1]}, B1={"sqrt(h)": _SECOND},
        name="Milstein's method, with a difference for b'",
    ),
    "euler-heun": StochasticTableau(
        [1, 0], {"I1": ["1/2", "1/2"]}, B1={"I1": _SECOND}, calculus="stratonovich", name="Euler-Heun"
    ),
    "stochastic-heun": StochasticTableau(
        ["1/2", "1/2"], {"I1": ["1/2", "1/2"]}, _SECOND, {"I1": _SECOND}, _SECOND, {"I1": _SECOND},
        calculus="stratonovich", name="stochastic Heun",
    ),
    "platen-weak-2": StochasticTableau(
        ["1/2", "1/2", 0], {"I1": ["1/2", "1/4", "1/4"], "I11": [0, "1/2", "-1/2"]},
        [[0, 0, 0], [1, 0, 0], [0, 0, 0]], {"I1": [[0, 0, 0], [1, 0, 0], [0, 0, 0]]},
        [[0, 0, 0], [1, 0, 0], [1, 0, 0]], {"sqrt(h)": [[0, 0, 0], [1, 0, 0], [-1, 0, 0]]},
        name="Platen's method",
    ),
    "sra1": StochasticTableau(
        ["1/3", "2/3"], {"I1": [1, 0], "I10": [-1, 1]}, [[0, 0], ["3/4", 0]], {"I10": [[0, 0], ["3/2", 0]]}, name="SRA1"
    ),
    "sriw1": StochasticTableau(
        ["1/3", "2/3", 0, 0],
        {
            "I1": [-1, "4/3", "2/3", 0], "I11": [-1, "4/3", "-1/3", 0],
            "I10": [2, "-4/3", "-2/3", 0], "I111": [-2, "5/3", "-2/3", 1],
        },
        [[0] * 4, ["3/4", 0, 0, 0], [0] * 4, [0] * 4], {"I10": [[0] * 4, ["3/2", 0, 0, 0], [0] * 4, [0] * 4]},
        [[0] * 4, ["1/4", 0, 0, 0], [1, 0, 0, 0], [0, 0, "1/4", 0]],
        {"sqrt(h)": [[0] * 4, ["1/2", 0, 0, 0], [-1, 0, 0, 0], [-5, 3, "1/2", 0]]},
        name="SRIW1",
    ),
}  # fmt: skip
"""Methods by name: K. Kloeden and E. Platen 1992, sections 10.2, 11.1, 15.1; A. Roessler 2010, tables 6.1 and 6.2."""
