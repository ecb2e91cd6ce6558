"""Claims of Corollary 11: what W says of the number of events, of collapse, and of steps of finite size."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import rotated
from analysis.claims.growing.section_11.events import FRAMES, small_flow, without_heads
from analysis.growing.functionals import energy_along, free_energy_terms
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING
from dynsim.simulation.growing import descend, flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.prototypes.assignments import separation

COROLLARY = GROWING.at("Corollary 11")
PLANES = 2
END = 40.3  # no sum of whole dwell times, after which events follow each other


class EventRun(NamedTuple):
    """A run in which heads are added and removed: events, growth events, heads at the end, and S over its bounds."""

    events: int
    grown: int
    heads: int
    over_start: float
    over_jumps: float
    apart: float


def _removing_run(key: Key, integrator: AbstractIntegrator, release: str) -> tuple[EventRun, HybridTrajectory]:
    """Run a system whose heads fall below phi_g, and compare the least S with lambda / W(0), and with the jumps.

    At the start there is no head, and the embeddings are near 0: W(0) is the small regulariser. Values and jumps are of
    W less Phi, which does not increase between events, either, and bounds the barrier the more closely.
    """
    rng = numpy_rng(key, "events")
    values = 0.5 * np.sort(rng.uniform(1.2, 3, PLANES))[::-1]
    m, data = rotated(rng, values), rng.normal(size=(5, 4))
    flow = small_flow(data, m, barrier=3e-3, ridge=0.0, pruning=0.25, spread=0.1, release=release)
    slow = eqx.tree_at(lambda f: f.prototype_rate, without_heads(flow), jnp.asarray(1e-3, float))
    x = slow.start(key)
    x = x._replace(encoder=x.encoder / 100, clock=jnp.zeros(()))  # no head until the dwell time is over
    path = simulate_growing(slow, x, np.linspace(0.0, END, FRAMES), integrator=integrator)
    found, last = energy_along(path, potential="none"), flow_of(path.phases[-1])
    first, jumps = found.values[0], np.sum(found.jumps[["grow" in names for names in found.names]])
    states = [(np.flatnonzero(np.asarray(flow_of(phase).active)), phase.ys.prototypes) for phase in path.phases]
    least = min(float(separation(p[k, h])) for heads, p in states for k in range(len(p)) for h in heads)
    grown, removed = len(path.times("grow")), len(path.times("prune"))
    over_start, over_jumps = (least * w / float(last.loss.barrier) for w in (first, first + jumps))
    return EventRun(grown + removed, grown, int(last.active.sum()), over_start, over_jumps, least), path


def _conditions(path: HybridTrajectory, grown: int) -> tuple[Measurement, ...]:
    """Measure (F1), phi_g < theta_w and the number of growth events."""
    flow = flow_of(path.phases[-1])
    return (
        at_least("lambda less 2 eta_P C(2, 2)", flow.loss.barrier - 2 * flow.prototype_rate, 0.0, tolerance=ROUNDING),
        at_least("theta_w less phi_g", flow.rules.threshold - flow.rules.pruning, 0.0, tolerance=ROUNDING),
        at_least("growth events", grown, PLANES, tolerance=0.0),
    )


@claim(
    "growing/corollary-11",
    COROLLARY,
    num_trials=2,
    note="two parts fail, each of which is enough: J exceeds 2 K~, the final number of heads (theorem-8-event-count), "
    "and W(0) does not bound the barrier of a head that is born later, whatever the sign of Phi, so that S falls below "
    "lambda / W(0); new here: that bound. S > 0 holds. Discrete time: see `corrected`. Mode full, directions retained; "
    "no control: the corrected claim is the positive case",
)
def functional_frames_growth_and_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Along the full system there are at most 2 K~ events, and the barrier in W bounds S below, by lambda / W(0)."""
    found, path = _removing_run(key, integrator, "retain")
    return Trial(
        hypotheses=_conditions(path, found.grown),
        conclusions=(
            at_most("growth and pruning events", found.events, 2 * found.heads, tolerance=0.0),
            at_least("least S over lambda / W(0)", found.over_start, 1.0, tolerance=SOLVER),
            at_least("least S", found.apart, 0.0, tolerance=ROUNDING),
        ),
        witness=found._asdict(),
        parameters={"events": found.events, "heads": found.heads},
    )


UNTIL = 8.0
STEP = 0.05


def _in_steps(flow: GrowingFlow, h: float) -> GrowingFlow:
    """Return a flow whose rates are steps of the size h, and whose dwell time is counted in them."""
    names = ("encoder_rate", "prototype_rate", "temperature_rate", "gate_rate")
    rates = [getattr(flow, name) * h for name in names]
    return eqx.tree_at(
        lambda f: [*(getattr(f, name) for name in names), f.rules.dwell], flow, [*rates, flow.rules.dwell / h]
    )


def _last_terms(path: HybridTrajectory, flow: GrowingFlow) -> np.ndarray:
    """Return the terms of the repaired functional at the end of a run, with the rates of a flow."""
    at = eqx.tree_at(lambda f: f.temperature_rate, flow_of(path.phases[-1]), flow.temperature_rate)
    return np.hstack(free_energy_terms(at, path.final, potential="repaired"))


def _errors(key: Key, integrator: AbstractIntegrator, planes: int) -> tuple[list[float], int]:
    """Return the errors of the terms of W at the end in steps of two sizes, for some planes above theta_w, and events.

    An error is the norm of those of all terms, as the sum of them may have none of first order by chance.
    """
    rng = numpy_rng(key, f"steps, {planes}")
    flow = small_flow(rng.normal(size=(5, 4)), rotated(rng, [1.0, 0.8] if planes else [0.4, 0.3]), spread=0.5)
    x = flow.start(key)._replace(clock=jnp.zeros(()))
    path = simulate_growing(flow, x, [0.0, UNTIL], integrator=integrator)
    exact, errors = _last_terms(path, flow), []
    for h in (STEP, STEP / 2):
        steps = round(UNTIL / h)
        discrete = descend(_in_steps(flow, h), x, steps, every=steps, gate_power=0.0)
        if len(discrete.times("grow")) != len(path.times("grow")):
            return [np.nan, np.nan], -1
        errors.append(float(np.linalg.norm(_last_terms(discrete, flow) - exact)))
    return errors, len(path.times("grow"))


def _frame_trial(key: Key, integrator: AbstractIntegrator, release: str) -> Trial:
    """Measure the three results with the repaired functional and its jumps."""
    found, path = _removing_run(key, integrator, release)
    (none, zero), (some, count) = (_errors(key, integrator, planes) for planes in (0, 2))
    return Trial(
        hypotheses=(
            *_conditions(path, found.grown),
            equal("events without a plane above theta_w", zero, 0, tolerance=0.0),
            equal("events with two of them", count, 2, tolerance=0.0),
        ),
        conclusions=(
            at_most("growth and pruning events", found.events, min(2 * found.grown, 2 * PLANES), tolerance=0.0),
            at_least("least S over lambda / (W(0) + jumps)", found.over_jumps, 1.0, tolerance=SOLVER),
            at_least("error of the terms of W without events, over the step", none[0] / STEP, 1e-4, tolerance=0.0),
            equal("error without events, over that of half the step", none[0] / none[1], 2.0, tolerance=0.1),
            equal("error with two events, over that of half the step", some[0] / some[1], 2.0, tolerance=0.1),
        ),
        witness=found._asdict() | {"errors of W": [none, some]},
        parameters={"events": found.events, "heads": found.heads},
    )


functional_frames_growth_collapse_and_steps = claim(
    "growing/corollary-11/corrected",
    COROLLARY,
    statement="There are at most 2 min(G, d / 2) events, G being the growth events; S >= lambda / (W(0) + jumps at "
    "growth), of W less Phi; and at a fixed time the terms of W in steps of size h differ by C h + o(h), with events "
    "and without, where C is not zero.",
    trial=partial(_frame_trial, release="retain"),
    control=partial(_frame_trial, release="release"),  # Removed heads give their directions back.
    num_trials=2,
    note="changed: the number of heads ever added in place of the final one; W(0) and the jumps at growth, without "
    "Phi, in place of W(0); Phi = (T^3 - T_min^3) / (3 eta_T) for the steps; an error O(eta (J + 1)), as steps between "
    "events have a part in it if there is no event, too. Directions of removed heads retained; prototypes and encoder "
    "descend W. Mode full",
)
