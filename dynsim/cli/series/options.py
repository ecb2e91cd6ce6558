"""Options of the commands that measure one trajectory at evenly spaced times, and the trajectory itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dynsim.cli.parsing.options import Atol, Force, Rtol, check_outputs, refuse_solvers, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.system import SystemOptions
from dynsim.errors import ArgumentError, check_at_least, check_positive

if TYPE_CHECKING:
    from dynsim.simulation.trajectory import Trajectory


@dataclass(frozen=True)
class SeriesOptions(SystemOptions):
    """Options of a trajectory that is measured at evenly spaced times."""

    count: int = 4096
    """number of times, or steps of a map, that are measured"""
    spacing: float = 0.05
    """time between two of them, for a flow"""
    transient: float = 100.0
    """transient to discard (time units or steps)"""
    rtol: Rtol = 1e-7
    atol: Atol = None
    integrator: Literal["diffrax", "stiff"] = "diffrax"
    """the integrator of a flow: diffrax (explicit), or stiff (implicit) for stiff flows"""
    max_steps: int | None = None
    """largest number of integrator steps, by default 100,000"""
    out: Path | None = None
    """a table (.csv, .parquet or .npz) to write"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write"""
    force: Force = False


def trajectory(o: SeriesOptions, command: str) -> tuple["Trajectory", str]:
    """Compute the trajectory after its transient; also the name of the system."""
    check_at_least(8, count=o.count)
    check_at_least(0, transient=o.transient)
    check_positive(spacing=o.spacing)
    check_outputs(o.force, figure=o.figure, out=o.out)
    import jax.numpy as jnp

    from dynsim.cli.building.systems import found
    from dynsim.cli.parsing.solvers import integrator
    from dynsim.simulation.simulate import iterate, simulate
    from dynsim.systems.base import AbstractMap

    made = found(o, command)
    refuse_solvers(o, made.system)
    x = jnp.asarray(made.begun())
    check_memory(lambda count: 4 * FLOAT * count * np.size(x), count=o.count)
    if not np.isfinite(o.transient):
        raise ArgumentError("transient", "be finite", f"is {o.transient}")
    if isinstance(made.system, AbstractMap):
        refuse_unused(o, ("spacing",), "for a map")
        late = round(o.transient)
        return iterate(made.system, iterate(made.system, x, late).final if late else x, o.count - 1), made.name
    solver = integrator(o.integrator, o.rtol, o.max_steps, o.atol)
    if o.transient:
        x = simulate(made.system, x, [0.0, o.transient], integrator=solver).final
    times = o.transient + o.spacing * np.arange(o.count)
    return simulate(made.system, x, times, integrator=solver), made.name


def finish(o: SeriesOptions, result: Any, title: str, **drawing: Any) -> int:
    """Print a result, and write the requested table and figure."""
    say(str(result))
    write_out(o.out, result, drawing=drawing)
    if o.figure is not None:
        result.plot(**drawing).save(o.figure, title)
        say(f"figure {o.figure}")
    return 0
