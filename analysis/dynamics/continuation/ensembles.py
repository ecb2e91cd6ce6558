"""Continue equilibria or fixed points for many starts, or values of other parameters, in one call."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.continuation.batched import CurveBatch, MemberPoints, in_order
from analysis.dynamics.continuation.bifurcations import Bifurcation, moved_bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.crossings import with_form
from analysis.dynamics.continuation.equilibria import POINTS, check_autonomous, continue_equilibria
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve, FixedPointCurve
from analysis.dynamics.continuation.parameter_flow import FlatSystem, inside
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.scaling.flat import flat_state, flat_states, states_like
from analysis.dynamics.scaling.units import Units, made_units, within
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import State
from dynsim._core.validation import instance, integer, reals
from dynsim._runtime.blas import in_one_thread
from dynsim._runtime.progress import tracked
from dynsim.errors import ArgumentError, counted, shown
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import check_start, double_state
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import components, where, with_parameter
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

if TYPE_CHECKING:
    from figures.artists import Artists

# Most components of a state for which curves are followed in step; larger Jacobians may be sparse.
MOST = 60
# Most members that an error names.
NAMED = 4
# Largest ratio of the states and derivatives of members that have the same units; units are powers of 1024.
ALIKE = 32.0
# Smallest state, in its unit, and smallest derivative, relative to the largest one, that count in this.
SMALL = 1 / 64


class BranchEnsemble(NamedTuple):
    """Branches of equilibria or fixed points of many members, which differ in their starts or in other parameters.

    Attributes:
        name: the name of the parameter.
        over: the values of the other parameters, (members,), by name.
        branches: the branch of each member.
        iterate: of a map, how often it is applied.
        names: names of the components of a flat state.
        units: their units.
    """

    name: str
    over: dict[str, Float[np.ndarray, " members"]]
    branches: tuple[Branch, ...]
    iterate: int = 1
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw a component on all branches against the parameter into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `branches` and `bifurcations`. A part is left out by False, and styled by properties of
                matplotlib, `bifurcations={"markersize": 8}`. Also `colour`, `legend`, `labels`, `limits` and `title`,
                which may all be switched off; `component`, a name or an index; `window`, limits of the component;
                properties of the lines, `linewidth=2`.

        Returns:
            The artists of each part by name, such as `drawn.bifurcations`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or an unknown component.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the numbers of branches, points and bifurcations, and the ends, in one line."""
        kinds = [b.title for one in self.branches for b in one.bifurcations]
        found = ", ".join(counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds)) or "no bifurcation"
        points = sum(len(one.kinds) for one in self.branches)
        over = f" over {', '.join(self.over)}" if self.over else ""
        ends = " and ".join(dict.fromkeys(end for one in self.branches for end in one.ends))
        count = counted(len(self.branches), "branch", "branches")
        return f"{count} in {self.name}{over}, {counted(points, 'point')}: {found}; ends: {ends}"


@checked
@on_host_by_default
def continue_ensemble(
    parameter: Parameter,
    starts: State,
    over: Any = None,
    *,
    iterate: int = 1,
    steps: Steps = Steps(),
) -> BranchEnsemble:
    """Continue equilibria or fixed points for many starts, or values of other parameters, in one call.

    Each member is continued in the parameter as by `continue_equilibria`, with folds, branch points, Hopf points and
    those of maps, and their normal forms. All curves are followed in step, by one batch of linear algebra for each
    Newton step, which takes a small fraction of the time of single calls. Members in which anything is in doubt (a
    closed curve, a step that shrinks, bifurcations close to each other), and systems on curved spaces or with more than
    60 components, are continued one by one.

    Args:
        parameter: the parameter of a flow that is autonomous at both ends of its range, or of a map.
        starts: states near equilibria at the system's own value of the parameter, with the members on the first axis of
            every array; an axis of length 1 is one start for all.
        over: values of other parameters of the system for each member, by name.
        iterate: of a map, how often it is applied.
        steps: the steps along the curves, without marks and stops. Members of similar sizes have the same units.

    Raises:
        ValueError: for bad input, or if no equilibrium is found near some start.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_ensemble
        >>> flow = ds.FunctionFlow(lambda t, x, a=1.0, b=1.0: a - b * x**2, parameters={"a": 1.0, "b": 1.0})
        >>> a, b = ds.Parameter(flow, "a", -1.0, 1.0), np.linspace(0.5, 2.0, 20)
        >>> print(continue_ensemble(a, 1 / np.sqrt(b)[:, None], {"b": b}))
        20 branches in a over b, 379 points: 20 folds; ends: bounds
    """
    states, values = _members(parameter, starts, over)
    if steps.marks or steps.stops:
        raise ArgumentError(
            "steps", "have no marks and stops for many branches", f"has {shown([*steps.marks, *steps.stops])}"
        )
    repeats = integer("iterate", iterate, least=1)
    count = len(flat_states(states))
    one = lambda k: jax.tree.map(lambda part: part[k], states)
    takes = tuple(where(parameter.system, name, "over") for name in values)
    others = np.array([*values.values()]).reshape(len(values), count).T
    made = _in_step(parameter, states, takes, others, repeats, steps)
    failed: dict[int, ArgumentError] = {}
    alone = [k for k in range(count) if k not in made]
    for k in tracked(alone, len(alone), "branches one by one"):
        try:
            made[k] = continue_equilibria(_member(parameter, takes, others[k]), one(k), iterate=repeats, steps=steps)
        except ArgumentError as error:
            failed[k] = error
    if len(failed) == count:
        raise failed[0]
    if failed:
        named = ", ".join(map(str, [*failed][:NAMED])) + (
            f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
        )
        raise ArgumentError("starts", "lead to branches", f"lead to none at {named}: {next(iter(failed.values()))}")
    known = components(parameter.system, one(0))
    return BranchEnsemble(
        parameter.name, values, tuple(made[k] for k in range(count)), repeats, known.names, known.units
    )


def _members(parameter: Parameter, starts: State, over: Any) -> tuple[State, dict[str, np.ndarray]]:
    """Check the starts and the values of other parameters, and give each member its own."""
    given = {} if over is None else instance("over", over, Mapping, "values of parameters by name")
    values = {str(name): np.asarray(reals(f"over[{name!r}]", entries), float) for name, entries in given.items()}
    if parameter.name in values:
        raise ArgumentError("over", "name other parameters", f"names `{parameter.name}`, which is continued")
    states = jax.tree.map(np.asarray, double_state("starts", starts))
    lengths = {np.shape(part)[0] if np.ndim(part) else 0 for part in jax.tree.leaves(states)}
    lengths |= {len(entries) if entries.ndim == 1 else 0 for entries in values.values()}
    if len(lengths - {1}) > 1 or 0 in lengths:
        must = "have the members on the first axis of every array, as many as values of each parameter"
        raise ArgumentError("starts", must, f"have lengths {sorted(lengths)}")
    count = max(lengths)
    whole = lambda part: np.broadcast_to(part, (count, *np.shape(part)[1:]))
    check_start("starts", parameter.system, jax.tree.map(lambda part: jnp.asarray(part[0]), states))
    return jax.tree.map(whole, states), {name: whole(entries) for name, entries in values.items()}


@in_one_thread
def _in_step(
    parameter: Parameter,
    states: State,
    takes: tuple[Callable, ...],
    values: Float[np.ndarray, "members k"],
    iterate: int,
    steps: Steps,
) -> dict[int, Branch]:
    """Follow the curves of members of similar sizes in step; give the branches of those that are beyond doubt."""
    system, rows, first = parameter.system, flat_states(states), jax.tree.map(lambda part: part[0], states)
    if isinstance(system, AbstractFlow):
        check_autonomous("flow", parameter, first)
    if not is_flat(system.space) or rows.shape[1] > MOST or not parameter.low <= parameter.value <= parameter.high:
        return {}
    n = rows.shape[1]
    field = _field(parameter, takes, first, iterate)
    J = field.at(np.zeros(()), np.column_stack([rows, values]), np.asarray(parameter.value))[1][:, :n, :n]
    left, made = np.arange(len(rows)), {}
    while left.size:
        member = _member(parameter, takes, values[left[0]])
        units = curve_units((member,), jax.tree.map(lambda part: part[left[0]], states))  # noqa: B023
        alike = _alike(rows[left], J[left], units.flat(first))
        own, left = left[alike], left[~alike]
        of_own = jax.tree.map(lambda part: part[own], states)  # noqa: B023
        found = _followed(parameter, of_own, takes, values[own], iterate, steps, units)
        made |= {int(own[k]): branch for k, branch in found.items()}
    return made


def _alike(
    rows: Float[np.ndarray, "members n"], J: Float[np.ndarray, "members n n"], sizes: Float[np.ndarray, " n"]
) -> Bool[np.ndarray, " members"]:
    """Tell which states and derivatives are of the sizes of the first ones, in its units; the first one always is."""
    scaled = np.abs(J) * sizes / sizes[:, None]
    least = SMALL * np.max(scaled[0], initial=0.0)
    near = lambda parts, least: np.abs(np.log(np.fmax(parts, least) / np.fmax(parts[0], least))) <= np.log(ALIKE)
    with np.errstate(all="ignore"):
        found = np.all(near(np.abs(rows) / sizes, SMALL), axis=1)
        found &= np.all(near(scaled, least or 1.0), axis=(1, 2))
    found[0] = True
    return found


def _member(parameter: Parameter, takes: tuple[Callable, ...], values: Float[np.ndarray, " k"]) -> Parameter:
    """Give the parameter of the system of a member, with its values of other parameters."""
    system = parameter.system
    for take, value in zip(takes, values, strict=True):
        system = with_parameter(take, system, jnp.asarray(value))
    return parameter.of(system)


def _field(parameter: Parameter, takes: tuple[Callable, ...], like: State, iterate: int) -> CycleField:
    """Set up the field, or the displacement by the iterate, with the values of other parameters behind the state."""
    size = len(flat_state(like)) + len(takes)
    return CycleField(FlatSystem(parameter.system, takes, like, iterate), inside(parameter.take), np.zeros(size))


def _followed(
    parameter: Parameter,
    states: State,
    takes: tuple[Callable, ...],
    values: Float[np.ndarray, "members k"],
    iterate: int,
    steps: Steps,
    sizes: Units,
) -> dict[int, Branch]:
    """Follow the curves of all members in step, in the same units; give the branches of those beyond doubt."""
    system, rows, first = parameter.system, flat_states(states), jax.tree.map(lambda part: part[0], states)
    units = made_units(system, (parameter,), sizes.scale, sizes.time, sizes.parameters)
    varied, is_map = units.varied[0], isinstance(system, AbstractMap)
    own = takes if varied.system is system else tuple(map(within, takes))
    field = _field(varied, own, first, iterate)
    limits = steps.limits(varied, POINTS, units.parameters[0])
    batch = CurveBatch(field, values, limits, is_map=is_map)
    scale = np.append(units.flat(first), units.parameters[0])
    begun = batch.begun(rows / scale[:-1], varied.value)
    forward, ends = batch.followed(begun, 1.0)
    backward, begins = batch.followed(begun, -1.0)
    points = in_order(begun, backward, forward)
    points = points.rows(~batch.doubtful[points.member])
    crossings = batch.crossings(points)
    at: dict[int, list[tuple[str, np.ndarray, float]]] = {}
    for k, name in enumerate(crossings.kinds):
        found = (name, crossings.z[k], float(crossings.frequencies[k]))
        at.setdefault(int(crossings.member[k]), []).append(found)
    made = {}
    borders = np.searchsorted(points.member, np.arange(len(rows) + 1))
    for k in np.flatnonzero(~batch.doubtful).tolist():
        part = points.rows(slice(borders[k], borders[k + 1]))
        branch = _branch(batch, part, first, units, (begins[k], ends[k]))
        curve = _curve(_member(parameter, takes, values[k]), units, iterate) if k in at else None
        found = [_bifurcation(curve, first, units, part, *one) for one in at.get(k, [])]
        made[k] = branch._replace(bifurcations=tuple(sorted(found, key=lambda b: b.arclength)), name=parameter.name)
    return made


def _branch(batch: CurveBatch, points: MemberPoints, like: State, units: Units, ends: tuple[str, str]) -> Branch:
    """Build the branch of a member, without its bifurcations."""
    growth, neutral = batch.growth(points.values), batch.neutral(points)[:, None]
    decay, grow = growth < -neutral, growth > neutral
    stable, unstable, some = np.all(decay, axis=1), np.all(grow, axis=1), np.any(grow, axis=1)
    words = np.where(stable, "stable", np.where(unstable, "unstable", np.where(some, "saddle", "undecided")))
    sizes = np.append(units.flat(like), units.parameters[0])
    rows = points.z * sizes
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points.z, axis=0), axis=1)))
    return Branch(
        states_like(like, rows[:, :-1]), rows[:, -1], lengths * units.parameters[0], points.values / units.time,
        tuple(words.tolist()), (), ends,
    )  # fmt: skip


def _curve(parameter: Parameter, units: Units, iterate: int) -> EquilibriumCurve:
    """Set up the curve of a member in the units of all, for normal forms."""
    own = made_units(parameter.system, (parameter,), units.scale, units.time, units.parameters)
    if isinstance(parameter.system, AbstractMap):
        return FixedPointCurve(own.varied[0], iterate, (), own)
    return EquilibriumCurve(own.varied[0], (), own)


def _bifurcation(
    curve: Any, like: State, units: Units, points: MemberPoints, kind: str, z: np.ndarray, frequency: float
) -> Bifurcation:
    """Describe a bifurcation between points of a member, with its normal form, in the units of the given system."""
    state = states_like(like, z[None, :-1])
    point = curve.measured(jax.tree.map(lambda part: part[0], state), float(z[-1]))
    steps = np.linalg.norm(np.diff(points.z, axis=0), axis=1)
    apart = np.linalg.norm(points.z - z, axis=1)
    k = int(np.argmin((apart[:-1] + apart[1:]) / steps))
    length = float(np.sum(steps[:k]) + steps[k] * apart[k] / (apart[k] + apart[k + 1]))
    away = (points.z[k + 1] - points.z[k]) / steps[k]
    made = Bifurcation(kind, point.state, point.parameter, point.values, frequency, length, away)
    made = with_form(curve, point, made)
    return made if curve.units is None else moved_bifurcation(units, made, 1)
