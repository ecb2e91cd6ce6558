"""Modules that a Python file imports from its own folder, when it is run by its path."""

import ast
import contextlib
import importlib
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from dynsim.errors import ArgumentError

INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib"))


def neighbours(file: str | Path) -> dict[str, Path]:
    """Find the modules in a file's folder that it imports, directly or through one another.

    Returns:
        path of each module by name; a package is given by its `__init__.py`. The file itself is not included, and
        folders of installed packages have no neighbours.
    """
    start = Path(file).resolve()
    if start.parent in INSTALLED:
        return {}
    found: dict[str, Path] = {}
    todo = [start]
    while todo:
        for name in _imported(todo.pop()):
            options = (start.parent / f"{name}.py", start.parent / name / "__init__.py")
            path = next((option for option in options if option.is_file()), start)
            if name not in found and path != start:
                found[name] = path
                todo += modules(path)
    return dict(sorted(found.items()))


def modules(path: Path) -> list[Path]:
    """Files of a module; for a package, given by its `__init__.py`, all of its files."""
    return sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]


def sources(file: str | Path) -> list[Path]:
    """A file together with the files of its neighbours."""
    return [Path(file).resolve(), *(part for path in neighbours(file).values() for part in modules(path))]


def _imported(file: Path) -> set[str]:
    """Top-level names of the modules that a file imports; none if it is not valid Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return set()
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {name.split(".")[0] for name in (*names, *(node.module or "" for node in froms))}


@contextlib.contextmanager
def importable(file: str | Path) -> Iterator[None]:
    """Let imports find the modules beside a file, after all others; at the end, check that they did.

    They can be found from then on, because functions of the file may import some when they are called.

    Raises:
        ValueError: if another module has the name of a module that the file imports.
    """
    path = Path(file).resolve()  # before the file's own code can change the working directory
    folder = str(path.parent)
    importlib.invalidate_caches()
    if folder not in sys.path:
        sys.path.append(folder)
    yield
    for name, beside in neighbours(path).items():
        loaded = sys.modules.get(name)
        if loaded is not None and _file(loaded) != beside:
            must = f"import modules from its folder by names that no other module has: `{beside.name}`"
            raise ArgumentError("file", must, f"`{name}` in `{file}` is a different module")


def _file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()
