"""Claims of Section 7.1 on synthetic tokens: the order in which heads are added, and the content that they cover."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import jax
import numpy as np
from jaxtyping import Float

from analysis.experiments.growing.instances import Choices, Setting, all_heads, growing_flow, spectrum
from analysis.experiments.growing.outcomes import coverages
from analysis.growing.greedy import energy_coverage
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.residual import dominant_value, residual_matrix

PRINTED_COVERAGE = Fraction(899, 1000)
UNCAPPED = 16  # heads, more than the eleven whose levels exceed theta_w
SETTING = Setting()
ABOVE = 2.0 * 0.7 ** np.arange(11)  # the printed pairs above theta_w = .05; the twelfth is .0395
READING = (
    "M_a is antisymmetric, so that its 64 eigenvalues are 32 pairs +-i lambda_k; lambda of a head is the top "
    "singular value of the residual of `features`"
)


def _choices(key: Key) -> Choices:
    """Draw the choices that matter for growth: what a head captures, how the first begins, the law of the tokens."""
    rng = numpy_rng(key, "choices")
    pick = lambda *words: words[int(rng.integers(len(words)))]
    law, first, removal = pick("isotropic", "aligned"), pick("grown", "random"), pick("direction", "plane")
    return Choices(law=law, first=first, removal=removal)


def _grown(key: Key, values: Float[np.ndarray, " pairs"], capacity: int, choices: Choices) -> GrowingFlow:
    """Return the flow with all its heads, at the printed numbers, for an interaction with these pairs."""
    flow = growing_flow(key, replace(SETTING, capacity=capacity), choices, values)
    return all_heads(flow, flow.start(jax.random.fold_in(key, 1)))[0]


def _levels(flow: GrowingFlow) -> Float[np.ndarray, " heads"]:
    """Return lambda^(h) in the order of growth."""
    levels, order = np.asarray(flow.levels), np.asarray(flow.order)
    known = np.isfinite(levels)
    return levels[known][np.argsort(order[known])]


def _as_drawn(flow: GrowingFlow, values: Float[np.ndarray, " pairs"]) -> tuple[Measurement, ...]:
    """Measure that the directed part of the interaction has the pairs of eigenvalues +-i values."""
    found = np.linalg.eigvalsh(1j * np.asarray(flow.interaction))
    wanted = np.sort(np.concatenate([values, -values]))
    return (at_most("deviation of the eigenvalues of i M_a", np.max(np.abs(found - wanted)), 1e-9, tolerance=ROUNDING),)


def _order_trial(key: Key, values: Float[np.ndarray, " pairs"]) -> Trial:
    choices = _choices(key)
    flow = _grown(key, values, UNCAPPED, choices)
    levels = _levels(flow)
    residual = dominant_value(residual_matrix(flow.interaction, np.asarray(flow.frames).reshape(-1, len(flow.root))))
    return Trial(
        hypotheses=_as_drawn(flow, values),
        conclusions=(
            at_least("least lambda^(h) - lambda^(h+1)", np.min(-np.diff(levels)), 1e-6, tolerance=0.0),
            holds("one head for each pair above theta_w", len(levels) == len(ABOVE)),
            equal("distance of the lambda^(h) from those pairs", _distance(levels, ABOVE), 0.0, tolerance=1e-9),
            at_most("lambda_max of the last residual", residual, SETTING.threshold, tolerance=ROUNDING),
            *_captured(flow, choices.removal),
        ),
        witness={"levels": levels},
        parameters={"d": SETTING.dimension, "law": choices.law, "first": choices.first, "removal": choices.removal},
    )


def _captured(flow: GrowingFlow, removal: str) -> tuple[Measurement, ...]:
    """Measure what the heads with a direction capture: it alone, or a plane that M_a maps to itself."""
    frames, m = np.asarray(flow.frames), np.asarray(flow.interaction)
    frames = frames[np.any(frames != 0, axis=(1, 2))]
    counts = np.sum(np.any(frames != 0, axis=2), axis=1)
    least = {"direction": 1, "plane": 2}[removal]
    found = [holds(f"every head captures {least} of its plane", bool(np.all(counts == least)))]
    if removal == "plane":
        outside = [m @ f.T - f.T @ (f @ m @ f.T) for f in frames]
        far = max(float(np.linalg.norm(part, 2)) for part in outside)
        found.append(at_most("largest part of M_a u outside the plane of a head", far, 0.0, tolerance=1e-9))
    return tuple(found)


def _distance(levels: np.ndarray, values: np.ndarray) -> float:
    """Return the largest difference of two sequences, infinite if they differ in length."""
    return float(np.max(np.abs(levels - values))) if len(levels) == len(values) else np.inf


@claim(
    "growing/experiment-1-order",
    num_trials=4,
    note=f"{READING}, and a head takes a plane with it whether it captures a direction or a plane; 11 heads without a "
    "cap. With the readings `data` and `tokens` the levels never increase either, but they are not the eigenvalues of "
    "M_a; a random first head has no level",
)
def heads_are_added_in_decreasing_order(key: Key) -> Trial:
    r"""For M_a with the pairs \lambda_k = 2 (.7)^{k-1} heads have \lambda^{(h)} = \lambda_h, in decreasing order."""
    return _order_trial(key, spectrum(SETTING))


@heads_are_added_in_decreasing_order.with_control
def heads_are_added_in_decreasing_order(key: Key) -> Trial:
    """The second pair as large as the first."""
    values = spectrum(SETTING)
    values[1] = values[0]
    trial = _order_trial(key, values)
    return replace(trial, conclusions=trial.conclusions[:1])


def _rational_spectrum() -> list[Fraction]:
    """Return the printed pairs, 2 (7/10)^(k-1) for k from 1 to 32, as fractions."""
    return [Fraction(2) * Fraction(7, 10) ** k for k in range(SETTING.dimension // 2)]


def _exact_levels(flow: GrowingFlow) -> tuple[list[Fraction], Measurement]:
    """Return the first pairs, as many as there are levels, as fractions, and that the levels are these numbers."""
    levels = _levels(flow)
    exact = _rational_spectrum()[: len(levels)]
    far = _distance(levels, np.array([float(value) for value in exact]))
    return exact, equal("distance of the levels from the fractions", far, 0.0, tolerance=1e-12 * SETTING.largest)


@certified(
    "growing/experiment-1-coverage",
    num_trials=4,
    note=f"{READING}, |M_a|_F^2 = 2 sum lambda_k^2 = 15.69; 11 heads cover .417, all 32 pairs .425; with every "
    "eigenvalue counted once in |M_a|_F^2 they cover .833 and .850. The printed .899 is 1 - 8 theta_w / |M_a|_F with "
    "|M_a|_F = 3.961 not squared and 8 heads, the capacity of Experiment 2; by the printed formula it is .965 for 11 "
    "heads, .974 for 8",
)
def coverage_reaches_the_printed_bound(key: Key) -> Trial:
    r"""In Experiment 1, \sum_h \lambda^{(h)} / |M_a|_F^2 >= 1 - \varepsilon = .899."""
    capacity = (UNCAPPED, 8)[int(numpy_rng(key, "capacity").integers(2))]
    flow = _grown(key, spectrum(SETTING), capacity, _choices(key))
    exact, agree = _exact_levels(flow)
    square = 2 * sum(value**2 for value in _rational_spectrum())
    shipped = coverages(_levels(flow), spectrum(SETTING))["as printed"]
    covered = sum(exact) / square
    return Trial(
        hypotheses=(*_as_drawn(flow, spectrum(SETTING)), agree, _same("coverage", shipped, float(covered))),
        conclusions=(at_least("coverage", covered, PRINTED_COVERAGE, tolerance=0.0),),
        witness={"lambda_1": "2", "rho": "7/10", "pairs": str(SETTING.dimension // 2), "heads": str(len(exact))},
        parameters={"heads": len(exact)},
    )


def _same(what: str, found: float, expected: float) -> Measurement:
    return equal(f"{what} in floating point", found, expected, tolerance=ROUNDING)


def _squares_trial(key: Key, weight: int) -> Trial:
    """Measure the coverage by `weight` lambda^2 for each head against the bound from the rank of the residual."""
    choices = _choices(key)
    capacity = (UNCAPPED, 8)[int(numpy_rng(key, "capacity").integers(2))]
    values = spectrum(SETTING)
    flow = _grown(key, values, capacity, choices)
    levels, d = _levels(flow), SETTING.dimension
    square, left = 2 * np.sum(values**2), float(np.sum(np.asarray(flow.residual) ** 2))
    covered = coverages(levels, values)[f"{weight} lambda^2" if weight > 1 else "lambda^2"]
    largest = dominant_value(np.asarray(flow.residual))
    least = 1 - (d - 2 * len(levels)) * largest**2 / square
    return Trial(
        hypotheses=_as_drawn(flow, values),
        conclusions=(
            equal("coverage + |A_res|_F^2 / |M_a|_F^2", covered + left / square, 1.0, tolerance=ROUNDING),
            _same("share of the energy that ships", energy_coverage(flow.interaction, levels) * weight / 2, covered),
            at_least("coverage", covered, least, tolerance=ROUNDING),
            at_least("coverage", covered, float(PRINTED_COVERAGE), tolerance=ROUNDING, within=(0.0, 1.0)),
            *_by_threshold(flow, covered, 1 - (d - 2 * len(levels)) * SETTING.threshold**2 / square),
        ),
        witness={"levels": levels, "coverage": covered},
        parameters={"heads": len(levels), "law": choices.law, "first": choices.first, "removal": choices.removal},
    )


def _by_threshold(flow: GrowingFlow, covered: float, least: float) -> tuple[Measurement, ...]:
    """Measure the bound by theta_w where it, and not the capacity, has ended the growth."""
    if bool(np.all(np.asarray(flow.active))):
        return ()
    return (at_least("coverage against the bound by theta_w", covered, least, tolerance=ROUNDING),)


squares_of_two_for_each_plane_reach_the_bound = claim(
    "growing/experiment-1-coverage/corrected",
    statement=r"""\sum_h 2 (\lambda^{(h)})^2 / |M_a|_F^2 >= .899, with equality to 1 - |A_res|_F^2 / |M_a|_F^2.

    Changed: squares, and two of them for each head, since it takes a plane; with r = d - 2K directions left and
    growth ended by theta_w, the coverage is at least 1 - r theta_w^2 / |M_a|_F^2.
    """,
    trial=partial(_squares_trial, weight=2),
    control=partial(_squares_trial, weight=1),  # One square for each head.
    num_trials=4,
    note=f"{READING}; 11 heads cover .9996, 8 heads .9967",
)
