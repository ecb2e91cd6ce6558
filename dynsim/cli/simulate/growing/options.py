"""Options of `dynsim simulate growing` and their checks, in a module without heavy imports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import Atol, Force, Frames, refuse_unused
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.errors import ArgumentError, check_at_least, check_positive

COPIES = 4  # copies of the largest arrays that exist at the same time
STAGES = 16  # states that a Runge-Kutta solver holds at the same time


@dataclass(frozen=True)
class Growing:
    """Simulate the growing system of GROWING: heads of prototypes that are added, cooled, clipped and removed.

    A head is added along the dominant plane of the residual of the interaction while its largest singular value exceeds
    the threshold, and removed when its measure falls below the pruning threshold. Prints the events in order, how the
    run ended, and a table of the heads at the end.
    """

    data_file: Path | None = None
    """a .csv or .npy file with one token per row"""
    tokens: int = 200
    """number N of tokens, drawn from a normal distribution if no file is given"""
    dimension: int = 16
    """dimension d of the tokens, even"""
    law: Literal["isotropic", "aligned"] = "isotropic"
    """covariance of the tokens: isotropic, s^2 I, or aligned, s^2 |M_a| / lambda_1"""
    scale: float = 1.0
    """largest standard deviation s of the tokens"""
    interaction: Path | None = None
    """a .csv or .npy file with the interaction matrix M, d by d; its antisymmetric part M_a is used"""
    largest: float = 2.0
    """largest eigenvalue pair +-i lambda_1 of a random M_a"""
    decay: float = 0.7
    """ratio of each eigenvalue pair to the one before"""
    threshold: float = 0.05
    """growth threshold theta_w: a head is added while the dominant value of the residual exceeds it"""
    pruning: float = 0.0
    """pruning threshold phi_g: a head is removed when its measure falls below it; 0 for never"""
    capacity: int = 8
    """largest number H_max of heads"""
    prototypes: int = 4
    """number K of prototypes of a head"""
    initial_temperature: float = 1.0
    """temperature T_init of a new head, in units of squared length"""
    least_temperature: float = 0.1
    """lowest temperature T_min, at which cooling stops"""
    dwell: float = 1.0
    """shortest time between growths or removals; in steps with `--discrete`"""
    prune_by: Literal["separation", "direction"] = "separation"
    """measure of a head: smallest squared distance of two prototypes, or Gamma = |B u| with B = M_a / |M_a|"""
    release: Literal["retain", "release"] = "retain"
    """what happens to the direction of a removed head: it stays captured, or is released"""
    removal: Literal["direction", "plane"] = "direction"
    """what a new head captures: its direction, or the plane"""
    first: Literal["grown", "random"] = "grown"
    """first head: grown like all others, or with random prototypes and no direction"""
    gate: Literal["ideal", "oja", "exin"] = "ideal"
    """direction of a new head: exact (ideal), or from a gate with its own dynamics that must have settled"""
    settled: float = 1e-3
    """distance from the dominant plane at which the gate counts as settled (oja, exin)"""
    ordered: bool = False
    """add a head only while the dominant value is below its value at the previous growth"""
    reading: Literal["features", "data", "tokens"] = "features"
    """residual matrix: from the interaction alone, weighted by the data, or from the tokens"""
    head_input: Literal["shared", "projected"] = "shared"
    """input of heads: the tokens, or their projection on what the head has captured"""
    birth: Literal["line", "quantiles"] = "line"
    """initial prototypes of a head along its direction: equally spaced, or at quantiles of the tokens"""
    spread: float = 1.0
    """half the length of the line of initial prototypes in units of `--scaling`, or a factor for the quantiles"""
    scaling: Literal["fixed", "tokens", "eigenvalue"] = "fixed"
    """unit of that line: 1, the standard deviation of the tokens along it, or the dominant value"""
    mode: Literal["full", "frozen"] = "full"
    """gradient of the prototypes: full (through the assignments) or frozen (at fixed assignments)"""
    reduction: Literal["sum", "mean"] = "mean"
    """sum or average losses and activities over tokens"""
    barrier: float = 0.0
    """coefficient lambda of the barrier between the prototypes of a head"""
    ridge: float = 0.0
    """coefficient rho of the ridge penalty, rho / 2 |P|^2"""
    encoder: Literal["none", "linear"] = "none"
    """encoder of the tokens: none, or a matrix that follows the gradient of the loss"""
    encoder_rate: float = 1e-3
    """learning rate eta_theta of the encoder (linear)"""
    regulariser: float = 0.0
    """coefficient of the encoder's regulariser, lambda_theta / 2 |theta|^2 (linear)"""
    prototype_rate: float = 1.0
    """learning rate eta_P of the prototypes; 0 keeps them at their initial positions"""
    temperature_rate: float = 0.01
    """cooling rate eta_T; 0 keeps the temperatures at T_init"""
    gate_rate: float = 1.0
    """learning rate eta_plus of the gate (oja, exin)"""
    discrete: bool = False
    """run the Algorithm in discrete time: rates become step sizes, and times become numbers of steps"""
    end: float = 300.0
    """final time, from t = 0"""
    frames: Frames = 61
    max_events: int = 1000
    """largest number of events; a run that reaches it stops there and says so"""
    seed: int = 0
    """random seed of the tokens, the interaction and a random first head"""
    integrator: Literal["diffrax", "scipy", "rkc2"] = "diffrax"
    """the integrator; rkc2 is for stiff flows over long times"""
    rtol: float = 1e-6
    """relative tolerance"""
    atol: Atol = None
    max_steps: int | None = None
    """largest number of steps between two events; by default 100,000, or 1,000,000 for scipy"""
    out: Path | None = None
    """the run file (.npz) to write, with times, states, temperatures and events, or a table of states (.csv or
    .parquet)"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: temperatures of the heads over time"""
    force: Force = False


def check_options(o: Growing) -> None:
    """Raise `ValueError` for options without effect, and for numbers out of range."""
    check_at_least(1, tokens=o.tokens, capacity=o.capacity, prototypes=o.prototypes, max_events=o.max_events)
    check_at_least(2, dimension=o.dimension, frames=o.frames)
    if o.data_file is None and o.interaction is None and o.dimension % 2:
        raise ArgumentError("dimension", "be even, because the eigenvalues of M_a come in pairs", f"is {o.dimension}")
    check_positive(**{name: getattr(o, name) for name in ("end", "scale", "largest", "decay", "rtol")})
    drawn = ("tokens", "dimension", "law", "scale")
    refuse_unused(o, drawn if o.data_file is not None else (), "if the tokens are read from a file")
    aligned = o.law == "aligned"
    if o.interaction is not None:
        refuse_unused(o, ("largest", "decay", *(["law"] if aligned else [])), "if the interaction is read from a file")
    refuse_unused(o, ("settled", "gate_rate") if o.gate == "ideal" else (), "for the gate `ideal`")
    refuse_unused(o, () if o.pruning > 0 else ("prune_by", "release"), "without `--pruning`")
    refuse_unused(o, ("encoder_rate", "regulariser") if o.encoder == "none" else (), "without an encoder")
    refuse_unused(o, ("scaling",) if o.birth == "quantiles" else (), "for a birth at quantiles")
    refuse_unused(o, ("integrator", "rtol", "atol", "max_steps") if o.discrete else (), "in discrete time")
    if o.discrete and o.end != round(o.end):
        raise ArgumentError("end", "be a whole number of steps with `--discrete`", f"is {o.end:g}")


def check_sizes(o: Growing, n: int, d: int) -> None:
    """Raise `ValueError` unless the kept states, and the inputs of the heads for n tokens in R^d, fit in memory."""
    encoder = d * d if o.encoder == "linear" else 0

    def predicted(*, capacity: int, prototypes: int, frames: int) -> int:
        state = encoder + capacity * prototypes * d
        return FLOAT * (COPIES * frames * state + STAGES * state + COPIES * n * capacity * (d + prototypes) + 4 * d * d)

    check_memory(predicted, capacity=o.capacity, prototypes=o.prototypes, frames=o.frames)
