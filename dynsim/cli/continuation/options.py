"""The options of `dynsim continue`, in a module that loads nothing heavy: `--help` is quick."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dynsim.cli.parsing.ranges import Range, named_range
from dynsim.cli.parsing.system import SystemOptions
from dynsim.errors import ArgumentError, check_at_least, check_positive

if TYPE_CHECKING:
    from analysis.dynamics.continuation.steps import Steps


@dataclass(frozen=True)
class Continue(SystemOptions):
    """Follow the equilibria of a flow, or the fixed points of a map, in a parameter, and draw the bifurcation diagram.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` or `module:name` of yours; every parameter of
    the system is an option of its own, such as `--rho 28` for `lorenz`. Branches begin at all equilibria found at the
    system's own value of the parameter, or at the lower end of its range if it is out of range, and are switched at
    branch points.
    """

    parameter: str = ""
    """the parameter that varies with its range, NAME=LOW:HIGH"""
    component: str = ""
    """the component of the state that is drawn; by default the first"""
    window: tuple[float, ...] = ()
    """low and high of that component in the figure; by default all of it, but for ends of branches that run far away"""
    levels: int = 2
    """how often branches are switched at branch points, or at period doublings of a map"""
    cycles: bool = False
    """whether the periodic orbits that begin at Hopf points are followed too"""
    segments: int = 12
    """nodes of a periodic orbit"""
    max_period: float | None = None
    """the period at which branches of periodic orbits, and curves of their bifurcations, end; by default 1000 units of
    time, those of the branch or curve"""
    second: str = ""
    """a second parameter with its range, NAME=LOW:HIGH, in which bifurcations are followed, with `--cycles` those of
    periodic orbits too; the figure is that of the plane of both"""
    counts: int = 0
    """points of a side of a grid of both parameters, with the numbers of stable equilibria found; 0 for none"""
    step: float = 0.05
    """the first step along a branch, in the norm of the state and the parameter together, in units near their sizes
    where these are far from one"""
    max_step: float | None = None
    """the largest step along a branch; by default four times the first, or a hundredth of the width of the bounds"""
    max_points: int = 1000
    """the cap on points of a branch in each direction; branches that reach it are named"""
    max_orbit_points: int = 1000
    """the cap on points of a branch of periodic orbits"""
    box: tuple[float, ...] = ()
    """low and high of each component, between which equilibria or fixed points are looked for; by default the window of
    the catalogue, or the whole space"""
    num_starts: int = 32
    """random starts of a search for equilibria, in each round"""
    resume: Path | None = None
    """a file of `--out`, whose branches, and curves in `--second`, go on to the new ranges"""
    out: Path | None = None
    """the diagram file (.npz) to write: branches, orbits, and curves in `--second`"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write"""
    movie: Path | None = None
    """a movie (.gif) to write, in which the diagram grows with the parameter"""
    force: bool = False
    """replace existing files that dynsim did not write"""

    @property
    def varied(self) -> Range:
        """The parameter that varies, and its range."""
        return named_range(self.parameter, "parameter", ascending=True)

    @property
    def varied_too(self) -> Range:
        """The second parameter, and its range."""
        return named_range(self.second, "second", ascending=True)


def check_numbers(o: Continue) -> None:
    """Raise `ValueError` for numbers with which no branch can be followed."""
    check_positive(step=o.step, max_step=o.max_step, max_period=o.max_period)
    for least, name in ((2, "max_points"), (2, "max_orbit_points"), (3, "segments"), (0, "levels"), (1, "num_starts")):
        check_at_least(least, **{name: getattr(o, name)})
    if o.window and (len(o.window) != 2 or not -math.inf < o.window[0] < o.window[1] < math.inf):
        said = ", ".join(f"{end:g}" for end in o.window)
        raise ArgumentError("window", "be two finite numbers, the first the less", f"is {said}")
    if o.window and o.second:
        raise ArgumentError("window", "be left out with `--second`", "is given")


def steps_of(o: Continue) -> "Steps":
    """Return the steps along a branch that the options give."""
    from analysis.dynamics.continuation.steps import Steps

    return Steps(first=o.step, largest=o.max_step, points=o.max_points)
