"""The options of `dynsim simulate SYSTEM` for a flow, in a module that loads nothing heavy: `--help` is quick."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.system import SystemOptions

DIMENSION = 3  # of a token, by default


@dataclass(frozen=True)
class Simulate(SystemOptions):
    """Simulate a system from one initial state, random or given, or from an ensemble of random ones.

    SYSTEM is a name that `dynsim list` shows, `file.py:name` or `module:name` of a function f(t, x) of yours, or a run
    file (.npz), whose run is repeated and compared bit for bit. Parameters of a system of the catalogue, or of yours,
    are options of their own, such as `--rho 28`. `--config FILE` reads the same options from TOML.
    `hardmax`, `master-equation`, `fast-slow`, `prototypes` and `multirate` have options of their own, shown by
    `dynsim simulate hardmax --help`.
    """

    tokens: int | None = None
    """number of tokens, the rows of the state; by default 10, or one vector for a function of yours"""
    dimension: int | None = None
    """dimension of a token, 3 by default; of a function of yours the number of components, if nothing else says it"""
    heads: int = 1
    """number of attention heads, if P is not read from a file"""
    beta: float = 1.0
    """P = beta I, if P is not read from a file"""
    query_key: Path | None = None
    """a .npy or .csv file with P, the query-key matrix of each head"""
    value: Path | None = None
    """a .npy or .csv file with U, the value matrix of each head"""
    causal: bool = False
    """whether attention is causal (token-flow)"""
    space: str = ""
    """state space: sphere (of token-flow by default), euclidean (of a function of yours), simplex or ellipsoid:FILE"""
    initial: str = "uniform"
    """an initial distribution, or a .npy or .csv file with an initial state"""
    members: int = 1
    """number of initial states; of an ensemble, the diameter and E of tokens are kept, or the components of a vector"""
    end: float = 20.0
    """last time; the first is 0; of a map the number of steps"""
    frames: int = 201
    """number of output times, evenly spaced"""
    integrator: Literal["diffrax", "scipy", "rkc2", "stiff", "symplectic"] = "diffrax"
    """the integrator; stiff is for stiff flows, rkc2 for stiff gradient flows, at an rtol of 1e-3 to 1e-6, symplectic
    (of order 4, with `--step-size`) for H = T(p) + V(q), the state being (q, p)"""
    max_steps: int | None = None
    """the cap on steps; by default 100,000 of diffrax and rkc2, 1,000,000 of scipy and stiff"""
    rtol: float | None = None
    """relative tolerance, by default 1e-9, and 1e-4 where densities are kept; the absolute one is a hundredth of it"""
    noise: float | str | None = None
    """amplitude of noise, or `file.py:name` of a function (t, x) that returns one for each entry or directions"""
    calculus: Literal["ito", "stratonovich"] = "stratonovich"
    """sense of the noise: Euler-Maruyama for Ito's, Euler-Heun for Stratonovich's"""
    step_size: float = 0.01
    """longest step with noise, and of the symplectic integrator"""
    precision: Literal["float64", "float32"] = "float64"
    """floating-point type of the state"""
    density: int | None = None
    """keep, instead of states, the density on about this many cells of equal area of the circle or the sphere; for one
    trajectory of more than 20,000 tokens at most 720 or 10,000 cells, by default"""
    tolerance: float | None = None
    """error of the weights of many tokens, relative to the largest; by default 1e-10, and 2e-6 in float32"""
    out: Path | None = None
    """the run file (.npz) to write; an ensemble keeps finished members beside it, and resumes from these"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write"""
    movie: Path | None = None
    """a movie (.gif) to write: of the density if it is kept, of three components the turning trajectory, of others the
    growing one"""
    error_estimate: bool = False
    """solve again at a tenth of the tolerance, and report the difference"""
    force: bool = False
    """replace existing files that dynsim did not write"""
    trust: tuple[str, ...] = ()
    """functions of yours (`module:name`, `file.py:name`), or modules, that a run file may import"""

    @property
    def token_dimension(self) -> int:
        """The dimension of a token, that by default unless it is given."""
        return DIMENSION if self.dimension is None else self.dimension


def with_dimension(o: Simulate) -> Simulate:
    """Return options with the dimension that they have by default."""
    return dataclasses.replace(o, dimension=DIMENSION) if o.dimension is None else o
