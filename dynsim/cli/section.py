"""`dynsim section`: draw Poincare sections and return maps of flows, or orbit diagrams and cobwebs of maps."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dynsim.cli.parsing.options import Atol, Force, Rtol, check_outputs, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import parameter_values
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError, check_at_least, check_positive, counted

if TYPE_CHECKING:
    from dynsim.cli.building.systems import Found
    from figures.artists import Artists

OF_FLOWS = ("surface", "maxima", "strobe", "direction", "spacing", "longest", "returns", "rtol", "atol", "integrator",
            "max_steps")  # fmt: skip
OF_MAPS = ("orbits", "box")
COPIES = 4  # copies of the states that exist at the same time
VALUES = 600  # default number of parameter values of an orbit diagram, about one per pixel of the figure


@dataclass(frozen=True)
class Section(SystemOptions):
    """Draw the Poincare section of a flow or the orbits of a map: dynsim section lorenz --surface z=27.

    `--maxima z` takes the maxima of a component, `--strobe 6.2832` samples a forced flow at multiples of its period;
    `--returns x` draws the return map of a component. `--against r=2.5:4` draws the orbit diagram of a map, or that of
    the crossings of a flow, and with `--both-ways` follows an attractor upwards and downwards. Without it, a map of one
    component is drawn as a cobweb, and a map of several components as orbits from starting points in the `--box`.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of yours; each of its parameters is an option
    of its own.
    """

    surface: str = ""
    """the surface of section: NAME=VALUE of a component; for an angle each turn counts"""
    maxima: str = ""
    """instead of a surface: the maxima of this component, its minima with `--direction down`"""
    strobe: str = ""
    """period of the forcing: sample the state at its multiples (stroboscopic map) instead of on a surface; or the name
    of the parameter that is the angular frequency of the forcing, such as omega"""
    direction: Literal["up", "down", "both"] = "up"
    """direction of the crossings that are kept"""
    plane: tuple[str, ...] = ()
    """names of two components to draw; by default the first two other than the surface's"""
    component: str = ""
    """component of an orbit diagram; by default that of `--maxima`, or the first other than the surface's"""
    returns: str = ""
    """draw the return map of this component, as by default where only one is left"""
    against: str = ""
    """draw the orbit diagram against a parameter: NAME=LOW:HIGH (600 values) or NAME=LOW:HIGH:COUNT"""
    both_ways: bool = False
    """with `--against`, follow the attractor upwards and then downwards, from value to value, to show hysteresis"""
    orbits: int = 12
    """number of orbits of a map of several components, from points of the `--box`"""
    box: tuple[float, ...] = ()
    """of a map, the window: a lower and an upper bound for each component; by default the catalogue's. Without one, or
    with `--start`, one orbit is drawn"""
    count: int = 500
    """number of crossings of a flow, or of steps of a map, to keep"""
    transient: float = 100.0
    """transient to discard (time units or steps)"""
    spacing: float = 0.01
    """sampling interval in time units; crossings are located between successive samples"""
    longest: float = 10_000.0
    """time after which the search for crossings ends"""
    rtol: Rtol = 1e-9
    atol: Atol = None
    integrator: Literal["diffrax", "stiff"] = "diffrax"
    """the integrator of a flow: diffrax (explicit), or stiff (implicit) for stiff flows"""
    max_steps: int | None = None
    """largest number of integrator steps, by default 100,000"""
    out: Path | None = None
    """a table (.csv, .parquet or .npz) to write: the crossings with their times, the orbits, or the orbit diagram"""
    figure: Path = Path("section.png")
    """the figure (.pdf, .svg or .png) to write"""
    movie: Path | None = None
    """a movie (.gif) to write, in which the points appear in order"""
    force: Force = False


class Shown(NamedTuple):
    """A computed section: a description, a function that draws a share of it, and the result."""

    words: str
    draw: "Callable[[float], Artists]"
    result: Any
    drawing: dict[str, Any] = {}


def main(words: Sequence[str]) -> int:
    """Compute the section, print a summary, and write the figure and the requested movie."""
    o = parse_system(Section, words, "section")
    check_at_least(2, count=o.count)
    check_at_least(1, orbits=o.orbits)
    check_at_least(0, transient=o.transient)
    check_outputs(o.force, figure=o.figure, movie=o.movie, out=o.out)
    from dynsim.cli.building.systems import found
    from dynsim.programs import without_compiling
    from dynsim.systems.base import AbstractMap
    from dynsim.systems.named import components

    made = found(o, "section")
    is_map = isinstance(made.system, AbstractMap)
    refuse_unused(o, OF_FLOWS if is_map else OF_MAPS, f"for a {'map' if is_map else 'flow'}")
    refuse_unused(o, () if o.against else ("component", "both_ways"), "without `--against`")
    state = made.begun(None)
    if np.ndim(state) != 1:
        raise ArgumentError(
            "system", "have a vector as its state", f"the state of `{o.system}` has {np.ndim(state)} axes"
        )
    known = components(made.system, state)
    check_memory(lambda count: COPIES * FLOAT * count * np.size(state), count=o.count)
    with without_compiling():
        shown = of_map(o, made, known) if is_map else of_flow(o, made, known)
    say(shown.words)
    write_out(o.out, shown.result, drawing=shown.drawing)
    write(o, shown, f"section of {made.name}")
    return 0


def write(o: Section, shown: Shown, title: str) -> None:
    """Write the figure and the requested movie."""
    from figures.movie import growing, write_movie

    shown.draw(1.0).save(o.figure, title)
    say(f"figure {o.figure}")
    if o.movie is not None:
        write_movie(o.movie, growing(lambda until: shown.draw(until).figure))
        say(f"movie {o.movie}")


def of_flow(o: Section, made: "Found", known: Any) -> Shown:
    """Compute the Poincare section or the return map of a flow."""
    import jax.numpy as jnp

    from analysis.dynamics.poincare import Maxima, poincare_section
    from dynsim.cli.parsing.solvers import integrator

    surface, where = _surface(o, made, known)
    solver = integrator(o.integrator, o.rtol, o.max_steps, o.atol)
    direction = {"up": 1, "down": -1, "both": 0}[o.direction]
    if o.against:
        refuse_unused(o, ("returns", "spacing"), "with `--against`")
        options = {"surface": surface, "direction": direction, "longest": o.longest, "integrator": solver}
        first = where if o.maxima else 1 if where == 0 else 0
        return _diagram(o, made, known, first or 0, transient=o.transient, **options)
    if o.returns:
        refuse_unused(o, ("plane",), "with `--returns`")
    fixed = None if isinstance(surface, Maxima) else where
    chosen = (_returning(o, known, fixed),) if o.returns else _plotted(o, known, fixed)
    returning = len(chosen) == 1
    period = math.inf if fixed is None else float(np.asarray(made.system.space.periods(made.begun()))[fixed])
    found = poincare_section(
        made.system, jnp.asarray(made.begun()), surface, o.count, direction=direction,
        modulo=period if math.isfinite(period) else None,
        spacing=o.spacing, transient=o.transient, longest=o.longest, integrator=solver,
    )  # fmt: skip
    found = found._replace(names=known.names, units=known.units)
    shown = found.return_map(chosen[0]) if returning else found
    drawing: dict[str, Any] = {} if returning else {"components": chosen}
    draw = lambda until: shown.plot(until=until, **drawing)
    mean = float(np.mean(np.diff(found.times))) if len(found.times) > 1 else float("nan")
    short = "" if found.complete else f"; the search ended at t = {o.longest:g} before {o.count} crossings"
    back = found.period()
    said = "a fixed point of the return map" if back == 1 else f"which closes after {back} crossings"
    orbit = f"; a periodic orbit, {said}" if back else ""
    return Shown(
        f"{counted(len(found.times), 'crossing')}, {mean:.6g} apart on average{orbit}{short}",
        draw,
        shown if o.returns else found,
        drawing,
    )


def _surface(o: Section, made: "Found", known: Any) -> tuple[Any, int | None]:
    """Build the surface of section, and get the index of its component."""
    from analysis.dynamics.poincare import Maxima

    given = {name: value for name in ("surface", "maxima", "strobe") if (value := getattr(o, name))}
    if len(given) > 1:
        first, second = list(given)[-1], list(given)[0]
        raise ArgumentError(second, f"be left out with `--{first}`", f"is `{given[second]}`")
    if o.strobe:
        return _stroboscope(o, made), None
    if o.maxima:
        k = known.index(o.maxima, "maxima")
        return Maxima(k), k
    name, equals, value = (part.strip() for part in o.surface.partition("="))
    try:
        level = float(value)
    except ValueError:
        level = math.nan
    if not equals or not math.isfinite(level):
        names = ", ".join(known.names)
        but = f"is `{o.surface}`" if o.surface else "is not given"
        raise ArgumentError("surface", f"be NAME=VALUE with one of {names}{'' if o.surface else _strobe(made)}", but)
    k = known.index(name, "surface")
    return (lambda t, x: x[k] - level), k


def _strobe(made: "Found") -> str:
    """Name the option that samples a forced flow at the period of its forcing, or nothing for an autonomous flow."""
    from analysis.dynamics.flow_maps.autonomy import depends_on_time, has_period
    from dynsim.systems.named import changed, parameters

    state = made.begun()
    if not depends_on_time(made.system, state):
        return ""
    numbers = {name: float(value) for name, value in parameters(made.system).items() if np.size(value) == 1}
    other = {name: 1.1 * value for name, value in numbers.items() if value}
    turning = [
        name
        for name, value in other.items()
        if has_period(changed(made.system, {name: value}), state, math.tau / value)
    ]
    return (
        f", or be left out for `--strobe {turning[0] if turning else 'PERIOD'}`, at multiples of the forcing's period"
    )


def _stroboscope(o: Section, made: "Found") -> Any:
    """Build the surface at multiples of the period of the forcing: a number, or from the parameter of its frequency."""
    import jax.numpy as jnp

    from analysis.dynamics.poincare import Stroboscope
    from dynsim.systems.named import where

    refuse_unused(o, ("direction",), "with `--strobe`")
    try:
        period = float(o.strobe)
    except ValueError:
        take = where(made.system, o.strobe, "strobe")
        return Stroboscope(lambda flow: 2 * jnp.pi / take(flow))
    check_positive(strobe=period)
    return Stroboscope(period)


def _returning(o: Section, known: Any, where: int | None) -> int:
    """Get the index of the component of a return map; raise `ValueError` if the surface fixes it."""
    chosen = known.index(o.returns, "returns")
    if chosen == where:
        raise ArgumentError("returns", "name a component that varies on the surface", f"is `{o.returns}`")
    return chosen


def _plotted(o: Section, known: Any, where: int | None) -> tuple[int, ...]:
    """Get the indices of the two components to draw, or that of the only one left, whose return map is drawn."""
    if o.plane:
        if len(o.plane) != 2:
            raise ArgumentError("plane", "name two components", f"names {len(o.plane)}")
        return known.index(o.plane[0], "plane"), known.index(o.plane[1], "plane")
    free = [k for k in range(len(known.names)) if k != where]
    if not free:
        raise ArgumentError("surface", "leave a component that varies", f"fixes the only one, `{o.surface}`")
    return tuple(free[:2])


def of_map(o: Section, made: "Found", known: Any) -> Shown:
    """Compute the orbit diagram, the cobweb or the orbits of a map."""
    from figures.panels.labels import axis_labels

    labels = axis_labels(known.names, known.units)
    if not math.isfinite(o.transient):
        raise ArgumentError("transient", "be finite", f"is {o.transient}")
    sizes = {"count": o.count, "transient": round(o.transient), "orbits": o.orbits}
    check_memory(
        lambda count, transient, orbits: COPIES * FLOAT * (count + transient) * orbits * len(known.names), **sizes
    )
    if o.against:
        refuse_unused(o, ("orbits", "box"), "with `--against`")
        return _diagram(o, made, known, 0, transient=round(o.transient))
    made = made._replace(box=_window(o, len(known.names)) or made.box)
    if len(known.names) == 1:
        refuse_unused(o, ("plane",), "for a map of one component")
        return _cobweb(o, made, labels[0])
    return _orbits(o, made, known, labels)


def _window(o: Section, count: int) -> tuple[float, ...]:
    """Check the bounds of the components of a map, if they are given."""
    ends = np.reshape(o.box, (-1, 2)) if len(o.box) == 2 * count else np.zeros((0, 2))
    if o.box and not (len(ends) and np.all(np.isfinite(ends)) and np.all(ends[:, 0] < ends[:, 1])):
        must = f"hold a lower and an upper bound for each of {counted(count, 'component')}, the lower first"
        raise ArgumentError("box", must, f"is {list(o.box)}")
    return o.box


def _diagram(o: Section, made: "Found", known: Any, default: int, **options: Any) -> Shown:
    """Compute the orbit diagram of one component, of a map or of the crossings of a flow."""
    import jax.numpy as jnp

    from analysis.dynamics.orbit_diagrams import hysteresis_diagram, orbit_diagram
    from dynsim.systems.parameter import Parameter

    name, some = parameter_values(o.against, VALUES, made.system, "against")
    values = np.asarray(some)
    refuse_unused(o, ("plane",), "with `--against`, which draws one `--component`")
    k = known.index(o.component) if o.component else default
    compute = hysteresis_diagram if o.both_ways else orbit_diagram
    found: Any = compute(
        Parameter(made.system, name, float(np.min(values)), float(np.nextafter(np.max(values), np.inf))),
        values, jnp.asarray(made.begun()), coordinate=k, kept=o.count, **options,
    )  # fmt: skip
    draw = lambda until: found.plot(until=until)
    if o.both_ways:
        return Shown(str(found), draw, found)
    escaped = int(np.sum(~np.all(np.isfinite(found.values), axis=1)))
    periods = found.periods()
    shown = ", ".join(f"{p} at {int(np.sum(periods == p))}" for p in np.unique(periods[periods > 0])[:6])
    one = escaped == 1
    ends = f"{'has' if one else 'have'} fewer crossings" if "surface" in options else "escapes" if one else "escape"
    left = f"{counted(escaped, 'orbit')} {ends}"
    how = f"\nsolved {found.solved}" if found.solved else ""
    return Shown(f"{len(values)} values of {name}: periods {shown or 'none'}; {left}{how}", draw, found)


def _cobweb(o: Section, made: "Found", label: str) -> Shown:
    import jax
    import jax.numpy as jnp

    from dynsim.simulation.simulate import iterate
    from figures.artists import alone
    from figures.panels.maps import cobweb

    run = iterate(made.system, jnp.asarray(made.begun()), min(o.count, 100))
    orbit = np.asarray(run.ys)[:, 0]
    orbit = orbit[np.isfinite(orbit)]
    low, high = made.box or (float(orbit.min()), float(orbit.max()) + 1e-9)
    xs = np.linspace(low, high, 401)
    images = jax.vmap(lambda x: made.system.step(0, x))(jnp.asarray(xs)[:, None])[:, 0]
    inside = orbit[(orbit >= low - (high - low)) & (orbit <= high + (high - low))]
    path = inside if len(inside) > 1 else orbit[:2]
    left = "" if len(orbit) > min(o.count, 100) else "; the orbit escapes to infinity"
    draw = lambda until: alone(cobweb, xs, images, path, label=label, until=until)
    return Shown(f"{len(orbit) - 1} steps from {orbit[0]:.6g} to {orbit[-1]:.6g}{left}", draw, run)


def _orbits(o: Section, made: "Found", known: Any, labels: list[str]) -> Shown:
    """Compute orbits from points on the diagonal of the window, or one orbit from the given initial state."""
    import jax.numpy as jnp

    from dynsim.simulation.simulate import iterate
    from figures.artists import alone
    from figures.panels.maps import orbits

    first, second = _plotted(o, known, None)
    x = jnp.asarray(made.begun())
    rows = [x]
    if o.start or not made.box:
        refuse_unused(o, ("orbits", "box"), "with `--start`" if o.start else "without a window, `--box`")
    else:
        low, high = jnp.asarray(made.box[::2]), jnp.asarray(made.box[1::2])
        rows = [x, *(low + (high - low) * (k + 0.5) / o.orbits for k in range(o.orbits - 1))]
    steps = round(o.transient) + o.count
    runs = [iterate(made.system, row, steps) for row in rows]
    paths = [np.asarray(run.ys)[round(o.transient) :] for run in runs]
    kept = [path for path in paths if np.all(np.isfinite(path))]
    if not kept:
        raise ArgumentError("start", "have a bounded orbit", "its orbit escapes to infinity")
    points, names = np.stack(kept)[:, :, [first, second]], (labels[first], labels[second])
    draw = lambda until: alone(orbits, points, labels=names, until=until)
    return Shown(f"{counted(len(kept), 'orbit')} of {o.count} steps; {len(paths) - len(kept)} escape", draw, runs)
