"""Choose the fastest interaction from the number of tokens, their dimension, the mask, P and the tolerance."""

from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from dynsim._core.placement import current
from dynsim._core.printing import one_line
from dynsim._core.types import Time, Tokens
from dynsim.errors import ArgumentError
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Dense, Heads
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic, check_harmonic, check_tolerance, checked_tolerance
from dynsim.systems.tokens.interactions.masks import Causal

DENSE_MOST = 256  # largest number of tokens for `Dense`: below it, blocks save less time than their compilation costs


class Times(NamedTuple):
    """Measured times of a machine in nanoseconds, in double precision."""

    pair: float  # of exact sums for each pair of tokens; on a processor a third less where P is symmetric
    pair_per_dimension: float  # in addition for each dimension
    single: float  # fraction that single precision takes
    term: dict[int, float]  # of harmonics for each token: per degree on the circle, per squared degree on the sphere
    fixed: float  # of harmonics in addition, for any number of tokens
    inside: int  # pairs inside a chunk that causal harmonics sum for each token


TIMES = {
    # one core of an Intel Xeon, by the benchmark `interactions`
    "cpu": Times(1.1, 0.06, 0.38, {2: 16.0, 3: 3.5}, 1e5, 256),
    # an H200, by the benchmark `gpu_fields`
    "gpu": Times(5.5e-4, 5.5e-4, 0.19, {2: 0.2, 3: 0.003}, 1e5, 4096),
}


class Choice(NamedTuple):
    """An interaction and the reason why it was chosen."""

    interaction: AbstractInteraction
    reason: str

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the choice in one sentence."""
        name = type(self.interaction).__name__
        if isinstance(self.interaction, Harmonic):
            name += f", degree {self.interaction.degree}"
        return f"{name}: {self.reason}."


@dataclass(frozen=True)
class Obstacle:
    """Why harmonics are unavailable. All instances compare equal, so that the message never triggers recompilation."""

    words: str = field(compare=False)


class Auto(AbstractInteraction):
    """The fastest interaction for the given number of tokens and tolerance.

    Without a tolerance only exact interactions are considered: `Dense` for few tokens and `Blocked` for many. With a
    tolerance of the kernel, as in `Harmonic`, the expansion in harmonics is considered too.
    """

    tolerance: float | None = eqx.field(static=True)
    harmonic: Harmonic | None
    obstacle: Obstacle = eqx.field(static=True)

    def __init__(self, tolerance: float | None = None):
        """Store the tolerance of the kernel; None restricts the choice to exact interactions."""
        self.tolerance = None if tolerance is None else checked_tolerance(tolerance)
        self.harmonic = None
        self.obstacle = Obstacle("no tolerance is given for harmonics" if tolerance is None else "")

    def prepared(self, heads: Heads) -> "Auto":
        """The same interaction with the degree of its harmonics, or with the reason why harmonics are unavailable."""
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
        """Output of the attention heads, computed by the interaction chosen for these tokens."""
        return self.chosen(heads, x.shape[0], x.dtype).interaction.output(heads, t, x)

    def chosen(self, heads: Heads, n: int, dtype: type | np.dtype = np.float64) -> Choice:
        """Choose an interaction for `n` tokens of the given dtype, and state the reason."""
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
    """Predicted times of one evaluation of the vector field, in nanoseconds."""

    exact: float
    harmonic: float


def costs(n: int, d: int, heads: int, degree: int, dtype: type | np.dtype, *, causal: bool) -> Costs:
    """Predict the times of blocks and of harmonics from measured constants."""
    machine = TIMES.get(current().platform, TIMES["cpu"])
    width = 1.0 if jnp.dtype(dtype) == jnp.float64 else machine.single
    pair = (machine.pair + machine.pair_per_dimension * d) * width
    pairs = n * n * heads * pair / (2 if causal else 1)
    terms = n * (1 + heads) / 2 * machine.term[d] * (degree + 1) ** (d - 1) * width
    inside = n * machine.inside * heads * machine.pair * width if causal else 0.0
    return Costs(pairs, terms + inside + machine.fixed)
