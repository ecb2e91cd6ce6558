"""Numbers of figures from made-up records: which parts of a record are kept, and what is computed from them."""

import numpy as np
import pytest

from analysis.experiments.growing.outcomes import GrowthOutcome
from analysis.experiments.growing.synthetic import SHOWN
from analysis.tokens.noise import critical_amplitude, stationary_polarisation
from figures.consensus import noise, trained_networks
from figures.growing import synthetic
from figures.hardmax import reviews
from figures.prototypes import experiments, readouts
from tests.figures.test_record_figures import recorded


def test_curves_of_the_mean_field_beside_noise_are_those_of_some_betas(monkeypatch):
    betas, amplitudes = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), np.array([0.25, 0.5, 2.0])
    arrays = {"betas": betas, "amplitudes": amplitudes, "order_2": np.arange(6.0 * 3 * 4 * 2).reshape(6, 3, 4, 2)}
    monkeypatch.setattr(noise, "FINE", 9)
    recorded(monkeypatch, noise, arrays, tokens=9, seeds=4)
    found = noise.noise_figure.compute(None)
    assert str(found["run"]) == "quick run: 9 tokens, 4 seeds; not the paper's size"
    assert found["shown"].tolist() == [0, 2, 3, 5]
    np.testing.assert_allclose(found["fine"], np.linspace(0.25, 2.0, noise.FINE))
    np.testing.assert_allclose(found["mean_field"], stationary_polarisation(betas[[0, 2, 3, 5]], found["fine"]))
    np.testing.assert_allclose(found["dense"][[0, -1]], [1 / 1.5, 48.0])
    np.testing.assert_allclose(np.diff(np.log(found["dense"])), np.log(72.0) / (noise.FINE - 1))
    assert found["critical"][7] == critical_amplitude(found["dense"][7])
    np.testing.assert_array_equal(found["order"], arrays["order_2"])
    recorded(monkeypatch, noise, arrays, "paper", tokens=9, seeds=4)
    assert str(noise.noise_figure.compute_paper_size(None)["run"]) == ""


@pytest.mark.parametrize(("seeds", "said"), [(1, "1 seed"), (3, "3 seeds")])
def test_growing_heads_are_those_of_the_first_seed_with_coverages_and_shares_of_forces(monkeypatch, seeds, said):
    values = np.array([2.0, 1.0, 0.5])
    arrays = {"spectrum": values, "threshold": 0.25}
    for k, name in enumerate(("reference", SHOWN)):
        parts = {what: np.ones((seeds, 2)) for what in GrowthOutcome._fields}
        parts |= {"levels": np.array([[2.0, 1.0]] * seeds) - 0.25 * k, "temperatures": np.array([[1.0, 0.5]] * seeds)}
        parts |= {"forces": np.array([[3.0, 1.0 + k]] * seeds), "fan": np.arange(4.0 * seeds).reshape(seeds, 2, 2) + k}
        arrays |= {f"{name}: {what}": part for what, part in parts.items()} | {f"{name}: ts": np.arange(2.0) + k}
    recorded(monkeypatch, synthetic, arrays, seeds=seeds, setting={"least_temperature": 0.125})
    found = synthetic.synthetic_figure.compute(None)
    assert str(found["run"]) == f"quick run: {said}; not the paper's size"
    assert (float(found["least"]), float(found["threshold"]), found["values"].tolist()) == (
        0.125,
        0.25,
        [2.0, 1.0, 0.5],
    )
    square = 2 * np.sum(values**2)
    for k, name in enumerate(("reference", SHOWN)):
        levels = np.array([2.0, 1.0]) - 0.25 * k
        np.testing.assert_allclose(found[f"{name}: forces"], np.array([3.0, 1.0 + k]) / (4.0 + k))
        bound = levels / np.array([1.0, 0.25])
        np.testing.assert_allclose(found[f"{name}: bound"], bound / bound.sum())
        np.testing.assert_allclose(found[f"{name}: as printed"], np.cumsum(levels) / square)
        np.testing.assert_allclose(found[f"{name}: 2 lambda^2"], 2 * np.cumsum(levels**2) / square)
        np.testing.assert_array_equal(found[f"{name}: fan"], [[k, k + 1], [k + 2, k + 3]])
        np.testing.assert_array_equal(found[f"{name}: ts"], [k, k + 1])
        np.testing.assert_array_equal(found[f"{name}: levels"], levels)


@pytest.mark.parametrize(("seeds", "said"), [(1, "1 seed"), (2, "2 seeds")])
def test_ratios_of_rates_have_the_separation_of_whole_epochs(monkeypatch, seeds, said):
    arrays = {}
    for k, mode in enumerate(experiments.MODES):
        row = np.arange(2.0 * seeds * 7).reshape(2, seeds, 7) + 100 * k
        scores = np.arange(2.0 * seeds * 3 * 3).reshape(2, seeds, 3, 3) + k
        arrays |= {f"{mode}: eps": [0.1, 1.0], f"{mode}: V/N": row[..., :3], f"{mode}: spread": row[..., :3] + 1}
        arrays |= {
            f"{mode}: S": row,
            f"{mode}: scores": scores,
            f"{mode}: chance": np.arange(6.0 * seeds).reshape(2, seeds, 3),
        }
    variants = [{"name": "other", "seeds": 9}, {"name": "full", "seeds": seeds}]
    recorded(monkeypatch, experiments, arrays, epochs=3, every=3, variants=variants)
    found = experiments.ablation_figure.compute(None)
    assert str(found["run"]) == f"quick run: 3 epochs, {said}; not the paper's size"
    for mode in experiments.MODES:
        np.testing.assert_array_equal(found[f"{mode}: S"], arrays[f"{mode}: S"][..., [0, 3, 6]])
        np.testing.assert_array_equal(found[f"{mode}: ACC"], arrays[f"{mode}: scores"][..., 0])
        np.testing.assert_array_equal(found[f"{mode}: chance"], arrays[f"{mode}: chance"][..., 2])
        for what in ("eps", "V/N", "spread"):
            np.testing.assert_array_equal(found[f"{mode}: {what}"], arrays[f"{mode}: {what}"])


def test_a_map_of_documents_is_that_of_the_first_training(monkeypatch):
    measures = ("variance", "separation", "entropy", "scores", "chance")
    arrays = {f"{name}: {what}": np.full(2, k + j) for k, name in enumerate("ab") for j, what in enumerate(measures)}
    for k, name in enumerate("ab"):
        parts = {"": np.full((3, 2), k), " assignments": np.arange(3) + k, " labels": np.arange(3) - k}
        arrays |= {f"{name}: mapped{what}": part for what, part in parts.items()}
    recorded(monkeypatch, readouts, arrays, epochs=2, seeds=5)
    monkeypatch.setattr(readouts, "neighbour_map", lambda rows: rows + 7)
    found = readouts.levels_figure.compute(None)
    assert (found["map"].tolist(), found["assignments"].tolist(), found["labels"].tolist()) == (
        [[7, 7]] * 3, [0, 1, 2], [0, 1, 2],
    )  # fmt: skip
    assert {f"{name}: {what}" for name in "ab" for what in measures} <= found.keys()
    assert str(found["run"]) == "quick run: 2 epochs, 5 seeds; not the paper's size"


def test_the_table_of_leaders_has_a_row_for_each_dimension(monkeypatch):
    recorded(monkeypatch, reviews, {"labels": np.zeros(4), "training labels": np.zeros(6)}, epochs=3)
    monkeypatch.setattr(reviews, "table_1", lambda arrays, name, count: np.array([int(name[2:]), len(count), 0, 0, 1]))
    monkeypatch.setattr(reviews, "_trained", lambda found: ((6, "reviews"),))
    monkeypatch.setattr(reviews, "_tested", lambda found: (4, "tests"))
    found = reviews.table_figure.compute(None)
    assert found["dimensions"].tolist() == [2, 4, 8, 16]
    assert found["by value"][:, :2].tolist() == [[d, len("leaders by value")] for d in (2, 4, 8, 16)]
    assert found["by index"][:, :2].tolist() == [[d, len("leaders by index")] for d in (2, 4, 8, 16)]
    assert found["printed"].shape == (4, 5)
    assert str(found["run"]) == "quick run: 6 reviews, 4 tests; not the paper's size"


def test_the_size_of_a_trained_network_is_told():
    found = str(trained_networks._network_size((5, 8), "small")["run"])
    assert found == "network small: 5 layers of 8 heads; the paper's is GPT-2 XL"
