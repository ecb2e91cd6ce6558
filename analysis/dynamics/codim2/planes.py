"""Continue all bifurcations of a diagram in the plane of two parameters, and count equilibria on a grid."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.codim2.curves import CriticalCurve, critical_curve, kinds_of, plane_of, units_at
from analysis.dynamics.codim2.degeneracies import Degeneracy, frequencies_at, leaving
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbit_curve import Cycle, flat_sizes
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.field_rows import newton_steps
from analysis.dynamics.linearisation import eigenvalues, kind, tangent_basis, zero_tolerance
from analysis.dynamics.periodic_orbits.maps import phases
from analysis.dynamics.scaling.flat import chord_distances, flat_state, flat_states
from dynsim._core.host import filled, room_for
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.programs import Programmed
from dynsim.simulation.checks import as_state, check_flow
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

if TYPE_CHECKING:
    from figures.artists import Artists

# Distance from a segment of a curve, relative to its length, below which a bifurcation belongs to the curve.
NEAR = 0.1
# Distance, relative to the sizes of the parameters, within which two codimension-two points are the same.
SAME = 1e-5
# Largest number of Newton steps at a grid point, and the largest speed, in rescaled units, of an equilibrium.
STEPS, AT_REST = 30, 1e-9
# Parameters between grid points at which an equilibrium is corrected on its way, and the number of Newton steps there.
STAGES, CORRECTIONS = 4, 3
# Smallest number of states that are evaluated at once.
BLOCK = 256


@on_host_by_default
def critical_curves(
    parameters: tuple[Parameter, Parameter],
    bifurcations: Sequence[Bifurcation],
    *,
    iterates: Sequence[int] = (),
    known: Sequence[CriticalCurve] = (),
    forcing: Callable[[Any], Any] | None = None,
    steps: Steps = Steps(),
    max_period: float | None = None,
    switched: bool = False,
) -> tuple[CriticalCurve, ...]:
    """Continue all bifurcations of a diagram in two parameters, each curve once.

    Others, such as branch points, are left out. `iterates` are those of the branches on which bifurcations of a map
    lie, by default 1. Curves that are `known` come first and go on to the ends of the ranges; see `extend`. The other
    arguments and the errors are those of `critical_curve`.

    Args:
        parameters: two parameters of one flow or map, with their ranges; the bifurcations were found in the first.
        bifurcations: bifurcations of the branches of a diagram; branch points and other kinds are left out.
        iterates: for each bifurcation of a map the iterate of its branch; the default is 1.
        known: curves that come first and go on to the ends of the ranges; see `extend`.
        forcing: of a forced flow, the period as a function of the flow; see `continue_orbits`.
        steps: the steps along each curve; see `critical_curve`.
        max_period: the period at which a curve of periodic orbits ends.
        switched: continue the curves of folds and Hopf points of equilibria, too, that meet the others at
            codimension-two points, such as the second curve of Hopf points at a double Hopf point.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_equilibria, critical_curves
        >>> flow = ds.FunctionFlow(lambda t, x, a=0.0, b=1.0: a + b * x - x**3, parameters={"a": 0.0, "b": 1.0})
        >>> a, b = ds.Parameter(flow, "a", -1.0, 1.0), ds.Parameter(flow, "b", -1.0, 2.0)
        >>> folds = continue_equilibria(a, [1.0]).bifurcations
        >>> len(folds), len(critical_curves((a, b), folds))  # both folds lie on one curve with a cusp
        (2, 1)
    """
    first, second = plane_of(parameters)
    flow, low, high = first.system, *second.bounds
    if not low <= second.value <= high:
        must = f"have the second parameter's own value, {second.value:g}, in its range"
        raise ArgumentError("parameters", must, f"go from {low:g} to {high:g}")
    times = list(iterates) or [1] * len(bifurcations)
    followed = [(at, k) for at, k in zip(bifurcations, times, strict=True) if at.kind in kinds_of(flow, at.state)]
    found: list[CriticalCurve] = []
    for one in known:
        state = jax.tree.map(lambda a: a[0], one.states)
        if not any(_covers(curve, one, _sizes((first, second), state, float(one.first[0]))) for curve in found):
            found.append(extend(one, (first, second), forcing=forcing, steps=steps, max_period=max_period))
    for at, k in followed:
        sizes = _sizes((first, second), at.state, at.parameter)
        places = [at._replace(state=state) for state in _images(first, at, k)]
        if not any(c.iterate == k and _passes(c, place, second.value, sizes) for c in found for place in places):
            period = forcing if isinstance(at.state, Cycle) else None
            options: Any = {"forcing": period, "steps": steps, "max_period": max_period}
            found.append(critical_curve((first, second), at, iterate=k, **options))
    for curve in found if switched and not isinstance(flow, AbstractMap) else ():  # new curves are looked at in turn
        for point in () if curve.of_orbits else curve.degeneracies:
            for word in leaving(point.kind):
                turns = frequencies_at((first, second), point) if word == "Hopf point" else []
                for turn in turns or [None]:
                    if not any(_leads_through(one, word, point, turn, turns) for one in found):
                        found.append(critical_curve((first, second), point, kind=word, frequency=turn, steps=steps))
    return tuple(found)


def _leads_through(
    curve: CriticalCurve, kind: str, at: Degeneracy, frequency: float | None, others: list[float]
) -> bool:
    """Test whether a curve of a kind passes a codimension-two point, with the given one of several frequencies."""
    widths = np.array([np.ptp(curve.first), np.ptp(curve.second)]) + np.abs([at.first, at.second])
    away = lambda first, second: np.linalg.norm((np.array([first, second]).T - [at.first, at.second]) / widths, axis=-1)
    same = [d.kind == at.kind and away(d.first, d.second) <= SAME for d in curve.degeneracies]
    if curve.of_orbits or curve.kind != kind or not any(same):
        return False
    own = float(curve.frequencies[int(np.argmin(away(curve.first, curve.second)))])
    return frequency is None or min(others, key=lambda one: abs(one - own)) == frequency


def _images(first: Parameter, at: Bifurcation, iterate: int) -> list[State]:
    """List the states on the orbit of a point of an iterate of a map; for a flow, the state alone."""
    if not isinstance(first.system, AbstractMap):
        return [at.state]
    states = jax.tree.map(lambda a: np.asarray(a)[None], at.state)
    found = phases(first, states, np.array([at.parameter]), iterate)
    return [jax.tree.map(lambda a: a[0], one) for one in found]


def _sizes(parameters: tuple[Parameter, Parameter], state: State, first: float) -> np.ndarray:
    """Compute the units of both parameters and of the entries of a flattened state, by which distances are divided."""
    units = units_at(parameters, state, (first, parameters[1].value))
    return np.array([*units.parameters, *flat_sizes(units, state)])


def _passes(curve: CriticalCurve, at: Bifurcation, second: float, sizes: Any = 1.0) -> bool:
    """Test whether a curve passes through a bifurcation, by scaled distances."""
    point = np.array([at.parameter, second, *flat_state(at.state)])
    same = curve.kind == at.kind and curve.of_orbits == isinstance(at.state, Cycle)
    return same and len(_rows(curve)[0]) == len(point) and _holds(curve, point, sizes)


def _covers(curve: CriticalCurve, other: CriticalCurve, sizes: Any = 1.0) -> bool:
    """Test whether a curve passes through both ends of another one."""
    same = (curve.kind, curve.of_orbits, curve.iterate) == (other.kind, other.of_orbits, other.iterate)
    return (
        same
        and len(_rows(curve)[0]) == len(_rows(other)[0])
        and all(_holds(curve, _rows(other)[k], sizes) for k in (0, -1))
    )


def _holds(curve: CriticalCurve, point: np.ndarray, sizes: Any) -> bool:
    """Test whether a curve passes through a point, given as both parameters and the flattened state."""
    gaps, lengths = chord_distances(_rows(curve) / sizes, point / sizes)
    return bool(np.any(gaps <= NEAR * lengths))


def _rows(curve: CriticalCurve) -> np.ndarray:
    return np.column_stack([curve.first, curve.second, flat_states(curve.states)])


class StabilityMap(NamedTuple):
    """Numbers of equilibria found, of stable ones, and of undecided ones, on a grid of two parameters, (second, first).

    Where an equilibrium is undecided, the number of stable ones is a lower bound. `names` and `units` are those of the
    parameters.
    """

    first: Float[np.ndarray, " columns"]
    second: Float[np.ndarray, " rows"]
    found: np.ndarray
    stable: np.ndarray
    undecided: np.ndarray
    names: tuple[str, str] = ("", "")
    units: tuple[str, str] = ("", "")

    __repr__ = one_line
    _repr_png_ = picture
    __str__ = report

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the number of stable equilibria in the plane of both parameters into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `image`. A part is left out by False, and styled by properties of matplotlib,
                `image={"alpha": 0.5}`. Also `colour`, `legend`, `labels`, `limits` and `title`, which may all be
                switched off.

        Returns:
            The artists of each part by name, such as `drawn.image`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)


@on_host_by_default
def stability_map(
    parameters: tuple[Parameter, Parameter],
    starts: Sequence[State],
    *,
    shape: tuple[int, int] = (50, 50),
    radius: float = 1e-6,
) -> StabilityMap:
    """Count the equilibria of a flow on a grid of two parameters, those that are connected with the ones from starts.

    The grid has `shape` values at equal distances over the ranges of the first and of the second parameter.

    At each grid point Newton's method begins at the given starts. An equilibrium that is found is then followed to the
    neighbouring grid points, from there to theirs, and so on until nothing new is found, so that every sheet of
    equilibria over the plane is counted wherever a start leads to some part of it. Others may be missed. Equilibria
    that are nearer to each other than `radius` are one; it is in units near the sizes of the states, as all tolerances
    are.

    Args:
        parameters: two parameters of one flow, with their ranges.
        starts: states from which Newton's method begins at every grid point.
        shape: number of values of the first and of the second parameter.
        radius: largest distance of equilibria that count as one.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import stability_map
        >>> flow = ds.FunctionFlow(lambda t, x, a=0.0, b=1.0: a + b * x - x**3, parameters={"a": 0.0, "b": 1.0})
        >>> a, b = ds.Parameter(flow, "a", -1.0, 1.0), ds.Parameter(flow, "b", -1.0, 2.0)
        >>> found = stability_map((a, b), [[1.0]], shape=(3, 2))
        >>> found.stable.tolist(), found.found.tolist()
        ([[1, 1, 1], [2, 2, 2]], [[1, 1, 1], [3, 3, 3]])
    """
    plane = plane_of(parameters)
    check_flow(plane[0].system)
    sizes = [integer("shape", count, least=1) for count in shape]
    ps, qs = (np.linspace(*one.bounds, count) for one, count in zip(plane, sizes, strict=True))
    counts = np.zeros((3, len(qs), len(ps)), int)
    states = [as_state("starts", start) for start in starts]
    if states:
        units = curve_units(plane, states[0])
        grid = np.stack(np.meshgrid(ps / units.parameters[0], qs / units.parameters[1]), axis=-1)
        sheets = _Sheets(units.varied, [units.rescaled(start) for start in states], grid, radius)
        counts = sheets.counts()
    first, second = parameters
    units = (dict(first.units).get(first.name, ""), dict(second.units).get(second.name, ""))
    return StabilityMap(ps, qs, *counts, names=(first.name, second.name), units=units)


class _Sheets:
    """The equilibria found at each point of a grid of two parameters, in rescaled units."""

    def __init__(self, plane: tuple[Parameter, ...], starts: Sequence[State], grid: np.ndarray, radius: float):
        self.takes, self.flow = (plane[0].take, plane[1].take), plane[1].system
        self.grid, self.radius, self.space = grid, radius, plane[1].system.space
        self.sample = jax.tree.map(lambda a: np.asarray(a, float), starts[0])
        self.unravel = ravel_pytree(jax.tree.map(jnp.asarray, starts[0]))[1]
        flat = np.stack([flat_state(start) for start in starts])
        rows, columns, _ = grid.shape
        self.found: list[list[np.ndarray]] = [[] for _ in range(rows * columns)]
        every = np.repeat(np.arange(rows * columns), len(flat))
        fresh = self._added(every, np.tile(flat, (rows * columns, 1)))
        while fresh:
            near = [(place, other, x) for place, x in fresh for other in self._beside(place)]
            origins, places = (np.array([one[k] for one in near], int) for k in (0, 1))
            states = np.array([x for _, _, x in near])
            fresh = self._added(places, self._followed(origins, places, states)) + self._added(places, states)

    def counts(self) -> np.ndarray:
        """Count the equilibria, the stable and the undecided ones at each grid point."""
        places = np.repeat(np.arange(len(self.found)), [len(one) for one in self.found])
        counts = np.zeros((3, len(self.found)), int)
        if len(places):
            points = np.array([x for one in self.found for x in one])
            _, slopes = self._evaluated(self.grid.reshape(-1, 2)[places], points)
            for place, x, slope in zip(places, points, slopes, strict=True):
                basis = tangent_basis(self.space, self.unravel(x))
                J = basis.T @ slope @ basis
                word = kind(*zero_tolerance(J, eigenvalues(J)))
                counts[:, place] += 1, word == "stable", word == "undecided"
        return counts.reshape(3, *self.grid.shape[:2])

    def _beside(self, place: int) -> list[int]:
        """List the neighbours of a grid point."""
        rows, columns, _ = self.grid.shape
        row, column = divmod(place, columns)
        near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        return [a * columns + b for a, b in near if 0 <= a < rows and 0 <= b < columns]

    def _followed(self, origins: np.ndarray, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Follow equilibria of grid points to others, by Newton steps at parameters between them."""
        first, last = (self.grid.reshape(-1, 2)[k] for k in (origins, places))
        for share in np.arange(1, STAGES + 1) / STAGES:
            for _ in range(CORRECTIONS):
                step = newton_steps(*self._evaluated((1 - share) * first + share * last, x))
                x = np.where(np.isfinite(step), x + step, x)
        return x

    def _added(self, places: np.ndarray, starts: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Add the equilibria to which Newton's method leads from starts at grid points; list the new ones."""
        fresh: list[tuple[int, np.ndarray]] = []
        if not len(places):
            return fresh
        x, left, values = starts.copy(), np.arange(len(places)), self.grid.reshape(-1, 2)[places]
        field, slopes = self._evaluated(values, x)
        for _ in range(STEPS):
            with np.errstate(all="ignore"):
                moved = x[left] + newton_steps(field[left], slopes[left])
            after, next_slopes = self._evaluated(values[left], moved)
            better = np.max(np.abs(after), axis=1) < np.max(np.abs(field[left]), axis=1)
            left, after, next_slopes, moved = left[better], after[better], next_slopes[better], moved[better]
            x[left], field[left], slopes[left] = moved, after, next_slopes
            if not len(left):
                break
        steps, x = np.max(np.abs(newton_steps(field, slopes)), axis=1), self._on_space(x)
        for k in np.flatnonzero((np.max(np.abs(field), axis=1) <= AT_REST) & (steps <= self.radius)):
            place = int(places[k])
            if all(np.max(np.abs(x[k] - known)) > self.radius for known in self.found[place]):
                self.found[place].append(x[k])
                fresh.append((place, x[k]))
        return fresh

    def _on_space(self, x: np.ndarray) -> np.ndarray:
        """Project flattened states to the space."""
        if is_flat(self.space):
            return x
        return np.asarray(jax.vmap(lambda y: ravel_pytree(self.space.project(self.unravel(y)))[0])(jnp.asarray(x)))

    def _evaluated(self, values: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the field and its Jacobian at parameters and states."""
        fixed = (*self.takes, self.flow, self.sample)
        evaluate = _AT_POINT.rows(fixed, values[0], x[0]) if len(x) else None
        if evaluate is not None:
            found = evaluate(values, x)
        else:
            rows = room_for(len(x), least=BLOCK)
            found = np.array(_at_points(*fixed, filled(values, rows), filled(x, rows)))[: len(x)]
        return found[:, 0], np.swapaxes(found[:, 1:], 1, 2)


def _at_point(first: Any, second: Any, flow: AbstractFlow, sample: State, value: Array, x: Array) -> Array:
    """Evaluate the field and its derivatives at values of two parameters and a flattened state."""
    moved, unravel = with_parameter(first, with_parameter(second, flow, value[1]), value[0]), ravel_pytree(sample)[1]
    field = lambda y: ravel_pytree(moved.vector_field(jnp.zeros(()), unravel(y)))[0]
    return jnp.concatenate([field(x)[None], jax.jacfwd(field)(x).T])


_AT_POINT = Programmed(_at_point)


@eqx.filter_jit
def _at_points(first: Any, second: Any, flow: AbstractFlow, sample: State, values: Any, states: Any) -> Array:
    return jax.vmap(lambda value, x: _at_point(first, second, flow, sample, value, x))(values, states)
