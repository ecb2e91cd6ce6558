"""`dynsim simulate prototypes`: what it says of a run, the files it writes, and its refusals."""

import jax.numpy as jnp
import numpy as np
import pytest

from dynsim import Diffrax, load, simulate
from dynsim.cli.simulate.prototypes.summary import _measures, coincidences
from dynsim.prototypes import PrototypeFlow, PrototypeLoss
from dynsim.systems.prototypes.assignments import entropy, separation
from dynsim.systems.prototypes.temperatures import Annealing
from tests.cli.test_command_line import refused, run

SHORT = ("--end", 0.5, "--frames", 3, "--integrator", "scipy")


def numbers(said, name):
    """Return the two numbers that are printed behind the name of a measure."""
    (line,) = [line for line in said.splitlines() if line.strip().startswith(name)]
    return [float(word) for word in line.split()[-2:]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("data.npz", data=rng.normal(size=(30, 3)), other=np.ones(2))
    np.savez("two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    np.savetxt("data.csv", rng.normal(size=(30, 2)), delimiter=",")
    np.savetxt("pair.csv", [[0.5, 0.5], [0.5, 0.5], [2.0, 1.0]], delimiter=",")
    np.savetxt("labels.csv", np.arange(29) % 3)
    np.savetxt("groups.csv", np.arange(30) % 4)
    np.savetxt("halves.csv", np.arange(30) / 2)
    return tmp_path


@pytest.mark.slow
def test_a_run_is_the_library_s_own_and_is_made_again_to_the_bit(capsys, folder):
    words = ("--data-file", "data.csv", "--initial", "pair.csv", "--mode", "frozen", "--temperature", 0.5)
    drawn = folder / "run.svg"
    status, said, _ = run(
        capsys, "simulate", "prototypes", *words, "--end", 1, "--frames", 5, "--out", "run.npz", "--figure", drawn
    )
    assert status == 0
    flow = PrototypeFlow(np.loadtxt("data.csv", delimiter=","), 0.5, loss=PrototypeLoss("frozen"))
    path = simulate(flow, np.loadtxt("pair.csv", delimiter=","), np.linspace(0, 1, 5), integrator=Diffrax(rtol=1e-6))
    np.testing.assert_allclose(load("run.npz").ys, path.ys, atol=1e-6)
    z, p = flow.embeddings, load("run.npz").final
    q = flow.loss.weights(z, p, jnp.asarray(0.5))
    assert numbers(said, "entropy H")[1] == pytest.approx(float(entropy(q)), rel=1e-5)
    assert numbers(said, "separation S")[1] == pytest.approx(float(separation(p)), abs=1e-9)
    assert "prototypes 0 and 1 coincide at the start, and at t = 1 they still do" in said
    assert "<svg" in drawn.read_text()
    status, said, _ = run(capsys, "simulate", "run.npz")
    assert "identical bit for bit" in said


def test_an_annealed_temperature_reaches_its_floor_or_it_is_said_when_it_would(capsys):
    words = ("--points", 20, "--temperature", 2, "--floor", 1, "--time-constant", 1, "--frames", 3)
    scipy = ("--integrator", "scipy", "--end")
    said = run(capsys, "simulate", "prototypes", *words, *scipy, 1)[1]
    assert "reaches its floor 1 at t = 0.693147" in said
    said = run(capsys, "simulate", "prototypes", *words, *scipy, 0.5)[1]
    assert "the temperature is 1.21306 at the end, and would reach its floor 1 at t = 0.693147" in said


@pytest.mark.slow
def test_labels_are_compared_and_k_means_is_a_start(capsys, folder):
    np.savetxt("line.csv", np.repeat([0.0, 1.0, 5.0], 4) + np.tile([0.0, 0.01, 0.02, 0.03], 3))
    np.savetxt("three.csv", np.repeat([7, 3, 5], 4))
    words = ("--data-file", "line.csv", "--labels", "three.csv", "--initial", "k-means", "--temperature", 0.01, *SHORT)
    status, said, _ = run(capsys, "simulate", "prototypes", *words)
    assert status == 0
    for end in ("start", "end"):
        assert f"labels at the {end}: accuracy 1.0000 (best matching), NMI 1.0000, ARI 1.0000" in said
    said = run(capsys, "simulate", "prototypes", *words, "--prototypes", 2)[1]
    assert "labels at the end: accuracy 0.6667" in said


@pytest.mark.parametrize(("words", "sentence"), [
    (("--mode", "frozen"), "bounded: |p| never exceeds 60, by the data and the start"),
    (("--ridge", "1"), "by the ridge"),
    (("--mode", "full"), "escaping: prototypes 1 provably never return"),
    (("--barrier", "1"), "bounded or escaping: no certificate decides"),
])  # fmt: skip
def test_prototypes_are_bounded_or_escape_by_a_certificate(capsys, folder, words, sentence):
    (folder / "far.csv").write_text("0,0\n60,0\n0,6\n0,-6\n" if "--barrier" in words else "0,0\n60,0\n")
    status, said, _ = run(
        capsys, "simulate", "prototypes", "--data-file", "data.csv", "--initial", "far.csv", *words, *SHORT
    )
    assert status == 0
    assert sentence in said
    critical = 4 * np.linalg.eigvalsh(np.cov(np.loadtxt("data.csv", delimiter=",").T, bias=True))[-1]
    assert (f"collapse to the mean is stable above T = {critical:.6g}" in said) == (words == ("--mode", "full"))


@pytest.mark.parametrize(
    "encoder", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("free", "linear")), "affine"]
)
def test_an_encoder_moves_in_its_own_time(capsys, folder, encoder):
    words = ("--data-file", "data.npz", "--encoder", encoder, "--ratio", 0.01, "--prototypes", 4, *SHORT)
    status, said, _ = run(capsys, "simulate", "prototypes", *words, "--out", "run.npz")
    assert status == 0
    assert "covers 0.5 time units of the prototypes and 0.005 of the encoder" in said
    before, after = load("run.npz").initial, load("run.npz").final
    assert float(load("run.npz").system.ratio) == pytest.approx(0.01)
    assert after.prototypes.shape == (4, 3 if encoder == "free" else 2)
    moved = [np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in zip(after[0], before[0], strict=True)]
    assert 0 < max(moved) < 0.2


def test_a_second_level_reads_means_over_groups_and_has_measures_of_its_own(capsys, folder):
    words = ("--data-file", "data.csv", "--encoder", "mlp", "--hidden", 3, "--second", 2, "--groups", "groups.csv")
    status, said, _ = run(capsys, "simulate", "prototypes", *words, "--detached", *SHORT, "--out", "run.npz")
    assert status == 0
    assert "mode full, level 1" in said
    assert "mode full, level 2" in said
    path = load("run.npz")
    assert path.final.second.shape == (2, 2)
    assert path.system.inputs(0.0, path.final).shape == (4, 2)
    assert path.system.detached


@pytest.mark.slow
def test_a_small_ratio_is_out_of_reach_of_one_integrator_and_not_of_another(capsys):
    words = ("--points", 12, "--encoder", "linear", "--outputs", 1, "--ratio", 1e-9, "--end", 1e6, "--frames", 2)
    status, said, _ = run(capsys, "simulate", "prototypes", *words)
    assert status == 1
    assert "only reached t = " in said
    assert "take `--integrator rkc2` or `--integrator stiff`, a larger `--ratio` or an earlier `--end`" in said
    status, said, _ = run(capsys, "simulate", "prototypes", *words, "--integrator", "rkc2")
    assert status == 0
    assert "take `--integrator" not in said


def test_the_measures_are_those_of_the_time_of_a_state():
    z, p = np.random.default_rng(0).normal(size=(6, 2)), np.array([[0.5, 0.1], [-0.7, 0.4], [9.0, 2.0]])
    flow = PrototypeFlow(z, Annealing(2.0, 0.5, 1.5))
    T = float(flow.temperature(0.7))
    assert 0.5 < T < 2
    d = np.sum((z[:, None] - p) ** 2, axis=2)
    q = np.exp(-d / T) / np.sum(np.exp(-d / T), axis=1, keepdims=True)
    variance = np.sum(q * np.sum((p - (q @ p)[:, None]) ** 2, axis=2)) / 6
    expected = [np.sum(q * d), np.sum((p[0] - p[1]) ** 2), -np.sum(q * np.log(q)) / 6, variance, 2 / 3, np.sqrt(85.0)]
    found = _measures(flow, jnp.asarray(0.7), jnp.asarray(p))
    np.testing.assert_allclose(found, [expected], rtol=1e-12)


def test_coincident_prototypes_and_those_that_come_together_are_named():
    p0 = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    p1 = np.array([[0.0], [0.0], [1.0], [1.5], [1.0]])
    first, second, third = coincidences(p0, p1, 3.0)
    assert first == "prototypes 0 and 1 coincide at the start, and at t = 3 they still do"
    assert second == (
        "prototypes 2 and 3 coincide at the start, and at t = 3 they are 0.5 apart, separated by rounding alone"
    )
    assert third == "prototypes 2 and 4 have merged by t = 3"
    assert coincidences(p0[[0, 2, 4]], p1[[0, 2, 3]], 3.0) == []


def test_it_is_said_what_becomes_of_more_prototypes_than_points(capsys, folder):
    (folder / "two.csv").write_text("-1\n1\n")
    (folder / "five.csv").write_text("-1.5\n-1.2\n0.4\n0.9\n1.3\n")
    words = ("--data-file", "two.csv", "--initial", "five.csv", "--mode", "frozen", "--temperature", 0.5, "--end", 100)
    status, said, _ = run(capsys, "simulate", "prototypes", *words, "--frames", 2)
    assert status == 0
    assert "5 prototypes for 2 points: 3 are idle (nearest to no point) at the start, 3 at t = 100" in said
    assert "prototypes 0 and 1 have merged by t = 100" in said
    assert "prototypes 2, 3 and 4 have merged by t = 100" in said


@pytest.mark.parametrize(("words", "sentence"), [
    (("--temperature", "0"), "`temperature` must be a positive number"),
    (("--temperature", "-1", "--floor", "0.1"), "`temperature` must be a positive number"),
    (("--floor", "3"), "`floor` must be at most the initial `--temperature`, 1, but is 3"),
    (("--floor", "0"), "`floor` must be positive"),
    (("--time-constant", "3"), "`time_constant` must be left out without `--floor`"),
    (("--prototypes", "201"), "`prototypes` must be at most 200, the number of points from which they are drawn"),
    (("--prototypes", "0"), "`prototypes` is 0"),
    (("--prototypes", "10000000000000"), "`prototypes` must be at most "),
    (("--initial", "pints"), "did you mean `points`"),
    (("--initial", "mean", "--barrier", "1"), "`barrier` must be 0 if prototypes coincide at the start"),
    (("--barrier", "-1"), "`barrier` must not be negative"),
    (("--prototype-rate", "0"), "`prototype_rate` must be a positive number"),
    (("--prototype-rate", "nan"), "`prototype_rate` must be a positive number"),
    (("--encoder", "free", "--ratio", "-0.1"), "`ratio` must be a positive number"),
    (("--ratio", "0.2"), "`ratio` must be left out for the encoder `frozen`"),
    (("--encoder", "free", "--outputs", "3"), "`outputs` must be left out for the encoder `free`"),
    (("--encoder", "linear", "--outputs", "3"), "`outputs` must be at most 2"),
    (("--detached",), "`detached` must be left out without `--second`"),
    (("--precision", "float32", "--integrator", "stiff"), "be float64 for the integrator `stiff`, but is float32"),
    (("--data-file", "data.csv", "--points", "3"), "`points` must be left out if the data are read from a file"),
    (("--data-file", "nowhere.npz"), "`nowhere.npz` does not exist"),
    (("--data-file", "two.npz"), "must hold one array, or one named `data`, but `two.npz` holds a, b"),
    (("--data-file", "data.npz", "--initial", "pair.csv"), "`initial` must have 3 columns"),
    (("--data-file", "data.csv", "--labels", "labels.csv"), "`labels` must hold one number for each of 30"),
    (("--data-file", "data.csv", "--labels", "halves.csv"), "`labels` must hold whole numbers"),
    (("--data-file", "data.csv", "--encoder", "free", "--second", "2", "--groups", "labels.csv"),
     "`groups` must hold one number for each of 30 data points, but `labels.csv` has shape (29, 1)"),
    (("--encoder", "free", "--second", "201"), "`second` must be at most 200"),
    (("--end", "inf"), "`end` must be a positive number"),
    (("--frames", "1"), "be at least 2"),
    (("--integrator", "rkc"), "`integrator` must be one of diffrax, scipy"),
])  # fmt: skip
def test_bad_input_is_one_sentence(capsys, folder, words, sentence):
    assert sentence in refused(capsys, "simulate", "prototypes", *words)


def test_the_name_is_listed(capsys):
    assert "prototypes that compete for embeddings" in run(capsys, "list", "systems")[1]
