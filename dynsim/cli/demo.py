"""`dynsim demo`: simulate, check and draw the first experiment of the first paper."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynsim.cli.parsing.options import parse, say

CLAIMS = ("consensus/theorem-3.1", "consensus/theorem-3.2-lojasiewicz")


@dataclass(frozen=True)
class Demo:
    """Simulate ten tokens (Section 7.1 of CONSENSUS) with diffrax and SciPy, check two theorems, and draw Figure 1."""

    out: Path = Path("out")
    """the folder for the run file and the figure"""
    seed: int = 0
    """random seed of the initial state and of the checks"""


def main(words: Sequence[str]) -> int:
    """Run the demonstration, print a summary, and return exit status 1 if a check is not sound."""
    o = parse(Demo, words, "demo")
    started = time.perf_counter()
    from analysis.claims import claims
    from analysis.ledger.findings import select
    from analysis.report import in_words, run_checks
    from analysis.tokens.consensus import diameter
    from dynsim.integrators import Scipy
    from dynsim.io.npz import writable_folder
    from dynsim.keys import random_key
    from dynsim.simulation.run_files import save
    from dynsim.simulation.simulate import simulate
    from dynsim.systems.tokens.initial import initial_tokens
    from dynsim.systems.tokens.published import published_gradient_flow
    from figures.figure import save as save_figure
    from figures.gallery import find_figures

    writable_folder("out", o.out)
    flow = published_gradient_flow()
    x0 = initial_tokens("uniform", random_key(o.seed, "demo"), (10, 3), flow.space)
    ts = np.linspace(0.0, 40.0, 201)
    path = simulate(flow, x0, ts)
    second = simulate(flow, x0, ts, integrator=Scipy())
    widths = path.along(diameter)
    say("Ten tokens on the ellipsoid of the published P (Section 7.1), t from 0 to 40:")
    say(f"  diameter {float(widths[0]):.4f} at t = 0, {float(widths[-1]):.2e} at t = 40")
    say(f"  diffrax: {str(path.stats)}")
    say(f"  largest difference from SciPy: {float(np.max(np.abs(path.ys - second.ys))):.1e}")
    save(o.out / "demo.npz", path, seed=o.seed)
    say(f"  run file {o.out / 'demo.npz'} (`dynsim simulate {o.out / 'demo.npz'}` reproduces it bit for bit)")
    say("Two statements of the paper:")
    sound = True
    for c, line in run_checks(select(CLAIMS, claims()), seed=o.seed, num_trials=4):
        say(f"  {in_words(line)}")
        sound = sound and c.sound
    files = [
        str(f) for one in find_figures("consensus/figure-1") for f in save_figure(one, o.out, formats=("pdf", "png"))
    ]
    say(f"Figure 1: {', '.join(files)}")
    say(f"Done in {time.perf_counter() - started:.1f} s.")
    return 0 if sound else 1
