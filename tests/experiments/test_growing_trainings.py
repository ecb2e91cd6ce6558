"""Trainings of growing heads: how a variant is started, trained and measured, without the cost of a training."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.growing import pruning, training
from analysis.experiments.growing.training import (
    PAPER,
    TrainingConfig,
    TrainingVariant,
    draw_start,
    rules_of,
    run_training,
)
from analysis.experiments.growing.training_records import READINGS
from analysis.experiments.prototypes.epochs import Batch
from dynsim.io.npz import write_arrays
from dynsim.keys import random_key
from dynsim.networks.growing.growth import sample
from dynsim.networks.sentiment.reviews import Encoded
from dynsim.networks.training import Trained

KEY = random_key(0, "growing trainings")
TRAIN = Encoded(np.array([[1, 2, 0], [3, 4, 5], [2, 2, 1], [5, 0, 0], [4, 1, 0]]), np.array([1, 0, 1, 1, 0]))
TEST = Encoded(np.array([[1, 3, 0], [2, 0, 0], [5, 4, 3], [4, 4, 0], [3, 0, 0]]), np.array([1, 1, 0, 1, 0]))
DATA = training.Sentences(TRAIN, TEST, 6, ("<PAD>", "a", "fine", "film", "dull", "one"))
CONFIG = TrainingConfig(
    (TrainingVariant("one"),), epochs=2, batch=2, d=6, dropout=0.25, prototypes=3, temperatures=(0.9, 0.2),
    temperature_rate=0.03, barrier=0.07, threshold=0.6, pruning=0.04, scale=0.5, sampled=3,
)  # fmt: skip
NAMES = ("active", "births", "values")


def started(key=KEY, config=CONFIG, **options):
    variant = replace(CONFIG.variants[0], corpus=replace(training.SST2, length=3), **options)
    return draw_start(config, variant, DATA, rules_of(config, variant), key)


def test_heads_grow_by_the_rules_of_table_3_and_of_the_variant():
    rules = rules_of(CONFIG, TrainingVariant("one", ordered=False, reading="data", capacity=7))
    numbers = (rules.threshold, rules.pruning, rules.initial_temperature, rules.least_temperature, rules.dwell)
    assert [float(number) for number in numbers] == [0.6, 0.04, 0.9, 0.2, 1]
    assert (rules.capacity, rules.prototypes, rules.first) == (7, 3, "random")
    assert (rules.ordered, rules.reading) == (False, "data")
    assert rules_of(CONFIG, TrainingVariant("one")).ordered


def test_variants_are_what_their_names_say():
    named = {one.name: one for one in (*PAPER.variants, *PAPER.choices)}
    assert [one.ordered for one in PAPER.variants] == [True, False, True, False]
    assert [one.reading for one in PAPER.variants] == ["features", "features", "data", "data"]
    assert (named["ten checks"].checks, named["weight 1"].weight) == (10, 1.0)
    assert named["rt-polarity"].corpus == training.RT_POLARITY
    # `Linear` draws uniformly in +-1 / sqrt(d), of the variance 1 / (3 d), and we of the variance 1 / d
    assert named["small products"].products ** 2 == pytest.approx(1 / 3)


def test_a_start_has_one_random_head_and_the_printed_sizes(tmp_path, monkeypatch):
    plain, small = started(), started(products=0.5)
    for name in ("query", "key"):
        np.testing.assert_allclose(getattr(small.attention, name), 0.5 * getattr(plain.attention, name))
    np.testing.assert_array_equal(small.attention.value, plain.attention.value)
    assert plain.attention.query.shape == (2, 3, 6)
    assert plain.dropout == 0.25
    words = np.asarray(plain.embedding)
    assert np.sum(words**2) / 0.5**2 == pytest.approx(words.size, abs=6 * np.sqrt(2 * words.size))
    assert np.asarray(plain.layer.growth.active).tolist() == [1] + [0] * 11
    assert float(plain.layer.temperatures[0]) == pytest.approx(0.9)
    write_arrays(tmp_path / "given.npz", {"word": np.array([b"fine", b"dull"]), "vec": np.array([[1.0, 2], [0, -1]])})
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    words = np.asarray(started(vectors="given.npz").embedding)
    np.testing.assert_array_equal(words[[0, 1, 3, 5]], np.asarray(plain.embedding)[[0, 1, 3, 5]])
    assert np.mean(np.sum(words[[2, 4]] ** 2, axis=1)) == pytest.approx(6 * 0.5**2)  # as drawn words of deviation .5


def force(p, z, T):
    """F_sep of eq. (4), written out."""
    q = np.exp(-np.sum((z[:, None] - p) ** 2, axis=2) / T)
    q /= q.sum(axis=1, keepdims=True)
    return 4 * sum(np.sum(np.sum(q[:, k, None] * (p[k] - q @ p), axis=0) ** 2) for k in range(len(p)))


def with_two_heads():
    """Build a model that grew a second head, of other prototypes and of a temperature at its floor."""
    model = started()
    growth = model.layer.growth
    where = lambda m: (m.layer.temperatures, *(getattr(m.layer.growth, name) for name in NAMES), m.layer.prototypes)
    return eqx.tree_at(where, model, (
        jnp.full(12, 0.05, jnp.float32).at[0].set(0.7), growth.active.at[1].set(1.0), growth.births.at[1].set(5.0),
        growth.values.at[1].set(1.5), model.layer.prototypes.at[1].set(jax.random.normal(KEY, (3, 6), jnp.float32)),
    ))  # fmt: skip


def test_what_is_measured_at_a_check_is_that_of_the_formulas():
    model = with_two_heads()
    values = training.logits(model, TEST.ids)
    cut = np.sort(values)
    model = eqx.tree_at(
        lambda m: m.bias, model, -jnp.asarray((cut[1] + cut[2]) / 2, jnp.float32)
    )  # two below zero, three above
    tokens = sample(model, jnp.asarray(TRAIN.ids[:3]))
    accuracy, residuals, active, S, T, F, births, levels = training._measured(model, DATA, tokens)
    above = values > np.mean(cut[1:3])
    assert above.sum() == 3
    assert accuracy == np.mean(above == np.array([True, True, False, True, False]))
    M = np.asarray(model.attention.interaction, float)
    assert residuals[READINGS.index("features")] == pytest.approx(np.linalg.norm((M - M.T) / 2, 2), rel=1e-6)
    assert residuals[0] != pytest.approx(residuals[1], rel=1e-2)
    assert active.tolist() == [True, True] + [False] * 10
    np.testing.assert_allclose(T, [0.7] + [0.2] * 11, rtol=1e-6)
    p = np.asarray(model.layer.prototypes, float)
    apart = lambda p: np.min(np.sum((p[[0, 0, 1]] - p[[1, 2, 2]]) ** 2, axis=1))
    np.testing.assert_allclose(S[:2], [apart(p[0]), apart(p[1])], rtol=1e-4)
    expected = [force(p[0], tokens.embeddings, 0.7), force(p[1], tokens.embeddings, 0.2)]
    np.testing.assert_allclose(F, expected + [0] * 10, rtol=1e-5)
    assert (births[1], levels[1]) == (5.0, 1.5)


def test_a_training_checks_its_heads_on_the_same_sentences_and_descends_on_the_mean_loss(tmp_path, monkeypatch):
    config, variant = replace(CONFIG, batch=1, dropout=0.0), TrainingVariant("one", checks=2, weight=0.25)
    variant = replace(variant, corpus=replace(training.SST2, length=3))
    seen, given = [], {}

    def train(start, loss, batches, key, *, callback, revise, **options):
        given.update(options, loss=loss, batches=batches, start=start)
        for done in range(0, options["num_steps"] + 1, options["every"]):
            revise(done, start)
            callback(done, start)
        return Trained(start, np.zeros(options["num_steps"]))

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "growing_optimiser", lambda *numbers: numbers)
    monkeypatch.setattr(training, "revised", lambda model, rules, tokens, done: seen.append((done, tokens)))
    monkeypatch.setattr(training, "_measured", lambda model, data, tokens: seen.append(tokens) or (np.ones(()),) * 8)
    found = training.train_variant(config, variant, DATA, KEY, tmp_path)
    assert (given["num_steps"], given["every"]) == (10, 2)  # five sentences, two checks in an epoch
    assert [one[0] for one in seen[::2]] == [0, 2, 4, 6, 8, 10]
    assert [len(part) for part in found.measures] == [6] * 8
    for tokens in (seen[0][1], seen[1]):
        assert len(tokens.inputs) == np.count_nonzero(TRAIN.ids[:3])
    steps, rate, decay, temperature_rate = given["optimiser"]
    assert (steps, rate, decay) == (10, 3e-4, 1e-3)
    assert 0.25 * temperature_rate == pytest.approx(0.03)  # the mean of L_q has the weight 1/4 in the loss
    assert given["loss"] is training.batch_loss(0.07, 0.25)


def test_the_loss_of_a_batch_has_its_barrier_its_weight_and_its_rows(monkeypatch):
    given = []
    rows_loss = lambda model, rows, key: jnp.asarray(rows)
    monkeypatch.setattr(training, "sentence_loss", lambda *args, **named: given.append((args, named)) or rows_loss)
    found = training.batch_loss.__wrapped__(0.07, 0.25, 0.5)(started(), Batch(1.5, jnp.asarray(2.0)), KEY)
    assert (given, float(found)) == ([((0.07, 0.25), {"task": 0.5})], 1.5)


def test_choices_are_trained_with_the_first_seed_and_losses_are_means_of_epochs(tmp_path, monkeypatch):
    asked = []

    def trained(config, variant, data, key, folder, bar):
        asked.append((variant.name, folder.name))
        return training.TrainingRun(tuple(np.zeros(3) for _ in training.MEASURES), np.arange(6.0), None)

    monkeypatch.setattr(training, "train_variant", trained)
    monkeypatch.setattr(training, "read_sentences", lambda corpus: DATA)
    config = replace(CONFIG, choices=(TrainingVariant("two"),), seeds=(4, 9))
    found = run_training(config, KEY, tmp_path)
    assert asked == [("one", "4"), ("one", "9"), ("two", "4")]
    assert found["one: losses"].tolist() == [[1.0, 4.0]] * 2
    assert found["one: sentences"].tolist() == [5, 5]
    assert found["two: share"] == pytest.approx(3 / 5)  # three of five are positive
    monkeypatch.setattr(
        training, "read_sentences", lambda corpus: DATA._replace(test=Encoded(TEST.ids[2:], TEST.labels[2:]))
    )
    found = run_training(config, KEY, tmp_path)
    assert found["one: sentences"].tolist() == [5, 3]
    assert found["two: share"] == pytest.approx(2 / 3)  # two of three are negative


def test_the_head_without_a_direction_of_less_energy_is_removed_and_forces_are_those_before_and_after():
    model = with_two_heads()
    tokens = sample(model, jnp.asarray(TRAIN.ids[:3]))
    energies = pruning.directional_energies(model)
    after, event = pruning.removal(model, tokens)
    head = int(np.argmin(energies))
    assert (event.head, event.active.sum(axis=1).tolist()) == (head, [2, 1])
    assert not after.layer.growth.active[head]
    np.testing.assert_array_equal(event.energies, energies)
    p, z, T = np.asarray(model.layer.prototypes, float), tokens.embeddings, [0.7, 0.2]
    own = [force(p[k], z, T[k]) for k in (0, 1)]
    kept = np.where(np.arange(2) == head, 0, own)
    np.testing.assert_allclose(event.forces[:, :2], [own, kept], rtol=1e-5)
    assert float(event.own) == pytest.approx(own[head], rel=1e-5)
    both = force(np.concatenate(p[:2]), z, T[head])
    np.testing.assert_allclose(event.joint, [both, force(p[1 - head], z, T[head])], rtol=1e-5)
    np.testing.assert_allclose(event.separations[:, 1 - head], event.separations[0, 1 - head])


@pytest.mark.parametrize("name", ["trained", "random"])
def test_only_new_heads_learn_on_a_frozen_encoder(name, tmp_path, monkeypatch):
    old, given = started(random_key(0, "old")), {}

    def train(start, loss, batches, key, **options):
        given.update(options, start=start, loss=loss)
        return Trained(start, np.zeros(options["num_steps"]))

    monkeypatch.setattr(pruning, "train", train)
    monkeypatch.setattr(pruning, "train_variant", lambda *_: training.TrainingRun((), np.zeros(0), old))
    monkeypatch.setattr(pruning, "growing_optimiser", lambda *numbers, **named: (numbers, named))
    monkeypatch.setattr(pruning, "revised", lambda model, rules, tokens, done: (rules, len(tokens.inputs), done))
    short = replace(CONFIG.variants[0], corpus=replace(training.SST2, length=3))
    encoder = replace(CONFIG, variants=(short,))
    config = pruning.PruningConfig(encoder=encoder, capacity=12, threshold=0.3, epochs=4, checks=1)
    found = pruning._frozen(config, name, DATA, KEY, tmp_path)
    assert found is given["start"]
    assert (found.dropout, given["num_steps"], given["every"]) == (0.0, 8, 2)  # two whole batches of five sentences
    assert given["optimiser"] == ((8, 3e-4, 1e-3, 0.03), {"encoder": False})
    assert given["loss"] is training.batch_loss(0.07, 1.0, task=0.0)
    assert np.array_equal(found.embedding, old.embedding) == (name == "trained")
    assert not np.array_equal(found.layer.prototypes, old.layer.prototypes)
    rules, tokens, done = given["revise"](7, found)
    assert (float(rules.threshold), rules.capacity, rules.ordered, done) == (0.3, 12, False, 7)
    assert tokens == np.count_nonzero(TRAIN.ids[:3])
