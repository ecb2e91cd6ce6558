"""Training on bytes: the loss, resuming to the same bits, the study of Section 9 in small, text that is continued."""

import functools
import gzip
import json
import math
from dataclasses import asdict, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments import Experiment, experiments, names_in, record
from analysis.experiments.multirate.training_study import (
    SECTION_9,
    NetworkVariant,
    StudyConfig,
    loss_difference,
    run_study,
    summarise_study,
    trained_network,
)
from dynsim.keys import random_key
from dynsim.networks import training
from dynsim.networks.decoder.transformer import RMSNorm
from dynsim.networks.multirate.byte_text import greedy, random_windows, read_bytes, sampled, windows
from dynsim.networks.multirate.config import MultirateConfig, dense
from dynsim.networks.multirate.layers import LinearProjector
from dynsim.networks.multirate.network import MultirateNetwork, Round, draw_multirate, frozen, with_gates
from dynsim.networks.multirate.training import adamw, byte_loss, loss_with_residual, text_loss, train_multirate
from tests.cli.test_command_line import refused, run

KEY = random_key(0, "multirate training")
SMALL = MultirateConfig(width=8, query_heads=2, key_heads=1, hidden=8, layers_after=1, block=4)
TEXT = np.frombuffer(b"To be, or not to be, that is the question. " * 20, np.uint8)
BATCHES = random_windows(TEXT, batch=2, length=10)  # two blocks and a half
STUDY = StudyConfig(
    (
        NetworkVariant("coupled", SMALL),
        NetworkVariant("frozen", SMALL, held=True),
        NetworkVariant("dense", dense(SMALL)),
    ),
    seeds=2, steps=4, batch=2, length=10, learning_rate=1e-2, every=2, evaluated=3, final=4,
    train="words.txt", validation="words.txt.gz",
)  # fmt: skip


@functools.cache
def start():
    return draw_multirate(KEY, SMALL)


def bits(tree):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


@pytest.mark.slow  # a network is compiled
def test_the_loss_is_minus_the_mean_logarithm_of_the_next_bytes_probability():
    found, model = windows(TEXT, 10, count=4), with_gates(start(), 0.5)
    functions = (lambda model, ids, key: jax.vmap(model.logits_and_residual)(ids[:, :-1]), byte_loss)
    functions = (*functions, loss_with_residual(2.0))  # in one program, which contains the network once
    together = eqx.filter_jit(lambda *arguments: [function(*arguments) for function in functions])
    read, loss, with_residual = together(model, jnp.asarray(found), KEY)
    odds, residual = np.exp(np.asarray(read.logits, float)), float(jnp.mean(read.residual))
    terms = [[-math.log(odds[w, i, found[w, i + 1]] / np.sum(odds[w, i])) for i in range(10)] for w in range(4)]
    by_hand = np.mean(terms)
    assert abs(float(loss) - by_hand) < 1e-5  # float32
    assert abs(text_loss(model, found) - by_hand) < 1e-5
    assert abs(float(with_residual) - by_hand - 2 * residual) < 1e-5
    assert residual > 0
    last = eqx.filter_jit(lambda model, ids: model.logits_and_residual(ids).residual)
    assert float(last(draw_multirate(KEY, dense(SMALL)), jnp.asarray(found[0]))) == 0


def bare(gates, num_rounds):
    """Return a network of rounds without layers, x <- x + gate * projection of the context, with gates of their own."""
    d, one = 4, RMSNorm(jnp.ones(4))
    matrices = [jnp.asarray(np.random.default_rng(k).normal(size=(d, d))) for k in range(len(gates))]
    rounds = tuple(
        Round((), one, LinearProjector(matrix), jnp.asarray(gate), jnp.asarray(False), (), 2)
        for matrix, gate in zip(matrices, gates, strict=True)
    )
    return MultirateNetwork(
        jnp.asarray(np.random.default_rng(9).normal(size=(5, d))), (), rounds, one, None, num_rounds
    )


@pytest.mark.parametrize(("gates", "num_rounds"), [((0.5, 2.0, 0.1), 3), ((0.7,), 3)])
def test_the_residual_is_the_mean_over_rounds_and_windows(gates, num_rounds):
    """Without fast layers the residual of a round is the mean square of what it adds to its own result."""
    model, ids = bare(gates, num_rounds), jnp.array([[0, 1, 2, 3, 4, 1], [3, 3, 1, 0, 2, 4]])

    @eqx.filter_jit
    def both(model, ids):
        read = jax.vmap(model.logits_and_residual)(ids[:, :-1])
        losses = (byte_loss(model, ids, KEY), loss_with_residual(2.0)(model, ids, KEY))

        def by_hand(ids):
            x, squares = model.embed(ids), []
            for k in range(num_rounds):
                added = model.rounds[k % len(gates)].forcing(x)
                x = x + added
                squares.append(jnp.mean(added**2))
            return model.logits(x), sum(squares) / num_rounds

        return read, losses, jax.vmap(by_hand)(ids[:, :-1])

    (logits, residuals), (plain, weighted), (wanted, means) = both(model, ids)
    np.testing.assert_allclose(logits, wanted, rtol=1e-12)
    np.testing.assert_allclose(residuals, means, rtol=1e-12)
    assert float(weighted - plain) == pytest.approx(2 * np.mean(means))
    losses = jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, ids[:, 1:, None], axis=-1)[..., 0]
    for rows in ([0, 1], [0] * 9 + [1]):  # in parts of eight, of which the last is filled up
        assert text_loss(model, np.asarray(ids)[rows]) == pytest.approx(np.mean(np.asarray(losses)[rows]))
    assert np.ptp(means) > 0.1 * np.mean(means)


@pytest.mark.slow
def test_training_lowers_the_loss_and_opens_the_gate():
    found = train_multirate(start(), BATCHES, KEY, num_steps=60, every=2, learning_rate=1e-2, shown=False)
    assert found.losses[-10:].mean() < found.losses[0] - 1.5
    assert np.all(found.model.gates != 0)
    before = bits(start().rounds[0].slow[0].attention.value)
    assert bits(found.model.rounds[0].slow[0].attention.value) != before
    assert abs(found.losses[0] - math.log(256)) < 0.3


@pytest.mark.slow  # another network is compiled
def test_training_leaves_a_held_gate_closed():
    found, held = (
        train_multirate(model, BATCHES, KEY, num_steps=4, every=2, learning_rate=1e-2, shown=False)
        for model in (start(), frozen(start()))
    )
    assert found.losses[0] == held.losses[0]
    assert np.all(found.model.gates != 0)
    assert np.all(held.model.gates == 0)


@pytest.mark.slow
def test_a_killed_study_ends_with_the_same_bits(tmp_path, monkeypatch, words):
    whole = run_study(STUDY, KEY, tmp_path / "whole")
    keep, kept = training._save, []

    def killed(*arguments):
        keep(*arguments)
        kept.append(1)
        if len(kept) in (1, 6, 9):
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "_save", killed)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_study(STUDY, KEY, tmp_path / "killed")
    again = run_study(STUDY, KEY, tmp_path / "killed")
    (words / "words.txt").write_bytes(TEXT[::-1].tobytes())
    with pytest.raises(ValueError, match="be empty or hold parts of this very run"):
        run_study(STUDY, KEY, tmp_path / "killed")
    assert list(again) == list(whole)
    for name, array in whole.items():
        assert array.tobytes() == again[name].tobytes(), name
    assert len(kept) == 12  # two checkpoints for each of six trainings: none was made twice


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Put a text, and the same packed, where real data lies."""
    (tmp_path / "words.txt").write_bytes(TEXT.tobytes())
    (tmp_path / "words.txt.gz").write_bytes(gzip.compress(TEXT.tobytes()))
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_a_study_keeps_curves_of_every_seed_and_its_first_network(words, tmp_path):
    study = Experiment("multirate/small", SECTION_9.source, "", STUDY, STUDY, run_study, summarise_study)
    found = record(study, "quick", results=tmp_path / "results")
    arrays = found.arrays
    assert names_in(arrays, "parameters") == ["coupled", "frozen", "dense"]
    np.testing.assert_array_equal(arrays["steps"], [0, 2, 4])
    assert arrays["coupled: training loss"].shape == (2, 4)
    assert arrays["coupled: validation loss"].shape == (2, 3)
    assert arrays["coupled: gates"].shape == (2, 3, 1)
    assert not np.any(arrays["frozen: gates"])
    np.testing.assert_array_equal(arrays["coupled: training loss"][:, 0], arrays["frozen: training loss"][:, 0])
    assert arrays["coupled: training loss"][0, 0] != arrays["coupled: training loss"][1, 0]
    held_out = windows(TEXT, 10, count=4)
    for name in names_in(arrays, "parameters"):
        model = trained_network(arrays, found.config, name)
        assert text_loss(model, held_out) == arrays[f"{name}: final validation loss"][0]
    assert bits(trained_network(arrays, json.loads(json.dumps(asdict(STUDY))), "frozen").gates) == [bytes(4)]
    with pytest.raises(ValueError, match="`name` must be one of coupled, frozen, dense, but is `open`"):
        trained_network(arrays, found.config, "open")
    said = summarise_study(arrays)
    assert "coupled - frozen: " in said
    assert "2 paired seeds" in said
    assert "gates at the end" in said


def test_a_difference_has_the_standard_error_of_its_seeds():
    arrays = {
        "a: final validation loss": np.array([2.0, 2.5, 3.0]),
        "b: final validation loss": np.array([1.9, 2.6, 2.7]),
    }
    gap = loss_difference(arrays, "a", "b")
    assert gap.seeds == 3
    assert abs(gap.mean - 0.1) < 1e-12
    assert abs(gap.error - 0.2 / math.sqrt(3)) < 1e-12
    assert math.isnan(loss_difference({name: rows[:1] for name, rows in arrays.items()}, "a", "b").error)


def test_the_study_of_the_paper_is_the_one_of_section_9():
    c = SECTION_9.paper
    assert SECTION_9 in experiments()
    assert (c.seeds, c.steps, c.batch * c.length * c.steps) == (5, 650, 499_200)
    assert [v.name for v in c.variants] == ["coupled", "frozen", "dense of equal cost", "dense of four layers"]
    assert c.variants[0].network == c.variants[1].network == MultirateConfig()


def test_what_is_written_is_the_likeliest_byte_and_cold_samples_are_too():
    model, prompt = with_gates(start(), 0.5), TEXT[:6].astype(np.int32)
    found = greedy(model, prompt, 5)
    np.testing.assert_array_equal(found[:6], prompt)
    scores = eqx.filter_jit(lambda model, ids: model(ids))(model, found)
    np.testing.assert_array_equal(found[6:], np.argmax(scores, axis=1)[5:-1])
    np.testing.assert_array_equal(sampled(model, prompt, 5, KEY, temperature=1e-6), found)
    drawn = [sampled(model, prompt, 5, key).tolist() for key in jax.random.split(KEY, 3)]
    assert drawn[0] != drawn[1]
    assert drawn[0] == sampled(model, prompt, 5, jax.random.split(KEY, 3)[0]).tolist()


def test_windows_share_their_ends_and_nothing_else():
    text = np.arange(23, dtype=np.uint8)
    np.testing.assert_array_equal(windows(text, 5)[:, 0], [0, 5, 10, 15])
    np.testing.assert_array_equal(windows(text, 5)[:, -1], [5, 10, 15, 20])
    np.testing.assert_array_equal(windows(text, 5, count=2)[:, 0], [0, 10])
    batch = np.asarray(random_windows(text, batch=50, length=22)(jnp.array(0), KEY))
    np.testing.assert_array_equal(batch, np.tile(text, (50, 1)))


def test_bad_texts_and_numbers_are_one_sentence(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "broken.gz").write_bytes(b"not packed")
    full = draw_multirate(KEY, replace(SMALL, slow_mask="full"))
    for call, sentence in (
        (lambda: read_bytes(tmp_path / "none.txt"), "`path` must be a text, plain or .gz, but `.*none.txt` is not"),
        (lambda: read_bytes(tmp_path / "broken.gz"), "`.*broken.gz` is not"),
        (lambda: read_bytes(tmp_path / "empty.txt"), "of at least one byte, but `.*empty.txt` is empty"),
        (lambda: windows(TEXT[:9], 10), "`text` must have at least 11 bytes, for 1 windows of 10, but has 9"),
        (lambda: windows(TEXT, 10, count=0), "be at least 1, but `count` is 0"),
        (lambda: random_windows(TEXT[:10], batch=1, length=10), "at least 11 bytes, one window, but has 10"),
        (lambda: random_windows(TEXT, batch=0, length=10), "`batch` and `length` must be at least 1, but `batch` is 0"),
        (lambda: greedy(start(), [], 1), "`prompt` must be one sequence of at least one symbol"),
        (lambda: greedy(start(), [256], 1), "`prompt` must lie between 0 and 255"),
        (lambda: greedy(start(), [1], 0), "`count` must be at least 1, but is 0"),
        (lambda: greedy(full, [1], 1), "`model` must have causal slow layers to generate text"),
        (lambda: sampled(start(), [1], 1, KEY, temperature=0.0), "`temperature` must be positive, but is 0"),
        (lambda: loss_with_residual(0.0), "`weight` must be positive, but is 0"),
        (lambda: adamw(0.0), "`learning_rate` must be positive, but is 0"),
        (lambda: text_loss(start(), np.zeros((0, 3), np.int32)), "`found` must hold at least one window"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.slow  # a network is trained
def test_the_command_reads_writes_and_checks(capsys, tmp_path):
    out = tmp_path / "leaks.npz"
    status, said, _ = run(
        capsys, "simulate", "multirate", "--text", "A horse!", "--block", 2, "--gate", 1, "--bytes", 3, "--out", out
    )
    assert status == 0
    assert "775,681 parameters" in said
    assert "gate +1.000000" in said
    assert "embedding: 0\n" in said
    assert "at which another byte changes a bit of an earlier score: 0 of 8" in said
    assert "A horse!" in said.splitlines()[-1]
    with np.load(out) as kept:
        assert kept["leak matrix"].shape == (8, 8)
    refused(capsys, "`bytes` must be 0 for a full slow mask", "simulate", "multirate", "--slow-mask", "full")
    refused(capsys, "`text` must have at least two bytes, but has 1", "simulate", "multirate", "--text", "A")
