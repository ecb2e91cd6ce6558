"""Equilibria of large systems: sparse linear algebra gives what dense linear algebra and closed forms give."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from analysis.dynamics.continuation import large_equilibria
from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.sparse import rightmost as search_module
from analysis.dynamics.sparse.matrices import Bordered, Extended, SparseMatrix
from analysis.dynamics.sparse.rightmost import rightmost, uncounted
from dynsim import FunctionFlow, FunctionMap
from dynsim.systems.parameter import Parameter

CELLS = 70


@pytest.fixture
def sparse(monkeypatch):
    """Use sparse algebra for systems with `CELLS` unknowns."""
    monkeypatch.setattr(large_equilibria, "LARGE", CELLS)


def banded(bands, *offsets):
    of_bands: Any = sp.diags_array
    return of_bands(bands, offsets=offsets).tocsc()


def second_difference(n):
    return banded([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], -1, 0, 1)


def modes(n):
    """Return the eigenvalues of the negative second difference with zero ends."""
    return 4 * np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1))) ** 2


def bend(u):
    return jnp.diff(jnp.pad(u, 1), 2) * (len(u) + 1) ** 2


def test_the_rightmost_eigenvalues_of_a_square_are_found_with_their_multiplicities():
    n = 14
    T, one = second_difference(n), sp.eye_array(n)
    J = SparseMatrix((sp.kron(T, one) + sp.kron(one, T) + 0.5 * sp.eye_array(n * n)).tocsc())
    exact = np.sort((0.5 - modes(n)[:, None] - modes(n)).ravel())[::-1]
    found = rightmost(J, 24)
    assert not uncounted(J, found.known)
    assert found.values == pytest.approx(exact[:24], abs=1e-12)


def test_a_pair_that_one_search_misses_is_found_by_the_next(monkeypatch):
    """The first search leaves out the pair nearest to the shift, as if it were a copy of another one."""
    n = 60
    T, one = 100 * second_difference(n), sp.eye_array(n)
    J = SparseMatrix(sp.csc_array(sp.block_array([[T + 8 * one, 0.2 * one], [-0.2 * one, T + 8 * one]])))
    exact, search = rightmost(J, 12, shifts=1), search_module._largest

    def forgetful(away, Q, count):
        if Q.shape[1]:
            return search(away, Q, count)
        hidden = search(away, Q, 2)[1]
        values, found = search(away, hidden, count)
        return values, search_module._joined(Q, found[:, 2:])

    assert not uncounted(J, exact.known)
    monkeypatch.setattr(search_module, "_largest", forgetful)
    known = rightmost(J, 12, shifts=1).known
    assert np.abs(known[:, None] - exact.known).min(axis=0).max() < 1e-9
    assert not uncounted(J, known)
    monkeypatch.setattr(search_module, "SEARCHES", 0)
    assert uncounted(J, rightmost(J, 12, shifts=1).known) == "2 growing eigenvalues not found"


def test_a_fast_pair_to_the_right_of_slow_decay_is_found_by_shifts_up_the_axis():
    pair = np.array([[0.05, 4.0], [-4.0, 0.05]])
    J = SparseMatrix(sp.csc_array(sp.block_diag([pair, np.diag(-np.linspace(0.1, 3.0, 80))])))
    assert rightmost(J, 12).values[:3] == pytest.approx([0.05 + 4j, 0.05 - 4j, -0.1])
    assert rightmost(J, 12, shifts=2).values[0] == pytest.approx(-0.1)


def test_a_known_direction_is_not_found_again_in_the_rounding_of_new_vectors():
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 3)))[0]
    again = np.column_stack([Q[:, 0] - Q[:, 0] * (1 - 1e-15), Q[:, 1], (Q[:, 0] + Q[:, 2]) / 2**0.5])
    assert search_module._joined(Q[:, :2], again).shape == (30, 3)


def test_the_largest_eigenvalue_of_the_inverse_across_known_vectors_is_that_of_the_nearest_other_one():
    J = SparseMatrix(sp.diags_array([1.0, 3.0, -2.0, 7.0]).tocsc())
    stretch = lambda shift, *known: search_module._stretch(J.shifted(shift), np.eye(4)[:, list(known)])
    assert [stretch(0.9), stretch(0.9, 0), stretch(0.9, 0, 1)] == pytest.approx([10.0, 1 / 2.1, 1 / 2.9])
    assert stretch(2j) == pytest.approx(5**-0.5)
    assert stretch(1 + 1e-200j) == np.inf


@pytest.mark.parametrize(("rate", "copies", "frequency"), [(1e-5, 1, 0.0), (1e-5, 2, 7.0), (0.3, 3, 0.9)])
def test_hidden_copies_of_an_eigenvalue_near_the_axis_are_counted(rate, copies, frequency):
    """A cluster of decaying rates beside copies of one that grows; the search reports none of these."""
    block = np.array([[rate, frequency], [-frequency, rate]]) if frequency else np.array([[rate]])
    decay = -np.concatenate([np.linspace(0.9, 1.1, 40), np.geomspace(1.0, 1e4, 60)])
    J = SparseMatrix(sp.csc_array(sp.block_diag([*[block] * copies, np.diag(decay), [[3.0, 9.0], [-9.0, -4.0]]])))
    known = np.append(decay[:40], np.linalg.eigvals(block).repeat(copies))
    grown = copies * len(block)
    assert not uncounted(J, known)
    assert uncounted(J, known[:40]).startswith(f"{grown} growing")
    assert uncounted(J, np.append(known, rate)) == "growing eigenvalues found too often"


def near_the_axis(k, random, n):
    """Build a random sparse matrix whose rightmost eigenvalues are near the imaginary axis."""
    A = sp.random_array((n, n), density=4 / n, rng=random, data_sampler=lambda size: random.normal(size=size))
    if k % 4 == 1:
        A = A - sp.diags_array(random.exponential(30, size=n))
    elif k % 4 == 2:
        pairs = zip(random.normal(-1, 0.8, n // 2), random.uniform(0, 8, n // 2), strict=True)
        A = 0.3 * A + sp.block_diag([np.array([[a, b], [-b, a]]) for a, b in pairs])
    elif k % 4 == 3:
        speed = random.uniform(1, 10) * n
        flow = banded([np.full(n - 1, speed), np.full(n, -speed)], -1, 0)
        A = flow + sp.diags_array(random.normal(size=n)) + 0.01 * n**2 * second_difference(n)
    rate = random.choice([1e-6, 1e-3, 0.03, 0.3, 1.0]) * random.choice([-1, 1])
    values = np.linalg.eigvals(A.toarray()) if k % 4 < 3 else values_of_three_diagonals(A.toarray())
    most = np.max(np.real(values)) - rate
    return sp.csc_array(A - sp.eye_array(n) * most), values - most


def values_of_three_diagonals(A) -> np.ndarray:
    """Compute the eigenvalues of a tridiagonal matrix from the similar symmetric one."""
    return np.asarray(
        scipy.linalg.eigh_tridiagonal(np.diag(A), np.sqrt(np.diag(A, 1) * np.diag(A, -1)), eigvals_only=True)
    )


@pytest.mark.parametrize(("count", "n"), [(4, 90), pytest.param(200, 150, marks=pytest.mark.slow)])
def test_growing_eigenvalues_of_random_matrices_are_counted_or_in_doubt(count, n):
    random, decided = np.random.default_rng(count), 0
    for k in range(count):
        A, exact = near_the_axis(k, random, n)
        found = rightmost(SparseMatrix(A), 24)
        if not uncounted(SparseMatrix(A), found.known):
            decided += 1
            assert np.sum(np.real(found.known) > 0) == np.sum(np.real(exact) > 0)
    assert decided > 0.7 * count


def test_upwind_transport_is_decided_and_central_differences_are_in_doubt():
    """Upwind transport: the eigenvalues, with imaginary parts bounded by 1e4, are those of a triangular matrix."""
    n = 400
    ahead = banded([np.ones(n - 1)], -1)
    transport = sp.csc_array(1e4 * ahead - 1e4 * sp.eye_array(n) + sp.diags_array(np.linspace(-4, 1, n)))
    assert not uncounted(SparseMatrix(transport), np.empty(0, complex))
    skew = sp.csc_array(1e4 * (ahead - ahead.T) + sp.diags_array(np.linspace(-4, 1, n)))
    assert "frequencies up to" in uncounted(SparseMatrix(skew), rightmost(SparseMatrix(skew), 24).known)


@pytest.mark.parametrize("least", [1.0, 1e-9, 1e-15, 0.0])
def test_bordered_equations_are_solved_where_the_inner_matrix_is_singular(least):
    n = 60
    T = second_difference(n) + (modes(n)[0] + least) * sp.eye_array(n)
    column, row = np.cos(np.arange(n)), np.sin(1.0 + np.arange(n))
    bordered, left = Bordered(SparseMatrix(T.tocsc()), column, row, 0.3), np.arange(n + 1.0)
    dense = np.block([[T.toarray(), column[:, None]], [row, 0.3]])
    assert bordered.solution(left) == pytest.approx(np.linalg.solve(dense, left), rel=1e-9)
    assert bordered.refined(left, transposed=True) == pytest.approx(np.linalg.solve(dense.T, left), rel=1e-9)
    smallest = float(np.linalg.svd(dense, compute_uv=False)[-1])
    assert bordered.signed_least == pytest.approx(np.linalg.slogdet(dense)[0] * smallest, rel=0.1)


def test_singular_vectors_and_shortest_solutions_are_those_of_dense_algebra():
    n = 60
    T, slope = second_difference(n) + modes(n)[1] * sp.eye_array(n), np.cos(np.arange(n))
    slope = slope - (slope @ (w := np.sin(2 * np.pi * np.arange(1, n + 1) / (n + 1)))) * w / (w @ w)  # a branch point
    both = np.column_stack([T.toarray(), slope])
    extended, left = Extended(SparseMatrix(T.tocsc()), slope), np.sin(np.arange(n)) ** 2
    right, sizes, vectors = np.linalg.svd(both)
    found = extended.least(1e-6, 2)[0]
    assert found.shape == (n + 1, 2)
    assert np.linalg.norm(both @ found) < 1e-10
    assert found.T @ found == pytest.approx(np.eye(2), abs=1e-10)
    exact = vectors[: n - 1].T @ ((right[:, : n - 1].T @ left) / sizes[: n - 1])
    assert extended.shortest(left, 1e-6) == pytest.approx(exact, abs=1e-8)
    assert abs(SparseMatrix(T.tocsc()).null_vectors()[0] @ w) == pytest.approx(np.linalg.norm(w))


def reaction(t, u, a, d, p, q, s, c):
    return d * bend(u) + a * (p * u + q * jnp.exp(u)) + s - c * u**3


def reacting(a, **others):
    """Build a reaction and its diffusion: one function for several tests, which is compiled once."""
    return FunctionFlow(reaction, parameters={"a": a, "d": 0.05, "p": 1.0, "q": 0.0, "s": 0.0, "c": 1.0} | others)


def compared(monkeypatch, flow, start, name, low, high, **steps):
    """Continue with sparse and with dense algebra, and compare the branches."""
    parameter = Parameter(flow, name, low, high)
    monkeypatch.setattr(large_equilibria, "LARGE", CELLS)
    sparse = continue_equilibria(parameter, start, steps=Steps(**steps))
    monkeypatch.setattr(large_equilibria, "LARGE", 10**6)
    dense = continue_equilibria(parameter, start, steps=Steps(**steps))
    assert sparse.eigenvalues.shape[1] == large_equilibria.COUNT < dense.eigenvalues.shape[1]
    assert sparse.kinds == dense.kinds
    assert sparse.undetermined == dense.undetermined
    assert sparse.parameters == pytest.approx(dense.parameters, rel=1e-8)
    assert sparse.states == pytest.approx(dense.states, rel=1e-8, abs=1e-8)
    assert [b.title for b in sparse.bifurcations] == [b.title for b in dense.bifurcations]
    for one, other in zip(sparse.bifurcations, dense.bifurcations, strict=True):
        assert one.parameter == pytest.approx(other.parameter, rel=1e-8)
        assert one.coefficient == pytest.approx(other.coefficient, rel=1e-5, nan_ok=True)
    assert sparse.isolated == dense.isolated
    return parameter, sparse


def test_the_fold_of_bratus_problem_is_that_of_dense_algebra(monkeypatch):
    flow = reacting(0.5, d=1.0, p=0.0, q=1.0, c=0.0)
    _, found = compared(monkeypatch, flow, np.full(CELLS, 0.1), "a", 0.2, 4.0, largest=4.0)
    assert [b.kind for b in found.bifurcations] == ["fold"]
    assert found.bifurcations[0].parameter == pytest.approx(3.513830719, rel=1e-3)  # of the differential equation
    assert {*found.kinds} == {"stable", "saddle"}


def test_pitchforks_of_a_reaction_and_diffusion_are_at_the_modes(monkeypatch, sparse):
    flow = reacting(0.1)
    parameter, found = compared(monkeypatch, flow, np.zeros(CELLS), "a", 0.1, 3.0)
    exact = 0.05 * modes(CELLS)[:2] * (CELLS + 1) ** 2
    assert [b.parameter for b in found.bifurcations] == pytest.approx(exact, rel=1e-8)
    assert [b.title for b in found.bifurcations] == ["supercritical pitchfork"] * 2
    monkeypatch.setattr(large_equilibria, "LARGE", CELLS)
    left = switch(parameter, found.bifurcations[0], steps=Steps(points=4))
    assert [branch.beside for branch in left] == [("stable",) * len(branch.beside) for branch in left]
    assert len(left) == 2


def test_a_jacobian_that_is_singular_everywhere_leaves_a_branch_that_is_not_isolated(sparse):
    """A conserved sum: each constant state is an equilibrium."""
    flow = FunctionFlow(lambda t, u, a: a * jnp.diff(jnp.pad(u, 1, mode="edge"), 2), parameters={"a": 1.0})
    found = continue_equilibria(Parameter(flow, "a", 0.5, 2.0), np.ones(CELLS), steps=Steps(points=6))
    assert not found.isolated
    assert {*found.kinds} == {"undecided"}
    assert "not isolated" in str(found)
    assert not found.bifurcations


def test_a_parameter_that_does_nothing_leaves_the_state(sparse):
    flow = FunctionFlow(lambda t, u, a: bend(u) + 1 - u + 0.0 * a, parameters={"a": 1.0})
    found = continue_equilibria(Parameter(flow, "a", 0.5, 2.0), np.zeros(CELLS), steps=Steps(points=9, largest=0.5))
    assert found.ends == ("bounds", "bounds")
    assert {*found.kinds} == {"stable"}
    assert np.ptp(found.states, axis=0).max() < 1e-12


def test_small_concentrations_have_the_branch_of_large_ones(sparse):
    """The unit of the state is that in which its cubic term matters."""
    size = 1e-9
    flow = reacting(0.1, s=size, c=1 / size**2)
    found = continue_equilibria(Parameter(flow, "a", 0.1, 1.0), np.zeros(CELLS))
    assert {*found.kinds} == {"stable"}
    assert len(found.kinds) < 60


def test_a_field_that_mixes_all_cells_keeps_dense_algebra(sparse):
    flow = FunctionFlow(lambda t, u, a: a - u + 0.1 * jnp.cumsum(u) * jnp.mean(u), parameters={"a": 0.1})
    assert large_equilibria.pattern_of(Parameter(flow, "a", 0.1, 0.2), np.zeros(CELLS)) == (None, "")


def test_why_a_large_system_has_dense_matrices_is_said(sparse):
    hidden = lambda u: jax.pure_callback(np.negative, jax.ShapeDtypeStruct(u.shape, u.dtype), u)
    flow = FunctionFlow(lambda t, u, a: a + hidden(u), parameters={"a": 0.1})
    why = lambda system, *more: large_equilibria.pattern_of(Parameter(system, "a", 0.1, 0.2), np.zeros(CELLS), *more)
    assert why(flow) == (None, "computed with dense matrices, because the operations of the field cannot be listed")
    assert why(FunctionMap(lambda t, u, a: a * u, parameters={"a": 0.1}))[1].endswith("as for all maps")
    flow = FunctionFlow(lambda t, u, a: a - u, parameters={"a": 0.1})
    assert why(flow, True)[1].endswith("continuous symmetries")
    assert why(flow)[0] is not None


@pytest.mark.slow
def test_a_square_of_reactions_has_a_simple_and_a_double_hopf_point():
    """The state is one array of two fields. The modes (1, 2) and (2, 1) cross together."""
    n = 20

    def field(t, z, L):
        x, y = z
        pad = lambda u, end: jnp.pad(u, 1, constant_values=end)
        around = lambda p: p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]
        spread = lambda u, end: around(pad(u, end)) * (n + 1) ** 2 / L**2
        return jnp.stack(
            [0.008 * spread(x, 2.0) + 2 - 6.45 * x + x**2 * y, 0.004 * spread(y, 2.725) + 5.45 * x - x**2 * y]
        )

    flow, start = (
        FunctionFlow(field, parameters={"L": 0.5}),
        np.full((2, n, n), 2.0) * np.array([1, 1.3625])[:, None, None],
    )
    found = continue_equilibria(Parameter(flow, "L", 0.5, 1.2), start)
    first, second = modes(n)[:2] * (n + 1) ** 2
    assert [b.kind for b in found.bifurcations] == ["Hopf point"] * 2
    assert [b.multiplicity for b in found.bifurcations] == [2, 4]
    exact = np.sqrt(0.012 * np.array([2 * first, first + second]) / 0.45)
    assert [b.parameter for b in found.bifurcations] == pytest.approx(exact, rel=1e-8)
    assert not found.undetermined
