"""`dynsim simulate fast-slow`: simulate fast-slow systems, and compare them with critical manifold and reduced flow."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from dynsim.cli.parsing.options import Atol, Force, Frames, check_outputs, parse, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.errors import ArgumentError, check_at_least, check_positive, nearest

if TYPE_CHECKING:
    from analysis.fast_slow.critical_manifold import ManifoldBranch
    from dynsim.simulation.trajectory import Trajectory
    from dynsim.systems.fast_slow.examples import Example
    from dynsim.systems.fast_slow.flow import FastSlowFlow


COPIES = 4  # copies of the trajectories that exist at the same time


@dataclass(frozen=True)
class FastSlowOptions:
    """Simulate eps x' = f(x, y), y' = g(x, y) at several epsilons, and compare it with its reduced flow.

    SYSTEM is linear, van-der-pol, michaelis-menten, switching, transcritical or saddle; or, with `--fast` and
    `--slow`, `file.py:name` or `module:name` of a `FastSlowFlow` of yours or of a function of epsilon that returns one.
    """

    system: Annotated[str, tyro.conf.Positional] = "van-der-pol"
    """the system to simulate"""
    epsilon: tuple[float, ...] = (3e-3, 1e-3, 3e-4, 1e-4)
    """time-scale ratios; one trajectory is simulated for each of them"""
    fast: tuple[float, ...] = ()
    """initial value of the fast variable x"""
    slow: tuple[float, ...] = ()
    """initial value of the slow variable y"""
    window: tuple[float, ...] = ()
    """range of a scalar y over which the critical manifold is continued, from the first value to the second"""
    guess: tuple[float, ...] = ()
    """Newton's initial guess for x on the critical manifold at the first y of the window; by default the initial x"""
    end: float | None = None
    """final slow time, from t = 0"""
    compare: float | None = None
    """time up to which the reduced flow is compared, by default the final time; 0 for no comparison"""
    frames: Frames = 1001
    rtol: float = 1e-9
    """relative tolerance"""
    atol: Atol = None
    max_steps: int | None = None
    """largest number of steps, by default 1,000,000"""
    out: Path | None = None
    """the run file (.npz), or a table (.csv or .parquet), to write; several epsilons give one
    file each, with epsilon added to its name"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: the critical manifold and the trajectories"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Simulate the system, print branches of the critical manifold and errors, and write the requested files."""
    o = parse(FastSlowOptions, words, "simulate fast-slow")
    from dynsim.simulation.run_files import save

    if not o.epsilon:
        raise ArgumentError("epsilon", "hold at least one number", "is empty")
    _check_numbers(o)
    check_outputs(o.force, figure=o.figure)
    for file in _run_files(o.out, o.epsilon):
        check_outputs(o.force, out=file)
    case = example(o)
    if o.figure is not None and not case.path.size:
        raise ArgumentError("figure", "be given with a `--window` of a scalar slow variable", "is given without")
    _check_shapes(case, o.epsilon[0])
    branches = _branches(case, o.epsilon[0]) if case.path.size else ()
    if case.compare > 0:
        _compare(case, o.epsilon)
    runs = [_simulated(case, ratio, o) for ratio in o.epsilon]
    for file, run in zip(_run_files(o.out, o.epsilon), runs, strict=False):
        write_out(file, run, partial(save, run=run))
    if o.figure is not None:
        draw(o.figure, branches, runs, o.epsilon)
        say(f"figure {o.figure}")
    return 0 if all(bool(run.stats.succeeded) for run in runs) else 1


def _check_numbers(o: FastSlowOptions) -> None:
    """Raise `ValueError` for numbers that must be finite or positive and are not, and for too many frames."""
    check_at_least(2, frames=o.frames)
    numbers = len(o.epsilon) * max(2, len(o.fast + o.slow))
    check_memory(lambda frames: COPIES * FLOAT * frames * numbers, frames=o.frames)
    for epsilon in o.epsilon:
        check_positive(epsilon=epsilon)
    check_positive(end=o.end, rtol=o.rtol)
    check_at_least(1, max_steps=1 if o.max_steps is None else o.max_steps)
    for name in ("fast", "slow", "window", "guess"):
        if not all(math.isfinite(value) for value in getattr(o, name)):
            raise ArgumentError(name, "hold finite numbers", f"is {getattr(o, name)}")
    if o.compare is not None and not (o.compare >= 0 and math.isfinite(o.compare)):
        raise ArgumentError("compare", "be at least 0", f"is {o.compare}")


def example(o: FastSlowOptions) -> "Example":
    """Build the named example, or an `Example` of the user's system, with the values of the options."""
    from dynsim.systems.fast_slow.examples import EXAMPLES, Example
    from dynsim.systems.fast_slow.flow import FastSlow

    if o.system in EXAMPLES:
        base = EXAMPLES[o.system]
    else:
        flow = _own(o.system)
        start = FastSlow(_given(o.fast, "fast"), _given(o.slow, "slow"))
        base = Example(o.system, flow, start, np.empty(0), start.fast, 1.0, 1.0 if o.end is None else o.end)
    fast, slow = _filled(o.fast, base.start.fast, "fast"), _filled(o.slow, base.start.slow, "slow")
    if o.window and (len(o.window) != 2 or slow.size != 1):
        raise ArgumentError("window", "be two numbers, for a scalar slow variable", f"is {o.window}")
    path = np.linspace(o.window[0], o.window[-1], 161).reshape(-1, *slow.shape) if o.window else base.path
    return Example(
        base.text,
        base.flow,
        FastSlow(fast, slow),
        path,
        _filled(o.guess, base.guess, "guess"),
        base.end if o.end is None else o.end,
        base.compare if o.compare is None else o.compare,
    )


def _given(values: tuple[float, ...], name: str) -> np.ndarray:
    """Convert the numbers of a required option to an array; a single number becomes a scalar of shape ()."""
    if not values:
        raise ArgumentError(name, "be given for a system of yours", "is not")
    return np.asarray(values[0] if len(values) == 1 else values, float)


def _filled(values: tuple[float, ...], default: np.ndarray, name: str) -> np.ndarray:
    """Reshape the numbers of an option like `default`, or use `default` if there are none."""
    if not values:
        return default
    if len(values) != default.size:
        raise ArgumentError(name, f"hold {default.size} numbers", f"holds {len(values)}")
    return np.asarray(values, float).reshape(default.shape)


def _own(name: str) -> "Callable[[float], FastSlowFlow]":
    """Import the user's system as a function of epsilon."""
    from dynsim.cli.building.own_code import imported
    from dynsim.systems.fast_slow.examples import EXAMPLES
    from dynsim.systems.fast_slow.flow import FastSlowFlow

    if ":" not in name:
        must = f"be {', '.join(EXAMPLES)}, `file.py:name` or `module:name`"
        raise ArgumentError("system", must, f"is `{name}`{nearest(name, EXAMPLES)}")
    found = imported(name)
    if isinstance(found, FastSlowFlow):
        return found.with_epsilon
    return lambda ratio: _flow_at(found, ratio)


def _flow_at(function: Any, ratio: float) -> "FastSlowFlow":
    """Call the user's function for one epsilon, and check that it returns a fast-slow flow."""
    from dynsim.cli.building.own_code import own_code
    from dynsim.systems.fast_slow.flow import FastSlowFlow

    must = "be a `FastSlowFlow`, or a function of epsilon that returns one"
    with own_code("system", must):
        flow = function(ratio) if callable(function) else function
    if not isinstance(flow, FastSlowFlow):
        raise ArgumentError("system", must, f"gives {type(flow).__name__}")
    return flow


def _check_shapes(case: "Example", ratio: float) -> None:
    """Raise `ValueError` if the user's f or g fails for variables of the shapes of the initial state."""
    import jax

    from dynsim.cli.building.own_code import own_code
    from dynsim.systems.fast_slow.flow import rates

    flow = case.flow(ratio)
    shapes = " and ".join(str(part.shape) for part in case.start)
    must = f"take (x, y) of shapes {shapes} in JAX, as `--fast` and `--slow` give them (one number is a scalar)"
    with own_code("system", must):
        jax.eval_shape(lambda x: rates(flow, x), case.start)


def _branches(case: "Example", ratio: float) -> "tuple[ManifoldBranch, ...]":
    """Continue the branches of the critical manifold over the window, and print their stability and folds."""
    from analysis.fast_slow.critical_manifold import connected_branches
    from dynsim.systems.fast_slow.flow import FastSlow

    found = connected_branches(case.flow(ratio), FastSlow(case.guess, case.path[0]), case.path)
    for branch in found:
        say(str(branch))
    return found


def _simulated(case: "Example", ratio: float, o: FastSlowOptions) -> "Trajectory":
    """Simulate the trajectory at one epsilon, and print the statistics of the integration."""
    from dynsim.cli.parsing.solvers import integrator
    from dynsim.simulation.simulate import simulate

    ts, solver = np.linspace(0.0, case.end, o.frames), integrator("stiff", o.rtol, o.max_steps, o.atol)
    path = simulate(case.flow(ratio), case.start, ts, integrator=solver, throw=False)
    say(f"epsilon {ratio:g}: {path.stats}")
    return path


def _compare(case: "Example", ratios: tuple[float, ...]) -> None:
    """Print the error of the reduced flow at each epsilon, and its observed order in epsilon."""
    from analysis.fast_slow.reductions import reduction_error

    found = reduction_error(case.flow(ratios[0]), case.start, case.compare, sorted(ratios, reverse=True))
    say(f"largest error of the reduced flow between the boundary layer and t = {case.compare:g}:")
    say(f"  {'epsilon':>10}{'from t':>12}{'x':>12}{'y':>12}")
    for row in zip(found.epsilons, found.layer_ends, found.fast_errors, found.slow_errors, strict=True):
        say("  " + f"{row[0]:>10.3g}" + "".join(f"{value:>12.3g}" for value in row[1:]))
    say(str(found))


def _run_files(out: Path | None, ratios: tuple[float, ...]) -> list[Path]:
    """List the names of the run files, one for each epsilon; none without `out`."""
    if out is None or len(ratios) == 1:
        return [] if out is None else [out]
    return [out.with_name(f"{out.stem}-{ratio:g}{out.suffix}") for ratio in ratios]


def draw(
    path: Path, branches: "Sequence[ManifoldBranch]", runs: "Sequence[Trajectory]", ratios: Sequence[float]
) -> None:
    """Draw the critical manifold and the trajectories: the first entry of x against the first entry of y."""
    from figures.artists import sheet
    from figures.style import SERIES, colour

    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    with sheet(None, aspect=0.9, legend=place, place="above", columns=1) as drawn:
        (ax,) = drawn.axes
        for branch in branches:
            branch.plot(ax)
        for number, (run, ratio) in enumerate(zip(runs, ratios, strict=True)):
            first = int(np.size(run.initial.fast))  # the entries of x are before those of y
            tint, label = colour(SERIES[number % len(SERIES)]), rf"$\varepsilon = {ratio:g}$"
            run.plot(ax, path=True, components=(first, 0), end=False, smooth=False, labels=False, limits=False,
                     colour=tint, label=label)  # fmt: skip
    drawn.save(path, "a critical manifold and trajectories")
