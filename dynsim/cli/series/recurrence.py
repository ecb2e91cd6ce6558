"""`dynsim recurrence`: compute the recurrence plot of a trajectory and the measures of its lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dynsim.cli.parsing.options import say
from dynsim.cli.parsing.system import parse_system
from dynsim.cli.series.options import SeriesOptions, finish, trajectory


@dataclass(frozen=True)
class Recurrence(SeriesOptions):
    """Compute the recurrence plot of a trajectory, with its measures: dynsim recurrence lorenz --rate 0.05.

    States recur if they are closer than a threshold, by default a tenth of the largest distance. Printed are the rate
    of recurrence, determinism, laminarity, and the lengths of diagonal and vertical lines.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of yours; each of its parameters is an option
    of its own.
    """

    count: int = 1000
    """number of times, or steps of a map, that are compared"""
    components: tuple[str, ...] = ()
    """the components that form a state; by default all"""
    threshold: float | None = None
    """largest distance of two states that recur"""
    rate: float | None = None
    """instead of the threshold: the share of pairs that recur"""
    norm: Literal["euclidean", "maximum"] = "euclidean"
    """the distance of two states"""
    delay: int = 1
    """number of samples between two delay coordinates"""
    dimension: int = 1
    """number of delay coordinates of each component; 1 for the states themselves"""
    theiler: int = 1
    """pairs closer in time than this many samples count in no measure"""
    shortest: int = 2
    """least number of points of a line"""


def main(words: Sequence[str]) -> int:
    """Compute, print and draw the recurrence plot."""
    o = parse_system(Recurrence, words, "recurrence")
    run, name = trajectory(o, "recurrence")
    from analysis.dynamics.series.recurrence import recurrence_plot

    found = recurrence_plot(
        run, o.components or None, threshold=o.threshold, rate=o.rate, norm=o.norm, delay=o.delay,
        dimension=o.dimension, theiler=o.theiler, shortest=o.shortest,
    )  # fmt: skip
    for word, value in found.measures.items():
        say(f"  {word.replace('_', ' '):<18}{value:.6g}")
    return finish(o, found, f"recurrence plot of {name}")
