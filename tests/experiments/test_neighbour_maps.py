"""Planar maps by t-SNE: neighbours stay together, the same points have the same map, bad input."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.experiments.prototypes.neighbour_maps import neighbour_map
from dynsim.errors import UnavailableError

GROUPS = np.repeat([0, 1, 2], 20)


def points():
    rng = np.random.default_rng(0)
    return 8 * np.eye(5)[GROUPS] + rng.normal(size=(60, 5))


@pytest.mark.slow
def test_nearest_neighbours_in_the_map_are_of_the_same_group_at_any_scale():
    pytest.importorskip("sklearn")
    x = points()
    places = neighbour_map(x, perplexity=8.0)
    assert places.shape == (60, 2)
    away = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(60)
    assert np.array_equal(GROUPS[np.argmin(away, axis=1)], GROUPS)
    np.testing.assert_array_equal(neighbour_map(x, perplexity=8.0), places)
    np.testing.assert_allclose(neighbour_map(2.0**-20 * x, perplexity=8.0), places, atol=1e-3)


def test_points_are_centred_and_scaled_before_they_are_mapped(monkeypatch):
    asked = {}

    class Mapped:
        def __init__(self, **options):
            asked.update(options)

        def fit_transform(self, x):
            return x[:, :2]

    monkeypatch.setitem(sys.modules, "sklearn", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "sklearn.manifold", SimpleNamespace(TSNE=Mapped))
    x = points()
    for scale in (1.0, 1e-6):
        found = neighbour_map(scale * x + 3.0, perplexity=8.0)
        np.testing.assert_allclose(found, ((x - x.mean(axis=0)) / x.std())[:, :2], atol=1e-4)
    assert asked == {"perplexity": 8.0, "init": "pca", "random_state": 0}


def test_too_few_points_and_a_missing_package_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"`points` must have more rows than `perplexity`, 30, .* shape \(30, 2\)"):
        neighbour_map(np.ones((30, 2)))
    with pytest.raises(ValueError, match="`perplexity` must be positive, but is 0"):
        neighbour_map(points(), perplexity=0.0)
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(
        UnavailableError, match=r"needs scikit-learn \(`pip install dynsim\[text\]`\), which is missing"
    ):
        neighbour_map(points())
