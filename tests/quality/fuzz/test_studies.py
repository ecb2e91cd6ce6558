"""Odd options of the commands that study a system: an exit status and a sentence, never an exception.

Only `make fuzz` runs them; it sets DYNSIM_FUZZ, the number of examples.
"""

import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynsim.cli.basins.options import BasinsOptions
from dynsim.cli.continuation.options import Continue
from dynsim.cli.lyapunov import Lyapunov
from dynsim.cli.portrait import Portrait
from dynsim.cli.section import Section
from dynsim.cli.sweep.options import Sweep
from tests.quality.fuzz.test_commands import fuzzed, status_of, values

# What keeps each command small; of two equal flags only the first is replaced.
SMALL = {
    "portrait": (
        Portrait,
        (("double-well",), ("pendulum", "--trajectories=2", "--grid=8"), ("mine.py:f", "--box", "-1", "1")),
    ),
    "lyapunov": (
        Lyapunov,
        (
            ("double-well", "--duration=50", "--start=1"),
            ("logistic", "--duration=50"),
            ("mine.py:m", "--map", "--start=0.3", "--duration=50"),
        ),
    ),
    "section": (
        Section,
        (("logistic", "--count=5"), ("henon", "--count=5"), ("lorenz", "--surface=z=27", "--count=2", "--transient=1")),
    ),
    "basins": (
        BasinsOptions,
        (("double-well", "--shape=4", "--longest=256"), ("mine.py:m", "--map", "--box", "0", "1", "--shape=4")),
    ),
    "continue": (
        Continue,
        (
            ("double-well", "--parameter=h=-1:1"),
            ("logistic", "--parameter=r=1:2"),
            ("mine.py:f", "--start=0", "--parameter=a=0:1"),
        ),
    ),
    "sweep": (Sweep, (("logistic", "--r", "1", "2", "--end=4"), ("--function=mine.py:g", "--a", "1", "2"))),
}
VALUES = st.one_of(
    values, st.sampled_from(("a=0:1", "x=1", "0", "1:2", "h=nan:1", "x", "x y", "0 1", "1 0", "0 0", "nan nan", "true"))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made, before = tmp_path_factory.mktemp("studies"), Path.cwd()
    os.chdir(made)
    Path("mine.py").write_text(
        "def f(t, x, a=1.0):\n    return a - x\n\n"
        "def m(k, x, r=3.2):\n    return r * x * (1 - x)\n\n"
        "def g(a):\n    return a\n"
    )
    Path("matrix.npy").mkdir()
    Path("options.toml").write_text("seed = 1\n")
    yield made
    os.chdir(before)


def odd(command: str) -> st.SearchStrategy:
    options, small = SMALL[command]
    names = [f.name.rstrip("_") for f in dataclasses.fields(options) if f.name != "system"] + ["a", "nonsense"]
    option = st.tuples(st.sampled_from(names), VALUES)
    return st.tuples(st.just(command), st.sampled_from(small), st.lists(option, min_size=1, max_size=2))


@pytest.mark.skipif("DYNSIM_FUZZ" not in os.environ, reason="it takes minutes: `make fuzz`")
@fuzzed
@given(line=st.sampled_from(list(SMALL)).flatmap(odd))
def test_options_of_studies(folder, line):
    command, small, extra = line
    words = [word for name, value in extra for word in (f"--{name.replace('_', '-')}", *value.split(" "))]
    status_of([command, *small, *words, "--force"])
