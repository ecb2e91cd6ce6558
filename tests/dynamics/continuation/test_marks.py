"""Functions of the user along branches: their zeros are marked and end branches, in the units of the system."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import (
    Steps,
    bifurcation_diagram,
    continue_equilibria,
    continue_orbits,
    critical_curve,
    extend,
    load_diagram,
    periodic_orbit,
    save_diagram,
)
from analysis.tables import branch_table

PARABOLA = ds.system("x' = a - b*x^2; a = 1; b = 1")
A = ds.Parameter(PARABOLA, "a", -1.0, 1.0)


def test_zeros_are_marked_and_a_function_that_becomes_positive_ends_the_branch(tmp_path):
    marks = {"x = 0.5": lambda x, a: x[0] - 0.5, "a = 0.3": lambda x, a: a - 0.3, "start": lambda x, a: x[0] - 1}
    steps = Steps(marks=marks, stops={"x < -0.7": lambda x, a: -0.7 - x[0], "x > 2": lambda x, a: x[0] - 2})
    diagram = bifurcation_diagram(A, [[1.0]], steps=steps)
    (branch,) = diagram.branches
    assert branch.ends == ("stop: x < -0.7", "bounds")
    assert branch.states[0] == pytest.approx(-0.7)
    found = [(mark.name, float(mark.state[0]), mark.parameter, mark.kind) for mark in branch.marks]
    expected = [("a = 0.3", -(0.3**0.5), 0.3, "unstable"), ("x = 0.5", 0.5, 0.25, "stable")]
    expected += [("a = 0.3", 0.3**0.5, 0.3, "stable"), ("start", 1.0, 1.0, "stable")]
    assert found == [(n, pytest.approx(x), pytest.approx(a), kind) for n, x, a, kind in expected]
    places = np.interp([mark.arclength for mark in branch.marks], branch.arclengths, branch.states[:, 0])
    assert places == pytest.approx([x for _, x, _, _ in expected], abs=5e-3)
    assert "fold at 0, `a = 0.3` at 0.3, `x = 0.5` at 0.25" in str(branch)
    save_diagram(tmp_path / "a.npz", diagram)
    assert [mark.name for mark in load_diagram(tmp_path / "a.npz").branches[0].marks] == [m.name for m in branch.marks]
    assert extend(branch, A).ends == ("bounds", "bounds")
    table = branch_table(branch).columns
    row = list(table["bifurcation"]).index("x = 0.5")
    assert (table["a"][row], table["stability"][row]) == (pytest.approx(0.25), "stable")
    drawn = branch.plot(plt.figure().subplots())
    assert len(drawn.bifurcations) == 5
    plt.close("all")


def test_functions_get_states_and_parameters_in_the_units_of_the_system():
    flow = ds.system("x' = k*(1e6*b - x^2/1e6); b = 1e6; k = 1e-3")
    b = ds.Parameter(flow, "b", 1e5, 2e6)
    marks = {"x": lambda x, b: x[0] - 5e8, "b": lambda x, b: b - 36e4}
    found = [(mark.state[0], mark.parameter) for mark in continue_equilibria(b, [1e9], steps=Steps(marks=marks)).marks]
    assert found == [(pytest.approx(5e8), pytest.approx(25e4)), (pytest.approx(6e8), pytest.approx(36e4))]


def test_the_first_of_two_functions_in_one_step_ends_the_branch():
    stops = {"late": lambda x, a: 0.76 - x[0], "early": lambda x, a: 0.78 - x[0]}
    found = continue_equilibria(A, [1.0], steps=Steps(first=0.3, largest=0.3, stops=stops))
    assert "stop: early" in found.ends
    assert np.min(found.states) == pytest.approx(0.78)


def test_two_zeros_in_one_step_are_both_marked():
    steps = Steps(first=0.3, largest=0.3, marks={"near 0.6": lambda x, a: (x[0] - 0.6) ** 2 - 1e-4})
    found = continue_equilibria(A, [1.0], steps=steps).marks
    assert [float(mark.state[0]) for mark in found] == pytest.approx([0.59, 0.61])


def test_what_is_no_real_function_is_refused():
    with pytest.raises(ValueError, match="`marks` must be a function of the state and the parameter, but is 3"):
        Steps(marks={"x": 3})
    with pytest.raises(ValueError, match="`steps` must have a function `x` that gives one real number, but gives"):
        continue_equilibria(A, [1.0], steps=Steps(stops={"x": lambda x, a: [1.0, 2.0]}))
    (fold,) = continue_equilibria(A, [1.0]).bifurcations
    with pytest.raises(ValueError, match="must have no marks and stops along a curve of bifurcations"):
        critical_curve((A, ds.Parameter(PARABOLA, "b", 0.0, 2.0)), fold, steps=Steps(marks={"a": lambda x, a: a}))


TURNING = ds.system("x' = m*x - w*y - x*s; y' = w*x + m*y - y*s; w = 1 + m; s = x^2 + y^2; m = 1")


@pytest.mark.slow
def test_orbits_are_marked_by_their_period():
    """The period is 2 pi / (1 + m) on the circle of radius sqrt(m)."""
    m = ds.Parameter(TURNING, "m", 0.5, 2.0)
    orbit = periodic_orbit(TURNING, [1.0, 0.0], np.pi, segments=3)
    steps = Steps(0.5, marks={"T": lambda orbit, m: orbit.period - 2.5}, stops={"m > 1.8": lambda orbit, m: m - 1.8})
    found = continue_orbits(m, orbit, steps=steps, rtol=1e-8)
    assert [mark.parameter for mark in found.marks] == pytest.approx([2 * np.pi / 2.5 - 1])
    assert float(found.marks[0].state.period) == pytest.approx(2.5)
    assert found.ends == ("bounds", "stop: m > 1.8")
    assert found.parameters[-1] == pytest.approx(1.8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["shooting", "collocation"])
def test_van_der_pols_period_has_its_published_value(method):
    """Source: Viswanath, SIAM Review 43 (2001): the period 6.66328685931 at mu = 1."""
    mu = ds.Parameter(ds.catalogue.VanDerPol(mu=1.0), "mu", 0.5, 1.5)
    orbit = periodic_orbit(mu.system, [2.0, 0.0], 6.6, segments=4)
    steps = Steps(
        0.3, marks={"mu = 1.2": lambda orbit, mu: mu - 1.2, "T": lambda orbit, mu: orbit.period - 6.66328685931}
    )
    found = {mark.name: mark for mark in continue_orbits(mu, orbit, steps=steps, method=method).marks}
    assert found["T"].parameter == pytest.approx(1.0, abs=1e-8)
    assert float(found["mu = 1.2"].state.period) == pytest.approx(6.8, abs=0.2)
