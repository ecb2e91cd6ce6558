"""The five papers, references to places in papers, and the entry points through which packages add papers."""

import re
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from dynsim.errors import ArgumentError

ENTRY_POINTS = "dynsim.papers"
"""Entry-point group for packages that add papers; each entry names a module with `PAPER`, claims and figures."""


@dataclass(frozen=True)
class Paper:
    """A paper; its `key` names it in ids of statements, names of figures, and on the command line.

    Raises:
        ValueError: if the key contains anything but letters, digits, `-` and `_`.
    """

    key: str
    title: str
    authors: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", self.key):
            raise ArgumentError("key", "be a word of letters, digits, `-` and `_`", f"is `{self.key}`")

    def at(self, label: str, equation: str = "") -> "Source":
        """Reference to a `label` in this paper, such as "Theorem 3.1", and optionally to an equation."""
        return Source(self, label, equation)


@dataclass(frozen=True)
class Source:
    """A reference to a place in a paper: a label such as "Section 7.1", and optionally an equation number."""

    paper: Paper
    label: str
    equation: str = ""

    def __str__(self) -> str:
        place = f"{self.label}, {self.equation}" if self.equation else self.label
        return f"{self.paper.key}, {place}"


CONSENSUS = Paper(
    "consensus",
    "The asymptotic behavior of attention in transformers",
    "A. Rodriguez Abella, J. P. Silvestre, P. Tabuada",
)
HARDMAX = Paper(
    "hardmax",
    "Clustering in pure-attention hardmax transformers and its role in sentiment analysis",
    "A. Alcalde, G. Fantuzzi, E. Zuazua",
)
PROTOTYPES = Paper("prototypes", "DDCL-Attention, a prototype-based readout", "G. Cirrincione et al.")
GROWING = Paper("growing", "DDCL-INCRT, a self-organising transformer", "G. Cirrincione")
MULTIRATE = Paper("multirate", "Attention is just another name for coupling? A fast-slow ODE perspective", "")

PAPERS = {paper.key: paper for paper in (CONSENSUS, HARDMAX, PROTOTYPES, GROWING, MULTIRATE)}


def registered() -> tuple[Any, ...]:
    """Entry points of installed packages that add papers, sorted by package and name; nothing is imported.

    They come from the standard library, or from the package `importlib-metadata` where that is installed.
    """
    return tuple(sorted(entry_points(group=ENTRY_POINTS), key=lambda point: (package_of(point), point.name)))


def package_of(point: Any) -> str:
    """Name of the package that an entry point belongs to."""
    return point.dist.name if point.dist is not None else point.module
