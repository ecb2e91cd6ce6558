"""A parameter of a system: resolved once, with its range, its name and its unit."""

import pytest

from dynsim import Parameter
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.named import InUnit, where


def test_a_parameter_is_the_same_by_name_and_by_function():
    flow = Lorenz(rho=0.5)
    by_name, by_function = Parameter(flow, "rho", 0, 30), Parameter(flow, lambda flow: flow.rho, 0.0, 30.0)
    assert by_name.take == by_function.take == where(flow, "rho")
    assert (by_name.value, by_name.bounds, by_name.name) == (0.5, (0.0, 30.0), "rho")
    assert (by_function.value, by_function.bounds, by_function.name) == (0.5, (0.0, 30.0), "rho")
    assert repr(by_name) == "Parameter rho of Lorenz: 0.5, from 0 to 30"


def test_a_parameter_gives_the_system_at_a_value_and_follows_another_system():
    rho = Parameter(Lorenz(rho=0.5), "rho", 0.0, 30.0)
    assert float(rho.at(28.0).rho) == 28.0
    assert float(rho.system.rho) == 0.5
    other = rho.of(Lorenz(rho=2.0, sigma=3.0))
    assert (other.value, other.bounds, float(other.at(7.0).sigma)) == (2.0, (0.0, 30.0), 3.0)
    drive = Parameter(Lorenz(rho=0.5), "rho", 0.0, 30.0, name="drive", unit="K")
    assert drive.of(Lorenz(rho=2.0)).label == "drive (K)"


def test_a_parameter_in_a_unit_counts_multiples_of_it():
    rho = Parameter(Lorenz(rho=14.0), InUnit(where(Lorenz(), "rho"), 0.5), 0.0, 60.0)
    assert rho.value == 28.0
    assert float(rho.at(3.0).rho) == 1.5
    assert (rho.of(Lorenz(rho=2.0)).value, rho.of(Lorenz()).bounds) == (4.0, (0.0, 60.0))


def test_axes_have_its_name_and_its_unit():
    flow = FunctionFlow(lambda t, x, i: i - x, parameters={"i": 1.0})
    assert Parameter(flow, "i", 0.0, 2.0).label == "i"
    assert Parameter(flow, "i", 0.0, 2.0, name="current", unit="nA").label == "current (nA)"
    assert Parameter(flow, lambda flow: 2 * flow.parameters["i"], 0.0, 2.0).name == "parameter"  # no leaf, no name


def test_bad_input_is_one_sentence():
    flow = Lorenz()
    with pytest.raises(ValueError, match="Argument `parameter` must name a parameter of Lorenz, .*did you mean `rho`"):
        Parameter(flow, "roh", 0.0, 1.0)
    with pytest.raises(ValueError, match="Argument `parameter` must return a real number of the flow"):
        Parameter(flow, lambda flow: flow.missing, 0.0, 1.0)
    with pytest.raises(ValueError, match="Argument `parameter` must return a real number of the flow, but does not"):
        Parameter(flow, lambda flow: flow.space, 0.0, 1.0)
    with pytest.raises(ValueError, match="Arguments `low` and `high` must be numbers, but are 'a' and 1"):
        Parameter(flow, "rho", "a", 1)
    with pytest.raises(ValueError, match="Arguments `low` and `high` must be in increasing order, but are 1"):
        Parameter(flow, "rho", 1.0, 1.0)
    with pytest.raises(ValueError, match="Arguments `low` and `high` must be in increasing order, b"):
        Parameter(flow, "rho", float("nan"), 1.0)
