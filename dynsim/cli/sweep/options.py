"""The options of `dynsim sweep`."""

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
    is their product. Of a run of a system the last value, and over its second half the mean, the least and the largest
    value of every component are kept (of tokens, the diameter and E). An interrupted sweep with `--out` resumes.
    """

    system: Annotated[str, tyro.conf.Positional]
    """the function or the system"""
    seeds: int = 0
    """number of seeds: the function gets `key`, a random key, or the system a random start on its space"""
    vectorised: bool = False
    """evaluate many points as one program; the function must be one of JAX"""
    chunk: int | None = None
    """number of points that are evaluated, and saved, together"""
    units: tuple[str, ...] = ()
    """units of parameters and results, as NAME=UNIT"""
    end: float = 100.0
    """last time of the run of a system, or the number of steps of a map"""
    frames: int = 401
    """number of output times of a run, evenly spaced"""
    rtol: float = 1e-9
    """relative tolerance of a run; the absolute tolerance is a hundredth of it"""
    max_steps: int | None = None
    """the cap on the steps of a run, by default 100,000"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: curves against the parameter with several values, maps against two"""
    show: tuple[str, ...] = ()
    """the results, or components of a system, that the figure shows; by default the first six"""
    out: Path | None = None
    """the netCDF file (.nc) to write; finished points are kept beside it"""
    force: bool = False
    """replace existing files that dynsim did not write"""
    cluster: str | None = None
    """the address of the scheduler of a Dask cluster, on whose workers the points are evaluated (extra `cluster`)"""
