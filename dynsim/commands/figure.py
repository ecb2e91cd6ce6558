"""`dynsim figure`: compute once, draw as often as you like."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.commands.options import parse, say
from dynsim.papers import PAPERS


@dataclass(frozen=True)
class Figure:
    """Draw figures: a name, a shell pattern, or a paper's key for all of its figures and a page that shows them."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional]
    """which figures"""
    out: Path = Path("out")
    """the folder of figures and of the numbers behind them, which are kept"""
    formats: tuple[str, ...] = ("pdf", "svg", "png")
    """pdf, svg, png; gif for a figure with a movie (figure-3)"""
    seed: int = 0
    """of the figure's random stream"""
    size: str = "quick"
    """quick, or paper; among several figures those that have one size only are drawn in that"""
    results: Path | None = None
    """the folder of records of experiments, by default the one that DYNSIM_RESULTS names, or results/experiments"""
    fresh: bool = False
    """compute even if numbers are kept"""


def main(words: Sequence[str]) -> int:
    """Draw and name the files."""
    from analysis.experiments import use_results
    from dynsim.progress import tracked
    from figures.figure import save
    from figures.gallery import find_figures, write_index

    o = parse(Figure, words, "figure")
    use_results(o.results)
    chosen = list(dict.fromkeys(f for name in o.names for f in find_figures(name)))
    several = len(chosen) > 1 and o.size == "paper"  # of which those are drawn as they are that have one size only
    sized = [figure if several and figure.larger is None else figure.at_size(o.size) for figure in chosen]
    troubles = {}
    for figure in tracked(sized, len(sized), "figure"):
        try:
            for file in save(figure, o.out, formats=o.formats, seed=o.seed, fresh=o.fresh):
                say(str(file))
        except ValueError as error:
            if len(sized) == 1:
                raise
            troubles[figure.name] = error  # the others are drawn all the same
    drawn = [figure for figure in sized if figure.name not in troubles]
    if any(name in PAPERS for name in o.names) and drawn:
        for file in write_index(o.out, drawn, o.formats):
            say(str(file))
    if troubles:
        names = ", ".join(f"`{name}`" for name in troubles)
        raise ValueError(f"{names}: {next(iter(troubles.values()))}")
    return 0
