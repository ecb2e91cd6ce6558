"""Ensembles in axes: medians, quantile bands and members over time."""

from collections.abc import Sequence
from typing import Any, Unpack

import jax
import numpy as np

from dynsim.errors import ArgumentError
from dynsim.simulation.ensemble import Ensemble
from dynsim.systems.named import Components
from figures.artists import Artists, Frame, Part, sheet
from figures.panels.attractors import time_series
from figures.panels.curves import beside, member_curves, quantile_band
from figures.panels.growing import head_colours
from figures.panels.labels import axis_labels, of_many, time_label
from figures.panels.shown import member_limits
from figures.style import COLOURS, COLUMN, canvas, colours_of
from figures.trajectories import MOST, NAMED

LOW, HIGH = 0.05, 0.95  # quantiles that bound the drawn band


def ensemble(
    found: Ensemble,
    ax: Any = None,
    *,
    names: Sequence[str] = (),
    units: Sequence[str] = (),
    medians: Part = True,
    bands: Part = True,
    members: Part = True,
    densities: Part = False,
    quantiles: tuple[float, float] = (LOW, HIGH),
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw an ensemble; see `Ensemble.plot`."""
    ts, values = table(found)
    known = _known(found, names, units, values.shape[2])
    low, high = quantiles
    if not 0 <= low < high <= 1:
        raise ArgumentError("quantiles", "be two increasing numbers in [0, 1]", f"is {quantiles}")
    d = values.shape[2]
    several, finished = d > MOST, np.asarray(found.stats.succeeded)
    make = lambda: canvas(aspect=0.85) if several else canvas(COLUMN, max(0.75, 0.3 + 0.3 * d), rows=d)
    with sheet(ax, make=make, columns=4, place="below" if several else "", **frame) as drawn:
        if len(drawn.axes) not in (1, d):
            raise ArgumentError("ax", f"be one, or one for each of {d} quantities", f"are {len(drawn.axes)}")
        parts = (medians, bands, members, densities)
        if several:
            _medians(drawn, ts, values, known, medians, colour)
        else:
            _bands(drawn, ts, values, known, finished, parts, quantiles, colour)
        if drawn.own and not several and frame.get("legend") is not False:
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 2, "frameon": False}
            drawn.legend = drawn.axes[0].legend(**place)  # above the panel, since bands may be anywhere in it
    return drawn


def table(found: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """Times that a member reaches, (times,), and the observed numbers, (members, times, quantities).

    Raises:
        ValueError: unless a member reaches the second time, and the values are real numbers.
    """
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(found.values)]
    if not leaves or any(leaf.dtype.kind not in "fiub" or not leaf.size for leaf in leaves):
        raise ArgumentError("ensemble", "hold real numbers, at least one for each time", f"is {found!r}")
    values = np.concatenate([leaf.reshape(*leaf.shape[:2], -1).astype(float) for leaf in leaves], axis=2)
    alive = np.isfinite(values).all(axis=2).any(axis=0)
    if alive.sum() < 2:
        raise ArgumentError("ensemble", "have a member that reaches the second time", "has none")
    return np.asarray(found.ts, float)[alive], values[:, alive]


def leaving(ys: np.ndarray, finished: np.ndarray) -> tuple[tuple[float, float] | None, np.ndarray]:
    """Limits that fit most members, (members, times), or None for all of them, and which members leave the limits."""
    limits = member_limits(ys, finished)
    if limits is None:
        return None, np.zeros(len(ys), bool)
    return limits, np.any((ys < limits[0]) | (ys > limits[1]), axis=1)


def _known(found: Ensemble, names: Sequence[str], units: Sequence[str], count: int) -> Components:
    """Names and units of the observed quantities; those of the flow if the state itself was observed."""
    flow: Any = found.flow[0] if isinstance(found.flow, tuple) else found.flow
    time_unit, own = str(getattr(flow, "time_unit", "")), tuple(getattr(flow, "names", ()))
    final = np.concatenate([np.asarray(x, float).reshape(len(x), -1) for x in jax.tree.leaves(found.final)], axis=1)
    last = np.concatenate(
        [np.asarray(v, float)[:, -1].reshape(len(v), -1) for v in jax.tree.leaves(found.values)], axis=1
    )
    is_state = final.shape == last.shape and np.array_equal(final, last, equal_nan=True) and len(own) == count
    words = tuple(names) or (own if is_state else tuple(f"quantity {k + 1}" for k in range(count)))
    said = tuple(units) or (tuple(flow.units) if is_state and not names and flow.units else ("",) * count)
    for name, given in (("names", words), ("units", said)):
        if len(given) != count:
            raise ArgumentError(name, f"have one entry for each of {count} quantities", f"has {len(given)}")
    return Components(words, said, time_unit)


def _medians(drawn: Artists, ts: np.ndarray, values: np.ndarray, known: Components, medians: Part, colour: Any) -> None:
    words, ylabel = of_many("medians of the components", known.names, known.units)
    d = values.shape[2]
    for k, tint in enumerate(head_colours(d) if colour is None else [colour] * d):
        label = words[k] if d <= NAMED or k in (0, d - 1) else None
        drawn.draw("medians", medians, time_series, ts, np.nanmedian(values[..., k], axis=0), colour=tint, label=label,
                   number=k if d <= NAMED else None)  # fmt: skip
    drawn.axes[0].set(xlabel=time_label(known.time_unit), ylabel=ylabel, xlim=ts[[0, -1]])


def _bands(
    drawn: Artists,
    ts: np.ndarray,
    values: np.ndarray,
    known: Components,
    finished: np.ndarray,
    parts: Sequence[Part],
    quantiles: tuple[float, float],
    colour: Any,
) -> None:
    medians, bands, members, densities = parts
    d, left = values.shape[2], np.zeros(len(values), bool)
    names, apart = axis_labels(known.names, known.units), len(drawn.axes) > 1
    for k in range(d):
        ax = drawn.axes[k if apart else 0]
        tint = _tint(colour, k, drawn.own or (apart and colour is None))
        y, name = values[..., k], names[k] if not (apart or d == 1) else ""
        drawn.draw("members", members, member_curves, ts, y, colour=tint, ax=ax)
        drawn.draw("bands", bands, quantile_band, ts, y, quantiles=quantiles, colour=tint, what=name, ax=ax)
        drawn.draw("medians", medians, time_series, ts, np.nanmedian(y, axis=0), label=name or "median",
                   colour=COLOURS["median"] if tint is None else tint, ax=ax)  # fmt: skip
        fits, gone = leaving(values[..., k], finished)
        if fits is not None and (apart or d == 1):
            ax.set_ylim(*fits)
            left |= gone
        ax.set_xlim(ts[[0, -1]])
        ax.set_ylabel(names[k] if apart or d == 1 else of_many("quantities", known.names, known.units)[1])
        last = k == d - 1
        at = f"density at\n$t$ = {ts[-1]:g} {known.time_unit}".rstrip() if last else ""
        drawn.draw("densities", densities, beside, values[finished, -1, k], label=at, ax=ax)
        if drawn.own:
            ax.tick_params(labelbottom=last)
        if last:
            ax.set_xlabel(time_label(known.time_unit))
    if left.any():
        text = f"{int(left.sum())} of {len(values)} leave the axes"
        drawn.axes[0].plot([], [], color=COLOURS["member"], linewidth=0.5, label=text)


def _tint(colour: Any, k: int, own: bool) -> Any:
    """Colour of a quantity: the one given, that of our style (None), or the style's cycle by number."""
    several = colours_of(colour)
    return several[k % len(several)] if colour is not None else None if own else f"C{k}"
