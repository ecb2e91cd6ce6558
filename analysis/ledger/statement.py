"""Statements of papers, the entries of the ledger."""

from dataclasses import dataclass

from dynsim.papers import Source


@dataclass(frozen=True)
class Statement:
    """A numbered statement or another claim of a paper; `text` is a short paraphrase of the paper's wording."""

    id: str
    source: Source
    text: str

    @property
    def full_id(self) -> str:
        """The id in the ledger, "<key>/<id>"."""
        return f"{self.source.paper.key}/{self.id}"
