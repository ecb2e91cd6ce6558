"""What a user leaves out or mistypes is asked for, and not guessed."""

import re
from pathlib import Path

import numpy as np
import pytest

from dynsim import FunctionFlow, Simplex, simulate
from dynsim.__main__ import main
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.starts import start
from dynsim.cli.simulate.flows import named
from dynsim.systems.catalogue.populations import LotkaVolterra

MINE = """import jax.numpy as jnp
from dynsim import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz

def field(t, x):
    return -x * (x @ x)

def _private(t, x):
    return x

decay = FunctionFlow(field, names=("v", "w"))
halves = FunctionMap(lambda k, x: x / 2)
number = 3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    return "mine.py"


def refused(capsys, *words):
    assert main([str(word) for word in words]) == 2
    return capsys.readouterr().err.strip()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["simulate", "portrait", "basins", "section", "lyapunov", "sweep"])
@pytest.mark.parametrize("name", ["mine.py", "mine.py:"])
def test_a_file_without_a_name_is_answered_with_its_names(capsys, mine, command, name):
    assert refused(capsys, command, name, *["--mu", 1, 2] * (command == "sweep")) == (
        "dynsim: Argument `system` must be `mine.py:NAME`, with the name of a function, a flow or a map, but `mine.py` "
        "is given without (it has field, decay, halves)."
    )


def test_a_file_without_a_name_may_have_none_or_not_exist(capsys, mine):
    Path("mine.py").write_text("x = 3\n")
    assert refused(capsys, "simulate", "mine.py").endswith("is given without (it has none).")
    assert "`system` must name a file, but `other.py` does not exist" in refused(capsys, "simulate", "other.py")


@pytest.mark.slow
def test_the_dimension_of_a_function_is_asked_for_unless_something_says_it(capsys, mine):
    said = refused(capsys, "simulate", "mine.py:field", "--end", "1")
    assert "`dimension` must be the number of components of its state, unless" in said
    assert said.endswith("but is not given for `mine.py:field`.")
    asked = lambda name, **options: named(Simulate(f"mine.py:{name}", **options), Simulate(f"mine.py:{name}"))
    with pytest.raises(ValueError, match="`dimension` must be the number of components"):
        asked("halves")
    assert asked("decay")[0].names == ("v", "w")
    assert asked("field", start=(1.0, 2.0))[1].tolist() == [1, 2]
    assert asked("field", names=("a", "b"))[0].names == ("a", "b")
    np.savetxt("start.csv", np.ones((1, 4)), delimiter=",")
    assert asked("field", initial="start.csv")[1] is None


@pytest.mark.slow
def test_an_ellipsoid_says_the_dimension_of_its_states(capsys, mine):
    np.save("four.npy", np.eye(4))
    words = ["simulate", "mine.py:field", "--space", "ellipsoid:four.npy", "--end", "0.1", "--frames", "2"]
    assert main([*words, "--integrator", "scipy"]) == 0
    assert "states (2, 4)" in capsys.readouterr().out
    assert "`space` must have dimension 3 to match `--dimension`" in refused(capsys, *words, "--dimension", 3)


@pytest.mark.parametrize("word", ["nan", "inf", "1,nan", "high"])
def test_parameters_are_finite_numbers(capsys, word):
    said = refused(capsys, "simulate", "lorenz", "--rho", word)
    assert said == (f"dynsim: Argument `rho` must be a finite number, or several separated by commas, but is `{word}`.")


@pytest.mark.slow
@pytest.mark.parametrize(("words", "said"), [
    (["simulate", "lotka-volterra", "--start", "-1", "2", "--end", "1", "--integrator", "scipy"],
     "dynsim: `start` reaches below zero, where the populations of `lotka-volterra` have no meaning.\n"),
    (["simulate", "lotka-volterra", "--start", "1", "2", "--end", "1", "--integrator", "scipy"], ""),
    (["simulate", "lorenz", "--start", "-1", "2", "3", "--end", "1", "--integrator", "scipy"], ""),
])  # fmt: skip
def test_negative_populations_are_told(capsys, words, said):
    assert main(words) == 0
    assert capsys.readouterr().err == said


def test_a_window_of_negative_concentrations_is_told(capsys):
    assert main(["basins", "brusselator", "--box", "-1", "2", "0", "2", "3", "4"]) == 2
    said = "`box` reaches below zero, where the concentrations of `brusselator` have no meaning."
    assert said in capsys.readouterr().err


def test_random_populations_are_not_negative():
    starts = [np.asarray(start(Simulate("lotka-volterra", dimension=3), LotkaVolterra(), k)) for k in range(8)]
    assert np.min(starts) >= 0
    assert len({x.tobytes() for x in starts}) == 8


@pytest.mark.slow
def test_a_path_on_the_triangle_has_marks_at_its_ends():
    flow = FunctionFlow(lambda t, x: x * (np.array([1.0, 2.0, 0.5]) - x @ np.array([1.0, 2.0, 0.5])), Simplex())
    run = simulate(flow, np.array([0.5, 0.1, 0.4]), [0.0, 1.0, 2.0])
    ax = run.plot().figure.axes[0]
    marks = {line.get_label(): line.get_xydata()[0] for line in ax.lines if line.get_label() in ("start", "end")}
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    np.testing.assert_allclose(marks["start"], [0.5, 0.1, 0.4] @ corners)
    np.testing.assert_allclose(marks["end"], np.asarray(run.final) @ corners)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"start", "end"}
    assert re.search("open|none", str(ax.lines[-2].get_fillstyle()))
