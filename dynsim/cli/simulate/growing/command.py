"""`dynsim simulate growing`: simulate heads of prototypes that are added, cooled, clipped and removed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynsim.cli.parsing.options import check_outputs, parse, say, warn
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.simulate.growing.options import Growing, check_options, check_sizes

if TYPE_CHECKING:
    from dynsim.simulation.hybrid_trajectory import HybridTrajectory
    from dynsim.systems.growing.flow import GrowingFlow


def main(words: Sequence[str]) -> int:
    """Simulate the growing system, print its events and heads, and write the requested files."""
    o = parse(Growing, words, "simulate growing")
    check_options(o)
    check_outputs(o.force, out=o.out, figure=o.figure)
    from dynsim.cli.simulate.growing.summary import describe
    from dynsim.simulation.hybrid_trajectory import Ending
    from dynsim.simulation.run_files import save

    flow = growing_flow(o)
    warn([flow.rules.say()] if flow.rules.say() else [])
    path = run(o, flow)
    describe(o, path)
    write_out(o.out, path, lambda out: save(out, path, seed=o.seed))
    if o.figure is not None:
        path.plot().save(o.figure, "temperatures of heads")
        say(f"figure {o.figure}")
    return 1 if path.ending is Ending.CAPPED else 0


def growing_flow(o: Growing) -> "GrowingFlow":
    """Build the growing flow before its first head; raise `ValueError` for files that do not fit."""
    from analysis.experiments.growing.instances import Choices, interaction, planes, tokens
    from dynsim.cli.parsing.tables import matrix
    from dynsim.errors import ArgumentError
    from dynsim.keys import random_key
    from dynsim.systems.growing.flow import GrowingFlow
    from dynsim.systems.growing.rules import GrowthRules
    from dynsim.systems.prototypes.encoders import LinearEncoder
    from dynsim.systems.prototypes.losses import PrototypeLoss

    key = random_key(o.seed, "growing")
    data = None if o.data_file is None else np.asarray(matrix(o.data_file, "data_file"), float)
    given = None if o.interaction is None else np.asarray(matrix(o.interaction, "interaction"), float)
    known = data if data is not None else given
    d = o.dimension if known is None else known.shape[1]
    if given is None and d % 2:
        raise ArgumentError("data_file", "have an even number of columns, or `--interaction` be given", f"has {d}")
    basis, values = planes(key, d), o.largest * o.decay ** np.arange(d // 2)
    if data is None:
        data = tokens(key, o.tokens, basis, values, Choices(law=o.law, scale=o.scale))
    check_sizes(o, *data.shape)
    shared = ("threshold", "pruning", "capacity", "prototypes", "initial_temperature", "least_temperature", "dwell",
              "prune_by", "release", "removal", "first", "gate", "settled", "ordered", "reading", "head_input", "birth",
              "spread", "scaling")  # fmt: skip
    return GrowingFlow(
        data,
        interaction(basis, values) if given is None else given,
        rules=GrowthRules(**{name: getattr(o, name) for name in shared}),
        loss=PrototypeLoss(o.mode, barrier=o.barrier, ridge=o.ridge, reduction=o.reduction),
        encoder=LinearEncoder(d, d) if o.encoder == "linear" else None,
        encoder_rate=o.encoder_rate if o.encoder == "linear" else 0.0,
        prototype_rate=o.prototype_rate,
        temperature_rate=o.temperature_rate,
        gate_rate=o.gate_rate,
        regulariser=o.regulariser,
    )


def run(o: Growing, flow: "GrowingFlow") -> "HybridTrajectory":
    """Simulate a growing flow in continuous time, or by the steps of the paper's Algorithm."""
    from dynsim.cli.parsing.solvers import integrator
    from dynsim.keys import random_key
    from dynsim.simulation.growing import descend, simulate_growing

    start: Any = flow.start(random_key(o.seed, "start"))
    if o.encoder == "linear":
        start = start._replace(encoder=np.eye(len(flow.interaction)))
    if o.discrete:
        steps = int(o.end)
        return descend(flow, start, steps, every=max(1, steps // (o.frames - 1)), max_transitions=o.max_events)
    ts = np.linspace(0.0, o.end, o.frames)
    solver = integrator(o.integrator, o.rtol, o.max_steps, o.atol)
    return simulate_growing(flow, start, ts, max_transitions=o.max_events, integrator=solver)
