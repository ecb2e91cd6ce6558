"""Claims of Corollary 16: what heads at the least temperature and above it give out, and in which order they come."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.boxes import Box, arrivals, final_temperatures
from analysis.claims.growing.section_05.specialisation import mixed_box
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import SOLVER, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING
from dynsim.simulation.growing import flow_of
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.prototypes.assignments import assignments, soft_centroids

COROLLARY = GROWING.at("Corollary 16")
END = 400.0  # by then the local head is at T_min and the other one has collapsed


@jax.jit
def _given_out(z: jax.Array, p: jax.Array, T: jax.Array) -> tuple[jax.Array, jax.Array]:
    q = assignments(z, p, T)
    return q, soft_centroids(q, p)


def outputs(flow: GrowingFlow, x: Growing, head: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the assignments (n, k) of a head and the soft centroids (n, d) that it gives out."""
    q, mu = _given_out(flow.head_inputs(x)[head], x.prototypes[head], flow.temperatures(x)[head])
    return np.asarray(q), np.asarray(mu)


def to_the_bank(mu: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the distance of each output from the nearest prototype of its head."""
    return np.min(np.linalg.norm(mu[:, None] - p[None], axis=-1), axis=1)


@certified(
    "growing/corollary-16",
    COROLLARY,
    num_trials=2,
    note="two parts fail, each of which is enough: T_min > 0 keeps local heads soft, so that no output is a prototype "
    "(theorem-3-assignments has the bound), and the local head may be the coarse one (the box of corollary-3). New "
    "here: the outputs. Global heads are soft by definition: sigma tends to 0 there, all assignments to 1 / K, and the "
    "continuous representation to a constant. No barrier, mode full; no control: the corrected claim is the positive "
    "case",
)
def local_heads_are_discrete_and_fine(key: Key) -> Trial:
    """Heads that tend to T_min give out prototypes, by hard assignments, and are finer (have the larger lambda) than
    those that tend to a temperature above it.

    The instance: tokens at the corners of a rectangle, 4 c_1^2 < T_min along the head of the larger lambda, which
    stays above T_min, and c_2^2 >= T_init along the other one, whose prototypes +-a have c_2 / 2 <= a <= 3 c_2 / 2:
    its outputs are 2 a q >= c_2 q away from both, and q >= 1 / (1 + 2^m), m >= 9 c_2^2 / T_min.
    """
    at = mixed_box(key, (1, 0))
    flow, _ = at.system()
    side, (coarse, fine) = at.sides[1], (at.values[1], at.values[0])
    least = Fraction(1, 1 + 2 ** math.ceil(9 * side**2 / at.least))
    widest, x = at._replace(half=3 * side / 2).system()
    q, mu = outputs(widest, x._replace(cubes=jnp.full(2, float(at.least) ** 3)), 1)
    away = to_the_bank(mu, np.asarray(x.prototypes[1]))
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            *at.trapped(1),
            agrees("lambda at the births", flow.levels, np.array([float(v) for v in at.values])),
            holds("head 2 is local", at.cools(1)),
            holds("head 1 is global", at.stalls(0)),
            at_least("least assignment of head 2 at T_min, at its widest", np.min(q), least, tolerance=0.0),
            at_least("distance of its outputs from the bank", np.min(away), side * least, tolerance=0.0),
        ),
        conclusions=(
            holds("outputs of the local head may tend to prototypes", side * least <= 0),
            holds("the local head is the finer one", coarse > fine),
        ),
        witness={**at.witness(), "least assignment": least},
    )


def _coarse_box(key: Key) -> Box:
    """Return a box with T_min = 2 T_init / 5, c_1^2 near T_init, and 4 c_2^2 below half of T_min."""
    rng = numpy_rng(key, "coarse")
    large = Fraction(int(rng.integers(8, 13)), 8)
    start = large**2 * Fraction(int(rng.integers(14, 17)), 16)
    least = 2 * start / 5
    small = Fraction(math.floor(64 * math.sqrt(least / 8)), 64)
    return Box((large, small), large / 2, start, least, Fraction(1), Fraction(1, 2))


def _stratified_trial(key: Key, integrator: AbstractIntegrator, *, exchanged: bool) -> Trial:
    """Run two heads and measure what each gives out at the end; `exchanged` has the short side along the first one."""
    at = _coarse_box(key)
    if exchanged:
        at = at._replace(sides=at.sides[::-1])
    local, other = (1, 0) if exchanged else (0, 1)
    path, least = at.run(END, integrator), float(at.least)
    flow, x, side = flow_of(path.phases[-1]), path.final, float(at.sides[local])
    (q, mu), (soft, same) = (outputs(flow, x, h) for h in (local, other))
    half, T = float(jnp.max(x.prototypes[local])), final_temperatures(path)
    missed, gap = 1 - np.max(q, axis=1), 4 * half * side
    away = to_the_bank(mu, np.asarray(x.prototypes[local]))
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            holds("one head is in the case (i), the other one in (ii)", at.cools(local) and at.stalls(other)),
            at_most("arrival of the local head, over the length of the run", arrivals(path, least)[local] / END, 0.5,
                    tolerance=SOLVER),
        ),
        conclusions=(
            agrees("temperature of the local head", T[local], least),
            at_most("1 - max q of the local head, over exp(-gap / T_min)", np.max(missed) * math.exp(gap / least), 1.0,
                    tolerance=SOLVER),
            at_least("gap of its squared distances over 2 c^2", gap / (2 * side**2), 1.0, tolerance=SOLVER),
            agrees("distance of its outputs from the bank, over 2 a (1 - max q)", away / (2 * half * missed),
                   np.ones(len(away))),
            at_least("T^3 of the global head over its lower bound", T[other] ** 3 / float(at.cube_left(other)), 1.0,
                     tolerance=SOLVER),
            at_most("largest |q - 1/2| of the global head", np.max(np.abs(soft - 0.5)), 1e-6, tolerance=0.0),
            at_most("range of its outputs over c", np.max(np.ptp(same, axis=0)) / side, 1e-6, tolerance=0.0),
            holds("the local head has the larger lambda", float(flow.levels[local]) > float(flow.levels[other])),
        ),
        witness={**at.witness(), "T": T, "1 - max q": missed},
        parameters={"1 - max q": float(np.max(missed))},
    )  # fmt: skip


local_heads_are_nearly_discrete_and_global_ones_constant = claim(
    "growing/corollary-16/corrected",
    COROLLARY,
    statement="With c_1^2 >= T_init and 4 c_2^2 < T_min the first head tends to T_min, where 1 - max q <= (K - 1) "
    "exp(-gap / T_min) and outputs are 2 a (1 - max q) away from prototypes; the second one stays above T_min, its "
    "assignments tend to 1 / K and its outputs to one point.",
    trial=partial(_stratified_trial, exchanged=False),
    control=partial(_stratified_trial, exchanged=True),  # The short side along the head of the larger lambda.
    num_trials=3,
    note="changed: hard up to (K - 1) exp(-gap / T_min), and the centroids of a global head one point in the limit. "
    "Added: tokens at the corners of a rectangle, c^2 >= T_init along the head of the larger lambda and 4 c^2 < T_min "
    "along the other one, no barrier. Mode full",
)
