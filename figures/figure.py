"""A figure: numbers worth keeping, then ink."""

import ast
import functools
import hashlib
import importlib.metadata
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import matplotlib
import matplotlib.figure
import numpy as np

import analysis
import dynsim
from dynsim._types import Key
from dynsim.errors import argument_error, nearest
from dynsim.io.npz import read_arrays, writable_folder, write_arrays
from dynsim.keys import stream
from dynsim.papers import Source
from figures.files import FORMATS, write_figure
from figures.movie import write_movie
from figures.style import settings

Numbers = Mapping[str, np.ndarray]
_HEADER = "header"


@dataclass(frozen=True)
class Figure:
    """What a figure is called and shows, the function that computes its numbers, and the one that draws them.

    `larger` computes the same numbers at the paper's own size, where `compute` does not.
    """

    name: str
    source: Source
    caption: str
    compute: Callable[[Key], Numbers]
    draw: Callable[[Numbers], matplotlib.figure.Figure] | None = None
    larger: Callable[[Key], Numbers] | None = None
    animate: Callable[[Numbers, float], matplotlib.figure.Figure] | None = None

    def with_drawing(self, draw: Callable[[Numbers], matplotlib.figure.Figure]) -> "Figure":
        """Return the figure with its drawing."""
        return replace(self, draw=draw)

    def with_larger(self, compute: Callable[[Key], Numbers]) -> "Figure":
        """Return the figure with its numbers at the paper's size."""
        return replace(self, larger=compute)

    def with_animation(self, animate: Callable[[Numbers, float], matplotlib.figure.Figure]) -> "Figure":
        """Return the figure with its movie: a drawing for each phase in [0, 1)."""
        return replace(self, animate=animate)

    def at_size(self, size: str) -> "Figure":
        """Return the figure at size `quick`, itself, or `paper`, whose name ends in `-paper`."""
        if size == "quick":
            return self
        if size != "paper" or self.larger is None:
            sizes = "`quick` or `paper`" if self.larger else f"`quick` (`{self.name}` has no other)"
            raise argument_error("size", f"be {sizes}", f"is `{size}`")
        return replace(self, name=f"{self.name}-paper", compute=self.larger, larger=None)

    def data(self, folder: str | Path, *, seed: int = 0, fresh: bool = False) -> Numbers:
        """Return the numbers, from `<folder>/<name>.npz` if the same code has left them there, else computed and kept.

        Args:
            folder: made if need be.
            seed: of the random stream that has the figure's name.
            fresh: compute in any case.
        """
        file = Path(folder) / f"{self.name}.npz"
        writable_folder("folder", file.parent)
        wanted = self.header(seed)
        if not fresh and file.exists():
            kept = _kept(file, wanted)
            if kept is not None:
                return kept
        numbers = {name: np.asarray(value) for name, value in self.compute(stream(seed, self.name)).items()}
        if not numbers or _HEADER in numbers:
            raise argument_error(
                "compute", f"return named arrays, none of them `{_HEADER}`", f"returns {list(numbers)}"
            )
        write_arrays(file, {_HEADER: np.array(wanted), **numbers})
        return numbers

    def header(self, seed: int) -> str:
        """Return what decides the numbers, as JSON: figure, seed, version, and a digest of the code that computes."""
        made_of = {
            "figure": self.name,
            "source": str(self.source),
            "seed": seed,
            "version": importlib.metadata.version("dynsim"),
            "code": _digest(self.compute),
        }
        return json.dumps(made_of)

    def drawn(self, numbers: Numbers) -> matplotlib.figure.Figure:
        """Return the Matplotlib figure of these numbers, in the house's style."""
        if self.draw is None:
            raise argument_error("figure", "have a drawing", f"`{self.name}` has none")
        with settings():
            return self.draw(numbers)


def figure(name: str, source: Source) -> Callable[[Callable[[Key], Numbers]], Figure]:
    """Make a figure of the function that computes its numbers, whose docstring is the caption."""
    key = source.paper.key
    if not name.startswith(f"{key}/") or name.endswith("/"):
        raise argument_error("name", f"begin with the key of its paper, `{key}/`", f"is `{name}`")

    def decorate(compute: Callable[[Key], Numbers]) -> Figure:
        if not compute.__doc__:
            raise argument_error("compute", "state the caption in its docstring", f"that of `{name}` has none")
        return Figure(name, source, inspect.cleandoc(compute.__doc__), compute)

    return decorate


def save(
    figure: Figure,
    folder: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    seed: int = 0,
    fresh: bool = False,
) -> list[Path]:
    """Compute a figure, or take its kept numbers, draw it, and write `<folder>/<name>.<format>`; return the files.

    The bytes depend on the numbers, the drawing and the versions of the libraries only. A bad format, or a folder that
    cannot be written, is refused before anything is computed.
    """
    for kind in formats:
        if kind == "gif" and figure.animate is None:
            raise argument_error("formats", "hold gif for figures with a movie only", f"`{figure.name}` has none")
        if kind not in (*FORMATS, "gif"):
            but = f"holds `{kind}`{nearest(kind, FORMATS)}"
            raise argument_error("formats", f"hold only {', '.join(FORMATS)}", but)
    stem = Path(folder) / figure.name
    writable_folder("folder", stem.parent)
    numbers = figure.data(folder, seed=seed, fresh=fresh)
    drawn = figure.drawn(numbers)
    if "gif" in formats:
        write_movie(stem.with_name(f"{stem.name}.gif"), functools.partial(_phase, figure, numbers))
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
    for file, kind in zip(files, formats, strict=True):
        if kind != "gif":
            write_figure(drawn, file, f"{figure.name} ({figure.source})")
    return files


def _phase(figure: Figure, numbers: Numbers, phase: float) -> matplotlib.figure.Figure:
    if figure.animate is None:
        raise argument_error("figure", "have a movie", f"`{figure.name}` has none")
    with settings():
        return figure.animate(numbers, phase)


def _kept(file: Path, wanted: str) -> Numbers | None:
    """Return the numbers of a file with the header `wanted`; None if they are of other code, or the file is broken."""
    try:
        numbers = read_arrays(file)
    except ValueError:
        return None
    return numbers if str(numbers.pop(_HEADER, "")) == wanted else None


def _digest(compute: Callable[[Key], Numbers]) -> str:
    """Return a digest of the module that computes, drawings left out, and of what it can compute with."""
    found = hashlib.sha256()
    module = inspect.getmodule(compute)
    try:
        source = inspect.getsource(module if module is not None else compute)
    except (OSError, TypeError):  # typed at a prompt: there is no source, so its byte code stands for it
        code = inspect.unwrap(compute).__code__
        found.update(code.co_code + repr(code.co_consts).encode())
    else:
        found.update(_computing(source).encode())
    found.update(_packages().encode())
    return found.hexdigest()


def _computing(source: str) -> str:
    """Return the syntax tree of a module without drawings, so that restyling a figure keeps its numbers."""
    tree = ast.parse(inspect.cleandoc(source))
    tree.body = [node for node in tree.body if not _draws(node)]
    return ast.dump(tree)


def _draws(node: ast.stmt) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(isinstance(d, ast.Attribute) and d.attr in ("with_drawing", "with_animation") for d in decorators)


@functools.cache
def _packages() -> str:
    """Return a digest of the sources of dynsim and of the measures."""
    found = hashlib.sha256()
    for package in (dynsim, analysis):
        root = _folder(package)
        for file in sorted(root.rglob("*.py")):
            part = file.relative_to(root)
            if part.parts[0] not in ("claims", "commands"):
                found.update(f"{package.__name__}/{part.as_posix()}".encode() + file.read_bytes())
    return found.hexdigest()


def _folder(package: ModuleType) -> Path:
    return Path(package.__path__[0])
