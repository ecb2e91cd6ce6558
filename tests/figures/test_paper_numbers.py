"""Numbers of the papers' figures, computed beside from matrix exponentials, powers, records and events by hand."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.linalg import expm

from analysis.experiments import Record
from analysis.experiments.growing.outcomes import GrowthOutcome
from analysis.tokens.noise import critical_amplitude, stationary_polarisation
from dynsim.keys import random_key
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from figures.consensus import noise
from figures.growing import growth, synthetic
from figures.multirate import chains
from figures.prototypes import experiments

pytestmark = pytest.mark.untraced  # the records are replaced


class Heads(NamedTuple):
    cubes: Any
    prototypes: Any


def recorded(monkeypatch, module, arrays, **config):
    made = Record("made", "quick", 0, config, {name: np.asarray(array) for name, array in arrays.items()})
    monkeypatch.setattr(module, "record", lambda experiment, size: made)


def test_solutions_of_chains_are_exponentials_and_orbits_powers():
    Q, p = chains.CHAINS["cycle"], np.array([0.5, 0.3, 0.2])
    ts = np.linspace(0.0, 1.5, 4)
    np.testing.assert_allclose(chains._path(Q, p, 1.5, 4), [expm(t * np.asarray(Q)) @ p for t in ts], atol=1e-12)
    step = np.eye(3) + 0.25 * np.asarray(Q)  # every state is left at rate 1
    orbit = [np.linalg.matrix_power(step, k) @ p for k in range(4)]
    np.testing.assert_allclose(chains._orbit(Q, p, 0.25, 3), orbit, atol=1e-14)


def test_entropies_fall_to_the_stationary_law_at_the_rate_of_their_dissipation():
    found = chains.entropy_figure.compute(random_key(0, "entropy"))
    Q = np.asarray(chains.random_generator(random_key(0, "entropy"), 6))
    values, vectors = np.linalg.eig(Q)
    order = np.argsort(-values.real)
    gap, law = -float(values[order[1]].real), np.real(vectors[:, order[0]] / np.sum(vectors[:, order[0]]))
    assert float(found["gap"]) == pytest.approx(gap, rel=1e-8)
    np.testing.assert_allclose(found["ts"], np.linspace(0.0, 6 / gap, 601), rtol=1e-8)
    entropy = lambda p, q: np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / q), 0), axis=-1)
    at = [0, 40, 300]
    moved = np.stack([expm(t * Q) for t in found["ts"][at]])
    for k in range(4):
        np.testing.assert_allclose(found["entropies"][k, at], entropy(np.abs(moved[:, :, k]), law), rtol=1e-6)
    assert len(found["entropies"]) == 4
    mixed = np.stack([expm(found["ts"][40] * Q) @ (0.9 * np.eye(6)[0] + 0.1 * law)])
    rate = -np.sum((Q @ mixed[0]) * np.log(mixed[0] / law))
    assert found["dissipation"][40] == pytest.approx(rate, rel=1e-6)
    np.testing.assert_allclose(found["differences"][5:-5], found["dissipation"][5:-5], rtol=2e-3)  # 601 times
    cycle = np.asarray(chains.CHAINS["cycle"])
    for share in chains.DECAYS:
        step, p = np.eye(3) + share * cycle, chains.ORBIT_START
        orbit = np.stack([np.linalg.matrix_power(step, k) @ p for k in range(25)])
        np.testing.assert_allclose(found[f"orbit {share}"], entropy(orbit, np.full(3, 1 / 3)), atol=1e-12)


def test_noise_is_shown_on_finer_amplitudes_and_beyond_the_values_of_beta(monkeypatch):
    betas, amplitudes = np.array([1.0, 2.0, 4.0, 5.0, 8.0, 9.0, 16.0]), np.array([0.2, 0.5, 1.0])
    recorded(
        monkeypatch, noise, {"betas": betas, "amplitudes": amplitudes, "order_2": np.arange(42.0)}, tokens=7, seeds=3
    )
    monkeypatch.setattr(noise, "FINE", 5)
    found = noise.noise_figure.compute(None)
    assert found["shown"].tolist() == [0, 2, 4, 6]
    np.testing.assert_allclose(found["fine"], [0.2, 0.4, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(found["dense"], 2 / 3 * 36 ** (np.arange(5) / 4))
    np.testing.assert_allclose(found["mean_field"], stationary_polarisation(betas[[0, 2, 4, 6]], found["fine"]))
    np.testing.assert_allclose(found["critical"], [critical_amplitude(beta) for beta in found["dense"]])
    assert found["order"].tolist() == list(range(42))
    assert str(found["run"]) == "quick run: 7 tokens, 3 seeds; not the paper's size"


def test_events_of_heads_are_told_by_what_they_change():
    state = lambda cubes, prototypes: Heads(np.array(cubes), np.array(prototypes))
    begin, bank = [1.0, 1.0, 1.0, 1.0], np.zeros((4, 2, 1))
    moved = bank.copy()
    moved[3, 1] = 1.0
    jumps = (
        Jump(0, "grow", 1.0, state(begin, bank), state([1, 2, 1, 1], moved)),
        Jump(1, "clip", 3.0, state(begin, bank), state([1.0, 0.5, 1.0, 1.0], moved)),
        Jump(2, "prune", 5.0, state(begin, bank), state([0.5, 1.0, 1.0, 1.0], moved)),
    )
    path = HybridTrajectory((), jumps, Ending.FINISHED)
    never = 2 * growth.END
    assert growth._times(path, "clip").tolist() == [never, 3.0, never, never]
    assert growth._times(path, "prune").tolist() == [never, never, never, 5.0]


def test_levels_forces_and_coverages_of_two_readings_are_shares(monkeypatch):
    arrays: dict = {"spectrum": np.array([2.0, 1.0, 0.5]), "threshold": np.array(0.1)}
    for k, name in enumerate(("reference", synthetic.SHOWN)):
        seed = {what: np.full(2, np.nan) for what in GrowthOutcome._fields}
        seed |= {
            "levels": np.array([2.0, 1.0 - k / 2]),
            "temperatures": np.array([1.0, 2.0]),
            "forces": np.array([3.0, 1 + k]),
        }
        seed["fan"] = np.arange(6.0).reshape(3, 2) + k
        arrays |= {f"{name}: {what}": np.stack([value, value + 7]) for what, value in seed.items()}
        arrays[f"{name}: ts"] = np.arange(3.0) * (k + 1)
    recorded(monkeypatch, synthetic, arrays, seeds=1, setting={"least_temperature": 0.05})
    found = synthetic.synthetic_figure.compute(None)
    assert str(found["run"]) == "quick run: 1 seed; not the paper's size"
    assert (float(found["least"]), float(found["threshold"]), found["values"].tolist()) == (0.05, 0.1, [2.0, 1.0, 0.5])
    shown = synthetic.SHOWN
    np.testing.assert_allclose(found[f"{shown}: forces"], [0.6, 0.4])
    np.testing.assert_allclose(found[f"{shown}: bound"], np.array([2.0, 0.125]) / 2.125)
    square = 2 * (4 + 1 + 0.25)
    np.testing.assert_allclose(found["reference: 2 lambda^2"], np.array([8.0, 10.0]) / square)
    np.testing.assert_allclose(found["reference: as printed"], np.array([2.0, 3.0]) / square)
    assert found[f"{shown}: fan"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found[f"{shown}: ts"].tolist() == [0, 2, 4]
    recorded(monkeypatch, synthetic, arrays, seeds=2, setting={"least_temperature": 0.05})
    assert str(synthetic.synthetic_figure.compute(None)["run"]).startswith("quick run: 2 seeds;")


def test_learning_rates_are_shown_by_mode_at_the_kept_epochs(monkeypatch):
    arrays: dict = {}
    for k, mode in enumerate(("full", "frozen", "batches")):
        arrays |= {f"{mode}: {what}": np.arange(6.0).reshape(1, 2, 3) + 10 * j + 100 * k
                   for j, what in enumerate(("eps", "V/N", "spread"))}  # fmt: skip
        arrays[f"{mode}: S"] = np.arange(10.0).reshape(1, 2, 5) + k
        arrays |= {
            f"{mode}: scores": np.arange(18.0).reshape(1, 2, 3, 3) + k,
            f"{mode}: chance": np.arange(6.0).reshape(1, 2, 3) + k,
        }
    variants = [{"name": "batches", "seeds": 5}, {"name": "full", "seeds": 1}]
    recorded(monkeypatch, experiments, arrays, variants=variants, epochs=4, every=2)
    found = experiments.ablation_figure.compute(None)
    assert str(found["run"]) == "quick run: 4 epochs, 1 seed; not the paper's size"
    assert found["frozen: S"].tolist() == [[[1, 3, 5], [6, 8, 10]]]
    assert found["full: ACC"].tolist() == [[[0, 3, 6], [9, 12, 15]]]
    assert found["frozen: chance"].tolist() == [[3, 6]]
    assert found["frozen: spread"].tolist() == (np.arange(6.0).reshape(1, 2, 3) + 120).tolist()
    variants[1]["seeds"] = 2
    recorded(monkeypatch, experiments, arrays, variants=variants, epochs=4, every=2)
    assert str(experiments.ablation_figure.compute(None)["run"]).startswith("quick run: 4 epochs, 2 seeds;")
