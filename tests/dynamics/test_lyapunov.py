"""Lyapunov spectra: published numbers, closed forms, curved spaces, errors, and what is not converged."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.flow_maps.variational import tolerance_of
from analysis.dynamics.lyapunov import (
    BLOCKS,
    MONOTONE,
    _spectrum,
    _trend,
    kaplan_yorke_dimension,
    lyapunov_spectrum,
    planned,
    spectrum_of_logs,
)
from dynsim.errors import ArgumentError
from dynsim.integrators import Diffrax
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.hardmax.maps import ExactHardmaxMap
from dynsim.systems.rescaled import RescaledFlow


def test_lorenz_has_the_published_spectrum():
    found = lyapunov_spectrum(Lorenz(), jnp.asarray([1.0, 1.0, 20.0]), 400.0)
    assert np.sum(found.exponents) == pytest.approx(-(10 + 1 + 8 / 3), abs=1e-6)
    assert np.all(np.abs(found.exponents - [0.9056, 0.0, -14.5723]) < 4 * found.errors + 1e-3)
    assert found.converged
    assert 0.005 < found.errors[0] < 0.06  # that of a chaotic orbit hangs on the last bits
    assert found.kaplan_yorke == pytest.approx(2.062, abs=1e-3 + 4 * found.errors[0] / 14.57)


@pytest.mark.slow
def test_spectra_do_not_depend_on_the_units():
    """A circle that attracts at the rate 2, and Henon's map, in units of 1e-9 and 1e6 or less and more."""
    sizes = np.array([1e-9, 1e6])
    turning = lambda t, x: jnp.stack([x[0] - x[1], x[0] + x[1]]) - x * jnp.sum(x**2)
    circle = RescaledFlow(FunctionFlow(turning), state=list(1 / sizes), time=1e6)
    found = lyapunov_spectrum(circle, sizes * [1.0, 0.1])
    assert found.exponents == pytest.approx([0.0, -2e6], abs=1e4)
    assert found.times[-1] == pytest.approx(500e-6, rel=0.1)
    assert found.converged
    sizes = np.array([1e-12, 1e6])
    henon = FunctionMap(lambda k, x: jnp.stack([1 - 1.4 * (x[0] * 1e12) ** 2 + x[1] / 1e6, 0.3e12 * x[0]]) * sizes)
    found = lyapunov_spectrum(henon, 0.1 * sizes)
    assert np.sum(found.exponents) == pytest.approx(np.log(0.3), abs=1e-6)
    assert found.exponents[0] == pytest.approx(0.42, abs=0.1)
    assert len(found.times) == 500


def test_henons_map_has_the_published_spectrum():
    found = lyapunov_spectrum(Henon(), jnp.asarray([0.1, 0.1]), 2e5, interval=5.0)
    assert np.sum(found.exponents) == pytest.approx(np.log(0.3), abs=1e-9)
    assert np.all(np.abs(found.exponents - [0.41922, -1.62319]) < 4 * found.errors + 1e-5)


@pytest.mark.slow
def test_the_logistic_map_has_log_two():
    found = lyapunov_spectrum(Logistic(), jnp.asarray([0.3]), 1e5)
    assert abs(found.exponents[0] - np.log(2)) < 4 * found.errors[0] + 1e-5
    assert "Lyapunov exponents 0.693" in str(found)


@pytest.mark.slow
def test_on_a_sphere_normal_directions_have_no_exponents():
    # the flow of x' = A x on the sphere tends to the first axis, with the rates of the differences
    flow = FunctionFlow(lambda t, x: jnp.asarray([1.0, 0.25, -0.5]) * x, Sphere())
    found = lyapunov_spectrum(flow, jnp.asarray([0.6, 0.64, 0.48]), 80.0, transient=40.0)
    assert np.allclose(found.exponents, [-0.75, -1.5], atol=1e-4)  # the frame aligns itself as e^(-3t/4)
    assert found.kaplan_yorke == 0


@pytest.mark.slow
def test_fewer_exponents_are_the_largest_ones():
    found = lyapunov_spectrum(Henon(), jnp.asarray([0.1, 0.1]), 2e4, count=1)
    assert found.exponents.shape == (1,)
    assert found.exponents[0] == pytest.approx(0.4192, abs=0.02)


@pytest.mark.parametrize("r", [1.0, 3.0])
def test_rates_that_keep_falling_are_not_converged(r):
    """At the bifurcations of the logistic map the exponent is 0, and the rates fall as 1 / n."""
    found = lyapunov_spectrum(Logistic(r=r), jnp.asarray([0.3]), 5e3)
    assert (found.converged, found.reason) == (False, "its mean rates keep falling or rising")
    assert found.exponents[0] < -2 * found.errors[0]


def test_rates_that_differ_by_rounding_or_chance_do_not_drift():
    assert lyapunov_spectrum(Logistic(r=3.2), jnp.asarray([0.3]), 5e3).converged
    rates = 0.3 + np.random.default_rng(0).normal(size=(4000, 50))
    assert np.max(_trend(rates.reshape(BLOCKS, -1, 50).mean(axis=1), np.full(50, 1e-9))) < MONOTONE
    falling = 1e-12 * np.arange(BLOCKS)[:, None]
    assert (_trend(falling, np.array([1e-10])), _trend(falling, np.array([1e-13]))) == pytest.approx(
        (0.0, 6.16), abs=0.01
    )


@pytest.mark.parametrize("samples", [1000, 2000, 4000])
@pytest.mark.parametrize("phase", [0.0, 1.0, 2.0])
def test_rates_whose_sums_are_bounded_are_zero_within_the_error(samples, phase):
    """As along a periodic orbit, whose period blocks may hold a whole number of times: here 7.5, 15 and 30.02 times."""
    angles = 2 * np.pi * np.arange(samples + 1) / 6.6633 + phase
    found = _spectrum(np.diff(np.sin(angles))[:, None], 1.0)
    assert found.converged
    assert abs(found.exponents[0]) <= found.errors[0] < 10 / samples


@pytest.mark.slow
def test_an_orbit_that_escapes_is_not_converged():
    found = lyapunov_spectrum(Logistic(r=4.5), jnp.asarray([0.3]), 100.0)
    assert not found.converged
    assert found.reason == "the trajectory left the finite numbers"


@pytest.mark.slow
def test_rates_of_a_forced_flow_are_those_after_the_transient_and_growing_ones_are_not_converged():
    # at the attracting point of a circle the vectors decay at the rate t / 10
    flow = FunctionFlow(lambda t, x: jnp.stack([t * x[0] / 10, jnp.zeros_like(t)]), Sphere())
    found = lyapunov_spectrum(flow, jnp.asarray([1.0, 0.0]), 40.0, transient=4.0, t0=3.0)
    assert found.exponents == pytest.approx([-(3 + 4 + 20) / 10], abs=1e-6)
    assert not found.converged
    assert found.reason == "the halves of the run differ"


@pytest.mark.slow
def test_the_frame_is_aligned_in_the_transient():
    cat = FunctionMap(lambda k, x: jnp.asarray([[2.0, 1.0], [1.0, 1.0]]) @ x)
    found = lyapunov_spectrum(cat, jnp.zeros(2), 80.0, transient=40, interval=2.0)
    assert found.exponents == pytest.approx(np.log((3 + np.sqrt(5)) / 2) * np.array([1, -1]), abs=1e-12)
    assert found.converged


def test_means_of_blocks_give_the_errors_and_halves_that_differ_are_no_result():
    noise = np.random.default_rng(0).normal(size=(BLOCKS, 2)) * [0.1, 1.0]
    found = _spectrum(2.0 * np.repeat(noise + [-1.0, 5.0], 3, axis=0), 2.0)  # sorted anew: the second is the largest
    means = noise.mean(axis=0) + [-1.0, 5.0]
    errors = noise.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    assert np.allclose(found.exponents, means[::-1])
    assert np.allclose(found.errors, errors[::-1])
    assert np.allclose(found.running[[0, -1]], [noise[0, ::-1] + [5.0, -1.0], means[::-1]])
    assert found.times[[0, -1]].tolist() == [2.0, 6.0 * BLOCKS]
    assert found.converged
    centred = noise[:, :1] - noise[:, :1].mean()
    halves = np.repeat([0.0, 1.0], BLOCKS // 2)[:, None]
    apart = [_spectrum(centred + size * halves, 1.0) for size in (0.05, 1.0)]
    assert [one.converged for one in apart] == [True, False]


@pytest.mark.parametrize(
    ("exponents", "dimension"),
    [
        ([0.9, 0.0, -14.5], 2 + 0.9 / 14.5), ([-1.0, -2.0], 0.0), ([0.5, -1.0], 1.5), ([1.0, 0.5], 2.0),
        ([0.0, -1.0], 1.0), ([0.0, 0.0, -1.0], 2.0), ([1.0, -1.0, -2.0], 2.0), ([0.0], 1.0), ([-2.0, 0.5, -1.0], 1.5),
    ],
)  # fmt: skip
def test_the_dimension_of_kaplan_and_yorke(exponents, dimension):
    assert kaplan_yorke_dimension(exponents) == pytest.approx(dimension)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"interval": 1e-300}, "`duration` must be at most 10000000 intervals of 1e-300, but is 500"),
        ({"duration": 1e30}, "`duration` must be at most 10000000 intervals of "),
        ({"transient": 1e300}, "`transient` must be at most 10000000 intervals of 1, but is 1e.300"),
    ],
)
def test_no_more_intervals_than_memory_holds(options, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        lyapunov_spectrum(FunctionFlow(lambda t, x: -x), [0.1], **options)
    with pytest.raises(ArgumentError, match="`interval` must be at least 1 step of a map, but is 0.5"):
        lyapunov_spectrum(Henon(), [0.1, 0.1], interval=0.5)


def test_bad_input_is_one_sentence():
    x = jnp.asarray([0.1, 0.1])
    with pytest.raises(ValueError, match="Argument `duration` must be at least 40 intervals of 1, but is 10"):
        lyapunov_spectrum(Henon(), x, 10.0)
    with pytest.raises(ValueError, match="Argument `count` must be at most the dimension, 2, but is 3"):
        lyapunov_spectrum(Henon(), x, 100.0, count=3)
    with pytest.raises(ValueError, match="Argument `system` must be a flow or a map"):
        lyapunov_spectrum("lorenz", x, 100.0)
    with pytest.raises(ValueError, match="Argument `system` must be a map in JAX"):
        lyapunov_spectrum(ExactHardmaxMap("1/3"), x, 100.0)


@pytest.mark.slow
def test_the_first_exponent_is_the_largest_where_axes_stay_axes():
    """The first axis contracts, and stays an axis: vectors that begin on it never see the largest exponent."""
    system = FunctionMap(lambda k, x: jnp.stack([x[0] / 2, 4 * x[1] * (1 - x[1])]))
    found = lyapunov_spectrum(system, [0.3, 0.3], 2000, count=1)
    assert abs(found.exponents[0] - np.log(2)) < 0.02


def test_exponents_that_are_no_numbers_have_no_dimension():
    assert np.isnan(kaplan_yorke_dimension([np.nan, np.nan]))


@pytest.mark.parametrize(("r", "said"), [(2.0, "below -37"), (1 + np.sqrt(5), "below -17")])
def test_exponents_of_superstable_orbits_are_bounds(r, said):
    found = lyapunov_spectrum(Logistic(r=r), jnp.asarray([0.3]), 1000.0)
    assert found.resolved == (False,)
    assert said in str(found)


@pytest.mark.slow
def test_a_stretch_that_is_zero_has_the_exponent_minus_infinity():
    found = lyapunov_spectrum(FunctionMap(lambda k, x: 0 * x + 0.5), jnp.asarray([0.3]), 1000.0)
    assert found.exponents.tolist() == [-np.inf]
    assert found.converged
    assert str(found) == "Lyapunov exponents -inf"
    assert found.kaplan_yorke == 0


@pytest.mark.slow
def test_an_interval_so_long_that_a_stretch_is_rounding_gives_a_bound():
    short, long = (lyapunov_spectrum(Henon(), jnp.asarray([0.1, 0.1]), 3000, interval=k) for k in (1, 30))
    assert short.resolved == (True, True)
    assert long.resolved == (True, False)
    assert long.exponents[1] > short.exponents[1] + 0.5  # wrong, and said to be a bound


def test_vectors_that_a_singular_map_makes_parallel_give_a_bound():
    singular = FunctionMap(lambda k, x: jnp.stack([0.5 * x[0] + 0.3 * x[1], 0.25 * x[0] + 0.15 * x[1]]))
    found = lyapunov_spectrum(singular, jnp.asarray([0.1, 0.1]), 200.0)
    assert found.resolved == (True, False)
    assert found.exponents[0] == pytest.approx(np.log(0.65))
    assert -40 < found.exponents[1] < -30
    assert ", below -34 (rounding: superstable" in str(found)


@pytest.mark.slow
def test_a_stretch_that_is_small_but_certain_is_no_rounding():
    found = lyapunov_spectrum(FunctionMap(lambda k, x: 1e-15 * x + 0.5), jnp.asarray([0.3]), 1000.0)
    assert found.resolved == (True,)
    assert found.exponents[0] == pytest.approx(np.log(1e-15))


def test_a_given_integrator_has_its_own_tolerance():
    assert tolerance_of(1e-3, Diffrax(rtol=1e-5)) == 1e-5
    assert tolerance_of(1e-3, None) == 1e-3


@pytest.mark.parametrize(("t0", "transient", "doubled"), [(45.0, 10, 40), (45.0, 4, 39), (0.0, 20, 10)])
def test_a_run_goes_on_at_the_time_at_which_its_transient_ends(t0, transient, doubled):
    """Of 40 steps of a map that halves its state up to step 50, and doubles it from there on."""
    switched = FunctionMap(lambda k, x: jnp.where(k < 50, 0.5, 2.0) * x)
    found = lyapunov_spectrum(switched, jnp.ones(1), 40, transient=transient, t0=t0)
    assert found.exponents[0] == pytest.approx((2 * doubled - 40) / 40 * np.log(2))


def test_times_of_a_forced_flow_are_converted_with_its_unit_of_time():
    """In microseconds x' = -(1 + t / 8) x, and t is 14 in the mean from the end of the transient."""
    unit = 1e-6
    flow = FunctionFlow(lambda t, x: -(1 + t / unit / 8) * x / unit)
    found = lyapunov_spectrum(flow, [1.0], 20 * unit, transient=3 * unit, interval=unit / 2, t0=unit)
    assert found.exponents[0] * unit == pytest.approx(-1 - 14 / 8, rel=1e-6)
    assert found.times[-1] == pytest.approx(20 * unit)
    assert found.running[-1, 0] == pytest.approx(found.exponents[0])
    options = {"count": None, "transient": None, "rtol": 1e-8, "atol": None, "t0": 0.0, "integrator": None}
    plan = planned(flow, jnp.ones(1), 20 * unit, interval=unit / 2, **options)
    stored = spectrum_of_logs(plan, np.full((40, 1), -0.75), jnp.ones(1))
    assert stored is not None
    assert stored.exponents[0] * unit == pytest.approx(-1.5)
    assert stored.times[-1] == pytest.approx(20 * unit)


def test_a_fast_contraction_shortens_the_default_interval():
    """Over one unit of time exp(-60) is below the absolute tolerance of the vectors."""
    flow = FunctionFlow(lambda t, x: jnp.stack([-0.01 * x[0], -60 * (x[1] - x[0])]))
    found = lyapunov_spectrum(flow, jnp.array([1.0, 1.0]), 60.0)
    np.testing.assert_allclose(found.exponents, [-0.01, -60.0], atol=0.05)
    assert found.resolved == (True, True)
    given = lyapunov_spectrum(flow, jnp.array([1.0, 1.0]), 60.0, interval=1.0)
    assert given.resolved == (True, False)
    assert "below -21 (tolerance of the solver: a shorter interval" in str(given)


def test_the_absolute_tolerance_limits_the_error():
    """Of a state that rests at 0, where the relative tolerance has no hold."""
    flow = FunctionFlow(lambda t, x: -x)
    coarse, fine = (lyapunov_spectrum(flow, [0.1], 50.0, interval=1.0, atol=atol) for atol in (1e-1, 1e-10))
    assert abs(fine.exponents[0] + 1) < 1e-7 < 1e-6 < abs(coarse.exponents[0] + 1)
    with pytest.raises(ArgumentError, match="`atol` must be positive"):
        lyapunov_spectrum(flow, [0.1], atol=0.0)


def test_one_stretch_to_zero_decides_an_exponent_and_one_without_a_number_leaves_it_unknown():
    logs = np.full((10 * BLOCKS, 4), [1.0, 0.5, 0.2, -0.1])
    logs[5, :2], logs[9, 1] = -np.inf, np.nan
    found = _spectrum(logs, 0.5)
    assert found.exponents.tolist() == [
        pytest.approx(0.4),
        pytest.approx(-0.2),
        -np.inf,
        pytest.approx(np.nan, nan_ok=True),
    ]
    assert (found.converged, found.reason) == (False, "the trajectory left the finite numbers")
