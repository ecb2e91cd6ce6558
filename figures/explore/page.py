"""Write a system as one HTML file with sliders, which computes in the reader's browser and loads nothing."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dynsim._core.printing import one_line
from dynsim.equations.characters import source
from dynsim.equations.flows import EquationFlow, EquationMap
from dynsim.equations.lines import lines
from dynsim.errors import counted
from dynsim.systems.catalogue.entries import CATALOGUE
from figures.explore import plots
from figures.explore.model import model
from figures.explore.scripts import methods, text
from figures.explore.source import SystemSource, source_of
from figures.style import BASINS, COLOURS

VIEW = ("state", "layers", "pictures", "controls", "view")
COMPONENTS = ("nullcline-1", "nullcline-2", "separatrix", "follower", "field")
"""Roles whose colours the components have, in the plane and against time."""
TITLES = {"main": "Phase plane", "series": "Time series", "potential": "Potential", "section": "Poincaré section",
          "diagram": "Bifurcation diagram"}  # fmt: skip
HELP = (
    "Click for a trajectory, drag its square, drag the plane to move it, turn the wheel to zoom. Keys: arrows, "
    "+ and −, 0 for the first window, Enter for a trajectory at the centre, Delete to remove one."
)
LONGEST_TITLE = 60  # characters of an equation that is the title of a page
NOTEBOOK_HEIGHT = 900  # of a page in a notebook, in pixels
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
"""What a browser lets a page do: everything by itself, nothing with other addresses."""


class ExplorePage(NamedTuple):
    """A page that explores a system; a notebook shows it, and `save` writes it to a file.

    Attributes:
        title: the name of the system.
        html: the whole file.
    """

    title: str
    html: str

    __repr__ = one_line

    def __str__(self) -> str:
        return f"Page to explore {self.title}, {len(self.html.encode()) / 1e6:.1f} MB: `save` writes it to a file."

    def save(self, file: str | Path) -> Path:
        """Write the page to a file, whole or not at all."""
        from dynsim.io.whole_files import whole_file

        path = Path(file)
        with whole_file(path) as part:
            part.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {NOTEBOOK_HEIGHT}px; border: 0"
        return f'<iframe title="{html.escape(self.title)}" style="{style}" srcdoc="{html.escape(self.html)}"></iframe>'


def page(
    system: Any,
    start: Any = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
    plane: Sequence[str] = (),
    horizon: float | None = None,
    title: str = "",
    source: SystemSource | None = None,
) -> ExplorePage:
    """Write the page of a system; the same input gives the same bytes.

    Args:
        system: the flow or the map, with at most 12 components; see `figures.explore.model.model`.
        start: the initial state of the first trajectory.
        ranges: ends of sliders of parameters, and of the window of components, by name.
        plane: names of the two components that are drawn.
        horizon: length of trajectories in time units or steps.
        title: the name of the system, if it is not the one that it has.
        source: how the system is named in commands.

    Raises:
        ArgumentError: for a system that a page cannot hold, for other bad input, or without Bokeh.
    """
    plots.bokeh_version()
    made = model(system, start, ranges, plane, horizon)
    title = title or _title(system)
    shown = _plots(made.described)
    data = {
        "system": made.described,
        "source": (source or source_of(system))._asdict(),
        "plots": plots.documents(shown),
        "layers": plots.LAYERS,
        "colors": _colours(),
        "file": re.sub(r"[^\w-]+", "-", title).strip("-")[:40] or "system",
    }
    parts = [methods(), made.script, *(text(f"{name}.js") for name in VIEW)]
    numbers = json.dumps(data, allow_nan=False).replace("<", "\\u003c")  # no name can end the script
    script = "\n".join([f"(() => {{\nconst PAGE = {numbers};", *parts, "})();"])
    return ExplorePage(title, _document(title, _description(system), shown, script, made.described))


def _title(system: Any) -> str:
    named = [name for name, entry in CATALOGUE.items() if entry.kind is type(system)]
    if named:
        return named[0]
    if not isinstance(system, EquationFlow | EquationMap):
        return type(system).__name__
    text = (system.rhs if isinstance(system, EquationFlow) else system.step_function).text  # pyright: ignore[reportAttributeAccessIssue]
    first = next(line for line in lines(source(text))[0] if line.kind in ("derivative", "next")).spelled()
    return first if len(first) <= LONGEST_TITLE else f"{first[:LONGEST_TITLE]}..."


def _description(system: Any) -> str:
    """The equations of a system from a text, or a line about one of the catalogue, in HTML."""
    if isinstance(system, EquationFlow | EquationMap):
        return f"<section><h2>Equations</h2><pre>{html.escape(str(system))}</pre></section>"
    lines = [entry.text for entry in CATALOGUE.values() if entry.kind is type(system)]
    return f"<section><p>{html.escape(lines[0])}</p></section>" if lines else ""


def _plots(described: Mapping[str, Any]) -> dict[str, str]:
    """Names of the plots of a system with their titles."""
    line, is_map = len(described["names"]) == 1, described["isMap"]
    shown = ["main", "series"]
    if line and not is_map:
        shown.append("potential")
    if described["forced"] and not is_map and not line:
        shown.append("section")
    if described["parameters"]:
        shown.append("diagram")
    titles = {name: TITLES[name] for name in shown}
    if line:
        titles["main"] = "Cobweb" if is_map else "Velocity"
    return titles


def _colours() -> dict[str, Any]:
    kinds = {"stable": COLOURS["stable"], "unstable": COLOURS["field"], "saddle": COLOURS["field"]}
    return {
        "dark": "#22272e", "grey": COLOURS["field"], "curve": COLOURS["follower"], "selected": COLOURS["token"],
        "components": [COLOURS[role] for role in COMPONENTS[:4]] + [BASINS[0]],
        "separatrix": COLOURS["separatrix"], "undecided": COLOURS["undecided"],
        "kinds": {**kinds, "undecided": COLOURS["undecided"]},
    }  # fmt: skip


def _figure(name: str, title: str) -> str:
    caption = ' <span id="caption-series"></span>' if name == "series" else ""
    focus = ' tabindex="0"' if name == "main" else ""
    note = f'<p id="legend"></p><p class="help">{html.escape(HELP)}</p>' if name == "main" else ""
    return (
        f'<figure id="figure-{name}" aria-label="{html.escape(title)}"{focus}><div class="head">'
        f'<h2>{html.escape(title)}{caption}</h2><div class="tools" id="tools-{name}"></div></div>'
        f'<div class="plot" id="plot-{name}"></div>{note}</figure>'
    )


def _document(title: str, description: str, shown: Mapping[str, str], script: str, described: Any) -> str:
    side = "".join(_figure(name, what) for name, what in shown.items() if name != "main")
    rests = "Fixed points" if described["isMap"] else "Equilibria"
    parts = [
        '<section><h2>Parameters</h2><div id="parameters"></div><div id="plane"></div></section>',
        '<section><h2>View</h2><div id="options"></div><div id="message" role="status"></div></section>',
    ]
    texts = [
        f'<section class="text"><div class="head"><h2>{what}</h2>'
        f'<button type="button" id="copy-{name}">Copy</button></div>'
        f'<textarea id="{name}" readonly aria-label="{what}"></textarea></section>'
        for name, what in (("command", "On the command line"), ("python", "In Python"))
    ]
    size = counted(len(described["names"]), "component")
    return "\n".join([
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="dynsim">',
        f"<title>{html.escape(title)}</title>",
        f"<style>\n{text('page.css')}</style></head>",
        f"<body><header><h1>{html.escape(title)}</h1></header>",
        f'<main aria-label="{html.escape(title)}, {size}"><div id="controls">{"".join(parts)}</div>',
        f'<div id="middle">{_figure("main", shown["main"])}',
        f'<section id="rests"><h2>{rests}</h2><ul id="equilibria"></ul></section>{"".join(texts)}</div>',
        f'<div id="side">{side}{description}</div></main>',
        f"<script>{plots.library()}</script>",
        f"<script>{script}</script>",
        "</body></html>",
        "",
    ])  # fmt: skip
