"""Continue homoclinic and heteroclinic orbits in two parameters, and mark special points of homoclinic ones."""

from typing import Any

import jax
import numpy as np

from analysis.dynamics.boundary_values.bogdanov_takens import homoclinic_beside
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit, linear_part
from analysis.dynamics.boundary_values.curve import BoundaryCurve, Profile
from analysis.dynamics.boundary_values.projections import (
    Connection,
    equilibrium_near,
    left_subspace,
    lengths,
    mean_rate,
    monotone_norm,
)
from analysis.dynamics.boundary_values.special_points import Ends, bounded_adjoint, ends_of, special_points
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.collocation.intervals import CycleField, refined_mesh
from analysis.dynamics.continuation.collocation_curve import NODES
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.meshes import Part, both_ways_on_meshes
from analysis.dynamics.continuation.orbit_curve import LONGER
from analysis.dynamics.continuation.steps import Limits, Steps
from analysis.dynamics.flow_maps.component_sizes import range_unit
from analysis.dynamics.scaling.flat import extents
from analysis.dynamics.scaling.units import made_units, power_near
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State
from dynsim._core.validation import instance, number
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

# Default of the largest number of points of a curve in each direction.
POINTS = 500
# Units of states, relative to their ranges: steps are measured by the parameters, as states on fast parts of an orbit
# move far where it only shifts in time.
ROOM = 16.0
# Distance, relative to the ranges of the parameters, up to which two special points of a kind are one.
SAME = 1e-6
# Places along an orbit at which the signs of adjoint solutions of successive orbits are compared.
PLACES = 32
# Share of a step over which the field at an equilibrium is differentiated.
SHARE = 1e-3
# Slowest rate at an equilibrium, relative to its largest value along the curve, at which a fold of equilibria is near.
VANISHING = 0.02


class ConnectionCurve(BoundaryCurve):
    """Equations of connecting orbits along a second parameter."""

    slowest: np.ndarray | float = 0.0  # the largest values so far of the slowest rate at each equilibrium

    def largest_step(self, point: CurvePoint, within: Limits, first: CurvePoint) -> float:
        """Choose the largest step: nodes and both parameters move by that of the limits.

        Durations, which grow without bound beside some special points, do not count. If the limit is a default, nodes
        of orbits that have grown move by a share of their distances from their mean.
        """
        moves = np.array(point.tangent[:-1]).reshape(self.segments, -1)
        nodes, own = self.nodes(point.state)[:, :-2], abs(float(point.tangent[-1]))
        away = LONGER * float(np.linalg.norm(nodes - np.mean(nodes, axis=0))) if within.free else 0.0
        shares = (
            float(np.linalg.norm(moves[:, :-2])) / max(within.largest * (self.segments / NODES) ** 0.5, away),
            max(float(np.max(np.abs(moves[:, -2]))), own) / within.largest,
        )
        return 1 / max(*shares, np.finfo(float).tiny)

    def predicted(self, point: CurvePoint, state: State, parameter: float) -> State:
        """Move a predicted orbit with its equilibria, which bend away from the tangent.

        The ends are so close to them that they would leave along other sides.
        """
        conditions: Any = self._conditions
        nodes, new = self.nodes(point.state), self.nodes(state)
        n, before, after = nodes.shape[1] - 2, (nodes[0, -2], point.parameter), (new[0, -2], parameter)
        bends = []
        for k in (0, -1):
            rest = equilibrium_near(lambda x: conditions.linear(x, *before), nodes[k, :n])
            found = None if rest is None else equilibrium_near(lambda x: conditions.linear(x, *after), new[k, :n])
            if rest is None or found is None:
                return state
            moved = lambda share, rest=rest: conditions.linear(
                rest, *(a + share * (b - a) for a, b in zip(before, after, strict=True))
            )
            slope = (moved(SHARE)[0] - moved(-SHARE)[0]) / (2 * SHARE)
            bends.append(found - rest + np.linalg.lstsq(moved(0.0)[1], slope, rcond=None)[0])
        shares = self.mesh[:-1, None]
        new = new.copy()
        new[:, :n] += (1 - shares) * bends[0] + shares * bends[1]
        return new

    def ends_at(self, before: CurvePoint, point: CurvePoint) -> str:
        """End a curve where the slowest rate at an equilibrium is small beside its largest value.

        It is a `saddle-node` if its eigenvalue is real, and a `Hopf point` of the equilibrium if it is one of a pair.
        """
        slowest = self._slowest(point)
        self.slowest = np.maximum(self.slowest, rates := np.abs(np.real(slowest)))
        ended = rates < VANISHING * self.slowest
        if not np.any(ended):
            return ""
        turning = np.abs(np.imag(slowest)) > VANISHING * self.slowest
        return "Hopf point" if np.any(ended & turning) else "saddle-node"

    def _slowest(self, point: CurvePoint) -> np.ndarray:
        """Find the eigenvalues nearest to the imaginary axis at both equilibria; 0 without one."""
        conditions: Any = self._conditions
        nodes = self.nodes(point.state)
        n, own = nodes.shape[1] - 2, float(nodes[0, -2])
        linear = lambda x: conditions.linear(x, own, point.parameter)
        found = []
        for rest in (equilibrium_near(linear, nodes[k, :n]) for k in (0, -1)):
            values = np.zeros(1) if rest is None else np.linalg.eigvals(linear(rest)[1])
            found.append(complex(values[np.argmin(np.abs(np.real(values)))]))
        return np.array(found)

    def ends_of(self, point: CurvePoint) -> Ends:
        """Collect what test functions of special points need from a homoclinic orbit."""
        conditions: Any = self._conditions
        nodes = self.nodes(point.state)
        n, own, found = nodes.shape[1] - 2, float(nodes[0, -2]), self.solution(nodes, self.length, point.parameter)
        linear = lambda x: conditions.linear(x, own, point.parameter)
        rows = np.vstack([nodes, found.ends[-1:]])[:, :n]
        rest = equilibrium_near(linear, rows[0])
        last = equilibrium_near(linear, rows[-1])
        if rest is None or last is None:
            raise ArithmeticError("no equilibrium beside the ends of an orbit")
        J = linear(rest)[1]
        unstable, stable = (left_subspace(J.T, stable=side) for side in (False, True))
        away = np.minimum(np.linalg.norm(rows - rest, axis=1), np.linalg.norm(rows - last, axis=1))
        adjoint = bounded_adjoint(found.maps[:, :n, :n], unstable, stable, int(np.argmax(away[:-1])))
        lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(rows, axis=0), axis=1)))
        places = np.linspace(0.0, lengths[-1], PLACES + 2)[1:-1]
        along = np.column_stack([np.interp(places, lengths, one) for one in adjoint.T])
        return ends_of(J, np.array([rows[-1] - last, rows[0] - rest]), np.vstack([adjoint[[0, -1]], along]))


@on_host_by_default
def continue_connection(
    parameters: tuple[Parameter, Parameter],
    orbit: ConnectingOrbit | Degeneracy,
    *,
    steps: Steps = Steps(),
    rtol: float = 1e-6,
) -> CriticalCurve:
    """Continue a homoclinic or heteroclinic orbit in two parameters, in both directions.

    From a Bogdanov-Takens point the curve of homoclinic orbits that begins there is continued.

    States of the curve are `Profile(states, unknowns, x)`, with shares of the duration as places; the unknowns are the
    first parameter and the duration.

    Special points of homoclinic orbits are the `degeneracies` of the curve: a `neutral saddle`, `neutral saddle-focus`
    or `neutral bifocus`, where the saddle quantity vanishes (for a saddle-focus, Shilnikov's chaos begins there); a
    `neutrally divergent saddle-focus`; a `Belyakov point`, where two real leading eigenvalues become a pair; an `orbit
    flip` and an `inclination flip`.

    Args:
        parameters: the parameter that was solved for, and another one of the same flow, with their ranges.
        orbit: what `homoclinic_orbit` or `connecting_orbit` returned, at the flow's own value of the second one; or a
            Bogdanov-Takens point on a curve in these parameters. The curve then begins there, with orbits that have
            shrunk to a point and take for ever, and goes on with a small orbit beside it.
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
    corner = orbit if isinstance(orbit, Degeneracy) else None
    if isinstance(orbit, Degeneracy):
        flow, orbit = homoclinic_beside(parameters, orbit)
        first, second = first.of(flow), second.of(flow)
    duration = float(orbit.times[-1])
    scale, time = ROOM * power_near(extents(orbit.states), 1), float(power_near(duration, 1))
    sizes = [range_unit(first), range_unit(second)]
    own = Parameter(second.system, first.take, first.low, first.high, name=first.name)
    units = made_units(second.system, (own, second), scale, time, sizes)
    begin, end, last = (units.rescaled(np.asarray(x)) for x in (orbit.begin, orbit.end, orbit.states[[0, -1]]))
    linear = linear_part(CycleField(units.varied[0].at(orbit.parameter / sizes[0]), None, begin))
    distances = [
        float(lengths(state - rest, monotone_norm(linear(rest)[1], stable=k == 1)))
        for k, (state, rest) in enumerate(zip(last, (begin, end), strict=True))
    ]
    problem = Connection(units.varied[0], begin, end, (distances[0], distances[1]))
    problem.paces = _paces(np.asarray(orbit.times) / units.time, units.rescaled(orbit.states), (begin, end), linear)
    counts = [len(left_subspace(linear(rest)[1], stable=k == 1)) for k, rest in enumerate((begin, end))]
    problem.timed, problem.duration = int(counts[0] <= counts[1]), duration / units.time
    problem.equilibria = None  # they move with the orbit, whose ends are beside them
    mesh = np.asarray(orbit.times) / duration
    mesh[-1] = 1.0
    start = Profile(orbit.states, np.array([orbit.parameter, duration]), mesh)
    whole = np.append(np.broadcast_to(units.scale, begin.shape), [sizes[0], units.time])
    along = units._replace(varied=units.varied[1:], parameters=(sizes[1],), scale=whole, time=1.0)
    curve = ConnectionCurve(problem, units.varied[1], mesh, len(whole), number("rtol", rtol), along)
    here = curve.at(curve.from_profile(start), curve.value)
    if here is None:
        raise ArgumentError("orbit", "be one at the flow's own second parameter", "is not found again")
    limits = steps.limits(curve.parameter, POINTS, curve.unit)
    kind = f"{orbit.kind} orbit"
    collect = lambda parts, ends: _collected(parts, ends, (kind, first, second))
    if corner is None:
        return both_ways_on_meshes(curve, here, limits, collect)
    place = np.array([orbit.parameter - corner.first, second.value - corner.second]) / sizes
    leads_away = lambda point: bool(point.flat_tangent[[begin.size, -1]] @ place >= 0)
    found = both_ways_on_meshes(curve, here, limits, collect, (corner.kind, leads_away))
    return _begun_at(corner, found)


def _paces(
    times: np.ndarray, states: np.ndarray, rests: tuple[np.ndarray, np.ndarray], linear: Any
) -> tuple[tuple[float, float], ...]:
    """Compute the rates at both equilibria, and the times that an orbit needs to get halfway to its farthest state."""
    found = []
    for k, rest in enumerate(rests):
        far = np.linalg.norm(states - rest, axis=1)
        away = np.flatnonzero(far > np.max(far) / 2)[[0, -1][k]]
        found.append((mean_rate(linear(rest)[1], stable=k == 1), float(abs(times[[0, -1][k]] - times[away]))))
    return tuple(found)


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
