"""Equilibria followed in a parameter: folds, branch points and Hopf points in closed form, on any space."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from analysis.dynamics.continuation import continue_equilibria, switch
from analysis.dynamics.linearisation import rotations
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import DoubleWell, FitzHughNagumo
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss


def test_a_branch_passes_the_folds_of_the_double_well():
    a = 1.2
    found = continue_equilibria(DoubleWell(a=a, h=-1.0), lambda f: f.h, jnp.asarray([-1.4]), (-1.0, 1.0))
    fold = 2 * (a / 3) ** 1.5
    assert [b.kind for b in found.bifurcations] == ["fold", "fold"]
    assert np.allclose([b.parameter for b in found.bifurcations], [fold, -fold], atol=1e-8)
    assert np.allclose(
        sorted(float(b.state[0]) for b in found.bifurcations), [-np.sqrt(a / 3), np.sqrt(a / 3)], atol=1e-6
    )
    x = found.states[:, 0]
    assert np.allclose(a * x - x**3 + found.parameters, 0, atol=1e-10)
    assert np.allclose(found.parameters[[0, -1]], [-1.0, 1.0])
    middle = np.abs(x) < 0.95 * np.sqrt(a / 3)
    assert {kind for kind, inside in zip(found.kinds, middle, strict=True) if inside} == {"unstable"}
    assert found.ends == ("bounds", "bounds")


def test_both_branches_leave_a_pitchfork():
    flow = DoubleWell(a=-1.0)
    first = continue_equilibria(flow, lambda f: f.a, jnp.asarray([0.1]), (-1.0, 1.0))
    (point,) = first.bifurcations
    assert point.kind == "branch point"
    assert point.parameter == pytest.approx(0, abs=1e-8)
    others = switch(flow, lambda f: f.a, point, (-1.0, 1.0))
    assert sorted(float(branch.states[-1, 0]) for branch in others) == pytest.approx([-1.0, 1.0])
    for branch in others:
        assert np.allclose(branch.states[:, 0] ** 2, branch.parameters, atol=1e-8)
        assert set(branch.kinds[1:]) == {"stable"}


def test_lorenz_has_its_pitchfork_and_its_hopf_points():
    first = continue_equilibria(Lorenz(rho=0.5), lambda f: f.rho, jnp.zeros(3), (0.0, 30.0), max_step=1.0)
    (point,) = first.bifurcations
    assert (point.kind, point.parameter) == ("branch point", pytest.approx(1.0, abs=1e-7))
    for branch in switch(Lorenz(), lambda f: f.rho, point, (0.0, 30.0), max_step=1.0):
        (hopf,) = branch.bifurcations
        assert hopf.kind == "hopf"
        assert hopf.parameter == pytest.approx(10 * (10 + 8 / 3 + 3) / (10 - 8 / 3 - 1), abs=1e-6)
        assert hopf.frequency == pytest.approx(np.sqrt(8 / 3 * (10 + hopf.parameter)), rel=1e-6)


def test_hopf_points_have_the_printed_parameters():
    found = continue_equilibria(FitzHughNagumo(current=0.0), lambda f: f.current, jnp.asarray([-1.2, -0.6]), (0.0, 2.0))
    assert np.allclose([b.parameter for b in found.bifurcations], [0.331281, 1.418719], atol=1e-6)
    found = continue_equilibria(Brusselator(a=1.5, b=1.0), lambda f: f.b, jnp.asarray([1.5, 0.7]), (0.5, 5.0))
    assert found.bifurcations[0].parameter == pytest.approx(1 + 1.5**2, abs=1e-7)
    assert found.bifurcations[0].frequency == pytest.approx(1.5, abs=1e-6)


class Turned(AbstractFlow):
    """A flow on the sphere: down the height above a plane, whose normal turns with the parameter."""

    angle: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    space: Sphere = Sphere()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def velocity(self, t, x):
        del t
        return jnp.stack([jnp.sin(self.angle), jnp.zeros_like(self.angle), jnp.cos(self.angle)])


def test_a_branch_goes_around_a_sphere():
    found = continue_equilibria(Turned(0.0), lambda f: f.angle, jnp.asarray([0.0, 0.0, 1.0]), (-0.1, 6.0), max_step=0.3)
    expected = np.stack([np.sin(found.parameters), 0 * found.parameters, np.cos(found.parameters)], axis=1)
    assert np.allclose(found.states, expected, atol=1e-9)
    assert set(found.kinds) == {"stable"}
    assert found.bifurcations == ()


def test_collapse_of_prototypes_is_a_branch_point_at_the_critical_temperature():
    z = np.array([[-1.0], [-0.2], [0.3], [0.9]])
    flow = PrototypeFlow(z, 1.0, loss=PrototypeLoss("frozen"))
    mean, critical = float(np.mean(z)), 2 * float(np.var(z))
    start = jnp.full((2, 1), mean)
    found = continue_equilibria(flow, lambda f: f.temperature.value, start, (0.5 * critical, 2.0))
    points = [b.parameter for b in found.bifurcations if b.kind == "branch point"]
    assert points == pytest.approx([critical], abs=1e-7)


class Rotated(AbstractFlow):
    """A radius that is drawn to the root of a parameter, whatever the angle: circles of equilibria."""

    a: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        del t
        return (self.a - jnp.sum(x**2)) * x


def test_a_branch_of_circles_is_followed_across_the_symmetry():
    flow = Rotated(1.0)
    found = continue_equilibria(flow, lambda f: f.a, jnp.asarray([0.6, 0.8]), (0.2, 3.0), symmetries=rotations(2))
    assert np.allclose(np.sum(found.states**2, axis=1), found.parameters, atol=1e-9)
    assert set(found.kinds) == {"stable"}
    angles = np.arctan2(found.states[:, 1], found.states[:, 0])
    assert np.allclose(angles, angles[0], atol=1e-6)  # it does not drift along the circles


def test_a_closed_branch_ends_where_it_began():
    class Ring(AbstractFlow):
        p: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
        space: Euclidean = Euclidean()

        def velocity(self, t, x):
            del t
            return 1 - x**2 - self.p**2

    found = continue_equilibria(Ring(0.0), lambda f: f.p, jnp.asarray([1.0]), (-2.0, 2.0))
    assert found.ends == ("closed", "closed")
    assert [b.kind for b in found.bifurcations] == ["fold", "fold"]
    assert sorted(b.parameter for b in found.bifurcations) == pytest.approx([-1.0, 1.0], abs=1e-8)


def test_the_cap_on_points_is_reported():
    found = continue_equilibria(DoubleWell(), lambda f: f.h, jnp.asarray([1.0]), (-1.0, 1.0), max_points=2)
    assert found.ends == ("steps", "steps")
    assert "steps and steps" in repr(found)


def test_bad_input_is_one_sentence():
    flow, x = DoubleWell(), jnp.asarray([1.0])
    with pytest.raises(ValueError, match="Argument `where` must return a real number of the flow"):
        continue_equilibria(flow, lambda f: f.missing, x, (-1.0, 1.0))
    with pytest.raises(ValueError, match="Argument `bounds` must be the least and the largest value"):
        continue_equilibria(flow, lambda f: f.h, x, (1.0, -1.0))
    with pytest.raises(ValueError, match="Argument `bounds` must hold the flow's own parameter, 0"):
        continue_equilibria(flow, lambda f: f.h, x, (0.5, 1.0))
    with pytest.raises(ValueError, match="Argument `start` must be near an equilibrium"):
        continue_equilibria(jax.tree.map(lambda a: a, DoubleWell(a=0.0, h=1e9)), lambda f: f.a, x, (-1.0, 1.0))
    fold = continue_equilibria(flow, lambda f: f.h, x, (-1.0, 1.0)).bifurcations[0]
    with pytest.raises(ValueError, match="Argument `at` must be a branch point, but is a fold"):
        switch(flow, lambda f: f.h, fold, (-1.0, 1.0))
