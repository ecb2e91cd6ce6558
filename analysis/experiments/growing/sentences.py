"""Read labelled sentences as rows of word numbers, for the experiments of Sections 7.4 and 7.5."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynsim.io.data import data_file
from dynsim.networks.sentiment.reviews import Encoded, Reviews, Selection, encoded, read_reviews
from dynsim.networks.sentiment.words import PADDING, Cleaning, Vocabulary

WORDS = Cleaning(stop_words="none", keep_case=False, shortest=1)


@dataclass(frozen=True)
class SentenceCorpus:
    """Two sets of labelled sentences.

    Attributes:
        train: the training set.
        test: the validation set.
        limits: the largest number of sentences of each set; the first ones are taken.
        length: words of a sentence; longer ones are truncated.
        least: words that occur less often in the training set are left out.
    """

    train: Selection
    test: Selection
    limits: tuple[int, int] = (8000, 1000)
    length: int = 32
    least: int = 2


class Sentences(NamedTuple):
    """Training and validation set, padded with 0, the number of words, and the words, with the padding first."""

    train: Encoded
    test: Encoded
    words: int
    vocabulary: tuple[str, ...] = ()


def read_sentences(corpus: SentenceCorpus) -> Sentences:
    """Read the sentences of a corpus; words outside its training set are left out.

    Raises:
        ValueError: if a file is missing or malformed.
    """
    sets = [
        _first(read_reviews(data_file(selection.file), selection), limit)
        for selection, limit in zip((corpus.train, corpus.test), corpus.limits, strict=True)
    ]
    texts = [[WORDS(text) for text in found.texts] for found in sets]
    counts = Counter(word for words in texts[0] for word in words)
    known = Vocabulary((PADDING, *(word for word, count in counts.most_common() if count >= corpus.least)))
    train, test = (encoded(words, found.labels, known, corpus.length) for words, found in zip(texts, sets, strict=True))
    return Sentences(train, test, len(known), known.words)


def _first(found: Reviews, limit: int) -> Reviews:
    return Reviews(found.texts[:limit], np.asarray(found.labels[:limit]), found.lines[:limit])


SST2 = SentenceCorpus(Selection("sst2_train.csv.gz"), Selection("sst2_dev.csv.gz"))
RT_POLARITY = SentenceCorpus(
    Selection("rt_polarity.csv.gz", column="split", values=("train",)),
    Selection("rt_polarity.csv.gz", column="split", values=("test",)),
)
