"""Continue bifurcations of equilibria and orbits in two parameters, and locate codimension-two points on the curves.

The file also chooses the equations of each kind, refines curves for drawing, and continues curves read from a file.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.codim2.coefficients import degenerate_coefficients
from analysis.dynamics.codim2.equilibria import AbstractCritical, FoldCurve, HopfCurve, critical_of
from analysis.dynamics.codim2.orbits import CriticalReturns
from analysis.dynamics.continuation.branches import Bifurcation, bifurcation_in_own, moved_states
from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint
from analysis.dynamics.continuation.equilibria import check_autonomous
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.locating import JUMP, between, hidden_sign, located
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import RTOL, check_forcing, curve_of_orbits, forcing_in
from analysis.dynamics.continuation.scaling import curve_units, orbit_units
from analysis.dynamics.continuation.stepping import can_go_on, follow, limits, two_bounds
from analysis.dynamics.flow_maps.flat import flat_state, flat_states
from analysis.dynamics.normal_forms.flows import crossing_pair, turns
from analysis.dynamics.scaling.units import Units, made_units
from dynsim._core.printing import one_line, printed, size_of
from dynsim._core.types import State
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import real_parameter, with_parameter

# Largest distance of a chord from the curve, relative to the bounds; it is invisible in a figure 3.4 inches wide.
SEEN = 1e-3


# Largest number of bisections of a step for drawing.
HALVINGS = 4


def refined(curve: AbstractCurve, points: list[CurvePoint], widths: Float[np.ndarray, "2"]) -> list[CurvePoint]:
    """Insert points between successive ones wherever chords would deviate visibly from the curve in the plane.

    The first parameter is the last entry of a state; the second is the parameter of the curve. The deviation is
    estimated from the tangents at both ends. Inserted points are solutions.

    Args:
        curve: the equations.
        points: points of the curve, with consistently oriented tangents.
        widths: widths of the bounds of both parameters.
    """
    found = points[:1]
    for begin, end in itertools.pairwise(points):
        found += [*_between(curve, begin, end, widths, HALVINGS), end]
    return found


def _between(
    curve: AbstractCurve, begin: CurvePoint, end: CurvePoint, widths: np.ndarray, halvings: int
) -> list[CurvePoint]:
    """Insert points between two others; a cubic deviates from its chord by an eighth of the change of tangents."""
    size = float(np.linalg.norm(end.flat - begin.flat))
    turn = _in_plane(begin) - _in_plane(end)
    if not halvings or float(np.linalg.norm(size * turn / 8 / widths)) <= SEEN:
        return []
    middle = between(curve, begin, end, 0.5)
    if middle is None:
        return []
    before, after = ((begin, middle), (middle, end))
    return [*_between(curve, *before, widths, halvings - 1), middle, *_between(curve, *after, widths, halvings - 1)]


def _in_plane(point: CurvePoint) -> np.ndarray:
    """Select the components of the tangent along both parameters."""
    return np.append(point.basis @ point.tangent[:-1], point.tangent[-1])[-2:]


OF_EQUILIBRIA, OF_ORBITS = ("fold", "Hopf point"), ("fold", "period doubling", "Neimark-Sacker point")
"""Kinds of bifurcations that are continued in two parameters."""


class Returning(NamedTuple):
    """Options of orbits: the iterate of a map, the period of a forcing, the longest period, the solver's tolerance."""

    iterate: int = 1
    forcing: Callable[[Any], Any] | None = None
    max_period: float | None = None
    rtol: float = RTOL


def kinds_of(flow: Any, state: Any) -> tuple[str, ...]:
    """List the kinds of bifurcations of given states that can be continued in two parameters."""
    return OF_ORBITS if isinstance(flow, AbstractMap) or isinstance(state, Cycle) else OF_EQUILIBRIA


def check_kind(flow: Any, at: Bifurcation) -> None:
    """Raise `ValueError` for a bifurcation that cannot be continued in two parameters."""
    kinds = kinds_of(flow, at.state)
    if at.kind not in kinds:
        raise ArgumentError("at", f"be a {', a '.join(kinds[:-1])} or a {kinds[-1]}", f"is a {at.kind}")


def check_time(flow: Any, where: Any, state: Any, at: float, bounds: Any, returning: Returning) -> None:
    """Raise `ValueError` if a time-dependent flow has no forcing, or if an orbit's period does not fit it."""
    if isinstance(state, Cycle):
        check_forcing(
            with_parameter(real_parameter("where", where[0], flow)[0], flow, jnp.asarray(at)), state, returning.forcing
        )
    elif not isinstance(flow, AbstractMap):
        check_autonomous("flow", flow, where[0], state, bounds[0])


def units_at(flow: Any, where: Any, state: Any, parameters: tuple[float, float], bounds: Any) -> Units:
    """Choose units for a curve through a state, or an orbit, at given values of both parameters."""
    if not isinstance(flow, AbstractMap):
        check_flow(flow)
    if not isinstance(state, Cycle):
        return curve_units(flow, where, state, bounds, at=parameters)
    takes = [real_parameter("where", take, flow)[0] for take in where]
    moved: Any = flow
    for take, value in zip(takes, parameters, strict=True):
        moved = with_parameter(take, moved, jnp.asarray(value))
    units = orbit_units(moved, takes, state, bounds)
    return made_units(flow, takes, units.scale, units.time, units.parameters)


def equations_of(
    units: Units, kind: str, state: Any, bounds: tuple[float, float], returning: Returning
) -> AbstractCritical:
    """Set up the equations of a kind of bifurcation near a rescaled state, with bounds of the first parameter."""
    system, where = units.system, (units.where[0], units.where[1])
    if isinstance(state, Cycle):
        start, count = jax.tree.map(lambda a: jnp.asarray(a[0]), state.nodes), len(jax.tree.leaves(state.nodes)[0])
        _, forcing, longest, rtol = returning
        inner = curve_of_orbits(units, units.restored(start), count, forcing, longest, rtol)
        made = CriticalReturns(system, where, kind, inner, bounds, rtol, forcing_in(units, forcing), inner.longest)
    elif isinstance(system, AbstractMap):
        inner = FixedPointCurve(system, where[0], returning.iterate)
        inner.units = None if units.are_given else units
        made = CriticalReturns(system, where, kind, inner, bounds, returning.rtol)
    else:
        made = (FoldCurve if kind == "fold" else HopfCurve)(system, where, state, bounds)
    made.units = None if units.are_given else units
    return made


LETTERS = {
    "cusp": ("c",),
    "Bogdanov-Takens point": ("a", "b"),
    "fold-Hopf point": ("s", "theta"),
    "Bautin point": ("l2",),
    "double Hopf point": ("p11", "p12", "p21", "p22", "theta", "delta"),
    "1:1 resonance": ("a", "b"),
    "1:3 resonance": ("a",),
    "1:4 resonance": ("Re A", "Im A"),
    "generalised period doubling": ("e",),
    "Chenciner point": ("L2",),
}
"""Names of the coefficients of codimension-two points, by kind."""
END_WORDS = {"bounds": "a bound of the second parameter", "outside": "a bound of the first one"}
"""Descriptions of ends of curves at bounds."""


class Degeneracy(NamedTuple):
    """Codimension-two point on a curve of bifurcations.

    Kinds for equilibria: a `cusp`; a `Bogdanov-Takens point`, where a Hopf curve starts on a fold curve; a
    `Bautin point`, where the first Lyapunov coefficient changes sign; a `fold-Hopf point` (zero-Hopf), where a fold is
    a Hopf point, too; a `double Hopf point`, with two imaginary pairs of eigenvalues.

    Kinds for orbits: a `cusp`; a strong resonance, `1:1 resonance` or `1:2 resonance`, where the multiplier 1 or -1 is
    double and a Neimark-Sacker curve starts, or `1:3 resonance` or `1:4 resonance` on such a curve; a
    `generalised period doubling` or a `Chenciner point`, where the coefficient of a period doubling or a Neimark-Sacker
    point changes sign, and folds of doubled cycles or of invariant curves start; and points with two bifurcations,
    `fold-flip point`, `fold-Neimark-Sacker point`, `flip-Neimark-Sacker point` or `double Neimark-Sacker point`.

    `coefficients` are those of the normal form, see `normal_forms.flows` and `normal_forms.maps`; undefined ones are
    NaN. For periodic orbits of flows only cusps have one.

    - cusp: c
    - Bogdanov-Takens point and 1:1 resonance: a, b
    - fold-Hopf point: s, theta
    - Bautin point: the second Lyapunov coefficient
    - double Hopf point: p11, p12, p21, p22, theta, delta
    - generalised period doubling: e
    - Chenciner point: L2
    - 1:3 resonance: a
    - 1:4 resonance: the real and the imaginary part of A
    """

    kind: str
    state: State
    first: float
    second: float
    coefficients: tuple[float, ...] = ()

    __repr__ = one_line

    def __str__(self) -> str:
        """Say the kind, the parameters and the coefficients."""
        return self.sized((1.0, 1.0))

    def sized(self, sizes: Sequence[float]) -> str:
        """Say the same of parameters with these sizes, below a share of which a value is printed as 0."""
        place = ", ".join(printed(v, size) for v, size in zip((self.first, self.second), sizes, strict=True))
        names = LETTERS.get(self.kind, ())
        found = ", ".join(f"{n} = {c:.4g}" for n, c in zip(names, self.coefficients, strict=False))
        return f"{self.kind} at ({place})" + (f" with {found}" if found else "")


class CriticalCurve(NamedTuple):
    """Curve of bifurcations of one kind in the plane of two parameters.

    Attributes:
        kind: `fold` or `Hopf point`; for orbits `fold`, `period doubling` or `Neimark-Sacker point`.
        first: first parameter at each point.
        second: second parameter at each point.
        states: equilibria, points of an iterate of a map, or orbits (`Cycle`), on the first axis.
        frequencies: frequencies of Hopf points in radians per time unit, or angles of Neimark-Sacker points.
        degeneracies: codimension-two points on the curve.
        ends: why the curve ends at either side: `bounds` of the second parameter, `outside` the bounds of the first
            one, a `Bogdanov-Takens point`, a `1:1 resonance` or `1:2 resonance`, an `equilibrium` to which orbits
            shrink, the longest `period`, close to a `homoclinic` orbit, where a stricter solver does not confirm the
            orbits (`accuracy`), `closed`, `steps`, `corner` or `lost`.
        iterate: iterate of a map.
    """

    kind: str
    first: Float[np.ndarray, " points"]
    second: Float[np.ndarray, " points"]
    states: State
    frequencies: Float[np.ndarray, " points"]
    degeneracies: tuple[Degeneracy, ...]
    ends: tuple[str, str]
    iterate: int = 1

    __repr__ = one_line

    @property
    def of_orbits(self) -> bool:
        """Whether the bifurcations are those of periodic orbits of a flow."""
        return isinstance(self.states, Cycle)

    @property
    def of(self) -> str:
        """Suffix that names the object of the bifurcations: " of periodic orbits", " of iterate 2", or ""."""
        return " of periodic orbits" if self.of_orbits else f" of iterate {self.iterate}" if self.iterate > 1 else ""

    @property
    def name(self) -> str:
        """Kind that is unique among the curves of a system: `fold of periodic orbits` in contrast to `fold`."""
        return self.kind + (self.of if self.of_orbits and self.kind in OF_EQUILIBRIA else "")

    def __str__(self) -> str:
        """Describe the kind, the number of points, and the codimension-two points in one line."""
        sizes = [size_of(values.tolist()) for values in (self.first, self.second)]
        found = ", ".join(d.sized(sizes) for d in self.degeneracies) or "no degeneracy"
        ends = " and ".join(END_WORDS.get(end, end) for end in dict.fromkeys(self.ends))
        return f"curve of {self.kind}s{self.of}, {len(self.first)} points: {found}; ends: {ends}"


def critical_curve(
    flow: AbstractFlow | AbstractMap,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    at: Bifurcation,
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    iterate: int = 1,
    forcing: Callable[[Any], Any] | None = None,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 500,
    max_period: float | None = None,
    rtol: float = RTOL,
) -> CriticalCurve:
    """Continue the bifurcations of one kind through a given one, in the plane of two parameters.

    For equilibria these are folds and Hopf points. For fixed points of iterates of maps, and for periodic orbits, these
    are folds, period doublings and Neimark-Sacker points.

    Args:
        flow: the flow or map; its own second parameter is the one at which `at` was found.
        where: select both parameters among the leaves of the flow; the first is the one in which `at` was found.
        at: a bifurcation of one of these kinds, on a branch of equilibria, fixed points or periodic orbits.
        bounds: lower and upper bound of each parameter.
        iterate: iterate of a map on that branch.
        forcing: period of the forcing as a function of the flow; see `continue_orbits`.
        step: first step along the curve, in the norm of state, critical vector and parameters together, where state and
            parameters are scaled to order one; see `continue_equilibria`.
        max_step: largest step. The default is four times the first step or a hundredth of the width of the bounds, if
            that is larger.
        max_points: largest number of points in each direction; a curve that reaches it ends with `steps`. Points
            inserted to keep chords close to the curve do not count.
        max_period: period at which a curve of periodic orbits ends; see `continue_orbits`.
        rtol: relative tolerance of the solver for periodic orbits.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no such point is found near it.
    """
    check_kind(flow, at)
    returning = _returning(flow, at.state, iterate, forcing, max_period, rtol)
    units = units_through(flow, where, at.state, at.parameter, bounds)
    check_time(flow, where, at.state, at.parameter, bounds, returning)
    within = limits(bounds[1], step, max_step, max_points, units.parameters[1])
    low, high = limits(bounds[0], step, max_step, max_points, units.parameters[0]).bounds
    at = bifurcation_in_own(units, at)
    curve = equations_of(units, at.kind, at.state, (low, high), returning)
    first = curve.at(curve.begin(at.state, at.parameter, at.frequency), curve.value)
    if first is None:
        raise ArgumentError("at", f"be near a {at.kind} of this flow", "leads to none")
    forward, end = follow(curve, first, first.tangent, within)
    backward, begin = ([], end) if end == "closed" else follow(curve, first, -first.tangent, within)
    points = [*(point._replace(tangent=-point.tangent) for point in backward[::-1]), first, *forward]
    points = refined(curve, points, np.array([high - low, within.bounds[1] - within.bounds[0]]))
    return _in_given(units, _found(curve, points, (begin, end), at.kind))._replace(iterate=returning.iterate)


def _returning(flow: Any, state: Any, iterate: Any, forcing: Any, max_period: Any, rtol: Any) -> Returning:
    """Collect the options of orbits; raise `ValueError` for options that do not fit the system."""
    times = integer("iterate", iterate, least=1)
    if times != 1 and not isinstance(flow, AbstractMap):
        raise ArgumentError("iterate", "be 1 for a flow", f"is {times}")
    if forcing is not None and not isinstance(state, Cycle):
        raise ArgumentError("forcing", "be left out but for periodic orbits", "is given")
    return Returning(times, forcing, max_period, number("rtol", rtol))


def units_through(flow: Any, where: Any, state: Any, first: float, bounds: Any) -> Units:
    """Choose units for a curve through a state and a value of the first parameter; see `critical_curve`."""
    if not isinstance(where, tuple) or len(where) != 2:
        raise ArgumentError("where", "be two functions of the flow", "is not")
    _, second = real_parameter("where", where[1], flow)
    return units_at(flow, where, state, (first, second), [two_bounds(pair) for pair in bounds])


def _in_given(units: Units, found: CriticalCurve, power: int = 1) -> CriticalCurve:
    """Convert a curve to the units of the given flow, or with power -1 from them to rescaled units.

    Normal form coefficients always are in the units of the given flow.
    """
    if units.are_given:
        return found
    first, second = (unit**power for unit in units.parameters)
    places = tuple(
        d._replace(state=moved_states(units, d.state, power), first=d.first * first, second=d.second * second)
        for d in found.degeneracies
    )
    return found._replace(
        first=found.first * first,
        second=found.second * second,
        states=moved_states(units, found.states, power),
        frequencies=found.frequencies / (units.time**power if found.kind == "Hopf point" else 1.0),
        degeneracies=places,
    )


def extended_curve(
    flow: AbstractFlow | AbstractMap,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    known: CriticalCurve,
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    forcing: Callable[[Any], Any] | None = None,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 500,
    max_period: float | None = None,
    rtol: float = RTOL,
) -> CriticalCurve:
    """Continue a curve, such as one read from a file, beyond those of its ends that can be continued.

    These are ends at bounds, if the new ones are wider, and ends at the limit on points. The arguments are the same as
    for `critical_curve`.

    Raises:
        ValueError: for bad input, or if the last states are no such bifurcations of this flow.
    """
    last: Any = jax.tree.map(lambda a: a[-1], known.states)
    returning = _returning(flow, last, known.iterate, forcing, max_period, rtol)
    moved = with_parameter(real_parameter("where", where[1], flow)[0], flow, jnp.asarray(float(known.second[-1])))
    units = units_through(flow, where, last, float(known.first[-1]), bounds)
    check_time(moved, where, last, float(known.first[-1]), bounds, returning)
    within = limits(bounds[1], step, max_step, max_points, units.parameters[1])
    inside = limits(bounds[0], step, max_step, max_points, units.parameters[0]).bounds
    known = _in_given(units, known, -1)
    for side in (1, 0):
        last, end = -side, known.ends[side]
        inner = zip((known.first, known.second), (inside, within.bounds), strict=True)
        if len(known.second) > 1 and all(can_go_on(end, float(values[last]), ends) for values, ends in inner):
            curve, begin, direction = _end(units, known, inside, side, returning)
            points, end = follow(curve, begin, direction, within)
            widths = np.array([ends[1] - ends[0] for ends in (inside, within.bounds)])
            points = refined(curve, [begin._replace(tangent=direction), *points], widths)
            known = _joined(known, _found(curve, points, ("", end), known.kind), side)
    return _in_given(units, known)


def _end(
    units: Units, known: CriticalCurve, inside: tuple[float, float], side: int, returning: Returning
) -> tuple[AbstractCritical, CurvePoint, np.ndarray]:
    """Set up the equations of a known curve, its point at one end, and the tangent that leads outwards."""
    last, before = (0, 1) if side == 0 else (-1, -2)
    state: Any = jax.tree.map(lambda a: a[last], known.states)
    first, second, frequency = (float(a[last]) for a in (known.first, known.second, known.frequencies))
    take, _ = real_parameter("where", units.where[1], units.system)
    units = units._replace(system=with_parameter(take, units.system, jnp.asarray(second)))
    curve = equations_of(units, known.kind, state, inside, returning)
    begin = curve.at(curve.begin(state, first, frequency), second)
    rows = np.column_stack([flat_states(known.states), known.first, known.second])
    if begin is None or np.max(np.abs(_place(begin) - rows[last])) > 1e-6 * (1 + np.max(np.abs(rows[last]))):
        raise ArgumentError("known", f"be a curve of {known.kind}s of this flow", "ends at a state that is none")
    ahead = np.append(begin.basis @ begin.tangent[:-1], begin.tangent[-1])[[*range(rows.shape[1] - 2), -2, -1]]
    return curve, begin, begin.tangent if ahead @ (rows[last] - rows[before]) >= 0 else -begin.tangent


def _place(point: CurvePoint) -> np.ndarray:
    """Flatten the state of a point of a curve, followed by both parameters."""
    at = critical_of(point)
    return np.concatenate([flat_state(at.state), [float(at.parameter), point.parameter]])


def _joined(known: CriticalCurve, more: CriticalCurve, side: int) -> CriticalCurve:
    """Append a curve (side 1), or prepend it reversed (side 0); the curves share a point."""
    join = lambda a, b: np.concatenate([a, b[1:]] if side else [b[:0:-1], a])
    found = (known.degeneracies + more.degeneracies) if side else (more.degeneracies[::-1] + known.degeneracies)
    return CriticalCurve(
        known.kind, join(known.first, more.first), join(known.second, more.second),
        jax.tree.map(join, known.states, more.states), join(known.frequencies, more.frequencies), found,
        (known.ends[0], more.ends[1]) if side else (more.ends[1], known.ends[1]), known.iterate,
    )  # fmt: skip


def _found(curve: AbstractCritical, points: list[CurvePoint], ends: tuple[str, str], name: str) -> CriticalCurve:
    """Build a curve from successive points, and locate the codimension-two points between them."""
    tests = curve.tests()
    values = {kind: [test(point) for point in points] for kind, test in tests.items()}
    degenerate: list[Degeneracy] = []
    for k in range(len(points) - 1):
        for kind, test in tests.items():
            for begin, end in _changes(curve, points, values[kind], k, test):
                place, _ = located(curve, begin, end, test)
                # the test function has a pole
                if place is None or not abs(test(place)) <= JUMP * (abs(test(begin)) + abs(test(end))):
                    continue
                if test != curve.crosses or turns(crossing_pair(curve.others(place))[1]):
                    degenerate.append(_degeneracy(curve, kind, place))
    last = [_degeneracy(curve, kind, point) for kind, point in curve.ended]
    # both directions were continued, the second one towards the beginning of the curve
    if last and ends[0] == last[-1].kind:
        degenerate.insert(0, last.pop())
    degenerate += last
    stacked: Any = jax.tree.map(lambda *a: np.stack([np.asarray(x) for x in a]), *[p.state for p in points])
    second = np.array([p.parameter for p in points])
    return CriticalCurve(
        name, stacked.parameter, second, stacked.state, np.abs(stacked.frequency), tuple(degenerate), ends
    )


def _changes(
    curve: AbstractCritical, points: list[CurvePoint], values: list[float], k: int, test: Callable
) -> Sequence[tuple[CurvePoint, CurvePoint]]:
    """Find the pairs of points around the k-th step between which a test function changes sign.

    If it is exactly zero at the k-th point, it must change sign between the neighbours of this point.
    """
    if values[k] == 0 and k and values[k - 1] * values[k + 1] < 0:
        return [(points[k - 1], points[k + 1])]
    if values[k] * values[k + 1] < 0:
        return [(points[k], points[k + 1])]
    inside = hidden_sign(curve, points, values, k, test)
    return list(itertools.pairwise([points[k], *inside, points[k + 1]])) if inside else []


def _degeneracy(curve: AbstractCritical, name: str, point: CurvePoint) -> Degeneracy:
    at = critical_of(point)
    found = degenerate_coefficients(curve, name, point)
    return Degeneracy(name, at.state, float(at.parameter), point.parameter, found)
