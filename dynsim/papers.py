"""The five papers, and how a line of code cites one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper, known in ids, figure names and the command line by its `key`."""

    key: str
    title: str
    authors: str

    def at(self, label: str, equation: str = "") -> "Source":
        """Return the place `label` (and `equation`) of this paper."""
        return Source(self, label, equation)


@dataclass(frozen=True)
class Source:
    """A place in a paper."""

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
