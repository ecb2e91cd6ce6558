"""Options of `dynsim basins`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import Force, Rtol
from dynsim.cli.parsing.system import SystemOptions


@dataclass(frozen=True)
class BasinsOptions(SystemOptions):
    """Find the attractors of a system and draw their basins: dynsim basins mine.py:flow --box -2 2 -2 2 --shape 200.

    A forced flow needs `--period`, the period of the forcing; its basins are those of the map over one period. For a
    system with more than two components, `--plane x z` draws a slice through `--start`. Instead of a grid,
    `--sample 1000` prints basin fractions of random starts in the box, with Wilson intervals; `--against h=-0.5:0.5`
    plots them against a parameter and matches attractors from value to value. `--edge` finds the edge states (saddles
    or chaotic sets) on the boundaries between basins.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of a function, a flow or a map of yours; each
    of its parameters is an option of its own, such as `--delta 0.2`.
    """

    box: tuple[float, ...] = ()
    """the window: lower and upper bound of each axis; by default the catalogue's"""
    shape: tuple[int, ...] = (200,)
    """number of grid points of each axis, or one number for all axes"""
    plane: tuple[str, ...] = ()
    """names of the components on the axes, for a slice of a system with more components"""
    period: float = 0.0
    """period of the forcing, for a time-dependent flow"""
    longest: int = 4096
    """largest number of intervals, steps or forcing periods for which a start is integrated"""
    escape: float = 0.0
    """norm beyond which a state has escaped; by default 1e8 times the size of the window, 1e4 times at a blow-up"""
    sample: int = 0
    """number of random starts in the box, for basin fractions instead of a grid"""
    against: str = ""
    """plot the basin fractions against a parameter: NAME=LOW:HIGH (11 values) or NAME=LOW:HIGH:COUNT"""
    edge: bool = False
    """find the edge states between touching basins by edge tracking, and draw them"""
    rtol: Rtol = 1e-6
    atol: float | None = None
    """absolute tolerance; by default a hundredth of the relative one, in units near the ranges of the starts"""
    integrator: Literal["diffrax", "stiff"] = "diffrax"
    """the integrator of a flow: diffrax (explicit), or stiff (implicit) for stiff flows"""
    figure: Path = Path("basins.png")
    """the figure (.pdf, .svg or .png) to write; with `--sample`, only together with `--against`"""
    out: Path | None = None
    """a file to write: labels and axes of the grid with edge states (.npz), a table of the labels (.csv or .parquet),
    or the fractions of `--sample`"""
    force: Force = False
