"""Claims of Section 8 on growth: the spectral gap, the number of heads, and whether growth ends."""

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from analysis.claims.growing.instances.rational_heads import rotation
from analysis.claims.growing.instances.small_clouds import (
    DIMENSION,
    growing_system,
    orthonormal,
    random_values,
    rows_of_planes,
    run,
    spectral_gap,
    with_values,
)
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.simulation.growing import flow_of
from dynsim.systems.growing.residual import Reading, dominant_plane, dominant_value, residual_matrix
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.assignments import assignments, soft_centroids

MLP = "what the MLP captures is its row that is best aligned with v_1, the reading of Proposition 2"


class OnePlane(NamedTuple):
    """An interaction of rank two, s (v u^T - u v^T) for orthonormal u, v, and 4d random rows of integers."""

    value: Fraction
    plane: Exact
    rows: Exact

    @property
    def matrix(self) -> Exact:
        """The interaction."""
        u, v = self.plane
        return matrix(np.outer(v, u) - np.outer(u, v)) * self.value

    @property
    def best(self) -> Exact:
        """The row whose direction is nearest to u, the v_1 of the interaction."""
        return max(self.rows, key=lambda w: (w @ self.plane[0]) ** 2 / (w @ w))

    @property
    def left(self) -> Fraction:
        """The squared value that is left when that row is captured, s^2 (1 - |w in the plane|^2 / |w|^2)."""
        w: Any = self.best
        return self.value**2 * (1 - sum((w @ axis) ** 2 for axis in self.plane) / (w @ w))

    def captured(self) -> tuple[float, float]:
        """Return the values that ship: what is left with that row captured, and with the dominant direction."""
        m, w = self.matrix.astype(float), self.best.astype(float)
        row, own = w[None] / np.linalg.norm(w), dominant_plane(m)[:1]
        return dominant_value(residual_matrix(m, row)), dominant_value(residual_matrix(m, own))

    def witness(self) -> dict[str, object]:
        """Return the data."""
        return {"s": self.value, "u": self.plane[0], "v": self.plane[1], "w": self.best}


def one_plane(key: Key) -> OnePlane:
    """Return a random interaction of rank two, and rows."""
    rng = numpy_rng(key, "one plane")
    rows = rng.integers(-3, 4, (4 * DIMENSION, DIMENSION))
    rows[:, 0] += 7 * np.all(rows == 0, axis=1)
    s = Fraction(int(rng.integers(4, 12)), 4)
    return OnePlane(s, rotation(rng)[:2], matrix(rows))


@certified(
    "growing/lemma-11",
    num_trials=4,
    note="for M_a of rank two the DDCL-INCRT layer leaves nothing, I_DDCL = 0, and no gap, while almost every row of "
    "an MLP leaves a positive one: no constant in O helps. With the values 2, 1, 1 it leaves the gap 0 in place of 1. "
    "Eigenvalues are those of i A_res, so that the pair +-s counts s once; " + MLP + "; if all its rows are captured "
    "nothing is left at all",
)
def spectral_gap_is_preserved(key: Key) -> Trial:
    """If the gap lambda_1 - lambda_2 of A_res is at least delta_0 > 0, then Delta_DDCL >= Delta_MLP - O(I_DDCL).

    So the DDCL-INCRT layer, too, leaves a gap of at least delta_0 while it grows.
    """
    given = one_plane(key)
    by_mlp, by_ddcl = given.captured()
    values = (2 * given.value, given.value, given.value)
    m = with_values(key, [float(s) for s in values])
    rest = residual_matrix(m, dominant_plane(m)[:1])
    return Trial(
        (
            holds("the gap, s - 0, is positive", given.value > 0),
            holds("the row of the MLP lies neither in the plane nor orthogonal to it", 0 < given.left < given.value**2),
            agrees("Delta_MLP^2 that ships", by_mlp**2, float(given.left)),
            agrees("Delta_DDCL that ships", by_ddcl, 0.0),
            agrees(
                "the gaps of the values 2 s, s, s that ship, before and after",
                [spectral_gap(m), spectral_gap(rest)],
                [float(given.value), 0.0],
            ),
        ),
        (
            holds("if I_DDCL = 0 then Delta_DDCL = 0 is at least Delta_MLP", given.left <= 0),
            holds(
                "of the values 2 s, s, s the gap after one head is that before",
                values[1] - values[2] >= values[0] - values[1],
            ),
        ),
        {**given.witness(), "values": values},
        parameters={"d": DIMENSION, "rows": len(given.rows)},
    )


def _gap_trial(key: Key, share: float) -> Trial:
    """Measure Delta_DDCL >= Delta_MLP - share (s_1 - s_2), and the gaps after one head after another."""
    rng = numpy_rng(key, "gap")
    s = random_values(rng)
    m = with_values(key, s)
    sharp = share < 1 or rng.integers(3) == 0
    row = dominant_plane(residual_matrix(m, dominant_plane(m)))[:1] if sharp else rng.normal(size=(1, DIMENSION))
    row = row / np.linalg.norm(row)
    after_mlp = spectral_gap(residual_matrix(m, row))
    captured, gaps = np.zeros((0, DIMENSION)), [spectral_gap(residual_matrix(m))]
    for _ in range(len(s) - 1):
        captured = np.concatenate([captured, dominant_plane(residual_matrix(m, captured))[:1]])
        gaps.append(spectral_gap(residual_matrix(m, captured)))
    expected = -np.diff(np.append(s, 0.0))
    attained = (agrees("Delta_MLP, for a row in the second plane", after_mlp, s[0] - s[2]),) if sharp else ()
    return Trial(
        (
            at_least("gap of M_a", gaps[0], 0.05, tolerance=ROUNDING),
            at_least("every gap s_j - s_(j+1) of M_a", np.min(expected), 0.05, tolerance=ROUNDING),
        ),
        (
            at_least("Delta_DDCL", gaps[1], after_mlp - share * (s[0] - s[1]), tolerance=ROUNDING),
            agrees("the gap after each head", gaps, expected),
            at_least("the least of these gaps", min(gaps), 0.05, tolerance=ROUNDING),
            *attained,
        ),
        {"values": s, "row": row},
        parameters={"d": DIMENSION, "row": "in the second plane" if sharp else "random"},
    )


every_gap_is_preserved = claim(
    "growing/lemma-11/corrected",
    statement="""Delta_DDCL >= Delta_MLP - (s_1 - s_2), and all gaps stay at least delta_0 as heads are added.

    Changed: the gap s_1 - s_2 before in place of O(I_DDCL). Added: s_j - s_(j+1) >= delta_0 for every pair, not the
    first alone.
    """,
    trial=partial(_gap_trial, share=1.0),
    control=partial(_gap_trial, share=0.9),  # Nine tenths of the gap before.
    num_trials=8,
    note="from interlacing: Delta_MLP <= s_1 - s_3, with equality for a row in the second plane, and Delta_DDCL = "
    "s_2 - s_3. " + MLP,
)


def _temperature_trial(key: Key, integrator: AbstractIntegrator, *, through_layer: bool) -> Trial:
    """Measure the change of A_res between two runs whose temperatures fall at different rates."""
    residuals, temperatures = [], []
    for rate in (0.0, 2.0):
        cooling: dict[str, Any] = {"initial_temperature": 0.5, "least_temperature": 0.2}
        flow = growing_system(key, (3, 2, 1), width=0.5, rates=(0.05, rate), threshold=0.5, dwell=4.0, **cooling)
        path = run(flow, 14.0, integrator)
        at = [phase for phase in path.phases if int(np.sum(np.asarray(flow_of(phase).active))) == 2]
        residuals.append(
            [_residual(flow_of(phase), x, through_layer) for phase in at for x in (phase.initial, phase.final)]
        )
        temperatures.append(np.asarray(flow_of(at[-1]).temperatures(at[-1].final)))
    apart = max(float(np.max(np.abs(a - residuals[0][0]))) for some in residuals for a in some)
    fall = temperatures[0] - temperatures[1]
    return Trial(
        (at_least("difference of the temperatures of a head", np.max(fall), 0.1, tolerance=SOLVER),),
        (
            at_most("change of A_res between two events, by time and by eta_T", apart, 0.0, tolerance=0.0),
            holds("there is a residual", float(np.max(np.abs(residuals[0][0]))) > 1e-6),
            *(_in_a_reading(key, reading) for reading in get_args(Reading)),
        ),
        {"temperatures": temperatures},
        parameters={"eta_T": "0 and 2", "phases": len(residuals[1]) // 2},
    )


def _in_a_reading(key: Key, reading: str) -> Measurement:
    """Measure the change of A_res of two heads with the temperature of the first one at the growth of the second."""
    found = []
    for factor in (1.0, 0.5):
        flow = growing_system(key, (3, 2, 1), width=0.5, threshold=0.01, reading=reading)
        flow, x = grow(flow, 0.0, flow.start(random_key(0, "start")))
        flow, _ = grow(flow, 0.0, x._replace(cubes=factor * x.cubes))
        found.append(np.asarray(flow.residual))
    return at_most(f"change of A_res by a temperature at growth, {reading}", np.max(np.abs(found[0] - found[1])), 0.0,
                   tolerance=0.0)  # fmt: skip


def _residual(flow: Any, x: Any, through_layer: bool) -> np.ndarray:
    """Return A_res of a flow, or that of the soft centroids of its first head in the place of the tokens."""
    frames = np.asarray(flow.frames).reshape(-1, DIMENSION)
    if not through_layer:
        kept = np.array_equal(residual_matrix(flow.interaction, frames), np.asarray(flow.residual))
        return np.asarray(flow.residual) if kept else np.full((DIMENSION, DIMENSION), np.nan)
    p = x.prototypes[0]
    q = assignments(flow.head_inputs(x)[0], p, flow.temperatures(x)[0])
    return residual_matrix(flow.interaction, frames, tokens=soft_centroids(q, p), reading="data")


temperatures_perturb_the_residual_little = claim(
    "growing/lemma-12",
    statement="""Between two events A_res changes by at most C_T eta_T sigma / T^2 per unit of time, and not after t*.

    Measured for C_T = 0: not at all, before and after the temperatures have reached T_min.
    """,
    trial=partial(_temperature_trial, through_layer=False),
    # A_res of the soft centroids, the layer's output, in the place of the tokens, its input.
    control=partial(_temperature_trial, through_layer=True),
    num_trials=2,
    note="true for a trivial reason, with C_T = 0: A_res is made of M_a, the captured directions and the tokens, and "
    "none of them contains T, in every reading of (3). The proof differentiates assignments, which A_res lacks",
)


@certified(
    "growing/lemma-13",
    num_trials=4,
    note="for M_a of rank two one head suffices, and so does one row of an MLP if theta_w is not far below s, on an "
    "open set of rows; for d = 2 every row does, almost surely. If INCRT alone, too, grows along v_1, the two numbers "
    "are equal for every M_a. " + MLP,
)
def fewer_heads_than_incrt(key: Key) -> Trial:
    """K~ <= K_INCRT <= d, and K~ < K_INCRT almost surely for Gaussian rows.

    Read: the numbers of directions captured until the residual is at most theta_w, the dominant ones or rows of MLPs.
    """
    given = one_plane(key)
    threshold = given.value * Fraction(19, 20)
    by_mlp, by_ddcl = given.captured()
    one_row = 0 < given.left < threshold**2
    return Trial(
        (
            holds("growth is triggered", threshold < given.value),
            holds("the row is neither in the plane nor orthogonal to it", 0 < given.left < given.value**2),
            holds("after one row less than theta_w is left", one_row),
            holds("one head suffices in what ships", by_ddcl < float(threshold)),
            agrees("the square of what ships for the row", by_mlp**2, float(given.left)),
        ),
        (holds("K~ = 1 is below K_INCRT", (1 if one_row else 2) > 1),),
        {**given.witness(), "theta_w": threshold},
        parameters={"d": DIMENSION, "rows": len(given.rows)},
    )


def directions_needed(m: np.ndarray, rows: np.ndarray, threshold: float) -> int:
    """Return the number of rows, in their order, after which the residual is at most the threshold."""
    for count in range(len(rows) + 1):
        if dominant_value(residual_matrix(m, orthonormal(rows[:count]))) <= threshold + ROUNDING:
            return count
    return len(rows) + 1


def _count_trial(key: Key, integrator: AbstractIntegrator, *, strict: bool) -> Trial:
    """Measure the number of heads against numbers of pairs and of other directions."""
    rng = numpy_rng(key, "count")
    s = random_values(rng)
    pairs = int(rng.integers(1, len(s) + 1))
    threshold = float(s[pairs - 1] * 0.5 + (s[pairs] if pairs < len(s) else 0.0) * 0.5)
    flow = growing_system(key, s, width=0.5, threshold=threshold, dwell=1.0)
    heads = len(run(flow, 6.0, integrator).times("grow"))
    m = np.asarray(flow.interaction)
    inside = strict or rng.integers(3) == 0
    rows = rows_of_planes(m, rng) if inside else rng.normal(size=(DIMENSION, DIMENSION))
    others = directions_needed(m, rows, threshold)
    return Trial(
        (
            at_least("the dominant value over theta_w", dominant_value(m), threshold, tolerance=ROUNDING),
            at_most("theta_w against the last value above", threshold, s[pairs - 1], tolerance=ROUNDING),
        ),
        (
            holds("the number of heads is that of the values above theta_w", heads == pairs),
            holds("it is at most d / 2", 2 * heads <= DIMENSION),
            holds("no more than with other directions", heads < others if strict else heads <= others),
            holds("as many for directions in these planes", not inside or others == heads),
        ),
        {"values": s, "theta_w": threshold, "others": others},
        parameters={"d": DIMENSION, "heads": heads, "rows": "in the planes" if inside else "random"},
    )


no_more_heads_than_other_directions = claim(
    "growing/lemma-13/corrected",
    statement="""
    K~, the number of pairs of M_a above theta_w, is at most that of any directions that leave at most theta_w.

    Changed: not strict, with equality for one direction in the plane of each such pair; and K~ <= d / 2.
    """,
    trial=partial(_count_trial, strict=False),
    # Strictly fewer, as printed, than of random directions in the planes of the pairs.
    control=partial(_count_trial, strict=True),
    num_trials=6,
    note="by interlacing no K~ - 1 directions leave at most theta_w. A random first head that captures nothing (the "
    "Algorithm) adds one to both",
)
