"""`dynsim simulate growing`: the events and heads that it prints, the files that it writes, and its refusals."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.growing.separation import separation_force
from dynsim.cli.simulate.growing.options import Growing
from dynsim.simulation.growing import flow_of
from dynsim.simulation.run_files import load
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.assignments import separation
from figures import prototype_runs
from figures.prototype_runs import temperatures_of
from tests.cli.test_command_line import refused, run

SMALL = ("--tokens", 20, "--dimension", 4, "--capacity", 2, "--end", 3, "--frames", 4)
SHORT = (*SMALL, "--integrator", "scipy")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savetxt("tokens.csv", rng.normal(size=(20, 3)), delimiter=",")
    np.savetxt("symmetric.csv", np.eye(3), delimiter=",")
    np.savetxt("directed.csv", [[0, 1, 0], [-1, 0, 0], [0, 0, 5]], delimiter=",")
    return tmp_path


def test_rules_and_rates_are_by_default_those_of_the_library():
    options, seen = Growing(), {}
    for kind in (GrowthRules, GrowingFlow):
        given = {name: one.default for name, one in inspect.signature(kind.__init__).parameters.items()}
        seen |= {name: value for name, value in given.items() if hasattr(options, name)}
    del seen["encoder"], seen["encoder_rate"], seen["interaction"]  # of the library without an encoder
    assert {name: getattr(options, name) for name in seen} == seen
    assert len(seen) > 20


@pytest.mark.slow
def test_events_are_printed_in_order_and_the_file_has_them(capsys, folder, monkeypatch):
    drawn, fan = [], prototype_runs.temperature_fan
    seen = lambda ax, ts, *rest, **options: drawn.append(ts) or fan(ax, ts, *rest, **options)
    monkeypatch.setattr(prototype_runs, "temperature_fan", seen)
    status, said, _ = run(
        capsys, "simulate", "growing", *SHORT, "--temperature-rate", 5, "--out", "run.npz", "--figure", "run.svg"
    )
    assert status == 0
    lines = [line.split() for line in said.splitlines() if line.startswith("t = ")]
    assert [line[3] for line in lines if line[3] == "grow"] == ["grow"] * 2
    assert "t = 0            grow  head 0  lambda = 2  (1 head)" in said
    assert "t = 1            grow  head 1  lambda = 1.4  (2 heads)" in said
    assert sum(line[3] == "clip" for line in lines) == 2
    assert "residual: dominant value 0, threshold 0.05" in said
    found = load(folder / "run.npz")
    assert [jump.name for jump in found.jumps] == [line[3] for line in lines]
    np.testing.assert_allclose([jump.time for jump in found.jumps], [float(line[2]) for line in lines], rtol=1e-5)
    heads = {float(phase.ts[0]): int(np.sum(flow_of(phase).active)) for phase in found.phases}
    assert all(heads[time] == (2 if time > 0.99 else 1) for time in heads)
    np.testing.assert_allclose(flow_of(found.phases[-1]).temperatures(found.final), [0.1, 0.1])
    flow, x = flow_of(found.phases[-1]), found.final
    rows = [[float(word) for word in line.split()] for line in said.splitlines() if line[:5] in ("   0 ", "   1 ")]
    forces = jax.vmap(separation_force)(x.prototypes, flow.head_inputs(x), jnp.full(2, 0.1))
    least = jax.vmap(separation)(x.prototypes)
    table = np.stack([np.arange(2), flow.levels, [0.1, 0.1], flow.activity(x), forces, least], axis=1)
    np.testing.assert_allclose(rows, table, rtol=1e-4)
    begin = temperatures_of(found)[1][0]
    assert (begin[0], np.isnan(begin[1])) == (pytest.approx(1.0), True)  # the second head comes later
    assert "<svg" in (folder / "run.svg").read_text()
    assert len(drawn[0]) > 64 * len(found.phases)  # between few saved times, curves of the dense output
    status, said, _ = run(capsys, "simulate", "run.npz")
    assert (status, said) == (0, "run.npz: identical bit for bit\n")


@pytest.mark.slow
def test_the_algorithm_runs_in_steps_and_a_cap_is_said_and_fails(capsys, folder):
    words = ("--data-file", "tokens.csv", "--interaction", "directed.csv", "--discrete", "--end", 6)
    status, said, _ = run(capsys, "simulate", "growing", *words, "--frames", 4, "--first", "random")
    assert status == 0
    assert "head 1  lambda = 1" in said
    assert "t = 6" in said
    release = ("--pruning", 100, "--release", "release", "--max-events", 6, "--prototype-rate", 0)
    status, said, err = run(capsys, "simulate", "growing", *words, *release, "--frames", 4)
    assert status == 1
    assert "the cap on the number of transitions was reached" in said
    assert "prune" in said
    assert "is not below the growth threshold" in err


@pytest.mark.parametrize(("words", "sentence"), [
    (("--dimension", 5), "`dimension` must be even"),
    (("--threshold", 0), "`threshold` must be positive"),
    (("--least-temperature", 2), "`least_temperature` must be below `initial_temperature`"),
    (("--gate-rate", 2), "`gate_rate` must be left out for the gate `ideal`"),
    (("--release", "release"), "`release` must be left out without `--pruning`"),
    (("--discrete", "--end", 2.5), "`end` must be a whole number of steps"),
    (("--birth", "quantiles", "--scaling", "tokens"), "`scaling` must be left out for a birth at quantiles"),
    (("--data-file", "tokens.csv"), "`data_file` must have an even number of columns"),
    (("--data-file", "tokens.csv", "--interaction", "symmetric.csv"), "must have an antisymmetric part"),
    (("--data-file", "tokens.csv", "--tokens", 9), "`tokens` must be left out"),
    (("--interaction", "none.csv"), "`interaction` must"),
    (("--capacity", 0), "must be at least 1, but `capacity` is 0"),
    (("--prototypes", 10**12), "`prototypes` must be at most"),
    (("--encoder-rate", 1.0), "`encoder_rate` must be left out without an encoder"),
])  # fmt: skip
def test_bad_input_is_one_sentence(capsys, folder, words, sentence):
    assert sentence in refused(capsys, "simulate", "growing", *words)
