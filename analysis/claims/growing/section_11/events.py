"""Claims of Section 11 on events and whole runs: the functional at growth and pruning, and the number of events."""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks, rotated
from analysis.claims.growing.section_11.lyapunov import random_heads
from analysis.growing.functionals import energy_along, free_energy_terms, piecewise_free_energy
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import ArrayLike, Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import descend, flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow, prune
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss


@certified(
    "growing/lemma-21",
    num_trials=4,
    note="growth changes no old term, and adds positive ones: L_q and barrier of the new head, Phi(T_init) >= 0. The "
    "reduction of L_q in the proof has no counterpart in W: Lemma 10 is on A_res, which does not occur in it. Any "
    "mode, shared or projected inputs; no control: theorem-8-monotone/jumps has the exact increase",
)
def functional_does_not_increase_at_growth(key: Key) -> Trial:
    """At a growth event W_{j+1} <= W_j.

    The instance: integer tokens, M_a with planes of coordinates, a bank of two prototypes at the distance 2: W
    increases by lambda / 4 at least.
    """
    rng = numpy_rng(key, "instance")
    lam, T, eta = Fraction(int(rng.integers(1, 33)), 4), Fraction(1), Fraction(1, 100)
    flow = GrowingFlow(
        rng.integers(-3, 4, size=(3, 4)),
        blocks([2.0, 1.0]),
        rules=GrowthRules(0.5, capacity=2, prototypes=2, initial_temperature=float(T)),
        loss=PrototypeLoss("full", barrier=float(lam), reduction="mean"),
        temperature_rate=float(eta),
    )
    flow, x = grow(flow, 0.0, flow.start(key))
    after = grow(flow, 0.0, x)
    bank = np.asarray(after[1].prototypes[1])
    jump = float(piecewise_free_energy(*after) - piecewise_free_energy(flow, x))
    least = lam / 4
    return Trial(
        hypotheses=(
            holds("heads before and after", (int(flow.active.sum()), int(after[0].active.sum())) == (1, 2)),
            equal("distance of the new prototypes", np.linalg.norm(bank[0] - bank[1]), 2.0, tolerance=ROUNDING),
            equal("cube of the new temperature", after[1].cubes[1], float(T) ** 3, tolerance=ROUNDING),
            at_least(
                "jump of the functional that ships, less lambda / 4", jump - float(least), 0.0, tolerance=ROUNDING
            ),
        ),
        conclusions=(holds("W does not increase", least <= 0),),
        witness={"lambda": lam, "distance": 2, "T_init": T, "T of the new head": T, "eta_T": eta, "jump": jump},
    )


def _growth_trial(key: Key, expected: str) -> Trial:
    """Add a head to one and compare the jump of the repaired functional with the terms of the new head."""
    flow, x = random_heads(key, clipped=(False, False))
    before, state = prune(flow, 0.0, x, head=1)
    after, y = grow(before, 0.0, state)
    old, new = (free_energy_terms(f, s, potential="repaired") for f, s in ((before, state), (after, y)))
    added = free_energy_terms(after, y, potential=expected).heads[1]
    return Trial(
        hypotheses=(holds("heads before and after", (int(before.active.sum()), int(after.active.sum())) == (1, 2)),),
        conclusions=(
            agrees("jump of W, over the terms of the new head", (new.total - old.total) / added, 1.0),
            at_least("the jump", new.total - old.total, 0.0, tolerance=ROUNDING),
            agrees("change of the terms of the old head", new.heads[0] - old.heads[0], 0.0),
            agrees("temperature of the new head", after.temperatures(y)[1], float(after.rules.initial_temperature)),
        ),
        witness={"state": state},
    )


functional_increases_at_growth_by_the_new_terms = claim(
    "growing/theorem-8-monotone/jumps",
    statement="At a growth event W increases by exactly L_q, barrier and Phi(T_init) of the new head.",
    trial=partial(_growth_trial, expected="repaired"),
    control=partial(_growth_trial, expected="printed"),  # The printed Phi(T_init) = 0 in its place.
    variant="reading",
    num_trials=6,
    note="read: at the growth events alone, where W increases, by the terms of the new head, Phi(T_init) = "
    "(T_init^3 - T_min^3) / (3 eta_T) among them; a run with finitely many growth events then has W(t) <="
    " W(0) + the sum of these jumps",
)


def _pruning_trial(key: Key, *, mean: bool) -> Trial:
    """Remove the head with the least terms, from the sum over heads or from their mean."""
    flow, x = random_heads(key, clipped=(False, False))
    kind = ("printed", "repaired")[int(numpy_rng(key, "potential").integers(2))]
    terms = free_energy_terms(flow, x, potential=kind)
    gone = int(np.argmin(terms.heads))
    smaller, y = prune(flow, 0.0, x, head=gone)
    left = free_energy_terms(smaller, y, potential=kind)
    weights = (0.5, 1.0) if mean else (1.0, 1.0)
    before, after = float(terms.total) * weights[0], float(left.total) * weights[1]
    removed = float(terms.losses[gone] + terms.potentials[gone])
    return Trial(
        hypotheses=(
            holds("heads before and after", (int(flow.active.sum()), int(smaller.active.sum())) == (2, 1)),
            at_least("L_q of the head", terms.losses[gone], 0.0, tolerance=ROUNDING),
            at_least("Phi of the head", terms.potentials[gone], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("W after, less W before - L_q - Phi", after - before + removed, 0.0, tolerance=ROUNDING),
            at_most("W after, less W before", after - before, 0.0, tolerance=ROUNDING),
            agrees("W before less W after, over the removed terms", (before - after) / float(terms.heads[gone]), 1.0),
        ),
        witness={"state": x, "head": gone},
        parameters={"Phi": kind},
    )


functional_does_not_increase_at_pruning = claim(
    "growing/lemma-22",
    statement="At a pruning event that removes a head, W_{j+1} <= W_j - L_q - Phi(T) <= W_j, L_q and Phi of this head.",
    trial=partial(_pruning_trial, mean=False),
    # W as the mean over heads: without the head that has the least terms it is larger.
    control=partial(_pruning_trial, mean=True),
    num_trials=8,
    note="with the printed Phi and with the repaired one, both of which are not negative; the barrier of the head "
    "goes as well. Its direction, released or retained, does not occur in W",
)


END, FRAMES = 60.0, 21
CLIPPED = 240.0  # by then a temperature has reached T_min


def small_flow(
    data: ArrayLike,
    interaction: ArrayLike,
    *,
    barrier: float = 0.3,
    ridge: float = 0.2,
    least: float = 0.6,
    pruning: float = 0.0,
    spread: float = 1.0,
    release: str = "retain",
) -> GrowingFlow:
    """Return a growing flow of five tokens with four features, and a random first head."""
    rules = GrowthRules(
        0.5,
        pruning,
        capacity=3,
        prototypes=2,
        first="random",
        dwell=4.0,
        least_temperature=least,
        release=release,
        spread=spread,
    )
    return GrowingFlow(
        data,
        interaction,
        rules=rules,
        loss=PrototypeLoss("full", barrier=barrier, ridge=ridge, reduction="mean"),
        encoder=LinearEncoder(4, 4),
        encoder_rate=0.02,
        prototype_rate=0.1,
        temperature_rate=0.05,
        regulariser=0.5,
    )


def without_heads(flow: GrowingFlow) -> GrowingFlow:
    """Return a flow without its first head, by the rules of the one with it, so that one program serves both."""
    none = jnp.zeros_like(flow.active)
    return flow.with_heads(active=none, order=jnp.full_like(flow.order, -1))


def small_run(
    key: Key,
    integrator: AbstractIntegrator,
    *,
    barrier: float = 0.3,
    ridge: float = 0.2,
    far: float = 0.0,
    end: float = END,
) -> HybridTrajectory:
    """Run a growing system with two planes above the threshold, after one dwell time.

    `far` is the distance of one of the first prototypes, if it is not zero.
    """
    rng = numpy_rng(key, "run")
    flow = small_flow(rng.normal(size=(5, 4)), rotated(rng, [2.0, 1.0]), barrier=barrier, ridge=ridge)
    x = flow.start(key)._replace(clock=jnp.zeros(()))
    if far:
        x = x._replace(prototypes=x.prototypes.at[0, 0].set(far * jnp.eye(4)[0]))
    return simulate_growing(flow, x, np.linspace(0.0, end, FRAMES), integrator=integrator)


def _monotone_trial(path: HybridTrajectory, potential: str) -> Trial:
    """Measure the functional on each dwell interval, at the events, and against its start."""
    found = energy_along(path, potential=potential)
    growth = np.array(["grow" in names for names in found.names])
    allowed = np.array([np.sum(found.jumps[growth & (found.jump_times <= t)]) for t in found.times])
    first = found.values[0]
    phases = np.split(found.values, np.cumsum([len(phase.ts) for phase in path.phases])[:-1])
    rises = [np.max(np.diff(values), initial=-np.inf) for values in phases]
    return Trial(
        hypotheses=(
            at_least("growth events", np.sum(growth), 2, tolerance=0.0),
            at_least("clips", len(path.times("clip")), 1, tolerance=0.0),
        ),
        conclusions=(
            holds("the rises that ship are those of the values in each phase", np.array_equal(found.rises, rises)),
            at_most("largest rise on a dwell interval", np.max(found.rises), 0.0, tolerance=SOLVER),
            at_most("largest jump at clips", np.max(np.abs(found.jumps[~growth]), initial=0.0), 0.0, tolerance=SOLVER),
            at_most("W less the jumps at growth", np.max(found.values - allowed), first, tolerance=SOLVER),
        ),
        witness={"W": found.values, "times": found.times, "jumps": found.jumps, "names": found.names},
        parameters={"events": len(path.jumps)},
    )


@claim(
    "growing/theorem-8-monotone",
    num_trials=2,
    note="W rises by sigma on dwell intervals (lemma-20) and by the terms of new heads at growth (lemma-21), each of "
    "which is enough. Rates with eta_theta << eta_T << eta_P, mode full, lambda = 0.3 > 2 eta_P C(2, 2)",
)
def functional_stays_below_its_start(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Along the full system with its events W(t) <= W(0)."""
    path = small_run(key, integrator)
    found, flow = energy_along(path), flow_of(path.phases[0])
    first = float(found.values[0])
    margin = float(flow.loss.barrier - 2 * flow.prototype_rate)
    to_first_event = HybridTrajectory(path.phases[:1], (), path.ending)
    before = float(np.max(energy_along(to_first_event).values))
    return Trial(
        hypotheses=(
            at_least("lambda less 2 eta_P C(2, 2)", margin, 0.0, tolerance=ROUNDING),
            at_least("lambda_theta", flow.regulariser, 0.0, tolerance=ROUNDING),
            at_least("growth events", len(path.times("grow")), 2, tolerance=0.0),
        ),
        conclusions=(
            at_most("largest W before the first event, over W(0)", before / first, 1.0, tolerance=SOLVER),
            at_most("largest W, over W(0)", np.max(found.values) / first, 1.0, tolerance=SOLVER),
        ),
        witness={"W": found.values, "times": found.times},
    )


repaired_functional_rises_at_growth_alone = claim(
    "growing/theorem-8-monotone/corrected",
    statement="Along the full system W increases at growth events alone, so that W(t) <= W(0) + the sum of these "
    "jumps.",
    trial=lambda key, integrator: _monotone_trial(small_run(key, integrator, end=CLIPPED), "repaired"),
    # The printed potential.
    control=lambda key, integrator: _monotone_trial(small_run(key, integrator, end=CLIPPED), "printed"),
    num_trials=2,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T), prototypes and encoder that descend W, and the jumps at growth "
    "in the bound; mode full",
)


PLANES = 2
EVENTFUL = 40.3  # no sum of whole dwell times, after which events follow each other


def removing_flow(key: Key, release: str) -> GrowingFlow:
    """Return a flow without heads, whose heads fall below phi_g < theta_w as they are added."""
    rng = numpy_rng(key, "events")
    values = 0.5 * np.sort(rng.uniform(1.2, 3, PLANES))[::-1]
    m, data = rotated(rng, values), rng.normal(size=(5, 4))
    flow = small_flow(data, m, barrier=3e-3, ridge=0.0, pruning=0.25, spread=0.1, release=release)
    return eqx.tree_at(lambda f: f.prototype_rate, without_heads(flow), jnp.asarray(1e-3, float))


def _conditions(path: HybridTrajectory, grown: int) -> tuple[Measurement, ...]:
    """Measure (F1), phi_g < theta_w and the number of growth events."""
    flow = flow_of(path.phases[-1])
    return (
        at_least("lambda less 2 eta_P C(2, 2)", flow.loss.barrier - 2 * flow.prototype_rate, 0.0, tolerance=ROUNDING),
        at_least("theta_w less phi_g", flow.rules.threshold - flow.rules.pruning, 0.0, tolerance=ROUNDING),
        at_least("growth events", grown, PLANES, tolerance=0.0),
    )


def _event_trial(key: Key, integrator: AbstractIntegrator, *, release: str, final: bool) -> Trial:
    """Count the events of a system whose heads fall below the pruning threshold; phi_g < theta_w."""
    flow = removing_flow(key, release)
    path = simulate_growing(flow, flow.start(key), np.linspace(0.0, EVENTFUL, FRAMES), integrator=integrator)
    last = flow_of(path.phases[-1])
    grown, heads = len(path.times("grow")), int(last.active.sum())
    events = grown + len(path.times("prune"))
    apart = float(np.min(np.diff([jump.time for jump in path.jumps if jump.name != "clip"])))
    most = 2 * heads if final else min(2 * grown, 2 * PLANES)
    names = [jump.name for jump in path.jumps if jump.name != "clip"]
    first = holds("pruning comes first where growth is due, too", names[:3] == ["grow", "prune", "grow"])
    return Trial(
        hypotheses=_conditions(path, grown),
        conclusions=(
            at_most("growth and pruning events", events, most, tolerance=0.0),
            at_least("least time between two, over the dwell time", apart / last.rules.dwell, 1.0, tolerance=SOLVER),
            *(() if final else (first,)),
        ),
        witness={"events": [(jump.name, jump.time) for jump in path.jumps], "heads at the end": heads},
        parameters={"events": events, "heads": heads},
    )


events_are_at_most_twice_the_final_heads = claim(
    "growing/theorem-8-event-count",
    statement="The Algorithm has at most 2 K~ growth and pruning events, K~ being the final number of heads.",
    trial=partial(_event_trial, release="retain", final=True),
    num_trials=2,
    note="K~ is the final number of heads, as in the output of the Algorithm: heads that were added and removed do not "
    "count in it. Lambda > 2 eta_P C(2, 2); prune by separation; the directions of removed heads are retained",
)


events_are_at_most_twice_the_grown_heads = claim(
    "growing/theorem-8-event-count/corrected",
    statement="With the directions of removed heads retained there are at most 2 min(G, d / 2) growth and pruning "
    "events, G being the number of growth events.",
    trial=partial(_event_trial, release="retain", final=False),
    control=partial(_event_trial, release="release", final=False),  # Removed heads give their directions back.
    num_trials=2,
    note="changed: the number of heads ever added in place of the final one, at most d / 2 planes where directions of "
    "removed heads are retained; one event more where a random first head is removed. In continuous time heads are "
    "removed first where growth is due, too",
)


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
    flow = removing_flow(key, release)
    x = flow.start(key)
    x = x._replace(encoder=x.encoder / 100, clock=jnp.zeros(()))  # no head until the dwell time is over
    path = simulate_growing(flow, x, np.linspace(0.0, EVENTFUL, FRAMES), integrator=integrator)
    found, last = energy_along(path, potential="none"), flow_of(path.phases[-1])
    first, jumps = found.values[0], np.sum(found.jumps[["grow" in names for names in found.names]])
    states = [(np.flatnonzero(np.asarray(flow_of(phase).active)), phase.ys.prototypes) for phase in path.phases]
    least = min(float(separation(p[k, h])) for heads, p in states for k in range(len(p)) for h in heads)
    grown, removed = len(path.times("grow")), len(path.times("prune"))
    over_start, over_jumps = (least * w / float(last.loss.barrier) for w in (first, first + jumps))
    return EventRun(grown + removed, grown, int(last.active.sum()), over_start, over_jumps, least), path


@claim(
    "growing/corollary-11",
    num_trials=2,
    note="two parts fail, each of which is enough: J exceeds 2 K~, the final number of heads (theorem-8-event-count), "
    "and W(0) does not bound the barrier of a head that is born later, whatever the sign of Phi, so that S falls below "
    "lambda / W(0); new here: that bound. S > 0 holds. Discrete time: see `corrected`. Mode full, directions retained",
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
