"""Check every claim with many seeds, and look for claims that measure one trial under two ids.

`python -m tests.quality.seeds [PATTERN ...] [--seeds 20] [--trials N] [--jobs 2] [--lines FOLDER]`: nothing may be
broken, every control must come out REFUTED, and a verdict may not depend on the seed. With `--lines` a run that was
interrupted resumes. Claims that read records of experiments take the ones there are, or make quick ones.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import jax

from analysis.claims import claims
from analysis.json_types import plain
from analysis.ledger.claim import Claim
from analysis.ledger.findings import select
from analysis.report import run_checks
from dynsim.integrators import Diffrax

SEEDS = 20
KEYS = (7, 8, 9)  # of the trials that are compared
TRIALS = 2


def faults(chosen: Sequence[Claim], seed: int, verdicts: dict[str, dict[str, int]], **options) -> list[str]:
    """Return what is wrong with the checks of one seed; note the verdict of each claim with the first seed it has."""
    found = []
    for check, line in run_checks(chosen, seed=seed, **options):
        name = f"{check.claim.id}, seed {seed}"
        if line["broken"]:
            found.append(f"{name}: broken ({line['broken']})")
        elif line["control"] not in (None, "REFUTED"):
            found.append(f"{name}: the control is {line['control']}")
        verdicts[check.claim.id].setdefault(line["verdict"], seed)
    return found


def measured_twice(chosen: Sequence[Claim]) -> list[str]:
    """Return the pairs of claims whose trials measure the same numbers for the same keys and do not say so."""
    seen: dict[tuple, Claim] = {}
    found = []
    for claim in chosen:
        if claim.trial is None:
            continue
        try:
            measured = _measured(claim, KEYS[0])
        except Exception as error:  # noqa: BLE001  (it is reported by the checks)
            found.append(f"{claim.id}: broken ({error})")
            continue
        first = seen.setdefault(measured, claim)
        if first is claim or {claim.same_trial_as, first.same_trial_as} & {first.id, claim.id}:
            continue
        # numbers may agree by chance, as exact zeros do
        if all(_measured(claim, key) == _measured(first, key) for key in KEYS[1:]):
            found.append(f"{claim.id} measures the trial of {first.id} and does not say so")
    return found


def _measured(claim: Claim, key: int) -> tuple:
    """Return what a trial of a claim measures, and of what instance."""
    assert claim.trial is not None
    trial = claim.trial(jax.random.key(key), Diffrax())
    return (*((m.what, m.slack) for m in (*trial.hypotheses, *trial.conclusions)), str(plain(dict(trial.witness))))


def main(words: Sequence[str]) -> int:
    """Check the chosen claims with all seeds, print what is wrong, and return 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.seeds", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="ids or keys; all claims by default")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds")
    parser.add_argument("--trials", type=int, default=TRIALS, help="trials of each claim; 0 for the claim's own number")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--lines", type=Path, help="folder of finished checks")
    options = parser.parse_args(words)
    chosen = select(options.patterns, claims())
    verdicts: dict[str, dict[str, int]] = defaultdict(dict)
    wrong = measured_twice(chosen)
    print("\n".join([*wrong, f"{len(chosen)} claims: {len(wrong)} trials under two ids"]), flush=True)
    for seed in range(options.seeds):
        found = faults(
            chosen, seed, verdicts, num_trials=options.trials or None, jobs=options.jobs, folder=options.lines
        )
        wrong += found
        print("\n".join([*found, f"seed {seed}: {len(found)} faults"]), flush=True)
    for id, firsts in verdicts.items():
        if len(firsts) > 1:
            wrong.append(id)
            print(f"{id}: {', '.join(f'{verdict} (seed {seed})' for verdict, seed in firsts.items())}")
    print(f"{options.seeds} seeds, {len(chosen)} claims: {len(wrong)} faults")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
