"""Continue equilibria that are not isolated, as curves along the null directions of their linearisation."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibria.newton import Equilibrium, start_units, weak_directions
from analysis.dynamics.linearisation import eigenvalues, kind, tangent_basis, zero_tolerance
from analysis.dynamics.scaling.flat import chord_distances, flat_state
from analysis.dynamics.scaling.units import Units
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import State, Time
from dynsim.systems.base import AbstractFlow

# Number of steps of a curve along the extent of the states.
STEPS = 150
# Length in steps below which a curve counts as one degenerate equilibrium.
SHORTEST = 4
# Largest number of points of half a curve.
LONGEST = 4000
# Largest number of parts into which a step is divided, at the ends of a curve and where its stability changes.
FINEST = 2**20
# Largest number of Newton steps back to the curve.
CORRECTIONS = 12


class Family(NamedTuple):
    """Equilibria that are not isolated: points along a curve of them, (points, d), or one point of a surface.

    `kinds` are the stability types at the points, without the zero eigenvalues along the family; where it is `stable`,
    nearby states move to the curve. `end` is `open`, `closed` (the first point follows the last), `cut` (not continued
    to its end), or `surface`.
    """

    points: Float[np.ndarray, "points d"]
    kinds: tuple[str, ...]
    end: str

    __repr__ = one_line

    @property
    def runs(self) -> list[tuple[str, int, int]]:
        """Parts of the curve with one stability type: the type, the first point, and the one after the last."""
        starts = [k for k, word in enumerate(self.kinds) if k == 0 or word != self.kinds[k - 1]]
        return [(self.kinds[a], a, b) for a, b in zip(starts, [*starts[1:], len(self.kinds)], strict=True)]

    def part(self, x: np.ndarray, sizes: np.ndarray) -> tuple[str, np.ndarray]:
        """Find the stability type of the family near a state, and the adjacent points of this type."""
        here = int(np.argmin(np.sum(((self.points - x) / sizes) ** 2, axis=1)))
        word, first, last = next(run for run in self.runs if run[1] <= here < run[2])
        return word, self.points[first : last + 1]

    def __str__(self) -> str:
        """Describe the family and its stability types in one line."""
        size = float(np.max(np.abs(self.points), initial=1e-300))
        texts = [f"({', '.join(f'{v:.4g}' for v in np.where(np.abs(p) < 1e-6 * size, 0.0, p))})" for p in self.points]
        if self.end == "surface":
            return f"surface of equilibria through {texts[0]}"
        where = f"from {texts[0]} to {texts[-1]}" if self.end != "closed" else f"closed, through {texts[0]}"
        parts = [f"{word} from {texts[a]}" if a else word for word, a, _ in self.runs]
        left = ", not followed to its end" if self.end == "cut" else ""
        return f"curve of equilibria {where}{left}: {', '.join(parts)}"


@checked
@on_host_by_default
def equilibrium_families(
    flow: AbstractFlow,
    found: Sequence[Equilibrium],
    starts: Float[Array | np.ndarray, "starts d"],
    extent: Float[np.ndarray, " d"],
    *,
    inside: Callable[[np.ndarray], bool] = lambda x: True,
    axes: Sequence[int] | None = None,
    t: Time = 0.0,
) -> tuple[tuple[Equilibrium, ...], tuple[Family, ...]]:
    """Separate isolated equilibria from curves and surfaces of equilibria. NumPy: not for `jit`.

    An equilibrium is not isolated if Newton's method finds others along a null direction of its linearisation. The
    curve of equilibria is then continued to both sides. Each component has its extent as its unit.

    Args:
        flow: the system, with vector states. A field that depends on time is frozen at `t`.
        found: equilibria, such as the result of `equilibria`.
        starts: the starts of that search.
        extent: size of each component of the states; a step along a curve is a 150th of it.
        inside: tests whether a state is in the region of interest; curves end where it is not.
        axes: components that vary in a slice of Euclidean space; the default is all.
        t: time at which the field is evaluated.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import equilibria, equilibrium_families
        >>> def ring(t, x):
        ...     return x * (1.0 - jnp.sum(x**2))
        >>> flow, starts = ds.FunctionFlow(ring), np.array([[0.9, 0.2], [-0.1, 1.1], [0.1, 0.1]])
        >>> alone, curves = equilibrium_families(flow, equilibria(flow, starts), starts, np.array([2.0, 2.0]))
        >>> len(alone), len(curves), round(float(np.abs(np.linalg.norm(curves[0].points, axis=1) - 1.0).max()), 6)
        (1, 1, 0.0)
    """
    curve = _Curves(start_units(flow, starts, t, extent), starts, extent, inside, axes, t)
    alone: list[Equilibrium] = []
    known: list[Family] = []
    for one in found:
        x = np.asarray(one.state, float)
        if not len(curve.null(x)):
            alone.append(one)
        elif any(curve.holds(family, x) for family in known):
            continue
        elif (family := curve.through(x)) is not None:
            known.append(family)
        else:
            alone.append(one)
    isolated = [e for e in alone if not any(curve.holds(family, np.asarray(e.state, float)) for family in known)]
    return tuple(isolated), tuple(known)


def family_through(
    units: Units,
    x: State,
    extent: State,
    *,
    inside: Callable[[np.ndarray], bool] = lambda x: True,
) -> Family | None:
    """Continue the family of equilibria through one of them; None if it is isolated.

    Args:
        units: the units in which tolerances hold, of a flow that does not depend on time.
        x: the equilibrium.
        extent: size of each component of the states.
        inside: tests whether a flattened state is in the region of interest; curves end where it is not.
    """
    curve = _Curves(units, jax.tree.map(lambda y: np.asarray(y)[None], x), extent, inside)
    flat = np.asarray(ravel_pytree(x)[0], float)
    return curve.through(flat) if len(curve.null(flat)) else None


class _Curves:
    """Continuation of curves of equilibria in rescaled units; states are passed flattened, in the flow's units."""

    def __init__(
        self,
        units: Units,
        samples: State,
        extent: State,
        inside: Callable[[np.ndarray], bool],
        axes: Sequence[int] | None = None,
        t: Time = 0.0,
    ):
        self.units, self.inside, self.rows = units, inside, FieldRows(units, samples, t)
        self.unit = self.rows.scale
        self.axes = slice(None) if axes is None else list(axes)
        size = flat_state(extent) / self.unit
        self.step = float(np.linalg.norm(size[self.axes])) / STEPS

    def null(self, x: np.ndarray) -> np.ndarray:
        """Compute the null directions of the linearisation at a state, (directions, d)."""
        return self._null(x / self.unit)

    def holds(self, family: Family, x: np.ndarray) -> bool:
        """Test whether a state lies on a family; a surface is assumed to contain all non-isolated equilibria."""
        if family.end == "surface":
            return True
        points, z = family.points / self.unit, x / self.unit
        ends = np.concatenate([points, points[:1]]) if family.end == "closed" else points
        return bool(np.min(chord_distances(ends, z)[0]) < self.step / 4)

    def through(self, x: np.ndarray) -> Family | None:
        """Continue the family through an equilibrium; None if it is isolated."""
        z = x / self.unit
        null = self._null(z)
        if len(null) > 1 and self._next(z, null.sum(axis=0) / np.sqrt(len(null)), self.step) is not None:
            return Family(x[None], (self._kind(z),), "surface")
        for way in null:
            ahead, end = self._half(z, way)
            behind, other = ([], end) if end == "closed" else self._half(z, -way)
            points = np.array([*reversed(behind), z, *ahead])
            if np.sum(np.linalg.norm(np.diff(points, axis=0), axis=1)) >= SHORTEST * self.step:
                end = "cut" if "cut" in (end, other) else end
                points, kinds = self._typed(_oriented(points, end == "closed", self.step))
                return Family(points * self.unit, kinds, end)
        return None

    def _typed(self, points: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
        """Insert the points at which the stability type of a curve changes, and classify each point."""
        within = [self._kind(z) for z in points[1:-1]]
        # at an end, as at a kink, the type differs from that of the neighbours
        kinds = [within[0], *within, within[-1]]
        typed, words = [points[0]], [kinds[0]]
        for before, after, word, other in zip(points[:-1], points[1:], kinds[:-1], kinds[1:], strict=True):
            more = [after] if other == word else [self._change(before, after, word), after]
            typed, words = [*typed, *more], [*words, *[other] * len(more)]
        return np.array(typed), tuple(words)

    def _change(self, low: np.ndarray, high: np.ndarray, word: str) -> np.ndarray:
        """Bisect between two equilibria for the first one whose stability type differs from `word`."""
        while (apart := float(np.linalg.norm(high - low))) > self.step / FINEST:
            middle = self._next(low, (high - low) / apart, apart / 2)
            if middle is None:
                break
            low, high = (middle, high) if self._kind(middle) == word else (low, middle)
        return high

    def _half(self, begin: np.ndarray, way: np.ndarray) -> tuple[list[np.ndarray], str]:
        """Continue a curve from a point in a direction; give its points and how it ends."""
        points: list[np.ndarray] = []
        z, step = begin, self.step
        while len(points) < LONGEST:
            after = self._next(z, way, step)
            if after is None or not self.inside(after * self.unit):
                step /= 2
                if step < self.step / FINEST:
                    return points, "open"
                continue
            near = float(np.linalg.norm(after - begin))
            if len(points) >= SHORTEST and near < 0.7 * step and way @ (begin - z) > 0:
                return points, "closed"
            null = self._null(after)
            along = null.T @ (null @ way)
            points.append(after)
            if not np.linalg.norm(along) > 0.5:
                return points, "open"
            z, way, step = after, along / np.linalg.norm(along), min(self.step, 2 * step)
        return points, "cut"

    def _next(self, z: np.ndarray, way: np.ndarray, step: float) -> np.ndarray | None:
        """Find the equilibrium of the curve near a step in a direction; None if there is none nearby."""
        aim = self.rows.projected((z + step * way)[None])[0]
        (found,), (rest,) = self.rows.polished(aim, CORRECTIONS, axes=self.axes)
        return found if rest and np.linalg.norm(found - aim[0]) < 0.3 * step else None

    def _null(self, z: np.ndarray) -> np.ndarray:
        return weak_directions(self.rows, z, self.axes)

    def _kind(self, z: np.ndarray) -> str:
        """Classify an equilibrium by its eigenvalues without the zeros along the family."""
        basis = tangent_basis(self.rows.flow.space, self.rows.state(z))
        J = basis.T @ self.rows(z[None])[1][0] @ basis
        values, tolerance = zero_tolerance(J, eigenvalues(J))
        others = values[np.argsort(np.abs(values), kind="stable")][len(weak_directions(self.rows, z)) :]
        return kind(others, tolerance) if others.size else "undecided"


def _oriented(points: np.ndarray, closed: bool, step: float) -> np.ndarray:
    """Orient a curve so that it starts at, or if closed moves towards, the smaller one of two coordinates."""
    one, other = (points[1], points[-1]) if closed else (points[0], points[-1])
    apart = np.flatnonzero(np.abs(one - other) > step / 4)
    if len(apart) and one[apart[0]] > other[apart[0]]:
        return np.roll(points[::-1], 1, axis=0) if closed else points[::-1]
    return points
