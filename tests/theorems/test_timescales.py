"""Theorems about two time scales: reduced problems, averages, canards."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import dynsim as ds
from analysis import theorems as th
from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.timescales.quadrature import Average
from tests.theorems.reports import failing, flow, not_holding

LEFT = [(-2.5, -1.1), (-0.6, 1.0)]
TURN = 2 * np.pi
FOLD = "x' = (y - x^2)/0.01; y' = {a}*x - z; z' = {b}"


VAN_DER_POL = flow("v' = (v - v^3/3 - w)/0.08; w' = v + 0.7")
PAIR = "u' = (-2*u + v)/0.1; v' = (-u - 2*v + {c}*w)/0.1; w' = -w"


def canards(quick, slow, value, near, **options):
    system = flow(f"x' = ({quick})/0.01; y' = {slow}", a=0.5)
    return th.canard_point(ds.Parameter(system, "a", -2.0, 2.0), value, near, **options)


def folded(a=-1.2, b=0.1, near=(0.0, 0.0, 0.0)):
    return th.folded_singularity(flow(FOLD.format(a=a, b=b)), near)


def averaging(text, near, sides=None, period=TURN):
    return th.averaging(flow(text), period, [(-1.0, 2.0)] * len(near) if sides is None else sides, near, parts=64)


APPLIES = {
    "a graph that attracts all": lambda: th.tikhonov(
        flow("x' = (y - x - x^3)/0.01; y' = -x"), [(-2, 2), (-1, 1)], [1.5, 0.5]
    ),
    "a branch of van der Pol's": lambda: th.tikhonov(VAN_DER_POL, LEFT, [-2.0, 0.5], time=0.1),
    "a start outside of the box": lambda: th.tikhonov(VAN_DER_POL, LEFT, [-5.0, 0.5], time=0.1),
    "two fast components": lambda: th.tikhonov(
        flow(PAIR.format(c=1)), [(-2, 2), (-2, 2), (-1, 1)], [0, 0, 0.5], (0, 1)
    ),
    "a face at which the slow field is zero": lambda: th.tikhonov(
        flow("x' = (0.3*y - x)/0.01; y' = (2 + x)*(y - y*y)"), [(-1, 1), (0, 1)], [0.9, 0.5]
    ),
    "Guckenheimer and Holmes's example": lambda: averaging("x' = 0.1*(x*sin(t)^2 - x^2/2)", [0.9]),
    "a saddle of the average": lambda: averaging("x' = 0.1*(x + y*sin(t)); y' = -0.1*y + 0.1*x*cos(t)", [0.0, 0.0]),
    "a small rate under a large force": lambda: averaging("x' = x*(1e3*sin(t) - 1e-10)", [0.0]),
    "van der Pol's canard": lambda: canards("y + x - x^3/3", "a - x", 0.95, [0.9, -0.6]),
    "a fold that is nearly flat": lambda: canards("y - x^3 - 1e-20*x^2", "a - x", 0.0, [0, 0]),
    "a folded saddle": lambda: folded(b=-0.1, near=(0.01, 0.0, 0.0)),
}  # fmt: skip


SLOW = {"van der Pol's canard", "a branch of van der Pol's", "a saddle of the average"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in APPLIES])
def test_a_theorem_applies_where_it_is_known_to(name):
    found = APPLIES[name]()
    assert not_holding(found) == []
    assert found.is_certified


MISSES = {
    "a start beyond the repelling branch": (
        lambda: th.tikhonov(VAN_DER_POL, LEFT, [1.0, 0.5], time=0.1), "the start is in the basin of the root", "fails",
    ),
    "a time that is too long": (
        lambda: th.tikhonov(VAN_DER_POL, LEFT, [-2.0, 0.5], time=2.0),
        "the solution of the reduced problem stays in the box", "fails",
    ),
    "a slow face that is left": (
        lambda: th.tikhonov(VAN_DER_POL, LEFT, [-2.0, 0.5]),
        "the solution of the reduced problem stays in the box", "fails",
    ),
    "a box with the fold": (
        lambda: th.tikhonov(VAN_DER_POL, [(-2.5, 2.1), (0.6, 1.0)], [-2.0, 0.9], time=0.01),
        "the root of the layer problem is alone and attracts", "fails",
    ),
    "a box that cuts the branch off": (
        lambda: th.tikhonov(VAN_DER_POL, [(-2.0, -1.1), (-0.6, 1.0)], [-2.0 + 0.1, 0.5], time=0.1),
        "the layer problem enters the box", "fails",
    ),
    "a pair that is driven out": (
        lambda: th.tikhonov(flow(PAIR.format(c=3)), [(-2, 2), (-2, 2), (-1, 1)], [0, 0, 0.5], (0, 1)),
        "the layer problem enters the box", "fails",
    ),
    "an average without a zero": (
        lambda: averaging("x' = 0.1*(1 + x*sin(t)^2 + x^2/2)", [0.9]),
        "the averaged field has an equilibrium in the box", "fails",
    ),
    "another period": (
        lambda: averaging("x' = 0.1*(x*sin(t)^2 - x^2/2)", [0.9], period=6.0), "the field is periodic in time", "fails",
    ),
    "a centre of the average": (
        lambda: averaging("x' = 0.1*(y + x*sin(t)); y' = -0.1*x", [0.0, 0.0]), "it is hyperbolic", "undecided",
    ),
    "a rate that is zero": (
        lambda: averaging("x' = 0.1*x*(sin(t)^2 - 0.5)", [0.0]), "the averaged field has an equilibrium in the box",
        "undecided",
    ),
    "a cusp of the critical manifold": (
        lambda: canards("y - x^3 + a*x", "a - x", 0.0, [0, 0]), "the fold is nondegenerate", "fails",
    ),
    "a saddle at the fold": (
        lambda: canards("y - x^2", "x - a", 0.0, [0, 0]), "the slow flow turns around the fold", "fails",
    ),
    "a parameter that only touches": (
        lambda: canards("y - x^2", "a^2 - x", 0.0, [0, 0]),
        "the parameter moves the zero of g across the fold", "fails",
    ),
    "a folded focus": (lambda: folded(b=1.0), "the eigenvalues on the critical manifold are real", "fails"),
    "a folded node that is left": (
        lambda: folded(a=1.2), "the slow flow leads to the singularity from the attracting side", "fails",
    ),
    "a folded saddle node": (lambda: folded(b=0.0), "no eigenvalue on the critical manifold is zero", "fails"),
    "no fold at the zero of the slow field": (
        lambda: canards("y - x", "x - a", 0.0, [0.1, 0.1]), "the slow field is zero at a fold", "undecided",
    ),
    "no fold": (
        lambda: th.folded_singularity(flow("x' = (y - x)/0.01; y' = x + 0*z; z' = -0.1"), [0.1, 0.0, 0.0]),
        "the slow flow meets the fold in a folded singularity", "undecided",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_names_the_one_condition(name):
    call, words, status = MISSES[name]
    found = call()
    assert not_holding(found) == [(words, status)]
    assert not found.applies


def test_numbers_are_the_known_ones():
    fitzhugh_nagumo = canards("x - x^3/3 - y + a", "x + 0.7 - 0.8*y", 0.3, [-0.9, -0.4])
    assert fitzhugh_nagumo.applies
    assert fitzhugh_nagumo.numbers["a"] == pytest.approx(7 / 24)
    node = folded()
    assert node.applies
    assert node.numbers["mu"] == pytest.approx(0.2)  # eigenvalues -1 and -0.2
    assert "unstable" in averaging("x' = 0.1*(x - x^2*sin(t)^2)", [0.0]).conclusion


def test_averages_are_enclosed():
    average = Average(lambda z: jnp.stack([z[0] * jnp.exp(jnp.cos(z[1])), z[0] * jnp.sin(z[1])]), 1, TURN)
    with arithmetic(128, 21):
        first, second = average(balls([2.0]))
    assert abs(float(first.mid()) - 2 * scipy.special.i0(1.0)) < 1e-14 > float(first.rad())
    assert second.contains(0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.tikhonov(VAN_DER_POL, LEFT, [-2.0, 1.5]), "`start` must be inside the box"),
        (lambda: th.tikhonov(VAN_DER_POL, LEFT, [-2.0, 0.5], (2,)), "`fast` must be one or two different indices"),
        (lambda: th.tikhonov(VAN_DER_POL, LEFT, [-2.0, 0.5], time=-1), "`time` must be positive"),
        (lambda: averaging("x' = -x", [3.0]), "`near` must be inside the box"),
        (lambda: averaging("x[n+1] = -x", [0.5]), "`flow` must be a flow"),
        (lambda: canards("y - x^2", "x - a", 0.0, [0, 0], fast=(0, 1)), "`fast` must be one index below 2"),
        (lambda: th.folded_singularity(VAN_DER_POL, [0, 0]), "`near` must have 3 components"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize("time", [1.0, 5.0])
def test_a_jump_at_any_time_of_the_period_is_seen(time):
    with arithmetic(100, 1):
        assert Average(lambda z: jnp.stack([jnp.where(z[1] > time, z[0], 0.0)]), 1, TURN).may_jump(balls([0.5]))
        assert not Average(lambda z: jnp.stack([z[0] * jnp.sin(z[1])]), 1, TURN).may_jump(balls([0.5]))


def test_a_critical_manifold_that_opens_the_other_way_is_regular():
    mirrored = flow("x' = -(y + x^2)/0.01; y' = 1.2*x + z; z' = -0.1")
    found = th.folded_singularity(mirrored, [0.01, 0.0, 0.0])
    assert failing(found) == []
