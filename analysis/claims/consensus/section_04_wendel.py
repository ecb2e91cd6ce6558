"""Claims of Remark 4.2 of CONSENSUS: the probability that random tokens share a hemisphere (Wendel)."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import integers, rational_unit
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, holds
from analysis.tokens.hemispheres import (
    hemisphere_axis,
    hemisphere_margin,
    margin_along,
    printed_wendel_probability,
    wendel_probability,
)
from dynsim._core.types import Key
from dynsim.spaces import Sphere


def _determinant(rows: Sequence[Sequence[int]]) -> int:
    """Return the determinant of a small square matrix of integers, by its first row."""
    if not rows:
        return 1
    minors = ([[*row[:k], *row[k + 1 :]] for row in rows[1:]] for k in range(len(rows)))
    return sum((-1) ** k * rows[0][k] * _determinant(minor) for k, minor in enumerate(minors))


def _points(key: Key, l: int, d: int) -> list[list[int]]:
    """Return l integer vectors in R^d in general position: any d of them, or all, are linearly independent."""
    for attempt in itertools.count():
        drawn = integers(jax.random.fold_in(key, attempt), (l, d), -9, 10).tolist()
        square = [*drawn, *([int(i == k) for i in range(d)] for k in range(d - l))]
        if all(_determinant(chosen) for chosen in itertools.combinations(square, d)):
            return drawn
    raise AssertionError


def sides(points: Sequence[Sequence[int]]) -> set[tuple[int, ...]]:
    """Return the choices of signs s for which some v has s_i v^T x_i > 0 for all i, exactly, in general position.

    Each choice is that of a cone of vectors v. If there are at least d points, every cone has an edge: a vector
    orthogonal to d - 1 points, which may have either sign next to it. Fewer points have every choice of signs.
    """
    l, d = len(points), len(points[0])
    if l < d:
        return set(itertools.product((1, -1), repeat=l))
    found: set[tuple[int, ...]] = set()
    for chosen in itertools.combinations(range(l), d - 1):
        rows = [points[i] for i in chosen]
        edge = [(-1) ** k * _determinant([[*r[:k], *r[k + 1 :]] for r in rows]) for k in range(d)]
        signs = [0 if i in chosen else 1 if _product(edge, points[i]) > 0 else -1 for i in range(l)]
        for free in itertools.product((1, -1), repeat=d - 1):
            filled = iter(free)
            one = tuple(next(filled) if s == 0 else s for s in signs)
            found |= {one, tuple(-s for s in one)}
    return found


def _product(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _wendel_trial(key: Key, probability: Callable[[int, int], Fraction], *, crowded: bool = False) -> Trial:
    """Compare, exactly, with the fraction of sign choices for which l points of R^{n+1} are in a common half-space.

    Uniform tokens are in general position almost surely, where that fraction does not depend on them, and each choice
    of their signs has the same probability.
    """
    a, b = jax.random.split(key)
    l, n = (int(k) for k in integers(a, (2,), 1, 6))
    l += 1
    if crowded:  # the term n of the sum is positive, and one more token makes the probability less than 1
        n = min(n, l - 1)
    points = _points(b, l, n + 1)
    together = sides(points)
    tried = [tuple(int(s) for s in row) for row in 1 - 2 * integers(b, (6, l), 0, 2)]
    x = np.array(points, float)
    lacking = Fraction(2 * math.comb(l - 1, n), 2**l)
    agree = all((hemisphere_margin(np.array(s)[:, None] * x) > ROUNDING) == (s in together) for s in tried)
    return Trial(
        hypotheses=(holds("l tokens on S^n, l >= 2, n >= 1", l >= 2 and n >= 1),),
        conclusions=(
            holds("the formula is the fraction of sign choices", probability(l, n) == Fraction(len(together), 2**l)),
            holds("the hemisphere margin that ships is positive for these choices alone", agree),
            holds(
                "the printed sum that ships lacks the last term alone",
                wendel_probability(l, n + 1) - printed_wendel_probability(l, n) == lacking,
            ),
        ),
        witness={"l": l, "n": n, "points": points, "formula": probability(l, n), "counted": len(together)},
        parameters={"l": l, "n": n},
    )


@certified(
    "consensus/remark-4.2-formula",
    num_trials=16,
    note="tokens on S^n lie in R^{n+1}, so that the sum ends at n, not n - 1: two tokens on the circle almost surely "
    "share a half-circle, where the printed formula gives 1/2; for n >= l the missing terms are zero; no control: the "
    "corrected formula is measured by the same function",
)
def printed_wendel(key: Key) -> Trial:
    """The probability that l uniform tokens on S^n share a hemisphere is 2^{1-l} sum_{mu=0}^{n-1} binom(l-1, mu)."""
    return _wendel_trial(key, printed_wendel_probability, crowded=True)


wendel = certified(
    "consensus/remark-4.2-formula/corrected",
    statement="The probability is 2^{1-l} sum_{mu=0}^{n} binom(l-1, mu). Changed: the upper limit of the sum.",
    trial=lambda key: _wendel_trial(key, lambda l, n: wendel_probability(l, n + 1)),
    # The probability for one more token.
    control=lambda key: _wendel_trial(key, lambda l, n: wendel_probability(l + 1, n + 1), crowded=True),
    num_trials=16,
)


def _along_the_axis(x: np.ndarray) -> float:
    axis = hemisphere_axis(x)
    return float("nan") if axis is None else float(margin_along(jnp.asarray(x), jnp.asarray(axis)))


def _certain_trial(key: Key, dimension_of: Callable[[int], int]) -> Trial:
    a, b = jax.random.split(key)
    l = int(jax.random.randint(a, (), 2, 7))
    pair = np.stack([rational_unit(k, 3) for k in jax.random.split(b)])
    pair[1] = pair[1] if pair[0] @ pair[1] >= 0 else -pair[1]
    long = pair.astype(float) * np.array([[1.0], [3.0]])
    inner = np.vstack([pair, 2 * pair[0] + pair[1]]).astype(float)  # the third one is not on the boundary of their cone
    widest = np.sqrt(float((1 + pair[0] @ pair[1]) / 2))  # the cosine of half of the angle between two tokens
    d = dimension_of(l)
    x = np.asarray(Sphere().sample(b, (l, d)))
    return Trial(
        hypotheses=(holds("at least one token", l >= 1),),
        conclusions=(
            holds("the exact probability is 1", wendel_probability(l, d) == 1),
            at_least("hemisphere margin of a sample", hemisphere_margin(x), ROUNDING, tolerance=0.0, within=(0, 1)),
            agrees("the margin of two tokens, and of one in between", hemisphere_margin(inner), widest),
            holds("it is 1 for n + 1 = l, too", wendel_probability(l, l) == 1),
            holds("it is less for n + 1 = l - 1", wendel_probability(l + 1, l) == 1 - Fraction(1, 2**l)),
            agrees("the margin along their axis, one of them three times as long", _along_the_axis(long), widest),
        ),
        witness={"l": l, "d": d, "x": x},
        parameters={"l": l, "n": d - 1},
    )


many_dimensions_make_it_certain = claim(
    "consensus/remark-4.2-certain",
    statement="For n >= l the l uniform tokens on S^n share a hemisphere almost surely (n + 1 >= l suffices).",
    trial=lambda key: _certain_trial(key, lambda l: l + 1),
    control=lambda key: _certain_trial(key, lambda l: l - 1),  # The dimension d = l - 1 for l tokens.
    num_trials=32,
)
