"""Times at which fields switch: closed forms, curved conditions, and what does not depend on time alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from dynsim.programs import scalar_program
from dynsim.programs.switches import Switches


def switches(fn, begin, end, *parameters):
    program = scalar_program(fn, (), (1,), *[() for _ in parameters], lookups=True)
    moved = np.array([False, True] + [False] * len(parameters))
    return Switches(program, moved).times([0.0, *map(np.float64, parameters)], begin, end)


KNOTS, BUMP = np.array([0.0, 50.0, 50.5, 51.0, 90.0]), jnp.array([1.0, 1.0, 5.0, 1.0, 1.0])
whole = lambda t: t.astype(int).astype(float)
PERIODIC = np.sort(np.append(0.3 + 1.7 * np.arange(-3, 12), 0.31 + 1.7 * np.arange(-3, 12)))


@pytest.mark.parametrize(
    ("fn", "span", "parameters", "times"),
    [
        (lambda t, x: jnp.where((t > 50) & (t < 51), 1.0, 0.0) * x, (0, 200), (), [50, 51]),
        (lambda t, x, a, w: jnp.where((t >= a) & (t < a + w), x, 0.0), (0, 200), (0.1, 0.2), [0.1, 0.1 + 0.2]),
        (lambda t, x, a: jnp.where(2 * t - a > 3, x, -x), (0, 9), (4.0,), [3.5]),
        (lambda t, x, T: jnp.where(jnp.mod(t - 0.3, T) < 0.01, x, -x), (-5, 20), (1.7,), PERIODIC),
        (lambda t, x: jnp.floor(10 * t) * x, (0, 0.55), (), [0.1, 0.2, 0.3, 0.4, 0.5]),
        (lambda t, x: jnp.sign(3 - t) * x, (0, 9), (), [3]),
        (lambda t, x: jnp.clip(t - 3, 0, 1) * x, (0, 9), (), [3, 4]),
        (lambda t, x: jnp.maximum(t - 3, 0) * x + jnp.abs(t - 1) + jnp.minimum(2 * t, 9), (0, 9), (), [1, 3, 4.5]),
        (lambda t, x: jnp.round(t) * x + jnp.ceil(t), (0, 2), (), [0.5, 1, 1.5]),
        (lambda t, x: jnp.remainder(-t, 2.0) * x + whole(t), (0.5, 3.5), (), [1, 2, 3]),
        (lambda t, x: jnp.sign(jnp.sin(t)) * x, (1, 10), (), np.pi * np.arange(1, 4)),
        (lambda t, x: jnp.where(jnp.exp(-t) > 0.3, x, -x), (0, 9), (), [-np.log(0.3)]),
        (lambda t, x: jnp.interp(t, KNOTS, BUMP) - x, (0, 200), (), [50, 50.5, 51, 90]),
        (lambda t, x, a: jnp.interp(t, a + KNOTS, BUMP) * x, (0, 60), (0.5,), [0.5, 50.5, 51, 51.5]),
        (lambda t, x: jnp.interp(t, KNOTS, BUMP, period=100.0) - x, (60, 155), (), [90, 100, 150, 150.5, 151]),
        (lambda t, x: BUMP[jnp.floor(t / 3).astype(int)] * x, (0, 10), (), [3, 6, 9]),
        (lambda t, x: jnp.take(BUMP, (t / 3).astype(int)) * x, (1, 7), (), [3, 6]),
        (lambda t, x: jnp.sum(jnp.interp(jnp.stack([t, t + 1]), KNOTS, BUMP)) - x, (49.8, 51), (), [50, 50.5]),
        (lambda t, x: BUMP[jnp.digitize(t, KNOTS) - 1] - x, (1, 51), (), [50, 50.5]),
        (lambda t, x: jnp.interp(x, KNOTS, BUMP), (0, 9), (), []),
        (lambda t, x: jnp.sin(t) * x, (0, 9), (), []),
        (lambda t, x: jnp.where(t > x, 1.0, 0.0), (0, 9), (), []),
        (lambda t, x: jnp.where(x > 0, 1.0, 0.0) * t, (0, 9), (), []),
        # what a value is after one switch decides when the next one comes
        (lambda t, x: jnp.where(jnp.maximum(t, 6 - 2 * t) > 4, x, 0.0), (0, 9), (), [1, 2, 4]),
        (lambda t, x: jnp.where(jnp.minimum(t, 6 - 2 * t) > 1, x, 0.0), (0, 9), (), [1, 2, 2.5]),
        (lambda t, x: jnp.where(jnp.abs(3 - t) > 1, x, 0.0), (0, 9), (), [2, 3, 4]),
        (lambda t, x: jnp.where(jnp.sign(3 - t) + t > 4, x, 0.0), (0, 9), (), [3, 5]),
        (lambda t, x: jnp.where(lax.clamp(2.0, t, 5.0) * 2 > 7, x, 0.0), (0, 9), (), [2, 3.5, 5]),
        (lambda t, x: jnp.where(lax.clamp(2.0, 6 - t, 5.0) > 3, x, 0.0), (0, 9), (), [1, 3, 4]),
        (lambda t, x: jnp.where(jnp.floor(t) / 2 + t > 3.2, x, 0.0), (0.5, 4.5), (), [1, 2, 2.2, 3, 4]),
        (lambda t, x: jnp.where(jnp.ceil(t) / 2 + t > 2.7, x, 0.0), (0.5, 4.5), (), [1, 1.7, 2, 3, 4]),
        (lambda t, x: jnp.where(jnp.floor(-t) / 2 + t > 0.7, x, 0.0), (0.5, 3.5), (), [1, 1.7, 2, 2.2, 3]),
        (lambda t, x: jnp.where(jnp.round(-t) + 2 * t > 1.2, x, 0.0), (0, 2), (), [0.5, 1.1, 1.5, 1.6]),
        (lambda t, x: jnp.where(whole(t) + t > 0.4, x, 0.0), (0, 1.5), (), [0.4, 1]),
        (lambda t, x: jnp.where(whole(1 - t) + t > 1.4, x, 0.0), (-0.5, 1.8), (), [0, 1, 1.4]),
        (lambda t, x: jnp.where(whole(-t) + t > 0.6, x, 0.0), (0, 2.5), (), [0.6, 1, 1.6, 2]),
        (lambda t, x: jnp.where(jnp.fmod(1 - t, 2.0) > -0.7, x, 0.0), (0.2, 4.2), (), [1, 1.7, 3, 3.7]),
        (lambda t, x: jnp.where(jnp.fmod(t - 3, 2.0) > -0.3, x, 0.0), (0.2, 4.2), (), [0.7, 1, 2.7, 3]),
        (lambda t, x: jnp.where(jnp.where(t > 1, t, 4 - t) > 3.5, x, 0.0), (0, 9), (), [0.5, 1, 3.5]),
        (lambda t, x, a: jnp.where(jnp.where(a > 0, t, 9 - t) > 7, x, 0.0), (0, 9), (1.0,), [7]),
        (lambda t, x: jnp.where((3 * t - 2) - (t + 1) > 0, x, -x), (0, 9), (), [1.5]),
        (lambda t, x: jnp.where(-(t - 3) > -1, x, -x), (0, 9), (), [4]),
        (lambda t, x: jnp.where(t.astype(jnp.float32) > 3, x, -x), (0, 9), (), [3]),
        # at neither end
        (lambda t, x: jnp.floor(t) * x, (1, 3), (), [2]),
        # curves
        (lambda t, x: jnp.where(t * t > 2, x, -x), (0, 9), (), [np.sqrt(2)]),
        (lambda t, x: jnp.where(1 / (t + 1) > 0.3, x, -x), (0, 9), (), [7 / 3]),
        (lambda t, x: jnp.abs(jnp.sin(t)) * x, (1, 8), (), [np.pi, 2 * np.pi]),
        (lambda t, x: jnp.maximum(jnp.sin(t), 0.5) * x, (1, 8), (), np.pi * np.array([5, 13]) / 6),
        (lambda t, x: jnp.minimum(0.5, jnp.sin(t)) * x, (1, 8), (), np.pi * np.array([5, 13]) / 6),
        (lambda t, x: lax.clamp(-0.5, jnp.sin(t), 0.5) * x, (1, 6), (), np.pi * np.array([5, 7, 11]) / 6),
        (lambda t, x: lax.clamp(-0.5, 1e17 * jnp.sin(t), 0.5) * x, (1, 8), (), [np.pi, 2 * np.pi]),  # a jump
        (lambda t, x: jnp.floor(jnp.exp(t)) * x, (0.1, 1.2), (), np.log([2, 3])),
        (lambda t, x: jnp.fmod(jnp.exp(t), 2.0) * x, (0.1, 2), (), np.log([2, 4, 6])),
        (lambda t, x: jnp.sign(jnp.sin(1000 * t)) * x, (1e-3, 20), (), np.pi * np.arange(1, 6367) / 1000),
        (
            lambda t, x: jnp.where(jnp.where(jnp.sin(t) > 0, t, -t) > 1, x, 0.0),
            (0.5, 9),
            (),
            [1, *np.pi * np.arange(1, 3)],
        ),
    ],
)
def test_the_times_of_switches_are_those_of_closed_forms(fn, span, parameters, times):
    np.testing.assert_allclose(switches(fn, *span, *parameters), times, rtol=1e-14, atol=1e-14)


LINES = [
    lambda t: 2 * t, lambda t: t * 2, lambda t: t / 0.5, lambda t: t + t, lambda t: t - (-t), lambda t: 3 * t - t,
    lambda t: (t + 1) * 2 - 2, lambda t: 2 * (t - 1) + 2, lambda t: -(1 - 2 * t) + 1, lambda t: (t - 3) / 0.5 + 6,
    lambda t: jnp.where(t < 40, t, t) * 2, lambda t: 4 * (t / 2), lambda t: 2 * t / 1.0,
    lambda t: 3.4 * jnp.mod(t / 1.7, 1.0), lambda t: jnp.maximum(2 * t, t), lambda t: lax.clamp(0.0, 2 * t, 400.0),
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_pulses_that_no_sample_meets_are_found_for_every_linear_function_of_time(line):
    """Lines have formulas: curves would be sampled, and pulses of a millionth of their period missed."""
    found = switches(lambda t, x: jnp.where(jnp.mod(line(t), 3.4) < 1e-6, x, 0.0), 1.0, 60.0)
    starts = 1.7 * np.arange(1, 36)
    expected = np.sort(np.append(starts, starts + 5e-7))
    np.testing.assert_allclose(np.setdiff1d(found, [40.0]), expected, rtol=1e-13)


def test_a_short_pulse_of_a_curved_condition_is_found_in_every_period():
    found = switches(lambda t, x: jnp.where(jnp.sin(t) > 1 - 1e-10, x, 0.0), 0.0, 200.0)
    half = np.pi / 2 - np.arcsin(1 - 1e-10)
    peaks = np.pi / 2 + 2 * np.pi * np.arange(32)
    np.testing.assert_allclose(found, np.sort(np.append(peaks - half, peaks + half)), atol=1e-10)


def test_pulses_far_shorter_than_a_sample_are_found_at_the_turns_of_a_curve():
    found = switches(lambda t, x: jnp.where(jnp.sin(400 * t) > 1 - 1e-8, x, -x), 1e-3, 20.0)
    middles = (np.pi / 2 + 2 * np.pi * np.arange(1273)) / 400
    np.testing.assert_allclose(found.reshape(-1, 2).mean(axis=1), middles, atol=1e-9)


def test_the_float_is_that_at_which_the_comparison_changes():
    """Before and after each switch, up to the neighbouring floats, the function is the one on that side."""
    found = switches(lambda t, x, T: jnp.where(jnp.mod(t, T) < 0.01, x, 0.0), 0.0, 200.0, 1.7)
    value = lambda ts: np.array([np.mod(t, 1.7) < 0.01 for t in ts])
    np.testing.assert_array_equal(value(np.nextafter(found, -np.inf)), value(found - 1e-6))
    np.testing.assert_array_equal(value(np.nextafter(found, np.inf)), value(found + 1e-6))


@pytest.mark.parametrize(
    ("pulse", "centres"),
    [
        (lambda t: jnp.exp(-(((t - 50) / 1e-3) ** 2)), [49.999, 50.0, 50.001]),
        (lambda t: jnp.exp(-(t - 50) * (t - 50) * 1e6), [49.0, 50.0, 51.0]),
        (lambda t: 1 / (1 + (t / 7 - 7.0) ** 2), [49.0]),
        (lambda t: 1 / jnp.cosh((t - 50) / 1e-3) ** 2, [49.999, 50.0, 50.001]),
        (lambda t: jax.nn.sigmoid((t - 50) * 1e4) - jax.nn.sigmoid((t - 57) / 10), [49.9999, 50.0, 50.0001]),
        (lambda t: (t - 50) * jnp.exp((50 - t) / 1e-3), [49.999, 50.0, 50.001]),
        (lambda t: jnp.exp(-(((jnp.mod(t, 40.0) - 10) / 5) ** 2)), [10.0, 40.0, 50.0]),
        (lambda t: jnp.sin(t) ** 2 + jnp.exp(-t) * jnp.cos(t - 5), []),
    ],
)
def test_the_centres_of_smooth_pulses_are_found(pulse, centres):
    moved = np.array([False, True])
    made = Switches(scalar_program(lambda t, x: pulse(t) * x**2, (), (), lookups=True), moved)
    np.testing.assert_allclose(made.times([0.0], 5.0, 59.0, centres=True), centres, rtol=1e-12)
    np.testing.assert_array_equal(made.times([0.0], 5.0, 59.0), [40.0] if 40.0 in centres else [])


HALF_TURNS = np.pi * np.arange(1, 32)


@pytest.mark.parametrize(
    ("pulse", "places", "width"),
    [
        (lambda t: jnp.sin(t) ** 2000, HALF_TURNS - np.pi / 2, 0.09),
        (lambda t: jnp.exp(-100 * jnp.sin(jnp.pi * t) ** 2), np.arange(1, 97), 0.09),
        (lambda t: jnp.exp(-(((t**2 - 2500) / 10) ** 2)), [50.0], 0.3),
        (lambda t: jnp.exp(-(((t**2 - 2500) / 1e-6) ** 2)), [50.0], 3e-8),
        (lambda t: 1 / (1 + (100 * jnp.cos(t)) ** 2), HALF_TURNS - np.pi / 2, 0.11),
        (lambda t: jnp.exp(-(((jnp.sin(t) - 0.5) / 1e-3) ** 2)), [np.pi / 6, 5 * np.pi / 6], 0.004),
        (lambda t: 1e-9 * jnp.exp(-((jnp.log(t / 20) / 1e-3) ** 2)), [20.0], 0.06),
        (lambda t: jnp.sin(jnp.mod(t, 10.0)) ** 2000, [np.pi / 2, np.pi * 1.5, 10 + np.pi / 2], 0.09),
        (lambda t: 1 / (2 + jnp.cos(t)) + jnp.exp(3 * jnp.sin(t)) + jnp.tanh(jnp.cos(t)), [], 0.0),
    ],
)
def test_pulses_of_curves_are_found_where_they_are(pulse, places, width):
    """Marks surround each one, one of them within it, and there are few others."""
    made = Switches(scalar_program(lambda t, x: pulse(t) * x**2, (), (), lookups=True), np.array([False, True]))
    found = made.times([0.0], 0.1, 97.3, centres=True)
    assert len(found) <= 150 + 3 * len(places)
    assert len(places) or not len(found)
    for at in places:
        near = np.sort(found[np.argsort(np.abs(found - at))[:3]])
        assert near[0] < at < near[2]
        assert near[2] - near[0] <= 2.5 * width
        assert np.min(np.abs(found - at)) <= width / 2


def test_curves_that_change_too_often_are_left_to_the_solver():
    """Their marks would be millions; the search ends after 65,536 parts."""
    made = Switches(scalar_program(lambda t, x: jnp.sin(t) ** 2000, (), (), lookups=True), np.array([False, True]))
    assert len(made.times([0.0], 0.0, 1e7, centres=True)) < 200_000


def test_too_many_switches_are_refused(monkeypatch):
    monkeypatch.setattr("dynsim.programs.switches.MOST", 100)
    assert len(switches(lambda t, x: jnp.floor(t * 100) * x, 0.0, 1.005)) == 100
    with pytest.raises(ValueError, match=r"must contain at most 100 jumps of the field in time: .* 1e-06 apart"):
        switches(lambda t, x: jnp.floor(t * 1e6) * x, 0.0, 1.0)


@pytest.mark.parametrize(
    ("fn", "uses"),
    [(lambda t, x: t, True), (lambda t, x: x + t, True), (lambda t, x: 2 * x, False), (lambda t, x: x, False)],
)
def test_a_field_uses_the_time_also_where_it_is_the_time(fn, uses):
    made = Switches(scalar_program(fn, (), (), lookups=True), np.array([False, True]))
    assert made.uses_time == uses
    assert made.switching == []
