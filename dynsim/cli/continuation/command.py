"""`dynsim continue`: continue equilibria and periodic orbits in a parameter, and draw the bifurcation diagram."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynsim.cli.continuation.against import branches_against, check_against
from dynsim.cli.continuation.cycles import as_in_run, check_cycle, check_flow, diagram_of_limit
from dynsim.cli.continuation.ends import say_ends
from dynsim.cli.continuation.options import Continue, check_numbers, steps_of, steps_of_orbits
from dynsim.cli.continuation.plane import check_plane, draw_plane, second_parameter, with_plane
from dynsim.cli.continuation.stored import at_point, diagram_of_point, stored_point
from dynsim.cli.continuation.tori import check_tori, draw_tori, with_tori_of
from dynsim.cli.continuation.watched import check_watched, watched
from dynsim.cli.parsing.options import check_outputs, say, typed_as
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.system import parse_system
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from analysis.dynamics.diagrams import Diagram
    from dynsim.cli.building.systems import Found
    from dynsim.cli.continuation.stored import StoredPoint
    from dynsim.systems.named import Components
    from dynsim.systems.parameter import Parameter


INSIDE = (0.5, 0.25, 0.75)  # where in its range a parameter is tried if neither its own value nor the ends give a start
SAME = 1e-6  # distance, in units of the map, below which two fixed points are the same; Newton errors are far smaller


def main(words: Sequence[str]) -> int:
    """Continue the branches, print them with their bifurcations, and write the requested diagram file and figure."""
    o = parse_system(Continue, words, "continue")
    if "=" not in o.parameter:
        raise _without_range(o)
    varied = o.varied  # raises for a bad range before anything is computed
    check_numbers(o)
    check_against(o)
    check_watched(o)
    check_cycle(o)
    if o.resume is not None and not o.resume.is_file():
        raise ArgumentError("resume", "be a file", f"`{o.resume}` is not one")
    check_outputs(o.force, out=o.out, figure=o.figure, movie=o.movie)
    with typed_as(figure="torus_figure"):
        check_outputs(o.force, figure=o.torus_figure)
    check_plane(o)
    from analysis.dynamics.stored_diagrams import save_diagram
    from dynsim.programs import without_compiling
    from dynsim.systems.named import components

    point = None if o.from_ is None else stored_point(o)
    made, parameter, symmetries = _studied(o, point)
    check_tori(o, made.system)
    if o.resume is None:
        _drawn_component(o, components(made.system, made.begun(len(o.box) // 2 or None)))
    second = second_parameter(o, made.system) if o.second else None
    if o.against:
        with without_compiling():
            return _branches_against(o, made, parameter, symmetries)
    with without_compiling():
        if point is not None:
            diagram = diagram_of_point(o, made, parameter, point, symmetries)
        else:
            diagram = _diagram(o, made, parameter, symmetries)
    say(str(diagram))
    for one, iterate in zip(diagram.branches, diagram.iterates, strict=True):
        say(f"  cycles of period {iterate}: {one}" if iterate > 1 else f"  {one}")
    for one in diagram.orbits:
        say(f"  periodic orbits: {one}")
    say_ends(varied.name, diagram)
    if o.tori:
        diagram = with_tori_of(o, parameter, diagram)
    if second is not None:
        diagram = with_plane(o, (parameter, second), diagram)
    write_out(o.out, diagram, lambda out: save_diagram(out, diagram), "diagram file")
    if second is not None:
        draw_plane(o, (parameter, second), diagram)
    elif o.figure is not None or o.movie is not None:
        _draw(o, made, parameter, diagram)
    draw_tori(o, diagram)
    return 0


def _without_range(o: Continue) -> ArgumentError:
    """Build the error for a parameter without a range; it proposes one around the value in use."""
    import numpy as np

    from dynsim.cli.building.systems import found
    from dynsim.systems.named import listed, parameters, where

    system = found(o, "continue").system
    known = _beta(system) | {name: leaf for name, leaf in parameters(system).items() if np.size(leaf) == 1}
    if o.parameter and o.parameter not in known:
        where(system, o.parameter, "parameter")  # raises for a name that does not exist, with the closest one
    name = o.parameter if o.parameter in known else next(iter(known), "NAME")
    value = float(np.ravel(known.get(name, 0.0))[0])
    low, high = sorted([0.0, 2 * value]) if value else (-1.0, 1.0)
    must = f"be NAME=LOW:HIGH, such as `{name}={low:g}:{high:g}` around its value {value:g}"
    has = f"is `{o.parameter}`, without a range" if o.parameter else f"is not given (one of {listed(tuple(known))})"
    return ArgumentError("parameter", must, has)


def _beta(flow: Any) -> dict[str, Any]:
    """Get the inverse temperature of tokens with P = beta I, {"beta": beta}; an empty dictionary for another system."""
    import jax.numpy as jnp
    import numpy as np

    from dynsim.systems.schedules import Constant
    from dynsim.systems.tokens.flow import TokenFlow

    if not (isinstance(flow, TokenFlow) and isinstance(flow.query_key, Constant)):
        return {}
    P = np.asarray(flow.query_key(jnp.zeros(())))
    is_multiple = len(P) == 1 and np.array_equal(P[0], P[0, 0, 0] * np.eye(P.shape[1]))
    return {"beta": P[:, 0, 0]} if is_multiple else {}


def _studied(o: Continue, point: "StoredPoint | None") -> tuple["Found", "Parameter", tuple]:
    """Build the system, its parameter with its range, and generators of its symmetries.

    For tokens with P = beta I the parameter is beta, and rotations are symmetries.
    """
    import numpy as np

    from analysis.dynamics.linearisation import rotations
    from dynsim.cli.building.systems import found
    from dynsim.spaces import Sphere
    from dynsim.systems.named import where
    from dynsim.systems.parameter import Parameter
    from dynsim.systems.schedules import ScaledIdentity
    from dynsim.systems.tokens.flow import TokenFlow

    made = found(o, "continue")
    check_flow(o, made.system, stored=point is not None)
    if point is not None:
        made = at_point(o, made, point)
    elif o.from_ is not None:
        made = as_in_run(o, made)
    flow = made.system
    if o.varied.name == "beta" and (beta := _beta(flow)):
        d = flow.query_key.shape[-1]
        scaled = TokenFlow(
            ScaledIdentity(beta["beta"], d), flow.value, space=flow.space, mask=flow.mask, scale=float(flow.scale)
        )
        free = isinstance(flow.space, Sphere) and isinstance(flow.value, ScaledIdentity)
        moves = tuple(rotations(d)) if free else ()
        return made._replace(system=scaled), Parameter(scaled, "query_key.factor", *o.varied.bounds, name="beta"), moves
    shape = np.shape(where(flow, o.varied.name, "parameter")(flow))
    if np.prod(shape) != 1:
        raise ArgumentError("parameter", "name one real number", f"`{o.varied.name}` has shape {shape}")
    return made, Parameter(flow, o.varied.name, *o.varied.bounds), ()


def _diagram(o: Continue, made: "Found", parameter: "Parameter", symmetries: tuple) -> "Diagram":
    """Compute the bifurcation diagram from the equilibria found, or extend a diagram read from a file."""
    from analysis.dynamics.continuation.equilibria import check_autonomous
    from analysis.dynamics.continuation.extending import extend
    from analysis.dynamics.diagrams import bifurcation_diagram, with_orbits
    from analysis.dynamics.stored_diagrams import load_diagram
    from dynsim.systems.base import AbstractFlow

    known = None
    if o.resume is not None:
        with typed_as(path="resume"):
            known = load_diagram(o.resume)
    state = lambda: made.begun(len(o.box) // 2 or None) if known is None else _first(known)
    steps = watched(steps_of(o), o, parameter, state)
    of_orbits: Any = {
        "steps": watched(steps_of_orbits(o), o, parameter, state, orbits=True),
        "max_period": o.max_period,
    }
    of_orbits |= {"rtol": o.rtol, "atol": o.atol}
    if known is not None:
        diagram = known
        if diagram.parameter != o.varied.name:
            raise ArgumentError(
                "resume", f"be a diagram in `{o.varied.name}`", f"is a diagram in `{diagram.parameter}`"
            )
        _drawn_component(o, _named(made, diagram))
        orbits = tuple(extend(one, parameter, **of_orbits) for one in diagram.orbits)
        diagram = extend(diagram._replace(orbits=()), parameter, steps=steps, symmetries=symmetries)
        diagram = diagram._replace(orbits=orbits)
        return (
            with_orbits(diagram, parameter, segments=o.segments, method=o.method, **of_orbits) if o.cycles else diagram
        )
    if o.of_cycle:
        return diagram_of_limit(o, made, parameter)
    if not o.varied.low <= parameter.value <= o.varied.high:
        parameter = parameter.of(parameter.at(o.varied.low))
    parameter, starts = _starts(o, made, parameter, symmetries)
    if isinstance(parameter.system, AbstractFlow):
        check_autonomous("system", parameter, starts[0])
    diagram = bifurcation_diagram(parameter, starts, levels=o.levels, steps=steps, symmetries=symmetries)
    if o.cycles:
        diagram = with_orbits(diagram, parameter, segments=o.segments, method=o.method, **of_orbits)
    return diagram


def _branches_against(o: Continue, made: "Found", parameter: "Parameter", symmetries: tuple) -> int:
    """Continue the branches for all values of the parameter of `--against`."""
    from dynsim.systems.named import components

    if not o.varied.low <= parameter.value <= o.varied.high:
        parameter = parameter.of(parameter.at(o.varied.low))
    parameter, starts = _starts(o, made, parameter, symmetries)
    parts = components(made.system, starts[0])
    return branches_against(o, parameter, starts, parts, _drawn_component(o, parts))


def _starts(o: Continue, made: "Found", parameter: "Parameter", symmetries: tuple) -> tuple["Parameter", list[Any]]:
    """Find equilibria or fixed points at the parameter's value, or else at the ends of its range and inside.

    Returns:
        The parameter, at the value where some were found, and the states.

    Raises:
        ArgumentError: if there are none at all, or only pseudo-equilibria.
    """
    from dynsim.systems.base import AbstractFlow

    if o.start and not o.box:
        return parameter, [made.begun()]
    low, high = o.varied.bounds
    tried = dict.fromkeys((parameter.value, low, high, *(low + (high - low) * part for part in INSIDE)))
    is_flow = isinstance(parameter.system, AbstractFlow)
    for value in tried:
        one = parameter if value == parameter.value else parameter.of(parameter.at(value))
        at = made._replace(system=one.system)
        if states := _equilibria(o, at, one, symmetries) if is_flow else _fixed_points(o, at, one):
            if value != parameter.value:
                say(f"starts at {parameter.name} = {value:g}")
            return one, states
    point = "an equilibrium" if is_flow else "a fixed point"
    where = "in the box" if o.box else "in the window of the system" if made.box else "on the space"
    but = f"is not, and none was found {where} at {parameter.name} = {', '.join(f'{v:g}' for v in tried)}"
    raise ArgumentError("start", f"be given near {point}", but)


def _equilibria(o: Continue, made: "Found", parameter: "Parameter", symmetries: tuple) -> list[Any]:
    """Find the equilibria of a flow in the box, or on its space; raise `ValueError` for pseudo-equilibria alone."""
    import jax.numpy as jnp
    import numpy as np

    from analysis.dynamics.equilibria.search import find_equilibria
    from dynsim.keys import random_key

    box = _box(o, made) if o.box or (made.box and not o.start) else None
    shape = None if box is not None else np.shape(made.begun())
    gram: Any = (lambda x: jnp.sort((x @ x.T).ravel())) if symmetries else None
    found = find_equilibria(
        parameter.system, random_key(o.seed, "continue"), box=box, shape=shape, num_starts=o.num_starts,
        symmetries=symmetries, invariant=gram,
    )  # fmt: skip
    say(str(found) if found.found else f"at {parameter.name} = {parameter.value:g}: {found}")
    if not found.found and found.pseudo:
        must = "have an equilibrium where the field is smooth at the first parameter"
        raise ArgumentError("system", must, "has only pseudo-equilibria, where trajectories slide: not continued")
    return _on_branches(parameter, found.found, symmetries)


def _on_branches(parameter: "Parameter", found: Any, symmetries: tuple) -> list[Any]:
    """Leave out multiple equilibria or fixed points, where Newton's method at a fixed parameter does not converge."""
    from analysis.dynamics.continuation.equilibria import equilibrium_curve
    from dynsim.errors import counted

    states = []
    for one in found:
        curve = None if one.kind != "undecided" else equilibrium_curve(parameter, one.state, symmetries=symmetries)
        if curve is None or curve.at(curve.own(one.state), curve.value) is not None:
            states.append(one.state)
    if len(states) < len(found):
        left = counted(len(found) - len(states), "multiple root", "multiple roots")
        say(f"no branch is continued from {left} of the equations at {parameter.name} = {parameter.value:g}")
    return states


def _box(o: Continue, made: "Found") -> "np.ndarray":
    """Get the lower and upper bound of each component, (d, 2); raise `ValueError` unless they fit the system."""
    import numpy as np

    ends = np.reshape(o.box or made.box, (-1, 2)) if len(o.box or made.box) % 2 == 0 else np.zeros((0, 2))
    known = np.size(made.start) if made.start is not None else len(getattr(made.system, "names", ()))
    if not len(ends) or (known and len(ends) != known) or not np.all(ends[:, 0] < ends[:, 1]):
        which = f"each of {known} components" if known else "each component"
        must = f"hold a lower and an upper bound for {which}, the lower first"
        raise ArgumentError("box", must, f"is {list(o.box)}")
    return ends


def _fixed_points(o: Continue, made: "Found", parameter: "Parameter") -> list[Any]:
    """Find the distinct fixed points of a map in the box, or on its space."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from analysis.dynamics.continuation.equilibria import equilibrium_curve
    from analysis.dynamics.equilibria.search import displacement, find_equilibria
    from dynsim.errors import counted
    from dynsim.keys import random_key
    from dynsim.spaces import Euclidean

    key, system = random_key(o.seed, "continue"), parameter.system
    box = _box(o, made) if o.box or (made.box and not o.start) else None
    if isinstance(system.space, Euclidean) and not system.on_host:
        shape = None if box is not None else np.shape(made.begun())
        all_ = find_equilibria(displacement(system), key, box=box, shape=shape, num_starts=o.num_starts)
        outside = f"; {all_.outside} outside" if box is not None else ""
        say(f"{counted(len(all_.found), 'fixed point')}{outside}; {all_.starts} starts, others may be missed")
        return _on_branches(parameter, all_.found, ())
    keys = jax.random.split(key, o.num_starts)
    if box is not None:
        low, high = jnp.asarray(box).T
        starts = [low + (high - low) * jax.random.uniform(k, low.shape) for k in keys]
    else:
        starts = [made.begun(), *(system.space.sample(k, np.shape(made.begun())) for k in keys)]
    curve = equilibrium_curve(parameter, starts[0])
    found: list[Any] = []
    for start in starts:
        point = curve.at(curve.own(start), curve.value)
        if point is not None and all(np.max(np.abs(np.asarray(point.state) - x)) > SAME for x in found):
            found.append(np.asarray(point.state))
    return found if curve.units is None else [curve.units.restored(x) for x in found]


def _first(diagram: "Diagram") -> Any:
    """Get the first state of a diagram."""
    import jax

    if diagram.branches:
        return jax.tree.map(lambda a: a[0], diagram.branches[0].states)
    orbits: Any = diagram.orbits[0].states
    return jax.tree.map(lambda a: a[0, 0], orbits.nodes)


def _named(made: "Found", diagram: "Diagram") -> "Components":
    """Get the components of the states of a diagram: as the system declares them, or as the diagram's file does."""
    from dynsim.systems.named import components

    own = components(made.system, _first(diagram))
    stored = own._replace(names=diagram.names or own.names, units=diagram.units or own.units)
    declares = bool(made.system.names), bool(made.system.units)
    return own._replace(names=(own if declares[0] else stored).names, units=(own if declares[1] else stored).units)


def _drawn_component(o: Continue, parts: "Components") -> int:
    """Get the index of the component that is drawn; raise `ValueError` if it does not exist."""
    return parts.index(o.component) if o.component else 0


def _draw(o: Continue, made: "Found", parameter: "Parameter", diagram: "Diagram") -> None:
    """Write the requested figure and movie of one component of the state against the parameter."""
    from figures import diagrams, quantities
    from figures.movie import growing, write_movie

    parts = _named(made, diagram)
    which = _drawn_component(o, parts)
    measured = quantities.shown(diagrams.measured(diagram, which, parameter), o.y)
    usual, (least, most) = diagrams.limits_of(measured)
    limits = (o.window[0], o.window[1]) if o.window else usual
    if limits is not None and (least < limits[0] or most > limits[1]):
        name = parts.names[which] if o.y == "range" else o.y
        shown = f"the figure shows {name} from {limits[0]:.4g} to {limits[1]:.4g}"
        say(f"{shown}, branches extend from {least:.4g} to {most:.4g} (`--window` sets the limits)")
    named: Any = diagram._replace(names=parts.names, units=parts.units)
    how = {"component": which, "quantity": o.y, "bounds": o.varied.bounds, "window": limits, "measures": measured}
    if o.figure is not None:
        named.plot(**how).save(o.figure, f"bifurcation diagram in {o.varied.name}")
        say(f"figure {o.figure}")
    if o.movie is not None:
        write_movie(o.movie, growing(lambda until: named.plot(until=until, **how).figure))
        say(f"movie {o.movie}")
