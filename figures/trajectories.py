"""Runs in axes: the components of states over time, paths in state space, and movies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import jax
import matplotlib
import numpy as np
from scipy.spatial.distance import pdist

from analysis.dynamics.scaling.flat import flat_state, flat_states
from analysis.tokens.consensus import diameter
from dynsim.errors import ArgumentError
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Simplex, Sphere
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import Components, listed
from dynsim.systems.named import components as components_of
from figures.artists import Artists, Part, StyledFrame, set_properties, sheet
from figures.movie import growing, write_movie
from figures.panels.attractors import AZIMUTH, attractor, ends, space_axes, time_series
from figures.panels.growing import head_colours
from figures.panels.hulls import plane_axes
from figures.panels.labels import axis_labels, of_many, time_label
from figures.panels.shown import is_logarithmic
from figures.panels.simplices import in_triangle, outline
from figures.panels.tokens import surface, token_paths
from figures.refined import refined, refined_phases
from figures.style import COLOURS, COLUMN, PAGE, OwnFigure, canvas, colours_of, thick

TOKENS = 200  # largest number of tokens whose paths are drawn; more would hide each other
MOST = 6  # with more components than this, they share one panel
TURN = 360.0  # degrees that the view turns in a movie
FEW = 8  # a path through fewer states than this shows them as points, because lines between them suggest corners
NAMED = 12  # largest number of components in one panel that are all named in a legend


class Pieces(NamedTuple):
    """A run as it is drawn: pieces between transitions, each with times, states (times, components) and errors."""

    ts: tuple[np.ndarray, ...]
    ys: tuple[np.ndarray, ...]
    errors: tuple[np.ndarray, ...] | None
    known: Components
    is_map: bool
    space: Any
    tokens: np.ndarray | None = None

    @property
    def joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and states of all pieces, separated by NaN, which is not drawn."""
        gap = np.full((1, self.ys[0].shape[1]), np.nan)
        ts = [part for t in self.ts for part in (t, [np.nan])][:-1]
        ys = [part for y in self.ys for part in (y, gap)][:-1]
        return np.concatenate(ts), np.concatenate(ys)

    def chosen(self, which: Sequence[int]) -> "Pieces":
        """The same with some of the components."""
        known = self.known._replace(**{
            part: tuple(getattr(self.known, part)[k] for k in which) for part in ("names", "units")
        })  # fmt: skip
        errors = None if self.errors is None else tuple(e[:, which] for e in self.errors)
        return self._replace(ys=tuple(y[:, which] for y in self.ys), errors=errors, known=known)


def trajectory(
    run: Trajectory | HybridTrajectory,
    ax: Any = None,
    *,
    components: Sequence[str | int] | str | int | None = None,
    path: bool | None = None,
    lines: Part = True,
    jumps: Part = True,
    errors: Part = True,
    start: Part = True,
    end: Part = True,
    smooth: bool = True,
    reduced: bool = False,
    colour: Any = None,
    azimuth: float = AZIMUTH,
    until: float = 1.0,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a trajectory; see `Trajectory.plot`."""
    if not has_picture(run):
        must = "have as its states real numbers or vectors, named tuples of these, or tokens, with at least one entry"
        raise ArgumentError("run", must, f"is {run!r}")
    found = pieces(run, smooth=smooth)
    found = in_period(found, run) if reduced else found
    found = found if components is None else found.chosen(_which(components, found.known.names))
    in_space = _in_space(found)
    alone = ax is not None
    shows_path = bool(path) if alone or path is not None else in_space is not None
    if path and in_space is None:
        must = "be left out unless the states are points in two or three dimensions, or on a sphere of three"
        raise ArgumentError("path", must, f"is {path}")
    shows_series = not shows_path if alone else path is not True
    make = lambda: _panels(found, in_space if shows_path else None, shows_series)
    kind = "3d" if alone and shows_path and in_space == "3d" else "rectilinear"
    hint = "" if path else "; `path=True` draws the path in state space" if in_space == "3d" else ""
    several = found.ys[0].shape[1] > MOST
    style, place = frame.pop("style", {}), "below" if several else ""
    with sheet(ax, kind=kind, make=make, columns=4, hint=hint, place=place, **frame) as drawn:
        if alone:
            own_path, series = (drawn.axes[0], ()) if shows_path else (None, drawn.axes)
        else:
            own_path = drawn.axes[0] if shows_path else None
            series = drawn.axes[int(shows_path) :]
        tints = _tints(colour, found.ys[0].shape[1], cycle=drawn.own or len(series) > 1)
        if own_path is not None:
            _path(drawn, own_path, found, (lines, start, end), tints[0], style, azimuth, until)
        if len(series):
            _series(drawn, series, found, (lines, errors, jumps), tints, style, until)
        if drawn.own and frame.get("legend") is not False and own_path is not None and in_space != "3d":
            own_path.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False)
    return drawn


def has_picture(run: Trajectory | HybridTrajectory) -> bool:
    """Whether the states are real numbers or vectors, named tuples of these, or tokens, with at least one entry."""
    if isinstance(run, HybridTrajectory):
        shapes = {str(jax.tree.map(np.shape, part.initial)) for part in run.phases}
        return len(shapes) == 1 and all(has_picture(part) for part in run.phases)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(run.ys)]
    drawable = all(leaf.dtype.kind == "f" and leaf.ndim <= 2 for leaf in leaves) or _has_tokens(run)
    return drawable and any(leaf.size for leaf in leaves)


def _has_tokens(run: Trajectory) -> bool:
    """Whether the states are matrices of real numbers, whose rows are tokens."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(run.ys)]
    return len(leaves) == 1 and leaves[0].ndim == 3 and leaves[0].dtype.kind == "f"


def pieces(run: Trajectory | HybridTrajectory, *, smooth: bool = True) -> Pieces:
    """Arrange a run for drawing; of tokens, the diameter is drawn over time.

    With `smooth` the run is evaluated between its saved times, as finely as what is drawn of it bends.
    """
    whole = run.phases if isinstance(run, HybridTrajectory) else (run,)
    first, tokens = whole[0], None
    if _has_tokens(first):
        parts = [refined(part, of=diameter) if smooth else part for part in whole]
        ys = [np.array([[pdist(x).max(initial=0.0)] for x in np.asarray(part.ys)]) for part in parts]
        known = Components(("diameter",), ("",), str(getattr(first.system, "time_unit", "")))
        tokens, errors = np.concatenate([np.asarray(part.ys) for part in parts]), None
    else:
        if smooth:
            parts = refined_phases(run).phases if isinstance(run, HybridTrajectory) else (refined(run),)
        else:
            parts = whole
        ys = [flat_states(part.ys).astype(float) for part in parts]
        known = components_of(first.system, first.initial)
        kept = [part.stats.error for part in parts]
        errors = None if any(e is None for e in kept) else tuple(flat_states(e).astype(float) for e in kept)
    ts = tuple(np.asarray(part.ts, float) for part in parts)
    return Pieces(ts, tuple(ys), errors, known, isinstance(first.system, AbstractMap), first.system.space, tokens)


def in_period(found: Pieces, run: Trajectory | HybridTrajectory) -> Pieces:
    """Reduce the angles of a run to the interval around 0 of one period; lines are broken where an angle jumps.

    Raises:
        ValueError: for a run of a system without angles.
    """
    first = run.phases[0] if isinstance(run, HybridTrajectory) else run
    angles = flat_state(first.system.space.periods(first.initial))
    if found.tokens is not None or not np.any(np.isfinite(angles)):
        raise ArgumentError("reduced", "be left out for a system without angles", "is True")
    ts, ys, errors = [], [], []
    for t, y, e in zip(found.ts, found.ys, found.errors or found.ys, strict=True):
        turned = nearest(y, angles)
        jumps = np.abs(np.diff(turned, axis=0)) > angles / 2
        at = np.flatnonzero(jumps.any(axis=1))
        middle = (turned[at] + turned[at + 1]) / 2  # so that the lines of the other components go on
        middle[jumps[at]] = np.nan
        ts.append(np.insert(t, at + 1, (t[at] + t[at + 1]) / 2))
        ys.append(np.insert(turned, at + 1, middle, axis=0))
        errors.append(np.insert(e, at + 1, (e[at] + e[at + 1]) / 2, axis=0))
    return found._replace(ts=tuple(ts), ys=tuple(ys), errors=None if found.errors is None else tuple(errors))


def _which(components: Any, names: Sequence[str]) -> list[int]:
    """Indices of the components that are named or numbered."""
    given = [components] if isinstance(components, str | int) else list(components)
    for one in given:
        if not (one in names or isinstance(one, int) and -len(names) <= one < len(names)):
            raise ArgumentError("components", f"name components of the state, {listed(names)}", f"holds {one!r}")
    return [names.index(one) if isinstance(one, str) else one for one in given]


def _in_space(found: Pieces) -> str | None:
    """How a path is shown: in the `plane`, in `3d`, on the `sphere` or the `simplex`, or as `tokens`; None if not."""
    d = found.ys[0].shape[1]
    if found.tokens is not None:
        count, d = found.tokens.shape[1:]
        if d == 2 and count <= TOKENS and not isinstance(found.space, Sphere | Simplex):
            return "tokens"
        return "sphere" if isinstance(found.space, Sphere) and d == 3 and count <= TOKENS else None
    if d == 3 and isinstance(found.space, Sphere | Simplex):
        return "sphere" if isinstance(found.space, Sphere) else "simplex"
    return {2: "plane", 3: "3d"}.get(d)


def _tints(colour: Any, count: int, *, cycle: bool) -> list[Any]:
    """Colours of the components: those given, one for all, or the next ones of the style's cycle (None)."""
    if colour is not None:
        several = colours_of(colour)
        return [several[k % len(several)] for k in range(count)]
    if count > MOST:
        return list(head_colours(count))
    known = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", ["C0"])
    return [known[k % min(3, len(known))] if cycle else None for k in range(count)]


def _panels(found: Pieces, in_space: str | None, series: bool) -> tuple[Any, list[Any]]:
    """Make a figure with axes of the path, if it is drawn, and stacked axes of the components, if they are."""
    d = found.ys[0].shape[1]
    rows = 0 if not series else d if d <= MOST else 1
    if in_space is None:
        if rows == 1:
            return canvas(aspect=0.85 if d > MOST else 0.75)
        drawn = OwnFigure(figsize=(PAGE, PAGE * max(0.42, 0.14 * rows)), layout="constrained")
        return drawn, list(drawn.subplots(rows, 1, squeeze=False, gridspec_kw={"hspace": 0.08}).flat)
    width, height = (PAGE, PAGE * max(0.42, 0.14 * rows)) if rows else (COLUMN, 0.85 * COLUMN)
    drawn = OwnFigure(figsize=(width, height), layout="constrained")
    grid = drawn.add_gridspec(max(rows, 1), 2 if rows else 1, width_ratios=(1.0, 1.25) if rows else (1.0,))
    first = space_axes(drawn, grid[:, 0]) if in_space == "3d" else drawn.add_subplot(grid[:, 0])
    if not rows:
        return drawn, [first]
    cells = grid[:, 1].subgridspec(rows, 1, hspace=0.08)
    return drawn, [first, *(drawn.add_subplot(cells[k]) for k in range(rows))]


def _series(
    drawn: Artists, axes: Sequence[Any], found: Pieces, parts: Sequence[Part], tints: Sequence[Any], style: Any,
    until: float,
) -> None:  # fmt: skip
    """Draw the components over time, all in one of the axes, or each in axes of its own."""
    lines, errors, jumps = parts
    d = found.ys[0].shape[1]
    if len(axes) not in (1, d):
        raise ArgumentError("ax", f"be one, or one for each of {d} components", f"are {len(axes)}")
    ts, ys = found.joined
    xlabel = "step $k$" if found.is_map else time_label(found.known.time_unit)
    apart = len(axes) > 1
    names = axis_labels(found.known.names, found.known.units)
    words, common = (
        (names, names[0]) if apart or d == 1 else of_many("components", found.known.names, found.known.units)
    )
    several = d > MOST and drawn.own
    for k in range(d):
        ax = axes[k if apart else 0]
        label = words[k] if d <= NAMED or k in (0, d - 1) else None
        made = drawn.draw("lines", lines, time_series, ts, ys[:, k], colour=tints[k], ax=ax, steps=found.is_map,
                          number=k if several and d <= NAMED else None, label=None if apart or d == 1 else label,
                          until=until)  # fmt: skip
        if made is not None and style:
            set_properties("style", [made], style)
        tint = tints[k] if made is None else made.get_color()
        if found.errors is not None:
            largest = max(float(np.max(e)) for e in found.errors)
            said = (
                (f"estimated error, at most {largest:.1e}" if several else "estimated error")
                if k == (d - 1 if several else 0)
                else None
            )
            for number, (t, y, e) in enumerate(zip(found.ts, found.ys, found.errors, strict=True)):
                drawn.draw("errors", errors, _band, t, y[:, k], e[:, k], tint, None if number else said, ax=ax)
            if drawn.own and not several and k == 0 and errors is not False:
                ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)  # above: data may be anywhere
        drawn.draw("errors", False, _band)
        if len(found.ts) > 1:
            drawn.draw("jumps", jumps, _jumps, found, k, tint, ax=ax)
    for number, ax in enumerate(axes):
        shown = ys[:, number : number + 1] if apart else ys
        _series_limits(ax, ts, shown, 0.15 if apart or d == 1 else 0.05, log=found.tokens is not None)
        ax.set_ylabel(names[number] if apart else common)
        if ax is axes[-1]:
            ax.set_xlabel(xlabel)
        elif drawn.own:
            ax.tick_params(labelbottom=False)


def _series_limits(ax: Any, ts: np.ndarray, ys: np.ndarray, share: float, *, log: bool) -> None:
    """Set limits that contain all times and values; a diameter that falls by many decades is logarithmic."""
    ax.set_xlim(np.nanmin(ts), np.nanmax(ts))
    positive = ys[ys > 0]
    if log and is_logarithmic(positive):
        ax.set_yscale("log")
        low, high = np.log(positive.min()), np.log(positive.max())
        ax.set_ylim(np.exp(low - 0.05 * (high - low)), np.exp(high + 0.05 * (high - low)))
        return
    low, high = ends(ys)
    pad = share * (high - low) or 1.0
    ax.set_ylim(low - pad, high + pad)


def _band(ax: Any, ts: np.ndarray, ys: np.ndarray, error: np.ndarray, tint: Any, label: str | None) -> None:
    ax.fill_between(ts, ys - error, ys + error, color=tint, alpha=0.3, linewidth=0.0, label=label)


def _jumps(ax: Any, found: Pieces, k: int, tint: Any) -> None:
    """Draw what transitions change in a component, as dotted lines."""
    for before, after, t in zip(found.ys[:-1], found.ys[1:], found.ts[1:], strict=True):
        ax.plot([t[0], t[0]], [before[-1, k], after[0, k]], color=tint, linestyle=":", linewidth=thick(0.7))


def _path(
    drawn: Artists, ax: Any, found: Pieces, parts: Sequence[Part], tint: Any, style: Any, azimuth: float, until: float
) -> None:
    """Draw the path: in the plane, on the sphere, on the triangle of distributions, or in three dimensions."""
    lines, start, end = parts
    ys = found.joined[1]
    shown, labels = ys[: max(2, round(until * len(ys)))], axis_labels(found.known.names, found.known.units)
    dots = found.is_map or len(ys) < FEW
    kind = _in_space(found)
    if kind == "sphere":
        paths = shown[:, None] if found.tokens is None else found.tokens[: len(shown)]
        drawn.draw("sphere", True, surface, ax=ax)
        drawn.draw("lines", lines, token_paths, paths, colour=tint if tint and not drawn.own else None, ax=ax)
    elif kind == "tokens":
        names = ("first layer", "last layer") if found.is_map else ("start", "end")
        _tokens(drawn, ax, found.tokens[: len(shown)], parts, tint, names)  # pyright: ignore[reportOptionalSubscript]
    elif kind == "3d":
        drawn.draw("lines", lines, attractor, ys, labels=labels, azimuth=azimuth, until=until, dots=dots, ax=ax,
                   own=drawn.own, colour=None if drawn.own else tint)  # fmt: skip
    else:
        flat = shown
        if kind == "simplex":
            drawn.draw("sphere", True, outline, labels, ax=ax)
            flat = in_triangle(np.where(np.isfinite(shown), shown, np.nan))
        drawn.draw("lines", lines, _curve, flat, tint, dots, ax=ax)
        tint = drawn["lines"][-1].get_color() if drawn["lines"] else tint  # pyright: ignore
        drawn.draw("start", start, _end, flat[0], "start", ax=ax)
        drawn.draw("end", end, _end, flat[-1], "end", ax=ax)
        if kind == "plane":
            ax.set(xlim=padded(ys[:, 0]), ylim=padded(ys[:, 1]), xlabel=labels[0], ylabel=labels[1])
    if style:
        set_properties("style", drawn["lines"], style)


def _tokens(
    drawn: Artists, ax: Any, tokens: np.ndarray, parts: Sequence[Part], tint: Any, names: tuple[str, str]
) -> None:
    """Draw the paths of tokens in the plane, (times, tokens, 2), on axes with equal units, with their ends."""
    lines, start, end = parts
    plane_axes(ax, tokens.reshape(-1, 2))
    drawn.draw("lines", lines, _curves, tokens, tint, ax=ax)
    drawn.draw("start", start, _end, tokens[0].T, "start", names[0], ax=ax)
    drawn.draw("end", end, _end, tokens[-1].T, "end", names[1], ax=ax)
    ax.set(**dict(zip(("xlabel", "ylabel"), axis_labels(("x_1", "x_2"), ("", "")), strict=True)))


def _curves(ax: Any, tokens: np.ndarray, tint: Any) -> None:
    """Draw a line for each token, all of one colour."""
    for path in np.moveaxis(tokens, 1, 0):
        (line,) = ax.plot(*path.T, color=tint, linewidth=thick(0.5))
        tint = line.get_color()


def _curve(ax: Any, points: np.ndarray, tint: Any, dots: bool) -> None:
    """Draw a path in the plane; the steps of a map, and few states, are points."""
    marks = {"linestyle": "none", "marker": "."} | ({"markersize": 1.0} if len(points) > NAMED else {})
    ax.plot(*points.T, color=tint, **(marks if dots else {"linewidth": thick(0.7)}))


def _end(ax: Any, point: np.ndarray, role: str, name: str = "") -> None:
    """Mark an end of a path, named by its role or otherwise."""
    fill = {"fillstyle": "none"} if role == "start" else {}
    ax.plot(*point, marker="o", linestyle="none", color=COLOURS[role], label=name or role, **fill)


def padded(values: np.ndarray) -> tuple[float, float]:
    """Compute axis limits with a margin around all values."""
    low, high = ends(values)
    pad = 0.04 * (high - low) or 1.0
    return low - pad, high + pad


def movie(file: Path, run: Trajectory) -> Path:
    """Write a movie of a trajectory as a GIF: the view of a three-dimensional path turns, other paths grow."""
    if has_picture(run):
        run = refined(run, of=diameter) if _has_tokens(run) else refined(run)
    draw = lambda **how: trajectory(run, smooth=False, **how).figure
    if has_picture(run) and _in_space(pieces(run, smooth=False)) == "3d":
        return write_movie(file, lambda phase: draw(azimuth=AZIMUTH + TURN * phase))
    return write_movie(file, growing(lambda share: draw(until=max(0.02, share))))
