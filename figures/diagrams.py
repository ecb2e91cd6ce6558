"""Bifurcation diagrams: a component of the state on branches of equilibria, cycles and periodic orbits."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.figure import Figure

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbits import orbit_ranges
from analysis.dynamics.diagrams import Diagram, branch_line, component_of
from analysis.dynamics.periodic_orbits.maps import phases
from dynsim.systems.parameter import Parameter
from figures.fitted import fitted
from figures.panels.bifurcations import bifurcation_marks, branch_lines, shown_up_to, stability_legend
from figures.panels.labels import axis_label
from figures.panels.shown import leaving_marks, usual_limits
from figures.style import canvas, settings

Values = tuple[np.ndarray, np.ndarray]
"""Values of a component at the points of a branch and at its bifurcations, with one column per curve."""


class Drawn(NamedTuple):
    """A diagram with the values of a component on its branches, and whether they are branches of periodic orbits.

    `orbits` is what a legend calls the periodic orbits.
    """

    diagram: Diagram
    branches: tuple[tuple[Branch, bool], ...]
    values: tuple[Values, ...]
    orbits: str = "periodic orbits, max. and min."


def measured(diagram: Diagram, component: int = 0, parameter: Parameter | None = None) -> Drawn:
    """Compute a component on all branches: at all phases of the cycles of a map, and the extremes of periodic orbits.

    Args:
        diagram: the diagram.
        component: the index of the component.
        parameter: the parameter with its system; by default the diagram's own. Without one, as in a diagram from a
            file, only the stored states of cycles are drawn, and no periodic orbits.
    """
    of = diagram.of if parameter is None else parameter
    values = [_phase_values(of, one, component, k) for one, k in zip(diagram.branches, diagram.iterates, strict=True)]
    orbits = diagram.orbits if of is not None else ()
    values += [_extremes(of, one, component) for one in orbits if of is not None]
    return Drawn(diagram, tuple([(one, False) for one in diagram.branches] + [(one, True) for one in orbits]),
                 tuple(values))  # fmt: skip


def limits_of(drawn: Drawn) -> tuple[tuple[float, float] | None, tuple[float, float]]:
    """Choose limits of the drawn component without ends of branches that run far away, None for all; and its range."""
    curves = []
    for (one, _), (on_branch, _) in zip(drawn.branches, drawn.values, strict=True):
        half = np.abs(np.diff(one.parameters)) / 2
        stretches = np.append(half, 0.0) + np.append(0.0, half)
        curves += [(column, stretches) for column in np.asarray(on_branch).T]
    every = np.concatenate([column for column, _ in curves]) + 0.0  # without a sign of zero
    usual = usual_limits(curves, np.concatenate([np.ravel(at) for _, at in drawn.values]))
    return usual, (float(np.nanmin(every)), float(np.nanmax(every)))


def drawing(
    drawn: Drawn,
    label: str,
    *,
    bounds: Sequence[float] = (),
    limits: tuple[float, float] | None = None,
    until: float = 1.0,
) -> Figure:
    """Draw a component on the branches of a diagram against the parameter, with stability and bifurcations.

    Args:
        drawn: the diagram with the values of the component.
        label: the label of the component.
        bounds: lower and upper end of the parameter axis; by default that of the branches.
        limits: limits of the component; by default all of it.
        until: the share of the parameter axis that is drawn.
    """
    unclear = any("undecided" in one.beside for one, _ in drawn.branches)
    with settings():
        figure, (ax,) = canvas()
        marks, lines = [], []
        for (one, orbits), (on_branch, at) in zip(drawn.branches, drawn.values, strict=True):
            lines += branch_lines(ax, *branch_line(one, on_branch, at), role="second" if orbits else "first")
            names = [b.title for b in one.bifurcations]
            rows = at[:, -1:] if orbits else at  # orbits are marked at their maximum, cycles of maps at each point
            marks += [
                (n, b.parameter, float(v))
                for n, b, row in zip(names, one.bifurcations, rows, strict=True) for v in np.unique(row)
            ]  # fmt: skip
        for mark in marks:
            bifurcation_marks(ax, *([part] for part in mark))
        ax.set_xlabel(axis_label(drawn.diagram.parameter))
        ax.set_ylabel(label)
        if len(bounds):
            ax.set_xlim(*bounds)
        if limits is not None:
            leaving_marks(ax, limits, lines)
        kinds = {"first": "equilibria", "second": drawn.orbits}
        has_orbits = any(orbits for _, orbits in drawn.branches)
        dashed = "unstable or undecided" if unclear else "unstable"
        stability_legend(
            ax, kinds=kinds if has_orbits and not all(orbits for _, orbits in drawn.branches) else None, dashed=dashed
        )
        shown_up_to(ax, until)
        return fitted(figure)


def _phase_values(parameter: Parameter | None, one: Branch, which: int, iterate: int) -> Values:
    """Compute a component at all phases of a cycle, for the points and the bifurcations of a branch."""
    of_all = lambda states, values: [states] if parameter is None else phases(parameter, states, values, iterate)
    columns = lambda states, values: np.stack([component_of(x, which) for x in of_all(states, values)], axis=1)
    on_branch = columns(one.states, one.parameters)
    marks = [columns(_alone(b.state), np.array([b.parameter])) for b in one.bifurcations]
    return on_branch, np.concatenate([np.empty((0, on_branch.shape[1])), *marks])


def _extremes(parameter: Parameter, one: Branch, which: int) -> Values:
    """Compute the minimum and maximum of a component over periodic orbits, for points and bifurcations of a branch."""
    at = [
        orbit_ranges(parameter, one._replace(states=_alone(b.state), parameters=np.array([b.parameter])), which)
        for b in one.bifurcations
    ]
    return orbit_ranges(parameter, one, which), np.array(at).reshape(-1, 2)


def _alone(state: Any) -> Any:
    """Add a leading axis of length one to a state."""
    return jax.tree.map(lambda a: np.asarray(a)[None], state)
