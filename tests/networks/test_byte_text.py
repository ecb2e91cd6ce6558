"""Windows of a text and its continuation: which places are drawn, and with what law symbols are."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from dynsim.keys import random_key
from dynsim.networks.multirate.byte_text import random_windows, sampled, windows
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.network import draw_multirate

KEY = random_key(0, "text of bytes")
COLDEST = 0.012
NETWORK = MultirateConfig(width=8, query_heads=2, key_heads=1, hidden=8, layers_after=1, block=4)


def test_windows_are_evenly_spaced_and_none_reaches_beyond_the_text():
    text = np.arange(21, dtype=np.uint8)
    np.testing.assert_array_equal(windows(text, 5)[:, 0], [0, 5, 10, 15])
    np.testing.assert_array_equal(windows(text[:20], 5), np.arange(6) + np.array([[0], [5], [10]]))
    np.testing.assert_array_equal(windows(text, 2, count=3), np.arange(3) + np.array([[0], [6], [12]]))
    np.testing.assert_array_equal(windows(text[:9], 4, count=2)[:, 0], [0, 4])
    with pytest.raises(ValueError, match="`text` must have at least 13 bytes, for 3 windows of 4, but has 12"):
        windows(text[:12], 4, count=3)


def test_every_place_of_a_text_is_drawn_equally_often_and_each_step_draws_its_own():
    text = np.arange(23, dtype=np.uint8) + 100
    drawn = random_windows(text, batch=3000, length=18)
    found = np.asarray(drawn(jnp.array(0), KEY))
    starts = found[:, 0] - 100
    np.testing.assert_array_equal(found, 100 + starts[:, None] + np.arange(19))
    counts = np.bincount(starts, minlength=5)
    assert len(counts) == 5
    assert chisquare(counts).pvalue > 1e-4
    other = np.asarray(drawn(jnp.array(0), jax.random.fold_in(KEY, 1)))
    assert np.any(other != found)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [COLDEST, pytest.param(2 * COLDEST, marks=pytest.mark.slow)])
def test_symbols_are_drawn_from_the_softmax_of_the_logits_over_the_temperature(temperature):
    """The surprisal of 400 drawn symbols is the entropy of their laws within four standard deviations."""
    model, prompt, count = draw_multirate(KEY, NETWORK), np.frombuffer(b"To be", np.uint8).astype(np.int32), 400
    found = sampled(model, prompt, count, KEY, temperature=temperature)
    logits = np.asarray(eqx.filter_jit(lambda ids: model(ids))(jnp.asarray(found)), float)[len(prompt) - 1 : -1]
    logs = np.asarray(jax.nn.log_softmax(logits / temperature, axis=1))
    law = np.exp(logs)
    assert 0.5 < np.mean(-np.sum(law * logs, axis=1)) < 4.5  # neither certain nor uniform (log 256 = 5.5)
    drawn = logs[np.arange(count), found[len(prompt) :]]
    for power in (1, 2):
        mean = np.sum(law * logs**power, axis=1)
        spread = np.sum(law * logs ** (2 * power), axis=1) - mean**2
        assert abs(np.sum(drawn**power - mean)) < 4 * np.sqrt(np.sum(spread))


def test_symbols_at_different_places_are_drawn_independently():
    """At a high temperature all symbols are equally likely: few neighbours are equal."""
    found = sampled(draw_multirate(KEY, NETWORK), [1, 2, 3], 200, KEY, temperature=1e3)
    assert np.sum(found[4:] == found[3:-1]) <= 6  # 200 / 256 on average
    assert len(set(found[3:].tolist())) > 100  # 139 on average
