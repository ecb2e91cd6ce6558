"""Claims of Section 7.2 on synthetic orbital debris: what prototypes add to k-means, and where their errors are."""

import numpy as np
from scipy.stats import t

from analysis.experiments import Record, best_record
from analysis.experiments.prototypes.debris import (
    BASELINES,
    DEBRIS,
    MODES,
    Descent,
    best_epoch,
    debris_outcome,
    error_share,
)
from analysis.experiments.prototypes.orbits import FEATURES, REGIMES, Catalogue, CrossSection, Objects, draw_objects
from analysis.experiments.prototypes.scores import scores
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, at_least, at_most
from dynsim._core.types import Key
from dynsim.keys import numpy_rng

PRINTED_GAIN = 0.772 - 0.756  # of the accuracy, Table 3
SCORES = ("accuracy", "mutual information", "Rand index")
SEEDS = 5
EPOCHS = 500  # as printed
COMMAND = "dynsim experiment prototypes/debris --size paper"
NOTE = (
    "on objects drawn here: LEO has an inclination near that of MEO, with which k-means has the scores of Table 3; the "
    "record shows each other choice; a quick record has too few seeds"
)


def _hypotheses(record: Record) -> tuple[Measurement, ...]:
    """Measure the numbers of seeds and epochs, and that k-means has the accuracy of Table 3, on features and in PCA."""
    accuracy = record.arrays["reference: full: scores"][..., 0]
    baselines = [np.mean(record.arrays[f"reference: {name}: scores"][:, 0]) for name in BASELINES]
    return (
        at_least("number of seeds", accuracy.shape[0], SEEDS, tolerance=0.0),
        at_least("number of epochs", accuracy.shape[1] - 1, EPOCHS, tolerance=0.0),
        *(
            at_most(f"error of the accuracy of {name}", abs(found - 0.756), 0.01, tolerance=0.0)
            for name, found in zip(BASELINES, baselines, strict=True)
        ),
    )


def _gains(record: Record, mode: str, *, best: bool) -> dict[str, np.ndarray]:
    """Return by baseline the scores at the best or the last epoch less those of k-means, (seeds, 3)."""
    scores = record.arrays[f"reference: {mode}: scores"]
    epochs = best_epoch(scores) if best else np.full(len(scores), scores.shape[1] - 1)
    found = scores[np.arange(len(scores)), epochs]
    return {name: found - record.arrays[f"reference: {name}: scores"] for name in BASELINES}


def _margin(gains: np.ndarray) -> float:
    """Return the half width of the 95% confidence interval of the mean (Student's t)."""
    return float(t.ppf(0.975, len(gains) - 1) * np.std(gains, ddof=1) / np.sqrt(len(gains)))


def _improvement_trial(
    bounds: tuple[float, ...],
    *,
    best: bool,
    clear: bool = False,
    seeds: bool = True,
    baselines: tuple[str, ...] = BASELINES,
) -> Trial:
    """Compare the mean gains over k-means with bounds, of the accuracy first, in both modes.

    With `clear` they are above them by the 95% margin, which else is the tolerance. `seeds=False` takes any record.
    """
    record = best_record(DEBRIS)
    gains = {f"{mode}, less {name}": _gains(record, mode, best=best)[name] for mode in MODES for name in baselines}
    conclusions = []
    for case, found in gains.items():
        for score, bound, values in zip(SCORES, bounds, found.T, strict=False):
            mean, margin = float(np.mean(values)), _margin(values)
            conclusions.append(
                at_least(f"mean gain of the {score} less its 95% margin ({case})", mean - margin, bound, tolerance=0.0)
                if clear
                else at_least(f"mean gain of the {score} ({case})", mean, bound, tolerance=margin)
            )
    return Trial(
        hypotheses=_hypotheses(record) if seeds else (_hypotheses(record)[1],),
        conclusions=tuple(conclusions),
        witness={"size": record.size, **{f"gains ({case})": found for case, found in gains.items()}},
        parameters={"size": record.size, "seeds": len(next(iter(gains.values()))), "epochs": EPOCHS},
    )


prototypes_improve_on_k_means = claim(
    "prototypes/experiment-7.2-improvement",
    statement="At its best epoch DDCL-Attention improves on the accuracy, the mutual information and the Rand index "
    "of k-means on the debris data.",
    trial=lambda key: _improvement_trial((PRINTED_GAIN / 2, 0.0, 0.0), best=True),
    num_trials=1,
    decided_by=COMMAND,
    note="as in Table 3, at the epoch of the best accuracy, which is chosen with the labels, the start left out; read: "
    "by half of the printed gain of .016 at least, in the mean over seeds, over both k-means, and with a mutual "
    f"information and a Rand index that are not less; both modes; {NOTE}; no control: a gain over the start passes, "
    "see `over-its-start`",
)


prototypes_improve_at_the_last_epoch = claim(
    "prototypes/experiment-7.2-improvement/last-epoch",
    statement="After its last epoch DDCL-Attention improves on the accuracy of both k-means on the debris data.",
    trial=lambda key: _improvement_trial((PRINTED_GAIN / 2,), best=False),
    variant="reading",
    num_trials=1,
    decided_by=COMMAND,
    note="read: after the last epoch, for which no label is needed, by half of the printed gain of .016 at least; both "
    f"modes; {NOTE}; no control: as for the best epoch",
)


prototypes_improve_by_any_amount = claim(
    "prototypes/experiment-7.2-improvement/any-gain",
    statement="The epoch of the highest accuracy, chosen with the labels, is significantly more accurate than both "
    "k-means.",
    trial=lambda key: _improvement_trial((0.0,), best=True, clear=True),
    variant="reading",
    num_trials=1,
    decided_by=COMMAND,
    note="read: at the best epoch, as in Table 3, by any amount that is significant, over both k-means; both modes; "
    f"{NOTE}; no control: as for the best epoch",
)


@claim(
    "prototypes/experiment-7.2-improvement/over-its-start",
    variant="special case",
    num_trials=1,
    decided_by=COMMAND,
    note="changed: by any amount, over the k-means on principal components alone, from which the prototypes start; "
    "nearly trivial, since the best of 500 values that fluctuate around the start is above it by chance; both modes; "
    f"{NOTE}",
)
def prototypes_improve_on_their_start(key: Key) -> Trial:
    """The epoch of the highest accuracy, chosen with the labels, has a higher mean accuracy than the start."""
    return _improvement_trial((0.0,), best=True, clear=True, baselines=BASELINES[1:])


@prototypes_improve_on_their_start.with_control
def prototypes_improve_on_their_start(key: Key) -> Trial:
    """By the printed gain of .016."""
    return _improvement_trial((PRINTED_GAIN,), best=True, clear=True, seeds=False, baselines=BASELINES[1:])


OBJECTS = 100  # of each regime
MOST = 0.95  # of the errors, where they are "concentrated"
RESIDUAL = 0.05  # of all objects, at least in error where there is a "residual error"
GENUINE = 0.01  # of the objects of two regimes, in error by any rule if they are ambiguous
OPTIONS = Descent(epochs=200, time_constant=48.0)  # the annealing of 500 epochs and tau = 120, faster


def _wrong_side(objects: Objects, feature: str, first: str, second: str) -> float:
    """Return the fraction of two regimes' objects on the wrong side of the midpoint of their means of a feature."""
    column = objects.features[:, FEATURES.index(feature)]
    low, high = sorted((column[objects.labels == REGIMES.index(name)] for name in (first, second)), key=np.mean)
    middle = (np.mean(low) + np.mean(high)) / 2
    return float((np.sum(low >= middle) + np.sum(high < middle)) / (len(low) + len(high)))


def _drawn(key: Key, sections: tuple[CrossSection, ...] = ("uniform", "log-normal")) -> Objects:
    """Draw objects whose LEO has an inclination within 5 degrees of that of MEO; neither is printed."""
    rng = numpy_rng(key, "catalogue")
    meo = rng.uniform(45, 65)
    inclinations = (meo + rng.uniform(-5, 5), meo, 0.0, 63.4)
    section = sections[int(rng.integers(len(sections)))]
    return draw_objects(key, Catalogue(OBJECTS, inclinations=inclinations, cross_section=section))


def _error_trial(key: Key, objects: Objects, pair: tuple[str, str], feature: str, *, genuine: bool) -> Trial:
    """Measure in both modes the share of errors between a pair of regimes, and whether one feature separates them."""
    outcome = debris_outcome(key, objects, OPTIONS)
    tables = [np.asarray(found.tables)[-1] for found in outcome.descents]
    shares = [error_share(table, *pair) if _errors(table) > 0 else 0.0 for table in tables]
    wrong = _wrong_side(objects, feature, *pair)
    what = f"fraction of both regimes on the wrong side of the middle of {feature}"
    overlap = (
        at_least(what, wrong, GENUINE, tolerance=0.0, within=(0.0, 1.0))
        if genuine
        else at_most(what, wrong, GENUINE, tolerance=0.0, within=(0.0, 1.0))
    )
    return Trial(
        hypotheses=(at_most("largest deviation drawn", np.max(objects.deviations), 0.04, tolerance=0.0),),
        conclusions=(
            at_least("least fraction of objects in error", min(map(_errors, tables)), RESIDUAL, tolerance=0.0),
            at_least(f"share of errors between {' and '.join(pair)}", min(shares), MOST, tolerance=0.0, within=(0, 1)),
            overlap,
            *_as_printed(objects),
        ),
        witness={"tables": tables, "shares": shares, f"wrong side of {feature}": wrong},
        parameters={"objects": len(objects.labels)},
    )


def _errors(table: np.ndarray) -> float:
    return 1 - float(scores(table)[0])


def _as_printed(objects: Objects) -> tuple[Measurement, ...]:
    """Measure that the features of GEO and HEO, whose elements are printed, have the means of (18), and the noise."""
    worst = 0.0
    for name, axis, e, degrees in (("GEO", 42_164, 0.0, 0.0), ("HEO", 26_560, 0.74, 63.4)):
        rows = objects.features[objects.labels == REGIMES.index(name)]
        i, days = np.radians(degrees), (axis / 42_164) ** 1.5
        means = np.array([axis / 42_164, e, np.sin(i), np.cos(i), days])
        found = rows[:, [0, 1, 2, 3, 6]]
        errors = np.std(found, axis=0, ddof=1) / np.sqrt(len(rows))
        worst = max(worst, float(np.max(np.abs(found.mean(axis=0) - means) / errors)))
    column = objects.features[:, FEATURES.index("e")]
    noise = np.array([np.std(column[objects.labels == k], ddof=1) for k in range(len(REGIMES))])
    return (
        at_most("largest deviation of a mean feature from (18), in standard errors", worst, 6.0, tolerance=0.0),
        at_least("least deviation of the noise", np.min(noise), 0.02 * 0.7, tolerance=0.0),
        at_most("largest deviation of the noise", np.max(noise), 0.04 * 1.3, tolerance=0.0),
    )


errors_are_between_leo_and_heo = claim(
    "prototypes/experiment-7.2-boundary",
    statement="The residual classification error is concentrated at the LEO/HEO boundary, a genuine ambiguity of the "
    "orbits.",
    trial=lambda key: _error_trial(key, _drawn(key), ("LEO", "HEO"), "e", genuine=True),
    num_trials=4,
    note=f"read: at least {MOST:.0%} of the errors are between LEO and HEO, and no rule on the seven features errs on "
    f"less than {GENUINE:.0%} of their objects; the rule e < .37 errs on none, nine deviations of the noise away, "
    "whatever else is left open; both modes; no control: the pair in error passes, see `corrected`",
)


errors_are_between_leo_and_meo = claim(
    "prototypes/experiment-7.2-boundary/corrected",
    statement="The residual error is concentrated in LEO and MEO of similar inclinations; the semi-major axis "
    "separates them.",
    trial=lambda key: _error_trial(key, _drawn(key, ("uniform",)), ("LEO", "MEO"), "a / a_max", genuine=False),
    # The right ascension of the node separates them.
    control=lambda key: _error_trial(key, _drawn(key, ("uniform",)), ("LEO", "MEO"), "sin Omega", genuine=False),
    num_trials=4,
    note="another pair, and no ambiguity: the prototypes cut two regimes of similar inclination across the node and "
    "the cross-section, which have a larger variance, while the semi-major axis separates them; with uniform "
    "cross-sections (a prototype may go to a few log-normal ones instead); both modes",
)
