"""Gaps of scores along the motion of tokens with constant follower sets: their closed form, and when it is positive."""

import itertools
import math
from fractions import Fraction

import numpy as np

from analysis.claims.hardmax.instances.certified_limits import CertifiedRun
from analysis.claims.rational_instances import Exact
from analysis.hardmax.constant_follower_sets import (
    Gap,
    Motion,
    closed_form_motion,
    exact_gap,
    least_on_unit_interval,
    supremum_bound,
)
from analysis.hardmax.float_score_gaps import FloatMotion
from analysis.ledger.evidence import Measurement, holds

LAYERS = (0, 1, 2, 5, 13, 34)  # of a motion, counted from its first layer


def score_gap_measures(run: CertifiedRun) -> tuple[Measurement, ...]:
    """Measure the gaps of scores from the first layer on, as if its sets were constant, and those of the certificate.

    A gap that is said to stay positive must be positive in every layer tried, and in the limit not negative.
    """
    A, first = run.case.attention, run.path[0]
    sets = run.case.map.follower_sets(first)
    start = closed_form_motion(first, sets, np.ones(len(first), int), run.case.alpha, A)
    motions = [start] if start.valid else []
    ahead = [members[0] for members in sets.lists()]
    found = [_gaps(motion, A, ahead) for motion in motions]
    last = [members[0] for members in run.certificate.sets.lists()]
    proved = _gaps(run.certificate.motion, A, last)
    return (
        holds("gaps of scores have the closed form", all(form for form, *_ in (*found, proved))),
        holds("a gap that stays positive is positive in every layer", all(safe for _, safe, _ in (*found, proved))),
        holds("floats say so of no other gap", all(safe for *_, safe in (*found, proved))),
        holds("the bounds used are those of their derivation", _bounds_hold()),
        holds("least values on [0, 1] are those of quadratics with known ones", _quadratics()),
    )


def _gaps(motion: Motion, A: Exact, ahead: list[int]) -> tuple[bool, bool, bool]:
    """Return whether gaps have their closed form, and whether those said to stay positive do, exactly and in floats.

    Each is that of the token which a token follows before another one, and with the two exchanged.
    """
    states = [motion.after(m) for m in LAYERS]
    scores = [x @ A.T @ x.T for x in (*states, motion.limits)]
    n = len(ahead)
    triples = [t for i in range(n) for j in range(n) for t in ((i, ahead[i], j), (i, j, ahead[i]))]
    form, exact, rounded = True, True, True
    floats = FloatMotion(motion, A)
    signs = lambda some: floats.gap_signs(*(np.array(column, int) for column in zip(*some, strict=True)))
    found = {triple: _differences(scores, triple) for triple in triples}
    late = [
        triple for triple, values in found.items() if values[-1] >= 0
    ]  # with a negative one floats call none positive
    said = dict(zip(late, signs(late).positive, strict=True))
    for triple, values in found.items():
        gap = exact_gap(motion, A, *triple)
        form = form and [value_after(gap, m) for m in LAYERS] == values[:-1]
        positive = min(values[:-1]) > 0 and values[-1] >= 0
        exact = exact and (positive or not gap.stays_positive)
        rounded = rounded and (positive or not said.get(triple, False))
    return form, exact, rounded and signs(triples).any_negative == (len(late) < len(found))


def _differences(scores: list[Exact], triple: tuple[int, int, int]) -> list[Fraction]:
    i, ahead, behind = triple
    return [S[i, ahead] - S[i, behind] for S in scores]


def value_after(gap: Gap, m: int) -> Fraction:
    """Return a + r^m b(m) + r^(2 m) c(m), the gap after m layers."""
    parts = [sum(c * math.comb(m, t) for t, c in enumerate(coefficients)) for coefficients in gap.coefficients]
    return sum((gap.ratio ** (e * m) * part for e, part in enumerate(parts)), Fraction(0))


def _bounds_hold() -> bool:
    """Return whether bounds of r^m binom(m, t) binom(m, u) over m hold, and are those of the derivation.

    That is the largest value over real m of e^(-(1 - r) m) m^t m^u / (t! u!), with a lower bound of e, 2.718.
    """
    found = []
    for r, degrees in itertools.product((Fraction(1, 2), Fraction(3, 4), Fraction(7, 8)), ((1,), (2,), (1, 1), (1, 2))):
        bound, total = supremum_bound(r, *degrees), sum(degrees)
        largest = max(r**m * math.prod(math.comb(m, t) for t in degrees) for m in range(60))
        derived = (total / (math.e * float(1 - r))) ** total / math.prod(math.factorial(t) for t in degrees)
        found.append(largest <= bound and 1 <= float(bound) / derived <= (math.e / 2.7179) ** total)
    return all(found)


def _quadratics() -> bool:
    """Return whether the least value of c (u - v)^2 + w on [0, 1] is found, with v inside, on each side, and c < 0."""
    known = []
    for v, c in itertools.product((Fraction(-1, 3), Fraction(2, 7), Fraction(3, 2)), (Fraction(-2), Fraction(5, 3))):
        w = Fraction(1, 5)
        ends = [c * (u - v) ** 2 + w for u in (0, 1)]
        least = w if c > 0 and 0 < v < 1 else min(ends)
        known.append(least_on_unit_interval(c * v**2 + w, -2 * c * v, c) == least)
    return all(known)
