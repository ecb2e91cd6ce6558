"""Tables of results: which columns each kind of result has, and their names and units.

`dynsim.table`, `dynsim.to_pandas`, `dynsim.to_xarray` and the option `--out` of the commands use it.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves, Fractions
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.search import Attractors
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.boundary_values.problem import BoundarySolution
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.ensembles import BranchEnsemble
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import orbit_ranges
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.equilibria.newton import Equilibrium
from analysis.dynamics.equilibria.search import AllEquilibria
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.poincare import Section
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.line import LinePortrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.dynamics.portraits.simplex import SimplexPortrait
from analysis.dynamics.scaling.flat import flat_state, flat_states
from analysis.dynamics.series.chaos_test import ZeroOneTest
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.recurrence import RecurrencePlot
from analysis.dynamics.series.return_maps import ReturnMap
from analysis.paper_tables import BY_KIND, tori_table
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.io.tables import Table, numbered
from dynsim.simulation.ensemble import Ensemble
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.run_files import to_xarray as trajectory_dataset
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import Components, components
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    import xarray

Columns = dict[str, Any]


def table(result: Any) -> Table:
    """Convert a result to a table; see `dynsim.table`."""
    if isinstance(result, Table):
        return result
    if isinstance(result, list | tuple) and not hasattr(result, "_fields") and result:
        return _listed(result)
    return _table(result)


def dataset(result: Any) -> "xarray.Dataset":
    """Convert a result to an xarray Dataset; see `dynsim.to_xarray`."""
    try:
        import xarray
    except ImportError:
        raise ArgumentError(
            "result", "be converted by xarray (`pip install dynsim[io]`)", "xarray is not installed"
        ) from None
    if isinstance(result, Trajectory):
        return trajectory_dataset(result)
    if isinstance(result, Basins):
        return result.to_xarray().to_dataset(name="basin")
    if isinstance(result, StabilityMap):
        parts = {name: (("second", "first"), getattr(result, name)) for name in ("found", "stable", "undecided")}
        return xarray.Dataset(parts, {"first": result.first, "second": result.second})
    found = table(result)
    made = xarray.Dataset({name: ("row", values) for name, values in found.columns.items()})
    for name, unit in found.units.items():
        made[name].attrs["units"] = unit
    return made


@functools.singledispatch
def _table(result: Any) -> Table:
    """Convert any other result: its arrays of the most common length are columns, or its numbers one row."""
    if convert := BY_KIND.get(type(result).__name__):
        return convert(result)
    if hasattr(result, "to_dataframe"):  # a dataset of xarray, as of a sweep
        found = result.to_dataframe().reset_index()
        units = {name: str(result[name].attrs.get("units", "")) for name in found.columns}
        return Table({name: found[name].to_numpy() for name in found.columns}, units)
    fields = getattr(result, "_fields", None) or tuple(getattr(result, "__dataclass_fields__", ()))
    values = {name: getattr(result, name) for name in fields}
    arrays = {
        name: np.asarray(value)
        for name, value in values.items()
        if hasattr(value, "shape") and np.ndim(value) in (1, 2) and len(value)
    }
    lengths = [len(value) for value in arrays.values()]
    if lengths:
        length = max(lengths, key=lengths.count)
        found = [numbered(name, value) for name, value in arrays.items() if len(value) == length]
        return Table({name: column for one in found for name, column in one.items()})
    numbers = {name: [value] for name, value in values.items() if isinstance(value, bool | int | float | complex | str)}
    numbers |= {
        name: [np.asarray(value).item()]
        for name, value in values.items()
        if hasattr(value, "shape") and np.size(value) == 1
    }
    if not numbers:
        raise ArgumentError("result", "be a result that holds numbers", f"is {type(result).__name__}")
    return Table(numbers)


def _listed(results: Sequence[Any]) -> Table:
    """Convert a list: of equilibria, bifurcations or attractors to a row each, of other results below each other."""
    for kind, convert in ((Equilibrium, equilibria_table), (Bifurcation, _bifurcations), (LimitSet, _limit_sets)):
        if all(isinstance(one, kind) for one in results):
            return convert(results)
    return _stacked([table(one) for one in results], "number")


def _stacked(found: Sequence[Table], name: str) -> Table:
    """Put tables below each other, numbered in a column of this name; NaN where a table lacks a column of another."""
    names = list(dict.fromkeys(column for one in found for column in one.names))
    column = lambda one, name: one[name] if name in one.columns else np.full(len(one), np.nan)
    rows = np.repeat(np.arange(1, len(found) + 1), np.array([len(one) for one in found], int))
    columns = {column_name: np.concatenate([column(one, column_name) for one in found]) for column_name in names}
    units = {column_name: unit for one in found for column_name, unit in one.units.items()}
    return Table({name: rows} | columns, units)


def _flat(known: Components, rows: np.ndarray) -> Columns:
    """Name the columns of flattened states."""
    return {name: rows[:, k] for k, name in enumerate(known.names)}


def _units(known: Components, *endings: str) -> dict[str, str]:
    return {
        f"{name}{end}": unit for name, unit in zip(known.names, known.units, strict=True) for end in endings or ("",)
    }


def _known(state: State, names: Sequence[str] = (), units: Sequence[str] = ()) -> Components:
    """Name the components of a state, by given names if there is one for each."""
    own = components(None, state)
    size = len(own.names)
    named = own._replace(names=tuple(names)) if len(names) == size else own
    return named._replace(units=tuple(units)) if len(units) == size else named


def _padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Stack vectors of different lengths, with NaN after the shorter ones."""
    width = max((len(row) for row in rows), default=0)
    found = np.full((len(rows), width), complex(np.nan, np.nan))
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


@_table.register
def _trajectory(run: Trajectory) -> Table:
    """List the states of a run over time, or over the steps of a map."""
    known = components(run.system, run.initial)
    first = "k" if isinstance(run.system, AbstractMap) else "t"
    leaves = [np.asarray(y).reshape(len(run.ts), -1) for y in jax.tree.leaves(run.ys)]
    columns = {first: np.asarray(run.ts)} | _flat(known, np.concatenate(leaves, axis=1))
    return Table(columns, {first: known.time_unit} | _units(known))


@_table.register
def _hybrid(run: HybridTrajectory) -> Table:
    """List the states of all phases over time; before and after a transition there is a row each, in two phases."""
    return _stacked([_trajectory(one) for one in run.phases], "phase")


@_table.register
def _ensemble(runs: Ensemble) -> Table:
    """List the values of the observable for each member and time."""
    leaves = [np.asarray(value) for value in jax.tree.leaves(runs.values)]
    members, times = leaves[0].shape[:2]
    rows = np.concatenate([value.reshape(members * times, -1) for value in leaves], axis=1)
    member, t = np.repeat(np.arange(members), times), np.tile(np.asarray(runs.ts), members)
    values = {"value": rows[:, 0]} if rows.shape[1] == 1 else numbered("value", rows)
    flow = runs.flow[0] if isinstance(runs.flow, tuple) else runs.flow
    return Table({"member": member, "t": t} | values, {"t": getattr(flow, "time_unit", "")})


def equilibria_table(found: Sequence[Equilibrium], named: Components | None = None) -> Table:
    """List equilibria with their types, and the eigenvalues by decreasing real part."""
    if not len(found):
        return Table({"type": [], "kind": [], "index": [], "speed": []})
    known = _known(found[0].state) if named is None else named
    values = _padded([e.spectrum.values for e in found])
    columns = _flat(known, np.stack([flat_state(e.state) for e in found])) | {
        "type": [e.description for e in found], "kind": [e.kind for e in found],
        "index": [e.spectrum.index for e in found], "speed": [e.speed for e in found],
    }  # fmt: skip
    return Table(columns | numbered("eigenvalue", values), _units(known))


@_table.register
def _one_equilibrium(found: Equilibrium) -> Table:
    return equilibria_table([found])


@_table.register
def _allequilibria_table(found: AllEquilibria) -> Table:
    return equilibria_table(found.found)


@_table.register
def _phase_plane(plane: PhasePlane) -> Table:
    """List the equilibria and limit cycles of a phase plane; a cycle is listed by its extent and period."""
    known = Components(plane.names or ("x_1", "x_2"), plane.units or ("", ""))
    cycles = plane.cycles
    low, high = (np.reshape([end(points, axis=0) for points in cycles], (-1, 2)) for end in (np.min, np.max))
    values = _padded([e.spectrum.values for e in plane.equilibria])
    rest, count = len(plane.points), len(cycles)
    columns: Columns = {"object": ["equilibrium"] * rest + ["limit cycle"] * count}
    for k, name in enumerate(known.names):
        columns[name] = np.append(plane.points[:, k], np.full(count, np.nan))
        columns[f"{name}_min"] = np.append(plane.points[:, k], low[:, k])
        columns[f"{name}_max"] = np.append(plane.points[:, k], high[:, k])
    columns["type"] = [e.description for e in plane.equilibria] + list(plane.cycle_kinds)
    columns["kind"] = [e.kind for e in plane.equilibria] + list(plane.cycle_kinds)
    periods = np.append(np.full(rest, np.nan), plane.periods)
    columns |= {"period": periods, "frequency": 1 / periods}
    spectra = np.concatenate([values, np.full((count, values.shape[1]), complex(np.nan, np.nan))])
    units = _units(known, "", "_min", "_max") | _of_time(plane.time_unit)
    return Table(columns | numbered("eigenvalue", spectra), units)


def _of_time(unit: str) -> dict[str, str]:
    return {"period": unit, "frequency": f"1/{unit}" if unit else ""}


@_table.register
def _portrait(found: Portrait) -> Table:
    """List the equilibria of a portrait on the circle or the sphere."""
    known = _known(found.points[0])
    return Table(
        _flat(known, found.equilibrium_points) | {"type": list(found.types or found.kinds), "kind": list(found.kinds)}
    )


@_table.register
def _line_portrait(found: LinePortrait) -> Table:
    return equilibria_table(found.equilibria, found.known)


@_table.register
def _simplex_portrait(found: SimplexPortrait) -> Table:
    return equilibria_table(found.equilibria, Components(found.names, ("",) * 3) if found.names else None)


@_table.register
def _orbit(orbit: PeriodicOrbit) -> Table:
    """List the nodes of a periodic orbit over one period."""
    nodes = flat_states(orbit.nodes)
    shares = np.arange(len(nodes)) / len(nodes) if orbit.times is None else orbit.times
    return Table({"t": shares * orbit.period} | _flat(_known(orbit.state), nodes))


@_table.register
def _branch(found: Branch) -> Table:
    return branch_table(found)


@_table.register
def _branches(found: BranchEnsemble) -> Table:
    """List the points and bifurcations of the branches of all members, with the values of their other parameters."""
    tables = [branch_table(one, None, found.names, found.units) for one in found.branches]
    stacked = _stacked(tables, "member")
    member = stacked["member"] - 1
    others = {name: np.asarray(values)[member] for name, values in found.over.items()}
    return Table(stacked.columns | {"member": member} | others, stacked.units)


@_table.register
def _diagram(found: Diagram) -> Table:
    """List the points and bifurcations of all branches: equilibria or fixed points, then periodic orbits, then tori."""
    parts = [
        (one, "equilibrium" if k == 1 else f"cycle of {k} steps")
        for one, k in zip(found.branches, found.iterates, strict=True)
    ]
    parts += [(one, "periodic orbit") for one in found.orbits]
    tables = [branch_table(one, found.of, found.names, found.units) for one, _ in parts]
    tables += [tori_table(one, found.of) for one in found.tori]
    if not tables:
        return Table({found.parameter: []})
    stacked = _stacked(tables, "branch")
    words = np.repeat([*(word for _, word in parts), *("torus" for _ in found.tori)], [len(one) for one in tables])
    units = stacked.units | {found.parameter: dict(found.parameter_units).get(found.parameter, "")}
    return Table({"branch": stacked["branch"], "solution": words} | stacked.columns, units)


def branch_table(
    found: Branch, of: Parameter | None = None, names: Sequence[str] = (), units: Sequence[str] = ()
) -> Table:
    """List the points of a branch and its bifurcations, in the order along it.

    Minima and maxima of periodic orbits are those of the whole orbit if the parameter with its system is given, and
    otherwise those of the stored states. At equilibria they are the value, and the amplitude, half of their distance,
    is 0.

    Args:
        found: the branch.
        of: the parameter of the branch with its system.
        names: names of the components; by default those of the system.
        units: units of the components.
    """
    marks, named = found.places, [b.title for b in found.bifurcations] + [mark.name for mark in found.marks]
    kinds = [mark.kind for mark in found.marks]
    if isinstance(found.states, Profile):  # those at bifurcations have meshes of their own
        count = found.states.states.shape[1]
        marks = tuple(b._replace(state=b.state.on(count)) for b in marks)
    lengths = np.append(found.arclengths, [b.arclength for b in marks])
    order = np.argsort(lengths, kind="stable")
    states = jax.tree.map(
        lambda a, *more: np.concatenate([np.asarray(a), *(np.asarray(one)[None] for one in more)]),
        found.states, *[b.state for b in marks],
    )  # fmt: skip
    parameters = np.append(found.parameters, [b.parameter for b in marks])
    whole = found._replace(states=states, parameters=parameters)
    is_orbit, is_profile = isinstance(states, Cycle), isinstance(states, Profile)
    known = _of_branch(states.states[:, 0] if is_profile else states, of, names, units)
    low, high = _extremes(whole, of, len(known.names)) if is_orbit else _ends(states)
    periods = np.asarray(states.period, float).reshape(-1) if is_orbit else np.full(len(lengths), np.nan)
    columns: Columns = {found.name: parameters}
    for k, name in enumerate(known.names):
        columns[name] = np.full(len(lengths), np.nan) if is_orbit or is_profile else low[:, k]
        columns |= {f"{name}_min": low[:, k], f"{name}_max": high[:, k], f"{name}_amplitude": (high - low)[:, k] / 2}
    columns |= {
        "period": periods, "frequency": 1 / periods, "arclength": lengths,
        "stability": np.array([*found.kinds, *("undecided" for _ in found.bifurcations), *kinds]),
        "bifurcation": np.array(["" for _ in found.kinds] + named),
    }  # fmt: skip
    values = _padded([*np.asarray(found.eigenvalues), *(np.ravel(b.eigenvalues) for b in marks)])
    columns |= numbered("multiplier" if is_orbit else "eigenvalue", values)
    given = _units(known, "", "_min", "_max", "_amplitude") | _of_time(known.time_unit)
    given |= {found.name: of.unit if of is not None else ""}
    return Table({name: np.asarray(column)[order] for name, column in columns.items()}, given)


def _of_branch(states: State, of: Parameter | None, names: Sequence[str], units: Sequence[str]) -> Components:
    """Name the components of the states of a branch."""
    one = (
        jax.tree.map(lambda a: np.asarray(a)[0, 0], states.nodes)
        if isinstance(states, Cycle)
        else jax.tree.map(lambda a: np.asarray(a)[0], states)
    )
    if of is not None:
        return components(of.system, one)
    return _known(one, names, units)


def _ends(states: State) -> tuple[np.ndarray, np.ndarray]:
    """Compute minima and maxima over solutions of boundary value problems; those of a state are its values."""
    if isinstance(states, Profile):
        return np.min(states.states, axis=1), np.max(states.states, axis=1)
    return flat_states(states), flat_states(states)


def _extremes(found: Branch, of: Parameter | None, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute minima and maxima of all components over periodic orbits, each (points, components)."""
    if of is not None:
        ends = np.stack([orbit_ranges(of, found, k) for k in range(count)], axis=1)
        return ends[..., 0], ends[..., 1]
    nodes: Any = found.states
    rows = np.stack(
        [flat_states(jax.tree.map(lambda a, k=k: np.asarray(a)[k], nodes.nodes)) for k in range(len(found.parameters))]
    )
    return rows.min(axis=1), rows.max(axis=1)


def _bifurcations(found: Sequence[Bifurcation]) -> Table:
    """List bifurcations with their normal forms."""
    states = [flat_state(b.state.nodes)[:0] if isinstance(b.state, Cycle) else flat_state(b.state) for b in found]
    columns: Columns = {"parameter": [b.parameter for b in found]}
    columns |= numbered("x", np.real(_padded(states))) | {
        "bifurcation": [b.title for b in found], "kind": [b.kind for b in found],
        "criticality": [b.criticality for b in found], "coefficient": [b.coefficient for b in found],
        "frequency": [b.frequency for b in found], "multiplicity": [b.multiplicity for b in found],
        "period": [float(b.state.period) if isinstance(b.state, Cycle) else np.nan for b in found],
    }  # fmt: skip
    return Table(columns)


@_table.register
def _one_bifurcation(found: Bifurcation) -> Table:
    return _bifurcations([found])


@_table.register
def _critical_curve(found: CriticalCurve) -> Table:
    """List the points of a curve of bifurcations in the plane of two parameters."""
    columns = {"first": found.first, "second": found.second, "frequency": found.frequencies}
    return Table(columns | {"kind": np.full(len(found.first), found.kind + found.of)})


@_table.register
def _spectrum(found: LyapunovSpectrum) -> Table:
    """List Lyapunov exponents with their standard errors; an unresolved one is an upper bound."""
    count = len(found.exponents)
    return Table({
        "number": np.arange(1, count + 1), "exponent": found.exponents, "error": found.errors,
        "resolved": np.array(found.resolved or (True,) * count), "converged": np.full(count, found.converged),
    })  # fmt: skip


def along_parameter(name: str, values: Sequence[float], found: Sequence[LyapunovSpectrum]) -> Table:
    """List Lyapunov exponents for each value of a parameter."""
    columns: Columns = {name: np.asarray(values, float)}
    for part, word in (("exponents", "exponent"), ("errors", "error")):
        columns |= numbered(word, np.stack([getattr(one, part) for one in found]))
    return Table(columns | {"converged": np.array([one.converged for one in found])})


@_table.register
def _section(found: Section) -> Table:
    """List the crossings of a surface of section."""
    state = jax.tree.map(lambda a: np.asarray(a)[0], found.states) if len(found.times) else np.zeros(0)
    known = _known(state, found.names, found.units)
    rows = flat_states(found.states) if len(found.times) else np.zeros((0, 0))
    return Table({"t": found.times} | _flat(known, rows) | {"direction": found.directions}, _units(known))


@_table.register
def _orbit_diagram(found: OrbitDiagram) -> Table:
    """List the kept values of an orbit diagram for each value of the parameter."""
    count, kept = found.values.shape
    value = found.component or "value"
    columns: Columns = {found.name: np.repeat(found.parameters, kept), "step": np.tile(np.arange(kept), count)}
    return Table(columns | {value: found.values.ravel()}, {found.name: found.unit, value: found.component_unit})


@_table.register
def _hysteresis_diagram(found: HysteresisDiagram) -> Table:
    """List the kept values of both directions below each other, with the direction, 1 or -1."""
    both = [table(one) for one in found]
    ways = np.repeat([1, -1], [len(one) for one in both])
    stacked = {name: np.concatenate([one[name] for one in both]) for name in both[0].names}
    return Table({"direction": ways} | stacked, both[0].units)


@_table.register
def _return_map(found: ReturnMap) -> Table:
    """List each value with the next one."""
    after = f"{found.name}_next"
    columns = {found.name: found.pairs[:, 0], after: found.pairs[:, 1]}
    return Table(columns, dict.fromkeys(columns, found.unit))


@_table.register
def _power_spectrum(found: PowerSpectrum) -> Table:
    """List frequencies with power densities."""
    density = " ".join(part for part in (f"{found.unit}^2" if found.unit else "", found.time_unit) if part)
    units = {"frequency": _of_time(found.time_unit)["frequency"], "density": density}
    return Table({"frequency": found.frequencies, "density": found.densities}, units)


@_table.register
def _boundary_solution(found: BoundarySolution) -> Table:
    """List the places of the mesh with the states there."""
    columns = {"x": found.x} | dict(zip(found.names, found.states.T, strict=True))
    return Table(columns, dict(zip(found.names, found.units or ("",) * len(found.names), strict=True)))


@_table.register
def _connecting_orbit(found: ConnectingOrbit) -> Table:
    """List times with the states of a homoclinic or heteroclinic orbit."""
    known = _known(found.begin, found.names, found.units)
    return Table({"t": found.times} | _flat(known, found.states), _units(known) | {"t": found.time_unit})


@_table.register
def _phase_response(found: PhaseResponse) -> Table:
    """List phases with the states of the orbit and the phase advance, in time, per unit of each component."""
    names, units = found.names, found.units or ("",) * len(found.names)
    per = [f"{found.time_unit or 1}/{unit}" if unit else found.time_unit for unit in units]
    columns = {"phase": found.phases} | dict(zip(names, found.states.T, strict=True))
    advances = {f"Z_{name}": column for name, column in zip(names, found.values.T, strict=True)}
    return Table(columns | advances, dict(zip(names, units, strict=True)) | dict(zip(advances, per, strict=True)))


@_table.register
def _isochrons(found: Isochrons) -> Table:
    """List the points of all isochrons with their phases."""
    phases = np.repeat(found.phases, [len(curve) for curve in found.curves])
    points = np.concatenate(found.curves)
    units = dict(zip(found.names, found.units or ("",) * 2, strict=True))
    return Table({"phase": phases} | dict(zip(found.names, points.T, strict=True)), units)


@_table.register
def _locking_range(found: LockingRange) -> Table:
    """List shifts of the phase of a forcing with the relative change of the frequency per strength."""
    return Table({"shift": found.shifts, "change": found.values})


@_table.register
def _recurrence_plot(found: RecurrencePlot) -> Table:
    """List the pairs of times at which the states recur."""
    first, second = np.nonzero(found.recurrences)
    columns = {"t": found.times[first], "t_recurrent": found.times[second]}
    return Table(columns, dict.fromkeys(columns, found.time_unit))


@_table.register
def _zero_one_test(found: ZeroOneTest) -> Table:
    """List the correlation for each frequency c, with their median."""
    return Table({"c": found.frequencies, "K_c": found.correlations, "K": np.full(len(found.frequencies), found.K)})


def _limit_sets(found: Sequence[LimitSet]) -> Table:
    """List attractors by their first state, stability, period and the largest modulus of their multipliers."""
    states = np.stack([flat_states(one.states)[0] for one in found])
    return Table(
        {"object": [one.kind for one in found], "stability": [one.stability for one in found]}
        | _flat(_known(found[0].state), states)
        | {"period": [one.period for one in found], "exponent": [one.exponent for one in found]}
    )


@_table.register
def _one_limit_set(found: LimitSet) -> Table:
    return _limit_sets([found])


@_table.register
def _attractors(found: Attractors) -> Table:
    return _limit_sets(found.attractors) if found.attractors else Table({"object": [], "stability": []})


@_table.register
def _basins(found: Basins) -> Table:
    """List the label of the basin of each grid point, and in words the attractor."""
    axes = np.meshgrid(*found.axes, indexing="ij")
    labels = found.labels.ravel()
    words = {
        k: str(found.attractors[k]) if 0 <= k < len(found.attractors) else "none" for k in np.unique(labels).tolist()
    }
    columns: Mapping[str, Any] = dict(zip(found.names, (axis.ravel() for axis in axes), strict=True))
    units = dict(zip(found.components.names, found.components.units, strict=True))
    attractor = np.array([words[k] for k in labels.tolist()])
    return Table({**columns, "label": labels, "attractor": attractor}, {k: units.get(k, "") for k in columns})


@_table.register
def _fractions(found: Fractions) -> Table:
    """List the share of each basin with its confidence interval."""
    named = [str(found.attractors.get(int(k), "none")) for k in found.labels]
    return Table({
        "label": found.labels, "share": found.counts / found.total, "low": found.low, "high": found.high,
        "count": found.counts, "attractor": named,
    })  # fmt: skip


@_table.register
def _fraction_curves(found: FractionCurves) -> Table:
    """List the shares of all basins, with their intervals, for each value of the parameter."""
    count, kept = found.shares.shape
    return Table({
        found.name: np.repeat(found.parameters, kept), "label": np.tile(found.labels, count),
        "share": found.shares.ravel(), "low": found.low.ravel(), "high": found.high.ravel(),
    }, {found.name: found.unit})  # fmt: skip


@_table.register
def _stability_map(found: StabilityMap) -> Table:
    """List the numbers of equilibria for each pair of parameter values."""
    first, second = np.meshgrid(found.first, found.second)
    return Table({
        "first": first.ravel(), "second": second.ravel(), "found": np.ravel(found.found),
        "stable": np.ravel(found.stable), "undecided": np.ravel(found.undecided),
    }, dict(zip(("first", "second"), found.units, strict=True)))  # fmt: skip
