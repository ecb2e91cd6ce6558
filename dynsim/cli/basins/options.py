"""The options of `dynsim basins`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.system import SystemOptions


@dataclass(frozen=True)
class BasinsOptions(SystemOptions):
    """Find the attractors of a system and draw their basins: dynsim basins mine.py:flow --box -2 2 -2 2 --shape 200.

    A forced flow needs `--period`, that of the forcing: its basins are those of the map over a period. Of a system with
    more components `--plane x z` draws a slice through `--start`. `--sample 1000` prints the shares of random starts in
    the box, with Wilson intervals, instead of a grid; with `--against h=-0.5:0.5` for values of a parameter, drawn with
    each attractor followed from value to value. `--edge` finds the saddles, or the chaotic sets, on the edges
    between the basins of a grid.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of a function, a flow or a map of yours; each
    of its parameters is an option of its own, such as `--delta 0.2`.
    """

    box: tuple[float, ...] = ()
    """the window: low and high of each axis; by default that of the catalogue"""
    shape: tuple[int, ...] = (200,)
    """the number of points of each axis, or one number for all"""
    plane: tuple[str, ...] = ()
    """the names of the components of the axes, for a slice of a higher system"""
    period: float = 0.0
    """the period of the forcing, for a flow that depends on time"""
    wrapped: tuple[str, ...] = ()
    """components that are angles, with their periods: angle=6.283185"""
    longest: int = 4096
    """the most intervals, steps or periods for which a start is followed"""
    escape: float = 0.0
    """the size of a state from which on it has escaped; by default 1e8 times that of the window, 1e4 at a blow-up"""
    sample: int = 0
    """number of random starts in the box, instead of a grid"""
    against: str = ""
    """a parameter with its range, NAME=LOW:HIGH or NAME=LOW:HIGH:COUNT (11 values), against which the shares among the
    random starts are drawn"""
    edge: bool = False
    """whether the edge states between basins that touch on the grid are found and drawn, by edge tracking"""
    rtol: float = 1e-6
    """relative tolerance; the absolute tolerance is a hundredth of it"""
    integrator: Literal["diffrax", "stiff"] = "diffrax"
    """the integrator of a flow; stiff (implicit) is for stiff flows"""
    figure: Path = Path("basins.png")
    """the figure (.pdf, .svg or .png) to write; of `--sample` only with `--against`"""
    out: Path | None = None
    """a file (.npz) for the labels and the axes of the grid, with edge states, or for the shares of `--sample`"""
    force: bool = False
    """replace existing files that dynsim did not write"""
