"""The experiments on networks with prototypes, with small data made here: what they record, and how they resume."""

import gzip
import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest

from analysis.experiments.prototypes import hierarchy, quantisation
from analysis.experiments.prototypes.documents import DocumentCorpus
from dynsim.keys import random_key

pytestmark = pytest.mark.slow  # three trainings are compiled
KEY = random_key(0, "small experiments")
WORDS = ("sun", "sea", "sand", "snow", "ice", "wind")


@pytest.fixture
def data(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()
    images = {name: rng.integers(0, 256, (12, 8, 8, 3)).astype(np.uint8) for name in ("x_train", "x_test")}
    np.savez(folder / "images.npz", x_train=images["x_train"], x_test=images["x_test"])
    np.savez(folder / "glove_twitter_25d_12k.npz", word=np.array(WORDS, "S"), vec=rng.normal(size=(6, 4)))
    for name in ("a.csv.gz", "b.csv.gz"):
        with gzip.open(folder / name, "wt", encoding="utf-8") as file:
            file.write("text,label\n")
            for row in range(24):
                words = rng.choice(WORDS[3 * (row % 2) : 3 * (row % 2) + 3], 3)
                file.write(f"{' '.join(words)},{row % 2}\n")
    monkeypatch.setenv("DYNSIM_DATA", str(folder))
    return folder


def test_a_resumed_quantisation_has_the_same_bits_and_both_kinds_start_alike(data, tmp_path):
    config = replace(
        quantisation.PAPER,
        codebooks=(quantisation.Codebook("soft", "soft", 3), quantisation.Codebook("hard", "hard", 3, barrier=0.0)),
        seeds=1,
        epochs=2,
        batch=4,
        hidden=2,
        outputs=4,
        file="images.npz",
    )
    whole = quantisation.run_quantisation(config, KEY, tmp_path / "whole")
    assert whole["soft: utilisation"].shape == (1, 3)
    assert whole["soft: codebook"].shape == (1, 3, 4)
    for same in ("covariance", "spread", "separation", "utilisation by nearest"):
        assert whole[f"soft: {same}"][0, 0] == whole[f"hard: {same}"][0, 0]
    assert whole["hard: entropy"][0, -1] == 0 < whole["soft: entropy"][0, -1]
    place = tmp_path / "whole" / "soft" / "0"
    shutil.rmtree(tmp_path / "whole" / "hard")
    (place / "measures" / "part-00002.npz").unlink()
    again = quantisation.run_quantisation(replace(config, codebooks=config.codebooks[:1]), KEY, tmp_path / "whole")
    assert all(np.array_equal(again[name], whole[name]) for name in again)
    assert "soft: utilisation" in quantisation.summarise_quantisation(again)


def test_two_levels_are_measured_at_every_epoch_beside_k_means(data, tmp_path):
    config = replace(
        hierarchy.PAPER,
        stacks=(hierarchy.Stack("attached", False),),
        seeds=1,
        epochs=2,
        batch=6,
        counts=(3, 2),
        outputs=(5, 4),
        corpus=DocumentCorpus("a.csv.gz", "b.csv.gz", length=3),
    )
    found = hierarchy.run_hierarchy(config, jax.random.key(0), tmp_path / "run")
    assert np.array_equal(found["k-means"], np.ones((1, 3)))  # the words of both classes differ
    assert found["attached: scores"].shape == (1, 3, 3)
    assert found["attached: separation"].shape == (1, 3, 2)
    assert np.all(found["attached: variance"] >= 0)
    assert found["attached: mapped"].shape == (24, 4)
    assert np.array_equal(np.unique(found["attached: mapped labels"]), [0, 1])
    assert set(found["attached: mapped assignments"]) <= {0, 1}
    assert len(hierarchy.summarise_hierarchy(found).splitlines()) == 6
