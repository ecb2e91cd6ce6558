"""Claims of Section 7 on the trainable layer, and on two rules of growth: a settled gate, and levels that decrease."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.small_clouds import growing_system, orthonormal, random_values, rows_of_planes
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.networks.growing.classifier import SentenceClassifier, draw_classifier
from dynsim.networks.growing.growth import Sample, residual, revised, sample, with_random_head, without_head
from dynsim.networks.growing.layer import Competition, GrowingLayer, draw_layer
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.residual import antisymmetric_part, dominant_value
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow, may_grow, prune
from dynsim.systems.prototypes.assignments import assignments, distance_variance, soft_centroids
from dynsim.systems.prototypes.losses import PrototypeLoss

D, K, CAPACITY, N, COUNTED = 5, 3, 3, 9, 7  # two of three places have heads, and two of nine tokens are padding
LEAST = 0.1
WIDTH, PLACES = 8, 12


def _random_layer(key: Key) -> tuple[GrowingLayer, jax.Array]:
    """Return a layer with a warm and a clipped head, and random tokens."""
    rng = numpy_rng(key)
    layer = draw_layer(random_key(0, "layer"), D, prototypes=K, capacity=CAPACITY, least_temperature=LEAST, dtype=float)
    parts = lambda one: (one.prototypes, one.temperatures, one.output, one.growth.active)
    temperatures = np.array([rng.uniform(0.5, 3), LEAST * rng.uniform(0.2, 0.9), 1.0])
    new = (
        rng.normal(size=(CAPACITY, K, D)),
        temperatures,
        rng.normal(size=(CAPACITY, D, D)),
        np.array([1.0, 1.0, 0.0]),
    )
    return eqx.tree_at(parts, layer, tuple(map(jnp.asarray, new))), jnp.asarray(rng.normal(size=(N, D)))


@eqx.filter_jit
def _step(layer: GrowingLayer, z: jax.Array, loss: PrototypeLoss) -> tuple[GrowingLayer, GrowingLayer, jax.Array]:
    """Return the derivatives of the losses and of the answer by the parameters, and the answer."""
    counted = jnp.arange(N) < COUNTED

    def total(one: GrowingLayer) -> jax.Array:
        found: Competition = one.losses(z, counted, loss)
        return jnp.sum(found.competitive) + jnp.sum(found.barrier)

    answer = eqx.filter_grad(lambda one: jnp.sum(one(z) ** 2))(layer)
    return eqx.filter_grad(total)(layer), answer, layer(z)


@eqx.filter_jit
def _expected(layer: GrowingLayer, z: jax.Array, loss: PrototypeLoss) -> tuple[list, list, jax.Array]:
    """Return the derivatives by prototypes and temperatures of the two heads, and the answer, from the flow's parts."""
    by_prototypes, by_temperatures, answer = [], [], jnp.zeros((N, D))
    for h in range(2):
        p, T = layer.prototypes[h], jnp.maximum(layer.temperatures[h], LEAST)
        by_prototypes.append(loss.gradients(z[:COUNTED], p, T)[1])
        by_temperatures.append(distance_variance(z[:COUNTED], p, T) / COUNTED / T**2)
        answer = answer + soft_centroids(assignments(z, p, T), p) @ layer.output[h].T
    return by_prototypes, by_temperatures, answer


def _step_trial(key: Key, mode: str) -> Trial:
    layer, z = _random_layer(key)
    loss = PrototypeLoss("full", barrier=0.05, reduction="mean")
    found, learned, answer = _step(layer, z, PrototypeLoss(mode, barrier=0.05))
    prototypes, temperatures, expected = jax.tree.map(np.asarray, _expected(layer, z, loss))
    found, learned = (jax.tree.map(np.asarray, part) for part in (found, learned))
    size = max(float(np.max(np.abs(one))) for one in prototypes)
    gap = max(float(np.max(np.abs(one - found.prototypes[h]))) for h, one in enumerate(prototypes))
    slopes = np.asarray(found.temperatures)
    untouched = [found.prototypes[2], learned.prototypes, learned.temperatures, learned.output[2]]
    return Trial(
        hypotheses=(
            at_least("sigma / T^2 of the warm head", temperatures[0], 0.0, tolerance=ROUNDING),
            at_least("derivative by O of an active head", np.max(np.abs(learned.output[:2])), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most(
                "error of the derivatives by prototypes, over the largest", gap / size, ROUNDING, tolerance=ROUNDING
            ),
            equal(
                "derivative by T of the warm head",
                slopes[0],
                temperatures[0],
                tolerance=ROUNDING * (1 + temperatures[0]),
            ),
            equal("derivative by T of the clipped head", slopes[1], 0.0, tolerance=0.0),
            at_most(
                "derivatives that are to vanish",
                max(float(np.max(np.abs(one))) for one in untouched),
                0.0,
                tolerance=0.0,
            ),
            at_most("error of the answer", np.max(np.abs(np.asarray(answer) - expected)), ROUNDING, tolerance=ROUNDING),
        ),
        witness={"z": z, "prototypes": layer.prototypes, "temperatures": layer.temperatures},
        parameters={"n": N, "d": D, "K": K},
    )


layer_steps_as_the_algorithm_says = claim(
    "growing/experiment-5/step",
    statement="""
    In the trained layer dL/dP_h is the gradient of L_q and barrier of head h alone, and dL/dT_h = sigma_h / T_h^2.

    Below T_min the latter is 0. The answer is a sum over heads, and is differentiated by neither.
    """,
    trial=partial(_step_trial, mode="full"),
    control=partial(_step_trial, mode="frozen"),  # The mode frozen.
    variant="special case",
    num_trials=4,
    note="mode full, L_q and sigma as means over tokens; the answer of a layer is a sum over heads of O_h mu_h, which "
    "is not in the paper",
)


def _fixed_trial(key: Key, per_plane: int) -> Trial:
    """Measure growth by the rules of Section 7.5 at every step of a network that stands still."""
    rng = numpy_rng(key)
    layer = draw_layer(random_key(0, "layer"), WIDTH, prototypes=4, capacity=PLACES, dtype=float)
    model = draw_classifier(random_key(0, "classifier"), layer, words=2, length=2, heads=2, dtype=float)
    pair = lambda one: (one.attention.query, one.attention.key)
    model = eqx.tree_at(pair, model, tuple(jnp.asarray(rng.normal(size=(2, WIDTH // 2, WIDTH)) / 3) for _ in range(2)))
    values = np.linalg.svd(antisymmetric_part(model.attention.interaction))[1][::2]
    above = int(rng.integers(2, len(values)))
    threshold = float(values[above - 1] + values[above]) / 2
    rules = GrowthRules(threshold, capacity=PLACES, initial_temperature=1.0, first="random", ordered=True)
    z = rng.normal(size=(N, WIDTH))
    tokens = Sample(z, z)
    model = with_random_head(model, rules, tokens, key)
    for step in range(1, PLACES):
        model = revised(model, rules, tokens, step)
    growth = model.layer.growth
    found = np.asarray(growth.values)[1 : above + 1]
    u = np.asarray(growth.frames)[1 : above + 1, 0]
    banks = np.asarray(model.layer.prototypes)[1 : above + 1]
    off = banks - np.mean(z, axis=0) - np.einsum("hkd,hd,he->hke", banks - np.mean(z, axis=0), u, u)
    return Trial(
        hypotheses=(at_least("gap of the threshold from s_j", values[above - 1] - threshold, 0.0, tolerance=1e-6),),
        conclusions=(
            equal("number of heads", jnp.sum(growth.active), 1 + per_plane * above, tolerance=0.0),
            at_most(
                "errors of the values at growth", np.max(np.abs(found - values[:above])), ROUNDING, tolerance=ROUNDING
            ),
            equal(
                "value after growth", dominant_value(residual(model, z, "features")), values[above], tolerance=ROUNDING
            ),
            holds(
                "births at the first steps",
                np.array_equal(np.asarray(growth.births)[1 : above + 1], np.arange(above) + 1),
            ),
            at_most(
                "least products of directions", np.max(np.abs(u @ u.T - np.eye(above))), ROUNDING, tolerance=ROUNDING
            ),
            at_most("distances of prototypes from the lines", np.max(np.abs(off)), ROUNDING, tolerance=ROUNDING),
            *_removals(model, threshold, tokens, above),
            *_tokens_read(model, rng),
        ),
        witness={"singular values": values, "at growth": found, "threshold": threshold},
        parameters={"d": WIDTH, "pairs above the threshold": above},
    )


def _active(model: SentenceClassifier) -> list[int]:
    return np.flatnonzero(np.asarray(model.layer.growth.active)).tolist()


def _removals(model: SentenceClassifier, threshold: float, tokens: Sample, last: int) -> tuple[Measurement, ...]:
    """Measure what the rules do with heads whose prototypes collapse, and where a direction is given back.

    The heads are a random one and `last` others, of which the first is removed, and then the second.
    """
    rules = lambda ordered: GrowthRules(
        threshold, 0.05, capacity=PLACES, initial_temperature=1.0, first="random", ordered=ordered, dwell=2
    )
    collapsed = lambda m, h: eqx.tree_at(
        lambda m: m.layer.prototypes, m, m.layer.prototypes.at[h].set(1e-3 * m.layer.prototypes[h])
    )
    heads, value = _active(model), lambda m: dominant_value(residual(m, tokens.inputs, "features"))
    once = revised(collapsed(model, 1), rules(True), tokens, PLACES + 2)
    early, late = (revised(collapsed(once, 2), rules(True), tokens, PLACES + k) for k in (3, 4))
    back = without_head(model, 1, PLACES, release=True)
    kept, more = (revised(back, rules(ordered), tokens, PLACES + 2) for ordered in (True, False))
    return (
        holds("a head whose prototypes collapse is removed, and no other", _active(once) == [0, *heads[2:]]),
        equal("its direction stays captured: change of residual", value(once) - value(model), 0, tolerance=ROUNDING),
        holds("the next one stays until the dwell time is over", _active(early) == [0, *heads[2:]]),
        holds("then it goes", _active(late) == [0, *heads[3:]]),
        at_least("residual with a direction given back, over that at the last growth",
                 value(back) / float(model.layer.growth.values[last]), 1.0, tolerance=ROUNDING),
        holds("no head takes it, since the order forbids it", _active(kept) == _active(back)),
        equal("heads that take it without the order", len(_active(more)) - len(_active(back)), 1, tolerance=0),
    )  # fmt: skip


def _tokens_read(model: SentenceClassifier, rng: np.random.Generator) -> tuple[Measurement, ...]:
    """Measure that a sample has what attention reads and what prototypes read, of the words that are no padding."""
    ids = jnp.asarray([[0, 1], [1, 1], [0, 0]][int(rng.integers(2)) :])
    found, (inputs, _, z) = sample(model, ids), jax.vmap(model.encode)(ids)
    counted = np.asarray(ids) > 0
    return tuple(
        equal(f"error of what {who} read", np.max(np.abs(part - np.asarray(own)[counted])), 0.0, tolerance=ROUNDING)
        for who, part, own in (("attention heads", found.inputs, inputs), ("prototypes", found.embeddings, z))
    )


heads_count_the_pairs_above_the_threshold = claim(
    "growing/experiment-5/fixed-product",
    statement="""
    While the attention product stays, growth at every step adds one head for each pair of M_a above theta_w.

    The dominant values are those of the pairs in decreasing order, so that the condition on the order changes nothing.
    A head whose prototypes collapse is removed, once the dwell time is over, and its direction stays captured; where
    one is given back the condition keeps it free.
    """,
    trial=partial(_fixed_trial, per_plane=1),
    control=partial(_fixed_trial, per_plane=2),  # Two heads for each pair, one for each singular value.
    variant="special case",
    num_trials=8,
    note="at d = 64 about nine pairs exceed theta_w = .8 if W_Q and W_K have the variance 1 / d, and none if they have "
    "that of PyTorch's `Linear`, 1 / (3 d): that 6 heads are enough is a matter of the training between two events, "
    "and of the initialisation",
)


THRESHOLD, DWELL = 0.2, 0.01  # the dwell time is over long before the gate has settled


def _distance(plane: Any, gate: Any) -> float:
    """Return the distance of the unit vector along a gate from a plane, whose two rows are orthonormal."""
    w = np.asarray(gate) / np.linalg.norm(gate)
    rows = np.asarray(plane)
    return float(np.linalg.norm(w - rows.T @ (rows @ w)))


def _wait(distance: float, settled: float, gap: float) -> float:
    """Return the time in which the tangent of an angle falls to that of a settled gate, at the rate `gap`."""
    tangent = lambda sine: sine / np.sqrt(1 - sine**2)
    return float(np.log(tangent(distance) / tangent(settled)) / gap)


def _grown_by_gate(key: Key, integrator: AbstractIntegrator, lift: float) -> tuple[GrowingFlow, HybridTrajectory, dict]:
    """Return a flow whose gate alone moves, its run through two growth events, and the numbers drawn.

    The gate starts between the planes of the two pairs, or with a component `lift` outside both.
    """
    rng = numpy_rng(key, "gate")
    s, settled = (rng.uniform(1.5, 2.0), rng.uniform(0.8, 1.2)), rng.uniform(0.05, 0.1)
    rules = {"gate": "oja", "settled": settled, "dwell": DWELL, "threshold": THRESHOLD}
    flow = growing_system(key, (*s, 0.0), width=1.0, rates=(0.0, 0.0), **rules)
    m = np.asarray(flow.interaction)
    u, v, _ = rows_of_planes(m, rng)  # the third pair has the value zero, and no plane of its own
    planes = orthonormal(np.stack([u, m @ u, v, m @ v]))
    other = rng.normal(size=len(m))
    w = _unit(other - planes.T @ (planes @ other))
    angle = rng.uniform(0.6, 1.2)
    gate = np.cos(angle) * u + np.sin(angle) * v + lift * w
    gate = _unit(gate)
    outside = np.linalg.norm(gate - planes.T @ (planes @ gate))
    start = flow.start(random_key(0, "start"))._replace(gate=gate)
    path = simulate_growing(flow, start, [0.0, 40.0], integrator=integrator)
    return flow, path, {"values": s, "settled": settled, "outside": outside, "start": gate}


def _gate_trial(key: Key, integrator: AbstractIntegrator, lift: float = 0.0) -> Trial:
    flow, path, given = _grown_by_gate(key, integrator, lift)
    (first, second), settled = given["values"], given["settled"]
    jumps = [jump for jump in path.jumps if jump.name == "grow"]
    flows = [flow, *(flow_of(phase) for phase in path.phases if float(phase.ts[0]) in path.times("grow"))]
    at_growth = [_distance(f.plane, jump.before.gate) for f, jump in zip(flows, jumps, strict=False)]
    level = np.sqrt(second**2 + settled**2 * (first**2 - second**2))
    begins = (_distance(flow.plane, given["start"]), _distance(flows[1].plane, jumps[0].after.gate))
    gaps = (first**2 - second**2, level**2)
    waits = np.array([_wait(distance, settled, gap) for distance, gap in zip(begins, gaps, strict=True)])
    planar = equal("component of the first gate outside the two planes", given["outside"], 0.0, tolerance=ROUNDING)
    return Trial(
        hypotheses=(
            at_least("second value over theta_w", second / THRESHOLD, 2.0, tolerance=0.0),
            at_least("least time that a gate needs over the dwell time", np.min(waits) / DWELL, 2.0, tolerance=0.0),
            *((planar,) if lift == 0 else ()),
        ),
        conclusions=(
            equal("number of growth events", len(jumps), 2, tolerance=0.0),
            equal(
                "distance of the gate from its plane at growth over settled",
                _far(at_growth, settled),
                0.0,
                tolerance=SOLVER,
            ),
            equal("error of the times of growth", _far(path.times("grow"), np.cumsum(waits)), 0.0, tolerance=SOLVER),
            equal(
                "error of the level of the second head", _far(float(flows[1].dominant), level), 0.0, tolerance=SOLVER
            ),
        ),
        witness={"times": path.times("grow"), "distances": at_growth, "settled": settled},
        parameters={"d": len(flow.interaction), "settled": settled},
    )


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def _far(found: Any, expected: Any) -> float:
    """Return the largest difference relative to what is expected, infinite if there are more or fewer numbers."""
    found, expected = np.atleast_1d(found), np.atleast_1d(expected)
    if expected.size not in (1, found.size):
        return np.inf
    return float(np.max(np.abs(found / expected - 1)))


a_head_is_added_when_the_gate_has_settled = claim(
    "growing/experiment-1-order/settled",
    statement=r"""
    For M_a of two pairs s_1 > s_2 a gate between their planes, at the angle \theta to the first one, adds a head at
    the time \log(\tan \theta / \tan \alpha) / (s_1^2 - s_2^2), \sin \alpha = a.

    The level of the second head is then the root of s_2^2 + a^2 (s_1^2 - s_2^2).
    """,
    trial=_gate_trial,
    control=partial(_gate_trial, lift=0.3),  # The first gate has a component outside both planes.
    variant="special case",
    num_trials=2,
    note="Oja's rule at unit rate, all else at rest; settled means within the distance a of the dominant plane. A gate "
    "that has not settled for good raises the level of the next head, by a^2 (s_1^2 - s_2^2) / (2 s_2)",
)


def _levels_at_growth(flow: GrowingFlow, x: Growing) -> tuple[list[float], GrowingFlow, Growing]:
    """Return the dominant value at every growth that the rules allow, and flow and state after the last."""
    levels = []
    while bool(may_grow(flow)):
        levels.append(float(flow.dominant))
        flow, x = grow(flow, 0.0, x)
    return levels, flow, x


def _order_trial(key: Key, *, ordered: bool) -> Trial:
    """Grow all heads, remove one whose direction is given back, and grow again."""
    rng = numpy_rng(key, "order")
    values = random_values(rng)
    flow = growing_system(key, values, width=1.0, threshold=0.5 * values[-1], ordered=ordered)
    before, flow, x = _levels_at_growth(flow, flow.start(random_key(0, "start")))
    removed = int(rng.integers(len(values) - 1))
    flow, x = prune(flow, 0.0, x, int(np.flatnonzero(np.asarray(flow.order) == removed)[0]))
    left = float(flow.dominant)
    after, flow, _ = _levels_at_growth(flow, x)
    over = float(flow.dominant) / float(flow.rules.threshold)
    levels = np.array([*before, *after])
    return Trial(
        hypotheses=(
            equal("error of the levels before the removal", _far(before, values), 0.0, tolerance=ROUNDING),
            equal("error of the value after it", _far(left, values[removed]), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("least lambda^(h) - lambda^(h+1)", np.min(-np.diff(levels)), 0.05, tolerance=ROUNDING),
            at_least("dominant value at the end over theta_w", over, 1.0, tolerance=ROUNDING),
        ),
        witness={"levels": levels, "removed": removed},
        parameters={"heads": len(values)},
    )


the_order_is_kept_at_a_removal_and_growth_ends = claim(
    "growing/experiment-5/removal",
    statement=r"""
    If a head is removed and its direction given back, then under the condition of Section 7.5 \lambda_{\max} still
    decreases from one growth to the next, and growth ends above theta_w.
    """,
    trial=partial(_order_trial, ordered=True),
    control=partial(_order_trial, ordered=False),  # Without the condition.
    variant="special case",
    num_trials=8,
    note="the condition of Section 7.5 on the system of Section 3: the order (ii) is then the rule's, and the price is "
    "(i), growth that ends at lambda_max <= theta_w",
)
