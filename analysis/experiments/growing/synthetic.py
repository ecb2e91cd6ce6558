"""Run Experiments 1 to 3 of GROWING, Section 7: order of the heads, their temperatures, their separation forces."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import jax
import numpy as np

from analysis.experiments import Arrays, Experiment
from analysis.experiments.cases import outcomes_of_cases
from analysis.experiments.growing.instances import Choices, Setting, growing_flow, spectrum
from analysis.experiments.growing.outcomes import GrowthOutcome, bounds, coverages, outcome, rank_correlation, ratios
from dynsim._core.types import Key
from dynsim.integrators import RKC2, Diffrax
from dynsim.papers import GROWING
from dynsim.simulation.growing import simulate_growing

INTEGRATORS = {
    "stabilised": Diffrax(RKC2(), rtol=1e-5, atol=1e-7),  # banks at rest are stiff beside temperatures that hardly move
    "explicit": Diffrax(rtol=1e-5, atol=1e-7),
}
# Name of the change that repeats the reference with another integrator.
REPEATED = "explicit integrator"
# Name of the change that reproduces Figure 1.
SHOWN = "aligned exactly, at rest, .01 by tokens"


@dataclass(frozen=True)
class SyntheticConfig:
    """Experiments 1 to 3, with what the paper leaves open, and changes of some choices at a time.

    Attributes:
        setting: the printed numbers.
        choices: what is left open.
        seeds: a seed determines tokens, interaction and random prototypes.
        end: the last time, long after the last temperature that will arrive has arrived.
        integrator: a key of `INTEGRATORS`.
        times: number of times at which temperatures are kept, evenly spaced in their logarithm from .1 on.
        changes: other settings and choices, with their names; each runs with all seeds.
    """

    setting: Setting = Setting()
    choices: Choices = Choices()
    seeds: int = 5
    end: float = 1e6
    integrator: Literal["stabilised", "explicit"] = "stabilised"
    times: int = 121
    changes: tuple[tuple[str, "SyntheticConfig"], ...] = field(default=())


def times_of(config: SyntheticConfig) -> np.ndarray:
    """List the times at which a run is saved."""
    return np.concatenate([[0.0], np.geomspace(0.1, config.end, config.times - 1)])


def run_synthetic(config: SyntheticConfig, key: Key, folder: Path) -> Arrays:
    """Measure each seed for the reference and every change, one row each; a resumed run is reproduced bit for bit."""
    arrays: dict[str, np.ndarray] = {
        "cases": np.array(["reference", *(name for name, _ in config.changes)]),
        "spectrum": spectrum(config.setting),
        "threshold": np.asarray(config.setting.threshold),
    }
    empty = GrowthOutcome(*(np.zeros(()) for _ in GrowthOutcome._fields))
    runs = outcomes_of_cases(config, key, folder, title="synthetic", empty=empty, measure=synthetic_outcome)
    for name, case, found in runs:
        rows = jax.tree.map(lambda *parts: np.stack(parts), *found)
        arrays |= {f"{name}: {what}": part for what, part in zip(GrowthOutcome._fields, rows, strict=True)}
        arrays[f"{name}: ts"] = times_of(case)
    return arrays


def synthetic_outcome(key: Key, case: SyntheticConfig) -> GrowthOutcome:
    """Run the growing system of a case for one seed until `case.end`, and measure it."""
    flow = growing_flow(key, case.setting, case.choices)
    start = flow.start(jax.random.fold_in(key, 0))
    ts = times_of(case)
    return outcome(simulate_growing(flow, start, ts, integrator=INTEGRATORS[case.integrator]), ts)


def outcomes(arrays: Arrays, name: str) -> list[GrowthOutcome]:
    """Read the outcomes of a case from a record, one for each seed."""
    rows = [arrays[f"{name}: {what}"] for what in GrowthOutcome._fields]
    return [GrowthOutcome(*(row[k] for row in rows)) for k in range(len(rows[0]))]


def summarise_synthetic(arrays: Arrays) -> str:
    """Describe the outcomes of the three experiments in a line for each case, with the coverages."""
    lines = [
        "case: heads; in how many seeds levels decrease; heads that reach T_min; rank correlations of level and time,",
        "  since birth and absolute; in how many seeds forces decrease; median of ratio over bound (range)",
    ]
    lines += [_line(str(name), outcomes(arrays, str(name))) for name in arrays["cases"]]
    return "\n".join([*lines, *_coverage_lines(arrays)])


def _line(name: str, found: list[GrowthOutcome]) -> str:
    heads = [int(np.sum(np.isfinite(one.temperatures))) for one in found]
    decreasing = sum(bool(np.all(np.diff(one.levels[np.isfinite(one.levels)]) < 0)) for one in found)
    arrived = [int(np.sum(np.isfinite(one.arrivals))) for one in found]
    since, absolute = (
        [rank_correlation(one.levels, one.arrivals - shift * one.births) for one in found] for shift in (1, 0)
    )
    forces = sum(bool(np.all(np.diff(one.forces[np.isfinite(one.levels)]) < 0)) for one in found)
    over = np.concatenate([np.divide(*ratios(one)) for one in found])
    over = over[np.isfinite(over)]
    middle = f"{np.median(over):.3g} ({np.min(over):.3g} to {np.max(over):.3g})" if len(over) else "none"
    ranks = f"{_range(since)}, {_range(absolute)}"
    counts = f"{_range(heads)}; {decreasing} of {len(found)}; {_range(arrived)}"
    return f"{name}: {counts}; {ranks}; {forces} of {len(found)}; {middle}"


def _range(values: list) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def _coverage_lines(arrays: Arrays) -> list[str]:
    """Compute the coverages of 8 heads, and of all above the threshold, with the bounds, for exact levels."""
    values, threshold = arrays["spectrum"], float(arrays["threshold"])
    lines = [f"|M_a|_F^2 = {2 * np.sum(values**2):.4f}, |M_a|_F = {np.sqrt(2 * np.sum(values**2)):.4f}; levels exact"]
    for heads in (8, int(np.sum(values > threshold))):
        found, least = coverages(values[:heads], values), bounds(heads, threshold, values)
        lines.append(f"coverage by {heads} heads: " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
        lines.append(f"  bound for {heads} heads: " + ", ".join(f"{name} {value:.4f}" for name, value in least.items()))
    return lines


def _changes(reference: SyntheticConfig) -> tuple[tuple[str, SyntheticConfig], ...]:
    """Change some choices of the reference, for each outcome that the paper prints or leaves open."""
    of = lambda **options: replace(reference, choices=replace(reference.choices, **options))
    rest = lambda **options: of(prototype_rate=0.0, **options)
    long = lambda case: replace(case, end=1e8)
    aligned = {"law": "aligned"}
    return (
        (REPEATED, replace(reference, integrator="explicit", end=reference.end / 10)),
        ("16 heads at most", replace(rest(), setting=replace(reference.setting, capacity=16))),
        ("at rest", rest()),
        ("fixed assignments", of(gradient="frozen")),
        ("sum over tokens", replace(of(reduction="sum"), end=reference.end / reference.setting.tokens)),
        ("projected", of(head_input="projected")),
        ("small tokens", of(scale=0.3)),
        ("aligned", of(**aligned)),
        ("aligned, projected", of(**aligned, head_input="projected")),
        ("aligned, at rest", rest(**aligned)),
        ("aligned, at rest, spread by tokens", rest(**aligned, scaling="tokens")),
        (SHOWN, long(rest(**aligned, exact=True, scaling="tokens", spread=0.01))),
        ("spread by eigenvalue", of(scaling="eigenvalue")),
        ("at rest, spread by eigenvalue", rest(scaling="eigenvalue")),
        ("at rest, .01 by eigenvalue", long(rest(scaling="eigenvalue", spread=0.01))),
        ("quantiles", of(birth="quantiles")),
        ("random first head", of(first="random")),
        ("planes captured", rest(removal="plane")),
        ("gate by Oja's rule", rest(gate="oja")),
        ("residual of the data", rest(reading="data")),
        ("residual of the tokens", rest(reading="tokens")),
    )


_REFERENCE = SyntheticConfig()
PAPER = replace(_REFERENCE, changes=_changes(_REFERENCE))
QUICK = replace(_REFERENCE, seeds=1, changes=tuple(change for change in PAPER.changes if change[0] == SHOWN))

SYNTHETIC = Experiment(
    "growing/synthetic",
    GROWING.at("Section 7.1 to 7.3, Figure 1"),
    "synthetic tokens, Experiments 1 to 3: order of the heads, temperatures, forces, by what the paper leaves open",
    QUICK,
    PAPER,
    run_synthetic,
    summarise_synthetic,
)

EXPERIMENTS = (SYNTHETIC,)
"""Experiments of `growing` on synthetic tokens."""
