"""Small, large and sparse matrices of a continuation are solved alike, by what NumPy finds for them."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from analysis.dynamics.continuation import dense
from analysis.dynamics.continuation.curve import AbstractCurve
from analysis.dynamics.normal_forms import collocated_cycles
from analysis.dynamics.normal_forms.flows import Coefficient

KINDS = {"small": 5, "large": 50, "sparse": 150}


def matrix(kind, *, columns=0, singular=False):
    """Return a matrix of a kind, with columns added at the end; a singular one has two equal rows."""
    n = KINDS[kind]
    rng = np.random.default_rng(n)
    whole = rng.normal(size=(n, n + columns))
    if kind == "sparse":
        band = np.abs(np.subtract.outer(np.arange(n), np.arange(n + columns))) <= 2
        whole = np.where(band, whole, 0.0)
        whole[:, n:] = rng.normal(size=(n, columns))
    whole[:, :n] += 4 * np.eye(n)
    if singular:
        whole[3] = whole[1]
    return whole


@pytest.mark.parametrize("kind", KINDS)
def test_equations_are_solved_and_singular_ones_by_the_shortest_solution(kind):
    A, right = matrix(kind), np.random.default_rng(1).normal(size=KINDS[kind])
    assert dense._has_few(A) == (kind == "sparse")
    np.testing.assert_allclose(dense.solution(A, right), np.linalg.solve(A, right), rtol=1e-9, atol=1e-12)
    factors = dense._Factors(A)
    np.testing.assert_allclose(
        factors.solved(right, transposed=True), np.linalg.solve(A.T, right), rtol=1e-9, atol=1e-12
    )
    B = matrix(kind, singular=True)
    left = B @ right
    shortest = np.linalg.lstsq(B, left, rcond=1e-11)[0]
    np.testing.assert_allclose(dense.solution(B, left), shortest, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_singular_value_has_the_sign_of_the_determinant(kind):
    A = matrix(kind)
    sizes = np.linalg.svd(A, compute_uv=False)
    for k, sign in ((0, 1.0), (1, -1.0)):
        B = A.copy()
        B[:k] *= -1
        found = dense.signed_least(B)
        assert np.sign(found) == sign * np.sign(np.linalg.slogdet(A)[0])
        assert abs(found) == pytest.approx(sizes[-1] / sizes[0], rel=1e-9 if kind == "small" else 0.5)
    most, least = dense._Factors(A).singular_values
    assert sizes[0] / 2 < most <= sizes[0] * (1 + 1e-12)
    assert sizes[-1] * (1 - 1e-9) <= least < 2 * sizes[-1]
    assert abs(dense.signed_least(matrix(kind, singular=True))) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_null_vectors_are_those_of_the_least_singular_values(kind):
    A = matrix(kind, columns=1)
    (row,) = dense.null_space(A, 1e-8, least=1)
    np.testing.assert_allclose(A @ row, 0.0, atol=1e-9)
    assert np.linalg.norm(row) == pytest.approx(1.0)
    for direction in (None, row, -row):
        found = dense.null_vector(A, 1e-8, direction)
        np.testing.assert_allclose(A @ found, 0.0, atol=1e-9)
        assert np.linalg.norm(found) == pytest.approx(1.0)
        assert direction is None or found @ direction == pytest.approx(1.0)


def test_as_many_null_vectors_as_singular_values_are_small_the_least_last():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    A = np.diag([8.0, 1e-3, 1e-5]) @ rotation[:3]
    rows = lambda share, least: np.abs(dense.null_space(A, share, least=least) @ rotation.T).round(6)
    assert rows(1e-8, 1).tolist() == [[0, 0, 0, 1]]
    assert rows(1e-8, 2).tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert rows(1e-5, 1).tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]  # relative to the largest, 8
    assert rows(1e-3, 1).tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert dense.identity(3, 2).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_where_curves_cross_the_null_vector_is_that_of_the_direction():
    A = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    found = dense.null_vector(A, 1e-6, np.array([0.6, 0.8, 0.0]))
    np.testing.assert_allclose(found, [0.6, 0.8, 0.0], atol=1e-12)
    rows = np.eye(3)[:2]
    assert dense._of_several(rows, np.array([3.0, 4.0, 9.0])).tolist() == [0.6, 0.8, 0.0]
    assert dense._of_several(rows, np.array([0.0, 0.0, 1.0])).tolist() == [0.0, 1.0, 0.0]
    assert dense._of_several(rows, None).tolist() == [0.0, 1.0, 0.0]


def test_coefficients_are_converted_with_the_length_of_their_vector():
    one = Coefficient(3.0, -5.0, "why")
    vector, sizes = np.array([3.0, 4.0]), np.array([1.0, 2.0])  # of length 73^(1/2) in the given units
    curve = SimpleNamespace(units="units")
    found = AbstractCurve.in_given_units(curve, one, vector, sizes, 146.0)  # pyright: ignore
    assert (found.value, found.size, found.why) == (pytest.approx(6.0), pytest.approx(-10.0), "why")
    assert AbstractCurve.in_given_units(SimpleNamespace(units=None), one, vector, sizes) is one  # pyright: ignore
    assert found.bounded == pytest.approx(6.0 / -9.0)


def test_null_vectors_of_a_sparse_matrix_have_length_one_and_forms_are_linear_in_complex_vectors():
    right, left = np.array([3.0, 0.0, 4.0, 1.0]), np.array([1.0, -2.0, 2.0, 0.0])
    A = np.random.default_rng(1).normal(size=(4, 4))
    right, left = right / np.linalg.norm(right), left / np.linalg.norm(left)
    A = (np.eye(4) - np.outer(left, left)) @ A @ (np.eye(4) - np.outer(right, right))
    for unit in (1.0, 1j):
        v, p = collocated_cycles._null_vectors(scipy.sparse.csc_array(A * unit))
        assert abs(np.vdot(v, right)) == pytest.approx(1.0)
        assert abs(np.vdot(p, left)) == pytest.approx(1.0)
        assert [np.linalg.norm(v), np.linalg.norm(p)] == pytest.approx([1, 1])
    form = lambda u, w: np.array([u @ w, u[0] * w[1], 2 * u[2] * w[0]])
    u, w, x = np.array([1 + 2j, 3 - 1j, 0.5j]), np.array([2 - 1j, 1j, 4.0]), np.array([1.0, 5.0, -2.0])
    np.testing.assert_allclose(collocated_cycles._multilinear(form, u, w), form(u, w))
    np.testing.assert_allclose(collocated_cycles._multilinear(form, x, w), form(x, w))
    assert collocated_cycles._multilinear(form, x, x).dtype == float
