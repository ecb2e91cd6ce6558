"""The experiments on sentences: what they read, what they record, and that they resume to the same bits."""

import csv
import gzip
from dataclasses import replace

import numpy as np
import pytest

from analysis.claims.growing.section_07 import sentences as claims
from analysis.experiments import Record
from analysis.experiments.growing.pruning import PRUNING, PruningConfig, decomposition_errors, separation_changes
from analysis.experiments.growing.sentences import SentenceCorpus, read_sentences
from analysis.experiments.growing.training import (
    PAPER,
    TRAINING,
    TrainingConfig,
    TrainingVariant,
    check_points,
    run_training,
)
from analysis.experiments.growing.training_records import events, summarise_training
from dynsim.errors import UnavailableError
from dynsim.keys import random_key
from dynsim.networks.growing.training import logits
from dynsim.networks.sentiment.reviews import Selection

pytestmark = pytest.mark.retraced

CORPUS = SentenceCorpus(Selection("train.csv.gz"), Selection("test.csv.gz"), limits=(16, 4), length=4)
SMALL = TrainingConfig(
    (TrainingVariant("small", capacity=3, corpus=CORPUS),),
    (),
    (1,),
    epochs=2,
    batch=8,
    d=6,
    threshold=0.01,
    pruning=0.0,
    sampled=8,
)


@pytest.fixture
def texts(tmp_path, monkeypatch):
    rows = [("a fine fine film", 1), ("no film", 0), ("!", 1), ("a dull one , a dull dull film", 0)]
    for name, times in (("train", 5), ("test", 1)):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt", newline="") as stream_:
            writer = csv.writer(stream_)
            writer.writerow(("text", "label"))
            writer.writerows(rows * times)
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    return tmp_path


def test_sentences_are_the_first_ones_with_the_words_of_the_training_set(texts):
    found = read_sentences(CORPUS)
    assert found.train.ids.shape == (16, 4)
    assert found.test.ids.shape == (4, 4)
    assert found.words == 7  # padding, a, fine, film, dull, no, one
    assert found.test.labels.tolist() == [1, 0, 1, 0]
    assert np.all(found.test.ids[2] == 0)
    assert np.count_nonzero(found.test.ids, axis=1).tolist() == [4, 2, 0, 4]
    assert read_sentences(replace(CORPUS, least=9)).words == 4  # a, film and dull in 16 sentences


def test_the_paper_size_has_the_numbers_of_table_3():
    c = PAPER
    assert (c.d, c.attention_heads, c.dropout, c.weight_decay, c.prototypes) == (64, 2, 0.4, 1e-3, 4)
    assert (c.temperatures, c.temperature_rate, c.barrier, c.threshold, c.pruning) == (
        (1.0, 0.1),
        0.01,
        0.05,
        0.8,
        0.05,
    )
    assert (c.learning_rate, c.epochs, c.batch, c.seeds) == (3e-4, 10, 32, (42, 123, 7))
    assert (c.variants[0].corpus.limits, c.variants[0].ordered) == ((8000, 1000), True)
    assert check_points(20, 8) == [0, 8, 16, 20]


def test_events_are_the_heads_added_after_the_start():
    births = np.array([[[0, 0, 0], [0, 5, 0], [0, 5, 0], [0, 5, 15]]], float)
    values = np.array([[[0, 0, 0], [0, 2, 0], [0, 2, 0], [0, 2, 1.5]]], float)
    found = events({"one: births": births, "one: values": values}, "one", 0)
    assert (found.steps.tolist(), found.values.tolist()) == ([5, 15], [2, 1.5])


def training_record(levels, end, reading):
    """Return a record of one variant, `one` or `one, data`, of which every seed grows at these dominant values."""
    seeds, checks, places, name = 3, 11, 8, "one" if reading == 0 else "one, data"
    born = np.arange(1, len(levels) + 1)
    births, values, active = (np.zeros((seeds, checks, places)) for _ in range(3))
    active[:, :, 0] = 1
    for k, level in zip(born, levels, strict=True):
        births[:, k:, k], values[:, k:, k], active[:, k:, k] = 250.0 * k, level, 1
    residuals = np.full((seeds, checks, 2), 9.0)
    residuals[:, -1, reading] = end
    measures = {
        "accuracy": np.full((seeds, checks), 0.7),
        "residuals": residuals,
        "active": active > 0,
        "separation": np.where(active > 0, 0.05, 0.0),
        "births": births,
        "values": values,
        "losses": np.zeros((seeds, 10)),
        "sentences": np.array([8000, 872]),
        "share": np.array(0.51),
    }
    arrays = {f"{name}: {what}": value for what, value in measures.items()}
    return name, Record("growing/training", "paper", 0, {}, arrays)


@pytest.mark.parametrize("reading", [0, 1])
@pytest.mark.parametrize(
    ("levels", "end", "met"),
    [
        ([4.0, 2.0, 1.0], 0.8, [True, True, True, True]),
        ([4.0, 2.0, 2.01], 0.7, [False, True, True, True]),
        ([4.0, 2.0, 1.0], 0.81, [True, False, True, True]),
        ([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 0.7, [True, True, False, True]),
    ],
    ids=["in order", "a rise", "above the threshold", "seven heads"],
)
def test_a_training_is_judged_by_its_levels_its_end_and_its_heads(monkeypatch, reading, levels, end, met):
    name, record = training_record(levels, end, reading)
    monkeypatch.setattr(claims, "best_record", lambda experiment: record)
    trial = claims._growth_trial(name)
    assert trial.applies
    assert [not m.fails_clearly for m in trial.conclusions] == met
    record.arrays[f"{name}: separation"][1, 4, 0] = 0.049
    assert [not m.fails_clearly for m in claims._growth_trial(name).conclusions] == [*met[:3], False]


def test_errors_of_the_decomposition_and_changes_of_survivors_are_seen():
    arrays = {
        "one: forces": np.array([[[3.0, 1.0, 0.0], [3.0, 0.0, 0.0]]]),
        "one: own": np.array([1.0]),
        "one: joint": np.array([[8.0, 3.0]]),
        "one: active": np.array([[[True, True, False], [True, False, False]]]),
        "one: separations": np.array([[[1.0, 2.0, 9.0], [1.5, 7.0, 8.0]]]),
    }
    assert decomposition_errors(arrays, "one").tolist() == [0]
    assert decomposition_errors({**arrays, "one: own": np.array([2.0])}, "one").tolist() == [0.25]
    assert decomposition_errors(arrays, "one", joint=True).tolist() == [0.5]
    assert separation_changes(arrays, "one").tolist() == [0.5]


def test_without_data_there_is_no_record(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    for experiment in (TRAINING, PRUNING):
        with pytest.raises(UnavailableError, match="`data` must name a folder that holds `sst2_train.csv.gz`"):
            experiment.run(experiment.quick, random_key(0, "none"), tmp_path / "parts")


@pytest.mark.slow
def test_an_interrupted_training_has_the_same_bits(texts, monkeypatch):
    key = random_key(0, "small")
    whole = run_training(SMALL, key, texts / "whole")
    assert whole["small: accuracy"].shape == (1, 3)
    assert whole["small: active"][0].sum(axis=1).tolist() == [1, 2, 3]
    assert whole["small: losses"].shape == (1, 2)
    assert float(whole["small: share"]) == 0.5
    assert "dominant values at growth" in summarise_training(whole)
    calls = []

    def stopped(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return logits(*arguments)

    monkeypatch.setattr("analysis.experiments.growing.training.logits", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_training(SMALL, key, texts / "parts")
    monkeypatch.undo()
    monkeypatch.setenv("DYNSIM_DATA", str(texts))
    again = run_training(SMALL, key, texts / "parts")
    assert all(np.array_equal(again[name], values) for name, values in whole.items())


@pytest.mark.slow
def test_heads_grow_on_a_frozen_encoder_and_are_removed(texts):
    config = PruningConfig(("random",), SMALL, 1, epochs=2, checks=1, capacity=3, events=2)
    found = PRUNING.run(config, random_key(0, "small"), texts / "parts")
    assert found["random: active"].sum(axis=2).tolist() == [[3, 2], [2, 1]]
    assert np.max(separation_changes(found, "random")) == 0
    assert np.max(decomposition_errors(found, "random")) < 1e-12
    assert "head" in PRUNING.summary(found)
