"""Newton's method for circles, growth across them, and steps along branches, on maps whose circles are known.

The maps are closed forms in NumPy, with derivatives by complex steps, so that nothing is compiled.
"""

from typing import Any

import numpy as np
import pytest

from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.tori import branches, solver
from analysis.dynamics.tori.circles import resampled, shifted
from analysis.dynamics.tori.section_map import SectionImages, SectionMap
from analysis.dynamics.tori.solver import (
    CircleCondition,
    CorrectedCircle,
    LockedOrbit,
    SectionCircle,
    circle_error,
    corrected,
    locked_near,
    normal_multipliers,
)

TURN = 0.3183


def ring(states, time, p):
    """Attract to the circle of radius sqrt(p), turned by a share and by p / 10, and halve the third component."""
    x, y, z = states.T
    square = x * x + y * y
    grown = 1 + (p - square) / 4
    angle = 2 * np.pi * (TURN + p / 10)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([grown * (c * x - s * y), grown * (s * x + c * y), z / 2 + square - p], axis=1)


def pair(states, time, p):
    """Follow two oscillators over a time: radius sqrt(p) and frequency 1, radius 1 and frequency sqrt(2) + p."""
    x, y, u, v = states.T
    found: list[Any] = []
    for a, b, square, w in ((x, y, p, 1.0), (u, v, 1.0, np.sqrt(2.0) + p)):
        far = a * a + b * b
        grown = np.sqrt(square / (far + (square - far) * np.exp(-2 * square * time)))
        c, s = np.cos(w * time), np.sin(w * time)
        found += [grown * (c * a - s * b), grown * (s * a + c * b)]
    return np.stack(found, axis=1)


def pair_field(states, time, p):
    x, y, u, v = states.T
    near, far, w = p - x**2 - y**2, 1 - u**2 - v**2, np.sqrt(2.0) + p
    return np.stack([near * x - y, near * y + x, far * u - w * v, far * v + w * u], axis=1)


class Section(SectionMap):
    """A section by a function of states, time and parameter, differentiated by complex steps."""

    def __init__(self, of, size, field=None):
        self.of, self.size, self.is_map, self._forced, self._field = of, size, field is None, None, field

    def ends(self, states, period, parameter):
        return self.of(states, period, parameter)

    def gaps(self, ends, aims):
        return ends - aims

    def speeds(self, states, t, parameter):
        return self._field(states, t, parameter)

    def images(self, states, period, parameter):
        h, n = 1e-30, self.size
        by = lambda *moved: np.imag(self.of(*moved)) / h
        maps = np.stack([by(states + 1j * h * np.eye(n)[k], period, parameter) for k in range(n)], axis=2)
        speeds = by(states, period + 1j * h, parameter) if self.has_period else np.zeros(states.shape)
        ends, by_parameter = self.of(states, period, parameter), by(states, period, parameter + 1j * h)
        return SectionImages(ends, maps, by_parameter, speeds)


RING = Section(ring, 3)
PAIR = Section(pair, 4, pair_field)


def circle(count=15, p=0.25, radius=None, rotation=None, third=0.0, share=0.0):
    angles = 2 * np.pi * (np.arange(count) / count + share)
    radius = np.sqrt(p) if radius is None else radius
    nodes = radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles + third], axis=1)
    return SectionCircle(nodes, TURN + p / 10 if rotation is None else rotation, 1.0, p)


def fixed(at):
    return CircleCondition(None, at)


def test_circles_are_added_with_their_numbers_and_measured_by_their_mean_square():
    one, other = circle(15, 0.25), circle(21, 0.04, rotation=0.1)._replace(period=4.0)
    moved = one.moved(other, 0.5)
    np.testing.assert_allclose(moved.nodes, circle(15, radius=0.6).nodes, atol=1e-14)
    assert moved[1:] == pytest.approx((one.rotation + 0.05, 3.0, 0.27))
    assert one.minus(other)[1:] == pytest.approx((one.rotation - 0.1, -3.0, 0.21))
    assert other.extent == pytest.approx(0.4, rel=0.02)
    assert one.length == pytest.approx(np.sqrt(0.25 + 0.0625))


def scaled(section, size):
    """The same map in another unit of its states."""
    return Section(lambda states, time, p: size * section.of(states / size, time, p), section.size)


def sized(one, size):
    return one._replace(nodes=size * one.nodes)


@pytest.mark.parametrize(("radius", "third"), [(0.45, 0.05), (0.6, -0.1)])
def test_newton_finds_the_circle_and_its_rotation_number_at_a_given_parameter(radius, third):
    guess = circle(15, radius=radius, third=third, rotation=0.33)
    there = fixed(guess)
    for size in (1e-9, 1e9):
        found = corrected(scaled(RING, size), sized(guess, size), sized(guess, size), there, 1e-9)
        np.testing.assert_allclose(found.circle.nodes / size, circle(15).nodes, atol=1e-12)
        assert found.error < 1e-12
    found = corrected(RING, guess._replace(parameter=0.2), guess, there, 1e-9)
    assert found.converged
    assert 3 <= found.steps <= 7
    assert found.circle.rotation == pytest.approx(TURN + 0.025, abs=1e-13)
    assert found.circle.parameter == 0.25
    np.testing.assert_allclose(found.circle.nodes, circle(15).nodes, atol=1e-12)
    assert found.error < 1e-12


def test_newton_finds_the_parameter_of_a_circle_on_a_plane_across_a_tangent():
    """The condition is that of the guess: the products with the tangent are equal."""
    here, wave = circle(15, 0.25), circle(15, radius=1.0).nodes
    along = SectionCircle(wave / np.sqrt(2.0), 0.0, 0.0, np.sqrt(0.5))
    guess = here.moved(along, 0.02)
    found = corrected(RING, guess, here, CircleCondition(along, guess), 1e-9)
    p = found.circle.parameter
    radius = np.mean(np.linalg.norm(found.circle.nodes[:, :2], axis=1))
    assert radius == pytest.approx(np.sqrt(p), abs=1e-12)
    assert radius - 0.5 + p - 0.25 == pytest.approx(0.04 / np.sqrt(2.0), abs=1e-12)


def test_the_time_and_the_phase_of_a_flow_are_those_of_the_reference():
    """The section of two oscillators over a turn of the second; the phase conditions keep both angles."""
    w = np.sqrt(2.0) + 0.25
    angles = 2 * np.pi * np.arange(15) / 15
    rows = np.stack([0.5 * np.cos(angles), 0.5 * np.sin(angles), 0 * angles + 1.0, 0 * angles], axis=1)
    exact = SectionCircle(rows, 1 / w, 2 * np.pi / w, 0.25)
    guess = exact._replace(nodes=rows * [1.1, 1.1, 0.9, 0.9], rotation=1 / w + 0.01, period=exact.period + 0.05)
    found = corrected(PAIR, guess, exact, fixed(exact), 1e-9)
    assert found.converged
    assert (found.circle.rotation, found.circle.period) == pytest.approx((1 / w, 2 * np.pi / w), abs=1e-11)
    np.testing.assert_allclose(found.circle.nodes, rows, atol=1e-10)
    decay = np.exp(-2 * found.circle.period)
    np.testing.assert_allclose(normal_multipliers(PAIR, found.circle), [decay**0.25, decay], rtol=1e-8)


def test_a_circle_gets_as_many_values_as_its_error_needs_and_no_more():
    """Stretched along x its coefficients decay slowly, and 15 values do not resolve the tolerance."""
    bent = Section(lambda x, time, p: bend(ring(bend(x, -1.0), time, p), 1.0), 3)
    exact = lambda count: circle(count)._replace(nodes=bend(circle(count).nodes, 1.0))
    found = corrected(bent, exact(15), exact(15), fixed(exact(15)), 1e-9)
    assert (found.converged, len(found.circle.nodes)) == (True, 31)
    assert found.error <= 1e-9
    assert circle_error(bent, exact(15)) > 1e-9
    found = corrected(bent, exact(101), exact(101), fixed(exact(101)), 1e-9)
    assert len(found.circle.nodes) == 31 or 23 <= len(found.circle.nodes) < 50
    found = corrected(bent, exact(41), exact(41), fixed(exact(41)), 1e-9)
    assert len(found.circle.nodes) == 41  # no change for less than half
    found = corrected(RING, circle(33), circle(33), fixed(circle(33)), 1e-9)
    assert len(found.circle.nodes) == solver.FEWEST


def bend(states, sense):
    x, y, z = states.T
    return np.stack([x, y, z + sense / (2.2 - 2 * x)], axis=1)


def test_more_values_than_are_allowed_give_the_error_that_is_left(monkeypatch):
    bent = Section(lambda x, time, p: bend(ring(bend(x, -1.0), time, p), 1.0), 3)
    guess = circle(15)._replace(nodes=bend(circle(15).nodes, 1.0))
    monkeypatch.setattr(solver, "MOST", 93)
    assert corrected(bent, guess, guess, fixed(guess), 1e-9).converged
    monkeypatch.setattr(solver, "MOST", 92)
    found = corrected(bent, guess, guess, fixed(guess), 1e-9)
    assert (found.converged, len(found.circle.nodes)) == (False, 15)
    assert found.error == circle_error(bent, found.circle) > 1e-9


def test_the_error_of_a_circle_is_the_largest_gap_between_its_values_over_its_extent():
    one = circle(15, radius=0.6)
    grown = 1 + (0.25 - 0.36) / 4
    least = 0.6 * (1 - grown)  # of the radius; the largest component lies in it, or is that of z
    assert circle_error(RING, one) == pytest.approx(max(least * np.cos(np.pi / 30), 0.11) / one.extent, rel=0.01)
    assert circle_error(RING, circle(15, rotation=0.5)) == pytest.approx(
        2 * np.sin(np.pi * (0.5 - TURN - 0.025)) * 0.5 / circle(15).extent, rel=0.02
    )
    nothing = Section(lambda x, time, p: x * np.nan, 3)
    assert circle_error(nothing, one) == np.inf


def test_newton_gives_up_on_states_that_are_not_finite_on_far_steps_and_on_points():
    guess = circle(15, rotation=0.33)
    nothing = Section(lambda x, time, p: x * np.nan, 3)
    found = corrected(nothing, guess, guess, fixed(guess), 1e-9)
    assert (found.converged, found.error) == (False, np.inf)
    np.testing.assert_array_equal(found.circle.nodes, guess.nodes)
    far = Section(lambda x, time, p: x * [1.0, 1.0, 1.0] + [0.0, 0.0, 0.1] * (x + 40), 3)
    found = corrected(far, guess, guess, fixed(guess), 1e-9)
    assert not found.converged
    np.testing.assert_array_equal(found.circle.nodes, guess.nodes)  # the step is refused
    rest = Section(lambda x, time, p: x / 2, 3)
    assert not corrected(rest, guess, guess, fixed(guess), 1e-9).converged


@pytest.mark.parametrize("rates", [(0.5, 0.9), (1.5, 0.25)])
def test_growth_across_a_circle_is_a_mean_over_its_angle(rates):
    """Of (angle, z, w) with factors that depend on the angle the mean logarithms count; radii shrink by half."""

    def image(x, time, p):
        a, b, z, w = x.T
        c, s = np.cos(2 * np.pi * TURN), np.sin(2 * np.pi * TURN)
        grown = 1.25 - (a * a + b * b) / 4
        return np.stack([grown * (c * a - s * b), grown * (s * a + c * b), rates[0] * np.exp(a) * z,
                         rates[1] * np.exp(-b) * w + z / 3], axis=1)  # fmt: skip

    one = circle(31, 1.0)
    one = one._replace(nodes=np.concatenate([one.nodes, 0 * one.nodes[:, :1]], axis=1), rotation=TURN)
    found = normal_multipliers(Section(image, 4), one)
    np.testing.assert_allclose(found, sorted([0.5, *rates], reverse=True), rtol=0.03)


def locking(turn):
    """Turn by a share, and attract the angles at which sin(5 angle) vanishes; the radius is 1."""

    def image(states, time, p):
        x, y = states.T
        square = x * x + y * y
        fifth = (5 * x**4 * y - 10 * x**2 * y**3 + y**5) / square**2.5
        angle, grown = 2 * np.pi * turn - 0.05 * fifth, 1.5 / (0.5 + square)
        c, s = np.cos(angle), np.sin(angle)
        return np.stack([grown * (c * x - s * y), grown * (s * x + c * y)], axis=1)

    return Section(image, 2)


@pytest.mark.parametrize(("turn", "ratio"), [(0.2, "1:5"), (0.4, "2:5"), (0.803, "4:5"), (0.25, ""), (0.212, "")])
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_an_orbit_on_a_locked_circle_has_the_least_number_of_iterates(turn, ratio, size):
    """Within 0.05 radians of p / 5 there is one; at a quarter, where there is none, iterates come back all the same."""
    one = circle(41, 1.0, rotation=turn)
    one = one._replace(nodes=size * one.nodes[:, :2])
    found = locked_near(scaled(locking(turn), size), one)
    assert (found.ratio if found else "") == ratio
    assert found is None or found.parameter == 1.0


def test_an_orbit_far_from_the_rotation_number_is_that_of_another_circle():
    one = circle(41, 1.0, rotation=0.215)
    assert locked_near(locking(0.2), one._replace(nodes=one.nodes[:, :2])) is None


def test_an_orbit_of_a_flow_is_found_with_its_time():
    """With frequencies 1 and 2 the torus is filled by orbits of two turns of the second oscillator."""
    p = 2 - np.sqrt(2.0)
    angles = 2 * np.pi * np.arange(15) / 15
    rows = np.stack([np.cos(angles), np.sin(angles), 0 * angles + 1.0, 0 * angles], axis=1)
    rows[:, :2] *= np.sqrt(p)
    one = SectionCircle(rows, 0.5 + 1e-4, np.pi + 1e-4, p)
    assert locked_near(PAIR, one) == LockedOrbit(1, 2, p)
    assert locked_near(PAIR, one._replace(nodes=3 * rows)) is None  # none is beside this circle


def limits(bounds=(0.0, 1.0), step=0.1, largest=0.3, points=6):
    return Limits(bounds, step, largest, points)


def follow(monkeypatch, steps, *, beyond=None, **given):
    """Follow circles by given results of steps: the number of Newton steps, or the error of a failure."""
    sizes, left = [], list(steps)

    def step(section, here, ahead, size, tolerance):
        sizes.append(size)
        result = left.pop(0)
        if isinstance(result, float):
            return CorrectedCircle(here, False, 3, result)
        return CorrectedCircle(circle(15, here.parameter + size / 10), True, result, 0.0)

    def longer(section, here, ahead, first, tolerance, locked):
        sizes.append(-first)
        if beyond:
            locked.append(LockedOrbit(1, 3, 0.5))
        return (step(section, here, ahead, 0.5, tolerance), "") if beyond is True else (
            CorrectedCircle(here, False, 3, np.inf), beyond or "lost")  # fmt: skip

    monkeypatch.setattr(branches, "_step", step)
    monkeypatch.setattr(branches, "_beyond", longer)
    first = CorrectedCircle(circle(15, 0.25), True, 3, 0.0)
    found, end, locked = branches._followed(RING, circle(15, 0.24), first, limits(**given), 1e-9)
    return sizes, len(found), end, len(locked)


def test_steps_grow_where_newton_is_fast_and_shrink_where_it_is_slow(monkeypatch):
    assert follow(monkeypatch, [4, 5, 6, 7, 4]) == (pytest.approx([0.1, 0.15, 0.15, 0.15, 0.075]), 6, "steps", 0)
    assert follow(monkeypatch, [1, 1, 1, 1, 1])[0] == pytest.approx([0.1, 0.15, 0.225, 0.3, 0.3])
    assert follow(monkeypatch, [1], points=2, largest=0.05)[:3] == ([0.05], 2, "steps")


def test_failed_steps_are_halved_to_a_share_of_the_first_and_tried_beyond(monkeypatch):
    halved = [0.2 / 2**k for k in range(6)]
    fail = [np.inf] * 20
    assert follow(monkeypatch, fail, step=0.2) == ([*halved[:5], -0.2], 1, "lost", 0)
    assert follow(monkeypatch, [np.inf, 1, 1, 1, 1, 1])[0][:3] == pytest.approx([0.1, 0.05, 0.075])
    assert follow(monkeypatch, [0.5], beyond="accuracy") == ([0.1, -0.1], 1, "accuracy", 1)  # shorter ones are no help
    sizes, count, end, locked = follow(monkeypatch, [0.5, 1, 4, 4, 4, 4], beyond=True)
    assert (sizes[:4], count, end, locked) == ([0.1, -0.1, 0.5, pytest.approx(0.15)], 6, "steps", 1)


def test_a_circle_that_shrinks_to_a_point_comes_out_turned_by_half():
    here = circle(15, radius=0.1, third=5.0)
    assert branches._vanishes(here, circle(21, radius=-0.05, third=5.0))
    assert not branches._vanishes(here, circle(21, radius=0.05, third=-5.0))
    assert not branches._vanishes(here, circle(15, radius=2e-4))
    assert branches._vanishes(here, circle(15, radius=0.5e-4))


@pytest.mark.parametrize(("before", "beyond", "edge"), [(0.9, 1.1, 1.0), (0.1, -0.1, 0.05), (0.1, -0.1, 0.0)])
def test_a_branch_ends_with_the_circle_at_the_bound(before, beyond, edge):
    """Where the bound is that of the Neimark-Sacker point, the circle is a point, and is left out."""
    bounds = (edge, 2.0) if edge < 0.5 else (-1.0, edge)
    ends = [circle(15, p, radius=np.copysign(np.sqrt(abs(p)), p)) for p in (before, beyond)]
    found = [CorrectedCircle(one, True, 3, 0.0) for one in ends]
    kept = branches._at_bound(RING, found, ends[0], limits(bounds), 1e-9)
    if edge == 0.0:
        assert kept == found[:1]
        return
    assert (len(kept), kept[-1].circle.parameter) == (2, edge)
    np.testing.assert_allclose(kept[-1].circle.nodes, circle(15, edge).nodes, atol=1e-12)


def test_a_step_goes_along_the_chord_by_its_own_length(monkeypatch):
    """The length of the chord is 5 for 4 in the root mean square of the states and 3 in the parameter."""
    asked = []
    here = circle(15, 0.25)
    ahead = SectionCircle(4 * circle(15, radius=1.0).nodes, 0.1, 0.2, 3.0)

    def seen(*given):
        asked.append(given)
        return CorrectedCircle(here, False, 1, 0.0)

    monkeypatch.setattr(branches, "corrected", seen)
    branches._step(RING, here, ahead, 0.5, 1e-9)
    ((_, guess, reference, condition, _),) = asked
    np.testing.assert_allclose(guess.nodes, here.nodes + 0.1 * ahead.nodes)
    assert guess[1:] == pytest.approx((here.rotation + 0.01, 1.02, 0.55))
    assert reference is here
    assert condition.at is guess
    assert condition.along[1:] == (0.0, 0.0, pytest.approx(0.6))
    np.testing.assert_allclose(condition.along.nodes, 0.2 * ahead.nodes)


def test_the_circle_of_size_zero_turns_by_the_angle_of_the_multipliers():
    """At p = 0 the map turns by the share TURN around the origin, and its tangent is a circle of that plane."""
    start = branches._Start(np.zeros(3), 1.0, 0.0, 2 * np.pi * TURN)
    centre, tangent = branches._emerging(RING, start)
    assert (centre.rotation, centre.parameter, centre.extent) == (pytest.approx(TURN), 0.0, 0.0)
    assert tangent.length == pytest.approx(1.0)
    assert tangent[1:] == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(np.linalg.norm(tangent.nodes, axis=1), 1.0)
    turned = tangent.nodes @ RING.images(np.zeros((1, 3)), 1.0, 0.0).maps[0].T
    np.testing.assert_allclose(turned, shifted(tangent.nodes, TURN), atol=1e-12)
    np.testing.assert_allclose(resampled(tangent.nodes, 21)[:, 2], 0.0, atol=1e-12)
