"""The choice of an interaction by the number of tokens, their dimension, the mask, P and the tolerance."""

from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from dynsim._core.printing import one_line
from dynsim._core.types import Time, Tokens
from dynsim.errors import ArgumentError
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Dense, Heads
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic, check_harmonic, check_tolerance, checked_tolerance
from dynsim.systems.tokens.interactions.masks import Causal

# Nanoseconds on one core (of an Intel Xeon), measured by `python -m tests.quality.benchmarks --only interactions`.
PAIR, PAIR_PER_DIMENSION = 1.1, 0.06  # of blocks, for a pair of tokens; a third less where P is symmetric
SINGLE = 0.38  # of these times in float32
DENSE_MOST = 256  # tokens, up to which blocks gain less than their program takes longer to compile
TERM = {2: 16.0, 3: 3.5}  # of harmonics, for a token and a degree on the circle, and a degree squared on the sphere
FIXED = 1e5  # nanoseconds of harmonics for any number of tokens


class Choice(NamedTuple):
    """An interaction that was chosen, and the reason in one clause."""

    interaction: AbstractInteraction
    reason: str

    __repr__ = one_line

    def __str__(self) -> str:
        """Return one sentence."""
        name = type(self.interaction).__name__
        if isinstance(self.interaction, Harmonic):
            name += f", degree {self.interaction.degree}"
        return f"{name}: {self.reason}."


@dataclass(frozen=True)
class Obstacle:
    """Why there are no harmonics. All are equal: the words, with numbers of P in them, must not part programs."""

    words: str = field(compare=False)


class Auto(AbstractInteraction):
    """The fastest interaction for the tokens at hand.

    Without a tolerance only exact ones are considered: all weights at once for few tokens, else blocks. With a
    tolerance of the kernel, as `Harmonic` has it, harmonics as well.
    """

    tolerance: float | None = eqx.field(static=True)
    harmonic: Harmonic | None
    obstacle: Obstacle = eqx.field(static=True)

    def __init__(self, tolerance: float | None = None):
        """Store the tolerance, none by default."""
        self.tolerance = None if tolerance is None else checked_tolerance(tolerance)
        self.harmonic = None
        self.obstacle = Obstacle("no tolerance is given for harmonics" if tolerance is None else "")

    def prepared(self, heads: Heads) -> "Auto":
        """Return the same with the degree of the harmonics, or with the reason why there are none."""
        if self.tolerance is None:
            return self
        made = Auto(self.tolerance)
        try:
            check_harmonic(heads)
            object.__setattr__(made, "harmonic", Harmonic(self.tolerance).prepared(heads))
        except ArgumentError as error:
            object.__setattr__(made, "obstacle", Obstacle(str(error).rstrip(".")))
        return made

    def output(self, heads: Heads, t: Time, x: Tokens) -> Tokens:
        """Return the output by the interaction that is chosen for these tokens."""
        return self.chosen(heads, x.shape[0], x.dtype).interaction.output(heads, t, x)

    def chosen(self, heads: Heads, n: int, dtype: type | np.dtype = np.float64) -> Choice:
        """Return the choice for n tokens of a type, with its reason."""
        exact = Dense() if n <= DENSE_MOST else Blocked()
        if self.harmonic is None or self.tolerance is None:
            return Choice(exact, self._why(n, self.obstacle.words))
        try:
            check_tolerance(self.tolerance, dtype)
        except ArgumentError as error:
            return Choice(exact, self._why(n, str(error).rstrip(".")))
        number_of_heads, d, _ = heads.query_key.shape
        times = costs(n, d, number_of_heads, self.harmonic.degree, dtype, causal=isinstance(heads.mask, Causal))
        if times.harmonic < times.exact:
            least = f"its {self.harmonic.degree} degrees take about {times.exact / times.harmonic:.2g} times less work"
            return Choice(self.harmonic, f"{least} than the pairs of {n} tokens")
        return Choice(exact, f"the pairs of {n} tokens are less work than {self.harmonic.degree} degrees of harmonics")

    def _why(self, n: int, obstacle: str) -> str:
        size = (
            f"{n} tokens are {'few enough for all weights at once' if n <= DENSE_MOST else 'too many for all weights'}"
        )
        return f"{size}, and {obstacle}"


class Costs(NamedTuple):
    """Predicted times of one field on one core, in nanoseconds."""

    exact: float
    harmonic: float


def costs(n: int, d: int, heads: int, degree: int, dtype: type | np.dtype, *, causal: bool) -> Costs:
    """Return the predicted times of blocks and of harmonics, from measured constants."""
    double = jnp.dtype(dtype) == jnp.float64
    width = 1.0 if double else SINGLE
    pairs = n * n * heads * (PAIR + PAIR_PER_DIMENSION * d) * width / (2 if causal else 1)
    terms = n * (1 + heads) / 2 * TERM[d] * (degree + 1) ** (d - 1) * width
    inside = n * 256 * heads * PAIR * width if causal else 0.0
    return Costs(pairs, terms + inside + FIXED)
