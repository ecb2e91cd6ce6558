"""Draw critical manifolds {f = 0} of fast-slow systems, relaxing trajectories, and errors against epsilon."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.curves import STYLES
from figures.style import SERIES, colour, large, thick

GUIDES = ((0, (1, 1)), (0, (8, 2)))  # line styles of reference lines, which are thin
HYPERBOLIC = {"attracting": STYLES[0], "repelling": STYLES[1], "saddle": STYLES[3], "undecided": STYLES[2]}


def critical_manifold(
    ax: Axes,
    slow: ArrayLike,
    fast: ArrayLike,
    kinds: Sequence[str],
    *,
    folds: ArrayLike = (),
    labels: tuple[str, str] = ("slow variable $y$", "fast variable $x$"),
    tint: Any = None,
) -> LineCollection:
    """Draw a branch of the critical manifold {f = 0} with its folds, and return its pieces.

    The branch is solid where normally attracting, dashed where repelling, and dash-dotted where of saddle type.

    Args:
        ax: the axes.
        slow: the slow variable, (points,), in the order of the branch.
        fast: the fast variable, (points,).
        kinds: the stability of each point: `attracting`, `repelling`, `saddle` or `undecided`. A piece between two
            points has their common kind. At a fold or a crossing of branches, which is `undecided`, it has the kind of
            the other end.
        folds: slow and fast variable of each fold, (folds, 2).
        labels: labels of the slow and the fast axis.
        tint: the colour of the branch; by default black, and purple where it is undecided.

    Raises:
        ValueError: unless `kinds` has one such word for each point.
    """
    points = np.column_stack([np.asarray(slow, float), np.asarray(fast, float)])
    words = [str(word) for word in kinds]
    if len(words) != len(points) or not set(words) <= set(HYPERBOLIC):
        raise ArgumentError("kinds", f"name each of {len(points)} points by {', '.join(HYPERBOLIC)}", f"are {words}")
    pieces = [(_side(words[k], words[k + 1]), points[k : k + 2]) for k in range(len(points) - 1)]
    runs = _runs(pieces)
    tints = {word: tint or colour("undecided" if word == "undecided" else "stable") for word in HYPERBOLIC}
    lines = LineCollection(
        [run for _, run in runs],
        linestyles=[HYPERBOLIC[word] for word, _ in runs],
        colors=[tints[word] for word, _ in runs],
        linewidths=thick(1.2),
        zorder=3.0,
    )
    ax.add_collection(lines)
    named = {line.get_label() for line in ax.lines}
    for word in dict.fromkeys(word for word, _ in runs):
        if word not in named:
            ax.plot([], [], color=tints[word], linestyle=HYPERBOLIC[word], linewidth=thick(1.2), label=word)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    fold_points(ax, folds)
    ax.autoscale_view()
    return lines


def fold_points(ax: Axes, folds: ArrayLike) -> None:
    """Mark folds, slow and fast variable of each in (folds, 2), by diamonds that a legend names once."""
    places = np.asarray(folds, float).reshape(-1, 2)
    if places.size:
        named = "fold" in {line.get_label() for line in ax.lines}
        ax.plot(*places.T, marker="D", color=colour("end"), linestyle="none", zorder=6.0, markersize=large(4.0),
                label=None if named else "fold")  # fmt: skip


def _side(one: str, other: str) -> str:
    return other if one == "undecided" else one


def _runs(pieces: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
    """Join consecutive pieces of one kind to one line, so that dashes are visible."""
    runs: list[tuple[str, np.ndarray]] = []
    for word, piece in pieces:
        if runs and runs[-1][0] == word:
            runs[-1] = (word, np.concatenate([runs[-1][1], piece[1:]]))
        else:
            runs.append((word, piece))
    return runs


def relaxations(
    ax: Axes, slow: Sequence[ArrayLike], fast: Sequence[ArrayLike], *, labels: Sequence[str]
) -> list[Line2D]:
    """Draw trajectories in the plane of slow and fast variable, with initial points as open circles.

    Args:
        ax: the axes.
        slow: the slow variable of each trajectory, (times,) each.
        fast: the fast variable of each trajectory, (times,) each.
        labels: labels of the trajectories for a legend.

    Raises:
        ValueError: unless there is one label for each trajectory.
    """
    if not len(slow) == len(fast) == len(labels):
        raise ArgumentError("labels", f"name each of {len(slow)} trajectories", f"are {len(labels)}")
    lines = []
    for number, (ys, xs, label) in enumerate(zip(slow, fast, labels, strict=True)):
        tint = colour(SERIES[number % len(SERIES)])
        lines += ax.plot(np.asarray(ys), np.asarray(xs), color=tint, linewidth=0.8, label=label, zorder=2.0)
        ax.plot(np.asarray(ys)[0], np.asarray(xs)[0], marker="o", markerfacecolor="white", color=colour("start"),
                linestyle="none", markersize=3.5, zorder=5.0)  # fmt: skip
    return lines


def error_against(
    ax: Axes,
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    labels: Sequence[str],
    roles: Sequence[str],
    slopes: Sequence[int] = (1,),
) -> list[Line2D]:
    """Draw errors against a small parameter on logarithmic axes, with reference lines of given slopes.

    Args:
        ax: the axes.
        sizes: the values of the small parameter, (sizes,).
        errors: the errors, (curves, sizes).
        labels: labels of the curves.
        roles: roles of the curves, which determine their colours.
        slopes: slopes of the reference lines; each is drawn a factor 2 below the curve with the closest fitted slope.

    Raises:
        ValueError: for arrays or labels that do not match.
    """
    h, e = np.asarray(sizes, float), np.asarray(errors, float)
    if e.ndim != 2 or e.shape[1:] != h.shape or not len(labels) == len(roles) == len(e):
        raise ArgumentError("errors", "have shape (curves, sizes) to match `labels` and `roles`", f"has {e.shape}")
    marks = ("o", "s", "^", "v", "D")
    lines = [
        ax.loglog(h, row, color=colour(role), marker=marks[k % len(marks)], linestyle=STYLES[k % len(STYLES)])[0]
        for k, (row, role) in enumerate(zip(e, roles, strict=True))
    ]
    for line, label in zip(lines, labels, strict=True):
        line.set(label=label, markersize=3.5)
    found = [np.polyfit(np.log(h), np.log(row), 1)[0] for row in e]
    for number, slope in enumerate(slopes):
        nearest = e[int(np.argmin(np.abs(np.array(found) - slope)))]
        guide = nearest[0] * (h / h[0]) ** slope / 2
        ax.loglog(h, guide, color=colour("reference"), linestyle=GUIDES[number % 2], label=f"slope {slope}", zorder=1.0)
    ax.set(xlabel=r"$\varepsilon$", ylabel="largest error")
    return lines
