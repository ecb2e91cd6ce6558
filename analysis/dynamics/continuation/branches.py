"""Branches of solutions with their stability and bifurcations, and their conversion to other units."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.bifurcations import Bifurcation, find_bifurcations, moved_bifurcation
from analysis.dynamics.continuation.curve import SINGULAR, AbstractCurve, CurvePoint
from analysis.dynamics.continuation.orbit_curve import moved_states, unit_of_eigenvalues
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line, printed, size_of
from dynsim._core.types import State
from dynsim._runtime.blas import in_one_thread
from dynsim.notebook import picture

BEGINNINGS = ("branch point", "Hopf point", "period doubling")
"""Kinds of bifurcations at which branches begin."""
# A branch counts as vertical if the parameter changes by less than this many times the error of its slope.
VERTICAL = 10


class Branch(NamedTuple):
    """Solutions on a curve: states with the points on the first axis, parameters, arclengths and eigenvalues.

    `kinds` are `stable`, `saddle`, `unstable` or `undecided`, `bifurcations` lie in between. `ends` says at both ends
    why the branch ends: `bounds` of the parameter, `closed` curve, `steps` (the cap on points), `corner` (the field is
    not smooth), `lost` (no step however small leads on), or the bifurcation at which it begins; a branch of periodic
    orbits also at an `equilibrium`, at the longest `period`, beside a `homoclinic` orbit, or where a stricter solver
    does not confirm the orbits (`accuracy`), or where the field or its derivative is not finite at a state, such as
    `undefined at (-55, 0.1)`. `isolated` is false if the solutions are not: the derivative is singular
    along the branch. `vertical` says that the parameter does not change along it, up to errors: a family at one value.
    """

    states: State
    parameters: Float[np.ndarray, " points"]
    arclengths: Float[np.ndarray, " points"]
    eigenvalues: Complex[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]
    isolated: bool = True
    vertical: bool = False

    __repr__ = one_line

    def _repr_png_(self) -> bytes | None:
        return picture(self)

    @property
    def beside(self) -> tuple[str, ...]:
        """Stability at the points, except at bifurcations where the branch begins or ends."""
        begin, end = (side in BEGINNINGS for side in self.ends)
        return self.kinds[int(begin) : len(self.kinds) - int(end)]

    def __str__(self) -> str:
        """Describe the number of points, the parameters, the bifurcations and the ends in one line."""
        values = [*self.parameters.tolist(), *(b.parameter for b in self.bifurcations)]
        low, high = min(values), max(values)
        size = size_of((low, high))
        found = ", ".join(b.sized(size) for b in self.bifurcations) or "no bifurcation"
        said = " and ".join(dict.fromkeys(self.ends)) + (
            "" if self.isolated else "; not isolated (a symmetry, or zero modes)"
        )
        said += "; vertical (a family at one value of the parameter)" if self.vertical else ""
        return (
            f"{len(self.kinds)} points, parameter {printed(low, size)} to {printed(high, size)}: {found}; ends: {said}"
        )


@in_one_thread
def branch(curve: AbstractCurve, points: list[CurvePoint], ends: tuple[str, str]) -> Branch:
    """Build a branch from points, and locate the bifurcations between them, in the units of the given system.

    Arclengths are in the unit of the parameter.
    """
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff([p.flat for p in points], axis=0), axis=1)))
    first = int(ends[0] in BEGINNINGS)
    least = [curve.least_singular(point) for point in points[first:]]
    found = find_bifurcations(curve, points[first:], lengths[first:], least)
    states = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *[p.state for p in points])
    singular = [abs(value) <= SINGULAR for value in least]
    kinds = tuple(curve.stable_kind(p) for p in points)
    parameters = np.array([p.parameter for p in points])
    vertical = is_vertical(curve, parameters, lengths)
    if vertical:  # the parameter turns back by its error
        found = [b for b in found if b.kind not in ("fold", "corner")]
    made = Branch(
        states, parameters, lengths, np.array([p.values for p in points]), kinds, tuple(found), ends,
        isolated=not (len(singular) > 2 and all(singular)), vertical=vertical,
    )  # fmt: skip
    return made if curve.units is None else _in_given_units(curve.units, made)


def cut_at(found: Branch, at: Bifurcation, end: str) -> Branch:
    """Cut a branch at one of its bifurcations, which becomes its last point; `end` says why it ends there."""
    inner = found.arclengths < at.arclength
    ended = lambda rows, last: np.concatenate([rows[inner], np.asarray(last)[None]])
    return found._replace(
        states=jax.tree.map(ended, found.states, at.state),
        parameters=ended(found.parameters, at.parameter),
        arclengths=ended(found.arclengths, at.arclength),
        eigenvalues=ended(found.eigenvalues, at.eigenvalues),
        kinds=(*found.kinds[: int(np.sum(inner))], "undecided"),
        bifurcations=tuple(b for b in found.bifurcations if b.arclength < at.arclength),
        ends=(found.ends[0], end),
    )


def joined(parts: list[Branch], ends: tuple[str, str]) -> Branch:
    """Return branches, each of which begins where the one before ends, as one."""
    found = parts[0]
    for part in parts[1:]:
        length = float(found.arclengths[-1])
        moved = tuple(b._replace(arclength=b.arclength + length) for b in part.bifurcations)
        join = lambda a, b: np.concatenate([a, b[1:]])
        found = Branch(
            jax.tree.map(join, found.states, part.states), join(found.parameters, part.parameters),
            join(found.arclengths, part.arclengths + length), join(found.eigenvalues, part.eigenvalues),
            found.kinds + part.kinds[1:], found.bifurcations + moved, ends, found.isolated and part.isolated,
        )  # fmt: skip
    return found._replace(ends=ends)


def is_vertical(curve: AbstractCurve, parameters: np.ndarray, lengths: np.ndarray) -> bool:
    """Test whether the parameter is constant along a branch, up to its errors."""
    return len(lengths) > 2 and bool(np.ptp(parameters) <= VERTICAL * curve.vertical * np.ptp(lengths))


def _in_given_units(units: Units, found: Branch) -> Branch:
    """Convert a branch to the units of the given system, which normal form coefficients already have."""
    unit = units.parameters[0]
    return found._replace(
        states=moved_states(units, found.states, 1),
        parameters=found.parameters * unit,
        arclengths=found.arclengths * unit,
        eigenvalues=found.eigenvalues / unit_of_eigenvalues(units, found.states),
        bifurcations=tuple(moved_bifurcation(units, at, 1) for at in found.bifurcations),
    )
