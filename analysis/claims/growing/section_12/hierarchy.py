"""Claims of Section 12 on the hierarchy of heads: temperatures, forces, their number, and what they give out."""

import math
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.boxes import Box, arrivals, final_temperatures
from analysis.claims.growing.instances.interactions import blocks
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_05.specialisation import mixed_box
from analysis.claims.growing.section_11.events import FRAMES, small_flow, without_heads
from analysis.claims.growing.section_11.limits import Interval, symmetric_heads, symmetric_interval
from analysis.growing.separation import separation_force
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.prototypes.assignments import assignments, soft_centroids

VALUES = (2.0, 1.0)
LONG = 1000.0


def grown_run(
    key: Key,
    integrator: AbstractIntegrator,
    *,
    spread: tuple[float, float] = (1.0, 1.0),
    end: float = LONG,
    turned: bool = False,
    gate: object = None,
) -> HybridTrajectory:
    """Run a system without a first head: tokens with a standard deviation for each plane of M_a, fixed embeddings.

    `turned` rotates tokens and planes; `gate` is the direction of the first head in place of the dominant one.
    """
    rng = numpy_rng(key, "grown")
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0] if turned else np.eye(4)
    data = rng.normal(size=(5, 4)) * np.repeat(spread, 2) @ q.T
    flow = small_flow(data, q @ blocks(VALUES) @ q.T)
    rates = (jnp.zeros(()), jnp.asarray(0.5, float))
    flow = eqx.tree_at(lambda f: (f.encoder_rate, f.temperature_rate), flow, rates)
    flow = without_heads(flow)
    x = flow.start(key)._replace(encoder=jnp.eye(4))
    if gate is not None:
        x = x._replace(gate=jnp.asarray(gate))
    return simulate_growing(flow, x, np.linspace(0.0, end, FRAMES), integrator=integrator)


def last(path: HybridTrajectory) -> tuple[GrowingFlow, Growing, np.ndarray]:
    """Return flow and state at the end, and the slots of the heads in the order of their growth."""
    flow = flow_of(path.phases[-1])
    slots = np.flatnonzero(np.asarray(flow.active))
    return flow, path.final, slots[np.argsort(np.asarray(flow.order)[slots])]


def forces(flow: GrowingFlow, x: Growing, slots: np.ndarray) -> np.ndarray:
    """Return the separation forces of some heads."""
    z, T = flow.head_inputs(x), flow.temperatures(x)
    return np.array([float(separation_force(x.prototypes[h], z[h], T[h])) for h in slots])


def resting(flow: GrowingFlow, x: Growing) -> Measurement:
    """Measure that prototypes and temperatures are at rest."""
    v, _ = measured(flow, x)
    return at_most(
        "speed at the end",
        max(float(jnp.max(jnp.abs(v.prototypes))), float(jnp.max(jnp.abs(v.cubes)))),
        1e-4,
        tolerance=SOLVER,
    )


def _held(at: Interval, flow: GrowingFlow, x: Growing, cold: Fraction) -> tuple[Measurement, ...]:
    """Measure that both banks stay symmetric, in the interval, at T_init and at T_min."""
    share = x.prototypes / float(at.largest)
    speeds, skew = [], []
    for p, sign in ((float(at.least), -1), (float(at.largest), 1)):
        for cubes in (x.cubes, jnp.full(2, float(cold) ** 3)):
            v = np.asarray(measured(flow, x._replace(prototypes=p * share, cubes=cubes))[0].prototypes)
            speeds.append(-sign * np.sum(v * np.asarray(share), axis=(1, 2)) / 2)
            skew.append(np.max(np.abs(v + v[:, ::-1])))
    unit = np.eye(4)
    return (
        holds("the interval is invariant", at.invariant),
        agrees("directions of the heads", np.asarray(flow.frames)[:, 0], unit[[0, 2]]),
        agrees("banks, over the largest distance", np.sort(np.asarray(share), axis=1)[:, 1], unit[[0, 2]]),
        at_least("least inward speed of the flow that ships", np.min(speeds), 0.0, tolerance=ROUNDING),
        equal("departure of the velocities from the symmetry", max(skew), 0.0, tolerance=ROUNDING),
    )


@certified(
    "growing/lemma-25",
    num_trials=2,
    note="a head whose prototypes are equally far from every token has sigma = 0 and keeps T_init; (25), on which the "
    "proof relies, is false. The order of the lambda holds (lemma-25-interlacing). With a barrier and generic tokens "
    "all T_inf are equal (generic); without one, on an open set of tokens, those of heads that see the tokens along "
    "their direction are in the wrong order, as in corollary-3. Reading features; K = 2, prototypes that differ along "
    "u; no control: the special case is the positive one",
)
def temperatures_follow_the_spectral_order(key: Key) -> Trial:
    """lambda^(1) >= lambda^(2) at growth and later, and T_inf^(1) <= T_inf^(2).

    The instance: tokens at -z and z on e3, orthogonal to the top plane (e1, e2), fixed embeddings, banks of two
    prototypes born along e1 and e3, which stay symmetric and in an interval. The first head has sigma = 0, the second
    one a sigma above a positive bound until T = T_min. And corners of a rectangle without a barrier, its short side
    along the first head.
    """
    at, rng = symmetric_interval(key), numpy_rng(key, "temperature")
    hot = Fraction(int(rng.integers(1, 9)), 4)
    cold = hot / 4
    flow, x = symmetric_heads(at, 2, hot, cold)
    bound = at.least_activity(cold)
    _, sigma = measured(flow, x)
    box = mixed_box(key, (1, 0))
    return Trial(
        hypotheses=(
            *_held(at, flow, x, cold),
            *box.as_shipped(),
            *box.collapsing(0),
            *box.trapped(1),
            equal("sigma of the first head", sigma[0], 0.0, tolerance=1e-20),
            at_least("sigma of the second head, over the bound", float(sigma[1]) / float(bound), 1.0, tolerance=0.0),
            holds("that bound is positive", bound > 0),
        ),
        conclusions=(
            holds("T_inf^(1) = T_init is at most T_inf^(2) = T_min", hot <= cold),
            holds("in the rectangle T_inf^(1) is not bound to exceed T_inf^(2)", not (box.stalls(0) and box.cools(1))),
        ),
        witness={**at.witness(), "T_min": cold, "T_init": hot, "values": [*map(Fraction, VALUES)], "first bank": "e_1"},
    )


def _generic_trial(key: Key, integrator: AbstractIntegrator, values: tuple[float, float]) -> Trial:
    """Follow two heads to the end, and compare their values with given ones and their temperatures with T_min."""
    path = grown_run(key, integrator, turned=True)
    flow, x, slots = last(path)
    T = np.asarray(flow.temperatures(x))[slots]
    return Trial(
        hypotheses=(equal("heads", len(slots), 2, tolerance=0.0), resting(flow, x)),
        conclusions=(
            agrees("lambda of the heads in their order", np.asarray(flow.levels)[slots], np.array(values)),
            at_most(
                "largest temperature at the end over T_min",
                np.max(T) / float(flow.rules.least_temperature),
                1.0,
                tolerance=SOLVER,
            ),
            at_least("least sigma at the end", np.min(np.asarray(measured(flow, x)[1])[slots]), 0.0, tolerance=1e-9),
        ),
        witness={"T": T, "lambda": np.asarray(flow.levels)[slots]},
    )


@claim(
    "growing/lemma-25/generic",
    # Both members of a pair count: the second head has the value of the first.
    control=partial(_generic_trial, values=(2.0, 2.0)),
    variant="special case",
    num_trials=2,
    note="added: no head is equally far from all tokens; then (63) holds with equalities. Random tokens, mode full",
)
def generic_temperatures_are_equal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Heads are added at the values of the pairs of M_a in descending order; if the activity of each stays positive,
    all end at T_min.
    """
    return _generic_trial(key, integrator, VALUES)


@certified(
    "growing/lemma-27",
    num_trials=2,
    note="F_sep depends on tokens, bank and temperature, lambda on M_a alone: hard assignments along the first plane "
    "make F^(1) small, soft ones F^(2) large. In generic runs with shared inputs both heads often end in the same "
    "bank, with equal forces, or in either order. Readings data and tokens weigh M_a with the data, which the banks "
    "do not follow either; no control: there is no repair",
)
def forces_decrease_along_the_order(key: Key) -> Trial:
    """At convergence F^(1) / F^(2) >= lambda^(1) / lambda^(2) (T_inf^(2) / T_inf^(1))^2 > 1.

    The instance: that of Lemma 25 with the tokens on e1 and T_min = z p_0, p_0 being the least p. Then F^(2) = 8 p_2^2,
    and F^(1) = 8 p_1^2 / cosh^4(2 z p_1 / T_min) <= T_min^4 / (2 z^4 p_1^2), so that F^(1) <= F^(2) / 16.
    """
    at = symmetric_interval(key)
    cold = at.z * at.least
    flow, x = symmetric_heads(at, 0, 4 * cold, cold)
    bound = cold**4 / (16 * at.z**4 * at.least**4)
    share, z = x.prototypes / float(at.largest), flow.embed(x)
    force = lambda h, p: float(
        separation_force(float(p) * share[h], z, jnp.asarray(float(cold if h == 0 else 4 * cold)))
    )
    ends = (at.least, at.largest)
    ratio = max(force(0, p) / force(1, r) for p in ends for r in ends)
    return Trial(
        hypotheses=(
            *_held(at, flow, x, cold),
            holds("the first head reaches T_min: sigma above a positive bound", at.least_activity(cold) > 0),
            at_least("lambda^(1) less lambda^(2)", flow.levels[0] - flow.levels[1], 0.0, tolerance=ROUNDING),
            at_most("largest F^(1) / F^(2) of the code that ships", ratio, bound, tolerance=ROUNDING),
        ),
        conclusions=(holds("F^(1) > F^(2)", bound > 1),),
        witness={**at.witness(), "T_min": cold, "T_init": 4 * cold, "values": [*map(Fraction, VALUES)]}
        | {"F^(1) / F^(2), at most": bound},
    )


def _either_way(key: Key) -> tuple[list[int], tuple[Measurement, ...]]:
    """Return the local one of two heads, for tokens whose long side is along the first and along the second one."""
    local, measured_there = [], []
    for order in ((0, 1), (1, 0)):
        at = mixed_box(key, order)
        cool, warm = order.index(0), order.index(1)
        flow, _ = at.system()
        measured_there += [
            *at.as_shipped(),
            agrees("lambda at the births", flow.levels, np.array(VALUES)),
            holds("head by head: one bound to reach T_min, one to stay above", at.cools(cool) and at.stalls(warm)),
            *at.trapped(cool),
            *at.collapsing(warm),
        ]
        local.append(cool)
    return local, tuple(measured_there)


@certified(
    "growing/corollary-15/boundary",
    num_trials=2,
    note="the other two of the three quantities are in `corrected`. Which heads are local is decided by the tokens "
    "that the temperatures see, of which M_a says nothing: on an open set of tokens without a barrier, and under (F1) "
    "where prototypes of a head are equally far from each token; else (F1) makes all heads local",
)
def boundary_is_determined_by_the_spectrum(key: Key) -> Trial:
    """The boundary of local and global heads is determined by the spectrum of M_a.

    The instances: one M_a and two sets of tokens. Corners of a rectangle, its long side along the first or the second
    head, as in Corollary 3; and with a barrier, as in Lemma 25, two tokens on the axis of the first or the second head.
    """
    at, rng = symmetric_interval(key), numpy_rng(key, "temperature")
    hot = Fraction(int(rng.integers(1, 9)), 4)
    cold = hot / 4
    local, hypotheses = _either_way(key)
    with_barrier, held = [], []
    for axis in (0, 2):
        flow, x = symmetric_heads(at, axis, hot, cold)
        sigma = np.asarray(measured(flow, x)[1])
        head = axis // 2
        held += [
            *_held(at, flow, x, cold),
            equal("sigma of the head across the tokens", sigma[1 - head], 0.0, tolerance=1e-20),
            at_least(
                "that of the other one, over its bound",
                sigma[head] / float(at.least_activity(cold)),
                1.0,
                tolerance=0.0,
            ),
        ]
        with_barrier.append(head)
    return Trial(
        hypotheses=(*hypotheses, *held, holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * at.barrier / 4)),
        conclusions=(
            holds("the local head is one for both sets of tokens", local[0] == local[1]),
            holds("and with a barrier", with_barrier[0] == with_barrier[1]),
        ),
        witness={**mixed_box(key, (0, 1)).witness(), "local heads": local},
    )  # fmt: skip


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
    num_trials=2,
    note="two parts fail, each of which is enough: T_min > 0 keeps local heads soft, so that no output is a prototype "
    "(theorem-3-assignments has the bound), and the local head may be the coarse one (the box of corollary-3). New "
    "here: the outputs. Global heads are soft by definition: sigma tends to 0 there, all assignments to 1 / K, and the "
    "continuous representation to a constant. No barrier, mode full",
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
