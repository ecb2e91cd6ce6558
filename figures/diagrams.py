"""Bifurcation diagrams: a component of the state on branches of equilibria, cycles and periodic orbits."""

from collections.abc import Sequence
from typing import Any, Unpack

import jax
import matplotlib
import numpy as np

from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.ensembles import BranchEnsemble
from analysis.dynamics.continuation.orbits import orbit_ranges
from analysis.dynamics.diagrams import Diagram, branch_line, component_of
from analysis.dynamics.periodic_orbits.maps import phases
from analysis.dynamics.tori.branches import torus_ranges
from dynsim._core.validation import choice
from dynsim.errors import ArgumentError
from dynsim.systems.named import Components, components, listed
from dynsim.systems.parameter import Parameter
from figures import quantities
from figures.artists import Artists, Frame, Part, StyledFrame, set_properties, sheet
from figures.panels.bifurcations import (
    bifurcation_marks,
    branch_lines,
    critical_lines,
    number_image,
    own_marks,
    shown_up_to,
    stability_entries,
)
from figures.panels.labels import axis_label
from figures.panels.shown import leaving_marks, usual_limits
from figures.quantities import Drawn, Values
from figures.style import COLOURS


def measured(diagram: Diagram, component: int = 0, parameter: Parameter | None = None) -> Drawn:
    """Compute a component on all branches: at all phases of cycles of a map, and extremes of periodic orbits and tori.

    Args:
        diagram: the diagram.
        component: the index of the component.
        parameter: the parameter with its system; by default the diagram's own. Without one, as in a diagram from a
            file, only the stored states of cycles are drawn, and no periodic orbits and tori.
    """
    of = diagram.of if parameter is None else parameter
    values = [_phase_values(of, one, component, k) for one, k in zip(diagram.branches, diagram.iterates, strict=True)]
    orbits = diagram.orbits if of is not None else ()
    values += [_extremes(of, one, component) for one in orbits if of is not None]
    tori = tuple((one, torus_ranges(of, one, component)) for one in diagram.tori if of is not None)
    every = tuple([(one, False) for one in diagram.branches] + [(one, True) for one in orbits])
    return Drawn(diagram, every, tuple(values), tori=tori)


def limits_of(drawn: Drawn) -> tuple[tuple[float, float] | None, tuple[float, float]]:
    """Choose limits of the drawn component without ends of branches that run far away, None for all; and its range."""
    curves = []
    for (one, _), (on_branch, _) in zip(drawn.branches, drawn.values, strict=True):
        half = np.abs(np.diff(one.parameters)) / 2
        stretches = np.append(half, 0.0) + np.append(0.0, half)
        curves += [(column, stretches) for column in np.asarray(on_branch).T]
    curves += [(column, np.zeros(len(column))) for _, values in drawn.tori for column in values.T]
    every = np.concatenate([column for column, _ in curves]) + 0.0  # without a sign of zero
    usual = usual_limits(curves, np.concatenate([np.ravel(at) for _, at in drawn.values]))
    return usual, (float(np.nanmin(every)), float(np.nanmax(every)))


def diagram(
    found: Diagram,
    ax: Any = None,
    component: str | int = 0,
    *,
    quantity: str = "range",
    parameter: Parameter | None = None,
    branches: Part = True,
    orbits: Part = True,
    tori: Part = True,
    bifurcations: Part = True,
    colour: Any = None,
    window: tuple[float, float] | None = None,
    bounds: Sequence[float] = (),
    until: float = 1.0,
    measures: "Drawn | None" = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a bifurcation diagram; see `Diagram.plot`. `measures`, if given, is what `measured` returns."""
    names = found.names or _numbered(found)
    which = _index(component, names)
    units = found.units or ("",) * len(names)
    choice("quantity", quantity, quantities.QUANTITIES)
    of = found.of if parameter is None else parameter
    time_unit = "" if of is None else str(getattr(of.system, "time_unit", ""))
    label = quantities.label(quantity, names[which], units[which], time_unit)
    wanted = (branches, orbits, bifurcations)
    how = {"colour": colour, "window": window, "bounds": bounds, "until": until, "tori": tori}
    known = measures or quantities.shown(measured(found, which, parameter), quantity)
    return _drawn(known, label, ax, wanted, how, frame)


def branch(
    found: Branch,
    ax: Any = None,
    component: str | int = 0,
    *,
    parameter: Parameter | None = None,
    branches: Part = True,
    orbits: Part = True,
    bifurcations: Part = True,
    colour: Any = None,
    window: tuple[float, float] | None = None,
    until: float = 1.0,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a branch; see `Branch.plot`."""
    states: Any = found.states
    of_orbits = hasattr(states, "period")
    if isinstance(found.states, Profile):
        states = found.states.extreme()
        found = found._replace(
            states=states, bifurcations=tuple(b._replace(state=b.state.extreme()) for b in found.bifurcations)
        )
    how = {"colour": colour, "window": window, "bounds": (), "until": until}
    if of_orbits and parameter is None:
        values = np.asarray(states.period)[:, None], np.array([[b.state.period] for b in found.places])
        alone = Drawn(Diagram(found.name, (found,), (1,)), ((found, False),), (values,))
        return _drawn(alone, "period", ax, (branches, orbits, bifurcations), how, frame)
    whole = Diagram(found.name, () if of_orbits else (found,), () if of_orbits else (1,), (found,) if of_orbits else ())
    if parameter is not None:
        first = jax.tree.map(lambda a: a[0, 0] if of_orbits else a[0], states.nodes if of_orbits else states)
        known = components(parameter.system, first)
        whole = whole._replace(names=known.names, units=known.units, parameter_units=parameter.units)
    names = whole.names or _numbered(whole)
    which = _index(component, names)
    label = axis_label(names[which], whole.units[which] if whole.units else "")
    return _drawn(measured(whole, which, parameter), label, ax, (branches, orbits, bifurcations), how, frame)


def members(
    found: BranchEnsemble,
    ax: Any = None,
    component: str | int = 0,
    *,
    branches: Part = True,
    bifurcations: Part = True,
    colour: Any = None,
    window: tuple[float, float] | None = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw the branches of all members; see `BranchEnsemble.plot`."""
    iterates = (found.iterate,) * len(found.branches)
    whole = Diagram(found.name, found.branches, iterates, names=found.names, units=found.units)
    own: Any = {"branches": branches, "bifurcations": bifurcations, "colour": colour, "window": window}
    return diagram(whole, ax, component, **own, **frame)


def _drawn(
    found: Drawn, label: str, ax: Any, wanted: Sequence[Part], how: dict[str, Any], frame: StyledFrame
) -> Artists:
    """Draw measured branches against the parameter, with stability and bifurcations."""
    if not found.branches:
        raise ArgumentError("diagram", "have a branch to draw", "has none")
    branches, orbits, bifurcations = wanted
    style = frame.pop("style", {})
    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", ["C0"])
    has_orbits = any(of_orbits for _, of_orbits in found.branches)
    unclear = any("undecided" in one.beside for one, _ in found.branches)
    with sheet(ax, place="above", columns=2 if has_orbits else 3, **frame) as drawn:
        if drawn.own:
            cycle = [COLOURS["first"], COLOURS["second"], COLOURS["third"]]
        tints = cycle[0] if how["colour"] is None else how["colour"], cycle[1 % len(cycle)], cycle[2 % len(cycle)]
        lines, marks = [], []
        drawn.draw("branches", False, branch_lines)
        drawn.draw("orbits", False, branch_lines)
        drawn.draw("bifurcations", False, bifurcation_marks)
        for (one, of_orbits), (on_branch, at) in zip(found.branches, found.values, strict=True):
            name, part = ("orbits", orbits) if of_orbits else ("branches", branches)
            made = drawn.draw(
                name,
                part,
                branch_lines,
                *branch_line(one, on_branch, at[: len(one.bifurcations)]),
                colour=tints[of_orbits],
            )
            if made and style:
                set_properties("style", made, style)
            lines += made or []
            kinds = [(bifurcation_marks, b.title) for b in one.bifurcations] + [(own_marks, m.name) for m in one.marks]
            marks += [
                (panel, n, b.parameter, float(v))
                for (panel, n), b, row in zip(kinds, one.places, at, strict=True) for v in np.unique(row)
                if part is not False
            ]  # fmt: skip
        if found.tori:
            lines += _tori(drawn, found, how.get("tori", True), tints[2])
        target = drawn.axes[0]
        for panel, *mark in marks or ():
            drawn.draw("bifurcations", bifurcations, panel, *([part] for part in mark))
        name = found.diagram.parameter
        target.set(xlabel=axis_label(name, dict(found.diagram.parameter_units).get(name, "")), ylabel=label)
        if len(how["bounds"]):
            target.set_xlim(*how["bounds"])
        usual = limits_of(found)[0] if how["window"] is None else how["window"]
        if usual is not None and lines and frame.get("limits", True):
            drawn.draw("leaving", True, leaving_marks, usual, lines)
        both = has_orbits and not all(of_orbits for _, of_orbits in found.branches)
        names = {"equilibria": tints[0], found.orbits: tints[1]} if both else {}
        if found.tori:
            of_map = {"fixed points": tints[0]} if not has_orbits else {found.orbits: tints[1]}
            names = (names or of_map) | {"tori" if has_orbits else "invariant circles": tints[2]}
        dashed = "unstable or undecided" if unclear else "unstable"
        drawn.draw("branches", bool(lines), stability_entries, kinds=names, dashed=dashed,
                   colour="black" if drawn.own or has_orbits else tints[0])  # fmt: skip
        shown_up_to(target, how["until"])
    return drawn


def _tori(drawn: Artists, found: Drawn, part: Part, colour: Any) -> list[Any]:
    """Draw the branches of tori, solid where they attract."""
    lines: list[Any] = []
    for one, values in found.tori:
        stable = np.array([torus.kind == "attracting" for torus in one.tori])
        made = drawn.draw("tori", part, branch_lines, one.parameters, values, stable[:-1] & stable[1:],
                          np.arange(len(stable)), colour=colour)  # fmt: skip
        lines += made or []
    return lines


def _index(component: str | int, names: Sequence[str]) -> int:
    """Index of a component by name or number."""
    if isinstance(component, str):
        return Components(tuple(names), ()).index(component)
    if not 0 <= component < len(names):
        raise ArgumentError(
            "component", f"be from 0 to {len(names) - 1}, or name one of {listed(names)}", f"is {component}"
        )
    return component


def _numbered(found: Diagram) -> tuple[str, ...]:
    """Names of the components of the states of a diagram: x_1, x_2 and so on."""
    states: Any = (found.branches or found.orbits)[0].states if found.branches or found.orbits else np.zeros((1, 1))
    first = (
        jax.tree.map(lambda a: a[0, 0], states.nodes)
        if hasattr(states, "nodes")
        else jax.tree.map(lambda a: a[0], states)
    )
    return components(None, first).names


def plane(
    found: Diagram | CriticalCurve,
    ax: Any = None,
    *,
    names: Sequence[str] = (),
    curves: Part = True,
    degeneracies: Part = True,
    counts: StabilityMap | None = None,
    bounds: Sequence[Sequence[float]] = (),
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw curves of bifurcations in the plane of two parameters; see `CriticalCurve.plot` and `Diagram.plot_plane`."""
    several = found.curves if isinstance(found, Diagram) else (found,)
    known = (found.parameter, found.second) if isinstance(found, Diagram) else ("first parameter", "second parameter")
    with sheet(ax, place="above", styled="curves", **frame) as drawn:
        drawn.draw("curves", False, critical_lines)
        drawn.draw("degeneracies", False, bifurcation_marks)
        for curve in several:
            drawn.draw("curves", curves, critical_lines, curve.name, curve.first, curve.second, colour=colour)
            for place in curve.degeneracies:
                drawn.draw("degeneracies", degeneracies, bifurcation_marks, [place.kind], [place.first], [place.second])
        if counts is not None:
            drawn.draw("counts", True, number_image, counts.stable, counts.first, counts.second, what="stable",
                       undecided=counts.undecided > 0)  # fmt: skip
        words = tuple(names) or (counts.names if counts is not None and any(counts.names) else known)
        if len(words) != 2:
            raise ArgumentError("names", "hold two names", f"holds {len(words)}")
        units = dict(zip(counts.names, counts.units, strict=True)) if counts is not None else {}
        units |= dict(found.parameter_units) if isinstance(found, Diagram) else {}
        for side, word, ends in zip("xy", words, bounds or ((), ()), strict=True):
            getattr(drawn.axes[0], f"set_{side}label")(axis_label(word, units.get(word, "")))
            if len(ends):
                getattr(drawn.axes[0], f"set_{side}lim")(*ends)
    return drawn


def counts(
    found: StabilityMap,
    ax: Any = None,
    *,
    image: Part = True,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the numbers of stable equilibria on a grid of two parameters; see `StabilityMap.plot`."""
    words = found.names if any(found.names) else ("first parameter", "second parameter")
    with sheet(ax, place="above", **frame) as drawn:
        drawn.draw("image", image, number_image, found.stable, found.first, found.second, what="stable",
                   undecided=found.undecided > 0)  # fmt: skip
        drawn.axes[0].set(xlabel=axis_label(words[0], found.units[0]), ylabel=axis_label(words[1], found.units[1]))
    return drawn


def _phase_values(parameter: Parameter | None, one: Branch, which: int, iterate: int) -> Values:
    """Compute a component at all phases of a cycle, for the points, bifurcations and marks of a branch."""
    of_all = lambda states, values: [states] if parameter is None else phases(parameter, states, values, iterate)
    columns = lambda states, values: np.stack([component_of(x, which) for x in of_all(states, values)], axis=1)
    on_branch = columns(one.states, one.parameters)
    marks = [columns(_alone(b.state), np.array([b.parameter])) for b in one.places]
    return on_branch, np.concatenate([np.empty((0, on_branch.shape[1])), *marks])


def _extremes(parameter: Parameter, one: Branch, which: int) -> Values:
    """Compute the minimum and maximum of a component over periodic orbits, for points, bifurcations and marks."""
    at = [
        orbit_ranges(parameter, one._replace(states=_alone(b.state), parameters=np.array([b.parameter])), which)
        for b in one.places
    ]
    return orbit_ranges(parameter, one, which), np.array(at).reshape(-1, 2)


def _alone(state: Any) -> Any:
    """Add a leading axis of length one to a state."""
    return jax.tree.map(lambda a: np.asarray(a)[None], state)
