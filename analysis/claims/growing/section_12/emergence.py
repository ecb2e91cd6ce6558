"""Claims of Section 12 on what emerges: Theorem 10, Corollary 14, and the number of heads of Corollary 15."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import rotated
from analysis.claims.growing.section_11.events import FRAMES, small_flow, without_heads
from analysis.claims.growing.section_12.hierarchy import forces, grown_run, last, resting
from analysis.experiments.growing.instances import all_heads
from analysis.growing.functionals import energy_along, piecewise_free_energy
from analysis.growing.greedy import coverage, energy_coverage, greedy_growth, least_residual_energy, residual_energy
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import prune


@claim(
    "growing/theorem-10",
    num_trials=2,
    note="(II) fails at every run of this M_a by lemma-26, (III) at some tokens by lemma-27, (I) at special tokens by "
    "lemma-25, (IV) at ties by lemma-28; (V) holds; no control: lemma-26/hierarchy has what holds of it",
)
def hierarchy_emerges(key: Key, integrator: AbstractIntegrator) -> Trial:
    """At convergence: (I) lambda and T_inf are ordered, (II) the coverage at least 1 - K theta_w / |M_a|^2, (III) the
    forces decrease strictly, (V) the prototypes of each head are distinct.
    """
    path = grown_run(key, integrator, spread=(0.3, 1.0), turned=True)
    flow, x, slots = last(path)
    F, T, levels = forces(flow, x, slots), np.asarray(flow.temperatures(x))[slots], np.asarray(flow.levels)[slots]
    gaps = np.linalg.norm(np.asarray(x.prototypes[:, 0] - x.prototypes[:, 1]), axis=1)[slots]
    energy = float(jnp.sum(flow.interaction**2))
    return Trial(
        hypotheses=(equal("heads", len(slots), 2, tolerance=0.0), resting(flow, x)),
        conclusions=(
            at_least("(I) lambda^(1) less lambda^(2)", levels[0] - levels[1], 0.0, tolerance=ROUNDING),
            at_least("(I) T^(2) less T^(1)", T[1] - T[0], 0.0, tolerance=SOLVER),
            at_least(
                "(II) coverage",
                coverage(flow.interaction, levels),
                1 - 2 * float(flow.rules.threshold) / energy,
                tolerance=ROUNDING,
            ),
            at_least("(III) F^(1) less F^(2), over their sum", (F[0] - F[1]) / np.sum(F), 0.0, tolerance=1e-3),
            at_least("(V) least distance of prototypes", np.min(gaps), 0.0, tolerance=SOLVER),
        ),
        witness={"tokens": flow.data, "lambda": levels, "T": T, "F": F},
    )


def _hierarchy_trial(path: HybridTrajectory) -> Trial:
    """Compare values, energies and directions of the heads with M_a, and their separations with the bound by W."""
    flow, x, slots = last(path)
    m, levels = flow.interaction, np.asarray(flow.levels)[slots]
    rows = np.asarray(flow.frames)[slots, 0]
    left = [residual_energy(m, rows[:k]) for k in range(1, len(slots) + 1)]
    found = energy_along(path, potential="repaired")
    top = found.values[0] + np.sum(found.jumps[["grow" in names for names in found.names]])
    gaps = np.sum(np.asarray(x.prototypes[:, 0] - x.prototypes[:, 1]) ** 2, axis=1)[slots]
    return Trial(
        hypotheses=(
            at_least("heads", len(slots), 2, tolerance=0.0),
            at_least("lambda of the barrier", flow.loss.barrier, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            holds("(I) the values decrease strictly", bool(np.all(np.diff(levels) < 0))),
            agrees("(II) share of the energy", energy_coverage(m, levels), 1 - left[-1] / float(jnp.sum(m**2))),
            agrees("(IV) energies left", left, np.array([least_residual_energy(m, k + 1) for k in range(len(left))])),
            at_least(
                "(V) S over lambda / (W(0) + jumps)",
                np.min(gaps) * top / float(flow.loss.barrier),
                1.0,
                tolerance=SOLVER,
            ),
        ),
        witness={"M_a": m, "lambda": levels, "S": gaps},
    )


@claim(
    "growing/lemma-26/hierarchy",
    variant="special case",
    num_trials=2,
    note="what holds of Theorem 10 jointly with the coverage: (I) of the lambda alone, (II) with squares, two for "
    "each head, (IV) for pairs with different values and up to the direction in a plane, (V) with a bound by the "
    "repaired W; (III) is left out. Mode full, a barrier, and prototypes that descend it; gate at its limit",
)
def spectral_hierarchy_emerges(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For pairs of M_a with different values: lambda decreases strictly; 2 sum lambda^2 / |M_a|^2 = 1 - |A_res|^2 /
    |M_a|^2; k heads leave the least energy of any k directions; S >= lambda / (W(0) + jumps at growth).
    """
    return _hierarchy_trial(grown_run(key, integrator, end=200.0, turned=True))


@spectral_hierarchy_emerges.with_control
def spectral_hierarchy_emerges(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The first head takes a direction between the planes, as of a gate that has not settled."""
    return _hierarchy_trial(grown_run(key, integrator, end=200.0, gate=np.array([0.8, 0.0, 0.6, 0.0])))


def _co_emergence_trial(path: HybridTrajectory, potential: str, *, growth: bool) -> Trial:
    """Measure properties (4) to (7) on a run, and at the removal of its first head."""
    flow, x, slots = last(path)
    found = energy_along(path, potential=potential)
    at_growth = np.array(["grow" in names for names in found.names])
    counted = found.jumps if growth else found.jumps[~at_growth]
    smaller, y = prune(flow, 0.0, x, head=int(slots[0]))
    energies = [float(piecewise_free_energy(f, s, potential=potential)) for f, s in ((flow, x), (smaller, y))]
    kept = np.asarray(y.prototypes - x.prototypes)[slots[1:]]
    levels = np.asarray(flow.levels)[slots]
    return Trial(
        hypotheses=(
            at_least("growth events", np.sum(at_growth), 1, tolerance=0.0),
            at_least("clips", len(path.times("clip")), 1, tolerance=0.0),
        ),
        conclusions=(
            at_most("(4) heads, at most d", len(slots), flow.data.shape[1], tolerance=0.0),
            equal("(5) change of the survivors at pruning", np.max(np.abs(kept)), 0.0, tolerance=0.0),
            at_most("(6) jump of W at pruning", energies[1] - energies[0], 0.0, tolerance=ROUNDING),
            at_most("(6) largest rise of W on a dwell interval", np.max(found.rises), 0.0, tolerance=SOLVER),
            at_most("(6) largest jump of W in the run", np.max(counted, initial=0.0), 0.0, tolerance=SOLVER),
            holds("(7) the values decrease", bool(np.all(np.diff(levels) < 0))),
        ),
        witness={"W": found.values, "jumps": found.jumps, "names": found.names},
    )


@claim(
    "growing/corollary-14",
    num_trials=2,
    note="(6) fails at growth and on dwell intervals (lemma-20, lemma-21), (3) since every generic head ends at T_min "
    "(theorem-3-divergence), (2) by theorem-1, (7) by theorem-10; (4) and (5) hold. Measured here: (4) to (7); "
    "no control: theorem-8-event-count/joint has what holds of it",
)
def seven_properties_emerge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Jointly: (4) at most d heads, (5) pruning moves no other head, (6) W does not increase across any event, (7) the
    heads are ordered by lambda.
    """
    return _co_emergence_trial(grown_run(key, integrator, end=200.0, turned=True), "printed", growth=True)


@claim(
    "growing/theorem-8-event-count/joint",
    variant="special case",
    num_trials=2,
    note="of the seven properties of Corollary 14: (4), (5), (6) with Phi = (T^3 - T_min^3) / (3 eta_T) and "
    "but for growth events, and the order of the lambda of (7). (1) is true as <= (theorem-4); (2) and "
    "(3) are not repaired. Mode full",
)
def four_properties_emerge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Jointly: (4) at most d heads, (5) pruning moves no other head, (6) the repaired W does not increase on dwell
    intervals, at clips and at pruning, (7) the heads are ordered by lambda.
    """
    return _co_emergence_trial(grown_run(key, integrator, end=800.0, turned=True), "repaired", growth=False)


@four_properties_emerge.with_control
def four_properties_emerge(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Growth events count as well."""
    return _co_emergence_trial(grown_run(key, integrator, end=800.0, turned=True), "repaired", growth=True)


def _count_trial(key: Key, integrator: AbstractIntegrator, counted: str, *, first: bool = False) -> Trial:
    """Count the heads of a run, and of greedy growth in 12 dimensions, against the eigenvalues above the threshold."""
    rng = numpy_rng(key, "count")
    above = int(rng.integers(1, 3))
    values = 0.5 * np.where(np.arange(2) < above, rng.uniform([3, 1.2], [4, 2.5]), rng.uniform(0.55, 0.9, size=2))
    m = rotated(rng, values)
    flow = small_flow(rng.normal(size=(5, 4)), m)
    if not first:
        flow = without_heads(flow)
    x = flow.start(key)
    path = simulate_growing(flow, x, np.linspace(0.0, 20.0, FRAMES), integrator=integrator)
    large = rotated(rng, rng.uniform(0.26, 1, size=6))
    heads = [int(flow_of(path.phases[-1]).active.sum()), len(greedy_growth(large, 0.5)[0])]
    expected = [_eigenvalues_above(a, 0.5, counted) for a in (m, large)]
    return Trial(
        hypotheses=(
            at_least("distance of the eigenvalues from theta_w", np.min(np.abs(values - 0.5)), 0.0, tolerance=1e-3),
            at_least("room for heads, at the end", 3 - heads[0], 0, tolerance=0.0),
        ),
        conclusions=(
            equal("heads of the run, less the eigenvalues", heads[0] - expected[0], 0, tolerance=0.0),
            equal("heads in 12 dimensions, less the eigenvalues", heads[1] - expected[1], 0, tolerance=0.0),
        ),
        witness={"M": m, "heads": heads, "eigenvalues": expected},
        parameters={"heads": heads[0]},
    )


def _eigenvalues_above(m: np.ndarray, threshold: float, counted: str) -> int:
    """Return how many eigenvalues of i M_a, moduli of eigenvalues of M_a, or eigenvalues of i (M - M^T) are above."""
    directed = m - m.T if counted == "difference" else (m - m.T) / 2
    values = np.linalg.eigvalsh(1j * directed)
    return int(np.sum((np.abs(values) if counted == "moduli" else values) > threshold))


heads_are_eigenvalues_above_the_threshold = claim(
    "growing/corollary-15",
    statement="The number of heads is the number of eigenvalues of M_a above theta_w. Read: of i M_a.",
    trial=partial(_count_trial, counted="hermitian"),
    control=partial(_count_trial, counted="difference"),  # The eigenvalues of i (M - M^T), without the factor 1/2.
    num_trials=4,
    note="the part on K: eigenvalues as in lambda_max, those of the Hermitian i M_a; K counts the heads that INCRT "
    "adds, as Section 12 indexes them, each with its lambda^(h). Reading features, no pruning, enough capacity. See "
    "`moduli` and `first-head`, and `data` for a residual with tokens in it, as printed; `boundary` fails",
)


def _resolution_trial(key: Key, reading: str) -> Trial:
    """Grow all heads for two sets of tokens and two positions of the planes of one spectrum, and compare with it."""
    rng = numpy_rng(key, "spectrum")
    s = np.cumsum(rng.uniform(0.2, 1, size=3))[::-1]
    above = int(rng.integers(1, 4))
    threshold = float(s[above - 1] + (s[above] if above < 3 else 0.0)) / 2
    rules = GrowthRules(threshold, capacity=6, prototypes=2, reading=reading)
    symmetric = rng.normal(size=(6, 6))
    found = []
    for _ in range(2):
        m = rotated(rng, s) + symmetric + symmetric.T
        flow = GrowingFlow(rng.normal(size=(7, 6)), m, rules=rules)
        flow, _ = all_heads(flow, flow.start(key))
        levels = np.asarray(flow.levels)[np.argsort(np.where(flow.active, flow.order, 6))]
        found.append(levels[: int(flow.active.sum())])
    norm = np.sqrt(2 * np.sum(s**2))
    return Trial(
        hypotheses=(at_least("theta_w", threshold, 0.0, tolerance=1e-3),),
        conclusions=(
            holds("K is the number of eigenvalues above theta_w, for both", {len(one) for one in found} == {above}),
            *(_resolutions(one / norm, s[:above] / norm) for one in found),
        ),
        witness={"values": s, "theta_w": threshold, "levels": found},
        parameters={"heads": above},
    )


def _resolutions(found: np.ndarray, wanted: np.ndarray) -> Measurement:
    """Measure that the resolutions lambda^(h) / |M_a|_F are given ones, in this order."""
    far = np.max(np.abs(found - wanted)) if len(found) == len(wanted) else np.inf
    return equal("error of the resolutions lambda^(h) / |M_a|_F", far, 0.0, tolerance=ROUNDING)


@claim(
    "growing/corollary-15/corrected",
    control=partial(_resolution_trial, reading="data"),  # The reading `data`.
    num_trials=6,
    note="changed: without the boundary. Reading features; eigenvalues of i M_a",
)
def spectrum_determines_heads_and_resolutions(key: Key) -> Trial:
    """The number of heads and lambda^(h) / |M_a|_F are those of the eigenvalues above theta_w, for any tokens and any
    position of the planes of M_a.
    """
    return _resolution_trial(key, "features")


@claim(
    "growing/corollary-15/data",
    variant="reading",
    num_trials=4,
    note="read: with the tokens in A_res, as in (3); then the eigenvalues that count are those of i G^(1/2) M_a "
    "G^(1/2) / N, which M_a does not determine: their unit alone changes the number of heads, as for `tokens` and for "
    "the product as printed; no control: the printed claim, of the features, is the positive case",
)
def heads_in_the_data_are_eigenvalues_above_the_threshold(key: Key) -> Trial:
    """In the reading `data` the number of heads is the number of eigenvalues of i M_a above theta_w.

    The instance: tokens +-c e_i, so that A_res = (c^2 / d) M_a before the first head, and pairs s > r above theta_w of
    which c^2 / d takes the lower one below it.
    """
    rng = numpy_rng(key, "unit")
    threshold, d = float(rng.uniform(0.2, 2.0)), 4
    r = threshold * rng.uniform(1.2, 2.0)
    factor = rng.uniform(0.5, 0.9) * threshold / r
    s = rng.uniform(1.1, 2.0) * threshold / factor
    m, c = rotated(rng, [s, r]), np.sqrt(d * factor)
    rules = GrowthRules(threshold, capacity=d, prototypes=2, reading="data")
    flow = GrowingFlow(c * np.concatenate([np.eye(d), -np.eye(d)]), m, rules=rules)
    flow, _ = all_heads(flow, flow.start(key))
    heads, expected = int(flow.active.sum()), _eigenvalues_above(m, threshold, "hermitian")
    return Trial(
        hypotheses=(
            holds("s > r > theta_w", s > r > threshold),
            agrees("the value at the first growth", flow.levels[0], factor * s),
            agrees("the value at the end", flow.dominant, factor * r),
            at_most("heads", heads, d - 1, tolerance=0.0),
        ),
        conclusions=(equal("heads, less the eigenvalues", heads - expected, 0, tolerance=0.0),),
        witness={"M": m, "c": c, "theta_w": threshold, "heads": heads, "eigenvalues": expected},
        parameters={"heads": heads},
    )


heads_are_moduli_above_the_threshold = claim(
    "growing/corollary-15/moduli",
    statement="The number of heads is the number of eigenvalues of M_a with a modulus above theta_w.",
    trial=partial(_count_trial, counted="moduli"),
    variant="reading",
    num_trials=2,
    note="read: the moduli of the eigenvalues +-i s of M_a, which count each pair twice; one head removes both; no "
    "control: the printed claim is the positive case",
)


all_heads_are_eigenvalues_above_the_threshold = claim(
    "growing/corollary-15/first-head",
    statement="The final number of heads of the Algorithm is the number of eigenvalues of i M_a above theta_w.",
    trial=partial(_count_trial, counted="hermitian", first=True),
    variant="reading",
    num_trials=2,
    note="read: with the first head of the Algorithm, which has random prototypes and captures nothing, in K: one "
    "head more than eigenvalues of i M_a; no control: the printed claim is the positive case",
)
