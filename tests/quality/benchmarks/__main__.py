"""All races of this machine.

Usage: `python -m tests.quality.benchmarks [--quick] [--only NAME ...] [--json FILE] [--figure FILE]`, or `--gpu
[SECTION ...]` for the table of a GPU, within four minutes.
"""

import argparse
import json
from pathlib import Path

from tests.quality.benchmarks import (
    basins,
    branches,
    continuation,
    ensemble,
    gpu,
    growing,
    growth,
    hardmax,
    interactions,
    large,
    lorenz,
    master_equation,
    multirate,
    prototype_layer,
    prototypes,
    single,
    small_ensembles,
    stiff,
)
from tests.quality.benchmarks.harness import machine


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.benchmarks", description=__doc__)
    names = (
        "single",
        "start",
        "identity",
        "general",
        "memory",
        "hardmax",
        "multirate",
        "master-equation",
        "prototypes",
        "prototype-layer",
        "growing",
        "lorenz",
        "basins",
        "interactions",
        "continuation",
        "branches",
        "growth",
        "stiff",
        "large",
        "small-ensembles",
    )
    parser.add_argument("--quick", action="store_true", help="8 members in R^100, one round: does it run at all")
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
    members, d, rounds = (8, 100, 1) if options.quick else (100, 500, options.rounds)
    print(machine())
    found: dict[str, object] = {"machine": machine(), "members": members, "dimension": d, "rounds": rounds}
    if "single" in options.only:
        rows = single.repeated(max(rounds, 5)) + single.by_scipy(max(rounds, 5))
        found["single"] = [row._asdict() for row in rows]
    if "start" in options.only:
        found["start"] = [row._asdict() for row in single.from_the_start(max(rounds, 3))]
    if "identity" in options.only:
        found["identity"] = [row._asdict() for row in ensemble.identity(members, rounds, d)]
    if "general" in options.only:
        rows = ensemble.general(members, rounds, d) + ensemble.general_in_both_types(rounds, d)
        found["general"] = [row._asdict() for row in rows]
    if "memory" in options.only:
        found["memory"] = ensemble.memory(members, d)
    if "hardmax" in options.only:
        found["hardmax"] = hardmax.everything(max(rounds, 3), quick=options.quick)
    if "multirate" in options.only:
        found["multirate"] = multirate.everything(max(rounds, 5), quick=options.quick)
    if "master-equation" in options.only:
        found["master-equation"] = master_equation.everything(max(rounds, 3), quick=options.quick)
    if "prototypes" in options.only:
        found["prototypes"] = prototypes.everything(max(rounds, 3), quick=options.quick)
    if "growing" in options.only:
        found["growing"] = growing.everything(max(rounds, 3), quick=options.quick)
    if "lorenz" in options.only:
        found["lorenz"] = lorenz.everything(max(rounds, 3), quick=options.quick)
    if "prototype-layer" in options.only:
        found["prototype-layer"] = prototype_layer.everything(max(rounds, 5), quick=options.quick)
    if "basins" in options.only:
        found["basins"] = basins.everything(max(rounds, 3), quick=options.quick)
    if "interactions" in options.only:
        found["interactions"] = interactions.everything(rounds, quick=options.quick)
    if "continuation" in options.only:
        found["continuation"] = [row._asdict() for row in continuation.thousand_points(rounds)]
    if "branches" in options.only:
        found["branches"] = branches.everything(rounds, quick=options.quick)
    if "growth" in options.only:
        found["growth"] = growth.everything(rounds, quick=options.quick, figure=options.figure)
    if "small-ensembles" in options.only:
        found["small-ensembles"] = small_ensembles.everything(max(rounds, 3), quick=options.quick)
    if "stiff" in options.only:
        found["stiff"] = stiff.everything(max(rounds, 3), quick=options.quick)
    if "large" in options.only:
        found["large"] = large.everything(rounds, quick=options.quick)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
