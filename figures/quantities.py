"""Quantities that a bifurcation diagram can show in place of a component: of orbits also the period and frequency."""

from typing import NamedTuple

import numpy as np

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.tori.branches import TorusBranch
from dynsim.errors import ArgumentError
from figures.panels.labels import axis_label, rate_label

QUANTITIES = ("range", "minimum", "maximum", "amplitude", "period", "frequency")
"""What is drawn: the component with the extremes of orbits, one extreme, half of their distance, or a time."""


Values = tuple[np.ndarray, np.ndarray]
"""Values of a component at the points of a branch and at its bifurcations, with one column per curve."""


class Drawn(NamedTuple):
    """A diagram with the values of a component on its branches, and whether they are branches of periodic orbits.

    `orbits` is what a legend calls the periodic orbits, and `tori` are branches of tori with their values.
    """

    diagram: Diagram
    branches: tuple[tuple[Branch, bool], ...]
    values: tuple[Values, ...]
    orbits: str = "periodic orbits, max. and min."
    tori: tuple[tuple[TorusBranch, np.ndarray], ...] = ()


def shown(drawn: Drawn, quantity: str) -> Drawn:
    """Convert the values of a diagram to those of a quantity; equilibria have no period and are left out.

    Raises:
        ValueError: for a period or frequency without periodic orbits.
    """
    if quantity == "range":
        return drawn
    pairs = list(zip(drawn.branches, drawn.values, strict=True))
    if quantity in ("period", "frequency"):
        orbits = [one for (one, is_orbit), _ in pairs if is_orbit]
        if not orbits:
            raise ArgumentError(
                "y", "be a component's range, minimum, maximum or amplitude without periodic orbits (see `--cycles`)",
                f"is `{quantity}`",
            )  # fmt: skip
        values = tuple(_times(one, quantity) for one in orbits)
        tori = tuple((one, _turns(one, quantity)) for one, _ in drawn.tori)
        return Drawn(drawn.diagram, tuple((one, True) for one in orbits), values, "periodic orbits", tori)
    measure = {
        "minimum": lambda rows: rows.min(axis=1, keepdims=True),
        "maximum": lambda rows: rows.max(axis=1, keepdims=True),
        "amplitude": lambda rows: np.ptp(rows, axis=1, keepdims=True) / 2,
    }[quantity]
    measured = tuple((measure(on_branch), measure(at)) for _, (on_branch, at) in pairs)
    tori = tuple((one, measure(values)) for one, values in drawn.tori)
    return drawn._replace(values=measured, orbits="periodic orbits", tori=tori)


def _times(one: Branch, quantity: str) -> Values:
    """Collect the periods of a branch of orbits, of its bifurcations and marks, or their inverses."""
    states, power = one.states, 1 if quantity == "period" else -1
    at = np.array([float(mark.state.period) for mark in one.places]).reshape(-1, 1)
    return np.asarray(states.period, float).reshape(-1, 1) ** power, at**power


def _turns(tori: TorusBranch, quantity: str) -> np.ndarray:
    """Collect the times of a turn on each torus of a branch, or both of its frequencies."""
    pairs = [(one.period,) if quantity == "period" else one.frequencies for one in tori.tori]
    return np.array(pairs)


def label(quantity: str, name: str, unit: str, time_unit: str) -> str:
    """Label the axis of a quantity of a component."""
    own = axis_label(name, unit)
    if quantity == "period":
        return axis_label("period", time_unit)
    if quantity == "frequency":
        return rate_label("frequency", "", time_unit)
    return own if quantity == "range" else f"{quantity} of {own}"
