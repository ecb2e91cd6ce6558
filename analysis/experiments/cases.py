"""Run a reference and changes of its choices, each with several seeds, of which the finished ones are kept."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dynsim._core.types import Key
from dynsim._runtime.progress import progress
from dynsim.io.checkpoints import Checkpoints


def outcomes_of_cases(
    config: Any, key: Key, folder: Path, *, title: str, empty: Any, measure: Callable[[Key, Any], Any]
) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield the reference and every change with the outcome of each seed; a resumed run is the same bit for bit.

    Args:
        config: the reference, with `seeds` and `changes`.
        key: random key.
        folder: place of finished outcomes.
        title: what the bar of progress says.
        empty: an outcome, of which the structure counts.
        measure: computes the outcome of a key and a case.
    """
    cases = (("reference", config), *config.changes)
    with progress(len(cases) * config.seeds, title, unit="runs") as bar:
        for k, (name, case) in enumerate(cases):
            found = []
            for seed in range(config.seeds):
                ours = jax.random.fold_in(key, seed)
                of = json.dumps([asdict(replace(case, seeds=0, changes=())), jax.random.key_data(ours).tolist()])
                parts = Checkpoints(folder / str(k) / str(seed), of, jax.tree.structure(empty))
                if not parts.has(0):
                    parts.save(0, measure(ours, case))
                found.append(jax.tree.map(np.asarray, parts.load(0)))
                bar.update()
            yield name, case, found
