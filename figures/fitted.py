"""Fit the texts of figures: powers of ten in axis labels, labels no longer than their axis, titles and legends."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter

from figures.panels.labels import in_lines, letters
from figures.style import power_of_ten

SHORT = 16  # a label of at most this many characters fits every axis
SMALLEST = 6.0  # smallest font size, in points
MANY = 3  # a label of more lines than this is set in a smaller font
ROUNDS = 4
IN_SPACE = 20  # largest number of characters in a line beside an axis in three dimensions
# Largest share of a figure's width for a legend below all axes, and for a legend of one of the axes or a title.
WIDE, INSIDE = 0.99, 0.78
COLUMNS = 2  # number of columns of a legend with long words
CLOSE = 1e-3  # relative to the largest value: a smaller range is labelled by differences from a value


def fitted(drawn: Figure) -> Figure:
    """Fit the texts of a figure: tick labels share powers of ten, and long labels are wrapped.

    Axes without a label, or with their own scale or ticks, are left unchanged. If the legend below all axes needs more
    lines, the height of the figure grows.
    """
    height = _height(drawn.legends)
    for legend in [_in_fewer_columns(legend, drawn) for legend in drawn.legends]:
        _narrow(legend, drawn, WIDE)
    drawn.set_figheight(drawn.get_figheight() + (_height(drawn.legends) - height) / drawn.dpi)
    for legend in (ax.get_legend() for ax in drawn.axes):
        if legend is not None:
            _narrow(legend, drawn, INSIDE)
    for ax in drawn.axes:
        _break([ax.title], INSIDE * drawn.bbox.width, lambda title=ax.title: title.get_window_extent().width)
    named = [(ax, axis) for ax in drawn.axes for axis in _axes(ax)]
    named = [(ax, axis) for ax, axis in named if axis.get_label_text()]
    for _, axis in named:
        low, high = axis.get_view_interval()
        largest = max(abs(low), abs(high))
        usual = axis.get_scale() == "linear" and type(axis.get_major_formatter()) is ScalarFormatter
        if usual and abs(high - low) > CLOSE * largest:
            power_of_ten(axis, np.array([low, high]))
    texts = {axis: axis.get_label_text() for ax, axis in named if ax.name != "3d"}
    long = {axis: text for axis, text in texts.items() if len(letters(text)) > SHORT}
    for ax, axis in named:
        if ax.name == "3d" and len(letters(axis.get_label_text())) > SHORT:
            _wrap_in_space(axis)
    for _ in range(ROUNDS if long else 0):  # labels in several lines move the axes
        drawn.draw_without_rendering()
        if not sum(_wrap(axis, text) for axis, text in long.items()):
            break
    return drawn


def _axes(ax: Any) -> list[Axis]:
    return [ax.xaxis, ax.yaxis, ax.zaxis] if ax.name == "3d" else [ax.xaxis, ax.yaxis]


def _in_fewer_columns(legend: Legend, drawn: Figure) -> Legend:
    """Set a legend below all axes in two columns if it is wider than the figure."""
    texts = [text.get_text() for text in legend.get_texts()]
    if legend.get_window_extent().width <= WIDE * drawn.bbox.width or len(texts) <= COLUMNS:
        return legend
    legend.remove()
    handles = [handle for handle in legend.legend_handles if handle is not None]
    return drawn.legend(handles, texts, loc="outside lower center", ncols=COLUMNS)


def _height(legends: Sequence[Legend]) -> float:
    return sum(legend.get_window_extent().height for legend in legends)


def _narrow(legend: Legend, drawn: Figure, share: float) -> None:
    """Wrap the texts of a legend that is wider than the figure, or else make them smaller."""
    width = lambda: legend.get_window_extent().width
    if width() <= WIDE * drawn.bbox.width:
        return
    _break([legend.get_title()], share * drawn.bbox.width, lambda: legend.get_title().get_window_extent().width)
    _break(legend.get_texts(), share * drawn.bbox.width, width)


def _break(texts: Sequence[Text], room: float, width: Callable[[], float]) -> None:
    """Wrap texts at spaces no more than needed to fit a width, and else make them smaller."""
    whole = [text.get_text() for text in texts]
    most = max((len(letters(word)) for word in whole), default=0)
    while width() > room and most > SHORT:
        most -= 1
        for text, word in zip(texts, whole, strict=True):
            text.set_text("\n".join(in_lines(word, most)))
    size = max((float(text.get_fontsize()) for text in texts), default=SMALLEST)
    while width() > room and size > SMALLEST:
        size = max(SMALLEST, size - 0.5)
        for text in texts:
            text.set_fontsize(size)


def _wrap(axis: Axis, text: str) -> bool:
    """Wrap a label, or make it smaller, if it is longer than its axis; return whether it was."""
    label, frame = axis.label, axis.axes.get_window_extent()
    box = label.get_window_extent()
    length, room = (box.height, frame.height) if axis.axis_name == "y" else (box.width, frame.width)  # pyright: ignore
    size = float(label.get_fontsize())
    if length <= room or size <= SMALLEST:
        return False
    lines = axis.get_label_text().split("\n")
    most = max(len(letters(line)) for line in lines) * room / length
    lines = _broken(text, most)
    if len(lines) > MANY:
        lines, most, size = _broken(text, most * size / SMALLEST), most * size / SMALLEST, SMALLEST
    axis.set_label_text("\n".join(lines))
    longest = max(len(letters(line)) for line in lines)
    label.set_fontsize(max(SMALLEST, size * min(1.0, most / longest)))
    return True


def _wrap_in_space(axis: Axis) -> None:
    """Wrap a label of a three-dimensional axis and move it away; its unit is dropped for lack of space."""
    name, _, unit = axis.get_label_text().partition(" (")
    power = re.match(r"\$10\^\{-?\d+\}\$", unit)
    lines = in_lines(name if power is None else f"{name} ({power[0]})", IN_SPACE)
    axis.set_label_text("\n".join(lines), fontsize=SMALLEST)
    axis.labelpad += (len(lines) - 1) * SMALLEST / 2


def _broken(text: str, most: float) -> list[str]:
    """Lines of a label: first the lines of its name, then those of its unit."""
    name, bracket, unit = text.partition(" (")
    return [*in_lines(name, most), *in_lines(f"({unit}", most)] if bracket else in_lines(name, most)
