"""`dynsim simulate fast-slow`: trajectories for several epsilons, the manifold, and the error of the reduced flow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from dynsim.commands.options import check_outputs, parse, say
from dynsim.errors import argument_error, nearest, reason

if TYPE_CHECKING:
    from analysis.fast_slow.critical_manifold import Branch
    from dynsim.systems.fast_slow.examples import Example
    from dynsim.systems.fast_slow.flow import FastSlowFlow
    from dynsim.trajectory import Trajectory


@dataclass(frozen=True)
class FastSlowOptions:
    """Follow eps x' = f(x, y), y' = g(x, y) for several epsilons, and compare it with its reduced flow.

    SYSTEM is linear, van-der-pol, michaelis-menten, switching, transcritical or saddle; or `file.py:name` or
    `module:name` of a `FastSlowFlow` of yours, or of a function of epsilon that returns one, with `--fast`, `--slow`.
    """

    system: Annotated[str, tyro.conf.Positional] = "van-der-pol"
    """what to follow"""
    epsilon: tuple[float, ...] = (3e-3, 1e-3, 3e-4, 1e-4)
    """the ratios of the time scales"""
    fast: tuple[float, ...] = ()
    """the first fast variable"""
    slow: tuple[float, ...] = ()
    """the first slow variable"""
    window: tuple[float, ...] = ()
    """two slow variables, if it is one number: the manifold is continued from the first to the second"""
    guess: tuple[float, ...] = ()
    """near the fast variable above the first of them; by default the first fast variable"""
    end: float | None = None
    """last time, in slow time"""
    compare: float | None = None
    """up to when the reduced flow is compared, by default to the end; 0: not at all"""
    frames: int = 1001
    """number of times that are kept"""
    rtol: float = 1e-9
    """relative tolerance; the absolute one is a hundredth of it"""
    out: Path | None = None
    """where run files (.npz) go, the epsilon added to the name if there are several"""
    figure: Path | None = None
    """where a figure (.pdf, .svg or .png) of the manifold and the trajectories goes"""


def main(words: Sequence[str]) -> int:
    """Follow the system, say what its manifold and the errors are, and write what was asked for."""

    o = parse(FastSlowOptions, words, "simulate fast-slow")
    if not o.epsilon:
        raise argument_error("epsilon", "hold at least one number", "is empty")
    if o.frames < 2:
        raise argument_error("frames", "be at least 2", f"is {o.frames}")
    check_outputs(o.out, o.figure)
    case = example(o)
    if o.figure is not None and not case.path.size:
        raise argument_error("figure", "come with a `--window` of the slow variable, one number", "does not")
    _check_shapes(case, o.epsilon[0])
    branches = _branches(case, o.epsilon[0]) if case.path.size else ()
    if case.compare > 0:
        _compared(case, o.epsilon)
    runs = [_followed(case, ratio, o) for ratio in o.epsilon]
    if o.out is not None:
        _write(o.out, o.epsilon, runs)
    if o.figure is not None:
        draw(o.figure, branches, runs, o.epsilon)
        say(f"figure {o.figure}")
    return 0 if all(bool(run.stats.succeeded) for run in runs) else 1


def example(o: FastSlowOptions) -> "Example":
    """Return the named example, or the user's system as one, with the options put in."""
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
        raise argument_error("window", "be two numbers, for a slow variable that is one", f"is {o.window}")
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
    """Return the numbers of an option as a variable: a number if it is one."""
    if not values:
        raise argument_error(name, "be given for a system of yours", "is not")
    return np.asarray(values[0] if len(values) == 1 else values, float)


def _filled(values: tuple[float, ...], default: np.ndarray, name: str) -> np.ndarray:
    """Return the numbers of an option in the shape of the default, or the default."""
    if not values:
        return default
    if len(values) != default.size:
        raise argument_error(name, f"hold {default.size} numbers", f"holds {len(values)}")
    return np.asarray(values, float).reshape(default.shape)


def _own(name: str) -> "Callable[[float], FastSlowFlow]":
    """Return the user's system as a function of epsilon."""
    from dynsim.commands.simulate.systems import imported
    from dynsim.systems.fast_slow.examples import EXAMPLES
    from dynsim.systems.fast_slow.flow import FastSlowFlow

    if ":" not in name:
        must = f"be {', '.join(EXAMPLES)}, `file.py:name` or `module:name`"
        raise argument_error("system", must, f"is `{name}`{nearest(name, EXAMPLES)}")
    thing = imported(name)
    if isinstance(thing, FastSlowFlow):
        return thing.with_epsilon
    return lambda ratio: _made(thing, ratio)


def _made(thing: Any, ratio: float) -> "FastSlowFlow":
    """Return what the user's function makes of epsilon."""
    from dynsim.systems.fast_slow.flow import FastSlowFlow

    made = thing(ratio) if callable(thing) else thing
    if not isinstance(made, FastSlowFlow):
        raise argument_error("system", "be a `FastSlowFlow`, or a function of epsilon", f"gives {type(made).__name__}")
    return made


def _check_shapes(case: "Example", ratio: float) -> None:
    """Raise `ValueError`, in one sentence, if a user's functions do not take variables of these shapes."""
    import jax

    from dynsim.systems.fast_slow.flow import rates

    flow = case.flow(ratio)
    try:
        jax.eval_shape(lambda x: rates(flow, x), case.start)
    except (TypeError, IndexError) as error:
        shapes = " and ".join(str(part.shape) for part in case.start)
        must = f"take (x, y) of shapes {shapes}, those of `--fast` and `--slow` (one number has no axis), in JAX"
        raise argument_error("system", must, f"raised {type(error).__name__}: {reason(error)}") from None


def _branches(case: "Example", ratio: float) -> "tuple[Branch, ...]":
    """Return the branches of the manifold over the window, and say what they are."""
    from analysis.fast_slow.critical_manifold import manifold
    from dynsim.systems.fast_slow.flow import FastSlow

    found = manifold(case.flow(ratio), FastSlow(case.guess, case.path[0]), case.path)
    for branch in found:
        say(branch.explain())
    return found


def _followed(case: "Example", ratio: float, o: FastSlowOptions) -> "Trajectory":
    """Return the trajectory at one epsilon, and say how it went."""
    from dynsim.integrators import stiff
    from dynsim.simulation import simulate

    ts = np.linspace(0.0, case.end, o.frames)
    path = simulate(case.flow(ratio), case.start, ts, integrator=stiff(o.rtol), throw=False)
    say(f"epsilon {ratio:g}: {path.stats.explain()}")
    return path


def _compared(case: "Example", ratios: tuple[float, ...]) -> None:
    """Say how far the reduced flow is from the system at each epsilon, and the order."""
    from analysis.fast_slow.reductions import reduction_error

    found = reduction_error(case.flow(ratios[0]), case.start, case.compare, sorted(ratios, reverse=True))
    say(f"largest errors of the reduced flow up to t = {case.compare:g}, after the boundary layer:")
    say(f"  {'epsilon':>10}{'from t':>12}{'x':>12}{'y':>12}")
    for row in zip(found.epsilons, found.starts, found.fast_errors, found.slow_errors, strict=True):
        say("  " + f"{row[0]:>10.3g}" + "".join(f"{value:>12.3g}" for value in row[1:]))
    say(found.explain())


def _write(out: Path, ratios: tuple[float, ...], runs: "Sequence[Trajectory]") -> None:
    from dynsim.storage import save

    for ratio, run in zip(ratios, runs, strict=True):
        file = out if len(runs) == 1 else out.with_name(f"{out.stem}-{ratio:g}{out.suffix}")
        save(file, run)
        say(f"run file {file}")


def draw(path: Path, branches: "Sequence[Branch]", runs: "Sequence[Trajectory]", ratios: Sequence[float]) -> None:
    """Draw the manifold, the first entry of x over y, and the trajectories."""
    from figures.files import write_figure
    from figures.panels.manifolds import relaxations, slow_manifold
    from figures.style import canvas, settings

    first = lambda part: np.asarray(part).reshape(len(part), -1)[:, 0]
    with settings():
        drawn, (ax,) = canvas(aspect=0.9)
        for branch in branches:
            folds = [
                (first(loss.slow[None])[0], first(loss.fast[None])[0]) for loss in branch.losses if loss.kind == "fold"
            ]
            slow_manifold(ax, first(branch.slow), first(branch.fast), branch.kinds, folds=folds)
        relaxations(
            ax,
            [first(run.ys.slow) for run in runs],
            [first(run.ys.fast) for run in runs],
            labels=[rf"$\varepsilon = {ratio:g}$" for ratio in ratios],
        )
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        write_figure(drawn, path, "a slow manifold and trajectories")
