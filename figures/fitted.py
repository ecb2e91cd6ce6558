"""Words of figures that fit: powers of ten in labels of axes, labels no longer than their axis, titles and legends."""

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

SHORT = 16  # characters of a label that fits every axis
SMALLEST = 6.0  # points of a text
MANY = 3  # lines of a label, of which more are smaller
ROUNDS = 4
IN_SPACE = 20  # characters of a line beside an axis in three dimensions
WIDE, INSIDE = 0.99, 0.78  # of the width of a figure: most of a legend below all axes; of one of axes, and of a title
COLUMNS = 2  # of a legend with long words
CLOSE = 1e-3  # of the largest value: a range below it is written by its difference from a value


def fitted(drawn: Figure) -> Figure:
    """Return a figure whose labels have the powers of ten of their ticks, and long words several lines.

    Axes without a label, or with a scale or ticks of their own, stay as they are. What the lines of a legend below all
    axes need more is added to the height.
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
    """Return a legend below all axes, with two columns if it is wider than the figure."""
    texts = [text.get_text() for text in legend.get_texts()]
    if legend.get_window_extent().width <= WIDE * drawn.bbox.width or len(texts) <= COLUMNS:
        return legend
    legend.remove()
    handles = [handle for handle in legend.legend_handles if handle is not None]
    return drawn.legend(handles, texts, loc="outside lower center", ncols=COLUMNS)


def _height(legends: Sequence[Legend]) -> float:
    return sum(legend.get_window_extent().height for legend in legends)


def _narrow(legend: Legend, drawn: Figure, share: float) -> None:
    """Break the texts of a legend that is wider than the figure, or else make them smaller."""
    width = lambda: legend.get_window_extent().width
    if width() <= WIDE * drawn.bbox.width:
        return
    _break([legend.get_title()], share * drawn.bbox.width, lambda: legend.get_title().get_window_extent().width)
    _break(legend.get_texts(), share * drawn.bbox.width, width)


def _break(texts: Sequence[Text], room: float, width: Callable[[], float]) -> None:
    """Break texts at their spaces as little as a width needs that they determine, and else make them smaller."""
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
    """Break a label at its spaces, or make it smaller, if it is longer than its axis; return whether it was."""
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
    """Break a label of an axis in three dimensions, without its unit, for which there is no room, and move it away."""
    name, _, unit = axis.get_label_text().partition(" (")
    power = re.match(r"\$10\^\{-?\d+\}\$", unit)
    lines = in_lines(name if power is None else f"{name} ({power[0]})", IN_SPACE)
    axis.set_label_text("\n".join(lines), fontsize=SMALLEST)
    axis.labelpad += (len(lines) - 1) * SMALLEST / 2


def _broken(text: str, most: float) -> list[str]:
    """Return the lines of a label: those of its name, and then those of its unit."""
    name, bracket, unit = text.partition(" (")
    return [*in_lines(name, most), *in_lines(f"({unit}", most)] if bracket else in_lines(name, most)
