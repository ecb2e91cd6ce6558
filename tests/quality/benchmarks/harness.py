"""Contenders in one process, in turns; medians, ratios of medians, and what the answers differ by."""

import gc
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

LEAST = 0.05  # seconds of a contender in a round


class Contender(NamedTuple):
    """A way to the answer, and the least ratio to the first contender's time that is aimed at; 0 aims at none."""

    name: str
    run: Callable[[], Any]
    aim: float = 0.0
    against: str = ""


class Row(NamedTuple):
    """A contender's median time, and the error of its answer."""

    name: str
    seconds: float
    spread: float
    error: float
    ratio: float
    aim: float
    against: str


def race(
    title: str,
    contenders: Sequence[Contender],
    error: Callable[[Any], float],
    *,
    rounds: int,
    warm: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Row]:
    """Run every contender once for warmth and then `rounds` times in turns; print the table and return its rows.

    In a round each runs for at least `LEAST` seconds: a short answer is computed several times over, as by `timeit`.
    """
    times: dict[str, list[float]] = {c.name: [] for c in contenders}
    errors: dict[str, float] = {}
    if warm:
        for c in contenders:
            print(f"  warming {c.name} ...", file=sys.stderr, flush=True)
            errors[c.name] = error(c.run())
    for _ in range(rounds):
        for c in contenders:
            gc.collect()
            begin, runs, answer = clock(), 0, None
            while not runs or clock() - begin < LEAST:
                answer, runs = jax.block_until_ready(c.run()), runs + 1
            times[c.name].append((clock() - begin) / runs)
            errors.setdefault(c.name, error(answer))
    medians = {name: statistics.median(values) for name, values in times.items()}
    rows = []
    for c in contenders:
        against = c.against or contenders[0].name
        spread = (max(times[c.name]) - min(times[c.name])) / medians[c.name]
        ratio = medians[against] / medians[c.name]
        rows.append(Row(c.name, medians[c.name], spread, errors[c.name], ratio, c.aim, against))
    show(title, rows)
    return rows


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table."""
    print(f"\n{title}")
    print(f"{'':44s} {'median':>10s} {'spread':>7s} {'error':>9s}  speed-up (aim)")
    for row in rows:
        aim = f"  (aim {row.aim:g})" if row.aim else ""
        of = f"{row.ratio:6.2f} x {row.against}{aim}" if row.name != row.against else ""
        print(f"{row.name:44s} {row.seconds:9.3f}s {row.spread:6.0%} {row.error:9.1e}  {of}", flush=True)


def machine() -> str:
    """Return one line on where this runs."""
    names = ("jax", "diffrax", "numpy", "scipy")
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    device = jax.devices()[0].device_kind
    return (
        f"{model or platform.machine()}, {cores} cores, JAX on {device}; Python {platform.python_version()}, {packages}"
    )


def in_fresh_process(source: str) -> str:
    """Run a script in a new interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def start_to_end(sources: dict[str, str], *, rounds: int) -> dict[str, float]:
    """Return the median wall time of scripts from process start to exit, run in turns."""
    times: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(rounds + 1):  # the first round fills the file cache
        for name, source in sources.items():
            begin = time.perf_counter()
            in_fresh_process(source)
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def largest_gap(reference: np.ndarray) -> Callable[[Any], float]:
    """Return a function: the largest difference of an answer's first part from `reference`, as far as both go."""

    def gap(answer: Any) -> float:
        members = min(len(answer[0]), len(reference))
        return float(np.max(np.abs(np.asarray(answer[0])[:members] - reference[:members])))

    return gap
