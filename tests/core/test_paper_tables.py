"""Tables of densities, of chains, of critical manifolds and of theorems' conditions."""

import numpy as np
import pytest

import dynsim as ds
from analysis.chains import Convergence, relaxation, stationary_distributions
from analysis.fast_slow import LossOfHyperbolicity, ManifoldBranch
from analysis.theorems.conditions import FAILS, HOLDS, Conditions, Hypothesis
from analysis.tokens import EqualAreaGrid, TokenDensity


def test_density_has_a_row_for_each_time_and_cell():
    grid = EqualAreaGrid(2, 8)
    found = ds.table(TokenDensity(grid, np.array([0.0, 3.0]), np.arange(16.0).reshape(2, 8)))
    assert found.names == ("t", "cell", "x_1", "x_2", "share")
    assert found["t"].tolist() == [0.0] * 8 + [3.0] * 8
    assert found["cell"].tolist() == [*range(8)] * 2
    np.testing.assert_array_equal(found["share"], np.arange(16.0))
    angles = (np.arange(8) + 0.5) * np.pi / 4
    np.testing.assert_allclose(found["x_2"][8:], np.sin(angles), atol=1e-15)


@pytest.mark.parametrize(("steps", "first"), [("", "t"), ("forward Euler", "k")])
def test_convergence_has_the_distance_beside_the_distribution(steps, first):
    Q, ts = np.array([[-1.0, 2.0], [1.0, -2.0]]), np.array([0.0, 1.0])
    known = relaxation(Q, [1.0, 0.0], ts).probabilities
    found = ds.table(Convergence(ts, known, stationary_distributions(Q), steps))
    assert found.names == (first, "distance", "p_1", "p_2")
    np.testing.assert_allclose(found["distance"], [1 / 3, np.exp(-3) / 3], rtol=1e-9)  # the limit is (2/3, 1/3)
    np.testing.assert_allclose(found["p_1"], 2 / 3 + found["distance"], rtol=1e-9)


def test_branch_of_a_manifold_lists_points_and_then_losses_of_hyperbolicity():
    fast, slow = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0])
    lost = (LossOfHyperbolicity("pair", np.array([7.0, 8.0]), np.array(9.0), 1.0),)
    spectra = np.array([[-1 + 2j, -1 - 2j], [1 + 3j, 1 - 3j]])
    found = ds.table(ManifoldBranch(fast, slow, spectra, ("attracting", "repelling"), lost, "path"))
    assert found["y_1"].tolist() == [5.0, 6.0, 9.0]
    assert found["x_2"].tolist() == [2.0, 4.0, 8.0]
    assert found["stability"].tolist() == ["attracting", "repelling", "undecided"]
    assert found["loss"].tolist() == ["", "", "pair"]
    assert found["eigenvalue_2_imag"][:2].tolist() == [-2.0, -3.0]
    assert np.isnan(found["eigenvalue_1"][2])


def test_conditions_have_a_row_each():
    rows = (Hypothesis("near", "a < 1", HOLDS, 0.5, "balls", boxes=3), Hypothesis("far", "b > 2", FAILS, -1.0, "told"))
    found = ds.table(Conditions("T", rows, "C", "O"))
    assert found["condition"].tolist() == ["near", "far"]
    assert found["margin"].tolist() == [0.5, -1.0]
    assert found["decided by"].tolist() == ["balls", "told"]
    assert found["boxes"].tolist() == [3, 0]
