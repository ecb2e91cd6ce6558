"""Claims of Theorem 8 on the number of growth and pruning events."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import rotated
from analysis.claims.growing.section_11.events import FRAMES, small_flow, without_heads
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING
from dynsim.simulation.growing import flow_of, simulate_growing

THEOREM = GROWING.at("Theorem 8")
PLANES = 2
END = 40.3  # no sum of whole dwell times, after which events follow each other


def _event_trial(key: Key, integrator: AbstractIntegrator, *, release: str, final: bool) -> Trial:
    """Count the events of a system whose heads fall below the pruning threshold; phi_g < theta_w."""
    rng = numpy_rng(key, "events")
    values, phi = 0.5 * np.sort(rng.uniform(1.2, 3, PLANES))[::-1], 0.25
    m, data = rotated(rng, values), rng.normal(size=(5, 4))
    flow = small_flow(data, m, barrier=3e-3, ridge=0.0, pruning=phi, spread=0.1, release=release)
    slow = eqx.tree_at(lambda f: f.prototype_rate, without_heads(flow), jnp.asarray(1e-3, float))
    path = simulate_growing(slow, slow.start(key), np.linspace(0.0, END, FRAMES), integrator=integrator)
    last = flow_of(path.phases[-1])
    grown, heads = len(path.times("grow")), int(last.active.sum())
    events = grown + len(path.times("prune"))
    apart = float(np.min(np.diff([jump.time for jump in path.jumps if jump.name != "clip"])))
    most = 2 * heads if final else min(2 * grown, 2 * PLANES)
    names = [jump.name for jump in path.jumps if jump.name != "clip"]
    first = holds("pruning comes first where growth is due, too", names[:3] == ["grow", "prune", "grow"])
    return Trial(
        hypotheses=(
            at_least(
                "lambda less 2 eta_P C(2, 2)", last.loss.barrier - 2 * last.prototype_rate, 0.0, tolerance=ROUNDING
            ),
            at_least("theta_w less phi_g", last.rules.threshold - phi, 0.0, tolerance=ROUNDING),
            at_least("growth events", grown, PLANES, tolerance=0.0),
        ),
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
    THEOREM,
    statement="The Algorithm has at most 2 K~ growth and pruning events, K~ being the final number of heads.",
    trial=partial(_event_trial, release="retain", final=True),
    num_trials=2,
    note="K~ is the final number of heads, as in the output of the Algorithm: heads that were added and removed do "
    "not count in it. Lambda > 2 eta_P C(2, 2); prune by separation; the directions of removed heads are retained; no "
    "control: the corrected claim is the positive case",
)


events_are_at_most_twice_the_grown_heads = claim(
    "growing/theorem-8-event-count/corrected",
    THEOREM,
    statement="With the directions of removed heads retained there are at most 2 min(G, d / 2) growth and pruning "
    "events, G being the number of growth events.",
    trial=partial(_event_trial, release="retain", final=False),
    control=partial(_event_trial, release="release", final=False),  # Removed heads give their directions back.
    num_trials=2,
    note="changed: the number of heads ever added in place of the final one, at most d / 2 planes where directions of "
    "removed heads are retained; one event more where a random first head is removed. In continuous time heads are "
    "removed first where growth is due, too",
)
