"""`dynsim simulate master-equation`: relaxation of a continuous-time Markov chain to its stationary distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dynsim.cli.parsing.options import Force, Frames, check_outputs, parse, refuse_unused, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.tables import array, matrix
from dynsim.errors import ArgumentError, check_at_least, check_positive

if TYPE_CHECKING:
    from analysis.chains.stationary import StationaryDistributions
    from dynsim.simulation.trajectory import Trajectory

STEPS = 10**9  # largest number of forward Euler steps, whose step numbers are stored in an array
COPIES = 4  # copies of the largest arrays that exist at the same time
BANDS = 16  # entries per state of a sparse matrix and its factors
SHOWN = 10  # largest number of stationary distributions that are printed, and of states of each


@dataclass(frozen=True)
class MasterEquation:
    """Simulate the master equation p' = Q p, (26) of MULTIRATE, where Q[i, j] is the rate from state j to state i.

    Prints the communicating classes, the stationary distribution of each closed class, the spectral gap, the mixing
    time, and the step bounds of forward Euler. The trajectory is e^(Qt) p(0), or with `--euler` iterates of I + tau Q.
    The columns of Q sum to zero.
    """

    chain: Literal["birth-death", "grid", "random"] = "birth-death"
    """the chain, unless it is read from a file: birth-death, a walk in a double well on a grid, or random rates"""
    generator: Path | None = None
    """a .npy or .csv file with the generator Q"""
    attention: Path | None = None
    """a .npy or .csv file with a row-stochastic attention matrix A; the generator is A^T - I"""
    size: int = 50
    """number of states, unless the chain is read from a file (a grid has the largest square number up to it)"""
    birth: float = 1.0
    """rate from i to i + 1 (birth-death)"""
    death: float = 1.2
    """rate from i + 1 to i (birth-death)"""
    initial: str = "first"
    """initial distribution: first or last (state), uniform, or a .npy or .csv file"""
    end: float = 20.0
    """final time, from t = 0"""
    frames: Frames = 201
    method: str = "auto"
    """method for the exponential: auto, dense, rational, chebyshev, shift-invert or uniformisation"""
    euler: float | None = None
    """step size tau of forward Euler, which then replaces the exponential"""
    seed: int = 0
    """random seed of the rates (random)"""
    out: Path | None = None
    """the run file (.npz), or a table of the states (.csv or .parquet), to write"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: the distance to the limit over time, or the simplex for three states"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Print the properties of the chain, simulate it, and write the requested run file and figure."""
    o = parse(MasterEquation, words, "simulate master-equation")
    check_at_least(2, frames=o.frames, size=o.size)
    check_positive(end=o.end)
    _check_sizes(o)
    from analysis.chains.convergence import Convergence
    from analysis.chains.stationary import stationary_distributions
    from dynsim.simulation.run_files import save

    check_outputs(o.force, out=o.out, figure=o.figure)
    Q = chain(o)
    p0 = start(o, Q.shape[0])
    path, method = by_euler(o, Q, p0) if o.euler is not None else by_exponential(o, Q, p0)
    stationary = stationary_distributions(Q)
    describe(Q, stationary)
    say(method)
    ts = np.asarray(path.ts) * (1.0 if o.euler is None else o.euler)
    found = Convergence(ts, np.asarray(path.ys), stationary, steps="" if o.euler is None else "forward Euler")
    say(str(found))
    write_out(o.out, path, lambda out: save(out, path, seed=o.seed))
    if o.figure is not None:
        found.plot().save(o.figure, "a master equation")
        say(f"figure {o.figure}")
    return 0


def _check_sizes(o: MasterEquation) -> None:
    """Raise `ValueError` for options without effect, an invalid step size, or arrays that do not fit in memory."""
    read = o.generator is not None or o.attention is not None
    refuse_unused(o, ("chain", "size", "birth", "death", "seed") if read else (), "if the chain is read from a file")
    refuse_unused(o, () if o.chain == "birth-death" else ("birth", "death"), f"for the chain `{o.chain}`")
    refuse_unused(o, () if o.chain == "random" else ("seed",), f"for the chain `{o.chain}`, which is not random")
    refuse_unused(o, () if o.euler is None else ("method",), "with `--euler`")
    if o.euler is not None and not (o.euler > 0 and o.end / o.euler <= STEPS):
        raise ArgumentError("euler", f"be positive, with at most {STEPS} steps up to `--end`", f"is {o.euler}")
    dense = o.chain == "random"

    def predicted(*, size: int, frames: int) -> int:
        return FLOAT * COPIES * (size * frames + (size**2 if dense else BANDS * size))

    check_memory(predicted, size=o.size, frames=o.frames)


def chain(o: MasterEquation) -> Any:
    """Build the generator Q, (k, k), from a file, from an attention matrix, or of the named chain."""
    from dynsim.keys import random_key
    from dynsim.systems.master_equation.checks import check_generator
    from dynsim.systems.master_equation.generators import (
        attention_generator,
        birth_death,
        random_generator,
        walk_in_potential,
    )

    if o.generator is not None and o.attention is not None:
        raise ArgumentError("attention", "be left out with `--generator`", "is given")
    if o.generator is not None:
        return check_generator(matrix(o.generator, "generator"))
    if o.attention is not None:
        return attention_generator(matrix(o.attention, "attention"))
    if o.chain == "birth-death":
        return birth_death(np.full(o.size - 1, o.birth), np.full(o.size - 1, o.death))
    if o.chain == "random":
        return random_generator(random_key(o.seed, "rates"), o.size)
    x = np.linspace(-1.5, 1.5, int(np.sqrt(o.size)))
    return walk_in_potential(2 * (x[:, None] ** 2 - 1) ** 2 + x[None] ** 2)


def start(o: MasterEquation, k: int) -> np.ndarray:
    """Build the initial distribution over k states, (k,)."""
    from dynsim.errors import nearest
    from dynsim.systems.master_equation.checks import check_distribution

    if o.initial.endswith((".npy", ".csv")):
        return check_distribution(array(Path(o.initial), "initial").ravel(), k, name="initial")
    named = {"first": np.eye(1, k)[0], "last": np.eye(1, k, k - 1)[0], "uniform": np.full(k, 1 / k)}
    if o.initial not in named:
        must = "be first, last, uniform, or a .npy or .csv file"
        raise ArgumentError("initial", must, f"is `{o.initial}`{nearest(o.initial, named)}")
    return named[o.initial]


def describe(Q: Any, stationary: "StationaryDistributions") -> None:
    """Print communicating classes, stationary distributions, spectral gap, mixing time and Euler step bounds."""
    from analysis.chains.mixing import mixing_time
    from analysis.chains.spectra import DENSE, euler_bounds, spectral_gap

    say(str(stationary))
    for one in stationary.distributions[:SHOWN]:
        likely = np.argsort(-one.probabilities, kind="stable")[: min(SHOWN, len(one.states))].tolist()
        shown = ", ".join(f"{i}: {one.probabilities[i]:.6g}" for i in likely)
        say(f"  stationary distribution ({one.method}, residual {one.residual:.2g}), most likely states: {shown}")
    gap = spectral_gap(Q)
    say(f"spectral gap {gap.value:.6g} ({gap.method}, error {gap.error:.2g})")
    if stationary.unique:
        mixing = mixing_time(Q)
        say(f"mixing time to {mixing.distance:g}: from {mixing.lower:.6g} to {mixing.upper:.6g} (by {mixing.method})")
    else:
        say("no mixing time: the limit depends on the initial distribution")
    if Q.shape[0] <= DENSE or gap.method.startswith("lanczos"):  # a large chain that is reversible
        say(str(euler_bounds(Q)))


def by_exponential(o: MasterEquation, Q: Any, p0: np.ndarray) -> tuple["Trajectory", str]:
    """Compute the trajectory e^(Qt) p0 by matrix exponentials, with a sentence on its method and error."""
    from analysis.chains.integrator import Exponential
    from analysis.chains.relaxation import relaxation
    from dynsim.simulation.simulate import simulate
    from dynsim.systems.master_equation.flow import MasterEquationFlow

    ts = np.linspace(0.0, o.end, o.frames)
    last = relaxation(Q, p0, [o.end], method=o.method)
    path = simulate(MasterEquationFlow(Q), p0, ts, integrator=Exponential(o.method))
    error = f"error at most {last.errors[0]:.2g} at t = {o.end:g}"
    return path, f"method {last.method}, {error}; total probability off by {last.mass_defect:.2g}"


def by_euler(o: MasterEquation, Q: Any, p0: np.ndarray) -> tuple["Trajectory", str]:
    """Compute the forward Euler trajectory at about `frames` times, with a sentence on its number of steps."""
    from dynsim.simulation.simulate import iterate
    from dynsim.systems.master_equation.flow import MasterEquationMap

    map = MasterEquationMap(Q, o.euler)
    every = max(1, round(o.end / map.step_size / (o.frames - 1)))
    steps = every * max(1, round(o.end / map.step_size / every))
    return iterate(
        map, p0, steps, every=every
    ), f"forward Euler: {steps} steps of size {map.step_size:g}, one in {every} kept"
