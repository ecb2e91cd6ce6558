"""Word vectors from which a classifier may start: two formats, an isometry, and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.growing.word_vectors import given_words, read_vectors
from dynsim.io.npz import write_arrays

VOCABULARY = ("<pad>", "film", "a", "dull", "one")
VECTORS = np.array([[1.0, 3.0], [0.0, -1.0], [3.0, 1.0]])
KEY = jax.random.key(0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_arrays(tmp_path / "some.npz", {"word": np.array([b"dull", b"film", b"xyz"]), "vec": VECTORS})
    (tmp_path / "some.txt").write_text("dull 1 3\nfilm 0 -1\nxyz 3 1 7\n")
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["some.npz", "some.txt"])
def test_known_words_have_their_vectors_in_the_order_of_the_vocabulary(folder, name):
    has, vectors = read_vectors(name, VOCABULARY)
    assert has.tolist() == [False, True, False, True, False]
    assert vectors.tolist() == [[0.0, -1.0], [1.0, 3.0]]


def test_given_words_keep_their_angles_and_the_others_stay(folder):
    drawn = 0.1 * jax.random.normal(KEY, (5, 6))
    found = np.asarray(given_words(drawn, "some.npz", VOCABULARY, 0.1, KEY))
    assert np.array_equal(found[[0, 2, 4]], np.asarray(drawn)[[0, 2, 4]])
    known = found[[1, 3]]
    np.testing.assert_allclose(np.mean(np.sum(known**2, axis=1)), 6 * 0.1**2)
    away = VECTORS[[1, 0]] - np.mean(VECTORS[:2], axis=0)
    np.testing.assert_allclose(known @ known.T / (known[0] @ known[0]), away @ away.T / (away[0] @ away[0]))
    whole = np.asarray(given_words(drawn[:, :2], "some.npz", VOCABULARY, 0.1, KEY))[[1, 3]]  # as many numbers as it has
    np.testing.assert_allclose(whole @ whole.T / (whole[0] @ whole[0]), away @ away.T / (away[0] @ away[0]))
    with pytest.raises(ValueError, match="`vectors` must have at most 1 numbers, the dimension of tokens, but have 2"):
        given_words(jnp.zeros((5, 1)), "some.npz", VOCABULARY, 0.1, KEY)


@pytest.mark.parametrize(("text", "must"), [
    ("film 1 x\n", "must have a word and its numbers on each line"),
    ("film 1 2\ndull 1\n", "must hold vectors of equal length"),
    ("nothing 1 2\n", "must have vectors for words of the sentences"),
    ("film 1 nan\n", "must hold finite vectors"),
])  # fmt: skip
def test_bad_files_are_refused(folder, text, must):
    (folder / "bad.txt").write_text(text)
    with pytest.raises(ValueError, match=f"Argument `vectors` {must}"):
        read_vectors("bad.txt", VOCABULARY)
    write_arrays(folder / "bad.npz", {"word": np.array([b"a"])})
    with pytest.raises(ValueError, match="must hold arrays `word` and `vec` of equal length"):
        read_vectors("bad.npz", VOCABULARY)
