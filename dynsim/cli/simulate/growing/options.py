"""The options of `dynsim simulate growing` and their checks, in a module that loads nothing heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import refuse_unused
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.errors import ArgumentError, check_at_least, check_positive

COPIES = 4  # of the largest arrays, that exist at the same time
STAGES = 16  # states that a solver holds at the same time


@dataclass(frozen=True)
class Growing:
    """Simulate the growing system of GROWING: heads of prototypes that are added, cooled, clipped and removed.

    A head is added along the dominant plane of the residual of the interaction while its largest singular value exceeds
    the threshold, and removed when its measure falls below the pruning threshold. Prints the events in order, how the
    run ended, and what each head is at the end.
    """

    data_file: Path | None = None
    """a .csv or .npy file with one token in each row"""
    tokens: int = 200
    """number N of tokens, if they are not read from a file; they are normal"""
    dimension: int = 16
    """their dimension d, even"""
    law: Literal["isotropic", "aligned"] = "isotropic"
    """their covariance: s^2 I, or s^2 |M_a| / lambda_1"""
    scale: float = 1.0
    """s, their largest standard deviation"""
    interaction: Path | None = None
    """a .csv or .npy file with the attention product M, d by d, whose antisymmetric part counts"""
    largest: float = 2.0
    """lambda_1, the largest pair of eigenvalues +-i lambda of a drawn M_a"""
    decay: float = 0.7
    """ratio of each pair to the one before"""
    threshold: float = 0.05
    """theta_w: a head is added while the dominant value exceeds it"""
    pruning: float = 0.0
    """phi_g: a head is removed when its measure falls below it; 0 for never"""
    capacity: int = 8
    """H_max, the largest number of heads"""
    prototypes: int = 4
    """number K of prototypes of a head"""
    initial_temperature: float = 1.0
    """T_init of a new head, in the unit of a squared length"""
    least_temperature: float = 0.1
    """T_min, where a temperature stays"""
    dwell: float = 1.0
    """least time from one growth or removal to the next; with `--discrete` in steps"""
    prune_by: Literal["separation", "direction"] = "separation"
    """measure of a head: its least squared distance of two prototypes, or Gamma = |B u| with B = M_a / |M_a|"""
    release: Literal["retain", "release"] = "retain"
    """direction of a removed head: stays captured, or is given back"""
    removal: Literal["direction", "plane"] = "direction"
    """what a new head captures"""
    first: Literal["grown", "random"] = "grown"
    """first head: grown as all others, or with random prototypes and without a direction"""
    gate: Literal["ideal", "oja", "exin"] = "ideal"
    """direction of a new head: exact, or by a gate that follows its own flow and must have settled"""
    settled: float = 1e-3
    """distance of the gate from the dominant plane at which it has settled (oja, exin)"""
    ordered: bool = False
    """add a head only while the dominant value is below that of the growth before"""
    reading: Literal["features", "data", "tokens"] = "features"
    """residual matrix: of the interaction alone, weighted by the data, or of the tokens"""
    head_input: Literal["shared", "projected"] = "shared"
    """what heads see: the tokens, or their projection on what the head has captured"""
    birth: Literal["line", "quantiles"] = "line"
    """first prototypes of a head along its direction: at equal distances, or at quantiles of the tokens"""
    spread: float = 1.0
    """half the length of that line in its unit, and a factor of the quantiles"""
    scaling: Literal["fixed", "tokens", "eigenvalue"] = "fixed"
    """unit of that line: 1, the standard deviation of the tokens along it, or the dominant value"""
    mode: Literal["full", "frozen"] = "full"
    """gradient of the prototypes: through the assignments, or at fixed ones"""
    reduction: Literal["sum", "mean"] = "mean"
    """losses and activities: sums over tokens, or means"""
    barrier: float = 0.0
    """coefficient lambda of the barrier between prototypes of a head"""
    ridge: float = 0.0
    """coefficient rho of the ridge, rho / 2 |P|^2"""
    encoder: Literal["none", "linear"] = "none"
    """what heads embed tokens with: nothing, or a matrix that descends the loss too"""
    encoder_rate: float = 1e-3
    """eta_theta of the encoder (linear)"""
    regulariser: float = 0.0
    """lambda_theta of the encoder's regulariser, lambda_theta / 2 |theta|^2 (linear)"""
    prototype_rate: float = 1.0
    """eta_P; 0 leaves the prototypes where they are born"""
    temperature_rate: float = 0.01
    """eta_T; 0 leaves the temperatures at T_init"""
    gate_rate: float = 1.0
    """eta_plus (oja, exin)"""
    discrete: bool = False
    """run the Algorithm in discrete time: rates are step sizes and times numbers of steps"""
    end: float = 300.0
    """last time; the first is 0"""
    frames: int = 61
    """number of output times, evenly spaced"""
    max_events: int = 1000
    """largest number of events; a run that reaches it ends there and says so"""
    seed: int = 0
    """random seed of tokens, interaction and a random first head"""
    integrator: Literal["diffrax", "scipy", "rkc2"] = "diffrax"
    """the integrator; rkc2 is for long times"""
    rtol: float = 1e-6
    """relative tolerance; the absolute tolerance is a hundredth of it"""
    max_steps: int | None = None
    """the cap on the steps of each phase; by default 100,000, and 1,000,000 of scipy"""
    out: Path | None = None
    """the file (.npz) to write: times, states, temperatures, and the events"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write, of temperatures and events"""
    force: bool = False
    """replace existing files that dynsim did not write"""


def check_options(o: Growing) -> None:
    """Raise `ValueError` for options without effect, and for numbers that no run can have."""
    check_at_least(1, tokens=o.tokens, capacity=o.capacity, prototypes=o.prototypes, max_events=o.max_events)
    check_at_least(2, dimension=o.dimension, frames=o.frames)
    if o.data_file is None and o.interaction is None and o.dimension % 2:
        raise ArgumentError("dimension", "be even, since eigenvalues of M_a come in pairs", f"is {o.dimension}")
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
    refuse_unused(o, ("integrator", "rtol", "max_steps") if o.discrete else (), "in discrete time")
    if o.discrete and o.end != round(o.end):
        raise ArgumentError("end", "be a number of steps with `--discrete`", f"is {o.end:g}")


def check_sizes(o: Growing, n: int, d: int) -> None:
    """Raise `ValueError` unless the kept states, and what heads see of n tokens in R^d, fit in memory."""
    encoder = d * d if o.encoder == "linear" else 0

    def predicted(*, capacity: int, prototypes: int, frames: int) -> int:
        state = encoder + capacity * prototypes * d
        return FLOAT * (COPIES * frames * state + STAGES * state + COPIES * n * capacity * (d + prototypes) + 4 * d * d)

    check_memory(predicted, capacity=o.capacity, prototypes=o.prototypes, frames=o.frames)
