"""Claims of Section 4.2: separation of balls around points of S, and tokens that stay in one of them."""

import itertools
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    BEYOND,
    CertifiedRun,
    certified_trial,
    is_subset,
    tied_case,
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.zoo import FACES, hard_case, polygon
from analysis.claims.rational_instances import Exact, matrix, rational_unit
from analysis.hardmax.polytopes import distinct_limits
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, at_least, holds
from analysis.tokens.clusters import clusters
from dynsim._core.types import Key

INTERVAL = 30  # layers between comparisons of distances, after the follower sets are certified to be final


def _separation_measures(run: CertifiedRun, key: Key, *, with_tie: bool) -> tuple[Measurement, ...]:
    """Measure (4.26) for a random s_0 in S at extremal and random points of the balls, and what follows for the map."""
    b, c = jax.random.split(key)
    points = run.candidates.points
    level = lambda s0: [s for s in points if s @ s0 == s0 @ s0 and any(s != s0)]
    below = lambda s0: [s for s in points if s @ s0 < s0 @ s0]
    choices = [s for s in points if below(s) and (level(s) or not with_tie)]
    s0 = choices[int(jax.random.randint(b, (), 0, len(choices)))]
    largest = max(sum(abs(s)) for s in points)  # the 1-norm is an upper bound of the Euclidean norm
    others, gap = level(s0) if with_tie else below(s0), lambda some: min(s0 @ s0 - s @ s0 for s in some)
    radius = gap(below(s0)) / (8 * largest)
    keys = jax.random.split(c, len(others))
    worst = min(_least_difference(k, s0, s, radius) for k, s in zip(keys, others, strict=True))
    return (
        at_least("least <x, x> - <y, x> at the points tried", worst, 0.0, tolerance=0.0),
        holds("it is positive there", worst > 0),
        holds(
            "(4.27) and (4.28) bound it from below for all points",
            gap(others) > 2 * (2 * largest + radius) * radius,
        ),
        holds("no token in the ball of s_0 follows one in a ball of S'", _apart(run, s0, others, radius)),
    )


def _apart(run: CertifiedRun, s0: Exact, others: list[Exact], radius: Fraction) -> bool:
    """Return whether no token near s_0 follows a token near one of the others, in any layer of the trajectory."""
    inside = lambda x, s: (x - s) @ (x - s) <= radius**2
    for x in run.path[:: BEYOND // 4]:
        away = {j for j, z in enumerate(x) if any(inside(z, s) for s in others)}
        sets = run.case.map.follower_sets(x)
        if any(away & set(sets.of(i).tolist()) for i, z in enumerate(x) if inside(z, s0)):
            return False
    return True


def _least_difference(key: Key, s0: Exact, s: Exact, radius: Fraction) -> Fraction:
    """Return the least <x, x> - <y, x> over x and y on spheres around s_0 and s: at random, and where it is least.

    It decreases fastest in x in the direction s - 2 s_0, and in y in the direction of s_0; these are shortened to a
    norm of at most one and at least 1/sqrt(d).
    """
    units = [rational_unit(k, len(s0)) for k in jax.random.split(key, 3)] if len(s0) > 1 else [matrix([1])]
    steepest = [v / sum(abs(v)) for v in (s - 2 * s0, s0, -s0) if any(v)]
    moves = [*units, *(-u for u in units), *steepest]
    return min((s0 + radius * u) @ (s0 + radius * u - s - radius * w) for u in moves for w in moves)


@certified(
    "hardmax/lemma-4.5",
    num_trials=8,
    note="A = I; S' consists of all points of S that meet the hypothesis; for s_0 = 0 there are none; delta is "
    "computed from S, as in the proof; what the lemma is used for, that no token near s_0 follows one near S', is "
    "measured on the map; extremal points and random ones are tried, and the bound of the proof is evaluated for all",
)
def balls_are_separated(key: Key) -> Trial:
    """If <s, s_0> < <s_0, s_0> for all s in S', there is delta > 0 with <y, x> < <x, x> for all x in B_delta(s_0) and
    y in B_delta(s), s in S'.
    """
    a, b, c = jax.random.split(key, 3)
    name, given = hard_case(b, *FACES, with_identity=True)
    cases = {"box": tied_case(a, with_identity=True), name: given}
    return certified_trial(cases, _separation_measures, key=c, with_tie=False)


@balls_are_separated.with_control
def balls_are_separated(key: Key) -> Trial:
    """Points s with <s, s_0> = <s_0, s_0> in place of S'."""
    a, b = jax.random.split(key)
    return certified_trial({"polygon": polygon(a, with_identity=True)}, _separation_measures, key=b, with_tie=True)


def _balls_measures(run: CertifiedRun, share: Fraction) -> tuple[Measurement, ...]:
    """Measure that tokens stay in disjoint balls around points of S, of `share` times their least distance."""
    S, A = run.candidates.points, run.case.attention
    gaps = [(s - t) @ A @ (s - t) for i, s in enumerate(S) for t in S[:i]]
    square = share**2 * min(gaps, default=Fraction(1))
    layers = [run.certificate.num_layers + INTERVAL * k for k in range(1, 5)]
    far = [
        [(x - s) @ A @ (x - s) for x, s in zip(run.certificate.tokens(k), run.certificate.limits, strict=True)]
        for k in layers
    ]
    stays = all(a >= b for before, after in itertools.pairwise(far) for a, b in zip(before, after, strict=True))
    return (
        holds("the balls around the points of S are disjoint", all(4 * square < gap for gap in gaps)),
        holds("every token is in the ball of its limit", max(far[-1]) < square),
        holds("its distance from the limit does not grow", stays),
        is_subset("every limit is in S", run.certificate.limits, values(S)),
        _clusters_are_those_of_limits(run),
        _clusters_are_chains(np.asarray(run.path[0], float)),
    )


def _clusters_are_those_of_limits(run: CertifiedRun) -> Measurement:
    """Measure that tokens far along the trajectory are grouped by their limits, numbered as these first occur."""
    limits = run.certificate.limits
    points, numbers = distinct_limits(limits)
    rows = [tuple(row) for row in limits]
    first = list(dict.fromkeys(rows))
    apart = min((np.linalg.norm(np.asarray(p - q, float)) for p, q in itertools.combinations(points, 2)), default=1.0)
    late = np.asarray(run.certificate.tokens(run.certificate.num_layers + 4 * INTERVAL), float)
    found = clusters(late, float(apart) / 2).tolist() == [first.index(row) for row in rows] == numbers.tolist()
    return holds("clusters of late tokens are those of equal limits", found and values(points) == set(first))


def _clusters_are_chains(x: np.ndarray) -> Measurement:
    """Measure that two tokens are in one cluster exactly if a chain of tokens joins them, whatever the radius.

    The radii tried lie half-way between the distances of tokens, so that no distance is near a radius.
    """
    far = np.linalg.norm(x[:, None] - x[None], axis=2)
    steps = np.unique(np.round(far[np.triu_indices(len(x), 1)], 9))
    wrong = []
    for radius in (steps[1:] + steps[:-1]) / 2:
        joined = far <= radius
        for _ in range(len(x).bit_length()):
            joined = joined @ joined  # of truth values: whether some chain of twice the length joins them
        labels = clusters(x, radius)
        wrong.append(bool(np.any((labels[:, None] == labels[None]) != joined)))
    return holds("two tokens are in one cluster exactly if a chain of near tokens joins them", not any(wrong))


tokens_stay_in_one_ball = certified(
    "hardmax/proposition-4.6",
    statement="""
    For some delta > 0 the balls B_delta(s), s in S, are disjoint, and every token stays in one of them from some
    layer on.

    Tokens that wait near one point of S, and settle at another, are among the cases.
    """,
    trial=lambda key: certified_trial(
        with_late_leaders(key, "waiting followers"), _balls_measures, share=Fraction(1, 3)
    ),
    # Balls of a radius equal to half of the least distance between two points of S, which touch.
    control=lambda key: certified_trial({"polygon": polygon(key)}, _balls_measures, share=Fraction(1, 2)),
    num_trials=10,
    note="the statement holds, but the equality (4.35) in its proof does not: the convex hull of the balls around S_1 "
    "and s_2 can contain other points of S, as in a rectangle; a token that jumps there would have to increase its "
    "norm, which closes the gap; clusters as they ship are those of equal limits, and chains of near tokens",
)
