"""Boundary value problems against closed forms and SciPy, and their branches with folds and branch points."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.special

from analysis.dynamics.boundary_values.curve import continue_solutions, switch_solutions
from analysis.dynamics.boundary_values.problem import BoundaryValueProblem
from analysis.dynamics.continuation.steps import Steps
from analysis.tables import table
from dynsim.errors import ArgumentError
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter
from figures.plotting import plot

OTHER = FunctionFlow(lambda t, x, a=1.0: x, parameters={"a": 1.0})


def both_vanish(first, last, flow):
    return jnp.stack([first[0], last[0]])


@pytest.fixture(scope="module")
def bratu():
    rate = lambda x, s, size=1.0: jnp.stack([s[1], -size * jnp.exp(s[0])])
    return BoundaryValueProblem(FunctionFlow(rate, names=("u", "v"), parameters={"size": 1.0}), both_vanish)


def test_bratus_problem_is_solved_exactly(bratu):
    found = bratu.solve(jnp.zeros(2))
    theta = 1.5171645990507543695  # theta = sqrt(2) cosh(theta / 4)
    x = np.linspace(0.0, 1.0, 33)
    assert np.allclose(found.at(x)[:, 0], -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4)), atol=1e-8)
    assert found.error < 1e-8
    assert set(table(found).names) == {"x", "u", "v"}
    assert np.allclose(bratu.solve(found).states, found.states)


def test_bratus_branch_turns_back_at_its_fold(bratu):
    size = Parameter(bratu.flow, "size", 0.5, 4.0)
    found = continue_solutions(bratu, size, bratu.solve(jnp.zeros(2)), steps=Steps(first=0.2, points=30))
    (fold,) = found.bifurcations
    assert fold.kind == "fold"
    assert fold.parameter == pytest.approx(3.513830719125, abs=1e-8)
    assert np.max(np.abs(fold.state.states[:, 0])) == pytest.approx(1.1868, abs=1e-3)
    assert found.ends[0] == "bounds"
    assert len(found.states.x) == len(found.parameters)
    drawn = plot(found)
    assert np.max(drawn.branches[0].get_ydata()) > 2
    assert np.max(table(found)["x_1_max"]) > 2


def test_an_eigenvalue_of_mathieus_equation_is_an_unknown():
    rate = lambda x, s, q=5.0, a=15.0: jnp.stack([s[1], -(a - 2 * q * jnp.cos(2 * x)) * s[0]])
    flow = FunctionFlow(rate, parameters={"q": 5.0, "a": 15.0})
    ends = lambda first, last, flow: jnp.stack([first[1], last[1], first[0] - 1])
    problem = BoundaryValueProblem(flow, ends, (0.0, np.pi), unknowns=("a",))
    found = problem.solve(lambda x: [np.cos(4 * x), -4 * np.sin(4 * x)])
    assert found.unknowns["a"] == pytest.approx(scipy.special.mathieu_a(4, 5.0), abs=1e-8)
    assert "a = 17.0965816" in str(found)
    q = Parameter(flow, "q", 4.0, 6.0)
    branch = continue_solutions(problem, q, found, steps=Steps(first=0.5, largest=1.0))
    exact = [scipy.special.mathieu_a(4, value) for value in branch.parameters]
    assert np.allclose(branch.states.unknowns[:, 0], exact, rtol=1e-7)
    with pytest.raises(ArgumentError, match="`parameter` must not be solved for"):
        continue_solutions(problem, Parameter(flow, "a", 0.0, 20.0), found)


def test_a_layer_is_resolved_as_by_scipy():
    """Eps u'' = u (u' - 1) has a layer inside."""
    rate = lambda x, s: jnp.stack([s[1], 100 * s[0] * (s[1] - 1.0)])
    flow = FunctionFlow(rate)
    ends = lambda first, last, flow: jnp.stack([first[0] + 1, last[0] - 1.5])
    guess = np.array([0.0, 0.25, 0.26, 1.0]), np.array([[-1.0, 1], [-0.75, 1], [0.76, 1], [1.5, 1]])
    found = BoundaryValueProblem(flow, ends).solve(guess)
    x = np.linspace(0.0, 1.0, 200)
    again = scipy.integrate.solve_bvp(
        lambda x, y: np.stack([y[1], 100 * y[0] * (y[1] - 1)]), lambda a, b: np.array([a[0] + 1, b[0] - 1.5]),
        x, found.at(x).T, tol=1e-8, max_nodes=20_000,
    )  # fmt: skip
    assert np.allclose(again.sol(x)[0], found.at(x)[:, 0], atol=1e-6)
    assert np.min(np.diff(found.x)) < 0.2 * np.max(np.diff(found.x))


def test_a_beam_buckles_at_its_branch_points():
    rate = lambda x, s, load=5.0: jnp.stack([s[1], -load * jnp.sin(s[0])])
    flow = FunctionFlow(rate, parameters={"load": 5.0})
    problem, load = BoundaryValueProblem(flow, both_vanish), Parameter(flow, "load", 5.0, 45.0)
    trivial = continue_solutions(problem, load, problem.solve(jnp.zeros(2)), steps=Steps(first=2.0))
    assert [one.kind for one in trivial.bifurcations] == ["branch point"] * 2
    assert [one.parameter for one in trivial.bifurcations] == pytest.approx([np.pi**2, 4 * np.pi**2], abs=1e-6)
    ways = switch_solutions(problem, load, trivial.bifurcations[0], steps=Steps(first=2.0))
    tops = [np.max(np.abs(way.states.states[..., 0]), axis=1) for way in ways]
    assert len(ways) == 2
    for way, top in zip(ways, tops, strict=True):  # sqrt(load) = 2 K(sin(top / 2))
        exact = (2 * scipy.special.ellipk(np.sin(top / 2) ** 2)) ** 2
        assert np.allclose(exact, way.parameters, rtol=1e-4)
    with pytest.raises(ArgumentError, match="`at` must be a branch point"):
        switch_solutions(problem, load, trivial.bifurcations[0]._replace(kind="fold"))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: BoundaryValueProblem(p.flow, lambda first: first), "`conditions` must be a function of"),
        (lambda p: BoundaryValueProblem(p.flow, both_vanish, (1.0, 0.0)), "`interval` must be two finite numbers"),
        (lambda p: BoundaryValueProblem(p.flow, both_vanish, unknowns=("sise",)), "sise"),
        (lambda p: BoundaryValueProblem(p.flow, lambda a, b, flow: a[:1]).solve(jnp.zeros(2)), "be 2 numbers for 2"),
        (lambda p: p.solve(jnp.zeros(3)), "`names` must have one entry for each of 3"),
        (lambda p: p.solve((np.array([0.0, 0.0]), np.zeros((2, 2)))), "`guess` must be increasing places"),
        (lambda p: p.solve(lambda x: [40.0 * x, 0.0]), "`guess` must lead to a solution"),
        (lambda p: p.solve(jnp.zeros(2)).at(2.0), "`x` must be from 0 to 1"),
        (lambda p: continue_solutions(p, Parameter(OTHER, "a", 0, 2), p.solve(jnp.zeros(2))), "be one of the flow"),
    ],
)
def test_bad_input_is_one_sentence(bratu, call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call(bratu)
