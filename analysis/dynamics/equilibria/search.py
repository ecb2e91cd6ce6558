"""Search a box or a space for all equilibria, from random starts in rounds that are deflated by those already found."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array
from numpy.typing import ArrayLike

from analysis.dynamics.equilibria.newton import (
    PADDING,
    STEPS,
    Equilibrium,
    EquilibriumComparison,
    at_rest,
    classified,
    in_box,
    is_flat_between,
    least_speed,
    max_speed,
    newton,
    random_starts,
)
from analysis.dynamics.linearisation import null_directions, spectrum, tangent_basis, tangent_jacobian
from analysis.dynamics.scaling.samples import sample_units
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line
from dynsim._core.types import Key, State, SymmetryGenerator
from dynsim._core.validation import box_sides, function, integer, number, random_key
from dynsim.errors import ArgumentError, counted
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow

# Number of points between an equilibrium and a family at which a chain of equilibria is tested.
BETWEEN = 8
# Number of consecutive rounds without a new equilibrium that end the search.
QUIET = 2


class AllEquilibria(NamedTuple):
    """Equilibria found by a search, stable ones first, and the reason why the search ended.

    A search may miss equilibria; for a proof see `certified_equilibrium` and `certified_count`.

    Attributes:
        found: isolated equilibria. Points between which the speed vanishes up to rounding, as near a degenerate
            equilibrium, count as one.
        families: one member of each family of equilibria that are not isolated. Families with the same spectrum count
            as one.
        outside: number of equilibria found outside the box; its boundary, up to rounding, belongs to the box.
        rounds: number of rounds.
        starts: number of starts.
        end: `quiet` (two rounds found nothing new), `rounds` or `count` (the limits).
    """

    found: tuple[Equilibrium, ...]
    families: tuple[Equilibrium, ...]
    outside: int
    rounds: int
    starts: int
    end: str

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the result in one line."""
        kinds = [e.kind for e in self.found]
        said = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds)) or (
            "none isolated" if self.families else "none in the box"
        )
        families = f"; {len(self.families)} not isolated (a symmetry, or zero modes)" if self.families else ""
        ends = {"quiet": "the last rounds found no other", "rounds": "the cap on rounds was reached"}
        why = ends.get(self.end, "the cap on equilibria was reached")
        count = counted(len(self.found), "equilibrium", "equilibria")
        return f"{count}: {said}{families}; {self.outside} outside; {self.starts} starts, {why}"


def find_equilibria(
    flow: AbstractFlow,
    key: Key,
    *,
    box: ArrayLike | None = None,
    shape: Any = None,
    num_starts: int = 32,
    max_rounds: int = 8,
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
    """
    check_flow(flow)
    random_key("key", key)
    count, rounds = integer("num_starts", num_starts, least=1), integer("max_rounds", max_rounds, least=1)
    most, near = integer("max_count", max_count, least=1), None if radius is None else number("radius", radius)
    for move in group:
        function("group", move, "the state")
    units = sample_units(flow, _starts(flow, jax.random.fold_in(key, 1), box, shape, count))
    search = _Search(units, group, EquilibriumComparison(units, invariant, near), symmetries)
    end, done = "rounds", 0
    for done in range(1, rounds + 1):
        before = len(search.states)
        starts = _starts(flow, jax.random.fold_in(key, done), box, shape, count)
        search.round(units.rescaled(starts))
        if len(search.states) >= most:
            end = "count"
            break
        search.quiet = search.quiet + 1 if len(search.states) == before else 0
        if search.quiet >= QUIET:
            end = "quiet"
            break
    return search.result(None if box is None else box_sides("box", box), done, count * done, end)


class _Search:
    """State of a search: the equilibria found so far, in units of the starts."""

    def __init__(self, units: Units, group: Any, compare: EquilibriumComparison, symmetries: Any):
        self.units, self.flow, self.compare = units, units.system, compare
        self.group, self.given = ((lambda x: x), *units.acting(group)), tuple(symmetries)
        self.symmetries = units.acting(symmetries)
        self.states: list[State] = []
        self.images: list[np.ndarray] = []
        self.speeds: list[float] = []
        self.counts: list[int] = []
        self.families: list[bool] = []
        self.members: dict[int, list[State]] = {}
        self.joined: set[int] = set()
        self.scale = 1.0
        self.quiet = 0

    def round(self, starts: State) -> None:
        """Add the equilibria that the starts reach."""
        flat = np.stack([np.asarray(ravel_pytree(x)[0]) for x in self.states] or [np.zeros(0)])
        size = len(ravel_pytree(jax.tree.map(lambda a: a[0], starts))[0])
        known = np.full((PADDING, size), np.inf)
        if self.states:
            known[: min(PADDING, len(flat))] = flat[:PADDING]
        ends, scale = least_speed(self.flow, starts, jnp.zeros(()), jnp.asarray(known))
        if not np.isfinite(float(scale)):
            raise ArgumentError("flow", "have a finite field at some start", "has not")
        self.scale = float(scale)
        for k in range(len(jax.tree.leaves(ends)[0])):
            x, speed = newton(self.flow, jax.tree.map(lambda a, k=k: a[k], ends), max_steps=STEPS)
            if at_rest(self.flow, x, speed, self.scale):
                self.add(x, speed)

    def add(self, x: State, speed: float) -> None:
        """Add an equilibrium unless it is known or belongs to a known family."""
        moved = [move(x) for move in self.group]
        values = [self.compare.value(y) for y in moved]
        for k, (image, state) in enumerate(zip(self.images, self.states, strict=True)):
            same = any(self.compare.are_same(value, image) for value in values)
            if same or any(is_flat_between(self.flow, y, state, self.scale) for y in moved):
                self.counts[k] += 1
                if speed < self.speeds[k] and not same:  # closer to the degenerate equilibrium
                    self.states[k], self.images[k], self.speeds[k] = x, values[0], speed
                return
        family = self._is_family(x)
        if family and (known := self._family_of(x, moved)) is not None:
            self.counts[known] += 1
            return
        if family:
            self.members[len(self.states)] = [x]
        self.states.append(x)
        self.images.append(values[0])
        self.speeds.append(speed)
        self.counts.append(1)
        self.families.append(family)

    def _family_of(self, x: State, moved: list[State]) -> int | None:
        """Find the known family of a non-isolated equilibrium, and merge families that it connects."""
        type_of = lambda y: np.round(np.real(spectrum(self.flow, y).values), 4)
        known = [k for k in self.members if k not in self.joined]
        alike = [k for k in known if np.array_equal(type_of(self.states[k]), type_of(x))]
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

    def _leads_to(self, x: State, members: list[State]) -> bool:
        """Test whether equilibria lie close to the line from a state to the nearest member of a family."""
        flat, unravel = ravel_pytree(x)
        others = [ravel_pytree(y)[0] for y in members]
        other = min(others, key=lambda y: float(jnp.linalg.norm(y - flat)))
        apart, before = float(jnp.linalg.norm(other - flat)) / (BETWEEN + 1), flat
        for share in np.arange(1, BETWEEN + 1) / (BETWEEN + 1):
            reached = self.flow.space.project(unravel((1 - share) * flat + share * other))
            speed = max_speed(self.flow, reached)
            if not at_rest(self.flow, reached, speed, self.scale):
                reached, speed = newton(self.flow, reached)
            there = ravel_pytree(reached)[0]
            if not at_rest(self.flow, reached, speed, self.scale) or jnp.linalg.norm(there - before) > 3 * apart:
                return False
            before = there
        return bool(jnp.linalg.norm(other - before) <= 3 * apart)

    def _is_family(self, x: State) -> bool:
        """Test whether a null direction that is no symmetry leads to further equilibria."""
        basis, J = tangent_basis(self.flow.space, x), tangent_jacobian(self.flow, x)
        null = null_directions(J)
        if len(null) <= spectrum(self.flow, x, symmetries=self.symmetries).num_symmetries:
            return False
        from analysis.dynamics.equilibria.settling import leads_on

        return any(leads_on(self.flow, x, basis @ v, 0.0) for v in null)

    def _in_box(self, x: State, box: np.ndarray) -> bool:
        return in_box(np.asarray(ravel_pytree(self.units.restored(x))[0]), *box)

    def result(self, box: np.ndarray | None, rounds: int, starts: int, end: str) -> AllEquilibria:
        """Classify the equilibria and collect the result."""
        inside, families, outside = [], [], 0
        rows = zip(self.states, self.speeds, self.counts, self.families, strict=True)
        for k, (x, speed, count, family) in enumerate(rows):
            if k in self.joined:
                continue
            if box is not None and not self._in_box(x, box):
                members = [y for y in self.members.get(k, ()) if self._in_box(y, box)]
                if not members:
                    outside += 1
                    continue
                x, speed = members[0], max_speed(self.flow, members[0])
            one = classified(self.units, x, speed, self.given, count)
            (families if family else inside).append(one)
        inside.sort(key=lambda e: e.order)
        return AllEquilibria(tuple(inside), tuple(families), outside, rounds, starts, end)


def token_permutations(n: int) -> list[Callable[[Array], Array]]:
    """List all permutations of n tokens except the identity, as functions of states (n, d); n is at most 6.

    Raises:
        ValueError: for another n. For more tokens use an `invariant`, such as the sorted entries of the Gram matrix.
    """
    if integer("n", n, least=1) > 6:
        raise ArgumentError("n", "be at most 6 (for more tokens give an `invariant`)", f"is {n}")
    return [lambda x, order=jnp.asarray(order): x[order] for order in list(permutations(range(n)))[1:]]


def _starts(flow: AbstractFlow, key: Key, box: Any, shape: Any, count: int) -> State:
    """Sample random starts in the box, projected to the space, or on the space itself."""
    if (box is None) == (shape is None):
        raise ArgumentError(["box", "shape"], "be given, one of them", "both are or none is")
    if box is None:
        return random_starts(flow, key, shape, count)
    sides = box_sides("box", box)
    low, high = (jnp.asarray(side)[None] for side in sides)
    points = low + (high - low) * jax.random.uniform(key, (count, sides.shape[1]))
    return jax.vmap(flow.space.project)(points)
