"""`dynsim chaos`: the 0-1 test for chaos of a component of a trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass

from dynsim.cli.parsing.system import parse_system
from dynsim.cli.series.options import SeriesOptions, finish, trajectory


@dataclass(frozen=True)
class ChaosTest(SeriesOptions):
    """Test a trajectory for chaos by the 0-1 test of Gottwald and Melbourne: dynsim chaos logistic --r 3.97.

    K is near 1 for chaos, near 0 for regular motion. A flow is sampled at intervals at which its component is no longer
    correlated, because too fine samples look regular.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of yours; each of its parameters is an option
    of its own.
    """

    count: int = 10_000
    """number of times, or steps of a map"""
    component: str = ""
    """the component; by default the first"""
    every: int | None = None
    """number of samples between those that are tested; by default found from the autocorrelation of a flow"""
    frequencies: int = 100
    """number of random frequencies, of whose correlations K is the median"""


def main(words: Sequence[str]) -> int:
    """Compute, print and draw the outcome of the test."""
    o = parse_system(ChaosTest, words, "chaos")
    run, name = trajectory(o, "chaos")
    from analysis.dynamics.series.chaos_test import zero_one_test

    found = zero_one_test(run, o.component or 0, every=o.every, frequencies=o.frequencies, seed=o.seed)
    return finish(o, found, f"0-1 test of {name}")
