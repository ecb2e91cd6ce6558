"""The five papers, and references to places in them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper; its `key` is its name in ids of statements, names of figures, and on the command line."""

    key: str
    title: str
    authors: str

    def at(self, label: str, equation: str = "") -> "Source":
        """Return a reference to `label` in this paper, such as "Theorem 3.1", and to one of its equations."""
        return Source(self, label, equation)


@dataclass(frozen=True)
class Source:
    """A reference to a place in a paper: a label such as "Section 7.1", and an equation number if there is one."""

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
