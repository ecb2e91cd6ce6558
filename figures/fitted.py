"""Labels of axes that fit: powers of ten in them instead of beside the ticks, and lines no longer than their axis."""

import re
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from figures.style import power_of_ten

SHORT = 16  # characters of a label that fits every axis
SMALLEST = 6.0  # points of a text
MANY = 3  # lines of a label, of which more are smaller
ROUNDS = 4
IN_SPACE = 20  # characters of a line beside an axis in three dimensions
CLOSE = 1e-3  # of the largest value: a range below it is written by its difference from a value


def fitted(drawn: Figure) -> Figure:
    """Return a figure whose labels have the powers of ten of their ticks, and long ones several lines.

    Axes without a label, of colours, or with a scale or ticks of their own stay as they are.
    """
    named = [(ax, axis) for ax in drawn.axes if ax.get_label() != "<colorbar>" for axis in _axes(ax)]
    named = [(ax, axis) for ax, axis in named if axis.get_label_text()]
    for _, axis in named:
        low, high = axis.get_view_interval()
        largest = max(abs(low), abs(high))
        usual = axis.get_scale() == "linear" and type(axis.get_major_formatter()) is ScalarFormatter
        if usual and abs(high - low) > CLOSE * largest:
            power_of_ten(axis, np.array([low, high]))
    texts = {axis: axis.get_label_text() for ax, axis in named if ax.name != "3d"}
    long = {axis: text for axis, text in texts.items() if len(_letters(text)) > SHORT}
    for ax, axis in named:
        if ax.name == "3d" and len(_letters(axis.get_label_text())) > SHORT:
            _wrap_in_space(axis)
    for _ in range(ROUNDS if long else 0):  # labels in several lines move the axes
        drawn.draw_without_rendering()
        if not sum(_wrap(axis, text) for axis, text in long.items()):
            break
    return drawn


def _axes(ax: Any) -> list[Axis]:
    return [ax.xaxis, ax.yaxis, ax.zaxis] if ax.name == "3d" else [ax.xaxis, ax.yaxis]


def _letters(text: str) -> str:
    """Return what is about as long as a text when it is set."""
    return re.sub(r"\\[a-z]+|[${}\\^_]", "", text)


def _wrap(axis: Axis, text: str) -> bool:
    """Break a label at its spaces, or make it smaller, if it is longer than its axis; return whether it was."""
    label, frame = axis.label, axis.axes.get_window_extent()
    box = label.get_window_extent()
    length, room = (box.height, frame.height) if axis.axis_name == "y" else (box.width, frame.width)  # pyright: ignore
    size = float(label.get_fontsize())
    if length <= room or size <= SMALLEST:
        return False
    lines = axis.get_label_text().split("\n")
    most = max(len(_letters(line)) for line in lines) * room / length
    lines = _broken(text, most)
    if len(lines) > MANY:
        lines, most, size = _broken(text, most * size / SMALLEST), most * size / SMALLEST, SMALLEST
    axis.set_label_text("\n".join(lines))
    longest = max(len(_letters(line)) for line in lines)
    label.set_fontsize(max(SMALLEST, size * min(1.0, most / longest)))
    return True


def _wrap_in_space(axis: Axis) -> None:
    """Break a label of an axis in three dimensions, without its unit, for which there is no room, and move it away."""
    name, _, unit = axis.get_label_text().partition(" (")
    power = re.match(r"\$10\^\{-?\d+\}\$", unit)
    lines = _lines(name if power is None else f"{name} ({power[0]})", IN_SPACE)
    axis.set_label_text("\n".join(lines), fontsize=SMALLEST)
    axis.labelpad += (len(lines) - 1) * SMALLEST / 2


def _broken(text: str, most: float) -> list[str]:
    """Return the lines of a label: those of its name, and then those of its unit."""
    name, bracket, unit = text.partition(" (")
    return [*_lines(name, most), *_lines(f"({unit}", most)] if bracket else _lines(name, most)


def _lines(text: str, most: float) -> list[str]:
    """Return the words of a text in lines of so many letters at most; one that is longer has its own."""
    lines = [""]
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(_letters(longer)) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
