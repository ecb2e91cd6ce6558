"""The list of all figures, search by name or pattern, and an index page for each paper."""

import fnmatch
import html
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from dynsim.errors import ArgumentError, nearest
from dynsim.io.npz import writable_folder
from figures.consensus import density, noise, simulations, trained_networks
from figures.figure import Figure
from figures.growing import growth, sentences, synthetic
from figures.hardmax import geometry, reviews
from figures.multirate import chains, network, slow_manifolds
from figures.prototypes import bifurcations, descents, experiments, portraits, readouts, slow_manifold


def collect(*modules: ModuleType) -> tuple[Figure, ...]:
    """Collect the figures defined in modules, in the order of definition.

    Raises:
        ValueError: for a name that occurs twice, or a figure without a drawing function.
    """
    found: dict[str, Figure] = {}
    for figure in (value for module in modules for value in vars(module).values() if isinstance(value, Figure)):
        if figure.name in found:
            raise ArgumentError("name", "be unique", f"two figures are called `{figure.name}`")
        if figure.draw is None:
            raise ArgumentError("figure", "have a drawing", f"`{figure.name}` has none")
        found[figure.name] = figure
    return tuple(found.values())


FIGURES = collect(
    *(simulations, noise, density, trained_networks, geometry, reviews, slow_manifolds, chains, network),
    *(portraits, bifurcations, slow_manifold, descents, experiments, readouts),
    *(growth, synthetic, sentences),
)


def write_index(folder: str | Path, figures: Sequence[Figure], formats: Sequence[str]) -> list[Path]:
    """Write `index.html` and `index.md` with figures, captions and links into the folder of each paper."""
    written = []
    for key in dict.fromkeys(f.source.paper.key for f in figures):
        own = [f for f in figures if f.source.paper.key == key]
        title = own[0].source.paper.title
        shown = next((kind for kind in ("svg", "png") if kind in formats), None)
        for name, page in (("index.html", _html), ("index.md", _markdown)):
            file = writable_folder("out", Path(folder) / key) / name
            file.write_text(page(title, own, formats, shown), encoding="utf-8")
            written.append(file)
    return written


def _stem(figure: Figure) -> str:
    return figure.name.split("/", 1)[1]


def _html(title: str, figures: Sequence[Figure], formats: Sequence[str], shown: str | None) -> str:
    parts = []
    for figure in figures:
        stem, caption = _stem(figure), "</p><p>".join(html.escape(figure.caption).split("\n\n"))
        picture = f'<img src="{stem}.{shown}" alt="{stem}">' if shown else ""
        links = " ".join(f'<a href="{stem}.{kind}">{kind}</a>' for kind in (*formats, "npz"))
        parts.append(f"<h2>{html.escape(str(figure.source))}</h2>\n{picture}\n<p>{caption}</p>\n<p>{links}</p>")
    head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
    style = "<style>body{max-width:50em;margin:2em auto;font-family:serif}img{max-width:100%}</style>"
    return "\n".join([head, style, f"<h1>{html.escape(title)}</h1>", *parts, "</html>", ""])


def _markdown(title: str, figures: Sequence[Figure], formats: Sequence[str], shown: str | None) -> str:
    parts = [f"# {title}"]
    for figure in figures:
        stem = _stem(figure)
        picture = [f"![{stem}]({stem}.{shown})"] if shown else []
        links = " ".join(f"[{kind}]({stem}.{kind})" for kind in (*formats, "npz"))
        parts += [f"## {figure.source}", *picture, figure.caption, links]
    return "\n\n".join(parts) + "\n"


def find_figures(pattern: str, figures: Sequence[Figure] = FIGURES) -> tuple[Figure, ...]:
    """Find the figures that match a paper's key, a name or a shell pattern, with or without the key as prefix.

    Args:
        pattern: key of a paper, name of a figure, or shell pattern.
        figures: the figures to search; by default all.

    Raises:
        ValueError: if none matches; the message suggests the nearest name.

    Example:
        >>> import dynsim as ds
        >>> from figures import Figure, find_figures
        >>> source = ds.Paper("mine", "Squares", "A. Author").at("Figure 1")
        >>> figures = [Figure(f"mine/{name}", source, "Powers.", lambda key: {}) for name in ("cubes", "squares")]
        >>> [figure.name for figure in find_figures("sq*", figures)]
        ['mine/squares']
    """
    forms = (pattern, *(f"{key}/{pattern}" for key in dict.fromkeys(f.source.paper.key for f in figures)))
    found = tuple(f for f in figures if any(_matches(f, form) for form in forms))
    if not found:
        names = {name for f in figures for name in (f.name, f.name.split("/", 1)[1], f.source.paper.key)}
        must = "name a figure, a paper with figures, or match one as a shell pattern"
        raise ArgumentError("pattern", must, f"`{pattern}` does not{nearest(pattern, names)}")
    return found


def _matches(figure: Figure, form: str) -> bool:
    return form in (figure.name, figure.source.paper.key) or fnmatch.fnmatchcase(figure.name, form)
