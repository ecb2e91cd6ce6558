"""Equilibria followed in a parameter: folds, branch points and Hopf points in closed form, on any space."""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import dynsim as ds
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch, joined
from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.linearisation import rotations
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.catalogue.oscillators import DoubleWell, FitzHughNagumo
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.parameter import Parameter
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow


def test_a_branch_passes_the_folds_of_the_double_well():
    a = 1.2
    found = continue_equilibria(Parameter(DoubleWell(a=a, h=-1.0), lambda f: f.h, -1.0, 1.0), jnp.asarray([-1.4]))
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


@pytest.mark.slow
def test_both_branches_leave_a_pitchfork():
    flow = DoubleWell(a=-1.0)
    first = continue_equilibria(Parameter(flow, lambda f: f.a, -1.0, 1.0), jnp.asarray([0.1]))
    (point,) = first.bifurcations
    assert point.kind == "branch point"
    assert point.parameter == pytest.approx(0, abs=1e-8)
    others = switch(Parameter(flow, lambda f: f.a, -1.0, 1.0), point)
    assert sorted(float(branch.states[-1, 0]) for branch in others) == pytest.approx([-1.0, 1.0])
    for branch in others:
        assert np.allclose(branch.states[:, 0] ** 2, branch.parameters, atol=1e-8)
        assert set(branch.kinds[1:]) == {"stable"}


@pytest.mark.slow
def test_lorenz_has_its_pitchfork_and_its_hopf_points():
    first = continue_equilibria(
        Parameter(Lorenz(rho=0.5), lambda f: f.rho, 0.0, 30.0), jnp.zeros(3), steps=Steps(largest=1.0)
    )
    (point,) = first.bifurcations
    assert (point.kind, point.parameter) == ("branch point", pytest.approx(1.0, abs=1e-7))
    for branch in switch(Parameter(Lorenz(), lambda f: f.rho, 0.0, 30.0), point, steps=Steps(largest=1.0)):
        (hopf,) = branch.bifurcations
        assert hopf.kind == "Hopf point"
        assert hopf.parameter == pytest.approx(10 * (10 + 8 / 3 + 3) / (10 - 8 / 3 - 1), abs=1e-6)
        assert hopf.frequency == pytest.approx(np.sqrt(8 / 3 * (10 + hopf.parameter)), rel=1e-6)


def test_hopf_points_have_the_printed_parameters():
    found = continue_equilibria(
        Parameter(FitzHughNagumo(current=0.0), lambda f: f.current, 0.0, 2.0), jnp.asarray([-1.2, -0.6])
    )
    assert np.allclose([b.parameter for b in found.bifurcations], [0.331281, 1.418719], atol=1e-6)
    found = continue_equilibria(Parameter(Brusselator(a=1.5, b=1.0), lambda f: f.b, 0.5, 5.0), jnp.asarray([1.5, 0.7]))
    assert found.bifurcations[0].parameter == pytest.approx(1 + 1.5**2, abs=1e-7)
    assert found.bifurcations[0].frequency == pytest.approx(1.5, abs=1e-6)


class Turned(AbstractFlow):
    """A flow on the sphere: down the height above a plane, whose normal turns with the parameter."""

    angle: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    space: Sphere = Sphere()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def velocity(self, t, x):
        return jnp.stack([jnp.sin(self.angle), jnp.zeros_like(self.angle), jnp.cos(self.angle)])


@pytest.mark.slow
def test_a_branch_goes_around_a_sphere():
    found = continue_equilibria(
        Parameter(Turned(0.0), lambda f: f.angle, -0.1, 6.0), jnp.asarray([0.0, 0.0, 1.0]), steps=Steps(largest=0.3)
    )
    expected = np.stack([np.sin(found.parameters), 0 * found.parameters, np.cos(found.parameters)], axis=1)
    assert np.allclose(found.states, expected, atol=1e-9)
    assert set(found.kinds) == {"stable"}
    assert found.bifurcations == ()


@pytest.mark.slow
def test_collapse_of_prototypes_is_a_branch_point_at_the_critical_temperature():
    z = np.array([[-1.0], [-0.2], [0.3], [0.9]])
    flow = PrototypeFlow(z, 1.0, loss=PrototypeLoss("frozen"))
    mean, critical = float(np.mean(z)), 2 * float(np.var(z))
    start = jnp.full((2, 1), mean)
    found = continue_equilibria(Parameter(flow, lambda f: f.temperature.value, 0.5 * critical, 2.0), start)
    points = [b.parameter for b in found.bifurcations if b.kind == "branch point"]
    assert points == pytest.approx([critical], abs=1e-7)


class Rotated(AbstractFlow):
    """A radius that is drawn to the root of a parameter, whatever the angle: circles of equilibria."""

    a: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return (self.a - jnp.sum(x**2)) * x


def test_a_branch_of_circles_is_followed_across_the_symmetry():
    flow = Rotated(1.0)
    turn = lambda x: x.at[0].set(-x[1]).at[1].set(x[0])  # of an array of JAX
    found = continue_equilibria(Parameter(flow, lambda f: f.a, 0.2, 3.0), jnp.asarray([0.6, 0.8]), symmetries=[turn])
    assert np.allclose(np.sum(found.states**2, axis=1), found.parameters, atol=1e-9)
    assert set(found.kinds) == {"stable"}
    angles = np.arctan2(found.states[:, 1], found.states[:, 0])
    assert np.allclose(angles, angles[0], atol=1e-6)  # it does not drift along the circles


@pytest.mark.slow
def test_a_closed_branch_ends_where_it_began():
    class Ring(AbstractFlow):
        p: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
        space: Euclidean = Euclidean()

        def velocity(self, t, x):
            return 1 - x**2 - self.p**2

    found = continue_equilibria(Parameter(Ring(0.0), lambda f: f.p, -2.0, 2.0), jnp.asarray([1.0]))
    assert found.ends == ("closed", "closed")
    assert [b.kind for b in found.bifurcations] == ["fold", "fold"]
    assert sorted(b.parameter for b in found.bifurcations) == pytest.approx([-1.0, 1.0], abs=1e-8)


def test_a_mark_lies_where_the_branch_passes_it_in_the_units_of_the_system():
    at = ds.Parameter(ds.system("x' = 1e3*a - x; a=0"), "a", 0.0, 5e5)
    found = continue_equilibria(at, [0.0], steps=Steps(marks={"level": lambda x, a: x[0] - 2e8}))
    (mark,) = found.marks
    np.testing.assert_allclose([mark.parameter, *np.asarray(mark.state)], [2e5, 2e8], rtol=1e-9)
    assert mark.arclength == pytest.approx(np.interp(2e5, found.parameters, found.arclengths), rel=1e-9)


@pytest.mark.parametrize("shear", [0.0, pytest.param(0.3, marks=pytest.mark.slow)])
def test_a_closed_branch_that_leaves_a_branch_point_ends_there(shear):
    """Newton's method fails beside its first point, where the branch crosses the one that it left."""
    flow = FunctionFlow(lambda t, x, p: x * (1 - x**2 - (p - shear * x) ** 2), parameters={"p": -2.0})
    parameter, steps = Parameter(flow, "p", -2.0, 2.0), Steps(largest=0.4)
    found = continue_equilibria(parameter, [0.0], steps=steps)
    (ring,) = switch(parameter, found.bifurcations[0], steps=steps)
    assert ring.ends == ("branch point", "closed")
    assert len(ring.parameters) < 40
    assert np.allclose(ring.states[:, 0] ** 2 + (ring.parameters - shear * ring.states[:, 0]) ** 2, 1, atol=1e-8)


def test_the_cap_on_points_is_reported():
    found = continue_equilibria(
        Parameter(DoubleWell(), lambda f: f.h, -1.0, 1.0), jnp.asarray([1.0]), steps=Steps(points=2)
    )
    assert found.ends == ("steps", "steps")
    assert str(found).endswith("ends: steps")


def test_bad_input_is_one_sentence():
    flow, x = DoubleWell(), jnp.asarray([1.0])
    with pytest.raises(ValueError, match="Argument `parameter` must return a real number of the flow"):
        continue_equilibria(Parameter(flow, lambda f: f.missing, -1.0, 1.0), x)
    with pytest.raises(ValueError, match="Arguments `low` and `high` must be in increasing order"):
        continue_equilibria(Parameter(flow, lambda f: f.h, 1.0, -1.0), x)
    with pytest.raises(ValueError, match="Argument `parameter` must have the system's own value, 0, in its range"):
        continue_equilibria(Parameter(flow, lambda f: f.h, 0.5, 1.0), x)
    with pytest.raises(ValueError, match="Argument `start` must be near an equilibrium"):
        continue_equilibria(Parameter(jax.tree.map(lambda a: a, DoubleWell(a=0.0, h=1e9)), lambda f: f.a, -1.0, 1.0), x)
    fold = continue_equilibria(Parameter(flow, lambda f: f.h, -1.0, 1.0), x).bifurcations[0]
    with pytest.raises(ValueError, match="Argument `at` must be a branch point, but is a fold"):
        switch(Parameter(flow, lambda f: f.h, -1.0, 1.0), fold)


class Scalar(AbstractFlow):
    """A flow of the user's on the line or in the plane, from a function of the parameter and the state."""

    p: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    rule: Callable = eqx.field(static=True)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return self.rule(self.p, x)


@pytest.mark.slow
def test_the_transcritical_normal_form_has_one_branch_point_and_one_other_branch():
    flow = Scalar(-1.0, lambda p, x: p * x - x**2)
    first = continue_equilibria(Parameter(flow, lambda f: f.p, -1.0, 1.0), jnp.zeros(1))
    assert [(b.kind, round(b.parameter, 8)) for b in first.bifurcations] == [("branch point", 0.0)]
    others = switch(Parameter(flow, lambda f: f.p, -1.0, 1.0), first.bifurcations[0])
    assert sorted(float(b.parameters[-1]) for b in others) == pytest.approx([-1.0, 1.0])
    for other in others:
        assert np.allclose(other.states[:, 0], other.parameters, atol=1e-8)


@pytest.mark.slow
def test_a_bifurcation_before_the_second_point_is_found_and_that_of_the_start_is_not_found_again():
    near = continue_equilibria(
        Parameter(Scalar(-0.01, lambda p, x: p * x - x**2), lambda f: f.p, -0.01, 1.0),
        jnp.zeros(1),
        steps=Steps(first=0.25),
    )
    assert near.parameters[1] > 0
    assert [(b.kind, round(b.parameter, 8)) for b in near.bifurcations] == [("branch point", 0.0)]
    bent = lambda t, x, p, bend: p * (x - bend * p**2) - (x - bend * p**2) ** 3
    for bend in (-0.7, -0.3, 0.2, 0.5):  # of the branch that is left: rounding falls on both sides of zero
        flow = FunctionFlow(bent, parameters={"p": -0.9, "bend": bend})
        first = continue_equilibria(Parameter(flow, parameter_p, -0.9, 1.0), jnp.full(1, 0.81 * bend))
        (point,) = first.bifurcations
        others = switch(Parameter(flow, parameter_p, -0.9, 1.0), point)
        assert [(other.ends[0], other.bifurcations) for other in others] == 2 * [("branch point", ())]


@pytest.mark.slow
def test_eigenvalues_that_touch_zero_are_no_bifurcations():
    rules = (
        (0.0, lambda p, x: -(p**2) * x - x**3),  # the eigenvalue -p^2 touches zero
        (-1.0, lambda p, x: p - x**3),  # the branch stands still in p at 0, and goes on
    )
    for start, rule in rules:
        found = continue_equilibria(Parameter(Scalar(-1.0, rule), lambda f: f.p, -1.0, 1.0), jnp.full(1, start))
        assert found.bifurcations == ()

    def turning(p, x):  # a pair -p^2 +- i touches the axis
        return jnp.stack([-(p**2) * x[0] - x[1], x[0] - p**2 * x[1]])

    assert (
        continue_equilibria(Parameter(Scalar(-1.0, turning), lambda f: f.p, -1.0, 1.0), jnp.zeros(2)).bifurcations == ()
    )


def parabolas(t, x, p, a, b, c):
    """The branches x = 0 and x = a p + b p^2 + c p^3 meet at 0."""
    return -x * (x - a * p - b * p**2 - c * p**3)


def parameter_p(flow):
    return flow.parameters["p"]


@pytest.mark.slow
@pytest.mark.parametrize("slopes", [(0.02, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_a_branch_leaves_that_is_nearly_parallel_or_tangential_to_the_first(slopes):
    flow = FunctionFlow(parabolas, parameters={"p": -0.5, **dict(zip("abc", slopes, strict=True))})
    zero = continue_equilibria(Parameter(flow, parameter_p, -1.0, 1.0), jnp.zeros(1))
    (at,) = zero.bifurcations
    left = switch(Parameter(flow, parameter_p, -1.0, 1.0), at)
    ends = [(float(one.parameters[-1]), float(np.asarray(one.states)[-1, 0])) for one in left]
    a, b, c = slopes
    np.testing.assert_allclose(sorted(ends), [(-1.0, b - a - c), (1.0, a + b + c)], atol=1e-9)


def test_branches_that_cross_where_an_eigenvalue_touches_zero_are_found():
    """Of p^2 x - x^3 the branches 0, p and -p meet at 0; with p^2 + 1e-4 they do not."""
    flow = Scalar(-0.97, lambda p, x: (p + 0.1) ** 2 * x - x**3)
    for start, step in ((0.0, 0.05), (0.0, 0.3), (-0.87, 0.05)):
        found = continue_equilibria(
            Parameter(flow, lambda f: f.p, -1.0, 1.0), [start], steps=Steps(first=step, largest=step)
        )
        (point,) = found.bifurcations
        assert (point.kind, point.multiplicity) == ("branch point", 0)
        assert (point.parameter, float(point.state[0])) == pytest.approx((-0.1, 0.0), abs=1e-7)
        way = np.array([1.0 if start else 0.0, 1.0])
        assert point.arclength == pytest.approx(0.9 * np.linalg.norm(way))
        assert point.direction == pytest.approx(way / np.linalg.norm(way), abs=1e-6)
    first = continue_equilibria(Parameter(flow, lambda f: f.p, -1.0, 1.0), [0.0])
    others = switch(Parameter(flow, lambda f: f.p, -1.0, 1.0), first.bifurcations[0])
    ends = sorted((round(float(o.parameters[-1]), 9), round(float(o.states[-1, 0]), 9)) for o in others)
    assert ends == [(-1.0, -0.9), (-1.0, 0.9), (1.0, -1.1), (1.0, 1.1)]
    apart = Scalar(-0.97, lambda p, x: ((p + 0.1) ** 2 + 1e-4) * x - x**3)
    assert continue_equilibria(Parameter(apart, lambda f: f.p, -1.0, 1.0), [0.0]).bifurcations == ()


def test_a_bifurcation_at_a_point_of_the_branch_is_found_once():
    """The points lie at p = -.25, 0 and .25, to the bit; where the growth falls it is -1e-13 at p = 0."""
    exactly = {"steps": Steps(first=0.25, largest=0.25)}
    grows = lambda rate, x: jnp.stack([rate * x[0] - x[1], x[0] + rate * x[1]])
    rising, falling, touching = lambda p, x: grows(p, x), lambda p, x: grows(-p - 1e-13, x), lambda p, x: grows(p**2, x)
    kept = lambda p, x: jnp.append(grows(p, x), 0.0)  # with the eigenvalue 0 everywhere
    for rule, kinds in ((rising, ["Hopf point"]), (falling, ["Hopf point"]), (touching, []), (kept, ["Hopf point"])):
        start = jnp.zeros(3 if rule is kept else 2)
        found = continue_equilibria(Parameter(Scalar(-0.5, rule), lambda f: f.p, -0.5, 1.0), start, **exactly)
        assert 0.0 in found.parameters
        assert "undecided" in found.kinds
        assert [b.kind for b in found.bifurcations] == kinds
        assert np.allclose([b.parameter for b in found.bifurcations], 0.0, atol=1e-10)


@pytest.mark.slow
def test_a_branch_point_at_which_two_eigenvalues_cross_is_found():
    found = continue_equilibria(
        Parameter(Scalar(-1.0, lambda p, x: p * x - x**3), lambda f: f.p, -1.0, 1.0),
        jnp.zeros(2),
        steps=Steps(largest=0.3),
    )
    ((kind, multiplicity, at),) = [(b.kind, b.multiplicity, b.parameter) for b in found.bifurcations]
    assert (kind, multiplicity, at) == ("branch point", 2, pytest.approx(0.0, abs=1e-9))


def test_all_branches_leave_a_point_with_the_symmetry_of_a_square():
    """(p - |z|^2) z with another cubic term: along both axes z^2 = p, along both diagonals z^2 = 4 p / 3."""
    flow = Scalar(-0.5, lambda p, x: p * x - jnp.sum(x**2) * x + 0.5 * x[::-1] ** 2 * x)
    (point,) = continue_equilibria(
        Parameter(flow, lambda f: f.p, -0.5, 0.5), jnp.zeros(2), steps=Steps(largest=0.5)
    ).bifurcations
    assert point.multiplicity == 2
    others = switch(Parameter(flow, lambda f: f.p, -0.5, 0.5), point, steps=Steps(points=2))
    ends = {tuple(np.round(other.states[-1] / np.sqrt(other.parameters[-1]), 6).tolist()) for other in others}
    half = round(np.sqrt(2 / 3), 6)
    axes = {(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)}
    assert {(x + 0.0, y + 0.0) for x, y in ends} == axes | {(x, y) for x in (half, -half) for y in (half, -half)}
    assert len(others) == 8


@pytest.mark.slow
def test_all_branches_leave_points_with_other_symmetries():
    """Quadratic terms of a triangle and of a tetrahedron, cubic ones of a cube: 3, 7 and 13 branches, both ways."""
    rules = (
        lambda p, x: p * x + jnp.stack([x[0] ** 2 - x[1] ** 2, -2 * x[0] * x[1]]),
        lambda p, x: p * x + jnp.stack([x[1] * x[2], x[0] * x[2], x[0] * x[1]]),
        lambda p, x: p * x - jnp.sum(x**2) * x - x**3 / 2,
    )
    for rule, size, count in zip(rules, (2, 3, 3), (6, 14, 26), strict=True):
        flow = Scalar(-0.5, rule)
        (point,) = continue_equilibria(
            Parameter(flow, lambda f: f.p, -0.5, 0.5), jnp.zeros(size), steps=Steps(largest=0.5)
        ).bifurcations
        assert point.multiplicity == size
        assert len(switch(Parameter(flow, lambda f: f.p, -0.5, 0.5), point, steps=Steps(points=2))) == count


@pytest.mark.slow
def test_a_cluster_of_four_tokens_splits_in_all_ways():
    """Into 3 + 1 (8 branches), 2 + 2 (6), and 1 + 2 + 1 (12), with all signs and exchanges of tokens."""
    flow, beta = TokenFlow(ScaledIdentity(0.1, 2)), (lambda f: f.query_key.factor)
    clusters = jnp.asarray([[1.0, 0.0]] * 4 + [[-1.0, 0.0]] * 5)
    options = {"symmetries": rotations(2)}
    (point,) = continue_equilibria(
        Parameter(flow, beta, 0.05, 0.4), clusters, steps=Steps(largest=0.1), **options
    ).bifurcations
    assert (point.multiplicity, point.parameter) == (3, pytest.approx(np.log(5 / 4) / 2, abs=1e-10))
    others = switch(Parameter(flow, beta, 0.05, 0.4), point, steps=Steps(largest=0.1, points=2), **options)
    angles = [np.arctan2(other.states[1, :4, 1], other.states[1, :4, 0]) for other in others]
    ways = {tuple(np.round(row / np.max(np.abs(row)) + 0.0, 2).tolist()) for row in angles}
    assert len(others) == len(ways) == 26


@pytest.mark.slow
def test_equilibria_that_are_not_isolated_are_said_to_be_so():
    conserved = Scalar(0.5, lambda p, x: p * jnp.stack([x[1] - x[0], x[0] - x[1]]))
    found = continue_equilibria(Parameter(conserved, lambda f: f.p, 0.4, 0.9), jnp.ones(2))
    assert not found.isolated
    assert found.bifurcations == ()
    assert "not isolated (a symmetry, or zero modes)" in str(found)


def test_a_curve_that_turns_back_at_a_corner_ends_there():
    """As the two circulations of Stommel (1961) meet, whose flow is the modulus of a difference of densities."""
    flow = FunctionFlow(lambda t, x, p: p - 2 * jnp.abs(x) + 0.5 * x, parameters={"p": 1.0})
    found = continue_equilibria(Parameter(flow, "p", -1.0, 1.5), [2 / 3])
    assert found.ends == ("corner", "bounds")
    assert found.parameters[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_the_corner_of_a_field_that_is_not_smooth_is_said():
    found = continue_equilibria(
        Parameter(Scalar(1.0, lambda p, x: p - jnp.abs(x)), lambda f: f.p, -1.0, 2.0), jnp.ones(1)
    )
    assert "corner" in (*found.ends, *(b.kind for b in found.bifurcations))
    with pytest.raises(ValueError, match="Argument `flow` must have a finite field with finite derivatives at `start`"):
        continue_equilibria(
            Parameter(Scalar(0.0, lambda p, x: p - jnp.sqrt(x)), lambda f: f.p, -1.0, 2.0), jnp.zeros(1)
        )


def test_the_cascade_of_the_logistic_map_has_feigenbaums_ratio():
    where, at, found = (lambda f: f.r), None, []
    for k in range(6):
        if at is None:
            branches = (continue_equilibria(Parameter(Logistic(r=2.5), where, 2.5, 3.2), jnp.asarray([0.6])),)
        else:
            step = 0.02 / 4 ** (k - 1)
            branches = switch(
                Parameter(Logistic(), where, 2.5, 3.6),
                at,
                steps=Steps(first=step, largest=4 * step, points=50),
                iterate=2 ** (k - 1),
            )
        at = next(b for branch in branches for b in branch.bifurcations if b.kind == "period doubling")
        found.append(at.parameter)
    assert found[:2] == pytest.approx([3.0, 1 + np.sqrt(6)], abs=1e-7)
    gaps = np.diff(found)
    assert gaps[-2] / gaps[-1] == pytest.approx(4.669201, abs=2e-3)  # the fourth ratio


def test_steps_become_as_large_as_a_share_of_wide_bounds():
    limits = lambda low, high, **steps: Steps(**steps).limits(Parameter(DoubleWell(), "h", low, high), 2)
    assert limits(0.0, 20.0).largest == 0.2
    assert limits(-25.0, 75.0).largest == 1.0
    assert limits(-100.0, 300.0, largest=0.3).largest == 0.3
    with pytest.raises(ValueError, match="Argument `parameter` must have a range wider than 1e-06 of the first step"):
        limits(0.0, 1e-9)


def test_steps_are_positive_and_there_are_two_points_at_least():
    for name, steps in (("first", {"first": 0.0}), ("largest", {"largest": -1.0}), ("points", {"points": 1})):
        with pytest.raises(ValueError, match=f"Argument `{name}` must be "):
            Steps(**steps)


def cortical_column(t, y, p):
    """The column of the cortex of Jansen and Rit, whose input p has a range of hundreds per second.

    Source: B. H. Jansen, V. G. Rit, Biol. Cybern. 73 (1995); F. Grimbert, O. Faugeras, Neural Comput. 18 (2006).
    """
    del t
    rate = lambda v: 5 / (1 + jnp.exp(0.56 * (6 - v)))
    inputs = jnp.stack([rate(y[1] - y[2]), p + 108 * rate(135 * y[0]), 33.75 * rate(33.75 * y[0])])
    gains, rates = jnp.asarray([325.0, 325.0, 1100.0]), jnp.asarray([100.0, 100.0, 50.0])
    return jnp.concatenate([y[3:], gains * inputs - 2 * rates * y[3:] - rates**2 * y[:3]])


@pytest.mark.slow
def test_a_branch_with_a_wide_range_has_the_published_bifurcations():
    column = FunctionFlow(cortical_column, parameters={"p": 0.0})
    found = continue_equilibria(
        Parameter(column, lambda f: f.parameters["p"], -50.0, 400.0), [0.0, 5.0, 3.0, 0.0, 0.0, 0.0]
    )
    places = [(b.kind, round(b.parameter, 2)) for b in found.bifurcations]
    assert found.ends == ("bounds", "bounds")
    folds, points = ([v for name, v in places if name == kind] for kind in ("fold", "Hopf point"))
    assert sorted(folds) == pytest.approx([-41.3, 113.6], abs=0.05)
    assert sorted(points) == pytest.approx([-12.15, 89.83, 315.70], abs=0.01)


class DelayedLogistic(AbstractMap):
    """(x, y) -> (a x (1 - y), x): at a = 2 the fixed point (1/2, 1/2) has the multipliers e^(+-i pi/3)."""

    a: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))
    space: Euclidean = Euclidean()

    def step(self, k, x):
        return jnp.stack([self.a * x[0] * (1 - x[1]), x[0]])


def test_a_pair_of_multipliers_leaves_the_unit_circle_at_its_angle():
    found = continue_equilibria(Parameter(DelayedLogistic(1.5), lambda f: f.a, 1.2, 2.2), jnp.full(2, 1 / 3))
    assert np.allclose(found.states, (1 - 1 / found.parameters)[:, None], atol=1e-9)
    (at,) = found.bifurcations
    assert (at.kind, at.parameter) == ("Neimark-Sacker point", pytest.approx(2.0, abs=1e-8))
    assert at.frequency == pytest.approx(np.pi / 3, abs=1e-8)
    assert [kind == "stable" for kind in found.kinds] == (found.parameters < 2).tolist()


@pytest.mark.slow
def test_a_fold_of_the_henon_map_has_its_closed_form():
    found = continue_equilibria(Parameter(Henon(a=0.2), lambda f: f.a, -0.3, 0.5), jnp.asarray([0.9, 0.3]))
    by_kind = {b.kind: b.parameter for b in found.bifurcations}
    assert by_kind["fold"] == pytest.approx(-((1 - 0.3) ** 2) / 4, abs=1e-8)
    assert by_kind["period doubling"] == pytest.approx(3 * (1 - 0.3) ** 2 / 4, abs=1e-8)


@pytest.mark.slow
def test_a_branch_goes_on_where_it_ended():
    flow, where = DoubleWell(h=-0.2), (lambda f: f.h)
    part = continue_equilibria(Parameter(flow, where, -0.5, 0.1), jnp.asarray([-1.0]))
    whole = extend(part, Parameter(flow, where, -1.0, 1.0))
    assert [b.kind for b in whole.bifurcations] == ["fold", "fold"]
    assert np.allclose(whole.parameters[[0, -1]], [-1.0, 1.0])
    assert np.allclose(whole.arclengths[1:] > whole.arclengths[:-1], True)
    with pytest.raises(ValueError, match="Argument `known` must be a branch of this flow"):
        extend(part, Parameter(DoubleWell(a=2.0), where, -1.0, 1.0))


@pytest.mark.slow
def test_a_branch_that_begins_on_a_bound_goes_on_ahead_or_not_at_all():
    flow, where = DoubleWell(h=-1.0), lambda f: f.h
    first = continue_equilibria(Parameter(flow, where, -1.0, 1.0), jnp.asarray([-1.4]))
    assert np.all(np.diff(first.arclengths) > 1e-9)
    for bounds in ((-1.0, 1.0), (-0.5, 0.5)):
        assert np.array_equal(extend(first, Parameter(flow, where, *bounds)).parameters, first.parameters)
    wider = extend(first, Parameter(flow, where, -1.2, 1.0))
    assert [round(b.parameter, 6) for b in wider.bifurcations] == [0.3849, -0.3849]
    assert wider.parameters[0] == pytest.approx(-1.2)


def test_two_folds_in_one_step_are_both_found():
    """The folds of h = x^3 - a x are at x^2 = a / 3; at a = 0 they meet, and for a < 0 there is none."""
    for a, count in ((2.4e-3, 2), (0.0, 0), (-2.4e-3, 0)):
        flow = DoubleWell(a=a, h=-0.5)
        found = continue_equilibria(
            Parameter(flow, lambda f: f.h, -0.5, 0.5), jnp.asarray([-0.8]), steps=Steps(first=0.11, largest=0.17)
        )
        assert np.max(np.diff(found.arclengths)) > 2 * np.sqrt(2.4e-3 / 3)  # both are in one step
        assert [b.kind for b in found.bifurcations] == ["fold"] * count
        folds = [abs(b.parameter) for b in found.bifurcations]
        assert folds == pytest.approx([2 * (a / 3) ** 1.5] * count if count else [], abs=1e-9)


def test_the_nearest_name_of_a_parameter_is_said():
    with pytest.raises(ValueError, match="but DoubleWell has no `hh`, did you mean `h`"):
        continue_equilibria(Parameter(DoubleWell(), lambda f: f.hh, -1.0, 1.0), jnp.ones(1))
    with pytest.raises(ValueError, match="Argument `iterate` must be 1 for a flow, but is 2"):
        continue_equilibria(Parameter(DoubleWell(), lambda f: f.h, -1.0, 1.0), jnp.ones(1), iterate=2)


@pytest.mark.slow
def test_a_cluster_of_tokens_splits_in_a_pitchfork_against_beta():
    flow, beta = TokenFlow(ScaledIdentity(0.1, 2)), (lambda f: f.query_key.factor)
    clusters = jnp.asarray([[1.0, 0.0]] * 2 + [[-1.0, 0.0]] * 3)  # antipodal, two tokens against three
    options = {"symmetries": rotations(2)}
    found = continue_equilibria(Parameter(flow, beta, 0.05, 0.4), clusters, steps=Steps(largest=0.1), **options)
    assert np.allclose(found.states, np.asarray(clusters), atol=1e-9)
    ((kind, at),) = [(b.kind, b.parameter) for b in found.bifurcations]
    assert (kind, at) == ("branch point", pytest.approx(np.log(3 / 2) / 2, abs=1e-8))  # e^(2 beta) = 3/2
    others = switch(Parameter(flow, beta, 0.05, 0.4), found.bifurcations[0], steps=Steps(largest=0.1), **options)
    assert len(others) == 2  # the two tokens exchanged
    for other in others:
        away = np.linalg.norm(other.states[1:, 0] - other.states[1:, 1], axis=1)
        assert np.all(away > 0)
        assert np.allclose(other.states[:, 2], other.states[:, 4], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_branch_of_a_large_field_ends_at_the_bounds(size):
    """Rounding leaves as much of a field as it is large."""
    flow = FunctionFlow(lambda t, x, r: size * (r + x**2), parameters={"r": -1.0})
    branch = continue_equilibria(Parameter(flow, lambda flow: flow.parameters["r"], -2.0, 2.0), [1.0])
    assert branch.ends == ("bounds", "bounds")
    np.testing.assert_allclose(branch.parameters[[0, -1]], -2.0, atol=1e-8)


def test_lengths_go_on_where_two_branches_are_joined():
    fold = Bifurcation("fold", np.zeros(1), 2.2, np.zeros(1, complex), 0.0, 0.5, np.ones(1))
    part = lambda parameters, lengths, found: Branch(
        np.array(parameters)[:, None], np.array(parameters), np.array(lengths),
        np.zeros((len(lengths), 1), complex), ("stable",) * len(lengths), found, ("", ""),
    )  # fmt: skip
    whole = joined([part([0.0, 1.0, 2.0], [0.0, 1.5, 3.0], ()), part([2.0, 3.0], [0.0, 2.0], (fold,))], ("a", "b"))
    np.testing.assert_array_equal(whole.parameters, [0, 1, 2, 3])
    np.testing.assert_array_equal(whole.states[:, 0], [0, 1, 2, 3])
    np.testing.assert_array_equal(whole.arclengths, [0, 1.5, 3, 5])
    assert ([b.arclength for b in whole.bifurcations], whole.ends, len(whole.kinds)) == ([3.5], ("a", "b"), 4)
    assert str(part([3.17e-12, 1.0], [0.0, 1.0], ())).startswith("2 points, parameter 0 to 1:")  # an error of location
