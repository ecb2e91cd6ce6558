"""Vectors known up to sign have one sign, bases of a subspace one rotation, whatever LAPACK returns."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.dynamics.linearisation import eigenvalues, tangent_basis
from analysis.hardmax.polytopes import polytope
from dynsim._core.orientation import basis_of_range, oriented
from dynsim.spaces import Sphere

RNG = np.random.default_rng(0)


def test_the_entry_of_largest_modulus_is_positive():
    np.testing.assert_array_equal(oriented([1.0, -3.0, 2.0]), [-1.0, 3.0, -2.0])
    np.testing.assert_array_equal(oriented(np.array([[1.0, -2.0], [0.5, 1.0]])), [[1.0, 2.0], [0.5, -1.0]])
    np.testing.assert_array_equal(oriented(np.zeros(2)), np.zeros(2))


@pytest.mark.parametrize("noise", [-1e-15, 1e-15])
def test_of_entries_that_are_equal_up_to_rounding_the_first_counts(noise):
    assert oriented([-1.0, 1.0 + noise])[0] > 0
    assert oriented([1.0, -1.0 - noise])[0] > 0


@pytest.mark.slow
@given(st.integers(0, 99), st.integers(1, 5))
def test_a_basis_depends_on_its_span_only(seed, k):
    rng = np.random.default_rng(seed)
    span = np.linalg.qr(rng.normal(size=(5, k)))[0]
    turned = span @ np.linalg.qr(rng.normal(size=(k, k)))[0]
    one, other = basis_of_range(span @ span.T), basis_of_range(turned @ turned.T)
    np.testing.assert_allclose(one, other, atol=1e-10)
    np.testing.assert_allclose(one @ one.T, span @ span.T, atol=1e-12)
    np.testing.assert_allclose(one.T @ one, np.eye(k), atol=1e-13)


def _scrambled(monkeypatch):
    """Let the SVD return other signs and, in repeated singular values, another rotation, as another kernel may."""
    plain = np.linalg.svd

    def svd(a, full_matrices=True):
        left, sizes, right = plain(a, full_matrices=full_matrices)
        for value in np.unique(np.round(sizes, 9)):
            same = np.flatnonzero(np.abs(sizes - value) < 1e-9)
            turn = np.linalg.qr(RNG.normal(size=(len(same), len(same))))[0]
            left[:, same], right[same] = left[:, same] @ turn, turn.T @ right[same]
        return left, sizes, right

    monkeypatch.setattr(np.linalg, "svd", svd)


def test_tangent_bases_and_facets_do_not_hang_on_the_kernel(monkeypatch):
    x = Sphere().sample(jax.random.key(0), (3, 3))
    flat = np.asarray(RNG.normal(size=(8, 2)) @ RNG.normal(size=(2, 4)))
    before, hull = tangent_basis(Sphere(), x), polytope(flat)
    _scrambled(monkeypatch)
    np.testing.assert_allclose(tangent_basis(Sphere(), x), before, atol=1e-12)
    np.testing.assert_allclose(polytope(flat).normals, hull.normals, atol=1e-9)


def test_eigenvalues_of_one_real_part_are_ordered_by_their_imaginary_parts():
    rotation = lambda angle, damping: np.array([[-damping, -angle], [angle, -damping]])
    for noise in (1e-16, -1e-16):
        J = np.block([[rotation(1.0, 1.0 + noise), np.zeros((2, 2))], [np.zeros((2, 2)), rotation(2.0, 1.0)]])
        np.testing.assert_allclose(eigenvalues(J).imag, [2.0, 1.0, -1.0, -2.0], atol=1e-12)


def test_the_largest_entry_is_positive_and_the_first_of_equal_ones():
    np.testing.assert_array_equal(oriented([0.95, -1.0]), [-0.95, 1.0])
    np.testing.assert_array_equal(oriented([1 - 1e-9, -1.0]), [1 - 1e-9, -1.0])
