"""Load users' papers, from Python files on the command line or from packages that register a paper."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from dynsim.cli.building.own_code import definition, executed, own_code
from dynsim.errors import ArgumentError
from dynsim.papers import PAPERS, Paper, package_of, registered


@dataclass(frozen=True)
class OwnPaper:
    """A user's paper with the module of its claims and figures; `where` is its file or package."""

    paper: Paper
    module: ModuleType
    where: str

    def unique(self, kind: type) -> list[Any]:
        """List the distinct objects of a class in the module, in the order of their definition.

        Raises:
            ValueError: for a claim or a figure of another paper.
        """
        found = {id(value): value for value in vars(self.module).values() if isinstance(value, kind)}
        for value in found.values():
            if value.source.paper.key != self.paper.key:
                function = getattr(value, "trial", None) or getattr(value, "compute", None)
                name = getattr(value, "id", None) or getattr(value, "name", None)
                but = f"{definition(function)}has `{name}`"
                raise ArgumentError("file", f"hold claims and figures of its own paper, `{self.paper.key}`", but)
        return list(found.values())


def is_file(word: str) -> bool:
    """Test whether a word of the command line names a Python file."""
    return word.endswith(".py")


def own_papers(words: Iterable[str]) -> tuple[list[OwnPaper], list[str]]:
    """Load the papers of the files among the words, or of registered packages if there is no file.

    Files are executed and registered packages are imported; nothing else is, except what they import.

    Returns:
        the papers, and an error message for each registered package that cannot be used.

    Raises:
        ValueError: for a file that cannot be used, and for two files with the same key.
    """
    files = tuple(dict.fromkeys(word for word in words if is_file(word)))
    if not files:
        return _registered()
    found: list[OwnPaper] = []
    for file in files:
        found.append(_own_paper(executed("file", file), file, found))
    return found, []


def _registered() -> tuple[list[OwnPaper], list[str]]:
    found: list[OwnPaper] = []
    problems: list[str] = []
    for point in registered():
        package = package_of(point)
        try:
            with own_code(point.name, f"name a module that can be imported: `{point.value}`"):
                module = point.load()
            found.append(replace(_own_paper(module, point.value, found), where=package))
        except ArgumentError as error:
            problems.append(left_out(package, error))
    return found, problems


def left_out(package: str, error: ArgumentError) -> str:
    """Word the warning about a registered package that cannot be used."""
    return f"The package `{package}` registers a paper that is left out: {error}"


def _own_paper(module: Any, where: str, others: Sequence[OwnPaper]) -> OwnPaper:
    """Get the paper of a module; raise `ValueError` if it has none, or if its key is taken."""
    paper = getattr(module, "PAPER", None)
    if not isinstance(module, ModuleType) or not isinstance(paper, Paper):
        raise ArgumentError("file", 'define `PAPER = Paper("key", "title", "authors")`', f"`{where}` does not")
    taken = dict.fromkeys(PAPERS, "dynsim") | {other.paper.key: other.where for other in others}
    if paper.key in taken:
        but = f"`{paper.key}` in `{where}` is taken by a paper of `{taken[paper.key]}`"
        raise ArgumentError("file", "give its paper a key of its own", but)
    return OwnPaper(paper, module, where)
