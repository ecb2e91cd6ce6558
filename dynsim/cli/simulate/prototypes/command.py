"""`dynsim simulate prototypes`: simulate prototypes that compete for embeddings, alone or with an encoder."""

from collections.abc import Sequence

import numpy as np

from dynsim.cli.parsing.options import check_outputs, parse, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.simulate.prototypes.options import Prototypes, check_options, check_sizes


def main(words: Sequence[str]) -> int:
    """Simulate the flow, print a summary, and write the requested run file and figure."""
    o = parse(Prototypes, words, "simulate prototypes")
    check_options(o)
    check_outputs(o.force, out=o.out, figure=o.figure)
    from dynsim.cli.parsing.solvers import integrator
    from dynsim.cli.simulate.prototypes.flow import data, flow_and_start
    from dynsim.cli.simulate.prototypes.summary import describe
    from dynsim.simulation.simulate import simulate

    x, labels = data(o)
    check_sizes(o, *x.shape)
    flow, start = flow_and_start(o, x)
    solver = integrator(o.integrator, o.rtol, o.max_steps, o.atol)
    path = simulate(flow, start, np.linspace(0.0, o.end, o.frames), integrator=solver, throw=False)
    say(str(path.stats))
    describe(o, path, labels)
    from dynsim.simulation.run_files import save

    write_out(o.out, path, lambda out: save(out, path, seed=o.seed))
    if o.figure is not None:
        path.plot().save(o.figure, "embeddings and prototypes")
        say(f"figure {o.figure}")
    return 0 if bool(path.stats.succeeded) else 1
