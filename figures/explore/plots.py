"""The plots of a page as standalone documents of Bokeh: axes with empty layers, which the page's script fills."""

import json
import re
from collections.abc import Iterable
from typing import Any

from dynsim.errors import ArgumentError
from figures.style import COLOURS

LAYERS = {
    "thin": ("xs", "ys", "color", "alpha"),
    "dots": ("x", "y", "color"),
    "dashed": ("xs", "ys", "color"),
    "curves": ("xs", "ys", "color", "width"),
    "points": ("x", "y", "fill", "line", "marker", "size"),
}
"""Columns of the layers of every plot, from back to front."""


def bokeh_version() -> str:
    """The version of Bokeh; raise `ArgumentError` if it is not installed."""
    try:
        import bokeh
    except ImportError:
        must = "be explored with Bokeh (`pip install dynsim[explore]`)"
        raise ArgumentError("system", must, "Bokeh is not installed") from None
    return bokeh.__version__


def library() -> str:
    """BokehJS itself, without widgets, to be written into a page."""
    from bokeh.resources import Resources

    text = "\n".join(Resources(mode="inline", components=["bokeh"], minified=True, log_level="error").js_raw)
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def documents(names: Iterable[str]) -> dict[str, Any]:
    """Documents of Bokeh by the names of their plots; the same on every call."""
    return {name: _document(name) for name in names}


def _document(name: str) -> Any:
    from bokeh.embed import json_item
    from bokeh.models import ColumnDataSource, Range1d, WheelZoomTool
    from bokeh.plotting import figure

    zoom = WheelZoomTool()
    plot = figure(
        name=name, x_range=Range1d(start=0, end=1), y_range=Range1d(start=0, end=1), tools=[zoom], active_scroll=zoom,
        toolbar_location=None, sizing_mode="stretch_both", min_border_right=12, min_border_top=8, lod_threshold=None,
    )  # fmt: skip
    layer = {key: ColumnDataSource({c: [] for c in columns}, name=key) for key, columns in LAYERS.items()}
    plot.multi_line("xs", "ys", source=layer["thin"], line_color="color", line_alpha="alpha")
    plot.scatter("x", "y", source=layer["dots"], size=2.5, fill_color="color", line_color=None)
    plot.multi_line("xs", "ys", source=layer["dashed"], line_color="color", line_dash=[6, 4], line_width=1.5)
    plot.multi_line("xs", "ys", source=layer["curves"], line_color="color", line_width="width", line_join="round")
    plot.scatter(
        "x", "y", source=layer["points"], marker="marker", size="size", fill_color="fill", line_color="line",
        line_width=1.5,
    )  # fmt: skip
    _style(plot)
    return _numbered({**json_item(plot), "target_id": f"plot-{name}"})


def _style(plot: Any) -> None:
    font = "system-ui, sans-serif"
    for axis in plot.axis:
        axis.axis_label_text_font, axis.major_label_text_font = font, font
        axis.axis_label_text_font_size, axis.axis_label_text_font_style = "14px", "italic"
        axis.major_label_text_font_size = "12px"
        axis.axis_line_color = axis.major_tick_line_color = COLOURS["field"]
        axis.minor_tick_line_color = None
    plot.grid.grid_line_color = "#eeeeee"
    plot.outline_line_color = None


def _numbered(item: Any) -> Any:
    """A document whose models are numbered in order, because Bokeh counts them over the life of a process."""
    numbers: dict[str, str] = {}

    def walk(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: _id(value) if key in ("id", "root_id") else walk(value) for key, value in part.items()}
        return [walk(one) for one in part] if isinstance(part, list) else part

    def _id(value: Any) -> Any:
        return numbers.setdefault(value, f"m{len(numbers)}") if isinstance(value, str) else walk(value)

    return json.loads(json.dumps(walk(item)))
