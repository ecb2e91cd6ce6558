"""Equations whose size changes by orders of magnitude along a branch are solved to one relative tolerance."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.continuation.typical_sizes import SizesAlong, first_sizes
from analysis.dynamics.diagrams import bifurcation_diagram
from dynsim import FunctionFlow, FunctionMap
from dynsim.systems.parameter import Parameter


@pytest.mark.parametrize("start", [-30.0, 0.0, 30.0])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_factor_that_depends_exponentially_on_the_parameter_changes_no_solution(start, sense):
    field = lambda t, x, p: jnp.exp(sense * p) * (p - x + 0.1 * x**3 / (1 + x**2))
    value = lambda x: x - 0.1 * x**3 / (1 + x**2)
    x = np.linspace(-40.0, 40.0, 80001)
    first = np.interp(start, value(x), x)
    branch = continue_equilibria(Parameter(FunctionFlow(field, parameters={"p": start}), "p", -30.0, 30.0), [first])
    assert branch.bifurcations == ()
    assert branch.undetermined == ()
    assert branch.ends == ("bounds", "bounds")
    assert set(branch.kinds) == {"stable"}
    assert len(branch.parameters) < 200
    assert np.max(np.abs(branch.parameters - value(branch.states[:, 0]))) < 1e-7


def test_folds_are_found_where_the_equation_is_a_trillion_times_smaller_than_at_the_start():
    field = lambda t, x, p: jnp.exp(-p) * (p - x**3 + x)
    branch = continue_equilibria(Parameter(FunctionFlow(field, parameters={"p": -28.0}), "p", -28.0, 28.0), [-3.15])
    assert [(b.kind, round(abs(b.parameter), 6)) for b in branch.bifurcations] == [("fold", 0.3849)] * 2
    assert np.max(np.abs(branch.parameters - branch.states[:, 0] ** 3 + branch.states[:, 0])) < 1e-6


@pytest.mark.parametrize("rate", [-5.0, pytest.param(5.0, marks=pytest.mark.slow)])
def test_curves_of_folds_are_solved_where_rates_depend_exponentially_on_the_second_parameter(rate):
    field = lambda t, x, p, q: jnp.exp(rate * q) * (p + 0.1 * q + x - x**3)
    flow = FunctionFlow(field, parameters={"p": -2.0, "q": 0.0})
    first, second = Parameter(flow, "p", -4.0, 4.0), Parameter(flow, "q", -5.0, 5.0)
    folds = continue_equilibria(first, [-1.52138]).bifurcations
    assert [b.kind for b in folds] == ["fold"] * 2
    for fold in folds:
        curve = critical_curve((first, second), fold)
        assert curve.ends == ("bounds", "bounds")
        assert np.max(np.abs(np.abs(curve.first + 0.1 * curve.second) - 2 / 27**0.5)) < 1e-7


def test_cycles_of_a_map_whose_iterates_grow_at_the_other_end_are_cycles():
    step = lambda t, x, p: x + 2 * p**2 * x + p * x**2 - 1
    parameter = Parameter(FunctionMap(step, parameters={"p": 1.0}), "p", -2.0, 1.0)
    diagram = bifurcation_diagram(parameter, [[-1 - 2**0.5]], steps=Steps(points=30))
    for branch, iterate in zip(diagram.branches, diagram.iterates, strict=True):
        x = branch.states[:, 0]
        for _ in range(iterate):
            x = step(0, x, branch.parameters)
        assert np.max(np.abs(x - branch.states[:, 0]) / (1 + np.abs(x))) < 1e-6
    doubled = [b.parameter for one in diagram.branches for b in one.bifurcations if b.kind == "period doubling"]
    assert np.allclose(sorted(doubled)[:3], [0.724492, 0.885413, 0.915529], atol=1e-5)


def test_sizes_follow_a_fall_of_two_places_and_rows_of_zeros_change_none():
    sizes = SizesAlong(np.array([0.0, 0.0]), np.array([1.0, 4.0]))
    sizes.add(np.array([1.0, 0.0]), np.array([1e-9, 0.0]))  # a bifurcation, where they vanish
    sizes.add(np.array([2.0, 0.0]), np.array([1.0, 4.0]))
    assert np.array_equal(sizes.near(np.array([1.0, 0.0])), [1.0, 4.0])
    sizes.add(np.array([3.0, 0.0]), np.array([1e-7, 400.0]))
    sizes.add(np.array([4.0, 0.0]), np.array([1e-8, np.nan]))
    assert np.array_equal(sizes.near(np.array([9.0, 0.0])), [1e-7, 4.0])
    assert np.array_equal(sizes.near(np.array([1.0, 0.0])), [1.0, 4.0])
    for fall, kept in ((2e-4, 1.0), (5e-5, 5e-5)):  # four orders count
        one = SizesAlong(np.zeros(1), np.ones(1))
        for place in (1.0, 2.0):
            one.add(np.array([place]), np.array([fall]))
        assert one.near(np.array([2.0])) == [kept]


def test_the_first_sizes_are_medians_beside_a_bifurcation_inside_the_range():
    class At:
        def __init__(self, value):
            self.J, self.slope = np.array([[value], [0.0]]), np.array([0.0, 0.0])

    assert np.allclose(first_sizes(At, 0.0, (0.0, 1.0), 2), [1e-3, 0.0])
    assert np.allclose(first_sizes(lambda value: At(7.0), 0.5, (0.0, 1.0), 2), [7.0, 0.0])
    assert np.allclose(first_sizes(lambda value: At(np.nan), 0.5, (0.0, 1.0), 2), [1.0, 1.0])
    given = lambda size, slope=0.0: SimpleNamespace(J=np.array([[size]]), slope=np.array([slope]))
    first = lambda equations, bounds: first_sizes(equations, 0.0, bounds, 1)[0]
    assert first(lambda value: given(1.0, -5.0), (0.0, 1.0)) == 5.0  # the parameter's derivative counts
    assert first(lambda value: given(10.0 if value < 0 else 3.0 + value), (0.0, 1.0)) == pytest.approx(3.001)
    assert first(given, (-1.0, 1.0)) == pytest.approx(2e-3)  # at a zero, by the range
    assert first(lambda value: given(5.0 * (value > 3e-3)), (-1.0, 1.0)) == 5.0
