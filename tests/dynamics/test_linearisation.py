"""Spectra: codimension and symmetry modes left out, known eigenvalues, kinds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import linearisation
from analysis.dynamics.linearisation import (
    eigenvalues,
    eigenvalues_of,
    eigenvectors,
    index,
    kind,
    own_eigenvalue,
    rotations,
    spectrum,
    tangent_basis,
    tangent_jacobian,
)
from dynsim._core.orientation import basis_of_range
from dynsim.keys import random_key
from dynsim.spaces import Euclidean, Product, Simplex
from dynsim.systems.base import FunctionFlow
from dynsim.systems.tokens.flow import TokenFlow, gradient_token_flow
from dynsim.systems.tokens.scalar_driven import OjaFlow
from tests.support.zoo import FLOWS, flow_and_start, vector_field


def test_a_linear_flow_has_the_eigenvalues_of_its_matrix():
    A = np.array([[1.0, 2.0], [0.0, -3.0]])
    flow = FunctionFlow(lambda t, x: x @ jnp.asarray(A).T, Euclidean())
    found = spectrum(flow, [0.0, 0.0])  # a list of numbers is a state
    np.testing.assert_allclose(tangent_jacobian(flow, [0.0, 0.0]), tangent_jacobian(flow, jnp.zeros(2)))
    np.testing.assert_allclose(np.sort(found.values.real), [-3.0, 1.0], atol=1e-13)
    assert (found.index, found.kind, found.num_symmetries) == (1, "saddle", 0)


def test_the_spectrum_of_oja_at_an_eigenvector_is_the_gaps():
    U = np.diag([3.0, 1.0, -1.0])
    flow = OjaFlow(U)
    for k, kind_ in enumerate(("stable", "saddle", "unstable")):
        gaps = np.delete(np.diag(U), k) - U[k, k]
        found = spectrum(flow, jnp.asarray(np.eye(3)[k]))
        np.testing.assert_allclose(np.sort(found.values.real), np.sort(gaps), atol=1e-12)
        assert found.kind == kind_


TYPICAL = {"general heads on an ellipsoid", "piecewise", "attracted", "fast and slow", "layer", "reduced"}
"""One flow for each space and structure of the state; `make test-all` has all."""
TYPICAL |= {"a user's own, plane", "gate"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in TYPICAL else [pytest.mark.slow]) for name in FLOWS]
)
def test_the_jacobian_has_as_many_rows_as_the_space_has_dimensions(name):
    flow, x = flow_and_start(name)
    basis = tangent_basis(flow.space, x)
    assert tangent_jacobian(flow, x).shape == (basis.shape[1],) * 2
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    eps = 1e-6
    rng = np.random.default_rng(0)
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    v = basis @ rng.normal(size=basis.shape[1])
    moved = [unravel(jnp.asarray(np.asarray(flat) + sign * eps * v)) for sign in (1, -1)]
    ends = [np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(vector_field(flow, 0.0, y))]) for y in moved]
    slope = basis.T @ (ends[0] - ends[1]) / (2 * eps)
    np.testing.assert_allclose(tangent_jacobian(flow, x) @ (basis.T @ v), slope, atol=1e-6)


def test_tangent_vectors_of_a_flat_space_are_those_of_its_axes_and_nothing_is_compiled(monkeypatch):
    pair, x = Product((Euclidean(), Euclidean())), (jnp.ones(2), jnp.ones((2, 1)))
    projected = linearisation._projection(pair, x)
    np.testing.assert_array_equal(basis_of_range(projected), np.eye(4))  # as of every other space
    monkeypatch.setattr(linearisation, "_projection", None)
    np.testing.assert_array_equal(tangent_basis(pair, x), np.eye(4))


def test_a_simplex_has_one_dimension_less():
    assert tangent_basis(Simplex(), jnp.array([0.2, 0.3, 0.5])).shape == (3, 2)


def test_consensus_for_the_identity_is_stable_across_its_rotations():
    flow = TokenFlow(np.eye(3))
    x = jnp.broadcast_to(flow.space.sample(random_key(0, "x"), (1, 3)), (4, 3))
    bare, across = spectrum(flow, x), spectrum(flow, x, symmetries=rotations(3))
    assert (bare.kind, bare.num_symmetries) == ("undecided", 0)
    assert (across.kind, across.num_symmetries) == ("stable", 2)
    np.testing.assert_allclose(across.values, -1 / np.sqrt(3), atol=1e-12)


def test_antipodal_tokens_are_a_saddle():
    x = jnp.asarray(np.outer([1.0, 1, -1], np.eye(3)[0]))
    found = spectrum(TokenFlow(np.eye(3)), x, symmetries=rotations(3))
    assert found.kind == "saddle"
    assert found.index == 2
    assert found.num_symmetries == 2


def test_rotations_are_those_that_commute():
    assert len(rotations(4)) == 6
    assert len(rotations(3, np.diag([1.0, 1.0, 2.0]))) == 1
    assert len(rotations(3, np.diag([1.0, 2.0, 3.0]))) == 0
    assert len(rotations(3, np.eye(3), np.diag([1.0, 1.0, 2.0]))) == 1
    assert len(rotations(3, np.diag([1.0, 1.0, 1.0 + 1e-3]))) == 1  # almost commuting is not commuting
    turn = rotations(2)[0](jnp.array([[1.0, 0.0]]))
    assert abs(float(turn[0, 0])) < 1e-15
    assert abs(float(turn[0, 1])) == pytest.approx(1.0)


def linear(A, sizes, time=1.0):
    """Return a linear flow about 1 in units of its components and of time."""
    units = np.asarray(sizes)
    own = units[:, None] * np.asarray(A) / units / time
    return FunctionFlow(lambda t, x: jnp.asarray(own) @ (x - 1.0)), np.ones(len(units))


@pytest.mark.parametrize("time", [1e-12, 1.0, 1e9, 1e20])
@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1e-6, 1e6)])
@pytest.mark.parametrize(
    ("A", "name"),
    [
        ([[-0.1, 1.0], [-1.0, -0.1]], "stable focus"),
        ([[0.0, 1.0], [-1.0, 0.0]], "centre of the linearisation"),
        ([[0.3 - (0.1 + 0.2), 0.0], [0.5, -1.0]], "not hyperbolic (1 zero eigenvalue)"),
        ([[1e-9, 0.0], [0.0, -1.0]], "saddle"),  # exact, however slow it is beside the other
        ([[-1.0, 0.5], [0.0, -1e10]], "stable node"),
    ],
)
def test_types_are_the_same_in_all_units(A, name, sizes, time):
    found = spectrum(*linear(A, sizes, time))
    assert found.description == name
    np.testing.assert_allclose(np.sort(found.values * time), np.sort(np.linalg.eigvals(A)), rtol=1e-6, atol=1e-15)


def test_an_eigenvalue_that_rounding_hides_is_not_unstable():
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    found = spectrum(*linear(turned @ np.diag([1e-9, -1.0]) @ turned.T, (1.0, 1.0)))
    assert (found.index, found.kind) == (0, "undecided")
    found = spectrum(*linear(turned @ np.diag([1e-6, -1.0]) @ turned.T, (1.0, 1.0)))
    assert (found.index, found.kind) == (1, "saddle")


@pytest.mark.parametrize(("size", "time"), [(1.0, 1.0), (1e-12, 1e9), (1e12, 1e-9)])
def test_zeros_of_symmetries_are_left_out_in_any_units(size, time):
    circle = FunctionFlow(lambda t, x: x * (1 - (x / size) @ (x / size)) / time)
    found = spectrum(circle, size * np.array([0.6, 0.8]), symmetries=rotations(2))
    assert (found.kind, found.num_symmetries) == ("stable", 1)
    assert found.values * time == pytest.approx([-2.0])


def test_a_generator_that_is_no_symmetry_is_refused():
    P = np.diag([1.0, 2.0, 3.0])
    x = jnp.broadcast_to(jnp.asarray([1.0, 0, 0]), (3, 3))
    flow = TokenFlow(P, P)
    with pytest.raises(ValueError, match="symmetries` must give zero modes"):
        spectrum(flow, x, symmetries=rotations(3))
    assert spectrum(flow, x, symmetries=rotations(3, P)).num_symmetries == 0


def test_kinds_need_a_margin():
    assert kind([-1.0, -2.0], 0.1) == "stable"
    assert kind([0.05, -2.0], 0.1) == "undecided"
    assert kind([1.0, 0.05], 0.1) == "saddle"
    assert kind([1.0, 2.0 + 1j], 0.1) == "unstable"
    assert index([1.0, -1.0, 0.5 + 2j]) == 2


@pytest.mark.parametrize("bad", [np.ones((2, 3)), np.array([[np.nan]])])
def test_bad_matrices_are_refused(bad):
    with pytest.raises(ValueError, match="jacobian` must"):
        eigenvalues(bad)
    with pytest.raises(ValueError, match="matrices` must have shape"):
        rotations(3, np.eye(2))


def test_the_spectrum_of_consensus_does_not_depend_on_the_metric():
    A = np.asarray(jax.random.normal(random_key(0, "A"), (3, 3)))
    flow = gradient_token_flow(A @ A.T + np.eye(3))
    x = jnp.broadcast_to(flow.space.sample(random_key(1, "x"), (1, 3)), (4, 3))
    values = eigenvalues(tangent_jacobian(flow, x))
    np.testing.assert_allclose(values[2:], -1 / np.sqrt(3), atol=1e-9)
    np.testing.assert_allclose(values[:2], 0.0, atol=1e-9)


def test_eigenvalues_of_several_matrices_are_each_those_of_one():
    rng = np.random.default_rng(3)
    real, double = np.diag([-1.0, -3.0, 2.0]), np.diag([2.0, 2.0, -1.0])
    turning = np.array([[-1.0, 5.0, 0.0], [-5.0, -1.0, 0.0], [0.0, 0.0, 3.0]])
    beside = np.array([[-1.0, 5.0, 0.0], [-5.0, -1.0, 0.0], [0.0, 0.0, -1.0 - 1e-13]])  # equal real parts, but rounding
    small = [real, turning, double, beside, *rng.normal(size=(4, 3, 3))]
    large = [*rng.normal(size=(3, 20, 20))]
    for matrices in (small, large, small[:1], [real, np.eye(2)], []):
        found = eigenvalues_of(matrices)
        assert len(found) == len(matrices)
        for matrix, values in zip(matrices, found, strict=True):
            alone = eigenvalues(matrix)
            assert values.dtype == alone.dtype
            assert np.allclose(values, alone, rtol=1e-12)
    assert np.allclose(eigenvalues_of(small)[3], [-1 + 5j, -1, -1 - 5j])
    assert eigenvalues_of(small)[0].tolist() == [2.0, -1.0, -3.0]


def test_a_slow_eigenvalue_has_its_own_error_beside_a_fast_one():
    """The eigenvalues are the fast rate and both roots of a slow block, coupled to it in both directions."""
    for K in (1e3, 1e8, 1e12):
        A = np.array([[1e-6, -1.0, 0.0], [1.0, 1e-6, 0.0], [K, 2 * K, -K]])
        value, error = own_eigenvalue(A, 1e-6 + 1j)
        assert abs(value - (1e-6 + 1j)) < 1e-14
        assert 1e-11 < error < 1e-8
    scaled = np.diag([1.0, 1e6, 1e-3]) @ A @ np.diag([1.0, 1e-6, 1e3])  # other units of the components
    assert own_eigenvalue(scaled, 1e-6 + 1j)[1] < 100 * error


def test_the_error_of_an_eigenvalue_grows_towards_a_double_one_and_keeps_a_size_at_zero():
    split = lambda gap: own_eigenvalue(np.array([[0.0, 1.0], [gap**2, 0.0]]), complex(gap), 1.0)[1]
    assert split(1e-2) < 1e-9
    assert split(1e-8) > 1e-8  # rounding makes a double eigenvalue zero a pair of this size
    assert own_eigenvalue(np.zeros((1, 1)), 0j, 2.0)[1] == pytest.approx(2e-10)


@pytest.mark.parametrize("shift", [0.0, 1.0, -4 * float(np.finfo(float).eps)])
def test_an_exact_eigenvalue_has_its_vector_where_the_shifted_matrix_is_singular(shift):
    """Zero pivots of a triangular matrix, of a row of zeros and of a matrix of one entry."""
    for A in (np.array([[shift]]), np.diag([shift, 2.0]), np.array([[shift, 3.0], [0.0, 2.0]])):
        value, error = own_eigenvalue(A, shift)
        assert value == pytest.approx(shift, abs=1e-15)
        assert error < 1e-9


def test_eigenvectors_are_columns_in_the_order_of_their_values():
    A = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [0.5, 0.0, -2.0]])
    basis = np.vstack([np.zeros(3), np.linalg.qr(A + 4 * np.eye(3))[0]])
    found = eigenvectors(A, basis)
    values = np.sort(np.linalg.eigvals(A))[::-1]
    np.testing.assert_allclose(basis @ A @ basis.T @ found, found * values, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1.0)
    assert np.all(found[np.argmax(np.abs(found), axis=0), np.arange(3)] > 0)
