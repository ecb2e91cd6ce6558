"""Text preprocessing: from text to words without stop words, and from words to indices of a vocabulary."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int

from dynsim.errors import ArgumentError

PADDING = "<PAD>"
MARKUP = re.compile(r"<[^<>]*>")
NO_LETTERS = re.compile(r"[^A-Za-z]+")


@dataclass(frozen=True)
class Cleaning:
    """A function that splits a text into words of the letters A to Z, without markup, digits and stop words.

    The paper does not describe its preprocessing. As in the authors' vocabulary, an apostrophe splits a word
    ("didn t"), the case is kept, and stop words are removed only in lower case ("the", not "The"), before
    lemmatisation. The authors' preprocessing is `Cleaning("nltk", "wordnet", shortest=1)`; no optional dependency
    installs NLTK and its corpora.

    Attributes:
        stop_words: the list of stop words: "scikit-learn" (extra `text`), "nltk", or "none".
        lemmas: "wordnet" replaces every word by its lemma as a noun; "none" does not.
        keep_case: whether to keep the case; otherwise text is first converted to lower case.
        shortest: the least number of letters of a word. It is two by default, as in scikit-learn's tokenizer, because
            its list of stop words, unlike NLTK's, lacks "s" and "t".
    """

    stop_words: str = "scikit-learn"
    lemmas: str = "none"
    keep_case: bool = True
    shortest: int = 2

    def __post_init__(self):
        """Raise `ValueError` for an unknown list of stop words or lemmas."""
        for name, known in (("stop_words", STOP_WORDS), ("lemmas", LEMMAS)):
            if getattr(self, name) not in known:
                must = f"be one of {', '.join(f'`{one}`' for one in known)}"
                raise ArgumentError(name, must, f"is `{getattr(self, name)}`")

    def __call__(self, text: str) -> list[str]:
        """The words of `text` after cleaning, in order."""
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
        raise ArgumentError("stop_words", must, "is `scikit-learn`") from None
    return frozenset(ENGLISH_STOP_WORDS)


def _nltk_stop_words() -> frozenset[str]:
    try:
        from nltk.corpus import stopwords  # pyright: ignore[reportMissingImports]

        return frozenset(stopwords.words("english"))
    except (ImportError, LookupError):
        must = "not be `nltk` where NLTK or its corpus `stopwords` is missing (`python -m nltk.downloader stopwords`)"
        raise ArgumentError("stop_words", must, "is") from None


def _wordnet_lemma() -> Callable[[str], str]:
    try:
        from nltk.stem import WordNetLemmatizer  # pyright: ignore[reportMissingImports]

        lemma = WordNetLemmatizer().lemmatize
        lemma("words")
    except (ImportError, LookupError):
        must = "not be `wordnet` where NLTK or its corpus is missing (`python -m nltk.downloader wordnet`)"
        raise ArgumentError("lemmas", must, "is") from None
    return lemma


STOP_WORDS = {"scikit-learn": _scikit_learn_stop_words, "nltk": _nltk_stop_words, "none": frozenset}
LEMMAS = {"none": lambda: str, "wordnet": _wordnet_lemma}


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary: words by index, and indices by word; index 0 is padding, unknown words are empty."""

    words: tuple[str, ...]
    numbers: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self):
        """Index the words; raise `ValueError` if the first one is not the padding."""
        if not self.words or self.words[0] != PADDING:
            raise ArgumentError("words", f"begin with `{PADDING}`", f"begins with {self.words[:1]}")
        numbers = {word: number for number, word in enumerate(self.words) if number and word}
        object.__setattr__(self, "numbers", numbers)

    def __len__(self) -> int:
        """The number of words, including the padding and unknown words."""
        return len(self.words)

    def encode(self, words: Iterable[str], length: int) -> Int[np.ndarray, " length"]:
        """Indices of the first `length` words in the vocabulary, padded with zeros at the end."""
        if length < 1:
            raise ArgumentError("length", "be at least 1", f"is {length}")
        found = [self.numbers[word] for word in words if word in self.numbers][:length]
        return np.array(found + [0] * (length - len(found)), np.int32)


def vocabulary(texts: Iterable[Sequence[str]]) -> Vocabulary:
    """Vocabulary of cleaned texts by descending frequency; equally frequent words in order of appearance."""
    counts = Counter(word for words in texts for word in words)
    return Vocabulary((PADDING, *(word for word, _ in counts.most_common())))
