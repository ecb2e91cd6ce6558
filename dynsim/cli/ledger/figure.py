"""`dynsim figure`: compute the data of figures, which are kept, and draw them."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import matplotlib.figure
import tyro

from dynsim.cli.building.own_code import definition, own_code
from dynsim.cli.ledger.own_papers import OwnPaper, is_file, left_out, own_papers
from dynsim.cli.parsing.options import parse, say, warn
from dynsim.errors import argument_error, renamed
from dynsim.io.data import use_data
from figures.figure import Figure
from figures.gallery import FIGURES


def known_figures(words: Iterable[str]) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Return the figures of the files among the words; without a file, those of dynsim and of registered packages.

    Returns:
        the figures, and a sentence on each registered package that cannot be used.

    Raises:
        ValueError: for a file that cannot be used or has no figures.
    """
    words = tuple(words)
    alone = any(is_file(word) for word in words)
    found = [] if alone else [*FIGURES]
    papers, problems = own_papers(words)
    for own in papers:
        try:
            found += _figures(own)
        except ValueError as error:
            if alone:
                raise
            problems.append(left_out(own.where, error))
    if not found:
        files = ", ".join(f"`{own.where}`" for own in papers)
        raise argument_error("names", "name a file with figures made by `@figure`", f"{files} has none")
    return tuple(found), tuple(problems)


def _figures(own: OwnPaper) -> tuple[Figure, ...]:
    """Return the figures of a module, whose functions raise errors with the user's own line."""
    names: dict[str, Figure] = {}
    for figure in own.unique(Figure):
        if figure.name in names:
            first, second = (definition(f.compute).rstrip(", ") for f in (names[figure.name], figure))
            raise argument_error("file", f"define `{figure.name}` once", f"{first} and {second} define it")
        if figure.draw is None:
            must = "draw each figure by `@NAME.with_drawing`"
            raise argument_error("file", must, f"{definition(figure.compute)}has no drawing")
        names[figure.name] = figure
    return tuple(
        replace(
            figure,
            compute=_computing(figure.compute),
            compute_paper_size=figure.compute_paper_size and _computing(figure.compute_paper_size),
            draw=figure.draw and _drawing(figure.draw),
            animate=figure.animate and _drawing(figure.animate),
        )
        for figure in names.values()
    )


def _computing(compute: Callable[..., Any]) -> Callable[..., Any]:
    return _guarded(compute, "compute", Mapping, "a dictionary of arrays")


def _drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
    return _guarded(draw, "draw", matplotlib.figure.Figure, "a figure of Matplotlib")


def _guarded(function: Callable[..., Any], name: str, kind: type, words: str) -> Callable[..., Any]:
    """Return a function of a figure that raises one sentence with the user's line, if it fails or returns another."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Any:
        found = None
        with own_code(name, "run without an exception"):
            found = function(*args)
        if not isinstance(found, kind):
            raise argument_error(name, f"return {words}", f"{definition(function)}returns {type(found).__name__}")
        return found

    return guarded


@dataclass(frozen=True)
class DrawFigures:
    """Draw figures: a name, a shell pattern, or a paper's key for all of its figures and an index page of them.

    A Python file (`mine.py`) is executed; its figures are drawn with an index page, or those that the names match.
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """the figures to draw, or Python files with figures of your own"""
    out: Path = Path("out")
    """the folder for figures and for their data, which are kept"""
    formats: tuple[str, ...] = ("pdf", "svg", "png")
    """file formats: pdf, svg, png, and gif for a figure with a movie (figure-3)"""
    seed: int = 0
    """random seed of the figures"""
    size: str = "quick"
    """quick or paper; of several figures, those that have one size only are drawn in that size"""
    results: Path | None = None
    """the folder of experiment records; by default the one that DYNSIM_RESULTS names, or results/experiments"""
    data: Path | None = None
    """the folder of data files; by default the one that DYNSIM_DATA names"""
    fresh: bool = False
    """compute the data anew even if they are kept"""


def main(words: Sequence[str]) -> int:
    """Draw the figures and print the names of the files."""
    o = parse(DrawFigures, words, "figure")
    from analysis.experiments import use_results
    from dynsim._runtime.interrupts import on_interrupt
    from dynsim._runtime.progress import tracked

    pass
    from dynsim.cli.ledger.own_papers import is_file
    from figures.figure import save
    from figures.files import check_formats
    from figures.gallery import find_figures, write_index

    if not o.names:
        raise argument_error("names", "name figures that `dynsim list figures` shows, or a paper", "is empty")
    check_formats(o.formats)
    use_data(o.data)
    use_results(o.results)
    known, problems = known_figures(o.names)
    warn(problems)
    names = [name for name in o.names if not is_file(name)]
    found = [f for name in names for f in find_figures(name, known)] if names else known
    chosen = list(dict.fromkeys(found))
    several = len(chosen) > 1 and o.size == "paper"  # a figure of one size is drawn in that
    sized = [figure if several and figure.compute_paper_size is None else figure.at_size(o.size) for figure in chosen]
    errors = {}
    said = lambda: f"Stopped; finished figures are in `{o.out}`; repeat the command to resume."
    with renamed(folder="out"), on_interrupt(said):
        for figure in tracked(sized, len(sized), "figure"):
            try:
                for file in save(figure, o.out, formats=o.formats, seed=o.seed, fresh=o.fresh):
                    say(str(file))
            except ValueError as error:
                if len(sized) == 1:
                    raise
                errors[figure.name] = error  # the other figures are still drawn
    drawn = [figure for figure in sized if figure.name not in errors]
    whole_papers = not names or any(name in {f.source.paper.key for f in known} for name in names)
    if whole_papers and drawn:
        for file in write_index(o.out, drawn, o.formats):
            say(str(file))
    without_data = [name for name, error in errors.items() if str(error).startswith("Argument `data`")]
    if errors and len(without_data) == len(errors):
        left_out = ", ".join(f"`{name}`" for name in without_data)
        must = f"name the folder of data files that {left_out} need (`--data FOLDER`)"
        raise argument_error("data", must, "they were left out; all others are drawn")
    if errors:
        names = ", ".join(f"`{name}`" for name in errors)
        raise ValueError(f"{names}: {next(iter(errors.values()))}")
    return 0
