"""Options of `dynsim continue`, in a module without heavy imports so that `--help` is quick."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from dynsim.cli.parsing.options import Force
from dynsim.cli.parsing.ranges import Range, named_range
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.system import SystemOptions
from dynsim.errors import ArgumentError, check_at_least, check_positive

if TYPE_CHECKING:
    from analysis.dynamics.continuation.steps import Steps

STARTS = 1000 * FLOAT  # bytes that each starting point of a search takes at least


@dataclass(frozen=True)
class Continue(SystemOptions):
    """Continue equilibria of a flow, or fixed points of a map, in a parameter, and draw the bifurcation diagram.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` or `module:name` of yours; every parameter of
    the system is an option of its own, such as `--rho 28` for `lorenz`. Branches start from all equilibria found at the
    system's own value of the parameter, or at the lower end of the range if that value lies outside. At branch points
    the other branches are continued too. `--from run.npz` continues instead the equilibrium or the periodic orbit
    that a run of `dynsim simulate` has reached, and `--cycle` the orbit to which the trajectory from `--start` leads.
    """

    parameter: str = ""
    """the continuation parameter with its range, NAME=LOW:HIGH"""
    component: str = ""
    """the component of the state that is drawn; by default the first"""
    y: Literal["range", "minimum", "maximum", "amplitude", "period", "frequency"] = "range"
    """what is drawn: that component with minimum and maximum of periodic orbits, one of these, half of their distance,
    or the period or frequency of the orbits"""
    window: tuple[float, ...] = ()
    """limits of that component in the figure; by default all of it except ends of branches that run far away"""
    levels: int = 2
    """how often to switch branches at branch points, or at period doublings of a map"""
    cycles: bool = False
    """continue the periodic orbits that emerge at Hopf points, too"""
    tori: bool = False
    """continue the tori that begin at Neimark-Sacker points of maps, or with `--cycles` of periodic orbits, too"""
    cycle: bool = False
    """continue the stable periodic orbit to which the trajectory from `--start` leads, instead of equilibria"""
    from_: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """a run file (.npz) of SYSTEM: continue the stable equilibrium or periodic orbit to which its final state leads;
    parameters that are not given are those of the run. Or a diagram file of `--out`: continue from its `--point`"""
    point: int | None = None
    """with `--from` a diagram file, the row of its table (`--out` with .csv) to start from, counted from 1: a point or
    a bifurcation of any branch; it may be continued in another parameter"""
    longest: int = 4096
    """with `--cycle` or `--from`, for how many steps the trajectory is followed until it has settled"""
    method: Literal["auto", "shooting", "collocation"] = "auto"
    """how periodic orbits are computed: by multiple shooting, or by collocation on a mesh that is adapted, for stiff
    systems, long periods and large multipliers; auto changes from shooting to collocation where shooting ends"""
    segments: int = 12
    """number of shooting segments of a periodic orbit, or first number of intervals of a mesh"""
    max_period: float | None = None
    """longest period, at which branches of periodic orbits and curves of their bifurcations end; by default 1000 units
    of time, which are rescaled if the system's rates are far from 1"""
    rtol: float = 1e-10
    """relative tolerance of the solver along periodic orbits"""
    atol: float | None = None
    """absolute tolerance of that solver; by default a hundredth of the relative one, in units near the size of the
    orbit"""
    second: str = ""
    """a second parameter with its range, NAME=LOW:HIGH: continue the bifurcations (with `--cycles`, of
    periodic orbits too) in the plane of both parameters, and draw the curves there"""
    switch_curves: bool = False
    """continue also the curves that meet those of `--second` at Bogdanov-Takens, fold-Hopf and double Hopf points, and
    the homoclinic orbits that begin at the first of these, also where their saddle becomes a saddle-node"""
    counts: int = 0
    """grid points per side of a map of the number of stable equilibria over both parameters; 0 for no map"""
    against: str = ""
    """a second parameter with its values, NAME=LOW:HIGH:COUNT (11 by default): continue the equilibria for each of
    them, all branches at once, and draw them together"""
    step: float = 0.05
    """first step along a branch, in the norm of state and parameter; badly scaled systems are rescaled first"""
    max_step: float | None = None
    """largest step along a branch; by default four times the first, or a hundredth of the parameter range"""
    max_points: int = 1000
    """largest number of points of a branch in each direction; branches that reach it are reported"""
    max_orbit_points: int = 1000
    """largest number of points of a branch of periodic orbits"""
    max_tori: int = 100
    """largest number of tori of a branch"""
    mark: tuple[str, ...] = ()
    """formulas of components and parameters, such as "x - 1", "x = 1" or "rho = 13.9": branches are marked where they
    vanish or hold; along periodic orbits formulas of `period` and parameters"""
    stop: tuple[str, ...] = ()
    """conditions such as "x > 3" or "period > 50": branches end where one of them begins to hold"""
    box: tuple[float, ...] = ()
    """bounds of each component in the search for equilibria or fixed points; by default the window of the catalogue,
    or the whole space"""
    num_starts: int = 32
    """number of random starting points in each round of the search for equilibria"""
    resume: Path | None = None
    """a diagram file of `--out` whose branches, periodic orbits and curves in `--second` are extended to the new
    ranges, and beyond the largest number of points"""
    out: Path | None = None
    """the file to write: a diagram file (.npz) with branches, orbits, and curves in `--second`, or a table (.csv or
    .parquet) of the branches with minimum, maximum, amplitude, period and frequency"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write"""
    torus_figure: Path | None = None
    """the figure (.pdf, .svg or .png) of the last torus of each branch of `--tori`: of a flow a surface, of a map the
    closed curve; further branches get a number, `torus-2.png`"""
    movie: Path | None = None
    """a movie (.gif) to write, in which the diagram grows with the parameter"""
    force: Force = False

    @property
    def of_cycle(self) -> bool:
        """Whether one periodic orbit is continued instead of equilibria."""
        return self.cycle or self.from_ is not None

    @property
    def varied(self) -> Range:
        """The continuation parameter and its range."""
        return named_range(self.parameter, "parameter", ascending=True)

    @property
    def varied_too(self) -> Range:
        """The second parameter and its range."""
        return named_range(self.second, "second", ascending=True)


def check_numbers(o: Continue) -> None:
    """Raise `ValueError` for step sizes, counts and limits that no continuation can use."""
    check_positive(step=o.step, max_step=o.max_step, max_period=o.max_period, rtol=o.rtol)
    counts = ("max_points", "max_orbit_points", "max_tori")
    for least, name in (*((2, one) for one in counts), (3, "segments"), (0, "levels"), (1, "num_starts")):
        check_at_least(least, **{name: getattr(o, name)})
    check_memory(lambda num_starts: STARTS * num_starts, num_starts=o.num_starts)
    if o.window and (len(o.window) != 2 or not -math.inf < o.window[0] < o.window[1] < math.inf):
        said = ", ".join(f"{end:g}" for end in o.window)
        raise ArgumentError("window", "be two finite numbers, the smaller first", f"is {said}")
    if o.atol is not None and o.method == "collocation":
        raise ArgumentError("atol", "be left out with `--method collocation`, which has no solver", f"is {o.atol:g}")
    if o.y != "range" and o.second:
        raise ArgumentError("y", "be left out with `--second`", f"is `{o.y}`")
    if o.y in ("period", "frequency") and not (o.cycles or o.of_cycle or o.resume):
        raise ArgumentError("y", "be given with `--cycles`, `--cycle` or `--from` if it is a time", f"is `{o.y}`")
    if o.torus_figure is not None and not o.tori:
        raise ArgumentError("tori", "be given with `--torus-figure`", "is not")
    if o.window and o.second:
        raise ArgumentError("window", "be left out with `--second`", "is given")


def steps_of(o: Continue) -> "Steps":
    """Collect the step sizes and the number of points along a branch."""
    from analysis.dynamics.continuation.steps import Steps

    return Steps(first=o.step, largest=o.max_step, points=o.max_points)


def steps_of_orbits(o: Continue) -> "Steps":
    """Collect the same for branches of periodic orbits."""
    return replace(steps_of(o), points=o.max_orbit_points)
