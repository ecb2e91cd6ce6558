"""Events: located where they are by both integrators, first in time, in their direction; or refused."""

import inspect
from typing import NamedTuple

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import IntegrationError, Outcome
from dynsim.integrators import Diffrax, Event, InSpan, Scipy
from dynsim.integrators.events import AfterReset, first_signs, occurring, rounded
from dynsim.integrators.flat_fields import flattened
from dynsim.integrators.lanes.brackets import Bracket, narrowed, untouched
from dynsim.integrators.scipy_backend import _Walk
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Euclidean, Product
from dynsim.systems.base import FunctionFlow
from dynsim.systems.tokens.flow import TokenFlow

BOTH = [Diffrax(), Scipy()]
WAVE = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]))
CLOCK = FunctionFlow(lambda t, x: jnp.ones_like(x))  # x = t, in steps as long as the integrator ever takes
FAR = Event(lambda t, x: t - 100.0)
UP, DOWN, ANY = (Event(lambda t, x: x[0], direction) for direction in (1, -1, 0))


unchecked = inspect.unwrap(simulate_until)  # the annotations, which tests check, would refuse some arguments before


def _names(integrator):
    return type(integrator).__name__


both = pytest.mark.parametrize("integrator", BOTH, ids=_names)
rather = pytest.mark.parametrize("integrator", [pytest.param(Diffrax(), marks=pytest.mark.slow), Scipy()], ids=_names)
"""Both integrators, the one that compiles a program for these events in `make test-all` only."""


class Chosen(eqx.Module):
    """One of many functions of x on the clock, or the distance from a place: all are arrays, and share a program."""

    number: jax.Array
    place: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)

    def __call__(self, t, x):
        listed = [lambda x, fn=fn: fn(x[0]) for fn, _ in ON_THE_CLOCK.values()]
        return jax.lax.switch(self.number, [*listed, lambda x: x[0] - self.place], x)


class Before(eqx.Module):
    """The time until x is at a place, in a program of its own: of several events at once it is the smaller one."""

    place: jax.Array

    def __call__(self, t, x):
        return x[0] - self.place


def beyond(place):
    """Return how far x is beyond a place."""
    return Chosen(jnp.asarray(len(ON_THE_CLOCK)), place)


ON_THE_CLOCK = {
    "a line": (lambda x: x - 3.3, 3.3),
    "a triple zero": (lambda x: (x - 3.3) ** 3, 3.3),
    "saturated": (lambda x: jnp.tanh(1e4 * (x - 3.3)), 3.3),
    "a jump": (lambda x: jnp.where(x < 3.3, -1.0, 2.0), 3.3),
    "many zeros in one step": (lambda x: jnp.sin(5 * x) + 0.5, 7 * np.pi / 30),
    "a corner": (lambda x: jnp.abs(x - 1) - 0.75, 0.25),
    "zero at the last time": (lambda x: x - 10.0, 10.0),
    "zero from a time on": (lambda x: jnp.maximum(2.0 - x, 0.0), 2.0),
    "a pole": (lambda x: 1 / (3.3 - x), 3.3),
}


@both
@pytest.mark.parametrize("name", ON_THE_CLOCK)
def test_the_first_zero_is_found_in_the_longest_steps(integrator, name):
    event = Event(Chosen(jnp.asarray([*ON_THE_CLOCK].index(name))))
    stop = simulate_until(CLOCK, np.zeros(1), [0.0, 0.05, 0.1, 0.2, 10.0], [event], integrator=integrator)
    exact = ON_THE_CLOCK[name][1]
    assert stop.event == 0
    np.testing.assert_allclose([stop.path.ts[-1], stop.path.final[0]], exact, rtol=1e-14, atol=0)
    np.testing.assert_allclose(stop.path.ts[:-1], [0.0, 0.05, 0.1, 0.2])
    assert float(stop.path.stats.last_time) == float(stop.path.ts[-1])


@both
@pytest.mark.parametrize(
    ("events", "sign", "first", "time"),
    [
        ((FAR, DOWN, ANY), 1.0, DOWN, np.pi / 2),  # of two at once the first
        ((FAR, DOWN, ANY), -1.0, ANY, np.pi / 2),
        pytest.param((FAR, UP), 1.0, UP, 3 * np.pi / 2, marks=pytest.mark.slow),
    ],
    ids=["falling", "both ways", "rising"],
)
def test_events_are_located_in_their_direction(integrator, events, sign, first, time):
    stop = simulate_until(WAVE, jnp.array([sign, 0.0]), [0.0, 1.0, 2.0, 10.0], events, integrator=integrator)
    assert events[stop.event] is first
    np.testing.assert_allclose(stop.path.ts[-1], time, atol=1e-9)
    np.testing.assert_allclose(stop.path.final[0], 0.0, atol=1e-9)
    assert np.all(np.diff(stop.path.ts) > 0)


@rather
def test_without_its_event_the_path_is_whole(integrator):
    ts = np.array([0.0, 1.0, 2.0, 3.0])  # x falls through zero, and does not rise
    stop = simulate_until(WAVE, jnp.array([1.0, 0.0]), ts, (FAR, UP), integrator=integrator)
    assert stop.event == -1
    np.testing.assert_allclose(stop.path.ys[:, 0], np.cos(ts), atol=1e-8)
    plain = simulate(WAVE, jnp.array([1.0, 0.0]), ts, integrator=integrator)
    np.testing.assert_allclose(stop.path.ys, plain.ys, atol=1e-15)  # the same steps
    assert [int(s.num_steps) for s in (stop.path.stats, plain.stats)] == [int(plain.stats.num_steps)] * 2


@pytest.mark.slow
@both
def test_the_path_before_an_event_is_that_of_simulate(integrator):
    ts = np.linspace(0.0, 10.0, 21)
    stop = simulate_until(WAVE, jnp.array([1.0, 0.0]), ts, (FAR, UP), integrator=integrator)
    plain = simulate(WAVE, jnp.array([1.0, 0.0]), ts, integrator=integrator)
    assert len(stop.path.ts) == 11
    np.testing.assert_allclose(stop.path.ys[:-1], plain.ys[:10], atol=1e-15)


@pytest.mark.slow
def test_no_event_fires_on_a_rejected_step():
    kick = FunctionFlow(lambda t, x: 1 - 200 * jnp.maximum(x - 0.5, 0.0))  # long first steps overshoot and are rejected
    event = Event(lambda t, x: x[0] - 0.51)  # the state saturates at 0.505
    stop = simulate_until(kick, jnp.array([0.0]), [0.0, 5.0], [event], integrator=Diffrax(rtol=1e-6, atol=1e-9))
    assert stop.event == -1


@pytest.mark.slow
@both
def test_an_event_among_rejected_steps_is_located(integrator):
    kick = FunctionFlow(lambda t, x: 1 - 200 * jnp.maximum(x - 0.5, 0.0))
    stop = simulate_until(kick, jnp.array([0.0]), [0.0, 5.0], [Event(lambda t, x: x[0] - 0.503)], integrator=integrator)
    assert stop.event == 0
    np.testing.assert_allclose(stop.path.ts[-1], 0.5 - np.log(0.4) / 200, atol=1e-9)
    assert int(stop.path.stats.num_rejected) > 0 or isinstance(integrator, Scipy)  # which does not count them


@rather
def test_of_several_events_in_one_step_the_first_in_time_counts(integrator):
    at = lambda place: Event(Before(jnp.asarray(place)))
    for places, first in (((3.31, 3.3, 3.3, 3.35), 1), ((3.5, 3.3 + 1e-9, 3.4, 3.3), 3)):
        events = [at(place) for place in places]
        stop = simulate_until(CLOCK, np.zeros(1), [0.0, 10.0], events, integrator=integrator)
        assert stop.event == first
        np.testing.assert_allclose(stop.path.ts[-1], places[first], rtol=1e-14)


@both
@pytest.mark.parametrize("continued", [True, False], ids=["in time", "from time zero"])
def test_a_start_on_the_event_leaves_it_first(integrator, continued):
    t, x = 0.0, jnp.array([0.0, 1.0])  # on the event, to the bit
    for k in range(1, 11):
        begin = t if continued else 0.0
        ts = begin + np.array([0.0, 1.0, 2.0, 5.0])
        stop = simulate_until(WAVE, x, ts, (FAR, DOWN, ANY), integrator=integrator)
        assert stop.event == (1 if k % 2 else 2)
        t, x = t - begin + float(stop.path.ts[-1]), stop.path.final
        assert t == pytest.approx(k * np.pi, abs=1e-9)


@rather
def test_an_event_at_the_end_of_one_path_and_the_start_of_the_next_counts_once(integrator):
    event, x = Event(lambda t, x: jnp.sin(jnp.pi * x[0])), np.array([0.5])
    times = []
    for k in range(4):
        stop = simulate_until(CLOCK, x, [0.5 * k, 0.5 * (k + 1)], [event], integrator=integrator)
        x, times = stop.path.final, times + [float(stop.path.ts[-1])] * (stop.event == 0)
    np.testing.assert_allclose(times, [0.5, 1.5], rtol=1e-14)


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy(), Scipy("RK45", 1e-9)], ids=_names)
def test_an_event_counts_at_the_last_time_whatever_rounding_says(integrator):
    for last in (1.0, 2.0, 3.0, 7.0):  # some end just short of it
        event = Event(beyond(last))
        ts = last * np.array([0.0, 0.1, 0.2, 1 / 3, 1.0])
        stop = simulate_until(CLOCK, np.zeros(1), ts, [event], integrator=integrator)
        assert stop.event == 0
        np.testing.assert_allclose(stop.path.ts, ts, rtol=1e-14)


@both
def test_no_states_are_returned_after_the_event(integrator):
    ts = jnp.array([0.0, 3.0, 3.3, 3.4, 10.0])
    ys, stats, t, y, fired = integrator.locate(CLOCK, jnp.zeros(1), ts, [Event(beyond(3.35))])
    np.testing.assert_allclose(ys[:, 0], [0.0, 3.0, 3.3, np.nan, np.nan], rtol=1e-14)
    np.testing.assert_allclose([t, y[0], stats.last_time, *fired], [3.35, 3.35, 3.35, 0], rtol=1e-14)


@rather
def test_the_field_may_jump_at_an_event_or_beside_it(integrator):
    flow = FunctionFlow(lambda t, x: jnp.where(t < 1.0, 1.0, -2.0) * jnp.ones_like(x), breaks=(1.0,))
    events = {1.0: Event(lambda t, x: t - 1.0), 1.25: Event(lambda t, x: x[0] - 0.5, -1)}
    for time, event in events.items():
        stop = simulate_until(flow, jnp.zeros(1), [0.0, 1.0, 2.0], [event], integrator=integrator)
        assert stop.event == 0
        np.testing.assert_allclose(stop.path.ts[-1], time, rtol=1e-14)
        np.testing.assert_allclose(stop.path.final[0], 1.0 if time == 1.0 else 0.5, rtol=1e-14)
        assert np.all(np.diff(stop.path.ts) > 0)


class Ball(NamedTuple):
    height: jax.Array
    speed: jax.Array


@pytest.mark.slow
@both
def test_a_ball_bounces_without_chattering(integrator):
    fall = FunctionFlow(lambda t, b: Ball(b.speed, -jnp.ones_like(b.height)), Product(Ball(Euclidean(), Euclidean())))
    ground = Event(lambda t, b: b.height[0])
    t, ball = 0.0, Ball(jnp.array([0.5]), jnp.array([0.0]))
    exact = [1.0 + 2 * sum(0.5**j for j in range(1, k + 1)) for k in range(12)]  # twice the speed, which halves
    for time in exact:
        stop = simulate_until(fall, ball, [t, t + 3.0], [ground], integrator=integrator)
        t, ball = float(stop.path.ts[-1]), Ball(stop.path.final.height, -0.5 * stop.path.final.speed)
        assert stop.event == 0
        assert t == pytest.approx(time, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [Diffrax(rtol=1e-6, atol=1e-7), Scipy(rtol=1e-5, atol=1e-6)], ids=_names)
def test_float32_stays_float32(integrator):
    t, x = 0.0, jnp.array([1.0, 0.0], jnp.float32)
    for k in range(3):
        stop = simulate_until(WAVE, x, t + np.array([0.0, 1.0, 5.0]), [ANY], integrator=integrator)
        t, x = float(stop.path.ts[-1]), stop.path.final
        assert t == pytest.approx((k + 0.5) * np.pi, abs=1e-5)
        assert stop.path.ts.dtype == stop.path.ys.dtype == jnp.float32
        assert np.all(np.diff(stop.path.ts) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("inner", BOTH, ids=_names)
def test_events_of_tokens_are_found_in_their_span(inner):
    d = 6
    flow = TokenFlow(np.asarray(jax.random.normal(random_key(0, "P"), (1, d, d))) / 2)
    x = flow.space.sample(random_key(0, "x"), (3, d))
    t, events = 0.0, [Event(lambda t, x, c=c: x[0] @ x[-1] - c) for c in (0.9, 0.7)]
    for fired in (1, 0):
        ts = t + np.array([0.0, 1.0, 20.0])
        plain, spanned = (simulate_until(flow, x, ts, events, integrator=i) for i in (Scipy(), InSpan(inner)))
        assert plain.event == spanned.event == fired
        np.testing.assert_allclose(spanned.path.ts, plain.path.ts, atol=1e-7)
        np.testing.assert_allclose(spanned.path.ys, plain.path.ys, atol=1e-7)
        assert float(flow.space.defect(spanned.path.final)) < 1e-13
        t, x = float(spanned.path.ts[-1]), spanned.path.final


STIFF = np.array([[-100.0, 100.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -150.0]])


@pytest.mark.parametrize("method", ["DOP853", "BDF", "LSODA", pytest.param("Radau", marks=pytest.mark.slow)])
def test_events_are_as_accurate_as_the_steps_where_stability_sets_their_length(method):
    flow, x = FunctionFlow(lambda t, x: jnp.asarray(STIFF) @ x), np.array([2.0, 1.0, 0.5])
    falls = Event(lambda t, x: x[0] - 0.1)  # x[0] = 100 / 99 exp(-t) by then
    below = Event(lambda t, x: x[2] + 1e-10)  # x[2] > 0; the steps err by 2e-11, the dense output of DOP853 by 4e-9
    stop = simulate_until(flow, x, [0.0, 20.0], [falls, below], integrator=Scipy(method))
    assert stop.event == 0
    np.testing.assert_allclose(stop.path.ts[-1], np.log(1000 / 99), atol=2e-10)


@pytest.mark.slow
def test_an_implicit_solver_locates_as_accurately_as_its_dense_output():
    stop = simulate_until(WAVE, jnp.array([1.0, 0.0]), [0.0, 10.0], [FAR, ANY], integrator=Diffrax(dfx.Kvaerno5()))
    np.testing.assert_allclose([stop.path.ts[-1], stop.path.final[1]], [np.pi / 2, -1.0], atol=1e-8)


@pytest.mark.slow
@both
def test_more_samples_find_what_fewer_step_over(integrator):
    twice = lambda t, x: jnp.abs(x[0] - 5.03) - 0.01
    fired = [
        simulate_until(CLOCK, np.zeros(1), [0.0, 10.0], [Event(twice, samples=n)], integrator=integrator).event
        for n in (2, 4000)
    ]
    assert fired == [-1, 0]


@rather
def test_a_failure_before_the_event_is_raised(integrator):
    escape = FunctionFlow(lambda t, x: x**2)
    with pytest.raises(IntegrationError, match="only reached t = 1 ") as error:
        simulate_until(escape, jnp.ones(1), [0.0, 0.5, 2.0], [Event(lambda t, x: t - 1.5)], integrator=integrator)
    assert error.value.outcome is Outcome.STEP_UNDERFLOW


NO_NUMBERS = {"a boolean": (lambda t, x: x[0] < 0, "return real numbers, .* but number 1 returns bool"),
    "complex": (lambda t, x: jax.lax.complex(x[0], x[1]), "return real numbers, .* but number 1 returns complex128"),
    "an array": (lambda t, x: x, r"return real numbers, .* but number 1 returns shape \(2,\)"), "nothing": (lambda t,
    x: None, "return real numbers, .* but number 1 returns NoneType"), "a branch in Python": (lambda t,
    x: 1.0 if x[0] > 0 else -1.0, "be functions that JAX can trace, but number 1"), "NaN": (lambda t,
    x: jnp.sqrt(x[0] - 2), "be finite at the start, but number 1 is nan"), "infinite": (lambda t, x: 1 / x[1],
    "be finite at the start, but number 1 is inf"), "NaN later": (lambda t, x: jnp.sqrt(x[0]) + 1,
    "not be NaN anywhere on the path, but number 1 is NaN at t = 1.5708")}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_an_event_that_is_no_number_is_refused(name):
    fn, sentence = NO_NUMBERS[name]
    for integrator in BOTH if name in ("a boolean", "NaN", "NaN later") else BOTH[1:]:
        with pytest.raises(ValueError, match=f"^Argument `events` must {sentence}"):
            simulate_until(WAVE, np.array([1.0, 0.0]), [0.0, 5.0], [FAR, Event(fn)], integrator=integrator)


@pytest.mark.slow
def test_an_event_found_before_it_ceases_to_be_a_number_counts():
    event = Event(lambda t, x: jnp.sqrt(1 - x[0]) - 0.1)  # zero at 0.99, NaN after 1
    for integrator in BOTH:
        stop = simulate_until(CLOCK, np.zeros(1), [0.0, 10.0], [event], integrator=integrator)
        assert float(stop.path.ts[-1]) == pytest.approx(0.99, rel=1e-13)


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: Event(lambda t, x: t, 2), "`direction` must be -1, 0 or 1"),
    (lambda: Event(lambda t, x: t, samples=1), "`samples` must be at least 2"),
    (lambda: unchecked(CLOCK, np.zeros(1), [0.0, 1.0], [abs]), "`events` must be a sequence of `Event` objects"),
    (lambda: unchecked(CLOCK, np.zeros(1), [0.0, 1.0], FAR), "`events` must be a sequence of `Event` objects"),
])  # fmt: skip
def test_a_bad_event_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("direction", "side", "values", "found", "after"),
    [
        (0, 1, [3, 2, 1], None, 1),
        (0, 1, [3, -2, 1], 1, 1),
        (0, -1, [-3, 0, 1], 1, -1),  # a zero at a sample counts there
        (0, 0, [0, 0, 1], None, 1),  # from a start at zero
        (0, 0, [0, -1, 1], 2, -1),
        (1, 1, [-1, -1, 1], 2, -1),
        (-1, 1, [1, -1, 1], 1, 1),
        (1, 1, [1, 0, 1], None, 1),  # touched from the other side
        (1, -1, [-1, -1, 0], 2, -1),
        (-1, -1, [-1, 0, 1], None, 1),
        (1, 1, [1, np.nan, -1], 1, 1),
    ],
)
def test_what_counts_among_samples(direction, side, values, found, after):
    events = [FAR, Event(lambda t, x: x[0], direction)]
    step = untouched(np.float64(0.0), np.float64(3.0), np.array([-1.0, side]), np.zeros(2))
    ts, values = np.array([1.0, 2.0, 3.0]), np.array([[-50.0, value] for value in values])
    for module in (np, jnp):
        part = narrowed(events, step, ts, module.asarray(values))
        assert int(part.event) == (-1 if found is None else 1)
        assert [float(part.begin), float(part.end)] == ([3.0, 3.0] if found is None else [found, found + 1])
        np.testing.assert_array_equal(part.sides, [-1, after])


def test_a_stop_prints_itself_in_a_line():
    stop = simulate_until(CLOCK, jnp.zeros(1), [0.0, 4.0], [Event(lambda t, x: x[0] - 3)], integrator=Scipy())
    assert str(stop).startswith("Event 0 ended: Trajectory")
    assert "\n" not in str(stop)


@pytest.mark.parametrize("told", ["no reset", "a reset that leaves the state", "a reset"])
def test_the_field_is_evaluated_at_the_start_once_unless_a_reset_moved_the_state(told):
    seen, at = [], np.array([1.0, 0.0])
    before = at if told == "a reset that leaves the state" else 2 * at
    event = UP if told == "no reset" else AfterReset(UP.fn, 1, before=jnp.asarray(before))
    field = lambda t, y: seen.append(y.tolist()) or np.array([y[1], -y[0]])
    walk = _Walk(Scipy(), WAVE, field, flattened(jnp.asarray(at))[1], (event,))
    assert walk.begin(0.0, at)[0].tolist() == [1.0]
    assert seen == ([[1.0, 0.0], [2.0, 0.0]] if told == "a reset" else [[1.0, 0.0]])


def test_rounding_errors_of_a_state_are_those_of_its_largest_entry():
    y, unit = jnp.array([0.0, 1e6, -2.0]), 32 * 2.0**-52 * 1e6
    moved = np.stack([rounded(y, jnp.asarray(float(k)), 32) - y for k in range(9)])
    largest = np.max(np.abs(moved), axis=0)
    assert np.all(moved[0] == 0)
    assert np.all((0.7 * unit < largest) & (largest < 1.01 * unit))
    assert len({tuple(row) for row in np.sign(moved[1:])}) > 4  # into many directions


AT = tuple(Event(lambda t, x, k=k: x[k] - (k == 0) * 2) for k in range(5))


def test_only_an_event_that_leaves_its_zero_is_quiet():
    """The last event is no number beside the state, and one half there."""
    t, v = jnp.asarray(100.0), jnp.array([2.0, 3.0, 0.0, 0.0, 0.0])
    y = jnp.array([1.0, 0.0, 0.0, 1e-3, -1e-3])
    events = (*AT, Event(lambda t, x: 0.5 + jnp.sqrt(x[2])))
    value, sides, quiet = first_signs(events, Euclidean(), t, y, v, v)
    np.testing.assert_array_equal(value, [-1.0, 0.0, 0.0, 1e-3, -1e-3, 0.5])
    np.testing.assert_array_equal(sides, [-1.0, 1.0, 0.0, 1.0, -1.0, 1.0])
    np.testing.assert_array_equal(quiet, [100.0, 100.0 + 400 * 2.0**-52, 100.0, 100.0, 100.0, 100.0])


def test_the_events_at_one_time_are_the_located_one_and_those_that_reach_their_zero_in_their_direction():
    """The third one leaves its zero, the fourth one counts upwards only, and the last one began on its zero."""
    events = (*AT[:3], Event(AT[3].fn, 1), AT[4])
    y, v = jnp.array([1.0, -1e-16, 1e-16, 1e-16, -1e-16]), jnp.array([0.0, 1.0, 1.0, -1.0, 1.0])
    sides, quiet = jnp.array([1.0, -1.0, 1.0, 1.0, -1.0]), jnp.array([0.0, 0.0, 0.0, 0.0, 5.0])
    found = Bracket(jnp.asarray(4.0), jnp.asarray(5.0), sides, jnp.asarray(0), jnp.asarray(0.0), quiet)
    assert occurring(events, Euclidean(), found, y, v).tolist() == [True, True, False, False, False]
