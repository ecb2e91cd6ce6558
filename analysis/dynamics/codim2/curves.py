"""Continue bifurcations of equilibria and orbits in two parameters, and locate codimension-two points on the curves.

The file also chooses the equations of each kind, refines curves for drawing, and continues curves read from a file.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.codim2.coefficients import degenerate_coefficients
from analysis.dynamics.codim2.degeneracies import WITH_ORBITS, Degeneracy, as_bifurcation, check_leaving, leaving
from analysis.dynamics.codim2.equilibria import AbstractCritical, FoldCurve, HopfCurve, critical_of
from analysis.dynamics.codim2.large_equilibria import LargeFoldCurve, LargeHopfCurve
from analysis.dynamics.codim2.orbits import CriticalReturns
from analysis.dynamics.codim2.orbits_beside import bifurcation_beside
from analysis.dynamics.continuation.bifurcations import Bifurcation, moved_bifurcation
from analysis.dynamics.continuation.branches import point_beyond
from analysis.dynamics.continuation.curve import AbstractCurve, CurvePoint
from analysis.dynamics.continuation.equilibria import check_autonomous
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.large_equilibria import pattern_of
from analysis.dynamics.continuation.locating import JUMP, between, hidden_sign, located
from analysis.dynamics.continuation.orbit_curve import Cycle, moved_states
from analysis.dynamics.continuation.orbits import RTOL, at_equal_times, check_forcing, curve_of_orbits, forcing_in
from analysis.dynamics.continuation.scaling import curve_units, orbit_units
from analysis.dynamics.continuation.stepping import can_go_on, follow
from analysis.dynamics.continuation.steps import Limits, Steps
from analysis.dynamics.normal_forms.flows import crossing_pair, turns
from analysis.dynamics.scaling.flat import flat_state, flat_states
from analysis.dynamics.scaling.units import Units
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, size_of
from dynsim._core.types import State
from dynsim._core.validation import integer, number
from dynsim._runtime.blas import in_one_thread
from dynsim.errors import ArgumentError, shown
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractMap
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists

# Default of the largest number of points of a curve in each direction.
POINTS = 500
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
    return point.flat_tangent[-2:]


OF_EQUILIBRIA, OF_ORBITS = ("fold", "Hopf point"), ("fold", "period doubling", "Neimark-Sacker point")
"""Kinds of bifurcations that are continued in two parameters."""


class Returning(NamedTuple):
    """Options for orbits: iterate of a map, period of the forcing, longest period, and tolerance of the solver."""

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


def check_time(first: Parameter, state: Any, at: float, returning: Returning) -> None:
    """Raise `ValueError` if a time-dependent flow has no forcing, or if an orbit's period does not fit it."""
    if isinstance(state, Cycle):
        check_forcing(first.at(at), state, returning.forcing)
    elif not isinstance(first.system, AbstractMap):
        check_autonomous("flow", first, state)


def units_at(parameters: tuple[Parameter, Parameter], state: Any, at: tuple[float, float]) -> Units:
    """Choose units for a curve through a state, or an orbit, at given values of both parameters."""
    if isinstance(state, Cycle):
        check_flow(parameters[0].system)
        return orbit_units(parameters[0].system, state, parameters, at=at)
    if not isinstance(parameters[0].system, AbstractMap):
        check_flow(parameters[0].system)
    pattern = pattern_of(parameters[0], state, second=parameters[1])[0]
    return curve_units(parameters, state, at=at, pattern=pattern)


def equations_of(units: Units, kind: str, state: Any, returning: Returning) -> AbstractCritical:
    """Set up the equations of a kind of bifurcation near a state, in scaled units."""
    parameters = units.varied[0], units.varied[1]
    if isinstance(state, Cycle):
        start, count = jax.tree.map(lambda a: jnp.asarray(a[0]), state.nodes), len(jax.tree.leaves(state.nodes)[0])
        _, forcing, longest, rtol = returning
        inner = curve_of_orbits(units, units.restored(start), count, forcing, longest, (rtol, None))
        return CriticalReturns(parameters, kind, inner, rtol, forcing_in(units, forcing), units)
    if isinstance(units.system, AbstractMap):
        inner = FixedPointCurve(parameters[0], returning.iterate, units=units)
        return CriticalReturns(parameters, kind, inner, returning.rtol, units=units)
    pattern = pattern_of(parameters[0], state, second=parameters[1])[0]
    if pattern is not None:
        return (LargeFoldCurve if kind == "fold" else LargeHopfCurve)(parameters, state, pattern, units)
    return (FoldCurve if kind == "fold" else HopfCurve)(parameters, state, units)


def plane_of(parameters: Any) -> tuple[Parameter, Parameter]:
    """Check that the given values are two parameters of one system; raise `ValueError` for anything else."""
    pair = parameters if isinstance(parameters, tuple) else ()
    if len(pair) != 2 or not all(isinstance(one, Parameter) for one in pair):
        raise ArgumentError("parameters", "be two `Parameter` objects", f"is {shown(parameters)}")
    first, second = pair
    if first.system is not second.system and not eqx.tree_equal(first.system, second.system):
        raise ArgumentError("parameters", "belong to one system", "belong to two")
    return first, second


# Test function at the end of a curve, relative to that at the point before, that vanishes up to its error; and the
# distance of its zero from the end, relative to the last step.
NEAR_ZERO, AT_END = 1e-4, 1e-6
END_WORDS = {
    "bounds": "a bound of the second parameter", "outside": "a bound of the first one",
    "saddle-node": "a fold in which the saddle vanishes", "Hopf point": "a Hopf point of the saddle",
}  # fmt: skip
"""Descriptions of ends of curves at bounds, and where a homoclinic orbit loses its saddle."""

# Points of folds at which the critical eigenvalue is double. The left null vector, by which they and cusps are
# measured, is orthogonal to the right one there. If the quadratic term by it vanishes, too, as at a fold on an
# invariant boundary at which an absent species can invade, the quotient, which vanishes at a cusp, need not.
DOUBLE = ("Bogdanov-Takens point", "1:1 resonance")


class CriticalCurve(NamedTuple):
    """Curve of bifurcations of one kind in the plane of two parameters.

    Attributes:
        kind: `fold` or `Hopf point`; for orbits `fold`, `period doubling` or `Neimark-Sacker point`; or `homoclinic
            orbit`, `heteroclinic orbit` or `saddle-node homoclinic orbit`, see `continue_connection`.
        first: first parameter at each point.
        second: second parameter at each point.
        states: equilibria, points of an iterate of a map, or orbits (`Cycle`), on the first axis.
        frequencies: frequencies of Hopf points in radians per time unit, or angles of Neimark-Sacker points.
        degeneracies: codimension-two points on the curve.
        ends: why the curve ends at either side: `bounds` of the second parameter, `outside` the bounds of the first
            one, a `Bogdanov-Takens point`, a `1:1 resonance` or `1:2 resonance`, an `equilibrium` to which orbits
            shrink, the longest `period`, close to a `homoclinic` orbit, where a stricter solver does not confirm the
            orbits (`accuracy`), a fold in which an equilibrium of a connecting orbit vanishes (`saddle-node`), its
            `Hopf point`, a `non-central saddle-node homoclinic orbit`, `closed`, `steps`, `corner` or `lost`.
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
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the curve in the plane of both parameters into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `curves` and `degeneracies`. A part is left out by False, and styled by properties of
                matplotlib, `degeneracies={"markersize": 8}`. Also `colour`, `legend`, `labels`, `limits` and `title`,
                which may all be switched off; `names`, those of both parameters; `counts`, a `StabilityMap` to draw
                behind; `bounds` of both parameters; properties of the line, `linewidth=2`.

        Returns:
            The artists of each part by name, such as `drawn.degeneracies`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    @property
    def of_orbits(self) -> bool:
        """Whether the curve consists of bifurcations of periodic orbits of a flow."""
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


@on_host_by_default
def critical_curve(
    parameters: tuple[Parameter, Parameter],
    at: Bifurcation | Degeneracy,
    *,
    kind: str = "",
    frequency: float | None = None,
    iterate: int = 1,
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    max_period: float | None = None,
    rtol: float = RTOL,
) -> CriticalCurve:
    """Continue bifurcations of a kind in the plane of two parameters, from one of them in both directions.

    Of equilibria these are folds and Hopf points, of fixed points of an iterate of a map, and of periodic orbits,
    folds, period doublings and Neimark-Sacker points.

    Args:
        parameters: two parameters of one flow or map, with their ranges: that in which `at` was found, and another one,
            whose own value is that of `at`.
        at: a bifurcation of one of these kinds, on a branch of equilibria, fixed points or periodic orbits; or a
            codimension-two point of equilibria on a curve in these parameters, from which a curve goes on. Periodic
            orbits are followed by shooting, also from one by collocation.
        kind: of a curve through a codimension-two point: `fold` or `Hopf point`, by default the latter where there are
            both. Of bifurcations of periodic orbits: `fold of periodic orbits` at a Bautin point, and `Neimark-Sacker
            point` at a double Hopf point, of the orbits of a `frequency`; the curve is begun a little beside it.
        frequency: of the Hopf points on a curve through a double Hopf point; by default the higher one.
        iterate: of a map, that of the branch.
        forcing: of a forced flow, the period as a function of the flow; see `continue_orbits`.
        steps: the steps along the curve, in the norm of the state, the critical vector and the parameters together, the
            state and the parameters in units near their sizes; see `continue_equilibria`. Points that are added where
            chords between successive ones would be seen beside the curve do not count.
        max_period: the period at which a curve of periodic orbits ends; see `continue_orbits`.
        rtol: the relative tolerance of the solver for periodic orbits.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no such point is found near it.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_equilibria, critical_curve
        >>> flow = ds.FunctionFlow(lambda t, x, a=0.0, b=1.0: a + b * x - x**3, parameters={"a": 0.0, "b": 1.0})
        >>> a, b = ds.Parameter(flow, "a", -1.0, 1.0), ds.Parameter(flow, "b", -1.0, 2.0)
        >>> fold = continue_equilibria(a, [1.0]).bifurcations[0]
        >>> curve = critical_curve((a, b), fold)  # 27 a^2 = 4 b^3
        >>> bool(np.allclose(27 * curve.first**2, 4 * curve.second**3)), [one.kind for one in curve.degeneracies]
        (True, ['cusp'])
    """
    inner, outer = plane_of(parameters)
    if isinstance(at, Degeneracy):
        check_leaving(inner.system, at, kind)
        kind = kind or leaving(at.kind)[-1]
        if kind == WITH_ORBITS.get(at.kind):
            hopf = critical_curve(parameters, at, kind="Hopf point", frequency=frequency)
            both, beside = bifurcation_beside((inner, outer), at, hopf, kind.split(" of ")[0])
            found = critical_curve(both, beside, steps=steps, max_period=max_period, rtol=rtol)
            return found if both[0].name == inner.name else _exchanged(found)
        if (at.kind, kind) != ("Bogdanov-Takens point", "Hopf point"):
            both, at = as_bifurcation((inner, outer), at, kind, frequency)
            return critical_curve(both, at, steps=steps)
    elif kind or frequency is not None:
        raise ArgumentError(
            "kind" if kind else "frequency", "be left out with a bifurcation", f"is {kind or frequency}"
        )
    else:
        check_kind(inner.system, at)
        at = at_equal_times(inner, at) if isinstance(at.state, Cycle) else at
    double = isinstance(at, Degeneracy)
    kind = kind or at.kind
    returning = _returning(inner.system, at.state, iterate, forcing, max_period, rtol)
    place = (at.first, at.second) if double else (at.parameter, outer.value)
    units = units_at((inner, outer), at.state, place)
    check_time(inner, at.state, place[0], returning)
    curve = equations_of(units, kind, moved_states(units, at.state, -1), returning)
    within = _limits(curve, steps)
    first = _first(curve, units, at)
    if first is None:
        raise ArgumentError("at", f"be near a {kind} of this flow", "Newton's method finds none there")
    curve.begun(first)
    forward, end = follow(curve, first, first.tangent, within)
    backward, begin = ([], end) if end == "closed" else follow(curve, first, -first.tangent, within)
    points = [*(point._replace(tangent=-point.tangent) for point in backward[::-1]), first, *forward]
    points = refined(curve, points, _widths(curve))
    return _in_given(units, _found(curve, points, (begin, end), kind))._replace(iterate=returning.iterate)


def _exchanged(found: CriticalCurve) -> CriticalCurve:
    """Exchange both parameters of a curve."""
    points = tuple(one._replace(first=one.second, second=one.first) for one in found.degeneracies)
    words = {"bounds": "outside", "outside": "bounds"}
    begin, end = (words.get(one, one) for one in found.ends)
    return found._replace(first=found.second, second=found.first, degeneracies=points, ends=(begin, end))


def _first(curve: AbstractCritical, units: Units, at: Bifurcation | Degeneracy) -> CurvePoint | None:
    """Find the first point of a curve at a bifurcation, or beside a Bogdanov-Takens point; None if it fails."""
    if isinstance(at, Degeneracy) and isinstance(curve, LargeHopfCurve):
        raise ArgumentError("at", "be a Hopf point itself, of a system with many unknowns", f"is a {at.kind}")
    if isinstance(at, Degeneracy):
        state, (p, q) = moved_states(units, at.state, -1), units.parameters
        return curve.beside(state, at.first / p, at.second / q) if isinstance(curve, HopfCurve) else None
    at = at if units.are_given else moved_bifurcation(units, at)
    return curve.at(curve.begin(at.state, at.parameter, at.frequency), curve.value)


def _limits(curve: AbstractCritical, steps: Steps) -> Limits:
    """Collect step sizes and bounds of a curve; raise `ValueError` if a range is too narrow for the steps."""
    units = curve.units
    if steps.marks or steps.stops:
        raise ArgumentError("steps", "have no marks and stops along a curve of bifurcations", "has")
    steps.limits(curve.first, POINTS, 1.0 if units is None else units.parameters[0])
    return steps.limits(curve.parameter, POINTS, curve.unit)


def _widths(curve: AbstractCritical) -> np.ndarray:
    """Compute the widths of the ranges of both parameters."""
    return np.array([one.high - one.low for one in (curve.first, curve.parameter)])


def _returning(flow: Any, state: Any, iterate: Any, forcing: Any, max_period: Any, rtol: Any) -> Returning:
    """Collect the options of orbits; raise `ValueError` for options that do not fit the system."""
    times = integer("iterate", iterate, least=1)
    if times != 1 and not isinstance(flow, AbstractMap):
        raise ArgumentError("iterate", "be 1 for a flow", f"is {times}")
    if forcing is not None and not isinstance(state, Cycle):
        raise ArgumentError("forcing", "be left out except for periodic orbits", "is given")
    return Returning(times, forcing, max_period, number("rtol", rtol))


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


@extend.register
def _extend_curve(
    known: CriticalCurve,
    parameters: tuple[Parameter, Parameter],
    *,
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    max_period: float | None = None,
    rtol: float = RTOL,
) -> CriticalCurve:
    """Extend a curve of bifurcations at its open ends; see `critical_curve` for the options.

    Raises:
        ValueError: for bad input, or if the last states are no such bifurcations of this flow.
    """
    inner, outer = plane_of(parameters)
    last, at = jax.tree.map(lambda a: a[-1], known.states), float(known.first[-1])
    returning = _returning(inner.system, last, known.iterate, forcing, max_period, rtol)
    units = units_at((inner, outer), last, (at, outer.value))
    check_time(inner.of(outer.at(float(known.second[-1]))), last, at, returning)
    known = _in_given(units, known, -1)
    for side in (1, 0):
        ends = zip((known.first, known.second), (one.bounds for one in units.varied), strict=True)
        if len(known.second) > 1 and all(can_go_on(known.ends[side], float(v[-side]), pair) for v, pair in ends):
            curve, begin, direction = _end(units, known, side, returning)
            curve.begun(begin)
            points, end = follow(curve, begin, direction, _limits(curve, steps))
            points = refined(curve, [begin._replace(tangent=direction), *points], _widths(curve))
            known = _joined(known, _found(curve, points, ("", end), known.kind), side)
    return _in_given(units, known)


def _end(
    units: Units, known: CriticalCurve, side: int, returning: Returning
) -> tuple[AbstractCritical, CurvePoint, np.ndarray]:
    """Set up the equations of a known curve, its point at one end, and the tangent that leads outwards."""
    last, before = (0, 1) if side == 0 else (-1, -2)
    state: Any = jax.tree.map(lambda a: a[last], known.states)
    first, second, frequency = (float(a[last]) for a in (known.first, known.second, known.frequencies))
    moved = units.varied[1].at(second)
    units = units._replace(system=moved, varied=tuple(one.of(moved) for one in units.varied))
    curve = equations_of(units, known.kind, state, returning)
    begin = curve.at(curve.begin(state, first, frequency), second)
    rows = np.column_stack([flat_states(known.states), known.first, known.second])
    if begin is None or np.max(np.abs(_place(begin) - rows[last])) > 1e-6 * (1 + np.max(np.abs(rows[last]))):
        raise ArgumentError(
            "known", f"be a curve of {known.kind}s of this flow", f"ends at a state that is not a {known.kind}"
        )
    ahead = np.append(begin.basis @ begin.tangent[:-1], begin.tangent[-1])[[*range(rows.shape[1] - 2), -2, -1]]
    return curve, begin, begin.tangent if ahead @ (rows[last] - rows[before]) >= 0 else -begin.tangent


def _place(point: CurvePoint) -> np.ndarray:
    """Flatten the state of a point of a curve, followed by both parameters."""
    at = critical_of(point)
    return np.concatenate([flat_state(at.state), [float(at.parameter), point.parameter]])


def _joined(known: CriticalCurve, more: CriticalCurve, side: int) -> CriticalCurve:
    """Append a curve (side 1), or prepend it reversed (side 0); the curves share a point."""
    join = lambda a, b: np.concatenate([a, b[1:]] if side else [b[:0:-1], a])
    shared = known.first[-side], known.second[-side]
    new = tuple(d for d in more.degeneracies if not any(_is_shared(d, other, shared) for other in known.degeneracies))
    found = (known.degeneracies + new) if side else (new[::-1] + known.degeneracies)
    return CriticalCurve(
        known.kind, join(known.first, more.first), join(known.second, more.second),
        jax.tree.map(join, known.states, more.states), join(known.frequencies, more.frequencies), found,
        (known.ends[0], more.ends[1]) if side else (more.ends[1], known.ends[1]), known.iterate,
    )  # fmt: skip


def _is_shared(one: Degeneracy, other: Degeneracy, at: tuple[float, float]) -> bool:
    """Test whether two codimension-two points are one that lies where two curves meet."""
    places = np.array([[d.first, d.second] for d in (one, other)])
    return one.kind == other.kind and bool(np.all(np.abs(places - at) <= AT_END * (1 + np.abs(at))))


def _is_same(one: CurvePoint, other: CurvePoint) -> bool:
    """Test whether two places on a curve are one, up to the errors with which they are located."""
    first, second = _place(one), _place(other)
    return bool(np.all(np.abs(first - second) <= AT_END * (1 + np.abs(first))))


@in_one_thread
def _found(curve: AbstractCritical, points: list[CurvePoint], ends: tuple[str, str], name: str) -> CriticalCurve:
    """Build a curve from successive points, and locate the codimension-two points between them."""
    tests = curve.tests()
    whole = _with_ends(curve, points, ends, tests)
    added = [p for p in (whole[0], whole[-1]) if p is not points[0] and p is not points[-1]]
    values = {kind: [test(point) for point in whole] for kind, test in tests.items()}
    places: list[tuple[str, CurvePoint]] = []
    for k in range(len(whole) - 1):
        for kind, test in tests.items():
            for begin, end in _changes(curve, whole, values[kind], k, test):
                place, _ = located(curve, begin, end, test)
                # the test function has a pole
                if place is None or not abs(test(place)) <= JUMP * (abs(test(begin)) + abs(test(end))):
                    continue
                if any(one is p for one in (begin, end) for p in added) and not _at_end(place, points):
                    continue
                if test != curve.crosses or turns(crossing_pair(curve.others(place))[1]):
                    places.append((kind, place))
    double = [place for kind, place in places if kind in DOUBLE]
    places = [one for one in places if one[0] != "cusp" or not any(_is_same(one[1], other) for other in double)]
    degenerate = [_degeneracy(curve, kind, place) for kind, place in places]
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


def _with_ends(
    curve: AbstractCritical, points: list[CurvePoint], ends: tuple[str, str], tests: dict[str, Callable]
) -> list[CurvePoint]:
    """Add points beyond ends at bounds at which a test function vanishes up to its error."""
    if len(points) < 2:
        return points
    found = [*points]
    for side, sign in ((0, -1), (-1, 1)):
        last, before = (points[0], points[1]) if side == 0 else (points[-1], points[-2])
        if ends[side] in END_WORDS and any(abs(test(last)) <= NEAR_ZERO * abs(test(before)) for test in tests.values()):
            beyond = point_beyond(curve, last, sign, float(np.linalg.norm(last.flat - before.flat)))
            if beyond is not None:
                found.insert(0 if side == 0 else len(found), beyond)
    return found


def _at_end(place: CurvePoint, points: list[CurvePoint]) -> bool:
    """Test whether a place beyond an end of a curve is that end, up to its error."""
    steps = [(points[0], points[1]), (points[-1], points[-2])]
    sizes = [float(np.linalg.norm(last.flat - before.flat)) for last, before in steps]
    away = [float(np.linalg.norm(place.flat - last.flat)) for last, _ in steps]
    return any(far <= AT_END * size for far, size in zip(away, sizes, strict=True))


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
