"""Continue homoclinic and heteroclinic orbits in two parameters, and mark special points of homoclinic ones."""

from typing import Any

import jax
import numpy as np

from analysis.dynamics.boundary_values.bogdanov_takens import homoclinic_beside
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit, linear_part
from analysis.dynamics.boundary_values.connection_equations import (
    NON_CENTRAL,
    ConnectionCurve,
    on_path,
    orbit_units,
    units_along,
)
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.boundary_values.projections import Connection, folded, lengths, mean_rate, monotone_norm
from analysis.dynamics.boundary_values.saddle_node_orbits import central_curve, non_central, orbit_to_saddle
from analysis.dynamics.boundary_values.special_points import special_points
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.collocation.intervals import CycleField, refined_mesh
from analysis.dynamics.continuation.meshes import Part, both_ways_on_meshes
from analysis.dynamics.continuation.steps import Steps
from dynsim._core.placement import on_host_by_default
from dynsim._core.validation import instance, number
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

# Default of the largest number of points of a curve in each direction.
POINTS = 500
# Distance, relative to the ranges of the parameters, up to which two special points of a kind are one.
SAME = 1e-6
KINDS = "saddle-node homoclinic orbit", "homoclinic orbit"
"""Kinds of curves that meet at a non-central homoclinic orbit to a saddle-node."""


@on_host_by_default
def continue_connection(
    parameters: tuple[Parameter, Parameter],
    orbit: ConnectingOrbit | Degeneracy,
    *,
    kind: str = "",
    steps: Steps = Steps(),
    rtol: float = 1e-6,
) -> CriticalCurve:
    """Continue a homoclinic or heteroclinic orbit in two parameters, in both directions.

    From a Bogdanov-Takens point the curve of homoclinic orbits that begins there is continued. Where a curve ends in a
    fold of its saddle, the last one of the `degeneracies` is a `non-central saddle-node homoclinic orbit`; from there
    the curve of central homoclinic orbits to the saddle-node goes on, up to where it becomes non-central again.

    States of the curve are `Profile(states, unknowns, x)`, with shares of the duration as places; the unknowns are the
    first parameter and the duration.

    Special points of homoclinic orbits are the `degeneracies` of the curve: a `neutral saddle`, `neutral saddle-focus`
    or `neutral bifocus`, where the saddle quantity vanishes (for a saddle-focus, Shilnikov's chaos begins there); a
    `neutrally divergent saddle-focus`; a `Belyakov point`, where two real leading eigenvalues become a pair; an `orbit
    flip` and an `inclination flip`; and, at the end of a curve, a `non-central saddle-node homoclinic orbit`.

    Args:
        parameters: the parameter that was solved for, and another one of the same flow, with their ranges.
        orbit: what `homoclinic_orbit` or `connecting_orbit` returned, at the flow's own value of the second one; or a
            Bogdanov-Takens point on a curve in these parameters. The curve then begins there, with orbits that have
            shrunk to a point and take for ever, and goes on with a small orbit beside it. Or a non-central homoclinic
            orbit to a saddle-node on such a curve.
        kind: of the curve through the latter: `saddle-node homoclinic orbit`, the default, or `homoclinic orbit`.
        steps: the steps along the curve.
        rtol: largest error of the states, relative to the size of each component.

    Raises:
        ValueError: for bad input, or if the orbit is not found again.

    Source: A. R. Champneys and Y. A. Kuznetsov, Numerical detection and continuation of codimension-two homoclinic
    bifurcations, Int. J. Bifurcation Chaos 4 (1994).

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, connecting_orbit, continue_connection
        >>> def front(z, s, c=-0.3, a=0.25):
        ...     return jnp.stack([s[1], -c * s[1] - s[0] * (1 - s[0]) * (s[0] - a)])
        >>> flow = ds.FunctionFlow(front, parameters={"c": -0.3, "a": 0.25})
        >>> c, a = ds.Parameter(flow, "c", -1.0, 1.0), ds.Parameter(flow, "a", 0.1, 0.45)
        >>> curve = continue_connection((c, a), connecting_orbit(c, [0, 0], [1, 0]), steps=Steps(first=0.5, points=5))
        >>> bool(np.allclose(curve.first, -(1 - 2 * curve.second) / 2**0.5, atol=1e-5))
        True
    """
    first, second = parameters
    words = "what `homoclinic_orbit` or `connecting_orbit` returned, or a Bogdanov-Takens point"
    instance("orbit", orbit, ConnectingOrbit | Degeneracy, words)
    if jax.tree.structure(first.system) != jax.tree.structure(second.system) or first.name == second.name:
        raise ArgumentError("parameters", "be two parameters of one flow", f"are {first.name} and {second.name}")
    if kind and not (isinstance(orbit, Degeneracy) and orbit.kind == NON_CENTRAL and kind in KINDS):
        raise ArgumentError("kind", f"be left out, or be {' or '.join(KINDS)} at a {NON_CENTRAL}", f"is {kind}")
    accuracy = number("rtol", rtol)
    if isinstance(orbit, Degeneracy) and orbit.kind == NON_CENTRAL:
        if kind != KINDS[1]:
            curve, here, (first, second) = central_curve(parameters, orbit, accuracy)
            collect = lambda parts, ends: _collected(parts, ends, (KINDS[0], first, second))
            limits = steps.limits(curve.parameter, POINTS, curve.unit)
            return both_ways_on_meshes(curve, here, limits, collect, (NON_CENTRAL, curve.turns_central))
        orbit, (first, second) = orbit_to_saddle(parameters, orbit, accuracy)
    corner = orbit if isinstance(orbit, Degeneracy) else None
    if isinstance(orbit, Degeneracy):
        flow, orbit = homoclinic_beside(parameters, orbit)
        first, second = first.of(flow), second.of(flow)
    units = orbit_units((first, second), np.asarray(orbit.times), orbit.states)
    begin, end, states = (units.rescaled(np.asarray(x)) for x in (orbit.begin, orbit.end, orbit.states))
    path = folded(np.asarray(orbit.times) / units.time, states, len(states) // 2)
    value = orbit.parameter / units.parameters[0]
    linear = linear_part(CycleField(units.varied[0].at(value), None, begin))
    J = [linear(rest)[1] for rest in (begin, end)]
    distances = [
        float(lengths(states[-k] - rest, monotone_norm(J[k], stable=k == 1)) / np.linalg.norm(path.middle - rest))
        for k, rest in enumerate((begin, end))
    ]
    problem = Connection(units.varied[0], begin, end, (distances[0], distances[1]), path.weight)
    problem.paces = [(mean_rate(J[k], stable=k == 1), float(path.durations[k])) for k in (0, 1)]
    problem.equilibria = None  # they move with the orbit, whose ends are beside them
    curve = ConnectionCurve(problem, *on_path(units, path, begin.size), accuracy, units_along(units, begin))
    here = curve.at(path.rows(path.mesh[:-1], value), curve.value)
    if here is None:
        raise ArgumentError("orbit", "be one at the flow's own second parameter", "is not found again")
    limits = steps.limits(curve.parameter, POINTS, curve.unit)
    collect = lambda parts, ends: _collected(parts, ends, (f"{orbit.kind} orbit", first, second))
    if corner is None:
        return _with_saddle_nodes(both_ways_on_meshes(curve, here, limits, collect), (first, second), accuracy)
    place = np.array([orbit.parameter - corner.first, second.value - corner.second]) / units.parameters
    leads_away = lambda point: bool(point.flat_tangent[[2 * begin.size + 1, -1]] @ place >= 0)
    found = both_ways_on_meshes(curve, here, limits, collect, (corner.kind, leads_away))
    return _begun_at(corner, _with_saddle_nodes(found, (first, second), accuracy))


def _begun_at(corner: Degeneracy, curve: CriticalCurve) -> CriticalCurve:
    """Put the Bogdanov-Takens point, at which orbits have shrunk and take for ever, before the first orbit."""
    states: Any = curve.states
    rest = np.broadcast_to(np.asarray(corner.state), states.states.shape[1:])
    first = Profile(rest, np.array([corner.first, np.inf]), states.x[0])
    return curve._replace(
        first=np.append(corner.first, curve.first),
        second=np.append(corner.second, curve.second),
        states=jax.tree.map(lambda one, more: np.concatenate([one[None], more]), first, states),
        frequencies=np.append(0.0, curve.frequencies),
        degeneracies=(corner, *curve.degeneracies),
    )


def _collected(parts: list[Part], ends: tuple[str, str], of: tuple[str, Parameter, Parameter]) -> Any:
    """Build the curve in the plane of both parameters from its parts."""
    kind, first, second = of
    curves: list[Any] = [part.curve for part in parts]
    most, rows, values, places = max(curve.segments for curve in curves), [], [], []
    for k, (part, curve) in enumerate(zip(parts, curves, strict=True)):
        mesh = refined_mesh(curve.mesh, most)
        for point in part.points[int(k > 0) :]:
            rows.append(curve.profile(point, mesh))
            values.append(point.parameter * curve.unit)
        if kind == KINDS[0]:
            at_ends = ((0, part is parts[0]), (-1, part is parts[-1]))
            for which in (k for k, own in at_ends if own and ends[k] == NON_CENTRAL):
                one = curve.profile(part.points[which], mesh)
                places.append(Degeneracy(NON_CENTRAL, one, float(one.unknowns[0]), values[which]))
        if kind == "homoclinic orbit":
            places += [
                Degeneracy(name, one, float(one.unknowns[0]), at.parameter * curve.unit)
                for name, at in special_points(curve, part.points, curve.ends_of)
                for one in (curve.profile(at, mesh),)
            ]
    states = jax.tree.map(lambda *a: np.stack(a), *rows)
    own = states.unknowns[:, 0]
    inside = (own >= first.low) & (own <= first.high)
    where = np.flatnonzero(inside)
    low, high = (int(where[0]), int(where[-1]) + 1) if len(where) else (0, len(own))
    sides = (ends[0] if low == 0 else "outside", ends[1] if high == len(own) else "outside")
    cut = jax.tree.map(lambda a: a[low:high], states)
    kept: list[Degeneracy] = []
    for place in places:  # one at the border of two parts may be found in both
        twice = kept and kept[-1].kind == place.kind and _is_near(kept[-1], place, (first, second))
        if first.low <= place.first <= first.high and not twice:
            kept.append(place)
    return CriticalCurve(kind, own[low:high], np.array(values)[low:high], cut, np.zeros(high - low), tuple(kept), sides)


def _is_near(one: Degeneracy, other: Degeneracy, parameters: tuple[Parameter, Parameter]) -> bool:
    """Test whether two special points are one up to errors."""
    apart = abs(one.first - other.first), abs(one.second - other.second)
    return all(far <= SAME * (p.high - p.low) for far, p in zip(apart, parameters, strict=True))


def _with_saddle_nodes(curve: CriticalCurve, parameters: tuple[Parameter, Parameter], rtol: float) -> CriticalCurve:
    """Locate the non-central homoclinic orbits to a saddle-node at which a curve ends, and lead it to these."""
    if curve.kind != "homoclinic orbit":
        return curve
    for k in (0, -1):
        found = non_central(curve, parameters, k, rtol) if curve.ends[k] == "saddle-node" else None
        if found is not None:
            curve = _with_end(curve, found, k)
    return curve


def _with_end(curve: CriticalCurve, at: Degeneracy, k: int) -> CriticalCurve:
    """Put a point at the beginning (0) or the end (-1) of a curve."""
    states: Any = curve.states
    own: Any = at.state
    last = own.on(states.x.shape[1])
    put = lambda one, more: np.concatenate([[one], more] if k == 0 else [more, [one]])
    return curve._replace(
        first=put(at.first, curve.first),
        second=put(at.second, curve.second),
        states=jax.tree.map(put, Profile(*map(np.asarray, last)), states),
        frequencies=put(0.0, curve.frequencies),
        degeneracies=(at, *curve.degeneracies) if k == 0 else (*curve.degeneracies, at),
    )
