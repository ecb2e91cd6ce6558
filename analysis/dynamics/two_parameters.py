"""Folds and Hopf points of equilibria followed in two parameters, with cusps and points of higher degeneracy."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from analysis.dynamics.between import hidden_sign, located
from analysis.dynamics.codimension_two import (
    bogdanov_takens_coefficients,
    crossing_pair,
    cusp_coefficient,
    fold_hopf_coefficients,
    turns,
)
from analysis.dynamics.continuation import Bifurcation
from analysis.dynamics.converted_branches import bifurcation_in_own
from analysis.dynamics.critical_equations import CriticalEquations, FoldCurve, HopfCurve, critical_of
from analysis.dynamics.curves import CurvePoint
from analysis.dynamics.flat_states import flat_states
from analysis.dynamics.following import can_go_on, follow, limits, two_bounds
from analysis.dynamics.hopf_degeneracies import (
    critical_length,
    double_hopf_coefficients,
    second_lyapunov_coefficient,
)
from analysis.dynamics.linearisation import null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.unit_estimates import curve_units
from analysis.dynamics.units import Units
from dynsim._types import State
from dynsim.arguments import check_flow
from dynsim.decimals import printed, size_of
from dynsim.errors import argument_error
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import real_parameter, with_parameter

LETTERS = {
    "cusp": ("c",),
    "Bogdanov-Takens point": ("a", "b"),
    "fold-Hopf point": ("s", "theta"),
    "Bautin point": ("l2",),
    "double Hopf point": ("p11", "p12", "p21", "p22", "theta", "delta"),
}
"""The coefficients of degenerate points by kind."""
END_WORDS = {"bounds": "a bound of the second parameter", "outside": "a bound of the first one"}
"""What is said of ends of curves at bounds."""


class Degeneracy(NamedTuple):
    """A degenerate point of a curve.

    It is a `cusp`, a `Bogdanov-Takens point`, where a curve of Hopf points begins at one of folds, a `Bautin point`,
    where the first Lyapunov coefficient of Hopf points changes its sign, a `fold-Hopf point` (zero-Hopf), where a fold
    is a Hopf point, too, or a `double Hopf point`, with two pairs of imaginary eigenvalues.

    `coefficients` are those of the normal form, see `codimension_two` and `hopf_degeneracies`: c of a cusp, a and b of
    a Bogdanov-Takens point, s and theta of a fold-Hopf point, the second Lyapunov coefficient of a Bautin point, p11,
    p12, p21, p22, theta and delta of a double Hopf point. Those that are not defined are NaN.
    """

    kind: str
    state: State
    first: float
    second: float
    coefficients: tuple[float, ...] = ()

    def text(self, sizes: Sequence[float]) -> str:
        """Return the kind, the parameters, which have these sizes, and the coefficients."""
        place = ", ".join(printed(v, size) for v, size in zip((self.first, self.second), sizes, strict=True))
        names = LETTERS.get(self.kind, ())
        found = ", ".join(f"{n} = {c:.4g}" for n, c in zip(names, self.coefficients, strict=False))
        return f"{self.kind} at ({place})" + (f" with {found}" if found else "")


class CriticalCurve(NamedTuple):
    """The curve of folds or Hopf points in the plane of two parameters.

    `kind` is `fold` or `Hopf point`; `first` and `second` are the parameters, `states` the equilibria, `frequencies`
    those of Hopf points. `ends` says at both ends why the curve ends: `bounds` of the second parameter, `outside` those
    of the first, `Bogdanov-Takens point`, `closed`, `steps`, `corner` or `lost`.
    """

    kind: str
    first: Float[np.ndarray, " points"]
    second: Float[np.ndarray, " points"]
    states: State
    frequencies: Float[np.ndarray, " points"]
    degeneracies: tuple[Degeneracy, ...]
    ends: tuple[str, str]

    def __repr__(self) -> str:
        """Return the curve in a line: its kind, how many points, and what lies on it."""
        sizes = [size_of(values.tolist()) for values in (self.first, self.second)]
        found = ", ".join(d.text(sizes) for d in self.degeneracies) or "no degeneracy"
        ends = " and ".join(END_WORDS.get(end, end) for end in self.ends)
        return f"curve of {self.kind}s, {len(self.first)} points: {found}; ends: {ends}"


def critical_curve(
    flow: AbstractFlow,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    at: Bifurcation,
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 500,
) -> CriticalCurve:
    """Return the curve of folds or of Hopf points through one of them, in the plane of two parameters.

    Args:
        flow: the system; its own second parameter is that of `at`.
        where: which leaves of the flow are the parameters; the first is that in which `at` was found.
        at: a fold or a Hopf point.
        bounds: the least and the largest value of both parameters.
        step: the first step along the curve, in the norm of the state, the critical vector and the parameters together,
            the state and the parameters in units near their sizes; see `continue_equilibria`.
        max_step: the largest one, by default four times the first, or, if that is more, the width of the bounds / 100.
        max_points: the cap on points in each direction; a curve that reaches it says so.

    Raises:
        ValueError: for bad input, a bifurcation of another kind, or if no such point is found near it.
    """
    if at.kind not in ("fold", "Hopf point"):
        raise argument_error("at", "be a fold or a Hopf point", f"is a {at.kind}")
    units = units_through(flow, where, at.state, at.parameter, bounds)
    within = limits(bounds[1], step, max_step, max_points, units.parameters[1])
    low, high = limits(bounds[0], step, max_step, max_points, units.parameters[0]).bounds
    at = bifurcation_in_own(units, at)
    make = FoldCurve if at.kind == "fold" else HopfCurve
    curve = make(units.system, (units.where[0], units.where[1]), at.state, (low, high))
    curve.units = None if units.are_given else units
    first = curve.at(curve.begin(at.state, at.parameter, at.frequency), curve.value)
    if first is None:
        raise argument_error("at", f"be near a {at.kind} of this flow", "leads to none")
    forward, end = follow(curve, first, first.tangent, within)
    backward, begin = ([], end) if end == "closed" else follow(curve, first, -first.tangent, within)
    points = [*(point._replace(tangent=-point.tangent) for point in backward[::-1]), first, *forward]
    return _in_given(units, _found(curve, points, (begin, end), at.kind))


def units_through(flow: AbstractFlow, where: Any, state: State, first: float, bounds: Any) -> Units:
    """Return the units of a curve through a state and a value of the first parameter; see `critical_curve`."""
    check_flow(flow)
    if not isinstance(where, tuple) or len(where) != 2:
        raise argument_error("where", "be two functions of the flow", "is not")
    both = [two_bounds(pair) for pair in bounds]
    _, second = real_parameter("where", where[1], flow)
    return curve_units(flow, where, state, both, at=(first, second))


def _in_given(units: Units, found: CriticalCurve, power: int = 1) -> CriticalCurve:
    """Return a curve in the units of the given flow, or, with the power -1, one of the given flow in these units.

    Coefficients of normal forms are those of the given flow, always.
    """
    if units.are_given:
        return found
    first, second = (unit**power for unit in units.parameters)
    places = tuple(
        d._replace(state=units.moved(d.state, power), first=d.first * first, second=d.second * second)
        for d in found.degeneracies
    )
    return found._replace(
        first=found.first * first,
        second=found.second * second,
        states=units.moved(found.states, power),
        frequencies=found.frequencies / units.time**power,
        degeneracies=places,
    )


def extended_curve(
    flow: AbstractFlow,
    where: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    known: CriticalCurve,
    bounds: tuple[tuple[float, float], tuple[float, float]],
    *,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 500,
) -> CriticalCurve:
    """Return a curve, such as one read from a file, with what follows at those of its ends that can be continued.

    These are the ends at bounds, where the new ones lie further out, and at the cap on points. The arguments are those
    of `critical_curve`.

    Raises:
        ValueError: for bad input, or if the last states are no folds or Hopf points of this flow.
    """
    units = units_through(flow, where, jax.tree.map(lambda a: a[-1], known.states), float(known.first[-1]), bounds)
    within = limits(bounds[1], step, max_step, max_points, units.parameters[1])
    inside = limits(bounds[0], step, max_step, max_points, units.parameters[0]).bounds
    flow, where, known = units.system, (units.where[0], units.where[1]), _in_given(units, known, -1)
    for side in (1, 0):
        last, end = -side, known.ends[side]
        inner = zip((known.first, known.second), (inside, within.bounds), strict=True)
        if len(known.second) > 1 and all(can_go_on(end, float(values[last]), ends) for values, ends in inner):
            curve, begin, direction = _end(flow, where, known, inside, side)
            curve.units = None if units.are_given else units
            points, end = follow(curve, begin, direction, within)
            points = [begin._replace(tangent=direction), *points]
            known = _joined(known, _found(curve, points, ("", end), known.kind), side)
    return _in_given(units, known)


def _end(
    flow: AbstractFlow, where: tuple[Callable, Callable], known: CriticalCurve, inside: tuple[float, float], side: int
) -> tuple[CriticalEquations, CurvePoint, np.ndarray]:
    """Return the equations of a known curve, its point at one end, and the tangent that leads away from it."""
    last, before = (0, 1) if side == 0 else (-1, -2)
    state: Any = jax.tree.map(lambda a: a[last], known.states)
    first, second, frequency = (float(a[last]) for a in (known.first, known.second, known.frequencies))
    real_parameter("where", where[1], flow)
    make = FoldCurve if known.kind == "fold" else HopfCurve
    curve = make(with_parameter(where[1], flow, jnp.asarray(second)), where, state, inside)
    begin = curve.at(curve.begin(state, first, frequency), second)
    rows = np.column_stack([flat_states(known.states), known.first, known.second])
    if begin is None or np.max(np.abs(_place(begin) - rows[last])) > 1e-6 * (1 + np.max(np.abs(rows[last]))):
        raise argument_error("known", f"be a curve of {known.kind}s of this flow", "ends at a state that is none")
    ahead = np.append(begin.basis @ begin.tangent[:-1], begin.tangent[-1])[[*range(rows.shape[1] - 2), -2, -1]]
    return curve, begin, begin.tangent if ahead @ (rows[last] - rows[before]) >= 0 else -begin.tangent


def _place(point: CurvePoint) -> np.ndarray:
    """Return the state and both parameters of a point of a curve, flat."""
    at = critical_of(point)
    return np.concatenate([ravel_pytree(at.state)[0], [float(at.parameter), point.parameter]])


def _joined(known: CriticalCurve, more: CriticalCurve, side: int) -> CriticalCurve:
    """Return a curve with another one behind it (side 1), or, reversed, before it; they share a point."""
    join = lambda a, b: np.concatenate([a, b[1:]] if side else [b[:0:-1], a])
    found = (known.degeneracies + more.degeneracies) if side else (more.degeneracies[::-1] + known.degeneracies)
    return CriticalCurve(
        known.kind, join(known.first, more.first), join(known.second, more.second),
        jax.tree.map(join, known.states, more.states), join(known.frequencies, more.frequencies), found,
        (known.ends[0], more.ends[1]) if side else (more.ends[1], known.ends[1]),
    )  # fmt: skip


def _found(curve: CriticalEquations, points: list[CurvePoint], ends: tuple[str, str], name: str) -> CriticalCurve:
    """Return the curve of points that follow each other, with the degeneracies between them."""
    tests = curve.tests()
    values = {kind: [test(point) for point in points] for kind, test in tests.items()}
    degenerate: list[Degeneracy] = []
    for k in range(len(points) - 1):
        for kind, test in tests.items():
            for begin, end in _changes(curve, points, values[kind], k, test):
                place, _ = located(curve, begin, end, test)
                pair = test == curve.crosses
                if place is not None and (not pair or turns(crossing_pair(curve.others(place))[1])):
                    degenerate.append(_degeneracy(curve, kind, place))
    last = [_degeneracy(curve, "Bogdanov-Takens point", point) for point in curve.ended]
    if last and ends[0] == last[-1].kind:  # both directions were followed, the second one to the begin of the curve
        degenerate.insert(0, last.pop())
    degenerate += last
    stacked: Any = jax.tree.map(lambda *a: np.stack([np.asarray(x) for x in a]), *[p.state for p in points])
    second = np.array([p.parameter for p in points])
    return CriticalCurve(
        name, stacked.parameter, second, stacked.state, np.abs(stacked.frequency), tuple(degenerate), ends
    )


def _changes(
    curve: CriticalEquations, points: list[CurvePoint], values: list[float], k: int, test: Callable
) -> Sequence[tuple[CurvePoint, CurvePoint]]:
    """Return the pairs of points from the k-th to the next one between which a test function changes its sign."""
    if values[k] * values[k + 1] < 0:
        return [(points[k], points[k + 1])]
    inside = hidden_sign(curve, points, values, k, test)
    return list(itertools.pairwise([points[k], *inside, points[k + 1]])) if inside else []


def _degeneracy(curve: CriticalEquations, name: str, point: CurvePoint) -> Degeneracy:
    at = critical_of(point)
    flow, found = curve.moved(float(at.parameter), point.parameter), ()
    size, time = (1.0, 1.0) if curve.units is None else (_length(curve.units, flow, at.state), curve.units.time)
    if name == "cusp":
        found = (cusp_coefficient(flow, at.state)[0] / (time * size**2),)
    if name == "Bogdanov-Takens point":
        a, b = bogdanov_takens_coefficients(flow, at.state)
        found = (a / (time**2 * size), b / (time * size))
    if name == "fold-Hopf point":  # which has no unit
        pair = crossing_pair(curve.others(point))[1] if at.frequency == 0 else 1j * float(at.frequency)
        found = fold_hopf_coefficients(flow, at.state, abs(pair.imag))
    if name == "Bautin point":
        length = _critical_length(curve, flow, at.state, float(at.frequency))
        found = (second_lyapunov_coefficient(flow, at.state, float(at.frequency)) / length**4,)
    if name == "double Hopf point":
        found = _double_hopf(
            curve, flow, at.state, (float(at.frequency), abs(crossing_pair(curve.others(point))[1].imag))
        )
    return Degeneracy(name, at.state, float(at.parameter), point.parameter, found)


def _double_hopf(
    curve: CriticalEquations, flow: AbstractFlow, state: State, frequencies: tuple[float, float]
) -> tuple[float, ...]:
    """Return the coefficients of a double Hopf point in the units of the given flow."""
    squares = [_critical_length(curve, flow, state, w) ** 2 for w in sorted(frequencies, reverse=True)]
    sizes = np.array(2 * squares) * (1.0 if curve.units is None else curve.units.time)
    p = double_hopf_coefficients(flow, state, frequencies)
    return (*(p[:4] / sizes).tolist(), *p[4:])


def _critical_length(curve: CriticalEquations, flow: AbstractFlow, state: State, frequency: float) -> float:
    """Return the length, in the units of the given flow, of the critical vector that has the length one in these."""
    if curve.units is None:
        return 1.0
    sizes = curve.units.flat(state)[:, None] * tangent_basis(flow.space, state)
    return critical_length(tangent_jacobian(flow, state), frequency, sizes)


def _length(units: Units, flow: AbstractFlow, state: State) -> float:
    """Return the length, in the units of the given flow, of the null vector that has the length one in these units."""
    null = tangent_basis(flow.space, state) @ null_vectors(tangent_jacobian(flow, state))[0]
    return float(np.linalg.norm(units.flat(state) * null))
