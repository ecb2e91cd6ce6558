"""Find cycles of growth and pruning in runs of the growing system: the same events repeated with the same heads."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.validation import integer
from dynsim.simulation.growing import flow_of
from dynsim.simulation.hybrid_trajectory import HybridTrajectory


class GrowthHistory(NamedTuple):
    """Phases of a run: the time at which each begins, its number of heads, and the residual |A_res|_2."""

    times: Float[np.ndarray, " phases"]
    heads: Int[np.ndarray, " phases"]
    residuals: Float[np.ndarray, " phases"]

    __repr__ = one_line
    __str__ = report


class EventCycle(NamedTuple):
    """Sequence of events that repeats until the end of a run, in order, and the mean time of one repeat.

    `repeats` counts complete repeats, 0 if the run ends in no cycle. `drift` is the largest difference, between the
    repeats, of the residual |A_res|_2 before the first event of the word: 0 where pruning gives back what growth took.
    """

    word: tuple[str, ...]
    repeats: int
    period: float
    drift: float

    __repr__ = one_line

    @property
    def found(self) -> bool:
        """Whether the run ends in a cycle."""
        return self.repeats > 0

    def __str__(self) -> str:
        """Describe the cycle in one sentence."""
        if not self.found:
            return "The run does not end in a cycle of growth and pruning."
        times = f"{self.repeats} times, {self.period:.3g} apart"
        return f"The run ends in a cycle: {', '.join(self.word)}, {times}; the residual comes back to {self.drift:.1g}."


@checked
def growth_history(path: HybridTrajectory) -> GrowthHistory:
    """List times, numbers of heads and residuals of the phases of a run of a `GrowingFlow`.

    Example:
        >>> import dynsim as ds
        >>> from analysis.growing import growth_history
        >>> rules = ds.growing.GrowthRules(gate="ideal", capacity=1, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> history = growth_history(ds.growing.descend(flow, flow.start(ds.random_key(0, "state")), 2))
        >>> history.heads.tolist(), history.residuals.round(4).tolist()  # one head, which captures the only plane
        ([1], [0.0])
    """
    flows = [flow_of(phase) for phase in path.phases]
    return GrowthHistory(
        np.array([float(phase.ts[0]) for phase in path.phases]),
        np.array([int(np.sum(np.asarray(flow.active))) for flow in flows]),
        np.array([float(flow.dominant) for flow in flows]),
    )


@checked
def growth_cycle(path: HybridTrajectory, *, least_repeats: int = 3, tolerance: float = 1e-6) -> EventCycle:
    """Find the cycle of growth and pruning in which a run ends: the shortest word of events that repeats, if any.

    A word counts if it has as many growth as pruning events, at least one of each, if it occurs at least
    `least_repeats` times in a row at the end, and if the residual before it is the same each time up to `tolerance`.

    Args:
        path: the run, from `simulate_growing` or `descend`.
        least_repeats: smallest number of repeats in a row at the end of the run.
        tolerance: largest difference of the residual between repeats.

    Example:
        >>> import dynsim as ds
        >>> from analysis.growing import growth_cycle
        >>> rules = ds.growing.GrowthRules(gate="ideal", capacity=1, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> growth_cycle(ds.growing.descend(flow, flow.start(ds.random_key(0, "state")), 2)).repeats  # none is pruned
        0
    """
    integer("least_repeats", least_repeats, least=1)
    names = [jump.name for jump in path.jumps]
    for length in range(2, len(names) // least_repeats + 1):
        word = tuple(names[-length:])
        repeats = _repeats(names, word)
        if word.count("grow") == word.count("prune") > 0 and repeats >= least_repeats:
            found = _cycle(path, word, repeats)
            if found.drift <= tolerance:
                return found
    return EventCycle((), 0, np.nan, np.nan)


def _repeats(names: list[str], word: tuple[str, ...]) -> int:
    """Count how often a word occurs in a row at the end."""
    count, length = 0, len(word)
    while tuple(names[len(names) - (count + 1) * length : len(names) - count * length]) == word:
        count += 1
    return count


def _cycle(path: HybridTrajectory, word: tuple[str, ...], repeats: int) -> EventCycle:
    begins = path.jumps[len(path.jumps) - repeats * len(word) :: len(word)]
    times = [jump.time for jump in begins]
    before = {float(phase.ts[-1]): float(flow_of(phase).dominant) for phase in path.phases}
    levels = [before[time] for time in times if time in before]
    drift = max(levels) - min(levels) if levels else 0.0
    return EventCycle(word, repeats, float(np.mean(np.diff(times))), drift)
