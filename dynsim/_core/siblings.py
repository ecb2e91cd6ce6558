"""The packages `analysis` and `figures` beside this one, which a folder or a file of the user's may hide."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[2]
SIBLINGS = ("analysis", "figures")


class HiddenPackageError(ImportError):
    """A file of the user's is found by the name of a package that belongs to dynsim."""


def check_not_hidden(*names: str) -> None:
    """Check that imports find dynsim's own packages; nothing is imported.

    Args:
        names: Of `SIBLINGS`.

    Raises:
        HiddenPackageError: If a folder with an `__init__.py`, or a file, of the same name comes first.
    """
    for name in names:
        spec = importlib.util.find_spec(name)
        found = spec.origin if spec else None  # None for a folder without `__init__.py`, which hides no package
        if found is None or Path(found).resolve() == HOME / name / "__init__.py":
            continue
        path = Path(found)
        what, hidden = ("folder", path.parent) if path.name == "__init__.py" else ("file", path)
        raise HiddenPackageError(
            f"The {what} `{hidden}` hides dynsim's package `{name}`: rename it, or work in another folder.",
            name=name,
            path=found,
        )


def sibling(module: str) -> Any:
    """Import a module of `analysis` or `figures`, which stand above this package.

    Raises:
        HiddenPackageError: If the package of the module is hidden.
    """
    check_not_hidden(*SIBLINGS)
    return importlib.import_module(module)
