"""Options of `dynsim sweep`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.cli.parsing.options import Atol, Force, Frames
from dynsim.cli.parsing.system import SystemOptions


@dataclass(frozen=True)
class Sweep(SystemOptions):
    """Simulate a system, or evaluate a function of yours, at every point of a grid of parameters.

    Each parameter is an option with its values, such as `--rho 10 20 28`, or evenly spaced ones, `--rho 0:30` (11
    values) or `--rho 0:30:61`; the grid is their product. The final value of every component and its mean, minimum and
    maximum over the second half of the run are kept (for tokens, of the diameter and E). An interrupted sweep with
    `--out` resumes.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` or `module:name` of yours: a function f(t, x),
    whose further arguments with defaults are parameters, or a flow or a map. `--function file.py:name` is evaluated
    instead of a system: a function of the parameters (and of `key`, with `--seeds`) that returns numbers.
    """

    system: Annotated[str, tyro.conf.Positional] = ""
    """name of a system of the catalogue or of a paper (`dynsim list systems`), or `file.py:name`"""
    function: str = ""
    """a function of the parameters, `file.py:name` or `module:name`, to evaluate instead of a system"""
    seeds: int = 0
    """number of seeds: the system starts at a random state of its size, or the function receives a random `key`"""
    vectorised: bool = False
    """evaluate each chunk of points in one compiled call; the function must be written in JAX"""
    chunk: int | None = None
    """number of points that are evaluated and saved together"""
    units: tuple[str, ...] = ()
    """units of the components, for a function of yours, and of parameters and results as NAME=UNIT"""
    begin: float = 0.0
    """initial time"""
    end: float = 100.0
    """final time; one before the initial time integrates backwards. For a map, the number of steps"""
    frames: Frames = 401
    rtol: float = 1e-9
    """relative tolerance of a run"""
    atol: Atol = None
    max_steps: int | None = None
    """largest number of integrator steps in a run, by default 100,000"""
    reduced: bool = False
    """measure angles modulo their periods: the mean on the circle, and the range around it"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: curves if one parameter has several values, maps if two have"""
    show: tuple[str, ...] = ()
    """results, or components of a system, to draw; by default the first six"""
    out: Path | None = None
    """the netCDF file (.nc) or table (.csv, .parquet or .npz) to write; finished points are kept beside it"""
    force: Force = False
    cluster: str | None = None
    """the address of the scheduler of a Dask cluster, on whose workers the points are evaluated (extra `cluster`)"""

    @property
    def what(self) -> str:
        """The function or the system."""
        return self.function or self.system
