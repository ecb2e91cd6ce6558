"""A statement of a paper, as the ledger lists it."""

from dataclasses import dataclass

from dynsim.papers import Source


@dataclass(frozen=True)
class Statement:
    """A numbered statement or a load-bearing claim; `text` points at it, the paper's wording counts."""

    id: str
    source: Source
    text: str

    @property
    def full_id(self) -> str:
        """The id under which the ledger files it, "<key>/<id>"."""
        return f"{self.source.paper.key}/{self.id}"
