"""State the size of the run behind a figure, if it is not the paper's size."""

import matplotlib.figure
import numpy as np

from analysis.experiments import Record
from figures.figure import Numbers


def run_size(found: Record, *counts: tuple[int, str]) -> Numbers:
    """Text `run` of a figure's data: the counts of a `quick` run, or nothing for a run of the paper's size.

    Args:
        found: the record from which the figure is drawn.
        counts: counts from the record or its configuration, each with its noun in the plural.
    """
    parts = ", ".join(f"{count} {noun}" for count, noun in counts)
    return {"run": np.array("" if found.size == "paper" else f"quick run: {parts}; not the paper's size")}


def write_run_size(drawn: matplotlib.figure.Figure, data: Numbers) -> None:
    """Write the text `run` of a figure's data below its panels, unless it is empty."""
    if str(data["run"]):
        drawn.supxlabel(str(data["run"]), x=0.99, ha="right", fontsize=6.0, fontstyle="italic")
