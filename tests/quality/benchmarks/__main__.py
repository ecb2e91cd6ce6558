"""All races of this machine.

Usage: `python -m tests.quality.benchmarks [--quick] [--only NAME ...] [--json FILE] [--figure FILE]`, or `--gpu
[SECTION ...]` for the table of a GPU, within four minutes.
"""

import argparse
import importlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.quality.benchmarks import continuation, ensemble, gpu, growth, single
from tests.quality.benchmarks.harness import machine

RACES: dict[str, Callable[[Any], Any]] = {
    "single": lambda o: _rows(single.repeated(max(o.rounds, 5)) + single.by_scipy(max(o.rounds, 5))),
    "start": lambda o: _rows(single.from_the_start(max(o.rounds, 3))),
    "identity": lambda o: _rows(ensemble.identity(o.members, o.rounds, o.d)),
    "general": lambda o: _rows(
        ensemble.general(o.members, o.rounds, o.d) + ensemble.general_in_both_types(o.rounds, o.d)
    ),
    "memory": lambda o: ensemble.memory(o.members, o.d),
    "continuation": lambda o: _rows(continuation.thousand_points(o.rounds)),
    "growth": lambda o: growth.everything(o.rounds, quick=o.quick, figure=o.figure),
}
"""What is raced, by name, beside what is in `LEAST`."""
LEAST = {
    "hardmax": 3, "multirate": 5, "master-equation": 3, "prototypes": 3, "growing": 3, "lorenz": 3,
    "prototype-layer": 5, "basins": 3, "interactions": 1, "branches": 1, "small-ensembles": 3, "stiff": 3, "large": 1,
}  # fmt: skip
"""The modules with races of their own, and the least number of rounds of each."""


def _rows(found: Iterable[Any]) -> list[dict[str, Any]]:
    return [row._asdict() for row in found]


def _of_module(name: str, o: argparse.Namespace) -> Any:
    module = importlib.import_module(f"tests.quality.benchmarks.{name.replace('-', '_')}")
    return module.everything(max(o.rounds, LEAST[name]), quick=o.quick)


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 members in R^100, one round: does it run at all")
    names = (*RACES, *LEAST)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    parser.add_argument("--figure", type=Path, help="a file for the drawing of `growth`")
    sections = (*gpu.MODULES, *gpu.SECTIONS)
    parser.add_argument("--gpu", nargs="*", choices=sections, help="the table of a GPU, or some of its sections")
    options = parser.parse_args()
    if options.gpu is not None:
        gpu.everything(tuple(options.gpu))
        return
    if options.figure and options.figure.suffix not in (".png", ".pdf", ".svg"):
        parser.error(f"argument --figure: must end in .png, .pdf or .svg, but is `{options.figure}`")
    options.members, options.d = (8, 100) if options.quick else (100, 500)
    options.rounds = 1 if options.quick else options.rounds
    print(machine())
    found: dict[str, object] = {
        "machine": machine(), "members": options.members, "dimension": options.d, "rounds": options.rounds,
    }  # fmt: skip
    for name in (name for name in names if name in options.only):
        found[name] = RACES[name](options) if name in RACES else _of_module(name, options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
