"""Continue what a simulation has reached, for `dynsim continue --from RUN` and `dynsim continue --cycle`."""

from typing import TYPE_CHECKING, Any

from dynsim.cli.continuation.options import Continue, steps_of, steps_of_orbits
from dynsim.cli.continuation.watched import watched
from dynsim.cli.parsing.options import refuse_unused, say, typed_as
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    from analysis.dynamics.diagrams import Diagram
    from dynsim.cli.building.systems import Found
    from dynsim.systems.parameter import Parameter


def check_cycle(o: Continue) -> None:
    """Raise `ValueError` for options that have no effect on the continuation of one periodic orbit."""
    if not o.of_cycle:
        refuse_unused(o, ("point",), "without `--from` a diagram file")
        return
    option = "--from" if o.from_ is not None else "--cycle"
    of_equilibria = ("levels", "cycles") * (o.from_ is None)
    refuse_unused(o, ("box", "num_starts", "counts", "resume", *of_equilibria), f"with `{option}`")
    refuse_unused(o, ("start",) * (o.from_ is not None), "with `--from`, which has the start")
    if o.from_ is not None and not o.from_.is_file():
        raise ArgumentError("from", "be a file", f"`{o.from_}` is not one")


def check_flow(o: Continue, system: Any, *, stored: bool = False) -> None:
    """Raise `ValueError` for a map, whose cycles are continued otherwise, unless they are stored."""
    from dynsim.systems.base import AbstractMap

    if isinstance(system, AbstractMap):
        where = "for a map, whose cycles are continued from its period doublings (`--levels`)"
        refuse_unused(o, (*("from_",) * (not stored), "cycle", "cycles"), where)


def as_in_run(o: Continue, made: "Found") -> "Found":
    """Take the system of the run of `--from` and its final state; parameters on the command line replace the run's.

    Raises:
        ValueError: for a file that holds no run of one trajectory of this system.
    """
    from dynsim.cli.building.equations import is_code
    from dynsim.cli.building.systems import by_name
    from dynsim.simulation.run_files import load
    from dynsim.simulation.trajectory import Trajectory
    from dynsim.systems.base import AbstractFlow
    from dynsim.systems.named import changed, parameters
    from dynsim.systems.noisy import without_noise

    try:
        with typed_as(path="from"):
            run: Any = load(str(o.from_), trust=(o.system,) if is_code(o.system) else ())
    except ArgumentError as error:
        if "trust" not in error.names:
            raise
        raise ArgumentError("from", f"be a run of `{o.system}`", f"`{o.from_}` is a run of other code") from None
    if not isinstance(run, Trajectory):
        has = f"`{o.from_}` holds {'an ensemble' if hasattr(run, 'values') else 'a run of several phases'}"
        raise ArgumentError("from", "be the run of one trajectory", has)
    system = without_noise(run.system) if isinstance(run.system, AbstractFlow) else run.system
    if type(system) is not type(made.system):
        raise ArgumentError("from", f"be a run of `{o.system}`", f"`{o.from_}` is a run of {type(system).__name__}")
    known = parameters(made.system)
    chosen = {name: known[name] for name in by_name(o.parameters) if name in known}
    return made._replace(system=changed(system, chosen), start=run.final)


def diagram_of_limit(o: Continue, made: "Found", parameter: "Parameter") -> "Diagram":
    """Compute the periodic orbit, or with `--from` the equilibrium, that the start approaches, and continue it."""
    from analysis.dynamics.attractors.attracting_orbit import attracting_orbit, limit_of
    from analysis.dynamics.attractors.limit_set import LimitSet
    from analysis.dynamics.attractors.options import Search
    from analysis.dynamics.continuation.equilibria import check_autonomous
    from analysis.dynamics.continuation.orbits import continue_orbits
    from analysis.dynamics.diagrams import Diagram, bifurcation_diagram, with_orbits
    from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
    from dynsim.systems.named import components

    start = made.begun()
    steps = watched(steps_of_orbits(o), o, parameter, lambda: start, orbits=True)
    of_orbits: Any = {"steps": steps, "max_period": o.max_period, "rtol": o.rtol, "atol": o.atol, "method": o.method}
    if not parameter.low <= parameter.value <= parameter.high:
        must = f"be a range that contains the value {parameter.value:g} at which the solution is"
        raise ArgumentError("parameter", must, f"is `{o.parameter}`")
    check_autonomous("system", parameter, start)
    with typed_as(start="from" if o.from_ is not None else "start"):
        search = Search(longest=o.longest)
        limit = limit_of(parameter.system, start, segments=o.segments, search=search)
        if isinstance(limit, LimitSet) and o.from_ is not None and limit.kind == "equilibrium":
            say(str(limit))
            steps = watched(steps_of(o), o, parameter, lambda: start)
            diagram = bifurcation_diagram(parameter, [limit.state], levels=o.levels, steps=steps)
            return with_orbits(diagram, parameter, segments=o.segments, **of_orbits) if o.cycles else diagram
        orbit = (
            limit
            if isinstance(limit, PeriodicOrbit)
            else attracting_orbit(parameter.system, limit, segments=o.segments)
        )
    refuse_unused(o, ("levels", "cycles"), "with `--from` and a run that ends on a periodic orbit")
    say(str(orbit))
    found = continue_orbits(parameter, orbit, **of_orbits)
    known = components(parameter.system, start)
    return Diagram(parameter.name, (), (), (found,), names=known.names, units=known.units, of=parameter)
