"""`dynsim figure`: compute and cache the data of the papers' figures, and draw them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.cli.parsing.options import Data, Results, parse, say, typed_as, warn
from dynsim.errors import ArgumentError, UnavailableError, reason


@dataclass(frozen=True)
class DrawFigures:
    """Draw figures, chosen by name, by a shell pattern, or by a paper's key (all of its figures with an index page).

    A Python file (`mine.py`) is executed; all of its figures are drawn with an index page, or those that names match.
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """the figures to draw, or Python files with figures of your own"""
    out: Path = Path("out")
    """the folder for the figures and their cached data"""
    formats: tuple[str, ...] = ("pdf", "svg", "png")
    """file formats: pdf, svg, png, and gif for a figure with a movie (figure-3)"""
    seed: int = 0
    """random seed of the figures"""
    size: str = "quick"
    """quick or paper; among several figures, those with one size only are drawn in that size"""
    results: Results = None
    data: Data = None
    fresh: bool = False
    """compute the data again even if they are cached"""


def main(words: Sequence[str]) -> int:
    """Draw the figures, and print the names of the files."""
    o = parse(DrawFigures, words, "figure")
    from analysis.experiments import use_results
    from dynsim._runtime.interrupts import on_interrupt
    from dynsim._runtime.progress import tracked
    from dynsim.cli.ledger.own_figures import known_figures
    from dynsim.cli.ledger.own_papers import is_file
    from dynsim.io.data import use_data
    from figures.figure import save
    from figures.files import check_formats
    from figures.gallery import find_figures, write_index

    if not o.names:
        raise ArgumentError("names", "name figures that `dynsim list figures` shows, or a paper", "is empty")
    check_formats(o.formats)
    use_data(o.data)
    use_results(o.results)
    known, problems = known_figures(o.names)
    warn(problems)
    names = [name for name in o.names if not is_file(name)]
    found = [f for name in names for f in find_figures(name, known)] if names else known
    chosen = list(dict.fromkeys(found))
    several = len(chosen) > 1 and o.size == "paper"  # a figure with one size only is drawn in that size
    sized = [figure if several and figure.compute_paper_size is None else figure.at_size(o.size) for figure in chosen]
    errors: dict[str, ArgumentError | UnavailableError] = {}
    said = lambda: f"Stopped; finished figures are in `{o.out}`; repeat the command to resume."
    with typed_as(folder="out"), on_interrupt(said):
        for figure in tracked(sized, len(sized), "figure"):
            try:
                for file in save(figure, o.out, formats=o.formats, seed=o.seed, fresh=o.fresh):
                    say(str(file))
            except (ArgumentError, UnavailableError) as error:
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
        raise ArgumentError("data", must, "they were left out, and all other figures were drawn")
    if errors:
        names = ", ".join(f"`{name}`" for name in errors)
        but = f"{names} cannot be drawn ({reason(next(iter(errors.values())))})"
        raise ArgumentError("names", "name figures that can be drawn", but)
    return 0
