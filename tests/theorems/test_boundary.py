"""Regions and fields for which a theorem must not apply: cut, empty or degenerate regions, and fields that jump."""

import jax.numpy as jnp
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import flow

SQUARE = [(-1.0, 1.0), (-1.0, 1.0)]
STRIP = th.where(SQUARE, lambda x: 0.25 - x[1] ** 2, bounds=False)  # goes on outside of the box
EMPTY = th.where([(0.0, 1.0), (-1.0, 1.0)], lambda x: x[0] * (1 - x[0]) - 0.26, bounds=False)
POINT = th.where(SQUARE, lambda x: x[1] - x[0] ** 2, lambda x: -x[1], bounds=False)  # the origin only
FLAT = th.where(SQUARE, lambda x: (0.25 - jnp.sum(x**2)) ** 3, bounds=False)  # no gradient on the circle
JUMPING = th.where(SQUARE, lambda x: jnp.where(x[0] < 0.5, 1.0, -1.0))
ALONG = flow("x' = 1; y' = -y")
JUMP = ds.FunctionFlow(lambda t, x: jnp.where(x > 0.1, 1.0, -1.0))
HELD = "the box holds the region"

CASES = {
    "a region cut by its box": (lambda: th.nagumo(ALONG, STRIP), HELD, "fails"),
    "a cut region without equilibria": (lambda: th.poincare_bendixson(ALONG, STRIP), HELD, "fails"),
    "a level beyond the box": (
        lambda: th.lyapunov(
            flow("x' = -x; y' = -y"), lambda x: jnp.sum(x**2),
            th.where(SQUARE, lambda x: 4 - jnp.sum(x**2), bounds=False), [0, 0],
        ), HELD, "fails",
    ),
    "an empty region": (lambda: th.poincare_bendixson(ALONG, EMPTY), "the region is not empty", "fails"),
    "a region without an inside": (
        lambda: th.nagumo(flow("x' = 1; y' = 2*x"), POINT, budget=5000),
        "pieces of the boundary meet in corners that have an inside", "undecided",
    ),
    "no gradient on the boundary": (
        lambda: th.nagumo(ALONG, FLAT, budget=5000), "the boundary is regular", "undecided"
    ),
    "an inequality that jumps": (lambda: th.nagumo(ALONG, JUMPING), "the boundary is regular", "undecided"),
    "a field that jumps over zero": (lambda: th.miranda(JUMP, [(-1, 1)]), "the field is continuous", "undecided"),
    "a field that jumps at the start": (
        lambda: th.picard_lindelof(JUMP, [(-1, 1)], [0.0]), "the field is continuous", "undecided",
    ),
    "two eigenvalues that are zero": (
        lambda: th.fold(
            ds.Parameter(flow("x' = -x^3; y' = mu - y^2", mu=0.1), "mu", -1.0, 1.0), 0.0, [0.0, 0.0]
        ), "an eigenvalue is zero, and only one", "fails",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_condition_that_is_easily_overlooked_is_not_met(name):
    call, words, status = CASES[name]
    found = call()
    assert {one.words: one.status for one in found.hypotheses}[words] == status
    assert not found.applies


def test_a_kink_is_continuous_and_has_a_lipschitz_constant():
    found = th.picard_lindelof(ds.FunctionFlow(lambda t, x: jnp.abs(x)), [(-1.0, 1.0)], [0.0])
    assert found.applies
    assert found.numbers["L"] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("sides", [[(0.0, 1.0)] * 2, [(0.0, 1.0)] * 3])
def test_corners_of_a_box_that_is_cut_are_allowed(sides):
    shrinking = ds.FunctionFlow(lambda t, x: -x)
    assert th.nagumo(shrinking, th.where(sides, lambda x: 1.5 - jnp.sum(x))).applies
