"""Options of `dynsim simulate prototypes` and their checks, in a module without heavy imports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import Atol, Force, Frames, refuse_unused
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.errors import ArgumentError, check_at_least, check_positive

COPIES = 4  # copies of the largest arrays that exist at the same time
STAGES = 16  # states that a Runge-Kutta solver holds at the same time


@dataclass(frozen=True)
class Prototypes:
    """Simulate gradient flows of PROTOTYPES: prototypes p_k' = -eta_P dL/dp_k that compete for embeddings z_n.

    With `--encoder frozen` the embeddings are the data; otherwise they move with the encoder's parameters, (11)-(12).
    Prints the loss, the separation S, the entropy H, the variance V / N and the utilisation of the prototypes at the
    start and at the end, and whether coinciding prototypes stay together, prototypes in excess of points are idle,
    prototypes stay bounded, and the temperature reaches its floor.
    """

    data_file: Path | None = None
    """a .csv, .npy or .npz file with one data point per row (from an .npz file, the array `data` or the only array)"""
    points: int = 200
    """number of data points, unless they are read from a file"""
    clusters: int = 3
    """number of clusters of data points, with standard normal centres"""
    dimension: int = 2
    """dimension of the data points"""
    spread: float = 0.3
    """standard deviation of the data points in a cluster"""
    labels: Path | None = None
    """a .csv or .npy file with a whole-number class label per data point, to compare the found clusters with"""
    prototypes: int = 3
    """number K of prototypes, unless they are read from a file"""
    initial: str = "points"
    """initial prototypes: points (random embeddings), k-means, normal, mean (all equal), or a .npy or .csv file"""
    encoder: Literal["frozen", "free", "linear", "affine", "mlp"] = "frozen"
    """encoder: frozen (embeddings are the data), free embeddings, linear W x, affine W x + b (both start at principal
    components), or an MLP"""
    outputs: int | None = None
    """dimension of the embeddings (linear, affine, mlp); by default the data's dimension, but at most 2"""
    hidden: int = 16
    """number of hidden units (mlp)"""
    second: int = 0
    """number of prototypes on a second level, which clusters the soft centroids of the first; 0 for one level"""
    detached: bool = False
    """stop the gradient of the second level's loss at the first level"""
    groups: Path | None = None
    """a .csv or .npy file with a whole-number group per data point; the second level reads means over groups"""
    temperature: float = 1.0
    """temperature T, in units of squared length; with `--floor`, its value at t = 0"""
    floor: float | None = None
    """final temperature of exponential annealing; without it the temperature is constant"""
    time_constant: float = 20.0
    """time constant of annealing"""
    mode: Literal["full", "frozen"] = "full"
    """gradient of the loss: full (through the assignments) or frozen (at fixed assignments); the flows differ"""
    reduction: Literal["sum", "mean"] = "sum"
    """sum or average the loss over embeddings"""
    barrier: float = 0.0
    """coefficient lambda of the barrier between prototypes"""
    ridge: float = 0.0
    """coefficient rho of the ridge penalty, rho / 2 |P|^2"""
    prototype_rate: float = 1.0
    """learning rate eta_P of the prototypes"""
    ratio: float = 0.1
    """ratio epsilon of the encoder's learning rate to eta_P"""
    seed: int = 0
    """random seed of the data, the prototypes and the encoder's parameters"""
    end: float = 20.0
    """final time, from t = 0"""
    frames: Frames = 201
    integrator: Literal["diffrax", "scipy", "stiff", "rkc2"] = "diffrax"
    """the integrator; stiff (implicit) and rkc2 (explicit) are for a small epsilon over a long time"""
    rtol: float = 1e-6
    """relative tolerance"""
    atol: Atol = None
    max_steps: int | None = None
    """largest number of steps; by default 100,000 for diffrax and rkc2, 1,000,000 for scipy and stiff"""
    precision: Literal["float64", "float32"] = "float64"
    """floating-point type of the state"""
    growth: bool = False
    """integrate the prototypes up to t = 1e8, to infer from their growth rate whether they stay bounded"""
    out: Path | None = None
    """the run file (.npz), or a table of the states (.csv or .parquet), to write"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: embeddings and paths of the prototypes"""
    force: Force = False


def check_options(o: Prototypes) -> None:
    """Raise `ValueError` for options without effect, and for numbers out of range."""
    check_at_least(1, points=o.points, clusters=o.clusters, dimension=o.dimension, prototypes=o.prototypes)
    check_at_least(1, hidden=o.hidden)
    check_at_least(0, second=o.second)
    check_at_least(2, frames=o.frames)
    names = ("end", "spread", "temperature", "time_constant", "prototype_rate", "ratio")
    check_positive(**{name: getattr(o, name) for name in names})
    built_in = ("points", "clusters", "dimension", "spread")
    refuse_unused(o, built_in if o.data_file is not None else (), "if the data are read from a file")
    from_file = o.initial.endswith((".npy", ".csv"))
    refuse_unused(o, ("prototypes",) if from_file else (), "if the prototypes are read from a file")
    fixed = ("outputs",) if o.encoder in ("frozen", "free") else ()
    refuse_unused(o, fixed, f"for the encoder `{o.encoder}`, whose embeddings have the dimension of the data")
    refuse_unused(o, () if o.encoder == "mlp" else ("hidden",), f"for the encoder `{o.encoder}`")
    refuse_unused(
        o, ("ratio", "second") if o.encoder == "frozen" else (), "for the encoder `frozen`, which has no parameters"
    )
    refuse_unused(o, () if o.second else ("detached", "groups"), "without `--second`")
    refuse_unused(o, ("growth",) if o.second else (), "with `--second`")
    refuse_unused(o, ("time_constant",) if o.floor is None else (), "without `--floor`")
    if o.precision == "float32" and o.integrator in ("stiff", "scipy"):
        raise ArgumentError("precision", f"be float64 for the integrator `{o.integrator}`", "is float32")


def check_sizes(o: Prototypes, n: int, d: int) -> None:
    """Raise `ValueError` unless the kept states, and the distances of n points to all prototypes, fit in memory."""
    outputs = d if o.outputs is None else o.outputs
    encoder = {"frozen": 0, "free": n * d, "mlp": o.hidden * (d + outputs)}.get(o.encoder, (d + 1) * outputs)

    def predicted(*, prototypes: int, second: int, frames: int) -> int:
        state = encoder + (prototypes + second) * outputs
        return FLOAT * (COPIES * frames * state + STAGES * state + COPIES * n * (prototypes + second) * outputs)

    check_memory(predicted, prototypes=o.prototypes, second=o.second, frames=o.frames)
