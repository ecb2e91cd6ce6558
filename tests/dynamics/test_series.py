"""Return maps, power spectra, recurrence plots and the 0-1 test: closed forms, published values, tables, bad input."""

import numpy as np
import pytest
from numpy.random import default_rng

from analysis.dynamics.series.chaos_test import PART, ZeroOneTest, _correlation, _decorrelated, zero_one_test
from analysis.dynamics.series.power_spectra import PowerSpectrum, power_spectrum
from analysis.dynamics.series.recurrence import RecurrencePlot, recurrence_plot
from analysis.dynamics.series.return_maps import ReturnMap, _peaks, return_map
from analysis.tables import table
from dynsim import FunctionFlow, FunctionMap, Trajectory, iterate
from figures import plot

STATS = iterate(FunctionMap(lambda k, x: x), [0.0], 1).stats
TURN = np.linspace(0.0, 8 * np.pi, 401)
CIRCLE = np.stack([np.cos(TURN), np.sin(TURN)], axis=1)


def logistic(r, count, x=0.3):
    orbit = [x]
    for _ in range(count + 500):
        orbit.append(r * orbit[-1] * (1 - orbit[-1]))
    return np.array(orbit[-count:])


def run(ts=TURN, ys=CIRCLE, **declared):
    flow = FunctionFlow(lambda t, x: x, names=("x", "v"), units=("m", "m/s"), time_unit="s", **declared)
    return Trajectory(np.asarray(ts), np.asarray(ys), flow, STATS)


def test_a_return_map_pairs_values_or_the_tops_of_parabolas():
    found = return_map(np.arange(5.0) ** 2, lag=2)
    assert (found.pairs.tolist(), found.lag) == ([[0, 4], [1, 9], [4, 16]], 2)
    assert return_map(run(), "v", of="maxima").pairs == pytest.approx(np.ones((3, 2)), abs=1e-6)
    lows = return_map(run(), "v", of="minima")
    assert lows.pairs == pytest.approx(-np.ones((3, 2)), abs=1e-6)
    assert str(lows) == "return map of v at a minimum: 3 returns from -1 to -1 m/s"
    assert table(lows).units == {"v": "m/s", "v_next": "m/s"}


def test_the_return_map_of_the_logistic_map_is_its_parabola():
    before, after = return_map(logistic(3.9, 200)).pairs.T
    np.testing.assert_allclose(after, 3.9 * before * (1 - before), rtol=1e-12)


@pytest.mark.parametrize(("r", "lines"), [(3.2, [0.5]), (3.5, [0.25, 0.5]), (3.55, [0.125, 0.25, 0.375, 0.5])])
def test_a_spectrum_has_a_new_line_at_half_the_frequency_after_each_doubling(r, lines):
    """Cycles of 2, 4 and 8 steps; their power is the variance, and each new line is weaker than those before."""
    values = logistic(r, 1024)
    found = power_spectrum(values, window="boxcar")
    assert np.sort(found.peaks()).tolist() == pytest.approx(lines, abs=1e-9)
    assert np.sum(found.densities) * found.resolution == pytest.approx(np.var(values))
    heights = np.interp(lines, found.frequencies, found.densities)
    assert np.argmax(heights) == len(lines) - 1
    assert np.min(heights[:1]) < 0.2 * heights[-1] or len(lines) == 1


def test_a_peak_is_found_between_two_frequencies_with_its_units():
    ts = 0.05 * np.arange(1000)
    found = power_spectrum(run(ts, np.stack([np.cos(2 * np.pi * 0.317 * ts), 0 * ts], axis=1)), "x")
    assert found.peaks(1) == pytest.approx([0.317], abs=3e-4)
    assert table(found).units == {"frequency": "1/s", "density": "m^2 s"}
    assert "up to 10 per s, highest peak at 0.31677" in str(found)
    noise = power_spectrum(default_rng(1).normal(size=20_000), segment=100, spacing=0.5)
    assert noise.densities[1:-1] == pytest.approx(1.0, abs=0.3)  # one-sided density of variance 1 up to frequency 1


def test_the_rest_of_the_mean_and_the_errors_of_a_solver_have_no_peaks():
    ts = np.arange(0.0, 100.0, 0.05)
    wave = np.cos(ts) + 1e-8 * np.cos(40 * ts)  # no whole number of periods
    found = power_spectrum(wave, spacing=0.05)
    assert found.densities[0] > 30 * found.densities[2]
    assert found.peaks() == pytest.approx([1 / (2 * np.pi)], rel=1e-3)


def test_rounding_errors_of_values_far_from_zero_have_no_peaks():
    ts = np.linspace(0.0, 100.0, 4001)
    small = power_spectrum(1e3 + 1e-6 * np.sin(2 * np.pi * 1.3 * ts), spacing=ts[1])
    assert small.peaks() == pytest.approx([1.3], abs=1e-3)
    still = power_spectrum(1e5 + 1e-11 * default_rng(0).normal(size=400))
    assert str(still).endswith("no peak")


def test_a_turning_circle_recurs_on_diagonals_only():
    found = recurrence_plot(run(), threshold=0.1, theiler=10)
    assert (found.determinism, found.longest_diagonal, found.name) == (pytest.approx(1.0, abs=2e-3), 302, "x, v")
    assert found.rate == pytest.approx(0.0236, abs=1e-4)  # of the angles at all lags but those up to 10
    assert recurrence_plot(run(), rate=0.2).rate == pytest.approx(0.2, rel=0.05)
    assert recurrence_plot(run(), rate=0.2, theiler=40).rate == pytest.approx(0.2, rel=0.02)
    delayed = recurrence_plot(np.sin(TURN), dimension=2, delay=25, threshold=0.1, theiler=10)
    assert delayed.determinism == pytest.approx(1.0, abs=2e-3)
    np.testing.assert_array_equal(delayed.recurrences, found.recurrences[25:, 25:])


def test_white_noise_recurs_with_the_determinism_of_chance():
    """Points of a diagonal are independent with probability p, and are alone with probability (1 - p)^2."""
    found = recurrence_plot(default_rng(0).uniform(size=700), rate=0.2)
    assert found.determinism == pytest.approx(1 - 0.8**2, abs=0.01)
    assert found.mean_diagonal == pytest.approx(2 + 0.2 / 0.8, abs=0.03)


def test_measures_of_a_small_plot_are_counted_by_hand():
    points = np.eye(4, dtype=bool)
    points[[0, 1, 0, 1, 2, 3], [1, 2, 3, 0, 1, 0]] = True  # a diagonal of two points, and one point alone
    found = RecurrencePlot(np.arange(4.0), points, 0.1)
    assert (found.rate, found.determinism, found.longest_diagonal) == (6 / 12, 2 / 3, 2)
    assert sorted(found.diagonals) == [1, 2]
    assert (found.laminarity, found.longest_vertical, found.trapping_time) == (
        0.0,
        1,
        pytest.approx(np.nan, nan_ok=True),
    )
    whole = found._replace(theiler=0)
    assert (whole.rate, whole.longest_vertical, whole.laminarity) == (10 / 16, 3, 7 / 10)
    assert found.entropy == 0.0
    assert len(table(found)) == 10
    none = recurrence_plot([0.0, 1.0, 3.0, 7.0], threshold=0.5)
    assert np.isnan(none.determinism)
    assert (none.rate, none.longest_diagonal) == (0.0, 0)
    assert recurrence_plot([0.0, 1.0, 3.0, 7.0]).threshold == pytest.approx(0.7)


def test_angles_recur_after_a_turn():
    turned = run(TURN, np.stack([TURN, 0 * TURN], axis=1), periods={"x": 2 * np.pi})
    assert recurrence_plot(turned, threshold=0.1, theiler=10).longest_diagonal == 302  # after 99 samples


@pytest.mark.parametrize(("r", "low", "high"), [(3.55, -0.05, 0.05), (3.97, 0.98, 1.0), (4.0, 0.98, 1.0)])
def test_the_0_1_test_tells_the_logistic_map_regular_or_chaotic(r, low, high):
    """Gottwald and Melbourne (2009): K is near 0 at 3.55, a cycle of 8 steps, and near 1 at 3.97."""
    found = zero_one_test(logistic(r, 2000), frequencies=50)
    assert low < found.K < high
    assert (found.count, len(table(found))) == (2000, 50)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_0_1_test_does_not_depend_on_the_unit(unit):
    x = logistic(3.97, 1000)
    found, scaled = (zero_one_test(size * x, frequencies=20) for size in (1.0, unit))
    np.testing.assert_allclose(scaled.correlations, found.correlations, rtol=1e-6)
    still = zero_one_test(unit * (1 + 1e-14 * x), frequencies=20)
    assert still.K == zero_one_test(np.full(1000, unit), frequencies=20).K


def test_a_peak_is_that_of_the_parabola_through_three_samples_and_of_a_plateau_the_first():
    np.testing.assert_allclose(_peaks(np.array([0.0, 1.0, 1.0, 0.0, 3.0, 0.0])), [1.125, 3.0])


def test_the_entropy_is_that_of_the_shares_of_lengths_some_of_which_do_not_occur(monkeypatch):
    found = recurrence_plot(np.sin(np.arange(60.0)), threshold=0.1)
    monkeypatch.setattr(type(found), "diagonals", np.array([1, 2, 2, 5]))
    assert found.entropy == pytest.approx(np.log(3) - 2 / 3 * np.log(2), rel=1e-14)


@pytest.mark.parametrize("mean", [-3.0, 20.0, 1e6])
def test_the_0_1_test_does_not_depend_on_the_mean(mean):
    """Of values about a large mean the translations oscillate, which hides their diffusion."""
    about, found = (zero_one_test(logistic(3.97, 1000) + m, frequencies=20) for m in (0.0, mean))
    assert found.K > 0.99
    np.testing.assert_allclose(found.correlations, about.correlations, rtol=1e-6)


def test_a_flow_is_tested_at_samples_that_are_no_longer_correlated():
    fine = run(0.02 * np.arange(40_000), np.repeat(np.cos(0.02 * np.arange(40_000) * np.sqrt(2))[:, None], 2, axis=1))
    found = zero_one_test(fine, "x", frequencies=20)
    assert found.every == pytest.approx(np.pi / 2 / np.sqrt(2) / 0.02, abs=1)
    assert abs(found.K) < 0.1
    assert zero_one_test(np.ones(200)).K == 0.0


@pytest.mark.parametrize(
    "found",
    [
        return_map(logistic(3.9, 50)),
        power_spectrum(run(), "x"),
        recurrence_plot(run()),
        zero_one_test(logistic(4.0, 200)),
    ],
    ids=lambda found: type(found).__name__,
)
def test_measures_draw_themselves(found):
    drawn = found.plot()
    assert all(drawn[name] for name in drawn if name != "peaks")
    assert all(not found.plot(**dict.fromkeys(drawn, False))[name] for name in drawn)
    assert "\n" not in repr(found)
    with pytest.raises(ValueError, match="Argument `options` must be among"):
        found.plot(nonsense=1)


def test_axes_of_measures_have_names_and_units():
    words = lambda found: tuple(getattr(plot(found).axes[0], f"get_{k}label")() for k in "xy")
    assert words(power_spectrum(run(), "v")) == (
        "frequency (1/s)",
        "power density of $v$ (m/s$^2$\N{NARROW NO-BREAK SPACE}s)",
    )
    assert words(recurrence_plot(run())) == ("time $t$ (s)",) * 2
    assert words(return_map(run(), "x", of="maxima")) == ("$x$ (m) at a maximum", "$x$ (m) at the next")
    assert words(ReturnMap(np.ones((2, 2)))) == ("$x$ at step $k$", "$x$ at step $k + 1$")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: power_spectrum(run(TURN**2)), "`data` must have evenly spaced, increasing times"),
        (lambda: power_spectrum(run(), "w"), "`component` must name a component of the state, x, v, but is `w`"),
        (lambda: power_spectrum(run(), 2), "`component` must be from 0 to 1"),
        (lambda: power_spectrum(run(), spacing=0.1), "`spacing` must be left out for a trajectory"),
        (lambda: power_spectrum(np.ones(20), window="hanne"), "`window` must be a window of"),
        (lambda: power_spectrum(np.ones(20), segment=21), "`segment` must be at most the number of times, 20"),
        (lambda: power_spectrum([1.0, np.nan] * 10), "`data` must be finite"),
        (lambda: power_spectrum(np.ones((2, 2, 2))), "`data` must have shape"),
        (lambda: return_map([1.0, 2.0, 3.0], of="maxima"), "`data` must have more than 1 maximum, but has 0"),
        (lambda: return_map([1.0, 2.0], of="tops"), "`of` must be one of values, maxima, minima"),
        (lambda: recurrence_plot(TURN, threshold=1.0, rate=0.1), "`rate` must be left out with `threshold`"),
        (lambda: recurrence_plot(TURN, rate=1.0), "`rate` must be below 1"),
        (lambda: recurrence_plot(TURN[:5], dimension=3, delay=2), "`dimension` must leave two states of 5 samples"),
        (lambda: recurrence_plot(TURN[:5], theiler=5), "`theiler` must be below the number of states, 5"),
        (lambda: recurrence_plot(np.zeros(10_001)), "`data` must have at most 10000 times"),
        (lambda: zero_one_test(np.ones(300), every=4), "`data` must have at least 100 values every 4 samples"),
        (lambda: PowerSpectrum(TURN, 0 * TURN, 1.0).plot(), "`spectrum` must have a positive density"),
        (lambda: ReturnMap(np.empty((0, 2))).plot(), "`map` must have a return"),
    ],
)  # fmt: skip
def test_bad_measures_are_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=f"Argument {sentence}"):
        call()


def test_the_lag_and_the_correlation_of_the_chaos_test_are_those_of_their_sums():
    assert _decorrelated(np.tile([1.0, 1.0, -1.0, -1.0], 30)) == 2  # products at lag 1 sum to 1
    assert _decorrelated(5.0 + np.tile([1.0, -1.0], 30)) == 1
    values, c = default_rng(2).normal(size=120), 1.1
    p = [sum((values[j] - values.mean()) * np.exp(1j * c * (j + 1)) for j in range(n + 1)) for n in range(120)]
    moved = [np.mean([abs(p[j + n] - p[j]) ** 2 for j in range(120 - 120 // PART)]) for n in range(1, 120 // PART + 1)]
    expected = np.corrcoef(np.arange(1, 120 // PART + 1), moved)[0, 1]
    assert _correlation(values, c) == pytest.approx(expected, rel=1e-12)
    odd = ZeroOneTest(np.array([0.7, 1.0, 1.5]), np.array([0.25, -0.5, 1.0]), 3, 150, "x")
    assert odd.K == 0.25
    assert str(odd) == "0-1 test of x: K = 0.2500 from 150 values, every 3 samples"
