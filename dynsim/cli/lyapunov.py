"""`dynsim lyapunov`: compute Lyapunov exponents with standard errors, for one system or against a parameter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dynsim.cli.parsing.options import Force, Rtol, check_outputs, refuse_solvers, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import parameter_values
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import IntegrationError, Outcome

if TYPE_CHECKING:
    from dynsim.cli.building.systems import Found
    from figures.artists import Artists

VALUES = 41  # default number of parameter values, enough for a curve and still quick


@dataclass(frozen=True)
class Lyapunov(SystemOptions):
    """Compute the largest Lyapunov exponents of a flow or a map, with standard errors: dynsim lyapunov lorenz --rho 28.

    The tangent vectors along one trajectory are orthonormalised at intervals; exponents are per time unit or step. A
    run whose two halves give different exponents is reported as not converged.

    SYSTEM is a name that `dynsim list systems` shows, or `file.py:name` of yours; each of its parameters is an option
    of its own.
    """

    duration: float | None = None
    """length of the run after the transient; by default 500 steps or time units, rescaled if the system's rates are far
    from 1"""
    transient: float | None = None
    """transient to discard (time units or steps); by default a tenth of the duration"""
    interval: float | None = None
    """time or steps between orthonormalisations; by default 1, rescaled like the duration"""
    count: int | None = None
    """number of exponents; all by default"""
    rtol: Rtol = 1e-8
    atol: float | None = None
    """absolute tolerance; by default a hundredth of the relative one, in units near the size of the state"""
    integrator: Literal["diffrax", "stiff"] = "diffrax"
    """the integrator of a flow: diffrax (explicit), or stiff (implicit) for stiff flows"""
    against: str = ""
    """plot the exponents against a parameter: NAME=LOW:HIGH (41 values) or NAME=LOW:HIGH:COUNT"""
    out: Path | None = None
    """a table (.csv, .parquet or .npz) to write: the exponents with their errors, for each value of the parameter"""
    figure: Path | None = None
    """the figure (.pdf, .svg or .png) to write: running estimates, or exponents against the parameter"""
    movie: Path | None = None
    """a movie (.gif) to write, in which the lines of the figure grow"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Compute, print and draw the Lyapunov exponents; return exit status 1 if the run has not converged."""
    o = parse_system(Lyapunov, words, "lyapunov")
    check_outputs(o.force, figure=o.figure, movie=o.movie, out=o.out)
    from dynsim.cli.building.systems import found
    from dynsim.programs import without_compiling

    made = found(o, "lyapunov")
    refuse_solvers(o, made.system)
    with without_compiling():
        return against(o, made) if o.against else single(o, made)


def _options(o: Lyapunov) -> dict[str, Any]:
    """Collect the options of the command that `lyapunov_spectrum` takes."""
    from dynsim.cli.parsing.solvers import of_many

    solver = of_many(o.integrator, o.rtol)
    names = ("count", "transient", "interval", "rtol", "atol")
    return {"integrator": solver, **{name: getattr(o, name) for name in names}}


def single(o: Lyapunov, made: "Found") -> int:
    """Compute, print and draw the Lyapunov exponents of one system."""
    from analysis.dynamics.lyapunov import lyapunov_spectrum

    found = lyapunov_spectrum(made.system, made.begun(), o.duration, **_options(o))
    for number, text in enumerate(found.bounds(6)):
        say(f"exponent {number + 1}: {text}")
    if len(found.exponents) > 1:
        most = "at most " if not all(found.resolved) else ""
        say(f"sum {most}{np.sum(found.exponents):.6g}, Kaplan-Yorke dimension {most}{found.kaplan_yorke:.5g}")
    if not found.converged:
        longer = "; take a longer `--duration`" if not np.any(np.isnan(found.exponents)) else ""
        say(f"not converged: {found.reason}{longer}")
    if o.out is not None or o.figure is not None or o.movie is not None:
        from dynsim.systems.base import AbstractMap
        from figures.panels.labels import time_label

        is_map = isinstance(made.system, AbstractMap)
        words = {"xlabel": "step $k$" if is_map else time_label(made.system.time_unit)}
        words["ylabel"] = _exponents_label(made.system)
        write_out(o.out, found, drawing=words)
        _draw(o, lambda until: found.plot(until=until, **words), f"Lyapunov exponents of {made.name}")
    return 0 if found.converged else 1


def against(o: Lyapunov, made: "Found") -> int:
    """Compute, print and draw the Lyapunov exponents against a parameter; skip values at which the orbit escapes."""
    from analysis.dynamics.exponents import lyapunov_spectra
    from dynsim.systems.named import changed

    name, values = parameter_values(o.against, VALUES, made.system, "against")
    systems = [changed(made.system, {name: value}) for value in values]
    found = lyapunov_spectra(systems, made.begun(), o.duration, **_options(o))
    rows = [None if row is None or np.any(np.isnan(row.exponents)) else row for row in found.spectra]
    kept = [(value, row) for value, row in zip(values, rows, strict=True) if row is not None]
    if not kept:
        raise IntegrationError(
            f"The orbit escapes for all values of `{name}`: choose another initial state with `--start`.",
            outcome=Outcome.NON_FINITE,
        )
    for value, row in kept:
        say(f"{name} = {value:.6g}: {', '.join(row.bounds(5))}{'' if row.converged else ' (not converged)'}")
    late = sum(not row.converged for _, row in kept)
    say(f"{len(values) - len(kept)} of {len(values)} orbits escape, {late} have not converged")
    if found.solved:
        say(f"solved {found.solved}")
    if o.out is not None:
        from analysis.tables import along_parameter

        write_out(o.out, along_parameter(name, [value for value, _ in kept], [row for _, row in kept]))
    if o.figure is not None or o.movie is not None:
        from figures.measures import exponents_along
        from figures.panels.labels import symbol

        xs = np.array([value for value, _ in kept])
        parts = [np.array([getattr(row, part) for _, row in kept]) for part in ("exponents", "errors", "converged")]
        parts[0], exponents = _drawn(parts[0]), _exponents_label(made.system)
        _draw(
            o,
            lambda until: exponents_along(
                xs,
                parts[0],
                parts[1],
                xlabel=symbol(name),
                ylabel=exponents,
                converged=parts[2],
                until=until,
            ),
            f"Lyapunov exponents of {made.name} against {name}",
        )
    return 0


def _exponents_label(system: Any) -> str:
    """Label an axis of Lyapunov exponents, which are per unit of time for a flow."""
    from figures.panels.labels import rate_label

    return rate_label("Lyapunov exponents", "", getattr(system, "time_unit", ""))


def _drawn(exponents: np.ndarray) -> np.ndarray:
    """Replace exponents of minus infinity by NaN, so that they are not drawn."""
    return np.where(np.isfinite(exponents), exponents, np.nan)


def _draw(o: Lyapunov, draw: "Callable[[float], Artists]", title: str) -> None:
    """Write the requested figure and movie of a drawing of a share of the data."""
    from figures.movie import growing, write_movie

    if o.figure is not None:
        draw(1.0).save(o.figure, title)
        say(f"figure {o.figure}")
    if o.movie is not None:
        write_movie(o.movie, growing(lambda until: draw(until).figure))
        say(f"movie {o.movie}")
