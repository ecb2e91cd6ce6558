"""Claims of Section 7 on two rules of growth: a gate that must have settled, and levels that must decrease."""

from functools import partial
from typing import Any

import numpy as np

from analysis.claims.growing.instances.small_clouds import growing_system, orthonormal, random_values, rows_of_planes
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, equal
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.transitions import grow, may_grow, prune

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
