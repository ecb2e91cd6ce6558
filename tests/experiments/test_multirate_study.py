"""The study of MULTIRATE, Section 9: what is trained, on which text, what is kept, and its summary, by hand."""

from dataclasses import asdict, replace

import equinox as eqx
import jax
import numpy as np

from analysis.experiments.multirate import training_study
from analysis.experiments.multirate.training_study import PAPER, NetworkVariant, summarise_study, trained_network
from dynsim.networks import training
from dynsim.networks.multirate.config import MultirateConfig, dense, layer_equivalent_cost
from dynsim.networks.multirate.flops import layer_equivalents
from dynsim.networks.multirate.network import with_gates
from tests.networks.test_multirate_training import KEY, SMALL, STUDY, bits, start


class Bar:
    """A bar that shows nothing."""

    def update(self, done):
        """Do nothing."""


def leaves(model):
    return jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))


def test_a_run_is_trained_by_its_configuration_and_ends_with_the_whole_held_out_text(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(bytes(range(200)))
    (tmp_path / "b.txt").write_bytes(bytes(range(50, 150)))
    monkeypatch.setenv("DYNSIM_DATA", str(tmp_path))
    config = replace(STUDY, steps=5, train="a.txt", validation="b.txt", final=None, weight_decay=0.3)
    variant = NetworkVariant("frozen", SMALL, held=True, residual_weight=0.7)
    data = training_study._training_data(config)
    assert data.evaluated[:, 0].tolist() == [50, 80, 110]  # three of the nine windows of the held-out text, evenly
    assert data.held_out[:, 0].tolist() == [50 + 10 * k for k in range(9)]
    assert data.batches.text.tolist() == list(range(200))
    assert config.points == [0, 2, 4, 5]
    given, last = {}, with_gates(start(), 0.25)

    def trained(model, batches, key, *, callback, **options):
        given.update(options, model=model)
        for done in config.points:
            callback(done, last)
        return training.Trained(last, np.arange(5.0))

    looked = lambda model, ids: float(np.sum(model.gates)) * len(ids)  # the gates of `last`, and how many windows
    monkeypatch.setattr(training_study, "train_multirate", trained)
    monkeypatch.setattr(training_study, "text_loss", looked)
    found = training_study._run(config, variant, data, KEY, tmp_path / "run", Bar())
    numbers = {"num_steps": 5, "residual_weight": 0.7, "learning_rate": 1e-2, "weight_decay": 0.3, "every": 2}
    assert {name: given[name] for name in numbers} == numbers
    assert not np.any(given["model"].gates)
    assert all(bool(part.gate_frozen) for part in given["model"].rounds)
    gates = float(np.sum(last.gates))
    assert (found.final, found.validation.tolist()) == (9 * gates, [3 * gates] * 4)
    np.testing.assert_array_equal(found.training, np.arange(5.0))
    kept = leaves(last)
    assert all(np.array_equal(a, b) for a, b in zip(found.weights, kept, strict=True))


def test_a_network_of_a_record_has_its_gates_held_and_its_weights():
    arrays = {f"one: weights {k}": np.asarray(leaf) for k, leaf in enumerate(leaves(start()))}
    config = asdict(replace(STUDY, variants=(NetworkVariant("one", SMALL),)))
    assert bits(trained_network(arrays, config, "one")) == bits(start())
    held = trained_network(arrays, asdict(replace(STUDY, variants=(NetworkVariant("one", SMALL, held=True),))), "one")
    assert all(bool(r.gate_frozen) for r in held.rounds)


def test_the_text_of_a_study_is_that_of_its_numbers():
    arrays = {
        "a: parameters": np.array(1200), "a: layer-equivalent cost": np.array(2.5),
        "a: counted layer equivalents": np.array(2.625), "a: final validation loss": np.array([2.0, 2.5, 3.3]),
        "a: gates": np.array([[[0.0], [0.1]], [[0.0], [-0.2]], [[0.0], [0.3]]]),
        "b: parameters": np.array(800), "b: layer-equivalent cost": np.array(2.0),
        "b: counted layer equivalents": np.array(2.0), "b: final validation loss": np.array([1.9, 2.6, 2.9]),
        "b: gates": np.zeros((3, 2, 0)),
    }  # fmt: skip
    assert summarise_study(arrays).splitlines() == [
        "a: 1,200 parameters, cost 2.500 layers by (20), 2.625 by counted products",
        "  held-out loss 2.6000 (from 2.0000 to 3.3000)",
        "  gates at the end: +0.1000, -0.2000, +0.3000",
        "b: 800 parameters, cost 2.000 layers by (20), 2.000 by counted products",
        "  held-out loss 2.4667 (from 1.9000 to 2.9000)",
        "a - b: +0.13333 +- 0.14530 nats per byte (standard error, 3 paired seeds)",  # of .1, -.1 and .4
    ]


def test_costs_are_those_of_each_network():
    sizes = [training_study._size(STUDY, variant) for variant in STUDY.variants]
    costs = [float(size["layer-equivalent cost"]) for size in sizes]
    assert costs == [layer_equivalent_cost(variant.network) for variant in STUDY.variants]
    layers = STUDY.variants[2].network.layers_before
    assert (costs[2], float(sizes[2]["counted layer equivalents"])) == (layers, layers)  # of a dense network
    counted = float(sizes[0]["counted layer equivalents"])
    assert counted == layer_equivalents(start(), STUDY.length) != layer_equivalents(start(), 2 * STUDY.length)
    assert int(sizes[0]["parameters"]) == sum(leaf.size for leaf in leaves(start()))


def test_the_networks_of_section_9_are_what_their_names_say():
    coupled, frozen, equal, four = PAPER.variants
    assert (coupled.held, frozen.held) == (False, True)
    assert (equal.network, four.network) == (dense(MultirateConfig()), dense(MultirateConfig(), 4))
    assert four.network.layers_before == 4
    assert PAPER.train != PAPER.validation
