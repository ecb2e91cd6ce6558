"""Questions of the theorems that are asked again about an equilibrium, and functions that vanish on a surface."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.theorems import box
from analysis.theorems.stability import lasalle
from analysis.theorems.subdivision import Decision
from analysis.theorems.switching.parts import vanishes_on

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"


@pytest.fixture
def asked(monkeypatch):
    """The functions, regions and options of all questions, each of which is answered by the next status."""
    seen, answers = [], []

    def positive(fn, region, **options):
        seen.append((fn, region, options))
        status = answers.pop(0) if answers else HOLDS
        left = np.zeros((int(status == UNDECIDED), region.dimension, 2))
        return Decision(status, 1.0, 1.0, 1, left, np.zeros(region.dimension) if status == FAILS else None)

    monkeypatch.setattr(lasalle, "positive", positive)
    return seen, answers


def test_what_is_not_decided_is_tried_again_about_each_equilibrium(asked):
    seen, answers = asked
    region = box([(-1.0, 3.0)])
    answers += [UNDECIDED, UNDECIDED, FAILS]
    found = lasalle._not_growing(
        lambda x: x[0] ** 3, region, [np.array([0.0]), np.array([1.0]), np.array([2.0])], 30_000
    )
    assert (found.status, found.witness.tolist(), len(seen)) == (FAILS, [1.0], 3)
    assert found.sign_of is not None
    assert float(found.sign_of[0](jnp.array([2.0]))) == -8.0
    assert found.sign_of[1] is region
    assert [float(fn(jnp.array([0.5]))) for fn, *_ in seen] == [-0.125, -0.125, -(1.5**3)]
    assert [where.sides.tolist() for _, where, _ in seen[1:]] == [[[-1.0, 3.0]], [[-2.0, 2.0]]]
    assert [options["budget"] for *_, options in seen] == [lasalle.BESIDE, 30_000, 30_000]
    assert all(options["strictly"] is False for *_, options in seen)
    answers += [HOLDS]
    assert lasalle._not_growing(lambda x: -x[0], region, [np.array([0.0])], 10).status == HOLDS
    assert seen[-1][2]["budget"] == 10


@pytest.mark.parametrize(
    ("value", "on", "at", "expected"),
    [
        (lambda x: (x[0] + 2 * x[1] - 1) * x[0], lambda x: x[0] + 2 * x[1] - 1, [1.0, 0.0], True),
        (lambda x: x[0] + x[1], lambda x: x[0] + 2 * x[1] - 1, [1.0, 0.0], False),
        (lambda x: 0 * x[0], lambda x: x[0] ** 2 - x[1], [0.0, 0.0], True),  # everywhere
        (lambda x: (x[0] ** 2 - x[1]) * x[0], lambda x: x[0] ** 2 - x[1], [0.0, 0.0], False),  # the surface is curved
        (lambda x: x[0], lambda x: 0 * x[0], [0.0, 0.0], False),  # there is no surface
        (lambda x: x[0] + 3 * x[1], lambda x: x[0] + 3 * x[1], [0.0, 0.0], False),  # a third is no float
        (lambda x: 3 * x[0] + x[1], lambda x: 6 * x[0] + 2 * x[1], [0.0, 0.0], False),
    ],
)
def test_a_function_vanishes_on_an_affine_surface_by_exact_cancellation(value, on, at, expected):
    assert vanishes_on(value, on, 2, np.array(at)) is expected
