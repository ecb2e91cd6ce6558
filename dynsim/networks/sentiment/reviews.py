"""Labelled reviews: read from CSV files, cleaned, and encoded as rows of word indices."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from dynsim.errors import ArgumentError
from dynsim.networks.sentiment.words import Cleaning, Vocabulary, vocabulary

COLUMNS = (("text", "label"), ("review", "sentiment"))
LABELS = {"1": 1, "0": 0, "positive": 1, "negative": 0}


@dataclass(frozen=True)
class Selection:
    """A selection of reviews from a CSV file.

    Attributes:
        file: a `.csv` or `.csv.gz` file in UTF-8 with the columns `text` and `label` (0 or 1), or with `review` and
            `sentiment` (negative or positive) as in the file "IMDB Dataset.csv" of all 50,000 reviews.
        first: the index of the first row, from 0.
        last: the index after the last row; None for the end of the file.
        column: if given, only rows with one of `values` in this column are selected.
        values: see `column`.
    """

    file: str
    first: int = 0
    last: int | None = None
    column: str = ""
    values: tuple[str, ...] = ()


class Reviews(NamedTuple):
    """Texts of reviews, their labels (1 is positive, 0 negative), and the line on which each ends."""

    texts: tuple[str, ...]
    labels: Int[np.ndarray, " reviews"]
    lines: tuple[int, ...]


class Encoded(NamedTuple):
    """Reviews as rows of word indices, padded with 0, and their labels (1 is positive, 0 negative)."""

    ids: Int[np.ndarray, "reviews length"]
    labels: Int[np.ndarray, " reviews"]


def read_reviews(path: str | Path, selection: Selection) -> Reviews:
    """Read the selected reviews of a CSV file.

    Raises:
        ValueError: if the file is missing, unreadable or malformed, a label is unknown, a review is empty (all with the
            line number), or no review is selected.
    """
    path = Path(path)
    found = [
        _review(path, line, row) for number, (line, row) in enumerate(_rows(path)) if _selected(selection, number, row)
    ]
    if not found:
        raise ArgumentError("path", "be a file with reviews of the selection", f"`{path.name}` has none of them")
    texts, labels, lines = zip(*found, strict=True)
    return Reviews(texts, np.array(labels, np.int32), lines)


def _selected(selection: Selection, number: int, row: dict[str, str]) -> bool:
    inside = selection.first <= number and (selection.last is None or number < selection.last)
    if selection.column and selection.column not in row:
        raise ArgumentError("column", f"be one of {', '.join(f'`{name}`' for name in row)}", f"is `{selection.column}`")
    return inside and (not selection.column or row[selection.column] in selection.values)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the records, each with the number of its last line; line 1 contains the column names."""
    if not path.is_file():
        raise ArgumentError("path", "be a file of reviews", f"there is none at `{path}`")
    opened = gzip.open if path.suffix == ".gz" else open
    line = 0
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            if not any(set(names) <= set(reader.fieldnames or ()) for names in COLUMNS):
                must = "be a file whose first line names the columns `text` and `label`, or `review` and `sentiment`"
                raise ArgumentError("path", must, _begins(path, reader))
            line = reader.line_num
            for row in reader:
                line = reader.line_num
                _check_fields(path, line, row)
                yield line, row
    except (csv.Error, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        but = f"`{path.name}` cannot be read from line {line + 1} onwards ({str(error).rstrip('.')})"
        raise ArgumentError("path", "be a well-formed CSV file of reviews", but) from None


def _begins(path: Path, reader: csv.DictReader) -> str:
    return f"`{path.name}` begins with {', '.join(f'`{name}`' for name in reader.fieldnames or ()) or 'nothing'}"


def _malformed(path: Path, line: int, what: str) -> ArgumentError:
    return ArgumentError("path", "be a well-formed CSV file of reviews", f"line {line} of `{path.name}` {what}")


def _check_fields(path: Path, line: int, row: dict) -> None:
    if None in row:
        raise _malformed(path, line, f"has {len(row[None])} fields too many")
    if None in row.values():
        missing = next(name for name, value in row.items() if value is None)
        raise _malformed(path, line, f"has no field `{missing}`")


def _review(path: Path, line: int, row: dict[str, str]) -> tuple[str, int, int]:
    text, label = next((row[names[0]], row[names[1]]) for names in COLUMNS if set(names) <= set(row))
    if label.strip().lower() not in LABELS:
        raise _malformed(path, line, f"has the label {label!r}, not one of {', '.join(LABELS)}")
    if not text.strip():
        raise _malformed(path, line, "has an empty review")
    return text, LABELS[label.strip().lower()], line


def cleaned(reviews: Reviews, cleaning: Cleaning) -> list[list[str]]:
    """Words of each review after cleaning; raise `ValueError` for a review without any, naming its line."""
    words = [cleaning(text) for text in reviews.texts]
    for line, left in zip(reviews.lines, words, strict=True):
        if not left:
            must = "hold reviews with at least one word after cleaning"
            raise ArgumentError("reviews", must, f"the one on line {line} has none")
    return words


def encoded(texts: list[list[str]], labels: Int[np.ndarray, " reviews"], known: Vocabulary, length: int) -> Encoded:
    """Encode cleaned reviews as word indices, truncated or padded to `length` words."""
    return Encoded(np.stack([known.encode(words, length) for words in texts]), labels)


def summary(reviews: Reviews, cleaning: Cleaning, *, length: int = 128) -> str:
    """Compare vocabulary, words and long reviews with and without removal of stop words, in one sentence."""
    kinds = {"cleaned": cleaning, "with stop words": Cleaning("none", cleaning.lemmas, cleaning.keep_case, 1)}
    found = {}
    for name, kind in kinds.items():
        texts = [kind(text) for text in reviews.texts]
        found[name] = (len(vocabulary(texts)) - 1, sum(map(len, texts)), sum(len(words) > length for words in texts))
    lines = (f"{a} distinct of {b} words {name}, {c} reviews above {length} words" for name, (a, b, c) in found.items())
    return f"{len(reviews.texts)} reviews: " + "; ".join(lines)
