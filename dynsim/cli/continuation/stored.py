"""Continue from a point of a stored diagram, for `dynsim continue --from DIAGRAM --point ROW`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dynsim.cli.continuation.options import Continue, steps_of, steps_of_orbits
from dynsim.cli.continuation.watched import watched
from dynsim.cli.parsing.options import refuse_unused, say
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    from analysis.dynamics.continuation.branches import Branch
    from analysis.dynamics.diagrams import Diagram
    from dynsim.cli.building.systems import Found
    from dynsim.systems.parameter import Parameter


class StoredPoint(NamedTuple):
    """A point or a bifurcation of a diagram: its branch with this point alone, and the iterate of a map."""

    alone: "Branch"
    iterate: int


def stored_point(o: Continue) -> StoredPoint | None:
    """Read the point of `--from` and `--point`; None for another file than a diagram.

    Raises:
        ValueError: for a number of a row that the diagram does not have, or none.
    """
    import jax
    import numpy as np

    from analysis.dynamics.stored_diagrams import load_diagram

    try:
        diagram = load_diagram(Path(str(o.from_)))
    except ArgumentError:
        if o.point is not None:
            raise ArgumentError("point", "be left out with `--from` a run", f"is {o.point}") from None
        return None
    branches = [*zip(diagram.branches, diagram.iterates, strict=True), *((one, 1) for one in diagram.orbits)]
    places = lambda one: np.argsort([*one.arclengths, *(at.arclength for at in one.places)], kind="stable").tolist()
    rows = [(one, iterate, k) for one, iterate in branches for k in places(one)]
    if o.point is None or not 1 <= o.point <= len(rows):
        must = f"be the number of a row of the table of `{o.from_}`, 1 to {len(rows)}"
        raise ArgumentError("point", must, "is not given" if o.point is None else f"is {o.point}")
    one, iterate, k = rows[o.point - 1]
    count = len(one.parameters)
    if k < count:
        states, value = jax.tree.map(lambda a: np.asarray(a)[k : k + 1], one.states), one.parameters[k]
    else:
        at = one.places[k - count]
        states, value = jax.tree.map(lambda a: np.asarray(a)[None], at.state), at.parameter
    return StoredPoint(one._replace(states=states, parameters=np.array([float(value)])), iterate)


def at_point(o: Continue, made: "Found", point: StoredPoint) -> "Found":
    """Take the state of a point, and its value of the parameter of the diagram, for a system.

    Raises:
        ValueError: for a system without this parameter, or a state that does not fit.
    """
    import jax
    import numpy as np

    from analysis.dynamics.continuation.orbit_curve import Cycle
    from dynsim.systems.parameter import Parameter

    name, value = point.alone.name, float(point.alone.parameters[0])
    own = Parameter(made.system, name, value - 1.0, value + 1.0)
    states: Any = point.alone.states
    along = jax.tree.map(lambda a: a[0], states.nodes if isinstance(states, Cycle) else states)
    state = jax.tree.map(lambda a: a[0], along) if isinstance(states, Cycle) else along
    say(f"from row {o.point} of `{o.from_}`, at {name} = {value:.8g}")
    known = made.begun() if made.start is not None else None
    if known is not None and np.shape(known) != np.shape(state):
        must = f"be a diagram of this system, with states of shape {np.shape(known)}"
        raise ArgumentError("from", must, f"has states of shape {np.shape(state)}")
    return made._replace(system=own.at(value), start=state)


def diagram_of_point(
    o: Continue, made: "Found", parameter: "Parameter", point: StoredPoint, symmetries: tuple
) -> "Diagram":
    """Continue the equilibrium, the cycle of a map or the periodic orbit of a point in both directions."""
    from analysis.dynamics.continuation.equilibria import continue_equilibria
    from analysis.dynamics.continuation.orbit_curve import Cycle
    from analysis.dynamics.continuation.orbits import continue_orbits, orbit_of
    from analysis.dynamics.diagrams import Diagram, bifurcation_diagram, with_orbits
    from dynsim.systems.named import components
    from dynsim.systems.parameter import Parameter

    start, states = made.begun(), point.alone.states
    if not parameter.low <= parameter.value <= parameter.high:
        must = f"be a range that contains the value {parameter.value:g} at which the point is"
        raise ArgumentError("parameter", must, f"is `{o.parameter}`")
    known = components(parameter.system, start)
    described: Any = {"names": known.names, "units": known.units, "of": parameter}
    along_orbits = watched(steps_of_orbits(o), o, parameter, lambda: start, orbits=True)
    of_orbits: Any = {"steps": along_orbits, "max_period": o.max_period, "rtol": o.rtol, "atol": o.atol}
    if isinstance(states, Cycle):
        refuse_unused(o, ("levels", "cycles"), "with `--from` and a periodic orbit")
        value = float(point.alone.parameters[0])
        stored = Parameter(parameter.system, point.alone.name, value - 1.0, value + 1.0)
        orbit = orbit_of(stored, point.alone, 0)
        say(str(orbit))
        method = o.method if orbit.times is None else "collocation"
        found = continue_orbits(parameter, orbit, method=method, **of_orbits)
        return Diagram(parameter.name, (), (), (found,), **described)
    steps = watched(steps_of(o), o, parameter, lambda: start)
    if point.iterate > 1:
        found = continue_equilibria(parameter, start, iterate=point.iterate, steps=steps)
        return Diagram(parameter.name, (found,), (point.iterate,), **described)
    diagram = bifurcation_diagram(parameter, [start], levels=o.levels, steps=steps, symmetries=symmetries)
    if not o.cycles:
        return diagram
    return with_orbits(diagram, parameter, segments=o.segments, method=o.method, **of_orbits)
