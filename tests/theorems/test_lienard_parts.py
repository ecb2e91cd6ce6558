"""Parts of Lienard's theorem on tables and fields that are worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.theorems.conditions import known
from analysis.theorems.plane import smooth_oscillator
from analysis.theorems.plane.smooth_oscillator import (
    EnclosedIntegral,
    LienardFunctions,
    _first_derivative,
    _follows_x,
    _one_zero,
    oscillator_of,
)


def integral(*damping):
    """Make an integral of a damping on parts of length 1, given by numbers or intervals, with its sums."""
    f = np.array([one if isinstance(one, tuple) else (one, one) for one in damping], float)
    found = EnclosedIntegral.__new__(EnclosedIntegral)
    found.ends, found.damping = np.arange(len(f) + 1.0), f
    found.sums = np.vstack([np.zeros((1, 2)), np.cumsum(f, axis=0)])
    return found


RISING = (-2, -1, 1, 3, 4, 5)
BACK = (-2, -1, 1, 3, -0.5, 5)
LATE = (-2, -1, 1, 3, 4, -0.25)
NEAR_ZERO = (-2, -1, 1, 3, (-1.2, -0.2), 5)
UNKNOWN = (-2, -1, 1, 3, (-0.2, 2), 5)
LOW = (-2, -1, 1, 3, (-1.2, 2), 5)


@pytest.mark.parametrize(
    ("damping", "beyond", "zero", "witness", "rises"),
    [
        (RISING, 1, "holds", None, ("holds", 4.0, None)),
        (RISING, 0, "undecided", None, ("holds", 4.0, None)),
        (RISING, -1, "fails", None, None),
        (RISING[:4], 1, "holds", None, ("holds", np.nan, None)),
        ((1, -2, 3), 1, "fails", 1.0, None),
        (((-1, 1), 2, 3), 1, "undecided", None, None),
        ((-1, (np.nan, 1), 3), 1, "undecided", None, None),
        ((-2, -1, 4, 2, -6, 9), 1, "fails", 5.0, None),
        ((-2, -1, -3), -1, "fails", 9.0, None),
        ((-2, -1, -3), 1, "undecided", None, None),
        ((-2, -1, (-0.5, 4), 3, 5), 1, "undecided", None, None),
        ((-2, (-1, 4)), -1, "undecided", None, None),
        (BACK, 1, "holds", None, ("fails", -0.5, 5.0)),
        (BACK, 0, "undecided", None, ("fails", -0.5, 5.0)),
        (LATE, 1, "holds", None, ("fails", -0.25, 6.0)),
        (NEAR_ZERO, 1, "undecided", None, ("fails", -0.2, 5.0)),
        (UNKNOWN, 1, "holds", None, ("undecided", np.nan, None)),
        (UNKNOWN, 0, "undecided", None, ("undecided", np.nan, None)),
        (LOW, 1, "undecided", None, ("undecided", np.nan, None)),
    ],
)
def test_a_zero_of_the_integrated_damping_is_read_from_its_table(damping, beyond, zero, witness, rises):
    row, monotone, numbers = _one_zero(integral(*damping), 9.0, beyond)
    assert (row.status, row.boxes) == (zero, len(damping))
    assert (None if row.witness is None else row.witness.tolist()) == (None if witness is None else [witness])
    assert len(monotone) == (rises is not None)
    assert ("a" in numbers) == (rises is not None)
    if rises is not None:
        status, margin, at = rises
        assert monotone[0].status == status
        assert monotone[0].margin == pytest.approx(margin, nan_ok=True)
        assert (None if monotone[0].witness is None else monotone[0].witness.tolist()) == (None if at is None else [at])
        assert numbers["a"] == pytest.approx(3 + 2 / 3)


def test_the_zero_is_enclosed_and_failures_say_why():
    said = lambda damping, beyond: _one_zero(integral(*damping), 9.0, beyond)[0].inequality.split("; ")[-1]
    assert said(RISING, 1).endswith(", 3 < a < 4")
    for steep in (-0.25, 2.0):  # F may be negative in one part, between ends at which it is not
        dipping = integral(-2, -1, 1, 3, (-1.25, steep), 5)
        dipping.sums[5:] = [[0.5, 0.625], [5.5, 5.625]]
        assert _one_zero(dipping, 9.0, 1)[0].status == "undecided"
    assert said((-2, -1, 1, 2, 4), 1).endswith(", 3 < a < 5")  # F is zero at 4, but not above it
    assert said(RISING, -1) == "the damping ends at infinity"
    assert said((1, 2), 1) == "F > 0 beside 0"
    assert said((-1, 2, -3, 4), 1) == "F has more zeros"
    assert said((-1, -2), -1) == "it has 0 positive zeros"


@pytest.mark.parametrize(
    ("force", "far", "status"),
    [
        (lambda x: x, 4.0, "holds"),
        (lambda x: x**5, 4.0, "holds"),
        (lambda x: x * jnp.exp(-x), 2.0, "holds"),  # its slope is negative beyond 1
        (jnp.sin, 3.0, "holds"),
        (jnp.sin, 4.0, "fails"),
        (lambda x: -x, 4.0, "fails"),
        (lambda x: x**3 - x / 4, 4.0, "fails"),
        (lambda x: 0 * x, 4.0, "fails"),
    ],
)
def test_a_force_pulls_back_up_to_a_distance(force, far, status):
    found = _follows_x(force, far, 500)
    assert found.status == status
    assert found.inequality == f"g(x) > 0 for 0 < x <= {far:g}"
    if status == "fails":
        assert found.witness is not None
        assert float(force(found.witness[0])) <= 0


def test_the_slope_that_counts_is_the_first_one_that_is_not_zero():
    assert [float(_first_derivative(g)(0.0)) for g in (lambda x: 2 * x + x**3, lambda x: x**3, lambda x: -(x**5))] == [
        2.0, 6.0, -120.0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "status"),
    [
        (lambda z: jnp.stack([3 * z[1], (1 - z[0] ** 2) * z[1] - 2 * z[0]]), "holds"),
        (lambda z: jnp.stack([z[1] / 3 - z[0] ** 3, -2 * z[0]]), "holds"),
        (lambda z: jnp.stack([-z[1], z[1] - z[0]]), "fails"),
        (lambda z: jnp.stack([z[1] + z[0], z[1] - z[0]]), "fails"),
        (lambda z: jnp.stack([z[1], z[1] ** 2 - z[0]]), "fails"),
        (lambda z: jnp.stack([z[1] + z[1] ** 3, z[1] - z[0]]), "fails"),
        (lambda z: jnp.stack([z[1] * (1 + z[0] ** 2), z[1] - z[0]]), "fails"),
    ],
)
def test_lienard_systems_have_one_of_two_forms(field, status):
    form, functions = oscillator_of(field)
    assert form.status == status
    if status == "holds":
        by_speed = float(field(jnp.array([2.0, 0.0]))[0]) == 0
        assert float(functions.damping(jnp.asarray(2.0))) == (3.0 if by_speed else 12.0)
        assert float(functions.force(jnp.asarray(2.0))) == 4.0


def test_far_away_the_damping_need_only_fall_like_one_over_the_distance(monkeypatch):
    asked = []
    monkeypatch.setattr(smooth_oscillator, "sign_beyond", lambda fn, far, *powers: asked.append((fn(3.0), far)) or 1)
    for name in ("identically_zero", "_follows_x"):
        monkeypatch.setattr(smooth_oscillator, name, lambda *given: known("", "", True))
    monkeypatch.setattr(smooth_oscillator, "_integrated", lambda f, far, beyond: (known("", "", True), [], {}))
    rows, _ = smooth_oscillator._up_to(LienardFunctions(lambda x: 1 + 1 / x, lambda x: 5 * x), 16.0, 100)
    assert asked == [(4.0, 16.0), (15.0, 16.0)]
    assert [row.inequality for row in rows if row.words][-1] == "x f(x) >= d > 0 for x > 16"
