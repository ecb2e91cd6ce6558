"""What trainings hand on to the optimiser, batches and losses of reviews, and networks of the layout of llama2.c."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import random_key
from dynsim.networks.decoder.pretrained import STORIES, load_transformer
from dynsim.networks.decoder.transformer import TransformerMap
from dynsim.networks.multirate import training as multirate
from dynsim.networks.multirate.network import MultirateNetwork
from dynsim.networks.sentiment import classifier
from dynsim.networks.training import Trained

DONE = Trained("model", np.zeros(1))


def recorder(monkeypatch, module):
    """Replace the training of a module by one that keeps what it is given."""
    kept = []
    monkeypatch.setattr(module, "train", lambda *given, **options: kept.append((given, options)) or DONE)
    return kept


def test_a_classifier_is_trained_by_whole_epochs_and_told_of(monkeypatch):
    kept, epochs = recorder(monkeypatch, classifier), []
    data = classifier.Encoded(np.arange(14).reshape(7, 2), np.array([0, 1, 0, 1, 1, 0, 1]))
    how = {"epochs": 3, "batch": 3, "folder": "here", "shown": False}
    untold = object.__new__(classifier.ReviewClassifier)
    done = classifier.train_classifier(
        untold, data, random_key(1, "train"), **how, callback=lambda *of: epochs.append(of)
    )
    ((model, loss, batches, steps), options), = kept  # fmt: skip
    assert (done, model, loss, batches.size, batches.steps) == (DONE, untold, classifier.batch_loss, 3, 3)
    assert (options["num_steps"], options["every"], options["folder"], options["shown"]) == (9, 3, "here", False)
    options["callback"](6, "then")
    assert epochs == [(2, "then")]
    keys = jax.random.split(random_key(1, "train"))
    for found, key in zip((batches.key, steps), keys, strict=True):
        assert np.array_equal(jax.random.key_data(found), jax.random.key_data(key))
    classifier.train_classifier(untold, data, random_key(1, "train"), epochs=1)
    assert (kept[1][0][2].size, kept[1][1]["callback"], kept[1][1]["num_steps"]) == (64, None, 1)
    for name in ("epochs", "batch"):
        with pytest.raises(ValueError, match=f"`{name}` must be at least 1, but is 0"):
            classifier.train_classifier(untold, data, random_key(1, "train"), **cast("Any", {"epochs": 1, name: 0}))


def test_each_review_is_in_one_batch_of_an_epoch_and_counts_once():
    batches = classifier.EpochBatches(jnp.arange(14).reshape(7, 2), jnp.arange(7), random_key(0, "order"), 3)
    for epoch in range(2):
        rows = [batches(jnp.asarray(3 * epoch + k), random_key(0, "unused")) for k in range(3)]
        labels = np.concatenate([label[counted] for _, label, counted in rows])
        assert sorted(labels.tolist()) == list(range(7))
        assert [int(np.sum(counted)) for *_, counted in rows] == [3, 3, 1]
        assert all(np.array_equal(ids[:, 0], 2 * label) for ids, label, _ in rows)


def test_the_loss_of_a_batch_is_the_mean_of_the_reviews_that_count():
    class Model(classifier.ReviewClassifier):
        def soft_logits(self, ids):
            return jnp.asarray(ids[:, 0], float)

    model = object.__new__(Model)
    object.__setattr__(model, "embedding", np.zeros((1, 1)))
    ids, labels = jnp.array([[1.0], [-2.0], [5.0]]), jnp.array([1, 0, 0])
    loss = classifier.batch_loss(model, (ids, labels, jnp.array([True, True, False])), random_key(0, "none"))
    assert float(loss) == pytest.approx((np.log1p(np.exp(-1.0)) + np.log1p(np.exp(-2.0))) / 2)


def test_a_multirate_network_is_trained_by_adamw_with_or_without_the_residual(monkeypatch):
    kept = recorder(monkeypatch, multirate)
    optimisers = []
    rules = type("Rules", (), {"adamw": staticmethod(lambda *given, **how: optimisers.append((given, how)) or "rule")})
    monkeypatch.setattr(multirate, "module_of_optimisers", lambda: rules)
    multirate.adamw.cache_clear()
    model, batches, key = object.__new__(MultirateNetwork), lambda step, key: step, random_key(0, "train")
    assert multirate.train_multirate(model, batches, key) is DONE
    (given, options), = kept  # fmt: skip
    assert (given, options) == (
        (model, multirate.byte_loss, batches, key),
        {"num_steps": 650, "optimiser": "rule", "every": 50, "folder": None, "callback": None, "shown": None},
    )  # fmt: skip
    numbers: Any = {"num_steps": 7, "every": 3, "folder": "here", "callback": print, "shown": True}
    rates: Any = {"learning_rate": 0.25, "weight_decay": 0.5}
    multirate.train_multirate(model, batches, key, **numbers, **rates, residual_weight=2.0)
    (given, options) = kept[1]
    assert options == {**numbers, "optimiser": "rule"}
    assert given[1] is not multirate.byte_loss
    assert optimisers == [((1e-3,), {"weight_decay": 1e-2}), ((0.25,), {"weight_decay": 0.5})]
    multirate.adamw.cache_clear()
    with pytest.raises(ValueError, match="`learning_rate` must be positive, but is 0"):
        multirate.adamw(0.0)


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """Write a file of two layers, four heads and two key heads, whose weights are all different."""
    c = {"dim": 8, "layers": 2, "heads": 4, "kv_heads": 2, "vocab": 5, "hidden": 6, "seq_len": 7}
    sizes = {"tok_emb": (5, 8), "rms_att": (2, 8), "wq": (2, 8, 8), "wk": (2, 4, 8), "wv": (2, 4, 8), "wo": (2, 8, 8),
             "rms_ffn": (2, 8), "w1": (2, 6, 8), "w2": (2, 8, 6), "w3": (2, 6, 8), "rms_final": (8,)}  # fmt: skip
    made = np.random.default_rng(0)
    arrays = {name: made.normal(size=size) for name, size in sizes.items()}
    path = tmp_path_factory.mktemp("stories") / "tiny.npz"
    np.savez(path, **arrays, config=np.array([c[name] for name in STORIES]))
    return path, arrays


def reference(arrays, ids):
    """Compute the network of llama2.c, as its program does: logits at all positions."""
    norm = lambda x, gain: gain * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)
    x = arrays["tok_emb"][ids]
    n, m = len(ids), 2
    angles = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, m, 2) / m)
    turns = np.exp(1j * angles)

    def turned(rows):  # (n, heads, m)
        pairs = (rows[..., 0::2] + 1j * rows[..., 1::2]) * turns[:, None]
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(rows.shape)

    for k in range(2):
        y = norm(x, arrays["rms_att"][k])
        q = turned((y @ arrays["wq"][k].T).reshape(n, 4, m))
        keys = np.repeat(turned((y @ arrays["wk"][k].T).reshape(n, 2, m)), 2, axis=1)
        values = np.repeat((y @ arrays["wv"][k].T).reshape(n, 2, m), 2, axis=1)
        scores = np.einsum("ihm,jhm->hij", q, keys) / np.sqrt(m)
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        x = x + np.einsum("hij,jhm->ihm", weights, values).reshape(n, 8) @ arrays["wo"][k].T
        y = norm(x, arrays["rms_ffn"][k])
        gate, up = y @ arrays["w1"][k].T, y @ arrays["w3"][k].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ arrays["w2"][k].T
    return norm(x, arrays["rms_final"]) @ arrays["tok_emb"].T


def test_a_network_in_the_layout_of_llama2_has_its_logits(stories):
    path, arrays = stories
    network = load_transformer(path, dtype=jnp.float64)
    ids = np.array([1, 4, 0, 2])
    logits = network.logits(network.apply_layers(network.embed(ids)))
    np.testing.assert_allclose(logits, reference(arrays, ids), rtol=1e-9, atol=1e-9)
    assert (network.context, len(network.blocks)) == (7, 2)
    step: Any = TransformerMap(network)  # pyright: ignore[reportCallIssue]
    x = np.asarray(network.embed(ids))
    for k in (0, 1, 2):
        np.testing.assert_allclose(step.step(jnp.asarray(k), x), network.blocks[k % 2](jnp.asarray(x)), rtol=1e-12)
    longer = [1, 4]
    for _ in range(3):
        longer.append(int(np.argmax(reference(arrays, np.array(longer))[-1])))
    assert network.greedy([1, 4], 3).tolist() == longer  # by one pass for each token, with its feed-forward layers
