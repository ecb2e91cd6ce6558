"""Choose the files of tests that are likely to notice an error in a module."""

import ast
import collections
import functools
import re
from collections.abc import Iterable
from pathlib import Path

from tests.quality.source_index import ROOT, Index, Source, project

TESTS = 6
"""Largest number of files for a module."""
LEFT_OUT = ("benchmarks",)
"""Folders whose tests `make test` leaves out."""
LONG_TEXT = 200
"""Characters from which a text is prose, and no command line."""
STEPS = 3
"""Largest number of imports between a module and one whose tests are tried for it."""


@functools.cache
def references(path: Path) -> collections.Counter[str]:
    """Count what a file of tests refers to, by the full names under which it imports them.

    With `import dynsim as ds` a `ds.simulate` counts as `dynsim.simulate`, and so does `simulate` after
    `from dynsim import simulate`.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
    found = collections.Counter(bound.values())
    for node in ast.walk(tree):
        first, *rest = _dotted(node)
        if first in bound and isinstance(getattr(node, "ctx", None), ast.Load):
            found[".".join((bound[first], *rest))] += 1
    return found


def _dotted(node: ast.AST) -> list[str]:
    """Split `a.b.c` into its names; anything else has none."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else [""]


def files_of_tests(folder: Path) -> list[Path]:
    """List the files of tests in a folder and the folders in it."""
    found = sorted(folder.rglob("test_*.py"))
    return [path for path in found if not set(LEFT_OUT) & set(path.relative_to(folder).parts)]


def files_for(source: Source, index: Index | None = None, folder: Path = ROOT / "tests") -> tuple[str, ...]:
    """Choose up to `TESTS` files that refer most often to what a module defines, then to what imports the module.

    A reference by the module's own name counts before one through a package that gives the same name out. A module
    that nothing imports is reached by its name, as commands are: files whose texts mention it follow.
    """
    index, files = index or project(), files_of_tests(folder)
    chosen: dict[Path, None] = {}
    seen, layer = {source.module}, [source]
    for step in range(STEPS + 1):
        chosen |= dict.fromkeys(_most_referring(layer, files, index))
        if len(chosen) >= TESTS or (chosen and step > 0):
            break
        layer = [s for s in importing(layer, index) if s.module not in seen]
        seen |= {s.module for s in layer}
        if not layer:
            break
    if not layer or not chosen:
        chosen |= dict.fromkeys(_most_mentioning(source, files))
    return tuple(str(path) for path in list(chosen)[:TESTS])


def _most_referring(sources: Iterable[Source], files: Iterable[Path], index: Index) -> list[Path]:
    own = {s.module: set(_module_level(s)) for s in sources}
    public = {(module.split(".")[0], name) for module, names in own.items() for name in names if name[0] != "_"}
    scores = {}
    for path in files:
        exact = through = 0
        for name, count in references(path).items():
            home, parts = _home(name, index)
            if home in own:
                exact += count * bool(parts and parts[0] in own[home])
            elif home in index.packages or (home and _gives_out(index.by_module[home])):
                through += count * any((home.split(".")[0], part) in public for part in parts)
        if exact or through:
            scores[path] = (exact, through)
    return sorted(scores, key=lambda path: scores[path], reverse=True)


def _gives_out(source: Source) -> bool:
    """Whether a module defines nothing, and only gives names out, as `dynsim.tokens` does."""
    return not source.definitions


def _home(name: str, index: Index) -> tuple[str, list[str]]:
    """Split a full name into the module or package that it is taken from, and the rest."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        module = ".".join(parts[:k])
        if module in index.by_module:
            return module, parts[k:]
    return "", parts


def _most_mentioning(source: Source, files: Iterable[Path]) -> list[Path]:
    """List files whose texts, such as command lines, have the last part of a module's name among their words.

    The module `command` of a package is reached by the package's name.
    """
    word = source.module.removesuffix(".command").split(".")[-1]
    counts = {path: words_in_texts(path)[word] for path in files}
    return sorted((path for path in counts if counts[path]), key=lambda path: counts[path], reverse=True)


@functools.cache
def words_in_texts(path: Path) -> collections.Counter[str]:
    """Count the words in the constant texts of a file of tests, long ones apart."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return collections.Counter(word for text in texts if len(text) < LONG_TEXT for word in text.split())


def _module_level(source: Source) -> list[str]:
    return [name for name in source.definitions if "." not in name]


def importing(sources: Iterable[Source], index: Index) -> list[Source]:
    """List the modules that import one of some modules."""
    names = [re.escape(source.module) for source in sources]
    parents = [name.rpartition(r"\.") for name in names]
    ways = [rf"(?:from|import) {name}\b(?!\.)" for name in names]
    ways += [rf"from {package} import (?:\([^)]*|[^\n(]*)\b{name}\b" for package, _, name in parents if package]
    wanted = re.compile("|".join(ways))
    return [source for source in index.sources if wanted.search(source.text)]
