"""Claims of Section 12 on spectra alone: interlacing, the coverage of Lemma 26, and the order of Lemma 28."""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np

from analysis.claims.growing.instances.interactions import blocks, orthonormal, rotated
from analysis.growing.greedy import coverage, energy_coverage, greedy_growth, least_residual_energy, residual_energy
from analysis.growing.residuals import paired_spectrum
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.residual import antisymmetric_part, dominant_plane, dominant_value, residual_matrix

D, CAPTURED = 8, 2


def _pairs(rng: np.random.Generator, count: int = D // 2) -> np.ndarray:
    """Return distinct positive singular values, in descending order, the gaps at least a tenth of the least one."""
    return np.cumsum(rng.uniform(0.1, 1, size=count) + [0.5, *[0.0] * (count - 1)])[::-1]


def _singular_values(a: object) -> np.ndarray:
    return np.linalg.svd(np.asarray(a), compute_uv=False)


def _interlacing_trial(key: Key, lower: int) -> Trial:
    """Remove a random direction, and compare the pairs with those before, from the pair `lower` on."""
    rng = numpy_rng(key, "interaction")
    m, rows = rotated(rng, _pairs(rng)), orthonormal(rng, CAPTURED + 1, D)
    known = rows[:CAPTURED]
    a = residual_matrix(m, known)
    before, top = _singular_values(a), dominant_plane(a)[0]
    without = lambda u: residual_matrix(m, np.vstack([known, u]))
    after, zeros = _singular_values(without(rows[CAPTURED])), np.zeros(2)
    bounds = np.append(before[2 * lower :], np.zeros(2 * lower))
    return Trial(
        hypotheses=(
            agrees("products of the directions", rows @ rows.T, np.eye(CAPTURED + 1)),
            at_least("top value of A_res", before[0], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("its top value without a random direction", after[0], bounds[0], tolerance=ROUNDING),
            at_most("largest s'_j less s_j", np.max(after - bounds), 0.0, tolerance=ROUNDING),
            at_most(
                "largest s_{j+1} less s'_j, by pairs",
                np.max(np.append(before[2:], zeros) - after),
                0.0,
                tolerance=ROUNDING,
            ),
            agrees("the top value without a direction of the top plane", dominant_value(without(top)), before[2]),
        ),
        witness={"interaction": m, "directions": rows},
    )


projecting_out_a_direction_lowers_the_top_value = claim(
    "growing/lemma-25-interlacing",
    statement="Projecting out a unit direction never raises the top singular value of A_res.",
    trial=partial(_interlacing_trial, lower=0),
    control=partial(_interlacing_trial, lower=1),  # Projecting out any direction lowers the top value to the next pair.
    num_trials=12,
    note="Cauchy's interlacing of the eigenvalues +-s_j of i A_res: s_{j+1} <= s'_j <= s_j; a direction of the top "
    "plane removes the plane. Reading features; data alike, with P B P for another antisymmetric B. See `tokens`",
)


@certified(
    "growing/lemma-25-interlacing/tokens",
    variant="reading",
    num_trials=2,
    note="read: A_res = X P M_a P X^T, n x n, with P inside: two contributions of opposite sign cancel until one of "
    "them is projected out; no control: the printed claim is the positive case",
)
def projecting_out_a_direction_lowers_the_top_value_of_tokens(key: Key) -> Trial:
    """Projecting out a unit direction never raises the top singular value of X P M_a P X^T.

    The instance: M_a with the planes (e1, e2) and (e3, e4) of values s and r, the tokens e1 + e3 and e2 - e4, and the
    direction e3: the value is |s - r| before, and s after.
    """
    rng = numpy_rng(key, "instance")
    r = Fraction(int(rng.integers(1, 20)), 4)
    s = r + Fraction(int(rng.integers(1, 20)), 4)
    unit = np.eye(4)
    x = np.stack([unit[0] + unit[2], unit[1] - unit[3]])
    value = lambda rows: dominant_value(residual_matrix(blocks([s, r]), rows, tokens=x, reading="tokens"))
    before, after = s - r, s
    return Trial(
        hypotheses=(
            agrees("the top value before", value(unit[:0]), float(before)),
            agrees("the top value after", value(unit[2:3]), float(after)),
        ),
        conclusions=(holds("the top value is not raised", after <= before),),
        witness={"s": s, "r": r, "tokens": x.astype(int)},
    )


@certified(
    "growing/lemma-26",
    num_trials=4,
    note="(64) compares lambda with its square, so that the unit of M_a decides it; each of the planes has the energy "
    "2 lambda^2. Reading features; in the others M_a is multiplied by the data as well",
)
def sum_of_values_covers_the_energy(key: Key) -> Trial:
    """At the end of growth sum_h lambda^(h) / |M_a|_F^2 >= 1 - K theta_w / |M_a|_F^2.

    The instance: M_a with planes of coordinates, of integer values between 2 and 40, all above theta_w <= 1.
    """
    rng = numpy_rng(key, "instance")
    s = sorted((Fraction(int(v)) for v in rng.choice(np.arange(2, 41), 3, replace=False)), reverse=True)
    threshold = Fraction(int(rng.integers(1, 9)), 8)
    values, _ = greedy_growth(blocks(s), float(threshold))
    energy = 2 * sum(v * v for v in s)
    covered, least = sum(s) / energy, 1 - len(s) * threshold / energy
    return Trial(
        hypotheses=(
            agrees("the values at growth", values, np.array(s, float)),
            agrees("the printed coverage", coverage(blocks(s), values), float(covered)),
        ),
        conclusions=(holds("coverage >= 1 - K theta_w / |M_a|^2", covered >= least),),
        witness={"values": s, "theta_w": threshold, "coverage": covered, "bound": least},
    )


def _coverage_trial(key: Key, planes: float) -> Trial:
    """Grow heads down to a threshold just below which the other pairs lie; count `planes` squares for each head."""
    rng = numpy_rng(key, "interaction")
    threshold = 10.0 ** rng.uniform(-1.5, 1.5)
    count = int(rng.integers(1, 4))
    s = threshold * np.where(np.arange(D // 2) < count, 1 + _pairs(rng), 1 - 1e-9)
    m = rotated(rng, s)
    values, rows = greedy_growth(m, threshold)
    energy = 2 * float(np.sum(s**2))
    share = energy_coverage(m, values) * planes / 2
    least = 1 - (D - 2 * len(values)) * threshold**2 / energy
    return Trial(
        hypotheses=(at_least("pairs above theta_w", count, 1, tolerance=0.0),),
        conclusions=(
            equal("heads", len(values), count, tolerance=0.0),
            agrees("the share of the energy", share, 1 - residual_energy(m, rows) / energy),
            at_least("the share", share, least, tolerance=ROUNDING),
            equal("the share, over its bound, which is attained", share / least, 1.0, tolerance=1e-7),
        ),
        witness={"interaction": m, "theta_w": threshold},
        parameters={"theta_w": threshold, "heads": count},
    )


squares_cover_the_energy = claim(
    "growing/lemma-26/corrected",
    statement="At the end of growth 2 sum_h (lambda^(h))^2 / |M_a|_F^2 = 1 - |A_res|_F^2 / |M_a|_F^2 >= 1 - (d - 2 K) "
    "theta_w^2 / |M_a|_F^2.",
    trial=partial(_coverage_trial, planes=2.0),
    control=partial(_coverage_trial, planes=1.0),  # One square for each head, as in the printed proof.
    num_trials=8,
    note="changed: squares, two for each head, and a bound by the d - 2 K directions that are left, which is attained "
    "in the limit where all their values are theta_w. Reading features, no pruning",
)


@certified(
    "growing/lemma-28",
    num_trials=4,
    note="for a given number of heads, as printed, the order within this number makes no difference, whatever the "
    "values; all orders of the same K heads leave the same in the end, with as many heads. For all numbers at once "
    "values that are equal can be exchanged: (C1) is on the weights of an MLP, and does not exclude them. Within a "
    "plane no direction is distinguished in any case",
)
def order_is_unique(key: Key) -> Trial:
    """For every antisymmetric M_a the spectral order is the only one with the least residual energy for a given number
    of heads; read as well: for each number of heads.

    The instances: three planes of coordinates with different rational values, and two heads; two planes with one value,
    and a third with a lower one. Two orders, of which the second takes the second plane first.
    """
    rng = numpy_rng(key, "instance")
    low, *more = (Fraction(int(v), 4) for v in rng.integers(1, 20, 3))
    s = low + more[0]
    distinct, tied = (s + more[1], s, low), (s, s, low)
    (one, other), (first, second) = _energies(distinct), _energies(tied)
    return Trial(
        hypotheses=(
            holds("the values of the first instance differ", distinct[0] > distinct[1] > distinct[2] > 0),
            *_left_as_shipped(distinct, (one, other)),
            *_left_as_shipped(tied, (first, second)),
        ),
        conclusions=(
            holds("one of two orders of different values leaves more after two heads", one[1] != other[1]),
            holds("or after all three", one[2] != other[2]),
            holds("of two orders of equal values one leaves more for some number", first != second),
        ),
        witness={"values": list(tied), "distinct values": list(distinct)},
    )


def _energies(s: tuple[Fraction, ...]) -> list[list[Fraction]]:
    """Return the energies left after each head, for heads in the spectral order and with the first two exchanged."""
    squares = [2 * v * v for v in s]
    left = lambda order, k: sum((squares[i] for i in order[k:]), Fraction(0))
    return [[left(order, k) for k in (1, 2, 3)] for order in ((0, 1, 2), (1, 0, 2))]


def _left_as_shipped(s: tuple[Fraction, ...], energies: tuple[list[Fraction], ...]) -> tuple[Measurement, ...]:
    """Measure that what ships computes the energies of both orders, and the least ones, which are the first order's."""
    m, unit = blocks(s), np.eye(6)
    left = lambda planes: [residual_energy(m, unit[[2 * p for p in planes[:k]]]) for k in (1, 2, 3)]
    return (
        agrees("energies left in the spectral order", left((0, 1, 2)), np.array(energies[0], float)),
        agrees("energies left in the other one", left((1, 0, 2)), np.array(energies[1], float)),
        agrees("the least ones", [least_residual_energy(m, k) for k in (1, 2, 3)], np.array(energies[0], float)),
    )


def _order_trial(key: Key, *, tie: bool) -> Trial:
    """Compare the greedy directions with random ones, and the spectral order of the planes with all others."""
    rng = numpy_rng(key, "interaction")
    s = _pairs(rng)
    if tie:
        s[1] = s[0]
    m = rotated(rng, s)
    _, rows = greedy_growth(m, float(s[-1]) / 2)
    least = np.array([least_residual_energy(m, k) for k in range(1, D // 2)])
    after = lambda frames: np.array([residual_energy(m, frames[:k]) for k in range(1, D // 2)])
    others = min(float(np.min(after(orthonormal(rng, D // 2, D)) - least)) for _ in range(3))
    orders = [list(order) for order in itertools.permutations(range(D // 2)) if order != tuple(range(D // 2))]
    worse = min(float(np.max(after(rows[order]) - least)) for order in orders)
    gaps = 2 * (s[:-1] ** 2 - s[1:] ** 2)
    pairs = paired_spectrum(antisymmetric_part(m))
    return Trial(
        hypotheses=(agrees("the pairs of M_a", pairs.values, s), equal("directions", len(rows), D // 2, tolerance=0.0)),
        conclusions=(
            agrees("energy left by the greedy directions", after(rows), least),
            agrees(
                "M_a w = s v in its planes",
                pairs.planes[:, 1] @ antisymmetric_part(m).T,
                s[:, None] * pairs.planes[:, 0],
            ),
            at_least("energy left by others, less the least one", others, 0.0, tolerance=ROUNDING),
            at_least(
                "least excess of another order of the planes at some number of heads", worse, 0.2, tolerance=ROUNDING
            ),
            agrees("that excess, twice the least difference of neighbouring squares", worse, np.min(gaps)),
        ),
        witness={"interaction": m},
    )


order_of_distinct_planes_is_unique = claim(
    "growing/lemma-28/corrected",
    statement="If the values of the pairs of M_a differ, k greedy directions leave the energy 2 sum_{j > k} s_j^2, "
    "the least of any k directions, and every other order of the planes leaves more for some number of heads.",
    trial=partial(_order_trial, tie=False),
    control=partial(_order_trial, tie=True),  # The two largest values are equal.
    num_trials=6,
    note="added: the values of the pairs differ; then the order of planes is unique, not that of directions in them. "
    "Any k directions leave at least 2 sum_{j > k} s_j^2, by interlacing",
)
