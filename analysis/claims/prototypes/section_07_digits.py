"""Claims of Section 7.6 on MNIST at several ratios of learning rates, from the record of the experiment."""

import numpy as np

from analysis.experiments import Record, best_record
from analysis.experiments.prototypes.learning_rates import LEARNING_RATES, separation_ratios
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most
from dynsim._core.types import Key

COMMAND = "dynsim experiment prototypes/learning-rates --size paper"
EPOCHS, SEEDS = 300, 5
STABLE = (0.001, 0.01, 0.1)  # the ratios of the "stable regime"
WINDOW = 50  # epochs
COLLAPSED = 0.1  # of S at the start: "near zero", generously
NOTE = (
    "on 8,000 of the test images; eta_P is not printed and is that of Section 7.2; the record shows other choices; a "
    "quick record has too few epochs and seeds"
)


def _trained(record: Record, names: tuple[str, ...]) -> tuple[Measurement, ...]:
    """Measure the numbers of epochs and seeds, and that the clusters at the start know of the digits."""
    of = lambda what: [record.arrays[f"{name}: {what}"] for name in names]
    ahead = min(np.min(s[:, :, 0, 0] - c[..., 2]) for s, c in zip(of("scores"), of("chance"), strict=True))
    return (
        at_least("number of epochs", min(S.shape[2] for S in of("S")) - 1, EPOCHS, tolerance=0.0),
        at_least("number of seeds", min(S.shape[1] for S in of("S")), SEEDS, tolerance=0.0),
        at_least("accuracy at the start, above the chance band", ahead, 0.0, tolerance=ROUNDING),
    )


def _sizes(record: Record) -> dict[str, str | int]:
    return {"size": record.size, "images": int(record.arrays["full: tables"][0, 0].sum())}


def _growth_trial(names: tuple[str, ...]) -> Trial:
    """Measure the least change of S in an epoch over S at the start, over seeds, at the ratios of the stable regime."""
    record = best_record(LEARNING_RATES)
    least, falls = {}, {}
    for name in names:
        ratios, S = record.arrays[f"{name}: eps"], record.arrays[f"{name}: S"]
        change = np.diff(S, axis=2)[np.isin(ratios, STABLE)]
        least[name] = np.min(change / S[np.isin(ratios, STABLE)][:, :, :1])
        falls[name] = np.mean(change < 0, axis=(1, 2))
    return Trial(
        hypotheses=_trained(record, names),
        conclusions=tuple(
            at_least(f"least change of S in an epoch over S at the start ({name})", one, 0.0, tolerance=ROUNDING)
            for name, one in least.items()
        ),
        witness={"size": record.size, "least change": least, "fraction of epochs in which S falls, by eps": falls},
        parameters=_sizes(record),
    )


separation_grows = claim(
    "prototypes/experiment-7.6-monotone",
    statement="On MNIST S(P) grows monotonically for eps <= .1.",
    trial=lambda key: _growth_trial(("full", "frozen")),
    num_trials=1,
    decided_by=COMMAND,
    note=f"full batches, both modes; {NOTE}; no control: it is refuted, and no case passes, since a linear "
    "encoder shrinks the scatter within clusters at every ratio, and S with it, in nearly all epochs and for every "
    "choice in the record",
)


def _collapse_trial(names: tuple[str, ...], ratios: tuple[float, ...], *, trained: bool = True) -> Trial:
    """Measure the largest S over seeds after 50 epochs over S at the start, at some ratios of the rates."""
    record = best_record(LEARNING_RATES)
    left = {}
    for name in names:
        at = np.isin(record.arrays[f"{name}: eps"], ratios)
        left[name] = separation_ratios(record.arrays, name, epoch=WINDOW)[at]
    return Trial(
        hypotheses=_trained(record, names) if trained else _trained(record, names)[2:],
        conclusions=tuple(
            at_most(
                f"largest S after {WINDOW} epochs over S at the start ({name})",
                np.max(found),
                COLLAPSED,
                tolerance=ROUNDING,
            )
            for name, found in left.items()
        ),
        witness={"size": record.size, "S over S at the start, by eps and seed": left},
        parameters=_sizes(record),
    )


separation_collapses_at_equal_rates = claim(
    "prototypes/experiment-7.6-collapse",
    statement="On MNIST with eps = 1 S(P) collapses to near zero within the first 50 epochs.",
    trial=lambda key: _collapse_trial(("full", "frozen"), (1.0,)),
    num_trials=1,
    decided_by=COMMAND,
    note=f"read: to a tenth of its start; full batches, both modes; {NOTE}; no control: the same measurement passes in "
    "`batches`, where a step on each of 31 batches makes an epoch 31 times as long",
)


separation_collapses_in_batches = claim(
    "prototypes/experiment-7.6-collapse/batches",
    statement="With batches and frozen assignments S(P) collapses within 50 epochs at eps = 1, and also at eps = .1.",
    trial=lambda key: _collapse_trial(("frozen, batches",), (0.1, 1.0)),
    control=lambda key: _collapse_trial(("frozen",), (0.1, 1.0), trained=False),  # One step an epoch, on all images.
    variant="corrected",
    num_trials=1,
    decided_by=COMMAND,
    note=f"read: to a tenth of its start; adds batches of 256 images and the mode frozen, and that eps = .1, of the "
    f"regime that the paper calls stable, does the same; in the mode full some seeds keep more; {NOTE}",
)


@claim(
    "prototypes/experiment-7.6-collapse/encoder-time",
    variant="reading",
    num_trials=1,
    decided_by=COMMAND,
    note="read: because of the ratio, in batches of 256 at T = .3, after the encoder's time of two epochs at eps = 1; "
    f"both modes; {NOTE}; no control: it is refuted by every seed, and no repaired case is sought",
)
def separation_is_smaller_at_equal_rates(key: Key) -> Trial:
    """Read: for its ratio. After the same encoder's time eps t, S(P) is smaller at eps = 1 than at eps = .1."""
    record = best_record(LEARNING_RATES)
    found = {}
    for mode in ("full", "frozen"):
        name = f"{mode}, equal encoder time"
        ratios, S = record.arrays[f"{name}: eps"], record.arrays[f"{name}: S"][:, :, -1]
        found[mode] = S[np.isin(ratios, 1.0)][0] / S[np.isin(ratios, 0.1)][0]
    return Trial(
        hypotheses=_trained(record, ("full", "frozen")),
        conclusions=tuple(
            at_most(f"least S at eps = 1 over S at eps = .1 ({mode})", np.min(one), 1.0, tolerance=ROUNDING)
            for mode, one in found.items()
        ),
        witness={"size": record.size, "S at eps = 1 over S at eps = .1, by seed": found},
        parameters=_sizes(record),
    )
