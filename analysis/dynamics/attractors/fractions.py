"""Estimate basin fractions from random starts, with Wilson confidence intervals, also along a parameter."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.stats import binomtest

from analysis.dynamics.attractors.basins import labelled
from analysis.dynamics.attractors.distances import Followed, relabelled, set_distance
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search, set_up
from analysis.dynamics.attractors.search import FATES, Attractors, attractors_of, held_back
from analysis.dynamics.flow_maps.time_map import TimeMap
from analysis.dynamics.scaling.flat import flat_states
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, Key, State
from dynsim._core.validation import choice, function, instance, integer, random_key, reals
from dynsim.errors import ArgumentError, counted
from dynsim.notebook import picture, plot
from dynsim.systems.parameter import Parameter

if TYPE_CHECKING:
    from figures.artists import Artists


class Fractions(NamedTuple):
    """Basin fractions among random starts: the count of each label, and the Wilson interval of its share.

    Labels are indices of `attractors`, or negative keys of `FATES`. `is_stiff` is as in `Attractors`.
    """

    labels: Int[np.ndarray, " labels"]
    counts: Int[np.ndarray, " labels"]
    total: int
    low: Float[np.ndarray, " labels"]
    high: Float[np.ndarray, " labels"]
    confidence: float
    attractors: dict[int, LimitSet]
    is_stiff: bool = False

    __repr__ = one_line

    @property
    def shares(self) -> Float[np.ndarray, " labels"]:
        """Share of the starts with each label."""
        return self.counts / self.total

    def __str__(self) -> str:
        """Describe the shares with their intervals in one line."""
        rows = zip(self.labels, self.shares, self.low, self.high, strict=True)
        parts = [f"{share:.4g} [{a:.4g}, {b:.4g}] {self.named(int(k))}" for k, share, a, b in rows]
        parts += filter(None, [held_back(self.is_stiff, self.labels)])
        return f"{counted(self.total, 'start')}, {self.confidence:.3g} intervals: " + "; ".join(parts)

    def named(self, label: int) -> str:
        """Describe the attractor, or the other outcome, that a label stands for."""
        return str(self.attractors[label]) if label >= 0 else FATES[label]


@on_host_by_default
def basin_fractions(
    system: Any,  # checked here, in one sentence
    sampler: Callable[[Key], State],
    count: int,
    key: Key,
    *,
    confidence: float = 0.95,
    search: Search = Search(),
    shown: bool | None = None,
) -> Fractions:
    """Estimate basin fractions from random starts, with Wilson intervals.

    Args:
        system: a flow, or a map in JAX.
        sampler: a function of a random key in JAX that returns a start.
        count: how many starts.
        key: the random key of the starts.
        confidence: that of each interval.
        search: the options of the search.
        shown: a progress bar; None shows it on terminals only.

    Raises:
        ValueError: for bad input.

    Example:
        >>> import jax
        >>> import dynsim as ds
        >>> from analysis.dynamics import basin_fractions
        >>> def uniform(key):
        ...     return jax.random.uniform(key, (1,), minval=-1.0, maxval=3.0)
        >>> flow = ds.FunctionFlow(lambda t, x: x - x**3)  # three starts in four are positive
        >>> found = basin_fractions(flow, uniform, 200, ds.random_key(0, "starts"))
        >>> found.labels.tolist(), found.counts.tolist(), round(float(found.low[0]), 3), round(float(found.high[0]), 3)
        ([0, 1], [162, 38], 0.75, 0.858)
    """
    function("sampler", sampler, "a random key")
    starts = jax.vmap(sampler)(jax.random.split(random_key("key", key), integer("count", count, least=1)))
    found = labelled(*set_up(system, starts, search), search, shown)
    return _fractions(found.labels, dict(enumerate(found.attractors)), confidence, found.is_stiff)


def _fractions(labels: np.ndarray, attractors: dict[int, LimitSet], confidence: float, is_stiff: bool) -> Fractions:
    if not 0 < confidence < 1:
        raise ArgumentError("confidence", "lie between 0 and 1", f"is {confidence}")
    kinds = np.array([*attractors, *(k for k in FATES if np.any(labels == k))], int)
    counts = np.array([int(np.sum(labels == k)) for k in kinds], int)
    ends = [binomtest(int(c), len(labels)).proportion_ci(confidence, method="wilson") for c in counts]
    low, high = (np.array([float(getattr(end, side)) for end in ends]) for side in ("low", "high"))
    return Fractions(kinds, counts, len(labels), low, high, confidence, attractors, is_stiff)


class FractionCurves(NamedTuple):
    """Basin fractions along a parameter, (values, labels), with Wilson intervals; NaN where a label is absent.

    Each label is one attractor, matched from value to value: `attractors[i][label]` is that attractor at the value i,
    and is missing where it does not exist. The last labels are negative keys of `FATES`. `is_stiff` is true if it is
    true in `Attractors` at any value. `name` and `unit` are those of the parameter.
    """

    parameters: Float[np.ndarray, " values"]
    labels: Int[np.ndarray, " labels"]
    shares: Float[np.ndarray, "values labels"]
    low: Float[np.ndarray, "values labels"]
    high: Float[np.ndarray, "values labels"]
    attractors: tuple[dict[int, LimitSet], ...]
    is_stiff: bool = False
    name: str = "parameter"
    unit: str = ""

    __repr__ = one_line
    __str__ = report
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the basin fractions with their intervals against the parameter into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the parts `lines` and `bands`; `colour`; `names` of basins by label.
        """
        return plot(self, ax, **options)


@on_host_by_default
def continued_fractions(
    parameter: Parameter,
    values: ArrayLike,
    sampler: Callable[[Key], State],
    count: int,
    key: Key,
    *,
    matching: str = "distance",
    furthest: float = 0.2,
    confidence: float = 0.95,
    search: Search = Search(),
) -> FractionCurves:
    """Estimate basin fractions at values of a parameter, with attractors matched from value to value.

    Args:
        parameter: the parameter of a flow, or of a map in JAX, and its range.
        values: its values, in the order in which attractors are followed.
        sampler: a function of a random key in JAX that returns a start.
        count: how many starts, the same for every value.
        key: the random key of the starts.
        matching: `distance` pairs attractors whose sets are nearest, up to `furthest` extents; `enclosure` gives an
            attractor the label of the one before whose points it attracts, the most of them.
        furthest: see `matching`.
        confidence: that of each interval.
        search: the options of the search.

    Raises:
        ValueError: for bad input.

    Example:
        >>> import jax
        >>> import dynsim as ds
        >>> from analysis.dynamics import continued_fractions
        >>> def uniform(key):
        ...     return jax.random.uniform(key, (1,), minval=-2.0, maxval=2.0)
        >>> def tilted(t, x, h=0.0):
        ...     return x - x**3 + h
        >>> h = ds.Parameter(ds.FunctionFlow(tilted, parameters={"h": 0.0}), "h", -1.0, 1.0)
        >>> found = continued_fractions(h, [0.0, 0.5], uniform, 50, ds.random_key(0, "starts"))
        >>> found.shares.round(2).tolist()
        [[0.5, 0.5], [nan, 1.0]]
    """
    instance("parameter", parameter, Parameter, "a `Parameter` of a system")
    at = np.asarray(reals("values", values), float)
    if at.ndim != 1 or not len(at):
        raise ArgumentError("values", "have shape (values,) with at least one", f"has shape {at.shape}")
    if not np.all((at >= parameter.low) & (at <= parameter.high)):
        must = f"lie in the range of the parameter, {parameter.low:g} to {parameter.high:g}"
        raise ArgumentError("values", must, f"go from {np.min(at):g} to {np.max(at):g}")
    choice("matching", matching, ("distance", "enclosure"))
    function("sampler", sampler, "a random key")
    starts = jax.vmap(sampler)(jax.random.split(random_key("key", key), integer("count", count, least=1)))
    rows: list[tuple[dict[int, LimitSet], Fractions]] = []
    along = Followed(furthest)
    for value in at:
        time_map, flat = set_up(parameter.at(value), starts, search)
        found = labelled(time_map, flat, search)
        enclosed = matching == "enclosure"
        pairs = _enclosed(time_map, list(along.known.values()), found, search) if enclosed else None
        names = along.labels(found.attractors, found.extent, pairs)
        followed = dict(zip(names, found.attractors, strict=True))
        rows.append((followed, _fractions(relabelled(found.labels, names), followed, confidence, found.is_stiff)))
    return _curves(at, rows)._replace(name=parameter.name, unit=parameter.unit)


def _enclosed(time_map: TimeMap, before: list[LimitSet], found: Attractors, told: Search) -> list[int]:
    """Match each attractor with the earlier one of whose points it attracts the most; -1 if it attracts no majority."""
    votes = np.zeros((len(found.attractors), len(before)))
    for column, old in enumerate(before):
        flat = flat_states(old.states)
        flat = flat[:: max(1, len(flat) // 32)]
        ends = attractors_of(time_map, flat, told, found.attractors, found.extent).labels
        for row in range(len(found.attractors)):
            votes[row, column] = np.mean(ends == row)
    pairs = [-1] * len(found.attractors)
    far = {rc: set_distance(found.attractors[rc[0]], before[rc[1]], found.extent) for rc in np.ndindex(votes.shape)}
    for row, column in sorted(far, key=lambda rc: (-round(float(votes[rc]), 1), far[rc])):
        if votes[row, column] > 0.5 and pairs[row] < 0 and column not in pairs:
            pairs[row] = column
    return pairs


def _curves(values: np.ndarray, rows: list[tuple[dict[int, LimitSet], Fractions]]) -> FractionCurves:
    labels = sorted({int(k) for _, f in rows for k in f.labels}, key=lambda k: (k < 0, abs(k)))
    tables = {name: np.full((len(values), len(labels)), np.nan) for name in ("shares", "low", "high")}
    for row, (_, fractions) in enumerate(rows):
        for place, label in enumerate(fractions.labels):
            for name, table in tables.items():
                table[row, labels.index(int(label))] = getattr(fractions, name)[place]
    followed = tuple(attractors for attractors, _ in rows)
    shares, low, high = (tables[name] for name in ("shares", "low", "high"))
    is_stiff = any(fractions.is_stiff for _, fractions in rows)
    return FractionCurves(values, np.array(labels, int), shares, low, high, followed, is_stiff)
