"""Options of `dynsim sweep`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Sweep:
    """Evaluate a function of yours, or measure the run of a system, at every point of a grid of parameters.

    SYSTEM is `file.py:name` or `module:name` of a function of the parameters (and of `key`, with `--seeds`) that
    returns numbers, or of a flow or a map; or a name that `dynsim list systems` shows. Every other option is a
    parameter with its values, such as `--beta 1 2 4`, or evenly spaced ones, `--beta 1:4:7` (LOW:HIGH:COUNT); the grid
    is their product. For a system, the final value of every component and its mean, minimum and maximum over the second
    half of the run are kept (for tokens, of the diameter and E). An interrupted sweep with `--out` resumes.
    """

    system: Annotated[str, tyro.conf.Positional]
    """the function or the system"""
    seeds: int = 0
    """number of seeds: the function receives a random `key`, or the system starts at a random state"""
    vectorised: bool = False
    """evaluate each chunk of points in one compiled call; the function must be written in JAX"""
    chunk: int | None = None
    """number of points that are evaluated and saved together"""
    units: tuple[str, ...] = ()
    """units of parameters and results, as NAME=UNIT"""
    end: float = 100.0
    """final time of the run of a system, or number of steps of a map"""
    frames: int = 401
    """number of output times of a run, evenly spaced"""
    rtol: float = 1e-9
    """relative tolerance of a run; the absolute tolerance is a hundredth of it"""
    max_steps: int | None = None
    """largest number of integrator steps in a run, by default 100,000"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: curves if one parameter has several values, maps if two have"""
    show: tuple[str, ...] = ()
    """results, or components of a system, to draw; by default the first six"""
    out: Path | None = None
    """the netCDF file (.nc) to write; finished points are kept beside it"""
    force: bool = False
    """replace existing files that dynsim did not write"""
    cluster: str | None = None
    """the address of the scheduler of a Dask cluster, on whose workers the points are evaluated (extra `cluster`)"""
