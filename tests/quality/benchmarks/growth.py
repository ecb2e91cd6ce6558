"""Exponents of CPU time and memory in n, d, members, T, 1/tolerance and 1/eps, fitted with their errors and drawn."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike

from dynsim.errors import ArgumentError
from figures.style import PAGE, SERIES, canvas, settings
from tests.quality.benchmarks.growth_cases import Case, Way, cases
from tests.quality.benchmarks.power_laws import PowerLaw, power_laws

LEAST = 0.05  # CPU seconds of a way in a round


class Grown(NamedTuple):
    """What a way takes at each value of a parameter, with its power laws, and how far it is off the peer's answer.

    `seconds` are CPU seconds, those of all threads; `sizes` are bytes, empty where they are not known. `gap` is the
    largest difference of the answers at one value, relative to the largest number of the peer's.
    """

    symbol: str
    title: str
    way: str
    values: tuple[float, ...]
    seconds: tuple[float, ...]
    sizes: tuple[int, ...]
    gap: float
    time: PowerLaw
    memory: PowerLaw | None


def power_law(values: ArrayLike, results: ArrayLike) -> PowerLaw:
    """Return the line of least squares on log scales, with the standard error of its slope.

    Raises:
        ValueError: for fewer than three values, all equal ones, or numbers that are not positive and finite.
    """
    x, y = np.asarray(values, float), np.asarray(results, float)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 3:
        raise ArgumentError("results", "have one entry for each of at least three values", f"has shape {y.shape}")
    if not all(np.all((a > 0) & np.isfinite(a)) for a in (x, y)):
        raise ArgumentError("results", "be positive and finite, as must the values", "are not")
    u, v = np.log(x) - np.mean(np.log(x)), np.log(y)
    if not np.any(u):
        raise ArgumentError("values", "differ", "are all equal")
    slope = u @ v / (u @ u)
    residual = v - np.mean(v) - slope * u
    error = np.sqrt(residual @ residual / (len(x) - 2) / (u @ u))
    return PowerLaw(float(slope), float(error), float(np.exp(np.mean(v) - slope * np.mean(np.log(x)))))


def cpu_seconds(run: Callable[[], Any], rounds: int) -> float:
    """Return the median CPU time of a call, once warm; in a round it is repeated for at least `LEAST` seconds."""
    run()
    found = []
    for _ in range(rounds):
        begin, runs = time.process_time(), 0
        while not runs or time.process_time() - begin < LEAST:
            run()
            runs += 1
        found.append((time.process_time() - begin) / runs)
    return statistics.median(found)


def grown(case: Case, rounds: int) -> Iterator[Grown]:
    """Yield the growth of every way of a case."""
    at = case.values[case.compared]
    reference = case.ways[0].work(at).run()
    for way in case.ways:
        found = [_measured(way, value, rounds) for value in case.values]
        answer = way.work(at).run()
        gap = float(np.max(np.abs(answer - reference)) / np.max(np.abs(reference)))
        seconds, sizes = tuple(s for s, _ in found), tuple(size for _, size in found if size is not None)
        memory = power_law(case.values, sizes) if sizes else None
        law = power_law(case.values, seconds)
        yield Grown(case.symbol, case.title, way.name, tuple(case.values), seconds, sizes, gap, law, memory)


def _measured(way: Way, value: float, rounds: int) -> tuple[float, int | None]:
    work = way.work(value)
    return cpu_seconds(work.run, rounds), None if work.size is None else work.size()


def show(case: Case, rows: Sequence[Grown]) -> None:
    """Print a table of a case."""
    print(f"\n{case.title}: {case.symbol} from {case.values[0]:g} to {case.values[-1]:g}")
    print(f"{'':20s} {'CPU seconds':>22s} {'exponent':>14s} {'megabytes':>18s} {'exponent':>14s} {'gap':>8s}")
    for row in rows:
        size = f"{row.sizes[0] / 1e6:8.3g} to {row.sizes[-1] / 1e6:.3g}" if row.sizes else "-"
        law = _text(row.memory) if row.memory else "-"
        span = f"{row.seconds[0]:9.2g} to {row.seconds[-1]:.2g}"
        print(f"{row.way:20s} {span:>22s} {_text(row.time):>14s} {size:>18s} {law:>14s} {row.gap:8.0e}", flush=True)


def _text(law: PowerLaw) -> str:
    return f"{law.exponent:z.2f} +- {law.error:.2f}"


def drawn(rows: Sequence[Grown]) -> matplotlib.figure.Figure:
    """Return the figure: time against every parameter, then memory, on log scales, with lines and exponents."""
    panels = [[row for row in rows if row.symbol == symbol] for symbol in dict.fromkeys(row.symbol for row in rows)]
    roles = {(row.symbol, row.way): (SERIES[k % len(SERIES)], k) for own in panels for k, row in enumerate(own)}
    drawings: list[tuple[list[Grown], list[Any], list[PowerLaw], str]]
    drawings = [(own, [row.seconds for row in own], [row.time for row in own], "CPU seconds") for own in panels]
    for kept in filter(None, ([row for row in own if row.memory is not None] for own in panels)):
        laws = [row.memory._replace(factor=row.memory.factor / 1e6) for row in kept if row.memory is not None]
        drawings.append((kept, [np.asarray(row.sizes) / 1e6 for row in kept], laws, "megabytes"))
    columns = min(3, len(drawings))
    lines = -(-len(drawings) // columns)
    with settings():
        figure, axes = canvas(PAGE, 0.31 * lines, rows=lines, columns=columns)
        for ax, (own, data, laws, label) in zip(axes, drawings, strict=False):
            power_laws(ax, own[0].values, data, laws, names=[row.way for row in own], xlabel=_letter(own[0].symbol),
                       roles=[roles[row.symbol, row.way] for row in own], ylabel=label)  # fmt: skip
        for ax in axes[len(drawings) :]:
            ax.set_axis_off()
    return figure


def _letter(symbol: str) -> str:
    return {"1/eps": r"$1 / \varepsilon$"}.get(symbol, f"${symbol}$" if len(symbol) == 1 else symbol)


def everything(rounds: int, *, quick: bool = False, figure: Path | None = None) -> list[dict[str, Any]]:
    """Measure, print and draw all cases; return the rows of the tables."""
    rows: list[Grown] = []
    for case in cases(quick=quick):
        with threadpoolctl.threadpool_limits(1):  # threads that wait would count as CPU time
            own = list(grown(case, rounds))
        show(case, own)
        rows += own
    if figure is not None:
        figure.parent.mkdir(parents=True, exist_ok=True)
        with settings():
            drawn(rows).savefig(figure)
        print(f"\nwrote {figure}")
    laws = lambda row: {"time": row.time._asdict(), "memory": row.memory and row.memory._asdict()}
    return [row._asdict() | laws(row) for row in rows]
