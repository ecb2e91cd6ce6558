"""Sections, Lyapunov exponents and Floquet multipliers in axes."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.poincare import Section
from analysis.dynamics.scaling.flat import flat_states
from dynsim.errors import ArgumentError
from dynsim.systems.named import Components
from figures.artists import Artists, Part, StyledFrame, sheet
from figures.panels import exponents as estimates
from figures.panels import maps
from figures.panels.labels import axis_labels, time_label
from figures.panels.spectra import multipliers as multiplier_marks
from figures.panels.spectra import unit_circle
from figures.style import COLUMN, canvas, colours_of


def section(
    found: Section,
    ax: Any = None,
    *,
    components: Sequence[str | int] = (0, 1),
    points: Part = True,
    directions: bool = True,
    colour: Any = None,
    until: float = 1.0,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw a Poincare section; see `Section.plot`."""
    states = flat_states(found.states) if len(found.times) else np.empty((0, 0))
    count = states.shape[1]
    names = found.names or tuple(f"x_{k + 1}" for k in range(count))
    words = axis_labels(names, found.units or ("",) * count)
    size = float(np.max(np.abs(states), initial=0.0))
    with sheet(ax, styled="points", **frame) as drawn:
        if len(tuple(components)) != 2 or count < 2:
            must = "name two components of states that have two or more"
            raise ArgumentError("components", must, f"names {len(tuple(components))} of {count}")
        known = Components(tuple(names), ())
        first, second = (known.place(one, "components") for one in components)
        drawn.draw("points", points, maps.section, states[:, [first, second]], labels=(words[first], words[second]),
                   directions=found.directions if directions else None, until=until, size=size,
                   colour=colour)  # fmt: skip
    return drawn


def exponents(
    found: LyapunovSpectrum,
    ax: Any = None,
    *,
    lines: Part = True,
    bands: Part = True,
    zero: Part = True,
    colour: Any = None,
    xlabel: str = "",
    ylabel: str = "Lyapunov exponents",
    until: float = 1.0,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw running estimates of Lyapunov exponents; see `LyapunovSpectrum.plot`."""
    running = np.where(np.isfinite(found.running), found.running, np.nan)
    parted = estimates.groups(found.exponents, found.errors) if ax is None else [list(range(len(found.exponents)))]
    make = lambda: canvas(COLUMN, 0.75 if len(parted) == 1 else 1.05, rows=len(parted))
    colours = None if colour is None else colours_of(colour)
    with sheet(ax, styled="lines", make=make, columns=2, **frame) as drawn:
        if len(drawn.axes) > 1 and ax is not None:
            parted = estimates.groups(found.exponents, found.errors)
        if len(drawn.axes) != len(parted):
            raise ArgumentError(
                "ax", f"be one, or one for each of {len(parted)} groups of sizes", f"are {len(drawn.axes)}"
            )
        for place, which in zip(drawn.axes, parted, strict=True):
            data = (found.times, running, found.errors)
            last = place is drawn.axes[-1]
            how = {"xlabel": (xlabel or time_label()) if last else "", "ylabel": ylabel, "until": until, "which": which,
                   "colours": colours, "ax": place}  # fmt: skip
            drawn.draw("zero", zero, estimates.running_exponents, *data, parts=("zero",), **how)
            drawn.draw("lines", lines, estimates.running_exponents, *data, parts=("lines",), **how)
            drawn.draw("bands", bands, estimates.running_exponents, *data, parts=("bands",), **how)
            if drawn.own and not last:
                place.tick_params(labelbottom=False)
    return drawn


def exponents_along(
    parameters: np.ndarray,
    exponents: np.ndarray,
    errors: np.ndarray,
    *,
    xlabel: str,
    ylabel: str,
    converged: np.ndarray,
    until: float = 1.0,
) -> Artists:
    """Draw Lyapunov exponents against a parameter, those of very different size in two panels."""
    parted = estimates.groups(np.nanmean(np.abs(exponents), axis=0), np.nanmean(errors, axis=0))
    with sheet(None, make=lambda: canvas(COLUMN, 0.75 if len(parted) == 1 else 1.05, rows=len(parted))) as drawn:
        for place, which in zip(drawn.axes, parted, strict=True):
            last = place is drawn.axes[-1]
            drawn.draw("lines", True, estimates.exponents_against, parameters, exponents, errors, which=which,
                       xlabel=xlabel if last else "", ylabel=ylabel, converged=converged, until=until,
                       ax=place)  # fmt: skip
            place.tick_params(labelbottom=last)
    return drawn


def multipliers(
    found: PeriodicOrbit,
    ax: Any = None,
    *,
    multipliers: Part = True,
    circle: Part = True,
    colour: Any = None,
    **frame: Unpack[StyledFrame],
) -> Artists:
    """Draw the Floquet multipliers of a periodic orbit; see `PeriodicOrbit.plot`."""
    if not np.size(found.multipliers):
        raise ArgumentError("orbit", "have Floquet multipliers", "has none")
    frame.setdefault("title", "Floquet multipliers")
    with sheet(ax, styled="multipliers", **frame) as drawn:
        drawn.draw("circle", circle, unit_circle)
        drawn.draw("multipliers", multipliers, multiplier_marks, found.multipliers, colour=colour)
        target = drawn.axes[0]
        if frame.get("limits", True):
            target.set_aspect("equal", "datalim")
        target.set(xlabel=r"$\mathrm{Re}\,\mu$", ylabel=r"$\mathrm{Im}\,\mu$")
    return drawn
