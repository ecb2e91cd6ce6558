"""Compute bifurcation diagrams: branches through given equilibria, switched at branch points."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from analysis.dynamics.codim2.curves import CriticalCurve, plane_of
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch, cut_at
from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbits import RTOL, SEGMENTS, families_from_hopf
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.maps import phases
from analysis.dynamics.scaling.flat import chord_bends, chord_distances, flat_states
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.tori.branches import TorusBranch, tori_from_neimark_sacker
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, printed
from dynsim._core.types import State, SymmetryGenerator
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError, counted
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import double_state
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import Components, components
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Distance, relative to the size of a point, at which a branch counts as passing through it at its parameter.
SAME = 1e-3
# Distance, relative to the size of a point, at which an image of a cycle counts as equal to it, and relative to the
# extent of branches, at which two branch points are one.
CLOSED = 1e-6
# Distance, relative to it, of the period of the last orbit of a branch from that at the Hopf point where it ends.
CLOSE = 0.2
# Distance, relative to the ranges of both parameters, at which two Bogdanov-Takens points are one.
CORNER, TAKENS = 1e-5, "Bogdanov-Takens point"
# How a note begins that says at which of them no homoclinic orbit is found.
NO_LOOP = "no homoclinic orbit is continued"
# Least distance along a branch of the two points by which it is known again, relative to the longest possible.
APART = 0.05
# Largest assumed distance of a branch from a chord between two of its points, relative to the chord.
CUT = 0.1


class Diagram(NamedTuple):
    """Branches of equilibria, or of fixed points of iterates of a map, and branches of periodic orbits.

    `parameter` is the name of the parameter, `iterates` how often the map is applied on each branch (1 for a flow). A
    branch of an iterate is one of cycles, of which its states are one phase; `phases` returns all.
    `curves` are those of bifurcations in the plane of this and a `second` parameter. `names` and `units` are those of
    the components of a flat state, and `parameter_units` those of parameters, as (name, unit). `of` is the parameter
    with its system, by which cycles and orbits are drawn; a file holds none. `tori` are branches of tori, and `notes`
    say at which Neimark-Sacker points none begins, and at which Bogdanov-Takens points no homoclinic orbit.
    """

    parameter: str
    branches: tuple[Branch, ...]
    iterates: tuple[int, ...]
    orbits: tuple[Branch, ...] = ()
    second: str = ""
    curves: tuple[CriticalCurve, ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    of: Parameter | None = None
    parameter_units: tuple[tuple[str, str], ...] = ()
    tori: tuple[TorusBranch, ...] = ()
    notes: tuple[str, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw a component on all branches against the parameter into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `branches`, `orbits` and `tori` (their minimum and maximum)
                and `bifurcations`; `colour`; `quantity`, of orbits also `amplitude`, `period` or `frequency`;
                `component`, a name or an index; `parameter`, with its system, for a diagram from a file; `window`,
                limits of the component; `bounds`, limits of the parameter; properties of the lines of branches,
                `linewidth=2`.
        """
        return plot(self, ax, **options)

    def plot_plane(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the curves of bifurcations in the plane of both parameters into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `curves` and `degeneracies`; `colour`; `counts`, a
                `StabilityMap` to draw behind; `bounds` of both parameters; properties of the curves.
        """
        return plot(self, ax, picture="plane", **options)

    def __str__(self) -> str:
        """Describe the diagram in one line; a branch point where two of its branches cross counts once."""
        kinds = [b.kind for b in (*_distinct(self.branches), *(b for one in self.orbits for b in one.bifurcations))]
        found = ", ".join(counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds)) or "no bifurcation"
        numbers = [len(part) for part in (self.branches, self.orbits) if part] or [0]
        parts = [counted(numbers[0], "branch", "branches"), *map(str, numbers[1:])]
        of = (" of periodic orbits" if self.orbits else "") + (f", {len(self.tori)} of tori" if self.tori else "")
        curves = f"; {counted(len(self.curves), 'curve')} in {self.parameter} and {self.second}" if self.curves else ""
        return f"{' and '.join(parts)}{of} in {self.parameter}: {found}{curves}"


def _distinct(branches: Sequence[Branch]) -> list[Bifurcation]:
    """List the bifurcations of branches, with each branch point once where it is found on several."""
    all_found = [at for one in branches for at in one.bifurcations]
    if not any(at.kind == "branch point" for at in all_found):
        return all_found
    ends = [np.ptp(np.column_stack([flat_states(one.states), one.parameters]), axis=0) for one in branches]
    near = CLOSED * np.maximum(np.max(ends, axis=0), CLOSED * np.max(ends))
    rows: list[np.ndarray] = []
    found = []
    for at in all_found:
        row = np.append(np.asarray(ravel_pytree(at.state)[0]), at.parameter)
        if at.kind != "branch point" or not any(np.all(np.abs(row - other) <= near) for other in rows):
            found.append(at)
            rows += [row] if at.kind == "branch point" else []
    return found


class BranchLine(NamedTuple):
    """Data to draw a branch: parameters, values with one curve per column, and which intervals are stable.

    `arclengths` increase along it, and `corners` says where it is not smooth.
    """

    parameters: Float[np.ndarray, " points"]
    values: Float[np.ndarray, "points curves"]
    stable: np.ndarray
    arclengths: Float[np.ndarray, " points"]
    corners: np.ndarray


def branch_line(
    branch: Branch, values: Float[np.ndarray, "points curves"], at: Float[np.ndarray, "marks curves"]
) -> BranchLine:
    """Convert a branch to a line whose stability changes at the bifurcations, not at the neighbouring points.

    Args:
        branch: the branch.
        values: values at its points.
        at: values at its bifurcations.
    """
    marks = branch.bifurcations
    lengths = np.append(branch.arclengths, [b.arclength for b in marks])
    order = np.argsort(lengths, kind="stable")
    parameters = np.append(branch.parameters, [b.parameter for b in marks])[order]
    beside = [0.5 if kind == "undecided" else float(kind == "stable") for kind in branch.kinds]
    words = np.append(beside, np.full(len(marks), 0.5))[order]  # a bifurcation takes the stability of its neighbours
    pairs = words[:-1] + words[1:]
    rows = np.concatenate([values, at.reshape(-1, values.shape[1])])[order]
    corners = np.append(np.zeros(len(branch.arclengths), bool), [b.kind == "corner" for b in marks])[order]
    return BranchLine(parameters, rows, pairs > 1, lengths[order], corners.astype(bool))


def component_of(states: State, component: int) -> Float[np.ndarray, " points"]:
    """Select a component of the flattened states on the first axis."""
    return flat_states(states)[:, component]


@checked
@on_host_by_default
def bifurcation_diagram(
    parameter: Parameter,
    starts: Sequence[State] | np.ndarray,
    *,
    levels: int = 2,
    steps: Steps = Steps(),
    symmetries: Sequence[SymmetryGenerator] = (),
) -> Diagram:
    """Continue some equilibria, and the branches that leave theirs at branch points, to a number of levels.

    Args:
        parameter: the parameter of an autonomous flow, or of a map, and its range.
        starts: equilibria, or states near them, at the system's own value of the parameter; converted to float64.
        levels: how often branches are switched: at 0 only the branches through the starts are followed.
        steps: the steps along a branch; see `continue_equilibria`.
        symmetries: generators of continuous symmetries.

    Raises:
        ValueError: for bad input, or a start that leads to no equilibrium.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import bifurcation_diagram
        >>> flow = ds.FunctionFlow(lambda t, x, a=-1.0: a * x - x**3, parameters={"a": -1.0})
        >>> diagram = bifurcation_diagram(ds.Parameter(flow, "a", -1.0, 1.0), [[0.0]])
        >>> len(diagram.branches), [one.kind for one in diagram.branches[0].bifurcations]
        (3, ['branch point'])
    """
    depth = integer("levels", levels, least=0)
    found: list[tuple[Branch, int]] = []
    new: list[tuple[Branch, int]] = []
    states = [double_state("starts", start) for start in starts]
    passes = _Passing(curve_units((parameter,), states[0])) if states else _Passing(None)
    for start in states:
        one = continue_equilibria(parameter, start, steps=steps, symmetries=symmetries)
        if not passes.known(found, one, parameter.value, start):
            found.append((one, 1))
            new.append((one, 1))
    for _ in range(depth):
        leaving: list[tuple[Branch, int]] = []
        for one, iterate in new:
            for at in one.bifurcations:
                doubles = at.kind == "period doubling" and isinstance(parameter.system, AbstractMap)
                if at.kind != "branch point" and not doubles:
                    continue
                times = iterate * (2 if doubles else 1)
                for whole in switch(parameter, at, iterate=iterate, steps=steps, symmetries=symmetries):
                    other = _one_phase(parameter, whole, times) if doubles else whole
                    if not passes.follows(found, other, phases(parameter, *_middle(other), times)):
                        found.append((other, times))
                        leaving.append((other, times))
        new = leaving
    known = components(parameter.system, states[0]) if states else Components((), ())
    return Diagram(
        parameter.name, tuple(b for b, _ in found), tuple(k for _, k in found), names=known.names, units=known.units,
        of=parameter, parameter_units=parameter.units,
    )  # fmt: skip


def _one_phase(parameter: Parameter, whole: Branch, iterate: int) -> Branch:
    """Cut a branch of cycles of a map where their period is halved: beyond it, the same cycles return shifted."""
    for at in whole.bifurcations:
        if at.kind != "branch point":
            continue
        alone = jax.tree.map(lambda part: np.asarray(part)[None], at.state)
        rows = [flat_states(x)[0] for x in phases(parameter, alone, np.array([at.parameter]), iterate)]
        if np.linalg.norm(rows[iterate // 2] - rows[0]) <= SAME * _size(rows[0], flat_states(whole.states)):
            return cut_at(whole, at, "period doubling")
    return whole


def _middle(branch: Branch) -> tuple[State, np.ndarray]:
    """Take two states in the middle of the length of a branch, and their parameters."""
    lengths = branch.arclengths
    pair = _pair(lengths, int(np.argmin(np.abs(lengths - (lengths[0] + lengths[-1]) / 2))))
    return jax.tree.map(lambda a: a[pair], branch.states), branch.parameters[pair]


def _pair(lengths: np.ndarray, k: int) -> list[int]:
    """Index of a point at one of the arclengths, and of another some way off: one alone may lie where branches cross.

    Steps shrink there, so that many points may.
    """
    away = np.abs(lengths - lengths[k])
    return [k, int(np.argmin(np.where(away >= APART * np.max(away), away, np.inf)))]


def _size(point: np.ndarray, points: np.ndarray) -> float:
    """Size of a point of a branch: its norm, or the extent of the branch if it lies far from zero."""
    return 1 + min(float(np.linalg.norm(point)), float(np.max(np.ptp(points, axis=0), initial=0.0)))


class _Passing(NamedTuple):
    """Test whether branches pass through given states, with distances relative to the sizes of states and parameter."""

    units: Units | None

    def known(self, found: list[tuple[Branch, int]], new: Branch, parameter: float, start: State) -> bool:
        """Test whether a known branch passes through a new branch at its point nearest to the start, and beside it."""
        flat = self._rows(np.append(np.asarray(ravel_pytree(start)[0]), parameter)[None], start)[0]
        rows = self._points(new)
        at = np.abs(rows[:, -1] - flat[-1])
        near = [k for k in range(len(rows)) if at[k] <= np.min(at) + 1e-9]
        point = min(near, key=lambda k: float(np.linalg.norm(rows[k] - flat)))
        return any(self._pass(branch, rows[_pair(new.arclengths, point)]) for branch, _ in found)

    def follows(self, found: list[tuple[Branch, int]], new: Branch, middle: Sequence[State]) -> bool:
        """Test whether a known branch passes through both states in the middle of a new branch, in one of their phases.

        The known branch may belong to any multiple of the period of these cycles, even if the new branch does not
        divide it.
        """
        value = _middle(new)[1]
        rows = [self._rows(np.column_stack([flat_states(x), value]), jax.tree.map(lambda a: a[0], x)) for x in middle]
        aims = np.stack(rows)  # (phases, points, entries)
        away = np.linalg.norm(np.roll(aims[:, 0], -1, axis=0) - aims[0, 0], axis=1)
        again = away <= CLOSED * _size(aims[0, 0], self._points(new))
        period = 1 + int(np.argmax(again)) if np.any(again) else len(aims)
        return any(self._pass(branch, aim) for branch, k in found if k % period == 0 for aim in aims[:period])

    def _pass(self, branch: Branch, aims: np.ndarray) -> bool:
        """Test whether a branch passes through points, given as rows, by their distances from its chords.

        An arc bulges by b l / 8 between its chords, where b is the angle between two chords of length l.
        """
        points = self._points(branch)
        bends = np.minimum(chord_bends(points) / 4, CUT)

        def through(aim: np.ndarray) -> bool:
            away, lengths = chord_distances(points, aim)
            return bool(np.any(away <= np.maximum(SAME * _size(aim, points), bends * lengths)))

        return all(map(through, aims))

    def _points(self, branch: Branch) -> np.ndarray:
        rows = np.column_stack([flat_states(branch.states), branch.parameters])
        return self._rows(rows, jax.tree.map(lambda part: part[0], branch.states))

    def _rows(self, rows: np.ndarray, state: State) -> np.ndarray:
        """Rescale flattened states, each with its parameter, as rows."""
        if self.units is None or self.units.are_given:
            return rows
        return rows / np.append(self.units.flat(state), self.units.parameters[0])


@checked
@on_host_by_default
def with_orbits(
    diagram: Diagram,
    parameter: Parameter,
    *,
    segments: int = SEGMENTS,
    steps: Steps = Steps(),
    max_period: float | None = None,
    rtol: float = RTOL,
    atol: float | None = None,
    method: str = "auto",
) -> Diagram:
    """Add the branches of periodic orbits that start at the Hopf points of a diagram; see `orbits_from_hopf`.

    A family that leads from one Hopf point to another is one branch. Orbits that the diagram has already stay.

    Args:
        diagram: the result of `bifurcation_diagram` for a flow.
        parameter: its parameter.
        segments: number of nodes of the orbits.
        steps: the steps along each branch of orbits.
        max_period: the period at which a branch of periodic orbits ends; see `continue_orbits`.
        rtol: the relative tolerance of the solver.
        atol: the absolute tolerance of the solver; see `continue_orbits`.
        method: `auto`, `shooting` or `collocation`; see `continue_orbits`.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, bifurcation_diagram, with_orbits
        >>> def hopf(t, z, a=-0.5):
        ...     x, y = z
        ...     return jnp.stack([a * x - y - x * (x**2 + y**2), x + a * y - y * (x**2 + y**2)])
        >>> a = ds.Parameter(ds.FunctionFlow(hopf, parameters={"a": -0.5}), "a", -0.5, 0.5)
        >>> diagram = with_orbits(bifurcation_diagram(a, [[0.0, 0.0]]), a, segments=3, steps=Steps(first=0.2))
        >>> [(branch.kinds[-1], round(float(branch.states.period[-1]) / np.pi, 4)) for branch in diagram.orbits]
        [('stable', 2.0)]
    """
    points = [at for one in diagram.branches for at in one.bifurcations if at.kind == "Hopf point"]
    found: list[tuple[Bifurcation, Branch]] = []
    for at in points:
        if any(_begins_at(one, at) or _shrinks_to(one, at) for one in (*diagram.orbits, *(one for _, one in found))):
            continue
        new = families_from_hopf(parameter, at, (segments, steps, max_period, (rtol, atol), method))
        found = [(begin, known) for begin, known in found if not any(_shrinks_to(one, begin) for one in new)]
        found += [(at, one) for one in new]
    return diagram._replace(orbits=(*diagram.orbits, *(one for _, one in found)))


def _begins_at(orbits: Branch, hopf: Bifurcation) -> bool:
    """Test whether a branch of periodic orbits begins at a Hopf point, with an orbit of size zero."""
    if orbits.ends[0] != "Hopf point":
        return False
    states: Any = orbits.states
    nodes, x = flat_states(jax.tree.map(lambda part: part[:, 0], states.nodes)), np.asarray(ravel_pytree(hopf.state)[0])
    near = abs(float(orbits.parameters[0]) - hopf.parameter) <= SAME * float(np.ptp(orbits.parameters))
    return bool(near and np.all(np.abs(nodes[0] - x) <= SAME * (np.ptp(nodes, axis=0) + np.abs(x))))


def _shrinks_to(orbits: Branch, hopf: Bifurcation) -> bool:
    """Test whether a branch of periodic orbits ends at the equilibrium of a Hopf point.

    The last orbit is at most one step away, around the equilibrium, and has nearly the period at the Hopf point.
    """
    if orbits.ends[1] != "equilibrium" or len(orbits.parameters) < 2:
        return False
    states: Any = orbits.states
    nodes = flat_states(jax.tree.map(lambda part: part[-1], states.nodes))
    centre, x = np.mean(nodes, axis=0), np.asarray(ravel_pytree(hopf.state)[0])
    around = np.all(np.abs(centre - x) <= np.ptp(nodes, axis=0) + SAME * np.abs(x))
    step = abs(float(orbits.parameters[-1] - orbits.parameters[-2]))
    near = abs(float(orbits.parameters[-1]) - hopf.parameter) <= 3 * step
    turn = 2 * np.pi / hopf.frequency
    return bool(around and near and abs(float(states.period[-1]) - turn) <= CLOSE * turn)


@checked
@on_host_by_default
def with_tori(diagram: Diagram, parameter: Parameter, *, steps: Steps = Steps()) -> Diagram:
    """Add the branches of tori that begin at the Neimark-Sacker points of a diagram; see `tori_from_neimark_sacker`.

    Tori that the diagram has already stay. Points at which none is found, as at strong resonances, are named in its
    `notes`.

    Args:
        diagram: the result of `bifurcation_diagram` for a map, or of `with_orbits`.
        parameter: its parameter.
        steps: the steps along each branch of tori.

    Example:
        >>> import jax.numpy as jnp
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, bifurcation_diagram, with_tori
        >>> delayed = lambda k, x, r=1.9: jnp.stack([r * x[0] * (1 - x[1]), x[0]])
        >>> r = ds.Parameter(ds.FunctionMap(delayed, parameters={"r": 1.9}), "r", 1.5, 2.05)
        >>> diagram = with_tori(bifurcation_diagram(r, [[0.47, 0.47]]), r, steps=Steps(points=3))
        >>> [(branch.ends, len(branch.tori)) for branch in diagram.tori]
        [(('Neimark-Sacker point', 'steps'), 3)]
    """
    of_all = [*zip(diagram.branches, diagram.iterates, strict=True), *((one, 1) for one in diagram.orbits)]
    points = [(at, k) for one, k in of_all for at in one.bifurcations if at.kind == "Neimark-Sacker point"]
    found, notes = [*diagram.tori], [*diagram.notes]
    for at, iterate in points:
        if any(_tori_begin_at(one, at, iterate) for one in found):
            continue
        try:
            found.append(tori_from_neimark_sacker(parameter, at, iterate=iterate, steps=steps))
        except ArgumentError as error:
            if error.names != ("at",):
                raise
            value = printed(at.parameter, float(np.ptp(parameter.bounds)))
            where = f"the Neimark-Sacker point at {diagram.parameter} = {value}"
            notes.append(f"no torus is continued from {where}, which must {error.must}, but {error.but}")
    return diagram._replace(tori=tuple(found), notes=tuple(dict.fromkeys(notes)), of=parameter)


def _tori_begin_at(tori: TorusBranch, at: Bifurcation, iterate: int) -> bool:
    """Test whether a branch of tori begins at a Neimark-Sacker point, by its rotation number, period and parameter."""
    first, of_orbit = tori.tori[0], hasattr(at.state, "period")
    period = float(at.state.period) if of_orbit else float(iterate)
    turns = at.frequency / (2 * np.pi)
    apart = abs(first.parameter - at.parameter) / max(float(np.ptp(tori.parameters)), np.finfo(float).tiny)
    same = min(abs(first.rotation - turn) for turn in (turns, 1 - turns)) <= CLOSE * turns
    return tori.ends[0] == at.kind and same and apart <= 1 and abs(first.period - period) <= CLOSE * period


@on_host_by_default
def with_curves(
    diagram: Diagram,
    parameters: tuple[Parameter, Parameter],
    *,
    steps: Steps = Steps(),
    max_period: float | None = None,
    switched: bool = False,
) -> Diagram:
    """Continue the bifurcations of a diagram in a second parameter, and add the curves to it; see `critical_curves`.

    Curves that it has already, such as those read from a file, go on to the ends of the ranges.

    Args:
        diagram: the result of `bifurcation_diagram`, with or without orbits.
        parameters: the parameter of the diagram, and a second one of the same system.
        steps: the steps along each curve; see `critical_curve`.
        max_period: the period at which a curve of periodic orbits ends.
        switched: continue the curves, too, that meet these at codimension-two points; see `critical_curves`. Of a flow
            these include the homoclinic orbits that begin at Bogdanov-Takens points, and those to saddle-nodes at which
            their curves end, see `continue_connection`; points at which none is found are named in the `notes` of the
            diagram.

    Raises:
        ValueError: for bad input, or a diagram with curves in another second parameter.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import bifurcation_diagram, with_curves
        >>> flow = ds.FunctionFlow(lambda t, x, a=0.0, b=1.0: a + b * x - x**3, parameters={"a": 0.0, "b": 1.0})
        >>> a, b = ds.Parameter(flow, "a", -1.0, 1.0), ds.Parameter(flow, "b", -1.0, 2.0)
        >>> diagram = with_curves(bifurcation_diagram(a, [[1.0]]), (a, b))
        >>> [(curve.kind, [one.kind for one in curve.degeneracies]) for curve in diagram.curves]
        [('fold', ['cusp'])]
    """
    second = plane_of(parameters)[1].name
    if diagram.curves and diagram.second != second:
        must = f"have the second one of the curves of the diagram, `{diagram.second}`"
        raise ArgumentError("parameters", must, f"have `{second}`")
    branches = [*zip(diagram.branches, diagram.iterates, strict=True), *((one, 1) for one in diagram.orbits)]
    points = [(at, k) for one, k in branches for at in one.bifurcations]
    from analysis.dynamics.codim2.planes import critical_curves

    loops = tuple(one for one in diagram.curves if "homoclinic" in one.kind)
    known = tuple(one for one in diagram.curves if "homoclinic" not in one.kind)
    curves = critical_curves(
        parameters, [at for at, _ in points], iterates=[k for _, k in points], known=known, steps=steps,
        max_period=max_period, switched=switched,
    )  # fmt: skip
    notes = diagram.notes
    if switched and isinstance(parameters[0].system, AbstractFlow):
        loops, missed = _with_loops(loops, curves, parameters, steps)
        notes = (*(note for note in notes if not note.startswith(NO_LOOP)), *missed)
    curves = (*curves, *loops)
    units = {name: unit for one in parameters for name, unit in one.units}
    return diagram._replace(second=second, curves=curves, notes=notes, parameter_units=tuple(units.items()))


def _with_loops(
    loops: tuple[CriticalCurve, ...],
    curves: Sequence[CriticalCurve],
    parameters: tuple[Parameter, Parameter],
    steps: Steps,
) -> tuple[tuple[CriticalCurve, ...], tuple[str, ...]]:
    """Add the curves of homoclinic orbits that begin at Bogdanov-Takens points; say where no such orbit is found."""
    from analysis.dynamics.boundary_values.connection_curve import continue_connection

    widths = np.array([one.high - one.low for one in parameters])
    place = lambda point: np.array([point.first, point.second]) / widths
    known = [place(one.degeneracies[0]) for one in loops if one.ends[0] == TAKENS]
    points = [one for curve in curves if not curve.of_orbits for one in curve.degeneracies if one.kind == TAKENS]
    notes = []
    for point in points:  # one that lies on two curves is tried once
        if not any(np.max(np.abs(other - place(point))) <= CORNER for other in known):
            known.append(place(point))
            try:
                loops = (*loops, continue_connection(parameters, point, steps=steps))
            except ArgumentError as error:  # on curved spaces, or too close to a bound of the parameters
                values = (
                    printed(value, width) for value, width in zip((point.first, point.second), widths, strict=True)
                )
                where = f"({parameters[0].name}, {parameters[1].name}) = ({', '.join(values)})"
                notes.append(
                    f"{NO_LOOP} from the Bogdanov-Takens point at {where}: it must {error.must}, but {error.but}"
                )
    return _with_central(loops, parameters, steps), tuple(notes)


def _with_central(
    loops: tuple[CriticalCurve, ...], parameters: tuple[Parameter, Parameter], steps: Steps
) -> tuple[CriticalCurve, ...]:
    """Add the curves of homoclinic orbits to saddle-nodes where curves of orbits to saddles end, and what follows."""
    from analysis.dynamics.boundary_values.connection_curve import KINDS, continue_connection
    from analysis.dynamics.boundary_values.connection_equations import NON_CENTRAL

    widths = np.array([one.high - one.low for one in parameters])
    apart = lambda one, at: np.max(np.abs(np.array([one.first - at.first, one.second - at.second])) / widths)
    corners = lambda kind: [
        at for one in loops if one.kind == kind for at in one.degeneracies if at.kind == NON_CENTRAL
    ]
    while True:
        for kind, other in (KINDS, KINDS[::-1]):
            new = [at for at in corners(other) if all(apart(one, at) > CORNER for one in corners(kind))]
            if new:
                break
        else:
            return loops
        found = continue_connection(parameters, new[0], kind=kind, steps=steps)
        if not any(one.kind == NON_CENTRAL and apart(one, new[0]) <= CORNER for one in found.degeneracies):
            return (*loops, found)
        loops = (*loops, found)


@extend.register
def _extend_diagram(
    known: Diagram,
    parameter: Parameter,
    *,
    steps: Steps = Steps(),
    symmetries: Sequence[SymmetryGenerator] = (),
    max_period: float | None = None,
) -> Diagram:
    """Extend the branches of a diagram, and its branches of periodic orbits, at their open ends.

    Its curves in a second parameter and its tori stay as they are; see `with_curves` and `with_tori`. Branches of a map
    that are phases of the same cycles become one.

    Raises:
        ValueError: for bad input, or a diagram of another system.
    """
    found: list[tuple[Branch, int]] = []
    for one, k in zip(known.branches, known.iterates, strict=True):
        more = extend(one, parameter, iterate=k, steps=steps, symmetries=symmetries)
        passes = _Passing(curve_units((parameter,), jax.tree.map(lambda a: a[0], one.states)))
        same = [(other, j) for other, j in found if j == k > 1]
        if not passes.follows(same, more, phases(parameter, *_middle(more), k)):
            found.append((more, k))
    orbits = tuple(extend(one, parameter, steps=steps, max_period=max_period) for one in known.orbits)
    branches, iterates = tuple(b for b, _ in found), tuple(k for _, k in found)
    return known._replace(
        branches=branches, iterates=iterates, orbits=orbits, of=parameter, parameter_units=parameter.units
    )
