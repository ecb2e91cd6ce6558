"""What experiments record and say, with stand-ins for their trainings: shapes, seeds, orders, sentences, resuming."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from analysis.experiments.consensus import simulations
from analysis.experiments.growing import pruning, training_records
from analysis.experiments.multirate import training_study
from analysis.experiments.prototypes import debris, learning_rates, quantisation, text
from analysis.experiments.prototypes.documents import DocumentCorpus, Documents
from analysis.experiments.prototypes.epochs import Epochs
from analysis.experiments.prototypes.histories import History
from analysis.experiments.tokens import noise
from dynsim.keys import random_key
from dynsim.systems.prototypes.flow import Coupled

KEY = random_key(0, "records")
EVEN = np.array([[10, 0], [0, 10]])
SPLIT = np.array([[8, 2], [0, 10]])


def same(key, other) -> bool:
    return bool(np.array_equal(jax.random.key_data(key), jax.random.key_data(other)))


def given(history, **changed):
    """A path of five times, of which three are kept: S falls from 4 to 3, and V/N, the spread and accuracy change."""
    parts = {"separation": np.array([4.0, 2.0, 5.0, 3.0, 3.0]), "variance": np.array([0.5, 0.4, 0.25]),
             "entropy": np.zeros(3), "spread": np.array([2.0, 2.0, 6.0]), "loss": np.ones(3),
             "tables": np.stack([SPLIT, EVEN, SPLIT])}  # fmt: skip
    return history(**parts | changed)


STUDY = learning_rates.LearningRatesConfig(
    (
        learning_rates.RateStudy("full", ratios=(0.5, 1.0), seeds=2),
        learning_rates.RateStudy("batches", learning_rates.TrainingOptions(batch=10), (0.1, 1.0), 1, 0.5),
    ),
    epochs=4,
    every=2,
)


@pytest.fixture
def followed(monkeypatch):
    """Stand-ins for the data, the start and the paths; the numbers of steps that are asked for, by ratio."""
    seen: dict[str, list] = {"steps": [], "starts": [], "history": []}

    def descent(x, training, ratio, epochs, key):
        batches = None if training.batch is None else np.zeros((epochs, 4, 10))
        return SimpleNamespace(batches=batches, ratio=ratio)

    def follow(of, start, count, *, every):
        seen["steps"].append((of.ratio, count, every))
        return of, start

    def history(path, labels, classes, *, every=1):
        seen["history"].append((classes, every))
        shift = 10 * path[0].ratio + path[1].prototypes[0, 0]
        return given(History, separation=np.array([4.0, 2.0, 5.0, 3.0, 3.0]) + shift)

    def start(x, options, key):
        seen["starts"].append(key)
        return Coupled(np.zeros((1, 3)), np.full((2, 1), float(len(seen["starts"]))))

    digits = learning_rates.Digits(np.zeros((20, 3)), np.arange(20) % 10)
    patched = {"read_digits": lambda config: digits, "descent_map": descent, "iterate": follow, "history": history,
               "first_state": start, "_inputs": lambda digits, options: digits.pixels}  # fmt: skip
    for name, value in patched.items():
        monkeypatch.setattr(learning_rates, name, value)
    return seen


def test_trainings_are_recorded_by_ratio_and_seed_and_resumed(followed, tmp_path):
    arrays = learning_rates.run_learning_rates(STUDY, KEY, tmp_path)
    assert followed["steps"] == [(0.5, 4, 1)] * 2 + [(1.0, 4, 1)] * 2 + [(0.1, 20, 20), (1.0, 2, 2)]
    assert followed["history"] == [(10, 2)] * 4 + [(10, 1)] * 2
    assert len(followed["starts"]) == 3  # a start for each seed, and of each number of seeds
    assert not same(followed["starts"][0], followed["starts"][1])
    assert same(followed["starts"][0], followed["starts"][2])
    assert arrays["variants"].tolist() == ["full", "batches"]
    np.testing.assert_allclose(arrays["full: S"][:, :, 0], [[10.0, 11.0], [15.0, 16.0]])
    assert arrays["batches: eps"].tolist() == [0.1, 1.0]
    assert arrays["full: tables"].shape == (2, 2, 2, 2)
    np.testing.assert_array_equal(arrays["full: tables"][0, 1], SPLIT)
    np.testing.assert_allclose(arrays["full: scores"][..., 0], np.tile([0.9, 1.0, 0.9], (2, 2, 1)))
    mean, low, high = arrays["full: chance"][1, 0]
    assert 0.5 <= low < mean < high < 0.9
    count = len(followed["steps"])
    again = learning_rates.run_learning_rates(STUDY, KEY, tmp_path)
    assert len(followed["steps"]) == count  # all are read
    assert all(np.array_equal(again[name], arrays[name]) for name in arrays)
    learning_rates.run_learning_rates(replace(STUDY, every=1), KEY, tmp_path / "other")
    assert followed["history"][count:] == [(10, 1)] * 6


def test_ratios_of_separations_end_where_shorter_runs_do():
    S = np.array([[[4.0, 2.0, 5.0, 3.0]]])
    found = [learning_rates.separation_ratios({"a: S": S}, "a", epoch=k)[0, 0] for k in (0, 1, 2, 3, 50)]
    assert found == [1.0, 0.5, 1.25, 0.75, 0.75]
    assert learning_rates.separation_ratios({"a: S": S}, "a")[0, 0] == 0.75


def test_learning_rates_are_summarised_by_means_over_seeds():
    one = {"S": [[[4.0, 2.0, 5.0, 3.0], [8.0, 2.0, 1.0, 4.0]]], "V/N": [[[0.5, 0.25], [0.7, 0.35]]],
           "spread": [[[2.0, 6.0], [2.0, 2.0]]], "eps": [0.1], "chance": [[[0.5, 0.4, 0.6], [0.7, 0.6, 0.8]]],
           "scores": [[[[0.5, 0, 0], [0.9, 0, 0], [0.7, 0, 0]], [[0.7, 0, 0], [0.7, 0, 0], [0.9, 0, 0]]]]}  # fmt: skip
    arrays: dict[str, Any] = {"variants": np.array(["a", "b"])}
    arrays |= {f"a: {name}": np.array(value) for name, value in one.items()}
    arrays |= {f"b: {name}": np.array(value) for name, value in one.items()} | {"b: S": np.array(one["S"])[:, :, ::3]}
    end = ("S x 0.625 at the end; S / spread x 0.375; V/N 0.3; ACC 0.600, best 0.900, final 0.800 +- 0.100, "
           "by chance 0.600 (0.500-0.700)")  # fmt: skip
    assert learning_rates.summarise_learning_rates(arrays).splitlines() == [
        "a: S at the start 6.000, V/N 0.600",
        f"  eps 0.1: S x 0.625 after 50 epochs; falls in 67% of epochs; {end}",
        "b: S at the start 6.000, V/N 0.600",
        f"  eps 0.1: {end}",
    ]


def model(k, bank=3):
    return SimpleNamespace(quantiser=SimpleNamespace(codebook=np.full((bank, 4), float(k))),
                           readout=SimpleNamespace(bank=np.full((2, 4), float(k))))  # fmt: skip


def test_quantisers_are_recorded_by_seed_from_the_same_keys(monkeypatch, tmp_path):
    images = np.arange(2 * 12.0).reshape(2, 3, 2, 2, 1)
    asked, read = [], {"x_train": images[0], "x_test": images[1]}
    monkeypatch.setattr(quantisation, "data_file", lambda name: name)
    monkeypatch.setattr(quantisation, "read_arrays", lambda name: read)
    monkeypatch.setattr(quantisation, "images_between_zero_and_one", lambda found: found)

    def run(config, found, train, held_out, key, place, advance):
        asked.append((found.name, len(train), len(held_out), key, place))
        k = len(asked)
        return Epochs({"utilisation": np.array([0.5, 1.0, k])}, np.full(2, float(k)), model(k))

    monkeypatch.setattr(quantisation, "_run", run)
    books = (quantisation.Codebook("soft", "soft", 3), quantisation.Codebook("hard", "hard", 3))
    config = quantisation.QuantisationConfig(books, seeds=2, epochs=2, images=2, evaluated=1)
    arrays = quantisation.run_quantisation(config, KEY, tmp_path)
    assert [one[:3] for one in asked] == [("soft", 2, 1), ("hard", 2, 1)] * 2
    assert [str(one[4].relative_to(tmp_path)) for one in asked] == ["soft/0", "hard/0", "soft/1", "hard/1"]
    assert same(asked[0][3], asked[1][3])
    assert not same(asked[0][3], asked[2][3])
    assert arrays["epochs"].tolist() == [0, 1, 2]
    assert arrays["error of the mean image"] == pytest.approx(
        np.mean((images[1, :1] - images[0, :2].mean(axis=0)) ** 2)
    )
    assert arrays["soft: utilisation"][:, -1].tolist() == [1, 3]
    assert arrays["hard: training loss"].tolist() == [[2.0, 2.0], [4.0, 4.0]]
    assert arrays["hard: codebook"][:, 0, 0].tolist() == [2.0, 4.0]


def test_quantisers_are_summarised():
    arrays = {
        "a: codebook": np.zeros((2, 4, 3)),
        "a: utilisation": np.array([[0.2, 0.5, 1.0], [0.2, 0.25, 0.75]]),
        "a: utilisation by nearest": np.array([[0.2, 0.5, 0.75], [0.2, 0.25, 0.25]]),
        "a: entropy": np.log(4) * np.array([[0.1, 0.5, 0.25], [0.3, 0.7, 0.75]]),
        "a: separation": np.array([[1.0, 9.0, 3.0], [2.0, 9.0, 5.0]]),
        "a: held-out error": np.array([[0.5, 0.1, 0.2], [0.5, 0.4, 0.3]]),
        "error of the mean image": np.array(0.25),
    }
    assert quantisation.summarise_quantisation(arrays).splitlines() == [
        "a: utilisation 0.375 after epoch 1; epochs to 1 by seed: 2, inf",
        "  by nearest prototypes 0.375 after epoch 1, 0.5 at the end",
        "  H / ln K: 0.600 after epoch 1, 0.500 at the end",
        "  S: 1.5 at the start, 4 at the end",
        "  held-out error: 0.25 at the end, 0.2 in the best epoch",
        "held-out error of the mean image: 0.2500",
    ]
    assert quantisation.epochs_to_full(np.array([[1, 0.5, 1, 1], [1, 0.5, 0.5, 0.9]])).tolist() == [2.0, np.inf]


CORPUS = DocumentCorpus("a", "b")
DOCUMENTS = Documents(np.ones((3, 2, 4)), np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]]), np.array([0, 1, 1]))


def test_documents_are_read_by_their_means_or_words_and_scored_by_epoch(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(text, "read_corpus", lambda corpus: (DOCUMENTS, DOCUMENTS))
    monkeypatch.setattr(text, "_baselines", lambda task, train, test, keys: {f"{task.name}: base": len(keys)})

    def run(config, task, train, test, key, place, advance):
        asked.append((train.tokens.shape[1], test.tokens.shape[1], key, str(place.relative_to(tmp_path))))
        k = len(asked)
        measures = {"tables": np.stack([SPLIT, EVEN]), "classified": np.array([0.5, k]), "entropy": np.zeros(2)}
        return Epochs(measures, np.zeros(1), model(k))

    monkeypatch.setattr(text, "_run", run)
    tasks = (text.TextTask("means", CORPUS, 2, True), text.TextTask("words", CORPUS, 2, False, "tokens"))
    arrays = text.run_text(text.TextConfig(tasks, seeds=2, epochs=1), KEY, tmp_path)
    assert [one[:2] for one in asked] == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert [one[3] for one in asked] == ["means/0", "means/1", "words/0", "words/1"]
    assert same(asked[0][2], asked[2][2])
    assert not same(asked[0][2], asked[1][2])
    assert arrays["means: classified"][:, -1].tolist() == [1, 2]
    assert "words: classified" not in arrays
    assert "means: tables" not in arrays
    np.testing.assert_allclose(arrays["words: scores"][:, :, 0], [[0.9, 1.0]] * 2)
    assert arrays["words: codebook"][:, 0, 0].tolist() == [3.0, 4.0]
    assert arrays["means: base"] == 2
    mean, low, high = arrays["means: chance"]  # of the last epoch
    assert (0.5 <= low < mean < high < 0.9, mean < 0.65) == (True, True)


def test_word_vectors_are_drawn_without_padding():
    shares = np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]])
    numbered = Documents(np.arange(6.0).reshape(3, 2, 1), shares, np.zeros(3, int))
    assert sorted(np.asarray(text.some_tokens(numbered, KEY)).ravel().tolist()) == [0.0, 1.0, 2.0, 4.0]


def test_readings_of_documents_are_summarised():
    arrays = {
        "a: codebook": np.zeros((2, 4, 3)),
        "a: scores": np.array([[[0.9, 0.1, 0.2], [0.5, 0.3, 0.4]], [[0.3, 0.1, 0.2], [0.7, 0.3, 0.4]]]),
        "a: chance": np.array([0.55, 0.5, 0.6]),
        "a: k-means": np.array([[0.6, 0.2, 0.1], [0.8, 0.2, 0.1]]),
        "a: classified": np.array([[0.8, 0.6], [0.5, 0.7]]),
        "a: logistic regression": np.array(0.75),
        "a: entropy": np.log(4) * np.array([[0.25, 0.5], [0.75, 1.0]]),
        "a: separation": np.array([[1.0, 3.0], [2.0, 5.0]]),
    }
    lines = text.summarise_text(arrays).splitlines()
    assert lines == [
        "a: ACC, NMI, ARI 0.600 +- 0.100, 0.300 +- 0.000, 0.400 +- 0.000 in the final epoch",
        "  0.800 +- 0.100, 0.300 +- 0.000, 0.400 +- 0.000 in the best epoch of each score, chosen on the test set",
        "  k-means 0.700 +- 0.100, 0.200 +- 0.000, 0.100 +- 0.000; ACC by chance 0.550 (0.500 to 0.600)",
        "  classified 0.650 +- 0.050, in the best epoch 0.750 +- 0.050",
        "  logistic regression on mean word vectors: 0.750",
        "  H / ln K from 0.500 to 0.750, S from 1.5 to 4",
    ]
    del arrays["a: classified"]
    assert text.summarise_text(arrays).splitlines() == [*lines[:3], *lines[4:]]


FOUR = 5 * np.eye(4, dtype=int)
MERGED = FOUR.copy()
MERGED[0, 1], MERGED[0, 0], MERGED[3, 0], MERGED[3, 3] = 2, 3, 1, 4


def outcome(S=2.0, last=MERGED):
    tables = np.stack([FOUR, MERGED, FOUR, last])
    one = given(History, separation=np.array([9.0, S]), variance=np.ones(4), tables=tables)
    return debris.DebrisOutcome(np.array(0.75), np.stack([MERGED, FOUR]), (one, one._replace(tables=tables[::-1])))


def test_errors_between_regimes_are_shares_of_all_errors():
    """Of LEO two objects are taken for MEO, and of HEO one for LEO."""
    assert debris.confusions(MERGED).tolist() == [[3, 2, 0, 0], [0, 5, 0, 0], [0, 0, 5, 0], [1, 0, 0, 4]]
    names = debris.REGIMES
    assert debris.error_share(MERGED, names[0], names[1]) == debris.error_share(MERGED, names[1], names[0])
    assert debris.error_share(MERGED, names[0], names[1]) == pytest.approx(2 / 3)
    assert debris.error_share(MERGED, names[3], names[0]) == pytest.approx(1 / 3)
    assert np.isnan(debris.error_share(FOUR, names[0], names[1]))


def test_debris_is_recorded_for_each_case_and_summarised(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(debris, "draw_objects", lambda key, catalogue: drawn.append(catalogue.objects))
    monkeypatch.setattr(debris, "debris_outcome", lambda key, objects, options: outcome(S=float(options.clusters)))
    case = debris.DebrisConfig(seeds=2)
    other = replace(case, descent=replace(case.descent, clusters=6))
    arrays = debris.run_debris(replace(case, changes=(("six", other),)), KEY, tmp_path)
    assert len(drawn) == 4
    assert arrays["cases"].tolist() == ["reference", "six"]
    assert arrays["six: full: S"][:, -1].tolist() == [6.0, 6.0]
    assert arrays["reference: explained variance"].tolist() == [0.75, 0.75]
    np.testing.assert_array_equal(arrays["reference: k-means, d = 7: tables"], [MERGED, MERGED])
    np.testing.assert_allclose(arrays["reference: k-means, PCA: scores"], np.ones((2, 3)))
    np.testing.assert_allclose(arrays["reference: full: scores"][..., 0], [[1, 0.85, 1, 0.85]] * 2)
    np.testing.assert_array_equal(arrays["reference: frozen: tables"], [FOUR, FOUR])
    assert arrays["reference: frozen: chance"].shape == (2, 3)
    lines = debris.summarise_debris(arrays).splitlines()
    assert lines[0] == "explained variance 0.7500"
    assert lines[1].startswith("k-means, d = 7: ACC 0.8500 +- 0.0000, NMI 0.")
    assert lines[3].startswith("full, best epoch ([2, 2]): ACC 1.0000 +- 0.0000, NMI 1.0000")
    assert lines[4].startswith("full, final epoch: ACC 0.8500")
    assert lines[5].startswith("frozen, best epoch ([1, 1]): ACC 1.0000")
    mean, low, high = arrays["reference: full: chance"].mean(axis=0)
    assert lines[4].endswith(f"ACC by chance {mean:.3f} ({low:.3f}-{high:.3f})")
    assert lines[8] == f"  {debris.REGIMES[0]} [6, 4, 0, 0]"
    assert lines[11] == f"  {debris.REGIMES[3]} [2, 0, 0, 8]"
    share = debris.error_share(MERGED, "LEO", "HEO")
    assert lines[-1] == f"six: 1.0000; full 1.0000, 0.8500, 6, {share:.2f}; frozen 1.0000, 1.0000, 6, none"


def test_removals_of_heads_are_recorded_and_checked(monkeypatch, tmp_path):
    forces = np.array([[2.0, 3.0, 5.0], [2.0, 0.0, 4.5]])
    event = pruning.Removal(
        np.array(1), np.array([0.5, 0.2, np.inf]), np.array([[True, True, True], [True, False, True]]),
        np.array([[1.0, 9.0, 2.0], [1.25, 0.0, 1.0]]), forces, np.array(3.0), np.array([20.0, 12.0]),
    )  # fmt: skip
    counted = []

    def remove(found, tokens):
        counted.append((found, tokens))
        return found + 1, event

    data: Any = SimpleNamespace(train=SimpleNamespace(ids=np.arange(300)))
    monkeypatch.setattr(pruning, "read_sentences", lambda corpus: data)
    monkeypatch.setattr(pruning, "_frozen", lambda config, name, data, key, folder: 0)
    monkeypatch.setattr(pruning, "sample", lambda found, ids: len(ids))
    monkeypatch.setattr(pruning, "removal", remove)
    config = replace(pruning.QUICK, encoders=("trained", "random"), events=2)
    arrays = pruning.run_pruning(config, KEY, tmp_path)
    assert counted == [(k, min(300, config.encoder.sampled)) for k in (0, 1, 0, 1)]
    assert arrays["random: forces"].shape == (2, 2, 3)
    np.testing.assert_allclose(pruning.decomposition_errors(arrays, "trained"), [0.05, 0.05])
    np.testing.assert_allclose(pruning.decomposition_errors(arrays, "trained", joint=True), [0.25, 0.25])
    np.testing.assert_allclose(pruning.separation_changes(arrays, "trained"), [1.0, 1.0])
    lines = pruning.summarise_pruning(arrays).splitlines()
    assert lines[0] == "trained encoder: directional energies of 2 heads from 0.200 to 0.500"
    assert lines[1] == ("  head 1 with F_sep 3 of 10: S of the others changes by 1, error of the decomposition 0.05 of "
                        "F_sep (0.25 in one bank)")  # fmt: skip
    assert (len(lines), lines[3][:14]) == (6, "random encoder")


def test_trainings_of_growing_heads_are_summarised():
    arrays = {
        "a: accuracy": np.array([[0.5, 0.75], [0.5, 0.85]]), "a: sentences": np.array([100, 40]),
        "a: share": np.array(0.55), "a: active": np.array([[[True, False, False], [True, False, True]]] * 2),
        "a: births": np.array([[[0, -1, -1], [0, -1, 30]], [[0, -1, -1], [0, -1, -1]]]),
        "a: values": np.array([[[9.0, 0, 0], [9.0, 0, 0.25]], [[9.0, 0, 0], [9.0, 0, 0]]]),
        "a: residuals": np.array([[[9.0, 9.0], [0.5, 0.125]], [[9.0, 9.0], [0.75, 0.25]]]),
        "a: separation": np.array([[[9.0, 9, 9], [1.0, 2.0, 3.0]]] * 2),
        "a: forces": np.array([[[9.0, 9, 9], [4.0, 5.0, 6.0]]] * 2),
    }  # fmt: skip
    found = training_records.events(arrays, "a", 0)
    assert (found.steps.tolist(), found.values.tolist()) == ([30], [0.25])
    assert training_records.summarise_training(arrays).splitlines() == [
        "a: accuracy 80.0 +- 5.0 % of 40 sentences (a constant answer: 55.0 %)",
        "  2 heads; dominant values at growth 0.250; at the end features 0.500, data 0.125",
        "  S 1, 3; F_sep 4, 6",
        "  2 heads; dominant values at growth none; at the end features 0.750, data 0.250",
        "  S 1, 3; F_sep 4, 6",
    ]


def test_passes_are_measured_for_every_variant_and_resumed(monkeypatch, tmp_path):
    calls = []

    def measures(network, x, keys, feedforward, deviation):
        calls.append((network, feedforward, deviation, len(keys)))
        return np.full((len(keys) + 1, 3), float(x))

    inputs: Any = SimpleNamespace()
    plan = {"trained": ("n", 1.0, True, None), "redrawn": ("n", 2.0, False, 0.02)}
    monkeypatch.setattr(simulations, "data_file", lambda name: name)
    monkeypatch.setattr(simulations, "load_transformer", lambda path: "network")
    monkeypatch.setitem(simulations.INPUTS, "padded prompts", lambda path: inputs)
    monkeypatch.setattr(simulations, "_plan", lambda config, trained, inputs, key: plan)
    monkeypatch.setattr(simulations, "pass_measures", measures)
    monkeypatch.setattr(simulations, "_decoded", lambda network, inputs, counts: ["first  one", *map(str, counts)])
    config = simulations.PassesConfig(passes=4, decoded=(1, 3))
    arrays = simulations.run_passes(config, KEY, tmp_path)
    assert calls == [("n", True, None, 4), ("n", False, 0.02, 4)]
    assert arrays["passes"].tolist() == [0, 1, 2, 3, 4]
    assert arrays["redrawn"].tolist() == [[2.0] * 3] * 5
    assert arrays["decoded after"].tolist() == [0, 1, 3]
    arrays["redrawn"] = np.concatenate([arrays["redrawn"][:-1], [[3.0] * 3]])
    lines = simulations.summarise_passes(arrays).splitlines()
    assert lines[2].split() == ["redrawn", *["2.000", "->", "3.000"] * 3]
    assert lines[3:] == ["after 0 passes: first one", "after 1 passes: 1", "after 3 passes: 3"]
    simulations.run_passes(config, KEY, tmp_path)
    assert len(calls) == 2


def test_noise_is_measured_over_the_later_half_of_the_times(monkeypatch, tmp_path):
    config = noise.NoiseConfig((1.0, 2.0), (0.2, 0.4, 0.6), (2,), tokens=5, seeds=2, end=8.0, step_size=0.1)

    def ensemble(flows, y0s, ts, fn, *, integrator, key, folder):
        assert (len(flows), y0s.shape, folder.name) == (24, (24, 5, 2), "d2")
        np.testing.assert_allclose(ts, np.linspace(0, 8, 41))
        assert float(integrator.step_size) == 0.1
        np.testing.assert_array_equal(y0s[:4], y0s[4:8])  # the same starts at every point
        assert [float(np.max(flow.flow.query_key(0.0))) for flow in flows] == [1.0] * 12 + [2.0] * 12
        assert [float(flow.noise) for flow in flows[:12:4]] == pytest.approx([0.2, 0.4, 0.6])
        return SimpleNamespace(values=np.arange(24.0)[:, None] + np.where(np.arange(41) < 20, 100.0, 0.0))

    monkeypatch.setattr(noise, "ensemble", ensemble)
    arrays = noise.run(config, KEY, tmp_path)
    np.testing.assert_allclose(arrays["order_2"], np.arange(24.0).reshape(2, 3, 2, 2))
    np.testing.assert_allclose(arrays["critical_2"], [noise.critical_amplitude(b, 2) for b in (1.0, 2.0)])
    assert arrays["predicted_2"].shape == (2, 3)
    assert (arrays["betas"].tolist(), arrays["amplitudes"].tolist()) == ([1.0, 2.0], [0.2, 0.4, 0.6])
    assert int(arrays["tokens"]) == 5


def test_networks_at_several_rates_are_trained_with_paired_seeds(monkeypatch, tmp_path):
    keys, points = [], 3

    def run(config, variant, data, key, folder, bar):
        keys.append((str(folder.relative_to(tmp_path)), key))
        k = float(len(keys))
        return training_study.StudyRun(*(np.full(points, k + part / 8) for part in range(4)), (np.full(2, k),))

    monkeypatch.setattr(training_study, "_training_data", lambda config: None)
    monkeypatch.setattr(training_study, "_run", run)
    monkeypatch.setattr(training_study, "_size", lambda config, variant: {"parameters": np.array(7)})
    variants = tuple(training_study.NetworkVariant(name) for name in ("a", "b"))
    config = training_study.StudyConfig(variants, seeds=2, steps=110, every=50)
    arrays = training_study.run_study(config, KEY, tmp_path)
    assert [place for place, _ in keys] == ["a/0", "b/0", "a/1", "b/1"]
    assert same(keys[0][1], keys[1][1])
    assert not same(keys[0][1], keys[2][1])
    assert arrays["steps"].tolist() == [0, 50, 100, 110]
    assert arrays["b: validation loss"][:, 0].tolist() == [2.125, 4.125]
    assert arrays["b: gates"][:, 0].tolist() == [2.375, 4.375]
    assert (arrays["a: weights 0"].tolist(), int(arrays["a: parameters"])) == ([1.0, 1.0], 7)
