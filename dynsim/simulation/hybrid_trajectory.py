"""Runs of hybrid systems: phases, the transitions between them, and the recipe for computing them again."""

import enum
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim.errors import counted
from dynsim.notebook import picture, plot
from dynsim.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from figures.artists import Artists

SHOWN = 8  # number of last transitions that a message names


class AbstractRecipe(eqx.Module):
    """The arguments of a hybrid run: everything that another process needs to compute it again."""

    @abstractmethod
    def again(self) -> "HybridTrajectory":
        """Compute the run again."""


class Jump(eqx.Module):
    """A transition that has occurred: its index and name, its time, and the states before and after it.

    `time_error` estimates the error of the time if it was requested, and is None otherwise. `by_reset` says that a
    reset at the same time has moved the guard across zero, or onto it, and not the flow.
    """

    index: int = eqx.field(static=True)
    name: str = eqx.field(static=True)
    time: float = eqx.field(static=True)
    before: State
    after: State
    time_error: float | None = eqx.field(static=True, default=None)
    by_reset: bool = eqx.field(static=True, default=False)

    __repr__ = one_line
    __str__ = report


class Ending(enum.Enum):
    """How a run of a hybrid system ended."""

    FINISHED = "the last time was reached"
    TERMINAL = "a terminal transition occurred"
    CAPPED = "the cap on the number of transitions was reached"
    ACCUMULATED = "the last transition recurs immediately after its reset, as where transitions accumulate"


class HybridTrajectory(eqx.Module):
    """A run of a hybrid system: one trajectory for each phase, and the transitions between them in order.

    Phase k + 1 starts at the time of transition k, in the state after it. Phases of zero length, between two
    simultaneous transitions, are omitted. `recipe` is what a rerun needs; None for a run assembled by hand.
    """

    phases: tuple[Trajectory, ...]
    jumps: tuple[Jump, ...]
    ending: Ending = eqx.field(static=True)
    recipe: AbstractRecipe | None = None

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the components over time, or the path in state space, into axes; transitions are dotted.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib, or one for each component; without any, a figure with both pictures is made.
            options: the parts `lines`, `jumps`, `errors`, `start` and `end`. A part is left out by False, and styled
                by properties of matplotlib, `jumps={"linewidth": 2}`. Also `colour`, `legend`, `labels`, `limits` and
                `title`, which may all be switched off; `components`, `path`, `smooth` and properties of lines as for
                a `Trajectory`. A run of growing heads shows their temperatures, with the parts `lines` and `least`
                and without `components` and `path`.

        Returns:
            The artists of each part by name, such as `drawn.jumps`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or a result that holds nothing to draw.
        """
        return plot(self, ax, **options)

    @property
    def initial(self) -> State:
        """The initial state."""
        return self.jumps[0].before if self._begins_with_a_jump else self.phases[0].initial

    @property
    def final(self) -> State:
        """The final state."""
        return self.jumps[-1].after if self._ends_in_a_jump else self.phases[-1].final

    @property
    def _begins_with_a_jump(self) -> bool:
        return bool(self.jumps) and (not self.phases or self.jumps[0].time <= float(self.phases[0].ts[0]))

    @property
    def _ends_in_a_jump(self) -> bool:
        return bool(self.jumps) and (not self.phases or self.jumps[-1].time >= float(self.phases[-1].ts[-1]))

    def along(self, fn: Callable[[State], PyTree]) -> tuple[np.ndarray, PyTree]:
        """Times of all phases and `fn(x)` at them; a transition contributes the states before and after it.

        `fn` must return arrays whose shapes do not depend on the phase. A run that ends at its start, without a phase,
        has the states before and after its transitions.
        """
        if not self.phases:
            values = [jax.tree.map(np.asarray, fn(x)) for x in (self.initial, self.final)]
            return np.full(2, self.jumps[-1].time), jax.tree.map(lambda *parts: np.stack(parts), *values)
        ts = np.concatenate([np.asarray(path.ts) for path in self.phases])
        values = [path.along(fn) for path in self.phases]
        return ts, jax.tree.map(lambda *parts: np.concatenate([np.asarray(part) for part in parts]), *values)

    def times(self, name: str) -> np.ndarray:
        """Times of the transitions of one name."""
        return np.array([jump.time for jump in self.jumps if jump.name == name])

    def __str__(self) -> str:
        """Describe in one sentence how the run ended, when, and after which transitions."""
        end = max([jump.time for jump in self.jumps[-1:]] + [float(path.ts[-1]) for path in self.phases[-1:]])
        count = counted(len(self.jumps), "transition")
        said = f"The run ended at t = {end:.6g} after {count}: {self.ending.value}"
        if self.ending is not Ending.CAPPED:
            return f"{said}."
        return f"{said}; {_cycle(self.jumps)}."


def _cycle(jumps: Sequence[Jump]) -> str:
    """Describe the last transitions, and whether the times between them shrink."""
    last = jumps[-SHOWN:]
    names = ", ".join(jump.name for jump in last)
    gaps = np.diff([jump.time for jump in last])
    if len(gaps) and np.all(gaps == 0):
        return f"the last ones, {names}, occurred at the same time: a dwell time separates them"
    if len(gaps) > 2 and np.all(gaps[1:] < 0.999 * gaps[:-1]):
        ratio = gaps[-1] / gaps[-2]
        limit = last[-1].time + gaps[-1] * ratio / (1 - ratio)
        return f"the last ones, {names}, accumulate near t = {limit:.6g} (Zeno behaviour)"
    return f"the last ones were {names}, {np.mean(gaps):.3g} apart" if len(gaps) else f"the last one was {names}"
