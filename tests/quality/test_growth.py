"""Exponents of growth: the fit and its error, what is counted as memory, the figure, and the peers' answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from figures.style import canvas, settings
from tests.quality.benchmarks.growth import Grown, drawn, everything, grown, power_law
from tests.quality.benchmarks.growth_cases import (
    Case,
    Way,
    Work,
    allocated,
    in_tokens,
    numpy_field,
    planned,
    tokens,
    turning,
)
from tests.quality.benchmarks.power_laws import PowerLaw, power_laws
from tests.support.figure_layout import check_layout, texts

SIZES = np.array([10.0, 30.0, 100.0, 300.0])


def test_a_power_law_is_found_exactly():
    law = power_law(SIZES, 2.5e-7 * SIZES**1.5)
    np.testing.assert_allclose(law, (1.5, 0.0, 2.5e-7), atol=1e-14)


def test_the_error_of_an_exponent_is_that_of_least_squares():
    results = SIZES**2 * np.array([1.1, 0.9, 1.2, 0.95])
    law, expected = power_law(SIZES, results), scipy.stats.linregress(np.log(SIZES), np.log(results))
    np.testing.assert_allclose(law, (expected.slope, expected.stderr, np.exp(expected.intercept)), rtol=1e-12)
    assert law.error > 0.01


@pytest.mark.parametrize(
    ("values", "results", "sentence"),
    [
        ([1, 2], [1, 2], "`results` must have one entry for each of at least three values"),
        ([1, 2, 3], [1, 2], "`results` must have one entry for each of at least three values"),
        ([1, 2, 3], [1, 0, 3], "`results` must be positive and finite"),
        ([1, np.inf, 3], [1, 2, 3], "`results` must be positive and finite"),
        ([2, 2, 2], [1, 2, 3], "`values` must differ, but are all equal"),
    ],
)
def test_what_has_no_power_law_is_refused(values, results, sentence):
    with pytest.raises(ValueError, match=sentence):
        power_law(values, results)


def test_memory_is_what_is_held_at_once():
    run = lambda n: allocated(lambda: np.zeros(int(n)).sum())()
    assert abs(power_law(SIZES * 1e4, [run(n) for n in SIZES * 1e4]).exponent - 1) < 0.01
    outer = lambda n: planned(jax.jit(lambda x: jnp.outer(x, x)).lower(np.ones(int(n))).compile())
    np.testing.assert_allclose(power_law(SIZES, [outer(n) for n in SIZES])[:2], (2.0, 0.0), atol=1e-12)


@pytest.mark.slow
def test_a_way_is_compared_with_the_peer():
    answers = {"peer": 1.0, "other": 1.25}
    work = lambda answer: lambda n: Work(lambda: np.full(2, answer * n), lambda: int(8 * n))
    case = Case("n", "multiples", [2, 4, 8], [Way(name, work(answer)) for name, answer in answers.items()])
    peer, other = grown(case, 1)
    assert (peer.gap, other.gap) == (0.0, 0.25)
    assert other.sizes == (16, 32, 64)
    assert other.memory is not None
    np.testing.assert_allclose(other.memory, (1.0, 0.0, 8.0), atol=1e-12)
    assert min(other.seconds) > 0


@pytest.mark.slow
def test_fields_of_a_case_agree_and_harmonics_hold_less():
    works = {way.name: way.work(600) for way in in_tokens([600]).ways if way.name != "torch SDPA"}
    answers = {name: work.run() for name, work in works.items()}
    for name in ("blocked", "harmonic"):
        np.testing.assert_allclose(answers[name], answers["NumPy"], atol=1e-9)
    sizes = {name: work.size() for name, work in works.items() if work.size is not None}
    assert sizes["harmonic"] < sizes["NumPy"] / 4  # which holds all pairs
    assert sizes["harmonic"] < sizes["blocked"]  # which holds pairs with one block of tokens


def test_the_field_in_numpy_is_tangent_and_that_of_its_definition():
    (P, U), x = turning(4), np.asarray(tokens(7, 4))
    weights = np.exp(x @ P @ x.T)
    m = weights @ x @ U.T / weights.sum(axis=1, keepdims=True) / 2
    expected = m - np.sum(x * m, axis=1, keepdims=True) * x
    np.testing.assert_allclose(numpy_field(P, U, 3.0 * x), expected, atol=1e-13)  # read at the projected point


def made(symbol, way, exponent, *, memory=True):
    seconds = tuple(1e-4 * SIZES**exponent)
    law = PowerLaw(exponent, 0.01, 1e-4)
    sizes = tuple(int(1000 * size) for size in SIZES) if memory else ()
    return Grown(
        symbol, "a case", way, tuple(SIZES), seconds, sizes, 0.0, law, power_law(SIZES, sizes) if sizes else None
    )


@pytest.mark.slow
def test_the_figure_has_a_panel_for_each_parameter_and_names_the_exponents():
    rows = [made("n", way, k + 0.5) for k, way in enumerate(("NumPy", "blocked", "harmonic"))]
    rows += [made("1/eps", way, 0.2 * k, memory=False) for k, way in enumerate(("RK45", "Radau", "Diffrax", "stiff"))]
    figure = drawn(rows)
    check_layout(figure)
    words = [word for word, _ in texts(figure)]
    assert words.count("CPU seconds") == 2
    assert words.count("megabytes") == 1
    assert r"harmonic: $2.50 \pm 0.01$" in words
    top = figure.axes[0].lines
    np.testing.assert_allclose(top[1].get_xydata(), np.stack([SIZES, 1e-4 * SIZES**0.5], axis=1))
    np.testing.assert_allclose(top[0].get_xydata(), top[1].get_xydata())  # the law through its own data


@pytest.mark.parametrize(("sizes", "marked"), [([10, 20, 80], True), ([10, 100, 5000], False)])
def test_few_sizes_have_a_tick_each(sizes, marked):
    with settings():
        _, (ax,) = canvas()
        row = np.array(sizes, float) ** 1.5
        law = PowerLaw(1.5, 0.1, 1.0)
        power_laws(ax, sizes, [row], [law], names=["a"], roles=[("first", 0)], xlabel="n", ylabel="t")
        assert (ax.get_xticks().tolist() == sizes) == marked
        np.testing.assert_allclose(ax.lines[0].get_ydata(), row)


@pytest.mark.slow  # half a minute, for the programs of three sizes of every case
def test_all_cases_run_in_their_quick_sizes(tmp_path, capsys):
    rows = everything(1, quick=True, figure=tmp_path / "growth.png")
    assert {row["symbol"] for row in rows} == {"n", "d", "M", "T", "1/tolerance", "1/eps"}
    assert max(row["gap"] for row in rows) < 1e-3
    assert (tmp_path / "growth.png").stat().st_size > 1e4
    assert "exponent" in capsys.readouterr().out
