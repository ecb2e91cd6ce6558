"""A bifurcation exactly at an end of the range of the parameter is reported once, whatever its kind."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbits import orbits_from_hopf
from analysis.dynamics.diagrams import bifurcation_diagram, with_orbits
from dynsim import FunctionFlow, FunctionMap
from dynsim.errors import ArgumentError
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.parameter import Parameter

RANGES = ((-1.0, 0.3), (0.3, 1.0), (-1.0, 1.0))


def pitchfork(t, x, p):
    return (p - 0.3) * x - x**3


def transcritical(t, x, p):
    return (p - 0.3) * x - x**2


def turning(t, x, p):
    """A Hopf point at p = 0.3."""
    r = (p - 0.3) - x @ x
    return jnp.stack([r * x[0] - x[1], x[0] + r * x[1]])


def ended(field, size, low, high, start, state=0.0):
    """Return the branch of a flow in a range that ends or begins at the bifurcation."""
    return continue_equilibria(
        Parameter(FunctionFlow(field, parameters={"p": start}), "p", low, high), np.full(size, state)
    )


@pytest.mark.parametrize(
    ("field", "size", "kind"),
    [(pitchfork, 1, "branch point"), (transcritical, 1, "branch point"), (turning, 2, "Hopf point")],
)
def test_a_bifurcation_at_the_end_of_the_range_is_found_once(field, size, kind):
    for low, high in RANGES:
        for start in (low, (low + high) / 2, 0.3):
            branch = ended(field, size, low, high, start)
            assert [(b.kind, b.parameter) for b in branch.bifurcations] == [(kind, pytest.approx(0.3, abs=1e-12))]
            assert (", at the end" in str(branch)) == (0.3 in (low, high))
            sides = {"stable" if p < 0.3 else "unstable" for p in branch.parameters if abs(p - 0.3) > 1e-6}
            assert set(branch.kinds) - {"undecided"} == sides


def test_a_bifurcation_beyond_the_end_is_not_one_of_the_branch():
    for low, high in ((-1.0, 0.3 - 1e-5), (0.3 + 1e-5, 1.0)):
        assert ended(pitchfork, 1, low, high, (low + high) / 2).bifurcations == ()


def test_a_fold_at_the_end_of_the_range_is_found_once():
    fold = lambda t, x, p: p - 0.3 - x**2
    for low, high, start in ((-1.0, 0.3, 0.3), (0.3, 1.0, 0.3), (0.3, 1.0, 0.55)):
        branch = ended(fold, 1, low, high, start, (start - 0.3) ** 0.5)
        assert [(b.kind, b.parameter) for b in branch.bifurcations] == [("fold", pytest.approx(0.3, abs=1e-12))]


def test_the_branch_point_of_lorenz_and_the_period_doubling_of_the_logistic_map_are_found_at_the_end():
    parameter = Parameter(Lorenz(rho=0.5), "rho", 0.0, 1.0)
    branch = continue_equilibria(parameter, jnp.zeros(3))
    assert [(b.kind, b.parameter) for b in branch.bifurcations] == [("branch point", pytest.approx(1.0, abs=1e-12))]
    assert len(switch(Parameter(Lorenz(rho=0.5), "rho", 0.0, 3.0), branch.bifurcations[0])) == 2
    found = continue_equilibria(Parameter(Logistic(r=2.0), "r", 1.0, 3.0), [0.5]).bifurcations
    assert [(b.kind, b.parameter) for b in found] == [
        ("branch point", pytest.approx(1.0, abs=1e-9)),
        ("period doubling", pytest.approx(3.0, abs=1e-9)),
    ]
    assert found[1].criticality == "supercritical"


def test_a_bifurcation_at_the_end_is_not_repeated_when_the_branch_is_extended():
    flow = FunctionFlow(turning, parameters={"p": 0.0})
    branch = continue_equilibria(Parameter(flow, "p", -0.2, 0.3), np.zeros(2))
    longer = extend(branch, Parameter(flow, "p", -0.2, 0.8))
    assert [(b.kind, b.parameter) for b in longer.bifurcations] == [("Hopf point", pytest.approx(0.3, abs=1e-12))]
    assert longer.ends == ("bounds", "bounds")


def test_cycles_that_lie_beyond_the_end_of_the_range_are_left_out():
    steps = lambda t, x, p: p + x - x**2
    map_ = Parameter(FunctionMap(steps, parameters={"p": 1.0}), "p", 0.0, 1.0)
    diagram = bifurcation_diagram(map_, [[1.0]])
    assert [(b.kind, round(b.parameter, 9)) for one in diagram.branches for b in one.bifurcations] == [
        ("fold", 0.0),
        ("period doubling", 1.0),
    ]
    flow = Parameter(FunctionFlow(turning, parameters={"p": 0.0}), "p", -1.0, 0.3)
    diagram = bifurcation_diagram(flow, [[0.0, 0.0]])
    assert with_orbits(diagram, flow, segments=3).orbits == ()
    with pytest.raises(
        ArgumentError, match="Hopf point whose orbits lie in the range of the parameter, but has them b"
    ):
        orbits_from_hopf(flow, diagram.branches[0].bifurcations[0], segments=3)


def test_a_start_that_is_a_branch_point_up_to_rounding_is_no_fold():
    for start in (0.0, -8.1e-19, 1e-17):
        parameter = Parameter(FunctionFlow(pitchfork, parameters={"p": 0.3}), "p", 0.3, 1.0)
        diagram = bifurcation_diagram(parameter, [[start]])
        assert str(diagram) == "3 branches in p: 1 branch point"


def test_a_branch_point_of_two_given_branches_counts_once():
    parameter = Parameter(FunctionFlow(pitchfork, parameters={"p": 1.0}), "p", -1.0, 1.0)
    diagram = bifurcation_diagram(parameter, [[0.0], [0.7**0.5]])
    assert [len(one.bifurcations) for one in diagram.branches] == [1, 1]
    assert str(diagram) == "2 branches in p: 1 branch point"
    two = FunctionFlow(lambda t, x, p=1.0: x * (p - x) * (p - 0.5 + x), parameters={"p": 1.0})
    diagram = bifurcation_diagram(Parameter(two, "p", -1.0, 2.0), [[0.0], [1.0]])
    assert str(diagram).endswith("in p: 3 branch points")
