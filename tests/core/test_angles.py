"""Spaces with angles: differences, reduced states, units, and components declared as angles."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.cli.building.systems import found
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.errors import ArgumentError
from dynsim.integrators.flat_fields import field_on_host
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Circle, Cylinder, Euclidean, Product, Sphere, Torus
from dynsim.systems.angles import turning
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.catalogue.oscillators import Pendulum, VanDerPol
from dynsim.systems.rescaled import RescaledFlow, is_flat

TURN = 2 * np.pi


class Cart(NamedTuple):
    angle: object
    position: object


def rotating(t, x):
    return np.stack([1.0 + 0 * x[0], -x[1]])


def test_differences_are_the_shortest_ones_and_do_not_see_whole_turns():
    rng = np.random.default_rng(1)
    (x, y), circle = rng.uniform(-1e3, 1e3, (2, 200)), Circle(7.3)
    d = np.asarray(circle.difference(x, y))
    assert np.all(np.abs(d) <= 7.3 / 2)
    turns = (x - y - d) / 7.3
    assert np.allclose(turns, np.round(turns), atol=1e-9)
    assert circle.distance(x + 7.3 * rng.integers(-50, 50, 200), y) == pytest.approx(float(circle.distance(x, y)))
    assert np.allclose(circle.reduced(x), circle.difference(x, np.zeros(200)))


def test_a_state_half_a_turn_away_is_reduced_to_plus_half_a_turn():
    assert Circle(2.0).reduced(np.array([-1.0, 1.0, 3.0, 0.5])).tolist() == [1.0, 1.0, 1.0, 0.5]


def test_a_torus_a_cylinder_and_a_product_know_the_period_of_each_entry():
    assert Torus(2, (1.0, 24.0)).periods(np.zeros((5, 2))).tolist() == [[1.0, 24.0]] * 5
    assert Cylinder({1: 360.0}).periods(np.zeros(3)).tolist() == [np.inf, 360.0, np.inf]
    space = Product(Cart(Circle(2.0), Euclidean()))
    x, y = Cart(jnp.array([1.9]), jnp.array([1.0, 5.0])), Cart(jnp.array([0.1]), jnp.array([1.0, 1.0]))
    apart = eqx.filter_jit(space.difference)(x, y)
    assert np.allclose(np.append(apart.angle, apart.position), [-0.2, 0.0, 4.0])
    assert space.distance(x, y) == pytest.approx(np.hypot(0.2, 4.0))
    assert np.allclose(space.reduced(x).angle, -0.1)
    assert space.reduced(x).position is x.position
    assert is_flat(space)
    assert Euclidean().distance([3.0, 0.0], [0.0, 4.0]) == 5.0


def test_samples_are_uniform_on_circles_and_normal_elsewhere():
    x = np.asarray(Cylinder({0: 4.0}).sample(jax.random.key(3), (40_000, 2)))
    assert np.all(np.abs(x[:, 0]) <= 2.0)
    assert np.mean(x[:, 0] ** 2) == pytest.approx(4 / 3, abs=0.04)  # six standard errors
    assert np.mean(x[:, 1] ** 4) == pytest.approx(3.0, abs=0.3)
    assert abs(np.corrcoef(x.T)[0, 1]) < 0.03


def test_units_of_a_state_divide_its_periods():
    assert RescaledFlow(Pendulum(), state=[2.0, 4.0]).space == Cylinder({0: np.pi})
    assert Torus(2, (1.0, 3.0)).in_units(2.0) == Cylinder({0: 0.5, 1: 1.5})
    assert Circle(3.0).in_units(2.0) == Circle(1.5)
    units = Cart(np.array(2.0), np.array([4.0, 8.0]))
    assert Product(Cart(Circle(2.0), Euclidean())).in_units(units).parts.angle == Circle(1.0)


def test_states_are_kept_with_their_turns_and_fields_without_a_space_stay_fast():
    flow = FunctionFlow(rotating, names=("theta", "y"), periods={"theta": 1.0})
    ys = np.stack([np.arange(0.0, 3.5, 0.5), np.ones(7)], axis=1)
    assert flow.space.project(ys) is ys
    assert np.allclose(flow.space.reduced(ys + 1e-3)[:, 0], [0.001, -0.499] * 3 + [0.001])
    assert field_on_host(flow)(0.0, np.array([5.0, 2.0])).tolist() == [1.0, -2.0]


@pytest.mark.parametrize("name", ["pendulum", "kuramoto", "standard"])
def test_systems_of_the_catalogue_declare_their_angles(name):
    entry = CATALOGUE[name]
    system = entry.system()
    angles = np.isfinite(system.space.periods(np.array(entry.start)))
    assert angles.tolist() == ([True, False] if name == "pendulum" else [True] * len(entry.start))
    if name != "standard":  # whose step reduces states
        rate = lambda shift: np.asarray(system.velocity(0.0, jnp.array(entry.start) + jnp.where(angles, shift, 0.0)))
        assert np.allclose(rate(0.0), rate(2 * np.pi))


@pytest.mark.parametrize("kind", [FunctionFlow, FunctionMap])
def test_periods_of_a_function_make_a_cylinder(kind):
    made = kind(lambda t, x: x, names=("theta", "omega"), periods={"theta": 360})
    assert made.space == kind(lambda t, x: x, periods={0: 360.0}).space == Cylinder({0: 360.0})
    assert kind(lambda t, x: x, Circle(3.0), periods={1: 3.0}).space == Circle(3.0)


def test_components_of_any_system_with_a_flat_space_become_angles():
    assert turning(VanDerPol(mu=3.0), {"y": 2.0}).space == Cylinder({1: 2.0})
    assert turning(VanDerPol(mu=3.0), {"y": 2.0}).mu == 3.0
    assert turning(Pendulum(), {"angle": TURN}).space == Pendulum().space


@pytest.mark.parametrize(("periods", "sentence"), [
    ({"theta": 0.0}, "must have positive finite periods, but is 0.0"),
    ({"theta": -1.0}, "must have positive finite periods, but is -1.0"),
    ({"theta": np.inf}, "must have positive finite periods, but is inf"),
    ({"thet": 1.0}, "must name components of the state, theta, omega, but has `thet`, did you mean `theta`"),
    ({2: 1.0}, "must have names or indices of components, but has 2"),
    ({0: 1.0, "theta": 1.0}, "must name each component once, but names 0, theta"),
    (1.0, "must map names of components to periods, but is 1.0"),
])  # fmt: skip
def test_periods_that_do_not_fit_are_refused(periods, sentence):
    with pytest.raises(ValueError, match="Argument `periods` " + sentence):
        FunctionFlow(rotating, names=("theta", "omega"), periods=periods)


class Polar(NamedTuple):
    theta: Any
    radius: Any


def test_angles_of_a_named_tuple_need_a_space_for_each_part():
    for periods in ({0: 2.0}, {"theta": 2.0}):
        flow = FunctionFlow(rotating, names=("theta", "radius"), periods=periods)
        with pytest.raises(
            ValueError, match=r"Argument `y0` must be an array \(on `space=Product\(Polar.*but is a Polar"
        ):
            simulate(flow, Polar(0.0, 1.0), [0.0, 1.0])
    with pytest.raises(ValueError, match=r"\(a named tuple takes `space=Product\(...\)`\), but has `theta`"):
        FunctionFlow(rotating, periods={"theta": 2.0})
    reduced = Product(Polar(Circle(4.0), Euclidean())).reduced(Polar(np.array(5.0), np.array(5.0)))
    assert (float(reduced.theta), float(reduced.radius)) == (1.0, 5.0)


def test_periods_that_differ_from_those_of_the_space_are_refused():
    with pytest.raises(ValueError, match="in which `theta` has the period 1, but gives it the period 2"):
        FunctionFlow(rotating, Cylinder({0: 1.0}), names=("theta", "omega"), periods={"theta": 2.0})
    with pytest.raises(ValueError, match="in which `omega` is no angle"):
        FunctionFlow(rotating, Cylinder({0: 1.0}), names=("theta", "omega"), periods={"omega": 2.0})
    with pytest.raises(ValueError, match="unless the state is a vector of a flat space, but is given on Sphere"):
        FunctionFlow(rotating, Sphere(), periods={0: 2.0})
    with pytest.raises(ValueError, match="but is given on Product"):
        FunctionFlow(rotating, Product(Polar(Circle(), Euclidean())), periods={"theta": 2.0})
    with pytest.raises(ValueError, match="left out for RescaledFlow, whose space is computed"):
        turning(RescaledFlow(VanDerPol()), {"x": 1.0})


@pytest.mark.parametrize(("build", "sentence"), [
    (lambda: Circle(0.0), "`period` must be a positive finite number, but is 0.0"),
    (lambda: Torus(2, (1.0, np.inf)), "`period` must be a positive finite number, but is inf"),
    (lambda: Torus(2, (1.0,)), "`period` must be one number, or 2 numbers, but has 1"),
    (lambda: Torus(0), "`dimension` must be at least 1, but is 0"),
    (lambda: Cylinder({}), "`periods` must map indices of entries to periods"),
    (lambda: Cylinder({-1: 1.0}), "`periods` must be at least 0, but is -1"),
    (lambda: Cylinder({3: 1.0}).periods(np.zeros(2)), "`state` must have at least 4 components"),
    (lambda: Torus(3).periods(np.zeros(2)), "`state` must have 3 components, one for each angle"),
])  # fmt: skip
def test_spaces_with_angles_refuse_other_periods_and_states(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


@pytest.mark.parametrize(("words", "sentence"), [
    ("pendulum --angle angle=3", ".*, in which `angle` has the period 6.28319, but gives it the period 3"),
    ("pendulum --angle angl", "must name a component of the state, angle, velocity, but is `angl`"),
    ("van-der-pol --angle x=q", "must be given as NAME or NAME=PERIOD, but is `x=q`"),
    ("van-der-pol --angle x=0", "must have positive finite periods, but is 0.0"),
    ("van-der-pol --angle x x=1", "must name each component once, but names `x` twice"),
])  # fmt: skip
def test_angles_of_the_command_line_that_do_not_fit_are_refused(words, sentence):
    with pytest.raises(ValueError, match="Argument `angle` " + sentence):
        found(parse_system(SystemOptions, words.split(), "basins"), "basins")


def test_the_command_line_declares_angles():
    given = lambda words: found(parse_system(SystemOptions, words.split(), "basins"), "basins").system.space
    assert given("van-der-pol --angle x") == Cylinder({0: TURN})
    assert given("van-der-pol --angle y=360") == Cylinder({1: 360.0})


def test_states_of_another_size_are_refused_and_samples_fill_the_circle():
    for space, entries in ((Cylinder({1: 2.0}), 1), (Torus(2), 3), (Torus(2), 1)):
        with pytest.raises(ArgumentError, match="component"):
            space.periods(np.zeros(entries))
    drawn = np.asarray(Circle(4.0).sample(random_key(0, "x"), (200,)))
    assert np.min(drawn) < -1.5
    assert np.max(drawn) > 1.5
    assert np.max(np.abs(drawn)) <= 2
