"""Maps of sections and their derivatives by closed forms, what a torus says of itself, and its pictures."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.tori import branches, circles, from_motion
from analysis.dynamics.tori.solver import CorrectedCircle, LockedOrbit, SectionCircle
from analysis.dynamics.tori.torus import InvariantTorus, section_at
from dynsim import FunctionFlow, FunctionMap, Parameter
from dynsim.errors import ArgumentError
from dynsim.systems.named import parameters
from figures import tori as pictures

STATES = np.array([[1.0, 2.0], [3.0, -1.0], [-2.0, 1.5]])


def torus(**changed):
    turn = 2 * np.pi * np.arange(16) / 16
    states = np.stack([np.cos(turn), 0 * turn + 5.0, 2 * np.sin(turn)], axis=1)
    made = {"states": states, "rotation": 0.25, "period": 4.0, "parameter": 1.5, "multipliers": np.array([0.5, 0.25]),
            "error": 1e-9, "name": "mu", "names": ("x", "y", "z"), "units": ("m", "", "s")}  # fmt: skip
    return InvariantTorus(**made | changed)


def test_the_section_of_a_flow_has_the_derivatives_of_its_closed_form():
    """Of (a x, -2 y) over the time T it is (x exp(a T), y exp(-2 T))."""
    flow = FunctionFlow(lambda t, x, a: jnp.stack([a * x[0], -2 * x[1]]), parameters={"a": 1.0})
    section = section_at(Parameter(flow, "a", 0.5, 1.5), STATES, 0.5, 1, None, 1e-10)
    sizes, time = section.units.flat(section.like), section.units.time
    found = section.images(STATES / sizes, 0.5 / time, 1.0 / section.units.parameters[0])
    ends = STATES * np.exp([0.5, -1.0])
    np.testing.assert_allclose(found.ends * sizes, ends, rtol=1e-8)
    np.testing.assert_allclose(found.maps * sizes[:, None] / sizes, np.tile(np.diag(np.exp([0.5, -1.0])), (3, 1, 1)),
                               rtol=1e-8)  # fmt: skip
    by_parameter = np.stack([0.5 * ends[:, 0], np.zeros(3)], axis=1)
    np.testing.assert_allclose(found.by_parameter * sizes / section.units.parameters[0], by_parameter, atol=1e-7)
    np.testing.assert_allclose(found.speeds * sizes / time, ends * [1.0, -2.0], rtol=1e-8)
    np.testing.assert_allclose(section.ends(STATES / sizes, 0.5 / time, 1.0) * sizes, ends, rtol=1e-8)
    paths = section.paths(STATES / sizes, 0.5 / time, 1.0, np.array([0.0, 0.4, 1.0])) * sizes
    np.testing.assert_allclose(paths[:, 1], STATES * np.exp([0.2, -0.4]), rtol=1e-7)
    assert (section.has_period, section.period_at(0.5, 1.0)) == (True, (0.5, 0.0))


def test_the_section_of_a_map_is_its_iterate():
    one = FunctionMap(lambda k, x, a: jnp.stack([a * x[0], x[1] / 2]), parameters={"a": 1.5})
    section = section_at(Parameter(one, "a", 1.0, 2.0), STATES, 2.0, 2, None, 1e-8)
    sizes, share = section.units.flat(section.like), section.units.parameters[0]
    found = section.images(STATES / sizes, 2.0, 1.5 / share)
    np.testing.assert_allclose(found.ends * sizes, STATES * [2.25, 0.25])
    np.testing.assert_allclose(found.maps, np.tile(np.diag([2.25, 0.25]), (3, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(found.by_parameter * sizes / share, STATES * [3.0, 0.0], atol=1e-12)
    assert (found.speeds.tolist(), section.has_period) == ([[0.0, 0.0]] * 3, False)
    assert section.ends(STATES / sizes, 2.0, 1.5 / share) * sizes == pytest.approx(STATES * [2.25, 0.25])


def test_the_time_of_a_forced_section_is_the_period_of_its_forcing():
    flow = FunctionFlow(lambda t, x, w: w * jnp.stack([-x[0] + jnp.sin(w * t), -x[1]]), parameters={"w": 2e3})
    period = lambda flow: 2 * jnp.pi / parameters(flow)["w"]
    section = section_at(Parameter(flow, "w", 1e3, 3e3), STATES, np.pi / 1e3, 1, period, 1e-8)
    assert section.units.time < 0.1
    value, slope = section.period_at(7.0, 2e3 / section.units.parameters[0])
    assert value * section.units.time == pytest.approx(np.pi / 1e3)
    assert slope * section.units.time / section.units.parameters[0] == pytest.approx(-np.pi / 2e6)


def test_the_frequency_of_samples_far_from_zero_is_the_strongest_between_bounds():
    times = np.arange(2048)
    signal = 1e3 + np.cos(2 * np.pi * 0.1234567 * times) + 0.5 * np.cos(2 * np.pi * 0.3 * times + 1)
    assert from_motion._frequency(signal, 2 / 2048, 0.5) == pytest.approx(0.1234567, abs=1e-9)
    assert from_motion._frequency(signal, 0.2, 0.5) == pytest.approx(0.3, abs=1e-9)
    assert from_motion._frequency(signal - 1e3, 0.0, 0.2) == pytest.approx(0.1234567, abs=1e-9)


@pytest.mark.parametrize("strongest", [1, 2])
def test_a_circle_is_guessed_from_samples_of_its_motion_whichever_harmonic_is_the_strongest(strongest):
    """At the angle s it is (4 + cos s + 0.1 sin 2 s, cos(2 s) / 2) or the same with the harmonics exchanged."""
    turn, sizes = 0.2 * np.sqrt(2), (1.0, 0.1) if strongest == 1 else (0.1, 1.0)

    def circle(shares):
        s = 2 * np.pi * np.asarray(shares)
        return np.stack([4 + sizes[0] * np.cos(s) + sizes[1] * np.sin(2 * s), 0.05 * np.cos(2 * s)], axis=1)

    section: Any = SimpleNamespace(parameter=SimpleNamespace(value=3.0))
    guess = getattr(from_motion._guess, "__wrapped__", from_motion._guess)
    found = guess(section, circle(turn * np.arange(2000)), 2.5)
    shares = np.arange(len(found.nodes)) / len(found.nodes)
    if abs(found.rotation - turn) > 1e-6:  # the angle runs backwards, or is that of half a turn more
        shares = {True: -shares, False: shares}[abs(found.rotation - (1 - turn)) < 1e-6]
    np.testing.assert_allclose(found.nodes, circle(shares), atol=1e-4)
    assert (found.period, found.parameter) == (2.5, 3.0)


def test_a_motion_is_sampled_after_the_turns_that_are_left_out():
    count = FunctionMap(lambda k, x: x + 1.0)
    found = from_motion._sampled(count, np.zeros(1), 3.0, 4)
    np.testing.assert_array_equal(found[:, 0], 3.0 * (4 + np.arange(from_motion.SAMPLES)))
    drift = FunctionFlow(lambda t, x: jnp.ones(1))
    found = from_motion._sampled(drift, np.zeros(1), 0.5, 4, 2)
    np.testing.assert_allclose(found[:, 0], 2.0 + 0.25 * np.arange(from_motion.SAMPLES), rtol=1e-9)
    found = from_motion._sampled(drift, np.zeros(1), 0.5, 4)
    np.testing.assert_allclose(found[:, 0], 2.0 + 0.5 * np.arange(from_motion.SAMPLES), rtol=1e-9)


def test_a_torus_is_named_by_its_growth_and_its_frequencies():
    kinds = [torus(multipliers=np.array(m)).kind for m in ([0.5, 0.2], [2.0, 1.5], [2.0, 0.5], [1.0, 0.5], [])]
    assert kinds == ["attracting", "repelling", "saddle", "neutral", "attracting"]
    one = torus()
    assert one.frequencies == (0.25, 0.0625)
    about = "rotation number 0.25, period 4, attracting (multiplier 0.5); 16 values on the circle, error 1e-09"
    assert str(one) == f"torus at mu = 1.5: {about}"
    circle = one.circle(9)
    np.testing.assert_allclose(circle[[0, 2, -1]], [[1.0, 5.0, 0.0], [0.0, 5.0, 2.0], [1.0, 5.0, 0.0]], atol=1e-12)


def test_the_surface_of_a_torus_is_its_section_followed_over_a_turn_without_its_shift():
    """In units of 2, 4 and 1/2 the map takes the angle on by a quarter, and lifts the second component by 2."""
    asked = []

    def paths(starts, period, parameter, shares):
        asked.append((period, parameter))
        return np.stack([circles.shifted(starts, 0.25 * share) + [0.0, 2.0 * share, 0.0] for share in shares], axis=1)

    units = SimpleNamespace(time=4.0, parameters=(0.5,), rescaled=lambda x: x / 2, flat=lambda x: np.full(3, 2.0))
    one = torus(period=6.0, parameter=1.5)
    one = one._replace(states=one.states[:15], section=SimpleNamespace(is_map=False, units=units, paths=paths))
    nodes = np.stack([np.cos(turn := 2 * np.pi * np.arange(15) / 15), 0 * turn + 5.0, 2 * np.sin(turn)], axis=1)
    found = one._replace(states=nodes).surface(5, 9)
    assert asked == [(1.5, 3.0)]
    angle = 2 * np.pi * np.linspace(0, 1, 9)
    for k, share in enumerate(np.linspace(0, 1, 5)):
        around = np.stack([np.cos(angle), 0 * angle + 5.0 + 4.0 * share, 2 * np.sin(angle)], axis=1)
        np.testing.assert_allclose(found[k], around, atol=1e-12)
    for section, but in ((None, "is not known"), (SimpleNamespace(is_map=True), "is a map")):
        with pytest.raises(ArgumentError, match=f"be a flow, whose torus is a surface, but {but}"):
            one._replace(section=section).surface()


def test_the_section_of_a_torus_is_drawn_in_the_plane_in_which_it_is_widest():
    ax = torus().plot().axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$ (m)", "$z$ (s)")  # the second component is constant
    drawn = torus().plot(component=("z", "x"))
    np.testing.assert_allclose(drawn.curve[0].get_xydata(), torus().circle()[:, [2, 0]])
    assert (drawn.axes[0].get_xlabel(), drawn.axes[0].get_ylabel()) == ("$z$ (s)", "$x$ (m)")
    drawn = torus().plot(component="z")
    np.testing.assert_allclose(drawn.curve[0].get_xdata()[[0, 50, -1]], [0.0, 0.25, 1.0])
    np.testing.assert_allclose(drawn.curve[0].get_ydata(), torus().circle()[:, 2])
    assert drawn.axes[0].get_ylabel() == "$z$ (s)"
    flat = np.stack([np.cos(turn := np.linspace(0, 2 * np.pi, 33)), np.sin(turn), 9 * np.sin(2 * turn)], axis=1)
    assert pictures._widest(flat) == [0, 1]
    thin = lambda width: np.stack([np.cos(turn), np.cos(turn + width), np.sin(turn)], axis=1)  # areas in units of sides
    assert [pictures._widest(thin(np.arcsin(area * 4 / np.pi))) for area in (0.12, 0.08)] == [[0, 1], [0, 2]]


def test_a_branch_of_tori_is_its_rotation_number_or_the_range_of_a_component():
    ones = tuple(torus(parameter=p, rotation=r, multipliers=np.array([m])) for p, r, m in
                 ((1.0, 0.1, 0.5), (2.0, 0.2, 0.5), (3.0, 0.4, 2.0)))  # fmt: skip
    found = SimpleNamespace(
        tori=ones, parameters=np.array([1.0, 2.0, 3.0]), rotations=np.array([0.1, 0.2, 0.4]), name="mu"
    )
    drawn = pictures.branch(found)
    stable, unstable = drawn.lines
    assert np.asarray(stable.get_xydata())[[0, -1]].tolist() == [[1.0, 0.1], [2.0, 0.2]]
    assert np.asarray(unstable.get_xydata())[[0, -1]].tolist() == [[2.0, 0.2], [3.0, 0.4]]
    assert (stable.get_linestyle(), unstable.get_linestyle()) == ("-", "--")
    drawn = pictures.branch(found, component="z")
    assert sorted({round(float(line.get_ydata()[0]), 9) for line in drawn.lines}) == [-2.0, 2.0]
    assert drawn.axes[0].get_ylabel() == "$z$ (s)"


def test_curves_are_shifted_differentiated_and_resampled_by_their_fourier_sums():
    at = lambda a: np.stack([np.cos(2 * np.pi * a) + 3.0, np.sin(6 * np.pi * a)], axis=1)
    slope = lambda a: np.stack([-2 * np.pi * np.sin(2 * np.pi * a), 6 * np.pi * np.cos(6 * np.pi * a)], axis=1)
    angles, few = np.arange(9) / 9, np.arange(5) / 5
    nodes = at(angles)
    np.testing.assert_allclose(circles.shifted(nodes, 0.1), at(angles + 0.1), atol=1e-12)
    np.testing.assert_allclose(circles.derivative(nodes), slope(angles), atol=1e-11)
    matrix, by_share = circles.shift_matrices(9, 0.1)
    np.testing.assert_allclose(matrix @ nodes, at(angles + 0.1), atol=1e-12)
    np.testing.assert_allclose(by_share @ nodes, slope(angles + 0.1), atol=1e-11)
    np.testing.assert_allclose(circles.resampled(nodes, 13), at(np.arange(13) / 13), atol=1e-12)
    np.testing.assert_allclose(circles.resampled(nodes, 5), at(few) * [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        circles.evaluated_at(nodes, np.array([0.3, -1.2])), at(np.array([0.3, -1.2])), atol=1e-12
    )
    assert [circles.needed(nodes, share) for share in (1e-9, 0.24, 0.26)] == [7, 7, 1]
    assert circles.needed(nodes - [3.0, 0.0], 1e-9) == 7
    assert [circles.needed(100 * nodes, share) for share in (0.24, 0.26)] == [7, 1]


def test_longer_steps_are_tried_in_turn_beyond_a_locked_torus(monkeypatch):
    one = FunctionMap(lambda k, x, a: jnp.stack([a * x[0], x[1] / 2]), parameters={"a": 1.5})
    section = section_at(Parameter(one, "a", 1.0, 2.0), STATES, 2.0, 1, None, 1e-8)
    here, ahead = SectionCircle(STATES, 0.25, 1.0, 1.0), SectionCircle(0 * STATES + [3.0, 4.0], 0.0, 0.0, 12.0)
    assert ahead.length == pytest.approx(13.0)
    sizes, places, found = [], [], {}

    def step(section, here, ahead, size, tolerance):
        sizes.append(size)
        return CorrectedCircle(here, size in found, 3, found.get("error", np.inf))

    def near(section, circle):
        places.append(circle.parameter)
        return LockedOrbit(1, 4, 1.5) if found.get("locked") == len(places) else None

    monkeypatch.setattr(branches, "_step", step)
    monkeypatch.setattr(branches, "locked_near", near)

    def beyond(**given):
        sizes.clear(), places.clear(), found.clear()
        found.update({float(k[1:]) if k[0] == "s" else k: v for k, v in given.items()})
        locked = [LockedOrbit(1, 3, 1.0)]
        return branches._beyond(section, here, ahead, 2.0, 1e-8, locked)[1], len(locked)

    assert beyond() == ("lost", 1)
    assert sizes == [0.5, 2.0, 8.0]
    np.testing.assert_allclose(places, 1 + 12 * np.array([0.5, 2.0, 8.0]) / 13)
    assert beyond(error=0.1) == ("accuracy", 1)
    assert beyond(locked=2) == ("locked 1:4", 2)
    assert (sizes, len(places)) == ([0.5, 2.0, 8.0], 2)  # no second one is looked for
    assert beyond(locked=1, s2=True) == ("", 2)
    assert sizes == [0.5, 2.0]
