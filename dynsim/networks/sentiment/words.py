"""Text as words and words as numbers: what is removed, and the vocabulary by frequency."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int

from dynsim.errors import argument_error

PADDING = "<PAD>"
MARKUP = re.compile(r"<[^<>]*>")
NO_LETTERS = re.compile(r"[^A-Za-z]+")


@dataclass(frozen=True)
class Cleaning:
    """What is left of a text: its words in the letters A to Z, without markup, digits, punctuation and stop words.

    The paper says nothing of it. As in the authors' vocabulary, an apostrophe parts a word ("didn t"), the case is
    kept, and stop words are removed in lower case only ("the" goes, "The" stays), before any lemma is taken. What the
    authors did is `Cleaning("nltk", "wordnet", shortest=1)`; NLTK and its corpora are no part of any extra, but are
    used where a reader has them.

    Attributes:
        stop_words: "scikit-learn" for its list (extra `text`), "nltk" for the one of NLTK, or "none".
        lemmas: "wordnet" replaces every word by its lemma as a noun, "none" does not.
        keep_case: False makes all letters small first.
        shortest: letters of the shortest word that is left. As in scikit-learn's own tokenizer it is two by default,
            since its list, unlike NLTK's, has no "s" and "t".
    """

    stop_words: str = "scikit-learn"
    lemmas: str = "none"
    keep_case: bool = True
    shortest: int = 2

    def __post_init__(self):
        """Refuse the names of lists that are not known."""
        for name, known in (("stop_words", STOP_WORDS), ("lemmas", LEMMAS)):
            if getattr(self, name) not in known:
                must = f"be one of {', '.join(f'`{one}`' for one in known)}"
                raise argument_error(name, must, f"is `{getattr(self, name)}`")

    def __call__(self, text: str) -> list[str]:
        """Return the words of `text` that are left, in their order."""
        letters = NO_LETTERS.sub(" ", MARKUP.sub(" ", text if self.keep_case else text.lower()))
        kept = (word for word in letters.split() if len(word) >= self.shortest and word not in self._removed)
        return [self._lemma(word) for word in kept]

    @cached_property
    def _removed(self) -> frozenset[str]:
        return STOP_WORDS[self.stop_words]()

    @cached_property
    def _lemma(self) -> Callable[[str], str]:
        return LEMMAS[self.lemmas]()


def _scikit_learn_stop_words() -> frozenset[str]:
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError:
        must = "be `nltk` or `none` where scikit-learn is missing (`pip install dynsim[text]`)"
        raise argument_error("stop_words", must, "is `scikit-learn`") from None
    return frozenset(ENGLISH_STOP_WORDS)


def _nltk_stop_words() -> frozenset[str]:
    try:
        from nltk.corpus import stopwords  # pyright: ignore[reportMissingImports]

        return frozenset(stopwords.words("english"))
    except (ImportError, LookupError):
        must = "not be `nltk` where NLTK or its corpus `stopwords` is missing (`python -m nltk.downloader stopwords`)"
        raise argument_error("stop_words", must, "is") from None


def _wordnet_lemma() -> Callable[[str], str]:
    try:
        from nltk.stem import WordNetLemmatizer  # pyright: ignore[reportMissingImports]

        lemma = WordNetLemmatizer().lemmatize
        lemma("words")
    except (ImportError, LookupError):
        must = "not be `wordnet` where NLTK or its corpus is missing (`python -m nltk.downloader wordnet`)"
        raise argument_error("lemmas", must, "is") from None
    return lemma


STOP_WORDS = {"scikit-learn": _scikit_learn_stop_words, "nltk": _nltk_stop_words, "none": frozenset}
LEMMAS = {"none": lambda: str, "wordnet": _wordnet_lemma}


@dataclass(frozen=True)
class Vocabulary:
    """The words by number; number 0 is the padding. A number whose word is not known has an empty one."""

    words: tuple[str, ...]
    numbers: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self):
        """Number the words."""
        if not self.words or self.words[0] != PADDING:
            raise argument_error("words", f"begin with `{PADDING}`", f"begins with {self.words[:1]}")
        numbers = {word: number for number, word in enumerate(self.words) if number and word}
        object.__setattr__(self, "numbers", numbers)

    def __len__(self) -> int:
        """The number of words, padding and unknown ones included."""
        return len(self.words)

    def encode(self, words: Iterable[str], length: int) -> Int[np.ndarray, " length"]:
        """Return the numbers of the first `length` words that the vocabulary has, padded with zeros at the end."""
        if length < 1:
            raise argument_error("length", "be at least 1", f"is {length}")
        found = [self.numbers[word] for word in words if word in self.numbers][:length]
        return np.array(found + [0] * (length - len(found)), np.int32)


def vocabulary(texts: Iterable[Sequence[str]]) -> Vocabulary:
    """Return the words of cleaned texts, the most frequent first, ties in the order of first appearance."""
    counts = Counter(word for words in texts for word in words)
    return Vocabulary((PADDING, *(word for word, _ in counts.most_common())))
