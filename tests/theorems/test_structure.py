"""Theorems on the structure of a field: conserved functions, volumes, gradient and Hamiltonian flows."""

import jax.numpy as jnp
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.algebra import is_zero
from tests.theorems.reports import flow, not_holding

BOX = [(-2.0, 2.0), (-2.0, 2.0)]
CUBE = [(-2.0, 2.0)] * 3
PREY = flow("x' = x*(1 - y); y' = y*(x - 1)")
WELL = flow("x' = y; y' = x - x^3")
TOP = flow("x' = 0.5*y*z; y' = -x*z; z' = 0.5*x*y")


def energy(x):
    return x[1] ** 2 / 2 - x[0] ** 2 / 2 + x[0] ** 4 / 4


APPLIES = {
    "Duffing's energy": lambda: th.conserved(WELL, energy, BOX),
    "the function of Lotka and Volterra": lambda: th.conserved(
        PREY, lambda x: x[0] - jnp.log(x[0]) + x[1] - jnp.log(x[1]), [(0.1, 3.0), (0.1, 3.0)]
    ),
    "the pendulum's energy": lambda: th.conserved(
        flow("x' = y; y' = -sin(x)"), lambda x: x[1] ** 2 / 2 - jnp.cos(x[0]), BOX
    ),
    "the momentum of a top": lambda: th.conserved(TOP, lambda x: jnp.sum(x**2), CUBE),
    "Lorenz's volumes": lambda: th.liouville(ds.catalogue.Lorenz(), CUBE),
    "a top's volumes": lambda: th.liouville(TOP, CUBE, conservative=True),
    "a potential": lambda: th.gradient(flow("x' = x - x^3 + 2*x*y; y' = x^2 - y"), BOX),
    "a potential of three components": lambda: th.gradient(flow("x' = y*z; y' = x*z; z' = x*y - sin(z)"), CUBE),
    "a line": lambda: th.gradient(flow("x' = sin(x)"), [(-1.0, 1.0)]),
    "a double well": lambda: th.hamiltonian(WELL, BOX),
}
MISSES = {
    "a friction that is small": (
        lambda: th.conserved(flow("x' = y; y' = x - x^3 - 1e-9*y"), energy, BOX),
        "H does not change along solutions", "fails",
    ),
    "a constant": (lambda: th.conserved(WELL, lambda x: x[0] - x[0] + 1, BOX), "H is not constant", "fails"),
    "an identity of sines": (
        lambda: th.conserved(
            flow("x' = 1; y' = 1 - sin(x)^2 - cos(x)^2"), lambda x: x[1], BOX
        ), "H does not change along solutions", "undecided",
    ),
    "volumes that grow in a part": (
        lambda: th.liouville(flow("x' = y; y' = -x + (1 - x^2)*y"), BOX), "the divergence is negative", "fails",
    ),
    "volumes that shrink little": (
        lambda: th.liouville(flow("x' = y; y' = -x - 1e-12*y"), BOX, conservative=True),
        "the divergence is zero", "fails",
    ),
    "a rounded coefficient, which a tolerance would overlook": (
        lambda: th.gradient(flow("x' = 0.1*y + 0.2*y; y' = 0.3*x"), BOX), "the Jacobian is symmetric", "fails",
    ),
    "a hole, around which an angle grows": (
        lambda: th.gradient(
            flow("x' = -y/(x^2 + y^2); y' = x/(x^2 + y^2)"), th.annulus([0.0, 0.0], 0.5, 2.0)
        ), "the region has no holes", "undecided",
    ),
    "a damped well": (
        lambda: th.hamiltonian(flow("x' = y; y' = x - x^3 - 0.1*x^2*y"), BOX), "the divergence is zero", "fails",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLIES)
def test_a_structure_is_found_where_it_is_known(name):
    found = APPLIES[name]()
    assert not_holding(found) == []
    assert found.is_certified


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_names_the_one_condition(name):
    call, words, status = MISSES[name]
    found = call()
    assert not_holding(found) == [(words, status)]


def test_the_rate_at_which_lorenz_shrinks_volumes_is_the_known_one():
    assert th.liouville(ds.catalogue.Lorenz(), CUBE).numbers["rate"] == pytest.approx(10 + 1 + 8 / 3, rel=1e-14)


def test_elementary_functions_cancel_only_with_the_same_argument():
    assert is_zero(lambda x: jnp.sin(2 * x) * x - x * jnp.sin(x + x), 1)
    assert is_zero(lambda x: jnp.sin(x) - jnp.sin(x + 1e-9), 1) is None
    assert is_zero(lambda x: jnp.sin(x) - jnp.cos(x), 1) is None
