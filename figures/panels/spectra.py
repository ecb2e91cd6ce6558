"""Draw eigenvalues in the complex plane."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from dynsim._core.types import ArrayLike
from figures.style import COLOURS, colour, paler, thick

MARKERS = {"first": "o", "second": "^", "third": "s"}


def eigenvalues(ax: Axes, values: ArrayLike, *, role: str, label: str = "", zero: float = 1e-9) -> PathCollection:
    """Draw eigenvalues in the complex plane, filled where the real part is positive.

    A multiple eigenvalue is drawn once, with a size that grows with its multiplicity, which is written beside it. The
    right half-plane, of unstable modes, is shaded.

    Args:
        ax: the axes.
        values: the eigenvalues, real or complex, in the inverse of the flow's time unit.
        role: `first`, `second` or `third`, which determines colour and marker.
        label: the name of the linearisation for a legend.
        zero: real parts up to this value count as zero, and eigenvalues this close as equal.
    """
    values = np.asarray(values, complex).ravel()
    places, counts = _distinct(values, zero)
    tint = colour(role)
    marks = ax.scatter(
        *places.T,
        s=14 * np.sqrt(counts),
        marker=MARKERS.get(role, "o"),
        facecolors=[tint if place[0] > zero else "white" for place in places],
        edgecolors=tint,
        linewidths=0.8,
        zorder=3.0,
        label=label or None,
    )
    _plane(ax)
    _count(ax, places, counts, tint)
    return marks


def multipliers(ax: Axes, values: ArrayLike, *, colour: Any = None) -> None:
    """Draw multipliers in the complex plane; those outside the unit circle, of unstable directions, are filled."""
    found = np.asarray(values, complex).ravel()
    for side, fill in ((abs(found) <= 1, "none"), (abs(found) > 1, "full")):
        tint = COLOURS["first"] if colour is None else colour
        if np.any(side):
            ax.plot(np.real(found[side]), np.imag(found[side]), "o", fillstyle=fill, color=tint)


def unit_circle(ax: Axes) -> None:
    """Draw the unit circle of the complex plane."""
    turn = np.linspace(0.0, 2 * np.pi, 200)
    ax.plot(np.cos(turn), np.sin(turn), color=COLOURS["reference"], linewidth=thick(0.6))


def _distinct(values: np.ndarray, zero: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, as columns of real and imaginary parts, and their multiplicities."""
    tolerance = max(zero, 1e-6 * float(np.max(np.abs(values), initial=0.0)))
    places: list[complex] = []
    counts: list[int] = []
    for value in values:
        near = [k for k, place in enumerate(places) if abs(place - value) <= tolerance]
        if near:
            counts[near[0]] += 1
        else:
            places.append(complex(value))
            counts.append(1)
    return np.array([(place.real, place.imag) for place in places]).reshape(-1, 2), np.array(counts, int)


def _count(ax: Axes, places: np.ndarray, counts: np.ndarray, tint: str) -> None:
    """Write the multiplicity above each marker, or below it where the previous one is too close."""
    near, last = 0.1 * float(np.ptp(ax.get_xlim())), -np.inf
    above = True
    for k in np.argsort(places[:, 0], kind="stable"):
        if counts[k] > 1:
            above = not above if places[k, 0] - last < near else True
            last = float(places[k, 0])
            ax.annotate(
                rf"$\times{counts[k]}$",
                (float(places[k, 0]), float(places[k, 1])),
                (0, 5 if above else -6),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=6.5,
                color=tint,
            )


def _plane(ax: Axes) -> None:
    """Draw the axes of the complex plane and shade its right half; each call updates the limits."""
    if not str(ax.get_label()).startswith("spectrum"):
        ax.set_label("spectrum")
        ax.axhline(0.0, color=paler(colour("reference"), 0.4), linewidth=0.5, zorder=1.0)
        ax.axvline(0.0, color=colour("reference"), linewidth=0.7, zorder=1.0)
        ax.axvspan(0.0, 1e6, color=paler(colour("unstable"), 0.93), linewidth=0.0, zorder=0.0)
    points = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    reach = max(float(np.ptp(points[:, 0])), 0.2 * float(np.max(np.abs(points[:, 0]))), 1e-3)
    height = max(1.6 * float(np.max(np.abs(points[:, 1]))), 0.25 * reach)
    ax.set_xlim(min(points[:, 0].min(), 0.0) - 0.12 * reach, max(points[:, 0].max(), 0.0) + 0.12 * reach)
    ax.set_ylim(-height, height)
    ax.set_xlabel(r"$\mathrm{Re}\,\lambda$")
    ax.set_ylabel(r"$\mathrm{Im}\,\lambda$")
