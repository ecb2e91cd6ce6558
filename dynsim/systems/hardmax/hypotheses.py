"""The hypotheses of the clustering theorem, decided exactly for the given numbers, and reported rather than assumed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynsim.exact import positive_definite, rational, rationals
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap


@dataclass(frozen=True)
class Hypotheses:
    """What Theorem 1.1 and Assumption 2.1 ask of A, alpha and the first tokens; floats count at their binary value."""

    symmetric: bool
    definite: bool
    positive_step: bool
    distinct: bool
    nonzero: bool

    @property
    def hold(self) -> bool:
        """Whether all of them hold."""
        return all(vars(self).values())

    def explain(self) -> str:
        """Return one sentence: which hypotheses fail."""
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
    """Return which hypotheses of Theorem 1.1 the map and its first tokens `x`, shape (n, d), meet.

    Definiteness is that of the symmetric part, so that a matrix that is not symmetric has an answer too.

    Source: HARDMAX, Theorem 1.1 and Assumption 2.1.
    """
    z = map.rule.tokens(x)
    A = None if map.rule.attention is None else rationals("attention", map.rule.attention)
    return Hypotheses(
        symmetric=A is None or bool(np.all(A == A.T)),
        definite=A is None or positive_definite(A + A.T),
        positive_step=rational("alpha", map.alpha) > 0,
        distinct=len({tuple(row) for row in z}) == len(z),
        nonzero=all(any(entry != 0 for entry in row) for row in z),
    )
