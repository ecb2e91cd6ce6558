"""Experiments 1 to 3 of `growing`: instances as described, measures by hand, the same bytes when resumed."""

import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest

from analysis.claims.growing.section_07 import temperatures as section_7_temperatures
from analysis.experiments import Record, paper_record
from analysis.experiments.growing import synthetic
from analysis.experiments.growing.instances import (
    Choices,
    Setting,
    all_heads,
    growing_flow,
    interaction,
    planes,
    spectrum,
    tokens,
    whitened,
)
from analysis.experiments.growing.outcomes import GrowthOutcome, bounds, coverages, rank_correlation, ratios
from analysis.growing.temperatures import hitting_time
from analysis.ledger.claim import Claim
from analysis.ledger.evidence import Trial
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.growing import simulate_growing

KEY = random_key(3, "synthetic")
SMALL = Setting(tokens=30, dimension=6, capacity=2, temperature_rate=0.1)


def test_the_interaction_has_the_printed_pairs_and_aligned_tokens_their_variances():
    basis, values = planes(KEY, 8), spectrum(Setting(dimension=8))
    np.testing.assert_allclose(values, [2.0, 1.4, 0.98, 0.686])
    m = interaction(basis, values)
    pairs = np.arange(len(values))
    np.testing.assert_allclose((basis.T @ m @ basis)[2 * pairs, 2 * pairs + 1], values, rtol=1e-10)  # of this sign
    np.testing.assert_allclose(m, -m.T, atol=1e-14)
    np.testing.assert_allclose(np.linalg.eigvalsh(1j * m)[4:], values[::-1])
    x = tokens(KEY, 40, basis, values, Choices(law="aligned", scale=0.5, exact=True)) @ basis
    np.testing.assert_allclose(x.T @ x / 40, np.diag(np.repeat(0.25 * values / 2.0, 2)), atol=1e-12)
    np.testing.assert_allclose(whitened(np.arange(10.0)[:, None] ** 2).std(), 1.0)


def test_heads_are_added_until_the_residual_is_below_the_threshold_and_the_symmetric_part_does_not_count():
    flow = growing_flow(KEY, replace(SMALL, capacity=3, threshold=1.0), Choices(law="aligned"))
    grown, _ = all_heads(flow, flow.start(KEY))
    np.testing.assert_allclose(np.asarray(grown.levels)[:2], [2.0, 1.4])
    assert np.asarray(grown.active).tolist() == [True, True, False]
    assert float(grown.dominant) == pytest.approx(0.98)


@pytest.mark.slow
def test_arrivals_are_those_of_the_quadrature_and_births_those_of_growth():
    flow = growing_flow(KEY, SMALL, Choices(prototype_rate=0.0, dwell=0.5, first="random"))
    ts, start = np.linspace(0, 200, 4), flow.start(KEY)
    path = simulate_growing(flow, start, ts, integrator=Scipy())
    found = synthetic.outcome(path, ts)
    np.testing.assert_allclose(found.births, [0.0, 0.0], atol=1e-12)
    for k in range(2):
        p = np.asarray(path.final.prototypes[k])
        wanted = hitting_time(np.asarray(flow.data), p, start=1.0, least=0.1, rate=0.1)
        assert found.arrivals[k] - found.births[k] == pytest.approx(wanted, rel=1e-6)
    assert np.isnan(found.levels[0])
    assert found.levels[1] == pytest.approx(2.0)
    np.testing.assert_allclose(found.temperatures, 0.1)
    np.testing.assert_allclose(found.fan[[0, -1]], [[1, 1], [0.1, 0.1]])
    assert np.all(found.first_activity > 0)


def test_coverages_and_bounds_are_those_of_the_formulas():
    values = np.array([2.0, 1.0])
    found = coverages(np.array([2.0, np.nan]), values)
    assert list(found.values()) == pytest.approx([0.2, 0.4, 0.4, 0.8, 2 / 3, 2 / np.sqrt(10)])
    assert list(bounds(2, 0.5, values).values()) == pytest.approx([0.9, 0.8, 1 - 1 / np.sqrt(10)])
    assert bounds(8, 0.05, spectrum(Setting()))["norm not squared"] == pytest.approx(0.899, abs=1e-4)


def test_a_head_that_never_arrives_is_the_last_and_heads_without_level_do_not_count():
    levels = np.array([np.nan, 3.0, 2.0, 1.0])
    assert rank_correlation(levels, np.array([0.0, 1.0, 2.0, np.inf])) == pytest.approx(-1)
    assert rank_correlation(levels, np.array([0.0, np.inf, 2.0, 1.0])) == pytest.approx(1)
    assert np.isnan(rank_correlation(levels, np.full(4, np.inf)))
    empty = GrowthOutcome(*(np.full(4, np.nan) for _ in GrowthOutcome._fields))
    forces = np.array([9.0, 6.0, 4.0, 1.0])
    over, bound = ratios(empty._replace(levels=levels, forces=forces, temperatures=np.array([1.0, 1.0, 1.0, 2.0])))
    np.testing.assert_allclose(over, [1.5, 4.0])
    np.testing.assert_allclose(bound, [1.5, 8.0])


@pytest.mark.slow  # two programs are compiled
def test_a_resumed_run_has_the_same_bits_and_its_summary_names_every_case(tmp_path):
    reference = synthetic.SyntheticConfig(SMALL, Choices(prototype_rate=0.0), seeds=2, end=100.0, times=5)
    config = replace(reference, changes=(("aligned", replace(reference, choices=Choices(law="aligned"))),))
    whole = synthetic.run_synthetic(config, jax.random.key(0), tmp_path)
    shutil.rmtree(tmp_path / "1" / "0")
    again = synthetic.run_synthetic(config, jax.random.key(0), tmp_path)
    assert all(np.array_equal(again[name], whole[name], equal_nan=whole[name].dtype.kind == "f") for name in whole)
    assert synthetic.outcomes(whole, "aligned")[1].levels == pytest.approx([2.0, 1.4])
    said = synthetic.summarise_synthetic(whole)
    assert "\nreference: 2; 2 of 2" in said
    assert "\naligned: 2; 2 of 2" in said


@pytest.mark.parametrize("name", [name for name, _ in synthetic.PAPER.changes])
def test_a_change_leaves_the_printed_numbers_as_they_are(name):
    case = dict(synthetic.PAPER.changes)[name]
    assert replace(case.setting, capacity=8) == Setting()
    paper = synthetic.PAPER
    assert (case.choices, case.setting, case.integrator) != (paper.choices, paper.setting, paper.integrator)


def test_the_paper_size_has_five_seeds_and_the_quick_one_both_sides():
    assert synthetic.PAPER.seeds >= 5
    assert [name for name, _ in synthetic.QUICK.changes] == [synthetic.SHOWN]


def test_a_line_counts_heads_levels_arrivals_and_forces_of_every_seed():
    nan, empty = np.nan, GrowthOutcome(*(np.full(4, np.nan) for _ in GrowthOutcome._fields))
    first = empty._replace(
        levels=np.array([nan, 4.0, 2.0, 1.0]),
        births=np.array([0.0, 1.0, 4.0, 7.0]),
        arrivals=np.array([np.inf, 10.0, 11.0, 12.0]),
        temperatures=np.array([0.5, 0.1, 0.1, 0.2]),
        forces=np.array([3.0, 6.0, 4.0, 1.0]),
    )
    second = first._replace(levels=np.array([nan, 2.0, 4.0, 1.0]), forces=np.array([9.0, 4.0, 6.0, 1.0]))
    arrays = {f"one: {what}": np.stack(pair) for what, *pair in zip(GrowthOutcome._fields, first, second, strict=True)}
    arrays |= {"cases": np.array(["one"]), "spectrum": np.array([2.0, 1.0, 0.25]), "threshold": np.asarray(0.5)}
    said = synthetic.summarise_synthetic(arrays).splitlines()
    # by hand: since birth 9, 7, 5 against 4, 2, 1 and 2, 4, 1; F ratios 1.5, 4 and 2/3, 6 over bounds 2, 8 and 1/2, 16
    assert said[2] == "one: 4; 1 of 2; 3; 0.5 to 1, -1 to -0.5; 1 of 2; 0.625 (0.375 to 1.33)"
    assert said[3] == "|M_a|_F^2 = 10.1250, |M_a|_F = 3.1820; levels exact"  # 2 (4 + 1 + 1/16)
    assert said[4].startswith("coverage by 8 heads: as printed 0.3210, ")  # 3.25 / 10.125
    assert said[5].startswith("  bound for 8 heads: as printed 0.6049, ")  # 1 - 4 / 10.125
    assert said[6].startswith("coverage by 2 heads: as printed 0.2963, ")  # of two of them, above the threshold
    assert said[7].startswith("  bound for 2 heads: as printed 0.9012, ")


def test_a_case_runs_its_own_choices_with_its_integrator_and_the_seeds_of_all_cases(tmp_path, monkeypatch):
    case = synthetic.SyntheticConfig(SMALL, Choices(law="aligned"), end=1e3, times=6, integrator="explicit")
    np.testing.assert_allclose(synthetic.times_of(case), [0, 0.1, 1, 10, 100, 1000])
    seen = []

    class Flow:
        def start(self, key):
            return "start"

    monkeypatch.setattr(synthetic, "growing_flow", lambda key, *given: seen.append(given) or Flow())
    monkeypatch.setattr(synthetic, "simulate_growing", lambda flow, start, ts, *, integrator: (start, integrator))
    empty = GrowthOutcome(*(np.zeros(()) for _ in GrowthOutcome._fields))
    monkeypatch.setattr(synthetic, "outcome", lambda path, ts: seen.append((*path, ts[-1])) or empty)
    synthetic.synthetic_outcome(KEY, case)
    assert seen == [(case.setting, case.choices), ("start", synthetic.INTEGRATORS["explicit"], 1000.0)]
    assert synthetic.INTEGRATORS["explicit"].rtol == synthetic.INTEGRATORS["stabilised"].rtol
    keys = []
    note = lambda key, case: keys.append(jax.random.key_data(key).tolist()) or empty
    monkeypatch.setattr(synthetic, "synthetic_outcome", note)
    synthetic.run_synthetic(replace(case, seeds=2, changes=(("other", case),)), KEY, tmp_path)
    assert keys == [*keys[:2]] * 2
    assert keys[0] != keys[1]


def test_changes_are_what_their_names_say():
    named, paper = dict(synthetic.PAPER.changes), synthetic.PAPER
    assert (paper.choices, paper.setting) == (Choices(), Setting())
    assert all((named[name].choices.prototype_rate == 0) == ("rest" in name) for name in named if "at rest" in name)
    assert named["sum over tokens"].end * paper.setting.tokens == paper.end  # its losses, and rates, are 500 times ours
    assert named["fixed assignments"].choices == replace(Choices(), gradient="frozen")
    shown = Choices(law="aligned", exact=True, prototype_rate=0.0, scaling="tokens", spread=0.01)
    assert named[synthetic.SHOWN].choices == shown
    assert named[synthetic.SHOWN].end > paper.end
    assert named["16 heads at most"].setting.capacity == 16
    for name, options in (
        ("projected", {"head_input": "projected"}),
        ("aligned", {"law": "aligned"}),
        ("spread by eigenvalue", {"scaling": "eigenvalue"}),
        ("quantiles", {"birth": "quantiles"}),
        ("random first head", {"first": "random"}),
        ("planes captured", {"removal": "plane", "prototype_rate": 0.0}),
        ("gate by Oja's rule", {"gate": "oja", "prototype_rate": 0.0}),
        ("residual of the data", {"reading": "data", "prototype_rate": 0.0}),
        ("residual of the tokens", {"reading": "tokens", "prototype_rate": 0.0}),
    ):
        assert named[name].choices == replace(Choices(), **options), name


def trial_of(claim: Claim) -> Trial:
    assert claim.trial is not None
    return claim.trial(KEY, Scipy())


def test_claims_read_every_run_of_a_record_of_the_printed_size(tmp_path, monkeypatch):
    assert paper_record(synthetic.SYNTHETIC, results=tmp_path) is None
    ones = np.ones(8)
    one = GrowthOutcome(*(0.5 ** np.arange(8) if name == "levels" else ones for name in GrowthOutcome._fields))
    late, early = (one._replace(arrivals=times) for times in (1.0 + np.arange(8), np.append(np.arange(7), np.inf)))
    activity = one._replace(first_activity=0.1 * np.arange(8)).first_activity
    cases = {"reference": (late, late), synthetic.REPEATED: (late, early)}
    arrays = {
        f"{name}: {what}": np.stack([getattr(run._replace(first_activity=activity), what) for run in runs])
        for name, runs in cases.items()
        for what in GrowthOutcome._fields
    }
    record = Record("growing/synthetic", "paper", 0, {}, arrays)
    monkeypatch.setattr(section_7_temperatures, "paper_record", lambda experiment: record)
    stay = trial_of(section_7_temperatures.some_heads_stay_above_the_least_temperature)
    assert (stay.parameters["n"], stay.parameters["d"], stay.parameters["runs"]) == (500, 64, 4)
    assert len(stay.hypotheses) == 12
    assert stay.conclusions[0].slack == 0.0  # one head of one run stays
    arrays[f"{synthetic.REPEATED}: arrivals"][:] = 1.0 + np.arange(8)[::-1]
    ranked = trial_of(section_7_temperatures.heads_of_larger_eigenvalue_arrive_earlier)
    assert ranked.conclusions[0].slack > 0
