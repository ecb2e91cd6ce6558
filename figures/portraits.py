"""Complete figures of phase portraits: planes and slices, lines, circles, spheres and simplices."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from figures.fitted import fitted
from figures.panels.phase import circle_portrait, equilibria, planar_portrait, sphere_portrait
from figures.panels.portrait_curves import cycles, families, jumps, paths, separatrices, sphere_cycles
from figures.panels.simplices import simplex_portrait
from figures.panels.tokens import AXES, View
from figures.style import COLUMN, PAGE, canvas, colour, settings

if TYPE_CHECKING:
    from analysis.dynamics.attractors.basins import Basins
    from analysis.dynamics.equilibria.families import Family
    from analysis.dynamics.portraits.curved import Portrait
    from analysis.dynamics.portraits.plane import PhasePlane

ARROWS = 300  # number of arrows of the vector field on a sphere
CLEAR = 0.7  # least distance from an equilibrium to the middle of an arrow on a line, relative to the arrows' distance
CORNER = 12  # a label of at most this many characters, including those of mathematics, fits in the corner of a sphere


class Common(NamedTuple):
    """Settings shared by the frames of a movie: the range of speeds (velocities on a line), and the legend entries.

    Without them a portrait chooses its own.
    """

    speeds: tuple[float, float] | None = None
    legend: Mapping[str, Any] = {}


ALONE = Common()
PAD = 0.05  # margin above and below, relative to the range of velocities on a line


def entries(drawn: Figure) -> dict[str, Any]:
    """Legend entries of a portrait, by label."""
    return {label: handle for ax in drawn.axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}


def plane(
    found: "PhasePlane",
    labels: Sequence[str],
    *,
    title: str = "",
    basins: "Basins | None" = None,
    speed: str = "speed",
    common: Common = ALONE,
) -> Figure:
    """Draw the portrait of a plane: field, nullclines, equilibria, limit cycles, separatrices and trajectories."""
    with settings():
        drawn, (ax,) = canvas(1.35 * COLUMN, 0.78)
        planar_portrait(
            ax, found.xs, found.ys, found.velocity, equilibrium_points=found.points,
            kinds=[e.kind for e in found.equilibria], labels=(labels[0], labels[1]), legend=False,
            hidden=found.poles, touching=found.touching, speed_label=speed, speeds=common.speeds,
        )  # fmt: skip
        jumps(ax, found.surfaces, found.sliding, [(e.state, e.last) for e in found.pseudo_equilibria])
        paths(ax, found.trajectories)
        separatrices(ax, found.stable_curves, found.unstable_curves)
        cycles(ax, found.cycles, found.cycle_kinds)
        families(ax, found.families)
        if basins is not None:
            from figures.panels.basins import basin_background

            basin_background(ax, basins.labels, basins.axes)
        _finished(ax, title, common)
        return fitted(drawn)


def line(
    xs: np.ndarray,
    speeds: np.ndarray,
    points: np.ndarray,
    kinds: Sequence[str],
    label: str,
    *,
    curves: "Sequence[Family]" = (),
    velocity: str = "velocity",
    title: str = "",
    basins: "Basins | None" = None,
    common: Common = ALONE,
) -> Figure:
    """Draw the portrait of a line: the velocity against the state, with arrows and equilibria on the axis.

    `label` labels the state and `velocity` its velocity; `curves` are intervals of equilibria.
    """
    with settings():
        drawn, (ax,) = canvas(COLUMN, 0.62)
        ax.axhline(0.0, color=colour("surface"), linewidth=0.6)
        ax.plot(xs, speeds, color=colour("first"))
        step = (xs[-1] - xs[0]) / 14
        for x in xs[0] + step * (np.arange(13) + 0.97):
            v = float(np.interp(x, xs, speeds))
            near = np.min(np.abs(points - x), initial=np.inf) < CLEAR * step
            if abs(v) > 0.02 * float(np.nanmax(np.abs(speeds))) and not near:
                tip = (x + 0.25 * step * np.sign(v), 0.0)
                ax.annotate(
                    "",
                    tip,
                    (x - 0.25 * step * np.sign(v), 0.0),
                    arrowprops={
                        "arrowstyle": "-|>",
                        "color": "black",
                        "lw": 0.6,
                        "mutation_scale": 7,
                        "shrinkA": 0,
                        "shrinkB": 0,
                    },
                )
        equilibria(ax, np.column_stack([points, np.zeros(len(points))]), kinds)
        on_axis = lambda family: np.column_stack([family.points[:, 0], np.zeros(len(family.points))])
        families(ax, [family._replace(points=on_axis(family)) for family in curves])
        ax.set_xlim(xs[0], xs[-1])
        ax.set_xlabel(label)
        ax.set_ylabel(velocity)
        if common.speeds is not None:
            pad = PAD * (common.speeds[1] - common.speeds[0]) or 1.0
            ax.set_ylim(common.speeds[0] - pad, common.speeds[1] + pad)
        if basins is not None:
            from figures.panels.basins import basin_background

            basin_background(ax, basins.labels, basins.axes)
        _finished(ax, title, common)
        return fitted(drawn)


def circle(found: "Portrait", labels: Sequence[str], *, title: str = "", common: Common = ALONE) -> Figure:
    """Draw the portrait of a flow on the circle."""
    with settings():
        drawn, (ax,) = canvas(COLUMN, 0.9)
        angles = np.unwrap(np.arctan2(found.points[:, 1], found.points[:, 0]))
        turning = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
        circle_portrait(
            ax, angles, np.sum(found.field * turning, axis=1), limits=found.limits,
            equilibrium_angles=np.arctan2(found.equilibrium_points[:, 1], found.equilibrium_points[:, 0]),
            kinds=found.kinds, names=_others(found), labels=(labels[0], labels[1]),
            largest=None if common.speeds is None else common.speeds[1],
        )  # fmt: skip
        families(ax, found.families)
        _finished(ax, title, common)
        return fitted(drawn)


def sphere(found: "Portrait", labels: Sequence[str], *, title: str = "", common: Common = ALONE) -> Figure:
    """Draw the portrait of a flow on the sphere, from the front and from the back."""
    with settings():
        drawn, axes = canvas(PAGE, 0.5, columns=2)
        short = AXES if max(map(len, labels)) > CORNER else labels
        some = slice(None, None, max(1, len(found.points) // ARROWS))
        view = View()
        for ax, side, name in zip(axes, (view, view.opposite()), ("front", "back"), strict=True):
            sphere_portrait(
                ax, found.points, found.limits, field_points=found.points[some], field=found.field[some],
                equilibrium_points=found.equilibrium_points, kinds=found.kinds, view=side, names=_others(found),
                labels=short, largest=None if common.speeds is None else common.speeds[1],
            )  # fmt: skip
            sphere_cycles(ax, [cycle.points for cycle in found.cycles], [cycle.kind for cycle in found.cycles], side)
            families(ax, found.families, view=side)
            ax.set_title(name)
        for letter, label in zip(short, labels, strict=True):
            if short is AXES is not labels and label != letter:
                axes[1].plot([], [], linestyle="none", label=f"{letter}: {label}")
        _finished(axes[1], "", common)
        drawn.suptitle(title)
        return fitted(drawn)


def _others(found: "Portrait") -> dict[int, str]:
    """Names of the limits of a portrait that are not equilibria, by index."""
    from analysis.dynamics.attractors.limit_set import CURVE, SURFACE

    words = {"periodic orbit": "a limit cycle", CURVE: "a curve of equilibria", SURFACE: "a surface of equilibria"}
    word = lambda k: words.get(found.others.get(k, ""), "another attractor")
    known = {int(k): word(k) for k in np.unique(found.limits) if k >= len(found.kinds)}
    return known | ({-1: "an unknown limit"} if np.any(found.limits < 0) else {})


def simplex(
    trajectories: np.ndarray,
    points: np.ndarray,
    kinds: Sequence[str],
    states: Sequence[str],
    *,
    curves: "Sequence[Family]" = (),
    title: str = "",
    common: Common = ALONE,
) -> Figure:
    """Draw the portrait of a flow on the simplex of three states: trajectories, (paths, times, 3), and equilibria.

    `points` are isolated equilibria, and `curves` are families of equilibria.
    """
    from figures.panels.simplices import in_triangle

    with settings():
        drawn, (ax,) = canvas(COLUMN, 0.9)
        simplex_portrait(ax, trajectories, np.empty((0, 3)), states=states)
        equilibria(ax, in_triangle(points.reshape(-1, 3)), kinds)
        families(ax, [family._replace(points=in_triangle(family.points)) for family in curves])
        _finished(ax, "", common)
        drawn.suptitle(title)
        return fitted(drawn)


def _finished(ax: Any, title: str, common: Common) -> None:
    """Draw the legend below the axes, and the title."""
    legend = common.legend or dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    if legend:
        ax.figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=3)
    if title:
        ax.set_title(title)
