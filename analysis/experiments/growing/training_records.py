"""Read records of the trainings of GROWING, Section 7.5: names, growth events, and a summary as text."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analysis.experiments import Arrays, names_in

READINGS = ("features", "data")
"""Readings of the residual whose dominant values are in a record, in their order there."""


class Events(NamedTuple):
    """Heads added after the start, in order: the number of steps before, and the dominant value."""

    steps: np.ndarray
    values: np.ndarray


def events(arrays: Arrays, name: str, row: int) -> Events:
    """List the heads that the training of a variant with the seed of number `row` added, from a record."""
    births, values = (arrays[f"{name}: {what}"][row] for what in ("births", "values"))
    new = [
        (births[k, place], values[k, place])
        for k in range(1, len(births))
        for place in np.flatnonzero(births[k] != births[k - 1])
    ]
    return Events(np.array([one[0] for one in new]), np.array([one[1] for one in new]))


def summarise_training(arrays: Arrays) -> str:
    """Format accuracies, heads, dominant values at growth and separations of every variant."""
    return "\n".join(line for name in names_in(arrays, "accuracy") for line in _summary(name, arrays))


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    of = lambda what: arrays[f"{name}: {what}"]
    last, sizes = 100 * of("accuracy")[:, -1], of("sentences")
    spread = f"{np.mean(last):.1f} +- {np.std(last):.1f} %"
    yield f"{name}: accuracy {spread} of {sizes[1]} sentences (a constant answer: {100 * float(of('share')):.1f} %)"
    for row in range(len(last)):
        heads, values = of("active")[row, -1], events(arrays, name, row).values
        grown = ", ".join(f"{value:.3f}" for value in values) or "none"
        final = ", ".join(f"{kind} {value:.3f}" for kind, value in zip(READINGS, of("residuals")[row, -1], strict=True))
        yield f"  {int(np.sum(heads))} heads; dominant values at growth {grown}; at the end {final}"
        yield f"  S {_numbers(of('separation')[row, -1][heads])}; F_sep {_numbers(of('forces')[row, -1][heads])}"


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
