"""Continue bifurcations in the plane of two parameters for `dynsim continue --second`, and draw the curves."""

from typing import TYPE_CHECKING, Any

from dynsim.cli.continuation.options import Continue, steps_of
from dynsim.cli.parsing.options import say
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    from analysis.dynamics.codim2.planes import StabilityMap
    from analysis.dynamics.diagrams import Diagram
    from dynsim.systems.parameter import Parameter

MOST = 100  # largest number of grid points per side of a stability map, to bound its cost


def check_plane(o: Continue) -> None:
    """Raise `ValueError` for options that do not fit the second parameter."""
    if not o.second:
        for given, option in ((o.counts, "--counts"), (o.switch_curves, "--switch-curves")):
            if given:
                raise ArgumentError("second", f"be given with `{option}`", "is not")
        return
    if o.movie is not None:
        raise ArgumentError("movie", "be left out with `--second`", "is given")
    if o.varied_too.name == o.varied.name:
        raise ArgumentError("second", "name a parameter other than `--parameter`", f"also names `{o.varied.name}`")
    if o.counts and not 2 <= o.counts <= MOST:
        raise ArgumentError("counts", f"be from 2 to {MOST}", f"is {o.counts}")


def second_parameter(o: Continue, flow: Any) -> "Parameter":
    """Build the second parameter with its range; raise `ValueError` if it does not fit the system."""
    from dynsim.systems.base import AbstractFlow
    from dynsim.systems.named import where
    from dynsim.systems.parameter import Parameter

    if o.counts and not isinstance(flow, AbstractFlow):
        raise ArgumentError("counts", "be left out for a map", f"is {o.counts}")
    name, low, high = o.varied_too
    found = where(flow, name, "second")
    own = found(flow)
    if own.size != 1 or not low <= float(own.item()) <= high:
        must = f"be a range that contains the system's own value of `{name}`, one number"
        raise ArgumentError("second", must, f"is `{o.second}`, and the value is {own}")
    return Parameter(flow, name, low, high)


def with_plane(o: Continue, both: "tuple[Parameter, Parameter]", diagram: "Diagram") -> "Diagram":
    """Continue the bifurcations of a diagram in the second parameter, print the curves, and add them to the diagram."""
    from analysis.dynamics.diagrams import with_curves

    found = with_curves(diagram, both, steps=steps_of(o), max_period=o.max_period, switched=o.switch_curves)
    for curve in found.curves:
        say(f"  {curve}")
    for note in found.notes:
        if note not in diagram.notes:  # those on tori are printed with these
            say(note)
    if not found.curves:
        say("there is no bifurcation to continue in the second parameter")
    return found


def draw_plane(o: Continue, both: "tuple[Parameter, Parameter]", diagram: "Diagram") -> None:
    """Draw the curves of a diagram in the plane of both parameters, if a figure is requested."""
    if o.figure is not None:
        counted = _counted(o, both, diagram) if o.counts else None
        named = diagram._replace(second=o.varied_too.name)
        drawn = named.plot_plane(counts=counted, bounds=(o.varied.bounds, o.varied_too.bounds))
        drawn.save(o.figure, f"bifurcations in {o.varied.name} and {o.varied_too.name}")
        say(f"figure {o.figure}")


def _counted(o: Continue, both: "tuple[Parameter, Parameter]", diagram: "Diagram") -> "StabilityMap":
    """Count the equilibria on a grid of both parameters, found from the two ends of each branch."""
    import jax

    from analysis.dynamics.codim2.planes import stability_map

    starts = [jax.tree.map(lambda a, k=k: a[k], branch.states) for branch in diagram.branches for k in (0, -1)]
    return stability_map(both, starts, shape=(o.counts, o.counts))
