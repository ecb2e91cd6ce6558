"""Figures of experiments from made-up records: which numbers of a record are shown, and where."""

import numpy as np
import pytest

from analysis.experiments import Record
from figures import panels
from figures.consensus import simulations, trained_networks
from figures.growing import sentences
from figures.hardmax import geometry, reviews
from figures.multirate import network
from figures.prototypes import readouts
from figures.style import COLOURS, colour, settings


@pytest.fixture(autouse=True)
def styled(monkeypatch):
    """Names are put at their points, since finding free places for them takes a second."""
    at_points = lambda ax, points, names, **how: [ax.text(*x, name) for x, name in zip(points, names, strict=True)]
    monkeypatch.setattr(panels, "place_names", at_points)
    with settings():
        yield


def recorded(monkeypatch, module, arrays, size="quick", **config):
    made = Record("made", size, 0, config, {name: np.asarray(array) for name, array in arrays.items()})
    monkeypatch.setattr(module, "record", lambda experiment, size: made)


def lines(ax):
    """The points of the lines of a panel, those at two ends of a band not included."""
    return [np.asarray(line.get_xydata(), float) for line in ax.lines]


def bands(ax):
    """The least and largest height of each band at each of its places."""
    found = []
    for band in ax.collections:
        corners = band.get_paths()[0].vertices
        places = np.unique(corners[:, 0])
        rows = [corners[corners[:, 0] == x, 1] for x in places]
        found.append(np.array([[x, row.min(), row.max()] for x, row in zip(places, rows, strict=True)]))
    return found


def test_conditions_of_matrices_are_those_of_their_symmetric_parts():
    M = np.array([[[[3.0, 1.0], [0.0, -4.0]], [[2.0, 0.0], [0.0, 5.0]]]])  # one layer of two heads
    found = trained_networks._conditions(M)
    values = np.linalg.eigvalsh([[3.0, 0.5], [0.5, -4.0]])
    np.testing.assert_allclose(found["asymmetry"], [[np.sqrt(2) / np.sqrt(36 + 64 + 2), 0.0]])
    np.testing.assert_allclose(found["least"], [[-1.0, 0.4]])
    np.testing.assert_allclose(found["greatest"], [[values[1] / -values[0], 1.0]])


def test_conditions_are_drawn_by_layer_with_the_median_of_the_heads():
    kinds = ("P asymmetry", "U asymmetry", "P least", "U greatest")
    data = {kind: np.array([[0.1, 0.2, 0.6], [0.3, 0.5, 0.4]]) + k / 10 for k, kind in enumerate(kinds)}
    drawn = trained_networks.spectra_figure.draw({**data, "run": np.array("")})
    for ax, kind in zip(drawn.axes, kinds, strict=True):
        marks, bar, others, second, zero = lines(ax)
        np.testing.assert_allclose(marks, np.c_[[0.7, 1.0, 1.3], data[kind][0]])
        np.testing.assert_allclose(others, np.c_[[1.7, 2.0, 2.3], data[kind][1]])
        np.testing.assert_allclose([bar[:, 1], second[:, 1]], np.median(data[kind], axis=1)[:, None] * [1, 1])
        np.testing.assert_allclose([bar[:, 0], second[:, 0]], [[0.64, 1.36], [1.64, 2.36]])
        assert np.all(zero[:, 1] == 0)
        assert kind[0] in ax.get_ylabel()
        assert kind[2:] in ax.get_ylabel()


def test_misalignments_and_cosines_are_those_of_the_named_networks(monkeypatch):
    columns = {name: np.arange(12.0).reshape(3, 4) + 20 * k for k, name in enumerate(("random", "trained"))}
    recorded(monkeypatch, trained_networks, {"passes": [0, 1, 5], **columns}, passes=5, network="folder/small.npz")
    monkeypatch.setattr(trained_networks, "MEASURES", ("speed", "least cosine", "E", "norm"))
    data = trained_networks.passes_figure.compute(None)
    np.testing.assert_array_equal(data["E"], [[22, 26, 30], [2, 6, 10]])
    np.testing.assert_array_equal(data["cosine"], [[21, 25, 29], [1, 5, 9]])
    assert data["names"].tolist() == ["trained", "random"]
    assert str(data["run"]) == "quick run: 5 passes through small; not the paper's size"
    left, right = trained_networks.passes_figure.draw(data).axes
    for ax, name, label in ((left, "E", "$E$"), (right, "cosine", "least cosine")):
        np.testing.assert_array_equal(lines(ax), [np.c_[[0, 1, 5], row] for row in data[name]])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("passes", label)
    recorded(monkeypatch, simulations, {"ts": [0, 1], "E": [[1, 2]]}, "paper", tokens=7, dimension=5, members=3)
    found = simulations.ensemble_figure.compute_paper_size(None)
    assert (found["tokens"].tolist(), str(found["run"])) == ([7, 5], "")
    recorded(monkeypatch, simulations, {"ts": [0, 1], "E": [[1, 2]]}, tokens=7, dimension=5, members=3)
    assert str(simulations.ensemble_figure.compute(None)["run"]).startswith("quick run: 3 solutions, 5 dimensions;")


def test_points_are_spread_by_taking_the_farthest():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [2.2, 0.0], [0.0, 3.0]])
    assert simulations._spread(points, 4).tolist() == [0, 2, 4, 3]


def test_losses_and_words_of_reviews_are_drawn_at_their_epochs_and_places(monkeypatch):
    arrays = {"training labels": np.zeros(6), "labels": np.zeros(4)}
    for d in (2, 4):
        arrays |= {f"d={d}: softmax loss": np.array([0.7, 0.5, 0.4, 0.3]) / d}
        arrays |= {f"d={d}: hardmax loss": np.array([0.9, np.nan, np.nan, 0.2]) / d}
    for name in ("d=2", "published"):
        arrays |= {f"{name}: leader words": [f"{name[0]}{k}" for k in range(20)]}
        arrays |= {f"{name}: leader word counts": np.arange(40, 20, -1) + len(name)}
    recorded(monkeypatch, reviews, arrays, epochs=3)
    losses = reviews.losses_figure.compute(None)
    assert str(losses["run"]) == "quick run: 3 epochs, 6 training reviews; not the paper's size"
    (ax,) = reviews.losses_figure.draw(losses).axes
    soft, hard = np.c_[np.arange(4), [0.7, 0.5, 0.4, 0.3]], np.array([[0, 0.9], [3, 0.2]])
    for drawn, full in zip(lines(ax), (soft, hard, soft, hard), strict=True):
        assert drawn.shape == full.shape
    for k, d in enumerate((2, 4)):
        np.testing.assert_allclose(lines(ax)[2 * k], soft / [1, d])
        np.testing.assert_allclose(lines(ax)[2 * k + 1], hard / [1, d])
    assert ax.get_ylim() == pytest.approx((0, 1.1 * 0.45))
    words = reviews.words_figure.compute(None)
    axes = reviews.words_figure.draw(words).axes
    assert str(words["run"]).startswith("quick run: 3 epochs, 6 training reviews, 4 test reviews;")
    for ax, name in zip(axes, ("d=2", "published"), strict=True):
        assert [bar.get_width() for bar in ax.patches] == [40 + len(name) - k for k in range(15)]
        assert [text.get_text() for text in ax.get_yticklabels()] == [f"{name[0]}{k}" for k in range(15)]
        assert ax.yaxis_inverted()
        assert ax.get_xlim() == pytest.approx((0, 1.05 * (40 + len(name))))


def test_a_table_of_leaders_is_drawn_with_its_means_deviations_and_extremes():
    rows = lambda shift: np.array([[5.0, 1.0, 2.0, 9.0, 0.9], [7.0, 2.0, 1.0, 12.0, 0.8]]) + shift
    data = {"by value": rows(0.0), "by index": rows(0.01), "printed": rows(0.02), "dimensions": np.array([2, 4])}
    left, right = reviews.table_figure.draw({**data, "run": np.array("")}).axes
    for k, (name, shift) in enumerate((("by value", -0.2), ("by index", 0.0), ("printed", 0.2))):
        mean, deviation, least, most, share = data[name].T
        places = np.arange(2) + shift
        np.testing.assert_allclose(lines(right)[k], np.c_[places, share])
        ends = [path.vertices for path in left.collections[2 * k].get_paths()]
        np.testing.assert_allclose(ends, [np.c_[[x, x], [a, b]] for x, a, b in zip(places, least, most, strict=True)])
        bars = left.containers[k]
        np.testing.assert_allclose(bars[0].get_xydata(), np.c_[places, mean])
        caps = np.sort([cap.get_ydata() for cap in bars[1]], axis=0)
        np.testing.assert_allclose(caps, [mean - deviation, mean + deviation])
        assert bars.get_label() == name
    assert [text.get_text() for text in right.get_xticklabels()] == ["2", "4"]


def test_equal_words_of_a_review_are_shown_once_and_leaders_far_from_the_hyperplane_are_named(monkeypatch):
    start = np.array([[3.0, 0.0], [0.5, 1.0], [3.0, 0.0], [-1.0, -2.0]])
    states = np.stack([start, start + 9.0, start * [0.5, 2.0]])
    arrays = {"labels": np.zeros(3), "training labels": np.zeros(5)}
    for name, alpha in (("d=2", 0.5), ("published", 1.0)):
        arrays |= {f"{name}: decoder": [1.0, 2.0, 0.25], f"{name}: alpha": alpha}
        for kind, sign in (("positive", 1), ("negative", -1)):
            arrays |= {f"{name}: {kind} review states": sign * states}
            arrays |= {f"{name}: {kind} review words": ["good", "film", "good", "dull"]}
            arrays |= {f"{name}: {kind} review leading": [0, -1, 3, 2]}
    recorded(monkeypatch, reviews, arrays, epochs=2)
    data = reviews.reviews_figure.compute(None)
    assert data["positive words"].tolist() == ["good", "film", "dull"]
    assert data["positive leads"].tolist() == [True, False, True]
    np.testing.assert_allclose(data["positive states"], states[[0, 2]][:, [0, 1, 3]])
    np.testing.assert_allclose(data["negative means"], -states[[0, 2]].mean(axis=1))
    np.testing.assert_array_equal(data["positive followed"][0, :, 0], [0, 0, 2])  # the largest product with each
    assert (data["weight"].tolist(), float(data["bias"])) == ([1.0, 2.0], 0.25)
    assert str(data["run"]) == "quick run: 2 epochs, 5 training reviews, 3 test reviews; not the paper's size"
    assert "epochs" not in str(reviews.published_figure.compute(None)["run"])
    assert reviews._tagged(data, "positive", 0).tolist() == [2, 0]  # |-1 - 4 + 1/4| and |3 + 1/4|
    assert reviews._tagged({**data, "bias": np.array(2.0)}, "positive", 0).tolist() == [0, 2]
    axes = reviews.reviews_figure.draw(data).axes
    for ax, kind, layer in zip(axes, ("positive",) * 2 + ("negative",) * 2, (0, 1, 0, 1), strict=True):
        (mean,) = [line for line in ax.lines if line.get_marker() == "^"]
        np.testing.assert_allclose(mean.get_xydata(), [data[f"{kind} means"][layer]])
        (plane,) = [line for line in ax.lines if line.get_linestyle() == "--"]
        np.testing.assert_allclose(plane.get_xydata() @ [1.0, 2.0] + 0.25, 0.0, atol=1e-9)
        named = [text.get_text() for text in ax.texts]
        assert {"good", "dull"} <= set(named)
        assert "film" not in named


def test_the_corners_of_a_hull_are_in_order_and_followed_tokens_have_numbers_of_colours():
    corners = geometry.hull_vertices(np.array([[0.0, 0], [2, 2], [1, 1], [2, 0], [0, 2]]))
    assert corners.tolist() == [[0, 0], [2, 0], [2, 2], [0, 2]]
    assert geometry.colour_numbers(np.array([[[4, -1], [4, 2]], [[2, -2], [7, 2]]])) == {2: 0, 4: 1, 7: 2}
    assert geometry.token_names(3) == ["$z_1$", "$z_2$", "$z_3$"]


def test_removals_are_drawn_from_their_energies_changes_and_forces(monkeypatch):
    arrays = {}
    for k, name in enumerate(("trained", "random")):
        arrays |= {f"{name}: own": np.array([0.3, 1e-15]) + k, f"{name}: energies": [[2.0 + k, 1.0], [9.0, 9.0]]}
        arrays |= {f"{name}: forces": np.array([[[3.0, 4.0], [1.0, 0.5]], [[1.0, 0.5], [0.25, 0.0]]]) * (k + 1)}
        arrays |= {f"{name}: separations": [[[1.0, 5.0], [1.5, 0.0]], [[2.0, 1.0], [2.0, 0.0]]]}
        arrays |= {f"{name}: active": [[[True, True], [True, False]]] * 2}
    recorded(monkeypatch, sentences, arrays)
    data = sentences.removals_figure.compute(None)
    assert data["names"].tolist() == ["trained", "random"]
    assert str(data["run"]).startswith("quick run: 2 removals;")
    np.testing.assert_allclose(data["trained: falls"], [5.5, 1.25])
    energy, change, force = sentences.removals_figure.draw(data).axes
    np.testing.assert_allclose(lines(energy), [np.c_[[1, 2], [2, 1]], np.c_[[1, 2], [3, 1]]])
    np.testing.assert_allclose(lines(change), [np.c_[[1, 2], [0.5, 1e-16]]] * 2)
    falls, own, more, other = lines(force)
    np.testing.assert_allclose([falls, more], [np.c_[[1, 2], np.array([5.5, 1.25]) * k] for k in (1, 2)])
    np.testing.assert_allclose([own, other], [np.c_[[1, 2], [0.3, 1e-12]], np.c_[[1, 2], [1.3, 1.0]]])
    assert [change.get_yscale(), force.get_yscale(), energy.get_yscale()] == ["log", "log", "linear"]


def test_the_training_of_growing_heads_is_drawn_by_epochs_and_seeds(monkeypatch):
    arrays = {}
    for k, name in enumerate(("ordered", "ordered, data", "unordered, data", "unordered")):
        births = np.array([[[1, 0, 0], [1, 30, 0], [1, 30, 45]], [[1, 0, 0], [1, 15, 0], [1, 15, 0]]])
        values = np.array([[[0, 0, 0], [0, 0.4, 0], [0, 0.4, 0.3]], [[0, 0, 0], [0, 0.6, 0], [0, 0.6, 0]]]) + k
        arrays |= {f"{name}: births": births, f"{name}: values": values, f"{name}: sentences": [80, 20]}
        arrays |= {f"{name}: residuals": np.arange(12.0).reshape(2, 3, 2) + 100 * k, f"{name}: share": 0.55}
        arrays |= {f"{name}: losses": [[0.7, 0.5], [0.6, 0.3]], f"{name}: accuracy": [[0.5, 0.6, 0.8], [0.4, 0.7, 0.9]]}
        active = np.array([[[True] * 3] * 2, [[True, True, False]] * 2])
        arrays |= {f"{name}: active": active, f"{name}: forces": np.full((2, 2, 3), 1e-20)}
        arrays |= {f"{name}: separation": np.arange(1.0, 13).reshape(2, 2, 3)}
        for what in ("active", "forces", "separation"):  # of an epoch between
            arrays[f"{name}: {what}"] = np.insert(arrays[f"{name}: {what}"], 1, 0, axis=1)
    recorded(monkeypatch, sentences, arrays, epochs=2, seeds=[3, 8], batch=4, threshold=0.2)
    data = sentences.training_figure.compute(None)
    assert data["names"].tolist() == ["ordered", "ordered, data", "unordered, data"]
    assert str(data["run"]).startswith("quick run: 2 epochs, 2 seeds;")
    np.testing.assert_allclose(data["ordered: residual"], [[0, 2, 4], [6, 8, 10]])  # of the features
    np.testing.assert_allclose(data["ordered, data: residual"], [[101, 103, 105], [107, 109, 111]])
    np.testing.assert_allclose(data["ordered: 0: epochs"], [1.5, 2.25])  # 20 steps an epoch
    np.testing.assert_allclose(data["ordered: separation"], [[4, 5, 6], [10, 11, np.nan]])
    loss, accuracy, features, tokens, apart, force = sentences.training_figure.draw(data).axes
    np.testing.assert_allclose(lines(loss)[0], np.c_[[1, 2], [0.65, 0.4]])
    np.testing.assert_allclose(bands(loss)[0], [[1, 0.6, 0.7], [2, 0.3, 0.5]])
    np.testing.assert_allclose(lines(accuracy)[0], np.c_[[0, 1, 2], [0.45, 0.65, 0.85]])
    assert np.all(lines(accuracy)[1][:, 1] == 0.55)
    np.testing.assert_allclose(lines(features)[0], np.c_[[0, 1, 2], [0, 2, 4]])
    np.testing.assert_allclose(lines(features)[1], [[1.5, 0.4], [2.25, 0.3]])
    np.testing.assert_allclose(lines(features)[3], [[0.75, 0.6]])
    assert features.get_legend_handles_labels()[1] == ["seed 3", "seed 8"]
    assert [line.get_fillstyle() for line in tokens.lines[1:8:2]] == ["full", "full", "none", "none"]
    for ax in (features, tokens):
        assert np.all(lines(ax)[-1][:, 1] == 0.2)
    np.testing.assert_allclose(lines(apart)[1], np.c_[[1, 2, 3], [10, 11, np.nan]])
    np.testing.assert_allclose(lines(force)[1], np.c_[[1, 2, 3], [1e-12, 1e-12, np.nan]])
    assert apart.get_xlim() == (0.5, 3.5)


def test_readouts_show_the_tasks_of_the_paper_and_the_plane_of_their_prototypes(monkeypatch):
    arrays, measures = {}, ("loss", "variance", "separation", "entropy")
    for k, name in enumerate(("IMDb", "SST-2: other", "SST-2")):
        arrays |= {f"{name}: {what}": np.array([[3.0, 2, 1], [5, 4, 2]]) + i + k for i, what in enumerate(measures)}
        arrays |= {f"{name}: scores": np.arange(18.0).reshape(2, 3, 3) / 20}
    bank = np.array([[0.0, 0, 0], [4.0, 0, 0.1], [0, 3.0, 0], [4.0, 3.0, -0.1], [4.0, 0.001, 0.1]])
    recorded(monkeypatch, readouts, {**arrays, "20 Newsgroups: codebook": [bank, bank + 1]}, epochs=2, seeds=2)
    data = readouts.text_figure.compute(None)
    assert data["names"].tolist() == ["SST-2", "IMDb"]
    assert str(data["run"]).startswith("quick run: 2 epochs, 2 seeds;")
    axes = readouts.text_figure.draw(data).axes
    for row, name in enumerate(("SST-2", "IMDb")):
        loss, separation, entropy, clusters, path = axes[5 * row : 5 * row + 5]
        means = {what: data[f"{name}: {what}"].mean(axis=0) for what in measures}
        for ax, found in ((loss, ("loss", "variance")), (separation, ("separation",)), (entropy, ("entropy",))):
            np.testing.assert_allclose(lines(ax), [np.c_[[0, 1, 2], means[what]] for what in found])
        scores = data[f"{name}: scores"]
        np.testing.assert_allclose(lines(clusters), [np.c_[[0, 1, 2], scores[..., k].mean(axis=0)] for k in range(3)])
        seeds = [np.c_[data[f"{name}: variance"][k], data[f"{name}: separation"][k]] for k in range(2)]
        shown = [line for line in lines(path) if len(line) == 3]
        np.testing.assert_allclose(shown, seeds)
        assert separation.get_ylim() == pytest.approx((0, 1.1 * np.max(data[f"{name}: separation"])))
        assert loss.get_ylabel() == name
    data = readouts.bank_figure.compute(None)
    shares = np.linalg.svd(bank - bank.mean(axis=0))[1] ** 2
    np.testing.assert_allclose(data["shares"], shares[:2] / shares.sum())
    np.testing.assert_allclose(data["places"].mean(axis=0), [0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(np.sum(data["places"] ** 2, axis=0), shares[:2])
    (ax,) = readouts.bank_figure.draw(data).axes
    assert ax.get_xlabel() == f"first principal component ({100 * shares[0] / shares.sum():.0f} %)"
    assert [text.get_text() for text in ax.texts] == ["1", "2 prototypes", "3", "4"]
    assert readouts._coinciding(data["places"]) == [[0], [1, 4], [2], [3]]


def test_levels_and_quantisers_are_drawn_by_name_and_level(monkeypatch):
    arrays, measures = {}, ("variance", "separation", "entropy")
    for k, name in enumerate(("with", "without")):
        arrays |= {
            f"{name}: {what}": np.arange(1.0, 13).reshape(2, 3, 2) + i + 20 * k for i, what in enumerate(measures)
        }
        arrays |= {f"{name}: scores": np.arange(18.0).reshape(2, 3, 3) + k, f"{name}: chance": [0.1, 0.2, 0.3 + k]}
    assignments, labels = np.array([0, 0, 4, 4, 4]), np.array([21, 1, 1, 2, 2])
    data = {**arrays, "names": np.array(["with", "without"]), "run": np.array(""), "assignments": assignments}
    data |= {"labels": labels, "map": np.array([[0.0, 0], [2, 2], [5, 5], [6, 9], [7, 6]])}
    *curves, accuracy, by_prototype, by_group = readouts.levels_figure.draw(data).axes
    for ax, what in zip(curves, measures, strict=True):
        rows = [data[f"{name}: {what}"][:, :, level] for name in ("with", "without") for level in (0, 1)]
        np.testing.assert_allclose(lines(ax), [np.c_[[0, 1, 2], row.mean(axis=0)] for row in rows])
        np.testing.assert_allclose([band[:, 1] for band in bands(ax)], [row.min(axis=0) for row in rows])
        assert ax.get_ylabel() == what
    assert [ax.get_yscale() for ax in curves] == ["linear", "log", "linear"]
    first, chance, second, other = lines(accuracy)
    np.testing.assert_allclose([first[:, 1], second[:, 1]], [[4.5, 7.5, 10.5], [5.5, 8.5, 11.5]])
    assert (chance[0, 1], other[0, 1]) == (0.3, 1.3)
    assert [len(line) for line in lines(by_prototype)] == [2, 3]
    assert [line.get_color() for line in by_group.lines] == [readouts.COLOURS[k] for k in (1, 2, 1)]
    assert [text.get_text() for text in by_prototype.texts] == ["1", "5"]
    kinds = ("utilisation", "utilisation by nearest", "held-out error", "variance", "entropy")
    found = {f"{name}: {what}": np.array([[1.0, 2], [3, 6]]) + 10 * j + k for j, what in enumerate(kinds)
             for k, name in enumerate(("soft", "hard"))}  # fmt: skip
    recorded(monkeypatch, readouts, found, epochs=1, seeds=2)
    drawn = readouts.quantisers_figure.draw(readouts.quantisers_figure.compute(None))
    for j, ax in enumerate(drawn.axes):
        np.testing.assert_allclose(lines(ax), [np.c_[[0, 1], [2 + 10 * j + k, 4 + 10 * j + k]] for k in (0, 1)])
        assert ax.get_ylabel() == (*kinds[:3], "variance $V/N$")[j]


def test_a_training_study_is_smoothed_and_compared_with_the_frozen_network_of_the_same_seed(monkeypatch):
    arrays = {"steps": [0, 5, 10]}
    for k, name in enumerate(("coupled", "frozen")):
        arrays |= {f"{name}: training loss": np.arange(24.0).reshape(2, 12) ** (k + 1), f"{name}: parameters": 7}
        arrays |= {f"{name}: validation loss": np.array([[3.0, 2.0, 1.0], [4.0, 4.0, 0.0]]) * (k + 1) + [[0], [k]]}
        arrays |= {f"{name}: gates": np.array([[[0.0], [0.1], [0.3]], [[0.0], [-0.1], [-0.4]]]) * (1 - k)}
    recorded(monkeypatch, network, arrays, steps=10, seeds=2)
    data = network.training_figure.compute(None)
    assert data["names"].tolist() == ["coupled", "frozen"]
    training, held_out, beside, gates = network.training_figure.draw(data).axes
    mean = np.arange(24.0).reshape(2, 12).mean(axis=0)  # smoothed over a fifth of the steps, two
    np.testing.assert_allclose(lines(training)[0], np.c_[np.arange(11) + 2, (mean[1:] + mean[:-1]) / 2])
    np.testing.assert_allclose(lines(held_out), [np.c_[[0, 5, 10], row] for row in ([3.5, 3, 0.5], [7.5, 6.5, 1.5])])
    np.testing.assert_allclose(bands(held_out)[1], [[0, 6, 9], [5, 4, 9], [10, 1, 2]])
    np.testing.assert_allclose(lines(beside)[0], np.c_[[0, 5, 10], [-4, -3.5, -1]])
    np.testing.assert_allclose(bands(beside)[0][:, 1:], [[-5, -3], [-5, -2], [-1, -1]])
    np.testing.assert_allclose([line[:, 1] for line in lines(gates)[:2]], [[0, 0.1, 0.3], [0, -0.1, -0.4]])
    assert gates.get_legend_handles_labels()[1] == ["seed 0", "seed 1"]
    assert COLOURS["first"] == colour("first") == training.lines[0].get_color()
