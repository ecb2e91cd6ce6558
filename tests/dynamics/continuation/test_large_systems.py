"""Systems with many unknowns: matrices are factorised instead of decomposed, and the results are the same."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation import dense
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.linearisation import eigenvectors_near
from dynsim import FunctionFlow
from dynsim._runtime.blas import in_one_thread
from dynsim.systems.parameter import Parameter


def matrix(size, *least):
    """Return a random square matrix with singular values from 1 to 2, the last ones replaced by given ones."""
    random = np.random.default_rng(size)
    left, right = (np.linalg.qr(random.normal(size=(size, size)))[0] for _ in range(2))
    sizes = np.linspace(2.0, 1.0, size)
    sizes[size - len(least) :] = least
    return left * sizes @ right.T


@pytest.mark.parametrize("least", [(0.3,), (1e-6,), (-1e-12,), (0.5, 0.1)])
def test_factors_give_the_signed_least_singular_value(least):
    A = matrix(50, *least)
    assert dense.LARGE <= 50
    exact = float(np.linalg.slogdet(A)[0]) * abs(least[-1]) / 2
    assert dense.signed_least(A) == pytest.approx(exact, rel=0.15, abs=1e-15)
    A[0] *= -1
    assert dense.signed_least(A) == pytest.approx(-exact, rel=0.15, abs=1e-15)


def test_an_exactly_singular_matrix_has_the_least_singular_value_zero():
    for tiny in (0.0, 1e-200):
        A = matrix(50)
        A[:, 7] = 0.0
        A[7, 7] = tiny
        assert abs(dense.signed_least(A)) < 1e-100
    assert dense.solution(A, np.ones(50)) == pytest.approx(np.linalg.lstsq(A, np.ones(50), rcond=1e-11)[0])


def test_an_inverse_whose_squares_are_no_numbers_has_the_least_singular_value_zero():
    A = np.eye(50)
    A[6:8, 6:8] = [[1e-45, 1.0], [0.0, 1e-45]]
    assert dense.signed_least(A) == 0
    assert dense.solution(A, np.ones(50)) == pytest.approx(np.linalg.lstsq(A, np.ones(50), rcond=1e-11)[0])


@pytest.mark.parametrize("least", [(0.3,), (1e-6,), (1e-10,), (1e-10, 1e-10)])
def test_factors_give_null_vectors(least):
    """Where two singular values are small, the null vector is that nearest to the direction."""
    A = matrix(50, *least)[:-1]
    null = dense.null_space(A, 1e-8, least=1)
    direction = np.random.default_rng(1).normal(size=50)
    found = dense.null_vector(A, 1e-8, direction / np.linalg.norm(direction))
    expected = null.T @ (null @ direction)
    assert abs(found @ expected) == pytest.approx(np.linalg.norm(expected))
    assert np.linalg.norm(found) == pytest.approx(1.0)


def test_solutions_are_those_of_least_squares():
    for A in (matrix(50), matrix(50, 1e-6), matrix(50, 1e-13)):
        left = np.arange(50.0)
        assert dense.solution(A, left) == pytest.approx(np.linalg.lstsq(A, left, rcond=1e-11)[0], rel=1e-6, abs=1e-6)


def test_an_eigenvector_is_found_from_an_estimate_however_far():
    A = matrix(50)
    values = np.linalg.eigvals(A)
    for value in (values[3], values[3] + 1e-3, -4.0 + 1j):
        nearest = values[np.argmin(np.abs(values - value))]
        q, p, found = eigenvectors_near(A, value)
        assert found == pytest.approx(nearest)
        assert np.linalg.norm(A @ q - found * q) < 1e-12
        assert np.linalg.norm(A.T @ p - np.conj(found) * p) < 1e-12


def brusselator(cells):
    """Return the discretised Brusselator on a line of length L, and its homogeneous state."""

    def field(t, z, L):
        x, y = z[:cells], z[cells:]
        bend = lambda u, end: jnp.diff(jnp.concatenate([jnp.array([end]), u, jnp.array([end])]), 2) * (cells + 1) ** 2
        along = 0.008 * bend(x, 2.0) / L**2 + 2 - 6.45 * x + x**2 * y
        return jnp.concatenate([along, 0.004 * bend(y, 5.45 / 2) / L**2 + 5.45 * x - x**2 * y])

    return FunctionFlow(field, parameters={"L": 0.1}), np.repeat([2.0, 5.45 / 2], cells)


@pytest.mark.parametrize("cells", [25, *(pytest.param(cells, marks=pytest.mark.slow) for cells in (250, 500, 1000))])
def test_a_reaction_diffusion_system_has_the_hopf_points_of_its_modes(cells):
    """Mode k has the trace B - 1 - A^2 - (D_1 + D_2) m_k / L^2 with an eigenvalue -m_k of the difference quotient."""
    flow, start = brusselator(cells)
    found = continue_equilibria(Parameter(flow, "L", 0.1, 1.2), start).bifurcations
    modes = 4 * (cells + 1) ** 2 * np.sin(np.pi * np.array([1, 2]) / (2 * (cells + 1))) ** 2
    assert [b.kind for b in found] == ["Hopf point"] * 2
    assert [b.parameter for b in found] == pytest.approx(np.sqrt(0.012 * modes / 0.45), rel=1e-8)
    assert [b.criticality for b in found] == ["supercritical"] * 2


def test_linear_algebra_runs_in_one_thread_and_gives_the_result():
    from threadpoolctl import threadpool_info

    threads = in_one_thread(lambda: [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"])
    assert set(threads()) == {1}
    assert in_one_thread(lambda a, *, b: a + b)(1, b=2) == 3
