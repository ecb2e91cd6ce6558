"""Check the hypotheses of the clustering theorem in exact arithmetic, for given parameters and tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynsim._core.printing import one_line
from dynsim._core.validation import instance
from dynsim.exact import positive_definite, rational, rationals
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap


@dataclass(frozen=True)
class Hypotheses:
    """Which hypotheses of Theorem 1.1 and Assumption 2.1 hold, taking floats at their exact binary value.

    Attributes:
        symmetric: A is symmetric.
        definite: the symmetric part of A is positive definite.
        positive_step: alpha is positive.
        distinct: the initial tokens are pairwise distinct.
        nonzero: no initial token is zero.

    Source: HARDMAX, Theorem 1.1 and Assumption 2.1.
    """

    symmetric: bool
    definite: bool
    positive_step: bool
    distinct: bool
    nonzero: bool

    __repr__ = one_line

    @property
    def hold(self) -> bool:
        """Whether all hypotheses hold."""
        return all(vars(self).values())

    def __str__(self) -> str:
        """Name the hypotheses that fail in a sentence."""
        words = {
            "symmetric": "A is not symmetric",
            "definite": "A is not positive definite",
            "positive_step": "alpha is not positive",
            "distinct": "two tokens are equal",
            "nonzero": "a token is zero",
        }
        failed = [words[name] for name, met in vars(self).items() if not met]
        return f"Theorem 1.1 does not apply: {', '.join(failed)}." if failed else "The hypotheses of Theorem 1.1 hold."


def hypotheses(map: HardmaxMap | ExactHardmaxMap, x: Any) -> Hypotheses:
    """Check which hypotheses of Theorem 1.1 hold for a map and its initial tokens `x`, shape (n, d).

    Positive definiteness is checked for the symmetric part of A, so it is defined for every A.

    Source: HARDMAX, Theorem 1.1 and Assumption 2.1.
    """
    instance("map", map, HardmaxMap | ExactHardmaxMap, "a HardmaxMap or an ExactHardmaxMap")
    z = map.rule.tokens(x)
    A = None if map.rule.attention is None else rationals("attention", map.rule.attention)
    return Hypotheses(
        symmetric=A is None or bool(np.all(A == A.T)),
        definite=A is None or positive_definite(A + A.T),
        positive_step=rational("alpha", map.alpha) > 0,
        distinct=len({tuple(row) for row in z}) == len(z),
        nonzero=all(any(entry != 0 for entry in row) for row in z),
    )
