"""Options of `dynsim simulate SYSTEM`, in a module without heavy imports so that `--help` is quick."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dynsim.cli.parsing.options import Atol, Force, Frames
from dynsim.cli.parsing.system import SystemOptions

STEP = 0.01  # default step of methods with fixed steps
DIMENSION = 3  # default dimension of a token, as on the sphere of the papers


@dataclass(frozen=True)
class Simulate(SystemOptions):
    """Simulate a system from one initial state, random or given, or from an ensemble of random ones.

    SYSTEM is a name that `dynsim list` shows, equations, which may have transitions, such as
    "v' = 2 - v; when(v > 1, v = 0)", or a file of them, `file.py:name` or `module:name` of a function f(t, x) of yours,
    or a run file (.npz), whose run is repeated and compared bit for bit. Parameters of the system are options, such as
    `--rho 28`. `--config FILE` reads the same options from a TOML file.
    `hardmax`, `master-equation`, `fast-slow`, `prototypes`, `growing` and `multirate` have options of their own, shown
    by `dynsim simulate hardmax --help`.
    """

    tokens: int | None = None
    """number of tokens, the rows of the state; by default 10, or one vector for a function of yours"""
    dimension: int | None = None
    """dimension of a token, 3 by default; for a function of yours, the number of components if nothing else gives it"""
    heads: int = 1
    """number of attention heads, unless P is read from a file"""
    beta: float = 1.0
    """inverse temperature: P = beta I, unless P is read from a file"""
    query_key: Path | None = None
    """a .npy or .csv file with P, the query-key matrix of each head"""
    value: Path | None = None
    """a .npy or .csv file with U, the value matrix of each head"""
    weights: Path | None = None
    """a .safetensors or .npz file with the weights of a trained network, for the system `trained`"""
    causal: bool = False
    """use causal attention (token-flow)"""
    norm: Literal["post", "pre", "peri", "none"] = "post"
    """where the normalisation of a layer acts (token-flow): after attention, as in (7) of CONSENSUS (post), before it
    (pre), before and after it (peri), or nowhere (none); all but post have tokens in R^d"""
    scale: float | None = None
    """factor of the output of attention: by default 1/sqrt(d) for tokens in R^d, as in (7) of CONSENSUS; 1 for none"""
    space: str = ""
    """state space: sphere (default of token-flow), euclidean (default of your function), simplex or ellipsoid:FILE"""
    initial: str = "uniform"
    """distribution of the initial state, or a .npy or .csv file with an initial state"""
    members: int = 1
    """number of initial states; an ensemble keeps the diameter and E of tokens, or the components of a vector"""
    begin: float | None = None
    """initial time; by default 0, or the one that equations give, as in `# t: 0..200` or by `total` of an .ode file"""
    end: float | None = None
    """final time, by default 20, or the one that equations give; one before the initial time integrates backwards. For
    a map, the number of steps"""
    frames: Frames = 201
    integrator: Literal["diffrax", "scipy", "rkc2", "stiff", "symplectic"] | None = None
    """the integrator, diffrax unless an .ode file has a stiff method; stiff (implicit) for stiff flows, rkc2 for stiff
    gradient flows at an rtol of 1e-3 to 1e-6, symplectic (order 4, with `--step-size`) for a Hamiltonian
    H = T(p) + V(q) with state (q, p)"""
    max_steps: int | None = None
    """largest number of steps; by default 100,000 for diffrax and rkc2, 1,000,000 for scipy and stiff"""
    rtol: float | None = None
    """relative tolerance, by default 1e-9, or 1e-4 for a density"""
    atol: Atol = None
    noise: float | str | None = None
    """noise amplitude, or `file.py:name` of a function (t, x) that returns an amplitude per entry, or noise vectors"""
    calculus: Literal["ito", "stratonovich"] | None = None
    """interpretation of the noise: ito (Euler-Maruyama; the default for terms such as dW1 in equations) or
    stratonovich (Euler-Heun; the default for `--noise`)"""
    step_size: float | None = None
    """largest step with noise, and of the symplectic integrator; by default 0.01, or `dt` of an .ode file"""
    bounds: float | None = None
    """end the run where a component exceeds this size; by default what `bounds` of an .ode file says, or none"""
    precision: Literal["float64", "float32"] = "float64"
    """floating-point type of the state"""
    density: int | None = None
    """keep the density on about this many cells of equal area of the circle or the sphere instead of the states; the
    default for more than 20,000 tokens, with at most 720 cells on the circle and 10,000 on the sphere"""
    tolerance: float | None = None
    """error of the attention weights of many tokens, relative to the largest; by default 1e-10, or 2e-6 in float32"""
    event: tuple[str, ...] = ()
    """print the times at which components pass values, angles in each turn: NAME=VALUE, NAME=VALUE:up or :down"""
    events_out: Path | None = None
    """a table (.csv, .parquet or .npz) of the times and states of these events, to write"""
    theorems: bool = False
    """print which theorems on the consensus of tokens apply to this flow and start, with all margins"""
    out: Path | None = None
    """the run file (.npz), or a table of times and states (.csv or .parquet), to write; an ensemble keeps finished
    members beside it and resumes from them"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write"""
    movie: Path | None = None
    """a movie (.gif) to write: of the density if it is kept, of a rotating trajectory for three components, else of a
    growing trajectory"""
    reduced: bool = False
    """in the figure and in tables, angles between minus half a period and half a period"""
    error_estimate: bool = False
    """solve again with a ten times smaller tolerance, and report the difference"""
    force: Force = False
    trust: tuple[str, ...] = ()
    """functions of yours (`module:name`, `file.py:name`), or modules, that a run file may import"""

    @property
    def times(self) -> tuple[float, float]:
        """Initial and final time as given, or their defaults."""
        return 0.0 if self.begin is None else self.begin, 20.0 if self.end is None else self.end

    @property
    def method(self) -> str:
        """The integrator as given, or its default."""
        return self.integrator or "diffrax"

    @property
    def step(self) -> float:
        """The step of methods with fixed steps as given, or its default."""
        return STEP if self.step_size is None else self.step_size

    @property
    def token_dimension(self) -> int:
        """Dimension of a token as given, or its default."""
        return DIMENSION if self.dimension is None else self.dimension


def with_defaults(o: Simulate, system: Any) -> Simulate:
    """Fill in options that are not given by those that equations give, if these give some."""
    begin, end = {name: ends for name, *ends in getattr(system, "ranges", ())}.get("t", o.times)
    own = dict(getattr(system, "defaults", ()))
    known: dict[str, Any] = {"begin": begin, "end": end, "integrator": own.get("integrator")}
    known |= {name: float(own[name]) for name in ("step_size", "bounds") if name in own}
    return dataclasses.replace(o, **{name: value for name, value in known.items() if getattr(o, name) is None})


def with_dimension(o: Simulate) -> Simulate:
    """Fill in the default dimension if none is given."""
    return dataclasses.replace(o, dimension=DIMENSION) if o.dimension is None else o
