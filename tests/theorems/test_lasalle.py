"""LaSalle's theorem: damped oscillators with one and three equilibria, and what it does not show."""

import jax.numpy as jnp
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import flow, not_holding

SIDES = [(-2.0, 2.0), (-2.0, 2.0)]
THREE = [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]


def energy(x):
    return x[1] ** 2 / 2 - x[0] ** 2 / 2 + x[0] ** 4 / 4


WELL = flow("x' = y; y' = x - x^3 - 0.5*y")
BELOW = th.where(SIDES, lambda x: 0.5 - energy(x), label="{H <= 1/2}", bounds=False)


PENDULUM_ENERGY = lambda s: s[1] ** 2 / 2 - jnp.cos(s[0])


@pytest.mark.parametrize(
    ("friction", "expected"),
    [
        ("0.5*y", []),
        pytest.param("0.5*y - 1e-9*y*cos(x)", [], marks=pytest.mark.slow),
        pytest.param(
            "0.5*y*sin(x)",
            [
                ("the field points into the region on its boundary", "fails"),
                ("V does not grow along solutions", "fails"),
            ],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_pendulum_with_friction_comes_to_rest(friction, expected):
    below = th.where([(-2.6, 2.6), (-2.5, 2.5)], lambda s: 0.8 - PENDULUM_ENERGY(s), label="{E <= 0.8}", bounds=False)
    found = th.lasalle(flow(f"x' = y; y' = -sin(x) - {friction}"), PENDULUM_ENERGY, below, [0.0, 0.0], budget=20_000)
    assert [row for row in not_holding(found) if row[1] == "fails"] == expected
    assert found.applies == (expected == [])


OSCILLATOR = flow("x' = y; y' = -x - y")
SQUARES = lambda x: x[0] ** 2 + x[1] ** 2
DISC = th.ball([0.0, 0.0], 1.0)


@pytest.mark.parametrize(
    ("system", "equilibrium", "expected"),
    [
        (OSCILLATOR, [0.0, 0.0], []),
        (OSCILLATOR, [0.001, 0.0], [("the point is an equilibrium", "fails")]),
        (OSCILLATOR, [0.5, 0.0], [
            ("no solution stays where V rests, away from the equilibria", "fails"),
            ("the point is an equilibrium", "fails"),
        ]),
        (flow("x' = y; y' = -x"), [0.0, 0.0], [
            ("no solution stays where V rests, away from the equilibria", "fails"),
            ("no other solution stays near it", "undecided"),
        ]),
    ],
)  # fmt: skip
def test_a_near_miss_names_the_condition(system, equilibrium, expected):
    assert not_holding(th.lasalle(system, SQUARES, DISC, equilibrium, derivatives=2, budget=2000)) == expected


def test_balls_about_equilibria_must_not_meet():
    with pytest.raises(ValueError, match="`cut` must be less than half the least distance of two equilibria, 1"):
        th.lasalle(WELL, energy, BELOW, THREE, cut=0.5)


@pytest.mark.slow
def test_a_function_that_rests_on_a_line_leads_to_the_equilibrium_if_solutions_leave_the_line():
    V = lambda s: (s[0] ** 2 + s[1] ** 2) / 2
    inside = th.where([(-1.1, 1.1), (-1.1, 1.1)], lambda s: 0.5 - V(s), bounds=False)
    check = lambda text, along=(1.0, 0.0): th.lasalle(ds.system(text), V, inside, [0.0, 0.0], rests_along=along)
    damped = check("x' = y; y' = -x - y")
    assert [one.words for one in damped.hypotheses if one.status != "holds"] == []
    assert damped.is_certified
    still = check("x' = 0*x; y' = -y")
    assert [(one.words, one.status) for one in still.hypotheses if one.status != "holds"] == [
        ("no other solution stays on the line", "undecided")
    ]
    with pytest.raises(ValueError, match="`rests_along` must be a direction"):
        check("x' = y; y' = -x - y", (0.0, 0.0))


def test_squares_and_signs_beside_a_face_are_decided_about_the_equilibrium():
    """V' = -(x - 1)^2 - y on y >= 0: a square, and a term that is zero on a face."""
    V = lambda s: (s[0] - 1) ** 2 / 2 + s[1]
    found = th.lasalle(ds.system("x' = 1 - x; y' = -y"), V, [(0.5, 1.5), (0.0, 1.0)], [1.0, 0.0])
    assert [one.words for one in found.hypotheses if one.status != "holds"] == []
