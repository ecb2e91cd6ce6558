"""`dynsim draw`: draw a stored result again, in another size, with other limits, fonts, labels and components."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from dynsim.cli.parsing.options import Force, check_outputs, parse, say, typed_as
from dynsim.errors import ArgumentError, check_positive, reason


@dataclass(frozen=True)
class Draw:
    """Draw a stored result again: dynsim draw run.npz --size nature --ylim -1 1.

    FILE is what `--out` of `simulate`, `continue`, `basins`, `sweep`, `portrait`, `section`, `lyapunov`, `spectrum`,
    `recurrence` or `chaos` wrote (the file ends in .npz, of a sweep in .nc), or `dynsim.save`, `save_diagram` or
    `save_result` in Python. Nothing is computed again, except the curve between the saved times of a run.
    """

    file: Annotated[Path, tyro.conf.Positional]
    """the file of the result"""
    components: tuple[str, ...] = ()
    """names of the components of a run, of the two of a section or the one of a diagram; results of a sweep"""
    path: bool = False
    """of a run, draw only the path in state space"""
    series: bool = False
    """of a run, draw only the components over time"""
    plane: bool = False
    """of a diagram, draw its curves in the plane of two parameters"""
    size: str = ""
    """the width of a column of a journal: nature, nature-1.5, nature-2, aps, aps-2 or neurips"""
    width: str = ""
    """the width with its unit: 85mm, 8.5cm, 3.4in or 243pt"""
    height: str = ""
    """the height with its unit; by default in proportion to the width"""
    xlim: tuple[float, ...] = ()
    """lower and upper end of the horizontal axis"""
    ylim: tuple[float, ...] = ()
    """lower and upper end of the vertical axis"""
    xlabel: str = ""
    """label of the horizontal axis; formulas between dollar signs, as in LaTeX"""
    ylabel: str = ""
    """label of the vertical axis"""
    names: tuple[str, ...] = ()
    """labels of components and parameters: 'x=$\\xi$' 'rho=Rayleigh number'"""
    units: tuple[str, ...] = ()
    """units of components and parameters: x=mV"""
    types: bool = False
    """of a portrait in the plane, name the types of equilibria in the legend: node, focus, centre, saddle"""
    decimal: Literal["point", "comma"] = "point"
    """how numbers are written"""
    reduced: bool = False
    """of a run, draw angles between minus half a period and half a period"""
    title: str = ""
    """title of the figure"""
    legend: bool = True
    """draw a legend"""
    font: str = ""
    """name of an installed font"""
    font_size: float | None = None
    """size of the labels, in points; 8 by default"""
    trust: tuple[str, ...] = ()
    """functions or modules of yours that the file names, and that may be imported: mine.py:field"""
    figure: Path = Path("drawn.png")
    """the figure (.pdf, .svg or .png) to write"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Read the result, draw it, and write the figure."""
    o = parse(Draw, words, "draw")
    check_options(o)
    check_outputs(o.force, figure=o.figure)
    from figures.panels.labels import relabelled
    from figures.style import page

    one = page_of(o)
    with typed_as(path="file"):
        result, drawing = with_drawing(o.file, o.trust)
    say(str(result).splitlines()[0] if not hasattr(result, "data_vars") else f"sweep of {', '.join(result.data_vars)}")
    labels, units = by_name("names", o.names), by_name("units", o.units)
    with warnings.catch_warnings(record=True) as told, page(one), typed_as(run="file", diagram="file"):
        warnings.simplefilter("always")
        with relabelled(labels, units) as used:
            drawn = picture(o, result, drawing)
        check_names(labels, units, used)
        adjust(o, drawn)
        check_room(drawn)
        drawn.save(o.figure, o.title or o.file.stem)
    for text in dict.fromkeys(str(warning.message) for warning in told if warning.category is UserWarning):
        say(text)
    say(f"figure {o.figure}")
    return 0


def check_options(o: Draw) -> None:
    """Raise `ValueError` for limits, sizes and choices that do not fit."""
    for name in ("xlim", "ylim"):
        ends = getattr(o, name)
        if ends and not (len(ends) == 2 and ends[0] < ends[1]):
            must = "be two numbers, the smaller first"
            raise ArgumentError(name, must, f"is {', '.join(f'{end:g}' for end in ends)}")
    if o.size and o.width:
        raise ArgumentError("width", "be left out with `--size`", f"is {o.width}")
    if o.path and o.series:
        raise ArgumentError("series", "be left out with `--path`", "is given")
    check_positive(font_size=o.font_size)


def by_name(argument: str, words: Sequence[str]) -> dict[str, str]:
    """Parse NAME=TEXT; raise `ValueError` for another form."""
    pairs = [word.partition("=") for word in words]
    for word, (name, equals, text) in zip(words, pairs, strict=True):
        if not (name and equals and text):
            raise ArgumentError(argument, "be NAME=TEXT of a component or a parameter", f"is `{word}`")
    return {name: text for name, _, text in pairs}


def check_names(labels: Mapping[str, str], units: Mapping[str, str], used: set[str]) -> None:
    """Raise `ValueError` for a name that the figure does not have."""
    from dynsim.errors import nearest
    from dynsim.systems.named import listed

    for argument, given in (("names", labels), ("units", units)):
        wrong = next((name for name in given if name not in used), None)
        if wrong is not None:
            known = sorted(used)
            raise ArgumentError(
                argument, f"name what the figure shows, {listed(known)}", f"name `{wrong}`{nearest(wrong, known)}"
            )


def page_of(o: Draw) -> Any:
    """Get the size and the fonts of the figure."""
    from matplotlib import font_manager

    from dynsim.errors import nearest
    from figures.lengths import journal_width, length
    from figures.style import Page

    rc: dict[str, Any] = {}
    if o.font:
        known = {font.name for font in font_manager.fontManager.ttflist}
        if o.font not in known:
            must = "be the name of an installed font"
            raise ArgumentError("font", must, f"is `{o.font}`{nearest(o.font, known)}")
        rc |= {"font.family": o.font, "mathtext.fontset": "custom", "mathtext.it": f"{o.font}:italic"}
        rc |= dict.fromkeys((f"mathtext.{kind}" for kind in ("rm", "bf", "bfit", "sf", "tt", "cal")), o.font)
    if o.font_size is not None:
        small = 0.875 * o.font_size
        rc |= dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize"), o.font_size)
        rc |= dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), small)
    width = journal_width(o.size) if o.size else length("width", o.width) if o.width else None
    return Page(width, length("height", o.height) if o.height else None, rc)


def stored(file: Path, trust: Sequence[str]) -> Any:
    """Read the result in a file; see `with_drawing`."""
    return with_drawing(file, trust)[0]


def with_drawing(file: Path, trust: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Read the result in a file, and the options with which its command drew it.

    Raises:
        ValueError: if the file cannot be read, or is not one of results.
    """
    must = "be a file of results: what `--out` of a command wrote (.npz, of `sweep` .nc)"
    if not file.is_file():
        raise ArgumentError("path", must, f"`{file}` is no file")
    if file.suffix == ".nc":
        return _dataset(file, must), {}
    from dynsim.io.npz import read_arrays

    try:
        header = json.loads(str(read_arrays(file)["header"]))
        kind = "dynsim result" if "result" in header else header.get("format")
    except (KeyError, ValueError, AttributeError, ArgumentError):
        kind = None
    if kind == "dynsim result":
        from analysis.stored_results import load_with_drawing

        return load_with_drawing(file)
    if kind == "dynsim run":
        from dynsim.simulation.run_files import load

        return load(file, trust=trust), {}
    if kind == "dynsim diagram":
        from analysis.dynamics.stored_diagrams import load_diagram

        return load_diagram(file, trust=trust), {}
    if kind == "dynsim basins":
        from analysis.dynamics.attractors.basin_files import load_basins

        return load_basins(file), {}
    raise ArgumentError("path", must, f"`{file}` is of another kind")


def _dataset(file: Path, must: str) -> Any:
    try:
        import xarray
    except ImportError:
        raise ArgumentError(
            "path", "be read with xarray (`pip install dynsim[xarray]`)", "it is not installed"
        ) from None
    try:
        found = xarray.load_dataset(file)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise ArgumentError("path", must, f"`{file}` is not ({reason(error)})") from None
    if "status" not in found:
        raise ArgumentError("path", must, f"`{file}` is of another kind")
    return found


def picture(o: Draw, result: Any, drawing: Mapping[str, Any] = {}) -> Any:
    """Draw the result into a figure of the requested size; `drawing` are options with which it was drawn before."""
    from figures.plotting import drawing_of, options_of, plot

    kind, draw = type(result).__name__, drawing_of(result)
    if draw is None:
        raise ArgumentError("file", "hold a result that has a picture", f"holds {kind}")
    is_run = "path" in options_of(draw)
    kind = f"a run of {type(result.system).__name__}" if kind == "Trajectory" and not is_run else kind
    for name, fits in (
        ("path", is_run),
        ("series", is_run),
        ("reduced", is_run),
        ("plane", kind == "Diagram"),
        ("types", kind == "PhasePlane"),
    ):
        if getattr(o, name) and not fits:
            raise ArgumentError(name, f"be left out for {kind}", "is given")
    if o.components and not (is_run or kind in ("Diagram", "Dataset", "Section")):
        raise ArgumentError("components", f"be left out for {kind}", f"is {', '.join(o.components)}")
    how: dict[str, Any] = dict(drawing) | ({"title": o.title} if o.title else {})
    how |= {"types": True} if o.types else {}
    how |= {} if o.legend else {"legend": False}
    if is_run:
        how |= {"reduced": True} if o.reduced else {}
        how |= {"path": True if o.path else False if o.series else None, "components": o.components or None}
    elif kind == "Diagram" and o.plane:
        how["picture"] = "plane"
    elif kind == "Diagram" and o.components:
        if len(o.components) > 1:
            raise ArgumentError("components", "name one component of a diagram", f"names {len(o.components)}")
        how["component"] = "".join(o.components)
    elif kind == "Section" and o.components:
        how["components"] = o.components
    elif kind == "Dataset":
        how["quantities"] = o.components
    return plot(result, **how)


def adjust(o: Draw, drawn: Any) -> None:
    """Set the requested limits and labels, and fit the texts again."""
    from figures.fitted import fitted
    from figures.panels.labels import parsed
    from figures.style import settings

    axes = drawn.axes
    if len(axes) > 1 and (o.ylim or o.ylabel):
        name = "ylim" if o.ylim else "ylabel"
        raise ArgumentError(name, f"be left out for {len(axes)} panels (choose one by `--components`)", "is given")
    for ax in axes:
        if o.xlim:
            ax.set_xlim(*o.xlim)
        if o.ylim:
            ax.set_ylim(*o.ylim)
    if o.xlabel:
        axes[-1].set_xlabel(parsed(o.xlabel))
    if o.ylabel:
        axes[0].set_ylabel(parsed(o.ylabel))
    with settings():
        fitted(drawn.figure)
    if o.decimal == "comma":
        from figures.decimals import comma

        comma(drawn.figure, [text for text in (o.xlabel, o.ylabel, o.title) if text])


def check_room(drawn: Any) -> None:
    """Raise `ValueError` if labels leave no room for the axes."""
    from figures.style import settings

    figure = drawn.figure
    with warnings.catch_warnings(record=True) as told, settings():
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    small = min(min(ax.get_window_extent().size) for ax in drawn.axes if ax.get_visible()) / figure.dpi
    if small < LEAST or any("collapsed" in str(one.message) for one in told):
        width, height = 25.4 * figure.get_size_inches()
        must = "leave room for the axes beside labels and legend"
        raise ArgumentError(
            "width", must, f"the figure has {width:.0f}mm by {height:.0f}mm (`--height`, `--no-legend`)"
        )


LEAST = 0.25  # smallest side of axes in inches; smaller ones show nothing
