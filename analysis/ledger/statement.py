"""Statements of papers, the entries of the ledger."""

from dataclasses import dataclass

from dynsim.papers import Paper, Source


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


def statements_of(paper: Paper, *rows: tuple[str, str, str]) -> tuple[Statement, ...]:
    """Make the statements of a paper from rows of an id, a place such as "Sec 2.2", and a text."""
    return tuple(Statement(id, paper.at(place), text) for id, place, text in rows)
