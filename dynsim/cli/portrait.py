"""`dynsim portrait`: draw the phase portrait of a flow on a line, in the plane, on the sphere or on the simplex."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dynsim.cli.parsing.options import Force, check_outputs, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import parameter_values
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError, check_at_least, check_positive

if TYPE_CHECKING:
    from analysis.dynamics.attractors.basins import Basins
    from analysis.dynamics.attractors.distances import Followed
    from dynsim.cli.building.systems import Found
    from figures.artists import Artists

FRAMES = 12  # default number of frames of a movie; each frame computes a portrait
MOST = 400  # largest number of grid points per side of the window, to bound time and memory
CURVES = 10_000  # largest number of trajectories; a figure shows no more
LEAST_POINTS = 201  # least number of points of a portrait on a line
LOOKED_AT = 9  # points per side at which the field is tested for dependence on time


@dataclass(frozen=True)
class Portrait(SystemOptions):
    """Draw the phase portrait of a flow in a window: dynsim portrait mine.py:field --box -3 3 -3 3.

    Streamlines are coloured by speed; nullclines, equilibria by type, limit cycles and the separatrices of saddles are
    found and drawn. On the circle, the sphere and the simplex no window is needed. For a system with more than two
    components, `--plane x z` draws a slice through `--start`.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of a function f(t, x) or of a flow of yours;
    each of its parameters is an option of its own, such as `--mu 2`.
    """

    box: tuple[float, ...] = ()
    """the window: lower and upper bound of each axis; by default the catalogue's"""
    plane: tuple[str, ...] = ()
    """names of the two components that span a slice, for systems with more than two"""
    basins: bool = False
    """draw the basins of attraction behind the portrait; on the circle and the sphere they are always drawn"""
    trajectories: int = 0
    """number of trajectories to draw, from starting points spread over the window"""
    through: tuple[float, ...] = ()
    """starting points of trajectories in the plane, two numbers each"""
    time: float = 0.0
    """time at which a time-dependent field is drawn"""
    horizon: float | None = None
    """transient after which trajectories are taken to be on their limit cycles; by default it is estimated"""
    rtol: float = 1e-5
    """relative tolerance of trajectories and separatrices"""
    atol: float | None = None
    """absolute tolerance of trajectories; by default a hundredth of the relative one, in units of their length"""
    grid: int = 101
    """number of grid points per side of the window"""
    out: Path | None = None
    """a table (.csv, .parquet or .npz) to write: equilibria with types and eigenvalues, and limit cycles"""
    types: bool = False
    """in the plane, name the types of equilibria in the legend: node, focus, centre, saddle"""
    figure: Path = Path("portrait.png")
    """the figure (.pdf, .svg or .png) to write"""
    movie: Path | None = None
    """a movie (.gif) to write, of portraits over the parameter values of `--vary`"""
    vary: str = ""
    """parameter of the movie with its first and last value, mu=0:3 (12 frames), or with frames, mu=0:3:24"""
    force: Force = False


class Computed(NamedTuple):
    """A computed portrait: a function that draws it, a description, its range of speeds, and the result."""

    draw: "Callable[..., Artists]"
    said: str
    speeds: tuple[float, float] = (0.0, 0.0)
    result: Any = None
    drawing: dict[str, Any] = {}


def main(words: Sequence[str]) -> int:
    """Compute the portrait, print what was found, and write the figure."""
    o = parse_system(Portrait, words, "portrait")
    check_at_least(0, trajectories=o.trajectories)
    check_at_least(8, grid=o.grid)
    for name, most in (("grid", MOST), ("trajectories", CURVES)):
        if getattr(o, name) > most:
            raise ArgumentError(name, f"be at most {most}", f"is {getattr(o, name)}")
    if len(o.through) % 2:
        raise ArgumentError("through", "hold two numbers for each start", f"holds {len(o.through)}")
    for name, numbers in (("time", (o.time,)), ("through", o.through)):
        if not all(map(math.isfinite, numbers)):
            raise ArgumentError(name, "be finite", f"is {', '.join(map(str, numbers))}")
    check_positive(horizon=o.horizon, rtol=o.rtol)
    check_outputs(o.force, figure=o.figure, movie=o.movie, out=o.out)
    from dynsim.cli.building.systems import flow
    from dynsim.programs import without_compiling

    found = flow(o, "portrait")
    name, values = varied(o, found.system)
    with without_compiling():
        one = portrait(o, found)
    say(one.said)
    write_out(o.out, one.result, drawing=one.drawing)
    one.draw().save(o.figure, f"phase portrait of {found.name}")
    say(f"figure {o.figure}")
    if o.movie is not None:
        from analysis.dynamics.attractors.distances import Followed
        from dynsim._runtime.progress import tracked
        from dynsim.systems.named import changed
        from figures.movie import write_movie
        from figures.panels.labels import number_text, symbol

        at, along = lambda value: found._replace(system=changed(found.system, {name: value})), Followed()
        made = frames([
            portrait(o, at(value), f"{symbol(name)} = {number_text(value)}", along)
            for value in tracked(values, len(values), "portraits")
        ])  # fmt: skip
        write_movie(o.movie, lambda phase: made[round(phase * len(made))], frames=len(made))
        say(f"movie {o.movie}")
    return 0


def frames(portraits: Sequence[Computed]) -> list[Any]:
    """Draw the frames of a movie with a common colour scale and a common legend."""
    from figures.portraits import entries

    low, high = zip(*(one.speeds for one in portraits), strict=True)
    speeds = min(low), max(high)
    made = [one.draw(speeds=speeds) for one in portraits]
    legend = {label: handle for drawn in made for label, handle in entries(drawn).items()}
    if not all(entries(drawn).keys() == legend.keys() for drawn in made):
        common = {"handles": list(legend.values()), "labels": list(legend)}
        made = [one.draw(speeds=speeds, legend=common) for one in portraits]
    return [drawn.figure for drawn in made]


def varied(o: Portrait, system: Any) -> tuple[str, list[float]]:
    """Parse the parameter of a movie and its values; raise `ValueError` for a movie without one, or the reverse."""
    if (o.movie is None) != (not o.vary):
        raise ArgumentError("vary", "be given with `--movie`, and only then", "is not" if o.movie else "is")
    return parameter_values(o.vary, FRAMES, system, "vary") if o.vary else ("", [])


def portrait(o: Portrait, found: "Found", title: str = "", along: "Followed | None" = None) -> Computed:
    """Compute the phase portrait of a flow on its space; in a movie, basins keep their labels from frame to frame."""
    import jax.numpy as jnp

    from dynsim.spaces import Simplex, Sphere
    from dynsim.systems.named import components

    space = found.system.space
    d = dimension(o, found)
    if found.start is None and d is not None:  # only its number of entries matters here
        found = found._replace(start=jnp.asarray(np.zeros(d), float))
    state = np.asarray(found.begun(), float)
    if state.ndim == 2 and len(state) == 1:
        state, found = state[0], found._replace(system=of_one_token(found.system))
    if state.ndim != 1:
        must = "have a vector as its state (for a flow of tokens, take `--tokens 1`)"
        raise ArgumentError("system", must, f"the state of `{o.system}` has shape {state.shape}")
    if isinstance(space, Sphere | Simplex) and len(state) > 3:
        raise ArgumentError("system", "have at most three coordinates on its space", f"has {len(state)}")
    curved = isinstance(space, Sphere | Simplex)
    if curved or len(state) == 1:
        unused = (
            ("plane", "through", "trajectories", "types")
            + ("grid",) * curved
            + ("horizon",) * (not isinstance(space, Sphere))
        )
        refuse_unused(o, unused, f"on the {type(space).__name__.lower() if curved else 'line'}")
    if isinstance(space, Sphere):
        return on_sphere(o, found.system, components(found.system, state), title)
    if isinstance(space, Simplex):
        if o.basins:
            raise ArgumentError("basins", "be left out on the simplex", "is given")
        return on_simplex(o, found.system, components(found.system, state), title)
    known = components(found.system, state)
    if len(state) == 1:
        return on_line(o, found, title, along)
    return in_plane(o, found, known, state, title, along)


def of_one_token(flow: Any) -> Any:
    """Convert a flow of one token to a flow of a vector."""
    from dynsim.systems.base import FunctionFlow

    return FunctionFlow(lambda t, x: flow.velocity(t, x[None])[0], flow.space, names=flow.names, units=flow.units)


def dimension(o: Portrait, found: "Found") -> int | None:
    """Get the dimension from the names of components, the window or the space's default; None if it is unknown."""
    from dynsim.spaces.euclidean import Flat

    if not isinstance(found.system.space, Flat):
        return len(o.box) // 2 or 3
    return len(found.system.names) or (len(o.box) // 2 if o.box and not o.plane else None)


def in_plane(
    o: Portrait, found: "Found", known: Any, state: np.ndarray, title: str, along: "Followed | None"
) -> Computed:
    """Compute the phase portrait of a planar flow, or of a slice of a larger system."""
    from analysis.dynamics.portraits.plane import phase_plane, trajectory_starts, window
    from dynsim.systems.named import listed
    from figures.panels.labels import slice_label
    from figures.panels.phase import speed_range

    d = len(state)
    if o.plane and len(o.plane) != 2:
        raise ArgumentError("plane", "name two components", f"names {len(o.plane)}")
    if d > 2 and not o.plane:
        raise ArgumentError("plane", f"name two of {listed(known.names)}", f"is not given for {d} components")
    first, second = (known.index(name, "plane") for name in o.plane) if o.plane else (0, 1)
    if first == second:
        raise ArgumentError("plane", "name two different components", f"names `{o.plane[0]}` twice")
    box = o.box or tuple(found.box[2 * k + side] for k in (first, second) for side in (0, 1) if found.box)
    if not box:
        raise ArgumentError("box", f"be given for `{o.system}`", "is not")
    regions = basins_of(o, found, box, state, (first, second))
    spread = trajectory_starts(o.trajectories, *window(box, 2))
    starts = np.concatenate([np.reshape(o.through, (-1, 2)), spread])
    plan = phase_plane(
        found.system,
        box,
        axes=(first, second),
        at=state,
        trajectories=starts,
        t=o.time,
        horizon=o.horizon,
        grid=o.grid,
        rtol=o.rtol,
        atol=o.atol,
    )
    held = [k for k in range(d) if k not in (first, second)]
    cut = slice_label([known.names[k] for k in held], state[held].tolist(), [known.units[k] for k in held])
    note = f"; the field is time-dependent and is drawn at t = {o.time:g}" if plan.forced else ""
    title = ", ".join(part for part in (title, cut, f"t = {o.time:g}" if plan.forced else "") if part)
    told = f"{plan}{note}" if regions is None else f"{plan}\n{regions}"
    regions = as_before(regions, along)
    drawing = {"title": title, "types": o.types}
    draw = lambda **how: plan.plot(basins=regions, **drawing, **how)
    return Computed(draw, told, speed_range(plan.velocity), plan, drawing)


def basins_of(
    o: Portrait, found: "Found", box: Sequence[float], state: np.ndarray, which: tuple[int, ...]
) -> "Basins | None":
    """Compute the basins in the window if requested; raise `ValueError` for a time-dependent field."""
    if not o.basins:
        return None
    import jax.numpy as jnp

    from analysis.dynamics.attractors.basins import basins
    from analysis.dynamics.flow_maps.autonomy import change_in_time
    from analysis.dynamics.scaling.flat import grid_states

    start, sides = jnp.asarray(state), np.reshape(box, (-1, 2))
    points = grid_states([np.linspace(low, high, LOOKED_AT) for low, high in sides], state, which)
    if change_in_time(found.system, jnp.asarray(points))[0] > 0:
        must = "be left out for a time-dependent field (`dynsim basins --period` draws basins of a forced flow)"
        raise ArgumentError("basins", must, "is given")
    return basins(found.system, sides, (o.grid,) * len(which), start=start, varied=which)


def as_before(regions: "Basins | None", along: "Followed | None") -> "Basins | None":
    """Relabel basins so that an attractor keeps its label from the previous frame."""
    if regions is None or along is None:
        return regions
    from analysis.dynamics.attractors.distances import relabelled

    names = along.labels(regions.attractors, regions.extent)
    return regions._replace(labels=relabelled(regions.labels, names))


def on_line(o: Portrait, found: "Found", title: str, along: "Followed | None") -> Computed:
    """Compute the phase portrait of a flow on a line: velocity, equilibria, and basins if requested."""
    from analysis.dynamics.portraits.line import line_portrait
    from figures.panels.attractors import ends

    line = line_portrait(found.system, o.box or found.box, t=o.time, points=max(LEAST_POINTS, o.grid))
    regions = basins_of(o, found, tuple(line.xs[[0, -1]]), np.zeros(1), (0,))
    said = str(line) if regions is None else f"{line}\n{regions}"
    regions = as_before(regions, along)
    draw = lambda **how: line.plot(basins=regions, title=title, **how)
    return Computed(draw, said, ends(line.velocity), line, {"title": title})


def on_sphere(o: Portrait, system: Any, known: Any, title: str) -> Computed:
    """Compute the phase portrait of a flow on the circle, or on the front and back of the sphere."""
    from analysis.dynamics.portraits.curved import circle_portrait, listed_rests, sphere_portrait
    from figures.panels.attractors import ends
    from figures.panels.labels import axis_labels

    compute = circle_portrait if len(known.names) == 2 else sphere_portrait
    found = compute(system, t=o.time) if o.horizon is None else compute(system, t=o.time, horizon=o.horizon)
    names = axis_labels(known.names, known.units) if system.names else ()
    speeds = ends(np.linalg.norm(np.asarray(found.field, float), axis=1))
    orbits = [f"{cycle.kind} limit cycle" for cycle in found.cycles]
    said = "; ".join([listed_rests(found.equilibrium_points, found.types, found.families), *orbits])
    return Computed(
        lambda **how: found.plot(names=names, title=title, **how), said, speeds, found, {"names": names, "title": title}
    )


def on_simplex(o: Portrait, system: Any, known: Any, title: str) -> Computed:
    """Compute the phase portrait of a flow on the simplex of three states."""
    from analysis.dynamics.portraits.simplex import simplex_portrait

    if len(known.names) != 3:
        raise ArgumentError("system", "have three states for a portrait on the simplex", f"has {len(known.names)}")
    found = simplex_portrait(system, t=o.time, rtol=o.rtol, atol=o.atol)
    return Computed(lambda **how: found.plot(title=title, **how), str(found), (0.0, 0.0), found, {"title": title})
