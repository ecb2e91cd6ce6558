"""Figures: their data are computed once, stored, and drawn from the stored data."""

import ast
import functools
import hashlib
import importlib.metadata
import inspect
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import matplotlib.figure
import numpy as np

import analysis
import dynsim
from dynsim._core.types import Key
from dynsim.errors import ArgumentError
from dynsim.io.neighbours import sources
from dynsim.io.npz import read_arrays, writable_folder, write_arrays
from dynsim.keys import random_key
from dynsim.papers import Source
from figures.files import FORMATS, check_formats, write_figure
from figures.movie import write_movie
from figures.style import settings

Numbers = Mapping[str, np.ndarray]  # the named arrays of a figure
_HEADER = "header"


@dataclass(frozen=True)
class Figure:
    """A figure: its name, source and caption, and functions that compute and draw its data.

    `compute` returns named arrays, which `draw` takes. `compute_paper_size`, if given, computes the same data at the
    paper's size. `animate` draws one frame of a movie at a phase in [0, 1).
    """

    name: str
    source: Source
    caption: str
    compute: Callable[[Key], Numbers]
    draw: Callable[[Numbers], matplotlib.figure.Figure] | None = None
    compute_paper_size: Callable[[Key], Numbers] | None = None
    animate: Callable[[Numbers, float], matplotlib.figure.Figure] | None = None

    def with_drawing(self, draw: Callable[[Numbers], matplotlib.figure.Figure]) -> "Figure":
        """The figure with a drawing function."""
        return replace(self, draw=draw)

    def with_paper_size(self, compute: Callable[[Key], Numbers]) -> "Figure":
        """The figure with a function that computes its data at the paper's size."""
        return replace(self, compute_paper_size=compute)

    def with_animation(self, animate: Callable[[Numbers, float], matplotlib.figure.Figure]) -> "Figure":
        """The figure with a movie: a function that draws the frame at a phase in [0, 1)."""
        return replace(self, animate=animate)

    def at_size(self, size: str) -> "Figure":
        """The figure at size `quick`, which is itself, or `paper`, whose name ends in `-paper`.

        Raises:
            ValueError: for another size, or for `paper` if the figure has no other size.
        """
        if size == "quick":
            return self
        if size != "paper" or self.compute_paper_size is None:
            sizes = "`quick` or `paper`" if self.compute_paper_size else f"`quick` (`{self.name}` has no other)"
            raise ArgumentError("size", f"be {sizes}", f"is `{size}`")
        return replace(self, name=f"{self.name}-paper", compute=self.compute_paper_size, compute_paper_size=None)

    def data(self, folder: str | Path, *, seed: int = 0, fresh: bool = False) -> Numbers:
        """Load the data from `<folder>/<name>.npz` if the same code wrote them; otherwise compute and store them there.

        Args:
            folder: the folder, which is created if it does not exist.
            seed: the seed of the random key, which is named after the figure.
            fresh: compute even if the data are stored.

        Raises:
            ValueError: if the folder is not writable, or `compute` returns no arrays or one named `header`.
        """
        file = Path(folder) / f"{self.name}.npz"
        writable_folder("folder", file.parent)
        header = self.header(seed)
        if not fresh and file.exists():
            cached = _cached(file, header)
            if cached is not None:
                return cached
        numbers = {name: np.asarray(value) for name, value in self.compute(random_key(seed, self.name)).items()}
        if not numbers or _HEADER in numbers:
            raise ArgumentError("compute", f"return named arrays, none of them `{_HEADER}`", f"returns {list(numbers)}")
        write_arrays(file, {_HEADER: np.array(header), **numbers})
        return numbers

    def header(self, seed: int) -> str:
        """Everything that determines the data, as JSON: figure, source, seed, version, and a digest of the code."""
        inputs = {
            "figure": self.name,
            "source": str(self.source),
            "seed": seed,
            "version": importlib.metadata.version("dynsim"),
            "code": _digest(self.compute),
        }
        return json.dumps(inputs)

    def drawn(self, numbers: Numbers) -> matplotlib.figure.Figure:
        """Draw the figure from these data, with the settings of `figures.style`."""
        if self.draw is None:
            raise ArgumentError("figure", "have a drawing", f"`{self.name}` has none")
        with settings():
            return self.draw(numbers)


def figure(name: str, source: Source) -> Callable[[Callable[[Key], Numbers]], Figure]:
    """Make a `Figure` from the decorated function, which computes its data and whose docstring is the caption.

    Args:
        name: name of the figure, `key/word`, with the key of the paper.
        source: the place in the paper.

    Raises:
        ValueError: if the name does not begin with the key of the paper, or the function has no docstring.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from figures import figure
        >>> @figure("mine/squares", ds.Paper("mine", "Squares", "A. Author").at("Figure 1"))
        ... def squares(key):
        ...     '''The squares of 0, 1 and 2.'''
        ...     return {"y": np.arange(3.0) ** 2}
        >>> squares.name, squares.caption
        ('mine/squares', 'The squares of 0, 1 and 2.')
    """
    key = source.paper.key
    if not name.startswith(f"{key}/") or name.endswith("/"):
        raise ArgumentError("name", f"begin with the key of its paper, `{key}/`", f"is `{name}`")

    def decorate(compute: Callable[[Key], Numbers]) -> Figure:
        if not compute.__doc__:
            raise ArgumentError("compute", "state the caption in its docstring", f"that of `{name}` has none")
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
    """Draw a figure from stored or newly computed data, and write `<folder>/<name>.<format>`.

    The files depend only on the data, the drawing code and the versions of the libraries.

    Args:
        figure: the figure to draw.
        folder: the folder, which is created if it does not exist.
        formats: formats from `FORMATS`, and `gif` for figures with a movie.
        seed: the seed of the random key, which is named after the figure.
        fresh: compute the data even if they are stored.

    Raises:
        ValueError: for an unknown format or a folder that is not writable, before anything is computed.

    Example:
        >>> import tempfile
        >>> from figures import find_figures, save
        >>> (geometry,) = find_figures("hardmax/figure-1")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [file.relative_to(folder).as_posix() for file in save(geometry, folder, formats=("svg",))]
        ['hardmax/figure-1.svg']
    """
    check_formats(formats)
    if "gif" in formats and figure.animate is None:
        raise ArgumentError("formats", "hold gif only for figures with a movie", f"`{figure.name}` has none")
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
        raise ArgumentError("figure", "have a movie", f"`{figure.name}` has none")
    with settings():
        return figure.animate(numbers, phase)


def _cached(file: Path, header: str) -> Numbers | None:
    """Load the data of a file with this header; None if the header differs or the file cannot be read."""
    try:
        numbers = read_arrays(file)
    except ArgumentError:
        return None
    return numbers if str(numbers.pop(_HEADER, "")) == header else None


def _digest(compute: Callable[[Key], Numbers]) -> str:
    """Digest of the computing module, without its drawing functions, and of the packages it may import."""
    found = hashlib.sha256()
    while isinstance(compute, functools.partial):
        found.update(_held((compute.args, sorted(compute.keywords.items()))))
        compute = compute.func
    function: Any = inspect.unwrap(compute)
    if not inspect.isroutine(function):  # an object that is called
        found.update(_held(function))
        function = type(function).__call__
    module = inspect.getmodule(function)
    try:
        source = inspect.getsource(module if module is not None else function)
    except (OSError, TypeError):  # defined interactively, without source, so use its byte code
        code = getattr(function, "__code__", None)
        found.update(repr(function).encode() if code is None else code.co_code + repr(code.co_consts).encode())
    else:
        found.update(_computing(source).encode())
        for path in sources(str(inspect.getsourcefile(function)))[1:]:  # modules beside a user's file
            found.update(path.read_bytes())
    found.update(_packages().encode())
    return found.hexdigest()


def _held(values: Any) -> bytes:
    """The values that a function holds, which determine the data, too."""
    try:
        return pickle.dumps(values)
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(values).encode()


def _computing(source: str) -> str:
    """Syntax tree of a module without its drawing functions, so that restyling keeps the stored data."""
    tree = ast.parse(inspect.cleandoc(source))
    tree.body = [node for node in tree.body if not _draws(node)]
    return ast.dump(tree)


def _draws(node: ast.stmt) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(isinstance(d, ast.Attribute) and d.attr in ("with_drawing", "with_animation") for d in decorators)


@functools.cache
def _packages() -> str:
    """Digest of the source files of `dynsim` and `analysis`, without the command line and claims."""
    found = hashlib.sha256()
    for package in (dynsim, analysis):
        root = _folder(package)
        for file in sorted(root.rglob("*.py")):
            part = file.relative_to(root)
            if part.parts[0] not in ("claims", "cli"):
                found.update(f"{package.__name__}/{part.as_posix()}".encode() + file.read_bytes())
    return found.hexdigest()


def _folder(package: ModuleType) -> Path:
    return Path(package.__path__[0])
