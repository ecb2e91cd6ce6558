"""What the options of `dynsim simulate` of fast-slow systems, chains and ensembles make, by exact numbers."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.cli.simulate import fast_slow, master_equation
from dynsim.cli.simulate.fast_slow import FastSlowOptions
from dynsim.cli.simulate.master_equation import MasterEquation
from dynsim.errors import ArgumentError
from dynsim.systems.fast_slow.examples import EXAMPLES

NAME = next(name for name, one in EXAMPLES.items() if one.path.size and one.start.slow.size == 1)
OWN = """
import jax.numpy as jnp
from dynsim.fast_slow import FastSlowFlow

def field(epsilon):
    return FastSlowFlow(lambda x, y: y - x, lambda x, y: -2 * x, epsilon)
"""


def fast_options(system=NAME, epsilon=(0.1,), **given):
    return FastSlowOptions(system, epsilon=epsilon, **given)


def test_options_replace_the_parts_of_an_example():
    base, plain = EXAMPLES[NAME], fast_slow.example(fast_options())
    assert (plain.end, plain.compare, plain.text) == (base.end, base.compare, base.text)
    for part in ("path", "guess"):
        np.testing.assert_array_equal(getattr(plain, part), getattr(base, part))
    np.testing.assert_array_equal(plain.start.fast, base.start.fast)
    fast, guess = tuple(0.5 + np.arange(base.start.fast.size)), tuple(2.5 + np.arange(base.guess.size))
    given = {"fast": fast, "slow": (0.25,), "guess": guess, "window": (3.0, -1.0), "end": 7.0, "compare": 0.5}
    made = fast_slow.example(fast_options(**given))
    assert np.ravel(made.start.fast).tolist() == list(fast)
    assert np.shape(made.start.fast) == np.shape(base.start.fast)
    assert (np.ravel(made.start.slow).tolist(), made.end, made.compare) == ([0.25], 7.0, 0.5)
    assert np.ravel(made.guess).tolist() == list(guess)
    np.testing.assert_allclose(np.ravel(made.path), np.linspace(3.0, -1.0, 161))
    assert fast_slow.example(fast_options(compare=0.0)).compare == 0.0
    for given, sentence in (
        ({"window": (1.0,)}, "`window` must be two numbers, for a scalar slow variable"),
        ({"slow": (1.0, 2.0)}, "`slow` must hold 1 numbers, but holds 2"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            fast_slow.example(fast_options(**given))


def test_a_fast_slow_system_of_ones_own_has_one_time_unit_and_the_given_start(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    name = f"{tmp_path / 'own.py'}:field"
    made = fast_slow.example(fast_options(name, fast=(2.0,), slow=(3.0,)))
    assert (made.end, made.compare, made.path.size, made.start.fast.shape) == (1.0, 1.0, 0, ())
    assert (float(made.start.fast), float(made.start.slow), float(made.guess)) == (2.0, 3.0, 2.0)
    rates = made.flow(0.25).vector_field(0.0, jax.tree.map(jnp.asarray, made.start))
    assert (float(rates.fast), float(rates.slow)) == (4.0, -4.0)  # (y - x) / epsilon and -2 x
    assert fast_slow.example(fast_options(name, fast=(2.0,), slow=(3.0,), end=4.0)).compare == 4.0
    with pytest.raises(ArgumentError, match="`slow` must be given for a system of yours"):
        fast_slow.example(fast_options(name, fast=(2.0,)))


def test_each_epsilon_has_a_file_of_its_own():
    out = Path("folder/run.npz")
    assert fast_slow._run_files(None, (0.1, 0.2)) == []
    assert fast_slow._run_files(out, (0.1,)) == [out]
    assert [str(file) for file in fast_slow._run_files(out, (0.1, 0.025))] == [
        "folder/run-0.1.npz", "folder/run-0.025.npz",
    ]  # fmt: skip
    fast_slow._check_numbers(fast_options(compare=0.0, frames=2, max_steps=1))
    for given, sentence in (
        ({"epsilon": (0.1, 0.0)}, "`epsilon` must be a positive number"),
        ({"frames": 1}, "`frames` must be at least 2"),
        ({"max_steps": 0}, "`max_steps` must be at least 1"),
        ({"compare": -0.1}, "`compare` must be at least 0, but is -0.1"),
        ({"guess": (np.inf,)}, "`guess` must hold finite numbers"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            fast_slow._check_numbers(fast_options(**given))


def test_chains_have_the_rates_that_are_given(tmp_path):
    births = master_equation.chain(MasterEquation(size=4, birth=3.0, death=5.0))
    expected = [[-3, 5, 0, 0], [3, -8, 5, 0], [0, 3, -8, 5], [0, 0, 3, -5]]
    np.testing.assert_allclose(births.toarray() if hasattr(births, "toarray") else births, expected)
    assert master_equation.chain(MasterEquation(chain="grid", size=24)).shape == (16, 16)
    one, same, other = (master_equation.chain(MasterEquation(chain="random", size=5, seed=k)) for k in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)
    Q, A = np.array([[-1.0, 2.0], [1.0, -2.0]]), np.array([[0.75, 0.25], [0.5, 0.5]])
    np.save(tmp_path / "q.npy", Q)
    np.save(tmp_path / "a.npy", A)
    np.testing.assert_allclose(master_equation.chain(MasterEquation(generator=tmp_path / "q.npy")), Q)
    np.testing.assert_allclose(master_equation.chain(MasterEquation(attention=tmp_path / "a.npy")), A.T - np.eye(2))
    starts = [master_equation.start(MasterEquation(initial=name), 4).tolist() for name in ("first", "last", "uniform")]
    assert starts == [[1, 0, 0, 0], [0, 0, 0, 1], [0.25] * 4]
    np.save(tmp_path / "p.npy", [[0.25, 0.75]])
    given = MasterEquation(initial=str(tmp_path / "p.npy"))
    assert master_equation.start(given, 2).tolist() == [0.25, 0.75]
    with pytest.raises(ArgumentError, match="did you mean `last`"):
        master_equation.start(MasterEquation(initial="lst"), 4)


def test_a_trajectory_of_a_chain_is_that_of_its_exponential_or_of_eulers_steps():
    Q, p0 = np.array([[-1.0, 2.0], [1.0, -2.0]]), np.array([1.0, 0.0])  # p1 = 2/3 + e^(-3 t) / 3
    exact, said = master_equation.by_exponential(MasterEquation(end=2.0, frames=5), Q, p0)
    np.testing.assert_allclose(exact.ts, [0, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(np.asarray(exact.ys)[:, 0], 2 / 3 + np.exp(-3 * np.linspace(0, 2, 5)) / 3, atol=1e-9)
    assert "at t = 2;" in said
    for frames, every, steps in ((5, 5, 20), (8, 3, 21), (100, 1, 20)):
        o = MasterEquation(end=2.0, frames=frames, euler=0.1)
        path, said = master_equation.by_euler(o, Q, p0)
        assert said == f"forward Euler: {steps} steps of size 0.1, one in {every} kept"
        np.testing.assert_allclose(path.ts, np.arange(0, steps + 1, every))
        np.testing.assert_allclose(np.asarray(path.ys)[:, 0], 2 / 3 + 0.7 ** np.asarray(path.ts) / 3)
    for given, sentence in (
        ({"euler": 0.1, "method": "dense"}, "`method` must be left out with `--euler`"),
        ({"euler": -0.1}, "`euler` must be positive"),
        ({"chain": "grid", "death": 2.0}, "`death` must be left out for the chain `grid`"),
        ({"seed": 1}, "`seed` must be left out for the chain `birth-death`, which is not random"),
        ({"generator": Path("q.npy"), "size": 7}, "`size` must be left out if the chain is read from a file"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            master_equation._check_sizes(MasterEquation(**given))
    master_equation._check_sizes(MasterEquation(chain="random", seed=1))
