"""Layout of a drawn figure: its visible texts, whether each lies inside of the figure, and which overlap."""

import io
import itertools
from collections.abc import Callable

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from figures.style import settings

TOLERANCE = (
    0.75  # points by which texts may leave the figure or reach into each other: less than the gap of two letters
)


def texts(drawn: matplotlib.figure.Figure) -> list[tuple[str, Bbox]]:
    """Return the texts that are drawn, with their boxes in points; a tick label outside of its axis is not drawn."""
    found: dict[int, tuple[str, Bbox]] = {}
    draw = Text.draw

    def noted(self, renderer, *args, **options):
        if self.get_visible() and self.get_text().strip():
            box = Text.get_window_extent(self, renderer)
            found[id(self)] = self.get_text(), Bbox(box.get_points() * 72 / drawn.dpi)
        return draw(self, renderer, *args, **options)

    Text.draw = noted
    try:
        with settings():
            drawn.savefig(
                io.BytesIO(), format="png", dpi=100
            )  # as a file is written: panels may move in a second drawing
    finally:
        Text.draw = draw
    return list(found.values())


def outside(drawn: matplotlib.figure.Figure) -> list[str]:
    """Return the texts that leave the figure."""
    width, height = 72 * drawn.get_size_inches()
    frame = Bbox([[-TOLERANCE, -TOLERANCE], [width + TOLERANCE, height + TOLERANCE]])
    return [word for word, box in texts(drawn) if not (frame.contains(*box.min) and frame.contains(*box.max))]


def overlapping(drawn: matplotlib.figure.Figure) -> list[tuple[str, str]]:
    """Return the pairs of texts that overlap."""
    inner = [(word, box.padded(-TOLERANCE / 2)) for word, box in texts(drawn)]
    pairs = itertools.combinations(inner, 2)
    return [(one, other) for (one, box), (other, beside) in pairs if box.overlaps(beside)]


def covering(drawn: matplotlib.figure.Figure) -> list[str]:
    """Return the names in panels that lie on a mark, and the words of legends in panels that lie on a curve."""
    drawn.draw_without_rendering()
    found = []
    for ax in drawn.axes:
        marks, curves = _points(ax, _is_mark), _points(ax, _is_curve)
        names = [(text.get_text(), Text.get_window_extent(text), marks) for text in ax.texts if text.get_text()]
        legend = ax.get_legend()
        names += [(t.get_text(), t.get_window_extent(), curves) for t in (legend.get_texts() if legend else ())]
        found += [word for word, box, points in names if np.any(_inside(box, points))]
    return found


def _is_mark(line: Line2D) -> bool:
    return line.get_marker() not in ("None", "", None)


def _is_curve(line: Line2D) -> bool:
    return line.get_linestyle() != "None" and np.size(line.get_xdata()) > 1


def _points(ax: Axes, chosen: Callable[[Line2D], bool]) -> np.ndarray:
    """Return points of the chosen lines, in pixels, with 20 on every piece between two of them."""
    found = [np.empty((0, 2))]
    for line in filter(chosen, ax.lines):
        at = line.get_transform().transform(np.asarray(line.get_xydata(), float))
        share = np.linspace(0.0, 1.0, 20)[:, None, None]
        found += [at, (at[:-1] + share * np.diff(at, axis=0)).reshape(-1, 2)] if chosen is _is_curve else [at]
    return np.concatenate(found)


def _inside(box: Bbox, points: np.ndarray) -> np.ndarray:
    return (points > box.min).all(axis=1) & (points < box.max).all(axis=1)


def check_layout(drawn: matplotlib.figure.Figure) -> None:
    """Assert that every text lies inside of the figure, that no two overlap, and that none covers marks or curves."""
    assert outside(drawn) == []
    assert overlapping(drawn) == []
    assert covering(drawn) == []
