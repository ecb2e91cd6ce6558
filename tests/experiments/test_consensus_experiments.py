"""Experiments 7.4 and 7.5 of `consensus`: measures and variants by hand, on a small random network."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.consensus import prompts, simulations
from analysis.experiments.consensus.prompts import Inputs
from analysis.experiments.consensus.simulations import ENSEMBLE, EnsembleConfig, PassesConfig
from dynsim.keys import random_key
from dynsim.networks.decoder.pretrained import load_transformer
from tests.support.gpt2_layout import HEADS, gpt2_tensors

KEY = random_key(0, "consensus experiments")
INPUTS = Inputs(
    np.array([3, 0, 6]), np.array([[1, 2, 0], [4, 4, 5]]), np.array([6, 1, 1, 2]), lambda ids: ",".join(map(str, ids))
)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.npz"
    np.savez(path, **gpt2_tensors())
    return load_transformer(path, heads=HEADS)


def test_the_measures_are_those_of_the_directions_of_tokens():
    x = np.random.default_rng(0).normal(size=(5, 3)) * np.arange(1, 6)[:, None]
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = u @ u.T
    share = np.linalg.svd(u, compute_uv=False) ** 2 / 5
    expected = [
        1 - np.mean(np.abs(cosines[0])),  # (25)
        cosines.min(),
        np.exp(-np.sum(share * np.log(share))),
    ]
    np.testing.assert_allclose(simulations.measures(jnp.asarray(x)), expected, rtol=1e-10)


def test_every_variant_of_the_passes_is_what_its_name_says(network, monkeypatch):
    draws = []
    monkeypatch.setattr(simulations, "redrawn", lambda *given: draws.append(given) or network.token_embedding)
    plan = simulations._plan(PassesConfig(2, (1,), deviation=0.3), network, INPUTS, KEY)
    assert draws == [(network, KEY, 0.3)]
    random = network.token_embedding
    told = {
        name: ({id(network): "trained", id(random): "random"}[id(model)], *rest)
        for name, (model, _, *rest) in plan.items()
    }
    assert told == {
        "trained": ("trained", True, None),
        "trained, float32": ("trained", True, None),
        "trained, attention only": ("trained", False, None),
        "random": ("random", True, None),
        "random, attention only": ("random", False, None),
        "redrawn": ("trained", True, 0.3),
        "redrawn, attention only": ("trained", False, 0.3),
        "prompt 1": ("random", True, None),
        "trained, prompt 1": ("trained", True, None),
        "prompt 2": ("random", True, None),
        "trained, prompt 2": ("trained", True, None),
    }
    starts = {name: np.asarray(x) for name, (_, x, *_) in plan.items()}
    z = gpt2_tensors()
    embedded = lambda ids: z["wte.weight"][ids] + z["wpe.weight"][: len(ids)]
    np.testing.assert_allclose(starts["redrawn"], embedded(INPUTS.first))
    np.testing.assert_allclose(starts["prompt 2"], embedded(INPUTS.several[1]))
    assert {name for name, x in starts.items() if x.dtype == np.float32} == {"trained, float32"}


def test_matrices_are_redrawn_independently_of_each_other(network):
    attention = simulations.redrawn(network, KEY, 0.5).blocks[0].attention
    assert np.max(np.abs(np.asarray(attention.query - attention.key))) > 0.1
    assert not np.allclose(attention.query, simulations.redrawn(network, KEY, 0.5).blocks[1].attention.query)


@pytest.mark.slow
def test_passes_without_the_feedforward_part_and_with_weights_of_their_own(network):
    x, keys = network.embed(INPUTS.first), jax.random.split(KEY, 2)
    found = simulations.pass_measures(network, x, keys, False, None)
    alone = eqx.filter_jit(lambda x: network.apply_layers(x, passes=2, feedforward=False))(x)
    np.testing.assert_allclose(found[2], simulations.measures(alone), rtol=1e-8)
    np.testing.assert_allclose(found[0], simulations.measures(x), rtol=1e-10)
    again = simulations.pass_measures(network, x, keys, True, 0.5)
    one = eqx.filter_jit(lambda x, key: simulations.redrawn(network, key, 0.5).apply_layers(x))
    np.testing.assert_allclose(again[2], simulations.measures(one(one(x, keys[0]), keys[1])), rtol=1e-8)


def test_decoded_are_the_likeliest_tokens_after_each_number_of_passes(network):
    once = eqx.filter_jit(lambda x: network.apply_layers(x))
    states = [network.embed(INPUTS.last)]
    for _ in range(4):
        states.append(once(states[-1]))
    found = list(simulations.states_after(network, states[0], (1, 4)))
    np.testing.assert_allclose(found, [states[1], states[4]], rtol=1e-9)
    counted = [np.argmax(network.logits(states[k]), axis=1) for k in (1, 4)]
    expected = [",".join(map(str, ids)) for ids in (INPUTS.last, *counted)]
    assert simulations._decoded(network, INPUTS, (1, 4)) == expected


class _Stats(NamedTuple):
    succeeded: np.ndarray


class _Found(NamedTuple):
    values: np.ndarray
    stats: _Stats


def test_the_ensemble_is_observed_by_its_misalignment_and_its_diameter(tmp_path, monkeypatch):
    seen: dict[str, Any] = {}

    def solved(flow, y0s, ts, observed, **options):
        seen.update(options, y0s=y0s, ts=ts, values=observed(jnp.asarray(0.0), jnp.eye(4)[:2]))
        return _Found(np.arange(12.0).reshape(2, 3, 2), _Stats(np.array([True, False])))

    monkeypatch.setattr(simulations, "ensemble", solved)
    found = simulations.run_ensemble(EnsembleConfig(2, 3, 4, 7.0, rtol=1e-4), KEY, tmp_path)
    np.testing.assert_allclose(seen["values"], [0.5, np.sqrt(2)])  # of two orthogonal tokens
    assert seen["y0s"].shape == (2, 3, 4)
    assert np.abs(seen["y0s"][0] - seen["y0s"][1]).max() > 0.1
    assert (len(seen["ts"]), seen["ts"][0], seen["ts"][-1]) == (201, 0.0, 7.0)
    assert seen["integrator"].inner.rtol == 1e-4
    assert found["E"].tolist() == [[0, 2, 4], [6, 8, 10]]
    assert found["diameter"].tolist() == [[1, 3, 5], [7, 9, 11]]
    assert ENSEMBLE.summary({**found, "E": np.array([[9.0, 1.0], [9.0, 2.0], [9.0, 6.0]])}) == (
        "1 of 3 members finished at t = 7: E median 2, largest 6; largest diameter 11"
    )


def test_the_table_of_the_passes_has_first_and_last_measures():
    arrays = {
        "passes": np.arange(3),
        "one": np.array([[0.5, -1.0, 2.0], [0.4, 0.0, 1.5], [0.1, 0.25, 1.0]]),
        "decoded after": np.array([0, 5]),
        "decoded": np.array(["a b", "c"]),
    }
    lines = simulations.summarise_passes(arrays).splitlines()
    assert lines[1].split() == ["one", "0.500", "->", "0.100", "-1.000", "->", "0.250", "2.000", "->", "1.000"]
    assert lines[2:] == ["after 0 passes: a b", "after 5 passes: c"]


def test_the_last_prompt_is_decoded_and_the_first_one_passes(tmp_path, monkeypatch):
    class Words:
        encode = staticmethod(
            lambda text: np.array([len(text), 1]) if text in prompts.PROMPTS else np.array([len(text)])
        )
        decode = staticmethod(lambda ids: "")

    monkeypatch.setattr(prompts, "load_tokenizer", lambda path: Words)
    found = prompts.padded_prompts(tmp_path)
    assert found.first.tolist() == [len(prompts.FIRST_PROMPT)]
    assert found.last.tolist() == [len(prompts.LAST_PROMPT)]
    assert found.several[:, 0].tolist() == [len(prompt) for prompt in prompts.PROMPTS]
    np.savez(tmp_path / "letters.npz", ref_idx=[[2.0, 0], [1, 1], [0, 2]])
    letters = prompts.reference_letters(tmp_path / "letters.npz")
    assert letters.first.tolist() == letters.last.tolist() == [2, 0]
