"""Search a box or a space for all equilibria, from random starts in rounds that are deflated by those already found."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.equilibria.crossings import Completeness, completed, crossings, search_box, spread
from analysis.dynamics.equilibria.newton import (
    Equilibrium,
    Finder,
    in_box,
    once_modulo_turns,
    random_starts,
    start_units,
    weak_directions,
)
from analysis.dynamics.equilibria.sliding import PseudoEquilibrium, on_surface, pseudo_equilibria, surface_points
from analysis.dynamics.linearisation import spectrum
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import BoxLike, Key, State, SymmetryGenerator, Time
from dynsim._core.validation import box_sides, function, integer, number, random_key
from dynsim.errors import ArgumentError, counted
from dynsim.integrators.switched_field import switched_field
from dynsim.keys import uniform_numbers
from dynsim.simulation.checks import check_flow
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow

# Number of points between an equilibrium and a family at which a chain of equilibria is tested.
BETWEEN = 8
# Length of the step along a null direction at which other equilibria are looked for, and of Newton steps from there.
STEP, CORRECTIONS = 1e-3, 20
# Number of consecutive rounds on a space without a new equilibrium that end the search.
QUIET = 2
# Where the starts of successive rounds in a box are; twice as many rounds without a new equilibrium end the search.
PLACES = ("inside", "faces", "scales")
# Decades of distances from zero of starts on all scales, in a box and outwards on a Euclidean space.
DECADES, OUTWARDS = 6.0, 8.0
# Number of starts, on each side, in addition to those where nullclines cross; margin of a slice, relative to its sides.
SIDE, EDGE = 7, 1e-6


# Segments in a box on which surfaces are sought on which the field jumps.
PAIRS = 512


class _Displacement(eqx.Module):
    """The displacement by one step of a map: it vanishes at fixed points."""

    system: AbstractMap

    def __call__(self, t: Time, x: State) -> State:
        return jax.tree.map(lambda after, before: after - before, self.system.image(jnp.zeros((), int), x), x)


def displacement(system: AbstractMap) -> AbstractFlow:
    """Build the flow on a Euclidean space whose equilibria are the fixed points of a map, but not their stability."""
    return FunctionFlow(_Displacement(system), system.space, names=system.names)


class AllEquilibria(NamedTuple):
    """Equilibria found by a search, stable ones first, and the reason why the search ended.

    A search may miss equilibria; for a proof see `certified_equilibrium` and `certified_count`.

    Attributes:
        found: isolated equilibria, once modulo the periods of angles. Points between which the speed vanishes up to
            rounding, as near a degenerate equilibrium, count as one.
        families: one member of each family of equilibria that are not isolated. Families with the same spectrum count
            as one.
        outside: number of equilibria found outside the box; its boundary, up to rounding, belongs to the box.
        rounds: number of rounds.
        starts: number of random starts.
        end: `quiet` (the last rounds found nothing new), `rounds` or `count` (the limits).
        completeness: for boxes of one or two components, whether the equilibria explain the field on the boundary.
        pseudo: in a box, states at rest on surfaces on which the field jumps, where trajectories slide.
    """

    found: tuple[Equilibrium, ...]
    families: tuple[Equilibrium, ...]
    outside: int
    rounds: int
    starts: int
    end: str
    completeness: Completeness = Completeness()
    pseudo: tuple[PseudoEquilibrium, ...] = ()

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the result in one line."""
        kinds = [e.description for e in self.found]
        said = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds)) or (
            "none isolated" if self.families else "none in the box"
        )
        families = f"; {len(self.families)} not isolated (a symmetry, or zero modes)" if self.families else ""
        ends = {"quiet": "the last rounds found no other", "rounds": "the cap on rounds was reached"}
        why = ends.get(self.end, "the cap on equilibria was reached")
        count = counted(len(self.found), "equilibrium", "equilibria")
        sure = "; ".join(map(str, (self.completeness, *self.pseudo)))
        return (
            f"{count}: {said}{families}; {self.outside} outside; {self.starts} starts, {why}; {sure}"
        )  # fmt: skip


@on_host_by_default
def find_equilibria(
    flow: AbstractFlow,
    key: Key,
    *,
    box: BoxLike | None = None,
    shape: Any = None,
    num_starts: int = 32,
    max_rounds: int = 16,
    max_count: int = 100,
    symmetries: Sequence[SymmetryGenerator] = (),
    group: Sequence[Callable[[State], State]] = (),
    invariant: Callable[[State], Array] | None = None,
    radius: float | None = None,
) -> AllEquilibria:
    """Search a box or a space for all of its equilibria, from random starts; `equilibria` takes starts that are given.

    The methods are Levenberg's and Newton's.

    In every round the field is multiplied by a factor that grows near the equilibria found before, so that the starts
    lead to others. Tolerances hold in `sample_units` of the first starts.

    Args:
        flow: the system, at t = 0.
        key: for the starts.
        box: (low, high) for each component of an array state, (d, 2); uniform starts.
        shape: of a state, in place of a box: starts are drawn on the space, and every equilibrium counts.
        num_starts: how many in each round.
        max_rounds: the cap on rounds.
        max_count: the cap on equilibria.
        symmetries: generators of continuous symmetries, whose zero eigenvalues are left out of the types.
        group: discrete symmetries, functions that map states to states such as `token_permutations(4)`: of equilibria
            that they map to each other one is kept.
        invariant: a function of the state by whose values equilibria are compared, by default the state itself; with
            continuous symmetries an invariant of them, such as the Gram matrix.
        radius: the distance, in the largest entry, at which two equilibria are the same; by default 1e-6, for states
            in units of the starts.

    Raises:
        ValueError: for bad input, or a field that is not finite at any start.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import find_equilibria
        >>> flow = ds.FunctionFlow(lambda t, x: x - x**3)
        >>> found = find_equilibria(flow, ds.random_key(0, "starts"), box=[[-2.0, 2.0]], num_starts=8)
        >>> sorted(round(float(one.state[0]), 6) + 0.0 for one in found.found)
        [-1.0, 0.0, 1.0]
    """
    check_flow(flow)
    random_key("key", key)
    count, rounds = integer("num_starts", num_starts, least=1), integer("max_rounds", max_rounds, least=1)
    most, near = integer("max_count", max_count, least=1), None if radius is None else number("radius", radius)
    for move in group:
        function("group", move, "the state")
    if (box is None) == (shape is None):
        raise ArgumentError(["box", "shape"], "be given, one of them", "both are or none is")
    sides = None if box is None else np.asarray(box_sides("box", box), float)
    starts_of = lambda done: _starts(flow, key, sides, shape, count, done)
    first = starts_of(1)
    sample = first if sides is None else np.concatenate([sides, first])
    search = _Search(
        start_units(flow, sample), sample, group, invariant=invariant, radius=near, symmetries=symmetries
    )  # fmt: skip
    if not np.any(np.all(np.isfinite(search.rows.field(search.rows.flattened(sample) / search.rows.scale)), axis=1)):
        raise ArgumentError("flow", "have a finite field at some start", "has not")
    complete, end, done, quiet = Completeness(), "rounds", 0, 0
    planar = sides is not None and sides.shape[1] <= 2 and search.rows.is_flat
    if planar and sides is not None:
        complete = search_box(search, sides[0] / search.rows.scale, sides[1] / search.rows.scale)
    for done in range(1, rounds + 1):
        before = len(search.points)
        search.round(search.units.rescaled(starts_of(done)), deflated=True)
        if len(search.points) >= most:
            end = "count"
            break
        quiet = quiet + 1 if len(search.points) == before else 0
        if quiet >= (QUIET if sides is None or planar else 2 * len(PLACES)):
            end = "quiet"
            break
    if planar and sides is not None and not group and not symmetries and invariant is None:
        complete = completed(search, sides[0] / search.rows.scale, sides[1] / search.rows.scale, complete)
    found = search.result(sides, rounds=done, starts=count * done, end=end, completeness=complete)
    return found if sides is None else _with_pseudo(flow, found, sides)


def _with_pseudo(flow: AbstractFlow, found: AllEquilibria, sides: np.ndarray) -> AllEquilibria:
    """Add states at rest on surfaces on which the field jumps, and leave out equilibria that lie on them."""
    field = switched_field(flow, jnp.asarray(sides[0]))
    if field is None:
        return found
    low, high = sides
    places = low + (high - low) * np.mod(0.5 + np.arange(1, PAIRS + 1)[:, None] * _ratios(2 * len(low)), 1.0).reshape(
        PAIRS, 2, len(low)
    ).transpose(1, 0, 2)
    near = surface_points(field, 0.0, *places)
    if not np.any(near.jumps):
        return found
    states = np.array([np.asarray(e.state) for e in found.found]).reshape(-1, len(low))
    on = on_surface(field, 0.0, states, high - low)
    rests = pseudo_equilibria(field, 0.0, near, lambda x: in_box(x, low, high), high - low)
    kept = tuple(e for e, out in zip(found.found, on, strict=True) if not out)
    return found._replace(found=kept, pseudo=rests, completeness=Completeness())


def equilibria_in_box(
    flow: AbstractFlow,
    low: np.ndarray,
    high: np.ndarray,
    t: Time = 0.0,
    *,
    lifted: Callable[[np.ndarray], np.ndarray] = lambda points: points,
    axes: Sequence[int] = (0, 1),
) -> tuple[list[Equilibrium], Completeness]:
    """Search an interval or a rectangle for all equilibria of a flow, and tell how sure it is that these are all.

    Args:
        flow: the system, with vector states. A field that depends on time is frozen at `t`.
        low: lower ends of the sides.
        high: upper ends of the sides.
        t: time at which the field is evaluated.
        lifted: states at points of the rectangle, (points, d), where this is a slice of a larger space. Equilibria
            need not lie in the slice.
        axes: the components that vary in a slice.
    """
    grid = spread(np.zeros(len(low)), np.ones(len(low)), SIDE)
    starts = np.concatenate([[low, high], low + (high - low) * grid])
    sample = lifted(starts)
    finder = Finder(start_units(flow, sample, t), sample, t)
    if sample.shape[1] == len(low):
        complete = search_box(finder, low / finder.rows.scale, high / finder.rows.scale)
    else:
        scale = high - low
        field = lambda z: finder.rows.field(lifted(low + scale * z) / finder.rows.scale)[:, list(axes)]
        near, resolved = crossings(field, -EDGE * np.ones(2), (1 + EDGE) * np.ones(2), (np.zeros(2), np.ones(2)))
        finder.from_near(lifted(low + scale * near) / finder.rows.scale)
        complete = Completeness(resolved=resolved)
    finder.from_rows(sample / finder.rows.scale)
    if sample.shape[1] == len(low):
        complete = completed(finder, low / finder.rows.scale, high / finder.rows.scale, complete)
    return finder.classified(), complete


class _Search(Finder):
    """State of a search: the equilibria found so far, in units of the starts, up to discrete symmetries."""

    def __init__(self, units: Units, sample: State, group: Any = (), **options: Any):
        super().__init__(units, sample, **options)
        self.group = ((lambda x: x), *units.acting(group))
        self.families: list[bool] = []
        self.members: dict[int, list[np.ndarray]] = {}
        self.joined: set[int] = set()

    def add(self, x: np.ndarray, speed: float) -> None:
        """Add an equilibrium unless it is known or belongs to a known family."""
        states = [self.rows.state(x)]
        states += [jax.tree.map(np.asarray, move(jax.tree.map(jnp.asarray, states[0]))) for move in self.group[1:]]
        moved = [flat_state(state) for state in states]
        values = [self.compare.value(state) for state in states]
        for y, value in zip(moved, values, strict=True):
            k, same = self.place(y, value)
            if k is not None:
                self.merge(k, x, values[0], speed, same)
                return
        family = self._is_family(x)
        if family and (known := self._family_of(x, moved)) is not None:
            self.times[known] += 1
            return
        if family:
            self.members[len(self.points)] = [x]
        self.append(x, values[0], speed)
        self.families.append(family)

    def _family_of(self, x: np.ndarray, moved: list[np.ndarray]) -> int | None:
        """Find the known family of a non-isolated equilibrium, and merge families that it connects."""
        type_of = lambda y: np.round(np.real(spectrum(self.units.system, self.rows.state(y)).values), 4)
        known = [k for k in self.members if k not in self.joined]
        alike = [k for k in known if np.array_equal(type_of(self.points[k]), type_of(x))]
        if alike:
            self.members[alike[0]].append(x)
            return alike[0]
        found = [k for k in known if any(self._leads_to(y, self.members[k]) for y in moved)]
        for k in found[1:]:
            self.members[found[0]] += self.members[k]
            self.joined.add(k)
        if found:
            self.members[found[0]].append(x)
        return found[0] if found else None

    def _leads_to(self, x: np.ndarray, members: list[np.ndarray]) -> bool:
        """Test whether equilibria lie close to the line from a state to the nearest member of a family."""
        other = min(members, key=lambda y: float(np.linalg.norm(y - x)))
        shares = np.arange(1, BETWEEN + 1)[:, None] / (BETWEEN + 1)
        reached, rest = self.rows.polished(self.rows.projected((1 - shares) * x + shares * other)[0], CORRECTIONS)
        gaps = np.linalg.norm(np.diff(np.concatenate([[x], reached, [other]]), axis=0), axis=1)
        return bool(np.all(rest) and np.all(gaps <= 3 * np.linalg.norm(other - x) / (BETWEEN + 1)))

    def _is_family(self, x: np.ndarray) -> bool:
        """Test whether a null direction that is no symmetry leads to further equilibria."""
        null = weak_directions(self.rows, x)
        if not len(null):
            return False
        acting = self.units.acting(self.symmetries)
        if len(null) <= spectrum(self.units.system, self.rows.state(x), symmetries=acting).num_symmetries:
            return False
        return any(self.leads_on(x, v) for v in null)

    def leads_on(self, x: np.ndarray, direction: np.ndarray) -> bool:
        """Test whether equilibria exist on both sides of a state along a direction, to second order in the step."""
        aims = self.rows.projected(x + np.array([[STEP], [-STEP]]) * direction)[0]
        reached, rest = self.rows.polished(aims, CORRECTIONS)
        return bool(np.all(rest) and np.all(np.linalg.norm(reached - aims, axis=1) <= 0.1 * STEP))

    def result(self, box: np.ndarray | None, **ended: Any) -> AllEquilibria:
        """Classify the equilibria and collect the result."""
        inside, families, outside = [], [], 0
        for k in range(len(self.points)):
            if k in self.joined:
                continue
            if box is not None and not self.is_in(self.points[k], box):
                members = [y for y in self.members.get(k, ()) if self.is_in(y, box)]
                if not members:
                    outside += 1
                    continue
                self.points[k], self.speeds[k] = members[0], float(np.max(np.abs(self.rows.field(members[0][None]))))
            (families if self.families[k] else inside).append(self.one(k))
        inside.sort(key=lambda e: e.order)
        once = once_modulo_turns(self.rows, inside)
        return AllEquilibria(tuple(once), tuple(families), outside, **ended)


def token_permutations(n: int) -> list[Callable[[Array], Array]]:
    """List all permutations of n tokens except the identity, as functions of states (n, d); n is at most 6.

    Raises:
        ValueError: for another n. For more tokens use an `invariant`, such as the sorted entries of the Gram matrix.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from analysis.dynamics import token_permutations
        >>> pair = jnp.array([[1.0, 0.0], [0.0, 1.0]])
        >>> [swap(pair).tolist() for swap in token_permutations(2)]
        [[[0.0, 1.0], [1.0, 0.0]]]
    """
    if integer("n", n, least=1) > 6:
        raise ArgumentError("n", "be at most 6 (for more tokens give an `invariant`)", f"is {n}")
    return [lambda x, order=jnp.asarray(order): x[order] for order in list(permutations(range(n)))[1:]]


def _starts(flow: AbstractFlow, key: Key, box: np.ndarray | None, shape: Any, count: int, done: int) -> State:
    """Choose starts in the box, projected to the space, or on the space itself.

    On a Euclidean space two rounds of three have starts on all larger scales: populations may be counted in millions.
    In a box they are spread evenly, and in turn inside, near the point nearest to zero on all scales, and on faces,
    such as those where a species is absent.
    """
    if box is None:
        found = random_starts(flow, jax.random.fold_in(key, done), shape, count)
        if done % 3 == 1 or not isinstance(flow.space, Euclidean):
            return found
        far = 10.0 ** (OUTWARDS * np.mod(uniform_numbers(key, done, 1) + np.arange(count) * _ratios(1), 1.0))
        return jax.tree.map(lambda part: part * far.reshape(-1, *(1,) * (np.ndim(part) - 1)), found)
    low, high = box
    d = len(low)
    shift = uniform_numbers(key, done, 2 * d)
    evenly = np.mod(shift + np.arange(1, count + 1)[:, None] * _ratios(2 * d), 1.0)
    shares, others = evenly[:, :d], evenly[:, d:]
    place = PLACES[(done - 1) % len(PLACES)]
    points = low + (high - low) * shares
    if place == "scales":
        middle = np.clip(0.0, low, high)
        points = middle + (points - middle) * 10.0 ** (-DECADES * others)
    elif place == "faces":
        zero = (low == 0) | (high == 0)
        edge = np.where(zero, 0.0, np.where(shares < 1 / 2, low, high))
        some = others < 1 / 2
        some[np.arange(count), np.argmin(others, axis=1)] = True
        points = np.where(some, edge, points)
    return np.asarray(jax.vmap(flow.space.project)(jnp.asarray(points)))


def _ratios(d: int) -> np.ndarray:
    """Compute the increments of an additive sequence of points that fill a cube evenly.

    M. Roberts, The unreasonable effectiveness of quasirandom sequences (2018): powers of the root of x^(d+1) = x + 1.
    """
    root = 1.5
    for _ in range(60):
        root = (1 + root) ** (1 / (d + 1))
    return root ** -np.arange(1.0, d + 1)
