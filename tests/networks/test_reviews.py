"""Reviews from files, their words, and their numbers; every malformed file is one sentence with its line."""

import builtins
import gzip
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynsim.networks.sentiment.reviews import Selection, cleaned, encoded, read_reviews, summary
from dynsim.networks.sentiment.words import PADDING, Cleaning, Vocabulary, vocabulary
from tests import data_or_skip

PLAIN = Cleaning("none", shortest=1)
ALL = Selection("all")
GOOD = 'text,label\n"A fine film,\nwith style",1\nDull,0\n'


def written(folder, content, name="reviews.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(folder, content, part=ALL, name="reviews.csv"):
    return read_reviews(written(folder, content, name), part)


def test_a_review_may_span_lines_and_keeps_its_text(tmp_path):
    found = read(tmp_path, GOOD)
    assert found.texts == ("A fine film,\nwith style", "Dull")
    np.testing.assert_array_equal(found.labels, [1, 0])
    assert found.lines == (3, 4)


def test_the_columns_and_labels_of_the_full_file_are_read_too_and_so_is_gzip(tmp_path):
    content = "review,sentiment\nGood,positive\nBad,negative\n"
    plain = read(tmp_path, content)
    packed = read(tmp_path, gzip.compress(content.encode()), name="reviews.csv.gz")
    assert plain.texts == packed.texts == ("Good", "Bad")
    assert plain.labels.tolist() == packed.labels.tolist() == [1, 0]


def test_a_part_is_a_range_of_rows_or_the_rows_with_a_value(tmp_path):
    content = "text,label,fold\na,1,0\nb,0,1\nc,1,2\nd,0,1\n"
    assert read(tmp_path, content, Selection("", first=1, last=3)).texts == ("b", "c")
    assert read(tmp_path, content, Selection("", column="fold", values=("1", "2"))).texts == ("b", "c", "d")
    assert read(tmp_path, content, Selection("", last=2, column="fold", values=("1",))).texts == ("b",)
    with pytest.raises(ValueError, match="has none of them"):
        read(tmp_path, content, Selection("", column="fold", values=("9",)))
    with pytest.raises(ValueError, match="`column` must be one of `text`, `label`, `fold`, but is `split`"):
        read(tmp_path, content, Selection("", column="split", values=("9",)))


@pytest.mark.parametrize(("content", "said"), [
    ("text,label\nfine,1\nbad\n", "line 3 of `reviews.csv` has no field `label`"),
    ("text,label\nfine,1,2,3\n", "line 2 of `reviews.csv` has 2 fields too many"),
    ("text,label\nfine,1\nbad,maybe\n", "line 3 of `reviews.csv` has the label 'maybe', not one of 1, 0, pos"),
    ("text,label\n  ,1\n", "line 2 of `reviews.csv` has an empty review"),
    ('text,label\nfine,1\n"no end,0\n', r"`reviews.csv` cannot be read from line 3 onwards \(unexpected end"),
    ('text,label\n"a"b,1\n', "`reviews.csv` cannot be read from line 2 on"),
    (b"text,label\nfine,1\n\xff\xfe,1\n", "`reviews.csv` cannot be read from line . on"),
    ("words,label\nfine,1\n", "`text` and `label`, or `review` and `sentiment`, but `reviews.csv` begins with `wor"),
    ("", "begins with nothing"),
    ("text,label\n", "has none of them"),
])  # fmt: skip
def test_a_malformed_file_is_refused_with_its_line(tmp_path, content, said):
    with pytest.raises(ValueError, match=said):
        read(tmp_path, content)


def test_a_missing_file_and_half_an_archive_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`path` must be a file of reviews, but there is none at"):
        read_reviews(tmp_path / "none.csv", ALL)
    half = gzip.compress(GOOD.encode() + b"fine,1\n" * 1000)[:-20]
    with pytest.raises(ValueError, match="`half.csv.gz` cannot be read from line"):
        read(tmp_path, half, name="half.csv.gz")
    with pytest.raises(ValueError, match="`no.csv.gz` cannot be read from line 1 on"):
        read(tmp_path, GOOD, name="no.csv.gz")


def test_a_review_of_stop_words_only_is_refused_with_its_line(tmp_path):
    found = read(tmp_path, "text,label\nfine,1\nit is the,0\n")
    with pytest.raises(ValueError, match="at least one word after cleaning, but the one on line 3 has none"):
        cleaned(found, Cleaning())


def test_markup_digits_punctuation_and_stop_words_go_and_the_case_stays():
    text = "The 1980's film<br /><br />was well-made: I didn't like IT, at all."
    assert PLAIN(text) == ["The", "s", "film", "was", "well", "made", "I", "didn", "t", "like", "IT", "at", "all"]
    assert Cleaning()(text) == ["The", "film", "didn", "like", "IT"]
    assert Cleaning(keep_case=False)(text) == ["film", "didn", "like"]
    assert Cleaning("none", keep_case=False, shortest=5)(text) == []
    assert Cleaning("none", shortest=4)("naïve café") == []


@settings(deadline=None)  # the first one imports scikit-learn
@given(st.text(st.characters(max_codepoint=0x2FF), max_size=40))
def test_what_is_left_is_words_of_letters_and_cleaning_again_changes_nothing(text):
    words = Cleaning()(text)
    assert all(word.isascii() and word.isalpha() and len(word) > 1 for word in words)
    assert Cleaning()(" ".join(words)) == words


def test_the_vocabulary_is_by_frequency_with_ties_by_first_appearance():
    found = vocabulary([["b", "a", "c"], ["c", "a", "d"]])
    assert found.words == (PADDING, "a", "c", "b", "d")
    assert len(found) == 5
    np.testing.assert_array_equal(found.encode(["d", "unknown", "a"], 4), [4, 1, 0, 0])
    np.testing.assert_array_equal(found.encode(["a", "unknown", "b", "c"], 2), [1, 3])
    np.testing.assert_array_equal(found.encode([PADDING, "a"], 2), [1, 0])  # the padding is no word


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1), min_size=1), st.integers(1, 8))
def test_encoding_cuts_pads_and_decodes(texts, length):
    known = vocabulary(texts)
    found = encoded(texts, np.zeros(len(texts), np.int32), known, length)
    for row, words in zip(found.ids, texts, strict=True):
        assert [known.words[i] for i in row] == (words + [PADDING] * length)[:length]
    counts = [sum(words.count(word) for words in texts) for word in known.words[1:]]
    assert counts == sorted(counts, reverse=True)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="`stop_words` must be one of `scikit-learn`, `nltk`, `none`, but is `mine`"):
        Cleaning("mine")
    with pytest.raises(ValueError, match="`lemmas` must be one of `none`, `wordnet`, but is `porter`"):
        Cleaning(lemmas="porter")
    with pytest.raises(ValueError, match="`length` must be at least 1, but is 0"):
        vocabulary([["a"]]).encode(["a"], 0)
    with pytest.raises(ValueError, match="`words` must begin with `<PAD>`"):
        Vocabulary(("a",))


def without(monkeypatch, *names):
    real = builtins.__import__

    def refused(name, *arguments, **options):
        if name.split(".")[0] in names:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refused)


def test_missing_packages_are_one_sentence(monkeypatch):
    without(monkeypatch, "sklearn", "nltk")
    with pytest.raises(ValueError, match=r"where scikit-learn is missing \(`pip install dynsim\[text\]`\)"):
        Cleaning()("a film")
    with pytest.raises(ValueError, match="`stop_words` must not be `nltk` where NLTK or its corpus"):
        Cleaning("nltk")("a film")
    with pytest.raises(ValueError, match="`lemmas` must not be `wordnet` where NLTK or its corpus"):
        Cleaning("none", "wordnet")("a film")


def test_nltk_is_used_where_it_is_installed(monkeypatch):
    package, corpus, stem = (types.ModuleType(name) for name in ("nltk", "nltk.corpus", "nltk.stem"))
    corpus.stopwords = types.SimpleNamespace(words=lambda language: ["the", "t", "didn"])
    stem.WordNetLemmatizer = lambda: types.SimpleNamespace(lemmatize=lambda word: word.removesuffix("s"))
    for name, module in (("nltk", package), ("nltk.corpus", corpus), ("nltk.stem", stem)):
        monkeypatch.setitem(sys.modules, name, module)
    assert Cleaning("nltk", "wordnet", shortest=1)("The films didn't the") == ["The", "film"]

    def missing(language):
        raise LookupError

    corpus.stopwords.words = missing
    with pytest.raises(ValueError, match="its corpus `stopwords` is missing"):
        Cleaning("nltk")("The films")


def test_the_summary_states_what_stop_words_are_worth(tmp_path):
    found = read(tmp_path, "text,label\nthe film and the plot,1\nthe film,0\n")
    said = summary(found, Cleaning(), length=2)
    assert said == (
        "2 reviews: 2 distinct of 3 words cleaned, 0 reviews above 2 words; "
        "4 distinct of 7 words with stop words, 1 reviews above 2 words"
    )


def test_our_words_are_those_of_the_authors_but_for_stop_words_and_lemmas():
    stored = np.load(data_or_skip("hardmax_imdb_d2.npz"), allow_pickle=False)
    known = dict(zip(stored["word_id"].tolist(), stored["word"].tolist(), strict=True))
    reviews = read_reviews(data_or_skip("imdb_train.csv.gz"), Selection("", last=200))
    theirs = [[known[i].decode() for i in ids.tolist() if i] for ids in stored["ids_train"][:200]]
    ours = cleaned(reviews, PLAIN)
    found = [word in words for words, listed in zip(map(set, ours), theirs, strict=True) for word in listed]
    assert np.mean(found) > 0.9  # the rest are lemmas
