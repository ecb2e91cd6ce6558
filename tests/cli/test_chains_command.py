"""`dynsim simulate master-equation`: what it says of a chain, the files it writes, and its refusals."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.chains.integrator import Exponential
from analysis.chains.relaxation import relaxation
from dynsim import load
from dynsim.integrators import Event, Scipy
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.systems.gradient import GradientFlow
from dynsim.systems.master_equation.flow import MasterEquationFlow
from dynsim.systems.master_equation.generators import birth_death
from dynsim.systems.master_equation.rates import DrivenRates
from tests.cli.test_command_line import refused, run

QUEUE = birth_death(np.full(49, 1.0), np.full(49, 1.2))


def test_a_chain_is_described_followed_and_made_again_to_the_bit(capsys, tmp_path):
    out, drawn = tmp_path / "run.npz", tmp_path / "run.pdf"
    status, said, _ = run(capsys, "simulate", "master-equation", "--out", out, "--figure", drawn, "--frames", 5)
    assert status == 0
    for words in (
        "irreducible",
        "The stationary distribution is unique",
        "spectral gap 0.0134",
        "mixing time to 0.25",
        "method ",
    ):
        assert words in said
    assert "Forward Euler keeps probabilities up to the step 0.454545, where it converges" in said
    assert drawn.stat().st_size > 1000
    path = load(out)
    np.testing.assert_allclose(path.ys, relaxation(QUEUE, np.eye(50)[0], path.ts).probabilities, atol=1e-13)
    status, said, _ = run(capsys, "simulate", out)
    assert status == 0
    assert "identical bit for bit" in said


def test_a_matrix_of_a_file_may_be_reducible_and_is_answered_per_class(capsys, tmp_path):
    file = tmp_path / "Q.csv"
    file.write_text("-1,0,0,0.5\n1,0,0,0.25\n0,0,0,0.25\n0,0,0,-1\n")
    status, said, _ = run(capsys, "simulate", "master-equation", "--generator", file, "--initial", "last")
    assert status == 0
    assert "2 stationary distributions, one for each closed class" in said
    assert "no mixing time: the limit depends on the initial distribution" in said


def test_three_states_are_drawn_on_the_simplex_in_the_same_bytes(capsys, tmp_path):
    file, words = tmp_path / "Q.csv", ("--initial", "last", "--frames", 21)
    file.write_text("-1,0.5,0\n1,-1.5,1\n0,1,-1\n")
    for name, how in (("one.svg", ()), ("other.svg", ()), ("euler.svg", ("--euler", 0.5, "--end", 10))):
        drawn = tmp_path / name
        assert run(capsys, "simulate", "master-equation", "--generator", file, *words, *how, "--figure", drawn)[0] == 0
    one, other, euler = ((tmp_path / name).read_text() for name in ("one.svg", "other.svg", "euler.svg"))
    assert one == other
    assert "stationary distribution" in one
    assert "forward Euler" in euler
    assert "forward Euler" not in one


def test_what_is_refused_says_nothing_else(capsys, tmp_path):
    for words in (("--euler", 10), ("--figure", tmp_path / "a.foo"), ("--figure", tmp_path / "a")):
        status, said, wrong = run(capsys, "simulate", "master-equation", *words)
        assert (status, said) == (2, "")
        assert "`step_size` must be at most" in wrong or "`figure` must end in .pdf, .svg, .png" in wrong


def test_an_attention_matrix_and_a_walk_and_random_rates(capsys, tmp_path):
    file, first = tmp_path / "A.npy", tmp_path / "p.csv"
    np.save(file, np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None])
    first.write_text("0,0.5,0.5\n")
    status, said, _ = run(capsys, "simulate", "master-equation", "--attention", file, "--initial", first)
    assert status == 0
    assert "0: 1" in said
    assert "2 states transient" in said
    for words in (("--chain", "grid", "--size", 25), ("--chain", "random", "--size", 3, "--initial", "uniform")):
        assert run(capsys, "simulate", "master-equation", *words, "--frames", 3)[0] == 0


def test_forward_euler_is_iterated_up_to_the_end_and_refused_above_its_bound(capsys, tmp_path):
    file, out = tmp_path / "Q.csv", tmp_path / "run.npz"
    file.write_text("-1,1\n1,-1\n")
    words = ("simulate", "master-equation", "--generator", file, "--end", 10, "--frames", 11)
    status, said, _ = run(capsys, *words, "--euler", 1, "--out", out)
    assert status == 0
    assert "is periodic (period 2) and does not converge" in said
    np.testing.assert_array_equal(load(out).ys[:3], [[1, 0], [0, 1], [1, 0]])
    assert "`step_size` must be at most 1 / (largest exit rate) = 1.0" in refused(capsys, *words, "--euler", 1.5)


@pytest.mark.parametrize(("text", "words", "sentence"), [
    ("-1,1\n1,-2\n", (), "column 1 sums to -1"),
    ("-1,-1\n1,1\n", (), "entry (0, 1) is -1"),
    ("-1,1,0\n1,-1,0\n", (), "have shape (k, k), but has shape (2, 3)"),
    ("-1,nan\n1,-1\n", (), "be finite, but entry (0, 1) is nan"),
    ("-1,1\n1,-1\n", ("--initial", "frist"), "did you mean `first`"),
    ("-1,1\n1,-1\n", ("--initial", "none.npy"), "be a file that can be read"),
    ("-1,1\n1,-1\n", ("--end", "0"), "`end` must be a positive number"),
    ("-1,1\n1,-1\n", ("--frames", "1"), "be at least 2"),
    ("-1,1\n1,-1\n", ("--method", "cram"), "`method` must be one of auto"),
    ("-1,1\n1,-1\n", ("--attention", "A.npy"), "be left out with `--generator`"),
    ("-1,1\n1,-1\n", ("--out", "/proc/nowhere/run.npz"), "must be a folder"),
])  # fmt: skip
def test_bad_input_is_one_sentence(capsys, tmp_path, text, words, sentence):
    file = tmp_path / "Q.csv"
    file.write_text(text)
    assert sentence in refused(capsys, "simulate", "master-equation", "--generator", file, *words)


def test_the_name_is_listed(capsys):
    assert "master-equation" in run(capsys, "list", "systems")[1]


def test_the_exponential_is_an_integrator_for_constant_generators():
    flow, start = MasterEquationFlow(QUEUE), np.eye(50)[0]
    path = simulate(flow, start, [1.0, 3.0, 9.0], integrator=Exponential())
    np.testing.assert_allclose(path.ys[1:], relaxation(QUEUE, start, [2.0, 8.0]).probabilities, atol=1e-15)
    np.testing.assert_allclose(path.ys, simulate(flow, start, [1.0, 3.0, 9.0], integrator=Scipy()).ys, atol=1e-8)
    driven = MasterEquationFlow(DrivenRates(lambda t: jnp.ones((2, 2))))
    with pytest.raises(ValueError, match="have a constant generator, but has a DrivenRates"):
        simulate(driven, np.array([1.0, 0.0]), [0.0, 1.0], integrator=Exponential())
    with pytest.raises(ValueError, match="is for master equations, not GradientFlow"):
        simulate(GradientFlow(lambda x: jnp.sum(x**2)), np.ones(2), [0.0, 1.0], integrator=Exponential())
    with pytest.raises(ValueError, match="be one distribution"):
        simulate(flow, np.stack([start, start]), [0.0, 1.0], integrator=Exponential())
    with pytest.raises(ValueError, match="locate events"):
        simulate_until(flow, start, [0.0, 1.0], [Event(lambda t, x: x[0] - 0.5)], integrator=Exponential())
