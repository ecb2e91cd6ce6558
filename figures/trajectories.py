"""Pictures and movies of one trajectory: its path in state space, and its components over time."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

from analysis.dynamics.scaling.flat import flat_states
from analysis.tokens.consensus import diameter
from dynsim.errors import ArgumentError
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Simplex, Sphere
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import components
from figures.fitted import fitted
from figures.movie import write_movie
from figures.panels.attractors import AZIMUTH, attractor, ends, many_series, space_axes, time_series
from figures.panels.curves import over_time
from figures.panels.labels import axis_labels, of_many, time_label
from figures.panels.simplices import in_triangle, outline
from figures.panels.tokens import surface, token_paths
from figures.refined import refined
from figures.style import PAGE, canvas, colour, settings

TOKENS = 200  # largest number of tokens whose paths are drawn; more would hide each other
MOST = 6  # with more components than this, they share one panel
TURN = 360.0  # degrees that the view turns in a movie


def drawing(run: Trajectory, *, azimuth: float = AZIMUTH, until: float = 1.0) -> Figure:
    """Draw a trajectory: its path, where this can be shown, and the components of the state over time.

    Of tokens, the rows of a matrix, the diameter is drawn over time, beside the paths of at most 200 tokens on the
    sphere in three dimensions.

    Args:
        run: a result of `simulate` or `iterate`.
        azimuth: azimuth of the viewer in three dimensions, in degrees.
        until: the share of the path that is drawn.

    Raises:
        ValueError: unless the states are real numbers or vectors, or named tuples of these, or tokens.
    """
    if not has_picture(run):
        must = "have as its states real numbers or vectors, named tuples of these, or tokens, with at least one entry"
        raise ArgumentError("run", must, f"is {run!r}")
    run = _finer(run)
    if _has_tokens(run):
        return _tokens(run, until)
    ys = flat_states(run.ys).astype(float)
    known = components(run.system, run.initial)
    labels = axis_labels(known.names, known.units)
    with settings():
        if ys.shape[1] > MOST:
            drawn, (ax,) = canvas(aspect=0.85)
            error = None if run.stats.error is None else flat_states(run.stats.error)
            is_map, xlabel = isinstance(run.system, AbstractMap), _time(run, known.time_unit)
            words, ylabel = of_many("components", known.names, known.units)
            many_series(ax, np.asarray(run.ts), ys, labels=words, xlabel=xlabel, ylabel=ylabel, error=error,
                        steps=is_map, until=until)  # fmt: skip
            drawn.legend(loc="outside lower center", ncols=4)
            return fitted(drawn)
        drawn, path, axes = _axes(ys.shape[1], not isinstance(run.system.space, Sphere | Simplex))
        _series(axes, run, ys, labels, known.time_unit, until)
        if path is not None:
            _path(path, run, ys, labels, azimuth, until)
        return fitted(drawn)


def has_picture(run: Trajectory) -> bool:
    """Whether the states are real numbers or vectors, named tuples of these, or tokens, with at least one entry."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(run.ys)]
    drawable = all(leaf.dtype.kind == "f" and leaf.ndim <= 2 for leaf in leaves) or _has_tokens(run)
    return drawable and any(leaf.size for leaf in leaves)


def _has_tokens(run: Trajectory) -> bool:
    """Whether the states are matrices of real numbers, whose rows are tokens."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(run.ys)]
    return len(leaves) == 1 and leaves[0].ndim == 3 and leaves[0].dtype.kind == "f"


def _finer(run: Trajectory) -> Trajectory:
    """Evaluate a run between its saved times, as finely as what is drawn of it bends."""
    return refined(run, of=diameter) if _has_tokens(run) else refined(run)


def _tokens(run: Trajectory, until: float) -> Figure:
    """Draw the diameter of tokens over time, beside their paths on the sphere in three dimensions."""
    ts, paths = np.asarray(run.ts), np.asarray(run.ys)
    shown = max(2, round(until * len(ts)))
    on_sphere = isinstance(run.system.space, Sphere) and paths.shape[2] == 3 and paths.shape[1] <= TOKENS
    with settings():
        drawn, axes = canvas(PAGE, 0.42, columns=2) if on_sphere else canvas()
        unit = str(getattr(run.system, "time_unit", ""))
        values = np.array([pdist(x).max(initial=0.0) for x in paths])
        over_time(axes[-1], ts[:shown], values[:shown], role="token", ylabel="diameter", xlabel=_time(run, unit))
        axes[-1].set_xlim(ts[0], ts[-1])
        axes[-1].set_ylim(*padded(values))
        if on_sphere:
            token_paths(axes[0], paths[:shown])
            axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False)
        return fitted(drawn)


def movie(file: Path, run: Trajectory) -> Path:
    """Write a movie of a trajectory as a GIF: the view of a three-dimensional path turns, other paths grow."""
    run = _finer(run) if has_picture(run) else run
    in_space = not _has_tokens(run) and not isinstance(run.system.space, Sphere | Simplex)
    turns = in_space and flat_states(run.ys).shape[1] == 3
    if turns:
        return write_movie(file, lambda phase: drawing(run, azimuth=AZIMUTH + TURN * phase))
    return write_movie(file, lambda phase: drawing(run, until=max(0.02, phase)))


def _axes(d: int, in_space: bool) -> tuple[Figure, Any, list[Any]]:
    """Make a figure, the axes of the path (None for a scalar), and stacked axes of the components.

    A path of three components has three-dimensional axes if it is `in_space`, not on a sphere or a simplex.
    """
    if d == 1:
        drawn, (ax,) = canvas()
        return drawn, None, [ax]
    drawn = Figure(figsize=(PAGE, PAGE * max(0.42, 0.14 * d)), layout="constrained")
    grid = drawn.add_gridspec(d, 2, width_ratios=(1.0, 1.25))
    if d == 3 and in_space:
        path = space_axes(drawn, grid[:, 0])
    else:
        path = drawn.add_subplot(grid[:, 0]) if d in (2, 3) else None
    columns = grid[:, 1] if path is not None else grid[:, :]
    rows = columns.subgridspec(d, 1, hspace=0.08)
    return drawn, path, [drawn.add_subplot(rows[k]) for k in range(d)]


def _series(axes: list[Any], run: Trajectory, ys: np.ndarray, labels: list[str], unit: str, until: float) -> None:
    error = None if run.stats.error is None else flat_states(run.stats.error)
    is_map = isinstance(run.system, AbstractMap)
    label = _time(run, unit)
    time_series(axes, np.asarray(run.ts), ys, labels=labels, xlabel=label, error=error, steps=is_map, until=until)


def _time(run: Trajectory, unit: str) -> str:
    return "step $k$" if isinstance(run.system, AbstractMap) else time_label(unit)


def _path(ax: Any, run: Trajectory, ys: np.ndarray, labels: list[str], azimuth: float, until: float) -> None:
    """Draw the path: in the plane, on the sphere, on the triangle of distributions, or in three dimensions."""
    shown = ys[: max(2, round(until * len(ys)))]
    if ys.shape[1] == 3 and isinstance(run.system.space, Sphere):
        surface(ax)
        token_paths(ax, shown[:, None])
    elif ys.shape[1] == 3 and isinstance(run.system.space, Simplex):
        outline(ax, labels)
        ax.plot(*in_triangle(shown).T, color=colour("first"))
        _ends(ax, in_triangle(shown))
    elif ys.shape[1] == 3:
        attractor(ax, ys, labels=labels, azimuth=azimuth, until=until)
    else:
        steps = {"linestyle": "none", "marker": ".", "markersize": 1.0} if isinstance(run.system, AbstractMap) else {}
        ax.plot(*shown.T, color=colour("first"), linewidth=0.7, **steps)
        _whole(ax, ys, labels)
        _ends(ax, shown)


def _ends(ax: Any, points: np.ndarray) -> None:
    """Mark the ends of a path, (points, 2), and name the marks above the axes."""
    ax.plot(*points[0], marker="o", linestyle="none", color=colour("start"), fillstyle="none", label="start")
    ax.plot(*points[-1], marker="o", linestyle="none", color=colour("end"), label="end")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False)


def _whole(ax: Any, ys: np.ndarray, labels: list[str]) -> None:
    """Set the axis labels, and limits that contain the whole path."""
    for name, values, label in zip("xy", ys.T, labels, strict=True):
        getattr(ax, f"set_{name}lim")(*padded(values))
        getattr(ax, f"set_{name}label")(label)


def padded(values: np.ndarray) -> tuple[float, float]:
    """Compute axis limits with a margin around all values."""
    low, high = ends(values)
    pad = 0.04 * (high - low) or 1.0
    return low - pad, high + pad
