"""Chains that are hard for numerical methods, in fractions, each with what is known of it in closed form."""

import cmath
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from analysis.claims.multirate.instances.chains import (
    Chain,
    from_rates,
    irreducible_chain,
    two_closed_classes,
    uniform_cycle,
    with_transient,
)
from analysis.claims.rational_instances import Exact, matrix
from dynsim._core.types import Key
from dynsim.keys import numpy_rng

SLOW, FAST = Fraction(1, 10**6), Fraction(10**6)
WEAK = Fraction(1, 10**9)  # the rate between two parts of a nearly decomposable chain
DRIFT = 1000  # rate down over rate up


class Known(NamedTuple):
    """A chain with its stationary distribution and its nonzero eigenvalues, worked out by hand.

    `hard_for` says which computation it is hard for, `period` is its period at the step bound of forward Euler.
    """

    chain: Chain
    hard_for: str
    stationary: Exact
    eigenvalues: tuple[complex, ...]
    reversible: bool = True
    period: int = 1

    @property
    def gap(self) -> float:
        """The spectral gap; infinite for one state."""
        return min((-complex(z).real for z in self.eigenvalues), default=math.inf)

    @property
    def convergent(self) -> float:
        """The step size below which forward Euler converges, the least -2 Re z / |z|^2."""
        return min((-2 * complex(z).real / abs(z) ** 2 for z in self.eigenvalues), default=math.inf)


def _edges(size: int, *rates: tuple[int, int, Fraction | int]) -> Exact:
    """Return a matrix of rates from triples (from, to, rate)."""
    R = matrix(np.zeros((size, size), int))
    for source, target, rate in rates:
        R[target, source] = Fraction(rate)
    return R


def _law(*weights: Fraction | int) -> Exact:
    return matrix(weights) / sum(weights)


def _ring(size: int) -> Exact:
    return matrix(np.roll(np.eye(size, dtype=int), 1, axis=0))


def _roots(size: int) -> list[complex]:
    """Return the roots of unity of an order, except 1."""
    return [cmath.exp(2j * math.pi * n / size) for n in range(1, size)]


RING = from_rates(_ring(4) + _ring(4).T, "ring of four in both directions")


def _known_chains() -> tuple[Known, ...]:
    two = _edges(2, (0, 1, SLOW), (1, 0, FAST))
    pairs = _edges(4, (0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, 1), (1, 2, WEAK), (2, 1, WEAK))
    unequal = _edges(3, (0, 1, 1), (1, 2, 1), (2, 0, 4))  # (1 + 1 + 4)^2 = 4 (1 + 4 + 4): a double eigenvalue -3
    steps = [edge for i in range(4) for edge in ((i, i + 1, 1), (i + 1, i, DRIFT))]
    drift = tuple(2 * math.sqrt(DRIFT) * math.cos(n * math.pi / 5) - 1 - DRIFT for n in range(1, 5))
    link = float(WEAK)
    fast = 1 + link + math.sqrt(1 + link**2)
    chord = Fraction(1, 1000)
    nearly = _ring(4) + chord * (matrix(np.ones((4, 4), int)) - matrix(np.eye(4, dtype=int)))
    return (
        Known(Chain(matrix([[0]]), "one state"), "a step bound, which is infinite", _law(1), ()),
        Known(
            from_rates(two, "two rates of ratio 10^12"),
            "relative accuracy: one probability is 10^-12",
            _law(FAST, SLOW),
            (-float(SLOW + FAST),),
        ),
        Known(
            uniform_cycle(5, Fraction(1)),
            "symmetric methods: complex eigenvalues; periodic at the step bound",
            _law(1, 1, 1, 1, 1),
            tuple(z - 1 for z in _roots(5)),
            reversible=False,
            period=5,
        ),
        Known(RING, "the iteration at the step bound, where it alternates", _law(1, 1, 1, 1), (-2, -2, -4), period=2),
        Known(
            from_rates(pairs, "two weakly coupled pairs"),
            "detection of convergence: nearly reducible, with a relaxation time of 10^9",
            _law(1, 1, 1, 1),
            (-2 * link / fast, -2, -fast),
        ),
        Known(
            from_rates(nearly, "nearly periodic cycle"),
            "the iteration at the step bound: eigenvalues of modulus near one",
            _law(1, 1, 1, 1),
            tuple(z - 1 - 4 * float(chord) for z in _roots(4)),
            reversible=False,
        ),
        Known(
            from_rates(unequal, "defective cycle"),
            "eigenvectors: a Jordan block of size two",
            _law(4, 4, 1),
            (-3, -3),
            reversible=False,
        ),
        Known(
            from_rates(_edges(5, *steps), "line with strong drift"),
            "elimination with subtractions: probabilities down to 10^-12",
            _law(*(DRIFT ** (4 - i) for i in range(5))),
            drift,
        ),
    )


KNOWN = _known_chains()
"""Irreducible chains, hard for different computations."""

_SLOW_EXIT = _edges(4, (0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, WEAK))
_BOTH_ENDS = _edges(4, (1, 0, 1), (1, 2, 2), (2, 1, 3), (2, 3, 1))
REDUCIBLE = (
    Chain(matrix(np.zeros((3, 3), int)), "no transitions"),
    from_rates(_edges(4, (3, 2, 2), (2, 1, 2), (1, 0, 2)), "pure death"),  # a Jordan block of size three
    from_rates(_BOTH_ENDS, "two absorbing ends"),
    from_rates(_SLOW_EXIT, "cycle with a slow exit"),  # nearly a closed class
)
"""Reducible chains: several closed classes, a defective generator, and a class that is nearly closed."""


def known(given: Chain) -> Known | None:
    """Return what is known in closed form of a chain, None for a random one."""
    return next((one for one in KNOWN if one.chain.name == given.name), None)


def some_irreducible_chain(key: Key) -> Chain:
    """Return an irreducible chain: a random one with probability 1/3, else one of `KNOWN`."""
    choice = int(numpy_rng(key, "which chain").integers(3 * len(KNOWN)))
    return KNOWN[choice % len(KNOWN)].chain if choice < 2 * len(KNOWN) else irreducible_chain(key)


def some_chain(key: Key) -> Chain:
    """Return any chain: irreducible, with a transient state, with two closed classes, or one of `REDUCIBLE`."""
    kind = int(numpy_rng(key, "kind of chain").integers(4))
    if kind == 3:
        return REDUCIBLE[numpy_rng(key, "which reducible chain").integers(len(REDUCIBLE))]
    return (some_irreducible_chain, with_transient, two_closed_classes)[kind](key)
