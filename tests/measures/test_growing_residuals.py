"""Residual spectra, directional loss and alignments, held against closed forms and worked examples."""

import math

import numpy as np
import pytest

from analysis.growing.residuals import (
    captured_basis,
    directional_loss,
    expected_best_alignment,
    paired_spectrum,
    squared_norm,
)
from dynsim.systems.growing.residual import antisymmetric_part

BLOCKS = np.array([[0, 2, 0, 0, 0], [-2, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, -1, 0, 0], [0, 0, 0, 0, 0]], float)
RNG = np.random.default_rng(7)


def test_values_come_in_pairs_whose_planes_the_matrix_turns():
    a = antisymmetric_part(RNG.normal(size=(7, 7)))
    found = paired_spectrum(a)
    np.testing.assert_allclose(np.repeat(found.values, 2), np.linalg.svd(a)[1][:6], rtol=1e-12)
    rows = found.planes.reshape(6, 7)
    np.testing.assert_allclose(rows @ rows.T, np.eye(6), atol=1e-12)
    for s, (v, w) in zip(found.values, found.planes, strict=True):
        np.testing.assert_allclose(a @ w, s * v, atol=1e-12)
        np.testing.assert_allclose(a @ v, -s * w, atol=1e-12)


@pytest.mark.parametrize("d", [4, 5])
def test_planes_of_equal_and_of_vanishing_values_are_orthonormal(d):
    for a in (np.zeros((d, d)), BLOCKS[:d, :d] * np.where(np.arange(d) < 2, 1, 2)[:, None], BLOCKS[:2, :2]):
        rows = paired_spectrum(a).planes.reshape(-1, len(a))
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)
    lonely = np.pad(BLOCKS[:2, :2], (0, d - 2))
    found = paired_spectrum(lonely)
    assert found.values.tolist() == [2.0, 0.0]
    assert (found.above(0.5), found.above(0.0)) == (1, 1)
    assert np.linalg.matrix_rank(found.planes.reshape(-1, d)) == 4


def test_a_matrix_that_is_not_antisymmetric_has_no_pairs():
    for symmetric in (np.eye(3), BLOCKS + 1e-8 * np.eye(5)):
        with pytest.raises(ValueError, match="`matrix` must be antisymmetric"):
            paired_spectrum(symmetric)
    assert paired_spectrum(BLOCKS + 1e-10 * np.eye(5)).values.tolist() == pytest.approx([2.0, 1.0])


def test_values_that_count_as_zero_are_small_beside_the_largest():
    for unit in (1e-30, 1.0, 1e30):
        for small, count in ((1e-12, 2), (1e-14, 1)):
            scaled = unit * BLOCKS * np.where(np.arange(5) < 2, 1, small)[:, None]
            assert paired_spectrum(scaled).above(0.0) == count


def test_the_loss_of_one_captured_direction():
    for row in ([1.0, 0, 0, 0, 0], [0.6, 0.8, 0, 0, 0]):  # any direction of the plane captures all of it
        assert directional_loss(BLOCKS, [row]) == pytest.approx(math.sqrt(1 / 5))
    left = 1 - (0.36 * 4 + 0.64) / 5
    assert directional_loss(BLOCKS + np.eye(5), [[0.6, 0, 0.8, 0, 0]]) == pytest.approx(math.sqrt(left))
    assert squared_norm(BLOCKS) == 10


def test_the_loss_of_two_readings():
    x = np.diag([1.0, 2, 3, 4, 5])
    captured = [[1.0, 0, 0, 0, 0]]
    assert directional_loss(BLOCKS, captured, tokens=x, reading="data") == pytest.approx(12 / math.hypot(12, 4))
    weights = 12**2 / (12**2 + 4**2)
    assert directional_loss(BLOCKS, captured, tokens=x, reading="tokens") == pytest.approx(math.sqrt(weights))


def test_symmetric_attention_has_no_loss():
    with pytest.raises(ValueError, match="antisymmetric part that the reading sees"):
        directional_loss(np.eye(3))


def test_the_basis_of_dependent_rows():
    rows = np.array([[1.0, 1, 0], [2, 2, 0], [0, 0, 0]])
    np.testing.assert_allclose(np.abs(captured_basis(rows)), [[math.sqrt(0.5), math.sqrt(0.5), 0]])
    assert captured_basis(RNG.normal(size=(12, 3))).shape == (3, 3)
    nearly = np.array([[4.0, 0.0, 0.0], [4.0, 1e-3, 0.0]])
    assert [len(captured_basis(nearly, tolerance=share)) for share in (1e-4, 1e-3)] == [2, 1]
    with pytest.raises(ValueError, match="array of rows"):
        captured_basis([1.0, 2.0])


def test_the_expected_best_alignment_of_few_rows():
    assert expected_best_alignment(3, 1, 2.0) == pytest.approx(4 / 3)
    assert expected_best_alignment(1, 2) == pytest.approx(1 + 2 / math.pi)  # of two squared normal variables
    samples = np.max(RNG.normal(size=(20_000, 40)) ** 2, axis=1)
    error = 5 * float(np.std(samples)) / math.sqrt(20_000)
    assert abs(expected_best_alignment(10, 40) - np.mean(samples) / 10) < error / 10
