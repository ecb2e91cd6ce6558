"""Experiments leave one record, resume to the same bits, and say in one sentence what they cannot use."""

import json
from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim.simulation.ensemble
from analysis.experiments import Experiment, best_record, experiments, record
from analysis.experiments.consensus.prompts import FIRST_PROMPT, PROMPTS, padded_prompts, reference_letters
from analysis.experiments.consensus.simulations import (
    ENSEMBLE,
    PASSES,
    SORTING,
    EnsembleConfig,
    PassesConfig,
    measures,
    pass_measures,
    redrawn,
)
from analysis.tokens.consensus import effective_rank
from dynsim.__main__ import main
from dynsim.errors import UnavailableError
from dynsim.io.data import data_file
from dynsim.io.npz import read_arrays
from dynsim.keys import random_key
from dynsim.networks.decoder.pretrained import load_transformer
from dynsim.networks.decoder.tokenizer import load_tokenizer
from dynsim.papers import CONSENSUS
from tests import data_or_skip
from tests.support.full_disk import fill_the_disk

SMALL = EnsembleConfig(members=40, tokens=4, dimension=8, end=40.0)
LETTERS = PassesConfig(passes=2, decoded=(1,), network="letters.npz", inputs="reference letters", deviation=0.5)


@dataclass(frozen=True)
class Counted:
    numbers: int


@pytest.fixture
def letters(tmp_path, monkeypatch):
    """Experiment 7.5 on a random network of one layer and three letters, whose file is all the data there is."""
    d, shapes = 4, {"wte_w": (3, 4), "wpe_w": (5, 4), "lm_head_w": (3, 4), "ln_f_w": (4,), "ln_f_b": (4,)}
    for part, rows, columns in (("attn_c_attn", 3 * d, d), ("attn_c_proj", d, d), ("mlp_c_fc", 4 * d, d)):
        shapes |= {f"h_0_{part}_w": (rows, columns), f"h_0_{part}_b": (rows,)}
    shapes |= {"h_0_mlp_c_proj_w": (d, 4 * d), "h_0_mlp_c_proj_b": (d,)}
    shapes |= {f"h_0_ln_{k}_{part}": (d,) for k in (1, 2) for part in "wb"}
    arrays = {name: np.asarray(jax.random.normal(random_key(0, name), shape)) for name, shape in shapes.items()}
    np.savez(tmp_path / "letters.npz", **arrays, config=[1, 2, d, 3, 5], ref_idx=[[2, 0, 1, 0, 0], [1.0, 1, 0, 0, 0]])
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    return replace(SORTING, quick=LETTERS)


def counting(runs):
    def run(config, key, folder):
        runs.append(config.numbers)
        return {"x": np.asarray(jax.random.normal(key, (config.numbers,)))}

    describe = lambda arrays: f"{len(arrays['x'])} numbers"
    return Experiment("consensus/count", CONSENSUS.at("nowhere"), "numbers", Counted(3), Counted(5), run, describe)


def test_a_record_is_made_once_for_each_size_and_seed(tmp_path):
    runs = []
    experiment = counting(runs)
    first = record(experiment, "quick", 0, tmp_path)
    again = record(experiment, "quick", 0, tmp_path)
    np.testing.assert_array_equal(first.arrays["x"], again.arrays["x"])
    assert first.config == again.config == {"numbers": 3}
    assert not np.array_equal(first.arrays["x"], record(experiment, "quick", 1, tmp_path).arrays["x"])
    assert runs == [3, 3]


def test_the_papers_size_is_preferred_where_it_is_finished(tmp_path):
    experiment = counting([])
    assert best_record(experiment, 0, tmp_path).size == "quick"
    record(experiment, "paper", 0, tmp_path)
    assert best_record(experiment, 0, tmp_path).size == "paper"


def test_a_record_of_another_configuration_is_refused(tmp_path):
    experiment = counting([])
    record(experiment, "quick", 0, tmp_path)
    with pytest.raises(ValueError, match="hold records of `consensus/count` as it is configured now"):
        record(replace(experiment, quick=Counted(4)), "quick", 0, tmp_path)
    with pytest.raises(UnavailableError, match="as it is configured now"):
        best_record(replace(experiment, quick=Counted(4)), 0, tmp_path)
    (tmp_path / "consensus/count/quick-0.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="be a complete npz file"):
        record(experiment, "quick", 0, tmp_path)


@pytest.mark.slow
def test_the_ensemble_that_was_killed_ends_with_the_same_bytes(tmp_path, monkeypatch):
    small = replace(ENSEMBLE, quick=SMALL)  # two parts of twenty members
    record(small, "quick", 0, tmp_path / "whole")
    solve, calls = dynsim.simulation.ensemble.solve_together, []

    def counted(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve(*arguments)

    monkeypatch.setattr(dynsim.simulation.ensemble, "solve_together", counted)
    with pytest.raises(KeyboardInterrupt, match="20 of 40 members"):
        record(small, "quick", 0, tmp_path / "killed")
    record(small, "quick", 0, tmp_path / "killed")
    assert len(calls) == 3  # the first part is not solved again
    file = "consensus/7.4/quick-0.npz"
    assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "killed" / file).read_bytes()
    arrays = read_arrays(tmp_path / "whole" / file)
    assert arrays["E"].shape == (40, 201)
    assert np.median(arrays["E"][:, -1]) < 0.1 * np.median(arrays["E"][:, 0])


@pytest.mark.slow
def test_the_passes_that_were_killed_end_with_the_same_bytes(letters, tmp_path, monkeypatch):
    whole = record(letters, "quick", 0, tmp_path / "whole")
    assert whole.arrays["prompt 2"].shape == (3, 3)
    np.testing.assert_array_equal(whole.arrays["trained"], whole.arrays["trained, prompt 1"])
    assert not np.allclose(whole.arrays["trained"], whole.arrays["random"], atol=0.1)
    assert whole.arrays["decoded"].tolist()[0] == "CABAA"
    calls = []

    def counted(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return pass_measures(*arguments)

    monkeypatch.setattr("analysis.experiments.consensus.simulations.pass_measures", counted)
    with pytest.raises(KeyboardInterrupt):
        record(letters, "quick", 0, tmp_path / "killed")
    record(letters, "quick", 0, tmp_path / "killed")
    assert len(calls) == 1 + 11  # seven variants and two for each prompt, the first three not passed again
    file = "consensus/7.5-sorting/quick-0.npz"
    assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "killed" / file).read_bytes()


@pytest.mark.slow
def test_passes_of_another_configuration_are_refused(letters, tmp_path):
    record(letters, "quick", 0, tmp_path)
    (tmp_path / "consensus/7.5-sorting/quick-0.npz").unlink()  # the checkpoints of the passes stay
    with pytest.raises(
        ValueError, match=r"be empty or hold parts of this very run .*quick-0.parts` holds parts of anoth"
    ):
        record(replace(letters, quick=replace(LETTERS, deviation=0.1)), "quick", 0, tmp_path)
    record(letters, "quick", 0, tmp_path)


@pytest.mark.parametrize(
    ("name", "after"), [("7.4", 13), *(pytest.param("7.5-sorting", after, marks=pytest.mark.slow) for after in (5, 25))]
)
def test_a_full_disk_is_one_sentence_and_the_run_goes_on(letters, name, after, tmp_path, monkeypatch, capsys):
    small = {"7.4": replace(ENSEMBLE, quick=SMALL), "7.5-sorting": letters}[name]  # in a part, a part, the record
    monkeypatch.setattr("analysis.experiments.consensus.simulations.EXPERIMENTS", (small,))
    words = ["experiment", name, "--out"]
    assert main([*words, str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as change:
        fill_the_disk(change, after=after)
        assert main([*words, str(tmp_path / "full")]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("dynsim: Argument `path` must be a file that can be written, but `")
    assert str(tmp_path / "full") in said
    assert said.endswith("is not (No space left on device).")
    kept = [file for file in (tmp_path / "full").rglob("*") if file.is_file()]
    assert kept
    assert {file.suffix for file in kept} == {".npz"}  # nothing half-written, under no name
    assert all(read_arrays(file) for file in kept)
    assert not (tmp_path / "full" / small.name / "quick-0.npz").exists()
    assert main([*words, str(tmp_path / "full")]) == 0
    whole, again = (tmp_path / out / small.name / "quick-0.npz" for out in ("whole", "full"))
    assert whole.read_bytes() == again.read_bytes()


@pytest.mark.slow
def test_the_prompts_are_padded_with_zeros_to_one_length():
    path = data_or_skip("stories260k.npz")
    tokenizer, inputs = load_tokenizer(path), padded_prompts(path)
    own = [len(tokenizer.encode(prompt)) for prompt in PROMPTS]
    assert {len(ids) for ids in inputs.several} == {max(own)}
    for ids, prompt, n in zip(inputs.several, PROMPTS, own, strict=True):
        assert tokenizer.decode(ids[:n]) == prompt
        assert not ids[n:].any()
    assert tokenizer.decode(inputs.first) == FIRST_PROMPT
    network = load_transformer(path)
    short = int(np.argmin(own))
    forward = eqx.filter_jit(lambda ids: network.apply_layers(network.embed(ids), passes=3))
    alone, padded = forward(inputs.several[short][: own[short]]), forward(inputs.several[short])
    np.testing.assert_allclose(padded[: own[short]], alone, atol=1e-10)  # causal: nothing behind a token moves it


def test_the_letters_are_those_that_the_network_came_with():
    inputs = reference_letters(data_or_skip("gpt_nano_sort.npz"))
    assert [inputs.decode(ids) for ids in inputs.several] == ["AACBABAAAAA", "ABCCCAAAAAA", "BACBCCAAAAA"]
    np.testing.assert_array_equal(inputs.first, inputs.several[0])


@pytest.mark.slow
def test_claims_read_the_records_of_the_folder_that_is_named_also_in_other_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DYNSIM_RESULTS", str(tmp_path / "elsewhere"))  # and put back afterwards
    passes = np.arange(101)
    E = {"trained": 0.5 + 0.4 / (1 + passes), "attention only": 0.9 / (1 + passes)}  # as no network does it
    columns = lambda values: np.stack([values, values, values], axis=1)
    made = {name: columns(E["trained"]) for name in ("trained", "trained, float32")}
    made |= {f"trained, prompt {k}": made["trained"] for k in (1, 2, 3)}
    made["trained, attention only"] = columns(E["attention only"])
    for experiment in (PASSES, SORTING):
        record(replace(experiment, run=lambda config, key, folder: made), "paper", 0, tmp_path / "named")
    lines = tmp_path / "lines.jsonl"
    words = ["check", "consensus/experiment-7.5", "--results", str(tmp_path / "named"), "--jobs", "2"]
    assert main([*words, "--json", str(lines)]) == 0
    (row,) = [json.loads(line) for line in lines.read_text().splitlines()]
    assert {claim["id"]: claim["verdict"] for claim in row["claims"]} == {
        "consensus/experiment-7.5": "INCONCLUSIVE",  # it is about GPT-2 XL
        "consensus/experiment-7.5/story-generator": "SUPPORTED",
        "consensus/experiment-7.5/sorting-network": "SUPPORTED",
        "consensus/experiment-7.5/attention-only": "SUPPORTED",
    }
    assert not (tmp_path / "elsewhere").exists()


def test_an_experiment_is_run_and_reported_from_the_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.experiments.consensus.simulations.EXPERIMENTS", (replace(ENSEMBLE, quick=SMALL),))
    assert main(["experiment", "7.4", "--out", str(tmp_path), "--seeds", "2"]) == 0
    said = capsys.readouterr().out
    assert said.count("40 of 40 members finished at t = 40") == 2
    assert main(["experiment", "7.5", "--out", str(tmp_path)]) == 2
    assert "did you mean `7.4`?" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["experiment", "7.4", "--out", str(tmp_path / "file")]) == 2
    assert "be a folder that can be written" in capsys.readouterr().err


def test_missing_data_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("DYNSIM_DATA", raising=False)
    with pytest.raises(UnavailableError, match=r"name the folder that holds `x.npz` \(`--data` or DYNSIM_DATA\)"):
        data_file("x.npz")
    with pytest.raises(UnavailableError, match="name a folder that holds `x.npz`, but"):
        data_file("x.npz", tmp_path)
    assert main(["experiment", "7.5", "--out", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "`stories260k.npz`" in capsys.readouterr().err


def test_biases_are_zero_in_redrawn_weights_whatever_their_shape(letters):
    network = load_transformer(data_file("letters.npz"))
    block = redrawn(network, random_key(0, "draw"), 0.5).blocks[0]
    attention, mlp = block.attention, block.feedforward
    zeros = (attention.query_bias, attention.key_bias, attention.value_bias, attention.output_bias)
    zeros += (mlp.inner_bias, mlp.outer_bias, block.attention_norm.bias, block.feedforward_norm.bias)
    assert not any(bool(jnp.any(bias)) for bias in zeros)
    assert all(bool(jnp.all(norm.gain == 1)) for norm in (block.attention_norm, block.feedforward_norm))
    drawn = (attention.query, attention.key, attention.value, attention.output, mlp.inner, mlp.outer)
    sizes = np.concatenate([np.ravel(W) for W in drawn])
    assert abs(sizes.std() - 0.5) < 0.1


def test_every_experiment_has_a_name_of_its_own_and_says_what_it_does():
    names = [experiment.name for experiment in experiments()]
    assert len(set(names)) == len(names)
    assert all(len(experiment.text) > 20 for experiment in experiments())


def test_the_effective_rank_of_known_spectra():
    assert float(effective_rank(jnp.eye(4))) == pytest.approx(4.0)
    assert float(effective_rank(jnp.outer(jnp.arange(1.0, 6), jnp.ones(3)))) == pytest.approx(1.0)
    p = np.array([4.0, 1.0]) / 5
    assert float(effective_rank(jnp.diag(jnp.array([2.0, 1.0, 0.0])))) == pytest.approx(np.exp(-np.sum(p * np.log(p))))


def test_the_measures_of_antipodal_tokens():
    x = jnp.array([[2.0, 0.0], [-3.0, 0.0]])
    np.testing.assert_allclose(measures(x), [0.0, -1.0, 1.0], atol=1e-12)


@pytest.mark.slow
def test_redrawn_weights_are_gaussian_with_plain_norms():
    network = load_transformer(data_or_skip("stories260k.npz"))
    drawn = redrawn(network, random_key(0, "draw"), 0.02)
    sizes = np.concatenate([np.ravel(a) for a in jax.tree.leaves(drawn.blocks) if a.ndim > 1])
    assert abs(sizes.std() - 0.02) < 2e-4
    assert all(bool(jnp.all(block.attention_norm.gain == 1)) for block in drawn.blocks)
    np.testing.assert_array_equal(drawn.token_embedding, network.token_embedding)


def test_passes_are_the_networks_own_and_redrawn_ones_are_not(letters):
    network = load_transformer(data_file(letters.quick.network))
    x = network.embed(np.array([2, 0, 1, 0, 0]))  # as long as the letters of the experiment
    found = pass_measures(network, x, jax.random.split(random_key(0, "passes"), 2), True, None)
    np.testing.assert_allclose(found[2], measures(network.apply_layers(x, passes=2)), atol=1e-10)
    new = pass_measures(network, x, jax.random.split(random_key(0, "passes"), 2), True, 0.5)
    assert not np.allclose(new[2], found[2])
