"""Compute basins of attraction: the attractor that each point of a grid reaches."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int

from analysis.dynamics.attractors.curves import Line
from analysis.dynamics.attractors.distances import reach
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet
from analysis.dynamics.attractors.options import ROUND, Search, set_up
from analysis.dynamics.attractors.sampling import SOME, suited
from analysis.dynamics.attractors.search import (
    ESCAPED,
    FAILED,
    FATES,
    NOT_ATTRACTING,
    NOT_SETTLED,
    UNDECIDED,
    Attractors,
    among_attractors,
    among_others,
    attractors_of,
    undecided_set,
)
from analysis.dynamics.attractors.surfaces import leads_to
from analysis.dynamics.convergence import Fit
from analysis.dynamics.flow_maps.angles import angles_of
from analysis.dynamics.flow_maps.time_map import WINDOW, TimeMap
from analysis.dynamics.scaling.flat import flat_states, grid_states
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import BoxLike, State
from dynsim._core.validation import box_sides, instance, integer
from dynsim._runtime.progress import progress
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import as_state
from dynsim.systems.named import Components, components

if TYPE_CHECKING:
    import xarray

    from figures.artists import Artists

# Number of grid points from which attractors are first searched.
SAMPLES = 64
# Number of unassigned starts per additional attractor search.
MORE = 16
# Largest number of additional attractor searches.
LOOKS = 3
# Number of intervals after which the interval may be adapted.
OFTEN = 4 * WINDOW
# Largest distance, relative to the extent, from an unstable limit at which a start counts as staying there.
ON_LIMIT = 1e-4


class Basins(NamedTuple):
    """Labels of the points of a grid: the index of the attractor that each reaches, or a negative key of `FATES`.

    Attributes:
        labels: the labels; one axis for each varied component.
        axes: grid values of each varied component.
        names: names of the varied components.
        attractors: the attractors.
        others: limits that were found not to attract, or whose attraction is undecided.
        interval: length of the last sampling intervals, in time units or steps.
        longest: largest number of intervals integrated from each point.
        extent: size of each feature, by which distances were divided.
        is_stiff: as in `Attractors`.
        components: names and units of all components of a state.
        varied: indices of the varied components.
        base: the flattened state through which the grid passes.
        periods: indices of angles among the components, with their periods.
    """

    labels: Int[np.ndarray, "..."]
    axes: tuple[Float[np.ndarray, " points"], ...]
    names: tuple[str, ...]
    attractors: tuple[LimitSet, ...]
    others: tuple[LimitSet, ...]
    interval: float
    longest: int
    extent: Float[np.ndarray, " f"]
    is_stiff: bool = False
    components: Components = Components((), ())
    varied: tuple[int, ...] = ()
    base: Float[np.ndarray, " n"] = np.empty(0)
    periods: Mapping[int, float] = MappingProxyType({})

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the basins with their attractors into axes; a grid of one component is a strip.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `image`, `boundaries` and `attractors`; `colour`, a list of
                colours of the basins, or a dictionary by label; `names` of basins by label; `edges`, edge states to
                mark.
        """
        return plot(self, ax, **options)

    @property
    def shares(self) -> dict[int, float]:
        """Share of the grid points of each label."""
        labels, counts = np.unique(self.labels, return_counts=True)
        return {int(k): float(count) / self.labels.size for k, count in zip(labels, counts, strict=True)}

    def __str__(self) -> str:
        """Describe attractors and shares in one line."""
        size = " x ".join(str(n) for n in self.labels.shape)
        parts = [f"{self.shares.get(k, 0.0):.4g} {a}" for k, a in enumerate(self.attractors)]
        parts += [f"{share:.4g} {FATES[k]}" for k, share in self.shares.items() if k < 0]
        return f"basins on {size} points (at most {self.longest} intervals of {self.interval:.4g}): " + "; ".join(parts)

    def to_xarray(self) -> "xarray.DataArray":
        """Convert the labels to an xarray DataArray with named axes.

        Raises:
            ValueError: if xarray is not installed.
        """
        try:
            import xarray
        except ImportError:
            raise ArgumentError(
                "basins", "be converted by xarray (`pip install dynsim[io]`)", "it is missing"
            ) from None
        words = [f"{k}: {a}" for k, a in enumerate(self.attractors)] + [f"{k}: {word}" for k, word in FATES.items()]
        pairs = dict(zip(self.names, self.axes, strict=True))
        return xarray.DataArray(self.labels, pairs, self.names, "basin", {"labels": words})

    def uncertainty_exponent(self, most: int = 8) -> Fit:
        """Fit the uncertainty exponent: how the share of points with another label nearby grows with the distance.

        Distances are counted in grid points, up to `most`. The exponent is 1 for a smooth basin boundary. For a fractal
        one it is the dimension of the grid minus that of the boundary.

        Source: C. Grebogi, S. McDonald, E. Ott and J. Yorke, Phys. Lett. A 99 (1983).

        Raises:
            ValueError: for a grid with one label only.
        """
        reach = np.arange(1, integer("most", most, least=3) + 1)
        spread = lambda k: (
            scipy.ndimage.maximum_filter(self.labels, 2 * k + 1, mode="nearest")
            != (scipy.ndimage.minimum_filter(self.labels, 2 * k + 1, mode="nearest"))
        )
        shares = np.array([float(np.mean(spread(int(k)))) for k in reach])
        if not shares[0] > 0:
            raise ArgumentError("basins", "have a boundary in the grid", "have one label only")
        slope, covariance = np.polyfit(np.log(reach), np.log(shares), 1, cov=True)
        return Fit(float(slope[0]), float(np.sqrt(covariance[0, 0])), "algebraic", len(reach))


@checked
@on_host_by_default
def basins(
    system: Any,  # checked here, in one sentence
    box: BoxLike,
    shape: Sequence[int],
    *,
    start: State | None = None,
    varied: Sequence[int] | None = None,
    search: Search = Search(),
    shown: bool | None = None,
) -> Basins:
    """Compute basins of attraction: the attractor that each point of a grid in a box leads to.

    Attractors are those of 64 points spread over the grid, and of points that lead to none of these. A point has the
    label of an attractor once it has stayed, for eight intervals, closer to it than a quarter of the distance from
    which perturbations came back; so no point is given to a saddle that it passes.

    Args:
        system: a flow, or a map in JAX; a forced flow is sampled at multiples of its period, from time 0.
        box: (low, high) for each axis of the grid, (axes, 2).
        shape: the number of points of each axis.
        start: a state with the values of the components that do not vary; without it all vary.
        varied: the indices in the flat state of the components that vary, by default the first ones.
        search: the options of the search.
        shown: a progress bar; None shows it on terminals only.

    Raises:
        ValueError: for bad input, or a box in which the system is nowhere defined.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import basins
        >>> found = basins(ds.FunctionFlow(lambda t, x: x - x**3), [(-2.0, 2.0)], (40,))
        >>> found.shares
        {0: 0.5, 1: 0.5}
    """
    kind = "whole numbers of points, one for each component that varies"
    sizes = tuple(integer("shape", n, least=2) for n in instance("shape", shape, Sequence | np.ndarray, kind))
    ends = box_sides("box", box, len(sizes)).T
    given = as_state("start", np.zeros(len(sizes)) if start is None else start)
    base = jax.tree.map(lambda y: jnp.asarray(y, float), given)
    flat, restored = ravel_pytree(base)
    which = list(range(len(sizes))) if varied is None else [integer("varied", k, least=0) for k in varied]
    if len(set(which)) != len(sizes) or max(which) >= flat.size:
        must = f"have {len(sizes)} different indices of the {flat.size} components"
        raise ArgumentError("varied", must, f"is {which}")
    axes = tuple(np.linspace(low, high, n) for (low, high), n in zip(ends, sizes, strict=True))
    states = grid_states(axes, np.asarray(flat), which)
    found = labelled(*set_up(system, jax.vmap(restored)(jnp.asarray(states)), search), search, shown)
    if np.all(found.labels == FAILED):
        raise ArgumentError("box", "hold states at which the system is defined", "holds none")
    known = components(system, base)
    return Basins(
        found.labels.reshape(sizes), axes, tuple(known.names[k] for k in which), found.attractors, found.others,
        found.interval, found.longest, found.extent, found.is_stiff, known, tuple(which), np.asarray(flat),
        MappingProxyType(dict(angles_of(system.space, base))),
    )  # fmt: skip


def touching(labels: Int[np.ndarray, "..."]) -> dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]]:
    """Find, for each pair of neighbouring basins on a grid, adjacent points in the first and in the second.

    Of all such pairs of points, it is the middle one in the order of the grid.
    """
    places: dict[tuple[int, int], list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for axis in range(labels.ndim):
        for index in np.ndindex(*(n - (k == axis) for k, n in enumerate(labels.shape))):
            beside = tuple(i + (k == axis) for k, i in enumerate(index))
            one, other = sorted((index, beside), key=lambda place: int(labels[place]))
            pair = int(labels[one]), int(labels[other])
            if 0 <= pair[0] < pair[1]:
                places.setdefault(pair, []).append((one, other))
    return {pair: places[pair][len(places[pair]) // 2] for pair in sorted(places)}


def labelled(
    time_map: TimeMap, flat: Float[np.ndarray, "starts n"], told: Search, shown: bool | None = None
) -> Attractors:
    """Label each start with the attractor that it reaches, searching for attractors on the way."""
    order = np.random.default_rng(0).permutation(len(flat))
    first = attractors_of(time_map, flat[order[:SAMPLES]], told)
    time_map = first.time_map
    run = _GridRun(time_map, flat, first)
    looks, next_look = 0, ROUND
    with progress(len(flat), "basins", unit="starts", shown=shown) as bar:
        while run.pending.size and run.begun < told.longest:
            bar.update(run.window())
            run.adapt(told)
            if run.begun >= next_look and run.pending.size and looks < LOOKS:
                looks, next_look = looks + 1, 4 * next_look
                some = np.random.default_rng(looks).permutation(run.pending)[:MORE]
                run.add(attractors_of(time_map, run.xs[some], told, run.attractors, run.extent))
                if not run.attractors:
                    break
                run.on_surfaces()
    run.end()
    return first._replace(
        attractors=tuple(run.attractors), others=tuple(run.others), labels=run.labels,
        other_reached=np.full(len(flat), -1), rates=np.full(len(flat), np.nan),
        interval=float(run.time_map.interval), is_stiff=first.is_stiff or run.is_stiff,
    )  # fmt: skip


def labels_of(
    time_map: TimeMap, flat: Float[np.ndarray, "starts n"], known: Attractors, told: Search
) -> Int[np.ndarray, " starts"]:
    """Label flattened starts, assuming that all attractors are known."""
    run = _GridRun(time_map, flat, known)
    while run.pending.size and run.begun < told.longest:
        run.window()
        run.adapt(told)
    run.end()
    return run.labels


class _GridRun:
    """All starts on their way, and the labels of those that have arrived."""

    def __init__(self, time_map: TimeMap, flat: np.ndarray, first: Attractors):
        """Begin with flat starts and the attractors of a first search."""
        self.time_map, self.xs, self.extent, self.begun = time_map, flat.copy(), first.extent, 0
        self.late, self.is_stiff = np.empty((0, 0, flat.shape[1])), False
        self.labels = np.full(len(flat), NOT_SETTLED)
        self.pending = np.arange(len(flat))
        self.attractors: list[LimitSet] = []
        self.others: list[LimitSet] = []
        self.lines: list[tuple[Line, float]] = []
        self.add(first)

    def add(self, found: Attractors) -> None:
        """Take over what a search found that is not known yet; what turned out to be an attractor is one only."""
        self.attractors = list(found.attractors)
        for other in found.others:
            if among_others(self.time_map, other, self.others, self.extent) < 0:
                self.others.append(other)
        known = lambda limit: undecided_set(limit) and among_attractors(limit, self.attractors, self.extent) >= 0
        self.others = [other for other in self.others if not known(other)]
        self.lines = [(Line(a, self.extent), reach(a, self.extent, self.attractors)) for a in self.attractors]

    def window(self) -> int:
        """Move the pending starts on and return how many have arrived."""
        before = self.xs[self.pending]
        states = self.time_map.window(before, self.begun)
        self.xs[self.pending] = states[-1]
        self.begun += WINDOW
        some = slice(None, None, -(-len(before) // SOME))
        self.late = np.concatenate([before[None, some], states[:, some]])
        escaped, failed = self.time_map.lost(states[-1])
        gone = escaped | failed
        if gone.any():
            states = np.where(gone[:, None], 0.0, states)
        self.labels[self.pending[escaped]], self.labels[self.pending[failed]] = ESCAPED, FAILED
        for place, (line, near) in enumerate(self.lines):
            here = np.flatnonzero(~gone)
            for state in states[::-1]:  # the last state already rules out most attractors
                if here.size:
                    here = here[line.distances(self.time_map.features_of(state[here]), near) <= near]
            self.labels[self.pending[here]] = place
            gone[here] = True
        self.pending = self.pending[~gone]
        return int(np.sum(gone))

    def adapt(self, told: Search) -> None:
        """Lengthen or shorten the intervals if those of the last window were too short or too long for its states."""
        if told.may_adapt(self.time_map) and self.pending.size and self.begun % OFTEN == 0:
            self.time_map, self.is_stiff = suited(self.time_map, self.late, self.xs[self.pending], self.extent)

    def on_surfaces(self, others: bool = False) -> None:
        """Label the starts at equilibria on known surfaces, with `others` also on surfaces that do not attract."""
        known = [*enumerate(self.attractors), *((NOT_ATTRACTING, other) for other in self.others if others)]
        for label, surface in known:
            if surface.kind == SURFACE and self.pending.size:
                on = leads_to(self.time_map, flat_states(surface.states)[0], self.xs[self.pending], self.extent)
                self.labels[self.pending[on]] = label
                self.pending = self.pending[~on]

    def end(self) -> None:
        """Label the starts on surfaces of equilibria, and at limit sets that do not attract or are undecided."""
        self.on_surfaces(others=True)
        for other in self.others if self.pending.size else ():
            line, is_open = Line(other, self.extent), other.stability == "undecided"
            close = reach(other, self.extent) if other.kind == CURVE or undecided_set(other) else ON_LIMIT
            near = line.distances(self.time_map.features_of(self.xs[self.pending])) <= close
            self.labels[self.pending[near]] = UNDECIDED if is_open else NOT_ATTRACTING
