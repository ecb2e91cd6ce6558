"""Theorems on existence: fixed points of contractions, zeros near a start of Newton's method, turns of a field."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import flow, not_holding

SQUARE = [(-1.0, 1.0), (-1.0, 1.0)]
BEND = "x[n+1] = 0.5*cos(y); y[n+1] = 0.9*sin(x)"


def parabola(c):
    """A flow x' = x^2 + c, whose Newton step from 1 meets the condition with equality at c = 0."""
    return ds.FunctionFlow(lambda t, x: x**2 + c)


APPLIES = {
    "cosine": lambda: th.banach(flow("x[n+1] = cos(x)"), [(0.5, 1.0)]),
    "two components": lambda: th.banach(flow(BEND), SQUARE),
    "weights": lambda: th.banach(
        flow("x[n+1] = 0.5*x + 2*y; y[n+1] = 0.5*y"), [(-8.0, 8.0), (-1.0, 1.0)], weights=[5.0, 1.0]
    ),
    "a root of two": lambda: th.newton_kantorovich(flow("x' = 2 - x^2"), [1.4]),
    "two equations": lambda: th.newton_kantorovich(flow("x' = x^2 + y^2 - 1; y' = x - y"), [0.7, 0.7]),
    "equality": lambda: th.newton_kantorovich(parabola(0.0), [1.0], reach=1.0),
    "a saddle": lambda: th.brouwer_degree(flow("x' = x; y' = -y"), SQUARE),
    "two nodes": lambda: th.brouwer_degree(flow("x' = x^2 - y^2; y' = 2*x*y - 0.1"), SQUARE),
}
MISSES = {
    "a map that leaves the box": (
        lambda: th.banach(flow("x[n+1] = 0.5*x + 0.51"), [(0.0, 1.0)]), "the map keeps the box", "fails",
    ),
    "a slope beyond one at an end": (
        lambda: th.banach(flow("x[n+1] = 0.52*x^2"), [(0.0, 1.0)]), "the map contracts", "fails",
    ),
    "a norm that is not the right one": (
        lambda: th.banach(flow("x[n+1] = 0.5*x + 2*y; y[n+1] = 0.5*y"), [(-8.0, 8.0), (-1.0, 1.0)]),
        "the map contracts", "fails",
    ),
    "no zero, by less than rounding": (
        lambda: th.newton_kantorovich(parabola(2.0**-60), [1.0], reach=1.0),
        "the first step is short against the curvature", "fails",
    ),
    "a double zero": (
        lambda: th.newton_kantorovich(flow("x' = x^2"), [0.0]), "the Jacobian at the start is regular", "fails",
    ),
    "a box that is too small": (
        lambda: th.newton_kantorovich(flow("x' = 2 - x^2"), [1.4], reach=0.01), "the box reaches far enough", "fails",
    ),
    "a saddle and a node": (
        lambda: th.brouwer_degree(flow("x' = x^2 - 0.1; y' = -y"), SQUARE), "the field turns along the boundary",
        "fails",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIES)
def test_a_theorem_applies_where_it_is_known_to(name):
    found = APPLIES[name]()
    assert not_holding(found) == []
    assert found.is_certified


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_names_the_one_condition(name):
    call, words, status = MISSES[name]
    found = call()
    assert not_holding(found) == [(words, status)]


def test_the_lipschitz_constant_of_a_contraction_is_an_upper_bound():
    found = th.banach(flow("x[n+1] = cos(x)"), [(0.5, 1.0)])
    assert np.sin(1.0) <= found.numbers["L"] <= np.sin(1.0) * 1.02


def test_the_zero_lies_within_the_radius_of_newton_and_kantorovich():
    numbers = th.newton_kantorovich(flow("x' = 2 - x^2"), [1.4]).numbers
    assert np.sqrt(2) - 1.4 <= numbers["radius"] < 0.0144
    assert numbers["alone"] > 1


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_degree_of_a_complex_power_is_its_exponent(power):
    def field(t, x):
        u, v = x[0], x[1]
        for _ in range(power - 1):
            u, v = u * x[0] - v * x[1], u * x[1] + v * x[0]
        return jnp.stack([u, v])

    assert th.brouwer_degree(ds.FunctionFlow(field), [(-1.0, 1.5), (-0.7, 1.0)]).numbers["degree"] == power


def test_an_equilibrium_on_the_boundary_is_named():
    found = th.brouwer_degree(flow("x' = x; y' = -y"), [(0.0, 1.0), (-1.0, 1.0)])
    assert found.hypotheses[1].status == "fails"
    assert found.hypotheses[1].witness == pytest.approx([0, 0])
    assert found.hypotheses[2].status == "undecided"
    off = th.brouwer_degree(flow("x' = x; y' = 3*y - 1"), [(0.0, 1.0), (-1.0, 1.0)])
    assert [one.status for one in off.hypotheses] == ["holds", "undecided", "undecided"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.banach(flow("x' = -x"), [(0, 1)]), "`system` must be"),
        (lambda: th.banach(flow("x[n+1] = x/2"), [(0, 1)], weights=[-1.0]), "`weights` must be positive"),
        (lambda: th.newton_kantorovich(flow("x' = -x"), [0.1], reach=-1.0), "`reach` must be positive"),
        (lambda: th.brouwer_degree(flow("x' = -x"), [(0, 1)]), "must be in the plane for Brouwer's degree"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
