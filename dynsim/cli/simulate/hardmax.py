"""`dynsim simulate hardmax`: iterate the hardmax clustering map in floats, in exact arithmetic, or with a softmax."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dynsim._runtime.progress import waiting
from dynsim.cli.parsing.options import Force, check_outputs, parse, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.tables import SHOWN as CHARACTERS
from dynsim.cli.parsing.tables import exact_array, matrix, number
from dynsim.errors import ArgumentError, check_at_least

if TYPE_CHECKING:
    from dynsim.simulation.trajectory import Trajectory

SHOWN = 10  # largest number of leaders that are printed
COPIES = 4  # copies of the largest arrays of floats that exist at the same time
FRACTION = 400  # bytes of a Fraction of typical length


@dataclass(frozen=True)
class Hardmax:
    """Iterate the clustering map (1.1) of HARDMAX, the layers of a pure-attention hardmax transformer.

    In floats it prints for how many layers the follower sets provably agree with exact arithmetic. In exact arithmetic
    it prints a certificate: the limit of every token, the leaders, and the layer after which no follower set changes.
    """

    arithmetic: Literal["float", "exact", "softmax"] = "float"
    """float64 with exact comparison of scores, exact fractions, or the softmax variant (2.6) in float64"""
    alpha: str = "1/2"
    """step size alpha, a decimal number or a fraction"""
    attention: Path | None = None
    """a .npy or .csv file with the attention matrix A; by default the identity"""
    temperature: float = 1e-3
    """temperature of the softmax, in the unit of the scores"""
    tokens: int = 10
    """number of tokens, unless they are read from a file"""
    dimension: int = 2
    """dimension of a token, unless they are read from a file"""
    initial: str = "uniform"
    """initial distribution (uniform is standard normal here), or a .npy or .csv file with one token per row"""
    layers: int = 50
    """number of layers"""
    every: int = 1
    """number of layers from one kept state to the next"""
    seed: int = 0
    """random seed of the initial tokens"""
    out: Path | None = None
    """the run file (.npz), or a table of the states (.csv or .parquet), to write"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write, for tokens in the plane"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Iterate the map, print a summary, and write the requested run file and figure."""
    o = parse(Hardmax, words, "simulate hardmax")
    check_at_least(1, tokens=o.tokens, dimension=o.dimension, layers=o.layers, every=o.every)
    from_file = o.initial.endswith((".npy", ".csv"))
    refuse_unused(o, ("tokens", "dimension") if from_file else (), "if the tokens are read from a file")
    refuse_unused(o, () if o.arithmetic == "softmax" else ("temperature",), f"in {o.arithmetic} arithmetic")
    _check_alpha(o)
    if o.layers % o.every:
        raise ArgumentError("layers", f"be a multiple of `--every` ({o.every})", f"is {o.layers}")
    if not from_file:
        _check_memory(o, o.tokens, o.dimension)
    check_outputs(o.force, out=o.out, figure=o.figure)
    x = starts(o)
    _check_memory(o, *x.shape)
    if o.figure is not None and x.shape[1] != 2:
        raise ArgumentError("figure", "be given only for tokens in the plane", f"the dimension is {x.shape[1]}")
    path = {"float": _in_floats, "exact": _exactly, "softmax": _with_softmax}[o.arithmetic](o, x)
    from dynsim.simulation.run_files import save

    write_out(o.out, path, lambda out: save(out, path, seed=o.seed))
    if o.figure is not None:
        draw(o.figure, path)
        say(f"figure {o.figure}")
    return 0


def _check_memory(o: Hardmax, n: int, d: int) -> None:
    """Raise `ValueError` unless the kept states of n tokens in R^d, their scores and the score gaps fit in memory."""
    entry = FRACTION if o.arithmetic == "exact" else COPIES * FLOAT

    def predicted(*, tokens: int, dimension: int, layers: int) -> int:
        return entry * (
            (layers // o.every + 1) * tokens * dimension + tokens**2 + dimension**2 + layers // o.every + layers
        )

    check_memory(predicted, tokens=n, dimension=d, layers=o.layers)


def _check_alpha(o: Hardmax) -> None:
    """Raise `ValueError` unless alpha is a number within the range of floats."""
    try:
        float(number(o.alpha))
    except (ValueError, OverflowError):
        must = "be a finite number such as `0.5` or `1/3`"
        raise ArgumentError("alpha", must, f"is `{o.alpha[:CHARACTERS]}`") from None


def starts(o: Hardmax) -> np.ndarray:
    """Read the initial tokens (n, d) from a file, as Fractions for exact arithmetic, or draw them."""
    from dynsim.keys import random_key
    from dynsim.spaces import Euclidean
    from dynsim.systems.tokens.initial import initial_tokens

    if o.initial.endswith((".npy", ".csv")):
        return (exact_array if o.arithmetic == "exact" else matrix)(Path(o.initial), "initial")
    return np.asarray(initial_tokens(o.initial, random_key(o.seed, "start", 0), (o.tokens, o.dimension), Euclidean()))


def _attention(o: Hardmax) -> np.ndarray | None:
    if o.attention is None:
        return None
    return (exact_array if o.arithmetic == "exact" else matrix)(o.attention, "attention")


def _in_floats(o: Hardmax, x: np.ndarray) -> "Trajectory":
    from dynsim.simulation.hardmax import iterate_hardmax
    from dynsim.systems.hardmax.hypotheses import hypotheses
    from dynsim.systems.hardmax.maps import HardmaxMap

    map = HardmaxMap(o.alpha, _attention(o))
    say(str(hypotheses(map, x)))
    run = iterate_hardmax(map, x, o.layers, every=o.every)
    say(f"smallest relative gap between best and second-best score: {np.min(run.gaps):.3g} in {o.layers} layers")
    say(f"follower sets proved equal to exact arithmetic from the same start in the first {run.certain} layers")
    _leaders(map, run.path.final)
    return run.path


def _exactly(o: Hardmax, x: np.ndarray) -> "Trajectory":
    from analysis.hardmax.certificate import certify
    from dynsim.simulation.simulate import iterate
    from dynsim.systems.hardmax.hypotheses import hypotheses
    from dynsim.systems.hardmax.maps import ExactHardmaxMap

    map = ExactHardmaxMap(o.alpha, _attention(o))
    found = hypotheses(map, x)
    say(str(found))
    path = iterate(map, map.rule.tokens(x), o.layers, every=o.every)
    _leaders(map, path.final)
    if found.symmetric and found.definite and found.positive_step:
        say(str(certify(map, x, max_layers=o.layers)))
    return path


def _with_softmax(o: Hardmax, x: np.ndarray) -> "Trajectory":
    from dynsim.exact import rational
    from dynsim.simulation.simulate import iterate
    from dynsim.systems.hardmax.maps import SoftmaxMap

    A = _attention(o)
    if A is not None and A.shape != (x.shape[1],) * 2:
        raise ArgumentError("attention", f"have shape {(x.shape[1],) * 2} to match the tokens", f"has shape {A.shape}")
    map = SoftmaxMap(float(rational("alpha", o.alpha)), o.temperature, A)
    with waiting("hardmax"):
        return iterate(map, np.asarray(x, float), o.layers, every=o.every)


def _leaders(map: Any, x: np.ndarray) -> None:
    """Print the leaders of the last state, the tokens that follow only themselves."""
    mask = map.follower_sets(x).leaders
    say(f"{int(np.sum(mask))} of {len(x)} tokens follow only themselves after the last layer")
    for i in np.flatnonzero(mask)[:SHOWN]:
        say(f"  token {i} at ({', '.join(str(entry) for entry in x[i].tolist())})")


def draw(path: Path, run: "Trajectory") -> None:
    """Draw the trajectories of tokens in the plane, in floating point."""
    from dynsim.simulation.trajectory import Trajectory

    floating = Trajectory(run.ts, np.asarray(run.ys, float), run.system, run.stats)
    floating.plot(path=True).save(path, "tokens in the plane")
